"""The odds of all cuts that were proposed at one leaf: sweeps over its sorted samples.

What the children of a cut know are sums over the samples passed and differences to those of the
whole leaf. Several cuts wait until the lanes are full, and are then weighed together.
"""

from libc.stdint cimport uint64_t
from libc.string cimport memset

from .grove cimport Leaf
from .lanes cimport LANES, add_to_cells, fit_lanes, to_cells
from .posterior cimport Fit, evidence, log_multinomial, reference_score
from .leaves cimport leaf_score
from .particles cimport Particles, Sweep
from .proposals cimport lowest_bit, odds


cdef void weigh_cuts(Particles cloud, int node) noexcept nogil:
    """Odds of all cuts that were proposed at one leaf, against staying."""
    cdef int depth = cloud.grove.nodes[node].depth, column, missing_left, n_places
    begin(cloud, cloud.grove.nodes[node].left)
    cloud.sweep.base = (
        cloud.log_split[depth] + 2.0 * cloud.log_stop[depth + 1] - cloud.log_stop[depth]
        - leaf_score(cloud, cloud.sweep.leaf)
    )
    for column in range(cloud.pool.n_columns):
        for missing_left in range(2):
            if cloud.n_present[column] < 0:
                continue
            n_places = find_places(cloud, 2 * column + missing_left)
            if n_places == 0:
                continue
            if cloud.nominal[column]:
                weigh_nominal(cloud, column, missing_left, n_places)
            else:
                weigh_numeric(cloud, column, missing_left, n_places)
    weigh_waiting(cloud)


cdef void begin(Particles cloud, int leaf) noexcept nogil:
    """Express the leaf, its prior and its samples relative to its own means."""
    cdef Sweep* sweep = &cloud.sweep
    cdef const Leaf* here = &cloud.grove.leaves[leaf]
    cdef const double* total = cloud.grove.total(leaf)
    cdef int size = cloud.pool.size_v, i, k
    cdef size_t start
    sweep.leaf, sweep.n_waiting = leaf, 0
    to_cells(&cloud.model, cloud.grove.retired(leaf), total + 1, sweep.retired)
    to_cells(&cloud.model, total, total + 1, sweep.high)
    if cloud.model.multinomial:
        memset(sweep.low, 0, cloud.model.width * sizeof(double))
        for i in range(here.n_active):
            start = cloud.grove.slots[here.slots + i]
            sweep.offsets[start] = cloud.pool.v[(start + 1) * size - 1]
        return
    to_cells(&cloud.model, cloud.model.prior, total + 1, sweep.low)
    for i in range(cloud.model.width):
        sweep.high[i] += sweep.low[i]
    for i in range(here.n_active):
        start = <size_t>cloud.grove.slots[here.slots + i] * size
        for k in range(size):
            sweep.offsets[start + k] = cloud.pool.v[start + k] - total[1 + k]


cdef int find_places(Particles cloud, int which) noexcept nogil:
    """The cuts proposed of a column with missing values on one side, in sorted order."""
    cdef const uint64_t* proposed = cloud.proposed + <size_t>which * cloud.n_words
    cdef int i, n = 0
    cdef uint64_t word
    for i in range(cloud.n_words):
        word = proposed[i]
        while word:
            cloud.places[n] = 64 * i + lowest_bit(word)
            n += 1
            word &= word - 1
    return n


cdef void weigh_numeric(
    Particles cloud, int column, bint missing_left, int n_places
) noexcept nogil:
    """Pass over the sorted samples from both ends, up to the largest gap between two cuts."""
    cdef const int* places = cloud.places
    cdef int n_present = cloud.n_present[column], i, here, after = 0, gap = places[0]
    for i in range(1, n_places + 1):
        here = places[i] if i < n_places else n_present
        if here - places[i - 1] > gap:
            gap, after = here - places[i - 1], i
    begin_pass(cloud, column, missing_left)
    for i in range(after):
        pass_samples(cloud, column, places[i - 1] if i else 0, places[i])
        add_cut(cloud, column, missing_left, places[i], places[i], missing_left)
    begin_pass(cloud, column, not missing_left)
    for i in range(n_places - 1, after - 1, -1):
        pass_samples(cloud, column, places[i], places[i + 1] if i < n_places - 1 else n_present)
        add_cut(cloud, column, missing_left, places[i], n_present - places[i], not missing_left)


