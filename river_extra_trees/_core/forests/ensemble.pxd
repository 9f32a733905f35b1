"""What all forests of trees that vote have in common, whatever they learn from."""

from libc.stdint cimport uint64_t

from ..learner cimport Learner
from ..trees cimport Trees

cdef class Ensemble(Learner):
    cdef readonly list trees        # of Trees, one root each
    cdef readonly double fading     # of the leaves, see `Trees.fade`
    cdef readonly int batch_size    # number of samples of a batch
    cdef readonly uint64_t seed     # names the streams of random numbers
    cdef readonly int first_tree    # number of trees[0] in the whole forest: a forest that is split
                                    #   names its random numbers as the whole one does
    cdef readonly bint is_part      # whether other trees of the forest are elsewhere

    cdef Trees new_tree(self)
