"""The data of a particle filter. See the header."""

from libc.limits cimport INT_MAX
from libc.math cimport INFINITY, NAN, isnan, log, log1p, pow
from libc.string cimport memcpy, memset

from ..learner cimport STRETCH
from ..split cimport VALUES
from ..value_sets cimport drop_values, forget_border, values_at
from ..linalg cimport BATCH_SIZE, Fit, fit, merge, row_width, scale, scratch_size
from ..allocation cimport free, product, zeroed
from .leaf_models cimport log_gamma, log_marginal, published_score
from .shared_trees cimport Node, empty_leaf, pop, side

LARGEST_REGRESSOR = 1e50
# A numeric column is a regressor if one in so many active samples has a value, until one in twice
# as many has none. So a sample with many names does not slow the model down for good.
cdef int RARE = 8
# Active samples per sample of memory: those beyond have weights below exp(-REACH).
cdef double REACH = 3.0


cdef class Particles(Learner):
    """Particles, which are trees, and the active samples that they share.

    Parameters
    ----------
    n_particles, window
        Number of trees, and largest number of active samples.
    classifier, linear
        Whether targets are labels, and whether leaves have linear models of the numeric features.
    min_samples_leaf
        Smallest number of active samples on each side of a split; 0: see `least_leaf`.
    alpha, beta
        The prior probability of a split at depth D is alpha (1 + D)^-beta.
    leaf_bonus
        Each leaf of a tree multiplies its prior by exp(leaf_bonus), or by exp(number of
        coefficients) if that is smaller. This favours large trees more than alpha and beta can,
        because these are probabilities.
    decays
        Forgetting factors per sample of the stream; with `published`, one factor per retirement
        in a leaf. With several factors, each particle has one of them, and the evidence determines
        the number of particles for each.
    prior_weight
        See `set_prior`.
    published
        Use the flat priors, proposals, move scores, resampling and forgetting of dynaTree 1.2-17.
    seed
        Seed of all random numbers.
    """

    def __init__(self, *, int n_particles, int window, bint classifier, bint linear,
                 int min_samples_leaf, double alpha, double beta, double leaf_bonus, decays,
                 double prior_weight, bint published, uint64_t seed):
        cdef int k, age, rule
        cdef size_t n = 2 * n_particles     # so many are there after a rejuvenation
        cdef size_t n_cuts = max(n_particles, <int>LEAST_PROPOSALS)
        if not published:
            n_cuts = min(n_cuts, <size_t>MOST_PROPOSALS)
        assert 1 <= len(decays) <= min(MAX_DECAYS, n_particles) and not (classifier and linear)
        self.regression, self.linear, self.published = not classifier, linear, published
        self.model.multinomial = classifier
        self.n_particles = self.n_alive = n_particles
        self.window, self.seed, self.most_rows = window, seed, STRETCH
        self.min_samples_leaf, self.leaves_follow = min_samples_leaf, min_samples_leaf == 0
        self.alpha, self.beta, self.leaf_bonus = alpha, beta, leaf_bonus
        self.prior_weight = prior_weight
        self.n_decays = len(decays)
        for k in range(self.n_decays):
            self.decays[k] = decays[k]
            self.reach[k] = INT_MAX - 1
            if self.decays[k] < 1.0 and self.regression and not published:
                self.reach[k] = <int>min(
                    <double>self.reach[k], REACH / (1.0 - self.decays[k]) + 0.5)
            for rule in range(n_rules(self)):
                self.belief[rule][k] = 1.0 / (n_rules(self) * self.n_decays)
            for age in range(N_POWERS):
                self.powers[k][age] = pow(self.decays[k], <double>age)
        sum_beliefs(self)
        self.lowest, self.highest = INFINITY, -INFINITY
        self.pool, self.trees = Window(), SharedTrees()
        self.history = ValueHistory(self.regression)
        self.history.most = MOST_PAST
        self.renew(
            &self.weights,
            n * (2 * sizeof(double) + sizeof(LeafHit) + sizeof(LeafParent) + 5 * sizeof(int))
            + n_cuts * (sizeof(Cut) + sizeof(Cut*)), 1)
        self.share = self.weights + n
        self.hits = <LeafHit*>(self.share + n)
        self.pairs = <LeafParent*>(self.hits + n)
        self.cuts = <Cut*>(self.pairs + n)
        self.in_order = <Cut**>(self.cuts + n_cuts)
        self.resampled = <int*>(self.in_order + n_cuts)
        self.resampled_pairs = self.resampled + n
        self.pair_of = self.resampled_pairs + n
        self.next = self.pair_of + n
        self.roots = self.next + n
        reshape(self, classifier, [])
        add_roots(self, 0)

    def __dealloc__(self):
        drop_proposals(self)

    cdef int hold_columns(self, uint8_t* held, int64_t* latest) except -1:
        cdef int i
        self.pool.find_latest(latest)
        self.trees.hold_columns(held)
        for i in range(self.model.n_regressors):
            held[self.regressors[i].feature] = True
        return 0

    cdef void forget_columns(self, const uint8_t* held) noexcept:
        self.pool.keep_columns(held)
        self.history.forget_columns(held)

    cdef int hold_labels(self, uint8_t* held, uint8_t* met) except -1:
        cdef int node, k
        cdef const Leaf* leaf
        self.pool.mark_classes(held)
        for node in range(self.trees.n_nodes):
            leaf = self.trees.nodes[node].leaf
            for k in range(self.model.n_classes if leaf != NULL else 0):
                met[k] |= leaf.total[1 + k] > 0.0
        return 0

    cdef void forget_labels(self, const uint8_t* gone) noexcept:
        """Active samples have other labels, so only sums of retired ones change."""
        self.history.forget_classes(gone)
        cdef int node
        cdef Leaf* leaf
        for node in range(self.trees.n_nodes):
            leaf = self.trees.nodes[node].leaf
            if self.trees.nodes[node].split.nominal == VALUES:
                forget_border(values_at(self.trees.nodes[node].split.threshold), gone)
            if leaf != NULL:
                forget_classes(leaf.total, gone, self.model.n_classes)
                forget_classes(leaf.retired, gone, self.model.n_classes)
        refresh(self)

    cdef int find_row(self) except -1 nogil:
        """Find the leaves of the row that the schema encoded last."""
        fill_v(self, self.schema.row, 0.0)
        gather(self, self.schema.row, 0, self.n_alive)
        return 0

    cdef const double* statistics_of(self, int hit) noexcept nogil:
        """Statistics of a leaf that was found, decayed to the time of the next sample."""
        return decayed(self, self.trees.nodes[self.hits[hit].node].leaf, 1)


