"""The growth of the trees of a forest on a batch, in any number of threads.

The papers do not define the trees before the first batch is full. Here, early trees grow on the
samples gathered so far: after the first 10 samples, then after 20, 30, 45 and so on. The growth on
the first full batch replaces these trees; from then on the trees are those of the papers.
"""

from cpython.pythread cimport PyThread_type_lock
from libc.stdint cimport int64_t, uint8_t

from ..cart.splitter cimport Splitter
from ..rng cimport Rng
from ..trees cimport Trees
from .forgetful cimport ForgetfulForest

cdef class BatchGrowth:
    """The growth of the trees of a forest on one batch, in any number of threads.

    All steps that can fail are done before `run`. Every thread, the calling one included, grows the
    next tree that no thread has begun. Therefore the growth ends even if a thread fails to start.
    """
    cdef list splitters             # one per thread
    cdef long n_trees, n_workers, n_taken, n_grown
    cdef object error               # exception in the growth of a tree: a bug
    cdef PyThread_type_lock running     # locked until all trees are grown

    cdef int run(self) except -1
    cpdef work(self)
    cdef int grow_tree(self, int tree, int worker, Splitter splitter) except -1

cdef class Retained:
    """The samples that one tree retains: slots of a window, and the number of copies of each."""

    cdef int* slots             # in the order in which they will be forgotten
    cdef int* counts            # copies of the sample in slots[i], > 0
    cdef readonly int n         # number of samples
    cdef readonly int64_t total     # number of copies of all samples
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
    """The growth of the trees of a forgetful forest. The constructor can fail, `run` cannot."""

    cdef ForgetfulForest forest
    cdef list trees             # trees of the forest; empty trees replace the early trees
    cdef list created_at        # as in the forest, with the batch for trees that are discarded
    cdef int64_t[::1] sizes     # per tree: number of samples to retain
    cdef int64_t[::1] depths    # per tree: maximum depth
    # Parts of one block of memory, which begins at `gone`:
    cdef uint8_t* gone          # per slot: whether it is released
    cdef uint8_t* chosen        # per tree and column: whether the tree may split the column
    cdef int* counts            # per thread and slot: number of copies that a tree retains
