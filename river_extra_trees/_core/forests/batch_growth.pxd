"""The growth of the trees of a forest on a batch, in any number of threads.

The papers say nothing of the samples before the first batch is full. Instead of one empty leaf,
every tree is then what grows on the samples gathered so far: after the first 10 of them, 20, 30, 45
and so on. The first batch replaces these trees; all later ones are those of the papers.
"""

from cpython.pythread cimport PyThread_type_lock
from libc.stdint cimport int64_t, uint8_t

from ..cart.splitter cimport Splitter
from ..rng cimport Rng
from ..trees cimport Trees
from .forgetful cimport ForgetfulForest

cdef class BatchGrowth:
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

cdef class Retained:
    """The samples that one tree retains: slots of a window, and how many copies of each."""

    cdef int* slots             # in order of forgetting: the first goes first
    cdef int* counts            # copies of the sample in slots[i], > 0
    cdef readonly int n         # samples
    cdef readonly int64_t total     # copies of all of them
    cdef int capacity

    cdef int reserve(self, Py_ssize_t extra) except -1
    cdef void add(self, int slot, int count) noexcept nogil
    cdef void forget_first(self, int64_t k) noexcept nogil
    cdef void forget_random(self, int64_t k, Rng rng) noexcept nogil
    cdef void mark(self, int* counts_of_slot) noexcept nogil

cdef Retained moved(Retained retained, const int[::1] place)

cdef int grow_anew(ForgetfulForest forest, Trees trees, int tree, Retained retained,
                   Splitter splitter, int depth, const int* counts, const uint8_t* chosen) except -1

cdef class ForgetfulGrowth(BatchGrowth):
    """The growth of the trees of a forgetful forest. Making it may fail, `run` cannot."""

    cdef ForgetfulForest forest
    cdef list trees             # of the forest, with empty ones in place of the first trees
    cdef list created_at        # of the forest, with new ones for the trees to be discarded
    cdef int64_t[::1] sizes     # per tree: what it is to retain
    cdef int64_t[::1] depths    # per tree: the most that it may have
    cdef uint8_t* gone          # a block of memory: per slot whether it is released ...
    cdef uint8_t* chosen        # ... per tree and column whether the tree looks at it ...
    cdef int* counts            # ... and per thread and slot the copies that a tree retains
