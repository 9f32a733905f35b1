"""Columns, regressors and classes: everything that grows when the stream brings new ones.

Whatever can fail is done first, into new memory; only then does the cloud change.
"""

from libc.math cimport INFINITY, log, log1p, pow
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy, memset

from .grove cimport MAX_DEPTH
from .lanes cimport LANES
from ..memory cimport calloc, free, malloc
from .posterior cimport MAX_REGRESSORS, row_width, scratch_size
from ..schema cimport Schema
from .gathering cimport gather, reserve_slots
from .leaves cimport refresh
from .particles cimport Particles


cdef int prepare(Particles cloud, double target, bint leaving) except -1:
    """Everything that can fail before a sample is learned, and another one leaves the window.

    Finds the leaves of the row that the schema encoded last. If there is no memory, the cloud is as
    before: room is made first, the new shape is taken last.
    """
    cdef int capacity = cloud.pool.capacity, n_classes = cloud.model.n_classes
    cdef int n_columns = cloud.schema.n_columns, n_regressors = regressors_wanted(cloud)
    if cloud.model.multinomial:
        n_classes = max(n_classes, <int>target + 1)
    if cloud.pool.size - leaving == capacity:
        capacity *= 2
    gather(cloud, cloud.schema.row, 0, cloud.n_alive)
    reserve_slots(cloud)
    reserve_scratch(cloud, capacity, n_columns, n_regressors + 1,
                    row_width(cloud.model.multinomial, n_regressors, n_classes))
    if cloud.slopes is not None:
        cloud.slopes.shape(n_regressors, n_classes, capacity)
    adapt(cloud, n_classes, capacity)
    lay_out_scratch(cloud)
    return 0


cdef int regressors_wanted(Particles cloud) except -1:
    """Number of regressors when the cloud has followed the schema."""
    cdef int column, n_regressors = cloud.model.n_regressors
    for column in range(cloud.pool.n_columns, cloud.schema.n_columns):
        n_regressors += cloud.linear and cloud.schema.codes[column] is None
    return min(n_regressors, MAX_REGRESSORS)


cdef int adapt(Particles cloud, int n_classes, int capacity) except -1:
    """Follow the schema to new columns, and take so many classes and active points."""
    cdef Schema schema = cloud.schema
    cdef int column, old_columns = cloud.pool.n_columns, n_regressors = cloud.model.n_regressors
    if schema.n_columns == old_columns and n_classes == cloud.model.n_classes:
        if capacity != cloud.pool.capacity:
            cloud.pool.reserve(capacity, old_columns, cloud.pool.size_v)
        return 0
    widen(cloud, schema.n_columns, regressors_wanted(cloud), n_classes, capacity)
    for column in range(old_columns, schema.n_columns):
        cloud.nominal[column] = schema.codes[column] is not None
        if cloud.linear and not cloud.nominal[column] and n_regressors < MAX_REGRESSORS:
            cloud.regressors[n_regressors] = column
            n_regressors += 1
    return 0


cdef int widen(
    Particles cloud, int n_columns, int n_regressors, int n_classes, int capacity
) except -1:
    """Give everything that depends on these numbers its new shape.

    Earlier samples miss a new feature, and the value 0 stands in for it in their statistics.
    """
    cdef int width = row_width(cloud.model.multinomial, n_regressors, n_classes)
    cdef size_t n_leaf_rows = 2 * <size_t>cloud.grove.leaf_capacity, size = n_regressors + 1
    cdef size_t block_bytes = (
        (5 * width + 3 * size + scratch_size(n_regressors)) * sizeof(double)
        + size * sizeof(int) + n_columns
    )
    cdef double* block = <double*>calloc(block_bytes, 1)
    cdef double* rows = <double*>calloc(n_leaf_rows * width + 1, sizeof(double))
    try:
        if block == NULL or rows == NULL:
            raise MemoryError
        if (
            n_columns != cloud.pool.n_columns or n_regressors + 1 != cloud.pool.size_v
            or capacity != cloud.pool.capacity
        ):
            cloud.pool.reserve(capacity, n_columns, n_regressors + 1)
    except MemoryError:
        free(block)
        free(rows)
        raise
    copy_rows(cloud, cloud.grove.rows, rows, n_leaf_rows, width, n_regressors)
    free(cloud.grove.rows)
    cloud.grove.rows, cloud.grove.width = rows, width
    move_block(cloud, block, width, n_regressors)
    cloud.block_bytes, cloud.n_columns = block_bytes, n_columns
    cloud.model.n_regressors, cloud.model.n_classes = n_regressors, n_classes
    cloud.model.width = width
    cloud.scratch_capacity = 0
    price_depths(cloud)
    if cloud.leaves_follow:
        cloud.min_samples_leaf = least_leaf(cloud)
    refresh(cloud)
    return 0


