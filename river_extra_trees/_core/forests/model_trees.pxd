"""Trees with linear models: the models, their fit, and the growth of such trees.

A regression tree may have linear models of the numeric features: one in each leaf, as in the model
trees of Quinlan (1992), or one for the whole tree, whose nodes then learn the residuals. The
prediction is the mean of a leaf plus a slope, which the model computes,

    slope(x) = sum_j b_j (z_j - mean of z_j),      z_j = (x_j - center_j) / scale_j,

limited to the range that the targets had where the model was fitted. Centers and scales are the
means and standard deviations of the samples of the tree. A missing value has z_j = 0, and so has a
feature without variance. The model of a whole tree does not extrapolate: its z_j stay in the range
that they had in the samples of the tree. (Where labels are late, rows come from where none is known
yet; one plane through the whole window was wrong there, those of leaves much less.)

The coefficients b are those of a ridge regression on the n samples (Hoerl and Kennard 1970),

    b = (Z'WZ + r I)^-1 Z'W y,      r = the mean weight of the samples,

with Z and y centred. `linalg` computes the sums and the factorisation.

`TreeGrowth` grows a whole tree on the latest samples, in small steps. A tree without linear models
is grown by `Growth` alone. A tree with models in its leaves has these phases:

    MEASURE     compute the centers and scales of the features
    GROW        split; each leaf keeps enough samples for a model
    SUM         add the samples of a leaf to its ridge regression; at the end fit the model
    LEARN       the leaf learns the residuals of its model instead; then SUM for the next leaf

A tree with a model in the root: MEASURE, SUM and LEARN with all samples at the root, then GROW on
the residuals.

As in `Growth`, the state is a function of the samples, the random numbers and the number of steps.
"""

from libc.stdint cimport int64_t

from ..allocation cimport free
from ..linalg cimport LeafModel
from ..parts cimport Owner, Part
from ..rng cimport Rng
from ..schema cimport Schema
from ..tree cimport Kind, Tree
from .buffer cimport Buffer
from .growth cimport Growth

cdef enum ModelKind:
    NO_MODELS = 0
    IN_LEAVES = 1
    IN_ROOT = 2

cdef inline double remainder(double target, double slope) noexcept nogil:
    """The residual of a target, clipped to the largest valid target."""
    return min(max(target - slope, -1e150), 1e150)

cdef class LinearModels(Part):
    cdef readonly int kind
    cdef int n_regressors               # number of numeric features that vary
    cdef int* columns                   # their columns
    cdef double* centers                # their means
    cdef double* scales                 # one over their standard deviations
    cdef double* lows                   # limits of z: of the root's model, those in the window ...
    cdef double* highs                  # ... else of what can be multiplied
    cdef int regressor_capacity
    cdef readonly int n_models
    cdef double* coefficients           # coefficients[model * width]: b, b' mean of z, the limit
    cdef int width                      # n_regressors + 2
    cdef size_t n_cells                 # number of allocated doubles
    cdef int* of_nodes                  # per node: its model, or -1; unused if kind is IN_ROOT
    cdef int n_nodes                    # number of entries in of_nodes
    cdef int node_capacity

    cdef int reserve(self, int n_regressors, size_t n_cells, int n_nodes) except -1 nogil
    cdef void trim(self) noexcept nogil
    cdef double* add(self, int node) noexcept nogil
    cdef void read(self, Buffer buffer, const int* places, int n, double* z) noexcept nogil
    cdef double at_place(self, int leaf, Buffer buffer, int place) noexcept nogil
    cdef double at_regressors(self, const double* model, const double* z) noexcept nogil
    cdef double at_row(self, int leaf, const double* row, int n_columns) noexcept nogil
    cdef void at_rows(self, const int* leaves, const double* rows, Py_ssize_t stride, int n,
                      int n_columns, double* slopes) noexcept nogil
    cdef double in_middle(self, int leaf) noexcept nogil
    cdef void add_terms(self, int leaf, const double* row, int n_columns, double factor,
                        double* phi) noexcept nogil

    cdef inline void take_models(self, LinearModels other) noexcept nogil:
        """Take over the models of another object of the same kind, which has none then."""
        free(self.columns)
        free(self.centers)
        free(self.scales)
        free(self.lows)
        free(self.highs)
        free(self.coefficients)
        free(self.of_nodes)
        self.columns, self.centers, self.scales = other.columns, other.centers, other.scales
        self.lows, self.highs = other.lows, other.highs
        self.n_regressors, self.regressor_capacity = other.n_regressors, other.regressor_capacity
        self.coefficients, self.of_nodes = other.coefficients, other.of_nodes
        self.n_models, self.width, self.n_cells = other.n_models, other.width, other.n_cells
        self.n_nodes, self.node_capacity = other.n_nodes, other.node_capacity
        other.columns, other.centers, other.scales = NULL, NULL, NULL
        other.lows, other.highs = NULL, NULL
        other.coefficients, other.of_nodes = NULL, NULL
        other.n_regressors = other.regressor_capacity = other.n_models = 0
        other.width, other.n_cells, other.n_nodes, other.node_capacity = 2, 0, 0, 0

    cdef inline void clear(self) noexcept nogil:
        """Forget all models, and keep the memory."""
        self.n_regressors = self.n_models = self.n_nodes = 0
        self.width = 2

    cdef inline const double* model_of(self, int leaf) noexcept nogil:
        """The model of the prediction in a leaf, or NULL."""
        cdef int number = 0
        if self.kind == IN_LEAVES:
            number = self.of_nodes[leaf] if leaf < self.n_nodes else -1
        if number < 0 or number >= self.n_models:
            return NULL
        return self.coefficients + <Py_ssize_t>number * self.width

