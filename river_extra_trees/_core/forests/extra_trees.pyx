"""A forest of groups of trees with different window sizes. See the header."""

from copy import deepcopy

import numpy as np

from libc.math cimport exp

from ..allocation cimport product
from ..parts cimport view
from ..ensemble cimport RowPass
from ..explain cimport Contributions, Explanations
from ..leaps cimport can_leap, leap_trees
from ..table cimport AHEAD, Ahead, RowReader
from ..learner cimport Learner
from ..max_features cimport SHARE, max_features_of, n_tried
from ..schema cimport Labels, Schema
from ..team cimport Team
from ..tree cimport (
    begin_tree, bytes_of_tree, free_tree, is_leaf, reserve_samples, turn, walk_trees,
)
from ..trees cimport Trees
from .buffer cimport is_missing
from .explained cimport explanations_of
from .growth cimport MOST_CELLS, are_few
from .lane_rows cimport LEAST_EVIDENCE
from .model_trees cimport walk
from .questions cimport Pace, claim
from .rotation cimport (
    advance, begin_again, interval_of, patience, reserve_group, start_growth,
)
from .tree_pass cimport TreePass, pass_rows, reserve_pass

from ..state import FINITE, LARGEST_COUNT, fields_of, require, require_codes
from .model_trees import KINDS

cdef enum:
    FIRST_GROWTH = 10       # number of samples before the first growth
    MOST_OF_SHARE = 100     # features that a share stands for: bounds the time with many columns
    MOST_OF_LISTS = 12      # if columns are listed: of several drawn ones, the fullest is tried
    BEGUN = 3               # in a state: its place among the fields of a growth
    GROWTH_FIELDS = 6

cdef double GOLDEN = 0.6180339887498949     # multiples of it, modulo 1, lie far apart

LARGEST_WINDOW = (2**31 - 1) // 4       # sums of three still fit into 32 bits
RULES = ("criterion", "max_depth", "min_samples_split", "min_samples_leaf")
RULE = ("whole", 0, 2**31 - 1)
FIELDS = {
    "regression": ("flag",), "batch_size": ("whole", 1, LARGEST_WINDOW),
    "fading": ("number", 0.0, 1.0), "max_features": ("max_features",),
    "max_nodes": ("whole", 1, 2**31 - 1), "max_depth": RULE, "min_samples_split": RULE,
    "min_samples_leaf": RULE, "seed": ("whole", 0, 2**64 - 1),
    "schema": ("part", Schema), "labels": ("part", Labels), "buffer": ("part", Buffer),
    "births": ("array", np.int64, "trees"),
    "growths": ("array", np.int64, "groups", GROWTH_FIELDS),
    "due": ("numbers", "groups", {"least": 0.0, "most": float(LARGEST_COUNT)}),
    "evidence": ("numbers", "groups", "told", FINITE), "questions": ("part", Questions),
    "criterion": ("word", ("gini", "entropy", "variance")), "trees": ("part", Trees),
    # Of a classification:
    "logistic": ("part_or_none", LogisticRegression), "pool": ("part_or_none", ClassPool),
    # Of a regression:
    "models": ("parts", LinearModels), "linear": ("items",),
    "mixture": ("part_or_none", NumberMixture),
}

cdef inline int go_on(const Tree* tree, int node, const double* row) noexcept nogil:
    """The leaf below a node that a row reaches."""
    while not is_leaf(&tree.nodes[node]):
        node = tree.nodes[node].left ^ <int>turn(
            &tree.nodes[node], row[tree.nodes[node].feature], False)
    return node


cdef class Group(Owner):
    """The trees of one window size. See the header."""

    def __cinit__(self, int window_size, int first, int n, TreeGrowth growth):
        self.window_size, self.first, self.n = window_size, first, n
        self.growth = growth
        self.due = FIRST_GROWTH
        self.caught_up = -1
        self.ready_models = []

    def __dealloc__(self):
        cdef int i
        for i in range(self.room):
            free_tree(&self.ready[i])

    cdef int make_room(self, ExtraTrees forest, int n) except -1:
        """Make room in `ready` for the growths of n samples: one or less for each."""
        cdef double interval = interval_of(self, forest.buffer.n_seen)
        cdef int most = <int>min(<double>n, 2.0 + n / interval)
        if most > self.room:
            self.resize(&self.ready_at, most, sizeof(int64_t))
            self.resize(&self.ready, most, sizeof(Tree))
            while self.room < most:
                begin_tree(&self.ready[self.room])
                self.room += 1
        while forest.regression and len(self.ready_models) < most:
            self.ready_models.append(LinearModels(forest.linear[forest.groups.index(self)]))
        return 0

    cdef int n_samples(self) noexcept nogil:
        """Number of samples on which the next tree is grown."""
        return <int>min(self.begun, <int64_t>self.window_size)


