"""Contributions of the features to the output of a tree. See the header."""

import numpy as np

from cpython.object cimport PyObject
from libc.math cimport NAN, exp, expm1, log, log1p
from libc.string cimport memcpy, memset

from .allocation cimport free, product, resized, zeroed
from .arrays cimport view
from .lists cimport item_of
from .subtotals cimport (
    MOST_CLASSES, add_classes, mean_below, next_unknown, reserve_subtotals, subtotal_of,
)
from .team cimport Job, Team
from .tree cimport (
    Node, Tree, first_cell, forget_subtotals, is_leaf, majority, mean_of, turn, weight_of,
)
from .trees cimport Trees

cdef extern from "quadrature.h":
    void go_down(int n, const double* points, double share, double difference,
                 const double* before, const double* above, double* products, double* inverses,
                 double* sums) noexcept nogil
    double go_up(int n, const double* weights, double difference, double difference_before,
                 const double* inverses, const double* before, const double* sums,
                 double* above) noexcept nogil
    double visit_leaf(int n, const double* points, const double* weights, double value,
                      double share, double difference, double difference_before,
                      const double* before, const double* above, double* sums) noexcept nogil

cdef double FAINTEST = 1e-280   # a share below this is none
cdef double LEAST = 1e-6        # limit of probabilities in log odds

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


