"""Stay, grow or prune at the leaf of a sample: equation (2) and section 2.3 of the paper.

In the paper a particle draws one cut and takes it with probability o / (1 + p + o), o and p being
the odds of growing and pruning against staying. Here the particles that hold a leaf share their
proposals: a particle grows with probability m / (1 + p + m), where m is the mean of o over them,
and takes each in proportion to its o. That estimates the posterior probability of growing at all,
the place of the cut integrated out, the better the more proposals there are; a good cut is taken by
every particle that is offered it among poor ones. The odds of a cut do not depend on the particle,
and particles that take the same cut share the new leaves.
"""

from libc.math cimport INFINITY, isfinite
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from ..rng cimport MOVE, Rng, rng_for, uniform
from .leaf_models cimport merge
from .leaves cimport finish_leaf, row_score, score_subtree, sum_slots, sum_subtree
from .particles cimport Cut, LeafParent, ParticleFilter, LeafHit, fades_by_leaf
from .proposals cimport odds, propose_all
from .shared_trees cimport Leaf, Node, leaf_at


cdef void move_all(ParticleFilter filter, const double* x, int first, int stop) noexcept nogil:
    """Stay, grow or prune, leaf by leaf. Needs `reserve_step`."""
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
        if filter.hits[hit].first >= 0:       # else the resampling has left none
            move_at(filter, x, &filter.hits[hit], &rng)


cdef void move_at(
    ParticleFilter filter, const double* x, LeafHit* hit, Rng* rng
) noexcept nogil:
    """The moves of all particles that hold one leaf (there is at least one)."""
    cdef int particle = hit.first, n_cuts = propose_all(filter, hit, rng)
    cdef Cut* cuts = filter.cuts
    cdef double u, grow
    cdef LeafParent* pair
    cdef int cut
    if filter.reference:
        n_cuts = min(n_cuts, 1)
    grow = mean_odds(cuts, n_cuts)
    while particle >= 0:
        pair = &filter.pairs[filter.pair_of[particle]]
        if pair.prune_odds < 0.0:
            pair.prune_odds = prune_odds(filter, hit, pair)
        if filter.reference:
            grow = mean_odds(cuts, n_cuts)
        u = uniform(rng) * (1.0 + pair.prune_odds + grow)       # equation (2), equal p_m
        if u < pair.prune_odds:
            apply_prune(filter, x, particle, pair)
        elif u < pair.prune_odds + grow:
            cut = draw_cut(cuts, n_cuts, (u - pair.prune_odds) * n_cuts)
            apply_grow(filter, x, particle, hit.node, &cuts[cut])
        particle = filter.next[particle]
        cuts += filter.reference     # there each particle has its own


cdef double mean_odds(const Cut* cuts, int n) noexcept nogil:
    """Odds of growing by any of n proposals against staying."""
    cdef double total = 0.0
    cdef int i
    for i in range(n):
        if cuts[i].odds != NULL:
            total += cuts[i].odds[0]
    return total / n if n else 0.0


cdef int draw_cut(const Cut* cuts, int n, double u) noexcept nogil:
    """A proposal in proportion to its odds, whose sum u is below."""
    cdef int i, last = 0
    for i in range(n):
        if cuts[i].odds != NULL:
            last = i
            u -= cuts[i].odds[0]
            if u < 0.0:
                break
    return last


cdef double prune_odds(ParticleFilter filter, LeafHit* hit, const LeafParent* pair) noexcept nogil:
    """Odds of pruning the leaf's parent against staying."""
    cdef const Node* parent = &filter.trees.nodes[pair.parent]
    cdef double stay = score_subtree(filter, pair.parent, False)
    if filter.reference and not isfinite(stay):     # a leaf without spread: then it stays
        return 0.0
    if hit.region_above != parent.region or fades_by_leaf(filter):
        hit.pruned_score = pruned_score(filter, pair.parent)
        hit.region_above = parent.region
    return odds(filter.log_stop[parent.depth] + hit.pruned_score - stay)    # pi(T) p(y | T, x)


cdef double pruned_score(ParticleFilter filter, int parent) noexcept nogil:
    """Score of the leaf that would take the place of a parent whose leaves are up to date.

    Trees differ in how they divide the samples of a region, not in which samples these are. So the
    statistics are summed once for each of the few regions, not for each of the many parents.
    Sums kept in the nodes would have to follow every sample in all nodes on its way, which are
    more than the leaves below the parents; and what staying is worth, once samples fade, is new for
    every leaf at every step.
    """
    cdef int64_t region = filter.trees.nodes[parent].region
    cdef double* row = filter.row_other
    cdef int i
    if not fades_by_leaf(filter):
        for i in range(filter.n_hits):
            if filter.hits[i].region_above == region:
                return filter.hits[i].pruned_score
    if sum_subtree(filter, parent, row) // 2 < filter.min_samples_leaf and filter.reference:
        return -INFINITY
    return row_score(filter, row, row + filter.model.width)


