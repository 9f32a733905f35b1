"""Contributions of the features to the output of a tree. See the header."""

import numpy as np

from cpython.buffer cimport PyBuffer_FillInfo
from cpython.object cimport PyObject
from libc.math cimport NAN, exp, expm1, log, log1p
from libc.string cimport memcpy, memset

from .allocation cimport free, product, resized, zeroed
from .lists cimport item_of
from .tree cimport (
    add_leaf, first_cell, forget_subtotals, is_leaf, majority, mean_of, parent_of, turn, weight_of,
)

cdef extern from "quadrature.h":
    int visit(const Visit* tree, int depth, int* node, int n, const double* points,
              const double* scales, const double* weights) noexcept nogil

cdef double LEAST = 1e-6        # limit of probabilities in log odds

cdef struct TreeSource:         # of the splits of a tree
    const Tree* tree
    void* explanations          # `TreeExplanations`
    int number                  # of the tree
    const double* means         # of the tree, per row, which empty leaves have

cdef double ONE = 1.0           # the factor of a regression

# Points and weights of the quadrature on [0, 1], for 4, 8, 12 and 16 points.
cdef double[4][MOST_POINTS] POINTS, WEIGHTS
for _k in range(4):
    _points, _weights = np.polynomial.legendre.leggauss(4 * (_k + 1))
    for _q in range(4 * (_k + 1)):
        POINTS[_k][_q], WEIGHTS[_k][_q] = (1.0 + _points[_q]) / 2.0, _weights[_q] / 2.0


# --- Subtotals ------------------------------------------------------------------------------------

cdef inline bint are_known(const Tree* tree, int n_values) noexcept nogil:
    """Whether all subtotals of a tree that is split are known: that of the root forgets last."""
    cdef double weight
    if tree.n_subtotals != n_values or tree.subtotals == NULL:
        return False
    weight = subtotal_of(tree, 0)[0]
    return weight == weight


cdef int reserve_subtotals(Tree* tree, int n_values) except -1 nogil:
    """Allocate memory for the subtotals of all inner nodes; new ones are not known."""
    cdef int pairs = tree.n_used // 2
    if tree.n_subtotals != n_values:
        forget_subtotals(tree)
    if pairs > tree.subtotal_pairs:
        tree.subtotals = <double*>resized(
            tree.subtotals, <size_t>pairs * n_values, sizeof(double))
        tree.n_subtotals = n_values
        while tree.subtotal_pairs < pairs:
            tree.subtotals[<Py_ssize_t>tree.subtotal_pairs * n_values] = NAN
            tree.subtotal_pairs += 1
    return 0


cdef inline bint is_unknown(const Tree* tree, int node) noexcept nogil:
    cdef double weight
    if is_leaf(&tree.nodes[node]):
        return False
    weight = subtotal_of(tree, node)[0]
    return weight != weight


cdef int next_unknown(const Tree* tree, int node) noexcept nogil:
    """The next inner node whose subtotal has to be computed, after `node`; -1: all are known.

    The first one comes after -1. Below each node that is returned, all are known.
    """
    if node == 0:
        return -1
    node = 0 if node < 0 else parent_of(tree, node)
    if not is_unknown(tree, node):
        return -1
    while True:
        if is_unknown(tree, tree.nodes[node].left):
            node = tree.nodes[node].left
        elif is_unknown(tree, tree.nodes[node].left ^ 1):
            node = tree.nodes[node].left ^ 1
        else:
            return node


cdef void add_classes(Tree* tree, int node) noexcept nogil:
    """Set the subtotal of a node of a classification."""
    cdef double* total = subtotal_of(tree, node)
    cdef const double* below
    cdef int k, child, side
    memset(total, 0, tree.n_subtotals * sizeof(double))
    for side in range(2):
        child = tree.nodes[node].left ^ side
        if is_leaf(&tree.nodes[child]):
            add_leaf(tree, child, total, total + 1)
            continue
        below = subtotal_of(tree, child)
        for k in range(tree.n_subtotals):
            total[k] += below[k]


# --- Rescale rules --------------------------------------------------------------------------------

