"""Conversion of a particle filter to its state, and back.

A state may come from a damaged or hostile file. Its types, shapes and ranges are checked first, and
then the consistency of its parts: `check` restores a second filter from the state of a filter, and
compares the derived data. It cannot be checked whether the sums in the leaves come from samples.
Sums that are larger than any stream allows are reduced, so that they cannot overflow later.
"""

import numpy as np

from libc.math cimport fabs
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

from ..schema cimport Labels, Schema
from .filter cimport LARGEST_SQUARE, ParticleFilter
from .particles cimport (
    LARGEST_REGRESSOR, MAX_DECAYS, finish_leaf, follow, regressors_wanted, set_prior, set_shares,
)
from .pool cimport Pool, v_of, x_of
from .shared_trees cimport MAX_DEPTH, MIN_BLOCK, Leaf, Node, SharedTrees, leaf_at, side

from ..state import LARGEST_FLOAT, LARGEST_TARGET, State, captured, require

LARGEST_INT, LARGEST_REGION = 2**31 - 1, 2**62
# Limits of the sums of weights and of squares in a leaf. Those of ten billion samples are smaller,
# and the sums of ten million leaves can be merged without overflow.
cdef double LARGEST_TOTAL = 1e130, LARGEST_SQUARES = 1e300
LEAST_POSTERIOR = 1e-4      # of a forgetting factor: see `SWITCH` in `step`
FINITE = {"least": -LARGEST_FLOAT, "most": LARGEST_FLOAT}
cdef double LARGEST_MEAN = 1.01 * LARGEST_REGRESSOR         # allows for rounding
cdef double LARGEST_MEAN_TARGET = 1.01 * LARGEST_TARGET
SETTINGS = {        # the arguments of the constructor: how they are read
    "n_particles": ("whole", 1), "window": ("whole", 1, LARGEST_INT), "classifier": ("flag",),
    "linear": ("flag",), "min_samples_leaf": ("whole", 0, LARGEST_INT),
    "alpha": ("number", 0.0, 1.0), "beta": ("number", 0.0, LARGEST_FLOAT),
    "leaf_bonus": ("number", -LARGEST_FLOAT, LARGEST_FLOAT), "decays": ("items",),
    "prior_weight": ("number", 0.0, LARGEST_FLOAT), "published": ("flag",),
    "seed": ("whole", 0, 2**64 - 1),
}
NAMES = (
    *(*SETTINGS, "schema", "labels", "pool", "global_statistics", "prior"),
    *("df_offset", "per_leaf", "fill", "fill_weight", "lowest", "highest", "n_seen", "n_steps"),
    *("log_evidence", "log_predictive", "factor_posterior", "stratum", "roots", "cuts", "links"),
    *("flags", "regions", "n_regions", "times", "n_active", "rows", "leaf_slots"),
)


# --- Writing --------------------------------------------------------------------------------

def settings_of(ParticleFilter filter):
    own = {
        "classifier": not filter.regression,
        "min_samples_leaf": 0 if filter.leaves_follow else filter.min_samples_leaf,
        "decays": [filter.decays[i] for i in range(filter.n_decays)],
    }
    return {name: own[name] if name in own else getattr(filter, name) for name in SETTINGS}


cdef object doubles(const double* numbers, int n):
    return np.array([numbers[i] for i in range(n)], np.float64)


cdef object distinct_nodes(ParticleFilter filter):
    """All distinct nodes, breadth first, so that children come after their parents."""
    cdef int[::1] found = np.empty(filter.trees.n_nodes, np.int32)
    return found.base[:filter.trees.distinct(filter.roots, filter.n_alive, &found[0])]


def state_of(ParticleFilter filter):
    cdef int q = filter.model.n_regressors, width = filter.model.width
    cdef const int[::1] found = distinct_nodes(filter)
    cdef int[::1] number = np.full(filter.trees.n_nodes, -1, np.int32)
    cdef int i
    for i in range(<int>found.shape[0]):    # numpy's own indexing crashes where it finds no memory
        number[found[i]] = i
    roots = [number[filter.roots[i]] for i in range(filter.n_alive)]
    return {
        **settings_of(filter),
        "schema": filter.schema, "labels": filter.labels, "pool": filter.pool,
        "global_statistics": doubles(filter.global_statistics, width),
        "prior": doubles(filter.model.prior, width if filter.regression else 0),
        "df_offset": filter.model.df_offset, "per_leaf": filter.model.per_leaf,
        "fill": doubles(filter.fill, q), "fill_weight": doubles(filter.fill_weight, q),
        "lowest": filter.lowest, "highest": filter.highest, "n_seen": filter.n_seen,
        "n_steps": filter.n_steps, "log_evidence": filter.log_evidence,
        "log_predictive": filter.log_predictive,
        "factor_posterior": doubles(filter.factor_posterior, filter.n_decays),
        "stratum": np.array([filter.stratum[i] for i in range(filter.n_decays + 1)], np.int32),
        "roots": np.array(roots, np.int32), "n_regions": filter.trees.n_regions,
        **nodes_of(filter.trees, found, number), **leaves_of(filter.trees, found),
    }