cdef void forget_classes(double* row, const uint8_t* gone, int n_classes) noexcept nogil:
    """Remove the marked classes from a multinomial row."""
    cdef int k
    for k in range(n_classes):
        if gone[k]:
            row[0] = max(0.0, row[0] - row[1 + k])
            row[1 + k] = 0.0


# --- Statistics of leaves ------------------------------------------------------------------

# Weight of the prior in samples per coefficient, and its limit, where memories compete.
cdef double PRIOR_PER_COEFFICIENT = 0.01, LARGEST_COMPETING_PRIOR = 0.3


cdef double weight_of_prior(Particles filter) noexcept nogil:
    """The weight of the prior in samples.

    Where memories compete, `prior_weight` is small, because leaves of a short memory hold few
    samples. Many coefficients need more: what few samples say about them is mostly noise.
    """
    cdef double least = PRIOR_PER_COEFFICIENT * (filter.model.n_regressors + 1)
    if filter.n_decays == 1:
        return filter.prior_weight
    return max(filter.prior_weight, min(least, LARGEST_COMPETING_PRIOR))


cdef void inflate_prior(Particles filter, double* target, int size,
                        double mean) noexcept nogil:
    """Weaken the prior's fit of the target after few samples.

    With as many samples as coefficients, the fit is exact whatever the noise. So the slopes of the
    prior are zero up to there, and approach the fit as samples arrive. One sample, or equal ones,
    have no variance; then the magnitude of the target replaces it.
    """
    cdef double weight = weight_of_prior(filter)
    cdef double few = min(size / max(filter.global_statistics[0], 1.0), 1.0)
    cdef double* squares = target + size - 1
    cdef int i
    for i in range(size - 1):
        target[i] *= 1.0 - few * few * few
    squares[0] *= (1.0 + 1e-4) * (1.0 + few * few)
    if squares[0] <= 0.0:
        squares[0] = weight * mean * mean * few * few
    squares[0] += weight * (1e-13 * mean * mean + 1e-250)


