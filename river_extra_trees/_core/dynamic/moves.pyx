"""Moves of the particles at the leaf of a sample.

Stay, grow or prune: equation (2) and section 2.3 of the paper. In the paper, each particle draws
one cut and takes it with probability o / (1 + p + o), where o and p are the odds of growing and
pruning against staying. Here the particles with the same leaf share their proposals: a particle
grows with probability m / (1 + p + m), where m is the mean of o over the proposals, and takes one
of them with probability proportional to its o. This estimates the posterior probability of growing,
integrated over the place of the cut; more proposals give a better estimate. The odds of a cut do
not depend on the particle, and particles that take the same cut share the new leaves.

The odds come from scans over the sorted samples of the leaf. The statistics of the children of a
cut are sums over the samples scanned so far, and the differences to those of the whole leaf. Cuts
are collected and scored in batches.
"""

from libc.limits cimport INT_MAX
from libc.math cimport INFINITY, NAN, exp, fmod, isfinite
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memset

from ..allocation cimport raise_memory_error
from ..linalg cimport BATCH_SIZE, Fit, add_samples, merge
from ..rng cimport MOVE, Rng, rng_for, uniform
from ..split cimport NO_VALUE, VALUES, goes_left
from ..value_sets cimport values_at
from .leaf_models cimport (
    add_to_cells, evidence, fit_batch, log_multinomial, published_score, to_cells,
)
from .particles cimport (
    LEAST_PROPOSALS, MOST_PROPOSALS, Column, Cut, LeafHit, LeafParent, SplitScan,
    decays_by_leaf, drop_proposals, finish_leaf, forget_ranks, leaf_score, ranked, row_score,
    score_subtree, sum_subtree, v_of, weigh_samples,
)
from .nominal cimport place_nominal, reserve_values
from .shared_trees cimport MAX_DEPTH, Leaf, Node

cdef extern from "bits.h":
    int lowest_bit(uint64_t word) nogil


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
    cdef int particle = hit.first, n_cuts
    cdef Cut* cuts = filter.cuts
    cdef double u, grow
    cdef LeafParent* pair
    cdef int cut, depth, new
    reserve_values(filter)
    n_cuts = filter.n_proposed = propose_all(filter, hit, rng)
    if filter.scan.is_short:
        raise_memory_error()
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
        if u < pair.prune_odds + grow:
            if u < pair.prune_odds:
                depth = filter.trees.nodes[pair.parent].depth
                new = pruned_leaf(filter, pair)
            else:
                depth = filter.trees.nodes[hit.node].depth
                cut = draw_cut(cuts, n_cuts, (u - pair.prune_odds) * n_cuts)
                new = grown_split(filter, hit.node, &cuts[cut])
            filter.roots[particle] = filter.trees.path_copy(filter.roots[particle], x, depth, new)
        particle = filter.next[particle]
        cuts += filter.published     # in dynaTree, each particle has its own proposal
    drop_proposals(filter)
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


cdef int pruned_leaf(Particles filter, LeafParent* pair) except -1 nogil:
    """A reference to the leaf in place of the parent, which the particles of the pair share."""
    cdef Leaf* leaf
    if pair.pruned < 0:
        pair.pruned = leaf_in_place_of(filter, pair.parent)
    if pair.pruned >= 0:
        filter.trees.add_references(pair.pruned, 1)
        return pair.pruned
    pair.pruned = filter.trees.leaf_for(
        pair.parent, sum_subtree(filter, pair.parent, filter.row_other))
    leaf = filter.trees.nodes[pair.pruned].leaf
    memcpy(leaf.total, filter.row_other, 2 * filter.model.width * sizeof(double))
    leaf.time = filter.pool.n_seen
    finish_leaf(filter, leaf)
    return pair.pruned


cdef int leaf_in_place_of(Particles filter, int node) noexcept nogil:
    """A leaf of another tree for the region of this split, or -1.

    It contains the new sample, so that it is one of the hits or has been made by a prune in this
    step.
    """
    cdef int64_t region = filter.trees.nodes[node].region
    cdef const Node* other
    cdef int i
    if decays_by_leaf(filter):
        return -1
    for i in range(filter.n_hits):
        other = &filter.trees.nodes[filter.hits[i].node]
        if other.region == region and other.leaf != NULL:
            return filter.hits[i].node
    for i in range(filter.n_pairs):
        if filter.pairs[i].pruned >= 0:
            other = &filter.trees.nodes[filter.pairs[i].pruned]
            if other.region == region:
                return filter.pairs[i].pruned
    return -1


