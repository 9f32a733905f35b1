"""Least squares on weighted sums about the means, for linear leaves and ridge regressions.

All formulas hold for weighted samples: a sample of weight w counts as w samples. With z the q
regressors, y the target and v = (z, y), a row of statistics is

    row[0]                  weight n, the sum of the sample weights
    row[1 : 2+q]            means of v, the target last
    row[2+q : ]             sums of products about the means, sum w (v - mean)(v - mean)',
                            lower triangle by rows: cell (i, j <= i) at i (i+1)/2 + j

Centred sums avoid the cancellation of raw sums when a feature is far from zero, and allow exact
merging and forgetting. With S the block of the regressors and s, t the other blocks,
beta = S^-1 s and SSE = t - s' S^-1 s, both from one factorisation S = L D L'.

The prior is a row, too, which is merged into every posterior. Weight 0 is a flat prior. The degrees
of freedom of a posterior are its weight plus `df_offset`, which is -(q + 1) for the flat prior.

A model can be multinomial instead: row[0] is the weight, row[1 + k] the weight of class k. It has
rows, but no fit.

BATCH_SIZE regressions are factorised at once. Their numbers are interleaved,
cells[cell * BATCH_SIZE + lane], so that the compiler uses SIMD instructions. A lane has the sums of
products of u = (1, v - origin), with sample weights and prior: lower triangle by rows, cell
(i, j <= i) at i (i+1)/2 + j. Cells that are added or subtracted must have the same origin. Cell
(0, 0) is the weight, and the first step of the factorisation centres the sums.
"""

cdef enum:
    MAX_REGRESSORS = 64     # further numeric features are used for splits only
    BATCH_SIZE = 8          # regressions that are factorised at once
    RUN = 16                # samples that are added together

cdef extern from *:
    """
    /* A smaller share of the diagonal is a rounding error: the column is collinear. */
    #define PIVOT_TOLERANCE 1e-11
    /* Smallest share of the residual in the total sum of squares, as less is a rounding error. */
    #define RESIDUAL_TOLERANCE 1e-13
    #define SMALLEST 1e-290
    """
    const double PIVOT_TOLERANCE, RESIDUAL_TOLERANCE, SMALLEST

cdef struct LeafModel:
    bint multinomial
    int n_regressors        # q; 0 for constant and multinomial leaves
    int n_classes
    int width               # doubles in a row
    double df_offset        # posterior degrees of freedom - weight
    double per_leaf         # constant of the log marginal likelihood of each leaf
    double concentration    # a of the Dirichlet prior
    double* prior           # a row
    double* scratch         # `scratch_size` doubles: the factor, then work space

cdef struct Fit:
    bint proper             # whether the posterior predictive distribution is proper
    int n_regressors        # q, or 0 if the regressors are collinear or the samples too few
    double weight           # of the samples and the prior
    double df
    double sse
    # The determinant of the Gram matrix, with the intercept, is determinant * exp(log_rest).
    double determinant
    double log_rest

cdef struct Factor:             # results of the factorisation of a batch, per lane
    double weight[BATCH_SIZE]
    # The product of all pivots but the last is determinant * exp(log_rest).
    double determinant[BATCH_SIZE]
    double log_rest[BATCH_SIZE]
    double total[BATCH_SIZE]         # centred sum of squares of the target
    double residual[BATCH_SIZE]      # residual sum of squares
    bint independent[BATCH_SIZE]     # whether the regressors are linearly independent

cdef int row_width(bint multinomial, int n_regressors, int n_classes) noexcept nogil
cdef int scratch_size(int n_regressors) noexcept nogil

cdef void add_sample(const LeafModel* model, double* row, const double* v,
                     double weight) noexcept nogil
cdef void add_samples(const LeafModel* model, double* row, const double* v, const int* slots, int n,
                      const double* weights) noexcept nogil
cdef void merge(const LeafModel* model, double* row, const double* other,
                double share) noexcept nogil
cdef void scale(const LeafModel* model, double* row, double factor) noexcept nogil
cdef Fit fit(const LeafModel* model, const double* row, bint linear) noexcept nogil
cdef double leverage(const LeafModel* model, const Fit* fit, const double* v,
                     double* mean) noexcept nogil
cdef void substitute_back(const double* factor, int n, double* b) noexcept nogil
cdef void slopes_of(const LeafModel* model, const Fit* fit, double* slopes) noexcept nogil
cdef void init_model(LeafModel* model, int n_regressors, double* scratch) noexcept nogil
cdef void solve_ridge(const LeafModel* model, const double* row, double* slopes) noexcept nogil

cdef void factorise(double* cells, int size, Factor* factor) noexcept nogil

cdef inline double* solved_of(const LeafModel* model) noexcept nogil:
    """Part of the scratch in which `leverage` stores L^-1 (v - mean of v)."""
    cdef int size = model.n_regressors + 1
    return model.scratch + size * (size + 1) // 2 + 3 * size


cdef inline void add_multiple(double* to, double factor, const double* others,
                              int n) noexcept nogil:
    """Add n numbers times a factor. Compilers use SIMD instructions, as two are stored at once."""
    cdef int j
    cdef double first, second
    for j in range(0, n - 1, 2):
        first = to[j] + factor * others[j]
        second = to[j + 1] + factor * others[j + 1]
        to[j], to[j + 1] = first, second
    if n & 1:
        to[n - 1] += factor * others[n - 1]
