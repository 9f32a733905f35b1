"""The trees of a cloud as plain Python values."""

from libc.math cimport NAN

from .grove cimport Leaf, Node
from .posterior cimport Fit, fit
from .leaves cimport row_score, score_subtree, sum_subtree
from .particles cimport Particles


def describe(Particles cloud, int particle):
    """The nodes of one tree in preorder, as dicts of plain values."""
    cdef Node* here
    cdef int n_active, node, parent, is_left, number
    cdef double gain
    cdef double* row = cloud.row_other
    found = []
    stack = [(cloud.roots[particle], -1, False)]
    while stack:
        node, parent, is_left = stack.pop()
        here = &cloud.grove.nodes[node]
        number = len(found)
        if parent >= 0:
            found[parent]["left" if is_left else "right"] = number
        n_active = sum_subtree(cloud, node, row)
        gain = 0.0
        if here.feature >= 0:
            gain = score_subtree(cloud, node, True) - cloud.log_stop[here.depth]
            gain = max(0.0, gain - row_score(cloud, row, row + cloud.model.width))
        found.append({
            "node": number, "parent": parent, "depth": here.depth, "left": -1, "right": -1,
            "feature": here.feature, "threshold": here.cut, "nominal": here.nominal,
            "missing_left": here.missing_left, "weight": row[0],
            "active": n_active, "retired": row[cloud.model.width],
            "gain": gain,
            "values": [row[i] for i in range(1, cloud.model.width)]
            if cloud.model.multinomial
            else [row[cloud.model.n_regressors + 1], row[cloud.model.width - 1]],
        })
        if not cloud.model.multinomial:
            found[number].update(fitted(cloud, row))
        if here.feature >= 0:
            stack += [(here.right, number, False), (here.left, number, True)]
    return found


cdef dict fitted(Particles cloud, const double* row):
    """The regression in a node with these statistics, its prior included; slopes by column."""
    cdef Fit posterior = fit(&cloud.model, row, True)
    cdef int size = cloud.model.n_regressors + 1, n_cells = size * (size + 1) // 2, i, k
    cdef const double* factor = cloud.model.scratch     # see `fit`
    cdef const double* means = factor + n_cells
    slopes = [factor[n_cells - size + i] for i in range(posterior.n_regressors)]
    for i in range(posterior.n_regressors - 1, -1, -1):
        for k in range(i + 1, posterior.n_regressors):
            slopes[i] -= factor[k * (k + 1) // 2 + i] * slopes[k]
    return {
        "degrees_of_freedom": posterior.df if posterior.proper else 0.0,
        "residual_variance": posterior.sse / posterior.df if posterior.proper else NAN,
        "intercept": means[size - 1] - sum(slopes[i] * means[i] for i in range(len(slopes))),
        "coefficients": {cloud.regressors[i]: slopes[i] for i in range(len(slopes))},
    }


def split_shares(Particles cloud):
    """Per particle and column: share of the column in the splits of the tree."""
    cdef int node
    answers = []
    for particle in range(cloud.n_alive):
        shares = [0.0] * cloud.pool.n_columns
        stack = [cloud.roots[<int>particle]]
        n_splits = max(1, cloud.grove.nodes[cloud.roots[<int>particle]].n_leaves - 1)
        while stack:
            node = stack.pop()
            if cloud.grove.nodes[node].feature >= 0:
                shares[cloud.grove.nodes[node].feature] += 1.0 / n_splits
                stack += [cloud.grove.nodes[node].left, cloud.grove.nodes[node].right]
        answers.append(shares)
    return answers


def tree_statistics(Particles cloud):
    """Per particle: number of leaves and height, the number of splits on the longest path."""
    cdef int particle, node, deepest
    leaves, heights = [], []
    for particle in range(cloud.n_alive):
        stack = [cloud.roots[particle]]
        deepest = 0
        while stack:
            node = stack.pop()
            if cloud.grove.nodes[node].feature >= 0:
                stack += [cloud.grove.nodes[node].left, cloud.grove.nodes[node].right]
            else:
                deepest = max(deepest, cloud.grove.nodes[node].depth)
        leaves.append(cloud.grove.nodes[cloud.roots[particle]].n_leaves)
        heights.append(deepest)
    return leaves, heights


def distinct_roots(Particles cloud):
    """(root, number of particles) of each distinct tree."""
    found = {}
    for particle in range(cloud.n_alive):
        found[cloud.roots[<int>particle]] = found.get(cloud.roots[<int>particle], 0) + 1
    return list(found.items())


def nodes(Particles cloud, int root):
    """Nodes of the tree at a root in preorder, left before right, as plain values.

    Statistics of a leaf are as of its time, the number of samples seen when it last faded.
    """
    cdef int id
    cdef Node* node
    cdef Leaf* leaf
    found = []
    stack = [root]
    while stack:
        id = stack.pop()
        assert 0 <= id < cloud.grove.n_nodes and cloud.grove.nodes[id].refs > 0
        node = &cloud.grove.nodes[id]
        entry = {"node": id, "depth": node.depth, "feature": node.feature,
                 "n_leaves": node.n_leaves, "refs": node.refs, "region": node.region}
        if node.feature >= 0:
            entry.update(left=node.left, right=node.right, threshold=node.cut,
                         nominal=bool(node.nominal), missing_left=bool(node.missing_left))
            stack += [node.right, node.left]
        else:
            leaf = &cloud.grove.leaves[node.left]
            entry.update(
                slots=[cloud.grove.slots[leaf.slots + i] for i in range(leaf.n_active)],
                total=[cloud.grove.total(node.left)[i] for i in range(cloud.model.width)],
                retired=[cloud.grove.retired(node.left)[i] for i in range(cloud.model.width)],
                time=leaf.time, decay=leaf.decay, log_marginal=leaf.log_marginal)
        found.append(entry)
    return found
