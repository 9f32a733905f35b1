"""The two sides of a candidate split, and how samples move from the right one to the left one.

In line, as a scan moves every sample of a node for every column that it looks at.
"""

from libc.math cimport log
from libc.string cimport memcpy, memset

from .workspace cimport GINI, VARIANCE, Workspace

cdef enum:
    TABLE = 4096

cdef double[TABLE] X_LOG_X


cdef inline double x_log_x(double x) noexcept nogil:
    cdef int whole
    if 0.0 <= x < TABLE:            # what is left of large weights by subtraction may be negative
        whole = <int>x
        if whole == x:
            return X_LOG_X[whole]
    return x * log(x) if x > 0.0 else 0.0


cdef inline double count_log_count(Workspace work, double count) noexcept nogil:
    return X_LOG_X[<int>count] if work.integral else x_log_x(count)


cdef inline void begin(Workspace work) noexcept nogil:
    """All samples of the node on the right side."""
    cdef double* here = work.here.counts
    cdef double* there = work.there.counts
    work.here.weight, work.here.score, work.here.copies = 0.0, 0.0, 0
    work.there.weight, work.there.score = work.node.weight, work.node.score
    work.there.copies = work.node.copies
    if work.criterion != VARIANCE:
        memset(here, 0, work.trees.n_values * sizeof(double))
        memcpy(there, work.node.counts, work.trees.n_values * sizeof(double))


cdef inline void move(Workspace work, int code, double mass) noexcept nogil:
    """Move the weight of samples of one class from the right side to the left."""
    cdef double here = work.here.counts[code], there = work.there.counts[code]
    work.here.weight += mass
    work.there.weight -= mass
    work.here.counts[code] = here + mass
    work.there.counts[code] = there - mass
    if work.criterion == GINI:
        work.here.score += mass * (2.0 * here + mass)
        work.there.score += mass * (mass - 2.0 * there)
    else:
        work.here.score += count_log_count(work, here + mass) - count_log_count(work, here)
        work.there.score += count_log_count(work, there - mass) - count_log_count(work, there)


cdef inline void shift(Workspace work, int slot) noexcept nogil:
    """Move one sample from the right side to the left."""
    cdef double mass = work.mass[slot]
    work.here.copies += work.copies[slot]
    work.there.copies -= work.copies[slot]
    if work.criterion != VARIANCE:
        move(work, work.code[slot], mass)
        return
    work.here.weight += mass
    work.there.weight -= mass
    work.here.score += mass * work.centred[slot]
    work.there.score -= mass * work.centred[slot]


cdef inline double between(Workspace work, double value, double following) noexcept nogil:
    """The threshold between two neighbouring values: `value` goes left, `following` right."""
    cdef double threshold = 0.5 * value + 0.5 * following
    return threshold if threshold < following and not work.forgetful_reference else value


cdef double node_score(Workspace work) noexcept nogil
