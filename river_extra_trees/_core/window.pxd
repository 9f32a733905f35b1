"""The window: samples that are stored for the growth of trees.

A sample occupies a slot from `push` to `release`. Values are column-major, because the growth of a
tree reads one column at a time. A descent through a tree reads a sample at x = data + slot, as
x[column * capacity]. `sort` keeps the slots in the sorted order of each column, so that the growth
of trees need not sort them again.
"""

from libc.stdint cimport int64_t, uint8_t

from .schema cimport Schema

cdef class Window:
    cdef double* data           # data[column * capacity + slot], NaN if missing; the start of the
                                #   memory block that contains all arrays below
    cdef double* target         # per slot: code of the class, or the number
    cdef double* weight         # per slot: weight of the sample, > 0
    cdef int64_t* arrival       # per slot: number of the sample in the stream, or -1 if free
    cdef int* order             # order[column * capacity + rank] = slot: ascending, missing values
                                #   last, ties in order of arrival
    cdef int* by_arrival        # the n_sorted slots of `order`, in order of arrival
    cdef int* fresh             # the n_fresh slots pushed since the last `sort`, in that order
    cdef int* free_slots        # stack of capacity - size free slots
    cdef int* merged            # scratch for `sort`: 2 * capacity
    cdef int* leaf              # per fresh slot: the leaf recorded by the owner, or -1; shares the
                                #   memory of `merged`
    cdef readonly int capacity
    cdef readonly int n_columns     # columns with values (the schema may have newer ones)
    cdef readonly int size          # number of stored samples
    cdef readonly int n_fresh
    cdef readonly int n_sorted      # size - n_fresh
    cdef readonly int64_t n_seen    # number of samples pushed so far
    cdef int column_capacity

    cdef int reserve(self, int capacity, int n_columns) except -1 nogil
    cdef int reserve_one(self, int n_columns, int most=*) except -1 nogil
    cdef int fill(self, const double[:, ::1] data, const double[::1] target,
                  const double[::1] weight, const int64_t[::1] arrival, int n_sorted) except -1
    cdef int move(self, int capacity, int column_capacity) except -1 nogil
    cdef void extend(self, int n_columns) noexcept nogil
    cdef void push(self, const double* values, Py_ssize_t stride, int n_columns, int n,
                   const double* targets, const double* weights, int* slots) noexcept nogil
    cdef void sort(self) noexcept nogil
    cdef int slide(self, const double* row, double target, double weight, int gone) noexcept nogil
    cdef void release(self, const uint8_t* gone) noexcept nogil
    cdef void free_slot(self, int slot) noexcept nogil
    cdef void keep_arrived(self) noexcept nogil
    cdef void forget_leaves(self) noexcept nogil
    cdef void clear(self) noexcept nogil
    cdef int copy(self, Window other, int slot) noexcept nogil
    cdef Window sorted_copy(self)
    cdef tuple renumbered(self)
    cdef bint is_in_order(self) noexcept
    cdef int check_columns(self, Schema schema) except -1
    cdef int slot_at(self, int i) noexcept nogil
