"""One distribution over the classes of those of several members. See the header."""

import numpy as np

from libc.math cimport exp, log, sqrt
from libc.string cimport memcpy, memset

from ..memory cimport free, product, resized, zeroed

from ..state import State, reduced, require

cdef double FLOOR = 0.01
cdef double LEARNING_RATE = 0.02    # of the exponents
cdef double SHARE = 0.005           # of the groups' weights, shared alike after each sample
cdef double LARGEST_EXPONENT = 1e6


cdef void pool_logs(const double* exponents, int n_members, const double* logs, int width,
                    double* pooled) noexcept nogil:
    """The pool of members whose answers have the logarithms logs[member * width + class]."""
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


cdef void learn_exponents(double* exponents, int n_members, const double* logs,
                          const double* pooled, int code, int width) noexcept nogil:
    """A step of the exponents down the gradient of the log loss of a pool."""
    cdef int c, member
    cdef double slope
    for member in range(n_members):
        slope = -logs[member * width + code]
        for c in range(width):
            slope += pooled[c] * logs[member * width + c]
        exponents[member] = max(0.0, exponents[member] - LEARNING_RATE * slope)


cdef class ClassPool:
    """One distribution over the classes of those of several members. See the header.

    At first all groups weigh alike, and the pool is their mixture.
    """

    def __cinit__(self, int n_groups):
        cdef int g
        self.n_groups = n_groups
        self.weights = <double*>zeroed(n_groups, sizeof(double))
        self.exponents = <double*>zeroed(n_groups + 2, sizeof(double))
        for g in range(n_groups):
            self.weights[g] = 1.0 / n_groups
        self.exponents[n_groups] = 1.0

    def __dealloc__(self):
        free(self.weights)
        free(self.exponents)
        free(self.pooled)
        free(self.logs)

    cdef int reserve(self, int n_classes) except -1:
        """Make room for the answers to one row."""
        if n_classes > self.capacity:
            self.pooled = <double*>resized(self.pooled, n_classes, sizeof(double))
            self.logs = <double*>resized(
                self.logs, product(self.n_groups + 2, n_classes), sizeof(double))
            self.capacity = n_classes
        return 0

    cdef void pool(self, const double* answers, int width) noexcept:
        """The logarithmic opinion pool of all members; answers[group * width + class]."""
        cdef int c, g, n_groups = self.n_groups
        cdef double* mixture = self.logs + n_groups * width
        memset(mixture, 0, width * sizeof(double))
        for g in range(n_groups):
            for c in range(width):
                mixture[c] += self.weights[g] * answers[g * width + c]
        memcpy(self.logs, answers, n_groups * width * sizeof(double))
        for g in range(n_groups + 2):
            for c in range(width):
                self.logs[g * width + c] = log(
                    (1.0 - FLOOR) * self.logs[g * width + c] + FLOOR / width)
        pool_logs(self.exponents, n_groups + 2, self.logs, width, self.pooled)

    cdef void weigh(self, const double* answers, int code, int width) noexcept:
        """Learn how much each member is worth, from the answers pooled last and the true class."""
        cdef int g, n_groups = self.n_groups
        cdef double total = 0.0
        learn_exponents(self.exponents, n_groups + 2, self.logs, self.pooled, code, width)
        for g in range(n_groups):
            self.weights[g] *= sqrt(max(answers[g * width + code], FLOOR))
            total += self.weights[g]
        for g in range(n_groups):
            self.weights[g] = (1.0 - SHARE) * self.weights[g] / total + SHARE / n_groups

    # ---------------------------------------------------------------- state

    def member_weights(self):
        """The weights of the groups."""
        return [self.weights[g] for g in range(self.n_groups)]

    def __sizeof__(self):
        return object.__sizeof__(self) + sizeof(double) * (
            2 * self.n_groups + 2 + <size_t>self.capacity * (self.n_groups + 3))

    def state(self):
        """Weights and exponents."""
        exponents = [self.exponents[g] for g in range(self.n_groups + 2)]
        return {"weights": np.array(self.member_weights(), np.float64),
                "exponents": np.array(exponents, np.float64)}

    @classmethod
    def restored(cls, values):
        """The pool of a state."""
        cdef ClassPool pool
        cdef const double[::1] weights, exponents
        cdef int g
        state = State("ClassPool", values, ("weights", "exponents"))
        weights = state.numbers("weights", None, least=0.0, most=1.0)
        exponents = state.numbers(
            "exponents", weights.shape[0] + 2, least=0.0, most=LARGEST_EXPONENT)
        require(abs(sum(weights) - 1.0) < 1e-6, "ClassPool: the weights do not sum to one")
        pool = ClassPool(<int>weights.shape[0])
        for g in range(pool.n_groups):
            pool.weights[g] = weights[g]
        for g in range(pool.n_groups + 2):
            pool.exponents[g] = exponents[g]
        return pool

    def __reduce__(self):
        return reduced(type(self), self.state())
