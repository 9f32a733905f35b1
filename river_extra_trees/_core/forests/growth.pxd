"""The growth of an extremely randomised tree (Geurts, Ernst and Wehenkel 2006), in small steps.

A growth starts from a list of samples, all in one leaf, and the columns that have a value among
them. It splits the leaf, then its children and so on, left before right, until the leaves are pure
or the rules forbid a split. At each node it draws `max_features` of the features that vary. The
candidates are one random threshold between the smallest and the largest value of a numeric feature,
and one random cut of the values of a nominal feature in the order of their mean targets, see
`node_values`. The best candidate is the split, a random one among equals.

The samples are encoded as rows (`lanes.h`), in which each column has a lane. A node is a range of
rows, one after the other, in one of two buffers; in a classification the rows of a class follow
each other, a *segment*. A split moves the rows to the other buffer, the left child first; within a
child they keep their order. So each pass over a node is sequential. There are three:

    DRAW     the thresholds of all lanes, and which of them vary
    COUNT    the samples of each segment up to the thresholds; in a regression the sums of targets
    SPLIT    move the rows to the children that need them

COUNT takes all *fast* lanes together: numeric columns without a missing value in the growth, if all
weights are the same power of two and the criterion is not the entropy. VISIT takes the others one
by one. A growth is *wide* if it is offered many more columns than a node tries, such as the words
of a text, or if the rows would take too much memory. Then there are no rows: a node draws columns
and visits them in the buffer of the samples.

A lane holds floats, of a nominal value its rounded code: enough to tell whether the lane varies.
VISIT reads the code in the buffer. Doubles that floats do not represent are rounded; if all values
of a column are within a factor of two, such as times, their smallest is subtracted before. The
threshold of the split is then the largest double that is rounded to the left side.

The targets of a regression become whole numbers in each node, multiples of a power of two below a
billionth to a ten thousandth of their range, so that sums do not depend on their order.

`advance` does a given number of steps, so the cost of a growth is spread over many samples of the
stream; it stops after a pass. The state of a growth is a function of the samples, the random
numbers and the number of steps, so a model file contains only that number.

One object may grow several trees, one after the other: each call names the tree.
"""

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint64_t

from ..rng cimport Rng
from ..schema cimport Schema
from ..split cimport Candidate, Split
from ..tree cimport Kind, Tree
from .buffer cimport Buffer
from .node_values cimport NodeValues

cdef extern from "lanes.h":
    ctypedef struct Lanes:
        int n_bytes, n_full, n_other, size, n_fast, n_lanes

    ctypedef struct Segment:
        int code, n

    ctypedef struct Range:
        double low, high
        int has_missing, is_small, is_exact, is_short, kind

    ctypedef struct Test:
        const uint8_t* values
        size_t stride
        int is_float
        float limit

cdef enum:
    MOST_CELLS = 1 << 23    # of the rows: samples times columns

cdef enum:                  # the kind of a column in the rows:
    BYTES = 0               # whole numbers from 0 to 255
    FULL = 1                # other numbers, none is missing
    OTHERS = 2              # nominal, with missing values, or all columns if not `is_plain`

cdef struct Lane:           # a column in the rows; a value x is encoded as (x - offset) * scale
    int column
    bint is_byte
    double offset, scale
    bint is_exact           # offset 0, scale 1, and no value is rounded

cdef struct Task:           # a leaf to be split
    int node, depth
    int start, n            # its rows
    int side                # the buffer of its rows
    int n_segments          # its segments are on top of `segments`
    int n_active            # wide: columns[:n_active] contains all columns that may vary in it

cdef struct Side:           # statistics of the samples on one side of a candidate
    double weight
    double* counts          # weight per segment; in a regression one sum of whole targets
    int n

cdef enum Phase:            # what a growth does next
    SORT = 0                # bring the samples into the order of their classes
    MEASURE = 1             # find the range of a column
    ENCODE = 2              # encode some samples
    OPEN = 3                # take the next task
    DRAW = 4
    COUNT = 5
    VISIT = 6
    SPLIT = 7
    DONE = 8

