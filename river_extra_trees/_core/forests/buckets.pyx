"""Nominal values in buckets. See the header."""

from libc.string cimport memset

from ..memory cimport free, product, resized
from ..sorting cimport sort_slots


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

    cdef void clear(self, int width) noexcept nogil:
        """Empty all buckets, whose rows have this width from now on."""
        self.width = width
        memset(self.rows, 0, N_ROWS * width * sizeof(double))
        memset(self.sizes, 0, N_ROWS * sizeof(int))

    cdef void add(self, int bucket, const double* row, int n) noexcept nogil:
        """Add the sums over n samples to a bucket."""
        cdef int i
        cdef double* sums = self.row(bucket)
        for i in range(self.width):
            sums[i] += row[i]
        self.sizes[bucket] += n

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
