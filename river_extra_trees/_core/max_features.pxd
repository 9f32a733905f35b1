"""The parameter `max_features`: how many of the offered features a split tries."""

from libc.math cimport log2, sqrt

cdef enum Rule:
    ALL = 0
    SQRT = 1
    LOG2 = 2
    SHARE = 3
    NUMBER = 4

cdef struct MaxFeatures:
    Rule rule
    double number       # with SHARE and NUMBER

cdef MaxFeatures max_features_of(object value) except *

cdef inline int n_tried(const MaxFeatures* this, int n_offered) noexcept nogil:
    """Number of features that a split tries if so many are offered."""
    cdef double n = n_offered
    if this.rule == ALL:
        return n_offered
    if this.rule == SQRT:
        n = sqrt(n)
    elif this.rule == LOG2:
        n = log2(max(1.0, n))
    elif this.rule == SHARE:
        n = this.number * n
    else:
        n = this.number
    return max(1, <int>n)
