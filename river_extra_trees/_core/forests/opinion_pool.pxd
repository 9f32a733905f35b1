"""A logarithmic opinion pool of distributions over the classes (Genest and Zidek 1986),

    p(c) proportional to the product over the members of q_m(c)^e_m.

The exponents take a step down the gradient of the log loss after each sample,

    d(-log p(y)) / de_m = sum_c p(c) log q_m(c) - log q_m(y),

and are clipped at 0 (projected online gradient descent: Zinkevich 2003).
"""

from libc.math cimport exp, log
from libc.string cimport memset

cdef extern from *:
    """
    #define FLOOR 0.01              /* of a uniform distribution, in each answer */
    #define LEARNING_RATE 0.02      /* of the exponents */
    """
    const double FLOOR, LEARNING_RATE


cdef inline double floored_log(double share, int n_classes) noexcept nogil:
    """The log of a share that is mixed with a small part of a uniform distribution."""
    return log((1.0 - FLOOR) * share + FLOOR / n_classes)


cdef inline void pool_logs(const double* exponents, int n_members, const double* logs, int width,
                           double* pooled) noexcept nogil:
    """Compute the pool p from log q_m(c) = logs[member * width + c] and the exponents e_m."""
    cdef int c, member
    cdef double largest, total = 0.0
    memset(pooled, 0, width * sizeof(double))
    for member in range(n_members):
        for c in range(width):
            pooled[c] += exponents[member] * logs[member * width + c]
    largest = pooled[0]
    for c in range(1, width):
        largest = max(largest, pooled[c])
    for c in range(width):
        pooled[c] = exp(pooled[c] - largest)
        total += pooled[c]
    for c in range(width):
        pooled[c] /= total


cdef inline void learn_exponents(double* exponents, int n_members, const double* logs,
                                 const double* pooled, int code, int width) noexcept nogil:
    """Take a step of the exponents down the gradient of the log loss for one sample."""
    cdef int c, member
    cdef double slope
    for member in range(n_members):
        slope = -logs[member * width + code]
        for c in range(width):
            slope += pooled[c] * logs[member * width + c]
        exponents[member] = max(0.0, exponents[member] - LEARNING_RATE * slope)
