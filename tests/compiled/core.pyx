"""What the core does in its steps, one call at a time, as Python can call it."""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport uint8_t
from libc.stdlib cimport calloc, free

from river_extra_trees._core.dynamic cimport step as core_step
from river_extra_trees._core.dynamic.leaf_models cimport (
    Predictive, evidence, fit_batch, log_marginal, log_multinomial, predictive, to_cells,
)
from river_extra_trees._core.dynamic.nominal cimport cut_order
from river_extra_trees._core.dynamic.particles cimport ALC, ALM, ENTROPY, Met, Particles
from river_extra_trees._core.ensemble cimport Ensemble
from river_extra_trees._core.explain cimport Contributions, Explainer, Fork, Visit
from river_extra_trees._core.forests.extra_trees cimport ExtraTrees, Group
from river_extra_trees._core.forests.growth cimport DONE, SPLIT, Growth
from river_extra_trees._core.forests.lane_rows cimport Lane, float_at
from river_extra_trees._core.leaps cimport Present, add_present, leap
from river_extra_trees._core.linalg cimport (
    BATCH_SIZE, MAX_REGRESSORS, Fit, LeafModel, add_sample, merge, row_width, scale,
    scratch_size,
)
from river_extra_trees._core.rng cimport RENEW, rng_for
from river_extra_trees._core.schema cimport Schema
from river_extra_trees._core.shrubs.proximal cimport (
    hard_threshold, position_to_drop, project_simplex, soft_threshold,
)
from river_extra_trees._core.split cimport Split
from river_extra_trees._core.team cimport Job, Team
from river_extra_trees._core.tree cimport (
    Rows, Tree, begin_tree, free_tree, plant, reserve_samples, rows_by_column, walk_rows,
)
from river_extra_trees._core.window cimport Window

# --- Replacement of trees


def caught_up(Group group):
    """How many samples the next tree has learned, -1 while it grows; and whether it waits for more."""
    return group.caught_up, group.is_growing and group.caught_up >= 0


def slow_down(Group group, int steps):
    """Let the growth that has begun do at most 64 times so many steps per sample."""
    group.steps = steps


# --- Labels


def forget_label(ensemble, int code):
    """Let the trees forget a label, as they do when another one takes its place."""
    cdef bytearray gone = bytearray(len(ensemble.labels))
    gone[code] = 1
    (<Ensemble?>ensemble).trees.forget_classes(gone)


# --- Teams


cdef class Counter(Job):
    """Counts how often each of its tasks is done."""

    cdef int[64] counts

    cdef int do(self, long task, int thread) except -1 nogil:
        self.counts[task] += 1
        return 0


def run_jobs(int n_threads, int n_jobs, int n_tasks):
    """Let a new team do jobs; return how often each task was done."""
    cdef Counter counter = Counter()
    cdef Team team
    assert n_tasks <= 64
    with Team(n_threads) as team:
        for _ in range(n_jobs):
            with nogil:
                team.run(counter, n_tasks)
    return [counter.counts[task] for task in range(n_tasks)]

# --- Growths


