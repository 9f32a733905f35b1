"""What a point is worth: scores for discarding active points and for choosing new ones.

Section 4 of the paper. All scores are averages over the particles. A leaf that several particles
share is looked at once and counts as often as it is held.
"""

from libc.math cimport log, pow
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from .cloud cimport Cloud
from .grove cimport Leaf, Node
from .posterior cimport Fit, LeafModel, Predictive, fit, predictive

POLICIES = {"alc": 0, "alm": 1, "entropy": 2}

cdef enum:
    ALC = 0
    ALM = 1

# A node of some particle's tree, the trees gone through level by level.
cdef struct Branch:
    int node
    int parent      # index of the branch it hangs from in one of the trees, or -1
    int count       # particles that hold it


cdef class Scores:
    """Sums over the particles, per slot of the pool, and the box that ALC integrates over."""

    cdef double* values         # 3 * capacity: the scores; of ALM also sums of means and squares
    cdef Branch* branches
    cdef double* lower          # per regressor: the box of a leaf
    cdef double* upper
    cdef double* influence      # per regressor: scratch

    def __cinit__(self, Cloud cloud):
        cdef int q = cloud.model.n_regressors + 1
        self.values = <double*>malloc(3 * cloud.pool.capacity * sizeof(double))
        self.branches = <Branch*>malloc(cloud.grove.nodes_in_use * sizeof(Branch))
        self.lower = <double*>malloc(q * sizeof(double))
        self.upper = <double*>malloc(q * sizeof(double))
        self.influence = <double*>malloc(q * sizeof(double))
        if (
            self.values == NULL or self.branches == NULL or self.lower == NULL
            or self.upper == NULL or self.influence == NULL
        ):
            raise MemoryError
        memset(self.values, 0, 3 * cloud.pool.capacity * sizeof(double))

    def __dealloc__(self):
        free(self.values)
        free(self.branches)
        free(self.lower)
        free(self.upper)
        free(self.influence)


cdef int list_branches(Cloud cloud, Branch* branches) noexcept nogil:
    """Every distinct node once, parents before children, with the number of its particles."""
    cdef Node* nodes = cloud.grove.nodes
    cdef int n = 0, particle, i
    cloud.next_tick()
    for particle in range(cloud.n_alive):
        n = count_branch(cloud, branches, n, cloud.roots[particle], -1, 1)
    i = 0
    while i < n:
        if nodes[branches[i].node].feature >= 0:
            n = count_branch(cloud, branches, n, nodes[branches[i].node].left, i,
                             branches[i].count)
            n = count_branch(cloud, branches, n, nodes[branches[i].node].right, i,
                             branches[i].count)
        i += 1
    return n


cdef int count_branch(
    Cloud cloud, Branch* branches, int n, int node, int parent, int count
) noexcept nogil:
    cdef Node* here = &cloud.grove.nodes[node]
    if here.stamp == cloud.tick:
        branches[here.memo].count += count
        return n
    here.stamp, here.memo = cloud.tick, n
    branches[n].node, branches[n].parent, branches[n].count = node, parent, count
    return n + 1


cdef void leaf_box(Cloud cloud, Scores scores, int branch) noexcept nogil:
    """The part of the active points' range that lies in a leaf, per regressor."""
    cdef int i, column, parent
    cdef Node* above
    cdef const int* order
    cdef const double* x = cloud.pool.x
    for i in range(cloud.model.n_regressors):
        column = cloud.regressors[i]
        order = cloud.pool.order + <size_t>column * cloud.pool.capacity
        scores.lower[i] = scores.upper[i] = 0.0
        if cloud.pool.n_present[column]:
            scores.lower[i] = x[order[0] * cloud.pool.n_columns + column]
            scores.upper[i] = x[
                order[cloud.pool.n_present[column] - 1] * cloud.pool.n_columns + column]
    while scores.branches[branch].parent >= 0:
        parent = scores.branches[branch].parent
        above = &cloud.grove.nodes[scores.branches[parent].node]
        for i in range(cloud.model.n_regressors):
            if cloud.regressors[i] == above.feature and not above.nominal:
                if above.left == scores.branches[branch].node:
                    scores.upper[i] = max(scores.lower[i], min(scores.upper[i], above.cut))
                else:
                    scores.lower[i] = min(scores.upper[i], max(scores.lower[i], above.cut))
        branch = parent


