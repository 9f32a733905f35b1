"""Trees with linear models: the models, and the growth of such a tree. See the header."""

import numpy as np

from libc.math cimport INFINITY, NAN, sqrt
from libc.string cimport memcpy, memset

from ..explain cimport slope_of_limits
from ..leaps cimport MOST_PRESENT, Present, add_present, leap
from ..linalg cimport (
    MAX_REGRESSORS, RUN, add_samples, init_model, row_width, scratch_size, solve_ridge,
)
from ..allocation cimport product, resized, trimmed
from ..moments cimport follow_moments
from ..parts cimport view
from ..schema cimport MAX_COLUMNS
from ..split cimport VARIANCE
from ..tree cimport (
    Node, begin_tree, bytes_of_tree, clear, free_tree, is_leaf, learn_number, plant, shrink,
    turn, uproot,
)
from ..trees cimport Trees
from .buffer cimport Entry
from .growth cimport are_few, count_up
from .lane_rows cimport MOST_COLUMNS

from ..state import FINITE, LARGEST_FLOAT, LARGEST_TARGET, fields_of, put_back, require

cdef extern from "regressors.h":
    void standardise(double* rows, int n, int k, const double* centers, const double* scales,
                     const double* lows, const double* highs) nogil
    double slope_at(const double* row, int n_columns, const int* columns, int k,
                    const double* model, const double* centers, const double* scales,
                    const double* lows, const double* highs) nogil
    void add_terms(double* totals, const double* const* models, const double* same, int regressor,
                   const double* values, int n, double center, double scale, double low,
                   double high) nogil
    void follow_rows(double* lows, double* highs, double* means, double* squares, int k,
                     const double* rows, int n, int size, const double* weights,
                     const double* shares) nogil

cdef enum:
    ROWS = 64                   # of which the slopes are computed together
    LARGE = 100                 # samples of a growth of which one is few
    KEPT = 64                   # samples of a leaf whose regressors are kept
    LEAST_SAMPLES = 10          # minimum number of samples of a leaf with a model
    SAMPLES_PER_REGRESSOR = 3   # minimum number of samples per coefficient

cdef double LARGEST_Z = 1e100           # products of z and coefficients are finite

KINDS = ("none", "leaves", "root")      # which nodes have a model, by the numbers of `ModelKind`


cdef inline double limited(double total, double limit) noexcept nogil:
    return min(max(total, -limit), limit)


