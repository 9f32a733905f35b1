"""The weighted ensemble of Algorithm 1: trees, their weights, and the window of samples.

Trees are ordered by age; tree k is root k of the arena. Arrays over the trees have room for
`n_models` trees and a new one.

The leaf of every sample of the window in every tree is stored, so that a sample passes down each
tree once. For classification with the squared error, the gradient is linear in the weights,

    dL/dw_k = 2 (sum_j gram[k, j] w_j - hits[k]) / (weight of the window * classes).

`gram` and `hits` are running sums, to which new samples are added and from which old ones are
subtracted. Cross-entropy and regression sum over the window in every round.

Equations and lines of Algorithm 1 are those of Buschjaeger, Hess and Morik (2022). Samples have
weights: W, the sum of the weights in the window, replaces its size B.
"""

from copy import deepcopy

import numpy as np

cimport cython
from libc.math cimport INFINITY, fabs, sqrt
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memmove, memset

from ..parts cimport view
from ..cart.splitter cimport Splitter
from ..cart.value_history cimport ValueHistory
from ..cart.workspace cimport find_distinct
from ..ensemble cimport Ensemble, WindowEnsemble
from ..explain cimport Contributions, Explanations, VoteExplanations
from ..learner cimport Learner
from ..max_features cimport MaxFeatures, max_features_of, n_tried
from ..moments cimport follow_moments
from ..rng cimport FEATURES, rng_for
from ..schema cimport Labels, Schema
from ..shares cimport first_largest, softmax
from ..table cimport LONG_AHEAD, Ahead, RowReader
from ..team cimport Team
from ..tree cimport (
    UNUSED, Node, Rows, Tree, add_frequencies, begin_tree, bytes_of_tree, copy_tree, free_tree,
    is_leaf, learn, mean_of, n_nodes_of, plant, read_classes, reserve_pairs, rows_of, walk_rows,
    walk_trees, weight_of, weight_of_class,
)
from ..trees cimport Trees
from ..window cimport Window
from .proximal cimport hard_threshold, position_to_drop, project_simplex, soft_threshold

from ..state import LARGEST_FLOAT, SMALLEST, fields_of, put_back, require

cdef enum:
    MAX_MODELS = 10_000     # of a restored ensemble
    REBUILD = 16            # windows after which the running sums are computed again, against
                            #   rounding

cdef enum Loss:
    SQUARED_ERROR = 0
    CROSS_ENTROPY = 1

# Weights that differ by less are equal, and smaller weights are zero. So age decides between equal
# trees, not rounding.
cdef double NEGLIGIBLE = 1e-12
# Limit of the weights before the projection: rounds of too long steps could overflow.
cdef double HUGE = 1e150
# A new tree is skipped if its weight would be below the smallest old weight by more than this.
cdef double MARGIN = 1e-9

# If a sample with a larger share of the total weight leaves, the rounding errors of the running
# sums are too large.
cdef double HEAVY = 1e3
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
    "room": ("array", np.uint8, None),      # so that the file bounds the memory
    "trees": ("part", Trees), "weights": ("numbers", "trees"),
    "hits": ("numbers", "trees", SUMS),
    "births": ("array", np.int64, "trees"), "gram": ("numbers", "trees", "trees", SUMS),
    "total_weight": ("number", SUMS), "since_rebuild": ("whole", 0, 2**31 - 1),
    "n_trained": ("whole",),
    "history": ("part", ValueHistory),
}


cdef size_t block_size(size_t stride, size_t window_size) noexcept nogil:
    """Bytes of all arrays except `outputs` and `slopes`."""
    return stride * ((3 + stride) * sizeof(double) + sizeof(int64_t)
                     + (2 + window_size) * sizeof(int))


