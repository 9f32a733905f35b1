"""The trees of a particle filter as plain Python values."""

from collections import Counter

from libc.math cimport NAN

from .leaf_models cimport Fit, fit
from .leaves cimport row_score, score_subtree, sum_subtree
from .particles cimport ParticleFilter
from .shared_trees cimport Leaf, Node, leaf_at


def describe(ParticleFilter filter, int particle):
    cdef Node* here
    cdef int n_active, node
    cdef double gain
    cdef double* row = filter.row_other
    nodes = filter.trees.below(filter.roots[particle])
    numbers = {node: number for number, node in enumerate(nodes)}
    found, parents = [], {0: -1}
    for node in nodes:
        here = &filter.trees.nodes[node]
        n_active = sum_subtree(filter, node, row)
        gain, left, right = 0.0, -1, -1
        if here.feature >= 0:
            gain = score_subtree(filter, node, True) - filter.log_stop[here.depth]
            gain = max(0.0, gain - row_score(filter, row, row + filter.model.width))
            left, right = numbers[here.left], numbers[here.right]
            parents[left] = parents[right] = len(found)
        found.append({
            "node": len(found), "parent": parents[len(found)], "depth": here.depth,
            "left": left, "right": right, "feature": here.feature, "threshold": here.cut,
            "nominal": here.nominal, "missing_left": here.missing_left, "weight": row[0],
            "active": n_active, "retired": row[filter.model.width], "gain": gain,
            **({"values": [row[i] for i in range(1, filter.model.width)]}
               if filter.model.multinomial else fitted(filter, row)),
        })
    return found


cdef dict fitted(ParticleFilter filter, const double* row):
    """The regression in a node with these statistics, its prior included; slopes by column."""
    cdef Fit posterior = fit(&filter.model, row, True)
    cdef int size = filter.model.n_regressors + 1, n_cells = size * (size + 1) // 2, i, k
    cdef const double* factor = filter.model.scratch     # see `fit`
    cdef const double* means = factor + n_cells
    slopes = [factor[n_cells - size + i] for i in range(posterior.n_regressors)]
    for i in range(posterior.n_regressors - 1, -1, -1):
        for k in range(i + 1, posterior.n_regressors):
            slopes[i] -= factor[k * (k + 1) // 2 + i] * slopes[k]
    return {
        "values": [row[size], row[filter.model.width - 1]],
        "degrees_of_freedom": posterior.df if posterior.proper else 0.0,
        "residual_variance": posterior.sse / posterior.df if posterior.proper else NAN,
        "intercept": means[size - 1] - sum(slopes[i] * means[i] for i in range(len(slopes))),
        "coefficients": {filter.regressors[i]: slopes[i] for i in range(len(slopes))},
    }


def split_shares(ParticleFilter filter):
    cdef int particle, node
    answers = []
    for particle in range(filter.n_alive):
        shares = [0.0] * filter.pool.n_columns
        n_splits = max(1, filter.trees.nodes[filter.roots[particle]].n_leaves - 1)
        for node in filter.trees.below(filter.roots[particle]):
            if filter.trees.nodes[node].feature >= 0:
                shares[filter.trees.nodes[node].feature] += 1.0 / n_splits
        answers.append(shares)
    return answers


def tree_statistics(ParticleFilter filter):
    cdef int particle, node
    leaves, heights = [], []
    for particle in range(filter.n_alive):
        leaves.append(filter.trees.nodes[filter.roots[particle]].n_leaves)
        heights.append(max([filter.trees.nodes[node].depth
                            for node in filter.trees.below(filter.roots[particle])]))
    return leaves, heights


def distinct_roots(ParticleFilter filter):
    cdef int particle
    return list(Counter([filter.roots[particle] for particle in range(filter.n_alive)]).items())


def nodes_at(ParticleFilter filter, root):
    cdef int id
    cdef const Node* node
    cdef const Leaf* leaf
    if not 0 <= root < filter.trees.n_nodes or filter.trees.nodes[<int>root].refs == 0:
        raise IndexError(f"there is no node {root}: ask `distinct_roots`")
    found = []
    for id in filter.trees.below(root):
        node = &filter.trees.nodes[id]
        entry = {"node": id, "depth": node.depth, "feature": node.feature,
                 "n_leaves": node.n_leaves, "refs": node.refs, "region": node.region}
        if node.feature >= 0:
            entry.update(left=node.left, right=node.right, threshold=node.cut,
                         nominal=bool(node.nominal), missing_left=bool(node.missing_left))
        else:
            leaf = leaf_at(filter.trees, id)
            entry.update(
                slots=[filter.trees.slots[leaf.slots + i] for i in range(leaf.n_active)],
                total=[filter.trees.total(node.left)[i] for i in range(filter.model.width)],
                retired=[filter.trees.retired(node.left)[i] for i in range(filter.model.width)],
                time=leaf.time, decay=leaf.decay, log_marginal=leaf.log_marginal)
        found.append(entry)
    return found
