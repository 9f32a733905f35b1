"""Compact classification trees. See the header."""

from libc.stdint cimport uint16_t
from libc.string cimport memcpy, memmove, memset

from ..memory cimport enough, free, product, raise_memory_error, resized, trimmed
from ..split cimport Split
from ..trees cimport FAINTEST, GAIN, HEADER, LEAF, VISITED, WEIGHT, Node, Trees

from ..state import require

cdef enum:
    SHORT_NUMBER = 254          # first byte: a whole number in the next two bytes
    LONG_NUMBER = 255           # first byte: a double in the next eight bytes

cdef size_t MOST_BYTES = 0x7fffffff     # positions of records have 32 bits


cdef class CompactTrees(Trees):
    """Classification trees whose inner nodes do not learn. See the header."""

    def __cinit__(self, int n_values=0, bint regression=False, double fading=1.0):
        require(not regression, "CompactTrees: there are no such trees of numbers")
        self.free_row = -1

    def __dealloc__(self):
        free(self.places)
        free(self.rows)
        free(self.records)

    # ---------------------------------------------------------------- memory

    cdef int reserve_stats(self, Py_ssize_t capacity, Py_ssize_t extra,
                           int n_values) except -1 nogil:
        """Allocate memory for the statistics of `capacity` nodes, `extra` of which are new.

        Half of the new nodes are leaves. A leaf with several classes has several samples. Each
        split may be removed, and the new leaf then needs a row again.
        """
        n_values = max(n_values, self.n_values)
        self.reserve_rows(3 * extra // 4 + 2, n_values)
        self.reserve_records(extra // 2, n_values)
        if capacity > self.capacity:
            self.places = <int*>resized(self.places, capacity, sizeof(int))
        return 0

    cdef int reserve_rows(self, Py_ssize_t n, int n_values) except -1 nogil:
        """Allocate memory for n more leaves with several classes."""
        cdef Py_ssize_t capacity = enough(
            self.n_rows + max(<Py_ssize_t>0, n - self.n_free_rows), self.row_capacity)
        cdef size_t cells = product(capacity, max(n_values, self.n_values))
        if cells > self.row_cells:
            self.rows = <double*>resized(self.rows, cells, sizeof(double))
            self.row_cells = cells
        self.row_capacity = <int>capacity
        return 0

    cdef int reserve_records(self, Py_ssize_t n, int n_values) except -1 nogil:
        """Allocate memory for the records of n more splits."""
        cdef size_t added = product(n, longest_record(n_values)), live, capacity
        cdef unsigned char* room
        if self.n_bytes + added <= self.byte_capacity:
            return 0
        live = self.n_bytes - self.n_dead
        if 2 * self.n_dead > self.n_bytes:
            capacity = live + added + live // 16
        else:
            capacity = enough(self.n_bytes + added, self.byte_capacity)
        if capacity > MOST_BYTES:
            raise_memory_error()
        if 2 * self.n_dead > self.n_bytes:
            room = <unsigned char*>resized(NULL, capacity, 1)
            self.drop_dead_records(room)
        else:
            self.records = <unsigned char*>resized(self.records, capacity, 1)
        self.byte_capacity = capacity
        return 0

    cdef void drop_dead_records(self, unsigned char* room) noexcept nogil:
        """Move the records in use to `room`."""
        cdef size_t n_bytes = 0, length
        cdef int node
        for node in range(self.n_used):
            if self.nodes[node].split.feature >= 0:
                length = length_of(self.records + self.places[node])
                memcpy(room + n_bytes, self.records + self.places[node], length)
                self.places[node] = <int>n_bytes
                n_bytes += length
        free(self.records)
        self.records, self.n_bytes, self.n_dead = room, n_bytes, 0

    cdef void trim_stats(self, int capacity) noexcept nogil:
        cdef size_t spare = capacity - self.n_used, size
        cdef int n_rows = self.n_rows + <int>(3 * spare // 4) + 2
        if self.n_values and n_rows < self.row_capacity:
            self.row_capacity, self.row_cells = n_rows, n_rows * <size_t>self.n_values
            self.rows = <double*>trimmed(self.rows, self.row_cells * sizeof(double))
        size = self.n_bytes + spare // 2 * longest_record(self.n_values)
        if 0 < size < self.byte_capacity:
            self.byte_capacity = size
            self.records = <unsigned char*>trimmed(self.records, size)
        self.places = <int*>trimmed(self.places, capacity * sizeof(int))

    cdef void take_records(self, CompactTrees other) noexcept nogil:
        """Take over rows and records of another arena, in addition to `take_nodes`."""
        free(self.places)
        free(self.rows)
        free(self.records)
        self.places, self.rows, self.records = other.places, other.rows, other.records
        self.n_rows, self.free_row, self.n_free_rows = (
            other.n_rows, other.free_row, other.n_free_rows)
        self.row_capacity, self.row_cells = other.row_capacity, other.row_cells
        self.n_bytes, self.n_dead, self.byte_capacity = (
            other.n_bytes, other.n_dead, other.byte_capacity)
        other.places, other.rows, other.records = NULL, NULL, NULL
        other.n_rows = other.n_free_rows = other.row_capacity = 0
        other.free_row = -1
        other.row_cells = other.n_bytes = other.n_dead = other.byte_capacity = 0

    cdef void widen(self, int n_values) noexcept nogil:
        cdef int row, n = self.n_values
        if n_values <= n:
            return
        for row in range(self.n_rows - 1, -1, -1):      # from the end: rows only move up
            memmove(self.rows + <Py_ssize_t>row * n_values, self.counts(row), n * sizeof(double))
            memset(self.rows + <Py_ssize_t>row * n_values + n, 0, (n_values - n) * sizeof(double))
        self.n_values, self.width = n_values, HEADER + n_values

    cdef int new_row(self) noexcept nogil:
        """A new row of zeros; the memory is allocated."""
        cdef int row = self.free_row
        if row >= 0:
            self.free_row = <int>self.counts(row)[0]
            self.n_free_rows -= 1
        else:
            row = self.n_rows
            self.n_rows += 1
        memset(self.counts(row), 0, self.n_values * sizeof(double))
        return row

    cdef void release(self, int node) noexcept nogil:
        """Release the row or the record of a node."""
        if self.nodes[node].split.feature >= 0:
            self.n_dead += length_of(self.records + self.places[node])
        elif self.places[node] >= 0:
            self.counts(self.places[node])[0] = self.free_row
            self.free_row = self.places[node]
            self.n_free_rows += 1
        self.places[node] = -1

    # ---------------------------------------------------------------- changes of a node

    cdef void clear(self, int node) noexcept nogil:
        self.places[node] = -1

    cdef void cut(self, int node) noexcept nogil:
        self.release(node)
        Trees.cut(self, node)

    cdef void close(self, int node, double gain) noexcept nogil:
        cdef double weight = self.nodes[node].split.threshold
        cdef int c, n = 0, code = self.nodes[node].left
        cdef const double* counts = self.counts(self.places[node])
        cdef unsigned char* at = self.records + self.n_bytes
        memcpy(at, &gain, sizeof(double))
        at = put(at + sizeof(double), weight)
        if self.places[node] >= 0:
            for c in range(self.n_values):
                n += counts[c] != 0.0
            at = put(at, n)
            for c in range(self.n_values):
                if counts[c] != 0.0:
                    at = put(put(at, c), counts[c])
        elif code >= 0:
            at = put(put(put(at, 1), code), weight)
        else:
            at = put(at, 0)
        self.release(node)
        self.places[node] = <int>self.n_bytes
        self.n_bytes = at - self.records

    cdef void reopen(self, int node) noexcept nogil:
        cdef const unsigned char* start = self.records + self.places[node]
        cdef const unsigned char* at
        cdef double weight, n, code = -1.0, count = 0.0
        cdef int row
        at = get(get(start + sizeof(double), &weight), &n)
        self.n_dead += length_of(start)
        self.nodes[node].split.threshold, self.nodes[node].left = weight, -1
        self.places[node] = -1
        if n == 1.0:
            get(get(at, &code), &count)
        if count == weight:                     # one class, or none
            self.nodes[node].left = <int>code
            return
        row = self.places[node] = self.new_row()
        for _ in range(<int>n):
            at = get(get(at, &code), &count)
            self.counts(row)[<int>code] = count

    cdef void set_leaf(self, int leaf, double weight, const double* counts,
                       int n_classes) noexcept nogil:
        """Set the weight of an empty leaf and of its first classes; others have weight 0."""
        cdef int c, n = 0, code = -1
        for c in range(n_classes):
            if counts[c] != 0.0:
                n, code = n + 1, c
        self.nodes[leaf].split.threshold = weight
        if (n == 1 and counts[code] == weight) or (n == 0 and weight == 0.0):
            self.nodes[leaf].left = code
            return
        self.places[leaf] = self.new_row()
        memcpy(self.counts(self.places[leaf]), counts, n_classes * sizeof(double))

    cdef void add_class(self, int node, int code, double weight, double batch) noexcept nogil:
        cdef Node* this = &self.nodes[node]
        cdef double* counts
        if self.places[node] < 0:
            if this.left == code or this.left < 0:
                this.left = code
                this.split.threshold += weight
                return
            self.places[node] = self.new_row()
            self.counts(self.places[node])[this.left] = this.split.threshold
            this.left = -1
        counts = self.counts(self.places[node])
        counts[code] += weight
        this.split.threshold += weight

    cdef void fade(self, int leaf) noexcept nogil:
        cdef Node* this = &self.nodes[leaf]
        cdef double* counts
        cdef int code
        this.split.threshold *= self.fading
        if self.places[leaf] < 0:
            if this.split.threshold == 0.0:
                this.left = -1
            elif this.split.threshold < FAINTEST:       # it has a weight, but no class
                this.left = -1
                self.places[leaf] = self.new_row()
            return
        counts = self.counts(self.places[leaf])
        for code in range(self.n_values):
            counts[code] *= self.fading
            if counts[code] < FAINTEST:
                counts[code] = 0.0

    cdef double weight_of(self, int node) noexcept nogil:
        cdef double weight
        if self.nodes[node].split.feature < 0:
            return self.nodes[node].split.threshold
        get(self.records + self.places[node] + sizeof(double), &weight)
        return weight

    cdef double visited_of(self, int node) noexcept nogil:
        return self.weight_of(node) > 0.0

    # ---------------------------------------------------------------- statistics in a row

    cdef void read(self, int node, double* row) noexcept nogil:
        cdef const unsigned char* at
        cdef double n, code, count
        cdef int place = self.places[node]
        memset(row, 0, self.width * sizeof(double))
        row[WEIGHT], row[VISITED] = self.weight_of(node), self.visited_of(node)
        if self.nodes[node].split.feature >= 0:
            at = self.records + place
            memcpy(&row[GAIN], at, sizeof(double))
            at = get(get(at + sizeof(double), &count), &n)
            for _ in range(<int>n):
                at = get(get(at, &code), &count)
                row[HEADER + <int>code] = count
        elif place >= 0:
            memcpy(row + HEADER, self.counts(place), self.n_values * sizeof(double))
        elif self.nodes[node].split.feature == LEAF and self.nodes[node].left >= 0:
            row[HEADER + self.nodes[node].left] = row[WEIGHT]

    cdef int write(self, int node, const double* row) except -1:
        cdef Node* this = &self.nodes[node]
        cdef Split split = this.split
        cdef int left = this.left
        self.reserve_rows(1, self.n_values)
        this.split.feature, this.left = LEAF, -1
        self.set_leaf(node, row[WEIGHT], row + HEADER, self.n_values)
        if split.feature >= 0:
            self.reserve_records(1, self.n_values)
            self.close(node, row[GAIN])
            this.split, this.left = split, left
        return 0

    # ---------------------------------------------------------------- inspection

    def check(self):
        """Raise an error if an invariant is broken."""
        cdef int node, row, n_rows = 0, n_free = 0
        cdef size_t n_bytes = 0
        Trees.check(self)
        for node in range(self.n_used):
            if self.nodes[node].split.feature >= 0:
                n_bytes += length_of(self.records + self.places[node])
            else:
                n_rows += self.places[node] >= 0
        row = self.free_row
        while row >= 0 and n_free <= self.n_rows:
            n_free, row = n_free + 1, <int>self.counts(row)[0]
        require(n_bytes + self.n_dead == self.n_bytes and self.n_bytes <= self.byte_capacity,
                "CompactTrees: records are not those of the inner nodes")
        require(n_free == self.n_free_rows and n_rows + n_free == self.n_rows
                and self.n_rows <= self.row_capacity
                and <size_t>self.row_capacity * self.n_values <= self.row_cells,
                "CompactTrees: rows are not those of the leaves")

    def __sizeof__(self):
        return (Trees.__sizeof__(self) + self.capacity * sizeof(int)
                + self.row_cells * sizeof(double) + self.byte_capacity)


# --- Numbers in few bytes -------------------------------------------------------------------

cdef inline unsigned char* put(unsigned char* at, double value) noexcept nogil:
    """Write a non-negative number; return the position after it."""
    cdef uint16_t whole
    if value < SHORT_NUMBER and value == <int>value:
        at[0] = <unsigned char>value
        return at + 1
    if value < 65536.0 and value == <int>value:
        at[0], whole = SHORT_NUMBER, <uint16_t>value
        memcpy(at + 1, &whole, sizeof(whole))
        return at + 1 + sizeof(whole)
    at[0] = LONG_NUMBER
    memcpy(at + 1, &value, sizeof(value))
    return at + 1 + sizeof(value)


cdef inline const unsigned char* get(const unsigned char* at, double* value) noexcept nogil:
    """Read a number; return the position after it."""
    cdef uint16_t whole
    if at[0] < SHORT_NUMBER:
        value[0] = at[0]
        return at + 1
    if at[0] == SHORT_NUMBER:
        memcpy(&whole, at + 1, sizeof(whole))
        value[0] = whole
        return at + 1 + sizeof(whole)
    memcpy(value, at + 1, sizeof(double))
    return at + 1 + sizeof(double)


cdef size_t length_of(const unsigned char* record) noexcept nogil:
    """Number of bytes of a record."""
    cdef double n, unused
    cdef const unsigned char* at = get(get(record + sizeof(double), &unused), &n)
    for _ in range(2 * <int>n):
        at = get(at, &unused)
    return at - record


cdef size_t longest_record(int n_values) noexcept nogil:
    """Maximum bytes of a record: all classes, with fractional weights."""
    cdef size_t code = 1 if n_values <= SHORT_NUMBER else 9
    return 3 * 9 + n_values * (code + 9)
