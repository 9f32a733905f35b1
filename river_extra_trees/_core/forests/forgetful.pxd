"""Forgetful forests: a window that all trees share, of which each retains its own part.

Yuan, Sun and Shasha (2023). How much a tree retains is decided in Python, between two batches.
"""

from libc.stdint cimport uint8_t, uint64_t

from .forest cimport Forest

cdef class ForgetfulForest(Forest):
    cdef readonly bint subsets
    cdef readonly list retained         # of Retained, per tree
    cdef readonly list created_at       # per tree: batch in which its features were drawn
    # What the learner decides by, as plain values: they change together with the trees.
    cdef public list parameters         # per tree: what AdaptParameters (appendix B) remembers
    cdef public object drift            # what the drift test of a forest remembers
    # Of this batch, per position in it.
    cdef double* answers        # answers[position * (trees + 2) + tree]; then the forest's, then
                                #   the mean before
    cdef int n_answers          # positions that there is room for
    cdef double[:, :, ::1] batch_votes  # [position, tree, class], in a part: the answer of the
                                        #   forest is known later

    cdef int make_room(self) except -1
    cdef int widen_votes(self, int n_labels) except -1
    cdef object answers_so_far(self)
    cdef int begin_again(self, const double[:, ::1] answers) except -1
    cdef tuple sum_losses(self, const double[::1] answers, int bag)
    cdef int choose(self, uint64_t batch, int tree, uint8_t* chosen) except -1
    cdef void release(self, uint8_t* gone) noexcept
    cdef object votes_in_batch(self)

    cdef inline int copies(self, int tree, int position) noexcept nogil:
        """How many copies of a sample of this batch are in the bag of a tree."""
        if self.bags == NULL:
            return 1
        return self.bags[<Py_ssize_t>tree * self.batch_size + position]
