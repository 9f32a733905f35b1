"""The candidates of the columns that the growth of a tree visits one by one.

These are the nominal columns, those with missing values, all columns if the weights differ or the
criterion is the entropy, and those of a wide growth. The candidates of a column are a random
threshold, with the missing values on either side, or a random cut of nominal values, see
`node_values`. The best of a column counts.

A column may say nothing, and a cut of its ordered values or a threshold would win by chance. So a
growth of LEAST_TOLD samples or more that has rows sums up over its nodes what nominal columns, and
in a regression all columns, tell beyond chance, in standard deviations of chance: see
`NodeValues.surplus`; a threshold has two values, and its nodes count by their samples. Nodes in
which hardly any target differs count nothing: most of those of a rare class, which tell little of
columns, but would hide what the other ones tell. The
*evidence* of a column is its running mean over the growths of a group. Below LEAST_EVIDENCE the
column is *silent*: a candidate only where no other one allows a split. Fewer samples cannot show
that a column says nothing.
"""

cimport cython
from libc.stdint cimport uint8_t

from ..rng cimport Rng
from ..split cimport ENTROPY, VARIANCE, Candidate, Split
from .lane_rows cimport LaneRows, Segment
from .node_values cimport NodeValues

cdef extern from "lanes.h":
    float ratio_of(float sum_left, float sum_right, float n_left, float n_right) nogil

cdef enum:
    LEAST_TOLD = 500
    BITS_OF_SUM = 30        # of the largest sum of whole targets
    LEAST_OTHERS = 3        # samples of a node that is judged, beside its largest class

cdef struct Side:           # statistics of the samples on one side of a candidate
    double weight
    double* counts          # weight per segment; in a regression one sum of whole targets
    int n

cdef class Candidates(LaneRows):
    cdef readonly int min_samples_leaf
    cdef Rng rng
    cdef Segment* own                   # segments of the current task
    cdef bint is_listed                 # codes, targets and weights are those of the task
    cdef Candidate best                 # of a visited lane; wide: of all so far
    cdef bint is_judged                 # whether what columns tell is summed up
    cdef bint has_counts                # `node_values` has counted the values, missing ones too
    cdef double center, grain           # whole target = (target - center) * grain
    # Per sample, in the order in which they were given:
    cdef double* numbers                # targets of a regression, or residuals of a model
    # Per sample of the current task, in the order of its rows:
    cdef int* whole_targets
    cdef int total                      # sum of the whole targets
    cdef int* codes                     # number of its segment; 0 in a regression
    cdef double* targets                # `whole_targets`
    cdef double* weights                # times `unit`
    cdef double* values                 # values of the current lane
    # Per lane:
    cdef uint8_t* thresholds            # in the form of a row
    cdef float* scores
    cdef Split* splits                  # the best of each visited lane
    cdef double* surplus                # what its column told beyond chance, in all nodes so far
    cdef double* freedom                # degrees of freedom of this sum
    cdef uint8_t* is_silent             # whether its column told nothing in former growths
    # Others:
    cdef int n_silent                   # lanes
    cdef Side node, left, missing, right
    cdef NodeValues node_values         # of a nominal column

    cdef bint read_targets(self) noexcept nogil
    cdef void list_samples(self) noexcept nogil
    cdef void read_lane(self, int lane) noexcept nogil
    cdef void read_column(self, int column) noexcept nogil
    cdef void visit_lane(self, int lane) noexcept nogil
    cdef void visit_numeric(self, int column, int n, double threshold) noexcept nogil
    cdef void judge(self, int lane) noexcept nogil
    cdef bint has_others(self) noexcept nogil
    cdef void judge_thresholds(self) noexcept nogil
    cdef void keep_evidence(self) noexcept nogil
    cdef void begin_evidence(self) noexcept nogil
    cdef void leave_out(self) noexcept nogil
    cdef bint is_nominal(self, int lane) noexcept nogil
    cdef void visit_nominal(self, int column, int n) noexcept nogil
    cdef void number_values(self, int n) noexcept nogil
    cdef void number_column(self, int k) noexcept nogil
    cdef void number_lane(self, int lane) noexcept nogil
    cdef void count_values(self) noexcept nogil
    cdef const double* own_targets(self) noexcept nogil
    cdef void visit_value(self, int column, int n, int sample) noexcept nogil
    cdef void visit_cut(self, int column, int n) noexcept nogil
    cdef void fill_sides(self, int n, int number, int cut, int top) noexcept nogil
    cdef int top_segment(self) noexcept nogil
    cdef bint order_values(self) noexcept nogil
    cdef bint name_values(self, Split* split) noexcept nogil
    cdef void offer_both(self, int column, double threshold) noexcept nogil
    cdef void join(self, Side* side) noexcept nogil
    cdef void offer(self, int column, double threshold, int nominal,
                    bint missing_left) noexcept nogil
    cdef double side_score(self, const Side* side) noexcept nogil
    cdef double gain(self, const Side* node, const Side* left, const Side* right) noexcept nogil

    @cython.final
    cdef inline double unscaled(self, double found) noexcept nogil:
        """A difference of scores in units of weights and targets."""
        found /= self.unit
        return found if self.criterion != VARIANCE else found / self.grain / self.grain

    @cython.final
    cdef inline void add(self, Side* side, int i) noexcept nogil:
        """Add a sample of the task to a side."""
        side.n += 1
        side.weight += self.weights[i]
        if self.criterion == VARIANCE:
            side.counts[0] += self.weights[i] * self.targets[i]
        else:
            side.counts[self.codes[i]] += self.weights[i]

    @cython.final
    cdef inline void clear_sides(self) noexcept nogil:
        cdef int s
        for s in range(self.task.n_segments):
            self.left.counts[s] = self.right.counts[s] = self.missing.counts[s] = 0.0
        self.left.weight = self.right.weight = self.missing.weight = 0.0
        self.left.n = self.right.n = self.missing.n = 0

    @cython.final
    cdef inline bint is_smaller_left(self, int top) noexcept nogil:
        """Whether the mean target is smaller on the left: only then a cut counts."""
        return (self.left.counts[top] * self.right.weight
                < self.right.counts[top] * self.left.weight)

    @cython.final
    cdef inline float score(self) noexcept nogil:
        """The score of a split into `left` and `right`: as that of the fast lanes, a float."""
        cdef float left = 0.0, right = 0.0, count
        cdef int s
        if self.criterion == ENTROPY:
            return <float>(self.side_score(&self.left) + self.side_score(&self.right))
        for s in range(self.task.n_segments):
            count = <float>self.left.counts[s]
            left += count * count
            count = <float>self.right.counts[s]
            right += count * count
        return ratio_of(left, right, <float>self.left.weight, <float>self.right.weight)

    @cython.final
    cdef inline bint is_best(self, int column) noexcept nogil:
        """Whether the two sides make the best candidate so far; keep its score and column then."""
        if (self.left.n < self.min_samples_leaf or self.right.n < self.min_samples_leaf
                or not self.left.weight > 0.0 or not self.right.weight > 0.0):
            return False
        return self.is_higher(self.score(), column)

    @cython.final
    cdef inline bint is_higher(self, float score, int column) noexcept nogil:
        """Whether a score is the best so far; keep it and its column then."""
        if self.best.split.feature >= 0 and not score > self.best.score:
            return False
        self.best.score, self.best.split.feature = score, column
        return True
