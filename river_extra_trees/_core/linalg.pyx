"""Least squares on sums about the means. See the header for the layout of a row and of a batch.

Equations and sections are those of Anagnostopoulos and Gramacy (2013).
"""

from libc.math cimport log
from libc.string cimport memcpy, memset

cdef extern from "regressors.h":
    void move_means(double* means, const double* values, int n, bint are_heavier, double share,
                    double rest, double factor, double* steps, double* products) nogil
    void add_products(double* cells, int size, const double* steps, const double* factors, int n,
                      int width) nogil

cdef double LARGEST_SLOPE = 1e200       # products with features are finite
cdef double NO_PRIOR = 0.0


cdef int row_width(bint multinomial, int n_regressors, int n_classes) noexcept nogil:
    """Doubles in one row of statistics."""
    if multinomial:
        return 1 + n_classes
    return 2 + n_regressors + (n_regressors + 1) * (n_regressors + 2) // 2


cdef int scratch_size(int n_regressors) noexcept nogil:
    """Doubles of work space: the factor, means, the diagonal, a column, a right-hand side."""
    return (n_regressors + 1) * (n_regressors + 2) // 2 + 4 * (n_regressors + 1)


# --- Rows -----------------------------------------------------------------------------------

cdef void add_sample(const LeafModel* model, double* row, const double* v,
                     double weight) noexcept nogil:
    """Add a sample v = (regressors, target) or (class code): equation (4), about the means."""
    add_samples(model, row, v, NULL, 1, &weight)


cdef void add_samples(const LeafModel* model, double* row, const double* v, const int* slots, int n,
                      const double* weights) noexcept nogil:
    """Add samples: that in slot slots[i] has its v at v + slot * (q + 1), weight weights[slot].

    If there are no `slots`, sample i is in slot i. Several samples are added to a cell at a time.
    """
    cdef double[RUN * (MAX_REGRESSORS + 2)] steps, factors
    cdef Py_ssize_t size = model.n_regressors + 1, slot
    cdef int width = <int>(size + 1) // 2 * 2, i, n_read = 0
    cdef double before
    for i in range(n):
        slot = i if slots == NULL else slots[i]
        before = row[0]
        row[0] += weights[slot]
        if model.multinomial:
            # a + z, section 3.1
            row[1 + <int>v[slot * size + model.n_regressors]] += weights[slot]
            continue
        if row[0] > 0.0:
            move_means(row + 1, v + slot * size, <int>size, weights[slot] <= before,
                       weights[slot] / row[0], before / row[0], weights[slot] / row[0] * before,
                       steps + n_read * width, factors + n_read * width)
            n_read += 1
        if n_read == RUN or i == n - 1:
            add_products(row + 1 + size, <int>size, steps, factors, n_read, width)
            n_read = 0


cdef void merge(const LeafModel* model, double* row, const double* other,
                double share) noexcept nogil:
    """Add `share` times other statistics to a row: equation (3)."""
    cdef double[MAX_REGRESSORS + 2] steps, factors
    cdef int size = model.n_regressors + 1, i, j
    cdef double before = row[0], part
    cdef double* products = row + 1 + size
    if share * other[0] <= 0.0:
        return
    if model.multinomial:
        for i in range(model.width):
            row[i] += share * other[i]
        return
    row[0] += share * other[0]
    part = share * other[0] / row[0]
    move_means(row + 1, other + 1, size, share * other[0] <= before, part, before / row[0],
               part * before, steps, factors)
    other += 1 + size
    for i in range(size):
        for j in range(i + 1):
            products[j] += share * other[j] + factors[i] * steps[j]
        products, other = products + i + 1, other + i + 1


cdef void scale(const LeafModel* model, double* row, double factor) noexcept nogil:
    """Multiply the weights of all samples by a factor: power priors, section 5 of the paper."""
    cdef int i
    row[0] *= factor
    for i in range(1 if model.multinomial else 2 + model.n_regressors, model.width):
        row[i] *= factor


# --- Solution -------------------------------------------------------------------------------

cdef Fit fit(const LeafModel* model, const double* row, bint linear) noexcept nogil:
    """Posterior of a regression row, section 3.1. The factorisation stays in the scratch.

    The scratch contains L, with D in place of its unit diagonal, for the block of the regressors;
    the last row is D^-1 L^-1 s, and its last cell is SSE. The means of v follow. If the regressors
    are collinear, the leaf is fitted as a constant one.
    """
    cdef Fit result
    cdef int size = model.n_regressors + 1, n_cells = size * (size + 1) // 2
    cdef int i, k
    cdef double* factor = model.scratch
    cdef double* means = factor + n_cells
    cdef double* diagonal = means + size
    cdef double* column = diagonal + size
    cdef double* pivot_row
    cdef double* target_row
    cdef double pivot, ratio
    result.n_regressors = model.n_regressors if linear else 0
    result.df = row[0] + model.df_offset + model.n_regressors - result.n_regressors     # nu = n - p
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
            add_multiple(target_row + k + 1, -ratio, column + k + 1, i - k)
            target_row += i + 1
        pivot_row += k + 1
    result.sse = max(factor[n_cells - 1], RESIDUAL_TOLERANCE * diagonal[size - 1])      # r - R
    result.proper = result.sse > 0.0
    return result


cdef void merge_prior(const LeafModel* model, const double* row, double* means,
                      double* factor) noexcept nogil:
    """Equation (3): store the products of row and prior in `factor`, and the means in `means`."""
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


