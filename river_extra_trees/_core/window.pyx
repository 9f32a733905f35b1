"""The window of stored samples. See the header for the layout."""

import numpy as np

from libc.string cimport memcpy, memmove, memset

from .allocation cimport free, resized, zeroed
from .parts cimport view
from .schema cimport MAX_COLUMNS
from .sorting cimport keep, merge_slots, rank, sort_numbers, sort_slots

from .cells import CELLS, Cells
from .state import (
    FAINTEST_WEIGHT, LARGEST_TARGET, LARGEST_WEIGHT, State, put_back, reduced, require,
    require_codes, without_defaults,
)

cdef extern from "bits.h":
    int lowest_bit(uint64_t word) nogil

cdef enum:
    LARGEST_WINDOW = 1 << 30    # slots: twice this number fits into 32 bits
    MANY_FREE = 64              # number of free lines that are always kept


cdef size_t block_size(size_t capacity, size_t n_long, size_t n_short) noexcept nogil:
    """Bytes of the memory block that contains all arrays of a window."""
    return capacity * (n_long * (sizeof(double) + sizeof(int))
                       + words_of(n_long + n_short) * sizeof(uint64_t)
                       + 3 * sizeof(double) + 5 * sizeof(int)) + (
        n_short * (sizeof(double) + sizeof(int)) + 8 * (n_long + n_short) * sizeof(int))


cdef inline size_t words_of(size_t columns) noexcept nogil:
    return (columns + 63) // 64


cdef inline int fitted(int n, int needed, int lately) noexcept nogil:
    """A number of lines, n if it fits: where `needed` are live now, and `lately` were."""
    if needed > n:
        return max(needed, 2 * n)
    return max(needed, lately) if n > MANY_FREE + 4 * max(needed, lately) else n


