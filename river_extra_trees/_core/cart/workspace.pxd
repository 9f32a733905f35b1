"""The rules of growth, and the scratch memory of one call of `Splitter.grow`.

One call grows any number of leaves of one tree. The samples of a node are a range [start, end) of
`samples` (in order of arrival) and of each row of `ranked` (in sorted order of that column); a
split partitions all of them stably, so that children are ranges again and are not sorted again.

A node of few samples has no sorted orders, nor have those below it: it sorts the columns that it
looks at, which is less work than to keep all of them in order.

The sorted orders of the leaves come from those of the window. Where the window has none, because a
tree reads its samples only once, each leaf that may be split sorts its own samples.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from ..rng cimport Rng
from ..schema cimport Schema
from ..split cimport Split
from ..trees cimport Trees
from ..window cimport Window

cdef enum:
    TABLE = 4096            # x log x is tabulated for the whole numbers below

cdef enum:
    FEW_SAMPLES = 6         # of a node that has no sorted orders

cdef enum Criterion:
    GINI = 0
    ENTROPY = 1             # natural logarithm
    VARIANCE = 2

cdef enum Program:          # whose decisions are repeated, rounding included
    NONE = 0
    STREAM = 1              # the published program of stream decision trees
    FORGETFUL = 2           # the published program of forgetful trees

cdef struct Candidate:
    Split split             # split.feature == -1: none found
    double score            # of both sides: higher is better
    double removed          # STREAM only: impurity removed, of `Workspace.impurity_before`

cdef struct Task:           # a leaf to grow
    int node
    int start, end          # its samples
    int n_active            # columns[:n_active] holds all columns that may vary in it
    int64_t copies          # of its samples, together
    bint is_new             # made in this call: its statistics are those of its samples

cdef struct Side:           # statistics of one side of a candidate split, or of a whole node
    double weight
    double score            # gini: sum of squared class weights; entropy: sum of c ln c;
                            #   variance: sum of the centred target
    double* counts          # weight per class
    int64_t copies

cdef struct Group:          # the samples that fall to one leaf of the tree
    int node
    int size
    int start               # of its range; -1: not to be grown
    int64_t copies
    bint varies             # two of its targets differ

cdef class Workspace:
    cdef readonly int criterion
    cdef readonly bint random           # draw one threshold per column in place of trying all
    cdef readonly bint shuffled         # visit the columns in random order, which decides ties
    cdef readonly int program           # NONE: equal scores are equal up to rounding
    cdef readonly int max_depth
    cdef readonly int min_samples_split
    cdef readonly int min_samples_leaf

    # Scratch, valid during one call of `Splitter.grow`: parts of one block of memory.
    cdef char* block
    cdef size_t block_bytes
    cdef Window window
    cdef Trees trees
    cdef double step                    # number of the batch, for the statistics
    cdef Rng rng
    cdef int max_features
    cdef bint in_random_order           # the columns of this node are visited so
    cdef double batch_weight            # of all samples, copies counted
    cdef double impurity_before         # STREAM only: what a split of the node has to lower
    cdef double spread                  # of the node: sum of squared deviations (variance)
    cdef double tie                     # how far rounding can move two equal scores of this node
    cdef int n_columns
    cdef int n_chosen                   # columns that may be split
    cdef bint unit_weights              # classes, all weights are 1, at most 255 copies of each
    cdef bint in_table                  # ... and so few that the table has all logarithms
    cdef int few                        # most samples of a node without sorted orders
    cdef int n                          # samples in the ranges
    cdef int n_groups
    # Per sample: the samples of this call are numbered 0 .. n-1, those of one leaf together.
    cdef double* values                 # values[column * n + sample]
    cdef double* target
    cdef double* mass                   # weight x copies
    cdef double* centred                # target less the mean of the node (variance)
    cdef int* copies
    cdef int* code                      # code of the class (classes only)
    cdef int* slot_of                   # slot of the window
    cdef uint8_t* goes_left             # side of the split that is being carried out
    cdef uint8_t* bits                  # n_bytes each: bit set where a two-valued column is high
    cdef int* ranked                    # ranked[column * n : (column + 1) * n]: sorted
    cdef int* samples                   # n: in order of arrival
    cdef const int* members             # slots of the samples to be looked at
    cdef int n_members
    # Per slot of the window.
    cdef int* group                     # number of its group, or -1
    cdef int* sample_of                 # number of the sample, or -1
    # Per column.
    cdef int* columns                   # every chosen column once
    cdef int* bit                       # its bit, if the column has two values and is counted
    cdef uint8_t* nominal
    # Per class or side.
    cdef double* counts                 # 3 x classes: the counts of the three sides below
    cdef double* waiting                # per class: weight passed by the scan, not moved yet
    cdef Side left, right, node         # the two sides of a candidate split, and both together
    # Two-valued columns need no order: their high values are counted per class.
    cdef Py_ssize_t n_bits, n_bytes
    cdef double* cuts                   # per bit: threshold between the two values
    cdef int* high                      # high[class * 8 * n_bytes + bit]: in the node, with copies
    cdef uint64_t* counters             # counters[class * n_bytes + byte]: 8 counters of 8 bits
    # Others.
    cdef Group* groups
    cdef Task* tasks
    cdef int* group_of_leaf             # per node of the tree
    cdef int* spare                     # the larger of n and n_columns

    cdef int reserve(self, size_t n_nodes, size_t n, size_t n_slots, size_t n_columns,
                     size_t n_classes) except -1 nogil
    cdef size_t lay_out(self, size_t n_nodes, size_t n, size_t n_slots, size_t n_columns,
                        size_t n_classes) except 0 nogil
    cdef int prepare(self, Schema schema, const uint8_t* chosen, const int* members,
                     int n_members) except -1 nogil


cdef inline bint is_open(Workspace work, int node, int64_t copies, bint varies) noexcept nogil:
    """Whether the rules allow to look for a split of these samples."""
    return (
        varies and copies >= work.min_samples_split and copies // 2 >= work.min_samples_leaf
        and work.trees.nodes[node].depth < work.max_depth
    )


cdef inline bint is_ranked(Workspace work, const Task* task) noexcept nogil:
    """Whether a node has sorted orders of all columns."""
    return task.end - task.start > work.few


cdef inline double threshold_between(Workspace work, double value,
                                     double following) noexcept nogil:
    """The threshold between two neighbouring values: `value` goes left, `following` right."""
    cdef double threshold = 0.5 * value + 0.5 * following
    return threshold if threshold < following and work.program != FORGETFUL else value


cdef void assign_leaves(
    Workspace work, int root, const int* copies_of_slot, const int* leaf_of_slot
) noexcept nogil
cdef int make_tasks(Workspace work) noexcept nogil
cdef void rank_few(Workspace work, const Task* task, int column) noexcept nogil