cdef dict nodes_of(SharedTrees trees, const int[::1] found, const int[::1] number):
    """State of the splits; depths, sizes and references follow from the links."""
    cdef Py_ssize_t n = found.shape[0], i
    cdef double[::1] cuts = np.empty(n)
    cdef int64_t[::1] regions = np.empty(n, dtype=np.int64)
    cdef int[:, ::1] links = np.full((n, 3), -1, dtype=np.int32)
    cdef uint8_t[:, ::1] flags = np.empty((n, 2), dtype=np.uint8)
    cdef const Node* here
    for i in range(n):
        here = &trees.nodes[found[i]]
        cuts[i], regions[i] = here.split.threshold, here.region
        flags[i, 0], flags[i, 1] = here.split.nominal, here.split.missing_left
        if here.split.feature >= 0:
            links[i, 0], links[i, 1], links[i, 2] = (
                here.split.feature, number[here.left], number[here.right])
    return {"cuts": cuts.base, "links": links.base, "flags": flags.base, "regions": regions.base}


cdef dict leaves_of(SharedTrees trees, const int[::1] found):
    """State of the leaves, in the order of their nodes."""
    cdef int node
    numbers = [trees.nodes[node].left for node in found if trees.nodes[node].split.feature < 0]
    cdef Py_ssize_t n = len(numbers), i
    cdef int64_t[::1] times = np.empty(n, dtype=np.int64)
    cdef double[:, ::1] rows = np.empty((n, 2 * trees.width))
    cdef int[::1] n_active = np.empty(n, dtype=np.int32)
    cdef const Leaf* here
    slots = []
    for i in range(n):
        here = &trees.leaves[<int>numbers[i]]
        times[i], n_active[i] = here.time, here.n_active
        memcpy(&rows[i, 0], trees.total(numbers[i]), 2 * trees.width * sizeof(double))
        slots += [trees.slots[here.slots + <int>j] for j in range(here.n_active)]
    return {
        "times": times.base, "n_active": n_active.base, "rows": rows.base,
        "leaf_slots": np.array(slots, np.int32),
    }


def serving_state_of(ParticleFilter filter):
    """State for serving: all samples are retired, which does not change the predictions."""
    state = captured(state_of(filter))
    rows = state["rows"]
    rows[:, filter.model.width:] = rows[:, : filter.model.width]
    return {
        **state, "pool": Pool(n_columns=filter.pool.n_columns, size_v=filter.pool.size_v),
        "n_active": np.zeros_like(state["n_active"]), "leaf_slots": np.zeros(0, np.int32),
    }


# --- Reading --------------------------------------------------------------------------------

def restored(kind, values):
    state = State("ParticleFilter", values, NAMES)
    filter = kind(**settings_from(state))
    restore(filter, state)
    check_regions(filter)
    check_samples(filter)
    check_trees(filter)
    return filter


def check(ParticleFilter filter):
    """Raise a StateError if derived data of a filter do not follow from its state."""
    cdef ParticleFilter other = restored(type(filter), state_of(filter))
    cdef SharedTrees trees = filter.trees
    cdef const Node* here
    cdef const Node* there
    cdef int number
    nodes = distinct_nodes(filter)
    sound = trees.nodes_in_use == len(nodes) and trees.leaves_in_use == other.trees.n_leaves
    for number in range(other.trees.n_nodes):
        here, there = &trees.nodes[<int>nodes[number]], &other.trees.nodes[number]
        sound = sound and (here.depth, here.refs, here.n_leaves) == (
            there.depth, there.refs, there.n_leaves)
        if here.split.feature < 0:
            sound = sound and (
                leaf_at(trees, nodes[number]).decay == leaf_at(other.trees, number).decay)
    require(sound and all([filter.share[i] == other.share[i] for i in range(filter.n_alive)]),
            "ParticleFilter: depths, sizes, references or shares do not follow from the state")


