"""The active samples of a particle filter, shared by all particles.

The layout is row-major, because a step passes one sample down many trees, and leaves sum whole
samples.
"""

from libc.stdint cimport int64_t

cdef class Pool:
    cdef double* x              # x[slot * n_columns + column]: number or code, NaN if missing;
                                #   start of the memory of all arrays
    cdef double* v              # v[slot * size_v ...]: regressors and target, see `linalg`
    cdef double* weight         # per slot
    cdef int64_t* arrival       # per slot: number of the sample in the stream, or -1 if free
    cdef int* free_slots        # stack of capacity - size free slots
    cdef int* order             # order[column * capacity + rank]: slots sorted by value, then by
                                #   arrival, without missing values
    cdef int* rank              # rank[column * capacity + slot]: position in `order`; -1: missing
    cdef int* n_present         # per column: number of present values
    cdef int* live              # ascending: the columns with a present value
    cdef readonly int n_live
    cdef readonly int n_columns
    cdef readonly int size_v
    cdef readonly int capacity
    cdef readonly int size      # number of samples

    cdef Pool resized(self, size_t capacity, int n_columns, int size_v)
    cdef int push(self, const double* x, const int* columns, int n, const double* v,
                  double weight, int64_t arrival) noexcept nogil
    cdef void release(self, int slot) noexcept nogil
    cdef void insert(self, int slot, int column) noexcept nogil
    cdef void remove(self, int slot, int column) noexcept nogil
    cdef void add_live(self, int column) noexcept nogil
    cdef object ranked(self, int column)
    cdef dict views(self)

cdef inline double* x_of(Pool pool, Py_ssize_t slot) noexcept nogil:
    """The features of the sample in a slot."""
    return pool.x + slot * pool.n_columns

cdef inline double* v_of(Pool pool, Py_ssize_t slot) noexcept nogil:
    """Regressors and target of the sample in a slot."""
    return pool.v + slot * pool.size_v

cdef inline int* column_of(Pool pool, int* cells, Py_ssize_t column) noexcept nogil:
    """The cells of a column in `order` or `rank`."""
    return cells + column * pool.capacity
