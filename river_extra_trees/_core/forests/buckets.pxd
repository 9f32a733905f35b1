"""Nominal values in buckets, see `split.pxd`: the sums over the samples of each bucket."""

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
    cdef void clear(self, int width) noexcept nogil
    cdef void add(self, int bucket, const double* row, int n) noexcept nogil
    cdef int put_in_order(self, int target, int* order) noexcept nogil

    cdef inline double* row(self, int bucket) noexcept nogil:
        return self.rows + <Py_ssize_t>bucket * self.width
