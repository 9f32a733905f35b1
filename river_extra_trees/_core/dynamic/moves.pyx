"""Moves of the particles at the leaf of a sample. See the header.

Stay, grow or prune: equation (2) and section 2.3 of the paper. In the paper, each particle draws
one cut and takes it with probability o / (1 + p + o), where o and p are the odds of growing and
pruning against staying. Here the particles with the same leaf share their proposals: a particle
grows with probability m / (1 + p + m), where m is the mean of o over the proposals, and takes one
of them with probability proportional to its o. This estimates the posterior probability of growing,
integrated over the place of the cut; more proposals give a better estimate. The odds of a cut do
not depend on the particle, and particles that take the same cut share the new leaves.
"""

from libc.math cimport INFINITY, isfinite
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

from ..linalg cimport BATCH_SIZE, Fit, merge
from ..rng cimport MOVE, Rng, rng_for, uniform
from .leaf_models cimport (
    add_to_cells, evidence, fit_batch, log_multinomial, published_score, to_cells,
)
from .particles cimport (
    LEAST_PROPOSALS, MOST_PROPOSALS, Cut, LeafHit, LeafParent, Particles, SplitScan, decays_by_leaf,
    finish_leaf, leaf_score, row_score, score_subtree, sum_slots, sum_subtree, weigh_samples,
)
from .pool cimport column_of
from .shared_trees cimport MAX_DEPTH, Leaf, Node, leaf_at


cdef int move_all(Particles filter, const double* x, int first, int stop) except -1 nogil:
    """Stay, grow or prune, leaf by leaf."""
    cdef Rng rng = rng_for(filter.seed, 0, filter.n_steps, MOVE)
    cdef int hit, pair, particle
    for hit in range(filter.n_hits):
        filter.hits[hit].first, filter.hits[hit].region_above = -1, 0
    for pair in range(filter.n_pairs):
        filter.pairs[pair].pruned = -1
        filter.pairs[pair].prune_odds = -1.0 if filter.pairs[pair].parent >= 0 else 0.0
    for particle in range(stop - 1, first - 1, -1):
        hit = filter.pairs[filter.pair_of[particle]].hit
        filter.next[particle] = filter.hits[hit].first
        filter.hits[hit].first = particle
    for hit in range(filter.n_hits):
        if filter.hits[hit].first >= 0:       # some particles have survived the resampling
            move_at(filter, x, &filter.hits[hit], &rng)
    return 0


cdef int move_at(Particles filter, const double* x, LeafHit* hit, Rng* rng) except -1 nogil:
    """Move all particles with one leaf; there is at least one."""
    cdef int particle = hit.first, n_cuts = propose_all(filter, hit, rng)
    cdef Cut* cuts = filter.cuts
    cdef double u, grow
    cdef LeafParent* pair
    cdef int cut
    if filter.published:
        n_cuts = min(n_cuts, 1)
    grow = mean_odds(cuts, n_cuts)
    while particle >= 0:
        pair = &filter.pairs[filter.pair_of[particle]]
        if pair.prune_odds < 0.0:
            pair.prune_odds = prune_odds(filter, hit, pair)
        if filter.published:
            grow = mean_odds(cuts, n_cuts)
        u = uniform(rng) * (1.0 + pair.prune_odds + grow)       # equation (2), equal p_m
        if u < pair.prune_odds:
            apply_prune(filter, x, particle, pair)
        elif u < pair.prune_odds + grow:
            cut = draw_cut(cuts, n_cuts, (u - pair.prune_odds) * n_cuts)
            apply_grow(filter, x, particle, hit.node, &cuts[cut])
        particle = filter.next[particle]
        cuts += filter.published     # in dynaTree, each particle has its own proposal
    return 0


cdef double mean_odds(const Cut* cuts, int n) noexcept nogil:
    """Mean odds of n proposals against staying."""
    cdef double total = 0.0
    cdef int i
    for i in range(n):
        if cuts[i].odds != NULL:
            total += cuts[i].odds[0]
    return total / n if n else 0.0


