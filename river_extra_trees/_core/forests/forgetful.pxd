"""Forgetful forests (Yuan, Sun and Shasha 2023): each tree retains a subset of a shared window.

Python code determines how many samples each tree retains, between two batches.
"""

from libc.stdint cimport uint8_t, uint64_t

from .forest cimport Forest

cdef class ForgetfulForest(Forest):
    cdef readonly bint subsets          # whether each tree uses a random subset of the features
    cdef readonly list retained         # of Retained, per tree
    cdef readonly list created_at       # per tree: batch in which its features were drawn
    # State of the Python code, as plain values; it changes together with the trees.
    cdef public list parameters         # per tree: state of AdaptParameters (appendix B)
    cdef public object drift            # state of the drift test of a forest
    # Predictions for the samples of this batch, by their position in it.
    cdef double* answers        # answers[position * (trees + 2) + tree]; the two entries after the
                                #   trees: prediction of the forest, mean of the earlier targets
    cdef int n_answers          # number of positions for which there is room

    cdef int make_room(self) except -1
    cdef object answers_so_far(self)
    cdef int begin_again(self, const double[:, ::1] answers) except -1
    cdef tuple sum_losses(self, const double[::1] answers, int bag)
    cdef void learn_row_at(self, const int* leaves, int i, double target, double weight,
                           int position, int n_labels) noexcept nogil
    cdef int choose(self, uint64_t batch, int tree, uint8_t* chosen) except -1
    cdef void release(self, uint8_t* gone) noexcept

    cdef inline int copies(self, int tree, int position) noexcept nogil:
        """Number of copies of a sample of this batch in the bag of a tree."""
        if self.bags == NULL:
            return 1
        return self.bags[<Py_ssize_t>tree * self.batch_size + position]
