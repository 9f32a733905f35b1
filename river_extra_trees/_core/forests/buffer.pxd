"""The latest samples of a stream, in a circular buffer of blocks.

A block contains BLOCK samples: their targets and weights as doubles, and their values of each
feature. A feature stores its values as bytes, floats or doubles: the smallest type that represents
exactly all values that came so far. A block has memory only for the features of which it has a
value. It also lists the values of each sample that has few of them. The buffer allocates its blocks
one by one. When all blocks are allocated, it overwrites the oldest samples, so `push` never copies
older samples.

A place is a position in the buffer. A sample keeps its place until it is overwritten.
"""

from libc.math cimport NAN
from libc.stdint cimport int64_t, uint8_t

cdef enum:
    BLOCK_BITS = 9
    BLOCK = 1 << BLOCK_BITS
    GROUP_BITS = 6
    GROUP_OF = 1 << GROUP_BITS
    FEW = 4                     # a sample has few values if it has one of so many at most

cdef enum Width:                # bytes per value of a feature
    BYTE = 1                    # whole numbers from 0 to 254; MISSING_BYTE is a missing value
    SINGLE = 4
    DOUBLE = 8

cdef enum:
    MISSING_BYTE = 255

cdef struct Store:              # of a feature
    void** blocks               # blocks[place >> BLOCK_BITS][place % BLOCK]; NULL: all missing
    int width                   # bytes per value, see `Width`

cdef struct Entry:              # a value of a sample
    double value
    int column

cdef struct Present:            # the values of the samples of a block
    Entry* entries              # of the samples with few values, one after the other
    int n, capacity             # of `entries`
    int n_values                # of its samples, in all
    int[BLOCK] starts           # per sample: where its entries start; -1: it has many
    int[BLOCK] counts           # per sample: how many it has

cdef inline bint is_missing(double value) noexcept nogil:
    return value != value

cdef inline bint is_extreme(double value) noexcept nogil:
    """Whether a value is not encoded as a float as it is, since it nearly overflows."""
    return not -1e30 < value < 1e30

