"""The weighted ensemble of Algorithm 1 (Buschjaeger, Hess, Morik 2022). See the header."""

from copy import deepcopy

import numpy as np

from libc.math cimport INFINITY, exp, fabs, sqrt
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memmove, memset

from .forest cimport read_number, read_weight
from .memory cimport calloc, free, realloc
from .rng cimport FEATURES, rng_for
from .schema cimport Labels, Schema
from .simplex cimport (
    NEGLIGIBLE, hard_threshold, position_to_drop, project_simplex, soft_threshold,
)
from .splitter cimport Splitter
from .trees cimport HEADER, WEIGHT, Trees
from .window cimport Window

from .state import LARGEST_FLOAT, State, from_state, require

cdef enum:
    MAX_MODELS = 10_000  # of a restored ensemble
    REBUILD = 16        # windows after which the running sums are summed afresh, against drift

# Weights never leave this range, whatever the step: rounds of a far too long step would end in NaN.
cdef double HUGE = 1e150
# A tree is left unplanted only if its weight would miss the smallest old one by more than this.
cdef double MARGIN = 1e-9
# A sample this much heavier than all others leaves rounding errors behind when it goes.
cdef double HEAVY = 1e3


# The running sums differ from fresh ones by no more than this share of the weight of the window.
cdef double DRIFT = 1e-9

SETTINGS = ("regression", "n_models", "window_size", "rounds", "loss", "max_depth", "shuffled",
            "project_each_round", "standardised", "l0", "l1", "node_penalty", "lazy")


cdef size_t block_size(size_t places, size_t window_size) noexcept nogil:
    """Bytes of the block that holds all arrays but `outputs` and `slopes`."""
    return places * ((3 + places) * sizeof(double) + sizeof(int64_t)
                     + (2 + window_size) * sizeof(int))


