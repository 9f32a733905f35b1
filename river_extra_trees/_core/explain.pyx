"""Contributions of the features to the output of a tree. See the header."""

import numpy as np

from libc.math cimport exp, expm1, log, log1p
from libc.string cimport memset

from .allocation cimport free, product, resized, zeroed
from .arrays cimport view
from .tree cimport Node, Tree, is_leaf, mean_of, turn, weight_of_class

cdef enum:
    MOST_POINTS = 16            # exact for 32 features on a path

cdef double FAINTEST = 1e-280   # a share below this is none
cdef double LEAST = 1e-6        # limit of probabilities in log odds

# Points and weights of the quadrature on [0, 1], for 2 ** k points.
cdef double[5][MOST_POINTS] POINTS, WEIGHTS
for _k in range(5):
    _points, _weights = np.polynomial.legendre.leggauss(1 << _k)
    for _q in range(1 << _k):
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

    def __cinit__(self, int n_features, bint shapley=True):
        self.n_features, self.shapley = n_features, shapley
        self.latest = <int*>zeroed(max(1, n_features), sizeof(int))
        self.phi = <double*>zeroed(max(1, n_features), sizeof(double))

    def contributions(self):
        """The contributions of each feature so far."""
        return view(self.phi, "f8", (self.n_features,)).copy()

    def __dealloc__(self):
        free(self.phi)
        free(self.steps)
        free(self.waiting)
        free(self.latest)
        free(self.before)
        free(self.parents)
        free(self.features)
        free(self.agrees)
        free(self.shares)
        free(self.inverses)
        free(self.products)
        free(self.sums)

    # --- Trees ------------------------------------------------------------------------------------

    cdef int begin(self, int root, int n_nodes) except -1 nogil:
        """Begin to lay out a tree with at most so many nodes."""
        if n_nodes > self.capacity:
            self.steps = <Step*>resized(self.steps, n_nodes, sizeof(Step))
            self.waiting = <Waiting*>resized(self.waiting, n_nodes, sizeof(Waiting))
            self.capacity = n_nodes
        self.n_steps, self.n_waiting = 0, 1
        self.waiting[0] = Waiting(root, -1, 0)
        return 0

    cdef int lay_out(self, const Tree* tree, const double* row) except -1 nogil:
        """Lay out a tree for a row by column; the leaves have no values."""
        cdef Step* step
        cdef const Node* here
        cdef int left
        self.begin(0, tree.n_used)
        while self.n_waiting:
            step = self.next()
            here = &tree.nodes[step.right]
            if is_leaf(here):
                step.weight = here.threshold
            else:
                left = here.left
                self.fork(here.feature, not turn(here, row[here.feature], False), left, left ^ 1)
        return 0

    cdef void answer_leaves(self, const Tree* tree, bint regression, int code,
                            double factor) noexcept nogil:
        """Let leaves with samples answer factor times their mean, or times the share of a class."""
        cdef Step* step
        cdef int i
        for i in range(self.n_steps):
            step = &self.steps[i]
            if step.feature < 0 and step.weight > 0.0:
                step.value = factor * (mean_of(tree, step.right) if regression else
                                       weight_of_class(tree, step.right, code) / step.weight)

    cdef int finish(self) except -1 nogil:
        """Add the contributions in the tree that is laid out, and its mean."""
        cdef int k = 0, most
        self.reserve_levels()
        self.measure()
        self.base += self.steps[0].value
        if not self.shapley:
            self.add_path()
            return 0
        most = min(self.n_features, self.n_levels - 1)      # different features on a path
        while 2 << k < most and 2 << k < 2 * MOST_POINTS:
            k += 1
        self.add_shapley(k)
        return 0

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

    cdef int reserve_levels(self) except -1 nogil:
        """Allocate memory for the paths of the tree."""
        cdef int i, depth = 0
        cdef size_t n, cells
        for i in range(self.n_steps):
            depth = max(depth, self.steps[i].depth)
        if depth < self.n_levels:
            return 0
        n, cells = depth + 1, product(depth + 1, MOST_POINTS)
        self.parents = <int*>resized(self.parents, n + 1, sizeof(int))
        self.before = <int*>resized(self.before, n, sizeof(int))
        self.features = <int*>resized(self.features, n, sizeof(int))
        self.agrees = <double*>resized(self.agrees, n, sizeof(double))
        self.shares = <double*>resized(self.shares, n, sizeof(double))
        self.inverses = <double*>resized(self.inverses, cells, sizeof(double))
        self.products = <double*>resized(self.products, cells, sizeof(double))
        self.sums = <double*>resized(self.sums, cells, sizeof(double))
        self.n_levels = depth + 1
        return 0

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
            if left.weight > 0.0 and right.weight > 0.0:
                step.value = left.value + right.weight / step.weight * (right.value - left.value)
            elif step.weight > 0.0:
                step.value = left.value if left.weight > 0.0 else right.value
            else:
                step.value = (left.value + right.value) / 2.0
        if self.steps[0].value != self.steps[0].value:
            self.steps[0].value = 0.0
        for i in range(1, self.n_steps):
            if self.steps[i].value != self.steps[i].value:
                self.steps[i].value = self.steps[0].value

    cdef void add_path(self) noexcept nogil:
        """Add the change of the mean at each split on the path of x (Saabas 2014)."""
        cdef int i = 0, below
        while self.steps[i].feature >= 0:
            below = i + 1 if self.steps[i].left else self.steps[i].right
            self.phi[self.steps[i].feature] += self.steps[below].value - self.steps[i].value
            i = below

    cdef void add_shapley(self, int k) noexcept nogil:
        """Add the Shapley values, with 2 ** k points; loops over points are unrolled."""
        memset(self.latest, 0, self.n_features * sizeof(int))
        self.agrees[0] = self.shares[0] = 1.0
        if k <= 2:
            visit(self, 4, POINTS[2], WEIGHTS[2])
        elif k == 3:
            visit(self, 8, POINTS[3], WEIGHTS[3])
        else:
            visit(self, MOST_POINTS, POINTS[4], WEIGHTS[4])


