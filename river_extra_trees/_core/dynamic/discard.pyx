"""What the active points are worth to a cloud of dynamic trees: section 4 of the paper.

The point that teaches least about the leaves it lies in is the one to retire. The scores of a leaf
are computed once, for all trees that hold it.
"""

from libc.math cimport INFINITY, log, pow
from libc.string cimport memcpy

from .gathering cimport find
from .particles cimport Particles
from .grove cimport Leaf, Node
from ..memory cimport calloc, free, malloc
from .posterior cimport Fit, LeafModel, fit, scale

cdef enum Criterion:
    ALC
    ALM
    ENTROPY

CRITERIA = {"alc": ALC, "alm": ALM, "entropy": ENTROPY}

# Degrees of freedom beyond two that a variance is computed with at least.
cdef double LEAST_DF = 0.1


cdef class Survey:
    """The distinct nodes of a cloud, what share of the trees holds each, and the boxes they cover.

    It is a picture of the moment: after the next sample a new one is needed.
    """

    cdef Particles cloud
    cdef int* nodes             # distinct nodes, parents before children
    cdef int n_nodes
    cdef double* share          # per node id: of the trees that hold it
    cdef double* boxes          # boxes[2 (node id * n_regressors + i)]: bounds of regressor i
    cdef double* solved         # scratch: see `lean_on`
    cdef double* row            # scratch: the statistics of a leaf
    cdef double mass            # weight of all samples in a tree, on average

    def __cinit__(self, Particles cloud not None):
        cdef size_t n = cloud.grove.n_nodes, q = cloud.model.n_regressors
        self.cloud = cloud
        self.nodes = <int*>malloc(n * sizeof(int))
        self.share = <double*>calloc(n, sizeof(double))
        self.boxes = <double*>malloc(2 * (n * q + 1) * sizeof(double))
        self.solved = <double*>malloc((q + 1) * sizeof(double))
        self.row = <double*>malloc(cloud.model.width * sizeof(double))
        if (
            self.nodes == NULL or self.share == NULL or self.boxes == NULL
            or self.solved == NULL or self.row == NULL
        ):
            raise MemoryError
        with nogil:
            self.visit_all()

    def __dealloc__(self):
        free(self.nodes)
        free(self.share)
        free(self.boxes)
        free(self.solved)
        free(self.row)

    cdef void visit_all(self) noexcept nogil:
        """List every node once, level by level, handing counts and boxes down."""
        cdef Node* nodes = self.cloud.grove.nodes
        cdef int particle, node, at = 0, leaf
        for particle in range(self.cloud.n_alive):
            node = self.cloud.roots[particle]
            if self.share[node] == 0.0:
                self.append(node)
                self.range_of_all(node)
            self.share[node] += self.cloud.share[particle]
        while at < self.n_nodes:
            node = self.nodes[at]
            at += 1
            if nodes[node].feature >= 0:
                self.descend(node, nodes[node].left, True)
                self.descend(node, nodes[node].right, False)
                continue
            leaf = nodes[node].left
            self.mass += self.share[node] * self.cloud.grove.total(leaf)[0] * self.fading(leaf)

    cdef double fading(self, int leaf) noexcept nogil:
        """What the samples of a leaf will have kept of their weight when the next one comes."""
        cdef const Leaf* here = &self.cloud.grove.leaves[leaf]
        if here.decay == 1.0 or self.cloud.reference:
            return 1.0
        return pow(here.decay, <double>(self.cloud.n_seen + 1 - here.time))

    cdef const double* faded(self, int leaf) noexcept nogil:
        """The statistics of a leaf as the next sample will meet them."""
        cdef const double* row = self.cloud.grove.total(leaf)
        cdef double factor = self.fading(leaf)
        if factor == 1.0:
            return row
        memcpy(self.row, row, self.cloud.model.width * sizeof(double))
        scale(&self.cloud.model, self.row, factor)
        return self.row

    cdef void append(self, int node) noexcept nogil:
        self.nodes[self.n_nodes] = node
        self.n_nodes += 1

    cdef void range_of_all(self, int node) noexcept nogil:
        """The box of a root: the range of the active points."""
        cdef int i, column, n_present, q = self.cloud.model.n_regressors
        cdef const int* order
        cdef double* box = self.boxes + 2 * <size_t>node * q
        for i in range(q):
            column = self.cloud.regressors[i]
            order = self.cloud.pool.order + <size_t>column * self.cloud.pool.capacity
            n_present = self.cloud.pool.n_present[column]
            box[2 * i] = box[2 * i + 1] = self.cloud.fill[i]
            if n_present:
                box[2 * i] = self.value(order[0], column)
                box[2 * i + 1] = self.value(order[n_present - 1], column)

    cdef double value(self, int slot, int column) noexcept nogil:
        return self.cloud.pool.x[<size_t>slot * self.cloud.pool.n_columns + column]

    cdef void descend(self, int node, int child, bint left) noexcept nogil:
        """Hand count and box of a node to one of its children."""
        cdef int i, q = self.cloud.model.n_regressors
        cdef const double* box = self.boxes + 2 * <size_t>node * q
        cdef double* cut = self.boxes + 2 * <size_t>child * q
        cdef const Node* here = &self.cloud.grove.nodes[node]
        if self.share[child] == 0.0:
            self.append(child)
            for i in range(2 * q):
                cut[i] = box[i]
            for i in range(q):
                if not here.nominal and self.cloud.regressors[i] == here.feature:
                    if left:
                        cut[2 * i + 1] = max(cut[2 * i], min(cut[2 * i + 1], here.cut))
                    else:
                        cut[2 * i] = min(cut[2 * i + 1], max(cut[2 * i], here.cut))
        self.share[child] += self.share[node]

    cdef double lean_on(
        self, const Fit* posterior, const double* v, double* mean
    ) noexcept nogil:
        """Leverage of a point v in a fitted leaf, and the mean there.

        Leaves L^-1 (v - mean of v) in `solved`; the factor L D L' is in the model's scratch.
        """
        cdef const LeafModel* model = &self.cloud.model
        cdef int size = model.n_regressors + 1, n_cells = size * (size + 1) // 2, i, k
        cdef const double* means = model.scratch + n_cells
        cdef const double* row = model.scratch
        cdef const double* target = model.scratch + n_cells - size
        cdef double leverage = 1.0 / posterior.weight
        mean[0] = means[size - 1]
        for i in range(posterior.n_regressors):
            self.solved[i] = v[i] - means[i]
            for k in range(i):
                self.solved[i] -= row[k] * self.solved[k]
            leverage += self.solved[i] * self.solved[i] / row[i]
            mean[0] += target[i] * self.solved[i]
            row += i + 1
        return leverage

    cdef double alc(
        self, const Fit* posterior, const double* v, const double* box
    ) noexcept nogil:
        """Fall of the predictive variance, averaged over the box, if v is seen once more.

        The closed form of section 4.2: with u = S^-1 (v - mean) the covariance of the predictions
        at z and v is 1/n + (z - mean)'u, and over a box its square averages to the square of its
        value in the middle plus sum u_i^2 width_i^2 / 12.
        """
        cdef const LeafModel* model = &self.cloud.model
        cdef int size = model.n_regressors + 1, n_cells = size * (size + 1) // 2, i, k
        cdef int q = posterior.n_regressors
        cdef const double* means = model.scratch + n_cells
        cdef const double* factor = model.scratch
        cdef double centre = 1.0 / posterior.weight, spread = 0.0, mean, width
        cdef double leverage = self.lean_on(posterior, v, &mean)
        for i in range(q - 1, -1, -1):
            self.solved[i] /= factor[i * (i + 1) // 2 + i]
            for k in range(i + 1, q):
                self.solved[i] -= factor[k * (k + 1) // 2 + i] * self.solved[k]
            centre += self.solved[i] * (0.5 * (box[2 * i] + box[2 * i + 1]) - means[i])
            width = box[2 * i + 1] - box[2 * i]
            spread += self.solved[i] * self.solved[i] * width * width / 12.0
        return (
            posterior.sse / max(LEAST_DF, posterior.df - 2.0) / (1.0 + leverage)
            * (centre * centre + spread)
        )

    cdef double alc_in(self, int node, const Fit* posterior, const double* v) noexcept nogil:
        """ALC of v over the whole space: a leaf counts by its share of the samples."""
        cdef int leaf = self.cloud.grove.nodes[node].left, q = self.cloud.model.n_regressors
        cdef double share = (
            self.cloud.grove.total(leaf)[0] * self.fading(leaf) / max(1e-300, self.mass))
        if not posterior.proper:
            return INFINITY
        return share * self.alc(posterior, v, self.boxes + 2 * <size_t>node * q)

    cdef double entropy(self, int leaf) noexcept nogil:
        """Entropy of the class probabilities of a leaf: section 4.3."""
        cdef const double* row = self.faded(leaf)
        cdef double a = self.cloud.model.concentration, total = 0.0, share
        cdef int k, n = self.cloud.model.n_classes
        for k in range(n):
            share = (row[1 + k] + a) / (row[0] + a * n)
            total -= share * log(share)
        return total

    cdef void score_leaf(self, int node, Criterion criterion, double* sums) noexcept nogil:
        """Add what the leaf says of its points to `sums`: three numbers per slot."""
        cdef int leaf = self.cloud.grove.nodes[node].left, i, slot
        cdef const Leaf* here = &self.cloud.grove.leaves[leaf]
        cdef const int* slots = self.cloud.grove.slots + here.slots
        cdef const double* v
        cdef double n = self.share[node], worth = 0.0, mean, leverage
        cdef Fit posterior
        if criterion == ENTROPY:
            worth = self.entropy(leaf)
        else:
            posterior = fit(&self.cloud.model, self.faded(leaf), True)
        for i in range(here.n_active):
            slot = slots[i]
            v = self.cloud.pool.v + <size_t>slot * self.cloud.pool.size_v
            if criterion == ALC:
                worth = self.alc_in(node, &posterior, v)
            elif criterion == ALM and not posterior.proper:
                worth = INFINITY
            elif criterion == ALM:
                leverage = self.lean_on(&posterior, v, &mean)
                worth = posterior.sse / max(LEAST_DF, posterior.df - 2.0) * (1.0 + leverage)
                sums[3 * slot + 1] += n * mean
                sums[3 * slot + 2] += n * mean * mean
            sums[3 * slot] += n * worth

    def scores(self, str criterion):
        """Score of each active point, averaged over the trees, by slot.

        "alc": fall of the predictive variance over the space. "alm": predictive variance at the
        point, the disagreement of the trees included. "entropy": of the class probabilities there.
        """
        cdef Criterion chosen = CRITERIA[criterion]
        cdef int capacity = self.cloud.pool.capacity, i, slot
        cdef double mean
        cdef double* sums = <double*>calloc(3 * <size_t>capacity, sizeof(double))
        if sums == NULL:
            raise MemoryError
        with nogil:
            for i in range(self.n_nodes):
                if self.cloud.grove.nodes[self.nodes[i]].feature < 0:
                    self.score_leaf(self.nodes[i], chosen, sums)
        found = {}
        try:
            for slot in range(capacity):
                if self.cloud.pool.arrival[slot] >= 0:
                    mean = sums[3 * slot + 1]
                    found[slot] = sums[3 * slot] + sums[3 * slot + 2] - mean * mean
        finally:
            free(sums)
        return found

    def least_useful(self, str criterion):
        """Slot of the active point with the smallest score; of equal ones the oldest."""
        scores = self.scores(criterion)
        return min(scores, key=lambda slot: (scores[slot], self.cloud.pool.arrival[<int>slot]))

    def alc_at(self, x):
        """ALC of a point that is not in the cloud: what could be learned there."""
        cdef Particles cloud = self.cloud
        cdef double total = 0.0
        cdef int visit, node
        cdef Fit posterior
        find(cloud, x)
        for visit in range(cloud.n_visits):
            node = cloud.visits[visit].node
            posterior = fit(&cloud.model, self.faded(cloud.grove.nodes[node].left), True)
            total += cloud.visits[visit].share * self.alc_in(node, &posterior, cloud.v)
        return total
