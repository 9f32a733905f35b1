"""New particles from the active samples, half of them with what the old ones have retired."""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

from ..rng cimport REJUVENATE, Rng, below, rng_for
from .leaf_models cimport merge
from .leaves cimport finish_leaf, update_time
from .particles cimport ParticleFilter
from .pool cimport x_of
from .shape cimport lay_out_scratch, reserve_scratch
from .shared_trees cimport MIN_BLOCK, Leaf, SharedTrees, leaf_at, side
from .step cimport add_roots, gather, reserve_step, set_shares, step


cdef int rejuvenate(ParticleFilter filter) except -1:
    """Add as many new particles, grown from the active samples in random order.

    Every other one inherits what an old one has retired, as near to its place as the active samples
    tell: a leaf's retired statistics go to the new leaves of its active samples in equal parts, or
    of those of the smallest subtree around it that has any. The others know the active samples
    alone, which is better after a drift. The next sample decides between the 2 n particles. If
    memory runs out, the new particles are gone and the old ones as before.
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
    """Let the new particles learn active samples, one after the other."""
    cdef int n = filter.n_particles, slot
    for slot in slots:
        gather(filter, x_of(filter.pool, slot), n, 2 * n)
        reserve_step(filter)
        step(filter, slot, n, 2 * n, False)
    return 0


cdef int let_half_inherit(ParticleFilter filter) except -1:
    """Give new particles what old ones have retired; equal trees that get it go on being shared."""
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
        filter.trees.release(root)       # its number is not looked up again once it is free
        heirs[root] = heir
    return 0


cdef void join(ParticleFilter filter) noexcept nogil:
    """Put the new particles of every stratum behind its old ones."""
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
    """A copy of a tree that has what another tree has retired."""
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
    """Give the leaves of a tree what those of another have retired."""
    cdef int node, leaf, part, slot
    cdef const double* retired
    stack = [(old, ())]
    while stack:
        node, around = stack.pop()
        near = slots_below(filter, node) or around
        if filter.trees.nodes[node].feature >= 0:
            stack += [(filter.trees.nodes[node].left, near),
                      (filter.trees.nodes[node].right, near)]
            continue
        leaf = filter.trees.nodes[node].left
        update_time(filter, leaf)
        for slot in near:
            part = root
            while filter.trees.nodes[part].feature >= 0:
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
    return [node for node in filter.trees.below(node) if filter.trees.nodes[node].feature < 0]


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
    """A copy of a whole tree that shares nothing with it, in regions of its own."""
    cdef SharedTrees trees = filter.trees
    cdef int copy
    if trees.nodes[old].feature < 0:
        update_time(filter, trees.nodes[old].left)
    copy = trees.copy_node(trees, old)
    trees.nodes[copy].refs = 1
    trees.nodes[copy].region = trees.new_region()
    if trees.nodes[copy].feature >= 0:      # no deeper than MAX_DEPTH
        trees.nodes[copy].left = copied(filter, trees.nodes[old].left)
        trees.nodes[copy].right = copied(filter, trees.nodes[old].right)
    return copy
