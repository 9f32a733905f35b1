"""Subtotals of the inner nodes of a tree. See the header."""

from libc.math cimport NAN
from libc.string cimport memset

from .allocation cimport resized
from .tree cimport add_leaf, forget_subtotals, is_leaf, parent_of


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
