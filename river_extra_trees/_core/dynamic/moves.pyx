"""Changes of the trees: moves at the leaf of a sample, and rejuvenation.

Stay, grow or prune: equation (2) and section 2.3 of the paper. In the paper, each particle draws
one cut and takes it with probability o / (1 + p + o), where o and p are the odds of growing and
pruning against staying. Here the particles with the same leaf share their proposals: a particle
grows with probability m / (1 + p + m), where m is the mean of o over the proposals, and takes one
of them with probability proportional to its o. This estimates the posterior probability of growing,
integrated over the place of the cut; more proposals give a better estimate. The odds of a cut do
not depend on the particle, and particles that take the same cut share the new leaves.

A rejuvenation adds particles grown from the active samples; half of them inherit the retired
statistics of the old ones.
"""

from libc.math cimport INFINITY, isfinite
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from ..linalg cimport merge
from ..rng cimport MOVE, REJUVENATE, Rng, below, rng_for, uniform
from .leaves cimport (
    finish_leaf, lay_out_scratch, reserve_scratch, row_score, score_subtree, sum_slots,
    sum_subtree, update_time,
)
from .particles cimport Cut, LeafHit, LeafParent, ParticleFilter, fades_by_leaf
from .pool cimport x_of
from .proposals cimport odds, propose_all
from .shared_trees cimport MIN_BLOCK, Leaf, Node, SharedTrees, leaf_at, side
from .step cimport add_roots, gather, reserve_step, set_shares, step


cdef void move_all(ParticleFilter filter, const double* x, int first, int stop) noexcept nogil:
    """Stay, grow or prune, leaf by leaf. After `reserve_step`."""
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


cdef void move_at(ParticleFilter filter, const double* x, LeafHit* hit, Rng* rng) noexcept nogil:
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


cdef double prune_odds(ParticleFilter filter, LeafHit* hit, const LeafParent* pair) noexcept nogil:
    """Odds of pruning the leaf's parent against staying."""
    cdef const Node* parent = &filter.trees.nodes[pair.parent]
    cdef double stay = score_subtree(filter, pair.parent, False)
    if filter.published and not isfinite(stay):     # a leaf without variance
        return 0.0
    if hit.region_above != parent.region or fades_by_leaf(filter):
        hit.pruned_score = pruned_score(filter, pair.parent)
        hit.region_above = parent.region
    return odds(filter.log_stop[parent.depth] + hit.pruned_score - stay)    # pi(T) p(y | T, x)


cdef double pruned_score(ParticleFilter filter, int parent) noexcept nogil:
    """Score of the leaf that would replace a parent whose leaves are up to date.

    A region contains the same samples in all trees, which only divide them differently. So the
    statistics are summed once per region, of which there are few, instead of once per parent.
    Keeping sums in all nodes would be slower: each sample would have to update all nodes on its
    paths, which are more than the leaves below the parents.
    """
    cdef int64_t region = filter.trees.nodes[parent].region
    cdef double* row = filter.row_other
    cdef int i
    if not fades_by_leaf(filter):
        for i in range(filter.n_hits):
            if filter.hits[i].region_above == region:
                return filter.hits[i].pruned_score
    if sum_subtree(filter, parent, row) // 2 < filter.min_samples_leaf and filter.published:
        return -INFINITY
    return row_score(filter, row, row + filter.model.width)


cdef void apply_prune(ParticleFilter filter, const double* x, int particle,
                      LeafParent* pair) noexcept nogil:
    """Replace the parent by one leaf, which the particles of the pair share."""
    cdef int depth = filter.trees.nodes[pair.parent].depth
    if pair.pruned < 0:
        pair.pruned = leaf_in_place_of(filter, pair.parent)
    if pair.pruned < 0:
        pair.pruned = new_pruned_leaf(filter, pair)
    else:
        filter.trees.hold(pair.pruned)
    filter.roots[particle] = filter.trees.path_copy(filter.roots[particle], x, depth, pair.pruned)


cdef int leaf_in_place_of(ParticleFilter filter, int node) noexcept nogil:
    """A leaf of another tree for the region of this split, or -1.

    It contains the new sample, so that it is one of the hits or has been made by a prune in this
    step.
    """
    cdef int64_t region = filter.trees.nodes[node].region
    cdef const Node* leaf
    cdef int i
    if fades_by_leaf(filter):
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


