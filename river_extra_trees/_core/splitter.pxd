"""Growing CART trees on presorted columns.

One call grows any number of leaves of one tree. The samples of a node are a range [start, end) of
`samples` (in order of arrival) and of each row of `ranked` (in sorted order of that column); a split
partitions all of them stably, so that children are ranges again and nothing is ever sorted.
"""

cimport cython
from libc.stdint cimport uint8_t
from .rng cimport Rng
from .schema cimport Schema
from .trees cimport Trees
from .window cimport Window

cdef enum Criterion:
    GINI = 0
    ENTROPY = 1             # natural logarithm
    VARIANCE = 2

cdef struct Split:
    double score            # of the two sides: higher is better
    double threshold
    double removed          # reference only: impurity taken from what the node was judged by
    int column              # -1: none found
    uint8_t nominal
    uint8_t missing_left

cdef struct Task:           # a leaf to grow
    int node
    int start, end          # its samples
    int copies              # of its samples, together
    int n_active            # columns[:n_active] holds all columns that may vary in it
    bint is_new             # made in this call: its statistics are those of its samples

cdef struct Side:           # one side of a candidate split, or a whole node
    double weight
    double score            # gini: sum of squared class weights; entropy: sum of c ln c;
                            #   variance: sum of the centred target
    double* counts          # per class
    int copies

cdef struct Group:          # the samples that enter the tree at one leaf
    int node
    int size
    int copies
    int start               # of its range; -1: not to be grown
    bint varies             # two of its targets differ

@cython.final
cdef class Splitter:
    cdef readonly int criterion
    cdef readonly bint random           # draw one threshold per column in place of trying all
    cdef readonly bint shuffled         # visit all columns in random order (decides ties)
    cdef readonly bint reference        # decide as the published program of stream trees does
    cdef readonly bint forgetful_reference      # ... or as that of forgetful trees does
    cdef bint exact                     # either: no tolerance between scores
    cdef readonly int max_depth
    cdef readonly int min_samples_split
    cdef readonly int min_samples_leaf

    # Scratch, valid during one call of `grow`: parts of one block of memory.
    cdef char* block
    cdef size_t block_bytes
    cdef Window window
    cdef Trees trees
    cdef double step                    # number of the batch, for the statistics
    cdef Rng rng
    cdef int max_features
    cdef bint drawn                     # the columns of this node are visited in random order
    cdef double batch_weight            # of all samples, copies counted
    cdef double judged                  # reference only: impurity that the node is judged by
    cdef double spread                  # of the node: sum of squared deviations (variance)
    cdef double tie                     # how far rounding can move two equal scores of this node
    cdef int n_columns
    cdef int n_chosen                   # columns that may be split
    cdef int n                          # samples in the ranges
    cdef int n_groups
    cdef double* mass                   # per slot: weight x copies
    cdef double* centred                # per slot: target less the mean of the node (variance)
    cdef double* counts                 # 3 x classes: the counts of the three sides below
    cdef double* waiting                # per class: weight passed by the scan, not moved yet
    cdef Side here, there, node         # left side, right side and both
    cdef Group* groups
    cdef Task* tasks
    cdef int* ranked                    # ranked[column * n : (column + 1) * n]
    cdef int* samples                   # n
    cdef int* spare                     # the larger of n and n_columns
    cdef int* columns                   # every chosen column once
    cdef int* copies                    # per slot; 0: not in this tree
    cdef int* code                      # per slot: code of the class (classes only)
    cdef int* group                     # per slot
    cdef int* group_of_leaf             # per node of the tree
    cdef uint8_t* nominal               # per column
    cdef uint8_t* left                  # per slot

    cdef int grow(self, Trees trees, int root, Window window, Schema schema, const int* copies,
                  int max_features, double step, Rng rng, const uint8_t* chosen=*) except -1
    cdef int prepare(self, Trees trees, Window window, Schema schema, const int* copies,
                     const uint8_t* chosen) except -1
    cdef void enter(self, int root) noexcept nogil
    cdef int admit(self) noexcept nogil
    cdef void lay_out(self, const int* order, int* ranked) noexcept nogil
    cdef void grow_leaf(self, Task task, int* n_tasks) noexcept nogil
    cdef void weigh_node(self, const Task* task) noexcept nogil
    cdef void centre(self, const Task* task) noexcept nogil
    cdef void drop_constant(self, Task* task) noexcept nogil
    cdef Split find(self, const Task* task) noexcept nogil
    cdef bint is_perfect(self, const Split* split) noexcept nogil
    cdef void try_numeric(self, const Task* task, int column, Split* best) noexcept nogil
    cdef void scan_numbers(self, int column, const int* slots, int n, bint missing_left,
                           Split* best) noexcept nogil
    cdef void scan_classes(self, int column, const int* slots, int n, bint missing_left,
                           Split* best) noexcept nogil
    cdef void try_nominal(self, const Task* task, int column, Split* best) noexcept nogil
    cdef void try_random(self, const Task* task, int column, Split* best) noexcept nogil
    cdef int n_missing(self, const Task* task, int column) noexcept nogil
    cdef void begin(self) noexcept nogil
    cdef void shift(self, int slot) noexcept nogil
    cdef void move(self, int code, double mass) noexcept nogil
    cdef void move_waiting(self, int first, bint mixed, int copies) noexcept nogil
    cdef void offer(self, int column, double threshold, bint nominal, bint missing_left,
                    Split* best) noexcept nogil
    cdef double between(self, double value, double following) noexcept nogil
    cdef double node_score(self) noexcept nogil
    cdef double impurity(self, const double* counts, double weight) noexcept nogil
    cdef double judged_by(self, int node) noexcept nogil
    cdef double reference_score(self, double* removed) noexcept nogil
    cdef double forgetful_score(self) noexcept nogil
    cdef void apply(self, const Task* task, const Split* split, Task* left,
                    Task* right) noexcept nogil
    cdef void deal(self, const Task* task, Task* left, Task* right) noexcept nogil
    cdef void partition_all(self, const Task* task, const Split* split) noexcept nogil
    cdef void partition(self, int* slots, const Task* task) noexcept nogil
    cdef bint is_open(self, int node, int copies, bint varies) noexcept nogil
