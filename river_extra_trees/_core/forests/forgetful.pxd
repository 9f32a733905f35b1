"""Forgetful forests: a window that all trees share, of which each retains its own part.

Yuan, Sun and Shasha (2023). How much a tree retains is decided in Python, between two batches.
"""

from libc.stdint cimport uint8_t, uint64_t

from ..cart.splitter cimport Splitter
from ..trees cimport Trees
from .forest cimport Forest
from .retained cimport Retained

cdef class ForgetfulForest(Forest):
    cdef readonly bint subsets
    cdef readonly bint bagging
    cdef readonly list retained         # of Retained, per tree
    cdef readonly list created_at       # per tree: batch in which its features were drawn
    # What the learner decides by, as plain values: they change together with the trees.
    cdef public list parameters         # per tree: what AdaptParameters (appendix B) remembers
    cdef public object drift            # what the drift test of a forest remembers
    # Of this batch, per position in it.
    cdef double[:, ::1] answers         # [tree, position]; then the forest's, then the mean before
    cdef int[:, ::1] sample_counts      # [tree, position]: copies in the bag of the tree
    cdef double[:, :, ::1] batch_votes  # [position, tree, class], in a part of a classifier: the
                                        #   answer of the forest is known later

    cdef int least_capacity(self) noexcept
    cdef int make_scratch(self) except -1
    cdef void draw_bags(self) noexcept nogil
    cdef tuple sum_losses(self, const double[::1] answers, int bag)
    cdef int grow_anew(self, Trees trees, int tree, Retained retained, Splitter splitter,
                       int depth, const int* counts, const uint8_t* chosen) except -1
    cdef int choose(self, uint64_t batch, int tree, uint8_t* chosen) except -1
    cdef void release(self, uint8_t* gone) noexcept
    cdef object votes_in_batch(self)
