"""Shares of labels: what a learner says of each, which need not sum to one."""


cdef inline int first_largest(const double* shares, int n) noexcept nogil:
    """The position of the largest share, the first of equals."""
    cdef int code, best = 0
    for code in range(1, n):
        if shares[code] > shares[best]:
            best = code
    return best


cdef inline double total_of(const double* shares, int n) noexcept nogil:
    """The sum of the shares, from the first to the last."""
    cdef double total = 0.0
    cdef int code
    for code in range(n):
        total += shares[code]
    return total
