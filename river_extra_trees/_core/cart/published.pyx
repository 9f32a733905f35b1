"""Scores of the published programs, with their order of arithmetic and thus their rounding."""

from libc.math cimport log

from ..split cimport ENTROPY, GINI, VARIANCE
from ..tree cimport parent_of, read_classes, squares_of, weight_of
from .workspace cimport STREAM, Side


cdef double published_score(Workspace work, double* removed) noexcept nogil:
    """Score of the current split, and its decrease of impurity in stream trees."""
    cdef double score
    if work.criterion == VARIANCE:  # both programs use the same score for numbers
        score = (work.left.score * work.left.score / work.left.weight
                 + work.right.score * work.right.score / work.right.weight)
        removed[0] = work.impurity_before - (work.spread - score) / work.node.weight
        return score
    return stream_score(work, removed) if work.published == STREAM else forgetful_score(work)


cdef double published_impurity(Workspace work, const double* counts, int n,
                               double weight) noexcept nogil:
    """Impurity of class weights; entropy in bits."""
    cdef double squares = 0.0, bits = 0.0, share
    cdef int code
    for code in range(n):
        if work.criterion == GINI:
            squares += counts[code] * counts[code]
        elif counts[code] > 0.0:
            share = counts[code] / weight
            bits -= share * (log(share) / log(2.0))
    return 1.0 - squares / (weight * weight) if work.criterion == GINI else bits


cdef double impurity_of_leaf(Workspace work, int leaf) noexcept nogil:
    if work.criterion == VARIANCE:
        return squares_of(work.tree, leaf) / weight_of(work.tree, leaf)
    read_classes(work.tree, leaf, work.waiting, work.n_values)
    return published_impurity(work, work.waiting, work.n_values, weight_of(work.tree, leaf))


cdef double impurity_to_decrease(Workspace work, int leaf) noexcept nogil:
    """The impurity that a split of a leaf must decrease: its own if it is new, else its parent's.

    That of a split node is the one at the time of its split. The node was new at that time if the
    same batch split its parent.
    """
    cdef const double* visited = work.tree.visited
    cdef int node = leaf, parent = parent_of(work.tree, leaf)
    while parent >= 0 and visited[node] != visited[parent]:
        node, parent = parent, parent_of(work.tree, parent)
    if node == leaf:
        return impurity_of_leaf(work, leaf)
    return work.tree.impurities[work.tree.nodes[node].left >> 1]


cdef double stream_score(Workspace work, double* removed) noexcept nogil:
    """Score of the current split and its decrease of impurity, as in stream trees."""
    cdef Side* left = &work.left
    cdef Side* right = &work.right
    cdef double weight = work.node.weight
    cdef double of_left = published_impurity(work, left.counts, work.n_classes, left.weight)
    cdef double of_right = published_impurity(work, right.counts, work.n_classes, right.weight)
    removed[0] = (work.impurity_before - right.weight / weight * of_right
                  - left.weight / weight * of_left)
    return -right.weight * of_right - left.weight * of_left


cdef double forgetful_score(Workspace work) noexcept nogil:
    """Score of the current split, as in forgetful trees."""
    cdef Side* left = &work.left
    cdef Side* right = &work.right
    cdef double of_left = 1.0, of_right = 1.0, p, q
    cdef int code
    if work.criterion == ENTROPY:
        of_left = of_right = 0.0
    for code in range(work.n_classes):
        p, q = left.counts[code] / left.weight, right.counts[code] / right.weight
        if work.criterion == GINI:
            of_left -= p * p
            of_right -= q * q
        else:
            if p > 0.0:
                of_left -= p * log(p)
            if q > 0.0:
                of_right -= q * log(q)
    return -(of_left * left.weight / work.node.weight + of_right * right.weight / work.node.weight)
