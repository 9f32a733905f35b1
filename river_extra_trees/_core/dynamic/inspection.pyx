"""The trees of a particle filter as Python values, and scores of samples and columns."""

from collections import Counter

from libc.math cimport INFINITY, NAN, log
from libc.stdint cimport int64_t

from ..linalg cimport (
    MAX_REGRESSORS, Fit, LeafModel, fit, leverage, slopes_of, solved_of, substitute_back,
)
from ..memory cimport free, zeroed
from .particles cimport (
    ALC, ALM, ENTROPY, Particles, Policy, faded, fading, row_score, score_subtree, sum_subtree,
)
from .pool cimport Pool, column_of, v_of, x_of
from .shared_trees cimport Leaf, Node, SharedTrees, leaf_at

# Smallest value of the degrees of freedom minus two in a variance.
cdef double LEAST_DF = 0.1


# --- Plain values ---------------------------------------------------------------------------

cdef list describe(Particles filter, int particle):
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
        if here.split.feature >= 0:
            gain = score_subtree(filter, node, True) - filter.log_stop[here.depth]
            gain = max(0.0, gain - row_score(filter, row, row + filter.model.width))
            left, right = numbers[here.left], numbers[here.right]
            parents[left] = parents[right] = len(found)
        found.append({
            "node": len(found), "parent": parents[len(found)], "depth": here.depth,
            "left": left, "right": right, "feature": here.split.feature,
            "threshold": here.split.threshold, "nominal": here.split.nominal,
            "missing_left": here.split.missing_left, "weight": row[0], "active": n_active,
            "retired": row[filter.model.width], "gain": gain,
            **({"values": [row[i] for i in range(1, filter.model.width)]}
               if filter.model.multinomial else fitted(filter, row)),
        })
    return found


cdef dict fitted(Particles filter, const double* row):
    """The regression of a node with these statistics and the prior; coefficients by column."""
    cdef Fit posterior = fit(&filter.model, row, True)
    cdef int size = filter.model.n_regressors + 1, i
    cdef const double* means = filter.model.scratch + size * (size + 1) // 2      # see `fit`
    cdef double[MAX_REGRESSORS] found
    slopes_of(&filter.model, &posterior, found)
    slopes = [found[i] for i in range(posterior.n_regressors)]
    return {
        "values": [row[size], row[filter.model.width - 1]],
        "degrees_of_freedom": posterior.df if posterior.proper else 0.0,
        "residual_variance": posterior.sse / posterior.df if posterior.proper else NAN,
        "intercept": means[size - 1] - sum(slopes[i] * means[i] for i in range(len(slopes))),
        "coefficients": {filter.regressors[i]: slopes[i] for i in range(len(slopes))},
    }


cdef list split_shares(Particles filter):
    cdef int particle, node
    answers = []
    for particle in range(filter.n_alive):
        shares = [0.0] * filter.pool.n_columns
        n_splits = max(1, filter.trees.nodes[filter.roots[particle]].n_leaves - 1)
        for node in filter.trees.below(filter.roots[particle]):
            if filter.trees.nodes[node].split.feature >= 0:
                shares[filter.trees.nodes[node].split.feature] += 1.0 / n_splits
        answers.append(shares)
    return answers


cdef tuple tree_statistics(Particles filter):
    cdef int particle, node
    leaves, heights = [], []
    for particle in range(filter.n_alive):
        leaves.append(filter.trees.nodes[filter.roots[particle]].n_leaves)
        heights.append(max([filter.trees.nodes[node].depth
                            for node in filter.trees.below(filter.roots[particle])]))
    return leaves, heights


cdef list distinct_roots(Particles filter):
    cdef int particle
    return list(Counter([filter.roots[particle] for particle in range(filter.n_alive)]).items())


