"""Nominal values in buckets. See the header."""

from libc.stdint cimport uint64_t
from libc.string cimport memset

from ..memory cimport free, product, resized
from ..schema cimport OTHER
from ..sorting cimport sort_slots
from ..split cimport N_BUCKETS, bucket_of


cdef class Buckets:
    """The sums over the samples of each bucket; they need memory only after `reserve`."""

    def __dealloc__(self):
        free(self.rows)
        free(self.sizes)

    cdef int reserve(self, size_t width) except -1 nogil:
        """Allocate the memory for rows of this width."""
        if product(N_ROWS, width) > self.n_cells:
            self.rows = <double*>resized(self.rows, product(N_ROWS, width), sizeof(double))
            self.sizes = <int*>resized(self.sizes, N_ROWS, sizeof(int))
            self.n_cells = N_ROWS * width
        return 0

    cdef size_t n_bytes(self) noexcept:
        """Number of allocated bytes."""
        return self.n_cells * sizeof(double) + (N_ROWS * sizeof(int) if self.n_cells else 0)

    cdef void fill(self, int salt, const int* codes, int n, int missing, const double* table,
                   const int* sizes, int width) noexcept nogil:
        """Put n nominal values, whose codes are counted from OTHER, into their buckets.

        The row of code i in the table contains the sums over its sizes[i] samples. `missing` is the
        code of the missing values.
        """
        cdef int i, c, bucket
        cdef const double* row
        self.width = width
        memset(self.rows, 0, N_ROWS * width * sizeof(double))
        memset(self.sizes, 0, N_ROWS * sizeof(int))
        for i in range(n):
            bucket = MISSING_BUCKET if codes[i] == missing else bucket_of(salt, codes[i] + OTHER)
            row = table + <Py_ssize_t>codes[i] * width
            for c in range(width):
                self.row(bucket)[c] += row[c]
            self.sizes[bucket] += sizes[codes[i]]

    cdef uint64_t empty(self) noexcept nogil:
        """The set of the buckets without samples, as in the threshold of a split."""
        cdef int bucket
        cdef uint64_t found = 0
        for bucket in range(N_BUCKETS):
            found |= <uint64_t>(self.sizes[bucket] == 0) << bucket
        return found

    cdef int put_in_order(self, int target, int* order) noexcept nogil:
        """List the buckets with samples, the smallest mean of a target first; return their number.

        `target` is the place of its sums in a row.
        """
        cdef int bucket, n = 0
        cdef double[N_ROWS] means
        cdef int[N_ROWS] spare
        for bucket in range(N_ROWS):
            if self.sizes[bucket]:
                means[bucket] = self.row(bucket)[target] / self.row(bucket)[0]
                order[n] = bucket
                n += 1
        sort_slots(order, spare, means, n)
        return n
