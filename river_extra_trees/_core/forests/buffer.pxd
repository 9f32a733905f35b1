"""The latest samples of a stream, in a circular buffer of blocks.

A block holds BLOCK samples by column: first their targets and weights, then one column per feature.
A block has as many columns as the schema had when its samples came; where it has no column a value
is missing. The buffer allocates its blocks one by one, and uses the oldest again once it has all,
so that no push copies what is there.

A place is a position in the buffer, which the sample keeps until it is overwritten.
"""

from libc.math cimport NAN
from libc.stdint cimport int64_t

cdef enum:
    BLOCK_BITS = 9
    BLOCK = 1 << BLOCK_BITS
    TARGET = 0                  # column of the targets
    WEIGHT_OF = 1               # column of the weights
    FEATURES = 2                # the first column of a feature

cdef struct Block:
    double* values              # values[column * BLOCK + place % BLOCK]
    int n_columns               # that are in use, targets and weights among them
    int capacity                # columns there is room for

cdef class Buffer:
    cdef Block* blocks
    cdef readonly int n_blocks          # that the buffer has, once they are all needed ...
    cdef int n_allocated                # ... and so far
    cdef int64_t base                   # number of the sample that came to place 0 first
    cdef readonly int64_t n_seen        # samples ever pushed
    cdef readonly int64_t oldest        # number in the stream of the oldest that is remembered

    cdef int reserve(self, int n_features) except -1
    cdef int fill(self, const double[:, ::1] samples) except -1
    cdef int push(self, const double* row, int n_features, double target,
                  double weight) noexcept nogil

    cdef inline int place_of(self, int64_t arrival) noexcept nogil:
        """The place of the sample with this number in the stream."""
        return <int>((arrival - self.base) % (<int64_t>self.n_blocks * BLOCK))

    cdef inline double value(self, int column, int place) noexcept nogil:
        """A feature of a sample, NaN where it is missing."""
        cdef const Block* block = &self.blocks[place >> BLOCK_BITS]
        if column + FEATURES >= block.n_columns:
            return NAN
        return block.values[(<Py_ssize_t>(column + FEATURES) << BLOCK_BITS) + (place & (BLOCK - 1))]

    cdef inline double target(self, int place) noexcept nogil:
        return self.blocks[place >> BLOCK_BITS].values[place & (BLOCK - 1)]

    cdef inline double weight(self, int place) noexcept nogil:
        return self.blocks[place >> BLOCK_BITS].values[BLOCK + (place & (BLOCK - 1))]
