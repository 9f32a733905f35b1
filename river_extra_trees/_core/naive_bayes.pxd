"""Naive Bayes, and the pool in which it answers beside a family while its trees know little.

`NaiveBayes` is a classifier whose memory fades: normal densities, and counts of nominal values. All
sums fade by a share of 1 / memory per sample. They are kept times a unit that grows instead, so
that a sample changes only the sums of its own class.

`EarlyPool`: during the first samples every answer of the family is the first of three members of a
logarithmic opinion pool (`opinion_pool`). The second is naive Bayes, the third the
frequencies of the classes among the latest samples. Their exponents take a step down the gradient
of the log loss after each sample. Then the pool is gone, and the family answers alone.

A forest pools the answer of each tree for itself, so that its parts, which hold some of its trees
each, answer as the whole does. The other families pool one answer.
"""

from libc.stdint cimport int64_t

from .schema cimport Schema

cdef enum:
    MAX_VALUES = 64         # of a nominal column that are told apart; the others count as one
    MAX_CELLS = 1 << 14     # columns times classes: of more columns the first ones are used

cdef struct Moments:        # of a numeric column in one class, times the unit
    double weight           # of the samples in which it is not missing
    double mean
    double squares          # sum of squared deviations from the mean

cdef class NaiveBayes:
    cdef readonly double memory
    cdef double unit                # of all weights
    cdef double total               # weight of all samples
    cdef double* class_weights      # per class
    cdef Moments* moments           # moments[column * n_classes + class]
    cdef Moments* overall           # per column, of all classes
    cdef double** counts            # per column: NULL where it is numeric, else
                                    #   counts[value * n_classes + class]
    cdef int* n_values              # per column: values met, 0 where it is numeric
    cdef int n_columns, n_classes
    cdef int column_capacity

    cdef NaiveBayes reserved(self, Schema schema, int n_columns, int n_classes)
    cdef void extend(self, Schema schema) noexcept
    cdef int reserve_columns(self, int n_columns) except -1
    cdef NaiveBayes widened(self, int n_classes)
    cdef int n_used(self) noexcept nogil
    cdef void log_likelihoods(self, const double* row, double* answers) noexcept nogil
    cdef void answer(self, const double* row, double* answers) noexcept nogil
    cdef void learn(self, const double* row, int code, double weight) noexcept nogil
    cdef void rescale(self) noexcept nogil
    cdef bint belongs_to(self, Schema schema) except -1

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
    cdef object all_exponents(self)
    cdef object keep_answers(self, int first, int stop)
    cdef object join(self, list parts)
