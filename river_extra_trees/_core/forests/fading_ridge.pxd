"""A ridge regression that forgets: each sample multiplies the weight of the earlier ones.

    c = (A + r I)^-1 b,      A = sum lambda^age d d',    b = sum lambda^age d y,

where d are the regressors, y is the target, and r is the prior times the mean of the squares of d
(Hoerl and Kennard 1970). There is no intercept. Until ten samples were learned, c is zero.
"""

from libc.stdint cimport int64_t

from ..linalg cimport LeafModel
from ..parts cimport Part

cdef class FadingRidge(Part):
    cdef public int n                   # number of regressors
    cdef public double decay            # lambda
    cdef public double prior
    cdef double* sums                   # A and b, in the row layout of `linalg`
    cdef public int64_t n_learned       # number of samples
    cdef public double square           # decayed sum of the mean square of d
    cdef public double n_squares        # decayed number of samples in it
    cdef double* slopes                 # c
    cdef double* scratch                # the diagonal of A
    cdef LeafModel model                # solver for c

    cdef void learn(self, const double* d, double target) noexcept nogil
    cdef int begin(self, int n) except -1
    cdef void solve(self) noexcept nogil

    cdef inline double answer(self, const double* d) noexcept nogil:
        """The prediction c'd."""
        cdef double total = 0.0
        cdef int i
        for i in range(self.n):
            total += self.slopes[i] * d[i]
        return total
