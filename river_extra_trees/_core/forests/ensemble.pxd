"""Trees that learn one stream and vote: what all forests have in common."""

from libc.stdint cimport uint64_t

from ..learner cimport Learner
from ..trees cimport Trees

cdef class Ensemble(Learner):
    cdef readonly list trees        # of Trees, one root each
    cdef readonly double fading     # decay factor of the leaves, see `Trees.fade`
    cdef readonly int batch_size    # number of samples of a batch
    cdef readonly uint64_t seed     # seed of the streams of random numbers
    cdef readonly int first_tree    # number of trees[0] in the whole forest, so that a part uses
                                    #   the same random numbers as the whole forest
    cdef readonly bint is_part      # whether this is a part: other objects have the other trees

    cdef Trees new_tree(self)
