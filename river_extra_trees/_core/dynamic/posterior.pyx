"""Conjugate leaf models: see the header for the layout of a row."""

import numpy as np

from libc.math cimport INFINITY, NAN, fabs, log, sqrt
from libc.string cimport memcpy

from ..memory cimport calloc, free

cdef double LOG_2PI = 1.8378770664093453
cdef double LOG_PI = 1.1447298858494002
cdef double LOG_2_OVER_PI = -0.4515827052894548
cdef double DRIFT = 1e-6        # rounding errors of statistics stay below this share of them
cdef double FADED = 1e-280      # a weight below is nothing: those of single samples underflow


cdef int row_width(bint multinomial, int n_regressors, int n_classes) noexcept nogil:
    """Doubles in one row of statistics."""
    if multinomial:
        return 1 + n_classes
    return 2 + n_regressors + (n_regressors + 1) * (n_regressors + 2) // 2


cdef int scratch_size(int n_regressors) noexcept nogil:
    """Doubles of work space: the factor, means, the diagonal, a column, a right-hand side."""
    return (n_regressors + 1) * (n_regressors + 2) // 2 + 4 * (n_regressors + 1)


cdef double log_gamma(double x) noexcept nogil:
    """Logarithm of the gamma function for x > 0."""
    cdef double product = 1.0
    cdef double main = stirling(x, &product)
    return main - log(product) if product != 1.0 else main


# --- Rows -----------------------------------------------------------------------------------

cdef inline void move_means(
    double* means, const double* other, const double* step, int size, double weight, double added
) noexcept nogil:
    """Means of two sets of samples together, the step leading from these means to the others.

    Seen from the heavier set: where nearly all the weight of samples far away has faded, their
    means would leave rounding errors as large as they are behind.
    """
    cdef double share
    cdef int i
    if added <= weight:
        share = added / (weight + added)
        for i in range(size):
            means[i] += share * step[i]
    else:
        share = weight / (weight + added)
        for i in range(size):
            means[i] = other[i] - share * step[i]


cdef void add_sample(
    const LeafModel* model, double* row, const double* v, double weight
) noexcept nogil:
    """One more sample: v = (regressors, target); the target of a class is its code."""
    cdef int size = model.n_regressors + 1, i, j
    cdef double* means = row + 1
    cdef double* products = row + 1 + size
    cdef double before = row[0], factor, share
    cdef double* step = model.scratch
    row[0] += weight
    if model.multinomial:
        row[1 + <int>v[model.n_regressors]] += weight
        return
    if row[0] <= 0.0:
        return
    share = weight / row[0]
    for i in range(size):
        step[i] = v[i] - means[i]
    move_means(means, v, step, size, before, weight)
    for i in range(size):
        factor = share * before * step[i]
        for j in range(i + 1):
            products[j] += factor * step[j]
        products += i + 1


cdef void add_samples(
    const LeafModel* model, double* row, const double* v, const int* slots, int n,
    const double* weights
) noexcept nogil:
    """More samples: sample slots[i] has its v at v + slot * (q + 1) and weight weights[slot]."""
    cdef int i, q = model.n_regressors
    if model.multinomial:
        for i in range(n):
            row[0] += weights[slots[i]]
            row[1 + <int>v[slots[i] * (q + 1) + q]] += weights[slots[i]]
    else:
        for i in range(n):
            add_sample(model, row, v + slots[i] * (model.n_regressors + 1), weights[slots[i]])


cdef void merge(
    const LeafModel* model, double* row, const double* other, double share
) noexcept nogil:
    """row += share * other: the statistics of both sets of samples together."""
    cdef int size = model.n_regressors + 1, i, j
    cdef double* means = row + 1
    cdef double* products = row + 1 + size
    cdef const double* addend = other + 1 + size
    cdef double before = row[0], added = share * other[0], part, factor
    cdef double* step = model.scratch
    if added <= 0.0:
        return
    row[0] += added
    if model.multinomial:
        for i in range(1, model.width):
            row[i] += share * other[i]
        return
    part = added / row[0]
    for i in range(size):
        step[i] = other[1 + i] - means[i]
    move_means(means, other + 1, step, size, before, added)
    for i in range(size):
        factor = part * before * step[i]
        for j in range(i + 1):
            products[j] += share * addend[j] + factor * step[j]
        products += i + 1
        addend += i + 1


