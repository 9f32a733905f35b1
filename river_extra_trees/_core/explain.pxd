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

How a family explains a row: `begin`, `put_leaf`, `put_split` and `end` lay out a tree; then the
family sets the values of the leaves, with the weight of the tree as a factor; `finish` adds the
contributions. `TreeExplanations` does so for a table of trees, in threads. It takes weights and
means of inner nodes from their `subtotals`, and for the path does not lay the trees out at all.
Features are columns of the schema.
"""

from libc.math cimport NAN

from .team cimport Job, Team
from .tree cimport Tree
from .trees cimport Trees

cdef struct Step:               # 32 bytes
    double value                # of a leaf, NaN: that of the root; `measure` sets that of an inner
                                #   node: the mean below it
    double weight               # of a leaf; `measure` sets that of an inner node: the sum below it
    int feature                 # number of a feature; -1: a leaf
    int right                   # place of the right child; the left one is next to its parent. Of a
                                #   leaf: its number as a node
    int depth                   # 0 for the root
    int left                    # whether x goes left

cdef struct Waiting:            # a right child that will be laid out
    int node
    int parent                  # place of the parent

cdef struct Layout:             # of a tree that is being laid out; see `begin`
    int node                    # the next one; -1: all have been laid out
    int depth                   # of this node
    Step* steps
    int* leaves
    Waiting* waiting            # a stack
    int n_steps, n_leaves, n_waiting
    int deepest                 # depth of the deepest leaf

cdef enum:
    MOST_POINTS = 16            # exact for 32 features on a path
    MOST_TASKS = 16

cdef struct Edge:               # to a node from the one above it, whose feature it has
    int feature
    int before                  # depth of the edge before it with the same feature, or 0: none
    double agrees               # o of the feature
    double share                # w of the feature

cdef struct Level:              # an inner node on the path, and the edge that leads there
    Edge edge
    int below                   # feature of the node
    int left                    # place of its left child
    bint goes_left              # whether x goes there
    double inverse_weight       # 1 / weight of the node; 0: it has none
    # Per point. Depth 0 stands for no edge.
    double[MOST_POINTS] inverses    # 1 / (w + t (o - w))
    double[MOST_POINTS] products    # the product of the factors of all features
    double[MOST_POINTS] sums        # the sum over the leaves below of value times product

cdef class Explainer:
    cdef readonly int n_features
    cdef readonly bint shapley  # else the path
    cdef Team team              # threads that may help with `TreeExplanations`
    cdef readonly double base   # sum of the means of the trees
    cdef double* phi            # per feature: sum of the contributions
    cdef Step* steps            # of the tree that is laid out
    cdef readonly int n_steps
    cdef int* leaves            # places of its leaves
    cdef int n_leaves
    cdef int deepest            # depth of the deepest of these
    cdef Waiting* waiting
    cdef int capacity           # number of allocated steps; there is room for half as many leaves
    cdef int n_levels           # number of allocated levels
    cdef int* latest            # per feature: depth of the last edge with it on the path, or 0.
                                #   All are 0 between two trees
    cdef Level* levels               # per depth, of the path

    cdef int reserve_steps(self, int n_nodes) except -1 nogil
    cdef int reserve_levels(self, int n) except -1 nogil
    cdef int lay_out(self, const Tree* tree, const double* row) except -1 nogil
    cdef int finish(self) except -1 nogil
    cdef void add(self, const double* phi, double base, double factor) noexcept nogil
    cdef void to_log_odds(self) noexcept nogil
    cdef double output(self) noexcept nogil
    cdef void measure(self) noexcept nogil
    cdef void add_path(self) noexcept nogil
    cdef int points_needed(self) noexcept nogil
    cdef void add_shapley(self, int n_points) noexcept nogil


cdef inline Layout begin(Explainer explainer, int root) noexcept nogil:
    """Begin to lay out a tree; `reserve_steps` has been called."""
    cdef Layout layout
    layout.node, layout.depth = root, 0
    layout.steps, layout.leaves = explainer.steps, explainer.leaves
    layout.waiting = explainer.waiting
    layout.n_steps = layout.n_leaves = layout.n_waiting = layout.deepest = 0
    return layout


cdef inline void put_leaf(Layout* layout, double weight) noexcept nogil:
    """The node is a leaf. The next one is the right child of the last split without any."""
    cdef Step* step = &layout.steps[layout.n_steps]
    cdef const Waiting* next
    step.value, step.weight, step.feature = NAN, weight, -1
    step.right, step.depth, step.left = layout.node, layout.depth, 0
    layout.leaves[layout.n_leaves] = layout.n_steps
    layout.deepest = max(layout.deepest, layout.depth)
    layout.n_steps += 1
    layout.n_leaves += 1
    layout.n_waiting -= 1
    if layout.n_waiting < 0:
        layout.node = -1
        return
    next = &layout.waiting[layout.n_waiting]
    step = &layout.steps[next.parent]
    step.right = layout.n_steps
    layout.node, layout.depth = next.node, step.depth + 1


cdef inline void put_split(Layout* layout, int feature, bint goes_left, int left,
                           int right) noexcept nogil:
    """The node is split; `left` and `right` are nodes. The next one is the left one."""
    cdef Step* step = &layout.steps[layout.n_steps]
    cdef Waiting* waiting = &layout.waiting[layout.n_waiting]
    step.feature, step.depth, step.left = feature, layout.depth, goes_left
    waiting.node, waiting.parent = right, layout.n_steps
    layout.n_waiting += 1
    layout.n_steps += 1
    layout.node = left
    layout.depth += 1


cdef inline int end(Explainer explainer, const Layout* layout) except -1 nogil:
    """The tree has been laid out."""
    explainer.n_steps, explainer.n_leaves = layout.n_steps, layout.n_leaves
    explainer.deepest = layout.deepest
    return explainer.reserve_levels(layout.deepest + 1)


cdef class TreeExplanations(Job):
    """The contributions in the trees of a table; a task takes some of them.

    What is divided is the mean of each tree; or, of its class shares, the sum of each times a
    factor. An empty leaf has the mean of its tree, unless it answers.
    """
    cdef list explainers        # per thread
    cdef double* parts          # per task: the contributions of the features, then the base value
    cdef int n_tasks            # number of these; it does not depend on that of the threads
    cdef int first, n           # the trees: first ... first + n - 1
    cdef Trees trees
    cdef const double* row      # by column
    cdef const double* weights  # per tree, of its contributions: 0 leaves it out; NULL: 1 each
    cdef double[::1] factors    # per class; None in a regression
    cdef bint empty_answers     # an empty leaf answers: its mean, or equal shares
    cdef bint by_majority       # the largest class of a leaf has the share 1

    cdef int explain(self, int first, int n, Explainer total, double factor) except -1 nogil
    cdef int explain_some(self, Explainer explainer, int task) except -1 nogil
    cdef int explain_tree(self, Explainer explainer, int tree) except -1 nogil
    cdef int add_up(self, int tree) except -1 nogil
    cdef int lay_out(self, Explainer explainer, int tree, double weight,
                     double of_empty) except -1 nogil
    cdef void follow(self, Explainer explainer, int tree, double weight,
                     double root) noexcept nogil
    cdef double value_of(self, int tree, int node) noexcept nogil
    cdef double mean_of_leaf(self, int tree, int leaf) noexcept nogil
    cdef double of_shares(self, const Tree* tree, int leaf) noexcept nogil
    cdef double of_no_sample(self) noexcept nogil
    cdef bint keeps_subtotals(self) noexcept nogil

# The slope between two arguments of a function of one number (the rescale rule of DeepLIFT), which
# is its derivative if both are equal. They do not lose digits if the arguments are close.
cdef double slope_of_limits(double x, double base, double low, double high) noexcept nogil
cdef double slope_of_log(double x, double base) noexcept nogil
cdef double slope_of_exp(double x, double base) noexcept nogil