cdef void set_prior(Particles filter) noexcept nogil:
    """Compute the prior of the leaves from the statistics of all samples.

    It has the weight of `weight_of_prior` average samples, so that a leaf with few samples predicts
    like the fit of all samples. A ridge keeps the prior proper if features are collinear or
    constant, and one degree of freedom for the variance does so when weights decay.
    """
    cdef int size = filter.model.n_regressors + 1, i
    cdef double* prior = filter.model.prior
    cdef double* cells = prior + 1 + size
    cdef double weight = weight_of_prior(filter)
    if not filter.model.multinomial:
        memset(prior, 0, filter.model.width * sizeof(double))
        if filter.global_statistics[0] > 0.0 and not filter.published:
            merge(&filter.model, prior, filter.global_statistics,
                  weight / filter.global_statistics[0])
        if prior[0] > 0.0:
            for i in range(size - 1):
                cells[i] = cells[i] * (1.0 + 1e-4) + weight * 1e-9 * (
                    prior[1 + i] * prior[1 + i] + 1e-9)
                cells += i + 1
            inflate_prior(filter, cells, size, prior[size])
    set_constants(filter)


cdef void set_constants(Particles filter) noexcept nogil:
    """Compute what follows from the row of the prior, or from the number of classes."""
    cdef LeafModel* model = &filter.model
    cdef bint is_linear
    model.per_leaf = 0.0
    if model.multinomial:
        # As in dynaTree; the paper has a0 = (1, ..., 1), section 3.1.
        model.concentration = 1.0 / model.n_classes
        model.per_leaf = (
            log_gamma(model.n_classes * model.concentration)
            - model.n_classes * log_gamma(model.concentration)
        )
    elif model.prior[0] <= 0.0:
        model.df_offset = -(model.n_regressors + 1)     # the flat prior, equation (1)
    else:       # the log marginal likelihood of no samples is 0
        model.df_offset = 1.0
        memset(filter.row_other, 0, model.width * sizeof(double))
        model.per_leaf = -log_marginal(model, filter.row_other, True, &is_linear)


cdef void refresh(Particles filter) noexcept nogil:
    """Compute the prior again, and the cached values of all leaves."""
    cdef int node
    set_prior(filter)
    for node in range(filter.trees.n_nodes):
        if filter.trees.nodes[node].leaf != NULL:
            finish_leaf(filter, filter.trees.nodes[node].leaf)


cdef void finish_leaf(Particles filter, Leaf* leaf) noexcept nogil:
    """Cache the log marginal likelihood of a leaf."""
    leaf.log_marginal = log_marginal(&filter.model, leaf.total, True, &leaf.is_linear)


cdef double decay_after(Particles filter, const Leaf* leaf, int64_t age) noexcept nogil:
    """Factor of a weight in a leaf after `age` samples: decay ** age, by the table if possible."""
    if not fades(filter, leaf):
        return 1.0
    if 0 <= age < N_POWERS:
        return filter.powers[leaf.stratum][age]
    return pow(filter.decays[leaf.stratum], <double>age)


cdef void update_time(Particles filter, Leaf* leaf) noexcept nogil:
    """Decay the statistics of a leaf to the present: section 5, per sample of the stream."""
    cdef double factor = decay_ahead(filter, leaf, 0)
    if factor == 1.0:
        return
    scale(&filter.model, leaf.total, factor)
    scale(&filter.model, leaf.retired, factor)
    leaf.time = filter.pool.n_seen
    finish_leaf(filter, leaf)


