"""Shares of labels, which are predicted probabilities that are not normalised; weights of
predictions.
"""

from libc.math cimport INFINITY, exp

cdef enum:
    MOST_TO_REST = 9    # samples of one label for each of the rest
    ASSUMED = 10        # more samples of the rest


cdef inline double balance(double n_frequent, double n_rest) noexcept nogil:
    """The share of the samples of a label that leaves it nine tenths of all; 1 if it has fewer.

    Some more samples of the rest are assumed: where there are hardly any, most are needed.
    """
    cdef double most = MOST_TO_REST * (n_rest + ASSUMED)
    return most / n_frequent if most < n_frequent else 1.0


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


cdef inline void share_weights(double* weights, int n, double share,
                               const double* claims) noexcept nogil:
    """Divide the weights by their sum, then mix them with weights in proportion to the claims, or
    with equal weights (NULL): fixed share (Herbster and Warmuth 1998).
    """
    cdef double total = total_of(weights, n), all_claims = n if claims == NULL else total_of(
        claims, n)
    cdef int k
    for k in range(n):
        weights[k] = min(1.0, (1.0 - share) * weights[k] / total + share * (  # 1 may be rounded up
            1.0 if claims == NULL else claims[k]) / all_claims)


cdef inline void softmax(double* values, int n) noexcept nogil:
    """Replace values by their exponentials, divided by the sum of these; equal shares if they have
    no finite sum.
    """
    cdef int k
    cdef double largest = -INFINITY, total = 0.0
    for k in range(n):
        largest = max(largest, values[k])
    for k in range(n):
        values[k] = exp(values[k] - largest)
        total += values[k]
    for k in range(n):
        values[k] = values[k] / total if 0.0 < total < INFINITY else 1.0 / n
