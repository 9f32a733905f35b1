"""Conjugate leaf models on flat rows of sufficient statistics.

Three models have one interface. All formulas hold for weighted samples: a sample of weight w counts
as w samples.

Regression (constant leaves are linear ones with no regressors). With z the q regressors, y the
target and v = (z, y), a row is

    row[0]                  weight n, the sum of the sample weights
    row[1 : 2+q]            means of v, the target last
    row[2+q : ]             sums of products about the means, sum w (v - mean)(v - mean)',
                            lower triangle by rows: cell (i, j <= i) at i (i+1)/2 + j

Centred sums avoid the cancellation of raw sums when a feature is far from zero, and allow exact
merging and forgetting. With S the block of the regressors and s, t the other blocks,
beta = S^-1 s and SSE = t - s' S^-1 s, both from one factorisation S = L D L'.

Multinomial: row[0] is the weight, row[1 + k] the weight of class k; prior Dirichlet(a, ..., a).

The prior is a row, too, which is merged into every posterior. Weight 0 is the flat prior of the
paper, equation (1). The degrees of freedom of a posterior are its weight plus `df_offset`, which is
-(q + 1) for the flat prior.

A scan over the cuts of a leaf needs the evidence of many leaves, which is computed for BATCH_SIZE
leaves at once. Their numbers are interleaved, cells[cell * BATCH_SIZE + lane], so that the compiler
uses SIMD instructions.

Regression: a lane has the sums of products of u = (1, v - origin), with sample weights and prior:
lower triangle by rows, cell (i, j <= i) at i (i+1)/2 + j. Cells that are added or subtracted must
have the same origin. Cell (0, 0) is the weight, and the first step of the factorisation centres the
sums. Multinomial: as in a row, without the prior. `to_cells` converts a row; there are as many
cells as doubles in a row.
"""

from libc.math cimport log

cdef enum:
    MAX_SERIES = 8          # log_gamma uses Stirling's series from here on
    MAX_REGRESSORS = 64     # further numeric features are used for splits only
    BATCH_SIZE = 8          # leaves whose evidence is computed at once
    BATCH_PAIRS = 4         # cuts whose children these are

cdef extern from *:
    """
    #define HALF_LOG_2PI 0.9189385332046728
    /* A smaller share of the diagonal is a rounding error: the column is collinear. */
    #define PIVOT_TOLERANCE 1e-11
    /* Smallest share of the residual in the total sum of squares, as less is a rounding error. */
    #define RESIDUAL_TOLERANCE 1e-13
    #define SMALLEST 1e-290
    """
    const double HALF_LOG_2PI, PIVOT_TOLERANCE, RESIDUAL_TOLERANCE, SMALLEST

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

cdef struct Predictive:
    double mean             # of the Student-t
    double scale2           # squared scale
    double df               # degrees of freedom; 0 when there is no proper predictive

cdef int row_width(bint multinomial, int n_regressors, int n_classes) noexcept nogil
cdef int scratch_size(int n_regressors) noexcept nogil

cdef double log_gamma(double x) noexcept nogil
cdef void add_sample(const LeafModel* model, double* row, const double* v,
                     double weight) noexcept nogil
cdef void add_samples(const LeafModel* model, double* row, const double* v, const int* slots, int n,
                      const double* weights) noexcept nogil
cdef void merge(const LeafModel* model, double* row, const double* other,
                double share) noexcept nogil
cdef void scale(const LeafModel* model, double* row, double factor) noexcept nogil
cdef Fit fit(const LeafModel* model, const double* row, bint linear) noexcept nogil
cdef double log_marginal(const LeafModel* model, const double* row, bint linear,
                         bint* is_linear) noexcept nogil
cdef double leverage(const LeafModel* model, const Fit* fit, const double* v,
                     double* mean) noexcept nogil
cdef Predictive predictive(const LeafModel* model, const double* row,
                           const double* v) noexcept nogil
cdef double log_multinomial(const LeafModel* model, const double* row, int stride) noexcept nogil
cdef double evidence(const LeafModel* model, const Fit* fit, double weight) noexcept nogil
cdef double published_score(const LeafModel* model, const Fit* fit, double mean,
                            const double* retired, double share) noexcept nogil

cdef void to_cells(const LeafModel* model, const double* row, const double* origin,
                   double* cells) noexcept nogil
cdef void add_to_cells(const LeafModel* model, double* cells, const double* offsets,
                       const int* slots, int n, const double* weights) noexcept nogil
cdef void fit_batch(const LeafModel* model, double* cells, int n_leaves, Fit* fits) noexcept nogil

cdef inline double* solved_of(const LeafModel* model) noexcept nogil:
    """Part of the scratch in which `leverage` stores L^-1 (v - mean of v)."""
    cdef int size = model.n_regressors + 1
    return model.scratch + size * (size + 1) // 2 + 3 * size

cdef inline double stirling(double x, double* product) noexcept nogil:
    """Stirling's series for log(gamma(x)) + log(factor), x > 0; `product` is multiplied by factor.

    gamma(x + 1) = x gamma(x) shifts small arguments to where the series holds. The factors are
    multiplied, so that the caller needs one logarithm for a sum of several terms.
    """
    cdef double inverse, square
    while x < MAX_SERIES:
        product[0] *= x
        x += 1.0
    inverse = 1.0 / x
    square = inverse * inverse
    return (
        (x - 0.5) * log(x) - x + HALF_LOG_2PI
        + inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square * (
            1.0 / 1680 - square * (1.0 / 1188 - square * (691.0 / 360360))))))
    )
