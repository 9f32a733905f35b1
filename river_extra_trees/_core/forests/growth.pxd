"""The growth of an extremely randomised tree (Geurts, Ernst and Wehenkel 2006), in small steps.

A growth starts from a list of samples, all in one leaf, and the columns that have a value among
them. It splits the leaf, then its children and so on, left before right, until the leaves are pure
or the rules forbid a split. At each node it draws features at random. The candidates are one random
threshold between the smallest and the largest value of a numeric feature, and every value of a
nominal feature. If there are many of these in the node, a random function puts them into buckets,
see `buckets.pxd`. The buckets are ordered by their mean target, and the candidates are the cuts of
this order, which contain the best partition of the buckets (Breiman, Friedman, Olshen and Stone
1984, theorem 4.5); with more than two classes, the target is whether a sample is of the most
frequent class. The best candidate is the split.

`advance` does a given number of steps, so the cost of a growth is spread over many samples of the
stream. A step processes one sample once. The state of a growth is a function of the samples, the
random numbers and the number of steps, so a model file contains only that number.

One object may grow several trees, one after the other: each call names the tree.
"""

cimport cython
from libc.stdint cimport int64_t, uint8_t

from ..rng cimport Rng
from ..schema cimport Schema
from ..split cimport Candidate
from ..tree cimport Kind, Tree
from .buckets cimport Buckets
from .buffer cimport Buffer

cdef struct Task:           # a leaf to be split
    int node
    int start, end          # its samples: places[start:end]
    int n_active            # columns[:n_active] contains all columns that may vary in it

cdef struct Side:           # statistics of the samples on one side of a candidate
    double weight
    double* counts          # weight per class; in a regression one sum of centred targets
    int n

@cython.final
cdef class Growth:
    # The rules.
    cdef readonly int criterion
    cdef readonly int max_depth
    cdef readonly int min_samples_split
    cdef readonly int min_samples_leaf
    cdef double least_ratio             # factor by which a later candidate must be better

    # What is grown.
    cdef Buffer buffer                      # the samples
    cdef Rng rng
    cdef int max_features
    cdef readonly int64_t n_steps           # number of steps since `begin`

    # State of the growth.
    cdef Task* tasks                        # a stack
    cdef int n_tasks
    cdef Task task                          # current task, if is_open
    cdef bint is_open                       # whether a task is being split
    cdef int n_left                         # columns[:n_left] are not drawn yet
    cdef int n_visited                      # number of drawn features that vary in the node
    cdef Candidate best
    cdef double node_score
    cdef bint is_plain                      # whether there are two classes and all weights are 1

    # All arrays are parts of one memory block, which lives from `reserve` to `release`.
    cdef char* block
    cdef size_t block_bytes
    # Per sample:
    cdef int* places
    cdef double* numbers                    # targets of a regression, or residuals of a model
    cdef int* codes                         # class codes in the current task (classification)
    cdef double* targets                    # targets minus their mean in it (regression)
    cdef double* weights
    cdef double* values                     # values of the current column, or scratch
    cdef int* spare
    # Per column:
    cdef int* columns                       # those that were offered
    cdef int n_offered
    cdef uint8_t* nominal                   # by number of the column: whether it is nominal
    # Per class:
    cdef double* counts                     # memory of the counts of the four sides below
    cdef int n_classes
    cdef Side node, left, missing, right
    cdef Buckets buckets                    # per nominal value, bucket and class

    cdef int reserve(self, Tree* tree, const Kind* kind, int n_buckets, int n_columns, int n_labels,
                     int n_samples) except -1 nogil
    cdef size_t lay_out(self, size_t n, size_t n_columns, int n_buckets) except 0 nogil
    cdef void offer_column(self, Schema schema, int column) noexcept nogil
    cdef void learn_root(self, Tree* tree, int i) noexcept nogil
    cdef void begin(self, int node, int n_samples, int max_features, Rng rng) noexcept nogil
    cdef bint advance(self, Tree* tree, int64_t n_steps) noexcept nogil
    cdef void release(self) noexcept nogil
    cdef void open_node(self, Tree* tree) noexcept nogil
    cdef double side_score(self, const Side* side) noexcept nogil
    cdef void visit_column(self) noexcept nogil
    cdef void drop(self, int column) noexcept nogil
    cdef bint visit_numeric(self, int column, int n) noexcept nogil
    cdef int count_right(self, double threshold, int n) noexcept nogil
    cdef bint visit_nominal(self, int column, int n) noexcept nogil
    cdef void fill_buckets(self, int n_buckets, int n) noexcept nogil
    cdef void weigh_value(self, int column, double code, int bucket, int n) noexcept nogil
    cdef void weigh_groups(self, int column, int n) noexcept nogil
    cdef void add(self, Side* side, int i) noexcept nogil
    cdef void offer_both(self, int column, double threshold) noexcept nogil
    cdef void join(self, Side* side) noexcept nogil
    cdef void offer(self, int column, double threshold, int nominal,
                    bint missing_left) noexcept nogil
    cdef bint is_best(self, int column) noexcept nogil
    cdef void split_node(self, Tree* tree) noexcept nogil
    cdef int part(self, Tree* tree, const int* children, int n) noexcept nogil
    cdef void push(self, int node, int start, int end) noexcept nogil