cdef int draw_cut(const Cut* cuts, int n, double u) noexcept nogil:
    """Draw a proposal with probability proportional to its odds; u is below their sum."""
    cdef int i, last = 0
    for i in range(n):
        if cuts[i].odds != NULL:
            last = i
            u -= cuts[i].odds[0]
            if u < 0.0:
                break
    return last


cdef double prune_odds(Particles filter, LeafHit* hit, const LeafParent* pair) noexcept nogil:
    """Odds of pruning the leaf's parent against staying."""
    cdef const Node* parent = &filter.trees.nodes[pair.parent]
    cdef double stay = score_subtree(filter, pair.parent, False)
    if filter.published and not isfinite(stay):     # a leaf without variance
        return 0.0
    if hit.region_above != parent.region or decays_by_leaf(filter):
        hit.pruned_score = pruned_score(filter, pair.parent)
        hit.region_above = parent.region
    return odds(filter.log_stop[parent.depth] + hit.pruned_score - stay)    # pi(T) p(y | T, x)


cdef double pruned_score(Particles filter, int parent) noexcept nogil:
    """Score of the leaf that would replace a parent whose leaves are up to date.

    A region contains the same samples in all trees, which only divide them differently. So the
    statistics are summed once per region, of which there are few, instead of once per parent.
    Keeping sums in all nodes would be slower: each sample would have to update all nodes on its
    paths, which are more than the leaves below the parents.
    """
    cdef int64_t region = filter.trees.nodes[parent].region
    cdef double* row = filter.row_other
    cdef int i
    if not decays_by_leaf(filter):
        for i in range(filter.n_hits):
            if filter.hits[i].region_above == region:
                return filter.hits[i].pruned_score
    if sum_subtree(filter, parent, row) // 2 < filter.min_samples_leaf and filter.published:
        return -INFINITY
    return row_score(filter, row, row + filter.model.width)


cdef int apply_prune(Particles filter, const double* x, int particle,
                     LeafParent* pair) except -1 nogil:
    """Replace the parent by one leaf, which the particles of the pair share."""
    cdef int depth = filter.trees.nodes[pair.parent].depth
    if pair.pruned < 0:
        pair.pruned = leaf_in_place_of(filter, pair.parent)
    if pair.pruned < 0:
        pair.pruned = new_pruned_leaf(filter, pair)
    else:
        filter.trees.hold(pair.pruned)
    filter.roots[particle] = filter.trees.path_copy(filter.roots[particle], x, depth, pair.pruned)
    return 0


cdef int leaf_in_place_of(Particles filter, int node) noexcept nogil:
    """A leaf of another tree for the region of this split, or -1.

    It contains the new sample, so that it is one of the hits or has been made by a prune in this
    step.
    """
    cdef int64_t region = filter.trees.nodes[node].region
    cdef const Node* leaf
    cdef int i
    if decays_by_leaf(filter):
        return -1
    for i in range(filter.n_hits):
        leaf = &filter.trees.nodes[filter.hits[i].node]
        if leaf.region == region and leaf.split.feature < 0 and leaf.refs > 0:
            return filter.hits[i].node
    for i in range(filter.n_pairs):
        if filter.pairs[i].pruned >= 0:
            leaf = &filter.trees.nodes[filter.pairs[i].pruned]
            if leaf.region == region:
                return filter.pairs[i].pruned
    return -1


cdef int new_pruned_leaf(Particles filter, LeafParent* pair) except -1 nogil:
    """Make a leaf with all samples below the parent."""
    cdef int n_active = sum_subtree(filter, pair.parent, filter.row_other)
    cdef int node = filter.trees.leaf_for(pair.parent, n_active)
    memcpy(filter.trees.total(filter.trees.nodes[node].left), filter.row_other,
           2 * filter.model.width * sizeof(double))
    leaf_at(filter.trees, node).time = filter.n_seen
    finish_leaf(filter, filter.trees.nodes[node].left)
    return node


cdef int apply_grow(Particles filter, const double* x, int particle, int node,
                    Cut* cut) except -1 nogil:
    """Split the leaf in this particle; all particles with the same cut share the split."""
    cdef int depth = filter.trees.nodes[node].depth
    if cut.grown < 0:
        cut.grown = new_split(filter, node, cut)
    else:
        filter.trees.hold(cut.grown)
    filter.roots[particle] = filter.trees.path_copy(filter.roots[particle], x, depth, cut.grown)
    return 0