cdef int grown_split(Particles filter, int node, Cut* cut) except -1 nogil:
    """A reference to the split in place of a leaf, which all particles with the same cut share."""
    cdef int left, right
    cdef Node* split
    if cut.grown >= 0:
        filter.trees.add_references(cut.grown, 1)
        return cut.grown
    cut.grown = filter.trees.new_node()
    left, right = new_child(filter, node, cut, True), new_child(filter, node, cut, False)
    split = &filter.trees.nodes[cut.grown]
    split.split, split.left, split.right, split.n_leaves = cut.split, left, right, 2
    split.region, split.depth = filter.trees.nodes[node].region, filter.trees.nodes[node].depth
    if split.split.nominal == VALUES:
        values_at(split.split.threshold).n_owners += 1
    return cut.grown


cdef int new_child(Particles filter, int node, const Cut* cut, bint left) except -1 nogil:
    """Make one child of a split leaf; its statistics are summed, not subtracted.

    It inherits the retired statistics of the leaf in proportion to its active samples (section
    3.2).
    """
    cdef const Leaf* old = filter.trees.nodes[node].leaf
    cdef const Column* column = &filter.columns[cut.column]
    cdef int n_left = cut.n_left + (old.n_active - column.n_present) * cut.split.missing_left
    cdef int n = n_left if left else old.n_active - n_left, i
    cdef int child = filter.trees.new_leaf(filter.trees.nodes[node].depth + 1, n)
    cdef Leaf* leaf = filter.trees.nodes[child].leaf
    cdef double share = <double>n / old.n_active, value
    for i in range(old.n_active):
        value = column.x[column.order[i]] if i < column.n_present else NAN
        if goes_left(&cut.split, value) == left:
            leaf.slots[leaf.n_active] = column.order[i]
            leaf.n_active += 1
    add_samples(&filter.model, leaf.total, filter.active_v, leaf.slots, n, filter.sample_weight)
    merge(&filter.model, leaf.total, old.retired, share)
    merge(&filter.model, leaf.retired, old.retired, share)
    leaf.time, leaf.stratum = old.time, old.stratum
    finish_leaf(filter, leaf)
    return child


# --- Proposals -----------------------------------------------------------------------------

cdef int propose_all(Particles filter, const LeafHit* hit, Rng* rng) noexcept nogil:
    """Draw the proposals at one leaf into `Particles.cuts`, score them, return their number.

    Each is uniform over columns and places (section 2.2). Together they are spread evenly over both
    by systematic sampling. The columns are those in which some sample of the leaf has a value: so a
    column that hardly any sample has is hardly ever proposed, and one sample with many names does
    not keep the trees from growing. In dynaTree, each particle has its own, independent proposal,
    in any column in which an active sample has a value.
    """
    cdef const Leaf* leaf = filter.trees.nodes[hit.node].leaf
    cdef int particle = hit.first, n = 0, i, n_columns, n_placed = 0, column
    cdef double u = uniform(rng), place
    cdef const int* columns
    cdef Cut* cut
    # Halved instead of doubling `min_samples_leaf`, which could overflow.
    if (
        leaf.n_active // 2 < filter.min_samples_leaf or filter.alpha <= 0.0
        or filter.trees.nodes[hit.node].depth >= MAX_DEPTH
    ):
        return 0
    if filter.published:
        columns, n_columns = filter.pool.live, filter.pool.n_live
    else:
        columns = filter.proposed
        n_columns = filter.pool.columns_of(leaf.slots[some(u, leaf.n_active)], filter.proposed)
    if n_columns == 0:
        return 0
    while particle >= 0:
        n += 1
        particle = filter.next[particle]
    if not filter.published:
        n = min(max(n, LEAST_PROPOSALS), MOST_PROPOSALS)
    if filter.n_ranked + n > filter.most_ranked and filter.most_ranked < filter.pool.n_live:
        forget_ranks(filter)            # there may be no room
    for i in range(filter.n_ranked):
        filter.columns[i].n_present = -1
    filter.scan.has_signal = filter.scan.is_short = False
    weigh_samples(filter, leaf)
    for i in range(n):
        cut = &filter.cuts[i]
        place = (uniform(rng) if filter.published else (i + u) / n) * n_columns
        column = min(<int>place, n_columns - 1)
        cut.column = ranked(filter, columns[column])
        cut.odds, cut.grown, cut.correction = NULL, -1, 0.0
        if filter.columns[cut.column].n_present < 0:
            sort_leaf(filter, leaf, &filter.columns[cut.column])
        if place_cut(filter, rng, leaf, cut, place - column):
            cut.position = (
                2 * <int64_t>cut.column + cut.split.missing_left << 32
                | place_in_order(cut, i))
            filter.in_order[n_placed] = cut
            n_placed += 1
    score_cuts(filter, hit.node, n_placed)
    return n


