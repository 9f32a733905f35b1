"""Trees that learn one stream together: one schema, one window, one Trees object per tree."""

from cpython.pythread cimport PyThread_type_lock
from libc.stdint cimport uint8_t, uint64_t

from ..cart.splitter cimport Splitter
from ..trees cimport Trees
from ..window cimport Window
from .ensemble cimport Ensemble

cdef class Forest(Ensemble):
    cdef readonly Window window     # samples of the batch that is being gathered
    cdef readonly Trees root_statistics     # one leaf that has seen all: the answer of empty trees
    cdef readonly uint64_t n_batches    # grown on
    cdef readonly int n_early       # samples of the first batch that the trees have grown on
    cdef readonly bint reference    # learn and vote as the published program does
    cdef double* sums               # scratch: votes per class
    cdef int n_sums

    cdef int begin(self, int n_trees, bint regression, int batch_size, bint reference,
                   double fading, object seed) except -1
    cdef int push(self, double target, double weight) noexcept nogil
    cdef int n_gathered(self) noexcept nogil
    cdef int batch_end(self) noexcept nogil
    cdef int make_bags(self) except -1
    cdef const int* copies_of(self, int tree) noexcept nogil
    cdef int mark_columns(self, int tree, uint8_t* chosen) except -1
    cdef void learn_root(self, Trees trees, Window window, const int* copies) noexcept nogil
    cdef int reserve_sums(self, int n_labels) except -1
    cdef bint add_votes(self, Trees trees, int leaf, double* votes) noexcept nogil
    cdef int leaf_of(self, Trees trees) noexcept nogil
    cdef object keep_trees(self, int first, int stop)
    cdef object join_parts(self, list parts)
    cdef object read(self, object state)
    cdef int check_fits(self) except -1
    cdef int check_targets(self, Window window) except -1

cdef class Growth:
    """The growth of the trees of a forest on one batch, in any number of threads.

    What may fail is done before `run`. Every thread takes the next tree that none has taken yet,
    and so does the calling thread: a thread that could not be started is not missed.
    """
    cdef list splitters             # one per thread
    cdef long n_trees, n_workers, n_taken, n_grown
    cdef object error               # of a tree: a bug
    cdef PyThread_type_lock running     # held until all trees are grown

    cdef int run(self) except -1
    cdef int grow_tree(self, int tree, int worker, Splitter splitter) except -1
