"""Shrub ensembles: Algorithm 1 of Buschjaeger, Hess and Morik (2022). See the header."""

from copy import deepcopy

import numpy as np

from libc.math cimport fabs, log2, sqrt
from libc.stdint cimport int64_t

from ..ahead cimport AHEAD
from ..arrays cimport view
from ..cart.splitter cimport Splitter
from ..learner cimport Learner
from ..memory cimport free, resized, zeroed
from ..rng cimport FEATURES, rng_for
from ..schema cimport Labels, Schema
from ..table cimport Reader
from ..trees cimport HEADER, WEIGHT, Trees
from ..window cimport Window
from .weights cimport (
    NEGLIGIBLE, REBUILD, answer, count, count_newcomer, evaluate, gather, is_hopeless, prune,
    rebuild, sums_run, weigh,
)

from ..state import LARGEST_FLOAT, SMALLEST, State, fields_of, put_back, require

cdef enum:
    MAX_MODELS = 10_000     # of a restored ensemble
    # Values of `feature_count` that are not numbers of features.
    ALL = 0
    SQUARE_ROOT = -1
    LOGARITHM = -2

# If a sample with a larger share of the total weight leaves, the rounding errors of the running
# sums are too large.
cdef double HEAVY = 1e3
# Tolerance for the weight of a class divided by that of its node.
cdef double ROUNDED = 1.0 + 1e-9
# Limit of running sums in a state. It cannot be checked whether they come from samples.
SUMS = {"least": -1e150, "most": 1e150}
COUNT, STRENGTH = ("whole", 1, 2**31 - 1), ("number", 0.0, LARGEST_FLOAT)
SETTINGS = {        # the arguments of the constructor: how they are read
    "regression": ("flag",), "n_models": ("whole", 1, MAX_MODELS), "window_size": COUNT,
    "loss": ("word", ("mse", "cross_entropy")),
    "step_size": ("number_or", ("adaptive",), SMALLEST, LARGEST_FLOAT),
    "rho": ("number_or", (None,), SMALLEST, 2.0), "rounds": COUNT, "project_each_round": ("flag",),
    "max_depth": ("whole", 0, 2**31 - 1), "max_features": ("max_features",), "shuffled": ("flag",),
    "update_interval": COUNT, "retrain": ("word", ("always", "error")), "l0": STRENGTH,
    "l1": STRENGTH, "l2": STRENGTH, "node_penalty": STRENGTH, "seed": ("whole", 0, 2**64 - 1),
}
FIELDS = {
    **SETTINGS, "schema": ("part", Schema), "labels": ("part", Labels), "window": ("part", Window),
    "room": ("array", np.uint8, "window_size"),     # so that the file bounds the memory
    "trees": ("part", Trees), "weights": ("numbers", "trees"), "hits": ("numbers", "trees", SUMS),
    "births": ("array", np.int64, "trees"), "gram": ("numbers", "trees", "trees", SUMS),
    "total_weight": ("number", SUMS), "since_rebuild": ("whole", 0, 2**31 - 1),
    "n_trained": ("whole",),
}


cdef size_t block_size(size_t places, size_t window_size) noexcept nogil:
    """Bytes of all arrays except `outputs` and `slopes`."""
    return places * ((3 + places) * sizeof(double) + sizeof(int64_t)
                     + (2 + window_size) * sizeof(int))


