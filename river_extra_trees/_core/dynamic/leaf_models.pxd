"""The predictive distributions of leaves: conjugate models on rows of sufficient statistics.

Three models have one interface: constant, linear (see `linalg` for both) and multinomial. A
multinomial row has the weight in row[0] and the weight of class k in row[1 + k]; the prior is
Dirichlet(a, ..., a).

A scan over the cuts of a leaf computes the evidence of BATCH_SIZE leaves at once, see `linalg`. The
cells of a multinomial leaf are those of its row, without the prior. `to_cells` converts a row;
there are as many cells as doubles in a row.
"""

from libc.math cimport log

from ..linalg cimport BATCH_SIZE, Fit, LeafModel

cdef enum:
    MAX_SERIES = 8          # log_gamma uses Stirling's series from here on
    BATCH_PAIRS = 4         # cuts whose children these are

cdef extern from *:
    "#define HALF_LOG_2PI 0.9189385332046728"
    const double HALF_LOG_2PI

cdef struct Predictive:
    double mean             # of the Student-t
    double scale2           # squared scale
    double df               # degrees of freedom; 0 when there is no proper predictive

cdef double log_gamma(double x) noexcept nogil
cdef double log_marginal(const LeafModel* model, const double* row, bint linear,
                         bint* is_linear) noexcept nogil
cdef Predictive predictive(const LeafModel* model, const double* row,
                           const double* v) noexcept nogil
cdef double log_multinomial(const LeafModel* model, const double* row, int stride) noexcept nogil
cdef double evidence(const LeafModel* model, const Fit* fitted, double weight) noexcept nogil
cdef double published_score(const LeafModel* model, const Fit* fitted, double mean,
                            const double* retired, double share) noexcept nogil

cdef void to_cells(const LeafModel* model, const double* row, const double* origin,
                   double* cells) noexcept nogil
cdef void add_to_cells(const LeafModel* model, double* cells, const double* offsets,
                       const int* slots, int n, const double* weights) noexcept nogil
cdef void fit_batch(const LeafModel* model, double* cells, int n_leaves, Fit* fits) noexcept nogil

cdef inline double mean_of(const LeafModel* model, double weight, double mean) noexcept nogil:
    """What a regression leaf with this weight and mean predicts in the middle of its samples."""
    if model.prior[0] <= 0.0:
        return mean
    return mean + model.prior[0] / (weight + model.prior[0]) * (
        model.prior[1 + model.n_regressors] - mean)

cdef inline double class_share(const LeafModel* model, const double* row, int k) noexcept nogil:
    """Predictive probability of class k in a leaf: sections 2.1 and 4.3."""
    return (row[1 + k] + model.concentration) / (
        row[0] + model.concentration * model.n_classes)

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
