"""Trees that learn one stream together: one schema, one window, one Trees object per tree."""

from ..schema cimport Labels, Schema
from ..trees cimport Trees
from ..window cimport Window

cdef double read_weight(object w) except -1.0
cdef double read_number(object y) except? -1.0
cdef object uninterrupted(object plan, list interruption)

cdef class Forest:
    cdef readonly Schema schema
    cdef readonly Labels labels     # empty in a regression
    cdef readonly Window window     # samples of the batch that is being gathered
    cdef readonly list trees        # of Trees, one root each
    cdef readonly int first_tree    # number of trees[0] in the whole forest: a forest that is split
                                    #   names its random numbers as the whole one does
    cdef readonly bint is_part      # whether other trees of the forest are elsewhere
    cdef readonly Trees prior       # one leaf that has seen everything: the answer of empty trees
    cdef readonly bint regression
    cdef readonly double fading     # of the leaves, see `Trees.learn`
    cdef readonly int batch_size    # number of samples of a batch
    cdef double* votes              # scratch: per class
    cdef int votes_capacity

    cdef double read_target(self, object y) except? -1.0
    cdef double admit(self, object x, object y) except? -1.0
    cdef int reserve_label(self) except -1
    cdef int reserve_sample(self) except -1
    cdef int widen(self) except -1
    cdef int push(self, double target, double weight) noexcept nogil
    cdef int n_gathered(self) noexcept nogil
    cdef void take(self, double target, double weight) noexcept
    cdef int reserve_votes(self, int n_labels) except -1
    cdef int check_window(self, Window window) except -1
    cdef bint add_votes(self, Trees trees, int leaf, double* votes) noexcept nogil
    cdef int winner(self) noexcept
    cdef int vote(self, object x) except -1
    cdef double mean(self, object x) except? -1.0
