"""Contributions of the features to the output of a tree, for some rows side by side.

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

A path is visited once for all rows. What an edge multiplies the product with depends on the row
only by o_j: there are three cases, see `quadrature.h`. A row that has left the path at an earlier
split on j is multiplied by the share of the weight that goes this way, and j gets nothing there. So
each number of a row takes a multiplication on the way down, and one with two additions on the way
up. The bits do not depend on the other rows.

How a family explains rows: its `Explanations` take one row after the other, as the schema encodes
it and the learner answers it (`put_row`), and then explain all (`finish`). A tree is laid out by
`begin`, `put_leaf`, `put_split` and `end`; then the family sets the values of the leaves; `finish`
of the `Explainer` adds the contributions. `TreeExplanations` does so for a table of trees, in
threads. It takes weights and means of inner nodes from their `subtotals`; for the path it does not
lay the trees out, but climbs from the leaf that the answer found. Features are columns of the
schema.
"""

from .parts cimport Owner
from .team cimport Job, Team
from .tree cimport Node, Tree
from .trees cimport Trees

cdef extern from "quadrature.h":
    enum:
        MOST_ROWS               # side by side
        MOST_POINTS             # exact for 32 features on a path

    ctypedef struct Step:       # 32 bytes
        double value            # of one row, see `measure`: of a leaf, or the mean below
        double weight           # of a leaf; `measure` sets that of an inner node: the sum below it
        int feature             # number of a feature; -1: a leaf
        int right               # place of the right child; the left one is next to its parent. Of a
                                #   leaf: its number as a node
        int depth               # 0 for the root
        unsigned int left       # the rows that go left: a bit of each. Of a leaf: its number there

    ctypedef struct Edge:       # to a node from the one above it, whose feature it has
        int feature
        int before              # depth of the edge before it with the same feature, or 0: none
        unsigned int agrees     # the rows for which o of the feature is 1: a bit of each
        double share            # w of the feature
        double step             # share of the weight above that goes this way

    ctypedef struct Level:      # an inner node on the path, and the edge that leads there
        Edge edge
        int below               # feature of the node
        int left                # place of its left child
        unsigned int goes_left  # the rows that go there
        double inverse_weight   # 1 / weight of the node; 0: it has none
        # Depth 0 stands for no edge. See `quadrature.h`:
        double[2 * MOST_POINTS] inverses    # per point: 1 / (w + t (1 - w)), or 1 / (1 - t)
        double[2 * MOST_POINTS] agreed
        double[3 * MOST_POINTS] gains
        unsigned char[MOST_ROWS] cases
        # Per row and point, in the memory of the explainer:
        double* products        # the product of the factors of all features
        double* sums            # the sum over the leaves below of value times product

    ctypedef struct Visit:      # of a tree: members of the explainer
        const Step* steps
        Level* levels
        int* latest
        const double* values
        const double* means
        double* lanes
        double* phi
        int n_steps
        int deepest

cdef enum:
    MOST_TASKS = 16
    CLIMBING = 4                # rows of a task, by the path

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

cdef class Contributions:       # to the outputs for some rows
    cdef readonly int n_features, n_rows
    cdef double* phi            # phi[feature * n_rows + row], and behind it:
    cdef double* base           # base[row]: the sum of the means of the trees
    cdef public list labels     # of each row; of numbers, none
    cdef public tuple features  # which feature has each column: see `Schema.by_feature`

    cdef void add(self, const double* phi, const double* base) noexcept nogil
    cdef void to_log_odds(self) noexcept nogil
    cdef double output(self, int row) noexcept nogil

cdef class Explainer(Owner):
    cdef int n_features, n_rows
    cdef bint shapley           # else the path
    cdef double* phi            # as in `Contributions`, of which it is
    cdef double* base
    cdef Step* steps            # of the tree that is laid out
    cdef readonly int n_steps
    cdef int* leaves            # places of its leaves
    cdef int n_leaves
    cdef double* values         # values[i * n_rows + row], of leaves[i]; NaN: that of the root
    cdef double* means          # means[row]: the value of the root
    cdef int deepest            # depth of the deepest leaf
    cdef Waiting* waiting
    cdef int capacity           # number of allocated steps; there is room for half as many leaves
    cdef int n_levels           # number of allocated levels
    cdef int* latest            # per feature: depth of the last edge with it on the path, or 0.
                                #   All are 0 between two trees
    cdef Level* levels          # per depth, of the path
    cdef double* lanes          # products and sums of the levels

    cdef int reserve_steps(self, int n_nodes) except -1 nogil
    cdef int reserve_levels(self, int n) except -1 nogil
    cdef int lay_out(self, const Tree* tree, const double* rows) except -1 nogil
    cdef int finish(self) except -1 nogil
    cdef void measure(self, int row) noexcept nogil
    cdef void add_path(self, int row) noexcept nogil
    cdef void add_shapley(self) noexcept nogil


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
    step.weight, step.feature = weight, -1
    step.right, step.depth, step.left = layout.node, layout.depth, layout.n_leaves
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


