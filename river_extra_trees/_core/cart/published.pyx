"""The scores of the published programs, in their arithmetic: rounding decides as it did there."""

from libc.math cimport log

from ..trees cimport HEADER, VISITED, WEIGHT
from .workspace cimport ENTROPY, GINI, VARIANCE, Side, Workspace


cdef double impurity(Workspace work, const double* counts, double weight) noexcept nogil:
    """Impurity of class weights, in the published program's arithmetic."""
    cdef double squares = 0.0, bits = 0.0, share
    cdef int code
    for code in range(work.trees.n_values):
        if work.criterion == GINI:
            squares += counts[code] * counts[code]
        elif counts[code] > 0.0:
            share = counts[code] / weight
            bits -= share * (log(share) / log(2.0))
    return 1.0 - squares / (weight * weight) if work.criterion == GINI else bits


cdef double judged_by(Workspace work, int node) noexcept nogil:
    """The impurity that a node is judged by: a new node's own, else that of its parent.

    A node that was split has kept the counts of the batch that split it, and was new at that
    time if that batch split its parent too.
    """
    cdef int parent = work.trees.nodes[node].parent
    cdef const double* row
    while parent >= 0 and work.trees.row(node)[VISITED] != work.trees.row(parent)[VISITED]:
        node, parent = parent, work.trees.nodes[parent].parent
    row = work.trees.row(node)
    if work.criterion == VARIANCE:
        return row[HEADER + 1] / row[WEIGHT]
    return impurity(work, row + HEADER, row[WEIGHT])


cdef double reference_score(Workspace work, double* removed) noexcept nogil:
    """Score of the present sides, and the impurity that they remove from what was judged by."""
    cdef Side* here = &work.here
    cdef Side* there = &work.there
    cdef double left, right, weight = work.node.weight
    if work.criterion == VARIANCE:
        left = here.score * here.score / here.weight + there.score * there.score / there.weight
        removed[0] = work.judged - (work.spread - left) / weight
        return left
    left = impurity(work, here.counts, here.weight)
    right = impurity(work, there.counts, there.weight)
    removed[0] = work.judged - there.weight / weight * right - here.weight / weight * left
    return -there.weight * right - here.weight * left


cdef double forgetful_score(Workspace work) noexcept nogil:
    """Score of the present sides in the arithmetic of the program of forgetful trees."""
    cdef double left = 1.0, right = 1.0, p, q, weight = work.node.weight
    cdef Side* here = &work.here
    cdef Side* there = &work.there
    cdef int code
    if work.criterion == VARIANCE:
        return here.score * here.score / here.weight + there.score * there.score / there.weight
    if work.criterion == ENTROPY:
        left = right = 0.0
    for code in range(work.trees.n_values):
        p, q = here.counts[code] / here.weight, there.counts[code] / there.weight
        if work.criterion == GINI:
            left -= p * p
            right -= q * q
        else:
            if p > 0.0:
                left -= p * log(p)
            if q > 0.0:
                right -= q * log(q)
    return -(left * here.weight / weight + right * there.weight / weight)
