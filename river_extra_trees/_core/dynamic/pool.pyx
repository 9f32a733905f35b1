"""The active samples of a particle filter, and logistic regressions on them. See the header."""

import numpy as np

from libc.limits cimport INT_MAX
from libc.math cimport NAN, exp, fabs, isfinite, isnan, pow, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memmove, memset

from ..memory cimport free, product, zeroed
from ..schema cimport MAX_COLUMNS

from ..state import FAINTEST_WEIGHT, LARGEST_FLOAT, LARGEST_WEIGHT, State, reduced, require

cdef enum:
    LEAST_CAPACITY = 16

cdef int WINDOW_STEPS = 5               # Newton steps from zero for the window
cdef double PRECISION = 1.0             # of both priors
cdef double LARGEST_STEP = 5.0          # 1-norm of a Newton step, which might diverge otherwise
cdef double LARGEST_LOG_ODDS = 10.0     # limit of the predictions


cdef size_t block_size(size_t capacity, size_t n_columns, size_t size_v) except 0:
    """Bytes of all arrays of a pool."""
    cdef size_t per_slot = (n_columns + size_v + 1) * sizeof(double) + sizeof(int64_t)
    return product(capacity, per_slot + (2 * n_columns + 1) * sizeof(int)) + n_columns * sizeof(int)