cdef double slope_of_limits(double x, double base, double low, double high) noexcept nogil:
    """Of min(max(x, low), high)."""
    cdef bint inside = low <= x <= high
    if inside and low <= base <= high or x == base:
        return inside
    return (min(max(x, low), high) - min(max(base, low), high)) / (x - base)


cdef double slope_of_log(double x, double base) noexcept nogil:
    """Of log(x), x > 0."""
    return log1p((x - base) / base) / (x - base) if x != base else 1.0 / x


cdef double slope_of_exp(double x, double base) noexcept nogil:
    """Of exp(x)."""
    cdef double larger = max(x, base), gap = larger - min(x, base)
    return exp(larger) * (-expm1(-gap) / gap if gap > 0.0 else 1.0)


cdef class Contributions:
    """Contributions of so many features to the outputs for some rows. See the header."""

    def __cinit__(self, int n_features, int n_rows):
        self.n_features, self.n_rows = n_features, n_rows
        self.phi = <double*>zeroed(product(n_features + 1, n_rows), sizeof(double))
        self.base = self.phi + <Py_ssize_t>n_features * n_rows

    def __dealloc__(self):
        free(self.phi)

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.phi,
                          (self.n_features + 1) * self.n_rows * <Py_ssize_t>sizeof(double), False,
                          flags)

    def arrays(self):
        """The base value of each row, and the contributions: an array (rows, columns)."""
        numbers = np.frombuffer(self).reshape(self.n_features + 1, self.n_rows)
        return numbers[self.n_features], numbers[:self.n_features].T

    cdef void add(self, const double* phi, const double* base) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(<Py_ssize_t>self.n_features * self.n_rows):
            self.phi[i] += phi[i]
        for i in range(self.n_rows):
            self.base[i] += base[i]

    cdef double output(self, int row) noexcept nogil:
        """The sum of base value and contributions."""
        cdef double total = self.base[row]
        cdef Py_ssize_t i
        for i in range(self.n_features):
            total += self.phi[i * self.n_rows + row]
        return total

    cdef void to_log_odds(self) noexcept nogil:
        """Turn contributions to a probability into contributions to its log odds: G-DeepSHAP."""
        cdef double p, base, p_within, base_within, slope, low = LEAST, high = 1.0 - LEAST
        cdef Py_ssize_t i
        cdef int row
        for row in range(self.n_rows):
            p, base = self.output(row), self.base[row]
            p_within, base_within = min(max(p, low), high), min(max(base, low), high)
            # log(p / (1 - p)) = log(p) - log(1 - p)
            slope = slope_of_limits(p, base, low, high) * (
                slope_of_log(p_within, base_within)
                + slope_of_log(1.0 - p_within, 1.0 - base_within))
            for i in range(self.n_features):
                self.phi[i * self.n_rows + row] *= slope
            self.base[row] = log(base_within) - log1p(-base_within)