@cython.final
cdef class Growth:
    # The rules.
    cdef readonly int criterion
    cdef readonly int max_depth
    cdef readonly int min_samples_split
    cdef readonly int min_samples_leaf

    # What is grown.
    cdef Buffer buffer                  # the samples
    cdef Rng rng
    cdef int max_features
    cdef readonly int64_t n_steps       # number of steps since `begin`
    cdef int n_samples
    cdef int root                       # the leaf that is split ...
    cdef bint keeps_root                # ... and whether it keeps its statistics if it is not
    cdef bint is_plain                  # all weights are the same power of two
    cdef bint is_wide
    cdef bint has_items                 # whether `items` follow the rows
    cdef double unit                    # power of two by which weights are multiplied in scores

    # State of the growth.
    cdef Phase phase
    cdef int at                         # MEASURE, ENCODE, VISIT: the next column, run or lane
    cdef int n_runs                     # of adjacent samples, which begin at `spare`
    cdef Task task                      # current task
    cdef int n_tasks
    cdef int64_t n_levels               # sum of n times the bits of n over the tasks
    cdef int n_segments                 # all in `segments`
    cdef Segment* own                   # segments of the current task
    cdef bint is_listed                 # codes, targets and weights are those of the task
    cdef bint is_counted                # COUNT is done for the task
    cdef int lane                       # the lane of the split; -1: none yet
    cdef int n_left, n_visited          # wide: columns[:n_left] are not drawn yet; drawn ones
    cdef Candidate best                 # of a visited lane; wide: of all so far
    cdef double center, grain           # whole target = (target - center) * grain
    cdef int total                      # sum of the whole targets
    cdef Lanes lanes
    cdef int n_words                    # of a set of lanes

    # Memory per column, kept.
    cdef int* columns                   # those that were offered
    cdef int n_offered
    cdef bint has_nominal               # whether one of these is nominal
    cdef uint8_t* nominal               # by number of the column: whether it is nominal
    cdef int column_capacity
    # All other arrays are parts of one memory block, which lives from `reserve` to `release`.
    cdef char* block
    cdef size_t block_bytes
    # Per sample, in the order in which they were given:
    cdef int* places
    cdef double* numbers                # targets of a regression, or residuals of a model
    cdef int* positions                 # in the root
    cdef int* order                     # the samples of a regression, those of a leaf adjacent
    # Per sample of the current task, in the order of its rows:
    cdef int* whole_targets
    cdef int* codes                     # number of its segment; 0 in a regression
    cdef double* targets                # `whole_targets`
    cdef double* weights                # times `unit`
    cdef double* values                 # values of the current lane
    cdef uint8_t* sides                 # whether it goes right, if the split is not of a fast lane
    cdef int* spare
    # Per row:
    cdef (uint8_t*)[2] rows
    cdef (int*)[2] items                  # numbers of the samples
    # Per lane:
    cdef Lane* of_lanes
    cdef uint8_t* thresholds            # in the form of a row
    cdef float* scores
    cdef int* counts                    # counts[segment * lanes.n_fast + lane] up to the threshold
    cdef int* sums                      # of the whole targets of the samples up to the threshold
    cdef int* varying                   # scratch
    cdef Split* splits                  # the best of each visited lane
    cdef uint64_t* words                # random numbers
    cdef uint64_t* vary                 # sets of lanes: those that vary, ...
    cdef uint64_t* chosen               # ... are tried now, ...
    cdef uint64_t* best_lanes           # ... and have the best score
    cdef Range* ranges                  # per offered column
    # Others:
    cdef Task* tasks                    # a stack
    cdef Segment* segments              # a stack
    cdef Segment* left_segments         # scratch
    cdef int* lefts                     # per segment of the task: samples that go left
    cdef int* class_counts              # SORT
    cdef int n_classes
    cdef Side node, left, missing, right
    cdef NodeValues node_values         # of a nominal column

    cdef int reserve_columns(self, int n_columns) except -1 nogil
    cdef void offer_column(self, Schema schema, int column) noexcept nogil
    cdef int reserve(self, Tree* tree, const Kind* kind, int n_labels, int n_samples,
                     int max_features) except -1 nogil
    cdef size_t lay_out(self) except 0 nogil
    cdef void trim(self) noexcept nogil
    cdef void release(self) noexcept nogil
    cdef void begin(self, int node, int depth, bint keeps_root, int n_samples,
                    Rng rng) noexcept nogil
    cdef double expected_steps(self) noexcept nogil
    cdef bint advance(self, Tree* tree, int64_t n_steps) noexcept nogil
    cdef void step(self, Tree* tree) noexcept nogil
    cdef void sort_samples(self, Tree* tree) noexcept nogil
    cdef void find_runs(self) noexcept nogil
    cdef void measure_column(self, int k) noexcept nogil
    cdef void assign_lanes(self) noexcept nogil
    cdef void add_lanes(self, int kind, int lane, int stop) noexcept nogil
    cdef void encode_run(self, int run) noexcept nogil
    cdef void encode_lane(self, int lane, int at, int n) noexcept nogil
    cdef size_t byte_of(self, int lane) noexcept nogil
    cdef const uint8_t* own_rows(self) noexcept nogil
    cdef const int* own_items(self) noexcept nogil
    cdef void finish(self, Tree* tree) noexcept nogil
    cdef void push_task(self, Task task) noexcept nogil
    cdef bint take_task(self) noexcept nogil
    cdef void open_task(self, Tree* tree) noexcept nogil
    cdef bint read_targets(self) noexcept nogil
    cdef double weight(self, int item) noexcept nogil
    cdef void leave(self, Tree* tree) noexcept nogil
    cdef void set_leaf(self, Tree* tree, const Task* task, const Segment* segments) noexcept nogil
    cdef bint is_final(self, int n, int n_segments, int depth) noexcept nogil
    cdef void draw(self, Tree* tree) noexcept nogil
    cdef void choose(self, int n_vary, int n_chosen) noexcept nogil
    cdef void count(self) noexcept nogil
    cdef void visit_next(self) noexcept nogil
    cdef void visit_lane(self, int lane) noexcept nogil
    cdef void visit_column(self) noexcept nogil
    cdef void list_samples(self) noexcept nogil
    cdef void read_lane(self, int lane) noexcept nogil
    cdef void read_column(self, int column) noexcept nogil
    cdef void find_split(self, Tree* tree) noexcept nogil
    cdef void choose_others(self, Tree* tree) noexcept nogil
    cdef void split_fast(self, Tree* tree) noexcept nogil
    cdef void split_other(self, Tree* tree, const Split* found) noexcept nogil
    cdef void split_task(self, Tree* tree, const Split* split, const Test* test) noexcept nogil
    cdef void move(self, const Test* test, const Task* left, const Task* right) noexcept nogil
    cdef double gain(self) noexcept nogil
    cdef void add_child(self, Tree* tree, const Task* child,
                        const Segment* segments) noexcept nogil
    cdef double side_score(self, const Side* side) noexcept nogil
    cdef void visit_numeric(self, int column, int n, double threshold) noexcept nogil
    cdef void clear_sides(self) noexcept nogil
    cdef bint visit_nominal(self, int column, int n) noexcept nogil
    cdef void number_values(self, int n) noexcept nogil
    cdef const double* own_targets(self) noexcept nogil
    cdef void visit_value(self, int column, int n, int number) noexcept nogil
    cdef void visit_cut(self, int column, int n) noexcept nogil
    cdef int top_segment(self) noexcept nogil
    cdef bint order_values(self) noexcept nogil
    cdef bint name_values(self, Split* split) noexcept nogil
    cdef void add(self, Side* side, int i) noexcept nogil
    cdef void offer_both(self, int column, double threshold) noexcept nogil
    cdef void join(self, Side* side) noexcept nogil
    cdef void offer(self, int column, double threshold, int nominal,
                    bint missing_left) noexcept nogil
    cdef bint is_best(self, int column) noexcept nogil
    cdef float score(self) noexcept nogil
