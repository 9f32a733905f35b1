"""The invariants of a cloud, for tests."""

from libc.math cimport fabs
from libc.string cimport memcpy

from ..grove cimport Leaf, side
from ..posterior cimport add_sample
from .inspection import distinct_roots, nodes
from .leaves cimport weight_at
from .particles cimport Particles


def check(Particles cloud):
    """Raise AssertionError if an invariant is broken."""
    cdef int id
    cloud.pool.check()
    refs, seen = {}, {}
    for root, n in distinct_roots(cloud):
        refs[root] = refs.get(root, 0) + n
        held = []
        for node in nodes(cloud, root):
            id = node["node"]
            if node["feature"] < 0:
                held += node["slots"]
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
            seen[id] = node["refs"]
        assert sorted(held) == sorted(cloud.pool.slots()), "a tree holds each point once"
        check_routes(cloud, root)
    assert refs == seen, "references are counted"
    assert len(seen) == cloud.grove.nodes_in_use
    assert sum(cloud.grove.nodes[<int>id].feature < 0 for id in seen) == (
        cloud.grove.leaves_in_use)


def check_leaf(Particles cloud, node):
    """Statistics are those of the active points and the retired ones together."""
    cdef int i, slot
    cdef Leaf* leaf = &cloud.grove.leaves[cloud.grove.nodes[<int>node["node"]].left]
    cdef double* row = cloud.row_small
    memcpy(row, cloud.grove.retired(cloud.grove.nodes[<int>node["node"]].left),
           cloud.model.width * sizeof(double))
    for slot in node["slots"]:
        add_sample(&cloud.model, row, cloud.pool.v + slot * cloud.pool.size_v,
                   weight_at(cloud, slot, leaf))
    for i in range(cloud.model.width):
        expected, found = row[i], node["total"][i]
        scale_of = 1.0 + fabs(expected) + sum(fabs(value) for value in node["total"])
        assert fabs(expected - found) <= 1e-6 * scale_of, (i, expected, found)


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
