"""Contributions of the features to the output of a tree. See the header."""

import numpy as np

from cpython.buffer cimport PyBuffer_FillInfo
from cpython.object cimport PyObject
from libc.math cimport NAN, exp, expm1, log, log1p
from libc.stdint cimport uint64_t
from libc.string cimport memcpy, memset

from .allocation cimport free, product, zeroed
from .lists cimport item_of
from .subtotals cimport (
    MOST_CLASSES, add_classes, are_known, mean_below, next_unknown, reserve_subtotals, subtotal_of,
)
from .tree cimport first_cell, forget_subtotals, is_leaf, majority, mean_of, turn, weight_of

cdef extern from "quadrature.h":
    void visit(const Visit* tree, int n, const double* points, const double* weights,
               int n_rows) noexcept nogil

cdef double LEAST = 1e-6        # limit of probabilities in log odds

cdef enum:
    MOST_MARKED = 256           # depth of trees whose features on a path are counted

# Points and weights of the quadrature on [0, 1], for 4, 8, 12 and 16 points.
cdef double[4][MOST_POINTS] POINTS, WEIGHTS
for _k in range(4):
    _points, _weights = np.polynomial.legendre.leggauss(4 * (_k + 1))
    for _q in range(4 * (_k + 1)):
        POINTS[_k][_q], WEIGHTS[_k][_q] = (1.0 + _points[_q]) / 2.0, _weights[_q] / 2.0


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
    """Divides the outputs of trees, one tree at a time. See the header.

    Memory for the tree that is laid out, and for a path in it. Who uses it says where the
    contributions are (`phi`, `base`).
    """

    def __cinit__(self, int n_features, int n_rows, bint shapley):
        self.n_features, self.n_rows, self.shapley = n_features, n_rows, shapley
        self.renew(&self.latest, max(1, n_features), sizeof(int))
        self.renew(&self.means, max(1, n_rows), sizeof(double))

    # --- Trees ------------------------------------------------------------------------------------

    cdef int reserve_steps(self, int n_nodes) except -1 nogil:
        """Allocate memory for a tree with at most so many nodes."""
        cdef int n_leaves = n_nodes // 2 + 1
        if n_nodes > self.capacity:
            self.resize(&self.steps, n_nodes, sizeof(Step))
            self.resize(&self.waiting, n_leaves, sizeof(Waiting))
            self.resize(&self.leaves, n_leaves, sizeof(int))
            self.resize(&self.values, product(n_leaves, self.n_rows), sizeof(double))
            self.capacity = n_nodes
        return 0

    cdef int reserve_levels(self, int n) except -1 nogil:
        """Allocate memory for a path with n nodes."""
        if n > self.n_levels:
            self.resize(&self.levels, n, sizeof(Level))
            self.resize(&self.lanes, product(n, 2 * MOST_POINTS * self.n_rows), sizeof(double))
            self.n_levels = n
        return 0

    cdef int lay_out(self, const Tree* tree, const double* rows) except -1 nogil:
        """Lay out a tree for rows[column * n_rows + row]; the leaves have no values."""
        cdef Layout layout
        cdef const Node* nodes = tree.nodes
        cdef const Node* here
        cdef const double* values
        cdef unsigned int left
        cdef int row
        self.reserve_steps(tree.n_used)
        layout = begin(self, 0)
        while layout.node >= 0:
            here = &nodes[layout.node]
            if is_leaf(here):
                put_leaf(&layout, here.threshold)
                continue
            values = rows + here.feature * <Py_ssize_t>self.n_rows
            left = 1 ^ turn(here, values[0], False)
            for row in range(1, self.n_rows):
                left |= (1 ^ turn(here, values[row], False)) << row
            if tree.subtotals != NULL:
                layout.steps[layout.n_steps].weight = subtotal_of(tree, layout.node)[0]
            put_split(&layout, here.feature, left, here.left, here.left ^ 1)
        return end(self, &layout)

    cdef int finish(self) except -1 nogil:
        """Add the contributions in the tree that is laid out, and its mean."""
        cdef int row
        for row in range(self.n_rows):
            self.measure(row)
            self.base[row] += self.means[row]
            if not self.shapley:
                self.add_path(row)
        if self.shapley:
            self.add_shapley()
        return 0

    cdef void measure(self, int row) noexcept nogil:
        """Set weights and values for a row, those at the bottom first."""
        cdef int i
        cdef Step* left
        cdef Step* right
        cdef Step* step
        cdef double* value
        for i in range(self.n_leaves):
            self.steps[self.leaves[i]].value = self.values[<Py_ssize_t>i * self.n_rows + row]
        for i in range(self.n_steps - 1, -1, -1):
            step = &self.steps[i]
            if step.feature < 0:
                continue
            left, right = step + 1, self.steps + step.right
            step.weight = left.weight + right.weight
            step.value = mean_below(left.weight, left.value, right.weight, right.value)
        if self.steps[0].value != self.steps[0].value:
            self.steps[0].value = 0.0
        self.means[row] = self.steps[0].value
        for i in range(self.n_leaves):
            value = &self.values[<Py_ssize_t>i * self.n_rows + row]
            if value[0] != value[0]:
                value[0] = self.steps[self.leaves[i]].value = self.means[row]

    cdef void add_path(self, int row) noexcept nogil:
        """Add the change of the mean at each split on the path of x (Saabas 2014)."""
        cdef int i = 0, below
        cdef double here = self.means[row], next
        while self.steps[i].feature >= 0:
            below = i + 1 if self.steps[i].left >> row & 1 else self.steps[i].right
            next = self.steps[below].value
            if next != next:                # no leaf below has a value
                next = self.means[row]
            self.phi[self.steps[i].feature * <Py_ssize_t>self.n_rows + row] += next - here
            i, here = below, next

    cdef void add_shapley(self) noexcept nogil:
        """Add the Shapley values."""
        cdef int most = most_features(self)
        cdef int k = max(0, min((most - 1) // 8, 3))
        cdef Visit tree = Visit(self.steps, self.levels, self.latest, self.values, self.means,
                                self.lanes, self.phi, self.n_steps, self.deepest)
        visit(&tree, 4 * (k + 1), POINTS[k], WEIGHTS[k], self.n_rows)


cdef int most_features(Explainer explainer) noexcept nogil:
    """The largest number of different features on a path; a bound if there are many features."""
    cdef const Step* step = explainer.steps
    cdef int _, n, most = min(explainer.n_features, explainer.deepest)
    # Per depth: the features above, a bit of each, and their number.
    cdef uint64_t[MOST_MARKED] above
    cdef int[MOST_MARKED] counts
    if most <= 8 or explainer.n_features > 64 or explainer.deepest >= MOST_MARKED:
        return most
    above[0] = counts[0] = most = 0
    for _ in range(explainer.n_steps):
        n = step.depth
        if step.feature < 0:
            most = max(most, counts[n])
        else:
            above[n + 1] = above[n] | <uint64_t>1 << step.feature
            counts[n + 1] = counts[n] + (above[n + 1] != above[n])
        step += 1
    return most


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
        """Allocate memory for the rows, and compute the subtotals that are not known."""
        cdef size_t n_rows = self.total.n_rows, n_leaves = product(self.trees.n_trees, n_rows)
        cdef size_t n_weights = n_leaves if with_weights else 0
        cdef size_t n_values
        cdef int tree
        self.climbs = self.keeps_subtotals() and not self.shapley
        n_values = 0 if self.climbs else product(self.total.n_features, n_rows)
        self.renew(&self.memory, n_weights + n_values + n_leaves, sizeof(double))
        self.weights = self.memory if with_weights else NULL
        self.rows = self.memory + n_weights
        self.leaves = <int*>(self.rows + n_values)
        if self.keeps_subtotals():
            for tree in range(self.trees.n_trees):
                self.add_up(tree)
        return 0

    cdef int put_row(self, int row, const double* values, int code) except -1:
        cdef Py_ssize_t i
        if not self.climbs:
            for i in range(self.total.n_features):
                self.rows[i * self.total.n_rows + row] = values[i]
        self.codes[row] = code
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
            self.explainers = [Explainer(self.total.n_features, self.total.n_rows, self.shapley)
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
        cdef int k
        explainer.phi = self.parts + task * (n_values + n_rows)
        explainer.base = explainer.phi + n_values
        memset(explainer.phi, 0, (n_values + n_rows) * sizeof(double))
        for k in range(task * self.n // self.n_tasks, (task + 1) * self.n // self.n_tasks):
            self.explain_tree(explainer, self.first + k)
        return 0

    cdef int explain_tree(self, Explainer explainer, int tree) except -1 nogil:
        """Explain the rows by a tree."""
        cdef double[MOST_CLASSES] factors
        cdef int row
        if not self.keeps_subtotals():
            forget_subtotals(&self.trees.trees[tree])   # of when there were fewer labels
            self.lay_out(explainer, tree)
            return explainer.finish()
        for row in range(self.total.n_rows):
            self.read_factors(row, factors)
            explainer.means[row] = self.weight_in(tree, row) * self.mean_of_tree(
                tree, row, factors)
            explainer.base[row] += explainer.means[row]
        self.lay_out(explainer, tree)
        explainer.add_shapley()
        return 0

    cdef double weight_in(self, int tree, int row) noexcept nogil:
        """The weight of the contributions in a tree."""
        return 1.0 if self.weights == NULL else (
            self.weights[tree * <Py_ssize_t>self.total.n_rows + row])

    cdef int lay_out(self, Explainer explainer, int tree) except -1 nogil:
        """Lay out a tree, whose leaves answer."""
        cdef int i, row, n_rows = self.total.n_rows
        cdef double* values
        explainer.lay_out(&self.trees.trees[tree], self.rows)
        for i in range(explainer.n_leaves):
            values = explainer.values + <Py_ssize_t>i * n_rows
            self.answer_leaf(tree, explainer.steps[explainer.leaves[i]].right, values)
            for row in range(n_rows):
                values[row] *= self.weight_in(tree, row)
            if values[0] != values[0] and self.keeps_subtotals():
                memcpy(values, explainer.means, n_rows * sizeof(double))
        return 0

    cdef void climb_trees(self, int first) noexcept nogil:
        """Add the change of the mean at each split on the path of some rows: as `add_path`.

        Each tree is visited for all of them, whose steps do not wait for each other.
        """
        cdef double[CLIMBING][MOST_CLASSES] factors
        cdef int tree, row, n = min(<int>CLIMBING, self.total.n_rows - first)
        for row in range(n):
            self.read_factors(first + row, factors[row])
        for tree in range(self.first, self.first + self.n):
            for row in range(n):
                self.climb(tree, first + row, factors[row])

    cdef void climb(self, int tree, int row, const double* factors) noexcept nogil:
        """Add the change of the mean at each split on the path of a row.

        From the leaf up, since the prediction has found it: a step needs no value of the row.
        """
        cdef int node = self.leaves[row * <Py_ssize_t>self.trees.n_trees + tree]
        cdef double weight = self.weight_in(tree, row)
        cdef double* base = self.total.base + row
        cdef double below = self.answer_one(tree, node, row, factors)
        if below != below:                  # no sample
            below = self.mean_of_tree(tree, row, factors)
        if self.regression:
            below = climb_up(self, tree, row, factors, 0, node, below, weight)
        elif self.n_classes == 2:           # most often
            below = climb_up(self, tree, row, factors, 2, node, below, weight)
        else:
            below = climb_up(self, tree, row, factors, self.n_classes, node, below, weight)
        base[0] += below * weight

    cdef double without_samples(self, int tree, int row, const double* factors) noexcept nogil:
        """What an inner node without samples answers a row."""
        cdef double answer = NAN if self.regression else self.answer_empty(row)
        return answer if answer == answer else self.mean_of_tree(tree, row, factors)

    cdef double mean_of_tree(self, int tree, int row, const double* factors) noexcept nogil:
        """What the root answers a row; 0 if it is empty."""
        cdef double mean = self.answer_one(tree, 0, row, factors)
        return mean if mean == mean else 0.0

    cdef double answer_one(self, int tree, int node, int row,
                           const double* factors) noexcept nogil:
        """What a node answers a row. NaN: it is empty."""
        cdef const Tree* this = &self.trees.trees[tree]
        cdef double answer = 0.0
        cdef int cell
        if self.regression:
            return self.mean_in(tree, node) * factors[0]
        if not is_leaf(&this.nodes[node]):
            answer = answer_of(subtotal_of(this, node), self.n_classes, factors)
            return answer if answer == answer else self.answer_empty(row)
        if not weight_of(this, node) > 0.0:
            return self.answer_empty(row)
        if this.nodes[node].left >= 0:
            return factors[this.nodes[node].left]
        cell = first_cell(this, node)
        while cell >= 0:
            answer += this.cells[cell].weight * factors[this.cells[cell].code]
            cell = this.cells[cell].next
        return answer / weight_of(this, node)

    cdef void read_factors(self, int row, double* to) noexcept nogil:
        """The factors of a row."""
        cdef int k
        for k in range(self.n_classes):
            to[k] = factor(self, k, row)

    cdef bint keeps_subtotals(self) noexcept nogil:
        return self.regression or (self.n_classes <= MOST_CLASSES and not self.by_majority)

    cdef int add_up(self, int tree) except -1 nogil:
        """Compute the subtotals of a tree that are not known."""
        cdef Tree* this = &self.trees.trees[tree]
        cdef double* total
        cdef int node, left
        cdef int n_values = 2 if self.regression else 1 + self.n_classes
        if is_leaf(this.nodes) or are_known(this, n_values):
            return 0
        reserve_subtotals(this, n_values)
        node = next_unknown(this, -1)
        while node >= 0:
            if not self.regression:
                add_classes(this, node)
            else:
                total, left = subtotal_of(this, node), this.nodes[node].left
                total[1] = mean_below(
                    weight_below(this, left), self.mean_in(tree, left),
                    weight_below(this, left ^ 1), self.mean_in(tree, left ^ 1))
                total[0] = weight_below(this, left) + weight_below(this, left ^ 1)
            node = next_unknown(this, node)
        return 0

    cdef void answer_leaf(self, int tree, int leaf, double* values) noexcept nogil:
        """What a leaf answers all rows. NaN: it is empty."""
        cdef const Tree* this = &self.trees.trees[tree]
        cdef double share
        cdef int row, cell
        if self.regression:
            answer_shares(self, values, 0, self.mean_in(tree, leaf), True)
        elif not weight_of(this, leaf) > 0.0:
            for row in range(self.total.n_rows):
                values[row] = self.answer_empty(row)
        elif self.by_majority:
            answer_shares(self, values, majority(this, leaf), 1.0, True)
        elif this.nodes[leaf].left >= 0:
            answer_shares(self, values, this.nodes[leaf].left, 1.0, True)
        else:
            cell, share = first_cell(this, leaf), 1.0 / weight_of(this, leaf)
            memset(values, 0, self.total.n_rows * sizeof(double))
            while cell >= 0:
                answer_shares(self, values, this.cells[cell].code,
                              this.cells[cell].weight * share, False)
                cell = this.cells[cell].next

    cdef double answer_empty(self, int row) noexcept nogil:
        """What a node without samples answers a row: equal shares, or NaN."""
        cdef double answer = 0.0
        cdef int k
        if not self.empty_answers:
            return NAN
        for k in range(self.n_classes):
            answer += factor(self, k, row)
        return answer / self.n_classes

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


cdef inline double factor(TreeExplanations self, int k, int row) noexcept nogil:
    """The factor of a class."""
    if self.factors == NULL:
        return self.codes[row] == k
    return self.factors[k * <Py_ssize_t>self.total.n_rows + row]


cdef inline void answer_shares(TreeExplanations self, double* values, int k, double share,
                               bint first) noexcept nogil:
    """Add the share of a class to the answers, which the first one replaces."""
    cdef int row
    for row in range(self.total.n_rows):
        values[row] = (0.0 if first else values[row]) + factor(self, k, row) * share


cdef inline double answer_of(const double* total, int n, const double* factors) noexcept nogil:
    """What an inner node with this subtotal answers by n classes, or by its mean if n is 0.

    NaN: it is empty. Two sums do not wait for each other.
    """
    cdef double even, odd = 0.0
    cdef int k
    if n == 0:
        return total[1] * factors[0]
    if not total[0] > 0.0:
        return NAN
    even = total[1] * factors[0] if n % 2 else 0.0
    for k in range(n % 2, n, 2):
        even += total[1 + k] * factors[k]
        odd += total[2 + k] * factors[k + 1]
    return (even + odd) / total[0]


cdef inline double climb_up(TreeExplanations self, int tree, int row, const double* factors, int n,
                            int node, double below, double weight) noexcept nogil:
    """Climb from a node that answers `below`; return what the root answers. n as in `answer_of`."""
    cdef const Tree* this = &self.trees.trees[tree]
    cdef const Node* nodes = this.nodes
    cdef const int* parents = this.parents
    cdef const double* subtotals = this.subtotals
    cdef Py_ssize_t n_rows = self.total.n_rows, n_subtotals = this.n_subtotals
    cdef double* phi = self.total.phi + row
    cdef double above
    while node > 0:
        above = answer_of(subtotals + (node >> 1) * n_subtotals, n, factors)
        node = parents[node >> 1]
        if above != above:                  # no sample below
            above = self.without_samples(tree, row, factors)
        phi[nodes[node].feature * n_rows] += (below - above) * weight
        below = above
    return below