cdef void weigh_nominal(
    Particles cloud, int column, bint missing_left, int n_places
) noexcept nogil:
    """Weigh the cuts proposed of one nominal value against the rest."""
    cdef const int* order = cloud.order + <Py_ssize_t>column * cloud.scratch_capacity
    cdef const double* x = cloud.pool.x + column
    cdef int width = cloud.pool.n_columns, n_present = cloud.n_present[column], i, start, end
    for i in range(n_places):
        start = end = cloud.places[i]
        while end < n_present and x[order[end] * width] == x[order[start] * width]:
            end += 1
        begin_pass(cloud, column, missing_left)
        pass_samples(cloud, column, start, end)
        add_cut(cloud, column, missing_left, start, end - start, missing_left)


cdef void begin_pass(Particles cloud, int column, bint with_missing) noexcept nogil:
    """Nothing is passed yet but, if they go along, the samples that miss the feature."""
    cdef int n = cloud.grove.leaves[cloud.sweep.leaf].n_active
    memset(cloud.sweep.passed, 0, cloud.model.width * sizeof(double))
    if with_missing:
        pass_samples(cloud, column, cloud.n_present[column], n)


cdef void pass_samples(Particles cloud, int column, int start, int stop) noexcept nogil:
    """Pass the sorted samples from `start` to `stop`."""
    add_to_cells(
        &cloud.model, cloud.sweep.passed, cloud.sweep.offsets,
        cloud.order + <Py_ssize_t>column * cloud.scratch_capacity + start, stop - start,
        cloud.sample_weight)


cdef void add_cut(
    Particles cloud, int column, bint missing_left, int place, int n_passed, bint with_missing
) noexcept nogil:
    """Let a cut wait for its odds. One child has what is passed, the other has the rest.

    Both inherit their share, by active samples, of what the leaf has retired (section 3.2).
    """
    cdef Sweep* sweep = &cloud.sweep
    cdef int n = cloud.grove.leaves[sweep.leaf].n_active, i
    cdef double share, moved
    cdef double* cells = sweep.lanes + 2 * sweep.n_waiting
    if with_missing:
        n_passed += n - cloud.n_present[column]
    share = <double>n_passed / n
    for i in range(cloud.model.width):
        moved = share * sweep.retired[i] + sweep.passed[i]
        cells[i * LANES] = sweep.low[i] + moved
        cells[i * LANES + 1] = sweep.high[i] - moved
        if cloud.model.multinomial and cells[i * LANES + 1] < 0.0:      # by rounding
            cells[i * LANES + 1] = 0.0
    sweep.shares[sweep.n_waiting] = share
    sweep.waiting[sweep.n_waiting] = cloud.memo + (
        2 * <Py_ssize_t>column + missing_left) * (cloud.scratch_capacity + 1) + place
    sweep.n_waiting += 1
    if 2 * sweep.n_waiting == LANES:
        weigh_waiting(cloud)


cdef void weigh_waiting(Particles cloud) noexcept nogil:
    """Find the odds of the cuts that wait."""
    cdef Sweep* sweep = &cloud.sweep
    cdef Fit fits[LANES]
    cdef double scores[LANES]
    cdef int i, n = 2 * sweep.n_waiting
    if n == 0:
        return
    if cloud.model.multinomial:
        for i in range(n):
            scores[i] = log_multinomial(&cloud.model, sweep.lanes + i, LANES)
    else:
        fit_lanes(&cloud.model, sweep.lanes, n, fits)
        for i in range(n):
            scores[i] = regression_score(cloud, i, &fits[i])
    for i in range(sweep.n_waiting):
        sweep.waiting[i][0] = odds(sweep.base + scores[2 * i] + scores[2 * i + 1])
    sweep.n_waiting = 0


cdef double regression_score(Particles cloud, int lane, const Fit* fit) noexcept nogil:
    """Score of the child in a lane that has been fitted."""
    cdef Sweep* sweep = &cloud.sweep
    cdef int size = cloud.model.n_regressors + 1
    cdef double share = sweep.shares[lane // 2], mean
    if not cloud.reference:
        return evidence(&cloud.model, fit, fit.weight - cloud.model.prior[0])
    # The factorisation leaves the mean of the target in the first cell of the last row.
    mean = cloud.grove.total(sweep.leaf)[size] + sweep.lanes[size * (size + 1) // 2 * LANES + lane]
    return reference_score(
        &cloud.model, fit, mean, cloud.grove.retired(sweep.leaf),
        1.0 - share if lane % 2 else share)
