"""Linear models in a tree, and how they are fitted.

A tree of a regression may hold linear models of the numeric features: one in each leaf, as the
model trees of Quinlan (1992), or one for the whole tree, whose nodes then learn the residuals.
A model answers with a slope: what it adds to the mean of a leaf,

    slope(x) = sum_j b_j (z_j - mean of z_j),      z_j = (x_j - center_j) / scale_j,

limited to the range that the targets had where the model was fitted. Centers and scales are the
means and standard deviations of the samples of the tree. A missing value has z_j = 0, and so has a
feature without variance.

The coefficients b are those of a ridge regression on the n samples (Hoerl and Kennard 1970),

    b = (Z'WZ + r I)^-1 Z'W y,      r = the mean weight of the samples,

with Z and y less their means. `leaf_models` of the dynamic trees has the sums and the factor.
"""

from ..dynamic.leaf_models cimport LeafModel
from ..schema cimport Schema
from .buffer cimport Buffer

cdef enum Kind:
    NO_MODELS = 0
    IN_LEAVES = 1
    IN_ROOT = 2

cdef inline double remainder(double target, double slope) noexcept nogil:
    """What a model leaves of a target, as large as a target may be at most."""
    return min(max(target - slope, -1e150), 1e150)

cdef class LinearModels:
    cdef readonly int kind
    cdef readonly int n_regressors      # numeric features that vary: in use are ...
    cdef int* columns                   # ... their columns ...
    cdef double* centers                # ... means ...
    cdef double* scales                 # ... and one over their standard deviations
    cdef int regressor_capacity
    cdef readonly int n_models
    cdef double* coefficients           # coefficients[model * width]: b, b' mean of z, the limit
    cdef int width                      # n_regressors + 2
    cdef size_t n_cells                 # doubles allocated
    cdef int* of_nodes                  # per node its model, or -1; not used in a root
    cdef int n_nodes                    # that have a place there
    cdef int node_capacity

    cdef int reserve(self, int n_regressors, Py_ssize_t n_models, int n_nodes) except -1
    cdef void trim(self) noexcept nogil
    cdef double* add(self, int node) noexcept nogil
    cdef void standardise(self, Buffer buffer, int place, double* z) noexcept nogil
    cdef double slope(self, const double* model, const double* z) noexcept nogil
    cdef double at_place(self, int leaf, Buffer buffer, int place) noexcept nogil
    cdef int fill(self, const double[::1] coefficients, const int[::1] of_nodes) except -1
    cdef double at_row(self, int leaf, const double* row, int n_columns) noexcept nogil

    cdef inline const double* model_of(self, int leaf) noexcept nogil:
        """The model that a leaf answers with, or NULL."""
        cdef int number = 0
        if self.kind == IN_LEAVES:
            number = self.of_nodes[leaf] if leaf < self.n_nodes else -1
        if number < 0 or number >= self.n_models:
            return NULL
        return self.coefficients + <Py_ssize_t>number * self.width

cdef class Ridge:
    cdef LeafModel model
    cdef double* row                    # sums of the samples, see `leaf_models`
    cdef double* v                      # z of a sample, and its target
    cdef int capacity                   # regressors there is room for
    cdef int n                          # samples
    cdef double weight                  # of these
    cdef double lowest, highest         # of their targets

    cdef int reserve(self, int n_regressors) except -1
    cdef void begin(self, int n_regressors) noexcept nogil
    cdef void add(self, double target, double weight) noexcept nogil
    cdef void solve(self, double* coefficients) noexcept nogil
    cdef size_t n_bytes(self)

cdef int n_regressors_of(Schema schema, int n_columns) except -1
cdef void solve_ridge(const LeafModel* model, const double* row, double* slopes) noexcept nogil
cdef void init_model(LeafModel* model, int n_regressors, double* scratch) noexcept nogil
