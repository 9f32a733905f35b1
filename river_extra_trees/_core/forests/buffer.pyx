"""The latest samples of a stream, in a circular buffer of blocks. See the header."""

import numpy as np

from libc.math cimport signbit

from ..allocation cimport free, resized, zeroed
from ..schema cimport MAX_COLUMNS

from ..cells import CELLS, Cells
from ..state import (
    FAINTEST_WEIGHT, LARGEST_TARGET, LARGEST_WEIGHT, State, reduced, require,
)

cdef enum:
    LARGEST_BUFFER = 1 << 24    # blocks: all places fit into 32 bits


cdef class Buffer:
    """The latest samples of a stream.

    Parameters
    ----------
    n_samples
        Number of samples to store; up to one block more are stored.
    """

    def __cinit__(self, int n_samples):
        self.n_blocks = (n_samples + BLOCK - 1) // BLOCK + 1

    def __dealloc__(self):
        cdef int i, column
        for i in range(self.n_allocated):
            for column in range(self.capacity):
                free(self.columns[column].blocks[i])
            free(self.targets[i])
            free(self.presents[i].entries)
            free(self.presents[i])
        for column in range(self.capacity):
            free(self.columns[column].blocks)
        free(self.columns)
        free(self.latest)
        free(self.previous)
        free(self.latest_of)
        free(self.present)
        free(self.targets)
        free(self.presents)

    # ---------------------------------------------------------------- memory

    cdef int reserve(self, const double* row, const int* columns, int n_columns,
                     int n_features) except -1 nogil:
        """Allocate memory for the next sample, which may have values in the given columns.

        Stored samples do not change.
        """
        cdef int place = self.place_of(self.n_seen), at = place >> BLOCK_BITS, i, k, column, width
        cdef Store* this
        if at >= self.n_allocated:      # by one: blocks are filled in order
            self.reserve_block()
        elif self.n_allocated < self.n_blocks:
            self.reserve_room(<int>(<int64_t>self.capacity * (place & (BLOCK - 1)) >> BLOCK_BITS))
        if n_features > self.capacity:
            self.reserve_columns(n_features)
        self.n_present = 0
        for k in range(n_columns):
            column = columns[k]
            if is_missing(row[column]):
                continue
            self.present[self.n_present] = column
            self.n_present += 1
            this = &self.columns[column]
            width = this.width
            if width < DOUBLE:
                width = max(width, width_of(row[column]))
            if this.blocks[at] == NULL:
                this.blocks[at] = resized(NULL, BLOCK, width)
                self.n_bytes += <size_t>BLOCK * this.width
                fill_missing(this.blocks[at], this.width)
            if width > this.width:
                for i in range(self.n_allocated):
                    if this.blocks[i] != NULL:
                        this.blocks[i] = resized(this.blocks[i], BLOCK, width)
        if FEW * self.n_present <= n_features:
            self.reserve_entries(self.presents[at])
        return 0

    cdef int reserve_entries(self, Present* this) except -1 nogil:
        """Allocate memory to list the values of the next sample."""
        cdef int n = this.n + self.n_present + 1        # one more: `entries` is not NULL
        if n > this.capacity:
            n = max(n, 2 * this.n)
            this.entries = <Entry*>resized(this.entries, n, sizeof(Entry))
            self.n_bytes += <size_t>(n - this.capacity) * sizeof(Entry)
            this.capacity = n
        return 0

    cdef int reserve_block(self) except -1 nogil:
        """Allocate one more block, without values."""
        cdef int n = self.n_allocated + 1
        self.reserve_room(self.capacity)
        self.targets = <double**>resized(self.targets, n, sizeof(double*))
        self.presents = <Present**>resized(self.presents, n, sizeof(Present*))
        self.targets[n - 1] = <double*>resized(NULL, 2 * BLOCK, sizeof(double))
        self.presents[n - 1] = <Present*>zeroed(1, sizeof(Present))
        self.n_allocated, self.n_with_room = n, 0
        self.n_bytes += (sizeof(double*) + 2 * BLOCK * sizeof(double) + sizeof(Present*)
                         + sizeof(Present))
        return 0

    cdef int reserve_room(self, int n_columns) except -1 nogil:
        """Make room for one more block in the first columns, for a few before it begins."""
        cdef Store* this
        while self.n_with_room < n_columns:
            this = &self.columns[self.n_with_room]
            this.blocks = <void**>resized(this.blocks, self.n_allocated + 1, sizeof(void*))
            this.blocks[self.n_allocated] = NULL
            self.n_with_room += 1
            self.n_bytes += sizeof(void*)
        return 0

    cdef int reserve_columns(self, int n_features) except -1 nogil:
        """Allocate n_features columns, without values."""
        cdef int column, n_groups
        self.columns = <Store*>resized(self.columns, n_features, sizeof(Store))
        self.latest = <int64_t*>resized(self.latest, n_features, sizeof(int64_t))
        self.previous = <int64_t*>resized(self.previous, n_features, sizeof(int64_t))
        n_groups = (n_features + GROUP_OF - 1) >> GROUP_BITS
        self.latest_of = <int64_t*>resized(self.latest_of, n_groups, sizeof(int64_t))
        self.present = <int*>resized(self.present, n_features, sizeof(int))
        for column in range(self.capacity, n_features):
            self.columns[column].blocks = <void**>zeroed(self.n_allocated, sizeof(void*))
            self.columns[column].width = BYTE
            self.latest[column] = self.previous[column] = -1
            if column % GROUP_OF == 0:
                self.latest_of[column >> GROUP_BITS] = -1
                self.n_bytes += sizeof(int64_t)
            self.capacity = column + 1
            self.n_bytes += (sizeof(Store) + 2 * sizeof(int64_t) + sizeof(int)
                             + self.n_allocated * sizeof(void*))
        return 0

    # ---------------------------------------------------------------- samples

    cdef int push(self, const double* row, int n_features, double target,
                  double weight) noexcept nogil:
        """Store a sample, after `reserve` for it; return its place."""
        cdef int place = self.place_of(self.n_seen), at = place & (BLOCK - 1), column, i, k, width
        cdef int block = place >> BLOCK_BITS
        cdef Store* this
        if at == 0:
            self.oldest = max(self.oldest, self.n_seen - <int64_t>(self.n_blocks - 1) * BLOCK)
            self.begin_block(block, row, n_features)
        self.targets[block][at] = target
        self.targets[block][BLOCK + at] = weight
        self.list_present(self.presents[block], at, row, n_features)
        for k in range(self.n_present):
            column = self.present[k]
            this = &self.columns[column]
            self.previous[column] = self.latest[column]
            self.latest[column] = self.latest_of[column >> GROUP_BITS] = self.n_seen
            self.has_extremes |= is_extreme(row[column])
            if this.width < DOUBLE:
                width = width_of(row[column])
                if width > this.width:
                    for i in range(self.n_allocated):
                        if this.blocks[i] != NULL:
                            widen(this.blocks[i], this.width, width)
                            self.n_bytes += <size_t>BLOCK * (width - this.width)
                    this.width = width
            write(this.blocks[block], this.width, at, row[column])
        self.n_features = max(self.n_features, n_features)
        self.n_seen += 1
        return place

    cdef void list_present(self, Present* this, int at, const double* row,
                           int n_features) noexcept nogil:
        """List the values of the sample to be pushed, if they are few."""
        cdef int k
        if at == 0:
            this.n = this.n_values = 0
        this.starts[at], this.counts[at] = -1, self.n_present
        this.n_values += self.n_present
        if FEW * self.n_present <= n_features:
            this.starts[at] = this.n
            for k in range(self.n_present):
                this.entries[this.n].column = self.present[k]
                this.entries[this.n].value = row[self.present[k]]
                this.n += 1

    cdef void begin_block(self, int block, const double* row, int n_features) noexcept nogil:
        """Remove all values of a block, and its memory for the features that `row` lacks."""
        cdef int column = self.next_live(0, 0)
        cdef Store* this
        while column < self.n_features:
            this = &self.columns[column]
            if column < n_features and not is_missing(row[column]):
                if this.blocks[block] != NULL:
                    fill_missing(this.blocks[block], this.width)
            elif this.blocks[block] != NULL:
                free(this.blocks[block])
                this.blocks[block] = NULL
                self.n_bytes -= <size_t>BLOCK * this.width
            if self.latest[column] < self.oldest:
                self.latest[column] = -1
            column = self.next_live(column + 1, 0)

    cdef void find_latest(self, int64_t* latest) noexcept nogil:
        """Write the number of the latest sample with a value in each column that has one."""
        cdef int column = self.next_live(0, self.oldest)
        while column < self.n_features:
            latest[column] = self.latest[column]
            column = self.next_live(column + 1, self.oldest)

    cdef void mark_classes(self, uint8_t* held) noexcept nogil:
        """Mark the classes of the samples."""
        cdef int64_t arrival
        for arrival in range(self.oldest, self.n_seen):
            held[<int>self.target(self.place_of(arrival))] = True

    cdef bint keep_columns(self, const uint8_t* held) noexcept nogil:
        """Remove all values of the columns that are not marked; return whether there were any."""
        cdef int block, column, last = self.place_of(self.n_seen - 1)
        cdef bint found = False
        for column in range(self.n_features):
            if not held[column] and self.latest[column] >= self.oldest:
                found = True
                for block in range(self.n_allocated):
                    if self.columns[column].blocks[block] != NULL:
                        self.drop(column, block)
                self.latest[column] = -1
        for block in range(self.n_allocated if found else 0):
            self.drop_entries(self.presents[block], held,
                              (last & (BLOCK - 1)) + 1 if block == last >> BLOCK_BITS else BLOCK)
        return found

    cdef void drop(self, int column, int block) noexcept nogil:
        """Remove the values of a column from a block."""
        cdef Store* this = &self.columns[column]
        cdef Present* present = self.presents[block]
        cdef int at
        cdef bint has_value
        for at in range(BLOCK):
            has_value = not is_missing(value_at(this.blocks[block], this.width, at))
            present.counts[at] -= has_value
            present.n_values -= has_value
        free(this.blocks[block])
        this.blocks[block] = NULL
        self.n_bytes -= <size_t>BLOCK * this.width

    cdef void drop_entries(self, Present* this, const uint8_t* held, int n) noexcept nogil:
        """Keep the entries of n samples of a block in the columns that are marked.

        `counts` are those of what is kept.
        """
        cdef Entry* entries
        cdef int at, k, kept
        for at in range(n):
            if this.starts[at] < 0:     # they are not listed
                continue
            k = kept = 0
            entries = this.entries + this.starts[at]
            while kept < this.counts[at]:
                if held[entries[k].column]:
                    entries[kept] = entries[k]
                    kept += 1
                k += 1

    def sample(self, arrival):
        """(row, target, weight) of the sample with this number in the stream."""
        cdef int place, column
        if arrival < self.oldest or arrival >= self.n_seen:
            raise IndexError(f"sample {arrival} is not remembered")
        place = self.place_of(arrival)
        row = [self.value(column, place) for column in range(self.n_features)]
        return row, self.target(place), self.weight(place)

    def emptied(self):
        """An empty buffer of the same size."""
        return Buffer((self.n_blocks - 1) * BLOCK)

    cdef void enlarge(self, int n_blocks) noexcept:
        """Make room for at least so many blocks. The buffer has just been restored."""
        self.n_blocks = max(self.n_blocks, n_blocks)

    def check(self):
        """Raise AssertionError if an invariant is broken."""
        cdef int column
        assert 0 <= self.oldest <= self.n_seen
        assert self.n_seen - self.oldest <= self.n_blocks * BLOCK
        assert self.n_features <= self.capacity
        for column in range(self.n_features):
            assert self.latest[column] == -1 or self.latest[column] >= self.oldest
            assert self.latest[column] <= self.latest_of[column >> GROUP_BITS] < self.n_seen
        for column in range(self.capacity):
            assert self.columns[column].width in (BYTE, SINGLE, DOUBLE)
        for arrival in range(self.oldest, self.n_seen):
            self.check_present(self.place_of(arrival))
        assert self.n_values(self.oldest, <int>(self.n_seen - self.oldest)) == sum(
            self.n_present_at(self.place_of(arrival))
            for arrival in range(self.oldest, self.n_seen))

    cdef object check_present(self, int place):
        """Raise AssertionError if the entries of a sample are not its values."""
        cdef int column, k
        cdef const Entry* entries = self.entries_at(place)
        found = [(column, self.value(column, place)) for column in range(self.n_features)
                 if not is_missing(self.value(column, place))]
        assert len(found) == self.n_present_at(place)
        if entries != NULL:
            assert found == sorted((entries[k].column, entries[k].value)
                                   for k in range(<int>len(found)))

    def __sizeof__(self):
        return object.__sizeof__(self) + self.n_bytes

    def state(self):
        """The stored samples, numbered in order of arrival."""
        cdef Py_ssize_t n = self.n_seen - self.oldest, i
        cdef double[::1] target = np.empty(n), weight = np.empty(n)
        cdef int place
        for i in range(n):
            place = self.place_of(self.oldest + i)
            target[i], weight[i] = self.target(place), self.weight(place)
        return {"n_blocks": self.n_blocks, "n_seen": self.n_seen, "target": target.base,
                "weight": weight.base, **self.cells().state()}

    cdef object cells(self):
        """The values of the stored samples."""
        cdef int i, n = <int>(self.n_seen - self.oldest), column, place, stop
        cdef int64_t at = 0, n_cells = self.n_values(self.oldest, n)
        cdef int[::1] n_values = np.zeros(self.n_features, np.int32)
        cdef int[::1] sample_of = np.empty(n_cells, np.int32)
        cdef double[::1] values = np.empty(n_cells)
        for column in range(self.n_features):
            i = 0
            while i < n:
                place = self.place_of(self.oldest + i)
                stop = i + self.n_adjacent(place, n - i)
                if self.values_at(column, place) == NULL:
                    i = stop
                while i < stop:
                    if not is_missing(self.value(column, place)):
                        sample_of[at], values[at] = i, self.value(column, place)
                        at += 1
                        n_values[column] += 1
                    i, place = i + 1, place + 1
        return Cells(n, n_values.base, sample_of.base, values.base)

    @classmethod
    def restored(cls, values):
        """The buffer of a state. The owner checks whether targets are codes or numbers."""
        cdef Buffer buffer
        state = State("Buffer", values, ("n_blocks", "n_seen", "target", "weight", *CELLS))
        n_blocks = state.whole("n_blocks", 2, LARGEST_BUFFER)
        target = state.numbers("target", None, least=-LARGEST_TARGET, most=LARGEST_TARGET)
        n = len(target)
        weight = state.numbers("weight", n, least=FAINTEST_WEIGHT, most=LARGEST_WEIGHT)
        n_seen = state.whole("n_seen", n)
        require(n <= n_blocks * BLOCK, "Buffer: too many samples")
        buffer = Buffer((n_blocks - 1) * BLOCK)
        buffer.n_seen = buffer.oldest = buffer.base = n_seen - n
        buffer.fill(Cells.restored(state, n, MAX_COLUMNS), target, weight)
        return buffer

    cdef int fill(self, object cells, const double[:] target, const double[:] weight) except -1:
        """Push samples into the buffer."""
        cdef int n_features = <int>len(cells.n_values)
        cdef double[::1] row = np.full(n_features + 1, NAN)
        cdef const int64_t[:] starts
        cdef int[::1] columns
        cdef const double[:] values
        cdef int64_t i, k
        starts, columns, values = cells.by_sample()
        for i in range(target.shape[0]):
            for k in range(starts[i], starts[i + 1]):
                row[columns[k]] = values[k]
            self.reserve(&row[0], NULL if starts[i] == starts[i + 1] else &columns[starts[i]],
                         <int>(starts[i + 1] - starts[i]), n_features)
            self.push(&row[0], n_features, target[i], weight[i])
            for k in range(starts[i], starts[i + 1]):
                row[columns[k]] = NAN
        return 0

    def __reduce__(self):
        return reduced(type(self), self.state())


