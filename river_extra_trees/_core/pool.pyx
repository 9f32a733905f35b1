"""The active points of a cloud of dynamic trees. See the header for the layout."""

from libc.math cimport NAN, isnan
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memmove


cdef class Pool:
    """Points in slots; a slot is taken by `push` and given back by `release`."""

    def __cinit__(self, int n_columns=0, int size_v=1):
        self.reserve(16, n_columns, size_v)

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

    def __reduce__(self):
        points = [(slot, *self.point(slot)) for slot in self.slots()]
        free_slots = [self.free_slots[i] for i in range(self.capacity - self.size)]
        return _pool_from_state, (self.n_columns, self.size_v, self.capacity, points, free_slots)


def _pool_from_state(int n_columns, int size_v, int capacity, points, free_slots):
    cdef Pool pool = Pool(n_columns, size_v)
    cdef int slot, i
    assert capacity >= pool.capacity and len(points) + len(free_slots) == capacity
    pool.reserve(capacity, n_columns, size_v)
    for slot, x, v, weight, arrival in points:      # in order of arrival, as `insert` wants them
        assert 0 <= slot < capacity and len(x) == n_columns and len(v) == size_v
        for i in range(n_columns):
            pool.x[slot * n_columns + i] = x[i]
            pool.insert(slot, i)
        for i in range(size_v):
            pool.v[slot * size_v + i] = v[i]
        pool.weight[slot] = weight
        pool.arrival[slot] = arrival
    for i in range(len(free_slots)):
        pool.free_slots[i] = free_slots[i]
    pool.size = len(points)
    return pool
