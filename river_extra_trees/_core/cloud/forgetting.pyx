"""Forgetting factors of particles: trees grown again as if they had always had another."""

from libc.string cimport memcpy

from ..grove cimport MIN_BLOCK, Leaf
from ..rng cimport MUTATE, Rng, below, rng_for, uniform
from .leaves cimport finish_leaf, sum_slots, update_time, weight_at
from .particles cimport Particles


cdef int mutate(Particles cloud) except -1:
    """Give one particle a neighbouring forgetting factor, so that none dies out for good."""
    cdef Rng rng = rng_for(cloud.seed, 0, cloud.n_steps, MUTATE)
    cdef int particle = <int>below(&rng, cloud.n_particles), node = cloud.roots[particle], i = 0
    cdef int root = node, n_leaves = cloud.grove.nodes[node].n_leaves
    while cloud.grove.nodes[node].feature >= 0:
        node = cloud.grove.nodes[node].left
    while cloud.decays[i] != cloud.grove.leaves[cloud.grove.nodes[node].left].decay:
        i += 1
    i += 1 if uniform(&rng) < 0.5 else -1
    if not 0 <= i < cloud.n_decays:
        return 0
    if not cloud.grove.reserve(
        2 * n_leaves, n_leaves, 2 * cloud.pool.size + MIN_BLOCK * n_leaves
    ):
        raise MemoryError
    cloud.roots[particle] = regrown(cloud, root, cloud.decays[i])
    cloud.grove.release(root)
    return 0


cdef int regrown(Particles cloud, int node, double decay) noexcept nogil:
    """A copy of a whole tree whose active points have always faded with another factor."""
    cdef int* stack = cloud.grove.stack
    cdef int root = regrown_node(cloud, node, decay), at, child, n_stack = 0
    if cloud.grove.nodes[root].feature >= 0:
        stack[0] = root
        n_stack = 1
    while n_stack:              # copies whose children are not copied yet
        n_stack -= 1
        at = stack[n_stack]
        child = regrown_node(cloud, cloud.grove.nodes[at].left, decay)
        cloud.grove.nodes[at].left = child
        if cloud.grove.nodes[child].feature >= 0:
            stack[n_stack] = child
            n_stack += 1
        child = regrown_node(cloud, cloud.grove.nodes[at].right, decay)
        cloud.grove.nodes[at].right = child
        if cloud.grove.nodes[child].feature >= 0:
            stack[n_stack] = child
            n_stack += 1
    return root


cdef int regrown_node(Particles cloud, int old, double decay) noexcept nogil:
    """A copy of one node; an inner one still has the old children."""
    cdef int copy, leaf, i
    cdef const int* slots
    cdef Leaf* here
    if cloud.grove.nodes[old].feature >= 0:
        copy = cloud.grove.new_node()
        cloud.grove.nodes[copy] = cloud.grove.nodes[old]
        cloud.grove.nodes[copy].refs = 1
        cloud.grove.nodes[copy].stamp = 0
        return copy
    leaf = cloud.grove.nodes[old].left
    update_time(cloud, leaf)
    copy = cloud.grove.new_leaf(
        cloud.grove.nodes[old].depth, cloud.grove.leaves[leaf].n_active)
    here = &cloud.grove.leaves[cloud.grove.nodes[copy].left]
    here.time, here.decay = cloud.n_seen, decay
    old, leaf = leaf, cloud.grove.nodes[copy].left
    memcpy(cloud.grove.retired(leaf), cloud.grove.retired(old),
           cloud.model.width * sizeof(double))
    memcpy(cloud.grove.total(leaf), cloud.grove.retired(old),
           cloud.model.width * sizeof(double))
    slots = cloud.grove.slots + cloud.grove.leaves[old].slots
    for i in range(cloud.grove.leaves[old].n_active):
        cloud.grove.add_slot(here, slots[i])
        cloud.sample_weight[slots[i]] = weight_at(cloud, slots[i], here)
    sum_slots(cloud, slots, here.n_active, cloud.grove.total(leaf))
    finish_leaf(cloud, copy)
    return copy


cdef list forgetting_factors(Particles cloud):
    """Per particle: its forgetting factor."""
    cdef int particle, node
    factors = []
    for particle in range(cloud.n_alive):
        node = cloud.roots[particle]
        while cloud.grove.nodes[node].feature >= 0:
            node = cloud.grove.nodes[node].left
        factors.append(cloud.grove.leaves[cloud.grove.nodes[node].left].decay)
    return factors