cdef int new_pruned_leaf(ParticleFilter filter, LeafParent* pair) noexcept nogil:
    """Make a leaf with all samples below the parent."""
    cdef int n_active = sum_subtree(filter, pair.parent, filter.row_other)
    cdef int node = filter.trees.leaf_for(pair.parent, n_active)
    memcpy(filter.trees.total(filter.trees.nodes[node].left), filter.row_other,
           2 * filter.model.width * sizeof(double))
    leaf_at(filter.trees, node).time = filter.n_seen
    finish_leaf(filter, filter.trees.nodes[node].left)
    return node


cdef void apply_grow(ParticleFilter filter, const double* x, int particle, int node,
                     Cut* cut) noexcept nogil:
    """Split the leaf in this particle; all particles with the same cut share the split."""
    cdef int depth = filter.trees.nodes[node].depth
    if cut.grown < 0:
        cut.grown = new_split(filter, node, cut)
    else:
        filter.trees.hold(cut.grown)
    filter.roots[particle] = filter.trees.path_copy(filter.roots[particle], x, depth, cut.grown)


cdef int new_split(ParticleFilter filter, int node, const Cut* cut) noexcept nogil:
    """Make the split of a leaf, with two new leaves."""
    cdef int new = filter.trees.new_node()
    cdef Node* split = &filter.trees.nodes[new]
    split.split, split.n_leaves = cut.split, 2
    split.region, split.depth = filter.trees.nodes[node].region, filter.trees.nodes[node].depth
    split.left = new_child(filter, node, cut, True)
    split.right = new_child(filter, node, cut, False)
    return new


cdef int new_child(ParticleFilter filter, int node, const Cut* cut, bint left) noexcept nogil:
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


# --- Rejuvenation ---------------------------------------------------------------------------

cdef int rejuvenate(ParticleFilter filter) except -1:
    """Add as many new particles, grown from the active samples in random order.

    Every other new particle inherits the retired statistics of an old one: those of a leaf are
    divided evenly among its active samples, and each part goes to the new leaf of the sample. If a
    leaf has no active samples, those of the smallest subtree around it with any are used. The other
    new particles know the active samples only, which is better after a drift. The next sample
    resamples the 2 n particles to n. If memory runs out, the new particles are removed and the old
    ones are not changed.
    """
    cdef int n = filter.n_particles, particle
    cdef int64_t n_steps = filter.n_steps
    cdef double log_predictive = filter.log_predictive
    if filter.n_alive > n or filter.pool.size == 0:
        return 0
    filter.reserve_particles(2 * n)
    reserve_scratch(filter, filter.pool.capacity, filter.pool.n_columns, filter.pool.size_v,
                    filter.model.width)
    lay_out_scratch(filter)
    slots = shuffled_slots(filter)
    add_roots(filter, n)
    try:
        grow_on(filter, slots)
        let_half_inherit(filter)
    except BaseException:
        for particle in range(n, 2 * n):
            filter.trees.release(filter.roots[particle])
        filter.n_steps = n_steps
        raise
    finally:
        filter.log_predictive = log_predictive
    join(filter)
    return 0


cdef list shuffled_slots(ParticleFilter filter):
    """Slots of the active samples in random order (Fisher and Yates)."""
    cdef Rng rng = rng_for(filter.seed, 0, filter.n_steps, REJUVENATE)
    cdef int i, j
    slots = filter.pool.slots()
    for i in range(len(slots) - 1, 0, -1):
        j = <int>below(&rng, i + 1)
        slots[i], slots[j] = slots[j], slots[i]
    return slots


cdef int grow_on(ParticleFilter filter, list slots) except -1:
    """Let the new particles learn the active samples, one after the other."""
    cdef int n = filter.n_particles, slot
    for slot in slots:
        gather(filter, x_of(filter.pool, slot), n, 2 * n)
        reserve_step(filter)
        step(filter, slot, n, 2 * n)
    return 0