cdef class Explainer:
    """Divides the outputs of trees among so many features. See the header.

    Also memory for the tree that is laid out, and for a path in it.
    """

    def __cinit__(self, int n_features, bint shapley, Team team):
        self.n_features, self.shapley, self.team = n_features, shapley, team
        self.latest = <int*>zeroed(max(1, n_features), sizeof(int))
        self.phi = <double*>zeroed(max(1, n_features), sizeof(double))

    def contributions(self):
        """The contributions of each feature so far."""
        return view(self.phi, "f8", (self.n_features,)).copy()

    def __dealloc__(self):
        free(self.phi)
        free(self.steps)
        free(self.leaves)
        free(self.waiting)
        free(self.latest)
        free(self.levels)

    # --- Trees ------------------------------------------------------------------------------------

    cdef int reserve_steps(self, int n_nodes) except -1 nogil:
        """Allocate memory for a tree with at most so many nodes."""
        cdef int n_leaves = n_nodes // 2 + 1
        if n_nodes > self.capacity:
            self.steps = <Step*>resized(self.steps, n_nodes, sizeof(Step))
            self.waiting = <Waiting*>resized(self.waiting, n_leaves, sizeof(Waiting))
            self.leaves = <int*>resized(self.leaves, n_leaves, sizeof(int))
            self.capacity = n_nodes
        return 0

    cdef int reserve_levels(self, int n) except -1 nogil:
        """Allocate memory for a path with n nodes."""
        if n > self.n_levels:
            self.levels = <Level*>resized(self.levels, n, sizeof(Level))
            self.n_levels = n
        return 0

    cdef int lay_out(self, const Tree* tree, const double* row) except -1 nogil:
        """Lay out a tree for a row by column; the leaves have no values."""
        cdef Layout layout
        cdef const Node* nodes = tree.nodes
        cdef const Node* here
        self.reserve_steps(tree.n_used)
        layout = begin(self, 0)
        while layout.node >= 0:
            here = &nodes[layout.node]
            if is_leaf(here):
                put_leaf(&layout, here.threshold)
            else:
                if tree.subtotals != NULL:
                    layout.steps[layout.n_steps].weight = subtotal_of(tree, layout.node)[0]
                put_split(&layout, here.feature, not turn(here, row[here.feature], False),
                          here.left, here.left ^ 1)
        return end(self, &layout)

    cdef int finish(self) except -1 nogil:
        """Add the contributions in the tree that is laid out, and its mean."""
        self.measure()
        self.base += self.steps[0].value
        if self.shapley:
            self.add_shapley(self.points_needed())
        else:
            self.add_path()
        return 0

    cdef void add(self, const double* phi, double base, double factor) noexcept nogil:
        """Add contributions of the features, and a base value, times a factor."""
        cdef int i
        for i in range(self.n_features):
            self.phi[i] += factor * phi[i]
        self.base += factor * base

    cdef double output(self) noexcept nogil:
        """The sum of base value and contributions."""
        cdef double total = self.base
        cdef int i
        for i in range(self.n_features):
            total += self.phi[i]
        return total

    cdef void to_log_odds(self) noexcept nogil:
        """Turn contributions to a probability into contributions to its log odds: G-DeepSHAP."""
        cdef double p = self.output(), base = self.base, slope
        cdef double low = LEAST, high = 1.0 - LEAST
        cdef double p_within = min(max(p, low), high), base_within = min(max(base, low), high)
        cdef int i
        # log(p / (1 - p)) = log(p) - log(1 - p)
        slope = slope_of_limits(p, base, low, high) * (
            slope_of_log(p_within, base_within) + slope_of_log(1.0 - p_within, 1.0 - base_within))
        for i in range(self.n_features):
            self.phi[i] *= slope
        self.base = log(base_within) - log1p(-base_within)

    cdef int points_needed(self) noexcept nogil:
        """The number of points for an exact integral, by the features on a path."""
        cdef int most = min(self.n_features, self.deepest)
        return max(4, min((most + 7) // 8 * 4, <int>MOST_POINTS))

    cdef void measure(self) noexcept nogil:
        """Set weight and value of the inner nodes, those at the bottom first."""
        cdef int i
        cdef Step* left
        cdef Step* right
        cdef Step* step
        for i in range(self.n_steps - 1, -1, -1):
            step = &self.steps[i]
            if step.feature < 0:
                continue
            left, right = step + 1, self.steps + step.right
            step.weight = left.weight + right.weight
            step.value = mean_below(left.weight, left.value, right.weight, right.value)
        if self.steps[0].value != self.steps[0].value:
            self.steps[0].value = 0.0
        for i in range(self.n_leaves):
            step = &self.steps[self.leaves[i]]
            if step.value != step.value:
                step.value = self.steps[0].value

    cdef void add_path(self) noexcept nogil:
        """Add the change of the mean at each split on the path of x (Saabas 2014)."""
        cdef int i = 0, below
        cdef double here = self.steps[0].value, next
        while self.steps[i].feature >= 0:
            below = i + 1 if self.steps[i].left else self.steps[i].right
            next = self.steps[below].value
            if next != next:                # no leaf below has a value
                next = self.steps[0].value
            self.phi[self.steps[i].feature] += next - here
            i, here = below, next

    cdef void add_shapley(self, int n_points) noexcept nogil:
        """Add the Shapley values; loops over points are unrolled."""
        if n_points == 4:
            visit(self, 4, POINTS[0], WEIGHTS[0])
        elif n_points == 8:
            visit(self, 8, POINTS[1], WEIGHTS[1])
        elif n_points == 12:
            visit(self, 12, POINTS[2], WEIGHTS[2])
        else:
            visit(self, MOST_POINTS, POINTS[3], WEIGHTS[3])


cdef class TreeExplanations(Job):
    """The contributions in the trees of a table, in threads. See the header.

    A task is some trees: contributions are added up in the order of the tasks, so that their sum
    does not depend on the threads.
    """

    def __cinit__(self, Explainer total, Trees trees, double[::1] factors=None):
        self.explainers = [Explainer(total.n_features, total.shapley, None)
                           for _ in range(total.team.n_threads)]
        self.parts = <double*>zeroed(product(MOST_TASKS, total.n_features + 1), sizeof(double))
        self.trees, self.factors = trees, factors

    def __dealloc__(self):
        free(self.parts)

    cdef int explain(self, int first, int n, Explainer total, double factor) except -1 nogil:
        """Add factor times the contributions in the trees first ... first + n - 1."""
        cdef int _
        cdef const double* part = self.parts
        self.first, self.n, self.n_tasks = first, n, min(n, <int>MOST_TASKS)
        total.team.run(self, self.n_tasks)
        for _ in range(self.n_tasks):
            total.add(part, part[total.n_features], factor)
            part += total.n_features + 1
        return 0

    cdef int do(self, long task, int thread) except -1 nogil:
        return self.explain_some(
            <Explainer>item_of(<PyObject*>self.explainers, thread), <int>task)

    cdef int explain_some(self, Explainer explainer, int task) except -1 nogil:
        """Explain the row by the trees of a task."""
        cdef int n = explainer.n_features, k
        cdef double* part = self.parts + task * <Py_ssize_t>(n + 1)
        memset(explainer.phi, 0, n * sizeof(double))
        explainer.base = 0.0
        for k in range(task * self.n // self.n_tasks, (task + 1) * self.n // self.n_tasks):
            self.explain_tree(explainer, self.first + k)
        memcpy(part, explainer.phi, n * sizeof(double))
        part[n] = explainer.base
        return 0

    cdef int explain_tree(self, Explainer explainer, int tree) except -1 nogil:
        """Explain the row by a tree."""
        cdef Tree* this = &self.trees.trees[tree]
        cdef double weight = self.weights[tree] if self.weights != NULL else 1.0
        cdef double root
        if weight == 0.0:
            return 0
        if not self.keeps_subtotals():
            forget_subtotals(this)          # of when there were fewer labels
            self.lay_out(explainer, tree, weight, NAN)
            return explainer.finish()
        self.add_up(tree)
        root = self.value_of(tree, 0)
        if root != root:
            root = 0.0
        explainer.base += weight * root
        if explainer.shapley:
            self.lay_out(explainer, tree, weight, weight * root)
            explainer.steps[0].value = weight * root
            explainer.add_shapley(explainer.points_needed())
        else:
            self.follow(explainer, tree, weight, root)
        return 0

    cdef int lay_out(self, Explainer explainer, int tree, double weight,
                     double of_empty) except -1 nogil:
        """Lay out a tree, whose leaves answer."""
        cdef Step* step
        cdef int i
        explainer.lay_out(&self.trees.trees[tree], self.row)
        for i in range(explainer.n_leaves):
            step = &explainer.steps[explainer.leaves[i]]
            step.value = weight * self.value_of(tree, step.right)
            if step.value != step.value:
                step.value = of_empty
        return 0

    cdef void follow(self, Explainer explainer, int tree, double weight,
                     double root) noexcept nogil:
        """Add the change of the mean at each split on the path of the row: as `add_path`."""
        cdef const Tree* this = &self.trees.trees[tree]
        cdef const Node* here = this.nodes
        cdef double above = root, below
        cdef int node
        while not is_leaf(here):
            node = here.left ^ <int>turn(here, self.row[here.feature], False)
            below = self.value_of(tree, node)
            if below != below:
                below = root
            explainer.phi[here.feature] += weight * (below - above)
            here, above = &this.nodes[node], below

    cdef bint keeps_subtotals(self) noexcept nogil:
        return self.factors is None or (
            self.factors.shape[0] <= MOST_CLASSES and not self.by_majority)

    cdef int add_up(self, int tree) except -1 nogil:
        """Compute the subtotals of a tree that are not known."""
        cdef Tree* this = &self.trees.trees[tree]
        cdef double* total
        cdef int node, left
        if is_leaf(this.nodes):
            return 0
        reserve_subtotals(this, 2 if self.factors is None else 1 + <int>self.factors.shape[0])
        node = next_unknown(this, -1)
        while node >= 0:
            if self.factors is not None:
                add_classes(this, node)
            else:
                total, left = subtotal_of(this, node), this.nodes[node].left
                total[1] = mean_below(
                    weight_below(this, left), self.value_of(tree, left),
                    weight_below(this, left ^ 1), self.value_of(tree, left ^ 1))
                total[0] = weight_below(this, left) + weight_below(this, left ^ 1)
            node = next_unknown(this, node)
        return 0

    cdef double value_of(self, int tree, int node) noexcept nogil:
        """What a node answers, whose subtotal is known; NaN: it is empty."""
        cdef const Tree* this = &self.trees.trees[tree]
        cdef const double* total
        cdef double value = 0.0
        cdef int k
        if is_leaf(&this.nodes[node]):
            if not weight_of(this, node) > 0.0 and not self.empty_answers:
                return NAN
            if self.factors is None:
                return self.mean_of_leaf(tree, node)
            return self.of_shares(this, node)
        total = subtotal_of(this, node)
        if self.factors is None:
            return total[1]
        if not total[0] > 0.0:
            return self.of_no_sample()
        for k in range(self.factors.shape[0]):
            value += self.factors[k] * total[1 + k]
        return value / total[0]

    cdef double mean_of_leaf(self, int tree, int leaf) noexcept nogil:
        """The mean that a leaf answers."""
        return mean_of(&self.trees.trees[tree], leaf)

    cdef double of_shares(self, const Tree* tree, int leaf) noexcept nogil:
        """The sum of the class shares in a leaf, each times its factor."""
        cdef double total = 0.0, weight = weight_of(tree, leaf)
        cdef int cell
        if not weight > 0.0:
            return self.of_no_sample()
        if self.by_majority:
            return self.factors[majority(tree, leaf)]
        if tree.nodes[leaf].left >= 0:
            return self.factors[tree.nodes[leaf].left]
        cell = first_cell(tree, leaf)
        while cell >= 0:
            total += self.factors[tree.cells[cell].code] * tree.cells[cell].weight
            cell = tree.cells[cell].next
        return total / weight

    cdef double of_no_sample(self) noexcept nogil:
        """What an empty node answers: equal shares."""
        cdef double total = 0.0
        cdef int k, n = <int>self.factors.shape[0]
        if not self.empty_answers:
            return NAN
        for k in range(n):
            total += self.factors[k] / n
        return total


cdef inline double weight_below(const Tree* tree, int node) noexcept nogil:
    """The weight of a node, whose subtotal is known."""
    return weight_of(tree, node) if is_leaf(&tree.nodes[node]) else subtotal_of(tree, node)[0]


# --- Shapley values -------------------------------------------------------------------------------

cdef inline void visit(Explainer tree, int n_points, const double* points,
                       const double* weights) noexcept nogil:
    """Visit all leaves that count."""
    cdef int i = 1, q, depth, at = 0
    cdef const Step* steps = tree.steps
    cdef Level* levels = tree.levels
    if steps[0].feature < 0:
        return
    begin_level(&levels[0], steps, 0)
    levels[0].edge = Edge(-1, 0, 1.0, 1.0)
    for q in range(n_points):
        levels[0].inverses[q] = levels[0].products[q] = 1.0
        levels[0].sums[q] = 0.0
    while i < tree.n_steps:
        depth = steps[i].depth
        while at >= depth:
            leave(tree, at, n_points, weights)
            at -= 1
        if steps[i].feature < 0:
            add_leaf(tree, i, n_points, points, weights)
        elif enter(tree, i, n_points, points):
            at = depth
        else:                               # no weight, and x does not go there
            while i + 1 < tree.n_steps and steps[i + 1].depth > depth:
                i += 1
        i += 1
    while at > 0:
        leave(tree, at, n_points, weights)
        at -= 1


cdef inline void begin_level(Level* level, const Step* steps, int place) noexcept nogil:
    level.below, level.goes_left, level.left = steps[place].feature, steps[place].left, place + 1
    level.inverse_weight = 1.0 / steps[place].weight if steps[place].weight > 0.0 else 0.0


cdef inline Edge edge_to(Explainer tree, int place) noexcept nogil:
    """The edge to a node from the one above it."""
    cdef const Step* step = &tree.steps[place]
    cdef const Level* above = &tree.levels[step.depth - 1]
    cdef Edge edge
    cdef const Level* before
    edge.feature = above.below
    edge.before = tree.latest[edge.feature]
    before = &tree.levels[edge.before]
    edge.agrees = before.edge.agrees if above.goes_left == (place == above.left) else 0.0
    edge.share = before.edge.share * (
        step.weight * above.inverse_weight if above.inverse_weight > 0.0 else 0.5)
    return edge


cdef inline void add_leaf(Explainer tree, int place, int n_points, const double* points,
                          const double* weights) noexcept nogil:
    """Go down to a leaf and up again."""
    cdef Edge edge = edge_to(tree, place)
    cdef Level* above = &tree.levels[tree.steps[place].depth - 1]
    cdef const Level* before = &tree.levels[edge.before]
    if edge.agrees > 0.0 or edge.share >= FAINTEST:
        tree.phi[edge.feature] += visit_leaf(
            n_points, points, weights,
            tree.steps[place].value - tree.steps[0].value,      # the mean has no contributions
            edge.share, edge.agrees - edge.share, before.edge.agrees - before.edge.share,
            before.inverses,
            above.products, above.sums)


cdef inline bint enter(Explainer tree, int place, int n_points,
                       const double* points) noexcept nogil:
    """Go down an edge; return whether a leaf below it counts."""
    cdef Edge edge = edge_to(tree, place)
    cdef Level* level = &tree.levels[tree.steps[place].depth]
    if edge.agrees == 0.0 and edge.share < FAINTEST:
        return False
    go_down(n_points, points, edge.share, edge.agrees - edge.share,
            tree.levels[edge.before].inverses, (level - 1).products, level.products,
            level.inverses, level.sums)
    level.edge = edge
    begin_level(level, tree.steps, place)
    tree.latest[edge.feature] = tree.steps[place].depth
    return True


cdef inline void leave(Explainer tree, int depth, int n_points,
                       const double* weights) noexcept nogil:
    """Go up an edge: all leaves below it have been visited."""
    cdef Level* level = &tree.levels[depth]
    cdef const Level* before = &tree.levels[level.edge.before]
    tree.phi[level.edge.feature] += go_up(
        n_points, weights, level.edge.agrees - level.edge.share,
        before.edge.agrees - before.edge.share, level.inverses, before.inverses, level.sums,
        (level - 1).sums)
    tree.latest[level.edge.feature] = level.edge.before
