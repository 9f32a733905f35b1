"""Columns, regressors and classes: everything that grows when the stream brings new ones."""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

from ..grove cimport Grove
from ..memory cimport calloc, free, realloc
from ..pool cimport Pool
from ..posterior cimport row_width, scratch_size
from ..schema cimport Schema
from .leaves cimport refresh
from .particles cimport MAX_REGRESSORS, Particles


cdef int adapt(Particles cloud) except -1:
    """Follow the schema to new columns."""
    cdef Schema schema = cloud.schema
    cdef int column, n_regressors = cloud.model.n_regressors
    if schema.n_columns == cloud.pool.n_columns:
        return 0
    for column in range(cloud.pool.n_columns, schema.n_columns):
        n_regressors += cloud.linear and schema.codes[column] is None
    n_regressors = min(n_regressors, MAX_REGRESSORS)
    cdef int old_columns = cloud.pool.n_columns, old_regressors = cloud.model.n_regressors
    widen(cloud, schema.n_columns, n_regressors, cloud.model.n_classes)
    n_regressors = old_regressors
    for column in range(old_columns, schema.n_columns):
        cloud.nominal[column] = schema.codes[column] is not None
        if cloud.linear and not cloud.nominal[column] and n_regressors < MAX_REGRESSORS:
            cloud.regressors[n_regressors] = column
            n_regressors += 1
    return 0


cdef int widen(Particles cloud, int n_columns, int n_regressors, int n_classes) except -1:
    """Give everything that depends on these numbers its new shape.

    Earlier samples miss a new feature, and the value 0 stands in for it in their statistics.
    """
    cdef int width = row_width(cloud.model.multinomial, n_regressors, n_classes)
    cdef Grove grove = Grove(width)
    cdef Py_ssize_t i
    if cloud.pool is None:
        cloud.pool = Pool(n_columns, n_regressors + 1)
    elif n_columns != cloud.pool.n_columns or n_regressors + 1 != cloud.pool.size_v:
        cloud.pool.reserve(cloud.pool.capacity, n_columns, n_regressors + 1)
    cloud.overall = wider(cloud, cloud.overall, 1, width, n_regressors)
    cloud.model.prior = wider(cloud, cloud.model.prior, 1, width, n_regressors)
    cloud.row_small = wider(cloud, cloud.row_small, 2, width, n_regressors)
    cloud.row_other = wider(cloud, cloud.row_other, 2, width, n_regressors)
    cloud.row_child = wider(cloud, cloud.row_child, 2, width, n_regressors)
    if cloud.grove is None:
        cloud.grove = grove
    elif width != cloud.grove.width:
        cloud.grove.rows = wider(
            cloud, cloud.grove.rows, 2 * cloud.grove.leaf_capacity, width, n_regressors)
        cloud.grove.width = width
    cloud.v = <double*>resized(cloud.v, (n_regressors + 1) * sizeof(double))
    cloud.fill = <double*>resized(cloud.fill, (n_regressors + 1) * sizeof(double))
    cloud.fill_weight = <double*>resized(
        cloud.fill_weight, (n_regressors + 1) * sizeof(double))
    cloud.regressors = <int*>resized(cloud.regressors, (n_regressors + 1) * sizeof(int))
    cloud.nominal = <uint8_t*>resized(cloud.nominal, n_columns + 1)
    cloud.model.scratch = <double*>resized(
        cloud.model.scratch, scratch_size(n_regressors) * sizeof(double))
    for i in range(cloud.model.n_regressors, n_regressors):
        cloud.fill[i] = cloud.fill_weight[i] = 0.0
    cloud.model.n_regressors, cloud.model.n_classes = n_regressors, n_classes
    cloud.model.width = width
    cloud.scratch_capacity = 0
    refresh(cloud)
    return 0


cdef void* resized(void* memory, size_t size) except NULL:
    memory = realloc(memory, max(<size_t>1, size))
    if memory == NULL:
        raise MemoryError
    return memory


cdef double* wider(
    Particles cloud, double* rows, Py_ssize_t n_rows, int width, int n_regressors
) except NULL:
    """Rows of the current shape, copied into rows of a new one; the old ones are freed."""
    cdef double* new = <double*>calloc(max(<Py_ssize_t>1, n_rows * width), sizeof(double))
    cdef Py_ssize_t i, old_width = cloud.model.width
    cdef int old = cloud.model.n_regressors
    cdef double* to_row
    cdef const double* row
    if new == NULL:
        raise MemoryError
    for i in range(n_rows if rows != NULL else 0):
        row, to_row = rows + i * old_width, new + i * width
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
    free(rows)
    return new


cdef int reserve_scratch(Particles cloud) except -1:
    """Work space for proposals in a leaf that holds the whole pool."""
    cdef size_t capacity = cloud.pool.capacity
    cdef size_t columns = max(1, cloud.pool.n_columns)
    if cloud.scratch_capacity == cloud.pool.capacity:
        return 0
    cloud.order = <int*>resized(cloud.order, columns * capacity * sizeof(int))
    cloud.n_present = <int*>resized(cloud.n_present, columns * sizeof(int))
    cloud.memo = <double*>resized(
        cloud.memo, 2 * columns * (capacity + 1) * sizeof(double))
    cloud.n_needed = <int*>resized(cloud.n_needed, 2 * columns * sizeof(int))
    cloud.bits = <uint64_t*>resized(cloud.bits, (capacity // 64 + 1) * sizeof(uint64_t))
    cloud.sample_weight = <double*>resized(
        cloud.sample_weight, capacity * sizeof(double))
    cloud.scratch_capacity = cloud.pool.capacity
    return 0


cdef int prepare(Particles cloud, double target, bint leaving) except -1:
    """Everything that can fail before a sample is learned, and another one leaves the window."""
    adapt(cloud)
    if cloud.model.multinomial and target >= cloud.model.n_classes:
        widen(cloud, cloud.pool.n_columns, cloud.model.n_regressors, <int>target + 1)
    if cloud.pool.size - leaving == cloud.pool.capacity:
        cloud.pool.reserve(
            2 * cloud.pool.capacity, cloud.pool.n_columns, cloud.pool.size_v)
    reserve_scratch(cloud)
    return 0
