"""The nominal values of a node of a growing tree, and the splits that they make.

The values have numbers, in the order in which they come; a missing value is one, too. Two values
make one split. If there are more, their order by mean target is cut at one random border, see
`value_sets`, as a numeric column has one random threshold.

A column *tells* something if the targets of its values differ by more than chance. Let B be the
sum over the values of their (sum of targets)^2 / weight, C the same for the node, and S the sum of
squared targets; in a classification these are sums over the indicators of the classes. If the
column says nothing, (n - 1) (B - C) / (S - C) has the mean k - 1 for k values, and a variance of
at most 2 (k - 1). The *surplus* is what it is above the mean.
"""

cimport cython
from libc.stdint cimport uint8_t, uint64_t

from ..value_sets cimport Cuts, ValueSet
from .lane_rows cimport Segment

@cython.final
cdef class NodeValues:
    cdef int n_values
    cdef int missing                # number of the missing value; -1: there is none
    cdef int n_samples
    cdef Cuts cuts
    # Parts of the memory of a growth.
    cdef double* codes              # of each value
    cdef double* weights            # per value the sums over its samples: of their weights, ...
    cdef double* totals             # ... and of their weights times a target
    cdef int* sizes                 # per value the number of its samples
    cdef int* counts                # counts[segment * n_values + number], if they are few
    cdef int* table                 # by hash, or by number in the growth: number of a value
    cdef uint64_t mask, factor      # of the hashes
    cdef int shift

    cdef int lay_out(self, size_t* end, size_t most_values) except -1 nogil
    cdef int lay_out_ints(self, size_t* end, size_t most_values, size_t n_counts) except -1 nogil
    cdef void begin(self, int n, uint64_t salt) noexcept nogil
    cdef void number(self, const double* values, int n, int* found) noexcept nogil
    cdef void number_rows(self, const uint8_t* lane, size_t size, int n, int* found) noexcept nogil
    cdef void name(self, const int* numbers, const double* values) noexcept nogil
    cdef int add_value(self, double code) noexcept nogil
    cdef void count(self, const int* numbers, const Segment* segments,
                    int n_segments) noexcept nogil
    cdef double surplus_of_counts(self, const Segment* segments, int n_segments) noexcept nogil
    cdef double beyond_chance(self, double of_values, double of_node, double squares) noexcept nogil
    cdef void add_rest(self, int n) noexcept nogil
    cdef double surplus(self, const int* numbers, const double* weights, const int* segments,
                        const double* targets) noexcept nogil
    cdef bint order(self, const int* numbers, const double* weights, const int* segments,
                    const double* targets, int top, double total, double weight) noexcept nogil
    cdef bint order_counts(self, int top, int n) noexcept nogil
    cdef bint find_cuts(self, double mean) noexcept nogil
    cdef bint is_left(self, int number, int cut) noexcept nogil
    cdef bint is_left_without(self, int number, double weight, double target,
                              int cut) noexcept nogil
    cdef int n_left(self, int cut) noexcept nogil
    cdef ValueSet* new_set(self, int cut, int* order, int* spare) noexcept nogil
