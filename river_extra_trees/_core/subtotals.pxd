"""Subtotals: what the leaves below each inner node of a tree sum up to, kept between explanations.

An explanation needs the weights of all nodes, or, by the path, the means of those on the path of
one row; each is a sum over all leaves below. A subtotal is a function of the two children, whose
subtotals are known or which are leaves. So one that is computed again has the same bits as one that
was kept: an explanation does not depend on those before. `touch` (see `tree`) forgets the subtotals
above a leaf that changes. After a sample, those of its path are computed again; the others stay.

    classification      weight, then the weight of each class
    regression          weight, then the mean of the values of the leaves. Without a weight, the
                        mean of the two children; NaN if a leaf below has no value

Until the first explanation, a tree has no subtotals. More than MOST_CLASSES would take
more memory than the tree, and are not kept.
"""

from .tree cimport Tree

cdef enum:
    MOST_CLASSES = 15

cdef int reserve_subtotals(Tree* tree, int n_values) except -1 nogil
cdef int next_unknown(const Tree* tree, int node) noexcept nogil
cdef void add_classes(Tree* tree, int node) noexcept nogil


cdef inline double* subtotal_of(const Tree* tree, int node) noexcept nogil:
    """The subtotal of an inner node."""
    return tree.subtotals + <Py_ssize_t>(tree.nodes[node].left >> 1) * tree.n_subtotals


cdef inline bint are_known(const Tree* tree, int n_values) noexcept nogil:
    """Whether all subtotals of a tree that is split are known: that of the root forgets last."""
    cdef double weight
    if tree.n_subtotals != n_values or tree.subtotals == NULL:
        return False
    weight = subtotal_of(tree, 0)[0]
    return weight == weight


cdef inline double mean_below(double left_weight, double left, double right_weight,
                              double right) noexcept nogil:
    """The mean of an inner node, from the weights and means of its children."""
    if left_weight > 0.0 and right_weight > 0.0:
        return left + right_weight / (left_weight + right_weight) * (right - left)
    if left_weight + right_weight > 0.0:
        return left if left_weight > 0.0 else right
    return (left + right) / 2.0