cdef class Shrubs(Learner):
    """The trees, their weights, and the window of samples for both.

    Parameters
    ----------
    regression
        Whether trees predict means instead of class frequencies.
    shuffled
        Visit the features in random order, which decides between equal splits.
    others
        As in the estimators.
    """

    def __cinit__(self, *, bint regression, int n_models, int window_size, loss="mse",
                  step_size=0.1, rho=None, int rounds=1, bint project_each_round=False,
                  max_depth=None, max_features=None, bint shuffled=False, int update_interval=1,
                  retrain="always", double l0=0.0, double l1=0.0, double l2=0.0,
                  double node_penalty=0.0, seed=0):
        self.regression = regression
        self.splitter = Splitter("variance" if regression else "gini", max_depth=max_depth,
                                 shuffled=shuffled)
        self.let_grow(Window(window_size), Trees(0, regression))
        self.n_models, self.window_size = n_models, window_size
        self.project_each_round = project_each_round
        self.loss = {"mse": SQUARED_ERROR, "cross_entropy": CROSS_ENTROPY}[loss]
        self.only_errors = {"always": False, "error": True}[retrain]
        self.set_steps(step_size=step_size, rho=rho, rounds=rounds,
                       update_interval=update_interval, l0=l0, l1=l1, l2=l2,
                       node_penalty=node_penalty)
        self.seed = seed
        self.max_features = max_features
        if isinstance(max_features, float):
            self.feature_share = max_features
        else:
            self.feature_count = {None: ALL, "sqrt": SQUARE_ROOT, "log2": LOGARITHM}.get(
                max_features, max_features)
        self.allocate(n_models + 1)

    cdef void let_grow(self, Window window, Trees trees) noexcept:
        """Set samples and trees of the ensemble and its splitter."""
        self.window = self.splitter.window = window
        self.trees = self.splitter.trees = trees

    def set_steps(self, *, step_size, rho, int rounds, int update_interval, double l0, double l1,
                  double l2, double node_penalty):
        """Set the parameters of the weights and of training, from the next sample on."""
        self.step_size = 0.0 if step_size == "adaptive" else step_size
        self.rho = 0.0 if rho is None else rho
        self.rounds, self.update_interval = rounds, update_interval
        self.l0, self.l1, self.l2, self.node_penalty = l0, l1, l2, node_penalty

    cdef int allocate(self, size_t places) except -1:
        """Allocate all arrays over the trees."""
        self.weights = <double*>zeroed(block_size(places, self.window_size), 1)
        self.hits = self.weights + places
        self.gradient = self.hits + places
        self.gram = self.gradient + places
        self.births = <int64_t*>(self.gram + places * places)
        self.sizes = <int*>(self.births + places)
        self.answering = self.sizes + places
        self.leaves = self.answering + places
        self.width = 1 if self.regression else 0
        self.reserve_outputs(self.width)
        return self.trees.reserve_roots(<int>places)

    def __dealloc__(self):
        free(self.weights)
        free(self.outputs)

    def __sizeof__(self):
        cdef size_t places = self.n_models + 1
        return (object.__sizeof__(self) + block_size(places, self.window_size)
                + self.width_capacity * (places + 1) * sizeof(double))

    # --- Learning: Algorithm 1 ----------------------------------------------------------------

    cdef int reserve_outputs(self, int width) except -1 nogil:
        """Make room for the outputs of `width` classes."""
        cdef size_t places = self.n_models + 1
        if width > self.width_capacity:
            self.outputs = <double*>resized(self.outputs, width * (places + 1), sizeof(double))
            self.slopes = self.outputs + width * places
            self.width_capacity = width
        return 0

    cdef int reserve(self, int n_labels) except -1 nogil:
        """Make room for the row that the schema encoded last, and for a new tree."""
        cdef int n = min(self.window.size + 1, self.window_size)
        cdef int n_live, width = 1 if self.regression else n_labels
        self.window.reserve_places(self.schema.n_columns)
        n_live = self.window.count_live(self.schema.filled, self.schema.n_filled)
        self.window.reserve(self.window_size, self.schema.n_columns, n_live)
        self.reserve_outputs(width)
        self.trees.reserve(2 * n + 1, width)
        return self.splitter.reserve(
            self.trees.capacity, n, self.window_size, n_live,
            max(self.trees.n_values, n_labels))     # as `Workspace.prepare`, so that it cannot fail

    cdef void widen(self, int n_labels) noexcept:
        self.trees.widen(n_labels)
        self.width = n_labels

    cdef int take(self, double target, double weight) except -1 nogil:
        """One step of Algorithm 1."""
        cdef double step_size = self.step_size, l2 = self.l2
        cdef bint train = self.window.n_seen % self.update_interval == 0
        cdef bint wrong = self.push(target, weight)     # lines 3 to 5
        train = train and (wrong or not self.only_errors)
        if self.rho > 0.0:      # the rule of the published experiments, section 4
            l2 = self.n_models * (2.0 - self.rho) / (self.rho * self.width)
            step_size = 1.0 / (self.n_models + l2)
        elif step_size == 0.0:
            step_size = 1.0 / (self.trees.n_roots + train + 1)
        if train and not is_hopeless(self, step_size, l2):
            self.train()                                # lines 6 to 8
        weigh(self, step_size, l2)                      # lines 9 to 11
        prune(self)                                     # line 12
        return 0

    cdef bint push(self, double target, double weight) noexcept nogil:
        """Add the row that the schema encoded last to the window, and remove the oldest row.

        Returns whether the ensemble predicts it wrongly: always without trees, and never in a
        regression.
        """
        cdef int slot = -1, c, best = 0
        cdef Py_ssize_t spacing = self.window_size
        if self.window.size == self.window_size:
            slot = self.window.by_arrival[0]
            self.total_weight -= self.window.weight[slot]
            if self.window.weight[slot] > HEAVY * self.total_weight:
                self.since_rebuild = REBUILD * self.window_size
            if sums_run(self):
                count(self, slot, -1.0)
        slot = self.window.slide(self.schema, target, weight, slot)
        self.total_weight += weight
        evaluate(self, self.schema.row, 1, self.schema.n_columns, self.leaves + slot, spacing)
        if sums_run(self):
            count(self, slot, 1.0)
        self.since_rebuild += 1
        if self.since_rebuild >= REBUILD * self.window_size:
            rebuild(self)
        if self.trees.n_roots == 0:
            return True
        if self.regression:
            return False
        if not sums_run(self):
            gather(self, self.leaves + slot, spacing)
        for c in range(1, self.width):
            if answer(self, c) > answer(self, best):
                best = c
        return best != <int>target

    cdef int n_features(self) noexcept nogil:
        """Number of features that a split tries."""
        cdef int n = self.window.n_live
        if self.feature_share > 0.0:
            return max(1, <int>(self.feature_share * n))
        if self.feature_count == SQUARE_ROOT:
            return max(1, <int>sqrt(<double>n))
        if self.feature_count == LOGARITHM:
            return max(1, <int>log2(<double>max(1, n)))
        return n if self.feature_count == ALL else self.feature_count

    cdef void train(self) noexcept nogil:
        """Lines 6 to 8: grow a tree of weight zero on the window. After `reserve`."""
        cdef int tree = self.trees.new_root(), i, slot, n_splits
        cdef int root = self.trees.roots[tree]
        cdef int64_t step = self.window.n_seen
        cdef int* leaves = self.leaves + <Py_ssize_t>tree * self.window_size
        for i in range(self.window.n_sorted):
            slot = self.window.by_arrival[i]
            self.trees.learn(root, self.window.target[slot], self.window.weight[slot], step)
        n_splits = self.splitter.grow(root, self.schema, NULL, self.n_features(), step,
                                      rng_for(self.seed, 0, step, FEATURES))
        self.weights[tree] = 0.0
        self.sizes[tree] = 2 * n_splits + 1
        self.births[tree] = step - 1
        self.n_trained += 1
        for i in range(self.window.n_sorted):
            slot = self.window.by_arrival[i]
            leaves[slot] = self.trees.walk_slot(root, self.window, slot)
        if sums_run(self):
            count_newcomer(self, tree)

    # --- Answers ------------------------------------------------------------------------------

    cdef double* row_shares(self) except? NULL nogil:
        """Compute f(x) of eq. (2) in `slopes`."""
        evaluate(self, self.schema.row, 1, self.schema.n_columns, self.answering, 1)
        return self.shares_in(self.answering, 1)

    cdef double* shares_in(self, const int* leaves, Py_ssize_t spacing) noexcept nogil:
        """Compute f(x) of eq. (2) in `slopes`, from the leaves of a row."""
        cdef int c
        gather(self, leaves, spacing)
        for c in range(self.width):
            self.slopes[c] = answer(self, c)
        return self.slopes

    cdef double row_number(self) except? -1.0 nogil:
        return self.row_shares()[0]

    cdef int prepare_run(self, Reader reader) except -1:
        reader.ahead.reserve_leaves(self.trees.n_roots, 1)
        return 0

    cdef int run(self, Reader reader, Py_ssize_t stop, int n_labels) except -1 nogil:
        """Predict several rows at once, if none is learned."""
        cdef int i, k, n
        if reader.learns:
            return Learner.run(self, reader, stop, n_labels)
        while reader.row < stop:
            n = reader.read_ahead(stop, 0, self.regression)
            if n == 0:
                return 0
            for k in range(self.trees.n_roots):
                self.trees.walk_rows(
                    self.trees.roots[k], reader.ahead.rows, n, reader.ahead.stride,
                    self.schema.n_columns, self.schema.is_numeric(),
                    reader.ahead.leaves + <Py_ssize_t>k * AHEAD)
            for i in range(n):
                reader.answer(reader.row + i, self.shares_in(reader.ahead.leaves + i, AHEAD),
                              n_labels)
            reader.row += n
        return 0

    # --- Inspection ---------------------------------------------------------------------------

    @property
    def n_seen(self):
        """Number of samples learned."""
        return self.window.n_seen

    cdef int count_trees(self) noexcept:
        return self.trees.n_roots

    cdef list tree_nodes(self, int tree):
        return [self.trees.node(node) for node in self.trees.preorder(tree)]

    cdef tuple tree_sizes(self):
        return self.trees.n_nodes, self.trees.height

    def tree_weights(self):
        """(number of the sample after which it was grown, weight) of every tree."""
        with self.using():
            return [(self.births[k], self.weights[k]) for k in range(self.trees.n_roots)]

    # --- Copies and states --------------------------------------------------------------------

    cdef Learner serving_copy(self):
        cdef int k, n = self.trees.n_roots
        cdef Shrubs copy = Shrubs(
            **{**self.settings(), "n_models": max(1, n), "window_size": 1})
        copy.schema, copy.labels, trees = deepcopy((self.schema, self.labels, self.trees))
        copy.let_grow(copy.window, trees)
        copy.reserve_outputs(self.width)
        copy.width = self.width
        for k in range(n):
            copy.weights[k] = self.weights[k]
        return copy

    def settings(self):
        """The arguments that make an empty ensemble of the same kind."""
        own = {
            "loss": "mse" if self.loss == SQUARED_ERROR else "cross_entropy",
            "step_size": self.step_size if self.step_size > 0.0 else "adaptive",
            "rho": self.rho if self.rho > 0.0 else None,
            "max_depth": self.splitter.max_depth, "shuffled": self.splitter.shuffled,
            "retrain": "error" if self.only_errors else "always",
        }
        return fields_of(self, SETTINGS, own)

    cdef dict views(self):
        """The arrays over the trees."""
        cdef Py_ssize_t n = self.trees.n_roots, size = sizeof(double)
        return {
            "weights": view(self.weights, "f8", (n,)), "hits": view(self.hits, "f8", (n,)),
            "births": view(self.births, "i8", (n,)),
            "gram": view(self.gram, "f8", (n, n), ((self.n_models + 1) * size, size)),
        }

    cdef dict fields(self):
        """The trees, their weights, the running sums and the window; leaves follow from these."""
        return fields_of(self, FIELDS, {
            **self.settings(), **self.views(), "room": np.zeros(self.window_size, np.uint8),
            "total_weight": self.total_weight, "since_rebuild": self.since_rebuild,
        })

    @classmethod
    def restored(cls, values):
        """Make an ensemble from its state."""
        cdef Shrubs shrubs
        state = State("Shrubs", values, FIELDS)
        settings = state.read(SETTINGS)
        fields = state.read(FIELDS, window_size=settings["window_size"])
        shrubs = Shrubs(**settings)
        shrubs.load(fields)
        return shrubs

    cdef int load(self, dict fields) except -1:
        cdef int k
        self.schema, self.labels = fields["schema"], fields["labels"]
        self.let_grow(fields["window"], fields["trees"])
        require(self.window.size <= self.window_size, "Shrubs: too many samples")
        self.window.reserve(self.window_size, 0, 0)
        require(self.trees.n_roots == len(fields["weights"]) <= self.n_models,
                "Shrubs: more trees than there is room for, or than weights")
        self.width = 1 if self.regression else len(self.labels)
        self.reserve_outputs(self.width)
        self.trees.reserve_roots(self.n_models + 1)
        put_back(self.views(), fields)
        for k in range(self.trees.n_roots):
            self.sizes[k] = len(self.trees.preorder(k))
        self.total_weight, self.n_trained = fields["total_weight"], fields["n_trained"]
        self.since_rebuild = fields["since_rebuild"]
        self.check_samples()
        self.find_leaves()
        return self.check_structure()

    cdef void find_leaves(self) noexcept nogil:
        """Compute the leaf of every sample of the window in every tree."""
        cdef int i, k, slot
        for i in range(self.window.n_sorted):
            slot = self.window.by_arrival[i]
            for k in range(self.trees.n_roots):
                self.leaves[<Py_ssize_t>k * self.window_size + slot] = self.trees.walk_slot(
                    self.trees.roots[k], self.window, slot)

    # --- Invariants ---------------------------------------------------------------------------

    cdef int check_structure(self) except -1:
        """Raise a StateError if an invariant between the parts is broken."""
        self.check_samples()
        return self.check_weights()

    cdef int check_samples(self) except -1:
        """Check that trees and window fit the schema and the labels."""
        cdef int k, i, node, n_values = 2 if self.regression else len(self.labels)
        cdef const double* row
        cdef double target
        require(self.trees.regression == self.regression and self.trees.n_values == n_values
                and self.width == (1 if self.regression else n_values)
                and not (self.regression and self.labels.labels)
                and self.trees.fits(self.schema.codes),
                "Shrubs: the trees do not belong to this ensemble")
        require(self.window.n_fresh == 0 and self.window.capacity == self.window_size,
                "Shrubs: the window does not belong to this ensemble")
        self.window.check_columns(self.schema)
        for k in range(self.trees.n_roots):
            for node in self.trees.preorder(k):
                row = self.trees.row(node)
                require(row[WEIGHT] > 0.0, "Shrubs: a node was grown on no sample")
                for i in range(0 if self.regression else n_values):
                    require(row[HEADER + i] <= ROUNDED * row[WEIGHT],
                            "Shrubs: a class weighs more than all of its node")
        for i in range(self.window.n_sorted):
            target = self.window.target[self.window.by_arrival[i]]
            require(self.regression or (0 <= target < n_values and target == <int>target),
                    "Shrubs: a sample has no known label")
        return 0

    cdef int check_weights(self) except -1:
        """Check that the weights are on the simplex, eq. (6), and the trees not too young."""
        cdef int k, n = self.trees.n_roots
        cdef double total = 0.0
        require(self.since_rebuild <= REBUILD * self.window_size,
                "Shrubs: the running sums should have been computed again")
        require(0 < n <= self.n_models or self.window.n_seen == 0, "Shrubs: no tree has a weight")
        for k in range(n):
            require(NEGLIGIBLE < self.weights[k] <= 1.0, "Shrubs: a weight is out of range")
            require(0 <= self.births[k] < max(1, self.window.n_seen),
                    "Shrubs: a tree is born after the last sample")
            total += self.weights[k]
        require(n == 0 or fabs(total - 1.0) < 1e-9, "Shrubs: the weights do not sum to one")
        return 0
