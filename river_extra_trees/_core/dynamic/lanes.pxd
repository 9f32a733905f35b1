"""The evidence of several leaves at once: what a sweep over the cuts of a leaf asks for.

The numbers of LANES leaves lie side by side, cells[cell * LANES + lane], so that all arithmetic is
done on LANES neighbours and the compiler makes vector instructions of it, whatever the shape of the
leaves.

Regression: a lane holds sums of products of u = (1, v - origin), lower triangle by rows, sample
weights and the prior included: cell (i, j <= i) at i (i+1)/2 + j. The origin is the same in all
cells that are ever added or subtracted. Cell (0, 0) is the weight, and the first step of the
factorisation does the centring. Multinomial: as in a row, without the prior.

Both have as many cells as a row of `posterior`; `to_cells` makes them of one.
"""

from .posterior cimport Fit, LeafModel

cdef enum:
    LANES = 8
    PAIRS = 4               # of lanes

cdef void to_cells(
    const LeafModel* model, const double* row, const double* origin, double* cells
) noexcept nogil
cdef void add_to_cells(
    const LeafModel* model, double* cells, const double* offsets, const int* slots, int n,
    const double* weights
) noexcept nogil
cdef void fit_lanes(const LeafModel* model, double* cells, int n_lanes, Fit* fits) noexcept nogil