cdef class Stepped:
    """The growth of a tree on the latest n samples of a forest, node by node."""

    cdef ExtraTrees forest
    cdef Growth growth
    cdef Tree tree

    def __cinit__(self, ExtraTrees forest, int n, int max_features):
        cdef int i, place, first = <int>forest.buffer.n_seen - n
        self.forest, self.growth = forest, Growth(**forest.rules)
        self.growth.buffer = forest.buffer
        begin_tree(&self.tree)
        self.growth.reserve_columns(forest.schema.n_columns)
        self.growth.n_offered = 0
        for i in range(forest.schema.n_columns):
            self.growth.offer_column(forest.schema, i)
        self.growth.reserve(&self.tree, &forest.trees.kind, forest.n_labels(), n,
                            forest.buffer.n_values(first, n), max_features)
        if not forest.regression:
            reserve_samples(&self.tree, n)
        plant(&self.tree)
        for i in range(n):
            place = forest.buffer.place_of(first + i)
            self.growth.places[i] = place
            if forest.regression:
                self.growth.numbers[i] = forest.buffer.target(place)
        self.growth.begin(0, 0, False, n, rng_for(1, 0, 0, RENEW))

    def __dealloc__(self):
        free_tree(&self.tree)

    def offsets(self):
        """How far the first parts of each kind in the memory block lie from multiples of 8 bytes."""
        parts = {"tasks": <size_t>self.growth.tasks, "links": <size_t>self.growth.links,
                 "ranges": <size_t>self.growth.ranges, "lanes": <size_t>self.growth.of_lanes,
                 "splits": <size_t>self.growth.splits, "words": <size_t>self.growth.words,
                 "values": <size_t>self.growth.values, "targets": <size_t>self.growth.targets}
        return {name: address % 8 for name, address in parts.items()}

    def n_bytes(self):
        """The size of the memory block."""
        return self.growth.block_bytes

    def node(self):
        """Go on until the next node has drawn its candidates; return whether there is one."""
        self.growth.step(&self.tree)
        while self.growth.phase not in (SPLIT, DONE):
            self.growth.step(&self.tree)
        return self.growth.phase == SPLIT

    def samples(self):
        """The numbers of the samples of the node, in the order of its rows."""
        cdef int row = self.growth.task.head, i
        if not self.growth.is_wide:
            return [self.growth.own_items()[i] for i in range(self.growth.task.n)]
        found = []
        while row >= 0:
            found.append(self.growth.items[0][row])
            row = self.growth.next_row[row]
        return found

    def lanes(self):
        """Of each lane: column, whether it is a byte, offset, scale, its values in the node."""
        cdef int lane, i
        cdef const Lane* this
        cdef const uint8_t* at
        found = []
        for lane in range(self.growth.lanes.n_lanes):
            this = &self.growth.of_lanes[lane]
            values = []
            for i in range(self.growth.task.n):
                at = (self.growth.own_rows() + <size_t>i * self.growth.lanes.size
                      + self.growth.byte_of(lane))
                values.append(at[0] if this.is_byte else float_at(at))
            found.append((this.column, bool(this.is_byte), this.offset, this.scale, values))
        return found

    def visited(self):
        """The best split of each lane that was visited alone: column -> (split, score)."""
        cdef int lane
        cdef const Split* split
        found = {}
        for lane in range(self.growth.lanes.n_fast, self.growth.lanes.n_lanes):
            split = &self.growth.splits[lane]
            if self.growth.scores[lane] > -INFINITY:
                found[split.feature] = (split.threshold, split.nominal, split.missing_left,
                                        self.growth.scores[lane])
        return found

    def lists(self):
        """The lists of the node: column -> [(sample, value)]."""
        cdef int i, entry, head
        found = {}
        for i in range(self.growth.task.table, self.growth.task.table + self.growth.task.n_lists):
            head = self.growth.n_values + self.growth.table[i]
            entries = []
            entry = self.growth.links[head].next
            while entry != head:
                entries.append((self.growth.items[0][self.growth.links[entry].row],
                                self.growth.links[entry].value))
                assert self.growth.links[self.growth.links[entry].next].previous == entry
                entry = self.growth.links[entry].next
            found[self.growth.links[head].list] = entries
        return found

    def active(self):
        """The columns that are not listed and may vary in the node."""
        return [self.growth.columns[i] for i in range(self.growth.task.n_active)]

    def asked(self):
        """Count the entries; return of how many columns the samples without a list were asked."""
        cdef int row, place
        found = []
        while self.growth.n_listed == 0:
            self.growth.step(&self.tree)
        for row in range(self.growth.n_samples):
            place = self.growth.places[self.growth.items[0][row]]
            if self.forest.buffer.entries_at(place) == NULL:
                found.append(self.growth.bounds[row + 1])
        return found

# --- Explanations


def leaps(ExtraTrees forest, values):
    """Of each tree with leaps: the leaf that a row {column: value} reaches by leaps, and by steps."""
    cdef double[::1] row = np.full(max(forest.schema.n_columns, *values, 0) + 1, np.nan)
    cdef Rows rows = rows_by_column(&row[0], 1)
    cdef Present present
    cdef int tree, leaf
    present.n, present.marks = 0, 0
    for column, value in values.items():
        add_present(&present, column, value)
        row[column] = value
    found = []
    for tree in range(forest.n_trees):
        if forest.trees.trees[tree].leaps != NULL:
            walk_rows(&forest.trees.trees[tree], &rows, NULL, 1, &leaf)
            found.append((leap(&forest.trees.trees[tree], &present), leaf))
    return found


cdef struct Places:             # of the nodes of a tree in preorder
    const int* features         # -1: a leaf
    const int* right            # place of the right child
    const int* left             # the rows that go left: a bit of each
    const double* weights
    const double* values        # values[node * n_rows + row]
    int n_rows


cdef void look(void* source, int node, Fork* found, double* values) noexcept nogil:
    """Describe a split."""
    cdef const Places* places = <Places*>source
    cdef int side, row, child = node + 1
    found.feature, found.left = places.features[node], places.left[node]
    for side in range(2):
        found.children[side] = child if places.features[child] >= 0 else -1
        found.weights[side] = places.weights[child]
        for row in range(places.n_rows):
            values[side * places.n_rows + row] = places.values[child * places.n_rows + row]
        child = places.right[node]


