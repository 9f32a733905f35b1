"""Trees that learn one stream in batches: the work per sample.

A single tree is a forest of one. The subclasses define the bags of a batch and the growth of trees.
"""

from libc.string cimport memset

from copy import deepcopy

import numpy as np

from ..allocation cimport product
from ..cart.value_history cimport ValueHistory
from ..cart.workspace cimport find_distinct
from ..ensemble cimport Ensemble, RowPass
from ..explain cimport Contributions, Explanations
from ..guarded cimport begin_step, end_step
from ..table cimport AHEAD, LONG_AHEAD
from ..learner cimport Learner
from ..rng cimport BOOTSTRAP, EARLY, below, rng_for
from ..schema cimport Labels
from ..team cimport Team
from ..tree cimport (
    add_frequencies, free_tree, hold_sets, is_leaf, learn, mean_of, plant, reserve_pairs, shrink,
    trim, walk_trees, weight_of,
)

from ..state import require

cdef enum:
    FIRST = 10      # number of samples at the first early growth; also the smallest step after it
    FEW = 1024      # rows times trees for which no other thread is woken


NO_PLAN = np.empty((0, 2), np.int64)    # no tree waits to grow
FIELDS = {
    "regression": ("flag",), "published": ("flag",), "bagging": ("flag",),
    "batch_size": ("whole", 1, 2**31 - 1), "fading": ("number", 0.0, 1.0),
    "seed": ("whole", 0, 2**64 - 1), "n_batches": ("whole",), "n_early": ("whole", 0, 2**31 - 1),
    "schema": ("part", Schema), "labels": ("part", Labels), "window": ("part", Window),
    "trees": ("part", Trees), "root_statistics": ("part", Trees),
    "n_waiting": ("whole", 0, 2**31 - 1), "n_per_step": ("whole", 0, 2**31 - 1),
    "n_tried": ("whole", 0, 2**31 - 1),
    "history": ("part", ValueHistory),
    "plan": ("whole_numbers", np.int64, None, 2, {"least": 0, "most": 2**31 - 1}),
}