cdef inline int some(double u, int n) noexcept nogil:
    """One of n things, by the lower digits of a uniform number, whose upper ones say another."""
    return <int>(fmod(65536.0 * u, 1.0) * n)


cdef int place_in_order(const Cut* cut, int number) noexcept nogil:
    """Where a scan of the column meets a cut; cuts of one column with the same place are equal."""
    if cut.split.nominal == VALUES:
        return 1 + cut.first
    return 1 + number if cut.split.nominal else cut.n_left


cdef void sort_leaf(Particles filter, const Leaf* leaf, Column* column) noexcept nogil:
    """Sort the active samples of a leaf by a column, missing values last.

    Each sample sets the bit of its rank in the pool, and the bits are then read in order.
    """
    cdef int n_missing = 0, i, rank, first = INT_MAX, last = -1
    cdef uint64_t word
    column.n_present = 0
    for i in range(leaf.n_active):
        rank = column.rank[leaf.slots[i]]
        if rank < 0:
            n_missing += 1
            column.order[leaf.n_active - n_missing] = leaf.slots[i]
        else:
            filter.bits[rank >> 6] = filter.bits[rank >> 6] | <uint64_t>1 << (rank & 63)
            first, last = min(first, rank >> 6), max(last, rank >> 6)
    for i in range(first, last + 1):
        word = filter.bits[i]
        filter.bits[i] = 0
        while word:
            column.order[column.n_present] = column.ranked[64 * i + lowest_bit(word)]
            column.n_present += 1
            word &= word - 1
    if filter.schema.has_codes(column.feature):
        column.n_values = column.n_present > 0
        for i in range(1, column.n_present):
            column.n_values += column.x[column.order[i]] != column.x[column.order[i - 1]]


cdef bint place_cut(Particles filter, Rng* rng, const Leaf* leaf, Cut* cut,
                    double u) noexcept nogil:
    """Place a cut of the samples of a leaf at u in [0, 1); return whether that is allowed.

    Missing values go to the left of the cut, to its right, or, except in dynaTree, are parted from
    all others, each with the same probability.
    """
    cdef const Column* column = &filter.columns[cut.column]
    cdef int n_present = column.n_present, least = filter.min_samples_leaf, low, high, middle
    cdef int n_missing = leaf.n_active - n_present
    cdef const int* order = column.order
    cdef double lower, upper, way
    cut.split.feature = column.feature
    cut.split.nominal = filter.schema.has_codes(column.feature)
    cut.split.missing_left = False
    if n_missing:
        way = (2.0 if filter.published else 3.0) * uniform(rng)
        cut.split.missing_left = way < 1.0
        if way >= 2.0:
            return part_missing(cut, n_present) and n_present >= least and n_missing >= least
    if cut.split.nominal:
        return place_nominal(filter, rng, leaf, cut, u)
    low, high = least - 1, n_present - least
    if low >= high:
        return False
    if not filter.published:      # first a gap between neighbours, then a place in it
        low = min(low + <int>(u * (high - low)), high - 1)
        high = low + 1
        u = uniform(rng)
    lower, upper = column.x[order[low]], column.x[order[high]]
    if not lower < upper:
        return False
    cut.split.threshold = between(lower, upper, u)
    while high - low > 1:           # x[low] <= threshold < x[high]
        middle = (low + high) // 2
        if column.x[order[middle]] <= cut.split.threshold:
            low = middle
        else:
            high = middle
    cut.n_left = high
    return True


