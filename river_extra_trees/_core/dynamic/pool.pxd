"""The active points of a cloud of dynamic trees, shared by all its particles.

Row-major, because a step walks one point down many trees, and a leaf sums a few points in full.
"""

from libc.stdint cimport int64_t

cdef class Pool:
    cdef double* x              # x[slot * n_columns + column]: number or code, NaN where missing
    cdef double* v              # v[slot * size_v ...]: what leaf statistics are made of
    cdef double* weight         # per slot
    cdef int64_t* arrival       # per slot: number of the sample in the stream, or -1 when free
    cdef int* free_slots        # stack of capacity - size free slots
    cdef int* order             # order[column * capacity + rank]: slot; ascending, equal values in
                                #   order of arrival, missing ones left out
    cdef int* rank              # rank[column * capacity + slot], -1 where missing
    cdef int* n_present         # per column: points that are not missing
    cdef readonly int n_columns
    cdef readonly int size_v
    cdef readonly int capacity
    cdef readonly int size      # points held

    cdef void clear(self) noexcept nogil
    cdef int reserve(self, int capacity, int n_columns, int size_v) except -1
    cdef int fill(self, const int[::1] slots, const double[:, ::1] x, const double[:, ::1] v,
                  const double[::1] weight, const int64_t[::1] arrival) except -1
    cdef int push(self, const double* x, const double* v, double weight, int64_t arrival) except -1
    cdef void release(self, int slot) noexcept nogil
    cdef void insert(self, int slot, int column) noexcept nogil
    cdef void remove(self, int slot, int column) noexcept nogil
