"""Trees that learn one stream and vote: what all forests have in common."""

from libc.stdint cimport uint64_t

from ..learner cimport Learner
from ..trees cimport Trees

cdef class Ensemble(Learner):
    cdef readonly list trees        # of Trees, one root each
    cdef readonly double fading     # decay factor of the leaves, see `Trees.fade`
    cdef readonly int batch_size    # number of samples of a batch
    cdef readonly uint64_t seed     # seed of the streams of random numbers

    cdef Trees new_tree(self)
