"""The growth of the trees of a forgetful forest on one batch."""

from libc.stdint cimport int64_t, uint8_t

from .forest cimport Growth
from .forgetful cimport ForgetfulForest

cdef class ForgetfulGrowth(Growth):
    """Making it may fail, `run` cannot."""

    cdef ForgetfulForest forest
    cdef list trees             # of the forest, with empty ones in place of the first trees
    cdef list created_at        # of the forest, with new ones for the trees to be discarded
    cdef int64_t[::1] sizes     # per tree: what it is to retain
    cdef int64_t[::1] depths    # per tree: the most that it may have
    cdef uint8_t* gone          # a block of memory: per slot whether it is released ...
    cdef uint8_t* chosen        # ... per tree and column whether the tree looks at it ...
    cdef int* counts            # ... and per thread and slot the copies that a tree retains
