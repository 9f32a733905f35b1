"""Naive Bayes: a member of the opinion pool of the default forest.

`NaiveBayes` is a classifier with normal densities for numeric features and counts for nominal ones.
Old samples decay: per sample, all weights are multiplied by 1 - 1 / memory. To change only the sums
of one class per sample, the weight of a new sample is multiplied by a unit that grows instead, and
the sums are divided by the unit when they are read.

It learns, and tells classes apart, from the first nominal column on. The normal densities of
numeric columns alone made the pool worse.
"""

from libc.stdint cimport uint8_t

from ..schema cimport Schema

cdef enum:
    MAX_VALUES = 64         # values of a nominal column with counts: a new one takes the place of
                            #   the one with the least weight
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
    cdef double** values            # per column: NULL if it is numeric, else the codes of the
                                    #   values with counts, NaN behind them
    cdef int* n_values              # per column: 1 more than it has values; 0 if it is numeric
    cdef int n_columns, n_classes
    cdef int column_capacity
    cdef bint speaks                # whether a column is nominal
    cdef unsigned long version      # of the schema at the last `fit`; not part of the state

    cdef inline bint knows(self, unsigned long version, int n_classes) noexcept nogil:
        """Whether all columns and classes have statistics, so that `learn` needs no `fit`."""
        return n_classes <= self.n_classes and version == self.version

    cdef int fit(self, Schema schema, int n_classes) except -1 with gil
    cdef int begin_counts(self, int column) except -1
    cdef void forget_columns(self, const uint8_t* held) noexcept nogil
    cdef void forget_classes(self, const uint8_t* gone) noexcept nogil
    cdef void find_nominal(self) noexcept nogil
    cdef int reserve_columns(self, int n_columns) except -1
    cdef int widen(self, int n_classes) except -1
    cdef dict views(self)
    # The n columns of a row that may have a value ascend.
    cdef void log_likelihoods(self, const double* row, const int* columns, int n,
                              double* answers) noexcept nogil
    cdef void answer(self, const double* row, const int* columns, int n,
                     double* answers) noexcept nogil
    cdef void learn(self, const double* row, const int* columns, int n, int code,
                    double weight) noexcept nogil
    cdef int find(self, int column, double code) noexcept nogil
    cdef int take_place(self, int column, double code) noexcept nogil
    cdef void rescale(self) noexcept nogil
    cdef bint belongs_to(self, Schema schema) except -1
