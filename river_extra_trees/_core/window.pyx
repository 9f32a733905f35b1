"""The window of stored samples. See the header for the layout."""

import numpy as np

from libc.math cimport NAN
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memmove, memset

from .allocation cimport free, resized, zeroed
from .arrays cimport view
from .schema cimport MAX_COLUMNS, Schema
from .sorting cimport keep, merge_slots, rank, sort_slots

from .state import (
    FAINTEST_WEIGHT, LARGEST_TARGET, LARGEST_WEIGHT, State, put_back, reduced, require,
    require_codes, without_defaults,
)

cdef extern from "bits.h":
    int lowest_bit(uint64_t word) nogil

cdef enum:
    LARGEST_WINDOW = 1 << 30    # slots: twice this number fits into 32 bits
    WIDE = 1 << 10              # a row with more values is wide
    MANY_FREE = 64              # number of free lines that are always kept


cdef size_t block_size(size_t capacity, size_t columns) noexcept nogil:
    """Bytes of the memory block that contains all arrays of a window."""
    return capacity * (columns * (sizeof(double) + sizeof(int))
                       + words_of(columns) * sizeof(uint64_t)
                       + 3 * sizeof(double) + 5 * sizeof(int)) + 8 * columns * sizeof(int)


cdef inline size_t words_of(size_t columns) noexcept nogil:
    return (columns + 63) // 64


cdef inline int place_of(const int* order, int n, const double* key, int slot) noexcept nogil:
    """The place of a slot in a sorted order."""
    cdef int at = rank(order, n, key, key[slot], False)
    while order[at] != slot:
        at += 1
    return at


cdef int compare(const void* one, const void* other) noexcept nogil:
    return (<const int*>one)[0] - (<const int*>other)[0]


cdef inline bint is_nan(double value) noexcept nogil:
    return value != value


