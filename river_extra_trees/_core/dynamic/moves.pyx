"""Stay, grow or prune at the leaf of a point: sections 2.2 and 2.3 of the paper.

In the paper a particle draws one cut and takes it with probability o / (1 + p + o), o and p being
the odds of growing and pruning against staying. Here the particles that hold a leaf share their
proposals: a particle grows with probability m / (1 + p + m), where m is the mean of o over them,
and takes each in proportion to its o. That estimates the posterior probability of growing at all,
the place of the cut integrated out, the better the more proposals there are; a good cut is taken by
every particle that is offered it among poor ones. The odds of a cut do not depend on the particle,
and particles that take the same cut share the new leaves.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from .grove cimport Leaf, Node
from .posterior cimport merge
from ..rng cimport MOVE, Rng, rng_for, uniform
from .leaves cimport finish_leaf, row_score, score_subtree, sum_slots, sum_subtree
from .particles cimport Cut, Group, Particles, Visit, fades_by_leaf
from .proposals cimport odds, propose_all


cdef bint move_all(Particles cloud, const double* x, int first, int stop) noexcept nogil:
    """Stay, grow or prune, visit by visit."""
    cdef Rng rng = rng_for(cloud.seed, 0, cloud.n_steps, MOVE)
    cdef int visit, group, particle
    cdef bint ok = True
    for visit in range(cloud.n_visits):
        cloud.visits[visit].first, cloud.visits[visit].region_above = -1, 0
    for group in range(cloud.n_groups):
        cloud.groups[group].pruned = -1
        cloud.groups[group].prune_odds = -1.0 if cloud.groups[group].parent >= 0 else 0.0
    for particle in range(stop - 1, first - 1, -1):
        visit = cloud.groups[cloud.group_of[particle]].visit
        cloud.next[particle] = cloud.visits[visit].first
        cloud.visits[visit].first = particle
    for visit in range(cloud.n_visits):
        if cloud.visits[visit].first >= 0:       # else the resampling has left none
            ok = move_visit(cloud, x, &cloud.visits[visit], &rng) and ok
    return ok


cdef bint move_visit(
    Particles cloud, const double* x, Visit* visit, Rng* rng
) noexcept nogil:
    """The moves of all particles that hold one leaf (there is at least one)."""
    cdef int particle = visit.first, n_cuts = propose_all(cloud, visit, rng)
    cdef Cut* cuts = cloud.cuts
    cdef bint ok = True
    cdef double u, grow
    cdef Group* group
    cdef int cut
    if cloud.reference:
        n_cuts = min(n_cuts, 1)
    grow = mean_odds(cuts, n_cuts)
    while particle >= 0:
        group = &cloud.groups[cloud.group_of[particle]]
        if group.prune_odds < 0.0:
            group.prune_odds = prune_odds(cloud, visit, group)
        if cloud.reference:
            grow = mean_odds(cuts, n_cuts)
        u = uniform(rng) * (1.0 + group.prune_odds + grow)
        if u < group.prune_odds:
            ok = apply_prune(cloud, x, particle, group) and ok
        elif u < group.prune_odds + grow:
            cut = draw_cut(cuts, n_cuts, (u - group.prune_odds) * n_cuts)
            ok = apply_grow(cloud, x, particle, visit.node, &cuts[cut]) and ok
        particle = cloud.next[particle]
        cuts += cloud.reference     # there each particle has its own
    return ok


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


cdef double prune_odds(Particles cloud, Visit* visit, const Group* group) noexcept nogil:
    """Odds of pruning the leaf's parent against staying."""
    cdef const Node* parent = &cloud.grove.nodes[group.parent]
    cdef double stay = score_subtree(cloud, group.parent, False)
    if visit.region_above != parent.region or fades_by_leaf(cloud):
        visit.pruned_score = pruned_score(cloud, group.parent)
        visit.region_above = parent.region
    return odds(cloud.log_stop[parent.depth] + visit.pruned_score - stay)


cdef double pruned_score(Particles cloud, int parent) noexcept nogil:
    """Score of the leaf that would take the place of a parent whose leaves are up to date.

    Trees differ in how they divide the samples of a region, not in which samples these are. So the
    statistics are summed once for each of the few regions, not for each of the many parents.
    Sums kept in the nodes would have to follow every sample in all nodes on its way, which are
    more than the leaves below the parents; and what staying is worth, once samples fade, is new for
    every leaf at every step.
    """
    cdef int64_t region = cloud.grove.nodes[parent].region
    cdef double* row = cloud.row_other
    cdef int i
    if not fades_by_leaf(cloud):
        for i in range(cloud.n_visits):
            if cloud.visits[i].region_above == region:
                return cloud.visits[i].pruned_score
    if sum_subtree(cloud, parent, row) // 2 < cloud.min_samples_leaf and cloud.reference:
        return -INFINITY
    return row_score(cloud, row, row + cloud.model.width)


cdef bint apply_prune(Particles cloud, const double* x, int particle, Group* group) noexcept nogil:
    """Put one leaf in the place of the parent; particles of a group share it."""
    cdef int depth = cloud.grove.nodes[group.parent].depth
    if not cloud.grove.reserve(depth + 1, 1, 4 * cloud.pool.size + 16):
        return False
    if group.pruned < 0:
        group.pruned = leaf_in_place_of(cloud, group.parent)
    if group.pruned < 0:
        group.pruned = plant_pruned(cloud, group)
    else:
        cloud.grove.hold(group.pruned)
    cloud.roots[particle] = cloud.grove.replant(
        cloud.roots[particle], x, depth, group.pruned)
    return True


