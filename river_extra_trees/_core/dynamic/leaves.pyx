"""What a leaf of a cloud knows: its statistics as of now, its prior, its scores."""

from libc.math cimport pow
from libc.string cimport memcpy, memset

from .grove cimport Leaf, Node
from .posterior cimport (
    Fit, add_samples, fit, log_gamma, log_marginal, merge, reference_score, scale,
)
from .particles cimport Particles


cdef void doubt_fit(Particles cloud, double* target, int size, double mean) noexcept nogil:
    """Make the prior's fit of the target as vague as few samples leave it.

    As many samples as there are coefficients are fitted exactly, whatever the noise: up to there
    the prior has no slopes, then more and more of them. One sample, or equal ones, say nothing of
    the spread: what they leave unsaid is the target's own size.
    """
    cdef double few = min(size / max(cloud.overall[0], 1.0), 1.0)
    cdef double* squares = target + size - 1
    cdef int i
    for i in range(size - 1):
        target[i] *= 1.0 - few * few * few
    squares[0] *= (1.0 + 1e-4) * (1.0 + few * few)
    if squares[0] <= 0.0:
        squares[0] = cloud.prior_weight * mean * mean * few * few
    squares[0] += cloud.prior_weight * (1e-13 * mean * mean + 1e-250)


cdef void set_prior(Particles cloud) noexcept nogil:
    """The prior of the leaves, from the statistics of all samples.

    It is worth `prior_weight` samples that look like all others: a leaf that knows little
    answers like the overall (linear) fit. A ridge keeps it proper when features repeat each
    other or do not vary, and one degree of freedom for the variance does when weights fade.
    """
    cdef int size = cloud.model.n_regressors + 1, i
    cdef double* prior = cloud.model.prior
    cdef double* cells = prior + 1 + size
    cdef bint is_linear
    if cloud.model.multinomial:
        cloud.model.concentration = 1.0 / cloud.model.n_classes
        cloud.model.per_leaf = (
            log_gamma(cloud.model.n_classes * cloud.model.concentration)
            - cloud.model.n_classes * log_gamma(cloud.model.concentration)
        )
        return
    memset(prior, 0, cloud.model.width * sizeof(double))
    if cloud.reference or cloud.prior_weight <= 0.0 or cloud.overall[0] <= 0.0:
        cloud.model.df_offset = -size
        cloud.model.per_leaf = 0.0
        return
    merge(&cloud.model, prior, cloud.overall, cloud.prior_weight / cloud.overall[0])
    for i in range(size - 1):
        cells[i] = cells[i] * (1.0 + 1e-4) + cloud.prior_weight * 1e-9 * (
            prior[1 + i] * prior[1 + i] + 1e-9)
        cells += i + 1
    doubt_fit(cloud, cells, size, prior[size])
    # The log marginal likelihood of no samples at all is 0 by the choice of `per_leaf`.
    cloud.model.df_offset = 1.0
    cloud.model.per_leaf = 0.0
    memset(cloud.row_other, 0, cloud.model.width * sizeof(double))
    cloud.model.per_leaf = -log_marginal(
        &cloud.model, cloud.row_other, True, &is_linear)


cdef void refresh(Particles cloud) noexcept nogil:
    """Take the prior anew; what leaves have cached follows."""
    cdef int node
    set_prior(cloud)
    for node in range(cloud.grove.n_nodes):
        if cloud.grove.nodes[node].refs and cloud.grove.nodes[node].feature < 0:
            finish_leaf(cloud, node)


cdef void finish_leaf(Particles cloud, int node) noexcept nogil:
    """Cache what follows from the statistics of a leaf."""
    cdef int leaf = cloud.grove.nodes[node].left
    cdef Leaf* cached = &cloud.grove.leaves[leaf]
    cached.log_marginal = log_marginal(
        &cloud.model, cloud.grove.total(leaf), True, &cached.is_linear)


cdef void update_time(Particles cloud, int leaf) noexcept nogil:
    """Let the samples of a leaf fade up to now."""
    cdef Leaf* here = &cloud.grove.leaves[leaf]
    cdef double factor
    if here.decay == 1.0 or cloud.reference or here.time == cloud.n_seen:
        return
    factor = pow(here.decay, <double>(cloud.n_seen - here.time))
    scale(&cloud.model, cloud.grove.total(leaf), factor)
    scale(&cloud.model, cloud.grove.retired(leaf), factor)
    here.time = cloud.n_seen
    here.log_marginal = log_marginal(
        &cloud.model, cloud.grove.total(leaf), True, &here.is_linear)


cdef double weight_at(Particles cloud, int slot, const Leaf* leaf) noexcept nogil:
    """Weight of an active point in a leaf, faded up to the leaf's time."""
    if leaf.decay == 1.0 or cloud.reference:
        return cloud.pool.weight[slot]
    return cloud.pool.weight[slot] * pow(
        leaf.decay, <double>(leaf.time - cloud.pool.arrival[slot]))