cdef double weight_at(Particles filter, int slot, const Leaf* leaf) noexcept nogil:
    """Weight of an active sample in a leaf, decayed to the time of the leaf."""
    cdef int64_t age = leaf.time - filter.pool.arrival[slot] - 1
    return filter.pool.weight[slot] * decay_after(filter, leaf, age)


cdef void weigh_samples(Particles filter, const Leaf* leaf) noexcept nogil:
    """Set `sample_weight` to the weights of the active samples of a leaf."""
    cdef int i
    if not fades(filter, leaf):
        filter.sample_weight = filter.pool.weight
        return
    filter.sample_weight = filter.decayed_weight
    for i in range(leaf.n_active):
        filter.decayed_weight[leaf.slots[i]] = weight_at(filter, leaf.slots[i], leaf)


cdef double decay_ahead(Particles filter, const Leaf* leaf, int ahead) noexcept nogil:
    """Factor of the weights in a leaf `ahead` samples from now."""
    return decay_after(filter, leaf, filter.pool.n_seen + ahead - leaf.time)


cdef const double* decayed(Particles filter, const Leaf* leaf, int ahead) noexcept nogil:
    """Statistics of a leaf `ahead` samples from now, until the next call."""
    cdef double share = decay_ahead(filter, leaf, ahead)
    if share == 1.0:
        return leaf.total
    memcpy(filter.row_decayed, leaf.total, filter.model.width * sizeof(double))
    scale(&filter.model, filter.row_decayed, share)
    return filter.row_decayed


cdef double row_score(Particles filter, const double* total,
                      const double* retired) noexcept nogil:
    """Log marginal likelihood of a leaf with these statistics: section 2.1, or dynaTree."""
    cdef bint is_linear
    cdef Fit posterior
    if filter.published and not filter.model.multinomial:
        posterior = fit(&filter.model, total, True)
        return published_score(
            &filter.model, &posterior, total[filter.model.n_regressors + 1], retired, 1.0)
    return log_marginal(&filter.model, total, True, &is_linear)


cdef double leaf_score(Particles filter, const Leaf* leaf) noexcept nogil:
    """The score of a leaf as it is, from the cache if possible."""
    if filter.published:
        return row_score(filter, leaf.total, leaf.retired)
    return leaf.log_marginal


cdef double score_subtree(Particles filter, int node, bint read_only) noexcept nogil:
    """Log posterior of a subtree. Decays its leaves to the present, unless `read_only`."""
    cdef const Node* here
    cdef int n_stack = 1
    cdef double score = 0.0
    filter.trees.stack[0] = node
    while n_stack:
        here = &filter.trees.nodes[pop(filter.trees, &n_stack)]
        if here.leaf == NULL:
            score += filter.log_split[here.depth]       # pi(T) of section 2.1
        elif read_only:
            score += filter.log_stop[here.depth] + row_score(
                filter, decayed(filter, here.leaf, 0), here.leaf.retired)
        else:
            update_time(filter, here.leaf)
            score += filter.log_stop[here.depth] + leaf_score(filter, here.leaf)
    return score


cdef int sum_subtree(Particles filter, int node, double* row) noexcept nogil:
    """Sum the statistics of a subtree (two rows); return its number of active samples."""
    cdef int n_stack = 1, n_active = 0
    cdef double share
    cdef const Leaf* leaf
    filter.trees.stack[0] = node
    memset(row, 0, 2 * filter.model.width * sizeof(double))
    while n_stack:
        leaf = filter.trees.nodes[pop(filter.trees, &n_stack)].leaf
        if leaf != NULL:
            share = decay_ahead(filter, leaf, 0)
            n_active += leaf.n_active
            merge(&filter.model, row, leaf.total, share)
            merge(&filter.model, row + filter.model.width, leaf.retired, share)
    return n_active


# --- Shape ----------------------------------------------------------------------------------