cdef double leverage(const LeafModel* model, const Fit* fit, const double* v,
                     double* mean) noexcept nogil:
    """Leverage 1/n + x' G^-1 x of v in the leaf that was fitted last; set `mean` to its prediction.

    Stores L^-1 (v - mean of v) in `solved_of`.
    """
    cdef int size = model.n_regressors + 1, n_cells = size * (size + 1) // 2, i, k
    cdef double* means = model.scratch + n_cells
    cdef double* solved = solved_of(model)
    cdef const double* pivot_row = model.scratch
    cdef const double* target_row = model.scratch + n_cells - size
    cdef double total = 1.0 / fit.weight
    mean[0] = means[size - 1]
    for i in range(fit.n_regressors):
        solved[i] = v[i] - means[i]
        for k in range(i):
            solved[i] -= pivot_row[k] * solved[k]
        total += solved[i] * solved[i] / pivot_row[i]
        mean[0] += target_row[i] * solved[i]
        pivot_row += i + 1
    return total


cdef void substitute_back(const double* factor, int n, double* b) noexcept nogil:
    """Replace the n numbers b by the solution of L' u = b; L by rows, without its diagonal."""
    cdef int k
    for k in range(n - 1, -1, -1):
        add_multiple(b, -b[k], factor + k * (k + 1) // 2, k)


cdef void slopes_of(const LeafModel* model, const Fit* fit, double* slopes) noexcept nogil:
    """The coefficients of the leaf that was fitted last."""
    cdef int q = fit.n_regressors
    memcpy(slopes, model.scratch + q * (q + 1) // 2, q * sizeof(double))
    substitute_back(model.scratch, q, slopes)       # L' b = (L^-1 s) / D


cdef void init_model(LeafModel* model, int n_regressors, double* scratch) noexcept nogil:
    """A regression without a prior: the ridge is added to its sums."""
    memset(model, 0, sizeof(LeafModel))
    model.n_regressors = n_regressors
    model.width = row_width(False, n_regressors, 0)
    model.df_offset = 1.0               # so that there is a solution for any weights
    model.prior, model.scratch = &NO_PRIOR, scratch


cdef void solve_ridge(const LeafModel* model, const double* row, double* slopes) noexcept nogil:
    """The coefficients of a row to which the ridge has been added; 0 where rounding is all."""
    cdef int i
    cdef bint sound
    cdef Fit found = fit(model, row, True)
    sound = found.n_regressors > 0
    if sound:
        slopes_of(model, &found, slopes)
    for i in range(found.n_regressors):
        sound = sound and -LARGEST_SLOPE <= slopes[i] <= LARGEST_SLOPE
    if not sound:
        memset(slopes, 0, model.n_regressors * sizeof(double))


# --- Batches --------------------------------------------------------------------------------


cdef void factorise(double* cells, int size, Factor* factor) noexcept nogil:
    """Replace the cells by L of L D L', row by row."""
    cdef double inverse[(MAX_REGRESSORS + 2) * BATCH_SIZE]   # 1 / D
    cdef double scaled[(MAX_REGRESSORS + 2) * BATCH_SIZE]    # the present row of L D
    cdef double sums[BATCH_SIZE]
    cdef double* line = cells
    cdef const double* other
    cdef int i, j, k, lane
    for i in range(size):
        other = cells
        for j in range(i + 1):
            for lane in range(BATCH_SIZE):
                sums[lane] = line[j * BATCH_SIZE + lane]
            for k in range(j):
                for lane in range(BATCH_SIZE):
                    sums[lane] -= scaled[k * BATCH_SIZE + lane] * other[k * BATCH_SIZE + lane]
            if j == i:
                break
            for lane in range(BATCH_SIZE):
                scaled[j * BATCH_SIZE + lane] = sums[lane]
            for lane in range(BATCH_SIZE):
                line[j * BATCH_SIZE + lane] = sums[lane] * inverse[j * BATCH_SIZE + lane]
            other += (j + 1) * BATCH_SIZE
        take_pivot(factor, i, size, line, scaled, sums, inverse + i * BATCH_SIZE)
        line += (i + 1) * BATCH_SIZE


cdef void take_pivot(Factor* factor, int i, int size, const double* line, const double* scaled,
                     const double* pivots, double* inverse) noexcept nogil:
    """Store the results of the pivots of row i; skip pivots that are rounding errors."""
    cdef int lane
    cdef double centred
    cdef bint extreme = False
    for lane in range(BATCH_SIZE):
        if i == 0:
            factor.weight[lane] = factor.determinant[lane] = pivots[lane]
            factor.log_rest[lane] = 0.0
            factor.independent[lane] = True
            inverse[lane] = 1.0 / pivots[lane] if pivots[lane] > 0.0 else 0.0
            continue
        centred = line[i * BATCH_SIZE + lane] - scaled[lane] * line[lane]
        if i == size - 1:
            factor.total[lane], factor.residual[lane] = centred, pivots[lane]
        elif pivots[lane] > PIVOT_TOLERANCE * centred and pivots[lane] > SMALLEST:
            factor.determinant[lane] *= pivots[lane]
            extreme |= not 1e-150 < factor.determinant[lane] < 1e150
            inverse[lane] = 1.0 / pivots[lane]
        else:
            factor.independent[lane] = False
            inverse[lane] = 0.0
    if extreme:
        for lane in range(BATCH_SIZE):
            factor.log_rest[lane] += log(factor.determinant[lane])
            factor.determinant[lane] = 1.0