cdef void weigh_samples(Particles cloud, int leaf) noexcept nogil:
    """Let `sample_weight` hold the weights of the active points of a leaf."""
    cdef const Leaf* here = &cloud.grove.leaves[leaf]
    cdef const int* slots = cloud.grove.slots + here.slots
    cdef int i
    if here.decay == 1.0 or cloud.reference:
        cloud.sample_weight = cloud.pool.weight
        return
    cloud.sample_weight = cloud.faded_weight
    for i in range(here.n_active):
        cloud.faded_weight[slots[i]] = weight_at(cloud, slots[i], here)


cdef const double* faded(Particles cloud, int visit) noexcept nogil:
    """Statistics of a leaf that was found, as the next sample will meet them."""
    cdef int leaf = cloud.grove.nodes[cloud.visits[visit].node].left
    cdef double decay = cloud.grove.leaves[leaf].decay
    if decay == 1.0 or cloud.reference:
        return cloud.grove.total(leaf)
    memcpy(cloud.row_other, cloud.grove.total(leaf), cloud.model.width * sizeof(double))
    scale(&cloud.model, cloud.row_other, pow(
        decay, <double>(cloud.n_seen + 1 - cloud.grove.leaves[leaf].time)))
    return cloud.row_other


cdef void sum_slots(Particles cloud, const int* slots, int n, double* row) noexcept nogil:
    add_samples(&cloud.model, row, cloud.pool.v, slots, n, cloud.sample_weight)


cdef double row_score(Particles cloud, const double* total, const double* retired) noexcept nogil:
    """What a leaf with these statistics adds to the log posterior of its tree."""
    cdef bint is_linear
    cdef Fit posterior
    if cloud.reference and not cloud.model.multinomial:
        posterior = fit(&cloud.model, total, True)
        return reference_score(
            &cloud.model, &posterior, total[cloud.model.n_regressors + 1], retired, 1.0)
    return log_marginal(&cloud.model, total, True, &is_linear)


cdef double leaf_score(Particles cloud, int leaf) noexcept nogil:
    if cloud.reference:
        return row_score(cloud, cloud.grove.total(leaf), cloud.grove.retired(leaf))
    return cloud.grove.leaves[leaf].log_marginal


cdef double fading(Particles cloud, int leaf) noexcept nogil:
    """What is left by now of the weights in a leaf."""
    cdef const Leaf* here = &cloud.grove.leaves[leaf]
    if here.decay == 1.0 or cloud.reference:
        return 1.0
    return pow(here.decay, <double>(cloud.n_seen - here.time))


cdef double faded_score(Particles cloud, int leaf) noexcept nogil:
    """Score of a leaf as of now; the leaf stays as it is."""
    cdef double share = fading(cloud, leaf)
    if share == 1.0:
        return leaf_score(cloud, leaf)
    memcpy(cloud.row_faded, cloud.grove.total(leaf), cloud.model.width * sizeof(double))
    scale(&cloud.model, cloud.row_faded, share)
    return row_score(cloud, cloud.row_faded, NULL)      # the reference fades otherwise


cdef double score_subtree(Particles cloud, int node, bint looking) noexcept nogil:
    """Log posterior of a whole subtree. Its leaves fade up to now, but not for an onlooker."""
    cdef int* stack = cloud.grove.stack
    cdef const Node* here
    cdef int n_stack = 1
    cdef double score = 0.0
    stack[0] = node
    while n_stack:
        n_stack -= 1
        here = &cloud.grove.nodes[stack[n_stack]]
        if here.feature >= 0:
            score += cloud.log_split[here.depth]
            stack[n_stack] = here.left
            stack[n_stack + 1] = here.right
            n_stack += 2
        elif looking:
            score += cloud.log_stop[here.depth] + faded_score(cloud, here.left)
        else:
            update_time(cloud, here.left)
            score += cloud.log_stop[here.depth] + leaf_score(cloud, here.left)
    return score


cdef int sum_subtree(Particles cloud, int node, double* row) noexcept nogil:
    """Statistics of a whole subtree (two rows); returns how many active points it holds."""
    cdef int* stack = cloud.grove.stack
    cdef const Node* here
    cdef int n_stack = 1, n_active = 0, leaf
    cdef double share
    stack[0] = node
    memset(row, 0, 2 * cloud.model.width * sizeof(double))
    while n_stack:
        n_stack -= 1
        here = &cloud.grove.nodes[stack[n_stack]]
        leaf = here.left
        if here.feature >= 0:
            stack[n_stack] = here.left
            stack[n_stack + 1] = here.right
            n_stack += 2
            continue
        share = fading(cloud, leaf)
        n_active += cloud.grove.leaves[leaf].n_active
        merge(&cloud.model, row, cloud.grove.total(leaf), share)
        merge(&cloud.model, row + cloud.model.width, cloud.grove.retired(leaf), share)
    return n_active
