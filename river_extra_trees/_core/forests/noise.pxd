"""How large the errors of a regression are at x: a linear model of the log of squared errors.

    log v(x) = log E + a (u - mean of u) + h(x),        h(x) = sum_k g_k z_k,

where E is the running mean of the squared errors, u tells how far the trees spread at x (see
`mixtures`), and z_k are the first MOST_FEATURES numeric features: standardised by running means and
variances with a memory of 1,000 samples, within 3 (`running`); a missing value is 0. After each
error e, all slopes take a step of normalised least mean squares (Nagumo and Noda 1967),

    r = log(e^2 / v) - its running mean,        slope <- slope + RATE r d / (1 + sum of d^2),

with d = u - mean of u, or z_k. At first a is 1/2 and g is 0. `a` stays from 0 to 2, h within 3.
"""

from libc.stdint cimport uint8_t

from ..parts cimport Part
from ..schema cimport Schema
from ..moments cimport Running

cdef enum:
    MOST_FEATURES = 64

cdef double LARGEST_TILT        # of h

cdef struct Feature:
    int column
    Running running             # four numbers of a state: these three ...
    double slope                # ... and g_k

cdef class NoiseModel(Part):
    cdef public double slope            # a
    cdef public double middle           # running mean of u ...
    cdef public double n_middle         # ... and the decayed number of values in it
    cdef public double residual         # decayed sum of log(e^2 / v) ...
    cdef public double n_residuals      # ... and the decayed number of these
    cdef Feature[MOST_FEATURES] features
    cdef int n_features
    cdef unsigned long version          # of the schema at the last `fit`; not in the state

    cdef void fit(self, Schema schema) noexcept nogil
    cdef bint has(self, int column) noexcept nogil
    cdef void forget_columns(self, const uint8_t* held) noexcept nogil
    cdef double answer(self, const double* row, Py_ssize_t stride, int n_columns) noexcept nogil
    cdef double distance(self, double u) noexcept nogil
    cdef double ratio(self, double u, double h) noexcept nogil
    cdef void learn(self, const double* row, Py_ssize_t stride, double u,
                    double z2) noexcept nogil
    cdef void follow(self, const double* row, Py_ssize_t stride) noexcept nogil
    cdef bint belongs_to(self, Schema schema) except -1
