"""Logistic leaves. See the header."""

from libc.math cimport exp, fabs, isfinite, pow, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from ..memory cimport free, zeroed
from .pool cimport Pool, v_of
from .shared_trees cimport Leaf

cdef int WINDOW_STEPS = 5               # of Newton's method, from zero
cdef double PRECISION = 1.0             # of both priors
cdef double LARGEST_STEP = 5.0          # sum over the coefficients; Newton's method may go too far
cdef double LARGEST_LOG_ODDS = 10.0     # no regression is surer than this


cdef inline double chance(const double* at, const double* z, int size) noexcept nogil:
    """Probability of a regression with coefficients `at` for the sample z."""
    cdef double log_odds = 0.0
    cdef int j
    for j in range(size):
        log_odds += at[j] * z[j]
    return 1.0 / (1.0 + exp(-min(max(log_odds, -LARGEST_LOG_ODDS), LARGEST_LOG_ODDS)))


cdef void solve(double* matrix, double* b, int size) noexcept nogil:
    """Replace b by the solution of matrix x = b; the packed positive matrix becomes its factor."""
    cdef int i, j, k
    cdef double* row = matrix
    cdef double* other
    for i in range(size):
        other = matrix
        for j in range(i):
            for k in range(j):
                row[j] -= row[k] * other[k]
            row[j] /= other[j]
            b[i] -= row[j] * b[j]
            other += j + 1
        for k in range(i):
            row[i] -= row[k] * row[k]
        row[i] = sqrt(row[i])
        b[i] /= row[i]
        row += i + 1
    for i in range(size - 1, -1, -1):
        row -= i + 1
        b[i] /= row[i]
        for j in range(i):
            b[j] -= row[j] * b[i]


