"""The growth of a whole tree on the latest samples, with its linear models, in small steps.

A tree without linear models is grown by `Growth` alone. One with models in its leaves:

    MEASURE     the centers and scales of the features
    GROW        the splits, with enough samples in each leaf for a model
    SUM         the sums of a leaf's ridge regression; at its end the model
    LEARN       the leaf learns again, now the residuals of its model; SUM of the next leaf follows

One with a model in the root: MEASURE, SUM and LEARN of all samples at the root, then GROW on what
LEARN has left of the targets.

As in `Growth`, where a growth stands is a function of the samples and of the number of steps.
"""

from libc.stdint cimport int64_t

from ..rng cimport Rng
from ..schema cimport Schema
from ..trees cimport Trees
from .buffer cimport Buffer
from .growth cimport Growth
from .linear_models cimport LinearModels, Ridge

cdef enum Phase:
    MEASURE = 0
    SUM = 1
    LEARN = 2
    GROW = 3
    DONE = 4

cdef class TreeGrowth:
    cdef readonly Growth growth
    cdef readonly int kind              # of the models, see `linear_models`
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
    cdef double weight                  # of MEASURE: of the samples so far
    cdef double* weights                # per feature, where it is not missing
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
