"""A naive Bayes classifier whose memory fades: normal densities, and counts of nominal values.

All sums fade by a share of 1 / memory per sample. They are kept times a unit that grows instead, so
that a sample changes only the sums of its own class.
"""

from ..schema cimport Schema

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
