"""The candidates of the columns that the growth of a tree visits one by one.

These are the nominal columns, those with missing values, all columns if the weights differ or the
criterion is the entropy, and those of a wide growth. The candidates of a column are a random
threshold, with the missing values on either side, or a random cut of nominal values, see
`node_values`. The best of a column counts.
"""

cimport cython
from libc.stdint cimport uint8_t
from libc.string cimport memcpy

from ..rng cimport Rng
from ..split cimport VARIANCE, Candidate, Split
from .lane_rows cimport LaneRows, Segment
from .node_values cimport NodeValues

cdef struct Side:           # statistics of the samples on one side of a candidate
    double weight
    double* counts          # weight per segment; in a regression one sum of whole targets
    int n

cdef inline float float_at(const uint8_t* at) noexcept nogil:
    """A float of a row. Rows also hold bytes, so it may not be aligned."""
    cdef float value
    memcpy(&value, at, sizeof(float))
    return value

cdef class Candidates(LaneRows):
    cdef readonly int min_samples_leaf
    cdef Rng rng
    cdef Segment* own                   # segments of the current task
    cdef bint is_listed                 # codes, targets and weights are those of the task
    cdef Candidate best                 # of a visited lane; wide: of all so far
    # Per sample of the current task, in the order of its rows:
    cdef int* whole_targets
    cdef int* codes                     # number of its segment; 0 in a regression
    cdef double* targets                # `whole_targets`
    cdef double* weights                # times `unit`
    cdef double* values                 # values of the current lane
    # Per lane:
    cdef uint8_t* thresholds            # in the form of a row
    cdef float* scores
    cdef Split* splits                  # the best of each visited lane
    # Others:
    cdef Side node, left, missing, right
    cdef NodeValues node_values         # of a nominal column

    cdef void list_samples(self) noexcept nogil
    cdef void read_lane(self, int lane) noexcept nogil
    cdef void read_column(self, int column) noexcept nogil
    cdef void visit_lane(self, int lane) noexcept nogil
    cdef void visit_numeric(self, int column, int n, double threshold) noexcept nogil
    cdef bint visit_nominal(self, int column, int n) noexcept nogil
    cdef void number_values(self, int n) noexcept nogil
    cdef const double* own_targets(self) noexcept nogil
    cdef void visit_value(self, int column, int n, int number) noexcept nogil
    cdef void visit_cut(self, int column, int n) noexcept nogil
    cdef int top_segment(self) noexcept nogil
    cdef bint order_values(self) noexcept nogil
    cdef bint name_values(self, Split* split) noexcept nogil
    cdef void clear_sides(self) noexcept nogil
    cdef void offer_both(self, int column, double threshold) noexcept nogil
    cdef void join(self, Side* side) noexcept nogil
    cdef void offer(self, int column, double threshold, int nominal,
                    bint missing_left) noexcept nogil
    cdef bint is_best(self, int column) noexcept nogil
    cdef float score(self) noexcept nogil
    cdef double side_score(self, const Side* side) noexcept nogil

    @cython.final
    cdef inline void add(self, Side* side, int i) noexcept nogil:
        """Add a sample of the task to a side."""
        side.n += 1
        side.weight += self.weights[i]
        if self.criterion == VARIANCE:
            side.counts[0] += self.weights[i] * self.targets[i]
        else:
            side.counts[self.codes[i]] += self.weights[i]
