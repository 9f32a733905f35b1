"""Multinomial logistic regression: a member of the opinion pool of the default forest.

    q(c) proportional to exp(b_c + sum_j w_jc z_j),

where the regressors j are the values of the nominal columns, for which z_j is 1; the numeric
columns whose values are all 0 or 1, the *indicators*, for which z_j is the value; and the other
numeric columns, standardised by running means and variances (`running`). A missing value is no
regressor of a sample. After a sample with the class y, the slopes take a step down the gradient of
the log loss,

    g_c = v z_j (q(c) - [c = y]),    G_jc <- G_jc + g_c^2,    w_jc <- w_jc - RATE g_c / G_jc^(1/2),

and so does the intercept b, with z = 1: AdaGrad (Duchi, Hazan and Singer 2011). No step is longer
than RATE, whatever the values. Here v is the weight of the sample, divided by the running geometric
mean of the weights, and at most LARGEST_WEIGHT: G keeps the square of v, so one enormous weight
would all but end the steps.

A sample costs its own regressors only, however many are known. If a new one makes them too many,
those met least recently are forgotten, half of them at least. A sample of more than MOST_OF_SAMPLE
values adds none: it would displace those of all others.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from ..parts cimport Part
from ..rng cimport mix
from ..schema cimport Schema
from ..moments cimport Running

cdef enum:
    MOST_REGRESSORS = 4096
    MOST_OF_SAMPLE = 1024
    MOST_CELLS = 1 << 19    # regressors times classes

cdef struct Regressor:
    int column              # -1: the intercept, which is the first regressor; GONE: forgotten
    bint is_indicator       # of a numeric column: whether it has had no value but 0 and 1
    double code             # of the nominal value; NUMERIC: the column is numeric
    int64_t seen            # samples learned before the last one that has it
    Running running         # of a numeric column

cdef struct Slope:
    double weight           # w
    double squares          # G

cdef class LogisticRegression(Part):
    cdef public int n_labels
    cdef public int64_t n_learned   # number of samples
    cdef public double level        # running mean of the logarithms of the weights
    cdef Regressor* regressors      # in the order in which they came ...
    cdef Slope* slopes              # ... and slopes[regressor * width + class]
    cdef int width                  # at least n_labels
    cdef int n                      # number of regressors; 0: there was no sample yet
    cdef int capacity               # of regressors
    cdef int* slots                 # a hash table: places of regressors, -1: empty
    cdef int n_slots                # a power of two, at least twice the capacity

    cdef int fit(self, int n_labels) except -1 nogil
    cdef int reserve(self, int capacity, int n_labels) except -1 nogil
    cdef int add(self, int column, double code) except -1 nogil
    cdef void forget_slopes(self, int place) noexcept nogil
    cdef int place_of(self, int column, double code) noexcept nogil
    cdef void put(self, int place) noexcept nogil
    cdef void evict(self) noexcept nogil
    cdef void compact(self) noexcept nogil
    cdef void forget_columns(self, const uint8_t* held) noexcept nogil
    cdef void forget_classes(self, const uint8_t* gone) noexcept nogil
    cdef double relative(self, double weight) noexcept nogil
    cdef void step(self, int place, double factor, const double* shares, int code) noexcept nogil
    cdef bint belongs_to(self, Schema schema, int n_labels) except -1
    # The n columns of a row that may have a value ascend.
    cdef void scores(self, const double* row, const int* columns, int n, Schema schema,
                     double* answers) noexcept nogil
    cdef void answer(self, const double* row, const int* columns, int n, Schema schema,
                     double* answers, int width) noexcept nogil
    cdef void add_terms(self, const double* row, const int* columns, int n, Schema schema,
                        const double* factors, double* terms, Py_ssize_t stride) noexcept nogil
    # `shares` are the answer for the row.
    cdef int learn(self, const double* row, const int* columns, int n, Schema schema, int code,
                   double weight, const double* shares) except -1 nogil

    cdef inline int first_slot(self, int column, double code) noexcept nogil:
        """The slot where the search for a regressor begins."""
        return <int>(mix(<uint64_t><int64_t>code ^ mix(<uint64_t>column + 1))
                     & <uint64_t>(self.n_slots - 1))

    cdef inline int most(self, int n_labels) noexcept nogil:
        """Maximum number of regressors."""
        return min(<int>MOST_REGRESSORS, <int>MOST_CELLS // max(1, n_labels))