cdef class LinearModels(Part):
    """The linear models of one tree; their kind is one of `KINDS`. See the header."""

    def __cinit__(self, kind="none"):
        self.kind = KINDS.index(kind)
        self.width = 2

    def __dealloc__(self):
        free(self.columns)
        free(self.centers)
        free(self.scales)
        free(self.lows)
        free(self.highs)
        free(self.coefficients)
        free(self.of_nodes)

    cdef int reserve(self, int n_regressors, size_t n_cells, int n_nodes) except -1 nogil:
        """Allocate memory for models with n_cells numbers in all, of a tree with n_nodes nodes."""
        if n_regressors > self.regressor_capacity:
            self.columns = <int*>resized(self.columns, n_regressors, sizeof(int))
            self.centers = <double*>resized(self.centers, n_regressors, sizeof(double))
            self.scales = <double*>resized(self.scales, n_regressors, sizeof(double))
            self.lows = <double*>resized(self.lows, n_regressors, sizeof(double))
            self.highs = <double*>resized(self.highs, n_regressors, sizeof(double))
            self.regressor_capacity = n_regressors
        if n_cells > self.n_cells:
            self.coefficients = <double*>resized(self.coefficients, n_cells, sizeof(double))
            self.n_cells = n_cells
        if n_nodes > self.node_capacity:
            self.of_nodes = <int*>resized(self.of_nodes, n_nodes, sizeof(int))
            self.node_capacity = n_nodes
        return 0

    cdef void trim(self) noexcept nogil:
        """Free unused memory."""
        cdef size_t n_cells = <size_t>self.n_models * self.width
        if 0 < n_cells < self.n_cells:
            self.n_cells = n_cells
            self.coefficients = <double*>trimmed(self.coefficients, n_cells * sizeof(double))
        if 0 < self.n_nodes < self.node_capacity:
            self.node_capacity = self.n_nodes
            self.of_nodes = <int*>trimmed(self.of_nodes, self.n_nodes * sizeof(int))

    cdef double* add(self, int node) noexcept nogil:
        """The memory for the model of a node without a model; call `reserve` before."""
        if self.kind == IN_LEAVES:
            while self.n_nodes <= node:
                self.of_nodes[self.n_nodes] = -1
                self.n_nodes += 1
            self.of_nodes[node] = self.n_models
        self.n_models += 1
        return self.coefficients + <Py_ssize_t>(self.n_models - 1) * self.width

    # ---------------------------------------------------------------- predictions

    cdef void read(self, Buffer buffer, const int* places, int n, double* z) noexcept nogil:
        """Write the regressors of n stored samples, `n_regressors` + 1 numbers apart."""
        buffer.read(self.columns, self.n_regressors, places, n, z, self.n_regressors + 1)
        standardise(z, n, self.n_regressors, self.centers, self.scales, self.lows, self.highs)

    cdef inline double at_regressors(self, const double* model, const double* z) noexcept nogil:
        """The slope of a model at the regressors of a sample."""
        cdef double slope = -model[self.n_regressors]
        cdef int k
        for k in range(self.n_regressors):
            slope += model[k] * z[k]
        return limited(slope, model[self.n_regressors + 1])

    cdef double at_place(self, int leaf, Buffer buffer, int place) noexcept nogil:
        """The slope in a leaf at a stored sample; 0 without a model."""
        cdef double[MAX_REGRESSORS + 1] z
        cdef const double* model = self.model_of(leaf)
        if model == NULL:
            return 0.0
        self.read(buffer, &place, 1, z)
        return self.at_regressors(model, z)

    cdef double at_row(self, int leaf, const double* row, int n_columns) noexcept nogil:
        """The slope in a leaf at a row of values by column; 0 without a model."""
        cdef const double* model = self.model_of(leaf)
        if model == NULL:
            return 0.0
        return limited(slope_at(row, n_columns, self.columns, self.n_regressors, model,
                                self.centers, self.scales, self.lows, self.highs),
                       model[self.n_regressors + 1])

    cdef void at_rows(self, const int* leaves, const double* rows, Py_ssize_t stride, int n,
                      int n_columns, double* slopes) noexcept nogil:
        """The slopes at n rows of values rows[column * stride + i], in leaves[i]; 0: no model."""
        cdef (const double*)[ROWS] models
        cdef double[MAX_REGRESSORS + 2] none
        cdef int i = 0, k, size
        if self.n_models == 0:
            memset(slopes, 0, n * sizeof(double))
            return
        memset(none, 0, (self.n_regressors + 2) * sizeof(double))
        while i < n:
            size = min(n - i, <int>ROWS)
            for k in range(size):
                models[k] = self.model_of(leaves[i + k])
                if models[k] == NULL:
                    models[k] = none
                slopes[i + k] = -models[k][self.n_regressors]
            for k in range(self.n_regressors):
                if self.columns[k] < n_columns:     # else all values are missing
                    add_terms(slopes + i, NULL if self.kind == IN_ROOT else models, models[0], k,
                              rows + self.columns[k] * stride + i, size, self.centers[k],
                              self.scales[k], self.lows[k], self.highs[k])
            for k in range(size):
                slopes[i + k] = limited(slopes[i + k], models[k][self.n_regressors + 1])
            i += size

    cdef double in_middle(self, int leaf) noexcept nogil:
        """The slope in a leaf if all features are missing, or have their means in the tree."""
        cdef const double* model = self.model_of(leaf)
        if model == NULL:
            return 0.0
        return limited(-model[self.n_regressors], model[self.n_regressors + 1])

    cdef void add_terms(self, int leaf, const double* row, int n_columns, double factor,
                        double* phi) noexcept nogil:
        """Divide the difference between the slope at a row and that in the middle: add factor times
        the term of each regressor, limited in proportion if a slope is limited.
        """
        cdef const double* model = self.model_of(leaf)
        cdef double middle, total, limit
        cdef double[MAX_REGRESSORS] terms
        cdef int i
        if model == NULL:
            return
        for i in range(self.n_regressors):
            terms[i] = row[self.columns[i]] if self.columns[i] < n_columns else NAN
        standardise(terms, 1, self.n_regressors, self.centers, self.scales, self.lows, self.highs)
        middle, limit = -model[self.n_regressors], model[self.n_regressors + 1]
        total = middle
        for i in range(self.n_regressors):
            terms[i] *= model[i]
            total += terms[i]
        factor *= slope_of_limits(total, middle, -limit, limit)
        for i in range(self.n_regressors):
            if self.columns[i] < n_columns:
                phi[self.columns[i]] += factor * terms[i]

    def coefficients_of(self, int node):
        """The slopes of a node in units of its features, by column."""
        cdef const double* model = self.model_of(node)
        if model == NULL:
            return {}
        return {self.columns[i]: model[i] * self.scales[i] for i in range(self.n_regressors)}

    # ---------------------------------------------------------------- state

    FIELDS = {
        "kind": ("word", KINDS),
        "columns": ("whole_numbers", np.int32, "regressors", {"most": MAX_COLUMNS - 1}),
        "centers": ("numbers", "regressors", FINITE),
        "scales": ("numbers", "regressors", {"least": 0.0, "most": LARGEST_FLOAT}),
        "lows": ("numbers", "regressors", {"least": -LARGEST_Z, "most": LARGEST_Z}),
        "highs": ("numbers", "regressors", {"least": -LARGEST_Z, "most": LARGEST_Z}),
        "coefficients": ("numbers", None, None, FINITE),
        "of_nodes": ("whole_numbers", np.int32, None, {"least": -1, "most": 2**31 - 1}),
    }

    @property
    def n_columns(self):
        """One more than the largest column in use."""
        return 1 + max((self.columns[i] for i in range(self.n_regressors)), default=-1)

    def __sizeof__(self):
        return object.__sizeof__(self) + (
            self.regressor_capacity * (sizeof(int) + 4 * sizeof(double))
            + self.n_cells * sizeof(double) + self.node_capacity * sizeof(int))

    cdef dict views(self):
        """The arrays of a state."""
        n, room = self.n_regressors, (self.regressor_capacity,)
        n_models = self.n_cells // self.width
        return {
            "columns": view(self.columns, "i4", room)[:n],
            "centers": view(self.centers, "f8", room)[:n],
            "scales": view(self.scales, "f8", room)[:n],
            "lows": view(self.lows, "f8", room)[:n],
            "highs": view(self.highs, "f8", room)[:n],
            "coefficients": view(
                self.coefficients, "f8", (n_models, self.width))[:self.n_models],
            "of_nodes": view(self.of_nodes, "i4", (self.node_capacity,))[:self.n_nodes],
        }

    cdef dict fields(self):
        """All fields, without unused memory."""
        return fields_of(self, self.FIELDS, {**self.views(), "kind": KINDS[self.kind]})

    cdef int load(self, dict fields) except -1:
        cdef int n = <int>len(fields["columns"])
        coefficients, of_nodes = fields["coefficients"], fields["of_nodes"]
        require(n <= MAX_REGRESSORS and coefficients.shape[1] == n + 2
                and np.all((coefficients[:, -1] >= 0.0)
                           & (coefficients[:, -1] <= 2.0 * LARGEST_TARGET))
                and np.all(of_nodes < len(coefficients)), "LinearModels: there is no such model")
        self.kind = KINDS.index(fields["kind"])
        self.reserve(n, coefficients.size, <int>len(of_nodes))
        self.n_regressors, self.width = n, n + 2
        self.n_models, self.n_nodes = <int>len(coefficients), <int>len(of_nodes)
        put_back(self.views(), fields)
        return 0