cdef class Forest(WindowEnsemble):
    """Trees that learn in batches. Subclasses call `begin` in their constructor."""

    cdef int begin(self, int n_trees, bint regression, int batch_size, bint published,
                   double fading, object seed) except -1:
        self.regression, self.published = regression, published
        self.batch_size, self.fading, self.seed = batch_size, fading, seed
        self.window, self.history = Window(), ValueHistory(regression)
        self.plan = NO_PLAN
        self.root_statistics = Trees(0, regression)
        self.root_statistics.add_tree()
        self.trees = self.new_trees()
        self.trees.reserve_trees(n_trees)
        for _ in range(n_trees):
            self.trees.add_tree()
        self.reserve_sums(1)
        return 0

    # --- Learning -----------------------------------------------------------------------------

    cdef int reserve(self, int n_labels) except -1 nogil:
        if n_labels > self.n_sums or (self.bagging and self.bags == NULL):
            with gil:
                self.reserve_sums(n_labels)
                self.make_bags()
        return self.window.reserve_one(self.schema, self.batch_size)

    cdef void forget_labels(self, const uint8_t* gone) noexcept:
        WindowEnsemble.forget_labels(self, gone)
        self.root_statistics.forget_classes(gone)

    cdef void widen(self, int n_labels) noexcept:
        WindowEnsemble.widen(self, n_labels)
        self.root_statistics.widen(n_labels)

    cdef void store(self, const double* values, Py_ssize_t stride, int n, const double* targets,
                    const double* weights, int* slots) noexcept nogil:
        self.window.push(values, stride, self.schema, n, targets, weights, slots)

    cdef int update(self, double target, double weight) except -1 nogil:
        cdef int slot, position = self.n_gathered()
        self.store(self.schema.row, 1, 1, &target, &weight, &slot)
        self.learn_rows(self.find_leaves_of_row(), 1, &target, &weight, &slot, 1, position,
                        self.n_labels())
        return self.send_values(slot)       # now: trees are judged by their answers before

    cdef int find_divided(self) except -1:
        cdef bytearray marks = bytearray(self.schema.n_columns)
        cdef uint8_t* held = marks
        cdef int tree, column
        self.n_divided = 0
        if self.schema.is_numeric() or self.published:
            return 0
        for tree in range(self.trees.n_trees):
            hold_sets(&self.trees.trees[tree], held)
        self.resize(&self.divided, max(1, marks.count(1)), sizeof(int))
        for column in range(self.schema.n_columns):
            if held[column]:
                self.divided[self.n_divided] = column
                self.n_divided += 1
        return 0

    cdef int send_values(self, int slot) except -1 nogil:
        cdef int k, tree, column
        if self.n_waiting > 0 or self.n_batches == 0:
            return 0
        for k in range(self.n_divided):
            column = self.divided[k]
            if not self.is_to_send(column, self.window.value(column, slot)):
                continue
            self.history.recall(self.window, column, self.window.value(column, slot))
            for tree in range(self.trees.n_trees):
                self.history.send(&self.trees.trees[tree], self.window, slot, column)
        return 0

    cdef bint is_to_send(self, int column, double code) noexcept nogil:
        """Whether growths have met a value seldom: by the history, and by stored samples."""
        return code == code and not self.history.is_well_known(column, code) and (
            not self.window.has_sorted(column, code))

    cdef int n_without(self, RowReader reader, int n) noexcept nogil:
        cdef int k, i
        cdef const double* values
        for k in range(self.n_divided if self.n_waiting == 0 and self.n_batches > 0 else 0):
            values = reader.ahead.values + self.divided[k] * reader.ahead.stride
            for i in range(n):
                if self.is_to_send(self.divided[k], values[i]):
                    n = i
                    break
        return n

    cdef int learn_rows(self, const int* leaves, Py_ssize_t spacing, const double* targets,
                        const double* weights, const int* slots, int n, int position,
                        int n_labels) except -1 nogil:
        return 0

    cdef bint batch_is_full(self) noexcept nogil:
        return self.n_waiting > self.n_may_wait() or self.n_gathered() >= self.batch_end()

    cdef int n_may_wait(self) noexcept nogil:
        """Number of trees that may grow after the next sample."""
        cdef int64_t since = self.n_gathered()      # the growth was due
        if self.n_batches == 0:
            since -= self.n_early
        return <int>max(0, self.trees.n_trees - self.n_per_step * (1 + since))

    cdef int batch_end(self) noexcept nogil:
        """Number of samples in this batch at which the trees grow next."""
        if self.n_batches > 0 or self.published:
            return self.batch_size
        return self.n_early + self.next_step(self.n_early)

    cdef int next_step(self, int n_early) noexcept nogil:
        """Number of samples from an early growth, or the start of a batch, to the next growth."""
        return min(max(FIRST, n_early // 2), self.batch_size - n_early)

    cdef int n_gathered(self) noexcept nogil:
        """Number of samples in this batch."""
        return self.window.size

    @property
    def n_offered(self):
        """Number of columns that are offered to growth: distinct ones with a value."""
        self.find_offered()
        return self.window.n_distinct

    @property
    def n_ahead(self):
        """Number of samples from a growth that is due to the next one."""
        if self.n_gathered() >= self.batch_size:
            return self.batch_size
        return self.next_step(self.n_gathered())

    @property
    def n_in_batch(self):
        """Number of samples in this batch."""
        return self.n_gathered()

    @property
    def growth_is_due(self):
        """Whether the trees have to grow first. A part waits for the losses of the other parts."""
        return self.batch_is_full()

    cdef int make_bags(self) except -1:
        """Draw the bags of this batch, unless they are drawn already."""
        if self.bagging and self.bags == NULL:
            self.renew(&self.bags, product(self.trees.n_trees, self.batch_size), sizeof(int))
            self.draw_bags()
        return 0

    cdef void draw_bags(self) noexcept:
        """Draw the bags of the next batch with replacement (stream forests: Algorithm 2, line 3).

        The bags of the first batch are drawn later, by `make_bags`.
        """
        cdef int tree
        for tree in range(self.trees.n_trees):
            self.draw_bag(tree, self.batch_of_bag(tree))

    cdef void draw_bag(self, int tree, uint64_t batch) noexcept nogil:
        """Draw the bag of a tree for a batch."""
        cdef int* bag = self.bags + <Py_ssize_t>tree * self.batch_size
        cdef Rng rng = rng_for(self.seed, tree, batch, BOOTSTRAP)
        cdef int64_t _
        if self.bags == NULL:
            return
        memset(bag, 0, self.batch_size * sizeof(int))
        for _ in range(self.bag_size(&rng)):
            bag[<int>below(&rng, self.batch_size)] += 1

    cdef uint64_t batch_of_bag(self, int tree) noexcept:
        """Number of the batch to which the bag of a tree belongs."""
        return self.batch_of_growth()

    cdef int64_t bag_size(self, Rng* rng) noexcept nogil:
        """Number of samples in the bag of a tree, copies counted."""
        return self.batch_size

    cdef const int* copies_of(self, int tree) noexcept nogil:
        """Per position in this batch: copies of the sample in a tree; NULL: one each."""
        return self.bags + <Py_ssize_t>tree * self.batch_size if self.bags != NULL else NULL

    cdef int mark_columns(self, int tree, uint8_t* chosen) except -1:
        """Mark the columns that a tree may split."""
        memset(chosen, 1, self.window.n_columns)
        return 0

    cdef void find_offered(self) noexcept:
        """Find the columns of the window that are offered to growth."""
        find_distinct(self.window, self.schema, self.history)

    cdef Tree* new_tree(self, int tree) except NULL nogil:
        """Make a tree one empty leaf again."""
        cdef Tree* this = &self.trees.trees[tree]
        free_tree(this)
        reserve_pairs(this, &self.trees.kind, 1)
        plant(this)
        return this

    cdef int learn_root(self, Tree* tree, Window window, int n, const int* copies) except -1 nogil:
        """Let the root of a new tree learn n samples of a window; `copies` is per slot."""
        cdef int i, slot, times
        for i in range(n):
            slot = window.slot_at(i)
            times = copies[slot] if copies != NULL else 1
            if times:
                learn(tree, &self.trees.kind, 0, window.target[slot],
                      window.weight[slot] * times, self.batch_of_growth() + 1)
        return 0

    # --- Growth -------------------------------------------------------------------------------

    def begin_early(self, int max_depth, int n_tried, int n_per_step):
        """Begin the growth of early trees on the first batch so far, if that is due.

        Parameters
        ----------
        max_depth
            Maximum depth of a tree.
        n_tried
            Number of features that a split visits; 0 for all.
        n_per_step
            Number of trees that grow at once, and after each sample from then on.
        """
        with self.using():
            if (self.n_waiting == 0 and self.batch_is_full()
                    and self.n_gathered() < self.batch_size):
                # numpy may let a signal raise
                plan = np.tile(np.array([0, max_depth], np.int64), (self.trees.n_trees, 1))
                self.n_early = self.n_gathered()
                self.begin_waiting(plan, n_tried, n_per_step)

    cdef int begin_waiting(self, object plan, int n_tried, int n_per_step) except -1:
        self.plan, self.n_tried = plan, n_tried
        self.n_waiting, self.n_per_step = self.trees.n_trees, n_per_step
        return 0

    def grow(self, list splitters, int max_nodes):
        """Grow the trees that have to grow before the next sample.

        Parameters
        ----------
        splitters
            One per thread.
        max_nodes
            Maximum number of nodes of a tree.
        """
        cdef int n
        with self.using():
            n = self.n_waiting - self.n_may_wait()
            if n <= 0:
                return
            self.make_bags()        # of a forest that was loaded before its trees grew
            BatchGrowth(self, splitters, max_nodes, self.trees.n_trees - self.n_waiting, n).run()
            self.n_waiting -= n
            if self.n_waiting == 0:
                self.plan, self.n_tried, self.n_per_step = NO_PLAN, 0, 0
                self.end_waiting()
                self.find_divided()
            end_step(self)

    cdef int end_waiting(self) except -1:
        return 0

    cdef int grow_tree(self, int tree, Splitter splitter, int max_nodes) except -1:
        raise NotImplementedError

    cdef int grow_early_tree(self, int tree, Splitter splitter, int max_nodes) except -1:
        """Grow an early tree, which replaces the present one.

        In the first batch the slot of a sample is its position in the batch.
        """
        cdef Tree* this = self.new_tree(tree)
        cdef const int* copies = self.copies_of(tree)
        cdef bytearray marks = bytearray(self.window.n_columns)
        cdef uint8_t* chosen = marks
        splitter.window, splitter.history = self.window, self.history
        splitter.max_depth = self.plan[tree][1]
        self.mark_columns(tree, chosen)
        with nogil:
            self.learn_root(this, self.window, self.n_early, copies)
            if weight_of(this, 0) > 0.0:
                splitter.grow(this, &self.trees.kind, self.trees.n_values, self.schema, copies,
                              self.n_tried, 1.0, rng_for(self.seed, tree, self.n_early, EARLY),
                              chosen, self.window.fresh, self.n_early)
                shrink(this, max_nodes)
            else:                   # no copy of any of the samples
                self.learn_root(this, self.window, self.n_early, NULL)
            self.catch_up(tree, self.n_early)
            trim(this, &self.trees.kind, 0)
        return 0

    cdef int catch_up(self, int tree, int first) except -1 nogil:
        return 0

    cdef bint has_early_trees(self) noexcept nogil:
        """Whether the growth on the first batch has to replace early trees."""
        return self.batch_of_growth() == 0 and self.n_early > 0

    cdef uint64_t batch_of_growth(self) noexcept nogil:
        """Number of the batch on which the trees grow."""
        return self.n_batches - (self.n_waiting > 0 and self.n_batches > 0)

    # --- Rows of a batch without the GIL ------------------------------------------------------

    cdef int prepare_run(self, RowReader reader) except -1:
        self.reserve_sums(self.n_labels())
        return Ensemble.prepare_run(self, reader)

    cdef int run(self, RowReader reader, Py_ssize_t stop, int n_labels) except -1 nogil:
        """Predict and learn several rows at once, because splits do not change until `grow`."""
        cdef int n, room
        if not reader.learns:
            return Ensemble.run(self, reader, stop, n_labels)
        while reader.row < stop and not (reader.answered or self.batch_is_full()):
            room = self.room(n_labels)
            if room == 0 and reader.weight() > 0.0:
                begin_step(self)
                self.reserve(n_labels)
                end_step(self)
                room = self.room(n_labels)
            n = self.n_without(reader, reader.read_ahead(stop, room, self.regression))
            if n == 0:
                return 0
            self.find_leaves(reader, n)
            if room > 0:
                begin_step(self)
                self.window.reserve_rows(self.schema, reader.ahead.values, reader.ahead.stride, n,
                                         self.window.capacity)
                end_step(self)
                self.learn_ahead(reader, n, n_labels)
            else:       # no row has a weight, and the window may have no memory for one
                self.answer_ahead(reader, reader.ahead, reader.row, 0, n, n_labels)
            reader.row += n
        return 0

    cdef int find_leaves(self, RowReader reader, int n) except -1 nogil:
        """Find the leaves of the n rows that were read ahead, in all trees."""
        cdef long tree, n_trees = self.trees.n_trees
        (<RowPass>reader.job).n = n
        if n * n_trees > FEW:
            return reader.team.run(reader.job, n_trees)
        for tree in range(n_trees):
            (<RowPass>reader.job).do(tree, 0)
        return 0

    cdef int learn_ahead(self, RowReader reader, int n, int n_labels) except -1 nogil:
        """Learn the rows that were read ahead; if asked to, predict each row before."""
        cdef const int* leaves = reader.ahead.leaves
        cdef const double* targets = reader.ahead.targets
        cdef const double* weights = reader.ahead.weights
        cdef int[AHEAD] slots
        cdef int i, position = self.n_gathered()
        self.store(reader.ahead.values, reader.ahead.stride, n, targets, weights, slots)
        if not reader.asks:
            return self.learn_rows(
                leaves, reader.ahead.stride, targets, weights, slots, n, position, n_labels)
        for i in range(n):
            self.answer_ahead(reader, reader.ahead, reader.row, i, 1, n_labels)
            if slots[i] >= 0:
                self.learn_rows(leaves + i, reader.ahead.stride, targets + i, weights + i,
                                slots + i, 1, position, n_labels)
                position += 1
        return 0

    cdef int room(self, int n_labels) noexcept nogil:
        if self.bagging and self.bags == NULL:
            return 0
        cdef int n = min(
            self.batch_end() - self.n_gathered(), self.window.capacity - self.window.size)
        return n if self.n_waiting == 0 else min(n, 1)      # trees grow before the next row

    cdef void answer_ahead(self, RowReader reader, Ahead ahead, Py_ssize_t row, int first, int n,
                           int n_labels) noexcept nogil:
        cdef const int* leaves = ahead.leaves + first
        cdef double* votes = ahead.votes
        cdef double mean
        cdef int i
        if not self.regression:
            self.sum_votes(leaves, ahead.stride, n, n_labels, votes)
        for i in range(n):
            if self.regression:
                mean = self.mean_of_trees(leaves + i, ahead.stride)
                reader.store_prediction(row + first + i, &mean, 1)
            else:
                reader.store_prediction(
                    row + first + i, votes + <Py_ssize_t>i * n_labels, n_labels)

    # --- Predictions --------------------------------------------------------------------------

    cdef int reserve_sums(self, int n_labels) except -1:
        """Allocate memory for the votes for n labels, and the leaves of one row."""
        self.resize(&self.reached, max(1, self.trees.n_trees), sizeof(int))
        if n_labels > self.n_sums:
            self.resize(&self.sums, n_labels, sizeof(double))
            self.n_sums = n_labels
        return 0

    cdef void add_votes(self, const Tree* tree, const int* leaves, int n, int n_labels,
                        double* votes, uint8_t* voted) noexcept nogil:
        cdef int i
        for i in range(n):
            if weight_of(tree, leaves[i]) > 0.0:
                voted[i] = True
                add_frequencies(tree, leaves[i], 1.0, votes, 1)
            votes += n_labels

    cdef const int* find_leaves_of_row(self) noexcept nogil:
        """The leaf in each tree that the row encoded last reaches; valid until the next call."""
        walk_trees(self.trees.trees, self.trees.n_trees, self.schema, self.reached)
        return self.reached

    cdef double* row_shares(self) except? NULL nogil:
        self.sum_votes(self.find_leaves_of_row(), 1, 1, self.n_labels(), self.sums)
        return self.sums

    cdef void sum_votes(self, const int* leaves, Py_ssize_t spacing, int n, int n_labels,
                        double* votes) noexcept nogil:
        """The sums of the class frequencies in the leaves of n rows; see `learn_rows`."""
        cdef uint8_t[LONG_AHEAD] voted
        cdef int i, tree, root = 0
        memset(voted, 0, n)
        memset(votes, 0, <size_t>n * n_labels * sizeof(double))
        for tree in range(self.trees.n_trees):
            self.add_votes(
                &self.trees.trees[tree], leaves + tree * spacing, n, n_labels, votes, voted)
        for i in range(n):
            if not voted[i]:
                self.add_votes(self.root_statistics.trees, &root, 1, n_labels,
                               votes + <Py_ssize_t>i * n_labels, voted + i)

    cdef double row_number(self) except? -1.0 nogil:
        return self.mean_of_trees(self.find_leaves_of_row(), 1)

    cdef double mean_of_trees(self, const int* leaves, Py_ssize_t spacing) noexcept nogil:
        """The mean of the leaf means."""
        cdef double total = 0.0
        cdef int tree, n = 0
        for tree in range(self.trees.n_trees):
            if weight_of(&self.trees.trees[tree], leaves[tree * spacing]) > 0.0:
                total += mean_of(&self.trees.trees[tree], leaves[tree * spacing])
                n += 1
        return total / n if n else mean_of(self.root_statistics.trees, 0)

    # --- Explanations -------------------------------------------------------------------------

    cdef Explanations explanations(self, Contributions total, bint shapley, Team team):
        cdef ForestExplanations found = ForestExplanations.__new__(ForestExplanations)
        found.begin(total, shapley, team, self.trees)
        found.forest, found.by_majority = self, self.votes_by_majority()
        found.by(self.n_labels())
        return found

    cdef bint votes_by_majority(self) noexcept nogil:
        """Whether a leaf votes for its largest class alone."""
        return False

    # --- Copies -------------------------------------------------------------------------------

    cdef Learner serving_copy(self):
        cdef Forest copy = type(self)(**{**self.settings(), "n_trees": 0, "batch_size": 1})
        copy.schema, copy.labels, copy.trees, copy.root_statistics = deepcopy(
            (self.schema, self.labels, self.trees, self.root_statistics))
        copy.reserve_sums(<int>len(copy.labels))
        return copy

    # --- State --------------------------------------------------------------------------------

    def settings(self):
        """The arguments of the constructor."""
        return {"n_trees": self.trees.n_trees, "regression": self.regression,
                "batch_size": self.batch_size, "published": self.published, "seed": self.seed,
                "bagging": self.bagging}

    FIELDS = FIELDS
    DEFAULTS = {"regression": False, "published": False, "bagging": False, "fading": 1.0,
                "n_batches": 0, "n_early": 0, "n_waiting": 0, "n_per_step": 0, "n_tried": 0,
                "plan": NO_PLAN}

    cdef int load(self, dict fields) except -1:
        WindowEnsemble.load(self, fields)
        require(self.n_gathered() <= self.batch_size, "Forest: the batch has too many samples")
        self.reserve_sums(max(1, <int>len(self.labels)))
        self.find_divided()
        return 0

    cdef int check_structure(self) except -1:
        """Raise a StateError if the valid parts of the forest are not consistent."""
        require(self.trees.n_trees > 0, "Forest: there is no tree")
        require(self.root_statistics.n_trees == 1 and is_leaf(self.root_statistics.trees.nodes),
                "Forest: the root statistics are no leaf")
        for trees, empty in ((self.root_statistics, Trees(0, self.regression)),
                             (self.trees, self.new_trees())):
            require(trees.fits(empty, self.schema.codes, len(self.labels)),
                    "Forest: a tree does not belong to it")
        require(self.n_batches > 0 or self.n_early <= self.n_gathered(),
                "Forest: the first trees have grown on samples that are not there")
        require(self.n_waiting <= self.trees.n_trees
                and (self.n_waiting <= self.n_may_wait() or self.n_waiting == self.trees.n_trees
                     and self.n_gathered() == (0 if self.n_batches else self.n_early)),
                "Forest: trees wait that have to grow")
        require(self.n_waiting == 0 or self.n_batches or self.n_early,
                "Forest: trees wait to grow on no samples")
        require(self.n_waiting == 0 or self.n_per_step * <int64_t>(
                    self.batch_end() - (0 if self.n_batches else self.n_early))
                >= <int64_t>self.trees.n_trees,
                "Forest: trees wait that do not grow before the batch ends")
        require(len(self.plan) == (self.trees.n_trees if self.n_waiting else 0),
                "Forest: trees wait without a plan")
        return self.check_codes()


cdef class ForestExplanations(VoteExplanations):
    """The contributions to the mean of the trees that vote for a row. See the header."""

    cdef int put_row(self, int row, const double* values, int code) except -1:
        cdef const int* reached = self.forest.reached
        cdef double* weights = self.weights + row
        cdef Py_ssize_t n_rows = self.total.n_rows
        cdef int tree, n_trees = self.trees.n_trees, n_voters = 0
        cdef double vote
        VoteExplanations.put_row(self, row, values, code)
        self.reach(row, reached)
        for tree in range(n_trees):
            n_voters += weight_of(&self.trees.trees[tree], reached[tree]) > 0.0
        vote = 1.0 / max(1, n_voters)
        for tree in range(n_trees):
            weights[tree * n_rows] = (
                vote if weight_of(&self.trees.trees[tree], reached[tree]) > 0.0 else 0.0)
        if n_voters == 0:
            if self.of_root is None:
                self.of_root = VoteExplanations.__new__(VoteExplanations)
                self.of_root.begin(
                    self.total, self.shapley, self.team, self.forest.root_statistics)
                self.of_root.by_majority = self.by_majority
                self.of_root.by(self.forest.n_labels())
            self.of_root.put_row(row, values, code)
            self.of_root.weights[row] = 1.0
        return 0

    cdef int finish(self) except -1:
        if self.of_root is not None:
            self.of_root.explain(0, 1)
        return VoteExplanations.finish(self)


cdef class BatchGrowth(Job):
    """The growth of trees on one batch. See the header."""

    def __init__(self, Forest forest, list splitters, int max_nodes, int first, int n):
        self.forest, self.splitters, self.max_nodes = forest, splitters, max_nodes
        self.first, self.n = first, n

    cdef int run(self) except -1:
        """Grow all trees. No Python code runs here, so signals are handled at the end."""
        cdef Team team = Team(len(self.splitters))
        self.forest.find_offered()
        begin_step(self.forest)
        try:
            with nogil:
                team.run(self, self.n)
        finally:
            team.end_threads()
        return 0

    cdef int do(self, long task, int thread) except -1 nogil:
        cdef int tree = self.first + <int>task
        with gil:
            if self.forest.n_batches == 0:
                self.forest.grow_early_tree(tree, self.splitters[thread], self.max_nodes)
            else:
                self.forest.grow_tree(tree, self.splitters[thread], self.max_nodes)
        return 0