cdef class Buffer:
    cdef double** targets               # targets[block]: targets of a block, then its weights
    cdef Present** presents             # per block
    cdef readonly int n_blocks          # maximum number of blocks
    cdef int n_allocated                # number of blocks allocated so far
    cdef int n_with_room                # number of columns that have room for one block more
    cdef Store* columns
    cdef int64_t* latest                # per column: the last sample with a value; -1: none stored
    cdef int64_t* previous              # per column: the one before; -1: there is none
    cdef int64_t* latest_of             # per GROUP_OF columns: an upper bound of their `latest`
    cdef int* present                   # the columns with a value in the sample to be pushed next
    cdef int n_present
    cdef readonly int n_features        # number of columns in use
    cdef int capacity                   # number of allocated columns
    cdef size_t n_bytes                 # number of allocated bytes
    cdef bint has_extremes              # whether a value came that `is_extreme`
    cdef int64_t base                   # number in the stream of the first sample at place 0
    cdef readonly int64_t n_seen        # number of samples pushed so far
    cdef readonly int64_t oldest        # number in the stream of the oldest stored sample

    cdef int reserve(self, const double* row, const int* columns, int n_columns,
                     int n_features) except -1 nogil
    cdef int reserve_block(self) except -1 nogil
    cdef int reserve_room(self, int n_columns) except -1 nogil
    cdef int reserve_entries(self, Present* this) except -1 nogil
    cdef int reserve_columns(self, int n_features) except -1 nogil
    cdef int push(self, const double* row, int n_features, double target,
                  double weight) noexcept nogil
    cdef void list_present(self, Present* this, int at, const double* row,
                           int n_features) noexcept nogil
    cdef object check_present(self, int place)
    cdef void begin_block(self, int block, const double* row, int n_features) noexcept nogil
    cdef void enlarge(self, int n_blocks) noexcept
    cdef object cells(self)
    cdef int fill(self, object cells, const double[:] target, const double[:] weight) except -1
    cdef void find_latest(self, int64_t* latest) noexcept nogil
    cdef void mark_classes(self, uint8_t* held) noexcept nogil
    cdef bint keep_columns(self, const uint8_t* held) noexcept nogil
    cdef void drop(self, int column, int block) noexcept nogil
    cdef void drop_entries(self, Present* this, const uint8_t* held, int n) noexcept nogil

    cdef inline int place_of(self, int64_t arrival) noexcept nogil:
        """The place of the sample with this number in the stream."""
        return <int>((arrival - self.base) % (<int64_t>self.n_blocks * BLOCK))

    cdef inline int place_after(self, int place) noexcept nogil:
        """The place of the sample after that at a place, without a slow division."""
        return place + 1 if place + 1 < self.n_blocks * BLOCK else 0

    cdef inline int n_adjacent(self, int place, int n) noexcept nogil:
        """How many of the next n samples from a place on are in its block."""
        return min(n, <int>BLOCK - (place & (BLOCK - 1)))

    cdef inline int next_live(self, int column, int64_t first) noexcept nogil:
        """The first column from `column` on with a value in sample number `first` or a later one.

        `n_features`: there is none. Groups of columns without one are skipped.
        """
        while column < self.n_features:
            if self.latest_of[column >> GROUP_BITS] < first:
                column = (column | (GROUP_OF - 1)) + 1
            elif self.latest[column] < first:
                column += 1
            else:
                return column
        return self.n_features

    cdef inline int n_values_of(self, int column, int64_t first, int n) noexcept nogil:
        """How many of n samples, from number `first` in the stream on, have a value: 0, 1, or 2.

        2 stands for all larger numbers.
        """
        cdef int64_t arrival
        cdef int found = 0
        if self.latest[column] < first:
            return 0
        if self.latest[column] < first + n:
            return 1 + (self.previous[column] >= first)
        for arrival in range(first, first + n):     # only if a loaded growth is repeated
            found += not is_missing(self.value(column, self.place_of(arrival)))
            if found == 2:
                break
        return found

    cdef inline int64_t n_values(self, int64_t first, int n) noexcept nogil:
        """How many values n samples have, from number `first` in the stream on."""
        cdef int k, part, place = self.place_of(first)
        cdef int64_t found = 0
        while n > 0:
            part = self.n_adjacent(place, n)
            if part == BLOCK:
                found += self.presents[place >> BLOCK_BITS].n_values
            else:
                for k in range(part):
                    found += self.n_present_at(place + k)
            place, n = self.place_after(place + part - 1), n - part
        return found

    cdef inline double value(self, int column, int place) noexcept nogil:
        """A feature of a sample, NaN where it is missing."""
        cdef const void* values
        if column >= self.n_features:
            return NAN
        values = self.columns[column].blocks[place >> BLOCK_BITS]
        if values == NULL:
            return NAN
        return value_at(values, self.columns[column].width, place & (BLOCK - 1))

    cdef inline const void* values_at(self, int column, int place) noexcept nogil:
        """A feature of the samples from this place to the end of the block, or NULL: all missing.

        They have the type of the feature, see `Store`.
        """
        cdef const char* values
        if column >= self.n_features:
            return NULL
        values = <const char*>self.columns[column].blocks[place >> BLOCK_BITS]
        if values == NULL:
            return NULL
        return values + (place & (BLOCK - 1)) * self.columns[column].width

    cdef inline bint has_doubles(self, int column) noexcept nogil:
        """Whether the values of a column are stored as doubles."""
        return 0 <= column < self.n_features and self.columns[column].width == DOUBLE

    cdef inline void gather(self, int column, const int* places, int n, double* values,
                            int step) noexcept nogil:
        """Read a feature of several samples, NaN where it is missing: values[i * step]."""
        cdef const Store* this = &self.columns[column]
        cdef int i
        if column >= self.n_features:
            for i in range(n):
                values[i * step] = NAN
        elif this.width == DOUBLE:
            gather_as(<double*>NULL, this.blocks, places, n, values, step)
        elif this.width == SINGLE:
            gather_as(<float*>NULL, this.blocks, places, n, values, step)
        else:
            gather_as(<uint8_t*>NULL, this.blocks, places, n, values, step)

    cdef inline void widen(self, int column, const void* stored, int n, double* values,
                           int step) noexcept nogil:
        """Read adjacent values of a feature: values[i * step]; NULL: all are missing."""
        cdef int width = DOUBLE if stored == NULL else self.columns[column].width
        if width == DOUBLE:
            spread_as(<const double*>stored, n, values, step)
        elif width == SINGLE:
            spread_as(<const float*>stored, n, values, step)
        else:
            spread_as(<const uint8_t*>stored, n, values, step)

    cdef inline void read(self, const int* columns, int n_columns, const int* places, int n,
                          double* rows, int size) noexcept nogil:
        """Read some features of several samples: rows[i * size + k] of sample i."""
        cdef int k, n_next = 1
        while n_next < n and places[n_next] == places[0] + n_next:
            n_next += 1
        if n_next < n or n > self.n_adjacent(places[0], n):
            for k in range(n_columns):
                self.gather(columns[k], places, n, rows + k, size)
            return
        for k in range(n_columns):
            self.widen(columns[k], self.values_at(columns[k], places[0]), n, rows + k, size)

    cdef inline int n_present_at(self, int place) noexcept nogil:
        """How many values a sample has."""
        return self.presents[place >> BLOCK_BITS].counts[place & (BLOCK - 1)]

    cdef inline const Entry* entries_at(self, int place) noexcept nogil:
        """The values of a sample, in any order; NULL if these are many."""
        cdef const Present* this = self.presents[place >> BLOCK_BITS]
        cdef int start = this.starts[place & (BLOCK - 1)]
        return NULL if start < 0 else this.entries + start

    cdef inline const double* targets_at(self, int place) noexcept nogil:
        """The targets from a place to the end of its block."""
        return self.targets[place >> BLOCK_BITS] + (place & (BLOCK - 1))

    cdef inline double target(self, int place) noexcept nogil:
        return self.targets[place >> BLOCK_BITS][place & (BLOCK - 1)]

    cdef inline double weight(self, int place) noexcept nogil:
        return self.targets[place >> BLOCK_BITS][BLOCK + (place & (BLOCK - 1))]