cdef class Ridge(Owner):
    """The sums of a ridge regression, and its solution. See the header."""

    cdef int reserve(self, int n_regressors) except -1 nogil:
        """Allocate memory for n_regressors regressors."""
        if n_regressors > self.capacity or self.row == NULL:
            self.resize(&self.row, row_width(False, n_regressors, 0), sizeof(double))
            self.resize(&self.model.scratch, scratch_size(n_regressors), sizeof(double))
            self.capacity = n_regressors
        return 0

    cdef void begin(self, int n_regressors) noexcept nogil:
        """Remove all samples."""
        init_model(&self.model, n_regressors, self.model.scratch)
        memset(self.row, 0, self.model.width * sizeof(double))
        self.n, self.weight = 0, 0.0
        self.lowest, self.highest = INFINITY, -INFINITY

    cdef void add(self, const double* rows, int n, const double* weights) noexcept nogil:
        """Add n samples: the z of each, then its target."""
        cdef int i, q = self.model.n_regressors
        cdef double target
        for i in range(n):
            target = rows[i * (q + 1) + q]
            self.lowest, self.highest = min(self.lowest, target), max(self.highest, target)
            self.weight += weights[i]
        self.n += n
        add_samples(&self.model, self.row, rows, NULL, n, weights)

    cdef void solve(self, double* coefficients) noexcept nogil:
        """Write a model, see `LinearModels.coefficients`. This overwrites the sums."""
        cdef int i, q = self.model.n_regressors
        cdef double* diagonal = self.row + 2 + q
        for i in range(q):
            diagonal[i] += self.weight / self.n
            diagonal += i + 1
        solve_ridge(&self.model, self.row, coefficients)
        coefficients[q] = 0.0
        for i in range(q):
            coefficients[q] += coefficients[i] * self.row[1 + i]
        coefficients[q + 1] = self.highest - self.lowest