cdef class Window:
    """Samples in slots, with the sorted order of the slots in each column.

    `push` stores rows. `sort` merges the pushed samples into the sorted orders, and `release`
    removes samples from them; neither sorts the other samples again. A full window is enlarged. To
    bound its size, the owner has to release samples in time.

    Parameters
    ----------
    capacity
        Initial number of slots.
    """

    def __cinit__(self, int capacity=4):
        self.move(max(1, capacity), 0)

    def __dealloc__(self):
        free(self.data)
        free(self.lines)

    cdef int move(self, int capacity, int column_capacity) except -1 nogil:
        """Move all arrays into a larger block. After a MemoryError the window is unchanged."""
        cdef char* block = <char*>zeroed(block_size(capacity, column_capacity), 1)
        cdef size_t cells = <size_t>capacity * column_capacity
        cdef Py_ssize_t line, old
        cdef int slot, i, n_free = self.capacity - self.size
        cdef double* data = <double*>block
        cdef double* target = data + cells
        cdef int64_t* arrival = <int64_t*>(target + 2 * <size_t>capacity)
        cdef uint64_t* lines_of = <uint64_t*>(arrival + capacity)
        cdef int* order = <int*>(lines_of + capacity * words_of(column_capacity))
        cdef int* by_arrival = order + cells
        cdef int* free_slots = by_arrival + 2 * <size_t>capacity
        cdef int* live = free_slots + 3 * <size_t>capacity
        cdef int* column_of = live + 2 * <size_t>column_capacity
        cdef int* n_held = column_of + column_capacity
        cdef int* n_ordered = n_held + column_capacity
        for line in range(self.n_live):
            old = self.lines[self.live[line]]
            memcpy(data + line * capacity, self.values_of(self.live[line]),
                   self.capacity * sizeof(double))
            for slot in range(self.capacity, capacity):
                data[line * capacity + slot] = NAN
            memcpy(order + line * capacity, self.order_of(self.live[line]),
                   self.n_held[old] * sizeof(int))
            n_held[line], n_ordered[line] = self.n_held[old], self.n_ordered[old]
            live[line] = column_of[line] = self.live[line]
        for line in range(self.n_live, column_capacity):
            live[2 * <Py_ssize_t>column_capacity - 1 - line] = <int>line
        for slot in range(self.capacity, capacity):
            arrival[slot] = -1
        if self.data != NULL:
            memcpy(target, self.target, self.capacity * sizeof(double))
            memcpy(target + capacity, self.weight, self.capacity * sizeof(double))
            memcpy(arrival, self.arrival, self.capacity * sizeof(int64_t))
            memcpy(by_arrival, self.by_arrival, self.n_sorted * sizeof(int))
            memcpy(by_arrival + capacity, self.fresh, self.n_fresh * sizeof(int))
            memcpy(free_slots + capacity - self.capacity, self.free_slots, n_free * sizeof(int))
            memcpy(free_slots + capacity, self.leaf, self.capacity * sizeof(int))
            free(self.data)
        for slot in range(self.capacity, capacity):     # below the old ones: the lowest goes first
            free_slots[capacity - 1 - slot] = slot
        self.data, self.target, self.weight = data, target, target + capacity
        self.arrival, self.order, self.by_arrival = arrival, order, by_arrival
        self.fresh, self.free_slots = by_arrival + capacity, free_slots
        self.merged = self.leaf = free_slots + capacity
        self.live, self.free_lines, self.column_of = live, live + column_capacity, column_of
        self.n_held, self.n_ordered = n_held, n_ordered
        self.distinct = n_ordered + column_capacity
        self.table = self.distinct + column_capacity
        self.lines_of, self.n_words = lines_of, words_of(column_capacity)
        self.capacity, self.column_capacity = capacity, column_capacity
        self.is_stale = True
        for line in range(self.n_live):
            self.lines[live[line]] = <int>line
            for i in range(n_held[line]):
                self.mark(<int>line, order[line * capacity + i])
        return 0

    cdef int reserve(self, int capacity, int n_columns, int n_live) except -1 nogil:
        """Allocate memory for samples, and for columns of which n_live are live.

        Slots and orders stay valid. A MemoryError changes nothing. Most lines that are not in use
        are given back.
        """
        cdef int column_capacity = self.column_capacity, least
        n_live = max(n_live, self.n_live)
        least = max(n_live, self.n_lately)
        self.reserve_lines(n_columns)
        if n_live > column_capacity:
            column_capacity = max(n_live, 2 * column_capacity)
        elif column_capacity > MANY_FREE + 4 * least:
            column_capacity = least
        if capacity > self.capacity or column_capacity != self.column_capacity:
            self.move(max(capacity, self.capacity), column_capacity)
        return 0

    cdef int reserve_lines(self, int n_columns) except -1 nogil:
        """Allocate memory for the lines of columns."""
        cdef int column, n
        if n_columns > self.n_lines:
            n = max(n_columns, 2 * self.n_lines)
            self.lines = <int*>resized(self.lines, n, sizeof(int))
            for column in range(self.n_lines, n):
                self.lines[column] = -1
            self.n_lines = n
        return 0

    cdef int reserve_rows(self, Schema schema, int capacity) except -1 nogil:
        """Allocate memory for the columns of the rows that the schema holds."""
        self.reserve_lines(schema.n_columns)
        return self.reserve(capacity, schema.n_columns,
                            self.count_live(schema.filled, schema.n_filled))

    cdef int reserve_one(self, Schema schema, int most=LARGEST_WINDOW) except -1 nogil:
        """Allocate memory for one more row of the schema: double the capacity, up to `most`.

        To move the columns of a wide row again would take long, so it gets all of the capacity.
        """
        cdef int capacity = self.capacity
        if self.size == capacity:
            capacity = 2 * capacity if capacity >= most else min(2 * capacity, most)
        if schema.n_filled > WIDE and most < LARGEST_WINDOW:
            self.reserve_lines(schema.n_columns)
            if self.count_live(schema.filled, schema.n_filled) > self.column_capacity:
                capacity = max(capacity, most)
        return self.reserve_rows(schema, capacity)

    cdef int count_live(self, const int* columns, int n) noexcept nogil:
        """Number of live columns if these are live, too."""
        cdef int k, n_live = self.n_live
        for k in range(n):
            n_live += self.lines[columns[k]] < 0
        return n_live

    cdef bint has_room(self, Schema schema) noexcept nogil:
        """Whether there is memory for the columns of the rows that the schema holds."""
        return schema.n_columns <= self.n_lines and (
            self.count_live(schema.filled, schema.n_filled) <= self.column_capacity)

    cdef void begin_column(self, int column) noexcept nogil:
        """Make a column live, without values yet. `reserve` has allocated the memory."""
        cdef int i = self.n_live, slot
        cdef int line = self.free_lines[self.column_capacity - self.n_live - 1]
        cdef double* data = self.data + <Py_ssize_t>line * self.capacity
        for slot in range(self.capacity):
            data[slot] = NAN
        while i > 0 and self.live[i - 1] > column:
            i -= 1
        memmove(self.live + i + 1, self.live + i, (self.n_live - i) * sizeof(int))
        self.live[i] = self.column_of[line] = column
        self.lines[column] = line
        self.n_held[line] = self.n_ordered[line] = 0
        self.n_live += 1

    cdef inline void mark(self, int line, int slot) noexcept nogil:
        """Note that a sample has a value in a line."""
        self.lines_of[slot * self.n_words + (line >> 6)] |= <uint64_t>1 << (line & 63)

    cdef inline void unmark(self, int line, int slot) noexcept nogil:
        self.lines_of[slot * self.n_words + (line >> 6)] &= ~(<uint64_t>1 << (line & 63))

    cdef inline void hold(self, int line, int slot) noexcept nogil:
        """List a fresh sample that has a value in a line."""
        cdef int n = self.n_held[line]
        self.order[<Py_ssize_t>line * self.capacity + n] = slot
        self.n_held[line] = n + 1
        self.is_stale |= self.n_sorted == 0 and self.is_few(n)
        self.mark(line, slot)

    cdef void find_latest(self, int64_t* latest) noexcept nogil:
        """Write the number of the latest sample with a value in each live column."""
        cdef int i, k
        cdef const int* order
        for k in range(self.n_live):
            order = self.order_of(self.live[k])
            for i in range(self.n_held[self.lines[self.live[k]]]):
                latest[self.live[k]] = max(latest[self.live[k]], self.arrival[order[i]])

    cdef void mark_classes(self, uint8_t* held) noexcept nogil:
        """Mark the classes of the samples."""
        cdef int i
        for i in range(self.size):
            held[<int>self.target[self.slot_at(i)]] = True

    cdef void keep_live(self) noexcept nogil:
        """Free the lines of the columns without a value."""
        self.keep_columns(NULL)

    cdef void keep_columns(self, const uint8_t* held) noexcept nogil:
        """Free the lines of the columns without a value, or of those that are not marked."""
        cdef int i, j, column, line, n = self.n_live
        cdef const int* order
        self.n_live = 0
        for i in range(n):
            column = self.live[i]
            line = self.lines[column]
            if (held != NULL and held[column]) or (held == NULL and self.n_held[line] > 0):
                self.live[self.n_live] = column
                self.n_live += 1
                continue
            order = self.order_of(column)
            for j in range(self.n_held[line]):
                self.unmark(line, order[j])
            self.free_lines[self.column_capacity - n + i - self.n_live] = line
            self.lines[column] = -1
        self.is_stale |= self.n_live < n

    cdef void push(self, const double* values, Py_ssize_t stride, Schema schema, int n,
                   const double* targets, const double* weights, int* slots) noexcept nogil:
        """Store those of n rows that have a positive weight. slots[i] is the slot of row i, or -1.

        values[column * stride + i] is a value of row i in one of `schema.filled`; others are
        missing. Call `reserve` before.
        """
        cdef Py_ssize_t column
        cdef int i, k, slot, line
        cdef bint adjacent = n > 1      # whether slot follows slot, as in an empty window
        cdef double* data
        for i in range(n):
            slots[i] = -1
            if weights[i] > 0.0:
                slot = slots[i] = self.free_slots[self.capacity - self.size - 1]
                self.target[slot] = targets[i]
                self.weight[slot] = weights[i]
                self.arrival[slot] = self.n_seen
                self.fresh[self.n_fresh] = slot
                self.leaf[slot] = -1
                self.n_fresh += 1
                self.n_seen += 1
                self.size += 1
            adjacent &= slots[i] >= 0 and slots[i] == slots[0] + i
        self.n_columns = max(self.n_columns, schema.n_columns)
        for k in range(schema.n_filled):
            column = schema.filled[k]
            if self.lines[column] < 0:
                i = 0
                while i < n and (slots[i] < 0 or is_nan(values[column * stride + i])):
                    i += 1
                if i == n:
                    continue
                self.begin_column(<int>column)
            line, data = self.lines[column], self.values_of(<int>column)
            if adjacent:
                memcpy(data + slots[0], values + column * stride, n * sizeof(double))
            for i in range(n):
                if slots[i] >= 0 and not is_nan(values[column * stride + i]):
                    data[slots[i]] = values[column * stride + i]
                    self.hold(line, slots[i])

    cdef void sort(self) noexcept nogil:
        """Merge the fresh samples into the sorted orders."""
        cdef int k, line, n, n_new
        cdef const double* key
        cdef int* slots = self.merged
        cdef int* order
        if self.n_fresh == 0:
            return
        for k in range(self.n_live):
            line = self.lines[self.live[k]]
            n, n_new = self.n_ordered[line], self.n_held[line] - self.n_ordered[line]
            if n_new == 0:
                continue
            key, order = self.values_of(self.live[k]), self.order_of(self.live[k])
            memcpy(slots, order + n, n_new * sizeof(int))
            sort_slots(slots, slots + n_new, key, n_new)
            merge_slots(order, order, n, slots, n_new, key)
            self.n_ordered[line] = self.n_held[line]
        memcpy(self.by_arrival + self.n_sorted, self.fresh, self.n_fresh * sizeof(int))
        self.n_sorted += self.n_fresh
        self.n_fresh = 0
        self.is_stale = True

    cdef void insert(self, int line, int slot, double value) noexcept nogil:
        """Give a sorted sample its value in a line."""
        cdef int* order = self.order + <Py_ssize_t>line * self.capacity
        cdef double* key = self.data + <Py_ssize_t>line * self.capacity
        cdef int n = self.n_ordered[line], at = rank(order, n, key, value, True)
        memmove(order + at + 1, order + at, (n - at) * sizeof(int))
        order[at], key[slot] = slot, value
        self.n_ordered[line] = self.n_held[line] = n + 1
        self.is_stale |= self.is_few(n)

    cdef void remove(self, int line, int slot) noexcept nogil:
        """Take its value in a line from a sorted sample."""
        cdef int* order = self.order + <Py_ssize_t>line * self.capacity
        cdef double* key = self.data + <Py_ssize_t>line * self.capacity
        cdef int n = self.n_ordered[line], at = place_of(order, n, key, slot)
        n -= 1
        memmove(order + at, order + at + 1, (n - at) * sizeof(int))
        key[slot] = NAN
        self.n_ordered[line] = self.n_held[line] = n
        self.is_stale |= self.is_few(n)

    cdef void replace(self, int line, int slot, double value) noexcept nogil:
        """`remove` and `insert`: only the slots between both places move."""
        cdef int* order = self.order + <Py_ssize_t>line * self.capacity
        cdef double* key = self.data + <Py_ssize_t>line * self.capacity
        cdef int n = self.n_ordered[line], gap = place_of(order, n, key, slot)
        cdef int to = rank(order, n, key, value, True)
        if to > gap:
            to -= 1
            memmove(order + gap, order + gap + 1, (to - gap) * sizeof(int))
        else:
            memmove(order + to + 1, order + to, (gap - to) * sizeof(int))
        order[to], key[slot] = slot, value
        self.is_stale |= self.is_few(n)

    cdef int slide(self, Schema schema, double target, double weight, int gone) noexcept nogil:
        """Add the row of the schema and, unless `gone` is -1, remove that slot in the same pass.

        Returns the slot of the new sample. Only columns in which either has a value change.
        `reserve` must have allocated the memory, and there must be no fresh samples.
        """
        cdef const double* row = schema.row
        cdef int n = self.n_sorted, slot = gone, gap = n, k, column, line
        cdef Py_ssize_t word
        cdef uint64_t* lines
        cdef bint none_left = False
        for k in range(schema.n_filled):
            column = schema.filled[k]
            if self.lines[column] < 0 and not is_nan(row[column]):
                self.begin_column(column)
        self.n_columns = max(self.n_columns, schema.n_columns)
        if gone < 0:
            slot = self.free_slots[self.capacity - self.size - 1]
            self.size += 1
            self.n_sorted += 1
        lines = self.lines_of + slot * self.n_words
        for k in range(schema.n_filled):
            column = schema.filled[k]
            if is_nan(row[column]):
                continue
            line = self.lines[column]
            if lines[line >> 6] >> (line & 63) & 1:
                self.replace(line, slot, row[column])
                self.unmark(line, slot)
            else:
                self.insert(line, slot, row[column])
        for word in range(self.n_words):    # the columns that only the former sample has
            while lines[word]:
                line = <int>(64 * word) + lowest_bit(lines[word])
                lines[word] &= lines[word] - 1
                self.remove(line, slot)
                none_left |= self.n_held[line] == 0
        for k in range(schema.n_filled):
            if not is_nan(row[schema.filled[k]]):
                self.mark(self.lines[schema.filled[k]], slot)
        if none_left:
            self.keep_live()
        gap = 0 if gone >= 0 else n
        while gone >= 0 and self.by_arrival[gap] != gone:
            gap += 1
        memmove(self.by_arrival + gap, self.by_arrival + gap + 1,
                (self.n_sorted - 1 - gap) * sizeof(int))
        self.by_arrival[self.n_sorted - 1] = slot
        self.target[slot] = target
        self.weight[slot] = weight
        self.arrival[slot] = self.n_seen
        self.n_seen += 1
        return slot

    cdef void release(self, const uint8_t* gone) noexcept nogil:
        """Free the slots that `gone` marks, of sorted samples only."""
        cdef int i, k, slot, line
        cdef Py_ssize_t word
        cdef uint64_t* lines
        cdef int* n_gone = self.table
        memset(n_gone, 0, self.column_capacity * sizeof(int))
        for i in range(self.n_sorted - 1, -1, -1):      # so that the oldest slot is reused first
            slot = self.by_arrival[i]
            if not gone[slot]:
                continue
            self.arrival[slot] = -1
            self.free_slots[self.capacity - self.size] = slot
            self.size -= 1
            lines = self.lines_of + slot * self.n_words
            for word in range(self.n_words):
                while lines[word]:
                    line = <int>(64 * word) + lowest_bit(lines[word])
                    lines[word] &= lines[word] - 1
                    self.data[<Py_ssize_t>line * self.capacity + slot] = NAN
                    n_gone[line] += 1
        for k in range(self.n_live):
            line = self.lines[self.live[k]]
            if n_gone[line]:
                self.n_held[line] = keep(self.order_of(self.live[k]), self.n_held[line],
                                         self.arrival)
                self.n_ordered[line] -= n_gone[line]
        self.n_sorted = keep(self.by_arrival, self.n_sorted, self.arrival)
        self.n_lately = self.n_live
        self.keep_live()
        self.is_stale = True

    cdef int columns_of(self, int slot, int* columns) noexcept nogil:
        """Write the columns in which a sample has a value, ascending; return their number."""
        cdef const uint64_t* lines = self.lines_of + slot * self.n_words
        cdef uint64_t rest
        cdef Py_ssize_t word
        cdef int n = 0
        cdef bint in_order = True
        for word in range(self.n_words):
            rest = lines[word]
            while rest:
                columns[n] = self.column_of[64 * word + lowest_bit(rest)]
                rest &= rest - 1
                in_order &= n == 0 or columns[n - 1] < columns[n]
                n += 1
        if not in_order:
            qsort(columns, n, sizeof(int), compare)
        return n

    def slots(self):
        """The slots in use, in order of arrival."""
        return [self.slot_at(i) for i in range(self.size)]

    def sample(self, int slot):
        """(row, target, weight, number in the stream) of the sample in a slot."""
        assert 0 <= slot < self.capacity and self.arrival[slot] >= 0
        row = [self.value(column, slot) for column in range(self.n_columns)]
        return row, self.target[slot], self.weight[slot], self.arrival[slot]

    def check(self):
        """Raise a StateError if the window does not equal the one restored from its state."""
        cdef Window other = self.restored(self.state())
        cdef int i, column
        slots = [self.slot_at(i) for i in range(self.capacity)]
        require(self.size == self.n_sorted + self.n_fresh <= self.capacity
                and sorted(slots) == list(range(self.capacity)),
                "Window: the slots are not all there once")
        require(all([self.arrival[slot] == -1 for slot in slots[self.size:]]),
                "Window: a free slot holds a sample")
        live = [self.live[i] for i in range(self.n_live)]
        require(live == [other.live[i] for i in range(other.n_live)]
                and live == [column for column in range(self.n_lines) if self.lines[column] >= 0],
                "Window: the live columns are not those with a value")
        lines = [self.lines[column] for column in live] + [
            self.free_lines[i] for i in range(self.column_capacity - self.n_live)]
        require(sorted(lines) == list(range(self.column_capacity)),
                "Window: the lines are not all there once")
        for column in live:
            require(self.counts(column) == other.counts(column) and (
                        [self.order_of(column)[i] for i in range(self.counts(column)[1])]
                        == [slots[other.order_of(column)[i]]
                            for i in range(other.counts(column)[1])]),
                    "Window: a column is not sorted")
            require([slot for slot in range(self.capacity) if self.is_marked(column, slot)]
                    == [slot for slot in range(self.capacity)
                        if not is_nan(self.values_of(column)[slot])],
                    "Window: a sample does not list its columns")
            require(all([is_nan(self.values_of(column)[slot]) for slot in slots[self.size:]]),
                    "Window: a free slot holds a value")

    cdef tuple counts(self, int column):
        """Number of sorted samples, and of all, with a value in a live column."""
        return self.n_ordered[self.lines[column]], self.n_held[self.lines[column]]

    cdef bint is_marked(self, int column, int slot) noexcept nogil:
        cdef int line = self.lines[column]
        return self.lines_of[slot * self.n_words + (line >> 6)] >> (line & 63) & 1

    cdef int check_codes(self, Schema schema, int n_labels) except -1:
        """Raise a StateError for columns that a schema lacks, for numbers that are no codes, or for
        targets that are no codes of n_labels labels (-1: the targets are numbers).

        The growth of trees counts samples by their labels: others would be outside of its arrays.
        """
        cdef int i
        require(self.n_columns <= schema.n_columns, "Window: a column has no name")
        slots, shape = self.slots(), (self.capacity,)
        require_codes(
            "Window", schema.codes,
            [(self.live[i], view(self.values_of(self.live[i]), "f8", shape)[slots])
             for i in range(self.n_live)],
            view(self.target, "f8", shape)[slots], None if n_labels < 0 else n_labels)
        return 0

    cdef int slot_at(self, int i) noexcept nogil:
        """The slots in order of arrival, then the free ones."""
        if i < self.n_sorted:
            return self.by_arrival[i]
        return self.fresh[i - self.n_sorted] if i < self.size else self.free_slots[i - self.size]

    def __sizeof__(self):
        return (object.__sizeof__(self) + block_size(self.capacity, self.column_capacity)
                + self.n_lines * sizeof(int))

    def state(self):
        """The samples in order of arrival. Their slots have no effect on predictions.

        Weights are omitted if all are 1, and arrival numbers if the samples are the latest ones.
        """
        cdef int column, n = self.size
        slots, shape = np.array(self.slots(), np.intp), (self.capacity,)
        data = np.full((self.n_columns if n else 0, n), NAN)
        for column in [self.live[i] for i in range(self.n_live)]:
            data[column] = view(self.values_of(column), "f8", shape)[slots]
        weight = view(self.weight, "f8", shape)[slots]
        arrival = view(self.arrival, "i8", shape)[slots]
        return without_defaults({
            "data": data, "target": view(self.target, "f8", shape)[slots],
            "weight": None if np.all(weight == 1.0) else weight,
            "arrival": None if np.all(arrival == latest(self.n_seen, n)) else arrival,
            "n_sorted": self.n_sorted, "n_seen": self.n_seen,
        }, self.DEFAULTS)

    DEFAULTS = {"data": np.empty((0, 0)), "target": np.empty(0), "weight": None, "arrival": None,
                "n_sorted": 0, "n_seen": 0}

    @classmethod
    def restored(cls, values):
        """The window of a state, with one slot per sample; the oldest sample is in slot 0.

        The owner checks whether targets are codes or numbers.
        """
        cdef Window window
        state = State("Window", values, tuple(cls.DEFAULTS), cls.DEFAULTS)
        target = state.numbers("target", None, least=-LARGEST_TARGET, most=LARGEST_TARGET)
        n = len(target)         # not that of `data`, which may be long and hold nothing
        data = state.array("data", np.float64, None, n)
        require(n <= LARGEST_WINDOW and len(data) <= MAX_COLUMNS,
                "Window: too many samples or columns")
        n_seen = state.whole("n_seen", n)
        weight = np.ones(n) if state.values["weight"] is None else (
            state.numbers("weight", n, least=FAINTEST_WEIGHT, most=LARGEST_WEIGHT))
        arrival = latest(n_seen, n) if state.values["arrival"] is None else (
            state.array("arrival", np.int64, n))
        require(np.all((arrival >= 0) & (arrival < n_seen))
                and np.all(arrival[:n - 1] < arrival[1:]),     # differences may overflow
                "Window: the samples are not in order of arrival")
        require(not np.any(np.isinf(data)), "Window: a value is infinite")
        window = cls(n)
        window.n_seen = n_seen
        window.fill(data, target, weight, arrival, state.whole("n_sorted", 0, n))
        return window

    cdef int fill(self, object data, object target, object weight, object arrival,
                  int n_sorted) except -1:
        """Copy valid samples into the empty window."""
        cdef int i, column, n = <int>len(target)
        room = (self.capacity,)
        present = np.flatnonzero(~np.isnan(data).all(axis=1)) if n else []
        self.reserve(self.capacity, <int>len(data), <int>len(present))
        self.n_columns = <int>len(data)
        for column in present:
            self.begin_column(column)
            view(self.values_of(column), "f8", room)[:n] = data[column]
            for i in range(n_sorted):
                if not is_nan(self.values_of(column)[i]):
                    self.hold(self.lines[column], i)
        put_back({
            "target": view(self.target, "f8", room)[:n],
            "weight": view(self.weight, "f8", room)[:n],
            "arrival": view(self.arrival, "i8", room)[:n],
            "fresh": view(self.fresh, "i4", room)[:n],
        }, {"target": target, "weight": weight, "arrival": arrival, "fresh": np.arange(n)})
        self.size, self.n_fresh = n, n_sorted
        self.sort()
        self.n_fresh = n - n_sorted
        for i in range(n):
            self.fresh[i] = n_sorted + i if i < self.n_fresh else -1
            self.leaf[i] = -1
        for column in present:
            for i in range(n_sorted, n):
                if not is_nan(self.values_of(column)[i]):
                    self.hold(self.lines[column], i)
        return 0

    def __reduce__(self):
        return reduced(type(self), self.state())


def latest(n_seen, n):
    """The arrival numbers of the latest n samples of a stream."""
    return np.arange(n_seen - n, n_seen, dtype=np.int64)