cdef void scale(const LeafModel* model, double* row, double factor) noexcept nogil:
    """Give every sample `factor` times its weight: power priors, section 5 of the paper."""
    cdef int i
    row[0] *= factor
    for i in range(1 if model.multinomial else 2 + model.n_regressors, model.width):
        row[i] *= factor


cdef bint agree(const LeafModel* model, const double* row, const double* other) noexcept nogil:
    """Whether two rows are the statistics of the same samples, as far as rounding lets one tell.

    Samples may lie further from each other than their mean lies from zero; the rounding errors of
    the mean are a share of that distance.
    """
    cdef const double* products = other + 2 + model.n_regressors
    cdef double magnitude = 1.0
    cdef int i
    if row[0] < FADED and other[0] < FADED:
        return True
    for i in range(model.width):
        magnitude += fabs(other[i])
    if not model.multinomial and other[0] > 0.0:
        for i in range(model.n_regressors + 1):
            magnitude += sqrt(fabs(products[i * (i + 3) // 2]) / other[0])
    for i in range(model.width):
        if not fabs(row[i] - other[i]) <= DRIFT * magnitude:
            return False
    return True


# --- Regression -----------------------------------------------------------------------------

cdef Fit fit(const LeafModel* model, const double* row, bint linear) noexcept nogil:
    """Posterior of a regression row: factor in the scratch, means behind it.

    After the call the scratch holds L (unit diagonal left out) and D of the regressors' block;
    the last row is L^-1 s scaled by D^-1, its last cell is SSE. Behind it lie the means of v.
    Where the regressors are not linearly independent the leaf falls back to a constant one.
    """
    cdef Fit result
    cdef int size = model.n_regressors + 1, n_cells = size * (size + 1) // 2
    cdef int i, j, k
    cdef double* factor = model.scratch
    cdef double* means = factor + n_cells
    cdef double* diagonal = means + size
    cdef double* column = diagonal + size
    cdef double* pivot_row
    cdef double* target_row
    cdef double pivot, ratio
    result.n_regressors = model.n_regressors if linear else 0
    result.df = row[0] + model.df_offset + model.n_regressors - result.n_regressors
    if result.n_regressors > 0 and result.df <= 0.0:
        return fit(model, row, False)
    merge_prior(model, row, means, factor)
    result.weight = row[0] + model.prior[0]
    result.determinant, result.log_rest = result.weight, 0.0
    if result.n_regressors == 0:
        result.sse = factor[n_cells - 1]
        result.proper = result.df > 0.0 and result.sse > 0.0 and result.weight > 0.0
        return result
    pivot_row = factor
    for i in range(size):
        diagonal[i] = pivot_row[i]
        pivot_row += i + 1
    pivot_row = factor
    for k in range(size - 1):
        pivot = pivot_row[k]
        if pivot <= PIVOT_TOLERANCE * diagonal[k] or pivot <= SMALLEST:
            return fit(model, row, False)
        result.determinant *= pivot
        if not 1e-150 < result.determinant < 1e150:
            result.log_rest += log(result.determinant)
            result.determinant = 1.0
        target_row = pivot_row + k + 1
        for i in range(k + 1, size):
            column[i] = target_row[k]
            target_row += i + 1
        target_row = pivot_row + k + 1
        for i in range(k + 1, size):
            ratio = column[i] / pivot
            target_row[k] = ratio
            for j in range(k + 1, i + 1):
                target_row[j] -= ratio * column[j]
            target_row += i + 1
        pivot_row += k + 1
    result.sse = max(factor[n_cells - 1], RESIDUAL_TOLERANCE * diagonal[size - 1])
    result.proper = result.sse > 0.0
    return result


cdef void merge_prior(
    const LeafModel* model, const double* row, double* means, double* factor
) noexcept nogil:
    """The centred products of row and prior together, into `factor`; their means into `means`."""
    cdef int size = model.n_regressors + 1, i, j
    cdef const double* products = row + 1 + size
    cdef const double* addend = model.prior + 1 + size
    cdef double weight = row[0] + model.prior[0], share, ratio
    cdef double* step = means + 2 * size
    if model.prior[0] <= 0.0:
        memcpy(means, row + 1, size * sizeof(double))
        memcpy(factor, products, (size * (size + 1) // 2) * sizeof(double))
        return
    share = model.prior[0] / weight
    for i in range(size):
        step[i] = model.prior[1 + i] - row[1 + i]
        means[i] = row[1 + i] + share * step[i]
    for i in range(size):
        ratio = share * row[0] * step[i]
        for j in range(i + 1):
            factor[j] = products[j] + addend[j] + ratio * step[j]
        factor += i + 1
        products += i + 1
        addend += i + 1


cdef double log_marginal(
    const LeafModel* model, const double* row, bint linear, bint* is_linear
) noexcept nogil:
    """Log marginal likelihood of a leaf, active and retired samples together.

    Its increase by a sample is the log predictive density of that sample. `is_linear` says
    whether the regressors were used; ask with `linear=False` to leave them out.
    """
    cdef Fit result
    is_linear[0] = False
    if model.multinomial:
        return log_multinomial(model, row, 1)
    result = fit(model, row, linear)
    is_linear[0] = result.n_regressors > 0
    return evidence(model, &result, row[0])


cdef double evidence(const LeafModel* model, const Fit* fit, double weight) noexcept nogil:
    """Log marginal likelihood of a regression leaf whose samples weigh so much; NaN: none yet."""
    cdef double gamma, product = 1.0
    if not fit.proper:
        return -INFINITY if fit.df > 0.0 else NAN
    gamma = stirling(0.5 * fit.df, &product)
    return (
        model.per_leaf - 0.5 * weight * LOG_2PI + gamma
        - 0.5 * (fit.df * log(0.5 * fit.sse) + fit.log_rest
                 + log(fit.determinant * product * product))
    )


cdef double log_multinomial(
    const LeafModel* model, const double* row, int stride
) noexcept nogil:
    """The same for multinomial leaves: gamma functions of the counts over that of their sum.

    Cell i of the row is at i * stride.
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


cdef Predictive predictive(
    const LeafModel* model, const double* row, const double* v
) noexcept nogil:
    """Posterior predictive of a regression leaf at the regressors in v."""
    cdef Predictive answer
    cdef Fit result = fit(model, row, True)
    cdef int size = model.n_regressors + 1, n_cells = size * (size + 1) // 2, i, k
    cdef double* means = model.scratch + n_cells
    cdef double* solved = means + 3 * size
    cdef const double* pivot_row = model.scratch
    cdef const double* target_row = model.scratch + n_cells - size
    cdef double leverage
    answer.mean = means[size - 1]
    answer.df = result.df if result.proper else 0.0
    answer.scale2 = 0.0
    if not result.proper:
        return answer
    leverage = 1.0 / result.weight
    for i in range(result.n_regressors):
        solved[i] = v[i] - means[i]
        for k in range(i):
            solved[i] -= pivot_row[k] * solved[k]
        leverage += solved[i] * solved[i] / pivot_row[i]
        answer.mean += target_row[i] * solved[i]
        pivot_row += i + 1
    answer.scale2 = result.sse / result.df * (1.0 + leverage)
    return answer


cdef double log_density(Predictive student, double y) noexcept nogil:
    """Log density of a Student-t at y."""
    cdef double residual = y - student.mean
    return (
        log_gamma(0.5 * (student.df + 1.0)) - log_gamma(0.5 * student.df)
        - 0.5 * (log(student.df * student.scale2) + LOG_PI)
        - 0.5 * (student.df + 1.0)
        * log(1.0 + residual * residual / (student.df * student.scale2))
    )


cdef double reference_score(
    const LeafModel* model, const Fit* fit, double mean, const double* retired, double share
) noexcept nogil:
    """Score of a leaf in the moves of dynaTree 1.2-17, needed to compare with its output.

    It differs from the marginal likelihood in the constant (2/pi where 2 pi is meant) and, once
    something is retired, in terms that are not those of the conjugate prior. `mean` is that of
    all targets in the leaf, to which a share of the retired row belongs.
    """
    cdef double score, mass = share * retired[0], active = fit.weight - mass, prior_sse, gap
    cdef double log_determinant, retired_mean = retired[model.n_regressors + 1]
    if not fit.proper:
        return -INFINITY
    log_determinant = fit.log_rest + log(fit.determinant)
    score = (
        -0.5 * (active - fit.n_regressors - 1) * LOG_2_OVER_PI
        - 0.5 * fit.df * log(0.5 * fit.sse) + log_gamma(0.5 * fit.df) - 0.5 * log_determinant
    )
    if mass <= 0.0:
        return score
    prior_sse = share * retired[model.width - 1]
    if model.n_regressors > 0:
        prior_sse += mass * retired_mean * retired_mean
    else:
        score += 0.5 * (log_determinant - log(active) + log(mass))
        gap = (mean - retired_mean) * fit.weight / active       # between the two means
        prior_sse += active * mass / fit.weight * gap * gap
    return score + 0.5 * mass * log(0.5 * prior_sse) - log_gamma(0.5 * mass)


# --- For Python -----------------------------------------------------------------------------

cdef class Statistics:
    """One row of statistics with its leaf model: what a leaf knows, to look at and to test.

    Parameters
    ----------
    n_regressors
        Regressors of a regression leaf; 0 makes it a constant one.
    n_classes
        Classes of a multinomial leaf; 0 makes it a regression leaf.
    """

    cdef LeafModel model
    cdef double* row

    def __cinit__(self, int n_regressors=0, int n_classes=0):
        assert 0 <= n_regressors <= MAX_REGRESSORS and n_classes >= 0
        assert not (n_regressors and n_classes)
        self.model.multinomial = n_classes > 0
        self.model.n_regressors = n_regressors
        self.model.n_classes = n_classes
        self.model.width = row_width(n_classes > 0, n_regressors, n_classes)
        self.model.df_offset = -(n_regressors + 1)
        self.model.concentration = 1.0 / n_classes if n_classes else 0.0
        self.row = <double*>calloc(2 * self.model.width + scratch_size(n_regressors),
                                   sizeof(double))
        if self.row == NULL:
            raise MemoryError
        self.model.prior = self.row + self.model.width
        self.model.scratch = self.model.prior + self.model.width

    def __dealloc__(self):
        free(self.row)

    @property
    def values(self):
        """The row as numbers."""
        return [self.row[i] for i in range(self.model.width)]

    def set_prior(self, prior, double df_offset, double per_leaf):
        """A prior row, its degrees of freedom and a constant per leaf."""
        cdef int i
        assert len(prior) == self.model.width
        for i in range(self.model.width):
            self.model.prior[i] = prior[i]
        self.model.df_offset = df_offset
        self.model.per_leaf = per_leaf

    def copy(self):
        """The same statistics, to be changed independently."""
        cdef Statistics other = Statistics(self.model.n_regressors, self.model.n_classes)
        memcpy(other.row, self.row, 2 * self.model.width * sizeof(double))
        other.model.df_offset = self.model.df_offset
        other.model.per_leaf = self.model.per_leaf
        return other

    def add(self, z, double y, double weight=1.0):
        """One more sample."""
        cdef double[::1] v = np.array([*z, y], dtype=float)
        assert v.shape[0] == self.model.n_regressors + 1
        assert not self.model.multinomial or 0 <= y < self.model.n_classes
        add_sample(&self.model, self.row, &v[0], weight)

    def merge(self, Statistics other, double share=1.0):
        """Add a share of other statistics."""
        assert other.model.width == self.model.width
        merge(&self.model, self.row, other.row, share)

    def scale(self, double factor):
        """Multiply the weight of every sample."""
        scale(&self.model, self.row, factor)

    def log_marginal(self):
        """Log marginal likelihood of all samples."""
        cdef bint is_linear
        return log_marginal(&self.model, self.row, True, &is_linear)

    def reference_score(self, Statistics retired):
        """Score of dynaTree 1.2-17, `retired` being a part of this row."""
        cdef bint is_linear
        cdef Fit posterior
        assert retired.model.width == self.model.width
        if self.model.multinomial:
            return log_marginal(&self.model, self.row, True, &is_linear)
        posterior = fit(&self.model, self.row, True)
        return reference_score(
            &self.model, &posterior, self.row[self.model.n_regressors + 1], retired.row, 1.0)

    def predictive(self, z=()):
        """(mean, squared scale, degrees of freedom) of the Student-t predictive at z."""
        cdef double[::1] v = np.array([*z, 0.0], dtype=float)
        assert v.shape[0] == self.model.n_regressors + 1
        cdef Predictive answer = predictive(&self.model, self.row, &v[0])
        return answer.mean, answer.scale2, answer.df

    def log_predictive(self, z, double y):
        """Log predictive density of y at z, or log probability of class y."""
        cdef double[::1] v = np.array([*z, y], dtype=float)
        assert v.shape[0] == self.model.n_regressors + 1
        if self.model.multinomial:
            return log(self.probabilities()[<int>y])
        return log_density(predictive(&self.model, self.row, &v[0]), y)

    def probabilities(self):
        """Predictive probability of each class."""
        cdef double a = self.model.concentration
        cdef double mass = self.row[0] + a * self.model.n_classes
        return [(self.row[1 + k] + a) / mass for k in range(self.model.n_classes)]
