"""Finding the leaves of a point in all trees, each distinct one once."""

from libc.math cimport isnan

from .grove cimport MAX_DEPTH, MIN_BLOCK, Leaf, Node, side
from .particles cimport Particles

LARGEST_REGRESSOR = 1e50


cdef void fill_v(Particles cloud, const double* x, double target) noexcept nogil:
    """The point as leaf statistics see it: a missing regressor has its running mean."""
    cdef int i
    cdef double value
    for i in range(cloud.model.n_regressors):
        value = x[cloud.regressors[i]]
        cloud.v[i] = cloud.fill[i] if isnan(value) else limited(value)
    cloud.v[cloud.model.n_regressors] = target


cdef void next_tick(Particles cloud) noexcept nogil:
    """Make all memos of nodes out of date."""
    cdef int node
    cloud.tick += 1
    if cloud.tick == 0:      # the counter went round: no stamp of the past may look current
        for node in range(cloud.grove.n_nodes):
            cloud.grove.nodes[node].stamp = 0
        cloud.tick = 1


cdef void gather(Particles cloud, const double* x, int first, int stop) noexcept nogil:
    """Find the distinct leaves (visits) and leaf-parent pairs (groups) of x.

    A node that was passed in this gathering remembers the group below it, so that each
    distinct node is passed once.
    """
    cdef Node* nodes = cloud.grove.nodes
    cdef int path[MAX_DEPTH + 2]
    cdef int particle, node, n_path, i, group
    next_tick(cloud)
    cloud.n_visits = cloud.n_groups = 0
    for particle in range(first, stop):
        node = cloud.roots[particle]
        if particle > first and node == cloud.roots[particle - 1]:
            group = cloud.group_of[particle - 1]
        else:
            n_path = 0
            while nodes[node].feature >= 0 and nodes[node].stamp != cloud.tick:
                path[n_path] = node
                n_path += 1
                node = side(&nodes[node], x)
            if nodes[node].feature >= 0:
                group = nodes[node].memo
            else:
                if nodes[node].stamp != cloud.tick:
                    nodes[node].stamp = cloud.tick
                    nodes[node].memo = cloud.n_visits
                    cloud.visits[cloud.n_visits].node = node
                    cloud.visits[cloud.n_visits].share = 0.0
                    cloud.n_visits += 1
                group = cloud.n_groups
                cloud.groups[group].visit = nodes[node].memo
                cloud.groups[group].parent = path[n_path - 1] if n_path else -1
                cloud.n_groups += 1
            for i in range(n_path):
                nodes[path[i]].stamp = cloud.tick
                nodes[path[i]].memo = group
        cloud.group_of[particle] = group
        cloud.visits[cloud.groups[group].visit].share += cloud.share[particle]


cdef int reserve_slots(Particles cloud) except -1:
    """Make room for one more point in each of the leaves gathered."""
    cdef int visit, cells = 0
    cdef const Leaf* leaf
    for visit in range(cloud.n_visits):
        leaf = &cloud.grove.leaves[cloud.grove.nodes[cloud.visits[visit].node].left]
        if leaf.n_active == MIN_BLOCK << leaf.block:
            cells += MIN_BLOCK << (leaf.block + 1)
    if not cloud.grove.reserve(0, 0, cells):
        raise MemoryError
    return 0


cdef int find(Particles cloud, object x) except -1:
    """Find the leaves of x for a prediction."""
    cloud.schema.encode(x)
    fill_v(cloud, cloud.schema.row, 0.0)
    gather(cloud, cloud.schema.row, 0, cloud.n_alive)
    return 0


cdef double limited(double value) noexcept nogil:
    """A regressor whose products with others stay finite."""
    return min(max(value, -LARGEST_REGRESSOR), LARGEST_REGRESSOR)
