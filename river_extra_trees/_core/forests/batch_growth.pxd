"""The growth of the trees of a forest on a batch, in any number of threads.

The papers do not define the trees before the first batch is full. Here, early trees grow on the
samples gathered so far: after the first 10 samples, then after 20, 30, 45 and so on. The growth on
the first full batch replaces these trees; from then on the trees are those of the papers.

A growth is a step of the forest, see `guarded`: if memory runs out, the forest refuses all calls.
"""

from ..cart.splitter cimport Splitter
from ..team cimport Job
from .forest cimport Forest

cdef class BatchGrowth(Job):
    """The growth of the trees of a forest on one batch, in any number of threads."""
    cdef Forest forest
    cdef list splitters             # one per thread
    cdef int n_trees
    cdef bint is_first              # whether the trees replace early trees

    cdef int run(self) except -1
    cdef int grow_tree(self, int tree, Splitter splitter) except -1
