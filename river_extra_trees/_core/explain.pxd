"""Contributions of the features to the output of a tree.

A tree is laid out in preorder, as an array of `Step`: a node, then its left subtree, then its right
one. The output of the tree at x is the value of the leaf that x reaches. If only the features of a
set S are known, the output is a mean over the leaves: at a split on a feature of S, x decides; at
any other one, both sides count by their weights (path-dependent, Lundberg et al. 2020). Both
methods divide the difference between the output at x and the mean of all leaves:

- Shapley values of this game. A leaf with the value v and the features J on its path contributes

      phi_i = v integral over [0, 1] of (o_i - w_i) prod_{j in J, j != i} (w_j + t (o_j - w_j)) dt,

  where o_j is 1 if x agrees with all splits on j on the path, else 0, and w_j is the product of the
  shares of the weight that go this way at these splits. The integrand is a polynomial in t of a
  degree below the number of features on the path. So n Gauss-Legendre points are exact for 2 n
  features (Quadrature-TreeSHAP, arXiv 2605.04497).
- Path: the change of the mean at each split on the path of x (Saabas 2014).

How a family explains a row: `lay_out` (or `begin`, `next` and `fork`) for each tree; then
`answer_leaves` or the family sets the values of the leaves, with the weight of the tree as a
factor; `finish` adds the contributions.
Features are columns of the schema.
"""

from libc.math cimport NAN

from .tree cimport Tree

cdef struct Step:               # 32 bytes
    double value                # of a leaf, NaN: that of the root; `measure` sets that of an inner
                                #   node: the mean below it
    double weight               # of a leaf; `measure` sets that of an inner node: the sum below it
    int feature                 # number of a feature; -1: a leaf
    int right                   # place of the right child; the left one is next to its parent. Of a
                                #   leaf: its number as a node
    int depth                   # 0 for the root
    int left                    # whether x goes left

cdef struct Waiting:            # a node that will be laid out
    int node
    int parent                  # place of the parent; -1: none
    int depth

cdef class Explainer:
    cdef readonly int n_features
    cdef readonly bint shapley  # else the path
    cdef readonly double base   # sum of the means of the trees
    cdef double* phi            # per feature: sum of the contributions
    cdef Step* steps            # of the tree that is laid out
    cdef readonly int n_steps
    cdef Waiting* waiting           # a stack
    cdef int n_waiting
    cdef int capacity           # number of allocated steps, also of `waiting`
    cdef int n_levels           # number of allocated levels
    cdef int* latest            # per feature: depth of the last edge with it on the path, or 0
    # Per depth: of the edge that leads there from above, whose feature is the one of its parent.
    # Depth 0 stands for no edge.
    cdef int* parents           # per depth: place of the node above, on the path
    cdef int* before            # depth of the edge before it with the same feature, or 0
    cdef int* features
    cdef double* agrees         # o
    cdef double* shares         # w
    cdef double* inverses       # per point: 1 / (w + t (o - w))
    cdef double* products       # per point: the product of the factors of all features
    cdef double* sums           # per point: the sum over the leaves below of value times product

    cdef int begin(self, int root, int n_nodes) except -1 nogil
    cdef int lay_out(self, const Tree* tree, const double* row) except -1 nogil
    cdef void answer_leaves(self, const Tree* tree, bint regression, int code,
                            double factor) noexcept nogil
    cdef int finish(self) except -1 nogil
    cdef void to_log_odds(self) noexcept nogil
    cdef double output(self) noexcept nogil
    cdef int reserve_levels(self) except -1 nogil
    cdef void measure(self) noexcept nogil
    cdef void add_path(self) noexcept nogil
    cdef void add_shapley(self, int k) noexcept nogil

    cdef inline Step* next(self) noexcept nogil:
        """The step of the next node, a leaf unless `fork` follows; its number is in `right`."""
        cdef Waiting* here
        cdef Step* step = &self.steps[self.n_steps]
        self.n_waiting -= 1
        here = &self.waiting[self.n_waiting]
        if here.parent >= 0 and here.parent != self.n_steps - 1:
            self.steps[here.parent].right = self.n_steps
        step.feature, step.left, step.right, step.depth = -1, 0, here.node, here.depth
        step.value, step.weight = NAN, 0.0
        self.n_steps += 1
        return step

    cdef inline void fork(self, int feature, bint goes_left, int left, int right) noexcept nogil:
        """Split the node of the last step; `left` and `right` are nodes."""
        cdef Step* step = &self.steps[self.n_steps - 1]
        step.feature, step.left = feature, goes_left
        self.waiting[self.n_waiting] = Waiting(right, self.n_steps - 1, step.depth + 1)
        self.waiting[self.n_waiting + 1] = Waiting(left, self.n_steps - 1, step.depth + 1)
        self.n_waiting += 2

# The slope between two arguments of a function of one number (the rescale rule of DeepLIFT), which
# is its derivative if both are equal. They do not lose digits if the arguments are close.
cdef double slope_of_limits(double x, double base, double low, double high) noexcept nogil
cdef double slope_of_log(double x, double base) noexcept nogil
cdef double slope_of_exp(double x, double base) noexcept nogil
