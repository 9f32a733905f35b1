"""Cuts proposed at a leaf: features at random, and places in them."""

from libc.stdint cimport uint64_t
from libc.string cimport memset

from .grove cimport MAX_DEPTH
from ..rng cimport Rng, uniform
from .leaves cimport weigh_samples
from .particles cimport LEAST_PROPOSALS, MOST_PROPOSALS, Cut, Particles, Visit
from .sweeps cimport weigh_cuts


cdef int propose_all(Particles cloud, const Visit* visit, Rng* rng) noexcept nogil:
    """Draw the proposals at one leaf into `Particles.cuts`, then weigh them together.

    Returns their number. Each is uniform over columns and places. They are spread evenly over both
    (systematic sampling), but in the reference, where each particle has its own, independent.
    """
    cdef int leaf = cloud.grove.nodes[visit.node].left, particle = visit.first, n = 0, i
    cdef int n_columns = cloud.pool.n_columns
    cdef double u = uniform(rng), place
    cdef Cut* cut
    # Halved, as twice the least may be more than an int holds.
    if (
        cloud.grove.leaves[leaf].n_active // 2 < cloud.min_samples_leaf or cloud.alpha <= 0.0
        or n_columns == 0 or cloud.grove.nodes[visit.node].depth >= MAX_DEPTH
    ):
        return 0
    while particle >= 0:
        n += 1
        particle = cloud.next[particle]
    if not cloud.reference:
        n = min(max(n, LEAST_PROPOSALS), MOST_PROPOSALS)
    memset(cloud.n_present, 255, n_columns * sizeof(int))       # -1
    weigh_samples(cloud, leaf)
    for i in range(n):
        cut = &cloud.cuts[i]
        cut.odds, cut.grown = NULL, -1
        place = (uniform(rng) if cloud.reference else (i + u) / n) * n_columns
        cut.column = min(<int>place, n_columns - 1)
        if cloud.n_present[cut.column] < 0:
            sort_leaf(cloud, leaf, cut.column)
        place_cut(cloud, rng, leaf, cut, place - cut.column)
    weigh_cuts(cloud, visit.node)
    return n


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


cdef void place_cut(
    Particles cloud, Rng* rng, int leaf, Cut* cut, double u
) noexcept nogil:
    """Put a cut where u in [0, 1) says and ask for its odds, unless the column allows none."""
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
        low = high = min(<int>(u * n_present), n_present - 1)
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
            low = min(low + <int>(u * (high - low)), high - 1)
            high = low + 1
            u = uniform(rng)
        lower, upper = x[order[low] * width], x[order[high] * width]
        if not lower < upper:
            return
        cut.threshold = between(lower, upper, u)
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