cdef class Ridge(Owner):
    cdef LeafModel model
    cdef double* row                    # sums of the samples, see `linalg`
    cdef int capacity                   # number of regressors for which there is room
    cdef int n                          # number of samples
    cdef double weight                  # total weight of the samples
    cdef double lowest, highest         # range of their targets

    cdef int reserve(self, int n_regressors) except -1 nogil
    cdef void begin(self, int n_regressors) noexcept nogil
    cdef void add(self, const double* rows, int n, const double* weights) noexcept nogil
    cdef void solve(self, double* coefficients) noexcept nogil


cdef enum Phase:
    MEASURE = 0
    SUM = 1
    LEARN = 2
    GROW = 3
    DONE = 4

cdef class TreeGrowth:
    cdef Growth growth
    cdef readonly int kind              # see `ModelKind`
    cdef int min_samples_leaf           # of the rules; models may need more samples
    cdef Ridge ridge
    cdef Tree tree                      # tree that is grown
    cdef Kind tree_kind
    cdef readonly LinearModels models   # its models
    cdef int n_samples
    cdef int64_t n_values               # of the samples, see `offer_columns`
    cdef int n_regressors               # number of numeric features offered, also constant ones
    cdef Phase phase
    cdef int64_t n_own_steps            # number of steps, without those of `growth`
    cdef int at                         # index of the next sample
    cdef int start, leaf                # SUM and LEARN: index of the first sample, and the leaf
    cdef int stop                       # LEARN: end of the samples of the leaf
    cdef double* weights                # MEASURE: per feature, weight of the present values ...
    cdef bint has_gaps                  # ... which may differ, since a value was missing; until
                                        #   then, only the first is kept
    cdef double* rows                   # SUM and LEARN: regressors and targets of samples
    cdef int capacity

    cdef int reserve(self, int n_labels, int n_samples, int max_features) except -1 nogil
    cdef int least_samples(self, int n_regressors) noexcept nogil
    cdef int offer_columns(self, Schema schema, int64_t first, int n_samples) except -1 nogil
    cdef bint offer_few(self, Schema schema, int64_t first, int n_samples) noexcept nogil
    cdef void offer(self, Schema schema, int64_t first, int n_samples) noexcept nogil
    cdef void leave_out(self, Schema schema, int64_t first, int n_samples) noexcept nogil
    cdef int64_t n_steps(self) noexcept nogil
    cdef double expected_steps(self) noexcept nogil
    cdef bint is_before_growth(self) noexcept nogil
    cdef bint finish(self, int max_nodes) except -1 nogil
    cdef void begin(self, int64_t first, int n_samples, Rng rng) noexcept nogil
    cdef bint advance(self, int64_t n_steps, int max_nodes) except -1 nogil
    cdef int n_next(self, int n, int64_t cost, int64_t until) noexcept nogil
    cdef void measure(self, LinearModels models, int64_t until) noexcept nogil
    cdef void begin_measure(self, LinearModels models) noexcept nogil
    cdef void measure_rows(self, LinearModels models, const double* rows, int n,
                           const double* weights, bint are_complete) noexcept nogil
    cdef void keep_varying(self, LinearModels models) noexcept nogil
    cdef void begin_leaf(self) noexcept nogil
    cdef int n_in_leaf(self, int n) noexcept nogil
    cdef double* read_regressors(self, int n, bint are_kept, double* weights) noexcept nogil
    cdef void sum_samples(self, int64_t until) noexcept nogil
    cdef void fit_leaf(self) noexcept nogil
    cdef void learn_samples(self, int64_t until) noexcept nogil
    cdef int leaf_of(self, int i) noexcept nogil
    cdef size_t n_bytes(self)

cdef int walk(const Tree* tree, Buffer buffer, int place) noexcept nogil
