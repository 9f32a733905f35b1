"""The latest samples of a stream, in a circular buffer of blocks. See the header."""

import numpy as np

from libc.math cimport NAN
from libc.stdint cimport int64_t
from libc.string cimport memset

from ..memory cimport free, product, resized
from ..schema cimport MAX_COLUMNS

from ..state import (
    FAINTEST_WEIGHT, LARGEST_TARGET, LARGEST_WEIGHT, State, reduced, require,
)

cdef enum:
    LARGEST_BUFFER = 1 << 24    # blocks: their places are still counted in 32 bits


cdef class Buffer:
    """The latest samples of a stream.

    Parameters
    ----------
    n_samples
        Number of samples to remember; up to a block more are kept.
    """

    def __cinit__(self, int n_samples):
        self.n_blocks = (n_samples + BLOCK - 1) // BLOCK + 1

    def __dealloc__(self):
        cdef int i
        for i in range(self.n_allocated):
            free(self.blocks[i].values)
        free(self.blocks)

    cdef int reserve(self, int n_features) except -1:
        """Make room for the next sample; nothing that is remembered changes."""
        cdef int capacity = n_features + FEATURES, at = self.place_of(self.n_seen) >> BLOCK_BITS
        cdef Block* block
        if at >= self.n_allocated:      # by one: blocks are filled in order
            self.blocks = <Block*>resized(self.blocks, at + 1, sizeof(Block))
            memset(&self.blocks[at], 0, sizeof(Block))
            self.n_allocated = at + 1
        block = &self.blocks[at]
        if capacity > block.capacity:
            if block.capacity:              # features came in: more of them may follow
                capacity += capacity // 2
            block.values = <double*>resized(block.values, product(capacity, BLOCK), sizeof(double))
            block.capacity = capacity
        return 0

    cdef int push(self, const double* row, int n_features, double target,
                  double weight) noexcept nogil:
        """Remember a sample for which `reserve` made room; return its place."""
        cdef int place = self.place_of(self.n_seen), at = place & (BLOCK - 1), i, column
        cdef Block* block = &self.blocks[place >> BLOCK_BITS]
        if at == 0:
            self.oldest = max(self.oldest, self.n_seen - <int64_t>(self.n_blocks - 1) * BLOCK)
            block.n_columns = FEATURES
        for column in range(block.n_columns, n_features + FEATURES):
            for i in range(at):
                block.values[(<Py_ssize_t>column << BLOCK_BITS) + i] = NAN
        block.n_columns = max(block.n_columns, n_features + FEATURES)
        block.values[at] = target
        block.values[BLOCK + at] = weight
        for column in range(n_features):
            block.values[(<Py_ssize_t>(column + FEATURES) << BLOCK_BITS) + at] = row[column]
        self.n_seen += 1
        return place

    def sample(self, arrival):
        """(row, target, weight) of the sample with this number in the stream."""
        cdef int place, column
        if not self.oldest <= arrival < self.n_seen:
            raise IndexError(f"sample {arrival} is not remembered")
        place = self.place_of(arrival)
        n_features = self.blocks[place >> BLOCK_BITS].n_columns - FEATURES
        row = [self.value(column, place) for column in range(n_features)]
        return row, self.target(place), self.weight(place)

    def emptied(self):
        """A buffer as large that has seen nothing yet."""
        return Buffer((self.n_blocks - 1) * BLOCK)

    @property
    def n_features(self):
        """Number of features that a remembered sample may have."""
        return max([self.blocks[self.place_of(arrival) >> BLOCK_BITS].n_columns - FEATURES
                    for arrival in range(self.oldest, self.n_seen, BLOCK)], default=0)

    def check(self):
        """Raise AssertionError if an invariant is broken."""
        cdef int i
        assert 0 <= self.oldest <= self.n_seen
        assert self.n_seen - self.oldest <= self.n_blocks * BLOCK
        for i in range(self.n_allocated):
            assert self.blocks[i].n_columns <= self.blocks[i].capacity

    def __sizeof__(self):
        cdef int i
        cdef size_t size = self.n_allocated * sizeof(Block)
        for i in range(self.n_allocated):
            size += self.blocks[i].capacity * <size_t>BLOCK * sizeof(double)
        return object.__sizeof__(self) + size

    def state(self):
        """Targets, weights and features of the remembered samples, by column."""
        cdef Py_ssize_t n = self.n_seen - self.oldest, i, column, n_features = self.n_features
        cdef double[:, ::1] samples = np.empty((n_features + FEATURES, n))
        cdef int place
        for i in range(n):
            place = self.place_of(self.oldest + i)
            samples[TARGET, i] = self.target(place)
            samples[WEIGHT_OF, i] = self.weight(place)
            for column in range(n_features):
                samples[column + FEATURES, i] = self.value(<int>column, place)
        return {"n_blocks": self.n_blocks, "n_seen": self.n_seen, "samples": samples.base}

    @classmethod
    def restored(cls, values):
        """The buffer of a state. Whether targets are codes or numbers is the owner's to check."""
        cdef Buffer buffer
        state = State("Buffer", values, ("n_blocks", "n_seen", "samples"))
        n_blocks = state.whole("n_blocks", 2, LARGEST_BUFFER)
        samples = state.array("samples", np.float64, None, None)
        n_seen = state.whole("n_seen", samples.shape[1])
        require(FEATURES <= len(samples) <= FEATURES + MAX_COLUMNS
                and samples.shape[1] <= n_blocks * BLOCK, "Buffer: too many samples or columns")
        require(not np.any(np.isinf(samples)), "Buffer: a value is infinite")
        require(np.all(np.abs(samples[TARGET]) <= LARGEST_TARGET)
                and np.all((samples[WEIGHT_OF] >= FAINTEST_WEIGHT)
                           & (samples[WEIGHT_OF] <= LARGEST_WEIGHT)),
                "Buffer: a target or a weight is out of bounds")
        buffer = Buffer((n_blocks - 1) * BLOCK)
        buffer.n_seen = buffer.oldest = buffer.base = n_seen - samples.shape[1]
        buffer.fill(samples)
        return buffer

    cdef int fill(self, const double[:, ::1] samples) except -1:
        """Push samples into the buffer."""
        cdef double[::1] row = np.empty(samples.shape[0] - FEATURES + 1)
        cdef int n_features = <int>samples.shape[0] - FEATURES
        cdef Py_ssize_t i, column
        for i in range(samples.shape[1]):
            for column in range(n_features):
                row[column] = samples[column + FEATURES, i]
            self.reserve(n_features)
            self.push(&row[0], n_features, samples[TARGET, i], samples[WEIGHT_OF, i])
        return 0

    def __reduce__(self):
        return reduced(type(self), self.state())
