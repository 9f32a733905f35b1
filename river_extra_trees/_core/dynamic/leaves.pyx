"""What a leaf knows: its statistics as of now, its prior, its scores."""

from libc.math cimport pow
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from .leaf_models cimport (
    Fit, add_samples, fit, log_gamma, log_marginal, merge, reference_score, scale,
)
from .particles cimport N_POWERS, ParticleFilter
from .shared_trees cimport Leaf, Node, pop


cdef void inflate_prior(
    ParticleFilter filter, double* target, int size, double mean
) noexcept nogil:
    """Make the prior's fit of the target as vague as few samples leave it.

    As many samples as there are coefficients are fitted exactly, whatever the noise: up to there
    the prior has no slopes, then more and more of them. One sample, or equal ones, say nothing of
    the spread: fall back to the magnitude of the target.
    """
    cdef double few = min(size / max(filter.global_statistics[0], 1.0), 1.0)
    cdef double* squares = target + size - 1
    cdef int i
    for i in range(size - 1):
        target[i] *= 1.0 - few * few * few
    squares[0] *= (1.0 + 1e-4) * (1.0 + few * few)
    if squares[0] <= 0.0:
        squares[0] = filter.prior_weight * mean * mean * few * few
    squares[0] += filter.prior_weight * (1e-13 * mean * mean + 1e-250)


cdef void set_prior(ParticleFilter filter) noexcept nogil:
    """The prior of the leaves, from the statistics of all samples.

    It is worth `prior_weight` samples that look like all others: a leaf that knows little
    answers like the fit of all samples. A ridge keeps it proper when features repeat each
    other or do not vary, and one degree of freedom for the variance does when weights fade.
    """
    cdef int size = filter.model.n_regressors + 1, i
    cdef double* prior = filter.model.prior
    cdef double* cells = prior + 1 + size
    cdef bint is_linear
    if filter.model.multinomial:
        # As in dynaTree; the paper has a0 = (1, ..., 1), section 3.1.
        filter.model.concentration = 1.0 / filter.model.n_classes
        filter.model.per_leaf = (
            log_gamma(filter.model.n_classes * filter.model.concentration)
            - filter.model.n_classes * log_gamma(filter.model.concentration)
        )
        return
    memset(prior, 0, filter.model.width * sizeof(double))
    if filter.reference or filter.prior_weight <= 0.0 or filter.global_statistics[0] <= 0.0:
        filter.model.df_offset = -size      # the flat prior, equation (1)
        filter.model.per_leaf = 0.0
        return
    merge(&filter.model, prior, filter.global_statistics,
          filter.prior_weight / filter.global_statistics[0])
    for i in range(size - 1):
        cells[i] = cells[i] * (1.0 + 1e-4) + filter.prior_weight * 1e-9 * (
            prior[1 + i] * prior[1 + i] + 1e-9)
        cells += i + 1
    inflate_prior(filter, cells, size, prior[size])
    # The log marginal likelihood of no samples at all is 0 by the choice of `per_leaf`.
    filter.model.df_offset = 1.0
    filter.model.per_leaf = 0.0
    memset(filter.row_other, 0, filter.model.width * sizeof(double))
    filter.model.per_leaf = -log_marginal(
        &filter.model, filter.row_other, True, &is_linear)


cdef void refresh(ParticleFilter filter) noexcept nogil:
    """Take the prior anew; what leaves have cached follows."""
    cdef int node
    set_prior(filter)
    for node in range(filter.trees.n_nodes):
        if filter.trees.nodes[node].refs and filter.trees.nodes[node].feature < 0:
            finish_leaf(filter, filter.trees.nodes[node].left)


cdef void finish_leaf(ParticleFilter filter, int leaf) noexcept nogil:
    """Cache what follows from the statistics of a leaf."""
    cdef Leaf* here = &filter.trees.leaves[leaf]
    here.log_marginal = log_marginal(
        &filter.model, filter.trees.total(leaf), True, &here.is_linear)


cdef double kept(ParticleFilter filter, const Leaf* leaf, int64_t age) noexcept nogil:
    """What a weight in a leaf has kept after so many samples: decay ** age, or a known power."""
    cdef int k
    if leaf.decay == 1.0 or filter.reference:
        return 1.0
    if 0 <= age < N_POWERS:
        for k in range(filter.n_decays):
            if filter.decays[k] == leaf.decay:
                return filter.powers[k][age]
    return pow(leaf.decay, <double>age)