cdef void price_depths(Particles cloud) noexcept nogil:
    """Log prior of a split and of a leaf at each depth."""
    cdef double share, bonus = min(cloud.leaf_bonus, cloud.model.n_regressors + 1.0)
    cdef int depth
    for depth in range(MAX_DEPTH + 2):
        share = cloud.alpha * pow(1.0 + depth, -cloud.beta)
        cloud.log_split[depth] = log(share) if share > 0.0 else -INFINITY
        cloud.log_stop[depth] = log1p(-share) + bonus


cdef int least_leaf(Particles cloud) noexcept nogil:
    """Active points that a new leaf needs: a linear fit with two degrees of freedom to spare.

    The reference wants two points per coefficient.
    """
    cdef int q = cloud.model.n_regressors
    if q == 0:
        return 4
    return 2 * q + 4 if cloud.reference else max(4, min(q + 3, cloud.window // 8))


cdef void move_block(
    Particles cloud, double* block, int width, int n_regressors
) noexcept nogil:
    """Take a new block for the numbers per column and for single rows, and fill it from the old."""
    cdef int size = n_regressors + 1, old_size = cloud.model.n_regressors + 1
    cdef double* fill = block + 5 * width
    cdef int* regressors = <int*>(fill + 3 * size + scratch_size(n_regressors))
    cdef uint8_t* nominal = <uint8_t*>(regressors + size)
    if cloud.block != NULL:
        copy_rows(cloud, cloud.overall, block, 1, width, n_regressors)
        copy_rows(cloud, cloud.model.prior, block + width, 1, width, n_regressors)
        memcpy(fill, cloud.fill, (old_size - 1) * sizeof(double))
        memcpy(fill + size, cloud.fill_weight, (old_size - 1) * sizeof(double))
        memcpy(regressors, cloud.regressors, (old_size - 1) * sizeof(int))
        memcpy(nominal, cloud.nominal, cloud.n_columns)
    free(cloud.block)
    cloud.block = cloud.overall = block
    cloud.model.prior = block + width
    cloud.row_other, cloud.row_faded = block + 2 * width, block + 4 * width
    cloud.fill, cloud.fill_weight, cloud.v = fill, fill + size, fill + 2 * size
    cloud.model.scratch = fill + 3 * size
    cloud.regressors, cloud.nominal = regressors, nominal


cdef void copy_rows(
    Particles cloud, const double* rows, double* into, size_t n_rows, int width, int n_regressors
) noexcept nogil:
    """Copy rows of the current shape into blank rows of a new one."""
    cdef size_t i, old = cloud.model.n_regressors, old_width = cloud.model.width
    cdef double* to_row
    cdef const double* row
    for i in range(n_rows):
        row, to_row = rows + i * old_width, into + i * width
        if cloud.model.multinomial:
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
    Particles cloud, size_t capacity, size_t columns, size_t size_v, size_t width
) except -1:
    """Make room for the cuts of a leaf that holds a pool of this shape."""
    cdef size_t n_words = capacity // 64 + 1
    cdef size_t n_bytes = (
        ((4 + LANES) * width + capacity * (size_v + 1) + 2 * columns * (capacity + 1))
        * sizeof(double)
        + (2 * columns + 1) * n_words * sizeof(uint64_t)
        + ((columns + 1) * (capacity + 1)) * sizeof(int)
    )
    cdef void* memory
    if n_bytes <= cloud.scratch_bytes:
        return 0
    memory = malloc(n_bytes)
    if memory == NULL:
        raise MemoryError
    free(cloud.scratch)
    cloud.scratch, cloud.scratch_bytes, cloud.scratch_capacity = memory, n_bytes, 0
    return 0


cdef void lay_out_scratch(Particles cloud) noexcept nogil:
    """Divide the room that `reserve_scratch` made; see `Particles` and `Sweep`."""
    cdef size_t capacity = cloud.pool.capacity, columns = cloud.pool.n_columns
    cdef size_t width = cloud.model.width
    cdef double* doubles = <double*>cloud.scratch
    cdef uint64_t* words
    if cloud.scratch_capacity == cloud.pool.capacity:
        return
    memset(cloud.scratch, 0, cloud.scratch_bytes)
    cloud.sweep.passed, cloud.sweep.low = doubles, doubles + width
    cloud.sweep.high, cloud.sweep.retired = doubles + 2 * width, doubles + 3 * width
    cloud.sweep.lanes = doubles + 4 * width
    cloud.sweep.offsets = cloud.sweep.lanes + LANES * width
    cloud.faded_weight = cloud.sweep.offsets + capacity * cloud.pool.size_v
    cloud.memo = cloud.faded_weight + capacity
    words = <uint64_t*>(cloud.memo + 2 * columns * (capacity + 1))
    cloud.n_words = cloud.pool.capacity // 64 + 1
    cloud.bits, cloud.proposed = words, words + cloud.n_words
    cloud.places = <int*>(cloud.proposed + 2 * columns * cloud.n_words)
    cloud.n_present = cloud.places + capacity + 1
    cloud.order = cloud.n_present + columns
    cloud.scratch_capacity = cloud.pool.capacity
