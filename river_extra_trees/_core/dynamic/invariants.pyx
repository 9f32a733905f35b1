"""What holds in every particle filter: `check` and loading tell whether it does. See the header."""

import numpy as np

from libc.math cimport fabs

from .particles cimport LARGEST_SQUARE, ParticleFilter
from .pool cimport v_of, x_of
from .shared_trees cimport Leaf, Node, side
from .step cimport LARGEST_REGRESSOR

from ..state import require


cdef object distinct_nodes(ParticleFilter filter):
    """Every node of any tree once, in the order of depths, so that links only lead forward."""
    cdef int[::1] found = np.empty(filter.trees.n_nodes, np.int32)
    return found.base[:filter.trees.distinct(filter.roots, filter.n_alive, &found[0])]


cdef int invariants(ParticleFilter filter) except -1:
    """Raise a StateError if the parts of a filter do not belong together."""
    nodes = distinct_nodes(filter)
    require(filter.stratum[0] == 0 and filter.stratum[filter.n_decays] == filter.n_alive
            and all([filter.stratum[k] < filter.stratum[k + 1] for k in range(filter.n_decays)])
            and fabs(sum([filter.factor_posterior[k] for k in range(filter.n_decays)]) - 1.0) < 1e-9
            and fabs(sum([filter.share[i] for i in range(filter.n_alive)]) - 1.0) < 1e-9,
            "ParticleFilter: the posterior of the forgetting factors is none")
    check_links(filter, nodes)
    check_regions(filter, nodes)
    check_decays(filter, nodes)
    check_samples(filter)
    check_trees(filter, nodes)


cdef int check_links(ParticleFilter filter, const int[::1] nodes) except -1:
    """Depths, numbers of leaves, references, nodes in use."""
    cdef int[::1] refs = np.zeros(filter.trees.n_nodes, np.int32)
    cdef int i, child, n_leaves, n_all_leaves = 0
    cdef const Node* here
    cdef bint sound = True
    for i in range(filter.n_alive):
        refs[filter.roots[i]] += 1
        sound = sound and filter.trees.nodes[filter.roots[i]].depth == 0
    for node in nodes:
        here = &filter.trees.nodes[<int>node]
        if here.feature < 0:
            n_all_leaves += 1
            sound = sound and here.feature == -1 and here.n_leaves == 1 and not here.nominal
            continue
        n_leaves = 0
        for child in (here.left, here.right):
            refs[child] += 1
            n_leaves += filter.trees.nodes[child].n_leaves
            sound = sound and filter.trees.nodes[child].depth == here.depth + 1
        sound = sound and here.n_leaves == n_leaves and here.left != here.right
    for node in nodes:
        sound = sound and filter.trees.nodes[<int>node].refs == refs[<int>node]
    sound = sound and filter.trees.nodes_in_use == nodes.shape[0]
    require(sound and filter.trees.leaves_in_use == n_all_leaves,
            "ParticleFilter: depths, sizes or references do not follow from the links")
    return 0


cdef int check_regions(ParticleFilter filter, const int[::1] nodes) except -1:
    """Nodes of one region lie at the end of the same way, so that they hold the same samples.

    Trees share the leaf of a region, but for the reference, where a move copies it.
    """
    cdef const Node* here
    cdef int i
    ways, leaves = {}, set()
    for i in range(filter.n_alive):
        region = filter.trees.nodes[filter.roots[i]].region
        require(ways.setdefault(region, None) is None, "ParticleFilter: a region in two places")
    for node in nodes:
        here = &filter.trees.nodes[<int>node]
        require(0 < here.region <= filter.trees.n_regions, "ParticleFilter: a node of no region")
        if here.feature < 0:
            require(filter.reference or here.region not in leaves,
                    "ParticleFilter: two leaves of a region")
            leaves.add(here.region)
            continue
        way = here.region, here.feature, here.cut, here.nominal, here.missing_left
        for child, is_left in ((here.left, True), (here.right, False)):
            region = filter.trees.nodes[<int>child].region
            require(ways.setdefault(region, (way, is_left)) == (way, is_left),
                    "ParticleFilter: a region in two places")