cdef class TreeGrowth:
    """The growth of a whole tree with the rules of `Growth` and linear models."""

    def __cinit__(self, kind, dict rules, Trees trees):
        self.kind = KINDS.index(kind)
        self.tree_kind, self.models = trees.kind, LinearModels(kind)
        begin_tree(&self.tree)
        self.growth = Growth(**rules)
        self.min_samples_leaf = self.growth.min_samples_leaf
        self.ridge = Ridge()

    def __dealloc__(self):
        free(self.weights)
        free(self.rows)
        free_tree(&self.tree)

    # ---------------------------------------------------------------- memory

    cdef int reserve(self, int n_labels, int n_samples, int max_features) except -1 nogil:
        """Allocate all memory that the growth of a tree on n_samples samples may need.

        Its columns were offered.
        """
        cdef int n_leaves, n = self.n_regressors
        if self.kind != NO_MODELS:
            self.ridge.reserve(n)
            if n > self.capacity or self.rows == NULL:
                self.weights = <double*>resized(self.weights, n + 1, sizeof(double))
                self.rows = <double*>resized(self.rows, KEPT * (n + 1), sizeof(double))
                self.capacity = n
            if self.kind == IN_ROOT:
                self.models.reserve(n, n + 2, 0)
            else:
                n_leaves = max(1, n_samples // self.growth.min_samples_leaf)
                self.models.reserve(n, product(n_leaves, n + 2), 2 * n_leaves)
        uproot(&self.tree)
        return self.growth.reserve(&self.tree, &self.tree_kind, n_labels, n_samples,
                                   self.n_values, max_features)

    cdef int least_samples(self, int n_regressors) noexcept nogil:
        """Minimum number of samples of a leaf with so many regressors."""
        return max(self.min_samples_leaf, <int>LEAST_SAMPLES, SAMPLES_PER_REGRESSOR * n_regressors)

    cdef size_t n_bytes(self):
        """Number of allocated bytes."""
        return (bytes_of_tree(&self.tree, &self.tree_kind) + self.growth.n_bytes()
                + self.ridge.__sizeof__() - object.__sizeof__(self.ridge)
                + (self.rows != NULL) * (KEPT + 1) * (self.capacity + 1) * sizeof(double))

    # ---------------------------------------------------------------- steps of a growth

    cdef int64_t n_steps(self) noexcept nogil:
        """Number of steps since `begin`."""
        return self.n_own_steps + self.growth.n_steps

    cdef double expected_steps(self) noexcept nogil:
        """Estimated number of steps that are left."""
        cdef double q = self.n_regressors, own = 0.0, left = self.n_samples - self.at
        if self.kind != NO_MODELS:
            own = steps_of_sum(<int>q) + 3.0 * q + 3.0
        if self.phase == GROW:
            return self.growth.expected_steps() + own * self.n_samples * (self.kind == IN_LEAVES)
        return own * left + (self.growth.expected_steps() if self.is_before_growth() else 0.0)

    cdef bint is_before_growth(self) noexcept nogil:
        return self.phase == MEASURE or (self.phase != DONE and self.kind == IN_ROOT)

    cdef bint finish(self, int max_nodes) except -1 nogil:
        """End the growth at once: what is left to be split stays leaves. Returns True."""
        while self.phase != DONE:
            if self.phase == GROW:
                self.growth.finish(&self.tree)
            self.advance(1, max_nodes)
        return True

    cdef int offer_columns(self, Schema schema, int64_t first, int n_samples) except -1 nogil:
        """Offer the columns to a growth that have a value among its samples, from `first` on."""
        cdef int k, n_numeric = 0
        self.growth.reserve_columns(schema.n_columns)
        self.growth.n_offered = 0
        self.n_values = self.growth.buffer.n_values(first, n_samples)
        if not self.offer_few(schema, first, n_samples):
            self.offer(schema, first, n_samples)
        self.leave_out(schema, first, n_samples)
        for k in range(self.growth.n_offered):
            n_numeric += not self.growth.nominal[self.growth.columns[k]]
        self.n_regressors = min(n_numeric, <int>MAX_REGRESSORS)
        if self.kind == IN_LEAVES:
            self.growth.min_samples_leaf = self.least_samples(self.n_regressors)
        return 0

    cdef bint offer_few(self, Schema schema, int64_t first, int n_samples) noexcept nogil:
        """Offer the columns that the samples have, if fewer entries than columns tell them."""
        cdef int _, place = self.growth.buffer.place_of(first)
        if self.n_values >= 4 * schema.n_columns:
            return False
        for _ in range(n_samples):
            if self.growth.buffer.entries_at(place) == NULL:
                return False
            place = self.growth.buffer.place_after(place)
        place = self.growth.buffer.place_of(first)
        for _ in range(n_samples):
            self.growth.mark_entries(place)
            place = self.growth.buffer.place_after(place)
        self.growth.offer_marked(schema, -1)
        return True

    cdef void offer(self, Schema schema, int64_t first, int n_samples) noexcept nogil:
        """Offer the columns that the samples have."""
        cdef int column = self.growth.buffer.next_live(0, first)
        while column < self.growth.buffer.n_features:
            if self.growth.buffer.n_values_of(column, first, n_samples) > 0:
                self.growth.offer_column(schema, column)
            column = self.growth.buffer.next_live(column + 1, first)

    cdef void leave_out(self, Schema schema, int64_t first, int n_samples) noexcept nogil:
        """Offer no column that one sample alone has, if there are too many columns.

        It only tells this sample from all others. It is one too many for a large growth, too, that
        lists its columns for these alone: one wide sample among many that have the same columns.
        """
        cdef int64_t n = self.growth.n_offered, n_values = self.n_values
        cdef int k, n_kept = 0
        cdef bint are_too_many = n > MOST_COLUMNS
        cdef int* columns = self.growth.columns
        if not are_too_many and (n_samples < LARGE or not are_few(n_values, n * n_samples)):
            return
        for k in range(n):
            n_kept += self.growth.buffer.n_values_of(columns[k], first, n_samples) > 1
        if not are_too_many and are_few(n_values - (n - n_kept), <int64_t>n_kept * n_samples):
            return
        self.growth.n_offered = 0
        for k in range(n):
            if self.growth.buffer.n_values_of(columns[k], first, n_samples) > 1:
                self.growth.offer_column(schema, columns[k])

    cdef void begin(self, int64_t first, int n_samples, Rng rng) noexcept nogil:
        """Begin to grow a tree on n_samples samples, from number `first` in the stream on."""
        cdef int i = 0, k, n, place = self.growth.buffer.place_of(first)
        cdef int* places = self.growth.places
        self.n_samples, self.n_own_steps = n_samples, 0
        plant(&self.tree)
        while i < n_samples:
            n = self.growth.buffer.n_adjacent(place, n_samples - i)
            for k in range(n):
                places[k] = place + k
            if self.growth.criterion == VARIANCE:
                memcpy(self.growth.numbers + i, self.growth.buffer.targets_at(place),
                       n * sizeof(double))
            place, i, places = self.growth.buffer.place_after(place + n - 1), i + n, places + n
        if self.growth.criterion == VARIANCE:
            count_up(self.growth.order, n_samples)
        # With a model in the root, that knows the residuals.
        self.growth.begin(0, 0, self.kind == IN_ROOT, n_samples, rng)
        self.at = 0
        self.phase = GROW if self.kind == NO_MODELS else MEASURE

    cdef bint advance(self, int64_t n_steps, int max_nodes) except -1 nogil:
        """Do n_steps steps, or a few more; return whether the growth has ended."""
        cdef int64_t until = self.n_steps() + n_steps
        while self.phase != DONE and self.n_steps() < until:
            if self.phase == MEASURE:
                self.measure(self.models, until)
            elif self.phase == SUM:
                self.sum_samples(until)
            elif self.phase == LEARN:
                self.learn_samples(until)
            elif self.growth.advance(&self.tree, until - self.n_steps()):
                shrink(&self.tree, max_nodes)
                self.phase = DONE
                if self.kind == IN_LEAVES:
                    self.at = 0
                    self.begin_leaf()
        return self.phase == DONE

    # ---------------------------------------------------------------- linear models

    cdef int n_next(self, int n, int64_t cost, int64_t until) noexcept nogil:
        """How many of the next n samples are read together: not more than one after the other."""
        return <int>min(<int64_t>min(n, <int>RUN), (until - self.n_steps() + cost - 1) // cost)

    cdef void measure(self, LinearModels models, int64_t until) noexcept nogil:
        """Add the next samples to the means and variances of the features."""
        cdef double[RUN * (MAX_REGRESSORS + 1)] rows
        cdef double[RUN] weights
        cdef bint is_complete = True
        cdef int i, n, q
        cdef const int* places = self.growth.places + self.at
        if self.at == 0:
            self.begin_measure(models)
        q = models.n_regressors
        n = self.n_next(self.n_samples - self.at, 1 + q, until)
        self.growth.buffer.read(models.columns, q, places, n, rows, q + 1)
        for i in range(n):
            weights[i] = self.growth.buffer.weight(places[i])
            is_complete &= (self.growth.buffer.n_present_at(places[i])
                            == self.growth.buffer.n_features)
        self.measure_rows(models, rows, n, weights, is_complete)
        self.n_own_steps += <int64_t>n * (1 + q)
        self.at += n
        if self.at == self.n_samples:
            self.keep_varying(models)
            self.at = 0
            if self.kind == IN_ROOT:
                self.begin_leaf()
            else:
                self.phase = GROW

    cdef void begin_measure(self, LinearModels models) noexcept nogil:
        """Choose the numeric columns; begin their means and variances."""
        cdef int i, column
        models.n_regressors = 0
        for i in range(self.growth.n_offered):
            column = self.growth.columns[i]
            if not self.growth.nominal[column] and models.n_regressors < self.n_regressors:
                models.columns[models.n_regressors] = column
                models.n_regressors += 1
        self.has_gaps = False
        if models.n_regressors > 0:     # else there is no memory for any
            memset(self.weights, 0, models.n_regressors * sizeof(double))
            memset(models.centers, 0, models.n_regressors * sizeof(double))
            memset(models.scales, 0, models.n_regressors * sizeof(double))
            for i in range(models.n_regressors):
                models.lows[i], models.highs[i] = INFINITY, -INFINITY

    cdef void measure_rows(self, LinearModels models, const double* rows, int n,
                           const double* weights, bint are_complete) noexcept nogil:
        """Add samples to the ranges, means and variances of the features."""
        cdef double[RUN] shares
        cdef int i, k, q = models.n_regressors
        cdef double value
        if not (self.has_gaps or are_complete):
            self.has_gaps = True
            for k in range(1, q):
                self.weights[k] = self.weights[0]
        if not self.has_gaps and q > 0:     # all features have the total of the first
            for i in range(n):
                self.weights[0] += weights[i]
                shares[i] = weights[i] / self.weights[0]
            follow_rows(models.lows, models.highs, models.centers, models.scales, q, rows, n, q + 1,
                        weights, shares)
            return
        for i in range(n):
            for k in range(q):
                value = rows[i * (q + 1) + k]
                if value == value:
                    models.lows[k], models.highs[k] = min(models.lows[k], value), max(
                        models.highs[k], value)
                    self.weights[k] += weights[i]
                    follow_moments(&models.centers[k], &models.scales[k], value, weights[i],
                                   self.weights[k])

    cdef void keep_varying(self, LinearModels models) noexcept nogil:
        """Remove the features without a finite mean and a positive, finite variance; set limits."""
        cdef bint is_limited = self.kind == IN_ROOT
        cdef int i, n = 0
        cdef double variance, scale
        for i in range(models.n_regressors):
            if not self.has_gaps:
                self.weights[i] = self.weights[0]
            variance = models.scales[i] / self.weights[i] if self.weights[i] > 0.0 else 0.0
            scale = 1.0 / sqrt(variance) if variance > 0.0 else 0.0
            if 0.0 < scale < INFINITY and -INFINITY < models.centers[i] < INFINITY:
                models.columns[n], models.centers[n] = models.columns[i], models.centers[i]
                models.scales[n] = scale
                models.lows[n] = max((models.lows[i] - models.centers[n]) * scale if is_limited
                                     else -INFINITY, -LARGEST_Z)
                models.highs[n] = min((models.highs[i] - models.centers[n]) * scale if is_limited
                                      else INFINITY, LARGEST_Z)
                n += 1
        models.n_regressors, models.width = n, n + 2

    cdef void begin_leaf(self) noexcept nogil:
        """Begin the leaf of the next sample; the samples of a leaf are adjacent."""
        self.phase, self.start = SUM, self.at
        self.leaf = self.leaf_of(self.at)
        self.ridge.begin(self.models.n_regressors)

    cdef int leaf_of(self, int i) noexcept nogil:
        """The leaf of a sample; those of a leaf are adjacent in the order of the growth."""
        return walk(&self.tree, self.growth.buffer, self.growth.places[self.growth.order[i]])

    cdef int n_in_leaf(self, int n) noexcept nogil:
        """How many of the next n samples are in the leaf: the last ones are not."""
        cdef int low = 0, middle
        if n > 0 and self.leaf_of(self.at + n - 1) == self.leaf:
            return n
        while low < n - 1:
            middle = (low + n - 1) // 2
            if self.leaf_of(self.at + middle) == self.leaf:
                low = middle + 1
            else:
                n = middle + 1
        return low

    cdef double* read_regressors(self, int n, bint are_kept, double* weights) noexcept nogil:
        """The regressors and weights of the next n samples; those of a small leaf are kept."""
        cdef int[RUN] places
        cdef int i, at = self.at - self.start if self.at + n - self.start <= KEPT else 0
        cdef double* rows = self.rows + at * (self.models.n_regressors + 1)
        for i in range(n):
            places[i] = self.growth.places[self.growth.order[self.at + i]]
            weights[i] = self.growth.buffer.weight(places[i])
        if not are_kept:
            self.models.read(self.growth.buffer, places, n, rows)
        return rows

    cdef void sum_samples(self, int64_t until) noexcept nogil:
        """Add the next samples to the sums of their leaf; after the last one fit the model."""
        cdef double[RUN] weights
        cdef int i, n, q = self.models.n_regressors
        cdef int64_t cost = <int64_t>steps_of_sum(q)
        cdef double* rows
        n = self.n_in_leaf(self.n_next(self.n_samples - self.at, cost, until))
        if n == 0:
            self.fit_leaf()
            return
        rows = self.read_regressors(n, False, weights)
        for i in range(n):
            rows[i * (q + 1) + q] = self.growth.numbers[self.growth.order[self.at + i]]
        self.ridge.add(rows, n, weights)
        self.n_own_steps += n * cost
        self.at += n

    cdef void fit_leaf(self) noexcept nogil:
        """Fit the model of a leaf, whose samples then learn its residuals."""
        self.ridge.solve(self.models.add(self.leaf))
        self.n_own_steps += 1 + <int64_t>self.models.n_regressors**3 // 16
        clear(&self.tree, self.leaf)
        self.phase, self.stop, self.at = LEARN, self.at, self.start

    cdef void learn_samples(self, int64_t until) noexcept nogil:
        """Let a leaf learn the residuals of its model at the next samples."""
        cdef double[RUN] weights
        cdef int i, k, q = self.models.n_regressors
        cdef int n = self.n_next(self.stop - self.at, 1 + q, until)
        cdef const double* model = self.models.model_of(self.leaf)
        cdef const double* rows = self.read_regressors(
            n, self.stop - self.start <= KEPT, weights)
        cdef double* numbers = self.growth.numbers
        for i in range(n):
            k = self.growth.order[self.at + i]
            numbers[k] = remainder(numbers[k], self.models.at_regressors(model, rows + i * (q + 1)))
            learn_number(&self.tree, self.leaf, numbers[k], weights[i], 1.0)
        self.n_own_steps += <int64_t>n * (1 + q)
        self.at += n
        if self.at < self.stop:
            return
        if self.at < self.n_samples:
            self.begin_leaf()
        elif self.kind == IN_ROOT:
            self.phase = GROW
        else:
            self.models.trim()
            self.phase = DONE


cdef double steps_of_sum(int n_regressors) noexcept nogil:
    """Number of steps per sample in the sums: about one per cell of the sums."""
    return 2.0 + 2.0 * n_regressors + 0.25 * n_regressors * n_regressors


cdef int walk(const Tree* tree, Buffer buffer, int place) noexcept nogil:
    """The leaf that a stored sample reaches."""
    cdef int node = 0, k, n = buffer.n_present_at(place)
    cdef const Node* this = tree.nodes
    cdef const Entry* entries = buffer.entries_at(place)
    cdef Present present
    if tree.leaps != NULL and entries != NULL and n <= MOST_PRESENT:
        present.n, present.marks = 0, 0
        for k in range(n):
            add_present(&present, entries[k].column, entries[k].value)
        return leap(tree, &present)
    while not is_leaf(this):
        node = this.left ^ <int>turn(this, buffer.value(this.feature, place), False)
        this = &tree.nodes[node]
    return node