def shapley(int n_features, int most_features, nodes, int n_rows):
    """Shapley values in a tree with at most so many features on a path, per feature and row.

    The nodes are in preorder: feature (-1: a leaf), place of the right child, the rows that go left
    (a bit of each), weight, and value of a leaf for each row.
    """
    cdef Contributions total = Contributions(n_features, n_rows)
    cdef int[::1] features, right, left
    cdef double[::1] weights, values, ones = np.ones(n_rows)
    cdef Places places
    cdef Visit visit
    features, right, left = (np.array([node[k] for node in nodes], np.intc) for k in range(3))
    weights = np.array([node[3] for node in nodes], float)
    values = np.array([value for node in nodes for value in node[4]], float)
    places = Places(&features[0], &right[0], &left[0], &weights[0], &values[0], n_rows)
    visit = Visit(look, &places, n_rows, total.phi, n_rows, NULL, NULL, 0, NULL)
    if features[0] >= 0:
        Explainer(n_features).add(&visit, 0, most_features, &ones[0])
    return total.arrays()[1]


# --- Windows


def store(Window window, Schema schema, x, double target):
    """Encode a dict and push it; return the slot."""
    cdef Py_ssize_t column
    cdef int slot
    cdef double weight = 1.0
    cdef double[::1] row = np.array(schema.learn_row(x))
    schema.blank()
    for column in range(schema.n_columns):
        if row[column] == row[column]:
            schema.filled[schema.n_filled] = <int>column
            schema.n_filled += 1
    window.reserve_rows(schema, &row[0], 1, 1, window.size + 1)
    window.push(&row[0], 1, schema, 1, &target, &weight, &slot)
    return slot


def sort(Window window):
    """Sort the fresh samples in."""
    window.sort()


def release(Window window, slots):
    """Release the samples in these slots."""
    cdef uint8_t[::1] gone = np.zeros(window.capacity, dtype=np.uint8)
    window.sort()
    for slot in slots:
        gone[slot] = 1
    window.release(&gone[0])


def narrow(Window window):
    """Let the window know only the first column that a growth is offered, until it finds them."""
    window.n_distinct = min(1, window.n_distinct)


def ranked(Window window, int column):
    """The slots that have a value of a column, sorted."""
    assert 0 <= column < window.n_columns
    if window.lines[column] < 0:
        return []
    return [window.order_of(column)[i] for i in range(window.n_ordered[window.lines[column]])]


# --- Sets of nominal values


def lighter_side(sums, double smoothing, int least, double squares):
    """The codes that go left, and the correction; of a code: (n, weight, total, and of the past)."""
    cdef Met met[64]
    cdef double correction = 0.0, middle = 0.0
    cdef int i, n = 0
    for code, (n_samples, weight, total, past_weight, past_total) in sorted(sums.items()):
        met[n].code, met[n].n = code, n_samples
        met[n].weight, met[n].total = weight, total
        met[n].past_weight, met[n].past_total = past_weight, past_total
        met[n].mean = (total + past_total) / (weight + past_weight + smoothing)
        n += 1
    n = cut_order(met, n, least, squares, &correction, &middle)
    return [met[i].code for i in range(n)], correction


# --- Weights of shrubs


def nearest_on_simplex(values, int n_models):
    """The nearest point of the simplex with at most `n_models` nonzero entries, eq. (8)."""
    cdef double[::1] weights = np.array(values, dtype=float)
    cdef double[::1] rest
    kept = list(range(len(weights)))
    while len(kept) > n_models:
        rest = np.array([weights[k] for k in kept])
        weights[kept.pop(position_to_drop(&rest[0], <int>len(kept)))] = -INFINITY
    project_simplex(&weights[0], <int>len(weights))
    return np.asarray(weights).tolist()


def soft(double weight, double strength, double step):
    """The proximal operator of the L1 norm."""
    return soft_threshold(weight, strength, step)


def hard(double weight, double strength, double step):
    """The proximal operator of the number of nonzero weights."""
    return hard_threshold(weight, strength, step)


# --- Leaves of dynamic trees