cdef class Shrubs:
    """The trees, their weights, and the window they are trained and weighed on.

    Parameters
    ----------
    regression
        Whether trees answer with a mean, standardised over the window, in place of frequencies.
    n_models, window_size, rounds, project_each_round, l0, l1, node_penalty
        As in the estimators.
    loss
        `"mse"` or `"cross_entropy"`.
    max_depth
        Of the shrubs.
    shuffled
        Whether shrubs visit features in random order, which decides between equal splits.
    lazy
        Leave a tree unplanted if it is certain beforehand that it could not get a weight.
    """

    def __cinit__(self, *, bint regression, int n_models, int window_size,
                  loss="mse", max_depth=None, bint shuffled=False, int rounds=1,
                  bint project_each_round=False, bint standardised=True, double l0=0.0,
                  double l1=0.0, double node_penalty=0.0, bint lazy=True):
        cdef size_t places = n_models + 1
        self.schema = Schema()
        self.labels = Labels()
        self.window = Window(window_size)
        self.trees = Trees(0, regression)
        self.splitter = Splitter("variance" if regression else "gini", max_depth=max_depth,
                                 shuffled=shuffled)
        self.n_models, self.window_size, self.rounds = n_models, window_size, rounds
        self.project_each_round = project_each_round
        self.loss = {"mse": SQUARED_ERROR, "cross_entropy": CROSS_ENTROPY}[loss]
        self.l0, self.l1, self.node_penalty = l0, l1, node_penalty
        self.lazy = lazy and not regression and rounds == 1
        self.standardised = standardised
        self.weights = <double*>calloc(block_size(places, window_size), 1)
        if self.weights == NULL:
            raise MemoryError
        self.hits = self.weights + places
        self.gradient = self.hits + places
        self.gram = self.gradient + places
        self.births = <int64_t*>(self.gram + places * places)
        self.sizes = <int*>(self.births + places)
        self.answering = self.sizes + places
        self.leaves = self.answering + places
        self.width = 1 if regression else 0
        self.reserve_outputs(self.width)
        self.trees.reserve_roots(places)

    def __dealloc__(self):
        free(self.weights)
        free(self.outputs)

    cdef int reserve_outputs(self, int width) except -1:
        """Make room for more classes."""
        cdef size_t places = self.n_models + 1
        cdef void* memory
        if width > self.width_capacity:
            memory = realloc(self.outputs, width * (places + 1) * sizeof(double))
            if memory == NULL:
                raise MemoryError
            self.outputs = <double*>memory
            self.slopes = self.outputs + width * places
            self.width_capacity = width
        return 0

    cdef void widen(self, int width) noexcept nogil:
        """Give more classes their places. Room was made by `reserve_outputs` and the trees."""
        self.trees.widen(width)
        self.width = width

    cdef bint sums_run(self) noexcept nogil:
        """Whether `gram` and `hits` give the gradient."""
        return self.loss == SQUARED_ERROR and not self.trees.regression

    # ---------------------------------------------------------------- answers

    cdef void evaluate(self, const double* x, Py_ssize_t stride, Py_ssize_t n_columns,
                       int* leaves, Py_ssize_t spacing) noexcept nogil:
        """The leaf of every tree for a row."""
        cdef int k
        for k in range(self.trees.n_roots):
            leaves[k * spacing] = self.trees.walk(self.trees.roots[k], x, stride, n_columns)

    cdef void gather(self, const int* leaves, Py_ssize_t spacing) noexcept nogil:
        """h_k(x)[c] of every tree into `outputs`, from the leaves of x."""
        cdef Py_ssize_t k, c, places = self.n_models + 1
        cdef const double* row
        cdef double weight, count
        for k in range(self.trees.n_roots):
            row = self.trees.row(leaves[k * spacing])
            if self.trees.regression:
                self.outputs[k] = row[HEADER]
                continue
            weight = row[WEIGHT]
            for c in range(self.width):     # most leaves are pure: most divisions are not needed
                count = row[HEADER + c]
                self.outputs[c * places + k] = count / weight if count != 0.0 else 0.0

    cdef double answer(self, int c) noexcept nogil:
        """f(x)[c] of the gathered x, eq. (2)."""
        cdef double total = 0.0
        cdef const double* h = self.outputs + <Py_ssize_t>c * (self.n_models + 1)
        cdef int k
        for k in range(self.trees.n_roots):
            total += self.weights[k] * h[k]
        return total

    cdef int answer_all(self, object x) except -1:
        """f(x) of a dict into `slopes`."""
        cdef int c
        self.schema.encode(x)
        with nogil:
            self.evaluate(self.schema.row, 1, self.schema.n_columns, self.answering, 1)
            self.gather(self.answering, 1)
            for c in range(self.width):
                self.slopes[c] = self.answer(c)
        return 0

    def predict_label(self, x):
        """The label with the largest share; None before the first sample."""
        cdef int c, best = 0
        self.answer_all(x)
        for c in range(1, self.width):
            if self.slopes[c] > self.slopes[best]:
                best = c
        return self.labels.labels[best] if self.width else None

    def predict_proba(self, x):
        """Every label learned so far and its share."""
        cdef double total = 0.0
        cdef int c
        self.answer_all(x)
        for c in range(self.width):
            total += self.slopes[c]
        return {label: self.slopes[<int>c] / total for c, label in enumerate(self.labels.labels)}

    def predict_number(self, x):
        """The weighted mean of the leaf means; 0 before the first sample."""
        self.answer_all(x)
        return self.slopes[0]

    # ---------------------------------------------------------------- lines 3 to 5: the window

    cdef double read_target(self, object y) except? -1.0:
        """Code or number of a target; -1 for a label that is new. Raises where it is neither."""
        return read_number(y) if self.trees.regression else self.labels.code(y)

    def validate(self, x, y, w):
        """Raise what learning this sample would raise."""
        read_weight(w)
        self.read_target(y)
        self.schema.encode(x)

    def learn(self, x, y, w, learner):
        """Learn a sample. Whatever fails, a lack of memory or a signal, nothing was learned.

        Parameters
        ----------
        x, y, w
            The sample.
        learner
            Has `_plan_step`, a function that changes nothing, of the number of classes. It returns
            whether to train a shrub, whether only if the ensemble answers the sample wrongly, the
            step size (0 for the adaptive one, 1 / (number of trees + 1)), the strength of the
            squared weights' regulariser, the seed of the shrub, and the number of features its
            splits look at.
        """
        cdef double weight = read_weight(w), target = self.read_target(y), step_size, l2
        cdef bint is_new = not self.trees.regression and target < 0.0, train, only_errors, wrong
        cdef uint64_t seed
        cdef int max_features
        if weight == 0.0:
            self.schema.encode(x)
            return
        self.schema.admit(x)
        try:
            train, only_errors, step_size, l2, seed, max_features = learner._plan_step(
                max(1, self.width + is_new))
            self.reserve(self.width + is_new)
            if is_new:
                target = self.labels.learn(y)
        except BaseException:
            self.schema.retract()
            raise
        if is_new:
            self.widen(self.width + 1)
        wrong = self.push(target, weight)
        self.update(train and (wrong or not only_errors), step_size, l2, seed, max_features)

    cdef int reserve(self, int width) except -1:
        """Make room for the row that the schema encoded last, and for a shrub."""
        cdef int n = min(self.window.size + 1, self.window_size)
        self.window.reserve(self.window_size, self.schema.n_columns)
        self.reserve_outputs(width)
        self.trees.reserve(2 * n + 1, width)
        return self.splitter.reserve_scratch(
            self.trees, n, self.window_size, self.schema.n_columns, width)

    cdef bint push(self, double target, double weight) noexcept nogil:
        """Let the row that the schema encoded last into the window, the oldest out.

        Returns whether the ensemble answers it wrongly. Without trees every answer is wrong, in a
        regression none.
        """
        cdef int slot = -1, c, best = 0
        cdef Py_ssize_t spacing = self.window_size
        if self.window.size == self.window_size:
            slot = self.window.by_arrival[0]
            self.total_weight -= self.window.weight[slot]
            if self.window.weight[slot] > HEAVY * self.total_weight:
                self.since_rebuild = REBUILD * self.window_size
            if self.sums_run():
                self.count(slot, -1.0)
        self.window.extend(self.schema.n_columns)
        slot = self.window.slide(self.schema.row, target, weight, slot)
        self.total_weight += weight
        self.evaluate(self.window.data + slot, self.window.capacity, self.window.n_columns,
                      self.leaves + slot, spacing)
        if self.sums_run():
            self.count(slot, 1.0)
        self.since_rebuild += 1
        if self.since_rebuild >= REBUILD * self.window_size:
            self.rebuild()
        if self.trees.n_roots == 0:
            return True
        if self.trees.regression:
            return False
        if not self.sums_run():
            self.gather(self.leaves + slot, spacing)
        for c in range(1, self.width):
            if self.answer(c) > self.answer(best):
                best = c
        return best != <int>target

    cdef void count(self, int slot, double sign) noexcept nogil:
        """Add the outputs for a remembered sample to `gram` and `hits`, or take them away."""
        cdef Py_ssize_t places = self.n_models + 1, n = self.trees.n_roots, j, k, c
        cdef double weight = sign * self.window.weight[slot], output
        cdef const double* h
        cdef double* row
        self.gather(self.leaves + slot, self.window_size)
        for c in range(self.width):
            h = self.outputs + c * places
            for j in range(n):
                if h[j] != 0.0:
                    output = weight * h[j]
                    row = self.gram + j * places
                    for k in range(n):
                        row[k] += output * h[k]
        h = self.outputs + <Py_ssize_t>self.window.target[slot] * places
        for k in range(n):
            self.hits[k] += weight * h[k]

    cdef void rebuild(self) noexcept nogil:
        """Sum everything over the window afresh."""
        cdef Py_ssize_t places = self.n_models + 1
        cdef int i
        memset(self.gram, 0, places * places * sizeof(double))
        memset(self.hits, 0, places * sizeof(double))
        self.total_weight = 0.0
        self.since_rebuild = 0
        for i in range(self.window.n_sorted):
            self.total_weight += self.window.weight[self.window.by_arrival[i]]
            if self.sums_run():
                self.count(self.window.by_arrival[i], 1.0)

    # ---------------------------------------------------------------- lines 6 to 8: a new shrub

    cdef int update(self, bint train, double step_size, double l2, uint64_t seed,
                    int max_features) except -1:
        """Lines 6 to 12: train a shrub if asked to, and weigh all of them."""
        if step_size == 0.0:
            step_size = 1.0 / (self.trees.n_roots + train + 1)
        if train and not (self.lazy and self.is_hopeless(step_size, l2)):
            self.train(seed, max_features)
        with nogil:
            self.weigh(step_size, l2)
            self.prune()
        return 0

    cdef bint is_hopeless(self, double step_size, double l2) noexcept nogil:
        """Whether no tree whatsoever could take the place of one of the present ones.

        After one step from zero the newcomer's weight is at most that of a tree without a fault,

            step * sum_i w_i (1 - f(x_i)[y_i]) * (2 for the squared error) / (W C),

        because sum_c (y_c - f_c) h_c never exceeds 1 - f_y while no f_c is negative (for
        cross-entropy, softmax(f) stands in place of f). The regularisers only make it smaller.
        """
        cdef double smallest
        cdef int k, n = self.trees.n_roots
        if n < self.n_models:
            return False
        self.find_gradient(l2)
        smallest = self.weights[0] - step_size * self.gradient[0]
        for k in range(1, n):
            smallest = min(smallest, self.weights[k] - step_size * self.gradient[k])
        return step_size * self.reach < smallest - MARGIN

    cdef int train(self, uint64_t seed, int max_features) except -1:
        """Grow a shrub on the window; its weight is zero. Needs no memory that is not there."""
        cdef int tree, root, i, slot, k
        cdef int64_t step = self.window.n_seen
        cdef int* leaves
        tree = self.trees.new_root()
        root = self.trees.roots[tree]
        for i in range(self.window.n_sorted):
            slot = self.window.by_arrival[i]
            if self.trees.regression:
                self.trees.add_number(root, self.window.target[slot], self.window.weight[slot],
                                      step)
            else:
                self.trees.add_class(root, <int>self.window.target[slot],
                                     self.window.weight[slot], step)
        k = self.splitter.grow(self.trees, root, self.window, self.schema, NULL, max_features,
                               step, rng_for(seed, 0, step, FEATURES))
        self.weights[tree] = 0.0
        self.sizes[tree] = 2 * k + 1
        self.births[tree] = step - 1
        leaves = self.leaves + <Py_ssize_t>tree * self.window_size
        with nogil:
            for i in range(self.window.n_sorted):
                slot = self.window.by_arrival[i]
                leaves[slot] = self.trees.walk(root, self.window.data + slot,
                                               self.window.capacity, self.window.n_columns)
            if self.sums_run():
                self.count_newcomer(tree)
        self.n_trained += 1
        return 0

    cdef void count_newcomer(self, int newcomer) noexcept nogil:
        """Give the newcomer its row of `gram` and its `hits`.

        Where its leaf is pure, h is the indicator of y and <h, h_k> = h_k[y], of which `hits` is
        the sum already. Only samples in impure leaves differ from that.
        """
        cdef Py_ssize_t places = self.n_models + 1, k, c
        cdef int i, slot
        cdef double weight, output
        cdef double* row = self.gram + newcomer * places
        cdef const double* stats
        cdef const double* h
        self.hits[newcomer] = self.total_weight
        row[newcomer] = 0.0
        for k in range(newcomer):
            row[k] = self.hits[k]
        for i in range(self.window.n_sorted):
            slot = self.window.by_arrival[i]
            stats = self.trees.row(self.leaves[newcomer * self.window_size + slot])
            if stats[HEADER + <int>self.window.target[slot]] == stats[WEIGHT]:
                continue
            weight = self.window.weight[slot]
            self.gather(self.leaves + slot, self.window_size)
            for c in range(self.width):
                h = self.outputs + c * places
                output = weight * h[newcomer]
                if c == <int>self.window.target[slot]:
                    output -= weight
                    self.hits[newcomer] += output
                if output != 0.0:
                    for k in range(newcomer + 1):
                        row[k] += output * h[k]
        row[newcomer] += self.hits[newcomer]
        for k in range(newcomer):
            self.gram[k * places + newcomer] = row[k]

    # ---------------------------------------------------------------- lines 9 to 11: the weights

    cdef void weigh(self, double step_size, double l2) noexcept nogil:
        """Gradient steps on all weights, and the projection that leaves at most `n_models`."""
        cdef int k, step
        if self.trees.regression:
            self.standardise()
        for step in range(self.rounds):
            self.find_gradient(l2)
            for k in range(self.trees.n_roots):
                self.weights[k] -= step_size * self.gradient[k]
                self.weights[k] = max(-HUGE, min(HUGE, self.weights[k]))
            if self.project_each_round or step == self.rounds - 1:
                self.project(step_size)

    cdef void standardise(self) noexcept nogil:
        """Centre and scale of the targets in the window."""
        cdef double total = 0.0, delta, squares = 0.0
        cdef int i, slot
        self.centre, self.scale = 0.0, 1.0
        if not self.standardised:
            return
        for i in range(self.window.n_sorted):       # West (1979)
            slot = self.window.by_arrival[i]
            total += self.window.weight[slot]
            delta = self.window.target[slot] - self.centre
            self.centre += delta * (self.window.weight[slot] / total)
            squares += self.window.weight[slot] * delta * (self.window.target[slot] - self.centre)
        if squares > 0.0:
            self.scale = sqrt(squares / total)

    cdef void find_gradient(self, double l2) noexcept nogil:
        """The gradient of eq. (5) and of the smooth regularisers at the present weights."""
        cdef int k
        cdef double share = 1.0 / (self.total_weight * self.width)
        if self.sums_run():
            self.gradient_from_sums()
        elif self.trees.regression:
            self.gradient_of_numbers()
        else:
            self.gradient_of_entropy()
        self.reach *= share
        for k in range(self.trees.n_roots):
            self.gradient[k] = (self.gradient[k] * share + 2.0 * l2 * self.weights[k]
                                + self.node_penalty * self.sizes[k])

    cdef void gradient_from_sums(self) noexcept nogil:
        """The gradient of the squared error, not yet divided by W C, from `gram` and `hits`."""
        cdef Py_ssize_t places = self.n_models + 1, j, k, n = self.trees.n_roots
        cdef const double* row
        cdef double total, hit = 0.0
        for k in range(n):
            row = self.gram + k * places
            total = 0.0
            for j in range(n):
                total += row[j] * self.weights[j]
            self.gradient[k] = 2.0 * (total - self.hits[k])
            hit += self.weights[k] * self.hits[k]
        self.reach = 2.0 * (self.total_weight - hit)

    cdef void gradient_of_numbers(self) noexcept nogil:
        """The gradient of the squared error of standardised targets, not yet divided by W."""
        cdef int i, k, slot, n = self.trees.n_roots
        cdef double slope, target
        memset(self.gradient, 0, n * sizeof(double))
        for i in range(self.window.n_sorted):
            slot = self.window.by_arrival[i]
            self.gather(self.leaves + slot, self.window_size)
            for k in range(n):
                self.outputs[k] = (self.outputs[k] - self.centre) / self.scale
            target = (self.window.target[slot] - self.centre) / self.scale
            slope = 2.0 * self.window.weight[slot] * (self.answer(0) - target)
            for k in range(n):
                self.gradient[k] += slope * self.outputs[k]

    cdef void gradient_of_entropy(self) noexcept nogil:
        """The gradient of the cross-entropy, not yet divided by W C, summed over the window."""
        cdef Py_ssize_t spacing = self.window_size
        cdef int i, k, c, slot, n = self.trees.n_roots
        cdef double share, total
        cdef const double* row
        memset(self.gradient, 0, n * sizeof(double))
        self.reach = 0.0
        for i in range(self.window.n_sorted):
            slot = self.window.by_arrival[i]
            memset(self.slopes, 0, self.width * sizeof(double))
            for k in range(n):
                self.answering[k] = self.leaves[k * spacing + slot]
                row = self.trees.row(self.answering[k])
                self.outputs[k] = 1.0 / row[WEIGHT]
                share = self.weights[k] * self.outputs[k]
                for c in range(self.width):
                    self.slopes[c] += share * row[HEADER + c]
            self.softmax()
            self.slopes[<int>self.window.target[slot]] -= 1.0
            self.reach -= self.window.weight[slot] * self.slopes[<int>self.window.target[slot]]
            for k in range(n):
                row = self.trees.row(self.answering[k])
                total = 0.0
                for c in range(self.width):
                    total += self.slopes[c] * row[HEADER + c]
                self.gradient[k] += self.window.weight[slot] * (total * self.outputs[k])

    cdef void softmax(self) noexcept nogil:
        """Replace `slopes` by its softmax."""
        cdef int c
        cdef double largest = self.slopes[0], total = 0.0
        for c in range(1, self.width):
            largest = max(largest, self.slopes[c])
        for c in range(self.width):
            self.slopes[c] = exp(self.slopes[c] - largest)
            total += self.slopes[c]
        for c in range(self.width):
            self.slopes[c] /= total

    cdef void project(self, double step_size) noexcept nogil:
        """Eq. (8): the largest weights go to the simplex, the others become zero."""
        cdef int n = self.trees.n_roots
        if n > self.n_models:
            self.weights[position_to_drop(self.weights, n)] = -INFINITY
        if self.l0 > 0.0 or self.l1 > 0.0:
            self.threshold(step_size)
        project_simplex(self.weights, n)

    cdef void threshold(self, double step_size) noexcept nogil:
        """Keep the weights that the L1 and L0 regularisers leave; the largest one in any case."""
        cdef int k, largest = 0
        cdef double weight
        for k in range(1, self.trees.n_roots):
            if self.weights[k] > self.weights[largest]:
                largest = k
        for k in range(self.trees.n_roots):
            weight = soft_threshold(self.weights[k], self.l1, step_size)
            weight = hard_threshold(weight, self.l0, step_size)
            self.weights[k] = weight if weight != 0.0 or k == largest else -INFINITY

    # ---------------------------------------------------------------- line 12: pruning

    cdef void prune(self) noexcept nogil:
        """Remove the trees without weight."""
        cdef Py_ssize_t places = self.n_models + 1, spacing = self.window_size
        cdef int j, k, kept = 0, n = self.trees.n_roots
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
                memmove(self.gram + kept * places, self.gram + k * places,
                        places * sizeof(double))
                for j in range(n):      # columns of all rows, those still to move included
                    self.gram[j * places + kept] = self.gram[j * places + k]
            kept += 1

    # ---------------------------------------------------------------- in Python values

    @property
    def n_seen(self):
        """Number of samples learned."""
        return self.window.n_seen

    @property
    def n_columns(self):
        """Number of columns of the schema."""
        return self.schema.n_columns

    def tree_weights(self):
        """(number of the sample it was born at, weight) of every tree."""
        return [(self.births[k], self.weights[k]) for k in range(self.trees.n_roots)]

    def bare(self):
        """A copy that answers as this ensemble does, without the window it needs for learning."""
        cdef int k, n = self.trees.n_roots
        settings = {**self.settings(), "n_models": max(1, n), "window_size": 1}
        cdef Shrubs copy = Shrubs(**settings)
        copy.schema, copy.labels, copy.trees = deepcopy((self.schema, self.labels, self.trees))
        copy.reserve_outputs(self.width)
        copy.width = self.width
        for k in range(n):
            copy.weights[k] = self.weights[k]
        return copy

    def check(self):
        """Raise AssertionError if an invariant is broken."""
        cdef int k, slot
        cdef int n = self.trees.n_roots
        self.schema.check()
        self.window.check()
        self.trees.check()
        assert self.trees.regression or self.width == len(self.labels) == self.trees.n_values
        assert n <= self.n_models and self.window.size <= self.window_size
        assert self.window.capacity == self.window_size
        weights = [self.weights[k] for k in range(n)]
        assert all(NEGLIGIBLE < weight <= 1.0 for weight in weights)
        assert n == 0 or abs(sum(weights) - 1.0) < 1e-9
        for k in range(n):
            assert self.sizes[k] == len(self.trees.preorder(k))
            for slot in self.window.slots():
                assert self.leaves[k * self.window_size + slot] == self.trees.walk(
                    self.trees.roots[k], self.window.data + slot, self.window.capacity,
                    self.window.n_columns)
        state = self.state()
        assert self.fill_sums(state["hits"], state["gram"], self.total_weight,
                              self.since_rebuild) <= DRIFT * self.total_weight

    def __sizeof__(self):
        cdef size_t places = self.n_models + 1
        return (object.__sizeof__(self) + block_size(places, self.window_size)
                + self.width_capacity * (places + 1) * sizeof(double))

    def settings(self):
        """The arguments that make such an ensemble."""
        return {
            "regression": self.trees.regression, "n_models": self.n_models,
            "window_size": self.window_size, "rounds": self.rounds,
            "loss": "mse" if self.loss == SQUARED_ERROR else "cross_entropy",
            "max_depth": self.splitter.max_depth, "shuffled": self.splitter.shuffled,
            "project_each_round": self.project_each_round, "standardised": self.standardised,
            "l0": self.l0, "l1": self.l1, "node_penalty": self.node_penalty, "lazy": self.lazy,
        }

    def state(self):
        """The trees, their weights, the running sums and the window; leaves follow from these."""
        cdef Py_ssize_t places = self.n_models + 1, k, n = self.trees.n_roots
        cdef double[:, ::1] gram = np.empty((n, n))
        for k in range(n):
            memcpy(&gram[k, 0], self.gram + k * places, n * sizeof(double))
        return {
            **self.settings(), "schema": self.schema, "labels": self.labels,
            "window": self.window, "trees": self.trees,
            "weights": np.array([self.weights[k] for k in range(n)], np.float64),
            "hits": np.array([self.hits[k] for k in range(n)], np.float64),
            "births": np.array([self.births[k] for k in range(n)], np.int64),
            "gram": np.asarray(gram), "total_weight": self.total_weight,
            "since_rebuild": self.since_rebuild, "n_trained": self.n_trained,
        }

    @classmethod
    def restored(cls, values):
        """The ensemble of a state."""
        cdef Shrubs shrubs
        state = State("Shrubs", values, (*SETTINGS, "schema", "labels", "window", "trees",
                                         "weights", "hits", "births", "gram", "total_weight",
                                         "since_rebuild", "n_trained"))
        window = state.part("window", Window)
        settings = {
            "n_models": state.whole("n_models", 1, MAX_MODELS),
            "window_size": state.whole("window_size", window.capacity, window.capacity),
            "rounds": state.whole("rounds", 1, 2**31 - 1),
            "loss": state.word("loss", ("mse", "cross_entropy")),
            "max_depth": state.whole("max_depth", 0, 2**31 - 1),
        }
        for name in ("regression", "shuffled", "project_each_round", "standardised", "lazy"):
            settings[name] = state.flag(name)
        for name in ("l0", "l1", "node_penalty"):
            settings[name] = state.number(name, 0.0, LARGEST_FLOAT)
        shrubs = Shrubs(**settings)
        shrubs._restore(state)
        return shrubs

    def _restore(self, state):
        cdef int slot, n
        cdef double target
        self.schema = state.part("schema", Schema)
        self.labels = state.part("labels", Labels)
        self.window = state.part("window", Window)
        trees, regression = state.part("trees", Trees), self.trees.regression
        n, n_values = trees.n_roots, 2 if regression else len(self.labels)
        require(trees.regression == regression and trees.n_values == n_values
                and not (regression and self.labels.labels) and n <= self.n_models
                and trees.n_features <= self.schema.n_columns,
                "Shrubs: the trees do not belong to this ensemble")
        require(self.window.n_fresh == 0 and self.window.n_columns <= self.schema.n_columns,
                "Shrubs: the window does not belong to this ensemble")
        for slot in self.window.slots():
            target = self.window.target[slot]
            require(regression or (0 <= target < n_values and target == <int>target),
                    "Shrubs: a sample has no known label")
        self.trees = trees
        self.width = 1 if regression else n_values
        self.reserve_outputs(self.width)
        self.trees.reserve_roots(self.n_models + 1)
        weights = state.numbers("weights", n, most=1.0)
        require(n == 0 or (np.all(weights > NEGLIGIBLE) and abs(weights.sum() - 1.0) < 1e-9),
                "Shrubs: the weights do not sum to one")
        births = state.array("births", np.int64, n)
        require(np.all((births >= 0) & (births < max(1, self.window.n_seen))),
                "Shrubs: a tree is born after the last sample")
        self.n_trained = state.whole("n_trained")
        self.fill(weights, births)
        worst = self.fill_sums(state.numbers("hits", n), state.numbers("gram", n, n),
                               state.number("total_weight"),
                               state.whole("since_rebuild", 0, REBUILD * self.window_size))
        require(worst <= DRIFT * self.total_weight, "Shrubs: the sums are not those of the window")

    cdef int fill(self, const double[::1] weights, const int64_t[::1] births) except -1:
        """Take over the trees' weights and births; find their sizes and the samples' leaves."""
        cdef int i, k, slot
        for k in range(self.trees.n_roots):
            self.weights[k], self.births[k] = weights[k], births[k]
            self.sizes[k] = len(self.trees.preorder(k))
        for i in range(self.window.n_sorted):
            slot = self.window.by_arrival[i]
            self.evaluate(self.window.data + slot, self.window.capacity, self.window.n_columns,
                          self.leaves + slot, self.window_size)
        return 0

    cdef double fill_sums(self, const double[::1] hits, const double[:, ::1] gram,
                          double total_weight, int since_rebuild) except -1:
        """Take over running sums; return the most that one differs by from a fresh sum."""
        cdef Py_ssize_t places = self.n_models + 1, j, k, n = self.trees.n_roots
        self.rebuild()
        cdef double worst = fabs(self.total_weight - total_weight)
        for k in range(n):
            worst = max(worst, fabs(self.hits[k] - hits[k]))
            self.hits[k] = hits[k]
            for j in range(n):
                worst = max(worst, fabs(self.gram[k * places + j] - gram[k, j]))
                self.gram[k * places + j] = gram[k, j]
        self.total_weight, self.since_rebuild = total_weight, since_rebuild
        return worst

    def __reduce__(self):
        return from_state, (type(self), self.state())