cdef inline void put_split(Layout* layout, int feature, unsigned int goes_left, int left,
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


cdef class Explanations(Job):
    """The contributions to the predictions of a learner, for some rows."""
    cdef Contributions total
    cdef bint shapley
    cdef Team team              # threads that may help

    cdef int put_row(self, int row, const double* values, int code) except -1
    cdef int finish(self) except -1


cdef class TreeExplanations(Explanations):
    """The contributions in the trees of a table; a task takes some of them.

    What is divided is the mean of each tree; or, of its class shares, the sum of each times a
    factor. An empty leaf has the mean of its tree, unless it answers.
    """
    cdef list explainers        # per thread
    cdef double* parts          # per task: the contributions of the features, then the base values
    cdef int n_tasks            # number of these; it does not depend on that of the threads
    cdef int first, n           # the trees: first ... first + n - 1
    cdef bint climbs            # a task is some rows, whose paths are climbed
    cdef Trees trees
    cdef double* memory         # of these three:
    cdef double* weights        # weights[tree * n_rows + row], of its contributions; NULL: 1 each
    cdef double* rows           # rows[column * n_rows + row], unless a task climbs
    cdef int* leaves            # leaves[row * n_trees + tree]: that the row reaches
    cdef int n_classes          # of a regression 1: the mean
    cdef int[MOST_ROWS] codes   # the class that is explained; 0 of a regression
    cdef const double* factors  # factors[class * n_rows + row]; NULL: 1 for the class codes[row],
                                #   0 for all others
    cdef bint regression
    cdef bint empty_answers     # an empty leaf answers: its mean, or equal shares
    cdef bint by_majority       # the largest class of a leaf has the share 1

    cdef int begin(self, Contributions total, bint shapley, Team team, Trees trees) except -1
    cdef int prepare(self, bint with_weights) except -1
    cdef int explain(self, int first, int n) except -1
    cdef int explain_some(self, Explainer explainer, int task) except -1 nogil
    cdef int explain_tree(self, Explainer explainer, int tree) except -1 nogil
    cdef int add_up(self, int tree) except -1 nogil
    cdef int lay_out(self, Explainer explainer, int tree) except -1 nogil
    cdef void reach(self, int row, const int* leaves) noexcept
    cdef void climb_trees(self, int first) noexcept nogil
    cdef void climb(self, int tree, int row, const double* factors) noexcept nogil
    cdef double without_samples(self, int tree, int row, const double* factors) noexcept nogil
    cdef double answer_one(self, int tree, int node, int row, const double* factors) noexcept nogil
    cdef double mean_of_tree(self, int tree, int row, const double* factors) noexcept nogil
    cdef double weight_in(self, int tree, int row) noexcept nogil
    cdef void answer_leaf(self, int tree, int leaf, double* values) noexcept nogil
    cdef void read_factors(self, int row, double* to) noexcept nogil
    cdef double answer_empty(self, int row) noexcept nogil
    cdef double mean_in(self, int tree, int node) noexcept nogil
    cdef double mean_of_leaf(self, int tree, int leaf) noexcept nogil
    cdef bint keeps_subtotals(self) noexcept nogil

cdef class VoteExplanations(TreeExplanations):
    """The contributions to a weighted mean of the trees: a number, or the log odds of a label."""
    cdef VoteExplanations by(self, int n_labels)

# The slope between two arguments of a function of one number (the rescale rule of DeepLIFT), which
# is its derivative if both are equal. They do not lose digits if the arguments are close.
cdef double slope_of_limits(double x, double base, double low, double high) noexcept nogil
cdef double slope_of_log(double x, double base) noexcept nogil
cdef double slope_of_exp(double x, double base) noexcept nogil