cdef list nodes_at(Particles filter, object root):
    cdef int id
    cdef const Node* node
    cdef const Leaf* leaf
    if not 0 <= root < filter.trees.n_nodes or filter.trees.nodes[<int>root].refs == 0:
        raise IndexError(f"there is no node {root}: ask `distinct_roots`")
    found = []
    for id in filter.trees.below(root):
        node = &filter.trees.nodes[id]
        entry = {"node": id, "depth": node.depth, "feature": node.split.feature,
                 "n_leaves": node.n_leaves, "refs": node.refs, "region": node.region}
        if node.split.feature >= 0:
            entry.update(
                left=node.left, right=node.right, threshold=node.split.threshold,
                nominal=bool(node.split.nominal), missing_left=bool(node.split.missing_left))
        else:
            leaf = leaf_at(filter.trees, id)
            entry.update(
                slots=[filter.trees.slots[leaf.slots + i] for i in range(leaf.n_active)],
                total=[filter.trees.total(node.left)[i] for i in range(filter.model.width)],
                retired=[filter.trees.retired(node.left)[i] for i in range(filter.model.width)],
                time=leaf.time, decay=leaf.decay, log_marginal=leaf.log_marginal)
        found.append(entry)
    return found


# --- Scores: section 4 of the paper --------------------------------------------------------

