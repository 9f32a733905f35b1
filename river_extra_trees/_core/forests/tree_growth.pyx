"""The growth of a whole tree on the latest samples, in small steps. See the header."""

from libc.math cimport INFINITY, log2, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memset

from ..memory cimport free, resized
from ..rng cimport Rng
from ..schema cimport Schema
from ..split cimport goes_left
from ..trees cimport Node, Trees
from .buffer cimport Buffer
from .growth cimport VARIANCE, Growth
from .linear_models cimport (
    IN_LEAVES, IN_ROOT, NO_MODELS, LinearModels, Ridge, n_regressors_of, remainder,
)

from .linear_models import KINDS

cdef enum:
    LEAST_SAMPLES = 10          # of a leaf with a model ...
    SAMPLES_PER_REGRESSOR = 3   # ... and of each of its slopes


cdef class TreeGrowth:
    """The growth of a whole tree on the latest samples. See the header.

    Parameters
    ----------
    kind
        Which nodes get a linear model: "none", the "leaves", or the "root".
    rules
        The arguments of `Growth`.
    """

    def __cinit__(self, kind, dict rules):
        self.kind = KINDS.index(kind)
        self.growth = Growth(**rules)
        self.min_samples_leaf = self.growth.min_samples_leaf
        self.ridge = Ridge()

    def __dealloc__(self):
        free(self.weights)

    # ---------------------------------------------------------------- memory

    cdef int reserve(self, Buffer buffer, Trees trees, LinearModels models, Schema schema,
                     int n_columns, int n_labels, int n_samples) except -1:
        """Make all the room that the growth of a tree on so many samples can need."""
        cdef int n, n_leaves
        if self.kind != NO_MODELS:
            n = self.n_regressors = n_regressors_of(schema, n_columns)
            self.ridge.reserve(n)
            if n > self.capacity:
                self.weights = <double*>resized(self.weights, n, sizeof(double))
                self.capacity = n
            if self.kind == IN_ROOT:
                models.reserve(n, 1, 0)
            else:
                self.growth.min_samples_leaf = max(
                    self.min_samples_leaf, LEAST_SAMPLES, SAMPLES_PER_REGRESSOR * n)
                n_leaves = max(1, n_samples // self.growth.min_samples_leaf)
                models.reserve(n, n_leaves, 2 * n_leaves)
        self.growth.reserve(buffer, trees, schema, n_columns, n_labels, n_samples)
        self.buffer, self.trees, self.models = buffer, trees, models
        return 0

    cdef size_t n_bytes(self):
        """Memory that is held."""
        return self.growth.n_bytes() + self.ridge.n_bytes() + self.capacity * sizeof(double)

    # ---------------------------------------------------------------- the way of a growth

    cdef int64_t n_steps(self) noexcept:
        """Steps done since `begin`."""
        return self.n_own_steps + self.growth.n_steps

    cdef double expected_steps(self, int n_samples, int n_visited) noexcept:
        """About as many steps as a growth takes: some per sample, feature and level of the tree."""
        cdef double n = n_samples, q = self.n_regressors
        cdef double splits = (2.0 * n_visited + 4.0) * log2(n + 2.0) * n
        if self.kind == NO_MODELS:
            return splits
        return splits + n * (steps_of_sum(<int>q) + 3.0 * q + 3.0)

    cdef void begin(self, int64_t first, int n_samples, int max_features, Rng rng) noexcept:
        """Begin to grow a tree on the samples from the `first` in the stream on."""
        cdef int i, place
        self.n_samples, self.max_features, self.rng = n_samples, max_features, rng
        self.n_own_steps = self.growth.n_steps = 0
        for i in range(n_samples):
            place = self.growth.places[i] = self.buffer.place_of(first + i)
            if self.growth.criterion == VARIANCE:
                self.growth.numbers[i] = self.buffer.target(place)
            if self.kind != IN_ROOT:
                self.growth.learn_root(i)
        self.at = 0
        if self.kind == NO_MODELS:
            self.start_growth()
            return
        self.phase = MEASURE
        self.weight = 0.0

    cdef void start_growth(self) noexcept:
        self.phase = GROW
        self.growth.begin(self.trees.roots[0], self.n_samples, self.max_features, self.rng)

    cdef bint advance(self, int64_t n_steps, int max_nodes) noexcept:
        """Do so many steps, or a few more; say whether the growth has ended."""
        cdef int64_t until = self.n_steps() + n_steps
        while self.phase != DONE and self.n_steps() < until:
            if self.phase == MEASURE:
                self.measure()
            elif self.phase == SUM:
                self.sum_sample()
            elif self.phase == LEARN:
                self.learn_sample()
            elif self.growth.advance(until - self.n_steps()):
                self.trees.shrink_to(max_nodes)
                self.phase = DONE
                if self.kind == IN_LEAVES:
                    self.at = 0
                    self.begin_leaf()
        return self.phase == DONE

    # ---------------------------------------------------------------- linear models

    cdef void measure(self) noexcept:
        """Let one sample into the means and variances of the features (West 1979)."""
        cdef int i, column, place
        cdef double value, delta, weight
        cdef LinearModels models = self.models
        if self.at == 0:
            models.n_regressors = 0
            for column in range(self.growth.n_columns):
                if self.growth.n_codes[column] == 0 and models.n_regressors < self.n_regressors:
                    models.columns[models.n_regressors] = column
                    models.n_regressors += 1
            if models.n_regressors > 0:     # else there is no memory for any
                memset(self.weights, 0, models.n_regressors * sizeof(double))
                memset(models.centers, 0, models.n_regressors * sizeof(double))
                memset(models.scales, 0, models.n_regressors * sizeof(double))
        place = self.growth.places[self.at]
        weight = self.buffer.weight(place)
        self.n_own_steps += 1 + models.n_regressors
        for i in range(models.n_regressors):
            value = self.buffer.value(models.columns[i], place)
            if value == value:
                self.weights[i] += weight
                delta = value - models.centers[i]
                models.centers[i] += delta * (weight / self.weights[i])
                models.scales[i] += weight * delta * (value - models.centers[i])
        self.at += 1
        if self.at == self.n_samples:
            self.keep_varying()
            self.at = 0
            if self.kind == IN_ROOT:
                self.begin_leaf()
            else:
                self.start_growth()

    cdef void keep_varying(self) noexcept:
        """Drop the features without variance, or with one that is no number."""
        cdef LinearModels models = self.models
        cdef int i, n = 0
        cdef double variance, scale
        for i in range(models.n_regressors):
            variance = models.scales[i] / self.weights[i] if self.weights[i] > 0.0 else 0.0
            scale = 1.0 / sqrt(variance) if variance > 0.0 else 0.0
            if 0.0 < scale < INFINITY and -INFINITY < models.centers[i] < INFINITY:
                models.columns[n], models.centers[n] = models.columns[i], models.centers[i]
                models.scales[n] = scale
                n += 1
        models.n_regressors, models.width = n, n + 2

    cdef void begin_leaf(self) noexcept:
        """Begin with the leaf of the sample that is next; all samples of a leaf stand together."""
        self.phase, self.start = SUM, self.at
        self.leaf = self.leaf_of(self.at)
        self.ridge.begin(self.models.n_regressors)

    cdef int leaf_of(self, int i) noexcept:
        """The leaf of one of the samples."""
        return walk(self.trees, self.buffer, self.growth.places[i])

    cdef void sum_sample(self) noexcept:
        """Let one sample into the sums of its leaf; after the last one solve them."""
        cdef int place
        if self.at < self.n_samples and self.leaf_of(self.at) == self.leaf:
            place = self.growth.places[self.at]
            self.models.standardise(self.buffer, place, self.ridge.v)
            self.ridge.add(self.growth.numbers[self.at], self.buffer.weight(place))
            self.n_own_steps += <int64_t>steps_of_sum(self.models.n_regressors)
            self.at += 1
            return
        self.ridge.solve(self.models.add(self.leaf))
        self.n_own_steps += 1 + <int64_t>self.models.n_regressors**3 // 16
        self.trees.reset(self.leaf)
        self.phase, self.stop, self.at = LEARN, self.at, self.start

    cdef void learn_sample(self) noexcept:
        """Let a leaf learn what its model leaves of a target."""
        cdef int place = self.growth.places[self.at]
        self.n_own_steps += 1 + self.models.n_regressors
        self.growth.numbers[self.at] = remainder(
            self.growth.numbers[self.at], self.models.at_place(self.leaf, self.buffer, place))
        self.trees.add_number(
            self.leaf, self.growth.numbers[self.at], self.buffer.weight(place), 1.0)
        self.at += 1
        if self.at < self.stop:
            return
        if self.at < self.n_samples:
            self.begin_leaf()
        elif self.kind == IN_ROOT:
            self.start_growth()
        else:
            self.models.trim()
            self.phase = DONE


cdef double steps_of_sum(int n_regressors) noexcept nogil:
    """Steps that a sample in the sums takes: about as many products as they have cells."""
    return 2.0 + 2.0 * n_regressors + 0.25 * n_regressors * n_regressors


cdef int walk(Trees trees, Buffer buffer, int place) noexcept nogil:
    """The leaf of the first tree that a remembered sample belongs to."""
    cdef int node = trees.roots[0]
    cdef double value
    cdef const Node* this = &trees.nodes[node]
    while this.split.feature >= 0:
        value = buffer.value(this.split.feature, place)
        node = this.left if goes_left(&this.split, value) else this.right
        this = &trees.nodes[node]
    return node