@cython.final
cdef class Shrubs(WindowEnsemble):
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

    cdef readonly Splitter splitter
    # --- Settings, as in the estimators -------------------------------------------------------
    cdef readonly int n_models
    cdef readonly int window_size
    cdef readonly int loss
    cdef readonly int rounds
    cdef readonly int update_interval
    cdef readonly bint only_errors      # train a tree only after a wrong prediction
    cdef readonly bint project_each_round
    cdef readonly object max_features
    cdef readonly double step_size      # 0: adaptive
    cdef readonly double rho            # 0: step_size and l2 are given
    cdef readonly double l0             # strengths of the regularisers
    cdef readonly double l1
    cdef readonly double l2
    cdef readonly double node_penalty
    cdef MaxFeatures rule_of_features

    # --- State --------------------------------------------------------------------------------
    cdef readonly int64_t n_trained     # number of trees grown so far
    cdef double* weights        # weights of the trees; start of the memory of all arrays
    cdef double* hits           # hits[k] = sum over the window of weight * h_k(x)[y]
    cdef double* gradient       # scratch
    cdef double* gram           # gram[j * stride + k] = sum of weight * <h_j(x), h_k(x)>
    cdef int64_t* births        # number of the sample after which the tree was grown
    cdef int* sizes             # number of nodes
    cdef int* answering         # scratch: leaves of a row
    cdef int* leaves            # leaves[k * window_size + slot] = leaf of tree k
    cdef double* outputs        # scratch: outputs[c * stride + k] = h_k(x)[c]; own memory
    cdef double* slopes         # scratch: f(x)[c], or the derivative of the loss with respect to it
    cdef double* counts         # scratch: weight per class
    cdef Tree newcomer          # scratch: the tree that grows
    cdef int width              # number of outputs of a tree: known labels, or 1
    cdef int n_classes          # C of eq. (5), see `classes`
    cdef int width_capacity
    cdef double total_weight    # of the samples in the window
    cdef double reach           # scratch: largest weight that a new tree can get by a step of 1
    cdef double centre          # scratch: mean of the targets in the window
    cdef double scale
    cdef int since_rebuild      # samples since the last `rebuild` of gram and hits

    def __init__(self, *, bint regression, int n_models, int window_size, loss="mse",
                 step_size=0.1, rho=None, int rounds=1, bint project_each_round=False,
                 max_depth=None, max_features=None, bint shuffled=False, int update_interval=1,
                 retrain="always", double l0=0.0, double l1=0.0, double l2=0.0,
                 double node_penalty=0.0, seed=0):
        self.regression, self.fading = regression, 1.0
        self.splitter = Splitter("variance" if regression else "gini", max_depth=max_depth,
                                 shuffled=shuffled)
        self.let_grow(Window(window_size), self.new_trees(), ValueHistory(regression))
        self.n_models, self.window_size = n_models, window_size
        self.project_each_round = project_each_round
        self.loss = {"mse": SQUARED_ERROR, "cross_entropy": CROSS_ENTROPY}[loss]
        self.only_errors = {"always": False, "error": True}[retrain]
        self.set_steps(step_size=step_size, rho=rho, rounds=rounds,
                       update_interval=update_interval, l0=l0, l1=l1, l2=l2,
                       node_penalty=node_penalty)
        self.seed = seed
        self.max_features = max_features
        self.rule_of_features = max_features_of(max_features)
        self.allocate(n_models + 1)

    def __cinit__(self, *_, **__):
        begin_tree(&self.newcomer)

    cdef void let_grow(self, Window window, Trees trees, ValueHistory history) noexcept:
        """Set samples and trees of the ensemble and its splitter."""
        self.window = self.splitter.window = window
        self.trees = trees
        self.history = self.splitter.history = history

    def set_steps(self, *, step_size, rho, int rounds, int update_interval, double l0, double l1,
                  double l2, double node_penalty):
        """Set the parameters of the weights and of training, from the next sample on."""
        self.step_size = 0.0 if step_size == "adaptive" else step_size
        self.rho = 0.0 if rho is None else rho
        self.rounds, self.update_interval = rounds, update_interval
        self.l0, self.l1, self.l2, self.node_penalty = l0, l1, l2, node_penalty

    cdef int allocate(self, size_t stride) except -1:
        """Allocate all arrays over the trees."""
        self.renew(&self.weights, block_size(stride, self.window_size), 1)
        self.hits = self.weights + stride
        self.gradient = self.hits + stride
        self.gram = self.gradient + stride
        self.births = <int64_t*>(self.gram + stride * stride)
        self.sizes = <int*>(self.births + stride)
        self.answering = self.sizes + stride
        self.leaves = self.answering + stride
        self.width = 1 if self.regression else 0
        self.reserve_outputs(self.width)
        return self.trees.reserve_trees(<int>stride)

    def __dealloc__(self):
        free_tree(&self.newcomer)

    def __sizeof__(self):
        return super().__sizeof__() + bytes_of_tree(&self.newcomer, &self.trees.kind)

    # --- Learning: Algorithm 1 ----------------------------------------------------------------

    cdef int reserve_outputs(self, int width) except -1 nogil:
        """Make room for the outputs of `width` classes."""
        cdef size_t stride = self.n_models + 1
        if width > self.width_capacity:
            self.resize(&self.outputs, width * (stride + 2), sizeof(double))
            self.slopes = self.outputs + width * stride
            self.counts = self.slopes + width
            self.width_capacity = width
        return 0

    cdef int reserve(self, int n_labels) except -1 nogil:
        """Make room for the row that the schema encoded last."""
        cdef int width = 1 if self.regression else n_labels
        self.window.reserve_row(self.schema, self.window_size)
        return self.reserve_outputs(width)

    cdef void forget_labels(self, const uint8_t* gone) noexcept:
        WindowEnsemble.forget_labels(self, gone)
        self.rebuild()

    cdef void widen(self, int n_labels) noexcept:
        WindowEnsemble.widen(self, n_labels)
        self.width = n_labels

    cdef int update(self, double target, double weight) except -1 nogil:
        """One step of Algorithm 1."""
        cdef double step_size = self.step_size, l2 = self.l2
        cdef bint train = self.window.n_seen % self.update_interval == 0
        cdef bint wrong = self.push(target, weight)     # lines 3 to 5
        train = train and (wrong or not self.only_errors)
        self.n_classes = self.classes()
        if self.rho > 0.0:      # the rule of the published experiments, section 4
            l2 = self.n_models * (2.0 - self.rho) / (self.rho * self.n_classes)
            step_size = 1.0 / (self.n_models + l2)
        elif step_size == 0.0:
            step_size = 1.0 / (self.trees.n_trees + train + 1)
        if train and not self.is_hopeless(step_size, l2):
            self.train()                                # lines 6 to 8
        self.weigh(step_size, l2)                      # lines 9 to 11
        self.prune()                                     # line 12
        return 0

    cdef bint push(self, double target, double weight) except -1 nogil:
        """Add the row that the schema encoded last to the window, and remove the oldest row.

        Returns whether the ensemble predicts it wrongly: always without trees, and never in a
        regression.
        """
        cdef int slot = -1, k
        cdef Py_ssize_t spacing = self.window_size
        if self.window.size == self.window_size:
            slot = self.window.by_arrival[0]
            self.total_weight -= self.window.weight[slot]
            if self.window.weight[slot] > HEAVY * self.total_weight:
                self.since_rebuild = REBUILD * self.window_size
            if self.sums_run():
                self.count(slot, -1.0)
            self.history.learn(self.window, slot, self.schema)
        slot = self.window.slide(self.schema, target, weight, slot)
        self.total_weight += weight
        self.evaluate()
        for k in range(self.trees.n_trees):
            self.leaves[k * spacing + slot] = self.answering[k]
        if self.sums_run():
            self.count(slot, 1.0)
        self.since_rebuild += 1
        if self.since_rebuild >= REBUILD * self.window_size:
            self.rebuild()
        if self.trees.n_trees == 0:
            return True
        if self.regression:
            return False
        self.mix(self.answering, 1, self.slopes)
        return first_largest(self.slopes, self.width) != <int>target

    cdef int classes(self) noexcept nogil:
        """C of eq. (5): the known labels, of a full window at most twice as many as it has.

        Else, the more labels had come and gone, the shorter the steps were.
        """
        cdef int i, label, n = 0
        if self.regression or self.window.size < self.window_size:
            return self.width
        memset(self.counts, 0, self.width * sizeof(double))
        for i in range(self.window.n_sorted):
            label = <int>self.window.target[self.window.by_arrival[i]]
            n += self.counts[label] == 0.0
            self.counts[label] = 1.0
            if 2 * n >= self.width:     # after few samples, unless many labels have gone
                return self.width
        return 2 * n

    cdef int train(self) except -1 nogil:
        """Lines 6 to 8: grow a tree of weight zero on the window."""
        cdef int i, slot, n_splits, tree = self.trees.new_tree()
        cdef int64_t step = self.window.n_seen
        cdef Tree* this = &self.newcomer
        reserve_pairs(this, &self.trees.kind, 1)
        plant(this)
        for i in range(self.window.n_sorted):
            slot = self.window.by_arrival[i]
            learn(this, &self.trees.kind, 0, self.window.target[slot], self.window.weight[slot],
                  step)
        find_distinct(self.window, self.schema, self.splitter.history)
        n_splits = self.splitter.grow(
            this, &self.trees.kind, self.trees.n_values, self.schema, NULL,
            n_tried(&self.rule_of_features, self.window.n_distinct), step,
            rng_for(self.seed, 0, step, FEATURES))
        copy_tree(&self.trees.trees[tree], this, &self.trees.kind)
        self.weights[tree] = 0.0
        self.sizes[tree] = 2 * n_splits + 1
        self.births[tree] = step - 1
        self.n_trained += 1
        self.find_leaves(tree)
        if self.sums_run():
            self.count_newcomer(tree)
        return 0

    # --- Outputs of the trees -----------------------------------------------------------------

    cdef void evaluate(self) noexcept nogil:
        """Find the leaf of the row that the schema encoded last in every tree."""
        walk_trees(self.trees.trees, self.trees.n_trees, self.schema, self.answering)

    cdef void gather(self, const int* leaves, Py_ssize_t spacing) noexcept nogil:
        """Compute h_k(x)[c] of every tree in `outputs`, from the leaves of x: eq. (2)."""
        cdef Py_ssize_t k, stride = self.n_models + 1
        if not self.regression:
            for k in range(self.width):
                memset(self.outputs + k * stride, 0, self.trees.n_trees * sizeof(double))
        for k in range(self.trees.n_trees):
            if self.regression:
                self.outputs[k] = mean_of(&self.trees.trees[k], leaves[k * spacing])
            else:
                add_frequencies(&self.trees.trees[k], leaves[k * spacing], 1.0,
                                self.outputs + k, stride)

    cdef void mix(self, const int* leaves, Py_ssize_t spacing, double* mixed) noexcept nogil:
        """Compute f(x) from the leaves of x: eq. (2)."""
        cdef int k
        for k in range(self.width):     # without a label there is no memory
            mixed[k] = 0.0
        for k in range(self.trees.n_trees):
            if self.regression:
                mixed[0] += self.weights[k] * mean_of(&self.trees.trees[k], leaves[k * spacing])
            else:
                add_frequencies(&self.trees.trees[k], leaves[k * spacing], self.weights[k],
                                mixed, 1)

    # --- Running sums -------------------------------------------------------------------------

    cdef bint sums_run(self) noexcept nogil:
        """Whether the gradient is computed from `gram` and `hits`: eq. (5) multiplied out."""
        return self.loss == SQUARED_ERROR and not self.regression

    cdef void count(self, int slot, double sign) noexcept nogil:
        """Add `sign` times the outputs for a sample of the window to `gram` and `hits`."""
        cdef Py_ssize_t stride = self.n_models + 1, n = self.trees.n_trees, j, k, c
        cdef double weight = sign * self.window.weight[slot], output
        cdef const double* h
        cdef double* row
        self.gather(self.leaves + slot, self.window_size)
        for c in range(self.width):
            h = self.outputs + c * stride
            for j in range(n):
                if h[j] != 0.0:
                    output = weight * h[j]
                    row = self.gram + j * stride
                    for k in range(n):
                        row[k] += output * h[k]         # <h_j(x), h_k(x)> of eq. (5)
        h = self.outputs + <Py_ssize_t>self.window.target[slot] * stride
        for k in range(n):
            self.hits[k] += weight * h[k]         # <h_k(x), y> of eq. (5)

    cdef void count_newcomer(self, int newcomer) noexcept nogil:
        """Compute row and column of a new tree in `gram`, and its `hits`.

        If the leaf of a sample is pure, h is the indicator of y and <h, h_k> = h_k[y], whose sum is
        `hits`. So only samples in impure leaves need a correction.
        """
        cdef Py_ssize_t stride = self.n_models + 1, k, c
        cdef int i, slot
        cdef double weight, output
        cdef double* row = self.gram + newcomer * stride
        cdef const Tree* tree = &self.trees.trees[newcomer]
        cdef const double* h
        cdef int leaf
        self.hits[newcomer] = self.total_weight
        row[newcomer] = 0.0
        for k in range(newcomer):
            row[k] = self.hits[k]
        for i in range(self.window.n_sorted):
            slot = self.window.by_arrival[i]
            leaf = self.leaves[<Py_ssize_t>newcomer * self.window_size + slot]
            if weight_of_class(tree, leaf, <int>self.window.target[slot]) == weight_of(tree, leaf):
                continue
            weight = self.window.weight[slot]
            self.gather(self.leaves + slot, self.window_size)
            for c in range(self.width):
                h = self.outputs + c * stride
                output = weight * h[newcomer]
                if c == <int>self.window.target[slot]:
                    output -= weight
                    self.hits[newcomer] += output
                if output != 0.0:
                    for k in range(newcomer + 1):
                        row[k] += output * h[k]
        row[newcomer] += self.hits[newcomer]
        for k in range(newcomer):
            self.gram[k * stride + newcomer] = row[k]

    cdef void rebuild(self) noexcept nogil:
        """Compute all running sums again from the window."""
        cdef Py_ssize_t stride = self.n_models + 1, n = self.trees.n_trees, k
        cdef int i
        for k in range(n):      # do not touch memory of trees that do not exist
            memset(self.gram + k * stride, 0, n * sizeof(double))
        memset(self.hits, 0, n * sizeof(double))
        self.total_weight = 0.0
        self.since_rebuild = 0
        for i in range(self.window.n_sorted):
            self.total_weight += self.window.weight[self.window.by_arrival[i]]
            if self.sums_run():
                self.count(self.window.by_arrival[i], 1.0)

    # --- Gradient -----------------------------------------------------------------------------

    cdef void standardise(self) noexcept nogil:
        """Compute mean and standard deviation of the targets in the window."""
        cdef double total = 0.0, squares = 0.0
        cdef int i, slot
        self.centre, self.scale = 0.0, 1.0
        for i in range(self.window.n_sorted):
            slot = self.window.by_arrival[i]
            total += self.window.weight[slot]
            follow_moments(&self.centre, &squares, self.window.target[slot],
                           self.window.weight[slot], total)
        if squares > 0.0:
            self.scale = sqrt(squares / total)

    cdef void find_gradient(self, double l2) noexcept nogil:
        """Gradient of loss and smooth regularisers with respect to the weights, eq. (5)."""
        cdef int k
        cdef double share = 1.0 / (self.total_weight * self.n_classes)  # 1 / (B C), eq. (5)
        if self.sums_run():
            self.gradient_from_sums()
        elif self.regression:
            self.gradient_of_numbers()
        else:
            self.gradient_of_entropy()
        self.reach *= share
        for k in range(self.trees.n_trees):
            self.gradient[k] = (self.gradient[k] * share + 2.0 * l2 * self.weights[k]
                                + self.node_penalty * self.sizes[k])

    cdef void gradient_from_sums(self) noexcept nogil:
        """Gradient of the squared error times W C, from `gram` and `hits`."""
        cdef Py_ssize_t stride = self.n_models + 1, j, k, n = self.trees.n_trees
        cdef const double* row
        cdef double total, hit = 0.0
        for k in range(n):
            row = self.gram + k * stride
            total = 0.0
            for j in range(n):
                total += row[j] * self.weights[j]
            self.gradient[k] = 2.0 * (total - self.hits[k])     # eq. (5), derived by w_k
            hit += self.weights[k] * self.hits[k]
        self.reach = 2.0 * (self.total_weight - hit)

    cdef void gradient_of_numbers(self) noexcept nogil:
        """Gradient of the squared error of standardised targets times W."""
        cdef int i, k, slot, n = self.trees.n_trees
        cdef double slope, target, mean
        memset(self.gradient, 0, n * sizeof(double))
        for i in range(self.window.n_sorted):
            slot = self.window.by_arrival[i]
            self.gather(self.leaves + slot, self.window_size)
            mean = 0.0
            for k in range(n):
                self.outputs[k] = (self.outputs[k] - self.centre) / self.scale
                mean += self.weights[k] * self.outputs[k]       # eq. (2)
            target = (self.window.target[slot] - self.centre) / self.scale
            slope = 2.0 * self.window.weight[slot] * (mean - target)
            for k in range(n):
                self.gradient[k] += slope * self.outputs[k]     # eq. (5) with C = 1

    cdef void gradient_of_entropy(self) noexcept nogil:
        """Gradient of the cross-entropy times W C, summed over the window."""
        cdef Py_ssize_t spacing = self.window_size
        cdef int i, k, c, slot, n = self.trees.n_trees
        cdef int leaf
        cdef double share, total
        cdef const Tree* tree
        memset(self.gradient, 0, n * sizeof(double))
        self.reach = 0.0
        for i in range(self.window.n_sorted):
            slot = self.window.by_arrival[i]
            memset(self.slopes, 0, self.width * sizeof(double))
            for k in range(n):
                tree, leaf = &self.trees.trees[k], self.leaves[k * spacing + slot]
                self.outputs[k] = 0.0       # of a leaf that has forgotten its labels
                if weight_of(tree, leaf) > 0.0:
                    self.outputs[k] = 1.0 / weight_of(tree, leaf)
                share = self.weights[k] * self.outputs[k]
                read_classes(tree, leaf, self.counts, self.width)
                for c in range(self.width):
                    self.slopes[c] += share * self.counts[c]
            softmax(self.slopes, self.width)
            self.slopes[<int>self.window.target[slot]] -= 1.0
            self.reach -= self.window.weight[slot] * self.slopes[<int>self.window.target[slot]]
            for k in range(n):
                read_classes(&self.trees.trees[k], self.leaves[k * spacing + slot], self.counts,
                             self.width)
                total = 0.0
                for c in range(self.width):
                    total += self.slopes[c] * self.counts[c]
                self.gradient[k] += self.window.weight[slot] * (total * self.outputs[k])

    # --- Steps --------------------------------------------------------------------------------

    cdef bint is_hopeless(self, double step_size, double l2) noexcept nogil:
        """Whether no new tree could replace one of the present trees, so that none is grown.

        After one step from zero, the weight of a new tree is at most that of a tree without errors,

            step * sum_i w_i (1 - f(x_i)[y_i]) * (2 for the squared error) / (W C),

        because sum_c (y_c - f_c) h_c <= 1 - f_y if no f_c is negative. (For cross-entropy, read
        softmax(f) in place of f.) The regularisers only reduce it.
        """
        cdef double smallest
        cdef int k, n = self.trees.n_trees
        if n < self.n_models or self.regression or self.rounds > 1:
            return False
        self.find_gradient(l2)
        smallest = self.weights[0] - step_size * self.gradient[0]
        for k in range(1, n):
            smallest = min(smallest, self.weights[k] - step_size * self.gradient[k])    # eq. (7)
        return step_size * self.reach < smallest - MARGIN

    cdef void weigh(self, double step_size, double l2) noexcept nogil:
        """Eq. (7): a gradient step of all weights; at most n_models of them stay above zero."""
        cdef int k, step
        if self.regression:
            self.standardise()
        for step in range(self.rounds):
            self.find_gradient(l2)
            for k in range(self.trees.n_trees):
                self.weights[k] -= step_size * self.gradient[k]     # line 9
                self.weights[k] = max(-HUGE, min(HUGE, self.weights[k]))
            if self.project_each_round or step == self.rounds - 1:
                self.project(step_size)      # lines 10 and 11

    cdef void project(self, double step_size) noexcept nogil:
        """Eq. (8): project the largest weights onto the simplex, eq. (6); the others get zero."""
        cdef int n = self.trees.n_trees
        if n > self.n_models:
            self.weights[position_to_drop(self.weights, n)] = -INFINITY
        if self.l0 > 0.0 or self.l1 > 0.0:
            self.threshold(step_size)
        project_simplex(self.weights, n)

    cdef void threshold(self, double step_size) noexcept nogil:
        """Apply the L1 and L0 regularisers; the largest weight is always kept."""
        cdef int k, largest = 0
        cdef double weight
        for k in range(1, self.trees.n_trees):
            if self.weights[k] > self.weights[largest]:
                largest = k
        for k in range(self.trees.n_trees):
            weight = soft_threshold(self.weights[k], self.l1, step_size)
            weight = hard_threshold(weight, self.l0, step_size)
            self.weights[k] = weight if weight != 0.0 or k == largest else -INFINITY

    cdef void prune(self) noexcept nogil:
        """Remove the trees without weight: line 12."""
        cdef Py_ssize_t stride = self.n_models + 1, spacing = self.window_size
        cdef int j, k, kept = 0, n = self.trees.n_trees
        for k in range(n):
            if self.weights[k] <= NEGLIGIBLE:
                self.trees.remove(kept)
                continue
            if kept < k:
                self.weights[kept] = self.weights[k]
                self.hits[kept] = self.hits[k]
                self.births[kept] = self.births[k]
                self.sizes[kept] = self.sizes[k]
                memmove(self.leaves + kept * spacing, self.leaves + k * spacing,
                        spacing * sizeof(int))
                memmove(self.gram + kept * stride, self.gram + k * stride,
                        stride * sizeof(double))
                for j in range(n):      # also in rows that move later
                    self.gram[j * stride + kept] = self.gram[j * stride + k]
            kept += 1

    # --- Answers ------------------------------------------------------------------------------

    cdef double* row_shares(self) except? NULL nogil:
        """Compute f(x) of eq. (2) in `slopes`."""
        self.evaluate()
        self.mix(self.answering, 1, self.slopes)
        return self.slopes

    cdef double row_number(self) except? -1.0 nogil:
        return self.row_shares()[0]

    cdef Explanations explanations(self, Contributions total, bint shapley, Team team):
        cdef ShrubExplanations found = ShrubExplanations.__new__(ShrubExplanations)
        cdef int tree, row
        found.begin(total, shapley, team, self.trees)
        found.shrubs = self
        found.by(self.n_labels())
        for tree in range(self.trees.n_trees):
            for row in range(total.n_rows):
                found.weights[tree * <Py_ssize_t>total.n_rows + row] = self.weights[tree]
        return found

    cdef int prepare_run(self, RowReader reader) except -1:
        return 0 if reader.learns else Ensemble.prepare_run(self, reader)

    cdef int run(self, RowReader reader, Py_ssize_t stop, int n_labels) except -1 nogil:
        if reader.learns:
            return Learner.run(self, reader, stop, n_labels)
        return Ensemble.run(self, reader, stop, n_labels)

    cdef void answer_ahead(self, RowReader reader, Ahead ahead, Py_ssize_t row, int first, int n,
                           int n_labels) noexcept nogil:
        cdef int i
        for i in range(first, first + n):
            self.mix(ahead.leaves + i, ahead.stride, ahead.votes)
            reader.store_prediction(row + i, ahead.votes, n_labels)

    # --- Inspection ---------------------------------------------------------------------------

    def tree_weights(self):
        """(number of the sample after which it was grown, weight) of every tree."""
        with self.using():
            return [(self.births[k], self.weights[k]) for k in range(self.trees.n_trees)]

    # --- Copies and states --------------------------------------------------------------------

    cdef Learner serving_copy(self):
        cdef int k, n = self.trees.n_trees
        cdef Shrubs copy = Shrubs(
            **{**self.settings(), "n_models": max(1, n), "window_size": 1})
        copy.schema, copy.labels, trees = deepcopy((self.schema, self.labels, self.trees))
        copy.let_grow(copy.window, trees, copy.history)
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
        cdef Py_ssize_t n = self.trees.n_trees, room = self.n_models + 1
        return {
            "weights": view(self.weights, "f8", (room,))[:n],
            "hits": view(self.hits, "f8", (room,))[:n],
            "births": view(self.births, "i8", (room,))[:n],
            "gram": view(self.gram, "f8", (room, room))[:n, :n],
        }

    cdef dict fields(self):
        """The trees, their weights, the running sums and the window; leaves follow from these."""
        return fields_of(self, FIELDS, {
            **self.settings(), **self.views(), "room": np.zeros(self.window_size, np.uint8),
            "total_weight": self.total_weight, "since_rebuild": self.since_rebuild,
        })

    FIELDS = FIELDS

    cdef int load(self, dict fields) except -1:
        cdef int k
        require(len(fields["room"]) == fields["window_size"], "Shrubs: there is no such window")
        self.__init__(**{name: fields[name] for name in SETTINGS})
        self.schema, self.labels = fields["schema"], fields["labels"]
        self.let_grow(fields["window"], fields["trees"], fields["history"])
        require(self.window.size <= self.window_size, "Shrubs: too many samples")
        self.window.reserve(self.window_size, 0, 0, 0)
        require(self.trees.n_trees == len(fields["weights"]) <= self.n_models,
                "Shrubs: more trees than there is room for, or than weights")
        self.width = 1 if self.regression else len(self.labels)
        self.reserve_outputs(self.width)
        self.trees.reserve_trees(self.n_models + 1)
        put_back(self.views(), fields)
        for k in range(self.trees.n_trees):
            self.sizes[k] = n_nodes_of(&self.trees.trees[k])
        self.total_weight, self.n_trained = fields["total_weight"], fields["n_trained"]
        self.since_rebuild = fields["since_rebuild"]
        self.check_samples()
        for k in range(self.trees.n_trees):
            self.find_leaves(k)
        return 0

    cdef void find_leaves(self, int tree) noexcept nogil:
        """Compute the leaf of every sample of the window in a tree."""
        cdef Rows rows = rows_of(self.window)
        cdef int i = 0, n = self.window.n_sorted
        while i < n:
            walk_rows(&self.trees.trees[tree], &rows, self.window.by_arrival + i,
                      min(n - i, <int>LONG_AHEAD),
                      self.leaves + <Py_ssize_t>tree * self.window_size)
            i += LONG_AHEAD

    # --- Invariants ---------------------------------------------------------------------------

    cdef int check_structure(self) except -1:
        """Raise a StateError if an invariant between the parts is broken."""
        self.check_samples()
        return self.check_weights()

    cdef int check_samples(self) except -1:
        """Check that trees and window fit the schema and the labels."""
        cdef int k, node, n_labels = len(self.labels)
        cdef const Node* this
        require(self.trees.fits(self.new_trees(), self.schema.codes, n_labels)
                and self.width == (1 if self.regression else n_labels),
                "Shrubs: the trees do not belong to this ensemble")
        require(self.window.n_fresh == 0 and self.window.capacity == self.window_size,
                "Shrubs: the window does not belong to this ensemble")
        self.check_codes()
        for k in range(self.trees.n_trees):
            for node in range(self.trees.trees[k].n_used):
                this = &self.trees.trees[k].nodes[node]
                require(this.feature == UNUSED or not is_leaf(this) or this.threshold > 0.0
                        or (this.left == -1 and not self.regression),   # it has forgotten labels
                        "Shrubs: a node was grown on no sample")
        return 0

    cdef int check_weights(self) except -1:
        """Check that the weights are on the simplex, eq. (6), and the trees not too young."""
        cdef int k, n = self.trees.n_trees
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


cdef class ShrubExplanations(VoteExplanations):
    """The contributions to the weighted mean of the trees."""

    cdef Shrubs shrubs

    cdef int put_row(self, int row, const double* values, int code) except -1:
        VoteExplanations.put_row(self, row, values, code)
        self.reach(row, self.shrubs.answering)
        return 0
