"""Columns, regressors and classes: everything that grows when the stream brings new ones."""

from libc.math cimport INFINITY, log, log1p, pow
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy, memset

from ..memory cimport free, malloc, raise_memory_error, zeroed
from .leaf_models cimport BATCH_SIZE, MAX_REGRESSORS, row_width, scratch_size
from .leaves cimport refresh
from .particles cimport ParticleFilter
from .pool cimport Pool
from .shared_trees cimport MAX_DEPTH


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
