"""The rules and the scratch memory of a growth.

One call grows any number of leaves of one tree. The samples of a node are a range [start, end) of
`samples` (in order of arrival) and of each row of `ranked` (in the sorted order of a column). A
split partitions all these ranges stably, so that the ranges of the children are already sorted.

The range of a sorted order lists only the p samples that have a value. If that is not all of them,
its last number is ~p, which is negative, and those in between are undefined: the cost of a column
depends on its values, not on the size of the node.

A sparse column (`window`) has no order. Each sample lists its *entries*, its values in such
columns, and a node links the entries of its samples by their columns. It knows only the columns
that it finds there, so what no sample of a node has costs nothing in it.

Nodes with at most `few` samples have no sorted orders: such a node sorts only the columns that it
visits, which is faster than partitioning all orders.

The sorted orders of the leaves come from those of the window. If the window has none, because its
samples are used for growth only once, each leaf that may be split sorts its samples.
"""

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint64_t
from ..parts cimport Owner
from ..rng cimport Rng
from ..schema cimport Schema
from ..tree cimport Kind, Tree
from ..window cimport Window
from .value_history cimport ValueHistory

cdef enum:
    TABLE = 16384           # x log x is tabulated for whole numbers x < TABLE
    FEW_SAMPLES = 6         # maximum size of a node without sorted orders
    LISTED = 24             # default of `least_named`

cdef enum Program:          # published program whose splits are reproduced, with its rounding
    NONE = 0
    STREAM = 1              # the published program of stream decision trees
    FORGETFUL = 2           # the published program of forgetful trees

cdef struct Entry:          # a value of a sample in a sparse column
    double value
    int column
    int sample
    int next                # the next one of the column in a node, by arrival; -1: the end

cdef struct Task:           # a leaf that samples reach, and which may be one to grow
    int node
    int start, end          # range of its samples; before `make_tasks`, `end` is their number
    bint is_open            # whether it may be split; before `make_tasks`, whether targets differ
    int n_active            # columns[:n_active] contains all full columns that may vary in the leaf
    int64_t copies          # number of copies of its samples in all

cdef struct Side:           # statistics of one side of a candidate split, or of a whole node
    double weight
    double score            # gini: sum of squared class weights; entropy: sum of c ln c;
                            #   variance: sum of the centred target
    double* counts          # weight per class
    int64_t copies

cdef void find_distinct(Window window, Schema schema, ValueHistory history) noexcept nogil

