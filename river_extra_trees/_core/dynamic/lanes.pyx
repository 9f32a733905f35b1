"""The evidence of several leaves at once. See the header for the layout."""

import numpy as np

from libc.math cimport log
from libc.string cimport memcpy

from .posterior cimport (
    MAX_REGRESSORS, PIVOT_TOLERANCE, RESIDUAL_TOLERANCE, SMALLEST, Fit, LeafModel, evidence,
    log_multinomial, row_width,
)


cdef struct Factor:             # what a factorisation leaves behind, per lane
    double weight[LANES]
    double determinant[LANES]   # product of the pivots but the last, but for ...
    double log_rest[LANES]      # ... a factor, of which this is the logarithm
    double total[LANES]         # centred sum of squares of the target
    double residual[LANES]      # the same, the part explained by the regressors taken away
    bint independent[LANES]     # no regressor repeats earlier ones


cdef void to_cells(
    const LeafModel* model, const double* row, const double* origin, double* cells
) noexcept nogil:
    """The cells of a row."""
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


cdef void add_to_cells(
    const LeafModel* model, double* cells, const double* offsets, const int* slots, int n,
    const double* weights
) noexcept nogil:
    """Add samples: slots[i] has v - origin at offsets + slot * (q + 1), weight weights[slot]."""
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


cdef void add_pair(
    double* cells, int size, const double* first, double first_weight, const double* second,
    double second_weight
) noexcept nogil:
    """Add two samples: the cells are read and written once for both."""
    cdef double one[MAX_REGRESSORS + 1]
    cdef double two[MAX_REGRESSORS + 1]
    cdef double first_share, second_share
    cdef int i, j
    memcpy(one, first, size * sizeof(double))   # local: these do not overlap with the cells
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


cdef void fit_lanes(const LeafModel* model, double* cells, int n_lanes, Fit* fits) noexcept nogil:
    """Posteriors of regression leaves, as `posterior.fit` has them. Destroys the cells."""
    cdef Factor factor
    cdef int lane
    cdef Fit* here
    factorise(cells, model.n_regressors + 2, &factor)
    for lane in range(n_lanes):
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
            here.proper = here.sse > 0.0
        else:
            here.determinant, here.log_rest = here.weight, 0.0
            here.sse = factor.total[lane]
            here.proper = here.df > 0.0 and here.sse > 0.0 and here.weight > 0.0


cdef void factorise(double* cells, int size, Factor* factor) noexcept nogil:
    """Replace the cells by L of L D L', row by row."""
    cdef double inverse[(MAX_REGRESSORS + 2) * LANES]   # 1 / D
    cdef double scaled[(MAX_REGRESSORS + 2) * LANES]    # the row at hand of L D
    cdef double sums[LANES]
    cdef double* line = cells
    cdef const double* other
    cdef int i, j, k, lane
    for i in range(size):
        other = cells
        for j in range(i + 1):
            for lane in range(LANES):
                sums[lane] = line[j * LANES + lane]
            for k in range(j):
                for lane in range(LANES):
                    sums[lane] -= scaled[k * LANES + lane] * other[k * LANES + lane]
            if j == i:
                break
            for lane in range(LANES):
                scaled[j * LANES + lane] = sums[lane]
            for lane in range(LANES):
                line[j * LANES + lane] = sums[lane] * inverse[j * LANES + lane]
            other += (j + 1) * LANES
        take_pivot(factor, i, size, line, scaled, sums, inverse + i * LANES)
        line += (i + 1) * LANES


cdef void take_pivot(
    Factor* factor, int i, int size, const double* line, const double* scaled,
    const double* pivots, double* inverse
) noexcept nogil:
    """Note what the pivots of row i say; a pivot that is only rounding is left out."""
    cdef int lane
    cdef double centred
    cdef bint extreme = False
    for lane in range(LANES):
        if i == 0:
            factor.weight[lane] = factor.determinant[lane] = pivots[lane]
            factor.log_rest[lane] = 0.0
            factor.independent[lane] = True
            inverse[lane] = 1.0 / pivots[lane] if pivots[lane] > 0.0 else 0.0
            continue
        centred = line[i * LANES + lane] - scaled[lane] * line[lane]
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
        for lane in range(LANES):
            factor.log_rest[lane] += log(factor.determinant[lane])
            factor.determinant[lane] = 1.0


def log_marginals(
    rows, origin, prior, int n_regressors=0, int n_classes=0, double df_offset=0.0
):
    """Log marginal likelihoods of rows, at most LANES of them: for tests.

    Parameters
    ----------
    rows, prior
        As in `posterior.Statistics`.
    origin
        A number for each regressor and the target.
    """
    cdef LeafModel model
    cdef Fit fits[LANES]
    cdef int lane, cell, n = len(rows)
    assert n <= LANES and len(origin) == n_regressors + 1
    model.multinomial = n_classes > 0
    model.n_regressors, model.n_classes = n_regressors, n_classes
    model.width = row_width(model.multinomial, n_regressors, n_classes)
    model.df_offset, model.per_leaf = df_offset, 0.0
    model.concentration = 1.0 / n_classes if n_classes else 0.0
    cdef double[::1] row = np.array(prior, dtype=float), centre = np.array(origin, dtype=float)
    cdef double[::1] one, cells_of_one = np.empty(model.width)
    cdef double[::1] cells = np.zeros(model.width * LANES)
    cdef double[::1] base = np.zeros(model.width)
    assert row.shape[0] == model.width
    model.prior = &row[0]
    if not model.multinomial:
        to_cells(&model, &row[0], &centre[0], &base[0])
    for lane in range(n):
        one = np.array(rows[lane], dtype=float)
        to_cells(&model, &one[0], &centre[0], &cells_of_one[0])
        for cell in range(model.width):
            cells[cell * LANES + lane] = cells_of_one[cell] + base[cell]
    if model.multinomial:
        return [log_multinomial(&model, &cells[lane], LANES) for lane in range(n)]
    fit_lanes(&model, &cells[0], n, fits)
    return [evidence(&model, &fits[lane], fits[lane].weight - row[0]) for lane in range(n)]
