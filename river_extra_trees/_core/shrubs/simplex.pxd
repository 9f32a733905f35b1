"""The proximal operators that decide which trees keep a weight.

`project_simplex` is the exact Euclidean projection onto the probability simplex, `position_to_drop`
the cut to the largest weights before it, and the two thresholds are the proximal operators of the
L1 norm and of the number of nonzero weights.
"""

from libc.math cimport INFINITY, fabs, sqrt

cdef extern from *:
    """
    /* Weights closer than this are equal, and weights not above it are zero: what rounding alone
       would decide is decided by age instead. */
    static const double NEGLIGIBLE = 1e-12;
    """
    const double NEGLIGIBLE

cdef inline double soft_threshold(double weight, double strength, double step) noexcept nogil:
    """argmin over v of (v - weight)^2 / 2 + step * strength * |v|."""
    cdef double cut = step * strength
    if weight > cut:
        return weight - cut
    return weight + cut if weight < -cut else 0.0

cdef inline double hard_threshold(double weight, double strength, double step) noexcept nogil:
    """argmin over v of (v - weight)^2 / 2 + step * strength * [v != 0]."""
    return weight if fabs(weight) > sqrt(2.0 * strength * step) else 0.0

cdef inline void project_simplex(double* weights, int n) noexcept nogil:
    """Replace weights by the nearest point of the probability simplex.

    The threshold tau of eq. (8) is the limit of (sum of the weights above tau - 1) / (their
    number), which rises to it in a few passes without sorting (Michelot 1986).
    """
    cdef double largest = -INFINITY, tau = -INFINITY, total
    cdef int i, count = n, previous = n + 1
    for i in range(n):
        largest = max(largest, weights[i])
    while True:
        total, count = 0.0, 0
        for i in range(n):
            if weights[i] - largest > tau:
                total += weights[i] - largest
                count += 1
        if count >= previous:       # rounding may bring one back
            break
        tau = (total - 1.0) / count
        previous = count
    for i in range(n):
        weights[i] = max(weights[i] - largest - tau, 0.0)

cdef inline int position_to_drop(const double* weights, int n) noexcept nogil:
    """The weight that leaves when there is one too many; the last one is the newcomer's.

    The newcomer stays only if it is larger than the smallest old weight. Among equally small old
    ones the first leaves.
    """
    cdef double smallest = INFINITY
    cdef int i
    for i in range(n - 1):
        smallest = min(smallest, weights[i])
    if not weights[n - 1] > smallest:
        return n - 1
    for i in range(n - 1):
        if weights[i] <= smallest:
            return i
    return n - 1
