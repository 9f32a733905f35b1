"""The active samples of a particle filter. See the header."""

import numpy as np

from libc.limits cimport INT_MAX
from libc.math cimport NAN
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memmove

from ..arrays cimport view
from ..memory cimport free, product, zeroed
from ..schema cimport MAX_COLUMNS

from ..state import (
    FAINTEST_WEIGHT, LARGEST_TARGET, LARGEST_WEIGHT, State, fields_of, reduced, require,
)

FIELDS = {
    "slots": ("array", np.int32, "capacity"),       # in order of arrival, then the free ones
    "arrival": ("array", np.int64, "samples"),
    "x": ("array", np.float64, "samples", "columns"),
    "v": ("numbers", "samples", "size of v", {"least": -LARGEST_TARGET, "most": LARGEST_TARGET}),
    "weight": ("numbers", "samples", {"least": FAINTEST_WEIGHT, "most": LARGEST_WEIGHT}),
}

cdef enum:
    LEAST_CAPACITY = 16


cdef size_t block_size(size_t capacity, size_t n_columns, size_t size_v) except 0:
    """Bytes of all arrays of a pool."""
    cdef size_t per_slot = (n_columns + size_v + 1) * sizeof(double) + sizeof(int64_t)
    return (product(capacity, per_slot + (2 * n_columns + 1) * sizeof(int))
            + 2 * n_columns * sizeof(int))


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
        self.live = self.n_present + n_columns
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
        memcpy(new.live, self.live, self.n_live * sizeof(int))
        new.size, new.n_live = self.size, self.n_live
        return new

    cdef int push(self, const double* x, const int* columns, int n, const double* v,
                  double weight, int64_t arrival) noexcept nogil:
        """Store a sample, which may have values in n columns; return its slot.

        The pool must not be full. The time of `push` and `release` depends on the live columns, not
        on all.
        """
        cdef int slot = self.free_slots[self.capacity - self.size - 1], i
        memcpy(v_of(self, slot), v, self.size_v * sizeof(double))
        self.weight[slot] = weight
        self.arrival[slot] = arrival
        self.size += 1
        for i in range(n):
            if x[columns[i]] == x[columns[i]]:
                x_of(self, slot)[columns[i]] = x[columns[i]]
                self.insert(slot, columns[i])
        return slot

    cdef void insert(self, int slot, int column) noexcept nogil:
        """Insert a slot with a value into the order of a column."""
        cdef int* order = column_of(self, self.order, column)
        cdef int* rank = column_of(self, self.rank, column)
        cdef double value = x_of(self, slot)[column]
        cdef int low = 0, high = self.n_present[column], middle
        if high == 0:
            self.add_live(column)
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

    cdef void add_live(self, int column) noexcept nogil:
        cdef int i = self.n_live
        while i > 0 and self.live[i - 1] > column:
            self.live[i] = self.live[i - 1]
            i -= 1
        self.live[i] = column
        self.n_live += 1

    cdef void remove(self, int slot, int column) noexcept nogil:
        """Remove a slot, and its value, from a column."""
        cdef int* order = column_of(self, self.order, column)
        cdef int* rank = column_of(self, self.rank, column)
        cdef int place = rank[slot], i
        if place < 0:
            return
        rank[slot] = -1
        x_of(self, slot)[column] = NAN
        self.n_present[column] = self.n_present[column] - 1
        memmove(order + place, order + place + 1, (self.n_present[column] - place) * sizeof(int))
        for i in range(place, self.n_present[column]):
            rank[order[i]] = i

    cdef void release(self, int slot) noexcept nogil:
        """Remove the sample in a slot."""
        cdef int i, kept = 0
        for i in range(self.n_live):
            self.remove(slot, self.live[i])
            self.live[kept] = self.live[i]
            kept += self.n_present[self.live[i]] > 0
        self.n_live = kept
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
        """Raise a StateError if slots or orders do not follow from the state."""
        cdef Pool other
        cdef int column, i
        state = self.state()
        require(np.array_equal(np.sort(state["slots"]), np.arange(self.capacity)),
                "Pool: each slot must be there once")
        other = filled(Pool(self.capacity, self.n_columns, self.size_v), state)
        for column in range(self.n_columns):
            ranked = self.ranked(column).tolist()
            require(ranked == other.ranked(column).tolist() and all(
                        [column_of(self, self.rank, column)[<int>ranked[i]] == i
                         for i in range(len(ranked))]),
                    "Pool: a column is not sorted")
        require([self.live[i] for i in range(self.n_live)]
                == [column for column in range(self.n_columns) if self.n_present[column]],
                "Pool: the live columns are not those with a value")

    cdef object ranked(self, int column):
        """The slots sorted by a column."""
        return view(column_of(self, self.order, column), "i4", (self.n_present[column],))

    def __sizeof__(self):
        return object.__sizeof__(self) + block_size(self.capacity, self.n_columns, self.size_v)

    cdef dict views(self):
        """The samples as arrays, by slot."""
        return {
            "x": view(self.x, "f8", (self.capacity, self.n_columns)),
            "v": view(self.v, "f8", (self.capacity, self.size_v)),
            "weight": view(self.weight, "f8", (self.capacity,)),
            "arrival": view(self.arrival, "i8", (self.capacity,)),
        }

    def state(self):
        """The samples in order of arrival; their slots, followed by the free slots."""
        used = self.slots()
        free_slots = view(self.free_slots, "i4", (self.capacity - self.size,)).tolist()
        return fields_of(self, FIELDS, {
            **{name: values.take(used, 0) for name, values in self.views().items()},
            "slots": np.array(used + free_slots, np.int32),
        })

    @classmethod
    def restored(cls, values):
        """Make a pool from its state. The owner checks columns and arrivals."""
        fields = State("Pool", values, FIELDS).read(FIELDS)
        slots, arrival, x, v = fields["slots"], fields["arrival"], fields["x"], fields["v"]
        n, capacity = len(arrival), len(slots)
        require(LEAST_CAPACITY <= capacity <= max(LEAST_CAPACITY, 4 * n + 4)
                and n <= capacity and x.shape[1] <= MAX_COLUMNS and 1 <= v.shape[1] <= MAX_COLUMNS,
                "Pool: sizes that no pool has")
        require(np.array_equal(np.sort(slots), np.arange(capacity)),
                "Pool: each slot must be there once")
        require(n == 0 or (0 < arrival[0] and np.all(arrival[:n - 1] < arrival[1:])),
                "Pool: samples must be in order of arrival")    # np.diff could overflow
        require(not np.any(np.isinf(x)), "Pool: a value is infinite")
        return filled(Pool(capacity, x.shape[1], v.shape[1]), fields)

    def __reduce__(self):
        return reduced(type(self), self.state())


cdef Pool filled(Pool pool, dict fields):
    """Fill an empty pool with valid samples."""
    cdef const int[::1] slots = fields["slots"], ranked
    cdef Py_ssize_t i, n = len(fields["arrival"])
    cdef int column
    for name, values in pool.views().items():
        for i in range(n):      # one by one: numpy crashes without memory for an array of indices
            values[slots[i]] = fields[name][i]
    for i in range(n, pool.capacity):
        pool.free_slots[i - n] = slots[i]
    pool.size = <int>n
    for column in range(pool.n_columns):
        values = fields["x"][:, column]
        ranked = fields["slots"].take(np.argsort(values, kind="stable"))        # NaN last
        pool.n_present[column] = <int>(n - np.count_nonzero(np.isnan(values)))
        for i in range(pool.n_present[column]):
            column_of(pool, pool.order, column)[i] = ranked[i]
            column_of(pool, pool.rank, column)[ranked[i]] = <int>i
        if pool.n_present[column]:
            pool.add_live(column)
    return pool
