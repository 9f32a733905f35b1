"""New particles from the active points, with what the old ones have retired."""

from ..grove cimport MIN_BLOCK, Leaf, side
from ..posterior cimport merge
from ..rng cimport REJUVENATE, Rng, below, rng_for
from .forgetting cimport regrown
from .gathering cimport gather, reserve_slots
from .learning cimport plant_roots, step
from .leaves cimport finish_leaf, update_time
from .particles cimport Particles


cdef int rejuvenate(Particles cloud) except -1:
    """Add as many new particles, grown from the active points in random order.

    They inherit what the old ones have retired, as near to its place as the active points tell:
    a leaf's retired statistics go to the new leaves of its active points in equal parts, or of
    those of the smallest subtree around it that has any. The next sample decides between the
    2 n particles.
    """
    cdef int n = cloud.n_particles, particle, i, j, slot
    cdef double log_predictive = cloud.log_predictive
    cdef Rng rng = rng_for(cloud.seed, 0, cloud.n_steps, REJUVENATE)
    if cloud.n_alive > n or cloud.pool.size == 0:
        return 0
    slots = cloud.pool.slots()
    for i in range(len(slots) - 1, 0, -1):      # Fisher and Yates
        j = <int>below(&rng, i + 1)
        slots[i], slots[j] = slots[j], slots[i]
    plant_roots(cloud, n)
    for slot in slots:
        gather(cloud, cloud.pool.x + slot * cloud.pool.n_columns, n, 2 * n)
        reserve_slots(cloud)
        if not step(cloud, slot, n, 2 * n, False):
            raise MemoryError("some trees could not move")
    cloud.log_predictive = log_predictive
    inherited = {}
    for particle in range(n, 2 * n):
        slot = cloud.roots[particle]
        if slot not in inherited:
            inherited[slot] = inherit(cloud, slot, cloud.roots[particle - n])
        else:
            cloud.grove.hold(inherited[slot])
        cloud.roots[particle] = inherited[slot]
    for slot in inherited:
        while slot >= 0 and cloud.grove.nodes[slot].refs:
            cloud.grove.release(slot)
    cloud.n_alive = 2 * n
    return 0


cdef int inherit(Particles cloud, int root, int old) except -1:
    """A copy of a tree that has what another tree has retired."""
    cdef int node, leaf, part, slot, n_leaves = cloud.grove.nodes[root].n_leaves
    cdef const double* retired
    if not cloud.grove.reserve(
        2 * n_leaves, n_leaves, 2 * cloud.pool.size + MIN_BLOCK * n_leaves
    ):
        raise MemoryError
    node = root
    while cloud.grove.nodes[node].feature >= 0:
        node = cloud.grove.nodes[node].left
    root = regrown(cloud, root, cloud.grove.leaves[cloud.grove.nodes[node].left].decay)
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
    return root


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