# --- Values as bytes, floats or doubles -------------------------------------------------------

cdef int width_of(double value) noexcept nogil:
    """The smallest width that represents a value exactly; see `Width`."""
    if value != value or (0.0 <= value < MISSING_BYTE and value == <uint8_t>value
                          and not signbit(value)):
        return BYTE
    if -3e38 < value < 3e38 and value == <double><float>value:
        return SINGLE
    return DOUBLE


cdef void widen(void* values, int width, int new_width) noexcept nogil:
    """Convert the values of a block to a larger width; the memory is allocated."""
    cdef int i
    for i in range(BLOCK - 1, -1, -1):      # from the end: none is overwritten before it is read
        write(values, new_width, i, value_at(values, width, i))


cdef void fill_missing(void* values, int width) noexcept nogil:
    """Mark all values of a block as missing."""
    cdef int i
    for i in range(BLOCK):
        write(values, width, i, NAN)


cdef inline void write(void* values, int width, int at, double value) noexcept nogil:
    """Store a value in a block; its width must be sufficient."""
    if width == DOUBLE:
        (<double*>values)[at] = value
    elif width == SINGLE:
        (<float*>values)[at] = <float>value
    else:
        (<uint8_t*>values)[at] = MISSING_BYTE if value != value else <uint8_t>value