cdef int let_half_inherit(ParticleFilter filter) except -1:
    """Let every other new particle inherit from an old one; equal trees remain shared."""
    cdef int n = filter.n_particles, particle, root, heir
    heirs = {}
    for particle in range(n, 2 * n, 2):
        root = filter.roots[particle]
        if root in heirs:
            heir = heirs[root]
            filter.trees.hold(heir)
        else:
            heir = inherit(filter, root, filter.roots[particle - n])
        filter.roots[particle] = heir
        filter.trees.release(root)       # `heirs` is not asked for a freed root again
        heirs[root] = heir
    return 0


cdef void join(ParticleFilter filter) noexcept nogil:
    """Move the new particles of each stratum behind its old ones."""
    cdef int k, half, first, stop, n = filter.n_particles, place = 0
    for k in range(filter.n_decays):
        first, stop = filter.stratum[k], filter.stratum[k + 1]
        for half in range(2):
            memcpy(filter.resampled + place, filter.roots + half * n + first,
                   (stop - first) * sizeof(int))
            place += stop - first
    memcpy(filter.roots, filter.resampled, 2 * n * sizeof(int))
    for k in range(filter.n_decays + 1):
        filter.stratum[k] *= 2
    set_shares(filter, 0)
    filter.n_alive = 2 * n


cdef int inherit(ParticleFilter filter, int root, int old) except -1:
    """Copy a tree, and add the retired statistics of another tree."""
    cdef int n_leaves = filter.trees.nodes[root].n_leaves
    filter.trees.reserve(
        2 * n_leaves, n_leaves, 2 * filter.pool.size + MIN_BLOCK * <size_t>n_leaves)
    root = copied(filter, root)
    try:
        hand_down(filter, root, old)
    except BaseException:
        filter.trees.release(root)
        raise
    return root


cdef int hand_down(ParticleFilter filter, int root, int old) except -1:
    """Add the retired statistics of the leaves of one tree to the leaves of another."""
    cdef int node, leaf, part, slot
    cdef const double* retired
    stack = [(old, ())]
    while stack:
        node, around = stack.pop()
        near = slots_below(filter, node) or around
        if filter.trees.nodes[node].split.feature >= 0:
            stack += [(filter.trees.nodes[node].left, near),
                      (filter.trees.nodes[node].right, near)]
            continue
        leaf = filter.trees.nodes[node].left
        update_time(filter, leaf)
        for slot in near:
            part = root
            while filter.trees.nodes[part].split.feature >= 0:
                part = side(&filter.trees.nodes[part], x_of(filter.pool, slot))
            part = filter.trees.nodes[part].left
            retired = filter.trees.retired(leaf)
            merge(&filter.model, filter.trees.total(part), retired, 1.0 / len(near))
            merge(&filter.model, filter.trees.retired(part), retired, 1.0 / len(near))
    for node in leaves_below(filter, root):
        finish_leaf(filter, filter.trees.nodes[node].left)
    return 0


cdef list leaves_below(ParticleFilter filter, int node):
    """Nodes of the leaves of a subtree."""
    return [node for node in filter.trees.below(node) if filter.trees.nodes[node].split.feature < 0]


cdef list slots_below(ParticleFilter filter, int node):
    """Slots of the active samples of a subtree."""
    cdef int i
    cdef const Leaf* leaf
    found = []
    for node in leaves_below(filter, node):
        leaf = leaf_at(filter.trees, node)
        found += [filter.trees.slots[leaf.slots + i] for i in range(leaf.n_active)]
    return found


cdef int copied(ParticleFilter filter, int old) noexcept:
    """Copy a tree completely, with new regions."""
    cdef SharedTrees trees = filter.trees
    cdef int copy
    if trees.nodes[old].split.feature < 0:
        update_time(filter, trees.nodes[old].left)
    copy = trees.copy_node(trees, old)
    trees.nodes[copy].refs = 1
    trees.nodes[copy].region = trees.new_region()
    if trees.nodes[copy].split.feature >= 0:      # no deeper than MAX_DEPTH
        trees.nodes[copy].left = copied(filter, trees.nodes[old].left)
        trees.nodes[copy].right = copied(filter, trees.nodes[old].right)
    return copy
