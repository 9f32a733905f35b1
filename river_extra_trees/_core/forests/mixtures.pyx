"""Combine the predictions of the groups of a forest. See the header."""

import numpy as np

from libc.math cimport INFINITY, exp, log, sqrt
from libc.string cimport memcpy, memset

from ..linalg cimport init_model, row_width, scratch_size, solve_ridge
from ..memory cimport free, product, resized, zeroed
from .opinion_pool cimport FLOOR, floored_log, learn_exponents, pool_logs

from ..state import LARGEST_FLOAT, LARGEST_TARGET, State, reduced, require

# --- Classes ---------------------------------------------------------------------------------

cdef double CLASS_SHARE = 0.005     # s for classes
cdef double LARGEST_EXPONENT = 1e6


cdef class ClassPool:
    """Combines the class probabilities of several members. See the header.

    Initially all groups have equal weights, and the pool is their mixture.
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

    cdef int reserve(self, int n_classes) except -1 nogil:
        """Allocate memory for the predictions for one row."""
        if n_classes > self.capacity:
            self.pooled = <double*>resized(self.pooled, n_classes, sizeof(double))
            self.logs = <double*>resized(
                self.logs, product(self.n_groups + 2, n_classes), sizeof(double))
            self.capacity = n_classes
        return 0

    cdef void pool(self, const double* answers, int width) noexcept nogil:
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
                self.logs[g * width + c] = floored_log(self.logs[g * width + c], width)
        pool_logs(self.exponents, n_groups + 2, self.logs, width, self.pooled)

    cdef void weigh(self, const double* answers, int code, int width) noexcept nogil:
        """Update weights and exponents from the predictions pooled last and the true class."""
        cdef int g, n_groups = self.n_groups
        cdef double total = 0.0
        learn_exponents(self.exponents, n_groups + 2, self.logs, self.pooled, code, width)
        for g in range(n_groups):
            self.weights[g] *= sqrt(max(answers[g * width + code], FLOOR))
            total += self.weights[g]
        for g in range(n_groups):
            self.weights[g] = (1.0 - CLASS_SHARE) * self.weights[g] / total + CLASS_SHARE / n_groups

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


# --- Numbers ---------------------------------------------------------------------------------

cdef enum:
    LARGEST_MIXTURE = 1 << 12   # groups: the number of cells of A fits into 32 bits
    FIRST_STACK = 10            # samples before the stacked prediction differs from the mean

cdef double NUMBER_SHARE = 0.02     # s for numbers
cdef double ERROR_DECAY = 0.99      # of the squared errors, per sample
cdef double WORST = 12.0            # limit of error^2 / (2 variance), for outliers
cdef double STACK_DECAY = 0.999     # lambda
cdef double PRIOR = 30.0            # prior in the ridge r of the stack
cdef double GLOBAL = 0.1            # factor of E in V + E / 10
cdef double LARGEST_ERROR = 1e300
cdef double LEAST_VARIANCE = 1e-300
cdef double LARGEST_SUM = 1e306


cdef inline double square_of(double difference) noexcept nogil:
    """The square of an error, bounded so that sums of it stay finite."""
    cdef double square = difference * difference
    return square if square < LARGEST_ERROR else LARGEST_ERROR


cdef class NumberMixture:
    """Combines the predicted numbers of several groups. See the header."""

    def __cinit__(self, int n_groups):
        cdef int i
        require(n_groups <= LARGEST_MIXTURE, "NumberMixture: too many groups")
        self.n_groups = n_groups
        self.weights = <double*>zeroed(n_groups + 1, sizeof(double))
        self.errors = <double*>zeroed(n_groups + 1, sizeof(double))
        self.sums = <double*>zeroed(row_width(False, n_groups, 0), sizeof(double))
        self.slopes = <double*>zeroed(n_groups, sizeof(double))
        self.answers = <double*>zeroed(n_groups + 1, sizeof(double))
        self.scratch = <double*>zeroed(n_groups + 1, sizeof(double))
        init_model(&self.model, n_groups,
                   <double*>zeroed(scratch_size(n_groups), sizeof(double)))
        for i in range(n_groups + 1):
            self.weights[i] = 1.0 / (n_groups + 1)

    def __dealloc__(self):
        free(self.weights)
        free(self.errors)
        free(self.sums)
        free(self.slopes)
        free(self.answers)
        free(self.scratch)
        free(self.model.scratch)

    # ---------------------------------------------------------------- predictions

    cdef double within(self, double answer) noexcept nogil:
        """A prediction, clipped to the range of the targets seen."""
        return min(max(answer, self.lowest), self.highest)

    cdef void answer(self, const double* groups, double variance) noexcept nogil:
        """Compute the weighted mean of the members; `variance` is V."""
        cdef int k, n = self.n_groups
        cdef double middle = 0.0, stacked
        for k in range(n):
            self.answers[k] = self.within(groups[k])
            middle += self.answers[k] / n
        stacked = middle
        for k in range(n):
            stacked += self.slopes[k] * (self.answers[k] - middle)
        self.answers[n] = self.within(stacked if stacked == stacked else middle)
        self.mean = 0.0
        for k in range(n + 1):
            self.mean += self.weights[k] * self.answers[k]
        self.mean = self.within(self.mean)
        # The sums of squares in the leaves overflow, and rounding makes them negative.
        self.variance = max(variance, 0.0) if variance < LARGEST_ERROR else LARGEST_ERROR

    cdef double spread(self) noexcept nogil:
        """The variance of the prediction for the last row."""
        cdef double error
        if self.n_errors == 0.0:
            return 0.0
        error = self.error / self.n_errors
        return 0.5 * (error + self.ratio / self.n_errors * (self.variance + GLOBAL * error))

    # ---------------------------------------------------------------- learning

    cdef void learn(self, double target) noexcept nogil:
        """Learn from the last predictions and the target; the first target has no predictions."""
        cdef double square, scale
        if self.n_targets == 0:
            self.lowest = self.highest = target
        else:
            square = square_of(target - self.mean)
            self.n_errors = ERROR_DECAY * self.n_errors + 1.0
            self.error = ERROR_DECAY * self.error + square
            scale = max(self.variance + GLOBAL * self.error / self.n_errors, LEAST_VARIANCE)
            self.ratio = ERROR_DECAY * self.ratio + square / scale
            self.learn_weights(target)
            self.learn_stack(target)
            self.lowest, self.highest = min(self.lowest, target), max(self.highest, target)
        self.n_targets += 1

    cdef void learn_weights(self, double target) noexcept nogil:
        """Update the weights: fixed share, see the header."""
        cdef int k, n = self.n_groups + 1
        cdef double error, variance, best = -INFINITY, total = 0.0
        for k in range(n):
            error = square_of(target - self.answers[k])
            self.errors[k] = ERROR_DECAY * self.errors[k] + error
            variance = max(self.errors[k] / self.n_errors, LEAST_VARIANCE)
            self.scratch[k] = -0.5 * log(variance) - min(0.5 * error / variance, WORST)
            best = max(best, self.scratch[k])
        for k in range(n):
            self.weights[k] *= exp(0.5 * (self.scratch[k] - best))
            total += self.weights[k]
        for k in range(n):
            self.weights[k] = (1.0 - NUMBER_SHARE) * self.weights[k] / total + NUMBER_SHARE / n

    cdef void learn_stack(self, double target) noexcept nogil:
        """Update the sums A and b of the stacked prediction, and solve for c."""
        cdef int i, j, n = self.n_groups
        cdef double middle = 0.0, square = 0.0
        cdef double* cells = self.sums + 2 + n
        for i in range(n):
            middle += self.answers[i] / n
        for i in range(n):
            self.scratch[i] = self.answers[i] - middle
            square += self.scratch[i] * self.scratch[i] / n
        self.scratch[n] = target - middle
        for i in range(n + 1):
            for j in range(i + 1):
                cells[j] = STACK_DECAY * cells[j] + self.scratch[i] * self.scratch[j]
            cells += i + 1
        self.square = STACK_DECAY * self.square + square
        self.n_squares = STACK_DECAY * self.n_squares + 1.0
        self.solve()

    cdef void solve(self) noexcept nogil:
        """Solve c = (A + r I)^-1 b."""
        cdef int i, n = self.n_groups
        cdef double prior = 0.0
        cdef double* diagonal = self.sums + 2 + n
        if self.n_squares > 0.0:
            prior = PRIOR * self.square / self.n_squares
        if self.n_targets < FIRST_STACK or not prior > 0.0:
            memset(self.slopes, 0, n * sizeof(double))
            return
        for i in range(n):
            self.scratch[i] = diagonal[i]
            diagonal[i] += prior
            diagonal += i + 1
        self.sums[0] = self.n_squares
        solve_ridge(&self.model, self.sums, self.slopes)
        diagonal = self.sums + 2 + n
        for i in range(n):
            diagonal[i] = self.scratch[i]
            diagonal += i + 1

    # ---------------------------------------------------------------- inspection

    def member_weights(self):
        """The weights of the groups, then of the stacked prediction."""
        return [self.weights[k] for k in range(self.n_groups + 1)]

    def __sizeof__(self):
        cdef size_t n = (5 * self.n_groups + 4 + row_width(False, self.n_groups, 0)
                         + scratch_size(self.n_groups))
        return object.__sizeof__(self) + n * sizeof(double)

    # ---------------------------------------------------------------- state

    def state(self):
        """All but what follows from the sums."""
        cdef int i, n = self.n_groups, n_cells = (n + 1) * (n + 2) // 2
        return {
            "n_targets": self.n_targets, "lowest": self.lowest, "highest": self.highest,
            "weights": np.array(self.member_weights(), np.float64),
            "errors": np.array([self.errors[i] for i in range(n + 1)], np.float64),
            "error": self.error, "ratio": self.ratio, "n_errors": self.n_errors,
            "sums": np.array([self.sums[2 + n + i] for i in range(n_cells)], np.float64),
            "square": self.square, "n_squares": self.n_squares,
        }

    @classmethod
    def restored(cls, values):
        """The mixture of a state."""
        cdef NumberMixture mixture
        cdef const double[::1] weights, errors, sums
        cdef int i, n, n_cells
        state = State("NumberMixture", values, (
            "n_targets", "lowest", "highest", "weights", "errors", "error", "ratio", "n_errors",
            "sums", "square", "n_squares"))
        weights = state.numbers("weights", None, least=0.0, most=1.0)
        n = <int>weights.shape[0] - 1
        require(1 <= n <= LARGEST_MIXTURE and abs(sum(weights) - 1.0) < 1e-6,
                "NumberMixture: the weights do not sum to one")
        n_cells = (n + 1) * (n + 2) // 2
        errors = state.numbers("errors", n + 1, least=0.0, most=LARGEST_SUM)
        sums = state.numbers("sums", n_cells, least=-LARGEST_SUM, most=LARGEST_SUM)
        mixture = NumberMixture(n)
        mixture.n_targets = state.whole("n_targets")
        mixture.lowest = state.number("lowest", -LARGEST_TARGET, LARGEST_TARGET)
        mixture.highest = state.number("highest", mixture.lowest, LARGEST_TARGET)
        mixture.error = state.number("error", 0.0, LARGEST_SUM)
        mixture.ratio = state.number("ratio", 0.0, LARGEST_FLOAT)
        mixture.n_errors = state.number("n_errors", 0.0, 1e6)
        mixture.square = state.number("square", 0.0, LARGEST_SUM)
        mixture.n_squares = state.number("n_squares", 0.0, 1e6)
        for i in range(n + 1):
            mixture.weights[i], mixture.errors[i] = weights[i], errors[i]
        for i in range(n_cells):
            mixture.sums[2 + n + i] = sums[i]
        if mixture.n_targets > FIRST_STACK:     # `learn` solves before it counts the target
            mixture.solve()
        return mixture

    def __reduce__(self):
        return reduced(type(self), self.state())
