"""Cuts proposed at a leaf, and their odds. See the header."""

from libc.stdint cimport uint64_t
from libc.string cimport memset

from ..linalg cimport BATCH_SIZE, Fit
from ..rng cimport Rng, uniform
from .leaf_models cimport (
    add_to_cells, evidence, fit_batch, log_multinomial, published_score, to_cells,
)
from .leaves cimport leaf_score, weigh_samples
from .particles cimport (
    LEAST_PROPOSALS, MOST_PROPOSALS, Cut, LeafHit, ParticleFilter, SplitScan
)
from .pool cimport column_of
from .shared_trees cimport MAX_DEPTH, Leaf


cdef int propose_all(ParticleFilter filter, const LeafHit* hit, Rng* rng) noexcept nogil:
    """Draw the proposals at one leaf into `ParticleFilter.cuts`, score them, return their number.

    Each is uniform over columns and places (section 2.2). Together they are spread evenly over both
    by systematic sampling. In dynaTree, each particle has its own, independent proposal.
    """
    cdef int leaf = filter.trees.nodes[hit.node].left, particle = hit.first, n = 0, i
    cdef int n_columns = filter.pool.n_columns
    cdef double u = uniform(rng), place
    cdef Cut* cut
    # Halved instead of doubling `min_samples_leaf`, which could overflow.
    if (
        filter.trees.leaves[leaf].n_active // 2 < filter.min_samples_leaf or filter.alpha <= 0.0
        or n_columns == 0 or filter.trees.nodes[hit.node].depth >= MAX_DEPTH
    ):
        return 0
    while particle >= 0:
        n += 1
        particle = filter.next[particle]
    if not filter.published:
        n = min(max(n, LEAST_PROPOSALS), MOST_PROPOSALS)
    memset(filter.n_present, 255, n_columns * sizeof(int))       # -1
    weigh_samples(filter, leaf)
    for i in range(n):
        cut = &filter.cuts[i]
        cut.odds, cut.grown = NULL, -1
        place = (uniform(rng) if filter.published else (i + u) / n) * n_columns
        cut.split.feature = min(<int>place, n_columns - 1)
        if filter.n_present[cut.split.feature] < 0:
            sort_leaf(filter, leaf, cut.split.feature)
        place_cut(filter, rng, leaf, cut, place - cut.split.feature)
    score_cuts(filter, hit.node)
    return n


cdef void sort_leaf(ParticleFilter filter, int leaf, int column) noexcept nogil:
    """Sort the active samples of a leaf by a column, missing values last; clear its cuts.

    Each sample sets the bit of its rank in the pool, and the bits are then read in order.
    """
    cdef int n = filter.trees.leaves[leaf].n_active, n_present = 0, n_missing = 0, i, place
    cdef int n_words = filter.pool.n_present[column] // 64 + 1
    cdef const int* slots = filter.trees.slots + filter.trees.leaves[leaf].slots
    cdef const int* rank = column_of(filter.pool, filter.pool.rank, column)
    cdef const int* ranked = column_of(filter.pool, filter.pool.order, column)
    cdef int* order = filter.order + <Py_ssize_t>column * filter.scratch_capacity
    cdef uint64_t word
    memset(filter.bits, 0, n_words * sizeof(uint64_t))
    for i in range(n):
        place = rank[slots[i]]
        if place < 0:
            n_missing += 1
            order[n - n_missing] = slots[i]
        else:
            filter.bits[place >> 6] = filter.bits[place >> 6] | <uint64_t>1 << (place & 63)
    for i in range(n_words):
        word = filter.bits[i]
        while word:
            order[n_present] = ranked[64 * i + lowest_bit(word)]
            n_present += 1
            word &= word - 1
    memset(filter.proposed + 2 * <size_t>column * filter.n_words, 0,
           2 * filter.n_words * sizeof(uint64_t))
    filter.n_present[column] = n_present


