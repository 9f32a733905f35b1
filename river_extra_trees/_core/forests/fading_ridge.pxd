"""A ridge regression that forgets: each sample multiplies the weight of the earlier ones.

    c = (A + r I)^-1 b,      A = sum lambda^age d d',    b = sum lambda^age d y,

where d are the regressors, y is the target, and r is the prior times the mean of the squares of d
(Hoerl and Kennard 1970). There is no intercept. Until ten samples were learned, c is zero.
"""

from libc.stdint cimport int64_t

from ..linalg cimport LeafModel

cdef class FadingRidge:
    cdef readonly int n                 # number of regressors
    cdef double decay                   # lambda
    cdef double prior
    cdef double* sums                   # A and b, in the row layout of `linalg`
    cdef readonly int64_t n_learned     # number of samples
    cdef readonly double square         # decayed sum of the mean square of d
    cdef readonly double n_squares      # decayed number of samples in it
    cdef double* slopes                 # c
    cdef double* scratch                # the diagonal of A
    cdef LeafModel model                # solver for c

    cdef void learn(self, const double* d, double target) noexcept nogil
    cdef void solve(self) noexcept nogil
    cdef dict views(self)

    cdef inline double answer(self, const double* d) noexcept nogil:
        """The prediction c'd."""
        cdef double total = 0.0
        cdef int i
        for i in range(self.n):
            total += self.slopes[i] * d[i]
        return total