cdef int new_split(Particles filter, int node, const Cut* cut) except -1 nogil:
    """Make the split of a leaf, with two new leaves."""
    cdef int new = filter.trees.new_node(), left = new_child(filter, node, cut, True)
    cdef int right = new_child(filter, node, cut, False)
    cdef Node* split = &filter.trees.nodes[new]
    split.split, split.left, split.right, split.n_leaves = cut.split, left, right, 2
    split.region, split.depth = filter.trees.nodes[node].region, filter.trees.nodes[node].depth
    return new


cdef int new_child(Particles filter, int node, const Cut* cut, bint left) except -1 nogil:
    """Make one child of a split leaf; its statistics are summed, not subtracted.

    It inherits the retired statistics of the leaf in proportion to its active samples (section
    3.2).
    """
    cdef int old = filter.trees.nodes[node].left
    cdef int n = filter.trees.leaves[old].n_active, n_present = filter.n_present[cut.split.feature]
    cdef int n_left = cut.n_left + (n - n_present) * cut.split.missing_left
    cdef int n_here = n_left if left else n - n_left
    cdef int child = filter.trees.new_leaf(
        filter.trees.nodes[node].depth + 1, filter.trees.new_region(), n_here)
    cdef int leaf = filter.trees.nodes[child].left, i
    cdef Leaf* here = &filter.trees.leaves[leaf]
    cdef int* slots = filter.trees.slots + here.slots
    cdef const int* order = filter.order + <Py_ssize_t>cut.split.feature * filter.scratch_capacity
    cdef double share = <double>n_here / n
    cdef bint inside
    for i in range(n):
        inside = (
            cut.split.missing_left if i >= n_present
            else cut.start <= i < cut.start + cut.n_left
        )
        if inside == left:
            slots[here.n_active] = order[i]
            here.n_active += 1
    sum_slots(filter, slots, n_here, filter.trees.total(leaf))
    merge(&filter.model, filter.trees.total(leaf), filter.trees.retired(old), share)
    merge(&filter.model, filter.trees.retired(leaf), filter.trees.retired(old), share)
    here.time, here.decay = filter.trees.leaves[old].time, filter.trees.leaves[old].decay
    finish_leaf(filter, leaf)
    return child


# --- Proposals -----------------------------------------------------------------------------

cdef int propose_all(Particles filter, const LeafHit* hit, Rng* rng) noexcept nogil:
    """Draw the proposals at one leaf into `Particles.cuts`, score them, return their number.

    Each is uniform over columns and places (section 2.2). Together they are spread evenly over both
    by systematic sampling. In dynaTree, each particle has its own, independent proposal. Columns of
    which no active sample has a value are left out, since they have no place for a cut.
    """
    cdef int leaf = filter.trees.nodes[hit.node].left, particle = hit.first, n = 0, i
    cdef int n_columns = filter.pool.n_live, column
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
    for i in range(n_columns):
        filter.n_present[filter.pool.live[i]] = -1
    weigh_samples(filter, leaf)
    for i in range(n):
        cut = &filter.cuts[i]
        cut.odds, cut.grown = NULL, -1
        place = (uniform(rng) if filter.published else (i + u) / n) * n_columns
        column = min(<int>place, n_columns - 1)
        cut.split.feature = filter.pool.live[column]
        if filter.n_present[cut.split.feature] < 0:
            sort_leaf(filter, leaf, cut.split.feature)
        place_cut(filter, rng, leaf, cut, place - column)
    score_cuts(filter, hit.node)
    return n


cdef void sort_leaf(Particles filter, int leaf, int column) noexcept nogil:
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


cdef void place_cut(Particles filter, Rng* rng, int leaf, Cut* cut, double u) noexcept nogil:
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


