"""The invariants of a cloud, for tests."""

import numpy as np

from libc.math cimport fabs, isnan
from libc.string cimport memcpy

from .grove cimport Leaf, side
from .posterior cimport add_sample, agree, log_marginal
from .inspection import distinct_roots, nodes
from .leaves cimport sum_subtree, weight_at
from .rejuvenation cimport leaves_below
from .particles cimport Particles, fades_by_leaf


def check(Particles cloud):
    """Raise AssertionError if an invariant is broken."""
    cdef int id
    cloud.pool.check()
    check_strata(cloud)
    refs, seen, leaf_of, sums = {}, {}, {}, {}
    for root, n in distinct_roots(cloud):
        refs[root] = refs.get(root, 0) + n
        held = []
        for node in nodes(cloud, root):
            id = node["node"]
            if node["feature"] < 0:
                held += node["slots"]
                if not cloud.reference:
                    assert leaf_of.setdefault(node["region"], id) == id, "one leaf per region"
                check_leaf(cloud, node)
            else:
                left, right = node["left"], node["right"]
                assert node["n_leaves"] == (
                    cloud.grove.nodes[<int>left].n_leaves
                    + cloud.grove.nodes[<int>right].n_leaves)
                assert cloud.grove.nodes[<int>left].depth == node["depth"] + 1
                assert cloud.grove.nodes[<int>right].depth == node["depth"] + 1
                if id not in seen:
                    refs[left] = refs.get(left, 0) + 1
                    refs[right] = refs.get(right, 0) + 1
            if id not in seen and not fades_by_leaf(cloud):
                check_region(cloud, node, sums)
            seen[id] = node["refs"]
        assert sorted(held) == sorted(cloud.pool.slots()), "a tree holds each point once"
        check_routes(cloud, root)
    assert refs == seen, "references are counted"
    assert len(seen) == cloud.grove.nodes_in_use
    assert sum(cloud.grove.nodes[<int>id].feature < 0 for id in seen) == (
        cloud.grove.leaves_in_use)


def check_strata(Particles cloud):
    """Beliefs and shares are probabilities, and every stratum holds trees of its factor alone."""
    cdef int k, particle, node
    assert fabs(sum(cloud.belief[k] for k in range(cloud.n_decays)) - 1.0) < 1e-9
    assert fabs(sum(cloud.share[particle] for particle in range(cloud.n_alive)) - 1.0) < 1e-9
    assert cloud.stratum[0] == 0 and cloud.stratum[cloud.n_decays] == cloud.n_alive
    for k in range(cloud.n_decays):
        assert cloud.stratum[k] < cloud.stratum[k + 1]
        for particle in range(cloud.stratum[k], cloud.stratum[k + 1]):
            for node in leaves_below(cloud, cloud.roots[particle]):
                assert cloud.grove.leaves[cloud.grove.nodes[node].left].decay == cloud.decays[k]


def check_leaf(Particles cloud, node):
    """Statistics and score are those of the active points and the retired ones together."""
    cdef int slot, number = cloud.grove.nodes[<int>node["node"]].left
    cdef Leaf* leaf = &cloud.grove.leaves[number]
    cdef double* row = cloud.row_other
    cdef bint is_linear
    cdef double score = log_marginal(&cloud.model, cloud.grove.total(number), True, &is_linear)
    assert score == leaf.log_marginal or isnan(score) and isnan(leaf.log_marginal) or (
        fabs(score - leaf.log_marginal) <= 1e-9 * (1.0 + fabs(score)))
    assert is_linear == leaf.is_linear
    memcpy(row, cloud.grove.retired(number), cloud.model.width * sizeof(double))
    for slot in node["slots"]:
        add_sample(&cloud.model, row, cloud.pool.v + slot * cloud.pool.size_v,
                   weight_at(cloud, slot, leaf))
    assert agree(&cloud.model, row, cloud.grove.total(number)), node


def check_region(Particles cloud, node, sums):
    """The samples of a region sum to the same in every tree, however the trees divide them."""
    cdef double* row = cloud.row_other
    cdef int i, width = cloud.model.width
    cdef double[::1] first
    n_active = sum_subtree(cloud, node["node"], row)
    n_first, first = sums.setdefault(
        node["region"], (n_active, np.array([row[i] for i in range(2 * width)])))
    assert n_active == n_first, "a region holds the same points in all trees"
    for i in (0, width):    # all samples, then the retired ones
        assert agree(&cloud.model, row + i, &first[i]), node


def check_routes(Particles cloud, int root):
    """Every active point lies in the leaf that its features lead to."""
    cdef int node, slot, i
    for slot in cloud.pool.slots():
        node = root
        while cloud.grove.nodes[node].feature >= 0:
            node = side(&cloud.grove.nodes[node], cloud.pool.x + slot * cloud.pool.n_columns)
        i = cloud.grove.nodes[node].left
        leaf_slots = [cloud.grove.slots[cloud.grove.leaves[i].slots + k]
                      for k in range(cloud.grove.leaves[i].n_active)]
        assert slot in leaf_slots, (slot, root)