cdef void apply_prune(
    ParticleFilter filter, const double* x, int particle, LeafParent* pair
) noexcept nogil:
    """Put one leaf in the place of the parent; particles of a pair share it."""
    cdef int depth = filter.trees.nodes[pair.parent].depth
    if pair.pruned < 0:
        pair.pruned = leaf_in_place_of(filter, pair.parent)
    if pair.pruned < 0:
        pair.pruned = new_pruned_leaf(filter, pair)
    else:
        filter.trees.hold(pair.pruned)
    filter.roots[particle] = filter.trees.path_copy(filter.roots[particle], x, depth, pair.pruned)


cdef int leaf_in_place_of(ParticleFilter filter, int node) noexcept nogil:
    """A leaf that another tree has where this one has a split, or -1.

    It holds the new sample, so it is among the leaves met or pruned to in this step.
    """
    cdef int64_t region = filter.trees.nodes[node].region
    cdef const Node* leaf
    cdef int i
    if fades_by_leaf(filter):
        return -1
    for i in range(filter.n_hits):
        leaf = &filter.trees.nodes[filter.hits[i].node]
        if leaf.region == region and leaf.feature < 0 and leaf.refs > 0:
            return filter.hits[i].node
    for i in range(filter.n_pairs):
        if filter.pairs[i].pruned >= 0:
            leaf = &filter.trees.nodes[filter.pairs[i].pruned]
            if leaf.region == region:
                return filter.pairs[i].pruned
    return -1


cdef int new_pruned_leaf(ParticleFilter filter, LeafParent* pair) noexcept nogil:
    """The leaf that holds everything below the parent."""
    cdef int n_active = sum_subtree(filter, pair.parent, filter.row_other)
    cdef int node = filter.trees.leaf_for(pair.parent, n_active)
    memcpy(filter.trees.total(filter.trees.nodes[node].left), filter.row_other,
           2 * filter.model.width * sizeof(double))
    leaf_at(filter.trees, node).time = filter.n_seen
    finish_leaf(filter, filter.trees.nodes[node].left)
    return node


cdef void apply_grow(
    ParticleFilter filter, const double* x, int particle, int node, Cut* cut
) noexcept nogil:
    """Split the leaf in this particle; all that take the same cut share the split."""
    cdef int depth = filter.trees.nodes[node].depth
    if cut.grown < 0:
        cut.grown = new_split(filter, node, cut)
    else:
        filter.trees.hold(cut.grown)
    filter.roots[particle] = filter.trees.path_copy(filter.roots[particle], x, depth, cut.grown)


cdef int new_split(ParticleFilter filter, int node, const Cut* cut) noexcept nogil:
    """The split of a leaf, with its two new leaves."""
    cdef int new = filter.trees.new_node()
    cdef Node* split = &filter.trees.nodes[new]
    split.cut, split.feature, split.n_leaves = cut.threshold, cut.column, 2
    split.nominal, split.missing_left = cut.nominal, cut.missing_left
    split.region, split.depth = filter.trees.nodes[node].region, filter.trees.nodes[node].depth
    split.left = new_child(filter, node, cut, True)
    split.right = new_child(filter, node, cut, False)
    return new


cdef int new_child(ParticleFilter filter, int node, const Cut* cut, bint left) noexcept nogil:
    """One child of a leaf that is split; its statistics are summed, not subtracted.

    It inherits its share, by active samples, of what the leaf has retired (section 3.2).
    """
    cdef int old = filter.trees.nodes[node].left
    cdef int n = filter.trees.leaves[old].n_active, n_present = filter.n_present[cut.column]
    cdef int n_left = cut.n_left + (n - n_present) * cut.missing_left
    cdef int n_here = n_left if left else n - n_left
    cdef int child = filter.trees.new_leaf(
        filter.trees.nodes[node].depth + 1, filter.trees.new_region(), n_here)
    cdef int leaf = filter.trees.nodes[child].left, i
    cdef Leaf* here = &filter.trees.leaves[leaf]
    cdef int* slots = filter.trees.slots + here.slots
    cdef const int* order = filter.order + <Py_ssize_t>cut.column * filter.scratch_capacity
    cdef double share = <double>n_here / n
    cdef bint inside
    for i in range(n):
        inside = (
            cut.missing_left if i >= n_present
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