cdef void score_cuts(Particles filter, int node) noexcept nogil:
    """Compute the odds of all cuts proposed at one leaf against staying."""
    cdef int depth = filter.trees.nodes[node].depth, i, column, missing_left, n_positions
    begin_scan(filter, filter.trees.nodes[node].left)
    filter.scan.base = (
        filter.log_split[depth] + 2.0 * filter.log_stop[depth + 1] - filter.log_stop[depth]
        - leaf_score(filter, filter.scan.leaf)
    )
    for i in range(filter.pool.n_live):
        column = filter.pool.live[i]
        for missing_left in range(2):
            if filter.n_present[column] < 0:
                continue
            n_positions = list_positions(filter, 2 * column + missing_left)
            if n_positions == 0:
                continue
            if filter.nominal[column]:
                scan_nominal(filter, column, missing_left, n_positions)
            else:
                scan_numeric(filter, column, missing_left, n_positions)
    score_waiting(filter)


cdef void begin_scan(Particles filter, int leaf) noexcept nogil:
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


cdef int list_positions(Particles filter, int which) noexcept nogil:
    """List the cuts proposed for a column and a side of missing values, in sorted order."""
    cdef const uint64_t* proposed = filter.proposed + <size_t>which * filter.n_words
    cdef int i, n = 0
    cdef uint64_t word
    for i in range(filter.n_words):
        word = proposed[i]
        while word:
            filter.positions[n] = 64 * i + lowest_bit(word)
            n += 1
            word &= word - 1
    return n


cdef void scan_numeric(Particles filter, int column, bint missing_left,
                       int n_positions) noexcept nogil:
    """Scan the sorted samples from both ends, up to the largest gap between two cuts."""
    cdef const int* positions = filter.positions
    cdef int n_present = filter.n_present[column], i, here, after = 0, gap = positions[0]
    for i in range(1, n_positions + 1):
        here = positions[i] if i < n_positions else n_present
        if here - positions[i - 1] > gap:
            gap, after = here - positions[i - 1], i
    begin_pass(filter, column, missing_left)
    for i in range(after):
        pass_samples(filter, column, positions[i - 1] if i else 0, positions[i])
        add_cut(filter, column, missing_left, positions[i], positions[i], missing_left)
    begin_pass(filter, column, not missing_left)
    for i in range(n_positions - 1, after - 1, -1):
        here = positions[i]
        pass_samples(filter, column, here, positions[i + 1] if i < n_positions - 1 else n_present)
        add_cut(filter, column, missing_left, here, n_present - here, not missing_left)


cdef void scan_nominal(Particles filter, int column, bint missing_left,
                       int n_positions) noexcept nogil:
    """Score the cuts proposed for a nominal column: one value against all others."""
    cdef const int* order = filter.order + <Py_ssize_t>column * filter.scratch_capacity
    cdef const double* x = filter.pool.x + column
    cdef Py_ssize_t width = filter.pool.n_columns
    cdef int n_present = filter.n_present[column], i, start, end
    for i in range(n_positions):
        start = end = filter.positions[i]
        while end < n_present and x[order[end] * width] == x[order[start] * width]:
            end += 1
        begin_pass(filter, column, missing_left)
        pass_samples(filter, column, start, end)
        add_cut(filter, column, missing_left, start, end - start, missing_left)


cdef void begin_pass(Particles filter, int column, bint with_missing) noexcept nogil:
    """Start a scan, with the samples that miss the feature if they go to this side."""
    cdef int n = filter.trees.leaves[filter.scan.leaf].n_active
    memset(filter.scan.passed, 0, filter.model.width * sizeof(double))
    if with_missing:
        pass_samples(filter, column, filter.n_present[column], n)


cdef void pass_samples(Particles filter, int column, int start, int stop) noexcept nogil:
    """Add the sorted samples from `start` to before `stop`."""
    add_to_cells(
        &filter.model, filter.scan.passed, filter.scan.offsets,
        filter.order + <Py_ssize_t>column * filter.scratch_capacity + start, stop - start,
        filter.sample_weight)


cdef void add_cut(Particles filter, int column, bint missing_left, int place, int n_passed,
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


cdef void score_waiting(Particles filter) noexcept nogil:
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


cdef double regression_score(Particles filter, int lane, const Fit* fit) noexcept nogil:
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
