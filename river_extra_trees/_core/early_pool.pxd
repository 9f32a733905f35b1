"""What answers beside a family while its trees know little: naive Bayes and the latest classes.

During the first samples every answer of the family is the first of three members of a logarithmic
opinion pool (see `class_pool.pxd`). The second is naive Bayes, the third the frequencies of the
classes among the latest samples. Their exponents take a step down the gradient of the log loss
after each sample. Then the pool is gone, and the family answers alone.

A forest pools the answer of each tree for itself, so that its parts, which hold some of its trees
each, answer as the whole does. The other families pool one answer.
"""

from libc.stdint cimport int64_t

from .forests.naive_bayes cimport NaiveBayes
from .schema cimport Schema

cdef enum:
    N_MEMBERS = 3

cdef class EarlyPool:
    cdef readonly int n_answers     # of the family, each of which has its own exponents
    cdef readonly int64_t n_left    # samples to be learned until the family answers alone
    cdef NaiveBayes naive
    cdef NaiveBayes next_naive      # what `reserve` has made room in
    cdef double* exponents          # exponents[answer * N_MEMBERS + member]
    cdef double* next_exponents     # what a sample has taught, until it is learned
    cdef double* latest             # per class: weight among the latest samples
    cdef double* logs               # scratch: logs[member * n_classes + class] of one row
    cdef double* sums               # scratch, per class: for the sum of several answers
    cdef int n_classes
    cdef int capacity               # classes there is room for

    cdef int set_exponents(self, const double[:, ::1] exponents) except -1
    cdef int allocate(self, int capacity) except -1
    cdef int reserve(self, Schema schema, int n_columns, int n_classes) except -1
    cdef void look_at(self, const double* row) noexcept nogil
    cdef void pool(self, int answer, double* shares) noexcept nogil
    cdef void forget_next(self) noexcept nogil
    cdef void weigh(self, int answer, const double* pooled, int code) noexcept nogil
    cdef void learn(self, Schema schema, int code, double weight) noexcept
    cdef double floored_log(self, double share) noexcept nogil
    cdef object all_exponents(self)
    cdef object keep_answers(self, int first, int stop)
    cdef object join(self, list parts)