cdef int follow(Particles filter) except -1 nogil:
    """Adapt the filter to the columns and labels learned, and to the capacity of the pool."""
    cdef int n_classes = max(filter.model.n_classes, filter.n_labels())
    if (
        filter.schema.n_columns != filter.n_columns or n_classes != filter.model.n_classes
        or (filter.linear and regressors_change(filter))
    ):
        with gil:
            reshape(filter, n_classes, chosen_regressors(filter))
    elif filter.pool.capacity != filter.capacity:
        move_active(filter, filter.model.n_regressors, NULL)
    return 0


cdef inline bint is_common(Particles filter, int n_present) noexcept nogil:
    """Whether so many active samples with a value make a column a regressor."""
    return <int64_t>RARE * n_present >= filter.pool.size


cdef bint may_join(Particles filter, int column) noexcept nogil:
    """Whether a column is to become a regressor, since the row of the schema has a value in it."""
    return (
        not isnan(filter.schema.row[column]) and not filter.schema.has_codes(column)
        and not (column < filter.n_columns and filter.is_regressor[column])
        and is_common(filter, filter.pool.present(column) + 1))


cdef bint regressors_change(Particles filter) noexcept nogil:
    """Whether a regressor has become rare, or a column of the row that is none is not rare."""
    cdef int i
    if is_due(filter):
        for i in range(filter.model.n_regressors):
            if not is_common(filter, 2 * filter.pool.present(filter.regressors[i].feature)):
                return True
    for i in range(filter.schema.n_filled if filter.model.n_regressors < MAX_REGRESSORS else 0):
        if may_join(filter, filter.schema.filled[i]):
            return True
    return False


cdef list chosen_regressors(Particles filter):
    """The columns of the regressors from the next sample on: the earlier ones come first."""
    cdef int i
    if not filter.linear:
        return []
    chosen = [filter.regressors[i].feature for i in range(filter.model.n_regressors)]
    if is_due(filter):
        chosen = [column for column in chosen
                  if is_common(filter, 2 * filter.pool.present(column))]
    fresh = [filter.schema.filled[i] for i in range(filter.schema.n_filled)]
    return (chosen + sorted([column for column in fresh if may_join(filter, column)])
            )[:MAX_REGRESSORS]


cdef int reshape(Particles filter, int n_classes, list regressors) except -1:
    """Change the shape of all data that depend on the columns and the classes.

    A new regressor is missing in earlier samples; their statistics have the value 0 for it.
    """
    cdef int n_columns = filter.schema.n_columns, q = <int>len(regressors), column, width, node
    cdef int[MAX_REGRESSORS] source     # per regressor: its number so far, or -1
    cdef Regressor[MAX_REGRESSORS] before
    cdef double* block
    cdef Leaf* leaf
    cdef Leaf* wider
    memcpy(before, filter.regressors, sizeof(before))
    known = [before[i].feature for i in range(filter.model.n_regressors)]
    memset(filter.regressors, 0, sizeof(before))
    for i in range(q):
        source[i] = known.index(regressors[i]) if regressors[i] in known else -1
        if source[i] >= 0:
            filter.regressors[i] = before[source[i]]
        filter.regressors[i].feature = regressors[i]
    width = row_width(filter.model.multinomial, q, n_classes)
    for node in range(filter.trees.n_nodes):
        leaf = filter.trees.nodes[node].leaf
        if leaf != NULL:
            wider = empty_leaf(width)
            copy_rows(filter, leaf.total, wider.total, width, q, source)
            leaf.total, leaf.retired = wider.total, wider.retired
            wider[0] = leaf[0]
            filter.trees.nodes[node].leaf = wider
            free(leaf)
    filter.trees.width = width
    block = <double*>zeroed(5 * width + scratch_size(q), sizeof(double))
    if filter.block != NULL:
        copy_rows(filter, filter.block, block, width, q, source)
    filter.replace(&filter.block, block, (5 * width + scratch_size(q)) * sizeof(double))
    filter.global_statistics = block
    filter.model.prior = block + width
    filter.row_other, filter.row_decayed = block + 2 * width, block + 4 * width
    filter.model.scratch = block + 5 * width
    filter.resize(&filter.x, max(1, n_columns), sizeof(double))
    filter.resize(&filter.x_columns, max(1, n_columns), sizeof(int))
    filter.resize(&filter.proposed, max(1, n_columns), sizeof(int))
    filter.renew(&filter.is_regressor, max(1, n_columns), 1)
    for column in regressors:
        filter.is_regressor[column] = True
    for column in range(filter.n_columns, n_columns):
        filter.x[column] = NAN
    filter.n_columns = n_columns
    move_active(filter, q, source)
    filter.model.n_regressors, filter.model.n_classes, filter.model.width = q, n_classes, width
    set_split_prior(filter)
    if filter.leaves_follow:
        filter.min_samples_leaf = least_leaf(filter)
    refresh(filter)
    return 0