cdef inline double value_at(const void* values, int width, int at) noexcept nogil:
    """One of the values of a block, as a double."""
    if width == DOUBLE:
        return (<const double*>values)[at]
    if width == SINGLE:
        return (<const float*>values)[at]
    return number_of((<const uint8_t*>values)[at])


cdef inline double number_of(uint8_t byte) noexcept nogil:
    """The value that a byte stands for."""
    return NAN if byte == MISSING_BYTE else <double>byte


ctypedef fused Value:
    double
    float
    uint8_t


cdef inline void spread_as(const Value* stored, int n, double* values, int step) noexcept nogil:
    """Read adjacent values; NULL: all are missing."""
    cdef int i
    for i in range(n):
        if stored == NULL:
            values[i * step] = NAN
        elif Value is uint8_t:
            values[i * step] = number_of(stored[i])
        else:
            values[i * step] = stored[i]


cdef inline void gather_as(const Value* kind, void* const* blocks, const int* places, int n,
                           double* values, int step) noexcept nogil:
    """Read values of the type `kind`; the pointer only selects the type."""
    cdef const Value* of_block
    cdef int i
    for i in range(n):
        of_block = <const Value*>blocks[places[i] >> BLOCK_BITS]
        if of_block == NULL:
            values[i * step] = NAN
        elif Value is uint8_t:
            values[i * step] = number_of(of_block[places[i] & (BLOCK - 1)])
        else:
            values[i * step] = of_block[places[i] & (BLOCK - 1)]
