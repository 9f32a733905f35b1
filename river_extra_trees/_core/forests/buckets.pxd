"""Nominal values in buckets: the sums over the samples of each bucket.

In a node with up to MANY_VALUES values each value has a bucket. If there are more, a random
function puts them into N_BUCKETS, see `split.pxd`; the missing values have a bucket of their own.
"""

cimport cython
from libc.stdint cimport uint64_t

from ..schema cimport Schema
from ..split cimport N_BUCKETS

cdef enum:
    MISSING_BUCKET = N_BUCKETS  # if there are many values
    N_ROWS = N_BUCKETS + 1

cdef inline int n_buckets_for(Schema schema) noexcept nogil:
    """Number of buckets for which a growth needs memory."""
    return 0 if schema.is_numeric() else <int>N_ROWS

@cython.final
cdef class Buckets:
    cdef double* rows           # per bucket its weight, then the sums of the target
    cdef int* sizes             # number of samples
    cdef int width              # of a row

    cdef int lay_out(self, size_t* end, int n_rows, size_t width) except -1 nogil
    cdef int number_values(self, const double* values, int n, double* met,
                           int* found) noexcept nogil
    cdef void clear(self, int n_rows, int width) noexcept nogil
    cdef void add_numbers(self, const int* buckets, const double* weights, const double* targets,
                          int n) noexcept nogil
    cdef void add_classes(self, const int* buckets, const double* weights, const int* codes,
                          int n) noexcept nogil
    cdef int put_in_order(self, int target, int* order) noexcept nogil
    cdef uint64_t group(self, const int* order, int n, bint with_empty) noexcept nogil

    cdef inline double* row(self, int bucket) noexcept nogil:
        return self.rows + <Py_ssize_t>bucket * self.width