cdef dict settings_from(state):
    """Arguments of the constructor, which allocates memory for the roots in the state."""
    settings = state.settings(SETTINGS)
    n_roots, n_particles = len(state.array("roots", np.int32, None)), settings["n_particles"]
    decays = settings["decays"]
    require(n_roots in (n_particles, 2 * n_particles), "ParticleFilter: a particle has no tree")
    require(not (settings["classifier"] and settings["linear"]),
            "ParticleFilter: a classifier has linear models")
    require(1 <= len(decays) <= min(MAX_DECAYS, n_particles)
            and all([type(decay) is float and 0.0 < decay <= 1.0 for decay in decays])
            and len(set(decays)) == len(decays),
            "ParticleFilter: forgetting factors must differ and be in (0, 1]")
    return settings


cdef int restore(ParticleFilter filter, state) except -1:
    """Fill an empty filter from a state."""
    cdef Pool pool = state.part("pool", Pool)
    cdef int width, q, n_classes
    filter.schema, filter.labels = state.part("schema", Schema), state.part("labels", Labels)
    n_classes = 0 if filter.regression else max(1, len(filter.labels))
    require(not filter.regression or len(filter.labels) == 0,
            "ParticleFilter: a regression has labels")
    follow(filter, regressors_wanted(filter), n_classes, filter.pool.capacity)
    width, q = filter.model.width, filter.model.n_regressors
    require(pool.n_columns == filter.schema.n_columns and pool.size_v == q + 1
            and pool.size <= filter.window, "ParticleFilter: the pool is not its own")
    filter.pool = pool
    filter.n_seen, filter.n_steps = state.whole("n_seen"), state.whole("n_steps")
    filter.lowest, filter.highest = state.number("lowest"), state.number("highest")
    filter.log_evidence, filter.log_predictive = (
        state.number("log_evidence"), state.number("log_predictive"))
    copy_doubles(filter.global_statistics,
                 limited_rows(filter, state.numbers("global_statistics", width, **FINITE))[0])
    copy_doubles(filter.fill, state.numbers("fill", q, least=-LARGEST_MEAN, most=LARGEST_MEAN))
    copy_doubles(filter.fill_weight, state.numbers("fill_weight", q, least=0.0))
    # The prior is saved, because the statistics have changed since it was computed.
    set_prior(filter)
    prior = state.numbers("prior", width if filter.regression else 0, **FINITE)
    if filter.regression:
        copy_doubles(filter.model.prior, limited_rows(filter, prior)[0])
    filter.model.df_offset, filter.model.per_leaf = (
        state.number("df_offset"), state.number("per_leaf"))
    restore_trees(filter, state)
    restore_strata(
        filter, state.numbers("factor_posterior", filter.n_decays, least=LEAST_POSTERIOR, most=1.0),
        state.array("stratum", np.int32, filter.n_decays + 1))
    fill_leaves(filter, state)
    return 0


cdef double[:, ::1] limited_rows(ParticleFilter filter, values) except *:
    """Rows of statistics, see `linalg`, with sums limited by `limit_row`."""
    cdef double[:, ::1] rows = values.reshape(-1, filter.model.width).copy()
    cdef Py_ssize_t i
    cdef bint sound = True
    for i in range(rows.shape[0]):
        sound = limit_row(filter, &rows[i, 0]) and sound
    require(sound, "ParticleFilter: a weight is negative, or a mean larger than what it is of")
    return rows


cdef bint limit_row(ParticleFilter filter, double* row) noexcept:
    """Limit the sums of a row; return whether weights and means are in range."""
    cdef int i, q = filter.model.n_regressors
    cdef bint sound = row[0] >= 0.0
    if filter.model.multinomial:
        for i in range(filter.model.width):
            sound = sound and row[i] >= 0.0
            row[i] = min(row[i], LARGEST_TOTAL)
        return sound
    for i in range(q):
        sound = sound and fabs(row[1 + i]) <= LARGEST_MEAN
    sound = sound and fabs(row[1 + q]) <= LARGEST_MEAN_TARGET
    row[0] = min(row[0], LARGEST_SQUARES / max(
        row[1 + q] * row[1 + q], LARGEST_SQUARES / LARGEST_TOTAL))
    for i in range(2 + q, filter.model.width):
        row[i] = min(max(row[i], -LARGEST_SQUARES), LARGEST_SQUARES)
    return sound


cdef int copy_doubles(double* into, const double[::1] values) except -1:
    cdef Py_ssize_t i
    for i in range(values.shape[0]):
        into[i] = values[i]
    return 0


