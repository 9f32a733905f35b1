"""New particles from the active points, half of them with what the old ones have retired."""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

from .grove cimport MIN_BLOCK, Leaf, side
from .posterior cimport merge
from ..rng cimport REJUVENATE, Rng, below, rng_for
from .forgetting cimport set_shares
from .gathering cimport gather, reserve_slots
from .learning cimport plant_roots, step
from .leaves cimport finish_leaf, update_time
from .particles cimport Particles
from .shape cimport lay_out_scratch, reserve_scratch


cdef int rejuvenate(Particles cloud) except -1:
    """Add as many new particles, grown from the active points in random order.

    Every other one inherits what an old one has retired, as near to its place as the active points
    tell: a leaf's retired statistics go to the new leaves of its active points in equal parts, or
    of those of the smallest subtree around it that has any. The others know the active points
    alone, which is better after a drift. The next sample decides between the 2 n particles. If
    memory runs out, the new particles are gone and the old ones as before.
    """
    cdef int n = cloud.n_particles, particle
    cdef int64_t n_steps = cloud.n_steps
    cdef double log_predictive = cloud.log_predictive
    if cloud.n_alive > n or cloud.pool.size == 0:
        return 0
    cloud.reserve_particles(2 * n)
    reserve_scratch(cloud, cloud.pool.capacity, cloud.pool.n_columns, cloud.pool.size_v,
                    cloud.model.width)
    lay_out_scratch(cloud)
    slots = shuffled_slots(cloud)
    plant_roots(cloud, n)
    try:
        grow_on(cloud, slots)
        let_half_inherit(cloud)
    except BaseException:
        for particle in range(n, 2 * n):
            cloud.grove.release(cloud.roots[particle])
        cloud.n_steps = n_steps
        raise
    finally:
        cloud.log_predictive = log_predictive
    join(cloud)
    return 0


cdef list shuffled_slots(Particles cloud):
    """Slots of the active points in random order (Fisher and Yates)."""
    cdef Rng rng = rng_for(cloud.seed, 0, cloud.n_steps, REJUVENATE)
    cdef int i, j
    slots = cloud.pool.slots()
    for i in range(len(slots) - 1, 0, -1):
        j = <int>below(&rng, i + 1)
        slots[i], slots[j] = slots[j], slots[i]
    return slots


cdef int grow_on(Particles cloud, list slots) except -1:
    """Let the new particles learn active points, one after the other."""
    cdef int n = cloud.n_particles, slot
    for slot in slots:
        gather(cloud, cloud.pool.x + slot * cloud.pool.n_columns, n, 2 * n)
        reserve_slots(cloud)
        if not step(cloud, slot, n, 2 * n, False):
            raise MemoryError("some trees could not move")
    return 0


cdef int let_half_inherit(Particles cloud) except -1:
    """Give new particles what old ones have retired; equal trees that get it go on being shared."""
    cdef int n = cloud.n_particles, particle, root, heir
    heirs = {}
    for particle in range(n, 2 * n, 2):
        root = cloud.roots[particle]
        if root in heirs:
            heir = heirs[root]
            cloud.grove.hold(heir)
        else:
            heir = inherit(cloud, root, cloud.roots[particle - n])
        cloud.roots[particle] = heir
        cloud.grove.release(root)       # its number is not looked up again once it is free
        heirs[root] = heir
    return 0


cdef void join(Particles cloud) noexcept nogil:
    """Put the new particles of every stratum behind its old ones."""
    cdef int k, half, first, stop, n = cloud.n_particles, place = 0
    for k in range(cloud.n_decays):
        first, stop = cloud.stratum[k], cloud.stratum[k + 1]
        for half in range(2):
            memcpy(cloud.resampled + place, cloud.roots + half * n + first,
                   (stop - first) * sizeof(int))
            place += stop - first
    memcpy(cloud.roots, cloud.resampled, 2 * n * sizeof(int))
    for k in range(cloud.n_decays + 1):
        cloud.stratum[k] *= 2
    set_shares(cloud, 0)
    cloud.n_alive = 2 * n


cdef int inherit(Particles cloud, int root, int old) except -1:
    """A copy of a tree that has what another tree has retired."""
    cdef int n_leaves = cloud.grove.nodes[root].n_leaves
    if not cloud.grove.reserve(
        2 * n_leaves, n_leaves, 2 * cloud.pool.size + MIN_BLOCK * n_leaves
    ):
        raise MemoryError
    root = copied(cloud, root)
    try:
        hand_down(cloud, root, old)
    except BaseException:
        cloud.grove.release(root)
        raise
    return root


