"""Trees with linear models: the models, how they are fitted, and how such a tree grows.

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

`TreeGrowth` grows a whole tree on the latest samples, in small steps. A tree without linear models
is grown by `Growth` alone. One with models in its leaves:

    MEASURE     the centers and scales of the features
    GROW        the splits, with enough samples in each leaf for a model
    SUM         the sums of a leaf's ridge regression; at its end the model
    LEARN       the leaf learns again, now the residuals of its model; SUM of the next leaf follows

One with a model in the root: MEASURE, SUM and LEARN of all samples at the root, then GROW on what
LEARN has left of the targets.

As in `Growth`, where a growth stands is a function of the samples and of the number of steps.
"""

from libc.stdint cimport int64_t

from ..dynamic.leaf_models cimport LeafModel
from ..rng cimport Rng
from ..schema cimport Schema
from ..trees cimport Trees
from .buffer cimport Buffer
from .growth cimport Growth

cdef enum ModelKind:
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

cdef void solve_ridge(const LeafModel* model, const double* row, double* slopes) noexcept nogil
cdef void init_model(LeafModel* model, int n_regressors, double* scratch) noexcept nogil

cdef enum Phase:
    MEASURE = 0
    SUM = 1
    LEARN = 2
    GROW = 3
    DONE = 4

cdef class TreeGrowth:
    cdef readonly Growth growth
    cdef readonly int kind              # of the models, see `ModelKind`
    cdef int min_samples_leaf           # by the rules; models may need more
    cdef Ridge ridge
    cdef Trees trees                    # that are grown ...
    cdef LinearModels models            # ... and their models
    cdef Buffer buffer
    cdef int n_samples
    cdef int n_regressors               # numeric features, whether they vary or not
    cdef int max_features
    cdef Rng rng
    cdef Phase phase
    cdef int64_t n_own_steps            # steps but those of `growth`
    cdef int at                         # the sample that is next
    cdef int start, leaf                # of SUM and LEARN: the first sample of a leaf, and the leaf
    cdef int stop                       # of LEARN: the sample after its last one
    cdef double* weights                # of MEASURE: per feature, where it is not missing
    cdef int capacity

    cdef int reserve(self, Buffer buffer, Trees trees, LinearModels models, Schema schema,
                     int n_columns, int n_labels, int n_samples) except -1
    cdef int64_t n_steps(self) noexcept
    cdef double expected_steps(self, int n_samples, int n_visited) noexcept
    cdef void begin(self, int64_t first, int n_samples, int max_features, Rng rng) noexcept
    cdef bint advance(self, int64_t n_steps, int max_nodes) noexcept
    cdef void start_growth(self) noexcept
    cdef void measure(self) noexcept
    cdef void keep_varying(self) noexcept
    cdef void begin_leaf(self) noexcept
    cdef void sum_sample(self) noexcept
    cdef void learn_sample(self) noexcept
    cdef int leaf_of(self, int i) noexcept
    cdef size_t n_bytes(self)

cdef int walk(Trees trees, Buffer buffer, int place) noexcept nogil
