"""Conjugate leaf models. See the header for the layout of a row and of a batch.

Equations and sections are those of Anagnostopoulos and Gramacy (2013).
"""

from libc.math cimport INFINITY, NAN
from libc.string cimport memcpy

from ..linalg cimport MAX_REGRESSORS, RESIDUAL_TOLERANCE, Factor, factorise, fit, leverage

cdef double LOG_2PI = 1.8378770664093453
cdef double LOG_2_OVER_PI = -0.4515827052894548
# Share of the weight of a leaf from which on it has active samples; less is a rounding error.
cdef double LEAST_ACTIVE = 1e-9


cdef double log_gamma(double x) noexcept nogil:
    """Logarithm of the gamma function for x > 0."""
    cdef double product = 1.0
    cdef double main = stirling(x, &product)
    return main - log(product) if product != 1.0 else main


# --- Regression -----------------------------------------------------------------------------

cdef double log_marginal(const LeafModel* model, const double* row, bint linear,
                         bint* is_linear) noexcept nogil:
    """Log marginal likelihood p(y | x) of a leaf, section 2.1, with its active and retired samples.

    Its increase by a sample is the log predictive density of the sample. `is_linear` is set to
    whether the regressors were used; `linear=False` does not use them.
    """
    cdef Fit result
    is_linear[0] = False
    if model.multinomial:
        return log_multinomial(model, row, 1)
    result = fit(model, row, linear)
    is_linear[0] = result.n_regressors > 0
    return evidence(model, &result, row[0])


cdef double evidence(const LeafModel* model, const Fit* fitted, double weight) noexcept nogil:
    """Log marginal likelihood of a fitted regression leaf; NaN without degrees of freedom.

    `weight` is that of the samples, without the prior.
    """
    cdef double gamma, product = 1.0
    if not fitted.proper:
        return -INFINITY if fitted.df > 0.0 else NAN
    gamma = stirling(0.5 * fitted.df, &product)
    return (
        model.per_leaf - 0.5 * weight * LOG_2PI + gamma
        - 0.5 * (fitted.df * log(0.5 * fitted.sse) + fitted.log_rest
                 + log(fitted.determinant * product * product))
    )


cdef double log_multinomial(const LeafModel* model, const double* row, int stride) noexcept nogil:
    """Log marginal likelihood of a multinomial leaf with prior Dirichlet(a, ..., a).

    Sections 2.1 and 3.1: the product of the gamma functions of the counts, divided by the gamma
    function of their sum. Cell i of the row is at i * stride.
    """
    cdef double total = model.per_leaf, product = 1.0, below = 1.0
    cdef int k
    for k in range(model.n_classes):
        total += stirling(row[(1 + k) * stride] + model.concentration, &product)
        if not 1e-200 < product < 1e200:
            total -= log(product)
            product = 1.0
    total -= stirling(row[0] + model.n_classes * model.concentration, &below)
    return total + log(below / product)


