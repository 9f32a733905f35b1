"""Moving active points into the priors of their leaves: section 3 of the paper."""

from ..grove cimport Leaf, Node, side
from ..posterior cimport add_sample, scale, subtract
from ..rng cimport DISCARD, Rng, below, rng_for
from .gathering cimport next_tick
from .leaves cimport finish_leaf, weight_at
from .particles cimport Particles, fades_by_leaf


cdef void retire_slot(Particles cloud, int slot) noexcept nogil:
    """Move an active point into the prior of its leaf, equation (4), once per distinct leaf.

    The visits that `gather` has found for another point stay as they are.
    """
    cdef Node* nodes = cloud.grove.nodes
    cdef const double* x = cloud.pool.x + slot * cloud.pool.n_columns
    cdef int particle, node
    next_tick(cloud)
    for particle in range(cloud.n_alive):
        node = cloud.roots[particle]
        while nodes[node].stamp != cloud.tick:      # else another tree has led here already
            nodes[node].stamp = cloud.tick
            if nodes[node].feature < 0:
                retire_from(cloud, node, slot)
                break
            node = side(&nodes[node], x)
    cloud.pool.release(slot)


cdef void retire_from(Particles cloud, int node, int slot) noexcept nogil:
    """Move an active point of a leaf into its prior."""
    cdef const double* v = cloud.pool.v + slot * cloud.pool.size_v
    cdef int leaf = cloud.grove.nodes[node].left
    cdef Leaf* here = &cloud.grove.leaves[leaf]
    cloud.grove.remove_slot(here, slot)
    if fades_by_leaf(cloud):       # power prior, section 5, leaf by leaf
        subtract(&cloud.model, cloud.grove.total(leaf), cloud.grove.retired(leaf),
                 1.0 - cloud.decays[0])
        scale(&cloud.model, cloud.grove.retired(leaf), cloud.decays[0])
    add_sample(&cloud.model, cloud.grove.retired(leaf), v, weight_at(cloud, slot, here))
    if fades_by_leaf(cloud):
        finish_leaf(cloud, node)


cdef int oldest(Particles cloud) noexcept nogil:
    """Slot of the active point that arrived first."""
    cdef int slot, first = -1
    for slot in range(cloud.pool.capacity):
        if cloud.pool.arrival[slot] >= 0 and (
            first < 0 or cloud.pool.arrival[slot] < cloud.pool.arrival[first]
        ):
            first = slot
    return first


cdef int random(Particles cloud) noexcept nogil:
    """Slot of an active point drawn at random."""
    cdef Rng rng = rng_for(cloud.seed, 0, cloud.n_seen, DISCARD)
    cdef int left = <int>below(&rng, cloud.pool.size), slot = 0
    while cloud.pool.arrival[slot] < 0 or left > 0:
        left -= cloud.pool.arrival[slot] >= 0
        slot += 1
    return slot