cdef class Workspace(Owner):
    cdef readonly int criterion
    cdef readonly bint shuffled         # visit the columns in random order, which breaks ties
    cdef readonly int published         # see `Program`; NONE: scores within `tie` count as equal
    cdef readonly int max_depth
    cdef readonly int min_samples_split
    cdef readonly int min_samples_leaf

    cdef Window window                  # the samples; the owner sets it
    cdef ValueHistory history           # of samples that are not in the window; or None
    cdef int least_named                # samples of a node whose splits name values that these lack

    # Scratch, valid during one call of `Splitter.grow`; all arrays are parts of one memory block.
    cdef char* block
    cdef size_t block_bytes
    cdef Tree* tree
    cdef const Kind* kind               # of the tree
    cdef int n_values                   # number of known classes, or 2
    cdef int n_classes                  # number of classes of the node, see `labels`
    cdef int n_met                      # number of those that its samples have
    cdef double step                    # number of the batch, for the statistics
    cdef Rng rng
    cdef int max_features
    cdef bint in_random_order           # whether the columns of this node are visited in that order
    cdef double batch_weight            # weight of all samples, with copies
    cdef double impurity_before         # STREAM only: the impurity that a split must decrease
    cdef double removed                 # STREAM only: its decrease by the best split
    cdef double mean                    # of the targets in the node (variance)
    cdef double spread                  # sum of squared deviations in the node (variance)
    cdef double tie                     # scores of this node count as equal within this tolerance
    cdef int n_chosen                   # number of full columns that may be split
    cdef int n_sparse                   # number of sparse ones
    cdef int n_entries                  # of the sparse ones
    cdef int n_linked                   # number of sparse columns that vary in the node
    cdef int loaded                     # sparse column whose values are in `sparse_values`, or -1
    cdef bint unit_weights              # classes; all weights are 1, at most 255 copies of each
    cdef bint in_table                  # unit_weights, and x log x of all weights is tabulated
    cdef int few                        # maximum size of a node without sorted orders
    cdef int n                          # number of samples in the ranges
    cdef int n_ranges
    # Per sample. The samples of this call are numbered 0 .. n-1, leaf after leaf.
    cdef double* values                 # values[column * n + sample]; see `name`
    cdef double* target
    cdef double* mass                   # weight x copies
    cdef double* centred                # target minus the mean of the node (variance)
    cdef int* copies
    cdef int* code                      # number of the class in the node (classes only)
    cdef int* slot_of                   # slot of the window
    cdef uint8_t* goes_left             # side of the current split
    cdef uint8_t* bits                  # n_bytes each: a bit per two-valued column, 1: high value
    cdef int* ranked                    # ranked[column * n : (column + 1) * n]: samples by value,
                                        #   see above
    cdef int* listed                    # one such row with the missing samples, see `with_missing`
    cdef int* samples                   # n samples in order of arrival
    cdef const int* members             # slots of the samples of the tree, or NULL: see `grow`
    cdef int n_members
    # Per slot of the window.
    cdef int* range_of_slot             # number of its range, or -1
    cdef int* sample_of                 # number of the sample, or -1
    # Per column that may be split: distinct in the window, and chosen. Here the full ones have the
    # numbers 0 .. n_chosen-1, in the order of the window, and the sparse ones those that follow.
    cdef int* name                      # its number in the window and in the trees
    cdef int* columns                   # a permutation of the full columns
    cdef int* visited                   # scratch: the columns that vary in a node with sparse ones
    cdef int* bit                       # its bit, if a two-valued column is counted; else -1
    cdef uint8_t* nominal
    # Sparse columns:
    cdef Entry* entries                 # entries[first_entry[k] : first_entry[k + 1]]: of sample k
    cdef int* first_entry
    cdef int* head                      # per column: its first entry in the node; -1: it has none
    cdef int* n_present                 # per column: number of its entries in the node
    cdef int* linked                    # the n_linked sparse columns that vary, then those that do
                                        #   not, n_found in all
    cdef int n_found
    cdef double* sparse_values          # per sample: its value in the column `loaded`, or NaN
    cdef int* sparse_ranked             # as a row of `ranked`
    # Per class of the node, or side. If many classes are known, a node numbers those that it has:
    # its time depends on these.
    cdef int* labels                    # the code of each class
    cdef int* number_of                 # its inverse, per code
    cdef double* counts                 # 3 x classes: memory of the counts of the sides below
    cdef int* whole_counts              # 2 x classes: left and total counts in `scan_whole`
    cdef double* cut_counts             # N_CUTS x classes: of the samples between two cuts, or sums
    cdef double* waiting                # per class: scanned weight that is not moved yet
    cdef double* class_targets          # per class: the target by which values are ordered
    cdef Side left, right, node         # the two sides of a candidate split, and the whole node
    # Two-valued columns need no sorted order: their high values are counted per class.
    cdef Py_ssize_t n_bits, n_bytes
    cdef double* cuts                   # per bit: threshold between the two values
    cdef int* high                      # high[class * 8 * n_bytes + bit]: number in the node
    cdef uint64_t* counters             # counters[class * n_bytes + byte]: 8 counters of 8 bits
    # Others.
    cdef Task* ranges                   # per leaf that samples reach
    cdef Task* tasks
    cdef int* range_of_leaf             # per node of the tree
    cdef int* spare                     # the larger of n and n_columns

    cdef int reserve(self, size_t n_nodes, size_t n, size_t n_slots, size_t n_columns,
                     size_t n_sparse, size_t n_entries, size_t n_classes) except -1 nogil
    cdef size_t lay_out(self, size_t n_nodes, size_t n, size_t n_slots, size_t n_columns,
                        size_t n_sparse, size_t n_entries, size_t n_classes) except 0 nogil
    cdef double set_class_targets(self, bint all_classes) noexcept nogil

    @cython.final
    cdef inline const double* values_of(self, int column) noexcept nogil:
        """The values of a full column, or of the sparse one that is loaded, by sample."""
        if column >= self.n_chosen:
            return self.sparse_values
        return self.values + <Py_ssize_t>column * self.n

    @cython.final
    cdef inline int* ranked_of(self, int column) noexcept nogil:
        """The sorted samples of a full column, or of the sparse one that is loaded."""
        if column >= self.n_chosen:
            return self.sparse_ranked
        return self.ranked + <Py_ssize_t>column * self.n
