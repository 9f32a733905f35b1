"""A cloud from its state, which is checked before anything is built on it.

Nodes come in the order of their depth, so that links only lead forward and no path is a circle.
"""

import numpy as np

from libc.math cimport fabs
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

from .grove cimport MAX_DEPTH, MIN_BLOCK, Grove, Leaf, Node, side
from .pool cimport Pool
from .posterior cimport add_sample, agree, merge
from ..schema cimport Labels, Schema
from .forgetting cimport set_shares
from .gathering cimport LARGEST_REGRESSOR
from .leaves cimport fading, finish_leaf, set_prior, weight_at
from .particles cimport MAX_DECAYS, Particles, fades_by_leaf
from .shape cimport adapt

from ..state import LARGEST_FLOAT, State, require

LARGEST_INT = 2**31 - 1
LARGEST_REGION = 2**62
FINITE = {"least": -LARGEST_FLOAT, "most": LARGEST_FLOAT}
MEANS = {"least": -1.01 * LARGEST_REGRESSOR, "most": 1.01 * LARGEST_REGRESSOR}  # as they round
NAMES = (
    "n_particles", "window", "classifier", "linear", "min_samples_leaf", "alpha", "beta",
    "leaf_bonus", "decays", "prior_weight", "reference", "cuts_by_range", "seed", "schema",
    "labels", "pool", "overall", "prior", "df_offset", "per_leaf", "fill", "fill_weight", "lowest",
    "highest", "n_seen", "n_steps", "log_evidence", "log_predictive", "belief", "stratum", "roots",
    "cuts", "links", "flags", "regions", "n_regions", "times", "n_active", "log_marginals",
    "leaf_decays", "rows", "leaf_slots",
)


def restored(kind, values):
    """A cloud of the given class from its state."""
    state = State("Cloud", values, NAMES)
    cloud = kind(**settings_from(state))
    restore(cloud, state)
    return cloud