cdef void place_cut(ParticleFilter filter, Rng* rng, int leaf, Cut* cut, double u) noexcept nogil:
    """Place a cut at u in [0, 1), and request its odds; `odds` stays NULL if no cut is allowed."""
    cdef int n = filter.trees.leaves[leaf].n_active, n_present = filter.n_present[cut.split.feature]
    cdef int least = filter.min_samples_leaf, low, high, middle, cell, which
    cdef uint64_t* proposed
    cdef const int* order = filter.order + <Py_ssize_t>cut.split.feature * filter.scratch_capacity
    cdef const double* x = filter.pool.x + cut.split.feature
    cdef Py_ssize_t width = filter.pool.n_columns
    cdef double lower, upper
    cut.split.missing_left = n_present < n and uniform(rng) < 0.5
    cut.split.nominal = filter.nominal[cut.split.feature]
    cut.start = 0
    if cut.split.nominal:
        if n_present == 0:
            return
        low = high = min(<int>(u * n_present), n_present - 1)
        cut.split.threshold = x[order[low] * width]
        while low > 0 and x[order[low - 1] * width] == cut.split.threshold:
            low -= 1
        while high < n_present and x[order[high] * width] == cut.split.threshold:
            high += 1
        if high - low < least or n_present - (high - low) < least:
            return
        cut.start = cell = low
        cut.n_left = high - low
    else:
        low, high = least - 1, n_present - least
        if low >= high:
            return
        if not filter.published:      # first a gap between neighbours, then a place in it
            low = min(low + <int>(u * (high - low)), high - 1)
            high = low + 1
            u = uniform(rng)
        lower, upper = x[order[low] * width], x[order[high] * width]
        if not lower < upper:
            return
        cut.split.threshold = between(lower, upper, u)
        while high - low > 1:           # x[low] <= threshold < x[high]
            middle = (low + high) // 2
            if x[order[middle] * width] <= cut.split.threshold:
                low = middle
            else:
                high = middle
        cut.n_left = cell = high
    which = 2 * cut.split.feature + cut.split.missing_left
    cut.odds = filter.memo + <Py_ssize_t>which * (filter.scratch_capacity + 1) + cell
    proposed = filter.proposed + <size_t>which * filter.n_words + (cell >> 6)
    proposed[0] |= <uint64_t>1 << (cell & 63)


cdef inline double between(double lower, double upper, double u) noexcept nogil:
    """A threshold between two values, with `lower` on its left and `upper` on its right."""
    cdef double threshold = (1.0 - u) * lower + u * upper
    return threshold if lower <= threshold < upper else lower


# --- Split scan ----------------------------------------------------------------------------


cdef void score_cuts(ParticleFilter filter, int node) noexcept nogil:
    """Compute the odds of all cuts proposed at one leaf against staying."""
    cdef int depth = filter.trees.nodes[node].depth, column, missing_left, n_places
    begin_scan(filter, filter.trees.nodes[node].left)
    filter.scan.base = (
        filter.log_split[depth] + 2.0 * filter.log_stop[depth + 1] - filter.log_stop[depth]
        - leaf_score(filter, filter.scan.leaf)
    )
    for column in range(filter.pool.n_columns):
        for missing_left in range(2):
            if filter.n_present[column] < 0:
                continue
            n_places = find_places(filter, 2 * column + missing_left)
            if n_places == 0:
                continue
            if filter.nominal[column]:
                scan_nominal(filter, column, missing_left, n_places)
            else:
                scan_numeric(filter, column, missing_left, n_places)
    score_waiting(filter)


cdef void begin_scan(ParticleFilter filter, int leaf) noexcept nogil:
    """Compute the cells of the leaf, its prior and its samples about the means of the leaf."""
    cdef SplitScan* scan = &filter.scan
    cdef const Leaf* here = &filter.trees.leaves[leaf]
    cdef const double* total = filter.trees.total(leaf)
    cdef size_t size = filter.pool.size_v, start, k
    cdef int i
    scan.leaf, scan.n_waiting = leaf, 0
    to_cells(&filter.model, filter.trees.retired(leaf), total + 1, scan.retired)
    to_cells(&filter.model, total, total + 1, scan.high)
    if filter.model.multinomial:
        memset(scan.low, 0, filter.model.width * sizeof(double))
        for i in range(here.n_active):
            start = filter.trees.slots[here.slots + i]
            scan.offsets[start] = filter.pool.v[(start + 1) * size - 1]
        return
    to_cells(&filter.model, filter.model.prior, total + 1, scan.low)
    for i in range(filter.model.width):
        scan.high[i] += scan.low[i]
    for i in range(here.n_active):
        start = filter.trees.slots[here.slots + i] * size
        for k in range(size):
            scan.offsets[start + k] = filter.pool.v[start + k] - total[1 + k]


cdef int find_places(ParticleFilter filter, int which) noexcept nogil:
    """List the cuts proposed for a column and a side of missing values, in sorted order."""
    cdef const uint64_t* proposed = filter.proposed + <size_t>which * filter.n_words
    cdef int i, n = 0
    cdef uint64_t word
    for i in range(filter.n_words):
        word = proposed[i]
        while word:
            filter.places[n] = 64 * i + lowest_bit(word)
            n += 1
            word &= word - 1
    return n


cdef void scan_numeric(ParticleFilter filter, int column, bint missing_left,
                       int n_places) noexcept nogil:
    """Scan the sorted samples from both ends, up to the largest gap between two cuts."""
    cdef const int* places = filter.places
    cdef int n_present = filter.n_present[column], i, here, after = 0, gap = places[0]
    for i in range(1, n_places + 1):
        here = places[i] if i < n_places else n_present
        if here - places[i - 1] > gap:
            gap, after = here - places[i - 1], i
    begin_pass(filter, column, missing_left)
    for i in range(after):
        pass_samples(filter, column, places[i - 1] if i else 0, places[i])
        add_cut(filter, column, missing_left, places[i], places[i], missing_left)
    begin_pass(filter, column, not missing_left)
    for i in range(n_places - 1, after - 1, -1):
        pass_samples(filter, column, places[i], places[i + 1] if i < n_places - 1 else n_present)
        add_cut(filter, column, missing_left, places[i], n_present - places[i], not missing_left)