cdef int hand_down(Particles cloud, int root, int old) except -1:
    """Give the leaves of a tree what those of another have retired."""
    cdef int node, leaf, part, slot
    cdef const double* retired
    stack = [(old, ())]
    while stack:
        node, around = stack.pop()
        near = slots_below(cloud, node) or around
        if cloud.grove.nodes[node].feature >= 0:
            stack += [(cloud.grove.nodes[node].left, near),
                      (cloud.grove.nodes[node].right, near)]
            continue
        leaf = cloud.grove.nodes[node].left
        update_time(cloud, leaf)
        for slot in near:
            part = root
            while cloud.grove.nodes[part].feature >= 0:
                part = side(&cloud.grove.nodes[part],
                            cloud.pool.x + slot * cloud.pool.n_columns)
            part = cloud.grove.nodes[part].left
            retired = cloud.grove.retired(leaf)
            merge(&cloud.model, cloud.grove.total(part), retired, 1.0 / len(near))
            merge(&cloud.model, cloud.grove.retired(part), retired, 1.0 / len(near))
    for node in leaves_below(cloud, root):
        finish_leaf(cloud, node)
    return 0


cdef list leaves_below(Particles cloud, int node):
    """Nodes of the leaves of a subtree."""
    found, stack = [], [node]
    while stack:
        node = stack.pop()
        if cloud.grove.nodes[node].feature >= 0:
            stack += [cloud.grove.nodes[node].right, cloud.grove.nodes[node].left]
        else:
            found.append(node)
    return found


cdef list slots_below(Particles cloud, int node):
    """Slots of the active points of a subtree."""
    cdef int i
    cdef const Leaf* leaf
    found = []
    for node in leaves_below(cloud, node):
        leaf = &cloud.grove.leaves[cloud.grove.nodes[node].left]
        found += [cloud.grove.slots[leaf.slots + i] for i in range(leaf.n_active)]
    return found


cdef int copied(Particles cloud, int node) noexcept nogil:
    """A copy of a whole tree that shares nothing with it."""
    cdef int* stack = cloud.grove.stack
    cdef int root = copied_node(cloud, node), at, child, n_stack = 0
    if cloud.grove.nodes[root].feature >= 0:
        stack[0] = root
        n_stack = 1
    while n_stack:              # copies whose children are not copied yet
        n_stack -= 1
        at = stack[n_stack]
        child = copied_node(cloud, cloud.grove.nodes[at].left)
        cloud.grove.nodes[at].left = child
        if cloud.grove.nodes[child].feature >= 0:
            stack[n_stack] = child
            n_stack += 1
        child = copied_node(cloud, cloud.grove.nodes[at].right)
        cloud.grove.nodes[at].right = child
        if cloud.grove.nodes[child].feature >= 0:
            stack[n_stack] = child
            n_stack += 1
    return root


cdef int copied_node(Particles cloud, int old) noexcept nogil:
    """A copy of one node; an inner one still has the old children."""
    cdef int copy, leaf, i, depth = cloud.grove.nodes[old].depth
    cdef const int* slots
    cdef Leaf* here
    if cloud.grove.nodes[old].feature >= 0:
        copy = cloud.grove.new_node()
        cloud.grove.nodes[copy] = cloud.grove.nodes[old]
        cloud.grove.nodes[copy].refs = 1
        cloud.grove.nodes[copy].stamp = 0
        cloud.grove.nodes[copy].region = cloud.grove.new_region()
        return copy
    old = cloud.grove.nodes[old].left
    update_time(cloud, old)
    copy = cloud.grove.new_leaf(
        depth, cloud.grove.new_region(), cloud.grove.leaves[old].n_active)
    leaf = cloud.grove.nodes[copy].left
    here = &cloud.grove.leaves[leaf]
    here.time, here.decay = cloud.n_seen, cloud.grove.leaves[old].decay
    memcpy(cloud.grove.total(leaf), cloud.grove.total(old),
           2 * cloud.model.width * sizeof(double))
    slots = cloud.grove.slots + cloud.grove.leaves[old].slots
    for i in range(cloud.grove.leaves[old].n_active):
        cloud.grove.add_slot(here, slots[i])
    finish_leaf(cloud, copy)
    return copy