cdef object decays_of(ParticleFilter filter, nodes=None):
    """Per node the forgetting factor of the particles that hold it."""
    cdef double[::1] decays = np.zeros(filter.trees.n_nodes)    # 0: of no particle met so far
    cdef int k, particle, child
    cdef const Node* here
    cdef bint sound = True
    for k in range(filter.n_decays):
        for particle in range(filter.stratum[k], filter.stratum[k + 1]):
            child = filter.roots[particle]
            sound = sound and decays[child] in (0.0, filter.decays[k])
            decays[child] = filter.decays[k]
    for node in range(filter.trees.n_nodes) if nodes is None else nodes:
        here = &filter.trees.nodes[<int>node]
        if here.feature >= 0:
            for child in (here.left, here.right):
                sound = sound and decays[child] in (0.0, decays[<int>node])
                decays[child] = decays[<int>node]
    require(sound, "ParticleFilter: particles that forget differently share a tree")
    return decays.base


cdef int check_decays(ParticleFilter filter, const int[::1] nodes) except -1:
    """The leaves of a particle forget as its stratum does."""
    cdef double[::1] decays = decays_of(filter, nodes)
    cdef const Node* here
    for node in nodes:
        here = &filter.trees.nodes[<int>node]
        require(here.feature >= 0 or filter.trees.leaves[here.left].decay == decays[<int>node],
                "ParticleFilter: a leaf forgets otherwise than its particle")


cdef int check_samples(ParticleFilter filter) except -1:
    """No active sample is of the future, too large, or of a label that the filter does not know."""
    cdef int slot, i, q = filter.model.n_regressors
    cdef double target
    for slot in filter.pool.slots():
        require(filter.pool.arrival[slot] <= filter.n_seen,
                "ParticleFilter: a sample is not learned yet")
        for i in range(q):
            require(fabs(v_of(filter.pool, slot)[i]) <= LARGEST_REGRESSOR,
                    "ParticleFilter: a feature is too large")
        target = v_of(filter.pool, slot)[q]
        require(filter.pool.weight[slot] * target * target <= LARGEST_SQUARE if filter.regression
                else 0 <= target < len(filter.labels.labels) and target == <int>target,
                "ParticleFilter: a target is too large, or no known label")


cdef int check_trees(ParticleFilter filter, const int[::1] nodes) except -1:
    """Every tree holds each active sample once: where it belongs.

    Each leaf is looked at once, however many trees share it. That is enough: `check_regions` found
    each region at the end of one way, so that a tree has no two leaves which one sample can reach.
    """
    cdef int[::1] parent = np.full(filter.trees.n_nodes, -1, dtype=np.int32)
    cdef int[::1] held = np.zeros(filter.trees.n_nodes, dtype=np.int32)
    cdef int[::1] holder = np.full(filter.pool.capacity, -1, dtype=np.int32)
    cdef int node, particle, n_samples = filter.pool.size
    cdef Py_ssize_t i
    cdef bint sound = True
    cdef const Node* here
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        here = &filter.trees.nodes[node]
        if here.feature < 0:
            held[node] = min(filter.trees.leaves[here.left].n_active, n_samples + 1)
        else:
            parent[here.left] = parent[here.right] = node
            held[node] = min(held[here.left] + held[here.right], n_samples + 1)
    for particle in range(filter.n_alive):
        sound = sound and held[filter.roots[particle]] == n_samples
    require(sound, "ParticleFilter: a tree does not hold each sample once")
    for node in nodes:
        if filter.trees.nodes[node].feature < 0:
            sound = sound and holds_its_samples(filter, node, parent, holder)
    require(sound, "ParticleFilter: a sample is not where its features lead")
    return 0


cdef bint holds_its_samples(
    ParticleFilter filter, int number, const int[::1] parent, int[::1] holder
) noexcept:
    """Whether the samples of a leaf are different active ones, and all come to it from above.

    `holder` notes who holds a sample. Any parent will do: all of them split alike.
    """
    cdef const Leaf* leaf = &filter.trees.leaves[filter.trees.nodes[number].left]
    cdef int i, slot, node
    for i in range(leaf.n_active):
        slot = filter.trees.slots[leaf.slots + i]
        if not 0 <= slot < filter.pool.capacity or filter.pool.arrival[slot] < 0:
            return False
        if holder[slot] == number:
            return False
        holder[slot] = node = number
        while parent[node] >= 0:
            if side(&filter.trees.nodes[parent[node]], x_of(filter.pool, slot)) != node:
                return False
            node = parent[node]
    return True
