"""What the last labels and targets tell: members of the mixtures beside the trees.

Labels (`Transitions`): a table that counts which label followed which. After the label l, the share
of the label c is

    q(c) = (n_lc + 1/2) / sum_c' (n_lc' + 1/2),

where each label that follows l multiplies the earlier counts n_l by 1 - 1 / MEMORY. A table of more
than MOST_CELLS cells has no rows for the last labels; q is then uniform.

Targets (`Chain`): the errors of a prediction m often follow from its last errors, and targets from
the last targets. A ridge regression (`fading_ridge`) predicts the error y - m of the present
prediction from

    d = (e_1, m - m_1, e_2, m - m_2),

where m_1 and m_2 are the predictions for the samples whose targets were learned last, and e_1 and
e_2 are their errors. All errors are clipped to CLIP standard deviations, so that a wrong target
does no harm (Huber 1964). Slopes of 1 and -1 for the first two make it the last target.

The last label or targets are those that were known when the question was asked. So where labels
come late, both members learn from labels at the same distance, and nothing from late labels without
a question.
"""

from libc.stdint cimport int64_t, uint8_t

from .fading_ridge cimport FadingRidge

cdef enum:
    N_REGRESSORS = 4

cdef class Transitions:
    cdef readonly int n_labels
    cdef readonly int last              # code of the last label; -1: none
    cdef double* counts                 # counts[label * n_labels + next label]
    cdef int n_rows                     # number of labels with a row of counts

    cdef int reserve(self, int n_labels) except -1 nogil
    cdef void answer(self, int last, double* answers, int width) noexcept nogil
    cdef void learn(self, int last, int code) noexcept nogil
    cdef void forget(self, const uint8_t* gone) noexcept nogil
    cdef dict views(self)

cdef class Chain:
    cdef readonly FadingRidge ridge
    cdef double[2] answers              # m_1, m_2
    cdef double[2] errors               # e_1, e_2
    cdef readonly int64_t n_known       # number of targets learned

    cdef void regressors(self, double answer, double* d) noexcept nogil
    cdef void learn(self, const double* d, double answer, double target,
                    double variance, bint is_of_question) noexcept nogil
