"""Proximal operators of the weights: thresholds, and the projection of eq. (8) onto the simplex.

Equations are those of Buschjaeger, Hess and Morik (2022).
"""

from libc.math cimport INFINITY, fabs, sqrt


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

    The threshold tau of eq. (8) is the fixed point of (sum of the weights above tau - 1) / (their
    number). Iteration reaches it in a few passes without sorting (Michelot 1986).
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
        if count >= previous:       # the count does not fall any more; rounding may raise it
            break
        tau = (total - 1.0) / count     # eq. (8) with beta = count
        previous = count
    for i in range(n):
        weights[i] = max(weights[i] - largest - tau, 0.0)       # [w_i - tau]+ of eq. (8)


cdef inline int position_to_drop(const double* weights, int n) noexcept nogil:
    """Position of the weight to drop, i > M in eq. (8); the last weight is that of the new tree.

    The new tree is kept only if its weight is above the smallest old weight. Of equally small old
    weights, the first is dropped.
    """
    cdef int i, least = 0
    for i in range(1, n - 1):
        if weights[i] < weights[least]:
            least = i
    return least if weights[n - 1] > weights[least] else n - 1
