"""Ensembles of trees on one stream: one schema, one window, one `Trees` object per tree."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from ..batch cimport Reader
from ..learner cimport Learner
from ..rng cimport Rng
from ..schema cimport Schema
from ..trees cimport Trees
from ..window cimport Window

cdef class Ensemble(Learner):
    cdef readonly list trees        # of Trees, one root each
    cdef readonly double fading     # decay factor of the leaves, see `Trees.fade`
    cdef readonly int batch_size    # number of samples of a batch
    cdef readonly uint64_t seed     # seed of the streams of random numbers
    cdef readonly int first_tree    # number of trees[0] in the whole forest, so that a part uses
                                    #   the same random numbers as the whole forest
    cdef readonly bint is_part      # whether this is a part: other objects have the other trees

    cdef Trees new_tree(self)

cdef int room_in(Window window, Schema schema) noexcept nogil

cdef class Forest(Ensemble):
    cdef readonly Window window     # samples of the current batch
    cdef readonly Trees root_statistics     # one leaf with all samples: prediction of empty trees
    cdef readonly uint64_t n_batches    # number of batches on which the trees have grown
    cdef readonly int n_early       # samples of the first batch on which early trees have grown
    cdef readonly bint reference    # learn and vote as the published program does
    cdef readonly bint bagging      # whether each tree learns random numbers of copies
    cdef int* bags                  # bags[tree * batch_size + position]: copies in this batch; NULL
                                    #   without bagging or before the first sample of the batch
    cdef double* sums               # scratch: votes per class
    cdef int n_sums

    cdef int begin(self, int n_trees, bint regression, int batch_size, bint reference,
                   double fading, object seed, int64_t warm_up) except -1
    cdef int push(self, double target, double weight) noexcept nogil
    cdef int n_gathered(self) noexcept nogil
    cdef int batch_end(self) noexcept nogil
    cdef int make_bags(self) except -1
    cdef void draw_bags(self) noexcept
    cdef int64_t bag_size(self, Rng* rng) noexcept
    cdef Window early_window(self)
    cdef const int* copies_of(self, int tree) noexcept nogil
    cdef int mark_columns(self, int tree, uint8_t* chosen) except -1
    cdef void learn_root(self, Trees trees, Window window, const int* copies) noexcept nogil
    cdef int reserve_sums(self, int n_labels) except -1 nogil
    # Number of samples without a new label that can be learned without an allocation, before the
    # batch is full.
    cdef int room(self, int n_labels) noexcept nogil
    # Learns the row encoded last. leaves[tree * AHEAD] is the leaf that it reaches; NULL: unknown.
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
