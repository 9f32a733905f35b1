"""Moving active points into the priors of their leaves: section 3 of the paper."""

from libc.string cimport memcpy

from .grove cimport Leaf, Node, side
from .posterior cimport add_sample, scale
from ..rng cimport DISCARD, Rng, below, rng_for
from .gathering cimport next_tick
from .leaves cimport finish_leaf, sum_slots, weigh_samples, weight_at
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
    cdef double* retired = cloud.grove.retired(leaf)
    cloud.grove.remove_slot(here, slot)
    if fades_by_leaf(cloud):        # power prior, section 5, leaf by leaf
        scale(&cloud.model, retired, cloud.decays[0])
    add_sample(&cloud.model, retired, v, weight_at(cloud, slot, here))
    if fades_by_leaf(cloud):        # summed: what has faded, subtracted, would leave its rounding
        memcpy(cloud.grove.total(leaf), retired, cloud.model.width * sizeof(double))
        weigh_samples(cloud, leaf)
        sum_slots(cloud, cloud.grove.slots + here.slots, here.n_active, cloud.grove.total(leaf))
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
