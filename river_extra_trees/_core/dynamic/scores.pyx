"""Scores of samples: section 4 of the paper. See the header."""

import numpy as np

from libc.math cimport INFINITY, log
from libc.string cimport memcpy

from ..linalg cimport Fit, LeafModel, fit, leverage, solved_of, substitute_back
from ..rng cimport DISCARD, Rng, below, rng_for
from ..window cimport Window
from .leaf_models cimport class_share
from .particles cimport (
    ALC, ALM, ENTROPY, OLDEST, RANDOM, Particles, Policy, decay_ahead, decayed, v_of,
)
from .shared_trees cimport Leaf, Node, SharedTrees

# Smallest value of the degrees of freedom minus two in a variance.
cdef double LEAST_DF = 0.1


cdef class Acquisition:
    """The distinct nodes of a filter, with the weight of their trees and their boxes.

    It is valid until the next sample.
    """

    cdef Particles filter
    cdef const int[::1] nodes   # distinct nodes, parents before children
    cdef double[::1] share      # per node id: sum of the weights of its trees
    cdef double[::1] boxes      # boxes[2 (node id * n_regressors + i)]: bounds of regressor i
    cdef double mass            # mean weight of all samples in a tree

    def __cinit__(self, Particles filter not None):
        cdef SharedTrees trees = filter.trees
        cdef size_t n = trees.n_nodes
        cdef const Node* here
        cdef int particle, node
        self.filter = filter
        self.nodes = trees.nodes_below(filter.roots, filter.n_alive)
        self.share = np.zeros(n)
        self.boxes = np.zeros(2 * n * filter.model.n_regressors + 1)
        for particle in range(filter.n_alive):
            node = filter.roots[particle]
            if self.share[node] == 0.0:
                self.range_of_all(node)
            self.share[node] += filter.share[particle]
        for node in self.nodes:
            here = &trees.nodes[node]
            if here.leaf == NULL:
                self.pass_down(node, here.left, True)
                self.pass_down(node, here.right, False)
            else:
                self.mass += self.weight_of(here.leaf) * self.share[node]

    cdef void range_of_all(self, int node) noexcept:
        """The box of a root: the range of the active samples."""
        cdef Window pool = self.filter.pool
        cdef int i, column
        cdef const int* order
        cdef double* box = self.box_of(node)
        for i in range(self.filter.model.n_regressors):
            column = self.filter.regressors[i].feature
            if column >= pool.n_columns or pool.lines[column] < 0:
                box[2 * i] = box[2 * i + 1] = self.filter.regressors[i].fill
                continue
            order = pool.order_of(column)
            box[2 * i] = pool.values_of(column)[order[0]]
            box[2 * i + 1] = pool.values_of(column)[order[pool.present(column) - 1]]

    cdef void pass_down(self, int node, int child, bint left) noexcept nogil:
        """Pass share and box of a node to one of its children."""
        cdef int i, q = self.filter.model.n_regressors
        cdef const double* box = self.box_of(node)
        cdef double* cut = self.box_of(child)
        cdef const Node* here = &self.filter.trees.nodes[node]
        if self.share[child] == 0.0:
            memcpy(cut, box, 2 * q * sizeof(double))
            for i in range(q):
                if self.filter.regressors[i].feature == here.split.feature:
                    cut[2 * i + left] = max(cut[2 * i], min(cut[2 * i + 1], here.split.threshold))
        self.share[child] += self.share[node]

    cdef double weight_of(self, const Leaf* leaf) noexcept nogil:
        """Weight of the samples of a leaf, decayed to the time of the next sample."""
        return leaf.total[0] * decay_ahead(self.filter, leaf, 1)

    cdef double* box_of(self, int node) noexcept nogil:
        return &self.boxes[2 * <Py_ssize_t>node * self.filter.model.n_regressors]

    cdef double alc(self, int node, const Fit* posterior, const double* v) noexcept nogil:
        """Decrease of the predictive variance by another sample at v in the leaf fitted last.

        Averaged over the whole space, in which a leaf has the weight of its samples, by the closed
        form of section 4.2: with u = S^-1 (v - mean) the covariance of the predictions at z and v
        is 1/n + (z - mean)'u, and over a box its square averages to the square of its value in the
        middle plus sum u_i^2 width_i^2 / 12.
        """
        cdef const LeafModel* model = &self.filter.model
        cdef int size = model.n_regressors + 1, i
        cdef const double* box = self.box_of(node)
        cdef const double* means = model.scratch + size * (size + 1) // 2
        cdef double* solved = solved_of(model)
        cdef double centre = 1.0 / posterior.weight, spread = 0.0, share, mean, width, lever
        if not posterior.proper:
            return INFINITY
        share = self.weight_of(self.filter.trees.nodes[node].leaf) / max(1e-300, self.mass)
        lever = leverage(model, posterior, v, &mean)
        for i in range(posterior.n_regressors):
            solved[i] /= model.scratch[i * (i + 1) // 2 + i]
        substitute_back(model.scratch, posterior.n_regressors, solved)
        for i in range(posterior.n_regressors - 1, -1, -1):
            centre += solved[i] * (0.5 * (box[2 * i] + box[2 * i + 1]) - means[i])
            width = box[2 * i + 1] - box[2 * i]
            spread += solved[i] * solved[i] * width * width / 12.0
        # (s^2 - R) / (|eta| - m - 3) of the paper, df being |eta| - m - 1
        return share * (
            posterior.sse / max(LEAST_DF, posterior.df - 2.0) / (1.0 + lever)
            * (centre * centre + spread)
        )

    cdef void score_leaf(self, int node, Policy criterion, double[:, ::1] sums) noexcept nogil:
        """Add the scores of the samples of a leaf to `sums`, see `scores`."""
        cdef const Leaf* leaf = self.filter.trees.nodes[node].leaf
        cdef int i, slot
        cdef const double* v
        cdef double* cells
        cdef double n = self.share[node], worth = 0.0, mean, lever
        cdef Fit posterior
        cdef const double* row = decayed(self.filter, leaf, 1)
        if criterion == ENTROPY:
            worth = leaf_entropy(&self.filter.model, row)
        else:
            posterior = fit(&self.filter.model, row, True)
        for i in range(leaf.n_active):
            slot = leaf.slots[i]
            v = v_of(self.filter, slot)
            cells = &sums[slot, 0]
            if criterion == ALC:
                worth = self.alc(node, &posterior, v)
            elif criterion == ALM and not posterior.proper:
                worth = INFINITY
            elif criterion == ALM:
                lever = leverage(&self.filter.model, &posterior, v, &mean)
                worth = posterior.sse / max(LEAST_DF, posterior.df - 2.0) * (1.0 + lever)
                cells[1] += n * mean
                cells[2] += n * mean * mean
            cells[0] += n * worth
            cells[3] += n


cdef double[:, ::1] scores(Particles filter, Policy criterion):
    """The score of each slot's sample, averaged over the trees in which it is active.

    It is in the first of four columns.

    ALC: decrease of the predictive variance over the space. ALM: predictive variance at the sample,
    including the variance among the trees. ENTROPY: entropy of the predictive class probabilities.
    The others are scratch: the sums of the means, of their squares, and of the weights of the
    trees.
    """
    cdef Acquisition acquisition = Acquisition(filter)
    cdef double[:, ::1] sums = np.zeros((filter.pool.capacity, 4))
    cdef int i, node
    cdef double held
    for node in acquisition.nodes:
        if filter.trees.nodes[node].leaf != NULL:
            acquisition.score_leaf(node, criterion, sums)
    for i in range(filter.pool.capacity):
        held = sums[i, 3] if filter.n_decays > 1 and sums[i, 3] > 0.0 else 1.0
        sums[i, 1] /= held
        sums[i, 0] = (sums[i, 0] + sums[i, 2]) / held - sums[i, 1] * sums[i, 1]
    return sums


cdef int to_retire(Particles filter, Policy policy) except? -1 nogil:
    """Slot of the active sample to retire next."""
    cdef Rng rng
    if policy == OLDEST:
        return filter.pool.by_arrival[0]
    if policy == RANDOM:
        rng = rng_for(filter.seed, 0, filter.pool.n_seen, DISCARD)
        return filter.drawn[below(&rng, filter.pool.size)]
    return least_useful(filter, policy)


cdef int least_useful(Particles filter, Policy criterion) except? -1 with gil:
    """Slot of the sample with the smallest score, the oldest of equal ones."""
    cdef double[:, ::1] sums = scores(filter, criterion)
    cdef const int* slots = filter.pool.by_arrival
    cdef int i, best = slots[0]
    for i in range(1, filter.pool.size):
        if sums[slots[i], 0] < sums[best, 0]:
            best = slots[i]
    return best


cdef double alc_at(Particles filter, object x) except? -1.0:
    """ALC of features without a target, averaged over the trees."""
    cdef Acquisition acquisition = Acquisition(filter)
    cdef double total = 0.0
    cdef int hit
    cdef Fit posterior
    filter.schema.encode(x)
    filter.find_row()
    for hit in range(filter.n_hits):
        posterior = fit(&filter.model, filter.statistics_of(hit), True)
        total += filter.hits[hit].share * acquisition.alc(
            filter.hits[hit].node, &posterior, filter.v)
    return total


cdef double leaf_entropy(const LeafModel* model, const double* row) noexcept nogil:
    """Entropy of the predictive class probabilities of a leaf, section 4.3."""
    cdef double share, entropy = 0.0
    cdef int k
    for k in range(model.n_classes):
        share = class_share(model, row, k)
        entropy -= share * log(share)
    return entropy