cdef void scan_nominal(ParticleFilter filter, int column, bint missing_left,
                       int n_places) noexcept nogil:
    """Score the cuts proposed for a nominal column: one value against all others."""
    cdef const int* order = filter.order + <Py_ssize_t>column * filter.scratch_capacity
    cdef const double* x = filter.pool.x + column
    cdef Py_ssize_t width = filter.pool.n_columns
    cdef int n_present = filter.n_present[column], i, start, end
    for i in range(n_places):
        start = end = filter.places[i]
        while end < n_present and x[order[end] * width] == x[order[start] * width]:
            end += 1
        begin_pass(filter, column, missing_left)
        pass_samples(filter, column, start, end)
        add_cut(filter, column, missing_left, start, end - start, missing_left)


cdef void begin_pass(ParticleFilter filter, int column, bint with_missing) noexcept nogil:
    """Start a scan, with the samples that miss the feature if they go to this side."""
    cdef int n = filter.trees.leaves[filter.scan.leaf].n_active
    memset(filter.scan.passed, 0, filter.model.width * sizeof(double))
    if with_missing:
        pass_samples(filter, column, filter.n_present[column], n)


cdef void pass_samples(ParticleFilter filter, int column, int start, int stop) noexcept nogil:
    """Add the sorted samples from `start` to before `stop`."""
    add_to_cells(
        &filter.model, filter.scan.passed, filter.scan.offsets,
        filter.order + <Py_ssize_t>column * filter.scratch_capacity + start, stop - start,
        filter.sample_weight)


cdef void add_cut(ParticleFilter filter, int column, bint missing_left, int place, int n_passed,
                  bint with_missing) noexcept nogil:
    """Add a cut to the batch. One child has the samples scanned so far, the other has the rest.

    Both inherit the retired statistics of the leaf in proportion to their active samples (section
    3.2).
    """
    cdef SplitScan* scan = &filter.scan
    cdef int n = filter.trees.leaves[scan.leaf].n_active, i
    cdef double share, moved
    cdef double* cells = scan.batch + 2 * scan.n_waiting
    if with_missing:
        n_passed += n - filter.n_present[column]
    share = <double>n_passed / n
    for i in range(filter.model.width):
        moved = share * scan.retired[i] + scan.passed[i]
        cells[i * BATCH_SIZE] = scan.low[i] + moved
        cells[i * BATCH_SIZE + 1] = scan.high[i] - moved
        if filter.model.multinomial and cells[i * BATCH_SIZE + 1] < 0.0:      # by rounding
            cells[i * BATCH_SIZE + 1] = 0.0
    scan.shares[scan.n_waiting] = share
    scan.waiting[scan.n_waiting] = filter.memo + (
        2 * <Py_ssize_t>column + missing_left) * (filter.scratch_capacity + 1) + place
    scan.n_waiting += 1
    if 2 * scan.n_waiting == BATCH_SIZE:
        score_waiting(filter)


cdef void score_waiting(ParticleFilter filter) noexcept nogil:
    """Compute the odds of the cuts in the batch."""
    cdef SplitScan* scan = &filter.scan
    cdef Fit fits[BATCH_SIZE]
    cdef double scores[BATCH_SIZE]
    cdef int i, n = 2 * scan.n_waiting
    if n == 0:
        return
    if filter.model.multinomial:
        for i in range(n):
            scores[i] = log_multinomial(&filter.model, scan.batch + i, BATCH_SIZE)
    else:
        fit_batch(&filter.model, scan.batch, n, fits)
        for i in range(n):
            scores[i] = regression_score(filter, i, &fits[i])
    for i in range(scan.n_waiting):
        scan.waiting[i][0] = odds(scan.base + scores[2 * i] + scores[2 * i + 1])
    scan.n_waiting = 0


cdef double regression_score(ParticleFilter filter, int lane, const Fit* fit) noexcept nogil:
    """Score of the child in a fitted lane."""
    cdef SplitScan* scan = &filter.scan
    cdef int size = filter.model.n_regressors + 1
    cdef double share = scan.shares[lane // 2], mean
    if not filter.published:
        return evidence(&filter.model, fit, fit.weight - filter.model.prior[0])
    # The factorisation leaves the mean of the target in the first cell of the last row.
    mean = filter.trees.total(scan.leaf)[size]
    mean += scan.batch[size * (size + 1) // 2 * BATCH_SIZE + lane]
    return published_score(
        &filter.model, fit, mean, filter.trees.retired(scan.leaf),
        1.0 - share if lane % 2 else share)