cdef int leaf_in_place_of(Particles cloud, int node) noexcept nogil:
    """A leaf that another tree has where this one has a split, or -1.

    It holds the new point, so it is among the leaves visited or pruned to in this step.
    """
    cdef int64_t region = cloud.grove.nodes[node].region
    cdef const Node* leaf
    cdef int i
    if fades_by_leaf(cloud):
        return -1
    for i in range(cloud.n_visits):
        leaf = &cloud.grove.nodes[cloud.visits[i].node]
        if leaf.region == region and leaf.feature < 0 and leaf.refs > 0:
            return cloud.visits[i].node
    for i in range(cloud.n_groups):
        if cloud.groups[i].pruned >= 0:
            leaf = &cloud.grove.nodes[cloud.groups[i].pruned]
            if leaf.region == region:
                return cloud.groups[i].pruned
    return -1


cdef int plant_pruned(Particles cloud, Group* group) noexcept nogil:
    """The leaf that holds everything below the parent."""
    cdef int n_active = sum_subtree(cloud, group.parent, cloud.row_other), node, n_stack = 1
    cdef int* stack = cloud.grove.stack
    cdef int* slots
    cdef int leaf, old
    cdef Leaf* whole
    cdef Leaf* part
    node = cloud.grove.new_leaf(
        cloud.grove.nodes[group.parent].depth, cloud.grove.nodes[group.parent].region, n_active)
    leaf = cloud.grove.nodes[node].left
    whole = &cloud.grove.leaves[leaf]
    slots = cloud.grove.slots + whole.slots
    memcpy(cloud.grove.total(leaf), cloud.row_other, 2 * cloud.model.width * sizeof(double))
    stack[0] = group.parent
    while n_stack:
        n_stack -= 1
        old = stack[n_stack]
        if cloud.grove.nodes[old].feature >= 0:
            stack[n_stack] = cloud.grove.nodes[old].left
            stack[n_stack + 1] = cloud.grove.nodes[old].right
            n_stack += 2
            continue
        old = cloud.grove.nodes[old].left
        part = &cloud.grove.leaves[old]
        memcpy(slots + whole.n_active, cloud.grove.slots + part.slots,
               part.n_active * sizeof(int))
        whole.n_active += part.n_active
        whole.decay = part.decay
    whole.time = cloud.n_seen
    finish_leaf(cloud, node)
    return node


cdef bint apply_grow(
    Particles cloud, const double* x, int particle, int node, Cut* cut
) noexcept nogil:
    """Split the leaf in this particle; all that take the same cut share the split."""
    cdef int depth = cloud.grove.nodes[node].depth
    if not cloud.grove.reserve(depth + 3, 2, 4 * cloud.pool.size + 32):
        return False
    if cut.grown < 0:
        cut.grown = plant_split(cloud, node, cut)
    else:
        cloud.grove.hold(cut.grown)
    cloud.roots[particle] = cloud.grove.replant(cloud.roots[particle], x, depth, cut.grown)
    return True


cdef int plant_split(Particles cloud, int node, const Cut* cut) noexcept nogil:
    """The split of a leaf, with its two new leaves."""
    cdef int new = cloud.grove.new_node(), left, right
    cloud.grove.nodes[new].cut = cut.threshold
    cloud.grove.nodes[new].feature = cut.column
    cloud.grove.nodes[new].nominal = cut.nominal
    cloud.grove.nodes[new].missing_left = cut.missing_left
    cloud.grove.nodes[new].n_leaves = 2
    cloud.grove.nodes[new].region = cloud.grove.nodes[node].region
    cloud.grove.nodes[new].depth = cloud.grove.nodes[node].depth
    left = plant_leaf(cloud, node, cut, True)
    right = plant_leaf(cloud, node, cut, False)
    cloud.grove.nodes[new].left, cloud.grove.nodes[new].right = left, right
    return new


cdef int plant_leaf(Particles cloud, int node, const Cut* cut, bint left) noexcept nogil:
    """One child of a leaf that is split; its statistics are summed, not subtracted."""
    cdef int old = cloud.grove.nodes[node].left
    cdef int n = cloud.grove.leaves[old].n_active, n_present = cloud.n_present[cut.column]
    cdef int n_left = cut.n_left + (n - n_present) * cut.missing_left
    cdef int n_here = n_left if left else n - n_left
    cdef int child = cloud.grove.new_leaf(
        cloud.grove.nodes[node].depth + 1, cloud.grove.new_region(), n_here)
    cdef int leaf = cloud.grove.nodes[child].left, i
    cdef Leaf* here = &cloud.grove.leaves[leaf]
    cdef int* slots = cloud.grove.slots + here.slots
    cdef const int* order = cloud.order + <Py_ssize_t>cut.column * cloud.scratch_capacity
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
    sum_slots(cloud, slots, n_here, cloud.grove.total(leaf))
    merge(&cloud.model, cloud.grove.total(leaf), cloud.grove.retired(old), share)
    merge(&cloud.model, cloud.grove.retired(leaf), cloud.grove.retired(old), share)
    here.time, here.decay = cloud.grove.leaves[old].time, cloud.grove.leaves[old].decay
    finish_leaf(cloud, child)
    return child
