"""The growth of the trees of a forest on a batch, in any number of threads.

The papers do not define the trees before the first batch is full. Here, early trees grow on the
samples gathered so far: after the first 10 samples, then after 20, 30, 45 and so on. The growth on
the first full batch replaces these trees; from then on the trees are those of the papers.

A growth is a step of the forest, see `guarded`: if memory runs out, the forest refuses all calls.
"""

from cpython.pythread cimport PyThread_type_lock

from ..cart.splitter cimport Splitter
from .forest cimport Forest

cdef class BatchGrowth:
    """The growth of the trees of a forest on one batch, in any number of threads.

    Every thread, the calling one included, grows the next tree that no thread has begun. Therefore
    the growth ends even if a thread fails to start.
    """
    cdef Forest forest
    cdef list splitters             # one per thread
    cdef long n_trees, n_workers, n_taken, n_grown
    cdef object error               # exception in the growth of a tree
    cdef PyThread_type_lock running     # locked until all trees are grown
    cdef bint is_first              # whether the trees replace early trees

    cdef int run(self) except -1
    cpdef work(self)
    cdef int grow_tree(self, int tree, Splitter splitter) except -1
