"""A ridge regression that forgets. See the header."""

from libc.string cimport memset

from ..linalg cimport init_model, row_width, scratch_size, solve_ridge
from ..parts cimport view

from ..state import require

cdef enum:
    FIRST = 10                  # samples before the coefficients differ from zero
    MOST_REGRESSORS = 1 << 12   # the number of cells of A fits into 32 bits

cdef double LARGEST_SUM = 1e306


cdef class FadingRidge(Part):
    """A ridge regression that forgets. See the header.

    Parameters
    ----------
    n
        Number of regressors.
    decay
        Factor of the weights of the earlier samples, per sample.
    prior
        The ridge, in mean squares of the regressors.
    """

    def __cinit__(self, int n=1, double decay=1.0, double prior=0.0):
        self.decay, self.prior = decay, prior
        self.begin(n)

    cdef int begin(self, int n) except -1:
        """Allocate the sums of n regressors."""
        require(1 <= n <= MOST_REGRESSORS, "FadingRidge: too many regressors")
        self.n = n
        self.renew(&self.sums, row_width(False, n, 0), sizeof(double))
        self.renew(&self.slopes, n, sizeof(double))
        self.renew(&self.scratch, n, sizeof(double))
        self.renew(&self.model.scratch, scratch_size(n), sizeof(double))
        init_model(&self.model, n, self.model.scratch)
        return 0

    cdef void learn(self, const double* d, double target) noexcept nogil:
        """Add a sample, and compute the coefficients."""
        cdef int i, j
        cdef double square = 0.0, value
        cdef double* cells = self.sums + 2 + self.n
        for i in range(self.n):
            square += d[i] * d[i] / self.n
        for i in range(self.n + 1):
            value = d[i] if i < self.n else target
            for j in range(i + 1):
                cells[j] = self.decay * cells[j] + value * (d[j] if j < self.n else target)
            cells += i + 1
        self.n_learned += 1
        self.square = self.decay * self.square + square
        self.n_squares = self.decay * self.n_squares + 1.0
        self.solve()

    cdef void solve(self) noexcept nogil:
        """Compute the coefficients c."""
        cdef int i
        cdef double ridge = 0.0
        cdef double* diagonal = self.sums + 2 + self.n
        if self.n_squares > 0.0:
            ridge = self.prior * self.square / self.n_squares
        if self.n_learned < FIRST or not ridge > 0.0:
            memset(self.slopes, 0, self.n * sizeof(double))
            return
        for i in range(self.n):
            self.scratch[i] = diagonal[i]
            diagonal[i] += ridge
            diagonal += i + 1
        self.sums[0] = self.n_squares
        solve_ridge(&self.model, self.sums, self.slopes)
        diagonal = self.sums + 2 + self.n
        for i in range(self.n):
            diagonal[i] = self.scratch[i]
            diagonal += i + 1

    # ---------------------------------------------------------------- state

    FIELDS = {
        "decay": ("number", 0.0, 1.0), "prior": ("number", 0.0, 1e6),
        "n": ("whole", 1, MOST_REGRESSORS),
        "sums": ("numbers", None, {"least": -LARGEST_SUM, "most": LARGEST_SUM}),
        "n_learned": ("whole",), "square": ("number", 0.0, LARGEST_SUM),
        "n_squares": ("number", 0.0, 1e6),
    }

    cdef dict views(self):
        """The array of a state."""
        return {"sums": view(self.sums + 2 + self.n, "f8", ((self.n + 1) * (self.n + 2) // 2,))}

    cdef int load(self, dict fields) except -1:
        n = fields["n"]
        require(len(fields["sums"]) == (n + 1) * (n + 2) // 2,
                "FadingRidge: there are no such sums")
        self.begin(n)
        Part.load(self, fields)
        self.solve()
        return 0