cdef void stagger(Group group, int g) noexcept:
    """Let the growths of group g begin at other samples than those of the other groups."""
    group.due += interval_of(group, <int64_t>group.due) * (g * GOLDEN % 1.0)


cdef class SmallBatch(Owner):
    """Scratch memory for splits on small batches. See the header."""

    def __cinit__(self, ExtraTrees forest):
        self.growth = Growth(**forest.rules)
        self.growth.buffer = forest.buffer
        self.renew(&self.leaves, forest.batch_size, sizeof(int))
        self.renew(&self.places, forest.batch_size, sizeof(int))


cdef class ExtraTrees(Ensemble):
    """A forest of groups of trees with different window sizes. See the header.

    Parameters
    ----------
    regression
        Whether targets are numbers instead of labels.
    windows
        Per group: (window size, number of trees).
    linear
        Per group of a regression, which nodes of its trees have a linear model: "none", "leaves"
        or "root"; None: no tree has any.
    batch_size
        Number of samples of a small batch, on which the leaves of a tree are split.
    fading
        Decay factor of the weights of a leaf, per sample that it learns.
    max_features
        Number of features that vary in a node and are visited: None (all), "sqrt", "log2", a
        number, or a share of all. All are the columns with a value among the samples of a growth.
    max_nodes
        Maximum number of nodes of each tree.
    rules
        The arguments of `Growth`.
    seed
        Seed of the streams of random numbers.
    """

    def __init__(self, bint regression, windows, int batch_size, double fading,
                 max_features, int max_nodes, dict rules, seed, linear=None):
        cdef int window_size, n, n_trees, first = 0
        self.regression = regression
        self.batch_size, self.fading = batch_size, fading
        self.forgets_fast = fading ** batch_size < 1e-15     # no weight is below 1e-308
        self.max_features, self.max_nodes, self.seed = max_features, max_nodes, seed
        self.rule_of_features = max_features_of(max_features)
        self.rules = rules
        self.groups = []
        self.linear = ["none"] * len(windows) if linear is None else list(linear)
        for (window_size, n), kind in zip(windows, self.linear, strict=True):
            growth = TreeGrowth(kind, rules, self.new_trees())
            self.groups.append(Group(window_size, first, n, growth))
            first += n
        self.n_trees = n_trees = first
        if regression:      # else all groups would write the first pages of their memory at once
            for first, group in enumerate(self.groups):
                stagger(group, first)
        self.trees = self.new_trees()
        self.trees.reserve_trees(n_trees)
        for _ in range(n_trees):
            self.trees.add_tree()
        self.models = [LinearModels(kind) for (_, n), kind in zip(windows, self.linear)
                       for _ in range(n)] if regression else []
        self.small = []
        self.store_in(Buffer(self.n_remembered()))
        self.renew(&self.births, n_trees, sizeof(int64_t))
        self.renew(&self.renumbered, n_trees, sizeof(int64_t))
        self.renew(&self.leaves, product(n_trees, batch_size), sizeof(int))
        self.renew(&self.single.leaves, n_trees, sizeof(int))
        self.renew(&self.single.slopes, n_trees, sizeof(double))
        if regression:
            self.mixture = NumberMixture(len(self.groups))
        else:
            self.pool = ClassPool(len(self.groups))
            self.pool.labels = self.labels
            self.logistic = LogisticRegression()
        self.questions = Questions()
        self.questions.keep_leaves(self.n_trees)
        self.renew(&self.claims, len(self.groups) + 1, sizeof(double))
        self.n_row = -1

    def n_remembered(self):
        """Number of samples to remember, so that none is lost while a tree is grown on it.

        All rows that are read ahead are stored before the trees learn the first one.
        """
        return <int>AHEAD + self.batch_size + max(
            group.window_size + patience(group.window_size, group.n) + 2
            for group in self.groups)

    cdef object store_in(self, Buffer buffer):
        """Store the latest samples in this buffer, and grow trees on it."""
        cdef Group group
        self.buffer = buffer
        self.small = [SmallBatch(self)]
        for group in self.groups:
            group.growth.growth.buffer = buffer
            group.make_room(self, 1)

    cdef int make_small(self, int n_threads) except -1:
        """Make the scratch memory of so many threads."""
        while len(self.small) < n_threads:
            self.small.append(SmallBatch(self))
        return 0

    # ---------------------------------------------------------------- learning

    cdef int prepare_run(self, RowReader reader) except -1:
        cdef Group group
        self.make_small(reader.team.n_threads)
        for group in self.groups if reader.learns else ():
            group.make_room(self, <int>AHEAD)
        return Ensemble.prepare_run(self, reader)

    cdef RowPass new_pass(self, RowReader reader, Ahead ahead):
        return TreePass(self, ahead, reader)

    cdef int run(self, RowReader reader, Py_ssize_t stop, int n_labels) except -1 nogil:
        cdef Py_ssize_t row = reader.row
        if not reader.learns:
            self.open_questions(row, stop)
            Ensemble.run(self, reader, stop, n_labels)
            self.questions.note(reader.row - row, self.buffer.n_seen)
            if self.first_place >= 0:       # the other rows are asked later
                self.questions.end = self.first_place + <int>max(
                    <Py_ssize_t>0, reader.row - self.first_asked)
            return 0
        return (<TreePass>reader.job).run(reader, stop, n_labels)

    cdef int reserve(self, int n_labels) except -1 nogil:
        """Allocate memory for the answers; the buffer and the trees allocate theirs later."""
        self.reserve_answers(n_labels)
        if not self.regression:
            self.pool.transitions.reserve(n_labels)
            self.logistic.fit(n_labels)
        return 0

    cdef int n_visited(self, int n_columns, bint has_lists) noexcept nogil:
        """Number of features that a node visits if so many are offered; see `column_lists`."""
        cdef int n = n_tried(&self.rule_of_features, n_columns)
        if self.rule_of_features.rule != SHARE:
            return n
        return min(n, <int>(MOST_OF_LISTS if has_lists else MOST_OF_SHARE))

    cdef int n_visited_by(self, TreeGrowth growing, int64_t first, int n) noexcept nogil:
        """`n_visited` for the columns that were offered to a growth on n samples.

        If the rows of the growth hold most of the columns in its last sample, all of a share are
        visited: that costs little more, since the passes over the rows take all columns anyway.
        """
        cdef int i, place = self.buffer.place_of(first + n - 1), n_present = 0
        cdef int n_offered = growing.growth.n_offered
        cdef int64_t n_cells = <int64_t>n_offered * n
        if are_few(growing.n_values, n_cells):
            return self.n_visited(n_offered, True)
        if n_cells <= MOST_CELLS:
            for i in range(n_offered):
                n_present += not is_missing(
                    self.buffer.value(growing.growth.columns[i], place))
            if 2 * n_present >= n_offered:
                return n_tried(&self.rule_of_features, n_offered)
        return self.n_visited(n_offered, False)

    cdef int hold_columns(self, uint8_t* held, int64_t* latest) except -1:
        cdef LinearModels models
        cdef int i
        self.questions.reserve_columns(self.schema.n_columns)
        self.buffer.find_latest(latest)
        self.trees.hold_columns(held)
        for models in self.models:
            for i in range(models.n_regressors):
                held[models.columns[i]] = True
        return 0

    cdef void forget_columns(self, const uint8_t* held) noexcept:
        cdef Group group
        self.n_row = -1
        self.questions.forget_columns(held)
        if self.buffer.keep_columns(held):
            for group in self.groups:
                begin_again(self, group)
        for group in self.groups:
            group.growth.growth.forget_evidence(held)
        if self.regression:
            self.mixture.noise.forget_columns(held)
        else:
            self.logistic.forget_columns(held)

    cdef int hold_labels(self, uint8_t* held, uint8_t* met) except -1:
        self.buffer.mark_classes(held)
        self.trees.mark_classes(met)
        return 0

    cdef void forget_labels(self, const uint8_t* gone) noexcept:
        """The trees that grow have no other labels than those of stored samples."""
        self.trees.forget_classes(gone)
        self.logistic.forget_classes(gone)
        self.pool.forget(gone)

    cdef void widen(self, int n_labels) noexcept:
        self.trees.widen(n_labels)
        self.questions.forget()     # their answers have too few labels
        self.named = self.schema.version - 1
        self.n_row = -1

    cdef int update(self, double target, double weight) except -1 nogil:
        cdef Pass* rows = &self.single
        self.begin_row()
        rows.asked = self.take(rows, 0, self.buffer.n_seen)
        if rows.asked == NULL:
            self.answer()
        elif not self.is_same_row():
            self.find_leaves(self.questions.leaves_taken())     # no prediction is asked for
        rows.targets, rows.weights, rows.n_learned = &target, &weight, 1
        rows.is_answered = True
        pass_rows(self, rows, None, 0, None)
        rows.targets, rows.n_learned, rows.is_answered = NULL, 0, False
        self.named = self.schema.version
        self.n_row = -1
        return 0

    # ---------------------------------------------------------------- predictions

    cdef int reserve_answers(self, int n_labels) except -1 nogil:
        """Allocate memory for the predictions for one row."""
        cdef int width = 2 if self.regression else max(1, n_labels)
        if self.schema.n_columns > self.row_capacity:
            self.resize(&self.row, 2 * self.schema.n_columns, sizeof(double))
            self.resize(&self.row_columns, 2 * self.schema.n_columns, sizeof(int))
            self.row_capacity = 2 * self.schema.n_columns
        if width > self.single.capacity:
            reserve_pass(self, self, &self.single, 1, n_labels)
            self.n_row = -1
        return 0

    cdef size_t size_of_answers(self) noexcept:
        return <size_t>self.n_members() * max(1, self.n_values())

    cdef int n_members(self) noexcept nogil:
        """Number of groups; in a regression of trees."""
        return self.n_trees if self.regression else self.n_groups()

    cdef int answer(self) except -1 nogil:
        """Compute the predictions for the row that began, unless they are still valid."""
        cdef int k
        if self.is_same_row():
            return 0
        self.n_row = self.schema.n_filled
        for k in range(self.n_row):
            self.row_columns[k] = self.schema.filled[k]
            self.row[k] = self.schema.row[self.schema.filled[k]]
        self.find_leaves(NULL)
        return pass_rows(self, &self.single, None, 0, None)

    cdef void begin_row(self) noexcept nogil:
        """Begin a pass of the row encoded last."""
        cdef Pass* rows = &self.single
        self.schema.sort_filled()
        rows.n, rows.values, rows.stride = 1, self.schema.row, 1
        rows.columns, rows.n_columns = self.schema.filled, self.schema.n_filled

    cdef void find_leaves(self, const int* asked) noexcept nogil:
        """Let the row go down all trees.

        If the leaves of its question are known, it goes on from there in the trees whose nodes have
        the same numbers since.
        """
        cdef int tree = 0, stop, n = self.n_trees
        cdef int* leaves = self.single.leaves
        while tree < n:
            stop = tree
            while stop < n and (asked == NULL or self.renumbered[stop] > self.questions.taken_at):
                stop += 1
            if stop == tree:
                leaves[tree] = go_on(&self.trees.trees[tree], asked[tree], self.schema.row)
                tree += 1
                continue
            if can_leap(self.schema.n_filled, self.schema.n_columns):
                leap_trees(self.trees.trees + tree, stop - tree, self.schema, leaves + tree)
            else:
                walk_trees(self.trees.trees + tree, stop - tree, self.schema, leaves + tree)
            tree = stop

    cdef bint is_same_row(self) noexcept nogil:
        """Whether the row encoded last is the one that the predictions are for."""
        cdef int k
        cdef double value
        if self.n_row != self.schema.n_filled:
            return False
        for k in range(self.n_row):
            value = self.schema.row[self.schema.filled[k]]
            if self.row_columns[k] != self.schema.filled[k] or not (
                    self.row[k] == value or (self.row[k] != self.row[k] and value != value)):
                return False
        return True

    cdef double* take(self, Pass* rows, int i, int64_t n_seen) noexcept nogil:
        """The predictions that the question of row i had, which is learned after n_seen others.

        NULL if there is none, or if no others were learned since it was asked.
        """
        rows.is_found = False
        if not self.questions.waits() and self.questions.n_first == 0:
            return NULL
        return self.questions.take(
            self.questions.hash_of(rows.values + i, rows.stride, rows.columns, rows.n_columns),
            n_seen, self.schema.version == self.named, &rows.is_found)

    cdef void learn_weights(self, const Pass* rows, int i, const double* answers) noexcept nogil:
        """Update the weights of the members with their predictions for row i and its target.

        If its question was asked before other samples were learned, the predictions are those that
        the question had.
        """
        cdef Pace pace = self.questions.pace()
        cdef double* mixed = rows.mixed if rows.asked == NULL else rows.asked
        pace.claims = self.claims_of(self.questions.delay)
        pace.is_of_question = rows.is_found or self.questions.delay == 0.0
        if self.regression:
            if self.mixture.noise.version != self.schema.version:
                self.mixture.noise.fit(self.schema)
            self.mixture.learn(mixed, rows.targets[i], &pace, rows.values + i, rows.stride)
        else:
            self.pool.weigh(answers if rows.asked == NULL else NULL, mixed,
                            <int>rows.targets[i], rows.width, &pace)

    cdef double* claims_of(self, double delay) noexcept nogil:
        """What each member gets of the share s; the stacked prediction gets the mean."""
        cdef int g, n = self.n_groups()
        self.claims[n] = 0.0
        for g in range(n):
            self.claims[g] = claim((<Group>self.group(g)).window_size, delay)
            self.claims[n] += self.claims[g] / n
        return self.claims

    cdef int remember(self) except -1 nogil:
        self.questions.keep(
            self.questions.hash_of(self.schema.row, 1, self.schema.filled, self.schema.n_filled),
            self.buffer.n_seen, self.single.mixed, self.size_of_mixed(self.n_values()),
            self.single.leaves)
        return 0

    cdef int open_questions(self, Py_ssize_t row, Py_ssize_t stop) except -1 nogil:
        """Make places for the questions of these rows of a frame, or of the last ones."""
        cdef int width = self.size_of_mixed(self.n_values())
        cdef int n = <int>min(stop - row, <Py_ssize_t>self.questions.most(width))
        self.first_place, self.first_asked = -1, stop - n
        if self.buffer.n_seen > 0 and n > 0 and not self.questions.is_closed:
            self.first_place = self.questions.open(n, width)
        return 0

    cdef int size_of_mixed(self, int width) noexcept nogil:
        """Number of doubles of `mixed`."""
        return self.mixture.scratch_of() if self.regression else self.pool.scratch_of(
            max(1, width))

    cdef double* prediction(self, double* mixed, int width) noexcept nogil:
        """The combined prediction."""
        return self.mixture.mean(mixed) if self.regression else self.pool.pooled(mixed, width)

    cdef int n_values(self) noexcept nogil:
        """Number of values of a prediction: classes; or 2, a number and its variance."""
        return 2 if self.regression else self.n_labels()

    cdef int reserve_and_answer(self) except -1 nogil:
        """Compute the predictions for the row that the schema encoded last."""
        self.reserve_answers(self.n_labels())
        self.begin_row()
        self.answer()
        return 0

    cdef double* row_shares(self) except? NULL nogil:
        self.reserve_and_answer()
        return self.prediction(self.single.mixed, self.n_values())

    cdef double row_number(self) except? -1.0 nogil:
        self.reserve_and_answer()
        return self.prediction(self.single.mixed, 2)[0]

    cdef Explanations explanations(self, Contributions total, bint shapley, Team team):
        return explanations_of(self, total, shapley, team)

    def predict_spread(self, x):
        """Of a predicted number: mean, expected squared error, two quantiles, number of errors.

        The quantiles are those of |z|, see `mixtures`.
        """
        cdef double* mixed
        with self.using():
            self.schema.encode(x)
            self.reserve_and_answer()
            self.remember()
            mixed = self.single.mixed
            return (self.prediction(mixed, 2)[0], self.mixture.spread(mixed)[0],
                    exp(self.mixture.tails[0]), exp(self.mixture.tails[1]), self.mixture.n_errors)

    def number_of_tree(self, int tree, x):
        """The number that one tree predicts."""
        if not self.regression or not 0 <= tree < self.n_trees:
            raise IndexError(f"there is no tree {tree} that predicts numbers")
        with self.using():
            self.schema.encode(x)
            self.reserve_and_answer()
            return self.single.answers[2 * tree]

    @property
    def n_seen(self):
        """Number of samples learned."""
        return self.buffer.n_seen

    def window_weights(self):
        """(window size, weight) of each window: the sum over its groups."""
        cdef dict found = {}
        with self.using():
            weights = (self.mixture if self.regression else self.pool).member_weights()
        for group, weight in zip(self.groups, weights):
            found[group.window_size] = found.get(group.window_size, 0.0) + weight
        if self.regression:     # without the stacked answer
            total = sum(found.values())
            found = {size: weight / total for size, weight in found.items()}
        return list(found.items())

    def effective_memory(self):
        """The mean of the window sizes by the weights of their groups; a watch asks often."""
        cdef double memory = 0.0, total = 0.0
        cdef const double* weights
        cdef int g
        with self.using():
            weights = self.mixture.weights if self.regression else self.pool.weights
            for g in range(self.n_groups()):
                memory += weights[g] * (<Group>self.groups[g]).window_size
                total += weights[g]
        return memory / total

    # ---------------------------------------------------------------- inspection

    cdef list tree_nodes(self, int tree):
        cdef list nodes = Ensemble.tree_nodes(self, tree)
        if self.regression:
            for node in nodes:
                node["coefficients"] = (<LinearModels>self.models[tree]).coefficients_of(
                    node["node"])
        return nodes

    def __sizeof__(self):
        cdef Group group
        cdef SmallBatch small
        cdef int i
        cdef size_t size = super().__sizeof__()
        for small in self.small:
            size += small.growth.n_bytes()
        for group in self.groups:       # whose own arrays each of them counts
            size += group.growth.n_bytes()
            for i in range(group.room):
                size += bytes_of_tree(&group.ready[i], &self.trees.kind)
        return size

    # ---------------------------------------------------------------- copies and states

    def settings(self):
        """The arguments of the constructor."""
        return {
            "n_trees": self.n_trees, "regression": self.regression,
            "windows": [(group.window_size, group.n) for group in self.groups],
            "linear": list(self.linear), "batch_size": self.batch_size,
            "fading": self.fading, "max_features": self.max_features,
            "max_nodes": self.max_nodes, "rules": dict(self.rules), "seed": self.seed,
        }

    cdef Learner serving_copy(self):
        """A copy with all trees and without samples."""
        values = self.fields()
        values["growths"][:, BEGUN] = 0
        values["births"][:] = 0
        values["buffer"] = self.buffer.emptied()
        values["questions"] = Questions(is_closed=True)
        return deepcopy(self.restored(values))

    cdef dict fields(self):
        cdef Group group
        growths = [(group.window_size, group.n, group.turn, group.begun if group.is_growing else 0,
                    group.n_columns, group.n_labels) for group in self.groups]
        return fields_of(self, FIELDS, {
            **self.rules, "linear": list(self.linear) if self.regression else [],
            "births": view(self.births, "i8", (self.n_trees,)),
            "growths": np.array(growths, np.int64).reshape(len(self.groups), GROWTH_FIELDS),
            "due": np.array([group.due for group in self.groups], np.float64),
            "evidence": self.evidence(),
        })

    cdef object evidence(self):
        """The evidence of the columns for each group, up to the last column that has any."""
        cdef Group group
        cdef int i
        found = np.full((len(self.groups), self.schema.n_columns), float(LEAST_EVIDENCE))
        for i, group in enumerate(self.groups):
            own = view(group.growth.growth.evidence, "f8", (group.growth.growth.column_capacity,))
            found[i, :len(own)] = own
        told = np.flatnonzero((found != LEAST_EVIDENCE).any(0))
        return found[:, :told.max(initial=-1) + 1].copy()

    FIELDS = FIELDS
    DEFAULTS = {"logistic": None, "pool": None, "models": [], "linear": [], "mixture": None}

    @classmethod
    def restored(cls, values):
        """The forest of a state. It repeats growths only if its samples and trees are valid."""
        cdef ExtraTrees forest = super().restored(values)
        cdef Group group
        for group in forest.groups:
            if group.begun > 0:
                forest.grow_again(group)
        forest.find_small_leaves()
        return forest

    cdef int load(self, dict fields) except -1:
        """Take over the parts and the growths of a state."""
        cdef int i, n_groups
        cdef Group group
        cdef const int64_t[:, ::1] growths = fields["growths"]
        cdef Buffer buffer = fields["buffer"]
        cdef int64_t n
        n_trees = fields["trees"].n_trees
        windows, linear, regression = growths.base[:, :2], fields["linear"], fields["regression"]
        require(np.all((windows >= 1) & (windows <= [LARGEST_WINDOW, n_trees]))
                and n_trees > 0 and sum(windows[:, 1].tolist()) == n_trees
                and len(fields["births"]) == n_trees,
                "ExtraTrees: the groups do not hold the trees")
        require(len(linear) == (len(windows) if regression else 0)
                and all([type(kind) is str and kind in KINDS for kind in linear]),
                "ExtraTrees: no such linear models")
        require({fields["criterion"] == "variance", fields["mixture"] is not None,
                 fields["logistic"] is None, fields["pool"] is None} == {regression},
                "ExtraTrees: the predictions are of another kind")
        self.__init__(
            windows=windows.tolist(), linear=linear or None,
            rules={name: fields[name] for name in RULES},
            **{name: fields[name] for name in (
                "regression", "batch_size", "fading", "max_features", "max_nodes", "seed")})
        n_groups = len(self.groups)
        n = self.n_remembered() - <int>AHEAD    # without the rows that are read ahead
        require(buffer.n_seen - buffer.oldest >= min(buffer.n_seen, n),
                "ExtraTrees: samples are missing")
        buffer.enlarge(self.buffer.n_blocks)    # a forged file can name fewer
        self.store_in(buffer)
        self.schema, self.labels = fields["schema"], fields["labels"]
        self.named = self.schema.version
        self.trees = fields["trees"]
        self.models, self.mixture = fields["models"], fields["mixture"]
        self.logistic, self.pool = fields["logistic"], fields["pool"]
        if not self.regression:
            self.pool.labels = self.labels
        self.questions = fields["questions"]
        self.questions.keep_leaves(self.n_trees)
        view(self.births, "i8", (self.n_trees,))[...] = fields["births"]
        evidence = fields["evidence"]
        require(evidence.shape[1] <= self.schema.n_columns,
                "ExtraTrees: evidence of a column that is not there")
        require(len(self.models) == (self.n_trees if self.regression else 0)
                and (self.mixture if self.regression else self.pool).n_groups == n_groups,
                "ExtraTrees: the models or the weights do not fit")
        for i in range(n_groups):
            group = self.groups[i]
            group.due = fields["due"][i]
            group.growth.growth.reserve_columns(evidence.shape[1])
            view(group.growth.growth.evidence, "f8", evidence[i].shape)[...] = evidence[i]
            group.turn, group.begun = growths[i, 2], growths[i, BEGUN]
            group.n_columns, group.n_labels = growths[i, 4], growths[i, 5]
        return 0

    cdef int grow_again(self, Group group) except -1:
        """Repeat the growth of the next tree up to the present sample.

        The number of steps after each sample is a function of the samples and of those before.
        """
        cdef int64_t at, n_seen = self.buffer.n_seen
        cdef double latest = group.begun + interval_of(group, group.begun)
        # So it ends while its samples are remembered.
        require(group.begun < group.due <= latest
                and n_seen < group.begun + patience(group.window_size, group.n)
                and group.begun - group.n_samples() >= self.buffer.oldest,
                "ExtraTrees: a growth contradicts the number of samples")
        group.growth.offer_columns(
            self.schema, group.begun - group.n_samples(), group.n_samples())
        group.growth.reserve(group.n_labels, group.n_samples(), self.n_visited_by(
            group.growth, group.begun - group.n_samples(), group.n_samples()))
        if not self.regression:
            reserve_samples(&group.growth.tree, group.n_samples())
        start_growth(self, group)
        for at in range(group.begun, n_seen + 1):
            reserve_group(self, group, n_seen + 1, self.n_labels())
            if advance(self, group, at, n_seen):
                break       # of a forged file; the next sample ends the growth
        return 0

    cdef void find_small_leaves(self) noexcept:
        """Find the leaves that the samples of the present small batches have reached."""
        cdef int tree, size = self.batch_size
        cdef int64_t arrival, n_seen = self.buffer.n_seen
        for tree in range(self.n_trees):
            arrival = n_seen - (n_seen + size - tree % size) % size
            arrival = max(arrival, self.births[tree], self.buffer.oldest)
            while arrival < n_seen:
                self.leaves[<Py_ssize_t>tree * size + arrival % size] = (
                    walk(&self.trees.trees[tree], self.buffer, self.buffer.place_of(arrival)))
                arrival += 1

    cdef int check_structure(self) except -1:
        """Raise a StateError if the valid parts of the forest are not consistent."""
        cdef Group group
        cdef int i
        cdef int64_t n_seen = self.buffer.n_seen
        require(self.trees.fits(self.new_trees(), self.schema.codes, len(self.labels)),
                "ExtraTrees: a tree does not belong to it")
        for i in range(self.n_trees):
            require(0 <= self.births[i] <= n_seen, "ExtraTrees: a tree comes later")
        self.check_models()
        self.check_samples()
        self.check_questions()
        for group in self.groups:
            require(group.n > 0 and 0 <= group.turn < group.n and 0 <= group.begun <= n_seen
                    and 0 <= group.n_columns <= self.schema.n_columns
                    and 0 <= group.n_labels <= len(self.labels),
                    "ExtraTrees: a group has no such growth")
        require(not self.regression or self.mixture.noise.belongs_to(self.schema),
                "ExtraTrees: the noise knows other columns")
        require(self.regression or (self.pool.transitions.n_labels == len(self.labels)
                                    and self.logistic.belongs_to(
                                        self.schema, <int>len(self.labels))),
                "ExtraTrees: the transitions or the regression know other labels or columns")
        return 0

    cdef int check_models(self) except -1:
        """Refuse linear models that are not those of the trees."""
        cdef Group group
        cdef LinearModels models
        cdef int tree
        if not self.regression:
            return 0
        for group in self.groups:
            for tree in range(group.first, group.first + group.n):
                models = <LinearModels>self.models_of(tree)
                require(models.kind == group.growth.kind
                        and models.n_columns <= self.schema.n_columns,
                        "ExtraTrees: a linear model does not belong to its tree")
        return 0

    cdef int check_questions(self) except -1:
        """Refuse questions whose answers are none of this forest."""
        require(self.questions.n_columns <= self.schema.n_columns,
                "Questions: a column was freed that is not there")
        answers = self.questions.check_answers(
            self.size_of_mixed(self.n_values()), self.buffer.n_seen)
        least, most = (self.mixture.bounds() if self.regression
                       else self.pool.bounds(self.n_labels()))
        require(np.all((answers >= least) & (answers <= most))
                and (self.regression or np.all(answers[:, -1] == np.floor(answers[:, -1]))),
                "Questions: there are no such answers")
        return 0

    cdef int check_samples(self) except -1:
        """Refuse remembered samples with columns, labels or nominal values that are not known."""
        cdef Group group
        require(self.buffer.n_features <= self.schema.n_columns,
                "ExtraTrees: a column has no name")
        targets, oldest = self.buffer.state()["target"], self.buffer.oldest
        require_codes("ExtraTrees", self.schema.codes, self.buffer.cells().columns(), targets,
                      None if self.regression else len(self.labels))
        for group in self.groups:
            first = group.begun - group.n_samples() - oldest
            require(self.regression or first < 0 or np.all(
                targets[first:group.begun - oldest] < group.n_labels),
                "ExtraTrees: a growth has no such labels")
        return 0
