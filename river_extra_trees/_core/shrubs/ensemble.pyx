"""The data of a shrub ensemble. See the header for the layout."""

from libc.stdint cimport int64_t

from ..cart.splitter cimport Splitter
from ..memory cimport calloc, free, realloc
from ..schema cimport Labels, Schema
from ..trees cimport Trees
from ..window cimport Window


cdef size_t block_size(size_t places, size_t window_size) noexcept nogil:
    """Bytes of the block that holds all arrays but `outputs` and `slopes`."""
    return places * ((3 + places) * sizeof(double) + sizeof(int64_t)
                     + (2 + window_size) * sizeof(int))


cdef class Ensemble:
    """The trees, their weights, and the window they are trained and weighed on.

    Parameters
    ----------
    regression
        Whether trees answer with a mean, standardised over the window, in place of frequencies.
    n_models, window_size, rounds, project_each_round, l0, l1, node_penalty
        As in the estimators.
    loss
        `"mse"` or `"cross_entropy"`.
    max_depth
        Of the shrubs.
    shuffled
        Whether shrubs visit features in random order, which decides between equal splits.
    lazy
        Leave a tree unplanted if it is certain beforehand that it could not get a weight.
    """

    def __cinit__(self, *, bint regression, int n_models, int window_size,
                  loss="mse", max_depth=None, bint shuffled=False, int rounds=1,
                  bint project_each_round=False, bint standardised=True, double l0=0.0,
                  double l1=0.0, double node_penalty=0.0, bint lazy=True):
        cdef size_t places = n_models + 1
        self.schema = Schema()
        self.labels = Labels()
        self.window = Window(window_size)
        self.trees = Trees(0, regression)
        self.splitter = Splitter("variance" if regression else "gini", max_depth=max_depth,
                                 shuffled=shuffled)
        self.n_models, self.window_size, self.rounds = n_models, window_size, rounds
        self.project_each_round = project_each_round
        self.loss = {"mse": SQUARED_ERROR, "cross_entropy": CROSS_ENTROPY}[loss]
        self.l0, self.l1, self.node_penalty = l0, l1, node_penalty
        self.lazy = lazy and not regression and rounds == 1
        self.standardised = standardised
        self.weights = <double*>calloc(block_size(places, window_size), 1)
        if self.weights == NULL:
            raise MemoryError
        self.hits = self.weights + places
        self.gradient = self.hits + places
        self.gram = self.gradient + places
        self.births = <int64_t*>(self.gram + places * places)
        self.sizes = <int*>(self.births + places)
        self.answering = self.sizes + places
        self.leaves = self.answering + places
        self.width = 1 if regression else 0
        self.reserve_outputs(self.width)
        self.trees.reserve_roots(places)

    def __dealloc__(self):
        free(self.weights)
        free(self.outputs)

    def __sizeof__(self):
        cdef size_t places = self.n_models + 1
        return (object.__sizeof__(self) + block_size(places, self.window_size)
                + self.width_capacity * (places + 1) * sizeof(double))

    cdef int reserve_outputs(self, int width) except -1:
        """Make room for more classes."""
        cdef size_t places = self.n_models + 1
        cdef void* memory
        if width > self.width_capacity:
            memory = realloc(self.outputs, width * (places + 1) * sizeof(double))
            if memory == NULL:
                raise MemoryError
            self.outputs = <double*>memory
            self.slopes = self.outputs + width * places
            self.width_capacity = width
        return 0

    cdef int reserve(self, int width) except -1:
        """Make room for the row that the schema encoded last, and for a shrub."""
        cdef int n = min(self.window.size + 1, self.window_size)
        self.window.reserve(self.window_size, self.schema.n_columns)
        self.reserve_outputs(width)
        self.trees.reserve(2 * n + 1, width)
        return self.splitter.reserve_scratch(
            self.trees, n, self.window_size, self.schema.n_columns, width)