cdef class Acquisition:
    """The distinct nodes of a filter, with the weight of their trees and their boxes.

    It is valid until the next sample.
    """

    cdef Particles filter
    cdef int* nodes             # distinct nodes, parents before children
    cdef int n_nodes
    cdef double* share          # per node id: sum of the weights of its trees
    cdef double* boxes          # boxes[2 (node id * n_regressors + i)]: bounds of regressor i
    cdef double mass            # mean weight of all samples in a tree

    def __cinit__(self, Particles filter not None):
        cdef size_t n = filter.trees.n_nodes
        self.filter = filter
        self.nodes = <int*>zeroed(n, sizeof(int))
        self.share = <double*>zeroed(n, sizeof(double))
        self.boxes = <double*>zeroed(n * filter.model.n_regressors, 2 * sizeof(double))
        self.visit_all()

    def __dealloc__(self):
        free(self.nodes)
        free(self.share)
        free(self.boxes)

    cdef void visit_all(self) noexcept:
        """List every node once, and pass shares and boxes from parents to children."""
        cdef SharedTrees trees = self.filter.trees
        cdef const Node* here
        cdef int particle, node, i
        self.n_nodes = trees.distinct(self.filter.roots, self.filter.n_alive, self.nodes)
        for particle in range(self.filter.n_alive):
            node = self.filter.roots[particle]
            if self.share[node] == 0.0:
                self.range_of_all(node)
            self.share[node] += self.filter.share[particle]
        for i in range(self.n_nodes):
            node = self.nodes[i]
            here = &trees.nodes[node]
            if here.split.feature >= 0:
                self.hand_down(node, here.left, True)
                self.hand_down(node, here.right, False)
            else:
                self.mass += self.weight_of(here.left) * self.share[node]

    cdef void range_of_all(self, int node) noexcept:
        """The box of a root: the range of the active samples."""
        cdef Pool pool = self.filter.pool
        cdef int i, column, n_present
        cdef const int* order
        cdef double* box = self.box_of(node)
        for i in range(self.filter.model.n_regressors):
            column = self.filter.regressors[i]
            order = column_of(pool, pool.order, column)
            n_present = pool.n_present[column]
            box[2 * i] = box[2 * i + 1] = self.filter.fill[i]
            if n_present:
                box[2 * i] = x_of(pool, order[0])[column]
                box[2 * i + 1] = x_of(pool, order[n_present - 1])[column]

    cdef void hand_down(self, int node, int child, bint left) noexcept nogil:
        """Pass share and box of a node to one of its children."""
        cdef int i, q = self.filter.model.n_regressors
        cdef const double* box = self.box_of(node)
        cdef double* cut = self.box_of(child)
        cdef const Node* here = &self.filter.trees.nodes[node]
        if self.share[child] == 0.0:
            for i in range(2 * q):
                cut[i] = box[i]
            for i in range(q):
                if not here.split.nominal and self.filter.regressors[i] == here.split.feature:
                    if left:
                        cut[2 * i + 1] = max(cut[2 * i], min(cut[2 * i + 1], here.split.threshold))
                    else:
                        cut[2 * i] = min(cut[2 * i + 1], max(cut[2 * i], here.split.threshold))
        self.share[child] += self.share[node]

    cdef double weight_of(self, int leaf) noexcept nogil:
        """Weight of the samples of a leaf, decayed to the time of the next sample."""
        return self.filter.trees.total(leaf)[0] * fading(self.filter, leaf, 1)

    cdef double* box_of(self, int node) noexcept nogil:
        return self.boxes + 2 * <size_t>node * self.filter.model.n_regressors

    cdef double alc(self, const Fit* posterior, const double* v, const double* box) noexcept nogil:
        """Decrease of the predictive variance, averaged over the box, by another sample at v.

        The closed form of section 4.2: with u = S^-1 (v - mean) the covariance of the predictions
        at z and v is 1/n + (z - mean)'u, and over a box its square averages to the square of its
        value in the middle plus sum u_i^2 width_i^2 / 12.
        """
        cdef const LeafModel* model = &self.filter.model
        cdef int size = model.n_regressors + 1, n_cells = size * (size + 1) // 2, i
        cdef int q = posterior.n_regressors
        cdef const double* means = model.scratch + n_cells
        cdef const double* factor = model.scratch
        cdef double centre = 1.0 / posterior.weight, spread = 0.0, mean, width
        cdef double* solved = solved_of(model)
        cdef double lever = leverage(model, posterior, v, &mean)
        for i in range(q):
            solved[i] /= factor[i * (i + 1) // 2 + i]
        substitute_back(factor, q, solved)
        for i in range(q - 1, -1, -1):
            centre += solved[i] * (0.5 * (box[2 * i] + box[2 * i + 1]) - means[i])
            width = box[2 * i + 1] - box[2 * i]
            spread += solved[i] * solved[i] * width * width / 12.0
        return (        # (s^2 - R) / (|eta| - m - 3) of the paper, df being |eta| - m - 1
            posterior.sse / max(LEAST_DF, posterior.df - 2.0) / (1.0 + lever)
            * (centre * centre + spread)
        )

    cdef double alc_in(self, int node, const Fit* posterior, const double* v) noexcept nogil:
        """ALC of v over the whole space, in which a leaf has the weight of its samples."""
        cdef int leaf = self.filter.trees.nodes[node].left
        cdef double share = self.weight_of(leaf) / max(1e-300, self.mass)
        if not posterior.proper:
            return INFINITY
        return share * self.alc(posterior, v, self.box_of(node))

    cdef void score_leaf(self, int node, Policy criterion, double* sums) noexcept nogil:
        """Add the scores of the samples of a leaf to `sums`, which has three numbers per slot."""
        cdef int leaf = self.filter.trees.nodes[node].left, i, slot
        cdef const Leaf* here = &self.filter.trees.leaves[leaf]
        cdef const int* slots = self.filter.trees.slots + here.slots
        cdef const double* v
        cdef double* cells
        cdef double n = self.share[node], worth = 0.0, mean, lever
        cdef Fit posterior
        cdef const double* row = faded(self.filter, leaf, 1, self.filter.row_other)
        if criterion == ENTROPY:
            worth = leaf_entropy(&self.filter.model, row)
        else:
            posterior = fit(&self.filter.model, row, True)
        for i in range(here.n_active):
            slot = slots[i]
            v = v_of(self.filter.pool, slot)
            cells = sums + 3 * <size_t>slot
            if criterion == ALC:
                worth = self.alc_in(node, &posterior, v)
            elif criterion == ALM and not posterior.proper:
                worth = INFINITY
            elif criterion == ALM:
                lever = leverage(&self.filter.model, &posterior, v, &mean)
                worth = posterior.sse / max(LEAST_DF, posterior.df - 2.0) * (1.0 + lever)
                cells[1] += n * mean
                cells[2] += n * mean * mean
            cells[0] += n * worth


cdef int score_all(Particles filter, Policy criterion, double* sums) except -1:
    """Compute the score of every active sample, in the first of its three cells."""
    cdef Acquisition acquisition = Acquisition(filter)
    cdef int i
    with nogil:
        for i in range(acquisition.n_nodes):
            if filter.trees.nodes[acquisition.nodes[i]].split.feature < 0:
                acquisition.score_leaf(acquisition.nodes[i], criterion, sums)
        for i in range(filter.pool.capacity):
            sums[3 * <size_t>i] += (
                sums[3 * <size_t>i + 2] - sums[3 * <size_t>i + 1] * sums[3 * <size_t>i + 1])
    return 0


cdef dict scores(Particles filter, Policy criterion):
    cdef double* sums = <double*>zeroed(filter.pool.capacity, 3 * sizeof(double))
    cdef int slot
    try:
        score_all(filter, criterion, sums)
        return {slot: sums[3 * <size_t>slot] for slot in range(filter.pool.capacity)
                if filter.pool.arrival[slot] >= 0}
    finally:
        free(sums)


cdef int least_useful(Particles filter, Policy criterion) except? -1 with gil:
    cdef double* sums = <double*>zeroed(filter.pool.capacity, 3 * sizeof(double))
    cdef const int64_t* arrival = filter.pool.arrival
    cdef int slot, best = -1
    cdef double score, least = 0.0
    try:
        score_all(filter, criterion, sums)
        for slot in range(filter.pool.capacity):
            score = sums[3 * <size_t>slot]
            if arrival[slot] >= 0 and (
                best < 0 or score < least or (score == least and arrival[slot] < arrival[best])
            ):
                best, least = slot, score
        return best
    finally:
        free(sums)


cdef double alc_at(Particles filter, object x) except? -1.0:
    cdef Acquisition acquisition = Acquisition(filter)
    cdef double total = 0.0
    cdef int hit
    cdef Fit posterior
    filter.find_leaves(x)
    for hit in range(filter.n_hits):
        posterior = fit(&filter.model, filter.statistics_of(hit), True)
        total += filter.hits[hit].share * acquisition.alc_in(
            filter.hits[hit].node, &posterior, filter.v)
    return total


cdef list relevance(Particles filter):
    cdef int particle, node, column
    cdef double whole
    cdef double* row = filter.row_other
    answers = []
    known = {}
    for particle in range(filter.n_alive):
        if filter.roots[particle] in known:
            answers.append(known[filter.roots[particle]])
            continue
        gains = [0.0] * filter.pool.n_columns
        whole = 0.0
        stack = [(filter.roots[particle], -1)]
        while stack:
            node, column = stack.pop()
            sum_subtree(filter, node, row)
            spread = spread_of(filter, row)
            if column >= 0:
                gains[column] -= spread
            else:
                whole = row[0]
            if filter.trees.nodes[node].split.feature >= 0:
                column = filter.trees.nodes[node].split.feature
                gains[column] += spread
                stack.append((filter.trees.nodes[node].left, column))
                stack.append((filter.trees.nodes[node].right, column))
        known[filter.roots[particle]] = [gain / max(whole, 1e-300) for gain in gains]
        answers.append(known[filter.roots[particle]])
    return answers


cdef double spread_of(Particles filter, const double* row) noexcept nogil:
    """Weight of a region times its predictive variance, or its entropy."""
    cdef Fit result
    if filter.model.multinomial:
        return row[0] * leaf_entropy(&filter.model, row)
    result = fit(&filter.model, row, True)
    return row[0] * result.sse / result.df * (1.0 + 1.0 / result.weight) if result.proper else 0.0


cdef double leaf_entropy(const LeafModel* model, const double* row) noexcept nogil:
    """Entropy of the predictive class probabilities of a leaf, section 4.3."""
    cdef double share, entropy = 0.0
    cdef int k
    for k in range(model.n_classes):
        share = (row[1 + k] + model.concentration) / (
            row[0] + model.n_classes * model.concentration)
        entropy -= share * log(share)       # section 4.3
    return entropy
