"""Statistics, prior and scores of leaves, and their growth with columns, regressors and classes.

When the stream brings new columns, regressors or classes, new memory is allocated and filled first;
the filter changes only when nothing can fail any more.
"""

from libc.math cimport INFINITY, log, log1p, pow
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from ..linalg cimport (
    BATCH_SIZE, MAX_REGRESSORS, Fit, add_samples, fit, merge, row_width, scale, scratch_size,
)
from ..memory cimport free, malloc, raise_memory_error, zeroed
from .leaf_models cimport log_gamma, log_marginal, published_score
from .particles cimport N_POWERS, ParticleFilter
from .pool cimport Pool
from .shared_trees cimport MAX_DEPTH, Leaf, Node, pop


cdef void inflate_prior(ParticleFilter filter, double* target, int size,
                        double mean) noexcept nogil:
    """Weaken the prior's fit of the target after few samples.

    With as many samples as coefficients, the fit is exact whatever the noise. So the slopes of the
    prior are zero up to there, and approach the fit as samples arrive. One sample, or equal ones,
    have no variance; then the magnitude of the target replaces it.
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
    """Compute the prior of the leaves from the statistics of all samples.

    It has the weight of `prior_weight` average samples, so that a leaf with few samples predicts
    like the fit of all samples. A ridge keeps the prior proper if features are collinear or
    constant, and one degree of freedom for the variance does so when weights decay.
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
    if filter.published or filter.prior_weight <= 0.0 or filter.global_statistics[0] <= 0.0:
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
    # `per_leaf` is chosen so that the log marginal likelihood of no samples is 0.
    filter.model.df_offset = 1.0
    filter.model.per_leaf = 0.0
    memset(filter.row_other, 0, filter.model.width * sizeof(double))
    filter.model.per_leaf = -log_marginal(
        &filter.model, filter.row_other, True, &is_linear)


cdef void refresh(ParticleFilter filter) noexcept nogil:
    """Compute the prior again, and the cached values of all leaves."""
    cdef int node
    set_prior(filter)
    for node in range(filter.trees.n_nodes):
        if filter.trees.nodes[node].refs and filter.trees.nodes[node].split.feature < 0:
            finish_leaf(filter, filter.trees.nodes[node].left)


cdef void finish_leaf(ParticleFilter filter, int leaf) noexcept nogil:
    """Cache the log marginal likelihood of a leaf."""
    cdef Leaf* here = &filter.trees.leaves[leaf]
    here.log_marginal = log_marginal(
        &filter.model, filter.trees.total(leaf), True, &here.is_linear)


cdef double kept(ParticleFilter filter, const Leaf* leaf, int64_t age) noexcept nogil:
    """Factor of a weight in a leaf after `age` samples: decay ** age, by the table if possible."""
    cdef int k
    if leaf.decay == 1.0 or filter.published:
        return 1.0
    if 0 <= age < N_POWERS:
        for k in range(filter.n_decays):
            if filter.decays[k] == leaf.decay:
                return filter.powers[k][age]
    return pow(leaf.decay, <double>age)


cdef void update_time(ParticleFilter filter, int leaf) noexcept nogil:
    """Decay the statistics of a leaf to the present: section 5, per sample of the stream."""
    cdef Leaf* here = &filter.trees.leaves[leaf]
    cdef double factor = kept(filter, here, filter.n_seen - here.time)
    if factor == 1.0:
        return
    scale(&filter.model, filter.trees.total(leaf), factor)
    scale(&filter.model, filter.trees.retired(leaf), factor)
    here.time = filter.n_seen
    finish_leaf(filter, leaf)


cdef double weight_at(ParticleFilter filter, int slot, const Leaf* leaf) noexcept nogil:
    """Weight of an active sample in a leaf, decayed to the time of the leaf."""
    return filter.pool.weight[slot] * kept(filter, leaf, leaf.time - filter.pool.arrival[slot])


cdef void weigh_samples(ParticleFilter filter, int leaf) noexcept nogil:
    """Set `sample_weight` to the weights of the active samples of a leaf."""
    cdef const Leaf* here = &filter.trees.leaves[leaf]
    cdef const int* slots = filter.trees.slots + here.slots
    cdef int i
    if here.decay == 1.0 or filter.published:
        filter.sample_weight = filter.pool.weight
        return
    filter.sample_weight = filter.faded_weight
    for i in range(here.n_active):
        filter.faded_weight[slots[i]] = weight_at(filter, slots[i], here)


cdef double fading(ParticleFilter filter, int leaf, int ahead) noexcept nogil:
    """Factor of the weights in a leaf `ahead` samples from now."""
    cdef const Leaf* here = &filter.trees.leaves[leaf]
    return kept(filter, here, filter.n_seen + ahead - here.time)