cdef class Statistics:
    """One row of statistics with its leaf model: what a leaf knows.

    Parameters
    ----------
    n_regressors
        Regressors of a regression leaf; 0 makes it a constant one.
    n_classes
        Classes of a multinomial leaf; 0 makes it a regression leaf.
    values
        The row of a leaf; without, it is that of no samples.
    """

    cdef LeafModel model
    cdef double* row

    def __cinit__(self, int n_regressors=0, int n_classes=0, values=()):
        cdef int i
        assert 0 <= n_regressors <= MAX_REGRESSORS and n_classes >= 0
        assert not (n_regressors and n_classes)
        self.model.multinomial = n_classes > 0
        self.model.n_regressors = n_regressors
        self.model.n_classes = n_classes
        self.model.width = row_width(n_classes > 0, n_regressors, n_classes)
        self.model.df_offset = -(n_regressors + 1)
        self.model.concentration = 1.0 / n_classes if n_classes else 0.0
        self.row = <double*>calloc(2 * self.model.width + scratch_size(n_regressors),
                                   sizeof(double))
        if self.row == NULL:
            raise MemoryError
        self.model.prior = self.row + self.model.width
        self.model.scratch = self.model.prior + self.model.width
        assert len(values) in (0, self.model.width)
        for i in range(len(values)):
            self.row[i] = values[i]

    def __dealloc__(self):
        free(self.row)

    @property
    def values(self):
        """The row as numbers."""
        return [self.row[i] for i in range(self.model.width)]

    def set_prior(self, prior, double df_offset):
        """A prior row and its degrees of freedom."""
        cdef int i
        assert len(prior) == self.model.width
        for i in range(self.model.width):
            self.model.prior[i] = prior[i]
        self.model.df_offset = df_offset

    def add(self, z, double y, double weight=1.0):
        """One more sample."""
        cdef double[::1] v = np.array([*z, y], dtype=float)
        assert v.shape[0] == self.model.n_regressors + 1
        assert not self.model.multinomial or 0 <= y < self.model.n_classes
        add_sample(&self.model, self.row, &v[0], weight)

    def merge(self, Statistics other, double share=1.0):
        """Add a share of other statistics."""
        assert other.model.width == self.model.width
        merge(&self.model, self.row, other.row, share)

    def merged(self, Statistics other):
        """The sum of both, as statistics of their own."""
        cdef Statistics both = Statistics(
            self.model.n_regressors, self.model.n_classes, self.values)
        both.merge(other)
        return both

    def scale(self, double factor):
        """Multiply the weight of every sample."""
        scale(&self.model, self.row, factor)

    def log_marginal(self):
        """Log marginal likelihood of all samples."""
        cdef bint is_linear
        return log_marginal(&self.model, self.row, True, &is_linear)

    def predictive(self, z=()):
        """(mean, squared scale, degrees of freedom) of the Student-t predictive at z."""
        cdef double[::1] v = np.array([*z, 0.0], dtype=float)
        assert v.shape[0] == self.model.n_regressors + 1
        cdef Predictive answer = predictive(&self.model, self.row, &v[0])
        return answer.mean, answer.scale2, answer.df


def log_marginals(leaves, origin):
    """Log marginal likelihoods of at most BATCH_SIZE leaves with one prior, computed together.

    `origin` has a number for each regressor and the target.
    """
    cdef Statistics leaf = leaves[0]
    cdef LeafModel* model = &leaf.model
    cdef Fit fits[BATCH_SIZE]
    cdef int lane, cell, n = len(leaves)
    assert n <= BATCH_SIZE and len(origin) == model.n_regressors + 1
    cdef double[::1] centre = np.array(origin, dtype=float)
    cdef double[::1] one = np.empty(model.width), base = np.zeros(model.width)
    cdef double[::1] cells = np.zeros(model.width * BATCH_SIZE)
    if not model.multinomial:
        to_cells(model, model.prior, &centre[0], &base[0])
    for lane in range(n):
        leaf = leaves[lane]
        to_cells(model, leaf.row, &centre[0], &one[0])
        for cell in range(model.width):
            cells[cell * BATCH_SIZE + lane] = one[cell] + base[cell]
    if model.multinomial:
        return [log_multinomial(model, &cells[lane], BATCH_SIZE) for lane in range(n)]
    fit_batch(model, &cells[0], n, fits)
    return [evidence(model, &fits[lane], fits[lane].weight - model.prior[0]) for lane in range(n)]


# --- Particle filters

CRITERIA = {"alc": ALC, "alm": ALM, "entropy": ENTROPY}


def retire(Particles particles, int slot):
    """Move an active sample into the priors of its leaves."""
    cdef uint8_t[::1] gone = np.zeros(particles.pool.capacity, np.uint8)
    cdef int i
    drawn = [particles.drawn[i] for i in range(particles.pool.size)]
    drawn.remove(slot)
    core_step.retire_slot(particles, slot)
    for i in range(len(drawn)):
        particles.drawn[i] = drawn[i]
    gone[slot] = True
    particles.pool.release(&gone[0])


def scores(Particles particles, str criterion):
    """Score of each active sample, by slot."""
    cdef double[:, ::1] found = core_step.scores(particles, CRITERIA[criterion])
    return {slot: found[<int>slot, 0] for slot in particles.pool.slots()}
