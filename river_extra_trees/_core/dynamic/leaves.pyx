"""What a leaf knows, and how this follows the columns, regressors and classes of the stream.

A leaf knows its statistics as of now, its prior and its scores. Where the stream brings columns,
regressors or classes, whatever can fail is done first, into new memory; only then does the filter
change.
"""

from libc.math cimport INFINITY, log, log1p, pow
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from ..memory cimport free, malloc, raise_memory_error, zeroed
from .leaf_models cimport (
    BATCH_SIZE, MAX_REGRESSORS, Fit, add_samples, fit, log_gamma, log_marginal, merge,
    reference_score, row_width, scale, scratch_size,
)
from .particles cimport N_POWERS, ParticleFilter
from .pool cimport Pool
from .shared_trees cimport MAX_DEPTH, Leaf, Node, pop


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


# --- Shape ----------------------------------------------------------------------------------

cdef int regressors_wanted(ParticleFilter filter) noexcept nogil:
    """Number of regressors when the filter has followed the schema."""
    cdef int column, n_regressors = filter.model.n_regressors
    for column in range(filter.pool.n_columns, filter.schema.n_columns):
        n_regressors += filter.linear and not filter.schema.has_codes(column)
    return min(n_regressors, MAX_REGRESSORS)


cdef int follow(ParticleFilter filter, int n_regressors, int n_classes,
                int capacity) except -1 nogil:
    """Follow the schema to new columns, and take so many classes and active samples."""
    cdef int column, old_columns = filter.pool.n_columns, n_old = filter.model.n_regressors
    cdef int n_columns = filter.schema.n_columns
    if n_columns != old_columns or n_classes != filter.model.n_classes:
        with gil:
            reshape(filter, n_columns, n_regressors, n_classes, capacity)
        for column in range(old_columns, n_columns):
            filter.nominal[column] = filter.schema.has_codes(column)
            if filter.linear and not filter.nominal[column] and n_old < MAX_REGRESSORS:
                filter.regressors[n_old] = column
                n_old += 1
    elif capacity != filter.pool.capacity:
        with gil:
            filter.pool = filter.pool.resized(capacity, old_columns, filter.pool.size_v)
    lay_out_scratch(filter)
    return 0


cdef int reshape(
    ParticleFilter filter, int n_columns, int n_regressors, int n_classes, int capacity
) except -1:
    """Give everything that depends on these numbers its new shape.

    Earlier samples miss a new feature, and the value 0 stands in for it in their statistics.
    """
    cdef Pool pool = filter.pool
    cdef int width = row_width(filter.model.multinomial, n_regressors, n_classes)
    cdef size_t n_leaf_rows = 2 * <size_t>filter.trees.leaf_capacity, size = n_regressors + 1
    cdef size_t block_bytes = (
        (5 * width + 3 * size + scratch_size(n_regressors)) * sizeof(double)
        + size * sizeof(int) + n_columns
    )
    cdef double* rows = NULL
    cdef double* block
    if (pool.n_columns, pool.size_v, pool.capacity) != (n_columns, n_regressors + 1, capacity):
        pool = pool.resized(capacity, n_columns, n_regressors + 1)
    block = <double*>zeroed(block_bytes, 1)
    try:
        rows = <double*>zeroed(n_leaf_rows * width, sizeof(double))
    except MemoryError:
        free(block)
        raise
    filter.pool = pool
    copy_rows(filter, filter.trees.rows, rows, n_leaf_rows, width, n_regressors)
    free(filter.trees.rows)
    filter.trees.rows, filter.trees.width = rows, width
    move_block(filter, block, width, n_regressors)
    filter.block_bytes, filter.n_columns = block_bytes, n_columns
    filter.model.n_regressors, filter.model.n_classes = n_regressors, n_classes
    filter.model.width = width
    filter.scratch_capacity = 0
    set_split_prior(filter)
    if filter.leaves_follow:
        filter.min_samples_leaf = least_leaf(filter)
    refresh(filter)
    return 0


cdef void set_split_prior(ParticleFilter filter) noexcept nogil:
    """Log prior of a split and of a leaf at each depth: section 2.1."""
    cdef double share, bonus = min(filter.leaf_bonus, filter.model.n_regressors + 1.0)
    cdef int depth
    for depth in range(MAX_DEPTH + 2):
        share = filter.alpha * pow(1.0 + depth, -filter.beta)       # p_split
        filter.log_split[depth] = log(share) if share > 0.0 else -INFINITY
        filter.log_stop[depth] = log1p(-share) + bonus


