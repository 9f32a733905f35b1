"""Nominal values in buckets, see `split.pxd`: the sums over the samples of each bucket."""

from libc.stdint cimport uint64_t

from ..split cimport N_BUCKETS

cdef enum:
    MISSING_BUCKET = N_BUCKETS  # the bucket of the missing values
    N_ROWS = N_BUCKETS + 1

cdef class Buckets:
    cdef double* rows           # per bucket its weight, then the sums of the target
    cdef int* sizes             # number of samples
    cdef int width              # of a row
    cdef size_t n_cells         # allocated doubles in rows

    cdef int reserve(self, size_t width) except -1 nogil
    cdef size_t n_bytes(self) noexcept
    cdef void fill(self, int salt, const int* codes, int n, int missing, const double* table,
                   const int* sizes, int width) noexcept nogil
    cdef uint64_t empty(self) noexcept nogil
    cdef int put_in_order(self, int target, int* order) noexcept nogil

    cdef inline double* row(self, int bucket) noexcept nogil:
        return self.rows + <Py_ssize_t>bucket * self.width
