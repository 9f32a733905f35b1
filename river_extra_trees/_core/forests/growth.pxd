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
by one. A growth is *wide* if it is offered many more columns than a node tries, if its samples have
few values, such as the words of a text, or if the rows would take too much memory. Then there are
no rows: a node draws columns and visits them one by one, see `column_lists`.

The threshold of a split by rounded values is the largest double that is rounded to the left side.

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
from ..split cimport Split
from ..tree cimport Kind, Tree
from .column_lists cimport ColumnLists
from .lane_rows cimport Segment, Task

cdef extern from "lanes.h":
    ctypedef struct Test:
        const uint8_t* values
        size_t stride
        int is_float
        float limit

cdef enum:
    MOST_CELLS = 1 << 23    # of the rows: samples times columns
    TASK_BYTES = 24         # of a `Task` before `n_active`
    MOST_VALUES = 1 << 22   # of the samples of a growth whose columns are listed
    SPARSE = 4              # then at most one of so many cells has a value

cdef inline bint are_few(int64_t n_values, int64_t n_cells) noexcept nogil:
    """Whether a growth lists the samples with a value of a column."""
    return SPARSE * n_values < n_cells and n_values <= MOST_VALUES

cdef inline void count_up(int* numbers, int n) noexcept nogil:
    """Write 0, 1, 2 ..."""
    cdef int i
    for i in range(n):
        numbers[i] = i

cdef enum Phase:            # what a growth does next
    SORT = 0                # bring the samples into the order of their classes
    MEASURE = 1             # find the range of a column
    ENCODE = 2              # encode some samples
    LIST = 3                # list the entries of a row or a column
    OPEN = 4                # take the next task
    DRAW = 5
    COUNT = 6
    VISIT = 7
    SPLIT = 8
    DONE = 9

cdef struct Layout:         # what `lay_out` depends on
    int n_samples           # see `room`; 0: the block is not divided
    int n_offered, n_values, n_classes, min_samples_leaf
    bint is_wide, is_sparse, has_nominal, has_class_counts

@cython.final
cdef class Growth(ColumnLists):
    # The rules.
    cdef readonly int max_depth
    cdef readonly int min_samples_split

    # What is grown.
    cdef int root                       # the leaf that is split ...
    cdef bint keeps_root                # ... and whether it keeps its statistics if it is not
    cdef bint has_items                 # whether `items` follow the rows
    cdef bint is_fast                   # all lanes are fast: there is no memory for others

    # State of the growth.
    cdef Phase phase
    cdef int at                         # before OPEN: the next column, run or row; VISIT: lane
    cdef int n_tasks
    cdef int64_t n_levels               # sum of `levels_of` the tasks
    cdef int n_segments                 # all in `segments`
    cdef bint is_counted                # COUNT is done for the task
    cdef int lane                       # the lane of the split; -1: none yet
    cdef int n_words                    # of a set of lanes

    # All arrays but those per column are parts of one memory block, from `reserve` to `release`.
    cdef char* block
    cdef size_t block_bytes
    cdef Layout layout                  # for which the block is divided
    # Per sample, in the order in which they were given:
    cdef int* order                     # the samples of a regression, those of a leaf adjacent
    # Per sample of the current task, in the order of its rows:
    # Per lane:
    cdef int* counts                    # counts[segment * lanes.n_fast + lane] up to the threshold
    cdef int* sums                      # of the whole targets of the samples up to the threshold
    cdef int* varying                   # scratch
    cdef uint64_t* words                # random numbers
    cdef uint64_t* vary                 # sets of lanes: those that vary, ...
    cdef uint64_t* chosen               # ... are tried now, ...
    cdef uint64_t* best_lanes           # ... and have the best score
    # Others:
    cdef char* tasks                    # a stack; if not wide, of each `Task` only TASK_BYTES
    cdef Segment* segments              # a stack
    cdef Segment* left_segments         # scratch
    cdef int* class_counts              # SORT

    cdef int reserve(self, Tree* tree, const Kind* kind, int n_labels, int n_samples,
                     int64_t n_values, int max_features) except -1 nogil
    cdef inline int room(self) noexcept nogil:
        """The number of samples for which the block is divided: small batches differ little.

        The memory of lists is that of the number itself.
        """
        return self.n_samples if self.is_sparse else (self.n_samples + 15) // 16 * 16

    cdef size_t lay_out(self, size_t most_values) except 0 nogil
    cdef void trim(self) noexcept nogil
    cdef size_t n_bytes(self) noexcept nogil
    cdef void release(self, bint keeps_little) noexcept nogil
    cdef void begin(self, int node, int depth, bint keeps_root, int n_samples,
                    Rng rng) noexcept nogil
    cdef double expected_steps(self) noexcept nogil
    cdef int64_t levels_of(self, int n) noexcept nogil
    cdef bint advance(self, Tree* tree, int64_t n_steps) noexcept nogil
    cdef void step(self, Tree* tree) noexcept nogil
    cdef void sort_samples(self, Tree* tree) noexcept nogil
    cdef void list_next(self) noexcept nogil
    cdef void finish(self, Tree* tree) noexcept nogil
    cdef void push_task(self, Task task) noexcept nogil
    cdef bint take_task(self) noexcept nogil
    cdef void open_task(self, Tree* tree) noexcept nogil
    cdef void leave(self, Tree* tree) noexcept nogil
    cdef void set_leaf(self, Tree* tree, const Task* task, const Segment* segments) noexcept nogil
    cdef bint is_final(self, int n, int n_segments, int depth) noexcept nogil
    cdef void draw(self, Tree* tree) noexcept nogil
    cdef void draw_all(self, Rng rng, int n_words) noexcept nogil
    cdef void choose(self, int n_vary, int n_chosen) noexcept nogil
    cdef int choose_one(self, int n_vary) noexcept nogil
    cdef void count(self) noexcept nogil
    cdef void visit_next(self) noexcept nogil
    cdef void find_split(self, Tree* tree) noexcept nogil
    cdef void choose_others(self, Tree* tree) noexcept nogil
    cdef void split_fast(self, Tree* tree) noexcept nogil
    cdef void split_two(self, Tree* tree) noexcept nogil
    cdef Split split_at(self, float limit, bint missing_left) noexcept nogil
    cdef void split_other(self, Tree* tree, const Split* found) noexcept nogil
    cdef void split_wide(self, Tree* tree) noexcept nogil
    cdef void split_task(self, Tree* tree, const Split* split, const Test* test,
                         double gain) noexcept nogil
    cdef void move(self, const Test* test, Task* left, Task* right) noexcept nogil
    cdef void add_child(self, Tree* tree, const Task* child,
                        const Segment* segments) noexcept nogil
