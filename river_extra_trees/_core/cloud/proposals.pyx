"""Cuts proposed at a leaf: a feature at random for every particle, then a cut at random."""

from libc.stdint cimport uint64_t
from libc.string cimport memset

from ..grove cimport MAX_DEPTH, Leaf
from ..rng cimport Rng, uniform
from .leaves cimport weigh_samples
from .particles cimport MAX_PROPOSALS, Cut, Particles, Visit
from .sweeps cimport weigh_cuts


cdef void propose_all(Particles cloud, Visit* visit, Rng* rng) noexcept nogil:
    """A proposal for each particle at one leaf. All are drawn first, then weighed together."""
    cdef int leaf = cloud.grove.nodes[visit.node].left, particle = visit.first
    cdef int n_columns = cloud.pool.n_columns, n_drawn = 0, n_cells
    cdef const Leaf* here = &cloud.grove.leaves[leaf]
    cdef bint can_grow = (
        here.n_active >= 2 * cloud.min_samples_leaf and cloud.alpha > 0.0 and n_columns > 0
        and cloud.grove.nodes[visit.node].depth < MAX_DEPTH
    )
    cdef Cut* cut
    if can_grow:
        memset(cloud.n_present, 255, n_columns * sizeof(int))       # -1
        weigh_samples(cloud, leaf)
    n_cells = n_columns * (here.n_active - 2 * cloud.min_samples_leaf + 1)
    while particle >= 0:
        cut = &cloud.cuts[particle]
        cut.odds = NULL
        if can_grow and n_drawn >= MAX_PROPOSALS and n_cells > n_drawn and not cloud.reference:
            cut[0] = cloud.cuts[cloud.drawn[<int>(uniform(rng) * n_drawn)]]
            move_cut(cloud, rng, cut)
        elif can_grow:
            cloud.drawn[n_drawn] = particle
            n_drawn += 1
            cut.column = <int>(uniform(rng) * n_columns)
            if cloud.n_present[cut.column] < 0:
                sort_leaf(cloud, leaf, cut.column)
            place_cut(cloud, rng, leaf, cut)
        cut.u = uniform(rng)
        particle = cloud.next[particle]
    if can_grow:
        weigh_cuts(cloud, visit.node)


cdef void move_cut(Particles cloud, Rng* rng, Cut* cut) noexcept nogil:
    """Another threshold that parts the points of the leaf in the same way."""
    cdef const int* order
    cdef double u = uniform(rng)
    if cut.odds == NULL or cut.nominal:
        return
    order = cloud.order + <Py_ssize_t>cut.column * cloud.scratch_capacity + (cut.n_left - 1)
    cut.threshold = between(
        cloud.pool.x[order[0] * cloud.pool.n_columns + cut.column],
        cloud.pool.x[order[1] * cloud.pool.n_columns + cut.column], u)


cdef void sort_leaf(Particles cloud, int leaf, int column) noexcept nogil:
    """Sort the leaf's active points by a column, missing ones behind; forget its cuts.

    The points set bits at their ranks in the pool; reading the bits is the sort.
    """
    cdef int n = cloud.grove.leaves[leaf].n_active, n_present = 0, n_missing = 0, i, place
    cdef int n_words = cloud.pool.n_present[column] // 64 + 1
    cdef const int* slots = cloud.grove.slots + cloud.grove.leaves[leaf].slots
    cdef const int* rank = cloud.pool.rank + <size_t>column * cloud.pool.capacity
    cdef const int* ranked = cloud.pool.order + <size_t>column * cloud.pool.capacity
    cdef int* order = cloud.order + <Py_ssize_t>column * cloud.scratch_capacity
    cdef uint64_t word
    memset(cloud.bits, 0, n_words * sizeof(uint64_t))
    for i in range(n):
        place = rank[slots[i]]
        if place < 0:
            n_missing += 1
            order[n - n_missing] = slots[i]
        else:
            cloud.bits[place >> 6] = cloud.bits[place >> 6] | <uint64_t>1 << (place & 63)
    for i in range(n_words):
        word = cloud.bits[i]
        while word:
            order[n_present] = ranked[64 * i + lowest_bit(word)]
            n_present += 1
            word &= word - 1
    memset(cloud.proposed + 2 * <size_t>column * cloud.n_words, 0,
           2 * cloud.n_words * sizeof(uint64_t))
    cloud.n_present[column] = n_present


cdef void place_cut(Particles cloud, Rng* rng, int leaf, Cut* cut) noexcept nogil:
    """Draw the place of a cut and ask for its odds, unless the column allows none."""
    cdef int n = cloud.grove.leaves[leaf].n_active, n_present = cloud.n_present[cut.column]
    cdef int least = cloud.min_samples_leaf, low, high, middle, cell, which
    cdef uint64_t* proposed
    cdef const int* order = cloud.order + <Py_ssize_t>cut.column * cloud.scratch_capacity
    cdef const double* x = cloud.pool.x + cut.column
    cdef int width = cloud.pool.n_columns
    cdef double lower, upper
    cut.missing_left = n_present < n and uniform(rng) < 0.5
    cut.nominal = cloud.nominal[cut.column]
    cut.start = 0
    if cut.nominal:
        if n_present == 0:
            return
        low = high = <int>(uniform(rng) * n_present)
        cut.threshold = x[order[low] * width]
        while low > 0 and x[order[low - 1] * width] == cut.threshold:
            low -= 1
        while high < n_present and x[order[high] * width] == cut.threshold:
            high += 1
        if high - low < least or n_present - (high - low) < least:
            return
        cut.start = cell = low
        cut.n_left = high - low
    else:
        low, high = least - 1, n_present - least
        if low >= high:
            return
        if not cloud.cuts_by_range:      # a gap between neighbours, then anywhere in it
            low += <int>(uniform(rng) * (high - low))
            high = low + 1
        lower, upper = x[order[low] * width], x[order[high] * width]
        if not lower < upper:
            return
        cut.threshold = between(lower, upper, uniform(rng))
        while high - low > 1:           # x[low] <= threshold < x[high]
            middle = (low + high) // 2
            if x[order[middle] * width] <= cut.threshold:
                low = middle
            else:
                high = middle
        cut.n_left = cell = high
    which = 2 * cut.column + cut.missing_left
    cut.odds = cloud.memo + <Py_ssize_t>which * (cloud.scratch_capacity + 1) + cell
    proposed = cloud.proposed + <size_t>which * cloud.n_words + (cell >> 6)
    proposed[0] |= <uint64_t>1 << (cell & 63)


cdef inline double between(double lower, double upper, double u) noexcept nogil:
    """A threshold that keeps `lower` left and `upper` right."""
    cdef double threshold = (1.0 - u) * lower + u * upper
    return threshold if lower <= threshold < upper else lower
