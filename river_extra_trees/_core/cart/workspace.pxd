"""The rules of growth, and the memory of one call: what all modules of this folder work on.

One call grows any number of leaves of one tree. The samples of a node are a range [start, end) of
`samples` (in order of arrival) and of each row of `ranked` (in sorted order of that column); a
split partitions all of them stably, so that children are ranges again and nothing is sorted.
"""

from libc.stdint cimport uint8_t, uint64_t
from ..rng cimport Rng
from ..schema cimport Schema
from ..trees cimport Trees
from ..window cimport Window

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

cdef class Workspace:
    cdef readonly int criterion
    cdef readonly bint random           # draw one threshold per column in place of trying all
    cdef readonly bint shuffled         # visit all columns in random order (decides ties)
    cdef readonly bint reference        # decide as the published program of stream trees does
    cdef readonly bint forgetful_reference      # ... or as that of forgetful trees does
    cdef bint exact                     # either: no tolerance between scores
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
    cdef bint drawn                     # the columns of this node are visited in random order
    cdef double batch_weight            # of all samples, copies counted
    cdef double judged                  # reference only: impurity that the node is judged by
    cdef double spread                  # of the node: sum of squared deviations (variance)
    cdef double tie                     # how far rounding can move two equal scores of this node
    cdef int n_columns
    cdef int n_chosen                   # columns that may be split
    cdef bint countable                 # classes, all of weight 1, at most 255 copies
    cdef bint integral                  # ... and so few that the table has all logarithms
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
    cdef uint8_t* left                  # side of the split that is being carried out
    cdef uint8_t* bits                  # n_bytes each: bit set where a two-valued column is high
    cdef int* ranked                    # ranked[column * n : (column + 1) * n]: sorted
    cdef int* samples                   # n: in order of arrival
    cdef const int* members                  # slots of the samples to be looked at
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
    cdef Side here, there, node         # left side, right side and both
    # Two-valued columns need no order: their high values are counted per class.
    cdef int n_bits, n_bytes
    cdef double* cuts                   # per bit: threshold between the two values
    cdef int* high                      # high[class * 8 * n_bytes + bit]: in the node, with copies
    cdef uint64_t* lanes                # lanes[class * n_bytes + byte]: 8 counters of 8 bits
    # Others.
    cdef Group* groups
    cdef Task* tasks
    cdef int* group_of_leaf             # per node of the tree
    cdef int* spare                     # the larger of n and n_columns

    cdef int reserve(self, Trees trees, size_t n, size_t slots, size_t columns,
                     size_t classes) except -1
    cdef int reserve_scratch(self, Trees trees, size_t n, size_t slots, size_t columns,
                             size_t classes) except -1
    cdef int prepare(self, Trees trees, Window window, Schema schema, const int* copies,
                     const uint8_t* chosen) except -1


cdef inline bint is_open(Workspace work, int node, int copies, bint varies) noexcept nogil:
    """Whether the rules allow to look for a split of these samples."""
    return (
        varies and copies >= work.min_samples_split and copies // 2 >= work.min_samples_leaf
        and work.trees.nodes[node].depth < work.max_depth
    )
