"""Cuts proposed at a leaf: drawn for every particle, weighed in one sweep per feature."""

from libc.stdint cimport uint64_t
from libc.string cimport memcpy, memset

from ..grove cimport MAX_DEPTH, Leaf
from ..posterior cimport merge, subtract
from ..rng cimport MOVE, Rng, rng_for, uniform
from .leaves cimport leaf_score, row_score, sum_slots, weight_at
from .particles cimport MAX_PROPOSALS, Cut, Particles, Visit

cdef extern from *:
    """
    #ifdef _MSC_VER
    #include <intrin.h>
    static int lowest_bit(unsigned long long word) {
        unsigned long place;
        _BitScanForward64(&place, word);
        return (int)place;
    }
    #else
    #define lowest_bit __builtin_ctzll
    #endif
    """
    int lowest_bit(unsigned long long word) noexcept nogil


cdef void propose_all(Particles cloud, Visit* visit) noexcept nogil:
    """A proposal for each particle at one leaf: a feature at random, then a cut at random.

    All cuts are drawn first. Their odds are then found by one sweep over each feature.
    """
    cdef int leaf = cloud.grove.nodes[visit.node].left, particle = visit.first, i, slot
    cdef int n_columns = cloud.pool.n_columns, n_drawn = 0, n_cells, other
    cdef double u
    cdef const Leaf* here = &cloud.grove.leaves[leaf]
    cdef bint can_grow = (
        here.n_active >= 2 * cloud.min_samples_leaf and cloud.alpha > 0.0 and n_columns > 0
        and cloud.grove.nodes[visit.node].depth < MAX_DEPTH
    )
    cdef Cut* cut
    cdef Rng rng
    if can_grow:
        for i in range(n_columns):
            cloud.n_present[i] = -1
        for i in range(here.n_active):
            slot = cloud.grove.slots[here.slots + i]
            cloud.sample_weight[slot] = weight_at(cloud, slot, here)
    n_cells = n_columns * (here.n_active - 2 * cloud.min_samples_leaf + 1)
    while particle >= 0:
        cut = &cloud.cuts[particle]
        rng = rng_for(cloud.seed, particle, cloud.n_steps, MOVE)
        cut.u = uniform(&rng)
        cut.odds = NULL
        if can_grow and n_drawn >= MAX_PROPOSALS and n_cells > n_drawn and not cloud.reference:
            i = <int>(uniform(&rng) * n_drawn)
            other = visit.first
            while i > 0:
                other = cloud.next[other]
                i -= 1
            u, cut[0] = cut.u, cloud.cuts[other]
            cut.u = u
            move_cut(cloud, &rng, cut)
        elif can_grow:
            n_drawn += 1
            cut.column = <int>(uniform(&rng) * n_columns)
            if cloud.n_present[cut.column] < 0:
                sort_leaf(cloud, leaf, cut.column)
            place_cut(cloud, &rng, leaf, cut)
        particle = cloud.next[particle]
    if can_grow:
        weigh_cuts(cloud, visit.node)


cdef void move_cut(Particles cloud, Rng* rng, Cut* cut) noexcept nogil:
    """Another threshold that parts the points of the leaf in the same way."""
    cdef const int* order
    cdef double u = uniform(rng)
    if cut.odds == NULL or cut.nominal:
        return
    order = cloud.order + <Py_ssize_t>cut.column * cloud.scratch_capacity + cut.n_left
    cut.threshold = between(
        cloud.pool.x[order[-1] * cloud.pool.n_columns + cut.column],
        cloud.pool.x[order[0] * cloud.pool.n_columns + cut.column], u)


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
    cdef double* memo = cloud.memo + 2 * <Py_ssize_t>column * (cloud.scratch_capacity + 1)
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
    memset(memo, 0, (n + 1) * sizeof(double))
    memset(memo + cloud.scratch_capacity + 1, 0, (n + 1) * sizeof(double))
    cloud.n_needed[2 * column] = cloud.n_needed[2 * column + 1] = 0
    cloud.n_present[column] = n_present


cdef void place_cut(Particles cloud, Rng* rng, int leaf, Cut* cut) noexcept nogil:
    """Draw the place of a cut and ask for its odds, unless the column allows none."""
    cdef int n = cloud.grove.leaves[leaf].n_active, n_present = cloud.n_present[cut.column]
    cdef int least = cloud.min_samples_leaf, low, high, middle, cell
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
    middle = 2 * cut.column + cut.missing_left
    cut.odds = cloud.memo + <Py_ssize_t>middle * (cloud.scratch_capacity + 1) + cell
    cut.odds[0] = -1.0
    cloud.n_needed[middle] = cloud.n_needed[middle] + 1