def settings_from(state):
    """The arguments of the constructor; it takes memory for as many particles as have a root."""
    n_roots = len(state.array("roots", np.int32, None))
    settings = {
        "n_particles": state.whole("n_particles", (n_roots + 1) // 2, n_roots),
        "window": state.whole("window", 1, LARGEST_INT),
        "min_samples_leaf": state.whole("min_samples_leaf", 0, LARGEST_INT),
        "seed": state.whole("seed", 0, 2**64 - 1),
        "alpha": state.number("alpha", 0.0, 1.0),
        "beta": state.number("beta", 0.0, LARGEST_FLOAT),
        "leaf_bonus": state.number("leaf_bonus", -LARGEST_FLOAT, LARGEST_FLOAT),
        "prior_weight": state.number("prior_weight", 0.0, LARGEST_FLOAT),
        "decays": state.items("decays"),
    }
    for name in ("classifier", "linear", "reference", "cuts_by_range"):
        settings[name] = state.flag(name)
    require(n_roots in (settings["n_particles"], 2 * settings["n_particles"]) and n_roots > 0,
            "Cloud: a particle has no tree")
    require(1 <= len(settings["decays"]) <= min(MAX_DECAYS, settings["n_particles"])
            and all(type(decay) is float and 0.0 < decay <= 1.0 for decay in settings["decays"])
            and len(set(settings["decays"])) == len(settings["decays"]),
            "Cloud: forgetting factors must differ and be in (0, 1]")
    return settings


def restore(Particles cloud, state):
    """Give an empty cloud a state."""
    cdef int q
    cloud.schema = state.part("schema", Schema)
    cloud.labels = state.part("labels", Labels)
    pool = state.part("pool", Pool)
    classifier = cloud.model.multinomial
    require(classifier or not cloud.labels.labels, "Cloud: a regression has labels")
    adapt(cloud, max(1, len(cloud.labels)) if classifier else 0, cloud.pool.capacity)
    q = cloud.model.n_regressors
    cloud.n_seen = state.whole("n_seen")
    require(pool.n_columns == cloud.schema.n_columns and pool.size_v == q + 1
            and pool.size <= cloud.window, "Cloud: the pool does not belong to this cloud")
    cloud.pool = pool
    check_points(cloud)
    cloud.n_steps = state.whole("n_steps")
    cloud.lowest, cloud.highest = state.number("lowest"), state.number("highest")
    cloud.log_evidence = state.number("log_evidence")
    cloud.log_predictive = state.number("log_predictive")
    restore_prior(
        cloud, state.numbers("overall", cloud.model.width, **FINITE),
        state.numbers("prior", 0 if classifier else cloud.model.width, **FINITE),
        state.numbers("fill", q, **MEANS), state.numbers("fill_weight", q, least=0.0),
        state.number("df_offset"), state.number("per_leaf"))
    restore_trees(cloud, state)
    restore_strata(
        cloud, state.numbers("belief", cloud.n_decays, least=0.0, most=1.0),
        state.array("stratum", np.int32, cloud.n_decays + 1))
    check_factors(cloud)
    check_statistics(cloud)
    check_trees(cloud)
    if not fades_by_leaf(cloud):
        check_sums(cloud)


cdef int restore_strata(
    Particles cloud, const double[::1] belief, const int[::1] stratum
) except -1:
    """Take over what is believed of the forgetting factors, and whose particles lie where."""
    cdef int k
    require(fabs(np.sum(belief) - 1.0) < 1e-9, "Cloud: beliefs must add up to 1")
    require(stratum[0] == 0 and stratum[cloud.n_decays] == cloud.n_alive
            and np.all(np.diff(np.asarray(stratum, np.int64)) > 0),
            "Cloud: a forgetting factor has no particles")
    for k in range(cloud.n_decays):
        cloud.belief[k], cloud.stratum[k + 1] = belief[k], stratum[k + 1]
    set_shares(cloud, 0)
    return 0


cdef int check_factors(Particles cloud) except -1:
    """The leaves of a particle forget as its stratum does. Links lead forward: one pass will do."""
    cdef double[::1] factor = np.zeros(cloud.grove.n_nodes)     # 0: of no particle met so far
    cdef int k, node, particle, child
    cdef const Node* here
    cdef bint sound = True
    for k in range(cloud.n_decays):
        for particle in range(cloud.stratum[k], cloud.stratum[k + 1]):
            node = cloud.roots[particle]
            sound = sound and factor[node] in (0.0, cloud.decays[k])
            factor[node] = cloud.decays[k]
    for node in range(cloud.grove.n_nodes):
        here = &cloud.grove.nodes[node]
        if here.feature < 0:
            sound = sound and cloud.grove.leaves[here.left].decay == factor[node]
            continue
        for child in (here.left, here.right):
            sound = sound and factor[child] in (0.0, factor[node])
            factor[child] = factor[node]
    require(sound, "Cloud: a leaf forgets otherwise than its particle")
    return 0


cdef int check_points(Particles cloud) except -1:
    """Refuse active points of the future, or with labels that the cloud does not know."""
    cdef int slot
    cdef double target
    for slot in cloud.pool.slots():
        require(cloud.pool.arrival[slot] <= cloud.n_seen, "Cloud: a point is not learned yet")
        target = cloud.pool.v[(slot + 1) * cloud.pool.size_v - 1]
        require(not cloud.model.multinomial or (
            0 <= target < len(cloud.labels.labels) and target == <int>target),
            "Cloud: a point has no known label")
    return 0


cdef int restore_prior(
    Particles cloud, const double[::1] overall, const double[::1] prior, const double[::1] fill,
    const double[::1] fill_weight, double df_offset, double per_leaf
) except -1:
    """The prior as it was when it was last taken from the statistics of all samples."""
    cdef int i
    for i in range(cloud.model.width):
        cloud.overall[i] = overall[i]
    for i in range(cloud.model.n_regressors):
        cloud.fill[i], cloud.fill_weight[i] = fill[i], fill_weight[i]
    set_prior(cloud)
    for i in range(<int>prior.shape[0]):
        cloud.model.prior[i] = prior[i]
    cloud.model.df_offset, cloud.model.per_leaf = df_offset, per_leaf
    return 0


cdef int restore_trees(Particles cloud, state) except -1:
    """Nodes, leaves and roots."""
    cdef const int[:, ::1] links = state.array("links", np.int32, None, 3)
    cdef Py_ssize_t n = links.shape[0], n_leaves = np.count_nonzero(np.asarray(links)[:, 0] < 0)
    cdef const double[::1] cuts = state.numbers("cuts", n)
    cdef const uint8_t[:, ::1] flags = state.array("flags", np.uint8, n, 2)
    cdef const int64_t[::1] regions = state.array("regions", np.int64, n)
    cdef const int[::1] n_active = state.array("n_active", np.int32, n_leaves)
    cdef const int[::1] slots = state.array("leaf_slots", np.int32, None)
    cdef const int64_t[::1] times = state.array("times", np.int64, n_leaves)
    cdef const double[::1] decays = state.numbers("leaf_decays", n_leaves)
    require(0 < n <= LARGEST_INT // 8 and len(slots) <= LARGEST_INT // 8,
            "Cloud: no nodes, or too many")
    require(np.all(np.asarray(n_active) >= 0)
            and np.sum(n_active, dtype=np.int64) == slots.shape[0]
            and np.all((np.asarray(slots) >= 0) & (np.asarray(slots) < cloud.pool.capacity)),
            "Cloud: a leaf holds points that are not there")
    require(np.all((np.asarray(times) >= 0) & (np.asarray(times) <= cloud.n_seen)),
            "Cloud: a leaf is of the future")
    cloud.grove = Grove(cloud.model.width)
    if not cloud.grove.reserve(<int>n, <int>n_leaves,
                               <int>(2 * slots.shape[0] + MIN_BLOCK * n_leaves)):
        raise MemoryError
    cdef Py_ssize_t i, leaf = 0
    for i in range(n):
        if links[i, 0] >= 0:
            cloud.grove.new_node()
        else:
            cloud.grove.new_leaf(0, 0, n_active[leaf])
            leaf += 1
        cloud.grove.nodes[i].cut = cuts[i]
        cloud.grove.nodes[i].region = regions[i]
        cloud.grove.nodes[i].nominal = flags[i, 0] != 0
        cloud.grove.nodes[i].missing_left = flags[i, 1] != 0
        cloud.grove.nodes[i].refs = 0
    cloud.grove.n_regions = state.whole("n_regions", 0, LARGEST_REGION)
    require(np.all((np.asarray(regions) > 0) & (np.asarray(regions) <= cloud.grove.n_regions)),
            "Cloud: a node of no region")
    link(cloud, links, state.array("roots", np.int32, None))
    check_regions(cloud)
    fill_leaves(cloud, state.numbers("rows", n_leaves, 2 * cloud.model.width, **FINITE),
                state.array("log_marginals", np.float64, n_leaves), times, decays, n_active, slots)
    return 0


cdef int link(Particles cloud, const int[:, ::1] links, const int[::1] roots) except -1:
    """Take over links and roots: references, depths and numbers of leaves follow from them."""
    cdef Py_ssize_t i, n = links.shape[0]
    cdef int child, side_of
    cdef Node* nodes = cloud.grove.nodes
    cloud.reserve_particles(<int>roots.shape[0])
    cloud.n_alive = <int>roots.shape[0]
    for i in range(cloud.n_alive):
        require(0 <= roots[i] < n, "Cloud: a root does not exist")
        cloud.roots[i] = roots[i]
        cloud.grove.hold(roots[i])
    for i in range(n):
        require(nodes[i].refs > 0 and nodes[i].depth <= MAX_DEPTH,
                "Cloud: a node is in no tree, or too deep")
        if links[i, 0] < 0:
            require(links[i, 0] == -1 and not nodes[i].nominal, "Cloud: a split by no feature")
            continue
        require(links[i, 0] < cloud.pool.n_columns and links[i, 1] != links[i, 2],
                "Cloud: a split by no feature, or with one side")
        nodes[i].feature, nodes[i].left, nodes[i].right = links[i, 0], links[i, 1], links[i, 2]
        for side_of in range(1, 3):
            child = links[i, side_of]
            require(i < child < n and (nodes[child].refs == 0
                                       or nodes[child].depth == nodes[i].depth + 1),
                    "Cloud: a child does not exist, or has two depths")
            nodes[child].depth = <short>(nodes[i].depth + 1)
            cloud.grove.hold(child)
    for i in range(n - 1, -1, -1):
        if nodes[i].feature >= 0:
            nodes[i].n_leaves = min(
                nodes[nodes[i].left].n_leaves + nodes[nodes[i].right].n_leaves,
                LARGEST_INT // 4)       # as many as a hostile file may count in one tree twice
    return 0


cdef int check_regions(Particles cloud) except -1:
    """Nodes of one region lie at the end of the same way, so that they hold the same points.

    Trees share the leaf of a region, but for the reference, where a move copies it.
    """
    cdef const Node* here
    cdef int i
    ways, leaves = {}, set()
    for i in range(cloud.n_alive):
        region = cloud.grove.nodes[cloud.roots[i]].region
        require(ways.setdefault(region, None) is None, "Cloud: a region in two places")
    for i in range(cloud.grove.n_nodes):
        here = &cloud.grove.nodes[i]
        if here.feature < 0:
            require(cloud.reference or here.region not in leaves, "Cloud: two leaves of a region")
            leaves.add(here.region)
            continue
        way = here.region, here.feature, here.cut, here.nominal, here.missing_left
        for child, is_left in ((here.left, True), (here.right, False)):
            region = cloud.grove.nodes[<int>child].region
            require(ways.setdefault(region, (way, is_left)) == (way, is_left),
                    "Cloud: a region in two places")
    return 0


cdef int fill_leaves(
    Particles cloud, const double[:, ::1] rows, const double[::1] log_marginals,
    const int64_t[::1] times, const double[::1] decays, const int[::1] n_active,
    const int[::1] slots
) except -1:
    """Take over the statistics of the leaves and the slots of their active points."""
    cdef Py_ssize_t start = 0, width = 2 * cloud.model.width, j
    cdef int node, leaf
    cdef Leaf* here
    require(not np.any(np.asarray(rows)[:, [0, cloud.model.width]] < 0.0),
            "Cloud: a leaf has a negative weight")
    require(not cloud.model.multinomial or not np.any(np.asarray(rows) < 0.0),
            "Cloud: a class has a negative weight")
    for node in range(cloud.grove.n_nodes):
        if cloud.grove.nodes[node].feature >= 0:
            continue
        leaf = cloud.grove.nodes[node].left
        here = &cloud.grove.leaves[leaf]
        here.time, here.decay = times[leaf], decays[leaf]
        memcpy(cloud.grove.rows + leaf * width, &rows[leaf, 0], width * sizeof(double))
        for j in range(n_active[leaf]):
            cloud.grove.add_slot(here, slots[start + j])
        start += n_active[leaf]
        finish_leaf(cloud, node)
        # Another machine may round otherwise. What is further off is damaged, and does not matter.
        if fabs(log_marginals[leaf] - here.log_marginal) <= 1e-9 * (1.0 + fabs(here.log_marginal)):
            here.log_marginal = log_marginals[leaf]
    return 0


cdef int check_statistics(Particles cloud) except -1:
    """The statistics of a leaf are those of its active points and the retired ones together."""
    cdef int leaf, i, j, width = cloud.model.width
    cdef bint sound = True
    cdef double* row = cloud.row_other
    cdef const double* total
    cdef const Leaf* here
    for leaf in range(cloud.grove.n_leaves):
        here = &cloud.grove.leaves[leaf]
        total = cloud.grove.total(leaf)
        memcpy(row, cloud.grove.retired(leaf), width * sizeof(double))
        for j in range(here.n_active):
            i = cloud.grove.slots[here.slots + j]
            sound = sound and cloud.pool.arrival[i] >= 0
            add_sample(&cloud.model, row, cloud.pool.v + i * cloud.pool.size_v,
                       weight_at(cloud, i, here))
        sound = sound and agree(&cloud.model, row, total)
    require(sound, "Cloud: the statistics are not those of the points")
    return 0


cdef int check_sums(Particles cloud) except -1:
    """The samples of a region sum to the same in every tree, however the trees divide them."""
    cdef Py_ssize_t width = cloud.model.width
    cdef double[:, ::1] sums = np.zeros((cloud.grove.n_nodes, 2 * width))
    cdef int node, child, first
    cdef bint sound = True
    cdef const Node* here
    for node in range(cloud.grove.n_nodes - 1, -1, -1):
        here = &cloud.grove.nodes[node]
        if here.feature < 0:
            merge(&cloud.model, &sums[node, 0], cloud.grove.total(here.left),
                  fading(cloud, here.left))
            merge(&cloud.model, &sums[node, width], cloud.grove.retired(here.left),
                  fading(cloud, here.left))
            continue
        for child in (here.left, here.right):
            merge(&cloud.model, &sums[node, 0], &sums[child, 0], 1.0)
            merge(&cloud.model, &sums[node, width], &sums[child, width], 1.0)
    found = {}
    for node in range(cloud.grove.n_nodes):
        first = found.setdefault(cloud.grove.nodes[node].region, node)
        sound = (sound and agree(&cloud.model, &sums[node, 0], &sums[first, 0])
                 and agree(&cloud.model, &sums[node, width], &sums[first, width]))
    require(sound, "Cloud: a region holds other samples in another tree")
    return 0


cdef int check_trees(Particles cloud) except -1:
    """Every tree holds each active point once: where it belongs.

    Each leaf is looked at once, however many trees share it. That is enough: `check_regions` found
    each region at the end of one way, so that a tree has no two leaves which one point can reach.
    """
    cdef int[::1] parent = np.full(cloud.grove.n_nodes, -1, dtype=np.int32)
    cdef int[::1] held = np.zeros(cloud.grove.n_nodes, dtype=np.int32)
    cdef int[::1] holder = np.full(cloud.pool.capacity, -1, dtype=np.int32)
    cdef int node, particle, n_points = cloud.pool.size
    cdef bint sound = True
    cdef const Node* here
    for node in range(cloud.grove.n_nodes - 1, -1, -1):
        here = &cloud.grove.nodes[node]
        if here.feature < 0:
            held[node] = min(cloud.grove.leaves[here.left].n_active, n_points + 1)
        else:
            parent[here.left] = parent[here.right] = node
            held[node] = min(held[here.left] + held[here.right], n_points + 1)
    for particle in range(cloud.n_alive):
        sound = sound and held[cloud.roots[particle]] == n_points
    require(sound, "Cloud: a tree does not hold each point once")
    for node in range(cloud.grove.n_nodes):
        if cloud.grove.nodes[node].feature < 0:
            sound = sound and holds_its_points(cloud, node, parent, holder)
    require(sound, "Cloud: a point is not where its features lead")
    return 0


cdef bint holds_its_points(
    Particles cloud, int number, const int[::1] parent, int[::1] holder
) noexcept:
    """Whether the points of a leaf are different ones, and all come to it from above.

    `holder` notes who holds a point. Any parent will do: all of them split alike.
    """
    cdef const Leaf* leaf = &cloud.grove.leaves[cloud.grove.nodes[number].left]
    cdef const double* x
    cdef int i, slot, node
    for i in range(leaf.n_active):
        slot = cloud.grove.slots[leaf.slots + i]
        if holder[slot] == number:
            return False
        holder[slot] = node = number
        x = cloud.pool.x + <Py_ssize_t>slot * cloud.pool.n_columns
        while parent[node] >= 0:
            if side(&cloud.grove.nodes[parent[node]], x) != node:
                return False
            node = parent[node]
    return True