cdef class LogisticLeaves:
    """The regression on the window, and work space for those in leaves."""

    def __dealloc__(self):
        free(self.block)

    def __sizeof__(self):
        return object.__sizeof__(self) + self.block_size * sizeof(double)

    cdef int shape(self, int n_regressors, int n_classes, size_t capacity) except -1 nogil:
        """Make room for as many regressors, classes and slots; what was there is lost.

        If there is no memory, all is as before.
        """
        cdef int size = n_regressors + 1, n_models = 1 if n_classes == 2 else n_classes
        cdef size_t n = size * (n_models + 6) + size * (size + 1) // 2 + n_classes
        cdef double* block
        if self.block != NULL and (self.size == size and self.n_classes == n_classes
                                   and self.capacity == capacity):
            return 0
        n += capacity * (size + n_models + 2)       # an int takes a double at most
        block = <double*>zeroed(n, sizeof(double))
        free(self.block)
        self.block, self.block_size = block, n
        self.size, self.n_classes, self.n_models, self.capacity = (
            size, n_classes, n_models, capacity)
        self.centre, self.shrink = block, block + n_regressors
        self.window = self.shrink + n_regressors
        self.nothing = self.window + n_models * size
        self.leaf = self.nothing + size
        self.gradient = self.leaf + size
        self.asked = self.gradient + size
        self.hessian = self.asked + size
        self.chances = self.hessian + size * (size + 1) // 2
        self.points = self.chances + n_classes
        self.fitted = self.points + capacity * size
        self.weights = self.fitted + capacity * n_models
        self.slots = <int*>(self.weights + capacity)
        return 0

    cdef void fit_window(self, Pool pool) noexcept nogil:
        """The regressions on all active samples, which are the prior of those in the leaves."""
        cdef int slot, model, _, n = 0
        cdef double* at
        for slot in range(pool.capacity):
            if pool.arrival[slot] >= 0:
                self.slots[n] = slot
                self.weights[slot] = pool.weight[slot]
                n += 1
        self.scale_points(pool, n)
        for model in range(self.n_models):
            at = self.window + model * self.size
            memset(at, 0, self.size * sizeof(double))
            for _ in range(WINDOW_STEPS):
                self.fit_points(n, model, at)
                self.newton_step(pool, self.slots, n, model, self.nothing, at)
            self.fit_points(n, model, at)

    cdef void scale_points(self, Pool pool, int n) noexcept nogil:
        """The active samples in units of each regressor's deviation, as seen from its mean."""
        cdef int i, j
        cdef double value, gap, square, mean
        for j in range(self.size - 1):
            mean = square = 0.0
            for i in range(n):
                value = v_of(pool, self.slots[i])[j]
                gap = value - mean
                mean += gap / (i + 1)
                square += gap * (value - mean)
            self.centre[j] = mean
            self.shrink[j] = sqrt(n / square) if square > 1e-24 * n * mean * mean else 0.0
        for i in range(n):
            self.scaled(v_of(pool, self.slots[i]), self.points + <size_t>self.slots[i] * self.size)

    cdef void scaled(self, const double* v, double* z) noexcept nogil:
        """A sample in the scale of the window, behind a one for the intercept."""
        cdef int j
        z[0] = 1.0
        for j in range(self.size - 1):
            z[1 + j] = (v[j] - self.centre[j]) * self.shrink[j]

    cdef void fit_points(self, int n, int model, const double* at) noexcept nogil:
        """What a regression says of the active samples."""
        cdef int i, slot
        for i in range(n):
            slot = self.slots[i]
            self.fitted[model * self.capacity + slot] = chance(
                at, self.points + <size_t>slot * self.size, self.size)

    cdef void newton_step(
        self, Pool pool, const int* slots, int n, int model, const double* prior, double* at
    ) noexcept nogil:
        """Move coefficients `at`, by which the samples are fitted, toward the posterior mode."""
        cdef int i, j, k, slot, size = self.size, code = 1 if self.n_models == 1 else model
        cdef double p, gap, curvature, part, total = 0.0
        cdef const double* z
        cdef double* row = self.hessian
        memset(row, 0, size * (size + 1) // 2 * sizeof(double))
        for j in range(size):
            self.gradient[j] = PRECISION * (at[j] - prior[j])
            row[j] = PRECISION
            row += j + 1
        for i in range(n):
            slot = slots[i]
            z = self.points + <size_t>slot * size
            p = self.fitted[model * self.capacity + slot]
            gap = self.weights[slot] * (p - (<int>v_of(pool, slot)[size - 1] == code))
            curvature = self.weights[slot] * p * (1.0 - p)
            row = self.hessian
            for j in range(size):
                self.gradient[j] += gap * z[j]
                part = curvature * z[j]
                for k in range(j + 1):
                    row[k] += part * z[k]
                row += j + 1
        solve(self.hessian, self.gradient, size)
        for j in range(size):
            total += fabs(self.gradient[j])
        if not isfinite(total):     # the weights drown the prior, and features repeat each other
            return
        part = min(1.0, LARGEST_STEP / total) if total > 0.0 else 1.0
        for j in range(size):
            at[j] -= part * self.gradient[j]

    cdef const double* chances_in(
        self, Pool pool, const Leaf* leaf, const int* slots, const double* v, int64_t now
    ) noexcept nogil:
        """Probabilities of the classes of the sample v, in a leaf with these active samples."""
        cdef const double* window
        cdef int i, model
        cdef double total = 0.0
        if self.n_classes == 1:
            self.chances[0] = 1.0
            return self.chances
        self.scaled(v, self.asked)
        for i in range(leaf.n_active):
            self.weights[slots[i]] = pool.weight[slots[i]] * pow(
                leaf.decay, <double>(now - pool.arrival[slots[i]]))
        for model in range(self.n_models):
            window = self.window + model * self.size
            memcpy(self.leaf, window, self.size * sizeof(double))
            self.newton_step(pool, slots, leaf.n_active, model, window, self.leaf)
            self.chances[model] = chance(self.leaf, self.asked, self.size)
            total += self.chances[model]
        if self.n_models == 1:
            self.chances[1] = self.chances[0]
            self.chances[0] = 1.0 - self.chances[1]
            return self.chances
        for model in range(self.n_models):
            self.chances[model] /= total
        return self.chances