cdef void update_time(ParticleFilter filter, int leaf) noexcept nogil:
    """Decay the statistics of a leaf up to now: section 5, by the clock of the stream."""
    cdef Leaf* here = &filter.trees.leaves[leaf]
    cdef double factor = kept(filter, here, filter.n_seen - here.time)
    if factor == 1.0:
        return
    scale(&filter.model, filter.trees.total(leaf), factor)
    scale(&filter.model, filter.trees.retired(leaf), factor)
    here.time = filter.n_seen
    finish_leaf(filter, leaf)


cdef double weight_at(ParticleFilter filter, int slot, const Leaf* leaf) noexcept nogil:
    """Weight of an active sample in a leaf, faded up to the leaf's time."""
    return filter.pool.weight[slot] * kept(filter, leaf, leaf.time - filter.pool.arrival[slot])


cdef void weigh_samples(ParticleFilter filter, int leaf) noexcept nogil:
    """Let `sample_weight` hold the weights of the active samples of a leaf."""
    cdef const Leaf* here = &filter.trees.leaves[leaf]
    cdef const int* slots = filter.trees.slots + here.slots
    cdef int i
    if here.decay == 1.0 or filter.reference:
        filter.sample_weight = filter.pool.weight
        return
    filter.sample_weight = filter.faded_weight
    for i in range(here.n_active):
        filter.faded_weight[slots[i]] = weight_at(filter, slots[i], here)


cdef double fading(ParticleFilter filter, int leaf, int ahead) noexcept nogil:
    """What the weights in a leaf will have kept so many samples from now."""
    cdef const Leaf* here = &filter.trees.leaves[leaf]
    return kept(filter, here, filter.n_seen + ahead - here.time)


cdef const double* faded(
    ParticleFilter filter, int leaf, int ahead, double* row
) noexcept nogil:
    """Statistics of a leaf so many samples from now, in `row` if they differ from those it has."""
    cdef double share = fading(filter, leaf, ahead)
    if share == 1.0:
        return filter.trees.total(leaf)
    memcpy(row, filter.trees.total(leaf), filter.model.width * sizeof(double))
    scale(&filter.model, row, share)
    return row


cdef void sum_slots(ParticleFilter filter, const int* slots, int n, double* row) noexcept nogil:
    add_samples(&filter.model, row, filter.pool.v, slots, n, filter.sample_weight)


cdef double row_score(
    ParticleFilter filter, const double* total, const double* retired
) noexcept nogil:
    """What a leaf with these statistics adds to the log posterior of its tree: section 2.1."""
    cdef bint is_linear
    cdef Fit posterior
    if filter.reference and not filter.model.multinomial:
        posterior = fit(&filter.model, total, True)
        return reference_score(
            &filter.model, &posterior, total[filter.model.n_regressors + 1], retired, 1.0)
    return log_marginal(&filter.model, total, True, &is_linear)


cdef double leaf_score(ParticleFilter filter, int leaf) noexcept nogil:
    if filter.reference:
        return row_score(filter, filter.trees.total(leaf), filter.trees.retired(leaf))
    return filter.trees.leaves[leaf].log_marginal


cdef double score_subtree(ParticleFilter filter, int node, bint read_only) noexcept nogil:
    """Log posterior of a whole subtree. Decays its leaves up to now, unless read-only."""
    cdef const Node* here
    cdef int n_stack = 1
    cdef double score = 0.0
    filter.trees.stack[0] = node
    while n_stack:
        here = &filter.trees.nodes[pop(filter.trees, &n_stack)]
        if here.feature >= 0:
            score += filter.log_split[here.depth]       # pi(T) of section 2.1
        elif read_only:
            score += filter.log_stop[here.depth] + (
                leaf_score(filter, here.left) if fading(filter, here.left, 0) == 1.0 else
                row_score(filter, faded(filter, here.left, 0, filter.row_faded), NULL))
        else:
            update_time(filter, here.left)
            score += filter.log_stop[here.depth] + leaf_score(filter, here.left)
    return score


cdef int sum_subtree(ParticleFilter filter, int node, double* row) noexcept nogil:
    """Statistics of a whole subtree (two rows); returns how many active samples it holds."""
    cdef int n_stack = 1, n_active = 0, leaf
    cdef double share
    filter.trees.stack[0] = node
    memset(row, 0, 2 * filter.model.width * sizeof(double))
    while n_stack:
        node = pop(filter.trees, &n_stack)
        if filter.trees.nodes[node].feature >= 0:
            continue
        leaf = filter.trees.nodes[node].left
        share = fading(filter, leaf, 0)
        n_active += filter.trees.leaves[leaf].n_active
        merge(&filter.model, row, filter.trees.total(leaf), share)
        merge(&filter.model, row + filter.model.width, filter.trees.retired(leaf), share)
    return n_active