cdef class Pool:
    """Samples in slots. `push` occupies a slot, and `release` frees it."""

    def __cinit__(self, size_t capacity=LEAST_CAPACITY, int n_columns=0, int size_v=1):
        cdef size_t cells = capacity * n_columns, i
        if capacity > INT_MAX:
            raise MemoryError("the window is too large")
        self.x = <double*>zeroed(block_size(capacity, n_columns, size_v), 1)
        self.v = self.x + cells
        self.weight = self.v + capacity * size_v
        self.arrival = <int64_t*>(self.weight + capacity)
        self.order = <int*>(self.arrival + capacity)
        self.rank = self.order + cells
        self.free_slots = self.rank + cells
        self.n_present = self.free_slots + capacity
        self.capacity, self.n_columns, self.size_v = <int>capacity, n_columns, size_v
        for i in range(cells):
            self.x[i] = NAN
            self.rank[i] = -1
        for i in range(capacity):
            self.arrival[i] = -1
            self.free_slots[i] = <int>(capacity - i - 1)    # the lowest slot is used first

    def __dealloc__(self):
        free(self.x)

    cdef Pool resized(self, size_t capacity, int n_columns, int size_v):
        """Copy the samples into the same slots of a larger pool.

        New columns are missing in all samples; new cells of v are 0 and come before the target.
        """
        cdef Pool new = Pool(capacity, n_columns, size_v)
        cdef int slot, column, n_free = self.capacity - self.size
        for column in range(min(n_columns, self.n_columns)):
            new.n_present[column] = self.n_present[column]
            memcpy(column_of(new, new.order, column), column_of(self, self.order, column),
                   self.n_present[column] * sizeof(int))
            memcpy(column_of(new, new.rank, column), column_of(self, self.rank, column),
                   self.capacity * sizeof(int))
        for slot in range(self.capacity):
            memcpy(x_of(new, slot), x_of(self, slot), self.n_columns * sizeof(double))
            memcpy(v_of(new, slot), v_of(self, slot), (self.size_v - 1) * sizeof(double))
            v_of(new, slot)[size_v - 1] = v_of(self, slot)[self.size_v - 1]
        memcpy(new.weight, self.weight, self.capacity * sizeof(double))
        memcpy(new.arrival, self.arrival, self.capacity * sizeof(int64_t))
        memcpy(new.free_slots + capacity - self.capacity, self.free_slots, n_free * sizeof(int))
        new.size = self.size
        return new

    cdef int push(self, const double* x, const double* v, double weight,
                  int64_t arrival) noexcept nogil:
        """Store a sample and return its slot. The pool must not be full."""
        cdef int slot = self.free_slots[self.capacity - self.size - 1], column
        memcpy(x_of(self, slot), x, self.n_columns * sizeof(double))
        memcpy(v_of(self, slot), v, self.size_v * sizeof(double))
        self.weight[slot] = weight
        self.arrival[slot] = arrival
        self.size += 1
        for column in range(self.n_columns):
            self.insert(slot, column)
        return slot

    cdef void insert(self, int slot, int column) noexcept nogil:
        """Insert a slot into the order of a column."""
        cdef int* order = column_of(self, self.order, column)
        cdef int* rank = column_of(self, self.rank, column)
        cdef double value = x_of(self, slot)[column]
        cdef int low = 0, high = self.n_present[column], middle
        if isnan(value):
            rank[slot] = -1
            return
        while low < high:
            middle = (low + high) // 2
            if x_of(self, order[middle])[column] <= value:
                low = middle + 1
            else:
                high = middle
        memmove(order + low + 1, order + low, (self.n_present[column] - low) * sizeof(int))
        order[low] = slot
        self.n_present[column] = self.n_present[column] + 1
        for middle in range(low, self.n_present[column]):
            rank[order[middle]] = middle

    cdef void remove(self, int slot, int column) noexcept nogil:
        """Remove a slot from the order of a column."""
        cdef int* order = column_of(self, self.order, column)
        cdef int* rank = column_of(self, self.rank, column)
        cdef int place = rank[slot], i
        if place < 0:
            return
        self.n_present[column] = self.n_present[column] - 1
        memmove(order + place, order + place + 1, (self.n_present[column] - place) * sizeof(int))
        for i in range(place, self.n_present[column]):
            rank[order[i]] = i

    cdef void release(self, int slot) noexcept nogil:
        """Remove the sample in a slot."""
        cdef int column
        for column in range(self.n_columns):
            self.remove(slot, column)
        self.arrival[slot] = -1
        self.free_slots[self.capacity - self.size] = slot
        self.size -= 1

    def slots(self):
        """The slots in use, in order of arrival."""
        used = [slot for slot in range(self.capacity) if self.arrival[slot] >= 0]
        return sorted(used, key=lambda slot: self.arrival[<int>slot])

    def point(self, int slot):
        """(x, v, weight, arrival) of the sample in a slot."""
        if not 0 <= slot < self.capacity or self.arrival[slot] < 0:
            raise IndexError(f"no active sample in slot {slot}")
        return (
            [x_of(self, slot)[i] for i in range(self.n_columns)],
            [v_of(self, slot)[i] for i in range(self.size_v)],
            self.weight[slot],
            self.arrival[slot],
        )

    def check(self):
        """Raise AssertionError if an invariant is broken."""
        cdef int column, slot
        cdef int* order
        used = self.slots()
        free_slots = [self.free_slots[i] for i in range(self.capacity - self.size)]
        assert sorted(free_slots + used) == list(range(self.capacity))
        for column in range(self.n_columns):
            order = column_of(self, self.order, column)
            values = [(x_of(self, slot)[column], self.arrival[slot], slot) for slot in used
                      if not isnan(x_of(self, slot)[column])]
            ranked = [order[i] for i in range(self.n_present[column])]
            assert [slot for _, _, slot in sorted(values)] == ranked
            assert [column_of(self, self.rank, column)[slot] for slot in ranked] == list(
                range(len(ranked)))

    def __sizeof__(self):
        return object.__sizeof__(self) + block_size(self.capacity, self.n_columns, self.size_v)

    def state(self):
        """The samples in order of arrival; their slots, followed by the free slots."""
        cdef Py_ssize_t i, n = self.size
        cdef double[:, ::1] x = np.empty((n, self.n_columns)), v = np.empty((n, self.size_v))
        cdef double[::1] weight = np.empty(n)
        cdef int64_t[::1] arrival = np.empty(n, dtype=np.int64)
        cdef int[::1] slots = np.array(
            self.slots() + [self.free_slots[i] for i in range(self.capacity - self.size)],
            dtype=np.int32)
        for i in range(n):
            if self.n_columns:
                memcpy(&x[i, 0], x_of(self, slots[i]), self.n_columns * sizeof(double))
            memcpy(&v[i, 0], v_of(self, slots[i]), self.size_v * sizeof(double))
            weight[i], arrival[i] = self.weight[slots[i]], self.arrival[slots[i]]
        return {
            "slots": slots.base, "x": x.base, "v": v.base,
            "weight": weight.base, "arrival": arrival.base,
        }

    @classmethod
    def restored(cls, values):
        """Make a pool from its state. The owner checks columns and arrivals."""
        state = State("Pool", values, ("slots", "x", "v", "weight", "arrival"))
        slots = state.array("slots", np.int32, None)
        arrival = state.array("arrival", np.int64, None)
        n, capacity = len(arrival), len(slots)
        x = state.array("x", np.float64, n, None)
        v = state.numbers("v", n, None, least=-LARGEST_FLOAT, most=LARGEST_FLOAT)
        weight = state.numbers("weight", n, least=FAINTEST_WEIGHT, most=LARGEST_WEIGHT)
        require(LEAST_CAPACITY <= capacity <= max(LEAST_CAPACITY, 4 * n + 4)
                and n <= capacity and x.shape[1] <= MAX_COLUMNS and 1 <= v.shape[1] <= MAX_COLUMNS,
                "Pool: sizes that no pool has")
        require(np.array_equal(np.sort(slots), np.arange(capacity)),
                "Pool: each slot must be there once")
        require(n == 0 or (0 < arrival[0] and np.all(arrival[:n - 1] < arrival[1:])),
                "Pool: samples must be in order of arrival")    # np.diff could overflow
        require(not np.any(np.isinf(x)), "Pool: a value is infinite")
        return filled(Pool(capacity, x.shape[1], v.shape[1]), slots, x, v, weight, arrival)

    def __reduce__(self):
        return reduced(type(self), self.state())