cdef void set_split_prior(Particles filter) noexcept nogil:
    """Compute the log prior of a split and of a leaf at each depth: section 2.1."""
    cdef double share, bonus = min(filter.leaf_bonus, filter.model.n_regressors + 1.0)
    cdef int depth
    for depth in range(MAX_DEPTH + 2):
        share = filter.alpha * pow(1.0 + depth, -filter.beta)       # p_split
        filter.log_split[depth] = log(share) if share > 0.0 else -INFINITY
        filter.log_stop[depth] = log1p(-share) + bonus


cdef int least_leaf(Particles filter) noexcept nogil:
    """Smallest number of active samples of a new leaf: two more than coefficients.

    dynaTree needs two samples per coefficient.
    """
    cdef int q = filter.model.n_regressors
    if q == 0:
        return 4
    return 2 * q + 4 if filter.published else max(4, min(q + 3, filter.window // 8))


cdef int move_active(Particles filter, int n_regressors, const int* source) except -1 nogil:
    """Move v of the active samples to memory with the capacity of the pool; new cells are 0."""
    cdef size_t size = n_regressors + 1, capacity = filter.pool.capacity, slot
    cdef double* moved
    filter.resize(&filter.drawn, capacity, sizeof(int))
    moved = <double*>zeroed(product(capacity, size), sizeof(double))
    for slot in range(min(<size_t>filter.capacity, capacity)):
        copy_v(filter, v_of(filter, slot), moved + slot * size, n_regressors, source)
    filter.capacity = filter.pool.capacity
    return filter.replace(&filter.active_v, moved, capacity * size * sizeof(double))


cdef void copy_v(Particles filter, const double* v, double* into, int n_regressors,
                 const int* source) noexcept nogil:
    """Copy regressors and target of the current shape into zeroed ones; NULL: of the same shape."""
    cdef int i
    for i in range(n_regressors):
        if source == NULL:
            into[i] = v[i]
        elif source[i] >= 0:
            into[i] = v[source[i]]
    into[n_regressors] = v[filter.model.n_regressors]


cdef void copy_rows(Particles filter, const double* rows, double* into, int width,
                    int n_regressors, const int* source) noexcept nogil:
    """Copy two rows of the current shape into zeroed rows of a new shape."""
    cdef int old = filter.model.n_regressors, i, j, row, column
    for _ in range(2):
        into[0] = rows[0]
        if filter.model.multinomial:
            memcpy(into, rows, filter.model.width * sizeof(double))
        else:
            copy_v(filter, rows + 1, into + 1, n_regressors, source)
            for i in range(n_regressors + 1):
                row = source[i] if i < n_regressors else old
                for j in range(i + 1):
                    column = source[j] if j < n_regressors else old
                    if row >= 0 and column >= 0:
                        into[2 + n_regressors + i * (i + 1) // 2 + j] = rows[
                            2 + old + max(row, column) * (max(row, column) + 1) // 2
                            + min(row, column)]
        rows += filter.model.width
        into += width


cdef int fit_scratch(Particles filter) except -1 nogil:
    """Allocate the scratch memory for a leaf with all samples of the pool.

    See `Particles` and `SplitScan` for its parts.
    """
    cdef size_t capacity = filter.pool.capacity, width = filter.model.width, i
    cdef size_t n_live = filter.pool.n_live, n_words = capacity // 64 + 1
    cdef size_t n_lines = filter.pool.column_capacity
    cdef size_t n_ranked = min(n_live, <size_t>max(filter.n_particles, <int>MOST_RANKED))
    cdef size_t size = filter.model.n_regressors + 1
    cdef size_t n_bytes = (
        ((4 + BATCH_SIZE) * width + capacity * (size + 2)) * sizeof(double)
        + n_words * sizeof(uint64_t) + n_ranked * sizeof(Column)
        + ((2 * n_ranked + 1) * capacity + n_lines) * sizeof(int)
    )
    cdef int* ranks
    if n_bytes > filter.scratch_bytes:
        filter.resize(&filter.scratch, n_bytes, 1)
        filter.scratch_bytes = n_bytes
    filter.scan.passed = <double*>filter.scratch
    filter.scan.low, filter.scan.high = filter.scan.passed + width, filter.scan.passed + 2 * width
    filter.scan.retired = filter.scan.passed + 3 * width
    filter.scan.batch = filter.scan.passed + 4 * width
    filter.scan.offsets = filter.scan.batch + BATCH_SIZE * width
    filter.decayed_weight = filter.scan.offsets + capacity * size
    filter.scan.signal = filter.decayed_weight + capacity
    filter.bits = <uint64_t*>(filter.scan.signal + capacity)
    memset(filter.bits, 0, n_words * sizeof(uint64_t))
    filter.columns = <Column*>(filter.bits + n_words)
    filter.scan.chosen = <int*>(filter.columns + n_ranked)
    filter.ranked_as = filter.scan.chosen + capacity
    ranks = filter.ranked_as + n_lines
    for i in range(n_ranked):
        filter.columns[i].rank = ranks + 2 * i * capacity
        filter.columns[i].order = ranks + (2 * i + 1) * capacity
    filter.most_ranked = <int>n_ranked
    forget_ranks(filter)
    return 0


cdef void drop_proposals(Particles filter) noexcept nogil:
    """Drop the sets of values of the proposals; nodes keep theirs."""
    cdef int i
    for i in range(filter.n_proposed):
        if filter.cuts[i].split.nominal == VALUES:
            drop_values(values_at(filter.cuts[i].split.threshold))
    filter.n_proposed = 0


cdef void forget_ranks(Particles filter) noexcept nogil:
    """Let no column be ranked."""
    cdef int i
    filter.n_ranked = 0
    for i in range(filter.pool.column_capacity):
        filter.ranked_as[i] = -1


cdef int ranked(Particles filter, int feature) noexcept nogil:
    """The place of a live column in `Particles.columns`, with the ranks of all active samples."""
    cdef int i = filter.pool.lines[feature], k, n_present = filter.pool.present(feature)
    cdef Column* column
    if filter.ranked_as[i] < 0:
        column = &filter.columns[filter.n_ranked]
        filter.ranked_as[i] = filter.n_ranked
        filter.n_ranked += 1
        column.feature, column.n_present = feature, -1
        column.x, column.ranked = filter.pool.values_of(feature), filter.pool.order_of(feature)
        if n_present < filter.pool.size:
            memset(column.rank, -1, filter.pool.capacity * sizeof(int))     # -1: missing
        for k in range(n_present):
            column.rank[column.ranked[k]] = k
    return filter.ranked_as[i]


# --- Particles -----------------------------------------------------------------------------

cdef int add_roots(Particles filter, int first) except -1:
    """Make an empty tree per forgetting factor, for its particles from `first` on."""
    cdef int node, particle, k
    cdef Leaf* leaf
    divide_particles(filter, filter.stratum)
    set_shares(filter, first)
    for k in range(filter.n_decays):
        node = filter.trees.new_leaf(0, 0)
        leaf = filter.trees.nodes[node].leaf
        leaf.stratum, leaf.time = k, filter.pool.n_seen
        finish_leaf(filter, leaf)
        for particle in range(filter.stratum[k], filter.stratum[k + 1]):
            filter.roots[first + particle] = node
        filter.trees.add_references(node, filter.stratum[k + 1] - filter.stratum[k] - 1)
    return 0


cdef void divide_particles(Particles filter, int* stratum) noexcept nogil:
    """Compute the bounds of the strata: half of the particles by posterior, half evenly."""
    cdef int k, n_strata = filter.n_decays
    cdef int least = max(1, filter.n_particles // (2 * n_strata))
    cdef int n_free = filter.n_particles - n_strata * least
    cdef double reached = 0.0
    stratum[0] = 0
    for k in range(n_strata):
        reached += filter.factor_posterior[k]
        stratum[k + 1] = (k + 1) * least + <int>(reached * n_free + 0.5)
    stratum[n_strata] = filter.n_particles


cdef void sum_beliefs(Particles filter) noexcept nogil:
    """Compute the probabilities of the factors, over all rules."""
    cdef int rule, k
    for k in range(filter.n_decays):
        filter.factor_posterior[k] = 0.0
        for rule in range(n_rules(filter)):
            filter.factor_posterior[k] += filter.belief[rule][k]


cdef void set_shares(Particles filter, int first) noexcept nogil:
    """Divide the posterior probability of each forgetting factor evenly among its particles."""
    cdef int k, particle
    for k in range(filter.n_decays):
        for particle in range(first + filter.stratum[k], first + filter.stratum[k + 1]):
            filter.share[particle] = (
                filter.factor_posterior[k] / (filter.stratum[k + 1] - filter.stratum[k]))


# --- The leaves of a sample -----------------------------------------------------------------

cdef const double* features_of(Particles filter, int slot) noexcept nogil:
    """The features of an active sample, until the next call."""
    cdef int i
    for i in range(filter.n_x):
        filter.x[filter.x_columns[i]] = NAN
    filter.n_x = filter.pool.columns_of(slot, filter.x_columns)
    for i in range(filter.n_x):
        filter.x[filter.x_columns[i]] = filter.pool.value(filter.x_columns[i], slot)
    return filter.x


cdef void fill_v(Particles filter, const double* x, double target) noexcept nogil:
    """Fill v of a sample; the running mean replaces a missing regressor."""
    cdef int i
    cdef double value
    for i in range(filter.model.n_regressors):
        value = x[filter.regressors[i].feature]
        filter.v[i] = filter.regressors[i].fill if isnan(value) else limited(value)
    filter.v[filter.model.n_regressors] = target


cdef void gather(Particles filter, const double* x, int first, int stop) noexcept nogil:
    """Find the distinct leaves (hits) and leaf-parent pairs of x.

    A node that has been visited in this epoch remembers the pair below it, so that each distinct
    node is visited once.
    """
    cdef Node* nodes = filter.trees.nodes
    cdef int path[MAX_DEPTH + 2]
    cdef int particle, node, n_path, i, pair
    filter.epoch += 1
    filter.n_hits = filter.n_pairs = 0
    for particle in range(first, stop):
        node, n_path = filter.roots[particle], 0
        while nodes[node].leaf == NULL and nodes[node].stamp != filter.epoch:
            path[n_path] = node
            n_path += 1
            node = side(&nodes[node], x)
        if nodes[node].leaf == NULL:
            pair = nodes[node].memo
        else:
            if nodes[node].stamp != filter.epoch:
                nodes[node].stamp = filter.epoch
                nodes[node].memo = filter.n_hits
                filter.hits[filter.n_hits].node = node
                filter.hits[filter.n_hits].share = 0.0
                filter.n_hits += 1
            pair = filter.n_pairs
            filter.pairs[pair].hit = nodes[node].memo
            filter.pairs[pair].parent = path[n_path - 1] if n_path else -1
            filter.n_pairs += 1
        for i in range(n_path):
            nodes[path[i]].stamp = filter.epoch
            nodes[path[i]].memo = pair
        filter.pair_of[particle] = pair
        filter.hits[filter.pairs[pair].hit].share += filter.share[particle]