cdef bint part_missing(Cut* cut, int n_present) noexcept nogil:
    """Part missing values from all others: no value has the code `NO_VALUE`."""
    cut.split.threshold = NO_VALUE if cut.split.nominal else INFINITY
    cut.split.missing_left = cut.split.nominal
    cut.n_left = 0 if cut.split.nominal else n_present
    return True


cdef inline double between(double lower, double upper, double u) noexcept nogil:
    """A threshold between two values, with `lower` on its left and `upper` on its right."""
    cdef double threshold = (1.0 - u) * lower + u * upper
    return threshold if lower <= threshold < upper else lower


# --- Split scan ----------------------------------------------------------------------------


cdef int compare(const void* one, const void* other) noexcept nogil:
    """Order two cuts, as `qsort` asks."""
    cdef int64_t a = (<const Cut**>one)[0].position, b = (<const Cut**>other)[0].position
    return (a > b) - (a < b)


cdef void score_cuts(Particles filter, int node, int n_placed) noexcept nogil:
    """Compute the odds of all cuts placed in one leaf against staying."""
    cdef int depth = filter.trees.nodes[node].depth, i, n = 0, first
    cdef Cut** cuts = filter.in_order
    begin_scan(filter, filter.trees.nodes[node].leaf)
    filter.scan.base = (
        filter.log_split[depth] + 2.0 * filter.log_stop[depth + 1] - filter.log_stop[depth]
        - leaf_score(filter, filter.scan.leaf)
    )
    qsort(cuts, n_placed, sizeof(Cut*), compare)
    for i in range(n_placed):
        if n and cuts[i].position == cuts[n - 1].position:
            cuts[i].odds = cuts[n - 1].odds
        else:
            cuts[n] = cuts[i]
            cuts[n].odds = &cuts[n].found
            n += 1
    first = 0
    for i in range(1, n + 1):
        if i == n or cuts[i].position >> 32 != cuts[first].position >> 32:
            if cuts[first].split.nominal:
                scan_nominal(filter, cuts + first, i - first)
            else:
                scan_numeric(filter, cuts + first, i - first)
            first = i
    score_waiting(filter)


cdef void begin_scan(Particles filter, const Leaf* leaf) noexcept nogil:
    """Compute the cells of the leaf, its prior and its samples about the means of the leaf."""
    cdef SplitScan* scan = &filter.scan
    cdef const double* means = leaf.total + 1
    cdef const double* v
    cdef size_t size = filter.model.n_regressors + 1, k
    cdef int i
    scan.leaf, scan.n_waiting = leaf, 0
    to_cells(&filter.model, leaf.retired, means, scan.retired)
    to_cells(&filter.model, leaf.total, means, scan.high)
    if filter.model.multinomial:
        memset(scan.low, 0, filter.model.width * sizeof(double))
        for i in range(leaf.n_active):
            scan.offsets[leaf.slots[i]] = filter.active_v[leaf.slots[i]]
        return
    to_cells(&filter.model, filter.model.prior, means, scan.low)
    for i in range(filter.model.width):
        scan.high[i] += scan.low[i]
    for i in range(leaf.n_active):
        v = v_of(filter, leaf.slots[i])
        for k in range(size):
            scan.offsets[leaf.slots[i] * size + k] = v[k] - means[k]


cdef void scan_numeric(Particles filter, Cut** cuts, int n) noexcept nogil:
    """Scan the sorted samples from both ends, up to the largest gap between two of n cuts."""
    cdef int n_present = filter.columns[cuts[0].column].n_present, i, stop, after = 0
    cdef int gap = cuts[0].n_left, missing_left = cuts[0].split.missing_left
    for i in range(1, n + 1):
        stop = cuts[i].n_left if i < n else n_present
        if stop - cuts[i - 1].n_left > gap:
            gap, after = stop - cuts[i - 1].n_left, i
    begin_pass(filter, cuts[0], missing_left)
    for i in range(after):
        pass_samples(filter, cuts[0], cuts[i - 1].n_left if i else 0, cuts[i].n_left)
        add_cut(filter, cuts[i], cuts[i].n_left, missing_left)
    begin_pass(filter, cuts[0], not missing_left)
    for i in range(n - 1, after - 1, -1):
        stop = cuts[i + 1].n_left if i < n - 1 else n_present
        pass_samples(filter, cuts[0], cuts[i].n_left, stop)
        add_cut(filter, cuts[i], n_present - cuts[i].n_left, not missing_left)