cdef Pool filled(Pool pool, const int[::1] slots, const double[:, ::1] x, const double[:, ::1] v,
                 const double[::1] weight, const int64_t[::1] arrival):
    """Fill an empty pool with valid samples."""
    cdef Py_ssize_t i, slot, n = arrival.shape[0]
    cdef int rank, column
    for i in range(n):
        slot = slots[i]
        if pool.n_columns:
            memcpy(x_of(pool, slot), &x[i, 0], pool.n_columns * sizeof(double))
        memcpy(v_of(pool, slot), &v[i, 0], pool.size_v * sizeof(double))
        pool.weight[slot], pool.arrival[slot] = weight[i], arrival[i]
    for i in range(n, pool.capacity):
        pool.free_slots[i - n] = slots[i]
    pool.size = <int>n
    for column in range(pool.n_columns):
        values = np.asarray(x)[:, column]
        ranked = np.argsort(values, kind="stable")      # NaN last
        pool.n_present[column] = n - np.count_nonzero(np.isnan(values))
        for rank in range(pool.n_present[column]):
            slot = slots[<Py_ssize_t>ranked[rank]]
            column_of(pool, pool.order, column)[rank] = <int>slot
            column_of(pool, pool.rank, column)[slot] = rank
    return pool


# --- Logistic leaves ------------------------------------------------------------------------

cdef inline double chance(const double* at, const double* z, int size) noexcept nogil:
    """Probability of a regression with coefficients `at` for the sample z."""
    cdef double log_odds = 0.0
    cdef int j
    for j in range(size):
        log_odds += at[j] * z[j]
    return 1.0 / (1.0 + exp(-min(max(log_odds, -LARGEST_LOG_ODDS), LARGEST_LOG_ODDS)))


cdef void solve(double* matrix, double* b, int size) noexcept nogil:
    """Replace b by the solution of matrix x = b, and the packed matrix by its Cholesky factor."""
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
    """The regression on the window, and scratch memory for those in leaves."""

    def __dealloc__(self):
        free(self.block)

    def __sizeof__(self):
        return object.__sizeof__(self) + self.block_size * sizeof(double)

    cdef int shape(self, int n_regressors, int n_classes, size_t capacity) except -1 nogil:
        """Allocate memory for these numbers; the content is lost.

        If there is not enough memory, nothing changes.
        """
        cdef int size = n_regressors + 1, n_models = 1 if n_classes == 2 else n_classes
        cdef size_t n = size * (n_models + 6) + size * (size + 1) // 2 + n_classes
        cdef double* block
        if self.block != NULL and (self.size == size and self.n_classes == n_classes
                                   and self.capacity == capacity):
            return 0
        n += capacity * (size + n_models + 2)       # an int needs no more than a double
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
        """Fit the regressions on all active samples, the prior of those in the leaves."""
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
        """Centre and scale the active samples by mean and standard deviation of each regressor."""
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
        """Scale a sample as the window; z[0] = 1 is for the intercept."""
        cdef int j
        z[0] = 1.0
        for j in range(self.size - 1):
            z[1 + j] = (v[j] - self.centre[j]) * self.shrink[j]

    cdef void fit_points(self, int n, int model, const double* at) noexcept nogil:
        """Compute the probabilities of a regression for the active samples."""
        cdef int i, slot
        for i in range(n):
            slot = self.slots[i]
            self.fitted[model * self.capacity + slot] = chance(
                at, self.points + <size_t>slot * self.size, self.size)

    cdef void newton_step(self, Pool pool, const int* slots, int n, int model, const double* prior,
                          double* at) noexcept nogil:
        """Make a Newton step of the coefficients `at`, to which `fitted` belongs."""
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
        if not isfinite(total):     # collinear features, and weights that are large for the prior
            return
        part = min(1.0, LARGEST_STEP / total) if total > 0.0 else 1.0
        for j in range(size):
            at[j] -= part * self.gradient[j]

    cdef const double* chances_in(self, Pool pool, const int* slots, int n, double decay,
                                  const double* v, int64_t now) noexcept nogil:
        """Class probabilities of the sample v in a leaf with these active samples."""
        cdef const double* window
        cdef int i, model
        cdef double total = 0.0
        if self.n_classes == 1:
            self.chances[0] = 1.0
            return self.chances
        self.scaled(v, self.asked)
        for i in range(n):
            self.weights[slots[i]] = pool.weight[slots[i]] * pow(
                decay, <double>(now - pool.arrival[slots[i]]))
        for model in range(self.n_models):
            window = self.window + model * self.size
            memcpy(self.leaf, window, self.size * sizeof(double))
            self.newton_step(pool, slots, n, model, window, self.leaf)
            self.chances[model] = chance(self.leaf, self.asked, self.size)
            total += self.chances[model]
        if self.n_models == 1:
            self.chances[1] = self.chances[0]
            self.chances[0] = 1.0 - self.chances[1]
            return self.chances
        for model in range(self.n_models):
            self.chances[model] /= total
        return self.chances
