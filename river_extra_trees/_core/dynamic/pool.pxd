"""The active samples of a particle filter, shared by all its particles, and regressions on them.

Row-major, because a step walks one sample down many trees, and a leaf sums a few samples in full.

Logistic leaves tell classes apart by linear boundaries within the leaves of a tree. The moves of
the trees go by the class counts, as with multinomial leaves. What a leaf answers, and is weighed
by, is a logistic regression on its active samples. Its prior is a normal distribution about the
regression on the whole window, which in turn has one about zero; features are scaled to unit
variance over the window. Two classes take one regression, more take one each against the rest.

A leaf takes one step of Newton's method from the coefficients of the window. The probabilities, and
with them gradient and curvature of every sample, are those of the window there, hence the same for
all leaves. Nothing here outlives a step: all is a function of the pool and of the leaf.
"""

from libc.stdint cimport int64_t

cdef class Pool:
    cdef double* x              # x[slot * n_columns + column]: number or code, NaN where missing;
                                #   starts the one block of memory that all arrays are parts of
    cdef double* v              # v[slot * size_v ...]: what leaf statistics are made of
    cdef double* weight         # per slot
    cdef int64_t* arrival       # per slot: number of the sample in the stream, or -1 when free
    cdef int* free_slots        # stack of capacity - size free slots
    cdef int* order             # order[column * capacity + rank]: slot; ascending, equal values in
                                #   order of arrival, missing ones left out
    cdef int* rank              # rank[column * capacity + slot], -1 where missing
    cdef int* n_present         # per column: samples that are not missing
    cdef readonly int n_columns
    cdef readonly int size_v
    cdef readonly int capacity
    cdef readonly int size      # samples held

    cdef Pool resized(self, size_t capacity, int n_columns, int size_v)
    cdef int push(self, const double* x, const double* v, double weight,
                  int64_t arrival) noexcept nogil
    cdef void release(self, int slot) noexcept nogil
    cdef void insert(self, int slot, int column) noexcept nogil
    cdef void remove(self, int slot, int column) noexcept nogil

cdef class LogisticLeaves:
    cdef int size               # coefficients: the intercept first
    cdef int n_classes
    cdef int n_models           # regressions: 1 for two classes, else one per class
    cdef size_t capacity        # slots there is room for
    cdef double* block          # all that follows
    cdef size_t block_size      # in doubles
    cdef double* centre         # per regressor: mean over the window
    cdef double* shrink         # per regressor: 1 / standard deviation, 0 where it does not vary
    cdef double* window         # window[model * size ...]: coefficients of the window
    cdef double* nothing        # as many zeros as coefficients: the prior of the window
    cdef double* leaf           # scratch: coefficients of a leaf
    cdef double* gradient       # scratch
    cdef double* hessian        # scratch: packed lower triangle
    cdef double* asked          # scratch: the sample whose class is asked for, scaled
    cdef double* chances        # scratch: per class
    cdef double* points         # points[slot * size ...]: a one, then the regressors, scaled
    cdef double* fitted         # fitted[model * capacity + slot]: probability by the window
    cdef double* weights        # scratch: per slot
    cdef int* slots             # the active slots

    cdef int shape(self, int n_regressors, int n_classes, size_t capacity) except -1 nogil
    cdef void fit_window(self, Pool pool) noexcept nogil
    cdef void scale_points(self, Pool pool, int n) noexcept nogil
    cdef void scaled(self, const double* v, double* z) noexcept nogil
    cdef void fit_points(self, int n, int model, const double* at) noexcept nogil
    cdef void newton_step(
        self, Pool pool, const int* slots, int n, int model, const double* prior, double* at
    ) noexcept nogil
    cdef const double* chances_in(
        self, Pool pool, const int* slots, int n, double decay, const double* v, int64_t now
    ) noexcept nogil

cdef inline double* x_of(Pool pool, Py_ssize_t slot) noexcept nogil:
    """The features of the sample in a slot."""
    return pool.x + slot * pool.n_columns

cdef inline double* v_of(Pool pool, Py_ssize_t slot) noexcept nogil:
    """Regressors and target of the sample in a slot."""
    return pool.v + slot * pool.size_v

cdef inline int* column_of(Pool pool, int* cells, Py_ssize_t column) noexcept nogil:
    """The cells of a column in `order` or `rank`."""
    return cells + column * pool.capacity