cdef void scan_nominal(Particles filter, Cut** cuts, int n) noexcept nogil:
    """Score n cuts of a nominal column, one after the other."""
    cdef const Column* column = &filter.columns[cuts[0].column]
    cdef int* chosen = filter.scan.chosen
    cdef int i, k, n_chosen
    for i in range(n):
        n_chosen = 0
        for k in range(column.n_present):
            chosen[n_chosen] = column.order[k]
            n_chosen += goes_left(&cuts[i].split, column.x[column.order[k]])
        begin_pass(filter, cuts[i], cuts[i].split.missing_left)
        add_to_cells(&filter.model, filter.scan.passed, filter.scan.offsets, chosen, n_chosen,
                     filter.sample_weight)
        add_cut(filter, cuts[i], n_chosen, cuts[i].split.missing_left)


cdef void begin_pass(Particles filter, const Cut* cut, bint with_missing) noexcept nogil:
    """Start a scan, with the samples that miss the feature if they go to this side."""
    memset(filter.scan.passed, 0, filter.model.width * sizeof(double))
    if with_missing:
        pass_samples(filter, cut, filter.columns[cut.column].n_present,
                     filter.scan.leaf.n_active)


cdef void pass_samples(Particles filter, const Cut* cut, int start, int stop) noexcept nogil:
    """Add the samples from `start` to before `stop` in the sorted order of the cut's column."""
    add_to_cells(&filter.model, filter.scan.passed, filter.scan.offsets,
                 filter.columns[cut.column].order + start, stop - start, filter.sample_weight)


cdef void add_cut(Particles filter, Cut* cut, int n_passed, bint with_missing) noexcept nogil:
    """Add a cut to the batch. One child has the samples scanned so far, the other has the rest.

    Both inherit the retired statistics of the leaf in proportion to their active samples (section
    3.2).
    """
    cdef SplitScan* scan = &filter.scan
    cdef int n = scan.leaf.n_active, i
    cdef double share, moved
    cdef double* cells = scan.batch + 2 * scan.n_waiting
    if with_missing:
        n_passed += n - filter.columns[cut.column].n_present
    share = <double>n_passed / n
    for i in range(filter.model.width):
        moved = share * scan.retired[i] + scan.passed[i]
        cells[i * BATCH_SIZE] = scan.low[i] + moved
        cells[i * BATCH_SIZE + 1] = scan.high[i] - moved
        if filter.model.multinomial and cells[i * BATCH_SIZE + 1] < 0.0:      # by rounding
            cells[i * BATCH_SIZE + 1] = 0.0
    scan.shares[scan.n_waiting] = share
    scan.waiting[scan.n_waiting] = cut
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
        scan.waiting[i].found = odds(
            scan.base + scan.waiting[i].correction + scores[2 * i] + scores[2 * i + 1])
    scan.n_waiting = 0


cdef inline double odds(double log_odds) noexcept nogil:
    """Odds from their logarithm; 0 for NaN."""
    return exp(min(log_odds, 600.0)) if log_odds == log_odds else 0.0


cdef double regression_score(Particles filter, int lane, const Fit* fit) noexcept nogil:
    """Score of the child in a fitted lane."""
    cdef SplitScan* scan = &filter.scan
    cdef int size = filter.model.n_regressors + 1
    cdef double share = scan.shares[lane // 2], mean
    if not filter.published:
        return evidence(&filter.model, fit, fit.weight - filter.model.prior[0])
    # The factorisation leaves the mean of the target in the first cell of the last row.
    mean = scan.leaf.total[size]
    mean += scan.batch[size * (size + 1) // 2 * BATCH_SIZE + lane]
    return published_score(
        &filter.model, fit, mean, scan.leaf.retired,
        1.0 - share if lane % 2 else share)