cdef double alc(
    const LeafModel* model, const double* row, const double* v, const double* lower,
    const double* upper, double* influence
) noexcept nogil:
    """Reduction of the predictive variance in the leaf by a sample at v, section 4.2.

    With s = S^-1 (x - mean), the covariance of the fits at x and z is 1/n + (z - mean)'s. Its mean
    square over a box is the square of its value in the middle plus the sum of s_i^2 side_i^2 / 12.
    The box counts as much as it has samples: its volume means little in many dimensions.
    """
    cdef Fit result = fit(model, row, True)
    cdef int size = model.n_regressors + 1, n_cells = size * (size + 1) // 2
    cdef int q = result.n_regressors, i, k
    cdef const double* factor = model.scratch
    cdef const double* means = factor + n_cells
    cdef double leverage = 1.0 / result.weight, middle = leverage, spread = 0.0, side
    if not result.proper:
        return 0.0
    for i in range(q):
        influence[i] = v[i] - means[i]
        for k in range(i):
            influence[i] -= factor[i * (i + 1) // 2 + k] * influence[k]
        leverage += influence[i] * influence[i] / factor[i * (i + 1) // 2 + i]
    for i in range(q - 1, -1, -1):
        influence[i] /= factor[i * (i + 1) // 2 + i]
        for k in range(i + 1, q):
            influence[i] -= factor[k * (k + 1) // 2 + i] * influence[k]
    for i in range(q):
        side = upper[i] - lower[i]
        middle += (0.5 * (lower[i] + upper[i]) - means[i]) * influence[i]
        spread += influence[i] * influence[i] * side * side / 12.0
    return (
        result.sse / max(result.df - 2.0, 0.5 * result.df) / (1.0 + leverage)
        * (middle * middle + spread) * result.weight
    )


cdef double leaf_entropy(const LeafModel* model, const double* row) noexcept nogil:
    """Entropy of the predictive class probabilities of a leaf, section 4.3."""
    cdef double share, entropy = 0.0
    cdef int k
    for k in range(model.n_classes):
        share = (row[1 + k] + model.concentration) / (
            row[0] + model.n_classes * model.concentration)
        entropy -= share * log(share)
    return entropy


cdef void score_leaf(Cloud cloud, Scores scores, int branch, int policy) noexcept nogil:
    """Add what one leaf says of its active points."""
    cdef int leaf = cloud.grove.nodes[scores.branches[branch].node].left, i, slot
    cdef int capacity = cloud.pool.capacity, count = scores.branches[branch].count
    cdef const Leaf* here = &cloud.grove.leaves[leaf]
    cdef const double* row = cloud.grove.total(leaf)
    cdef const double* v
    cdef double value
    cdef Predictive student
    if cloud.model.multinomial:
        value = leaf_entropy(&cloud.model, row)
    elif policy == ALC:
        leaf_box(cloud, scores, branch)
    for i in range(here.n_active):
        slot = cloud.grove.slots[here.slots + i]
        v = cloud.pool.v + slot * cloud.pool.size_v
        if policy == ALC:
            value = alc(&cloud.model, row, v, scores.lower, scores.upper, scores.influence)
        elif policy == ALM:
            student = predictive(&cloud.model, row, v)
            value = student.scale2 * student.df / max(student.df - 2.0, 0.5 * student.df)
            scores.values[capacity + slot] += count * student.mean
            scores.values[2 * capacity + slot] += count * student.mean * student.mean
        scores.values[slot] += count * value


def scores_of(Cloud cloud, str policy):
    """Score of every active point: {slot: score}.

    Parameters
    ----------
    cloud
        The particles.
    policy
        `"alc"`, `"alm"` or `"entropy"`.
    """
    cdef Scores scores = Scores(cloud)
    cdef int kind = POLICIES[policy], branch, slot, n, capacity = cloud.pool.capacity
    cdef double mean, share = 1.0 / cloud.n_alive
    with nogil:
        n = list_branches(cloud, scores.branches)
        for branch in range(n):
            if cloud.grove.nodes[scores.branches[branch].node].feature < 0:
                score_leaf(cloud, scores, branch, kind)
        for slot in range(capacity):
            scores.values[slot] *= share
            if kind == ALM:
                mean = share * scores.values[capacity + slot]
                scores.values[slot] += share * scores.values[2 * capacity + slot] - mean * mean
    return {
        slot: scores.values[slot] for slot in range(capacity) if cloud.pool.arrival[slot] >= 0
    }


def least(Cloud cloud, str policy):
    """Slot of the active point with the smallest score; of equals the oldest."""
    scores = scores_of(cloud, policy)
    return min(scores, key=lambda slot: (scores[slot], cloud.pool.arrival[<int>slot]))


def alc_at(Cloud cloud, x):
    """Mean reduction of the predictive variance that a sample at x promises."""
    cdef Scores scores = Scores(cloud)
    cdef int n = list_branches(cloud, scores.branches), branch, visit, node
    cdef double total = 0.0
    places = {scores.branches[branch].node: branch for branch in range(n)}
    cloud.find(x)
    for visit in range(cloud.n_visits):
        node = cloud.visits[visit].node
        leaf_box(cloud, scores, places[node])
        total += cloud.visits[visit].n_particles * alc(
            &cloud.model, cloud.grove.total(cloud.grove.nodes[node].left), cloud.v,
            scores.lower, scores.upper, scores.influence)
    return total / cloud.n_alive


def relevance(Cloud cloud):
    """Per particle and column: the variance (entropy) that the splits on it take away.

    For every split the predictive variance in the middle of its region as one leaf, times the
    weight of its samples, less the same of its two sides; in classification the entropy. The sum
    is divided by the weight of all samples. A column that explains nothing scores about 0 or less.
    """
    cdef int particle, node, n_active, column
    cdef double score, whole
    cdef double* row = cloud.row_other
    answers = []
    known = {}
    for particle in range(cloud.n_alive):
        if cloud.roots[particle] in known:
            answers.append(known[cloud.roots[particle]])
            continue
        gains = [0.0] * cloud.pool.n_columns
        whole = 0.0
        stack = [(cloud.roots[particle], -1)]
        while stack:
            node, column = stack.pop()
            cloud.sum_subtree(node, row, &score, &n_active)
            spread = spread_of(cloud, row)
            if column >= 0:
                gains[column] -= spread
            else:
                whole = row[0]
            if cloud.grove.nodes[node].feature >= 0:
                column = cloud.grove.nodes[node].feature
                gains[column] += spread
                stack.append((cloud.grove.nodes[node].left, column))
                stack.append((cloud.grove.nodes[node].right, column))
        known[cloud.roots[particle]] = [gain / max(whole, 1e-300) for gain in gains]
        answers.append(known[cloud.roots[particle]])
    return answers


cdef double spread_of(Cloud cloud, const double* row) noexcept nogil:
    """Weight of a region times its predictive variance, or its entropy."""
    cdef Fit result
    if cloud.model.multinomial:
        return row[0] * leaf_entropy(&cloud.model, row)
    result = fit(&cloud.model, row, True)
    return row[0] * result.sse / result.df * (1.0 + 1.0 / result.weight) if result.proper else 0.0
