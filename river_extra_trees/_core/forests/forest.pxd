"""Trees that learn one stream together: one schema, one window, one Trees object per tree."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from ..batch cimport Reader
from ..learner cimport Learner
from ..schema cimport Schema
from ..trees cimport Trees
from ..window cimport Window

cdef class Ensemble(Learner):
    cdef readonly list trees        # of Trees, one root each
    cdef readonly double fading     # of the leaves, see `Trees.fade`
    cdef readonly int batch_size    # number of samples of a batch
    cdef readonly uint64_t seed     # names the streams of random numbers
    cdef readonly int first_tree    # number of trees[0] in the whole forest: a forest that is split
                                    #   names its random numbers as the whole one does
    cdef readonly bint is_part      # whether other trees of the forest are elsewhere

    cdef Trees new_tree(self)

cdef int room_in(Window window, Schema schema) noexcept nogil

cdef class Forest(Ensemble):
    cdef readonly Window window     # samples of the batch that is being gathered
    cdef readonly Trees root_statistics     # one leaf that has seen all: the answer of empty trees
    cdef readonly uint64_t n_batches    # grown on
    cdef readonly int n_early       # samples of the first batch that the trees have grown on
    cdef readonly bint reference    # learn and vote as the published program does
    cdef double* sums               # scratch: votes per class
    cdef int n_sums

    cdef int begin(self, int n_trees, bint regression, int batch_size, bint reference,
                   double fading, object seed, int64_t warm_up) except -1
    cdef int push(self, double target, double weight) noexcept nogil
    cdef int n_gathered(self) noexcept nogil
    cdef int batch_end(self) noexcept nogil
    cdef int make_bags(self) except -1
    cdef Window early_window(self)
    cdef const int* copies_of(self, int tree) noexcept nogil
    cdef int mark_columns(self, int tree, uint8_t* chosen) except -1
    cdef void learn_root(self, Trees trees, Window window, const int* copies) noexcept nogil
    cdef int reserve_sums(self, int n_labels) except -1 nogil
    # How many samples without a new label can be learned before the batch is full, or there may be
    # no memory for the next one.
    cdef int room(self, int n_labels) noexcept nogil
    # Learns the row encoded last, whose leaves are known, one per tree in steps of AHEAD, or NULL.
    cdef void take_row(self, const int* leaves, double target, double weight,
                       int n_labels) noexcept nogil
    cdef int read_ahead(self, Reader reader, Py_ssize_t stop, int n_labels) noexcept nogil
    cdef void answer_ahead(self, Reader reader, const int* leaves, int n_labels) noexcept nogil
    cdef double* sum_votes(self, const int* leaves, int n_labels) noexcept nogil
    cdef double mean_of_trees(self, const int* leaves) noexcept nogil
    cdef int leaf_at(self, const int* leaves, Py_ssize_t tree) noexcept nogil
    cdef bint add_votes(self, Trees trees, int leaf, double* votes) noexcept nogil
    cdef int leaf_of(self, Trees trees) noexcept nogil
    cdef object keep_trees(self, int first, int stop)
    cdef object join_parts(self, list parts)
    cdef object read(self, object state)
    cdef int check_fits(self) except -1
    cdef int check_targets(self, Window window) except -1
