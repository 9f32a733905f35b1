"""Logistic leaves: classes told apart by linear boundaries within the leaves of a tree.

The moves of the trees go by the class counts, as with multinomial leaves. What a leaf answers, and
is weighed by, is a logistic regression on its active samples. Its prior is a normal distribution
about the regression on the whole window, which in turn has one about zero; features are scaled to
unit variance over the window. Two classes take one regression, more take one each against the rest.

A leaf takes one step of Newton's method from the coefficients of the window. The probabilities, and
with them gradient and curvature of every sample, are those of the window there, hence the same for
all leaves. Nothing here outlives a step: all is a function of the pool and of the leaf.
"""

from libc.stdint cimport int64_t
from .pool cimport Pool
from .shared_trees cimport Leaf

cdef class LogisticLeaves:
    cdef int size               # coefficients: the intercept first
    cdef int n_classes
    cdef int n_models           # regressions: 1 for two classes, else one per class
    cdef size_t capacity        # slots there is room for
    cdef double* block          # all that follows
    cdef size_t block_size      # in doubles
    cdef double* centre         # per regressor: mean over the window
    cdef double* shrink         # per regressor: 1 / standard deviation, 0 where it does not vary
    cdef double* window         # window[model * size ...]: coefficients of the window
    cdef double* nothing        # as many zeros as coefficients: the prior of the window
    cdef double* leaf           # scratch: coefficients of a leaf
    cdef double* gradient       # scratch
    cdef double* hessian        # scratch: packed lower triangle
    cdef double* asked          # scratch: the sample whose class is asked for, scaled
    cdef double* chances        # scratch: per class
    cdef double* points         # points[slot * size ...]: a one, then the regressors, scaled
    cdef double* fitted         # fitted[model * capacity + slot]: probability by the window
    cdef double* weights        # scratch: per slot
    cdef int* slots             # the active slots

    cdef int shape(self, int n_regressors, int n_classes, size_t capacity) except -1 nogil
    cdef void fit_window(self, Pool pool) noexcept nogil
    cdef void scale_points(self, Pool pool, int n) noexcept nogil
    cdef void scaled(self, const double* v, double* z) noexcept nogil
    cdef void fit_points(self, int n, int model, const double* at) noexcept nogil
    cdef void newton_step(
        self, Pool pool, const int* slots, int n, int model, const double* prior, double* at
    ) noexcept nogil
    cdef const double* chances_in(
        self, Pool pool, const Leaf* leaf, const int* slots, const double* v, int64_t now
    ) noexcept nogil
