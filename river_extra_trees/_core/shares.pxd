"""Shares of labels: predicted probabilities that are not normalised to a sum of one."""


cdef inline int first_largest(const double* shares, int n) noexcept nogil:
    """The position of the largest share, the first one among equal shares."""
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
