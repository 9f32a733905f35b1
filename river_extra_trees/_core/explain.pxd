"""Contributions of the features to the output of a tree.

The output of a tree at x is the value of the leaf that x reaches. If only the features of a set S
are known, the output is a mean over the leaves: at a split on a feature of S, x decides; at any
other one, both sides count by their weights (path-dependent, Lundberg et al. 2020). Both methods
divide the difference between the output at x and the mean of all leaves:

- Shapley values of this game. A leaf with the value v and the features J on its path contributes

      phi_i = v integral over [0, 1] of (o_i - w_i) prod_{j in J, j != i} (w_j + t (o_j - w_j)) dt,

  where o_j is 1 if x agrees with all splits on j on the path, else 0, and w_j is the product of the
  shares of the weight that go this way at these splits. The integrand is a polynomial in t of a
  degree below the number of features on the path. So n Gauss-Legendre points are exact for 2 n
  features (Quadrature-TreeSHAP, arXiv 2605.04497).
- Path: the change of the mean at each split on the path of x (Saabas 2014).

At a split on j, let F = w_j + t (1 - w_j) be the factor of j if x agrees with all splits on j
above, s the share of the weight that goes with x here, U the weighted mean of the values of the
leaves below a node, each times the factors of the splits in between, and P the product of the
factors of all features above. Then, with c = w_j (1 - s),

      U = U_with - c (1 - t) / F (U_with - U_against),
      phi_j += integral of P / F^2 c (U_with - U_against) dt.

If x has left j at a split above, U is the mean of both sides by weight, and j gets nothing. So a
leaf takes no arithmetic of its own: each split divides what is below it. A tree is visited once for
all rows; the bits of a row do not depend on the others.

How a family explains rows: its `Explanations` take one row after the other, as the schema encodes
it and the learner answers it (`put_row`), and then explain all (`finish`). An `Explainer` visits
the splits of a tree, which the family describes by a function (`look`). `TreeExplanations` does so
for a table of trees, in threads. Weights and means of inner nodes are their subtotals; for the
path, rows are climbed from the leaf that the answer found. Features are columns of the schema.

An explanation needs the weights of all nodes, or, by the path, the means of those on the path of
one row; each is a sum over all leaves below. Such a subtotal is kept between explanations. It is a
function of the two children, whose subtotals are known or which are leaves. So one that is computed
again has the same bits as one that was kept: an explanation does not depend on those before.
`touch` (see `tree`) forgets the subtotals above a leaf that changes. After a sample, those of its
path are computed again; the others stay.

    classification      weight, then the weight of each class
    regression          weight, then the mean of the values of the leaves. Without a weight, the
                        mean of the two children; NaN if a leaf below has no value

Until the first explanation, a tree has no subtotals. More than MOST_CLASSES would take
more memory than the tree, and are not kept.
"""

from libc.stdint cimport uint64_t

from .parts cimport Owner
from .team cimport Job, Team
from .tree cimport Node, Tree
from .trees cimport Trees

cdef extern from "quadrature.h":
    enum:
        MOST_ROWS               # that are explained in one call
        MOST_POINTS             # exact for 32 features on a path

    ctypedef struct Fork:       # a split
        int feature
        int[2] children         # nodes: left and right. -1: a leaf
        unsigned int left       # the rows that go left: a bit of each
        double[2] weights       # of the children

    ctypedef struct Level:      # a split on the path that is visited: see `quadrature.h`
        pass

    ctypedef struct Visit:      # of a tree
        # Describes a split; values[side * n_rows + row] is what a leaf below answers:
        void (*look)(void* source, int node, Fork* found, double* values) noexcept nogil
        void* source
        int n_rows
        double* phi             # phi[feature * stride + row]
        Py_ssize_t stride
        # Members of the explainer:
        Level* levels
        double* lanes
        int n_levels
        int* latest

cdef enum:
    MOST_TASKS = 16
    MOST_CLASSES = 15           # of subtotals
    CLIMBING = 4                # rows of a task, by the path

cdef struct Above:              # what is above a node
    int node
    int n_features              # at least the number of different features
    uint64_t features           # a bit of each of the first 64

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
    cdef Level* levels          # per depth + 1, of the path; the first one stands for no split
    cdef double* lanes          # products and means of the levels
    cdef int n_levels           # number of allocated levels
    cdef int* latest            # per feature: level of the last split on it above, or 0. All are 0
                                #   between two trees
    cdef double[MOST_ROWS] means    # of a tree, per row: what an empty leaf answers
    cdef Above* waiting         # scratch of `most_features`: a stack
    cdef int n_waiting          # number of nodes for which there is room

    cdef int add(self, Visit* tree, int root, int most_features,
                 const double* weights) except -1 nogil
    cdef int most_features(self, const Tree* tree, int n_features) except -1 nogil


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
    cdef double* of_labels      # factors: 1 for the label of each row, else 0
    cdef int* leaves            # leaves[row * n_trees + tree]: that the row reaches
    cdef int n_classes          # of a regression 1: the mean
    cdef const double* factors  # factors[row * n_classes + class]
    cdef bint regression
    cdef bint empty_answers     # an empty leaf answers: its mean, or equal shares
    cdef bint by_majority       # the largest class of a leaf has the share 1

    cdef int begin(self, Contributions total, bint shapley, Team team, Trees trees) except -1
    cdef int prepare(self, bint with_weights) except -1
    cdef int explain(self, int first, int n) except -1
    cdef int explain_some(self, Explainer explainer, int task) except -1 nogil
    cdef int explain_tree(self, Explainer explainer, int tree, double* phi,
                          double* base) except -1 nogil
    cdef int add_up(self, int tree, const double* factors) except -1 nogil
    cdef void reach(self, int row, const int* leaves) noexcept
    cdef void climb_trees(self, int first) noexcept nogil
    cdef void climb(self, int tree, int row, double* phi, double* base) noexcept nogil
    cdef double without_samples(self, int tree, const double* factors) noexcept nogil
    cdef double answer_node(self, int tree, int node, const double* factors) noexcept nogil
    cdef double mean_of_tree(self, int tree, const double* factors) noexcept nogil
    cdef double answer_empty(self, const double* factors) noexcept nogil
    cdef double mean_in(self, int tree, int node) noexcept nogil
    cdef double mean_of_leaf(self, int tree, int leaf) noexcept nogil
    cdef bint keeps_subtotals(self) noexcept nogil
    cdef int n_sums(self) noexcept nogil

cdef class VoteExplanations(TreeExplanations):
    """The contributions to a weighted mean of the trees: a number, or the log odds of a label."""
    cdef VoteExplanations by(self, int n_labels)

# The slope between two arguments of a function of one number (the rescale rule of DeepLIFT), which
# is its derivative if both are equal. They do not lose digits if the arguments are close.
cdef double slope_of_limits(double x, double base, double low, double high) noexcept nogil
cdef double slope_of_log(double x, double base) noexcept nogil
cdef double slope_of_exp(double x, double base) noexcept nogil


cdef inline double* subtotal_of(const Tree* tree, int node) noexcept nogil:
    """The subtotal of an inner node."""
    return tree.subtotals + <Py_ssize_t>(tree.nodes[node].left >> 1) * tree.n_subtotals


cdef inline double mean_below(double left_weight, double left, double right_weight,
                              double right) noexcept nogil:
    """The mean of an inner node, from the weights and means of its children."""
    if left_weight > 0.0 and right_weight > 0.0:
        return left + right_weight / (left_weight + right_weight) * (right - left)
    if left_weight + right_weight > 0.0:
        return left if left_weight > 0.0 else right
    return (left + right) / 2.0
