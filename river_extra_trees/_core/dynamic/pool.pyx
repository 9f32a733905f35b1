"""The active points of a cloud of dynamic trees. See the header for the layout."""

import numpy as np

from libc.math cimport NAN, isnan
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memmove

from ..memory cimport calloc, free, malloc
from ..schema cimport MAX_COLUMNS

from ..state import FAINTEST_WEIGHT, LARGEST_FLOAT, LARGEST_WEIGHT, State, from_state, require

cdef enum:
    LEAST_CAPACITY = 16


cdef class Pool:
    """Points in slots; a slot is taken by `push` and given back by `release`."""

    def __cinit__(self, int n_columns=0, int size_v=1):
        self.reserve(LEAST_CAPACITY, n_columns, size_v)

    def __dealloc__(self):
        self.clear()

    cdef void clear(self) noexcept nogil:
        free(self.x)
        free(self.v)
        free(self.weight)
        free(self.arrival)
        free(self.free_slots)
        free(self.order)
        free(self.rank)
        free(self.n_present)

    cdef int reserve(self, int capacity, int n_columns, int size_v) except -1:
        """Make room, or raise MemoryError and leave everything as it is.

        New columns are missing in the points held; new cells of v are 0 and go before the last.
        """
        cdef double* x = <double*>malloc(max(1, capacity * n_columns) * sizeof(double))
        cdef double* v = <double*>calloc(capacity * size_v, sizeof(double))
        cdef double* weight = <double*>calloc(capacity, sizeof(double))
        cdef int64_t* arrival = <int64_t*>malloc(capacity * sizeof(int64_t))
        cdef int* free_slots = <int*>malloc(capacity * sizeof(int))
        cdef size_t cells = max(1, <size_t>capacity * n_columns)
        cdef int* order = <int*>malloc(cells * sizeof(int))
        cdef int* rank = <int*>malloc(cells * sizeof(int))
        cdef int* n_present = <int*>calloc(max(1, n_columns), sizeof(int))
        cdef int slot, n_free = 0, column
        cdef Py_ssize_t i
        if (
            x == NULL or v == NULL or weight == NULL or arrival == NULL or free_slots == NULL
            or order == NULL or rank == NULL or n_present == NULL
        ):
            free(order)
            free(rank)
            free(n_present)
            free(x)
            free(v)
            free(weight)
            free(arrival)
            free(free_slots)
            raise MemoryError
        for i in range(capacity * n_columns):
            x[i] = NAN
            rank[i] = -1
        for column in range(min(n_columns, self.n_columns)):
            n_present[column] = self.n_present[column]
            memcpy(order + <size_t>column * capacity, self.order + <size_t>column * self.capacity,
                   n_present[column] * sizeof(int))
            memcpy(rank + <size_t>column * capacity, self.rank + <size_t>column * self.capacity,
                   self.capacity * sizeof(int))
        for slot in range(self.capacity):
            memcpy(x + slot * n_columns, self.x + slot * self.n_columns,
                   self.n_columns * sizeof(double))
            memcpy(v + slot * size_v, self.v + slot * self.size_v,
                   (self.size_v - 1) * sizeof(double))
            v[(slot + 1) * size_v - 1] = self.v[(slot + 1) * self.size_v - 1]
            weight[slot] = self.weight[slot]
            arrival[slot] = self.arrival[slot]
        for slot in range(capacity - 1, self.capacity - 1, -1):     # the lowest is taken first
            arrival[slot] = -1
            free_slots[n_free] = slot
            n_free += 1
        for i in range(self.capacity - self.size):
            free_slots[n_free + i] = self.free_slots[i]
        self.clear()
        self.x, self.v, self.weight, self.arrival = x, v, weight, arrival
        self.free_slots, self.order, self.rank = free_slots, order, rank
        self.n_present = n_present
        self.capacity, self.n_columns, self.size_v = capacity, n_columns, size_v
        return 0

    cdef int push(
        self, const double* x, const double* v, double weight, int64_t arrival
    ) except -1:
        """Store a point; return its slot."""
        cdef int slot, column
        if self.size == self.capacity:
            self.reserve(2 * self.capacity, self.n_columns, self.size_v)
        slot = self.free_slots[self.capacity - self.size - 1]
        memcpy(self.x + slot * self.n_columns, x, self.n_columns * sizeof(double))
        memcpy(self.v + slot * self.size_v, v, self.size_v * sizeof(double))
        self.weight[slot] = weight
        self.arrival[slot] = arrival
        self.size += 1
        for column in range(self.n_columns):
            self.insert(slot, column)
        return slot

    cdef void insert(self, int slot, int column) noexcept nogil:
        """Put a slot into the order of a column."""
        cdef int* order = self.order + <size_t>column * self.capacity
        cdef int* rank = self.rank + <size_t>column * self.capacity
        cdef double value = self.x[slot * self.n_columns + column]
        cdef int low = 0, high = self.n_present[column], middle
        if isnan(value):
            rank[slot] = -1
            return
        while low < high:
            middle = (low + high) // 2
            if self.x[order[middle] * self.n_columns + column] <= value:
                low = middle + 1
            else:
                high = middle
        memmove(order + low + 1, order + low, (self.n_present[column] - low) * sizeof(int))
        order[low] = slot
        self.n_present[column] = self.n_present[column] + 1
        for middle in range(low, self.n_present[column]):
            rank[order[middle]] = middle

    cdef void remove(self, int slot, int column) noexcept nogil:
        """Take a slot out of the order of a column."""
        cdef int* order = self.order + <size_t>column * self.capacity
        cdef int* rank = self.rank + <size_t>column * self.capacity
        cdef int place = rank[slot], i
        if place < 0:
            return
        self.n_present[column] = self.n_present[column] - 1
        memmove(order + place, order + place + 1, (self.n_present[column] - place) * sizeof(int))
        for i in range(place, self.n_present[column]):
            rank[order[i]] = i

    cdef void release(self, int slot) noexcept nogil:
        """Give a slot back."""
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
        """(x, v, weight, arrival) of the point in a slot."""
        assert 0 <= slot < self.capacity and self.arrival[slot] >= 0
        return (
            [self.x[slot * self.n_columns + i] for i in range(self.n_columns)],
            [self.v[slot * self.size_v + i] for i in range(self.size_v)],
            self.weight[slot],
            self.arrival[slot],
        )

    def check(self):
        """Raise AssertionError if an invariant is broken."""
        free_slots = [self.free_slots[i] for i in range(self.capacity - self.size)]
        assert sorted(free_slots + self.slots()) == list(range(self.capacity))
        assert all(self.arrival[<int>slot] == -1 for slot in free_slots)
        for column in range(self.n_columns):
            ranked = [self.order[<size_t>column * self.capacity + <int>i]
                      for i in range(self.n_present[<int>column])]
            values = [self.x[<int>slot * self.n_columns + <int>column] for slot in ranked]
            arrivals = [self.arrival[<int>slot] for slot in ranked]
            assert sorted(zip(values, arrivals)) == list(zip(values, arrivals))
            assert [self.rank[<size_t>column * self.capacity + <int>slot]
                    for slot in ranked] == list(range(len(ranked)))
            present = [slot for slot in self.slots()
                       if not isnan(self.x[<int>slot * self.n_columns + <int>column])]
            assert sorted(present) == sorted(ranked)

    def __sizeof__(self):
        cdef Py_ssize_t per_slot = (
            (self.n_columns + self.size_v + 1) * sizeof(double) + sizeof(int64_t)
            + (2 * self.n_columns + 1) * sizeof(int)
        )
        return object.__sizeof__(self) + self.capacity * per_slot

    def state(self):
        """The points in order of arrival; the slots they are in, then the free ones."""
        cdef Py_ssize_t i, n = self.size, n_columns = self.n_columns, size_v = self.size_v
        cdef double[:, ::1] x = np.empty((n, n_columns)), v = np.empty((n, size_v))
        cdef double[::1] weight = np.empty(n)
        cdef int64_t[::1] arrival = np.empty(n, dtype=np.int64)
        cdef int[::1] slots = np.array(
            self.slots() + [self.free_slots[i] for i in range(self.capacity - self.size)],
            dtype=np.int32)
        for i in range(n):
            if n_columns:
                memcpy(&x[i, 0], self.x + slots[i] * n_columns, n_columns * sizeof(double))
            memcpy(&v[i, 0], self.v + slots[i] * size_v, size_v * sizeof(double))
            weight[i], arrival[i] = self.weight[slots[i]], self.arrival[slots[i]]
        return {
            "slots": slots.base, "x": x.base, "v": v.base,
            "weight": weight.base, "arrival": arrival.base,
        }

    @classmethod
    def restored(cls, values):
        """The pool of a state. Whether columns and arrivals are right is the owner's to check."""
        cdef Pool pool
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
                "Pool: the slots are not all there once")
        require(n == 0 or (0 < arrival[0] and np.all(arrival[:-1] < arrival[1:])),
                "Pool: the points are not in order")    # compared: differences may overflow
        require(not np.any(np.isinf(x)), "Pool: a value is infinite")
        pool = Pool(x.shape[1], v.shape[1])
        pool.reserve(capacity, pool.n_columns, pool.size_v)
        pool.fill(slots, x, v, weight, arrival)
        return pool

    cdef int fill(self, const int[::1] slots, const double[:, ::1] x, const double[:, ::1] v,
                  const double[::1] weight, const int64_t[::1] arrival) except -1:
        """Take over valid points into the empty pool."""
        cdef Py_ssize_t i, slot, n = arrival.shape[0]
        cdef int rank, column
        for i in range(n):
            slot = slots[i]
            if self.n_columns:
                memcpy(self.x + slot * self.n_columns, &x[i, 0], self.n_columns * sizeof(double))
            memcpy(self.v + slot * self.size_v, &v[i, 0], self.size_v * sizeof(double))
            self.weight[slot], self.arrival[slot] = weight[i], arrival[i]
        for i in range(n, self.capacity):
            self.free_slots[i - n] = slots[i]
        self.size = <int>n
        for column in range(self.n_columns):
            values = np.asarray(x)[:, column]
            order = np.argsort(values, kind="stable")       # NaN last
            n_present = int(n - np.isnan(values).sum())
            self.n_present[column] = n_present
            for rank in range(n_present):
                slot = slots[<Py_ssize_t>order[rank]]
                self.order[<size_t>column * self.capacity + rank] = <int>slot
                self.rank[<size_t>column * self.capacity + slot] = rank
        return 0

    def __reduce__(self):
        return from_state, (type(self), self.state())
