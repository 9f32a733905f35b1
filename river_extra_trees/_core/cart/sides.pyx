"""The table of logarithms, and the score of a node that is not split. See the header."""

from libc.math cimport log

from .published cimport impurity
from .workspace cimport ENTROPY, GINI, VARIANCE, Workspace

X_LOG_X[0] = 0.0
for _i in range(1, TABLE):
    X_LOG_X[_i] = _i * log(<double>_i)


cdef double node_score(Workspace work) noexcept nogil:
    """What `candidates.offer` would score the undivided node."""
    if work.exact and work.criterion != VARIANCE:
        return -work.node.weight * impurity(work, work.node.counts, work.node.weight)
    if work.criterion == GINI:
        return work.node.score / work.node.weight
    if work.criterion == ENTROPY:
        return work.node.score - x_log_x(work.node.weight)
    return 0.0
