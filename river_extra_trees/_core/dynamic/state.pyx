"""A cloud as settings and state that pickles and model files hold; `restoring` is the way back."""

from copy import deepcopy

import numpy as np

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

from .grove cimport Leaf, Node
from .pool cimport Pool
from .particles cimport Particles


def settings_of(Particles cloud):
    """The arguments that make an empty cloud of the same kind."""
    return {
        "n_particles": cloud.n_particles, "window": cloud.window,
        "classifier": bool(cloud.model.multinomial), "linear": cloud.linear,
        "min_samples_leaf": 0 if cloud.leaves_follow else cloud.min_samples_leaf,
        "alpha": cloud.alpha, "beta": cloud.beta, "leaf_bonus": cloud.leaf_bonus,
        "decays": [cloud.decays[i] for i in range(cloud.n_decays)],
        "prior_weight": cloud.prior_weight, "reference": cloud.reference,
        "cuts_by_range": cloud.cuts_by_range, "seed": cloud.seed,
    }


def distinct_nodes(Particles cloud):
    """The nodes that any particle holds, each once: those of depth 0, of depth 1, and so on.

    The order within a depth is that of particles and paths, so that it only depends on shapes.
    """
    found, here = {}, dict.fromkeys([cloud.roots[i] for i in range(cloud.n_alive)])
    while here:
        below = {}
        for node in here:
            found[node] = len(found)
            if cloud.grove.nodes[<int>node].feature >= 0:
                below[cloud.grove.nodes[<int>node].left] = None
                below[cloud.grove.nodes[<int>node].right] = None
        here = below
    return found


def doubles(Particles cloud, which):
    """The numbers of a row that belongs to the whole cloud."""
    cdef int i, q = cloud.model.n_regressors
    if which == "overall":
        found = [cloud.overall[i] for i in range(cloud.model.width)]
    elif which == "prior":      # classes have none of their own
        found = [cloud.model.prior[i]
                 for i in range(0 if cloud.model.multinomial else cloud.model.width)]
    elif which == "fill":
        found = [cloud.fill[i] for i in range(q)]
    else:
        found = [cloud.fill_weight[i] for i in range(q)]
    return np.array(found, np.float64)


def state_of(Particles cloud):
    """All that the cloud has learned."""
    numbers = distinct_nodes(cloud)
    return {
        **settings_of(cloud), "schema": cloud.schema, "labels": cloud.labels, "pool": cloud.pool,
        "overall": doubles(cloud, "overall"), "prior": doubles(cloud, "prior"),
        "df_offset": cloud.model.df_offset, "per_leaf": cloud.model.per_leaf,
        "fill": doubles(cloud, "fill"), "fill_weight": doubles(cloud, "fill_weight"),
        "lowest": cloud.lowest, "highest": cloud.highest, "n_seen": cloud.n_seen,
        "n_steps": cloud.n_steps, "log_evidence": cloud.log_evidence,
        "log_predictive": cloud.log_predictive,
        "belief": np.array([cloud.belief[i] for i in range(cloud.n_decays)]),
        "stratum": np.array([cloud.stratum[i] for i in range(cloud.n_decays + 1)], np.int32),
        "roots": np.array([numbers[cloud.roots[i]] for i in range(cloud.n_alive)], np.int32),
        **nodes_of(cloud, numbers), **leaves_of(cloud, numbers),
    }


def nodes_of(Particles cloud, numbers):
    """Splits; depths, sizes and references follow from the links."""
    cdef Py_ssize_t n = len(numbers), i
    cdef double[::1] cuts = np.empty(n)
    cdef int64_t[::1] regions = np.empty(n, dtype=np.int64)
    cdef int[:, ::1] links = np.empty((n, 3), dtype=np.int32)
    cdef uint8_t[:, ::1] flags = np.empty((n, 2), dtype=np.uint8)
    cdef const Node* here
    for node, i in numbers.items():
        here = &cloud.grove.nodes[<int>node]
        inner = here.feature >= 0
        cuts[i], regions[i] = here.cut, here.region
        links[i, 0] = here.feature
        links[i, 1] = numbers[here.left] if inner else -1
        links[i, 2] = numbers[here.right] if inner else -1
        flags[i, 0], flags[i, 1] = here.nominal, here.missing_left
    return {
        "cuts": cuts.base, "links": links.base, "flags": flags.base,
        "regions": regions.base, "n_regions": cloud.grove.n_regions,
    }


def leaves_of(Particles cloud, numbers):
    """Statistics of the leaves, in the order of their nodes."""
    cdef Py_ssize_t width = 2 * cloud.model.width, i
    cdef int leaf
    found = [cloud.grove.nodes[<int>node].left for node in numbers
             if cloud.grove.nodes[<int>node].feature < 0]
    cdef int64_t[::1] times = np.empty(len(found), dtype=np.int64)
    cdef double[::1] log_marginals = np.empty(len(found)), leaf_decays = np.empty(len(found))
    cdef double[:, ::1] rows = np.empty((len(found), width))
    cdef int[::1] n_active = np.empty(len(found), dtype=np.int32)
    cdef const Leaf* here
    slots = []
    for i in range(len(found)):
        leaf = found[i]
        here = &cloud.grove.leaves[leaf]
        times[i], n_active[i] = here.time, here.n_active
        log_marginals[i], leaf_decays[i] = here.log_marginal, here.decay
        memcpy(&rows[i, 0], cloud.grove.rows + leaf * width, width * sizeof(double))
        slots += [cloud.grove.slots[here.slots + <int>j] for j in range(here.n_active)]
    return {
        "times": times.base, "n_active": n_active.base,
        "log_marginals": log_marginals.base, "leaf_decays": leaf_decays.base,
        "rows": rows.base, "leaf_slots": np.array(slots, np.int32),
    }


def bare_state_of(Particles cloud):
    """The same with all active points retired, which changes no answer.

    But for logistic leaves: these answer by the active points, and keep them.
    """
    state = state_of(cloud)
    state["schema"], state["labels"] = deepcopy((cloud.schema, cloud.labels))
    if cloud.slopes is not None:
        return {**state, "pool": deepcopy(cloud.pool)}
    rows = state["rows"]
    rows[:, cloud.model.width:] = rows[:, : cloud.model.width]
    return {
        **state, "pool": Pool(cloud.pool.n_columns, cloud.pool.size_v),
        "n_active": np.zeros_like(state["n_active"]), "leaf_slots": np.zeros(0, np.int32),
    }