cdef inline int place_of(const int* order, int n, const double* key, int slot) noexcept nogil:
    """The place of a slot in a sorted order."""
    cdef int at = rank(order, n, key, key[slot], False)
    while order[at] != slot:
        at += 1
    return at


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
        self.move(max(1, capacity), 0, 0)

    def __dealloc__(self):
        free(self.data)
        free(self.lines)

    cdef int move(self, int capacity, int n_long, int n_short) except -1 nogil:
        """Move all arrays into a larger block. After a MemoryError the window is unchanged."""
        cdef char* block = <char*>zeroed(block_size(capacity, n_long, n_short), 1)
        cdef size_t cells = <size_t>capacity * n_long
        cdef int column_capacity = n_long + n_short, next_long = 0, next_short = n_long
        cdef Py_ssize_t line, old
        cdef int slot, i, n_free = self.capacity - self.size
        cdef double* data = <double*>block
        cdef double* short_value = data + cells
        cdef double* target = short_value + n_short
        cdef int64_t* arrival = <int64_t*>(target + 2 * <size_t>capacity)
        cdef uint64_t* lines_of = <uint64_t*>(arrival + capacity)
        cdef int* order = <int*>(lines_of + capacity * words_of(column_capacity))
        cdef int* short_order = order + cells
        cdef int* by_arrival = short_order + n_short
        cdef int* free_slots = by_arrival + 2 * <size_t>capacity
        cdef int* live = free_slots + 3 * <size_t>capacity
        cdef int* free_lines = live + column_capacity
        cdef int* column_of = free_lines + column_capacity
        cdef int* n_held = column_of + column_capacity
        cdef int* n_ordered = n_held + column_capacity
        for i in range(self.n_live):
            old = self.lines[self.live[i]]
            if old < self.n_long:
                line = next_long
                next_long += 1
                memcpy(data + line * capacity, self.values_in(old), self.capacity * sizeof(double))
                for slot in range(self.capacity, capacity):
                    data[line * capacity + slot] = NAN
                memcpy(order + line * capacity, self.order_in(old),
                       self.n_held[old] * sizeof(int))
            else:
                line = next_short
                next_short += 1
                short_order[line - n_long] = self.order_in(old)[0]
                short_value[line - n_long] = self.short_value[old - self.n_long]
            n_held[line], n_ordered[line] = self.n_held[old], self.n_ordered[old]
            live[i] = column_of[line] = self.live[i]
        for line in range(next_long, n_long):           # the lowest goes first
            free_lines[n_long - 1 - line] = <int>line
        for line in range(next_short, column_capacity):
            free_lines[n_long + column_capacity - 1 - line] = <int>line
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
        self.short_value, self.short_order = short_value, short_order
        self.fresh, self.free_slots = by_arrival + capacity, free_slots
        self.merged = self.leaf = free_slots + capacity
        self.live, self.free_lines, self.column_of = live, free_lines, column_of
        self.n_held, self.n_ordered = n_held, n_ordered
        self.distinct = n_ordered + column_capacity
        self.table = self.distinct + column_capacity
        self.lines_of, self.n_words = lines_of, words_of(column_capacity)
        self.capacity, self.n_long, self.column_capacity = capacity, n_long, column_capacity
        self.is_stale = True
        for line in range(next_short):
            if line < next_long or line >= n_long:
                self.lines[column_of[line]] = <int>line
                for i in range(n_held[line]):
                    self.mark(<int>line, self.order_in(line)[i])
        return 0

    cdef int reserve(self, int capacity, int n_columns, int n_new, int n_grown) except -1 nogil:
        """Allocate memory for samples, for n_new short lines and for n_grown long ones.

        Slots and orders stay valid. A MemoryError changes nothing. Most lines that are not in use
        are given back.
        """
        cdef int column, n
        if n_columns > self.n_lines:
            n = max(n_columns, 2 * self.n_lines)
            self.lines = <int*>resized(self.lines, n, sizeof(int))
            for column in range(self.n_lines, n):
                self.lines[column] = -1
            self.n_lines = n
        cdef int n_short = self.column_capacity - self.n_long
        cdef int new_long = fitted(self.n_long, self.n_live_long + n_grown, self.n_lately)
        cdef int new_short = fitted(        # short lines of live columns that are long by now stay
            n_short, self.n_live - self.n_live_long + n_new, max(self.n_lately, self.n_live))
        if capacity > self.capacity or new_long != self.n_long or new_short != n_short:
            self.move(max(capacity, self.capacity), new_long, new_short)
        return 0

    cdef int reserve_rows(self, Schema schema, const double* values, Py_ssize_t stride, int n,
                          int capacity) except -1 nogil:
        """Allocate memory for n rows, see `push`: a short line for a new column of one value."""
        cdef int k, i, n_values, column, n_new = 0, n_grown = 0
        cdef bint is_live
        for k in range(schema.n_filled):
            column = schema.filled[k]
            is_live = column < self.n_lines and self.lines[column] >= 0
            if is_live and self.lines[column] < self.n_long:
                continue
            n_values = 0
            for i in range(n):
                n_values += not is_nan(values[column * stride + i])
            if n_values + is_live > 1:
                n_grown += 1
            elif n_values == 1:
                n_new += 1
        return self.reserve(capacity, schema.n_columns, n_new, n_grown)

    cdef int reserve_row(self, Schema schema, int capacity) except -1 nogil:
        """Allocate memory for the row that the schema holds."""
        return self.reserve_rows(schema, schema.row, 1, 1, capacity)

    cdef int reserve_one(self, Schema schema, int most=LARGEST_WINDOW) except -1 nogil:
        """Allocate memory for one more row of the schema: double the capacity, up to `most`."""
        cdef int capacity = self.capacity
        if self.size == capacity:
            capacity = 2 * capacity if capacity >= most else min(2 * capacity, most)
        return self.reserve_row(schema, capacity)

    cdef void begin_column(self, int column, int slot) noexcept nogil:
        """Make a column live, with a short line if there is one; a long one may get the value, too.

        The columns are in order again after `sort_numbers`.
        """
        cdef int n_free = self.column_capacity - self.n_long - self.n_live + self.n_live_long
        cdef int line = (self.free_lines[self.n_long + n_free - 1] if n_free > 0
                         else self.begin_long())
        self.live[self.n_live] = self.column_of[line] = column
        self.lines[column] = line
        self.n_held[line] = self.n_ordered[line] = 0
        self.order_in(line)[0] = slot
        self.n_live += 1

    cdef int begin_long(self) noexcept nogil:
        """Take a free long line, without values."""
        cdef int line = self.free_lines[self.n_long - 1 - self.n_live_long], slot
        cdef double* data = self.values_in(line)
        for slot in range(self.capacity):
            data[slot] = NAN
        self.n_live_long += 1
        return line

    cdef int grow_line(self, int column) noexcept nogil:
        """Move the value of a column from its short line to a long one, which is returned."""
        cdef int old = self.lines[column], slot = self.order_in(old)[0]
        cdef int n_short = self.n_live - self.n_live_long, line = self.begin_long()
        self.values_in(line)[slot] = self.values_in(old)[slot]
        self.order_in(line)[0] = slot
        self.n_held[line], self.n_ordered[line] = self.n_held[old], self.n_ordered[old]
        self.unmark(old, slot)
        self.mark(line, slot)
        self.free_lines[self.column_capacity - n_short] = old
        self.lines[column], self.column_of[line] = line, column
        return line

    cdef void give(self, int column, int slot, double value) noexcept nogil:
        """Give a fresh sample its value in a column."""
        cdef int line
        if self.lines[column] < 0:
            self.begin_column(column, slot)
        elif self.lines[column] >= self.n_long:
            self.grow_line(column)
        line = self.lines[column]
        self.values_in(line)[slot] = value
        self.order_in(line)[self.n_held[line]] = slot
        self.is_stale |= self.n_sorted == 0 and self.is_few(self.n_held[line])
        self.n_held[line] += 1
        self.mark(line, slot)

    cdef inline void mark(self, int line, int slot) noexcept nogil:
        """Note that a sample has a value in a line."""
        self.lines_of[slot * self.n_words + (line >> 6)] |= <uint64_t>1 << (line & 63)

    cdef inline void unmark(self, int line, int slot) noexcept nogil:
        self.lines_of[slot * self.n_words + (line >> 6)] &= ~(<uint64_t>1 << (line & 63))

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

    cdef void keep_columns(self, const uint8_t* held) noexcept nogil:
        """Free the lines of the columns without a value, or of those that are not marked."""
        cdef int i, j, column, line, kept = 0, n = self.n_live
        cdef const int* order
        for i in range(n):
            column = self.live[i]
            line = self.lines[column]
            if (held != NULL and held[column]) or (held == NULL and self.n_held[line] > 0):
                self.live[kept] = column
                kept += 1
                continue
            order = self.order_of(column)
            for j in range(self.n_held[line]):
                self.unmark(line, order[j])
            if line < self.n_long:
                self.free_lines[self.n_long - self.n_live_long] = line
                self.n_live_long -= 1
            else:
                self.free_lines[self.column_capacity - self.n_live + self.n_live_long] = line
            self.n_live -= 1
            self.lines[column] = -1
        self.is_stale |= self.n_live < n

    cdef void push(self, const double* values, Py_ssize_t stride, Schema schema, int n,
                   const double* targets, const double* weights, int* slots) noexcept nogil:
        """Store those of n rows that have a positive weight. slots[i] is the slot of row i, or -1.

        values[column * stride + i] is a value of row i in one of `schema.filled`; others are
        missing. Call `reserve` before.
        """
        cdef Py_ssize_t column
        cdef int i, k, slot, n_live = self.n_live
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
        self.n_columns = max(self.n_columns, schema.n_columns)
        for k in range(schema.n_filled):
            column = schema.filled[k]
            for i in range(n):
                if slots[i] >= 0 and not is_nan(values[column * stride + i]):
                    self.give(<int>column, slots[i], values[column * stride + i])
        if self.n_live > n_live:
            sort_numbers(self.live, self.n_live)

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
        cdef int* order = self.order_in(line)
        cdef double* key = self.values_in(line)
        cdef int n = self.n_ordered[line], at = rank(order, n, key, value, True)
        memmove(order + at + 1, order + at, (n - at) * sizeof(int))
        order[at], key[slot] = slot, value
        self.n_ordered[line] = self.n_held[line] = n + 1
        self.is_stale |= self.is_few(n)

    cdef void remove(self, int line, int slot) noexcept nogil:
        """Take its value in a line from a sorted sample."""
        cdef int* order = self.order_in(line)
        cdef double* key = self.values_in(line)
        cdef int n = self.n_ordered[line], at = place_of(order, n, key, slot)
        n -= 1
        memmove(order + at, order + at + 1, (n - at) * sizeof(int))
        key[slot] = NAN
        self.n_ordered[line] = self.n_held[line] = n
        self.is_stale |= self.is_few(n)

    cdef int slide(self, Schema schema, double target, double weight, int gone) noexcept nogil:
        """Add the row of the schema and, unless `gone` is -1, remove that slot in the same pass.

        Returns the slot of the new sample. Only columns in which either has a value change.
        `reserve` must have allocated the memory, and there must be no fresh samples.
        """
        cdef const double* row = schema.row
        cdef int n = self.n_sorted, slot = gone, gap = n, k, column, line, n_live = self.n_live
        cdef Py_ssize_t word
        cdef uint64_t* lines
        cdef bint none_left = False
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
            if self.lines[column] < 0:
                self.begin_column(column, slot)
            line = self.lines[column]
            if lines[line >> 6] >> (line & 63) & 1:
                self.remove(line, slot)
                self.unmark(line, slot)
            elif line >= self.n_long and self.n_held[line]:
                line = self.grow_line(column)
            self.insert(line, slot, row[column])
        if self.n_live > n_live:
            sort_numbers(self.live, self.n_live)
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
            self.keep_columns(NULL)
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
                    self.values_in(line)[slot] = NAN
                    n_gone[line] += 1
        for k in range(self.n_live):
            line = self.lines[self.live[k]]
            if n_gone[line]:
                self.n_held[line] = keep(self.order_of(self.live[k]), self.n_held[line],
                                         self.arrival)
                self.n_ordered[line] -= n_gone[line]
        self.n_sorted = keep(self.by_arrival, self.n_sorted, self.arrival)
        self.n_lately = self.n_live
        self.keep_columns(NULL)
        self.is_stale = True

    cdef void release_labels(self, const uint8_t* labels) noexcept nogil:
        """Free the slots of the sorted samples that have one of these labels."""
        cdef uint8_t* gone = <uint8_t*>(self.merged + self.capacity)     # behind `leaf`
        cdef int i
        for i in range(self.n_sorted):
            gone[self.by_arrival[i]] = labels[<int>self.target[self.by_arrival[i]]]
        self.release(gone)

    cdef int columns_of(self, int slot, int* columns) noexcept nogil:
        """Write the columns in which a sample has a value, ascending; return their number."""
        cdef const uint64_t* lines = self.lines_of + slot * self.n_words
        cdef uint64_t rest
        cdef Py_ssize_t word
        cdef int n = 0
        for word in range(self.n_words):
            rest = lines[word]
            while rest:
                columns[n] = self.column_of[64 * word + lowest_bit(rest)]
                rest &= rest - 1
                n += 1
        sort_numbers(columns, n)
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
        require(self.n_columns <= self.n_lines, "Window: a column has no line")
        live = [self.live[i] for i in range(self.n_live)]
        require(live == [other.live[i] for i in range(other.n_live)]
                and live == [column for column in range(self.n_lines) if self.lines[column] >= 0],
                "Window: the live columns are not those with a value")
        lines = [self.lines[column] for column in live]
        n_short = self.n_live - self.n_live_long
        require(sum([line < self.n_long for line in lines]) == self.n_live_long
                and all([self.n_held[line] == 1 for line in lines if line >= self.n_long]),
                "Window: a short line has more than one value")
        lines += [self.free_lines[i] for i in range(self.n_long - self.n_live_long)] + [
            self.free_lines[i] for i in range(self.n_long, self.column_capacity - n_short)]
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
                        if not is_nan(self.value(column, slot))],
                    "Window: a sample does not list its columns")
            require(all([is_nan(self.value(column, slot)) for slot in slots[self.size:]]),
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
        require(self.n_columns <= schema.n_columns, "Window: a column has no name")
        targets = view(self.target, "f8", (self.capacity,))[self.slots()]
        require_codes("Window", schema.codes, self.cells().columns(), targets,
                      None if n_labels < 0 else n_labels)
        return 0

    cdef int slot_at(self, int i) noexcept nogil:
        """The slots in order of arrival, then the free ones."""
        if i < self.n_sorted:
            return self.by_arrival[i]
        return self.fresh[i - self.n_sorted] if i < self.size else self.free_slots[i - self.size]

    cdef bint has_sorted(self, int column, double value) noexcept nogil:
        """Whether a sorted sample has a value in a column."""
        cdef int line, at
        if column >= self.n_columns or self.lines[column] < 0:
            return False
        line, at = self.lines[column], self.rank_of(column, value)
        return at < self.n_ordered[line] and (
            self.values_in(line)[self.order_in(line)[at]] == value)

    cdef int rank_of(self, int column, double value) noexcept nogil:
        """The number of sorted samples with a smaller value in a live column."""
        cdef int line = self.lines[column]
        return rank(self.order_in(line), self.n_ordered[line], self.values_in(line), value, False)

    def __sizeof__(self):
        return (object.__sizeof__(self) + block_size(
                    self.capacity, self.n_long, self.column_capacity - self.n_long)
                + self.n_lines * sizeof(int))

    def state(self):
        """The samples in order of arrival. Their slots have no effect on predictions.

        Weights are omitted if all are 1, and arrival numbers if the samples are the latest ones.
        """
        cdef int n = self.size
        slots, shape = np.array(self.slots(), np.intp), (self.capacity,)
        weight = view(self.weight, "f8", shape)[slots]
        arrival = view(self.arrival, "i8", shape)[slots]
        return without_defaults({
            **self.cells().state(), "target": view(self.target, "f8", shape)[slots],
            "weight": None if np.all(weight == 1.0) else weight,
            "arrival": None if np.all(arrival == latest(self.n_seen, n)) else arrival,
            "n_sorted": self.n_sorted, "n_seen": self.n_seen,
        }, self.DEFAULTS)

    cdef object cells(self):
        """The values of the samples, which are numbered in order of arrival."""
        cdef int i, k, column
        cdef int64_t at = 0
        cdef int[::1] number = np.zeros(self.capacity, np.int32)
        cdef int[::1] n_values = np.zeros(self.n_columns if self.size else 0, np.int32)
        cdef int[::1] own
        cdef double[::1] own_values
        for i in range(self.size):
            number[self.slot_at(i)] = i
        for k in range(self.n_live):
            n_values[self.live[k]] = self.n_held[self.lines[self.live[k]]]
        cdef int64_t n = np.sum(n_values, dtype=np.int64)
        sample_of, values = np.empty(n, np.int32), np.empty(n)
        for k in range(self.n_live):
            column = self.live[k]
            own = sample_of[at:at + n_values[column]]
            for i in range(n_values[column]):
                own[i] = number[self.order_of(column)[i]]
            np.asarray(own).sort()
            own_values = values[at:at + n_values[column]]
            for i in range(n_values[column]):
                own_values[i] = self.values_of(column)[self.slot_at(own[i])]
            at += n_values[column]
        return Cells(self.size, n_values.base, sample_of, values)

    def rows(self):
        """(values by column, target) of the samples, in order of arrival."""
        return [(row, self.target[self.slot_at(i)]) for i, row in enumerate(self.cells().rows())]

    DEFAULTS = {**CELLS, "target": np.empty(0), "weight": None, "arrival": None, "n_sorted": 0,
                "n_seen": 0}

    @classmethod
    def restored(cls, values):
        """The window of a state, with one slot per sample; the oldest sample is in slot 0.

        The owner checks whether targets are codes or numbers.
        """
        cdef Window window
        state = State("Window", values, tuple(cls.DEFAULTS), cls.DEFAULTS)
        target = state.numbers("target", None, least=-LARGEST_TARGET, most=LARGEST_TARGET)
        n = len(target)
        require(n <= LARGEST_WINDOW, "Window: too many samples")
        cells = Cells.restored(state, n, MAX_COLUMNS)
        n_seen = state.whole("n_seen", n)
        weight = np.ones(n) if state.values["weight"] is None else (
            state.numbers("weight", n, least=FAINTEST_WEIGHT, most=LARGEST_WEIGHT))
        arrival = latest(n_seen, n) if state.values["arrival"] is None else (
            state.array("arrival", np.int64, n))
        require(np.all((arrival >= 0) & (arrival < n_seen))
                and np.all(arrival[:n - 1] < arrival[1:]),     # differences may overflow
                "Window: the samples are not in order of arrival")
        window = cls(n)
        window.n_seen = n_seen
        window.fill(cells, target, weight, arrival, state.whole("n_sorted", 0, n))
        return window

    cdef int fill(self, object cells, object target, object weight, object arrival,
                  int n_sorted) except -1:
        """Copy valid samples into the empty window."""
        cdef int i, n = <int>len(target)
        room = (self.capacity,)
        self.n_columns = <int>len(cells.n_values)
        self.reserve(self.capacity, self.n_columns, <int>np.count_nonzero(cells.n_values),
                     <int>np.count_nonzero(cells.n_values > 1))
        self.give_all(cells, 0, n_sorted)
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
        self.give_all(cells, n_sorted, n)
        sort_numbers(self.live, self.n_live)
        return 0

    cdef int give_all(self, object cells, int first, int stop) except -1:
        """Give some samples their values."""
        cdef const int64_t[:] bounds = cells.bounds
        cdef const int[:] sample_of = cells.sample_of
        cdef const double[:] values = cells.values
        cdef int column
        cdef int64_t i
        for column in range(self.n_columns):
            for i in range(bounds[column], bounds[column + 1]):
                if first <= sample_of[i] < stop:
                    self.give(column, sample_of[i], values[i])
        return 0

    def __reduce__(self):
        return reduced(type(self), self.state())


def latest(n_seen, n):
    """The arrival numbers of the latest n samples of a stream."""
    return np.arange(n_seen - n, n_seen, dtype=np.int64)