cdef void weigh_cuts(Particles cloud, int node) noexcept nogil:
    """Odds of all cuts that were proposed at one leaf."""
    cdef int depth = cloud.grove.nodes[node].depth, leaf = cloud.grove.nodes[node].left
    cdef int column, missing_left
    cdef double base = (
        cloud.log_split[depth] + 2.0 * cloud.log_stop[depth + 1] - cloud.log_stop[depth]
        - leaf_score(cloud, leaf)
    )
    for column in range(cloud.pool.n_columns):
        for missing_left in range(2):
            if cloud.n_present[column] < 0 or cloud.n_needed[2 * column + missing_left] == 0:
                continue
            if cloud.nominal[column]:
                weigh_nominal(cloud, leaf, column, missing_left, base)
            else:
                sweep(cloud, leaf, column, missing_left, True, base)
                sweep(cloud, leaf, column, missing_left, False, base)


cdef void sweep(
    Particles cloud, int leaf, int column, bint missing_left, bint from_left, double base
) noexcept nogil:
    """Pass over half of the sorted points and weigh the cuts proposed between them.

    The statistics of the side that the pass comes from grow on the way.
    """
    cdef int n = cloud.grove.leaves[leaf].n_active, n_present = cloud.n_present[column]
    cdef int middle = n_present // 2, done = 0, here, i
    cdef int end = middle if from_left else n_present - middle - 1
    cdef int n_missing = n - n_present if missing_left == from_left else 0
    cdef const int* order = cloud.order + <Py_ssize_t>column * cloud.scratch_capacity
    cdef double* row = cloud.row_small
    cdef double* memo = cloud.memo + (2 * <Py_ssize_t>column + missing_left) * (
        cloud.scratch_capacity + 1)
    memset(row, 0, cloud.model.width * sizeof(double))
    sum_slots(cloud, order + n_present, n_missing, row)
    for here in range(1, end + 1):
        i = here if from_left else n_present - here
        if memo[i] < 0.0:
            sum_slots(cloud, order + (done if from_left else i), here - done, row)
            done = here
            memo[i] = odds(base + children_score(
                cloud, leaf, <double>(here + n_missing) / n))


cdef void weigh_nominal(
    Particles cloud, int leaf, int column, bint missing_left, double base
) noexcept nogil:
    """Weigh the cuts proposed of one nominal value against the rest."""
    cdef int n = cloud.grove.leaves[leaf].n_active, n_present = cloud.n_present[column]
    cdef int n_missing = n - n_present if missing_left else 0
    cdef const int* order = cloud.order + <Py_ssize_t>column * cloud.scratch_capacity
    cdef const double* x = cloud.pool.x + column
    cdef int width = cloud.pool.n_columns, start = 0, end
    cdef double* row = cloud.row_small
    cdef double* memo = cloud.memo + (2 * <Py_ssize_t>column + missing_left) * (
        cloud.scratch_capacity + 1)
    while start < n_present:
        end = start + 1
        while end < n_present and x[order[end] * width] == x[order[start] * width]:
            end += 1
        if memo[start] < 0.0:
            memset(row, 0, cloud.model.width * sizeof(double))
            sum_slots(cloud, order + start, end - start, row)
            sum_slots(cloud, order + n_present, n_missing, row)
            memo[start] = odds(base + children_score(
                cloud, leaf, <double>(end - start + n_missing) / n))
        start = end


cdef double children_score(Particles cloud, int leaf, double share) noexcept nogil:
    """Score of the two children, the active points of one being in `row_small`.

    A child inherits its share of what the leaf has retired (section 3.2).
    """
    cdef int width = cloud.model.width
    cdef const double* retired = cloud.grove.retired(leaf)
    cdef double* rest = cloud.row_other
    cdef double* child = cloud.row_small
    memcpy(rest, cloud.grove.total(leaf), width * sizeof(double))
    if retired[0] > 0.0:
        child = cloud.row_child
        memcpy(child, cloud.row_small, width * sizeof(double))
        memset(child + width, 0, width * sizeof(double))
        merge(&cloud.model, child, retired, share)
    subtract(&cloud.model, rest, child, 1.0)
    if cloud.reference:
        memset(child + width, 0, width * sizeof(double))
        merge(&cloud.model, child + width, retired, share)
        memset(rest + width, 0, width * sizeof(double))
        merge(&cloud.model, rest + width, retired, 1.0 - share)
    return row_score(cloud, child, child + width) + row_score(cloud, rest, rest + width)


cdef inline double between(double lower, double upper, double u) noexcept nogil:
    """A threshold that keeps `lower` left and `upper` right."""
    cdef double threshold = (1.0 - u) * lower + u * upper
    return threshold if lower <= threshold < upper else lower