cdef int least_leaf(ParticleFilter filter) noexcept nogil:
    """Active samples that a new leaf needs: a linear fit with two degrees of freedom to spare.

    The reference wants two samples per coefficient.
    """
    cdef int q = filter.model.n_regressors
    if q == 0:
        return 4
    return 2 * q + 4 if filter.reference else max(4, min(q + 3, filter.window // 8))


cdef void move_block(
    ParticleFilter filter, double* block, int width, int n_regressors
) noexcept nogil:
    """Take a new block for the numbers per column and for single rows, and fill it from the old."""
    cdef int size = n_regressors + 1, n_old = filter.model.n_regressors
    cdef double* fill = block + 5 * width
    cdef int* regressors = <int*>(fill + 3 * size + scratch_size(n_regressors))
    cdef uint8_t* nominal = <uint8_t*>(regressors + size)
    if filter.block != NULL:
        copy_rows(filter, filter.global_statistics, block, 1, width, n_regressors)
        copy_rows(filter, filter.model.prior, block + width, 1, width, n_regressors)
        memcpy(fill, filter.fill, n_old * sizeof(double))
        memcpy(fill + size, filter.fill_weight, n_old * sizeof(double))
        memcpy(regressors, filter.regressors, n_old * sizeof(int))
        memcpy(nominal, filter.nominal, filter.n_columns)
    free(filter.block)
    filter.block = filter.global_statistics = block
    filter.model.prior = block + width
    filter.row_other, filter.row_faded = block + 2 * width, block + 4 * width
    filter.fill, filter.fill_weight, filter.v = fill, fill + size, fill + 2 * size
    filter.model.scratch = fill + 3 * size
    filter.regressors, filter.nominal = regressors, nominal


cdef void copy_rows(
    ParticleFilter filter, const double* rows, double* into, size_t n_rows, int width,
    int n_regressors
) noexcept nogil:
    """Copy rows of the current shape into blank rows of a new one."""
    cdef size_t i, old = filter.model.n_regressors, old_width = filter.model.width
    cdef double* to_row
    cdef const double* row
    for i in range(n_rows):
        row, to_row = rows + i * old_width, into + i * width
        if filter.model.multinomial:
            memcpy(to_row, row, old_width * sizeof(double))
            continue
        memcpy(to_row, row, (1 + old) * sizeof(double))
        to_row[1 + n_regressors] = row[1 + old]
        row, to_row = row + 2 + old, to_row + 2 + n_regressors
        memcpy(to_row, row, (old * (old + 1) // 2) * sizeof(double))
        row += old * (old + 1) // 2
        to_row += n_regressors * (n_regressors + 1) // 2
        memcpy(to_row, row, old * sizeof(double))
        to_row[n_regressors] = row[old]


cdef int reserve_scratch(
    ParticleFilter filter, size_t capacity, size_t columns, size_t size_v, size_t width
) except -1 nogil:
    """Make room for the cuts of a leaf that holds a pool of this shape."""
    cdef size_t n_words = capacity // 64 + 1
    cdef size_t n_bytes = (
        ((4 + BATCH_SIZE) * width + capacity * (size_v + 1) + 2 * columns * (capacity + 1))
        * sizeof(double)
        + (2 * columns + 1) * n_words * sizeof(uint64_t)
        + ((columns + 1) * (capacity + 1)) * sizeof(int)
    )
    cdef void* memory
    if n_bytes <= filter.scratch_bytes:
        return 0
    memory = malloc(n_bytes)
    if memory == NULL:
        raise_memory_error()
    free(filter.scratch)
    filter.scratch, filter.scratch_bytes, filter.scratch_capacity = memory, n_bytes, 0
    return 0


cdef void lay_out_scratch(ParticleFilter filter) noexcept nogil:
    """Divide the room that `reserve_scratch` made; see `ParticleFilter` and `SplitScan`."""
    cdef size_t capacity = filter.pool.capacity, columns = filter.pool.n_columns
    cdef size_t width = filter.model.width
    cdef double* doubles = <double*>filter.scratch
    cdef uint64_t* words
    if filter.scratch == NULL or filter.scratch_capacity == filter.pool.capacity:
        return
    memset(filter.scratch, 0, filter.scratch_bytes)
    filter.scan.passed, filter.scan.low = doubles, doubles + width
    filter.scan.high, filter.scan.retired = doubles + 2 * width, doubles + 3 * width
    filter.scan.batch = doubles + 4 * width
    filter.scan.offsets = filter.scan.batch + BATCH_SIZE * width
    filter.faded_weight = filter.scan.offsets + capacity * filter.pool.size_v
    filter.memo = filter.faded_weight + capacity
    words = <uint64_t*>(filter.memo + 2 * columns * (capacity + 1))
    filter.n_words = filter.pool.capacity // 64 + 1
    filter.bits, filter.proposed = words, words + filter.n_words
    filter.places = <int*>(filter.proposed + 2 * columns * filter.n_words)
    filter.n_present = filter.places + capacity + 1
    filter.order = filter.n_present + columns
    filter.scratch_capacity = filter.pool.capacity
