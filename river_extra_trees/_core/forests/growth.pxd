"""The growth of an extremely randomised tree (Geurts, Ernst and Wehenkel 2006), in small steps.

A growth takes a list of samples, all of one leaf, and splits the leaf, its children and so on, left
before right, until they are pure or the rules end it. At each node it draws features at random,
and of each a threshold between the least and the largest value there, or every nominal value; the
best of these candidates is the split.

`advance` does so many steps and returns: a growth on many samples so costs a little per sample of
the stream. A step looks at one sample once. Where a growth stands is a function of the samples, the
random numbers and the number of steps, so that a model file holds nothing but this number.
"""

from libc.stdint cimport int64_t

from ..rng cimport Rng
from ..schema cimport Schema
from ..split cimport Split
from ..trees cimport Trees
from .buffer cimport Buffer

cdef enum Criterion:
    GINI = 0
    ENTROPY = 1
    VARIANCE = 2

cdef struct Task:           # a leaf to be split
    int node
    int start, end          # its samples: places[start:end]
    int n_active            # columns[:n_active] holds all columns that may vary in it

cdef struct Candidate:      # a split of the current task
    Split split             # of no feature: none was found yet
    double score            # of the two sides: higher is better

cdef struct Side:           # samples of the current task that go the same way
    double weight
    double* counts          # per class; of numbers the one sum of centred targets
    int n

cdef class Growth:
    # The rules.
    cdef readonly int criterion
    cdef readonly int max_depth
    cdef readonly int min_samples_split
    cdef readonly int min_samples_leaf
    cdef double least_ratio             # of scores, for the later split to be the better one

    # What is grown.
    cdef Buffer buffer
    cdef Trees trees                        # None: nothing is
    cdef Rng rng
    cdef int max_features
    cdef int n_columns
    cdef readonly int64_t n_steps           # done since `begin`

    # Where it stands.
    cdef Task* tasks                        # a stack
    cdef int n_tasks
    cdef Task task                          # the one that is being split ...
    cdef bint is_open                       # ... if any is
    cdef int n_left                         # columns[:n_left] were not drawn yet
    cdef int n_visited                      # features drawn that vary in the node
    cdef Candidate best
    cdef double node_score

    # Memory: per sample ...
    cdef int* places
    cdef double* numbers                    # targets of a regression, or what is left of them
    cdef int* codes                         # of the current task: class codes ...
    cdef double* targets                    # ... or targets less their mean
    cdef double* weights
    cdef double* values                     # of the column that is looked at, or spare
    cdef int* spare
    cdef int capacity
    # ... per column ...
    cdef int* columns
    cdef int* n_codes                       # of nominal values, OTHER among them; 0: numeric
    cdef int column_capacity
    # ... per class ...
    cdef double* counts                     # of node, left side, missing values and right side
    cdef int n_classes
    cdef int class_capacity
    cdef Side node, left, missing, right
    # ... and per nominal value and class.
    cdef double* table
    cdef int* table_sizes
    cdef int table_capacity
    cdef size_t table_cells

    cdef int reserve(self, Buffer buffer, Trees trees, Schema schema, int n_columns,
                     int n_labels, int n_samples) except -1
    cdef void learn_root(self, int i) noexcept nogil
    cdef void begin(self, int node, int n_samples, int max_features, Rng rng) noexcept nogil
    cdef bint advance(self, int64_t n_steps) noexcept nogil
    cdef int reserve_samples(self, int n) except -1
    cdef void release(self) noexcept nogil
    cdef size_t n_bytes(self)
    cdef void open_node(self) noexcept nogil
    cdef double side_score(self, const Side* side) noexcept nogil
    cdef void visit_column(self) noexcept nogil
    cdef void drop(self, int column) noexcept nogil
    cdef bint visit_numeric(self, int column, int n) noexcept nogil
    cdef bint visit_nominal(self, int column, int n) noexcept nogil
    cdef void weigh_value(self, int column, int code, int n) noexcept nogil
    cdef void add(self, Side* side, int i) noexcept nogil
    cdef void offer_both(self, int column, double threshold) noexcept nogil
    cdef void join(self, Side* side) noexcept nogil
    cdef void offer(self, int column, double threshold, bint nominal,
                    bint missing_left) noexcept nogil
    cdef void split_node(self) noexcept nogil
    cdef int part_numbers(self, const int* children, int n) noexcept nogil
    cdef int part_classes(self, const int* children, int n) noexcept nogil
    cdef void push(self, int node, int start, int end) noexcept nogil