cdef Predictive predictive(const LeafModel* model, const double* row,
                           const double* v) noexcept nogil:
    """Posterior predictive of a regression leaf at the regressors in v: equation (1)."""
    cdef Predictive answer
    cdef Fit result = fit(model, row, True)
    cdef int size = model.n_regressors + 1
    answer.df = answer.scale2 = 0.0
    answer.mean = model.scratch[size * (size + 1) // 2 + size - 1]      # see `fit`
    if result.proper:
        answer.df = result.df
        answer.scale2 = result.sse / result.df * (1.0 + leverage(model, &result, v, &answer.mean))
    return answer


cdef double published_score(const LeafModel* model, const Fit* fitted, double mean,
                            const double* retired, double share) noexcept nogil:
    """Score of a leaf in the moves of dynaTree 1.2-17, for comparisons with its output.

    It differs from the marginal likelihood in a constant (2/pi instead of 2 pi) and, if there are
    retired samples, in terms that do not follow from the conjugate prior. `mean` is that of all
    targets in the leaf, including `share` of the retired row. dynaTree leaves out the terms of the
    active samples of a leaf that has none, and the prior of the variance if the retired ones have
    no spread.
    """
    cdef double score, mass = share * retired[0], active = fitted.weight - mass, prior_sse, gap
    cdef double log_determinant, retired_mean = retired[model.n_regressors + 1]
    if not fitted.proper:
        return -INFINITY
    log_determinant = fitted.log_rest + log(fitted.determinant)
    score = (
        -0.5 * (active - fitted.n_regressors - 1) * LOG_2_OVER_PI
        - 0.5 * fitted.df * log(0.5 * fitted.sse) + log_gamma(0.5 * fitted.df)
        - 0.5 * log_determinant
    )
    if mass <= 0.0:
        return score
    prior_sse = share * retired[model.width - 1]
    if model.n_regressors > 0:
        prior_sse += mass * retired_mean * retired_mean
    else:
        score += 0.5 * (log_determinant + log(mass))
        if active > LEAST_ACTIVE * fitted.weight:
            score -= 0.5 * log(active)
            gap = (mean - retired_mean) * fitted.weight / active    # between the two means
            prior_sse += active * mass / fitted.weight * gap * gap
    if prior_sse <= 0.0:
        return score
    return score + 0.5 * mass * log(0.5 * prior_sse) - log_gamma(0.5 * mass)


# --- Batches --------------------------------------------------------------------------------


cdef void to_cells(const LeafModel* model, const double* row, const double* origin,
                   double* cells) noexcept nogil:
    """Convert a row to cells."""
    cdef int size = model.n_regressors + 1, i, j
    cdef const double* products = row + 1 + size
    cdef double step[MAX_REGRESSORS + 1]
    if model.multinomial:
        memcpy(cells, row, model.width * sizeof(double))
        return
    cells[0] = row[0]
    cells += 1
    for i in range(size):
        step[i] = row[1 + i] - origin[i]
        cells[0] = row[0] * step[i]
        for j in range(i + 1):
            cells[1 + j] = products[j] + row[0] * step[i] * step[j]
        cells += i + 2
        products += i + 1


cdef void add_to_cells(const LeafModel* model, double* cells, const double* offsets,
                       const int* slots, int n, const double* weights) noexcept nogil:
    """Add samples: that in slots[i] has v - origin at offsets + slot * (q + 1)."""
    cdef int size = model.n_regressors + 1, i, slot
    cdef double share
    if model.multinomial:
        for i in range(n):
            cells[0] += weights[slots[i]]
            cells[1 + <int>offsets[slots[i]]] += weights[slots[i]]
    elif size == 1:
        for i in range(n):
            slot = slots[i]
            share = weights[slot] * offsets[slot]
            cells[0] += weights[slot]
            cells[1] += share
            cells[2] += share * offsets[slot]
    else:
        i = 0
        while i + 2 <= n:
            add_pair(cells, size, offsets + <size_t>slots[i] * size, weights[slots[i]],
                     offsets + <size_t>slots[i + 1] * size, weights[slots[i + 1]])
            i += 2
        if i < n:
            add_pair(cells, size, offsets + <size_t>slots[i] * size, weights[slots[i]],
                     offsets + <size_t>slots[i] * size, 0.0)


cdef void add_pair(double* cells, int size, const double* first, double first_weight,
                   const double* second, double second_weight) noexcept nogil:
    """Add two samples, which reads and writes the cells only once."""
    cdef double one[MAX_REGRESSORS + 1]
    cdef double two[MAX_REGRESSORS + 1]
    cdef double first_share, second_share
    cdef int i, j
    memcpy(one, first, size * sizeof(double))   # local copies do not alias the cells
    memcpy(two, second, size * sizeof(double))
    cells[0] += first_weight + second_weight
    cells += 1
    for i in range(size):
        first_share, second_share = first_weight * one[i], second_weight * two[i]
        cells[0] += first_share + second_share
        cells += 1
        for j in range(i + 1):
            cells[j] += first_share * one[j] + second_share * two[j]
        cells += i + 1


cdef void fit_batch(const LeafModel* model, double* cells, int n_leaves, Fit* fits) noexcept nogil:
    """Posteriors of regression leaves, as from `fit`. Overwrites the cells."""
    cdef Factor factor
    cdef int lane
    cdef Fit* here
    factorise(cells, model.n_regressors + 2, &factor)
    for lane in range(n_leaves):
        here = &fits[lane]
        here.weight = factor.weight[lane]
        here.df = here.weight - model.prior[0] + model.df_offset
        here.n_regressors = model.n_regressors
        if here.n_regressors > 0 and not (factor.independent[lane] and here.df > 0.0):
            here.df += here.n_regressors
            here.n_regressors = 0
        if here.n_regressors > 0:
            here.determinant, here.log_rest = factor.determinant[lane], factor.log_rest[lane]
            here.sse = max(factor.residual[lane], RESIDUAL_TOLERANCE * factor.total[lane])
        else:
            here.determinant, here.log_rest = here.weight, 0.0
            here.sse = factor.total[lane]
        here.proper = here.df > 0.0 and here.sse > 0.0 and here.weight > 0.0
