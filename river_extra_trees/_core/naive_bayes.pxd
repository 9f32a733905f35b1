"""Naive Bayes, and the opinion pool that combines it with young trees.

`NaiveBayes` is a classifier with normal densities for numeric features and counts for nominal ones.
Old samples decay: per sample, all weights are multiplied by 1 - 1 / memory. To change only the sums
of one class per sample, the weight of a new sample is multiplied by a unit that grows instead, and
the sums are divided by the unit when they are read.

`EarlyPool` combines the predictions for the first samples of a stream. It is a logarithmic opinion
pool (`opinion_pool`) of three members: the prediction of the family, naive Bayes, and the class
frequencies among the latest samples. After each sample the exponents of the members take a step
down the gradient of the log loss. After a fixed number of samples the pool is removed.

A forest combines the prediction of each tree separately. Therefore a part of the forest, with some
of its trees, computes the same predictions for these trees as the whole forest. The other families
combine one prediction.
"""

from libc.stdint cimport int64_t

from .schema cimport Schema

cdef enum:
    MAX_VALUES = 64         # values of a nominal column with counts; others share the last count
    MAX_CELLS = 1 << 14     # maximum of columns times classes; other columns have no statistics

cdef inline int most_columns(int n_classes) noexcept nogil:
    """Maximum number of columns with statistics, the first ones."""
    return <int>MAX_CELLS // max(1, n_classes)

cdef struct Moments:        # of a numeric column in one class
    double weight           # of the samples with a value, times the unit
    double mean
    double squares          # sum of squared deviations from the mean, times the unit

cdef class NaiveBayes:
    cdef readonly double memory
    cdef double unit                # factor of all stored weights
    cdef double total               # weight of all samples, times the unit
    cdef double* class_weights      # per class, times the unit
    cdef Moments* moments           # moments[column * n_classes + class]
    cdef Moments* overall           # per column: over all classes
    cdef double** counts            # per column: NULL if it is numeric, else
                                    #   counts[value * n_classes + class], times the unit
    cdef int* n_values              # per column: number of known values; 0 if it is numeric
    cdef int n_columns, n_classes
    cdef int column_capacity

    cdef inline bint knows(self, int n_columns, int n_classes) noexcept nogil:
        """Whether all these columns and classes have statistics, so that `learn` needs no room."""
        return n_classes <= self.n_classes and (
            min(n_columns, most_columns(self.n_classes)) <= self.n_columns)

    cdef NaiveBayes reserved(self, Schema schema, int n_columns, int n_classes)
    cdef void extend(self, Schema schema) noexcept
    cdef int reserve_columns(self, int n_columns) except -1
    cdef NaiveBayes widened(self, int n_classes)
    cdef void log_likelihoods(self, const double* row, double* answers) noexcept nogil
    cdef void answer(self, const double* row, double* answers) noexcept nogil
    cdef void learn(self, const double* row, int code, double weight) noexcept nogil
    cdef void rescale(self) noexcept nogil
    cdef bint belongs_to(self, Schema schema) except -1

cdef enum:
    N_MEMBERS = 3

cdef class EarlyPool:
    cdef readonly int n_answers     # predictions that are pooled, each with its exponents
    cdef readonly int64_t n_left    # samples until the pool is removed
    cdef NaiveBayes naive
    cdef NaiveBayes next_naive      # has room for the next sample, made by `reserve`; or None
    cdef double* exponents          # exponents[answer * N_MEMBERS + member]
    cdef double* next_exponents     # after the next sample; `learn` makes them current
    cdef double* latest             # per class: decayed number of samples
    cdef double* logs               # scratch: logs[member * n_classes + class] for one row
    cdef double* sums               # scratch, per class: sum of several predictions
    cdef int n_classes
    cdef int capacity               # number of classes for which there is room

    cdef int set_exponents(self, const double[:, ::1] exponents) except -1
    cdef int allocate(self, int capacity) except -1
    cdef int reserve(self, Schema schema, int n_columns, int n_classes) except -1
    cdef void look_at(self, const double* row) noexcept nogil
    cdef void pool(self, int answer, double* shares) noexcept nogil
    cdef void forget_next(self) noexcept nogil
    cdef void weigh(self, int answer, const double* pooled, int code) noexcept nogil
    cdef bint has_room(self, int n_columns, int n_classes) noexcept nogil
    cdef void extend(self, Schema schema) noexcept
    cdef void learn(self, const double* row, int code, double weight) noexcept nogil
    cdef object all_exponents(self)
    cdef object keep_answers(self, int first, int stop)
    cdef object join(self, list parts)
