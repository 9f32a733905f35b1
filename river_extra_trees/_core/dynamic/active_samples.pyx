"""Active samples, which come and go one at a time. See the header."""

from libc.math cimport NAN
from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memmove

from ..allocation cimport free, zeroed
from ..schema cimport Schema
from ..sorting cimport rank
from ..window cimport Window

from ..state import require


cdef inline uint64_t bit(int line) noexcept nogil:
    return <uint64_t>1 << (line & 63)


cdef size_t n_bytes(size_t capacity, size_t columns) noexcept nogil:
    """Bytes of the arrays that a window has not."""
    return (capacity * (columns // 64 + 1) * sizeof(uint64_t) + 2 * columns * sizeof(int))


cdef int compare(const void* one, const void* other) noexcept nogil:
    return (<const int*>one)[0] - (<const int*>other)[0]


cdef class ActiveSamples(Window):
    """A window of which at most one sample leaves whenever one comes.

    Parameters
    ----------
    capacity
        Initial number of slots.
    """

    def __cinit__(self, int capacity=4):
        self.move(self.capacity, 0)     # that of `Window` did not make the arrays of this class

    def __dealloc__(self):
        free(self.filled)
        free(self.spare)

    def __sizeof__(self):
        return Window.__sizeof__(self) + n_bytes(self.capacity, self.column_capacity)

    cdef int move(self, int capacity, int column_capacity) except -1 nogil:
        """Move all arrays. The window numbers the lines anew, in the order of `live`."""
        cdef int n_words = column_capacity // 64 + 1, line, i
        cdef uint64_t* filled
        cdef int* n_present
        cdef const int* order
        free(self.spare)
        self.spare = NULL
        filled = self.spare = <uint64_t*>zeroed(n_bytes(capacity, column_capacity), 1)
        n_present = <int*>(filled + <size_t>capacity * n_words)
        for line in range(self.n_live):
            order = self.order_of(self.live[line])
            n_present[line] = self.present(self.live[line])
            n_present[column_capacity + line] = self.live[line]
            for i in range(n_present[line]):
                filled[<size_t>order[i] * n_words + line // 64] |= bit(line)
        Window.move(self, capacity, column_capacity)
        free(self.filled)
        self.filled, self.spare, self.n_words = filled, NULL, n_words
        self.n_present, self.column_of = n_present, n_present + column_capacity
        return 0

    cdef void begin_column(self, int column) noexcept nogil:
        Window.begin_column(self, column)
        self.column_of[self.lines[column]] = column
        self.n_present[self.lines[column]] = 0

    cdef bint has_value(self, int column) noexcept nogil:
        return self.present(column) > 0

    cdef int n_ordered(self, int column) noexcept nogil:
        return self.present(column)

    cdef void keep_columns(self, const uint8_t* held) noexcept nogil:
        """Free lines as the window does; samples lose their values in those that are not marked."""
        cdef int k, i, line
        cdef const int* order
        for k in range(self.n_live if held != NULL else 0):
            line = self.lines[self.live[k]]
            order = self.order_of(self.live[k])
            for i in range(0 if held[self.live[k]] else self.n_present[line]):
                self.filled[<size_t>order[i] * self.n_words + line // 64] &= ~bit(line)
        Window.keep_columns(self, held)

    cdef void release(self, const uint8_t* gone) noexcept nogil:
        """Free the marked slots. The window keeps the order of those that stay."""
        cdef int k, i, line, n
        cdef const int* order
        for k in range(self.n_live):
            line, n = self.lines[self.live[k]], 0
            order = self.order_of(self.live[k])
            for i in range(self.n_present[line]):
                if gone[order[i]]:
                    self.filled[<size_t>order[i] * self.n_words + line // 64] &= ~bit(line)
                else:
                    n += 1
            self.n_present[line] = n
        Window.release(self, gone)

    cdef int slide(self, Schema schema, double target, double weight, int gone) noexcept nogil:
        """Add the row of the schema, into the slot `gone` in place of its sample unless it is -1.

        Returns the slot. `reserve` must have allocated the memory.
        """
        cdef const double* row = schema.row
        cdef int slot = gone, k, word, line
        cdef bint none_left = False
        cdef uint64_t* filled
        cdef uint64_t rest
        for k in range(schema.n_filled):
            if self.lines[schema.filled[k]] < 0 and row[schema.filled[k]] == row[schema.filled[k]]:
                self.begin_column(schema.filled[k])
        self.n_columns = max(self.n_columns, schema.n_columns)
        if gone < 0:
            slot = self.free_slots[self.capacity - self.size - 1]
            self.size += 1
            self.n_sorted += 1
        filled = self.filled + <size_t>slot * self.n_words
        for word in range(self.n_words):
            rest = filled[word]
            while rest:
                line = 64 * word + lowest_bit(rest)
                rest &= rest - 1
                if row[self.column_of[line]] == row[self.column_of[line]]:
                    self.put(line, slot, row[self.column_of[line]])
                else:
                    none_left |= self.leave(line, slot)
        for k in range(schema.n_filled):
            line = self.lines[schema.filled[k]]
            if line >= 0 and not filled[line // 64] & bit(line) and (
                    row[schema.filled[k]] == row[schema.filled[k]]):
                self.enter(line, slot, row[schema.filled[k]])
        if none_left:
            self.keep_live()
        self.arrive(slot, target, weight, gone)
        return slot

    cdef int place_of(self, int line, int slot) noexcept nogil:
        """The place of a slot with a value in the order of a line."""
        cdef const double* key = self.data + <Py_ssize_t>line * self.capacity
        cdef const int* order = self.order + <Py_ssize_t>line * self.capacity
        cdef int place = rank(order, self.n_present[line], key, key[slot], False)
        while order[place] != slot:
            place += 1
        return place

    cdef void put(self, int line, int slot, double value) noexcept nogil:
        """Replace a value; only the slots between the old and the new place move."""
        cdef double* key = self.data + <Py_ssize_t>line * self.capacity
        cdef int* order = self.order + <Py_ssize_t>line * self.capacity
        cdef int place = self.place_of(line, slot)
        cdef int to = rank(order, self.n_present[line], key, value, True)
        if to > place:
            to -= 1
            memmove(order + place, order + place + 1, (to - place) * sizeof(int))
        else:
            memmove(order + to + 1, order + to, (place - to) * sizeof(int))
        order[to] = slot
        key[slot] = value

    cdef bint leave(self, int line, int slot) noexcept nogil:
        """Remove a value; return whether the line has no other."""
        cdef int* order = self.order + <Py_ssize_t>line * self.capacity
        cdef int place = self.place_of(line, slot)
        self.n_present[line] -= 1
        memmove(order + place, order + place + 1, (self.n_present[line] - place) * sizeof(int))
        self.data[<Py_ssize_t>line * self.capacity + slot] = NAN
        self.filled[<size_t>slot * self.n_words + line // 64] &= ~bit(line)
        return self.n_present[line] == 0

    cdef void enter(self, int line, int slot, double value) noexcept nogil:
        """Add a value, behind equal ones."""
        cdef double* key = self.data + <Py_ssize_t>line * self.capacity
        cdef int* order = self.order + <Py_ssize_t>line * self.capacity
        cdef int to = rank(order, self.n_present[line], key, value, True)
        memmove(order + to + 1, order + to, (self.n_present[line] - to) * sizeof(int))
        order[to] = slot
        key[slot] = value
        self.n_present[line] += 1
        self.filled[<size_t>slot * self.n_words + line // 64] |= bit(line)

    cdef int columns_in(self, int slot, int* columns) noexcept nogil:
        """Write the columns in which a slot has a value, ascending; return their number."""
        cdef const uint64_t* filled = self.filled + <size_t>slot * self.n_words
        cdef uint64_t rest
        cdef int word, n = 0
        cdef bint in_order = True
        for word in range(self.n_words):
            rest = filled[word]
            while rest:
                columns[n] = self.column_of[64 * word + lowest_bit(rest)]
                rest &= rest - 1
                in_order &= n == 0 or columns[n - 1] < columns[n]
                n += 1
        if not in_order:
            qsort(columns, n, sizeof(int), compare)
        return n

    cdef int fill(self, object data, object target, object weight, object arrival,
                  int n_sorted) except -1:
        cdef int k, line
        Window.fill(self, data, target, weight, arrival, n_sorted)
        for k in range(self.n_live):
            line = self.lines[self.live[k]]
            self.n_present[line] = rank(self.order_of(self.live[k]), self.n_sorted,
                                        self.values_of(self.live[k]), NAN, False)
        self.move(self.capacity, self.column_capacity)      # which finds the lines of each slot
        return 0

    def check(self):
        cdef int slot, k
        Window.check(self)
        for slot in range(self.capacity):
            for k in range(self.n_live):
                line = self.lines[self.live[k]]
                value = self.values_of(self.live[k])[slot]
                require((value == value) == bool(
                    self.filled[<size_t>slot * self.n_words + line // 64] & bit(line)),
                    "ActiveSamples: the lines of a slot are not those with a value")