cdef class Explainer(Owner):
    """Adds Shapley values in trees, one tree and row at a time. See the header."""

    def __cinit__(self, int n_features):
        self.renew(&self.latest, max(1, n_features), sizeof(int))

    cdef int add(self, Visit* tree, int root, int most_features,
                 const double* weights) except -1 nogil:
        """Add the Shapley values of each row times its weight, in a tree that is split."""
        cdef int k = max(0, min((most_features - 1) // 8, 3)), depth = 1, node = root, n
        tree.latest = self.latest
        while depth:
            if depth + 1 >= self.n_levels:
                n = max(16, 2 * self.n_levels)
                self.resize(&self.levels, n, sizeof(Level))
                self.resize(&self.lanes, product(n, (3 * MOST_POINTS + 2) * MOST_ROWS),
                            sizeof(double))
                self.n_levels = n
            tree.levels, tree.lanes, tree.n_levels = self.levels, self.lanes, self.n_levels
            depth = visit(tree, depth, &node, 4 * (k + 1), POINTS[k], weights, WEIGHTS[k])
        return 0

    cdef int most_features(self, const Tree* tree, int n_features) except -1 nogil:
        """The largest number of different features on a path; more count as all of them."""
        cdef Above above = Above(0, 0, 0)
        cdef const Node* here
        cdef uint64_t bit
        cdef int n = 0, most = 0
        if n_features <= 8:             # of which few points are enough
            return n_features
        if tree.n_used > self.n_waiting:
            self.resize(&self.waiting, tree.n_used, sizeof(Above))
            self.n_waiting = tree.n_used
        while True:
            here = &tree.nodes[above.node]
            if not is_leaf(here):
                bit = <uint64_t>1 << here.feature if here.feature < 64 else 0
                above.n_features += above.features & bit == 0
                above.features |= bit
                above.node = here.left
                self.waiting[n] = above
                n += 1
                above.node ^= 1
                continue
            most = max(most, above.n_features)
            if n == 0:
                return min(most, n_features)
            n -= 1
            above = self.waiting[n]


cdef class Explanations(Job):
    """The contributions to the predictions of a learner, for some rows. See the header."""

    cdef int put_row(self, int row, const double* values, int code) except -1:
        """Take a row by column, and the label to explain.

        The schema encoded this row last, and the learner answered it last.
        """
        raise NotImplementedError

    cdef int finish(self) except -1:
        """Explain all rows."""
        raise NotImplementedError


cdef class TreeExplanations(Explanations):
    """The contributions in the trees of a table, in threads. See the header.

    A task is some trees: contributions are added up in the order of the tasks, so that their sum
    does not depend on the threads.
    """

    cdef int begin(self, Contributions total, bint shapley, Team team, Trees trees) except -1:
        """Begin to explain predictions of some trees."""
        self.total, self.shapley, self.team, self.trees = total, shapley, team, trees
        self.regression, self.n_classes = trees.kind.regression, 1
        return 0

    cdef int prepare(self, bint with_weights) except -1:
        """Allocate memory for the rows, and compute the subtotals that are not known.

        Without factors, those of the labels are explained.
        """
        cdef size_t n_rows = self.total.n_rows, n_leaves = product(self.trees.n_trees, n_rows)
        cdef size_t n_weights = n_leaves if with_weights else 0, n_values, n_factors
        cdef int tree
        self.climbs = self.keeps_subtotals() and not self.shapley
        n_values = 0 if self.climbs else product(self.total.n_features, n_rows)
        n_factors = 0 if self.factors != NULL else product(self.n_classes, n_rows)
        self.renew(&self.memory, n_weights + n_values + n_factors + n_leaves, sizeof(double))
        self.weights = self.memory if with_weights else NULL
        self.rows = self.memory + n_weights
        if self.factors == NULL:
            self.factors = self.of_labels = self.rows + n_values
        self.leaves = <int*>(self.rows + n_values + n_factors)
        if self.keeps_subtotals():
            for tree in range(self.trees.n_trees):
                self.add_up(tree, &ONE)
        return 0

    cdef int put_row(self, int row, const double* values, int code) except -1:
        cdef Py_ssize_t i
        if not self.climbs:
            for i in range(self.total.n_features):
                self.rows[i * self.total.n_rows + row] = values[i]
        if self.of_labels != NULL:
            self.of_labels[row * <Py_ssize_t>self.n_classes + code] = 1.0
        return 0

    cdef void reach(self, int row, const int* leaves) noexcept:
        """Take the leaf in each tree that a row reaches."""
        cdef Py_ssize_t n = self.trees.n_trees
        memcpy(self.leaves + row * n, leaves, n * sizeof(int))

    cdef int explain(self, int first, int n) except -1:
        """Add the contributions in the trees first ... first + n - 1."""
        cdef int _
        cdef const double* part
        cdef size_t n_values = <size_t>self.total.n_features * self.total.n_rows
        self.first, self.n = first, n
        if self.climbs:
            with nogil:
                self.team.run(self, 1 + (self.total.n_rows - 1) // CLIMBING)
            return 0
        if self.parts == NULL:
            self.explainers = [Explainer(self.total.n_features)
                               for _ in range(self.team.n_threads)]
            self.renew(&self.parts, product(MOST_TASKS, n_values + self.total.n_rows),
                       sizeof(double))
        self.n_tasks, part = min(n, <int>MOST_TASKS), self.parts
        with nogil:
            self.team.run(self, self.n_tasks)
        for _ in range(self.n_tasks):
            self.total.add(part, part + n_values)
            part += n_values + self.total.n_rows
        return 0

    cdef int do(self, long task, int thread) except -1 nogil:
        if self.climbs:
            self.climb_trees(<int>task * CLIMBING)
            return 0
        return self.explain_some(
            <Explainer>item_of(<PyObject*>self.explainers, thread), <int>task)

    cdef int explain_some(self, Explainer explainer, int task) except -1 nogil:
        """Explain the rows by the trees of a task."""
        cdef size_t n_rows = self.total.n_rows, n_values = self.total.n_features * n_rows
        cdef double* phi = self.parts + task * (n_values + n_rows)
        cdef int k
        memset(phi, 0, (n_values + n_rows) * sizeof(double))
        for k in range(task * self.n // self.n_tasks, (task + 1) * self.n // self.n_tasks):
            self.explain_tree(explainer, self.first + k, phi, phi + n_values)
        return 0

    cdef int explain_tree(self, Explainer explainer, int tree, double* phi,
                          double* base) except -1 nogil:
        """Explain the rows by a tree."""
        cdef Tree* this = &self.trees.trees[tree]
        cdef int row, n_rows = self.total.n_rows
        cdef double[MOST_ROWS] weights
        cdef TreeSource source = TreeSource(this, <void*>self, tree, &explainer.means[0])
        cdef Visit visit = Visit(look_in_tree, &source, n_rows, phi, n_rows, NULL, NULL, 0, NULL)
        for row in range(n_rows):
            if not self.keeps_subtotals():
                forget_subtotals(this)
                self.add_up(tree, factors_of(self, row))
            if not self.shapley:
                self.climb(tree, row, phi + row, base + row)
                continue
            weights[row] = weight_in(self, tree, row)
            explainer.means[row] = self.mean_of_tree(tree, factors_of(self, row))
            base[row] += weights[row] * explainer.means[row]
        if self.shapley and not is_leaf(this.nodes):
            explainer.add(&visit, 0, explainer.most_features(this, self.total.n_features), weights)
        if not self.keeps_subtotals():
            forget_subtotals(this)          # they are those of a row
        return 0

    cdef void climb_trees(self, int first) noexcept nogil:
        """Add the change of the mean at each split on the path of some rows.

        Each tree is visited for all of them, whose steps do not wait for each other.
        """
        cdef int tree, row
        for tree in range(self.first, self.first + self.n):
            for row in range(first, min(first + <int>CLIMBING, self.total.n_rows)):
                self.climb(tree, row, self.total.phi + row, self.total.base + row)

    cdef void climb(self, int tree, int row, double* phi, double* base) noexcept nogil:
        """Add the change of the mean at each split on the path of a row (Saabas 2014).

        From the leaf up, since the prediction has found it: a step needs no value of the row.
        """
        cdef int node = self.leaves[row * <Py_ssize_t>self.trees.n_trees + tree]
        cdef const double* factors = factors_of(self, row)
        cdef double weight = weight_in(self, tree, row)
        cdef double below = self.answer_node(tree, node, factors)
        if below != below:                  # no sample
            below = self.mean_of_tree(tree, factors)
        if self.regression:
            below = climb_up(self, tree, phi, factors, 0, node, below, weight)
        elif self.n_sums() == 2:            # most often
            below = climb_up(self, tree, phi, factors, 2, node, below, weight)
        else:
            below = climb_up(self, tree, phi, factors, self.n_sums(), node, below, weight)
        base[0] += below * weight

    cdef double without_samples(self, int tree, const double* factors) noexcept nogil:
        """What an inner node without samples answers."""
        cdef double answer = NAN if self.regression else self.answer_empty(factors)
        return answer if answer == answer else self.mean_of_tree(tree, factors)

    cdef double mean_of_tree(self, int tree, const double* factors) noexcept nogil:
        """What the root answers; 0 if it is empty."""
        cdef double mean = self.answer_node(tree, 0, factors)
        return mean if mean == mean else 0.0

    cdef double answer_node(self, int tree, int node, const double* factors) noexcept nogil:
        """What a node answers a row with these factors. NaN: it is empty."""
        cdef const Tree* this = &self.trees.trees[tree]
        cdef double answer = 0.0
        cdef int cell
        if self.regression:
            return self.mean_in(tree, node) * factors[0]
        if not is_leaf(&this.nodes[node]):
            answer = answer_of(subtotal_of(this, node), self.n_sums(), factors)
            return answer if answer == answer else self.answer_empty(factors)
        if not weight_of(this, node) > 0.0:
            return self.answer_empty(factors)
        if this.nodes[node].left >= 0:
            return factors[this.nodes[node].left]
        if self.by_majority:
            return factors[majority(this, node)]
        cell = first_cell(this, node)
        while cell >= 0:
            answer += this.cells[cell].weight * factors[this.cells[cell].code]
            cell = this.cells[cell].next
        return answer / weight_of(this, node)

    cdef double answer_empty(self, const double* factors) noexcept nogil:
        """What a node without samples answers: equal shares, or NaN."""
        cdef double answer = 0.0
        cdef int k
        if not self.empty_answers:
            return NAN
        for k in range(self.n_classes):
            answer += factors[k]
        return answer / self.n_classes

    cdef bint keeps_subtotals(self) noexcept nogil:
        """Whether subtotals are the same for all rows, and stay."""
        return self.n_sums() >= 0

    cdef int n_sums(self) noexcept nogil:
        """Number of classes that subtotals hold; 0: none, but the mean; -1: the mean of a row."""
        if self.regression:
            return 0
        return -1 if self.by_majority or self.n_classes > MOST_CLASSES else self.n_classes

    cdef int add_up(self, int tree, const double* factors) except -1 nogil:
        """Compute the subtotals of a tree that are not known."""
        cdef Tree* this = &self.trees.trees[tree]
        cdef double* total
        cdef int node, left
        cdef int n_values = 1 + max(1, self.n_sums())
        if is_leaf(this.nodes) or are_known(this, n_values):
            return 0
        reserve_subtotals(this, n_values)
        node = next_unknown(this, -1)
        while node >= 0:
            if self.n_sums() > 0:
                add_classes(this, node)
            else:
                total, left = subtotal_of(this, node), this.nodes[node].left
                total[1] = mean_below(
                    weight_below(this, left), self.answer_node(tree, left, factors),
                    weight_below(this, left ^ 1), self.answer_node(tree, left ^ 1, factors))
                total[0] = weight_below(this, left) + weight_below(this, left ^ 1)
            node = next_unknown(this, node)
        return 0

    cdef double mean_in(self, int tree, int node) noexcept nogil:
        """The mean that a node answers, whose subtotal is known. NaN: it is empty."""
        cdef const Tree* this = &self.trees.trees[tree]
        if not is_leaf(&this.nodes[node]):
            return subtotal_of(this, node)[1]
        if not weight_of(this, node) > 0.0 and not self.empty_answers:
            return NAN
        return self.mean_of_leaf(tree, node)

    cdef double mean_of_leaf(self, int tree, int leaf) noexcept nogil:
        """The mean that a leaf answers."""
        return mean_of(&self.trees.trees[tree], leaf)


cdef class VoteExplanations(TreeExplanations):
    """The contributions to a weighted mean of the trees. See the header."""

    cdef VoteExplanations by(self, int n_labels):
        """Give each tree the weight 0."""
        self.n_classes = 1 if self.regression else n_labels
        self.prepare(True)
        return self

    cdef int finish(self) except -1:
        self.explain(0, self.trees.n_trees)
        if not self.regression:
            self.total.to_log_odds()
        return 0


cdef inline double weight_below(const Tree* tree, int node) noexcept nogil:
    """The weight of a node, whose subtotal is known."""
    return weight_of(tree, node) if is_leaf(&tree.nodes[node]) else subtotal_of(tree, node)[0]


cdef inline double weight_in(TreeExplanations self, int tree, int row) noexcept nogil:
    """The weight of the contributions in a tree."""
    return 1.0 if self.weights == NULL else (
        self.weights[tree * <Py_ssize_t>self.total.n_rows + row])


cdef inline const double* factors_of(TreeExplanations self, int row) noexcept nogil:
    """The factors of a row."""
    return self.factors + row * <Py_ssize_t>self.n_classes


cdef void look_in_tree(void* source, int node, Fork* found, double* values) noexcept nogil:
    """Describe a split of a tree."""
    cdef const TreeSource* here = <TreeSource*>source
    cdef const Tree* tree = here.tree
    cdef const Node* split = &tree.nodes[node]
    cdef const double* x
    cdef int row, side, n_rows = (<TreeExplanations>here.explanations).total.n_rows
    x = (<TreeExplanations>here.explanations).rows + split.feature * <Py_ssize_t>n_rows
    found.feature, found.left = split.feature, 0
    for row in range(n_rows):
        found.left |= (1 ^ turn(split, x[row], False)) << row
    for side in range(2):
        node = split.left ^ side
        if not is_leaf(&tree.nodes[node]):
            found.children[side], found.weights[side] = node, subtotal_of(tree, node)[0]
        else:
            found.children[side], found.weights[side] = -1, weight_of(tree, node)
            answer_leaf(here, node, values + side * n_rows, n_rows)


cdef inline void answer_leaf(const TreeSource* source, int leaf, double* values,
                             int n_rows) noexcept nogil:
    """What a leaf answers the rows, or its tree if it is empty."""
    cdef const Node* this = &source.tree.nodes[leaf]
    cdef const double* factors = (<TreeExplanations>source.explanations).factors
    cdef Py_ssize_t n = (<TreeExplanations>source.explanations).n_classes
    cdef bint regression = (<TreeExplanations>source.explanations).regression
    cdef bint of_one_class = this.left >= 0 and this.threshold > 0.0
    cdef double mean = 0.0
    cdef int row
    if regression:
        mean = (<TreeExplanations>source.explanations).mean_in(source.number, leaf)
    for row in range(n_rows):
        if regression:
            values[row] = mean * factors[row]
        elif of_one_class:
            values[row] = factors[row * n + this.left]
        else:
            values[row] = (<TreeExplanations>source.explanations).answer_node(
                source.number, leaf, factors + row * n)
        if values[row] != values[row]:
            values[row] = source.means[row]


cdef inline double answer_of(const double* total, int n, const double* factors) noexcept nogil:
    """What an inner node with this subtotal answers by n classes, or by its mean if n is 0.

    NaN: it is empty. Two sums do not wait for each other.
    """
    cdef double even, odd = 0.0
    cdef int k
    if n <= 0:
        return total[1] * (factors[0] if n == 0 else 1.0)
    if not total[0] > 0.0:
        return NAN
    even = total[1] * factors[0] if n % 2 else 0.0
    for k in range(n % 2, n, 2):
        even += total[1 + k] * factors[k]
        odd += total[2 + k] * factors[k + 1]
    return (even + odd) / total[0]


cdef inline double climb_up(TreeExplanations self, int tree, double* phi, const double* factors,
                            int n, int node, double below, double weight) noexcept nogil:
    """Climb from a node that answers `below`; return what the root answers. n as in `answer_of`."""
    cdef const Tree* this = &self.trees.trees[tree]
    cdef const Node* nodes = this.nodes
    cdef const int* parents = this.parents
    cdef const double* subtotals = this.subtotals
    cdef Py_ssize_t n_rows = self.total.n_rows, n_subtotals = this.n_subtotals
    cdef double above
    while node > 0:
        above = answer_of(subtotals + (node >> 1) * n_subtotals, n, factors)
        node = parents[node >> 1]
        if above != above:                  # no sample below
            above = self.without_samples(tree, factors)
        phi[nodes[node].feature * n_rows] += (below - above) * weight
        below = above
    return below
