"""The active samples of a particle filter, shared by all particles, and regressions on them.

The layout is row-major, because a step passes one sample down many trees, and leaves sum whole
samples.

Logistic leaves separate classes by linear boundaries within the leaves of a tree. The moves of the
trees use class counts, as with multinomial leaves. The predictions of a leaf, and its weight in the
filter, come from a logistic regression on its active samples. The prior of its coefficients is a
normal distribution around those of a regression on the whole window, whose own prior has mean zero.
Features are scaled to unit variance over the window. Two classes need one regression; more classes
need one each, against the rest.

A leaf takes one step of Newton's method from the coefficients of the window. The probabilities at
that point, and with them the gradient and curvature of each sample, are the same for all leaves.
Nothing is kept between steps: all is computed from the pool and the leaf.
"""

from libc.stdint cimport int64_t

cdef class Pool:
    cdef double* x              # x[slot * n_columns + column]: number or code, NaN if missing;
                                #   start of the memory of all arrays
    cdef double* v              # v[slot * size_v ...]: regressors and target, see `leaf_models`
    cdef double* weight         # per slot
    cdef int64_t* arrival       # per slot: number of the sample in the stream, or -1 if free
    cdef int* free_slots        # stack of capacity - size free slots
    cdef int* order             # order[column * capacity + rank]: slots sorted by value, then by
                                #   arrival, without missing values
    cdef int* rank              # rank[column * capacity + slot]: position in `order`; -1: missing
    cdef int* n_present         # per column: number of present values
    cdef readonly int n_columns
    cdef readonly int size_v
    cdef readonly int capacity
    cdef readonly int size      # number of samples

    cdef Pool resized(self, size_t capacity, int n_columns, int size_v)
    cdef int push(self, const double* x, const double* v, double weight,
                  int64_t arrival) noexcept nogil
    cdef void release(self, int slot) noexcept nogil
    cdef void insert(self, int slot, int column) noexcept nogil
    cdef void remove(self, int slot, int column) noexcept nogil

cdef class LogisticLeaves:
    cdef int size               # coefficients: the intercept first
    cdef int n_classes
    cdef int n_models           # regressions: 1 for two classes, otherwise one per class
    cdef size_t capacity        # in slots
    cdef double* block          # memory of the following arrays
    cdef size_t block_size      # in doubles
    cdef double* centre         # per regressor: mean over the window
    cdef double* shrink         # per regressor: 1 / standard deviation; 0 for a constant one
    cdef double* window         # window[model * size ...]: coefficients of the window
    cdef double* nothing        # zeros: mean of the prior of the window
    cdef double* leaf           # scratch: coefficients of a leaf
    cdef double* gradient       # scratch
    cdef double* hessian        # scratch: packed lower triangle
    cdef double* asked          # scratch: the sample to predict, scaled
    cdef double* chances        # scratch: probability per class
    cdef double* points         # points[slot * size ...]: 1, then the scaled regressors
    cdef double* fitted         # fitted[model * capacity + slot]: probability by the window
    cdef double* weights        # scratch: sample weight per slot
    cdef int* slots             # active slots

    cdef int shape(self, int n_regressors, int n_classes, size_t capacity) except -1 nogil
    cdef void fit_window(self, Pool pool) noexcept nogil
    cdef void scale_points(self, Pool pool, int n) noexcept nogil
    cdef void scaled(self, const double* v, double* z) noexcept nogil
    cdef void fit_points(self, int n, int model, const double* at) noexcept nogil
    cdef void newton_step(self, Pool pool, const int* slots, int n, int model, const double* prior,
                          double* at) noexcept nogil
    cdef const double* chances_in(self, Pool pool, const int* slots, int n, double decay,
                                  const double* v, int64_t now) noexcept nogil

cdef inline double* x_of(Pool pool, Py_ssize_t slot) noexcept nogil:
    """The features of the sample in a slot."""
    return pool.x + slot * pool.n_columns

cdef inline double* v_of(Pool pool, Py_ssize_t slot) noexcept nogil:
    """Regressors and target of the sample in a slot."""
    return pool.v + slot * pool.size_v

cdef inline int* column_of(Pool pool, int* cells, Py_ssize_t column) noexcept nogil:
    """The cells of a column in `order` or `rank`."""
    return cells + column * pool.capacity