cdef int restore_trees(ParticleFilter filter, state) except -1:
    """Restore nodes and roots; compute references, depths and numbers of leaves."""
    cdef const int[::1] roots = state.array("roots", np.int32, None)
    cdef const int[:, ::1] links = state.array("links", np.int32, None, 3)
    cdef Py_ssize_t n = links.shape[0], i
    cdef const double[::1] cuts = state.numbers("cuts", n)
    cdef const uint8_t[:, ::1] flags = state.array("flags", np.uint8, n, 2)
    cdef const int64_t[::1] regions = state.array("regions", np.int64, n)
    cdef const int[::1] n_active = state.array("n_active", np.int32, None)
    cdef Py_ssize_t n_slots = len(state.array("leaf_slots", np.int32, None))
    cdef SharedTrees trees = SharedTrees(filter.model.width)
    cdef Node* here
    cdef int child, leaf = 0
    require(0 < n <= LARGEST_INT // 8 and n_slots <= LARGEST_INT // 8
            and np.count_nonzero(np.asarray(links)[:, 0] < 0) == n_active.shape[0]
            and np.all(np.asarray(n_active) >= 0)
            and np.sum(n_active, dtype=np.int64) == n_slots,
            "ParticleFilter: nodes, leaves and their samples do not fit together")
    trees.reserve(n, n_active.shape[0], 2 * n_slots + MIN_BLOCK * n_active.shape[0])
    trees.n_regions = state.whole("n_regions", 0, LARGEST_REGION)
    for i in range(n):
        if links[i, 0] < 0:
            require(flags[i, 0] == 0, "ParticleFilter: a leaf compares a nominal value")
            trees.new_leaf(0, 0, n_active[leaf])
            leaf += 1
            here = &trees.nodes[i]
        else:
            trees.new_node()
            here = &trees.nodes[i]
            here.split.feature, here.left, here.right = links[i, 0], links[i, 1], links[i, 2]
            here.split.nominal, here.split.missing_left = flags[i, 0] != 0, flags[i, 1] != 0
        here.split.threshold, here.region, here.refs = cuts[i], regions[i], 0
    filter.reserve_particles(<int>roots.shape[0])
    filter.n_alive, filter.trees = <int>roots.shape[0], trees
    for i in range(filter.n_alive):
        require(0 <= roots[i] < n, "ParticleFilter: a root does not exist")
        filter.roots[i] = roots[i]
        trees.hold(roots[i])
    for i in range(n):
        here = &trees.nodes[i]
        require(here.refs > 0 and here.depth <= MAX_DEPTH,
                "ParticleFilter: a node is in no tree, or too deep")
        if here.split.feature < 0:
            continue
        require(here.split.feature < filter.pool.n_columns, "ParticleFilter: a split by no feature")
        for child in (here.left, here.right):
            require(i < child < n, "ParticleFilter: a child does not exist")
            trees.nodes[child].depth = <short>(here.depth + 1)
            trees.hold(child)
    for i in range(n - 1, -1, -1):
        here = &trees.nodes[i]
        if here.split.feature >= 0:
            here.n_leaves = min(trees.nodes[here.left].n_leaves
                                + trees.nodes[here.right].n_leaves, LARGEST_INT // 4)
    return 0


cdef int restore_strata(ParticleFilter filter, const double[::1] posterior,
                        const int[::1] stratum) except -1:
    """Restore the probabilities of the forgetting factors, and the bounds of their particles."""
    cdef int k
    require(stratum[0] == 0 and stratum[filter.n_decays] == filter.n_alive
            and np.all(np.diff(np.asarray(stratum, np.int64)) > 0)
            and fabs(np.sum(posterior) - 1.0) < 1e-9,
            "ParticleFilter: the posterior of the forgetting factors is none")
    for k in range(filter.n_decays):
        filter.factor_posterior[k], filter.stratum[k + 1] = posterior[k], stratum[k + 1]
    set_shares(filter, 0)
    return 0


cdef int fill_leaves(ParticleFilter filter, state) except -1:
    """Restore statistics, slots and forgetting factors of the leaves."""
    cdef SharedTrees trees = filter.trees
    cdef Py_ssize_t n = trees.n_leaves, width = filter.model.width, start = 0, j
    cdef double[:, ::1] rows = limited_rows(filter, state.numbers("rows", n, 2 * width, **FINITE))
    cdef const int64_t[::1] times = state.array("times", np.int64, n)
    cdef const int[::1] n_active = state.array("n_active", np.int32, n)
    cdef const int[::1] slots = state.array("leaf_slots", np.int32, None)
    cdef const double[::1] decays = decays_of(filter)
    cdef int node, leaf
    require(np.all((np.asarray(times) >= 0) & (np.asarray(times) <= filter.n_seen)),
            "ParticleFilter: a leaf is of the future")
    for node in range(trees.n_nodes):
        if trees.nodes[node].split.feature >= 0:
            continue
        leaf = trees.nodes[node].left
        trees.leaves[leaf].time, trees.leaves[leaf].decay = times[leaf], decays[node]
        memcpy(trees.total(leaf), &rows[2 * leaf, 0], 2 * width * sizeof(double))
        for j in range(n_active[leaf]):
            trees.add_slot(&trees.leaves[leaf], slots[start + j])
        start += n_active[leaf]
        finish_leaf(filter, leaf)
    return 0


cdef object decays_of(ParticleFilter filter):
    """Forgetting factor of each node: that of the particles that contain it."""
    cdef double[::1] decays = np.zeros(filter.trees.n_nodes)    # 0: no particle found yet
    cdef int k, particle, node, child
    cdef const Node* here
    cdef bint sound = True
    for k in range(filter.n_decays):
        for particle in range(filter.stratum[k], filter.stratum[k + 1]):
            child = filter.roots[particle]
            sound = sound and decays[child] in (0.0, filter.decays[k])
            decays[child] = filter.decays[k]
    for node in range(filter.trees.n_nodes):
        here = &filter.trees.nodes[node]
        if here.split.feature >= 0:
            for child in (here.left, here.right):
                sound = sound and decays[child] in (0.0, decays[node])
                decays[child] = decays[node]
    require(sound, "ParticleFilter: particles that forget differently share a tree")
    return decays.base


# --- Consistency of a restored filter -------------------------------------------------------

cdef int check_regions(ParticleFilter filter) except -1:
    """Check that nodes of one region have the same path, so that they contain the same samples.

    A region has one leaf that trees share, except in dynaTree, where moves copy it.
    """
    cdef const Node* here
    cdef int i, node
    ways, leaves = {}, set()
    for i in range(filter.n_alive):
        region = filter.trees.nodes[filter.roots[i]].region
        require(ways.setdefault(region, None) is None, "ParticleFilter: a region in two places")
    for node in range(filter.trees.n_nodes):
        here = &filter.trees.nodes[<int>node]
        require(0 < here.region <= filter.trees.n_regions, "ParticleFilter: a node of no region")
        if here.split.feature < 0:
            require(filter.published or here.region not in leaves,
                    "ParticleFilter: two leaves of a region")
            leaves.add(here.region)
            continue
        way = (here.region, here.split.feature, here.split.threshold, here.split.nominal,
               here.split.missing_left)
        for child, is_left in ((here.left, True), (here.right, False)):
            region = filter.trees.nodes[<int>child].region
            require(ways.setdefault(region, (way, is_left)) == (way, is_left),
                    "ParticleFilter: a region in two places")


cdef int check_samples(ParticleFilter filter) except -1:
    """Check that active samples have been learned, are in range and have known labels."""
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
    return 0


cdef int check_trees(ParticleFilter filter) except -1:
    """Check that every tree contains each active sample once, in its leaf.

    Each leaf is checked once, although trees share it. This is sufficient, because a region has
    only one path (`check_regions`), so that no sample can reach two leaves of a tree.
    """
    cdef int[::1] parent = np.full(filter.trees.n_nodes, -1, dtype=np.int32)
    cdef int[::1] held = np.zeros(filter.trees.n_nodes, dtype=np.int32)
    cdef int[::1] holder = np.full(filter.pool.capacity, -1, dtype=np.int32)
    cdef int node, particle, n_samples = filter.pool.size
    cdef bint sound = True
    cdef const Node* here
    for node in range(filter.trees.n_nodes - 1, -1, -1):
        here = &filter.trees.nodes[node]
        if here.split.feature < 0:
            held[node] = min(filter.trees.leaves[here.left].n_active, n_samples + 1)
        else:
            parent[here.left] = parent[here.right] = node
            held[node] = min(held[here.left] + held[here.right], n_samples + 1)
    for particle in range(filter.n_alive):
        sound = sound and held[filter.roots[particle]] == n_samples
    require(sound, "ParticleFilter: a tree does not hold each sample once")
    for node in range(filter.trees.n_nodes):
        if filter.trees.nodes[node].split.feature < 0:
            sound = sound and holds_its_samples(filter, node, parent, holder)
    require(sound, "ParticleFilter: a sample is not where its features lead")
    return 0


cdef bint holds_its_samples(ParticleFilter filter, int number, const int[::1] parent,
                            int[::1] holder) noexcept:
    """Whether the samples of a leaf are distinct and active, and reach it from the root.

    `holder` is the last leaf found with a sample. Any parent will do, as all have the same split.
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