cdef const double* faded(ParticleFilter filter, int leaf, int ahead, double* row) noexcept nogil:
    """Statistics of a leaf `ahead` samples from now; in `row` if they differ from the present."""
    cdef double share = fading(filter, leaf, ahead)
    if share == 1.0:
        return filter.trees.total(leaf)
    memcpy(row, filter.trees.total(leaf), filter.model.width * sizeof(double))
    scale(&filter.model, row, share)
    return row


cdef void sum_slots(ParticleFilter filter, const int* slots, int n, double* row) noexcept nogil:
    add_samples(&filter.model, row, filter.pool.v, slots, n, filter.sample_weight)


cdef double row_score(ParticleFilter filter, const double* total,
                      const double* retired) noexcept nogil:
    """Log marginal likelihood of a leaf with these statistics: section 2.1, or dynaTree."""
    cdef bint is_linear
    cdef Fit posterior
    if filter.published and not filter.model.multinomial:
        posterior = fit(&filter.model, total, True)
        return published_score(
            &filter.model, &posterior, total[filter.model.n_regressors + 1], retired, 1.0)
    return log_marginal(&filter.model, total, True, &is_linear)


cdef double leaf_score(ParticleFilter filter, int leaf) noexcept nogil:
    if filter.published:
        return row_score(filter, filter.trees.total(leaf), filter.trees.retired(leaf))
    return filter.trees.leaves[leaf].log_marginal


cdef double score_subtree(ParticleFilter filter, int node, bint read_only) noexcept nogil:
    """Log posterior of a subtree. Decays its leaves to the present, unless `read_only`."""
    cdef const Node* here
    cdef int n_stack = 1
    cdef double score = 0.0
    filter.trees.stack[0] = node
    while n_stack:
        here = &filter.trees.nodes[pop(filter.trees, &n_stack)]
        if here.split.feature >= 0:
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
    """Sum the statistics of a subtree (two rows); return its number of active samples."""
    cdef int n_stack = 1, n_active = 0, leaf
    cdef double share
    filter.trees.stack[0] = node
    memset(row, 0, 2 * filter.model.width * sizeof(double))
    while n_stack:
        node = pop(filter.trees, &n_stack)
        if filter.trees.nodes[node].split.feature >= 0:
            continue
        leaf = filter.trees.nodes[node].left
        share = fading(filter, leaf, 0)
        n_active += filter.trees.leaves[leaf].n_active
        merge(&filter.model, row, filter.trees.total(leaf), share)
        merge(&filter.model, row + filter.model.width, filter.trees.retired(leaf), share)
    return n_active


# --- Shape ----------------------------------------------------------------------------------

cdef int regressors_wanted(ParticleFilter filter) noexcept nogil:
    """Number of regressors with all columns of the schema."""
    cdef int column, n_regressors = filter.model.n_regressors
    for column in range(filter.pool.n_columns, filter.schema.n_columns):
        n_regressors += filter.linear and not filter.schema.has_codes(column)
    return min(n_regressors, MAX_REGRESSORS)


cdef int follow(ParticleFilter filter, int n_regressors, int n_classes,
                int capacity) except -1 nogil:
    """Adapt the filter to the columns of the schema, the classes and the capacity of the pool."""
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


cdef int reshape(ParticleFilter filter, int n_columns, int n_regressors, int n_classes,
                 int capacity) except -1:
    """Change the shape of all data that depend on these numbers.

    A new feature is missing in earlier samples; their statistics have the value 0 for it.
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
    """Compute the log prior of a split and of a leaf at each depth: section 2.1."""
    cdef double share, bonus = min(filter.leaf_bonus, filter.model.n_regressors + 1.0)
    cdef int depth
    for depth in range(MAX_DEPTH + 2):
        share = filter.alpha * pow(1.0 + depth, -filter.beta)       # p_split
        filter.log_split[depth] = log(share) if share > 0.0 else -INFINITY
        filter.log_stop[depth] = log1p(-share) + bonus


cdef int least_leaf(ParticleFilter filter) noexcept nogil:
    """Smallest number of active samples of a new leaf: two more than coefficients.

    dynaTree needs two samples per coefficient.
    """
    cdef int q = filter.model.n_regressors
    if q == 0:
        return 4
    return 2 * q + 4 if filter.published else max(4, min(q + 3, filter.window // 8))


cdef void move_block(ParticleFilter filter, double* block, int width,
                     int n_regressors) noexcept nogil:
    """Replace `block`, which contains single rows and data per column, and copy its content."""
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


cdef void copy_rows(ParticleFilter filter, const double* rows, double* into, size_t n_rows,
                    int width, int n_regressors) noexcept nogil:
    """Copy rows of the current shape into zeroed rows of a new shape."""
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


cdef int reserve_scratch(ParticleFilter filter, size_t capacity, size_t columns, size_t size_v,
                         size_t width) except -1 nogil:
    """Allocate the scratch memory for the cuts of a leaf that contains all samples of a pool."""
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
    """Divide the memory of `reserve_scratch`; see `ParticleFilter` and `SplitScan`."""
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
