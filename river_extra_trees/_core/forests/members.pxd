"""Which label follows which: a member of the pool beside the trees.

A table counts which label followed which. After the label l, the share of the label c is

    q(c) = (n_lc + 1/2) / sum_c' (n_lc' + 1/2),

where each label that follows l multiplies the earlier counts n_l by 1 - 1 / MEMORY. A table of more
than MOST_CELLS cells has no rows for the last labels; q is then uniform.

The last label is the one that was known when the question was asked. So where labels come late, the
table learns from labels at the same distance, and nothing from late labels without a question.
"""

from libc.stdint cimport uint8_t

from ..parts cimport Part

cdef class Transitions(Part):
    cdef public int n_labels
    cdef public int last                # code of the last label; -1: none
    cdef double* counts                 # counts[label * n_labels + next label]
    cdef int n_rows                     # number of labels with a row of counts

    cdef int reserve(self, int n_labels) except -1 nogil
    cdef void answer(self, int last, double* answers, int width) noexcept nogil
    cdef void learn(self, int last, int code) noexcept nogil
    cdef void forget(self, const uint8_t* gone) noexcept nogil
