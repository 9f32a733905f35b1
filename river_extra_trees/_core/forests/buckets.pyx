"""Nominal values in buckets. See the header."""

cimport cython
from libc.stdint cimport uint64_t
from libc.string cimport memset

from ..allocation cimport product, carve
from ..sorting cimport sort_slots
from ..split cimport MANY_VALUES, NO_VALUE


@cython.final
cdef class Buckets:
    """The sums over the samples of each bucket, in the memory of a growth."""

    cdef int lay_out(self, size_t* end, int n_rows, size_t width) except -1 nogil:
        """Take memory for rows of this width: N_ROWS, or none without nominal columns."""
        self.rows = <double*>carve(end, product(n_rows, width), sizeof(double))
        self.sizes = <int*>carve(end, n_rows + n_rows % 2, sizeof(int))     # aligns what follows
        return 0

    cdef int number_values(self, const double* values, int n, double* met,
                           int* found) noexcept nogil:
        """Number the values of n samples in the order in which they come; return their number.

        met[number] is the code of a value, NO_VALUE for missing ones. found[i] is the number of the
        value of sample i. If there are more than MANY_VALUES values, the result is
        MANY_VALUES + 1, and `found` is not complete.
        """
        cdef int i, k, n_met = 0
        cdef double value
        for i in range(n):
            value = values[i] if values[i] == values[i] else NO_VALUE
            k = 0
            while k < n_met and met[k] != value:
                k += 1
            if k == n_met:
                n_met += 1
                if k == MANY_VALUES:
                    break
                met[k] = value
            found[i] = k
        return n_met

    cdef void clear(self, int n_rows, int width) noexcept nogil:
        """Begin with so many empty buckets."""
        self.width = width
        memset(self.rows, 0, <size_t>n_rows * width * sizeof(double))
        memset(self.sizes, 0, n_rows * sizeof(int))

    cdef void add_numbers(self, const int* buckets, const double* weights, const double* targets,
                          int n) noexcept nogil:
        """Add n samples, whose targets are numbers, to their buckets."""
        cdef int i
        cdef double* row
        cdef double* rows = self.rows
        cdef int* sizes = self.sizes
        for i in range(n):
            row = rows + 2 * buckets[i]
            row[0] += weights[i]
            row[1] += weights[i] * targets[i]
            sizes[buckets[i]] += 1

    cdef void add_classes(self, const int* buckets, const double* weights, const int* codes,
                          int n) noexcept nogil:
        """Add n samples, whose targets are class codes, to their buckets."""
        cdef int i
        cdef double* row
        cdef double* rows = self.rows
        cdef int* sizes = self.sizes
        cdef Py_ssize_t width = self.width
        for i in range(n):
            row = rows + buckets[i] * width
            row[0] += weights[i]
            row[1 + codes[i]] += weights[i]
            sizes[buckets[i]] += 1

    cdef int put_in_order(self, int target, int* order) noexcept nogil:
        """List the buckets with samples, the smallest mean of a target first; return their number.

        `target` is the place of its sums in a row.
        """
        cdef int bucket, n = 0
        cdef double[N_ROWS] means
        cdef int[N_ROWS] spare
        for bucket in range(N_ROWS):    # no branch: which buckets are empty is random
            means[bucket] = self.row(bucket)[target] / self.row(bucket)[0]
            order[n] = bucket
            n += self.sizes[bucket] > 0
        sort_slots(order, spare, means, n)
        return n

    cdef uint64_t group(self, const int* order, int n, bint with_empty) noexcept nogil:
        """The set of the first n buckets of an order, and of all empty ones if these are asked for.

        Bit b of the result is for bucket b.
        """
        cdef int i, bucket
        cdef uint64_t found = 0
        for i in range(n):
            found |= <uint64_t>1 << order[i]
        if with_empty:
            for bucket in range(N_ROWS):
                found |= <uint64_t>(self.sizes[bucket] == 0) << bucket
        return found