# --- Shapley values -------------------------------------------------------------------------------

cdef inline void visit(Explainer tree, int n_points, const double* points,
                       const double* weights) noexcept nogil:
    """Visit all leaves that count."""
    cdef int i = 0, q, depth, at = 0
    cdef const Step* step
    cdef double* sums
    cdef double value
    for q in range(n_points):
        tree.inverses[q] = tree.products[q] = 1.0
        tree.sums[q] = 0.0
    while i < tree.n_steps:
        step = &tree.steps[i]
        depth = step.depth
        while at >= depth and at > 0:
            leave(tree, at, n_points, weights)
            at -= 1
        if depth > 0 and not enter(tree, tree.parents[depth], i, n_points, points):
            i += 1                          # no weight, and x does not go there
            while i < tree.n_steps and tree.steps[i].depth > depth:
                i += 1
            continue
        at = depth
        tree.parents[depth + 1] = i
        if step.feature < 0:
            value = step.value - tree.steps[0].value        # the mean has no contributions
            sums = tree.sums + at * MOST_POINTS
            for q in range(n_points):
                sums[q] = value * tree.products[at * MOST_POINTS + q]
        i += 1
    while at > 0:
        leave(tree, at, n_points, weights)
        at -= 1


cdef inline bint enter(Explainer tree, int parent, int place, int n_points,
                       const double* points) noexcept nogil:
    """Go down an edge; return whether a leaf below it counts."""
    cdef const Step* above = &tree.steps[parent]
    cdef int q, depth = above.depth + 1, feature = above.feature
    cdef int before = tree.latest[feature]
    cdef bint is_left = place == parent + 1
    cdef double share = tree.steps[place].weight / above.weight if above.weight > 0.0 else 0.5
    cdef double agrees = tree.agrees[before] if above.left == is_left else 0.0
    cdef double factor
    cdef double* products = tree.products + depth * MOST_POINTS
    cdef double* inverses = tree.inverses + depth * MOST_POINTS
    cdef double* sums = tree.sums + depth * MOST_POINTS
    cdef const double* of_parent = products - MOST_POINTS
    cdef const double* earlier = tree.inverses + before * MOST_POINTS
    share *= tree.shares[before]
    if agrees == 0.0 and share < FAINTEST:
        return False
    for q in range(n_points):
        factor = share + points[q] * (agrees - share)
        products[q] = of_parent[q] * factor * earlier[q]
        inverses[q] = 1.0 / factor
        sums[q] = 0.0
    tree.agrees[depth], tree.shares[depth] = agrees, share
    tree.before[depth], tree.features[depth] = before, feature
    tree.latest[feature] = depth
    return True


cdef inline void leave(Explainer tree, int depth, int n_points,
                       const double* weights) noexcept nogil:
    """Go up an edge: all leaves below it have been visited."""
    cdef int q, before = tree.before[depth], feature = tree.features[depth]
    cdef double* sums = tree.sums + depth * MOST_POINTS
    cdef double* above = sums - MOST_POINTS
    cdef const double* inverses = tree.inverses + depth * MOST_POINTS
    cdef const double* earlier = tree.inverses + before * MOST_POINTS
    cdef double with_edge = tree.agrees[depth] - tree.shares[depth], total = 0.0
    # The leaves below count for the latest edge of a feature, no longer for the one before.
    cdef double without = tree.agrees[before] - tree.shares[before]
    for q in range(n_points):
        total += weights[q] * sums[q] * (with_edge * inverses[q] - without * earlier[q])
        above[q] += sums[q]
    tree.phi[feature] += total
    tree.latest[feature] = before
