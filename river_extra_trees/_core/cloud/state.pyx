"""A cloud as settings and state that a pickle holds, and back."""

import numpy as np

from libc.stdint cimport int64_t

from ..grove cimport MIN_BLOCK, Grove
from .leaves cimport finish_leaf, set_prior
from .particles cimport Particles
from .shape cimport adapt, widen


def settings_of(Particles cloud):
    """The arguments that make an empty cloud of the same kind."""
    return (
        cloud.n_particles, cloud.window, cloud.model.multinomial, cloud.linear,
        cloud.min_samples_leaf, cloud.alpha, cloud.beta,
        [cloud.decays[i] for i in range(cloud.n_decays)], cloud.prior_weight,
        cloud.reference, cloud.cuts_by_range, cloud.seed,
    )


def distinct_nodes(Particles cloud):
    """The nodes that any particle holds, each once, in an order that only depends on shapes."""
    numbers = {}
    for particle in range(cloud.n_alive):
        stack = [cloud.roots[<int>particle]]
        while stack:
            node = stack.pop()
            if node not in numbers:
                numbers[node] = len(numbers)
                if cloud.grove.nodes[<int>node].feature >= 0:
                    stack += [cloud.grove.nodes[<int>node].right,
                              cloud.grove.nodes[<int>node].left]
    return numbers


def state_of(Particles cloud):
    """All that the cloud has learned."""
    cdef int node, leaf, q = cloud.model.n_regressors
    cdef Py_ssize_t i, width = 2 * cloud.model.width
    numbers = distinct_nodes(cloud)
    shape = np.zeros((len(numbers), 7), dtype=np.int32)
    cuts = np.zeros(len(numbers))
    leaves = [node for node in numbers if cloud.grove.nodes[<int>node].feature < 0]
    times = np.zeros((len(leaves), 2), dtype=np.int64)
    cached = np.zeros((len(leaves), 2))
    rows = np.zeros((len(leaves), width))
    slots = []
    for node, i in numbers.items():
        here = cloud.grove.nodes[node]
        inner = here.feature >= 0
        shape[i] = (here.feature, numbers[here.left] if inner else -1,
                    numbers[here.right] if inner else -1, here.n_leaves, here.depth,
                    here.nominal, here.missing_left)
        cuts[i] = here.cut
    for i in range(len(leaves)):
        leaf = cloud.grove.nodes[<int>leaves[i]].left
        times[i] = cloud.grove.leaves[leaf].time, cloud.grove.leaves[leaf].n_active
        cached[i] = cloud.grove.leaves[leaf].log_marginal, cloud.grove.leaves[leaf].decay
        for j in range(width):
            rows[i, j] = cloud.grove.rows[leaf * width + <int>j]
        slots += [cloud.grove.slots[cloud.grove.leaves[leaf].slots + <int>j]
                  for j in range(cloud.grove.leaves[leaf].n_active)]
    return (
        cloud.schema, cloud.labels, cloud.pool, cloud.model.n_classes,
        [cloud.overall[j] for j in range(cloud.model.width)],
        [cloud.model.prior[j] for j in range(cloud.model.width)]
        if not cloud.model.multinomial else [],
        cloud.model.df_offset, cloud.model.per_leaf,
        [cloud.fill[j] for j in range(q)], [cloud.fill_weight[j] for j in range(q)],
        cloud.lowest, cloud.highest, cloud.n_seen, cloud.n_steps, cloud.log_evidence,
        cloud.log_predictive, [numbers[cloud.roots[j]] for j in range(cloud.n_alive)],
        shape.tobytes(), cuts.tobytes(), times.tobytes(), cached.tobytes(), rows.tobytes(),
        np.array(slots, dtype=np.int32).tobytes(),
    )


def restore(Particles cloud, state):
    """Give an empty cloud a state."""
    cdef int i, j, node, leaf, start, n_leaves = 0, q
    cdef Py_ssize_t width
    (cloud.schema, cloud.labels, pool, n_classes, overall, prior, df_offset, per_leaf, fill,
     fill_weight, cloud.lowest, cloud.highest, cloud.n_seen, cloud.n_steps, cloud.log_evidence,
     cloud.log_predictive, roots, shape, cuts, times, cached, rows, slots) = state
    adapt(cloud)
    widen(cloud, cloud.pool.n_columns, cloud.model.n_regressors, n_classes)
    cloud.pool = pool
    q, width = cloud.model.n_regressors, 2 * cloud.model.width
    for i in range(cloud.model.width):
        cloud.overall[i] = overall[i]
    for i in range(q):
        cloud.fill[i], cloud.fill_weight[i] = fill[i], fill_weight[i]
    set_prior(cloud)
    for i in range(len(prior)):
        cloud.model.prior[i] = prior[i]
    cloud.model.df_offset, cloud.model.per_leaf = df_offset, per_leaf
    cdef const int[:, ::1] shapes = np.frombuffer(shape, dtype=np.int32).reshape(-1, 7)
    cdef const double[::1] cut = np.frombuffer(cuts)
    cdef const int64_t[:, ::1] time = np.frombuffer(times, dtype=np.int64).reshape(-1, 2)
    cdef const double[:, ::1] cache = np.frombuffer(cached).reshape(-1, 2)
    cdef const double[:, ::1] row = np.frombuffer(rows).reshape(-1, width)
    cdef const int[::1] slot = np.frombuffer(slots, dtype=np.int32)
    cloud.grove = Grove(cloud.model.width)
    if not cloud.grove.reserve(
        shapes.shape[0], time.shape[0], 2 * slot.shape[0] + MIN_BLOCK * time.shape[0]
    ):
        raise MemoryError
    start = 0
    for i in range(shapes.shape[0]):
        if shapes[i, 0] >= 0:
            node = cloud.grove.new_node()
            cloud.grove.nodes[node].left, cloud.grove.nodes[node].right = (
                shapes[i, 1], shapes[i, 2])
        else:
            node = cloud.grove.new_leaf(shapes[i, 4], <int>time[n_leaves, 1])
            leaf = cloud.grove.nodes[node].left
            cloud.grove.leaves[leaf].time = time[n_leaves, 0]
            cloud.grove.leaves[leaf].decay = cache[n_leaves, 1]
            for j in range(width):
                cloud.grove.rows[leaf * width + j] = row[n_leaves, j]
            for j in range(<int>time[n_leaves, 1]):
                cloud.grove.add_slot(&cloud.grove.leaves[leaf], slot[start + j])
            start += <int>time[n_leaves, 1]
            finish_leaf(cloud, node)
            cloud.grove.leaves[leaf].log_marginal = cache[n_leaves, 0]
            n_leaves += 1
        cloud.grove.nodes[node].feature = shapes[i, 0]
        cloud.grove.nodes[node].cut = cut[i]
        cloud.grove.nodes[node].n_leaves = shapes[i, 3]
        cloud.grove.nodes[node].depth = <short>shapes[i, 4]
        cloud.grove.nodes[node].nominal = shapes[i, 5]
        cloud.grove.nodes[node].missing_left = shapes[i, 6]
        cloud.grove.nodes[node].refs = 0
    for i in range(shapes.shape[0]):
        if shapes[i, 0] >= 0:
            cloud.grove.hold(shapes[i, 1])
            cloud.grove.hold(shapes[i, 2])
    cloud.n_alive = len(roots)
    for i in range(cloud.n_alive):
        cloud.roots[i] = roots[i]
        cloud.grove.hold(cloud.roots[i])
