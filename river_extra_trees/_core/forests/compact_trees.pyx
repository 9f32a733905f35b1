"""Compact classification trees. See the header."""

import numpy as np

from libc.stdint cimport int64_t
from libc.string cimport memcpy, memmove, memset

from ..memory cimport enough, free, product, raise_memory_error, resized, trimmed
from ..split cimport Split
from ..trees cimport FAINTEST, GAIN, HEADER, LEAF, VISITED, WEIGHT, Node, Trees
from .short_numbers cimport MOST_NUMBER_BYTES, SHORT_NUMBER, get, put

from ..state import require
from .class_lists import listed, restored

cdef enum:
    HEAD_BYTES = 3 * MOST_NUMBER_BYTES      # maximum bytes of a record before its classes

cdef size_t MOST_BYTES = 0x7fffffff     # positions of records have 32 bits


cdef class CompactTrees(Trees):
    """Classification trees whose inner nodes do not learn. See the header."""

    def __cinit__(self, int n_values=0, bint regression=False, double fading=1.0):
        require(not regression, "CompactTrees: there are no such trees of numbers")
        self.free_row = -1
        self.stride = stride_of(self.n_values)

    def __dealloc__(self):
        free(self.places)
        free(self.rows)
        free(self.records)

    # ---------------------------------------------------------------- memory

    cdef int reserve_stats(self, Py_ssize_t capacity, Py_ssize_t extra,
                           int n_values) except -1 nogil:
        """Allocate memory for `capacity` nodes; see also `reserve_rows` and `reserve_splits`."""
        self.reserve_rows(0, n_values)
        if capacity > self.capacity:
            self.places = <int*>resized(self.places, capacity, sizeof(int))
        return 0

    cdef int reserve_rows(self, Py_ssize_t n, int n_values) except -1 nogil:
        """Allocate memory for n more rows."""
        cdef Py_ssize_t capacity = enough(
            self.n_rows + max(<Py_ssize_t>0, n - self.n_free_rows), self.row_capacity)
        cdef size_t cells = product(capacity, stride_of(max(n_values, self.n_values)))
        if cells > self.row_cells:
            self.rows = <double*>resized(self.rows, cells, sizeof(double))
            self.row_cells = cells
        self.row_capacity = <int>capacity
        return 0

    cdef int reserve_splits(self, Py_ssize_t n_samples, Py_ssize_t max_nodes,
                            int n_values) except -1 nogil:
        """Allocate memory to learn a sample, split leaves with n_samples, then `shrink_to`.

        The leaves that are split may also have the classes of earlier samples, and so may the
        leaves that replace removed splits.
        """
        cdef Py_ssize_t n_removed = (self.n_used - self.n_free + 2 * n_samples - max_nodes) // 2
        self.reserve_rows(
            1 + n_samples // 2 + max(<Py_ssize_t>0, n_removed) * most_rows(n_values), n_values)
        return self.reserve_bytes(bytes_of_splits(n_samples, n_values))

    cdef int reserve_growth(self, int64_t n_steps, Py_ssize_t n_samples, Py_ssize_t n_later,
                            int n_values) except -1 nogil:
        """Allocate memory for n_steps steps of the growth of a new tree on n_samples samples.

        Afterwards the tree may learn n_later more samples. A leaf has at least two samples per row,
        also after `shrink_to`. A split takes two steps per sample in its node; the last split may
        begin when fewer steps are left.
        """
        cdef int n_rows = self.n_rows - self.n_free_rows
        cdef size_t n_classes = classes_of(n_samples, n_values)
        cdef size_t left = bytes_of_records(n_samples, n_classes, n_values) - self.n_bytes
        cdef size_t next_steps = bytes_of_records(
            min(<int64_t>n_samples, 1 + n_steps // 4),
            min(n_classes, <size_t>n_steps // 2 + min(n_samples, n_values)), n_values)
        self.reserve_rows(max(<Py_ssize_t>0, n_samples // 2 - n_rows) + n_later, n_values)
        if self.n_bytes + min(left, next_steps) > self.byte_capacity:
            self.reserve_bytes(min(left, 4 * next_steps + self.n_bytes))    # so this is rare
        return 0

    cdef int reserve_records(self, size_t n, size_t n_classes, int n_values) except -1 nogil:
        """Allocate memory for n more records with n_classes classes in total."""
        return self.reserve_bytes(bytes_of_records(n, n_classes, n_values))

    cdef int reserve_bytes(self, size_t added) except -1 nogil:
        """Allocate memory for so many more bytes of records."""
        cdef size_t live, capacity
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
        cdef int n_samples = (capacity - self.n_used) // 2      # whose leaves may be split next
        cdef int n_rows = self.n_rows + n_samples + 2
        cdef size_t n_bytes = self.n_bytes + bytes_of_splits(n_samples, self.n_values)
        if n_rows < self.row_capacity:
            self.row_capacity, self.row_cells = n_rows, n_rows * <size_t>self.stride
            self.rows = <double*>trimmed(self.rows, self.row_cells * sizeof(double))
        if 0 < n_bytes < self.byte_capacity:
            self.byte_capacity = n_bytes
            self.records = <unsigned char*>trimmed(self.records, n_bytes)
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
        self.stride = other.stride
        self.n_bytes, self.n_dead, self.byte_capacity = (
            other.n_bytes, other.n_dead, other.byte_capacity)
        other.places, other.rows, other.records = NULL, NULL, NULL
        other.n_rows = other.n_free_rows = other.row_capacity = 0
        other.free_row = -1
        other.row_cells = other.n_bytes = other.n_dead = other.byte_capacity = 0

    cdef void widen(self, int n_values) noexcept nogil:
        cdef int row, c, n = self.n_values, old_stride = self.stride
        if n_values <= n:
            return
        self.n_values, self.width, self.stride = n_values, HEADER + n_values, stride_of(n_values)
        if self.stride == old_stride:
            return
        for row in range(self.n_rows - 1, -1, -1):      # from the end: rows only move up
            memmove(self.counts(row), self.rows + <Py_ssize_t>row * old_stride, n * sizeof(double))
            memset(self.counts(row) + n, 0, (self.stride - n) * sizeof(double))
            if n_values > ROW_CLASSES:
                self.link_of(row).n, self.link_of(row).next = n, -1
                for c in range(n):
                    self.codes(row)[c] = c

    cdef void new_row(self, int leaf) noexcept nogil:
        """Add a row without a weight to a leaf; the memory is allocated."""
        cdef int row = self.free_row, next_row = self.places[leaf]
        if row >= 0:
            self.free_row = <int>self.counts(row)[0]
            self.n_free_rows -= 1
        else:
            row = self.n_rows
            self.n_rows += 1
        self.places[leaf] = row
        if self.n_values > ROW_CLASSES:
            self.link_of(row).n, self.link_of(row).next = 0, next_row
        else:
            memset(self.counts(row), 0, self.stride * sizeof(double))

    cdef double* add_cell(self, int leaf, int code) noexcept nogil:
        """Add a class with weight 0 to a leaf; return its place. Memory for a row is allocated."""
        cdef int row = self.places[leaf], n
        if row < 0 or self.n_counts(row) == ROW_CLASSES:
            self.new_row(leaf)
            row = self.places[leaf]
        if self.n_values <= ROW_CLASSES:
            return self.counts(row) + code
        n = self.link_of(row).n
        self.link_of(row).n = n + 1
        self.codes(row)[n], self.counts(row)[n] = code, 0.0
        return self.counts(row) + n

    cdef double* find_cell(self, int leaf, int code) noexcept nogil:
        """`cell` if there are more than ROW_CLASSES classes."""
        cdef int c, row = self.places[leaf]
        while row >= 0:
            for c in range(self.link_of(row).n):
                if self.codes(row)[c] == code:
                    return self.counts(row) + c
            row = self.link_of(row).next
        return self.add_cell(leaf, code)

    cdef void release(self, int node) noexcept nogil:
        """Release the rows or the record of a node."""
        cdef int row = self.places[node], next_row
        if self.nodes[node].split.feature >= 0:
            self.n_dead += length_of(self.records + self.places[node])
        else:
            while row >= 0:
                next_row = self.next_of(row)
                self.counts(row)[0] = self.free_row
                self.free_row = row
                self.n_free_rows += 1
                row = next_row
        self.places[node] = -1

    # ---------------------------------------------------------------- changes of a node

    cdef void clear(self, int node) noexcept nogil:
        self.places[node] = -1

    cdef void cut(self, int node) noexcept nogil:
        self.release(node)
        Trees.cut(self, node)

    cdef void close(self, int node, double gain) noexcept nogil:
        cdef double weight = self.nodes[node].split.threshold
        cdef int c, row, n = 0, code = self.nodes[node].left
        cdef const double* counts
        cdef unsigned char* at = self.records + self.n_bytes
        memcpy(at, &gain, sizeof(double))
        at = put(at + sizeof(double), weight)
        if self.places[node] >= 0:
            row = self.places[node]
            while row >= 0:
                counts = self.counts(row)
                for c in range(self.n_counts(row)):
                    n += counts[c] != 0.0
                row = self.next_of(row)
            at = put(at, n)
            row = self.places[node]
            while row >= 0:
                counts = self.counts(row)
                for c in range(self.n_counts(row)):
                    if counts[c] != 0.0:
                        at = put(put(at, self.code_of(row, c)), counts[c])
                row = self.next_of(row)
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
        at = get(get(start + sizeof(double), &weight), &n)
        self.n_dead += length_of(start)
        self.nodes[node].split.threshold, self.nodes[node].left = weight, -1
        self.places[node] = -1
        if n == 1.0:
            get(get(at, &code), &count)
        if count == weight:                     # one class, or none
            self.nodes[node].left = <int>code
            return
        self.new_row(node)
        for _ in range(<int>n):
            at = get(get(at, &code), &count)
            self.cell(node, <int>code)[0] = count

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
        self.new_row(leaf)
        if self.n_values <= ROW_CLASSES:
            memcpy(self.counts(self.places[leaf]), counts, n_classes * sizeof(double))
            return
        for c in range(n_classes):
            if counts[c] != 0.0:
                self.add_cell(leaf, c)[0] = counts[c]

    cdef void add_class(self, int node, int code, double weight, double batch) noexcept nogil:
        cdef Node* this = &self.nodes[node]
        if self.places[node] < 0:
            if this.left == code or this.left < 0:
                this.left = code
                this.split.threshold += weight
                return
            self.add_cell(node, this.left)[0] = this.split.threshold
            this.left = -1
        self.cell(node, code)[0] += weight
        this.split.threshold += weight

    cdef void fade(self, int leaf) noexcept nogil:
        cdef Node* this = &self.nodes[leaf]
        cdef double* counts
        cdef int c, row = self.places[leaf]
        this.split.threshold *= self.fading
        if row < 0:
            if this.split.threshold == 0.0:
                this.left = -1
            elif this.split.threshold < FAINTEST:       # it has a weight, but no class
                this.left = -1
                self.new_row(leaf)
            return
        while row >= 0:
            counts = self.counts(row)
            for c in range(self.n_counts(row)):
                counts[c] *= self.fading
                if counts[c] < FAINTEST:
                    counts[c] = 0.0
            row = self.next_of(row)

    cdef void add_list(self, int leaf, double share, double* answers) noexcept nogil:
        """Add the weights of a leaf, times a share, if there are more than ROW_CLASSES classes."""
        cdef int c, row = self.places[leaf]
        while row >= 0:
            for c in range(self.link_of(row).n):
                answers[self.codes(row)[c]] += self.counts(row)[c] * share
            row = self.link_of(row).next

    cdef int list_rows(self, int leaf, double share, ClassShare* found) noexcept nogil:
        """List the classes with a weight in a leaf with rows; the weights are times a share."""
        cdef int c, n = 0, row = self.places[leaf]
        cdef const double* counts
        while row >= 0:
            counts = self.counts(row)
            for c in range(self.n_counts(row)):
                found[n].code, found[n].share = self.code_of(row, c), counts[c] * share
                n += counts[c] != 0.0
            row = self.next_of(row)
        return n

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
        cdef int c, place = self.places[node]
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
            while place >= 0:
                for c in range(self.n_counts(place)):
                    row[HEADER + self.code_of(place, c)] = self.counts(place)[c]
                place = self.next_of(place)
        elif self.nodes[node].split.feature == LEAF and self.nodes[node].left >= 0:
            row[HEADER + self.nodes[node].left] = row[WEIGHT]

    cdef int write(self, int node, const double* row) except -1:
        cdef Node* this = &self.nodes[node]
        cdef Split split = this.split
        cdef int left = this.left
        self.reserve_rows(most_rows(self.n_values), self.n_values)
        this.split.feature, this.left = LEAF, -1
        self.set_leaf(node, row[WEIGHT], row + HEADER, self.n_values)
        if split.feature >= 0:
            self.reserve_records(1, self.n_values, self.n_values)
            self.close(node, row[GAIN])
            this.split, this.left = split, left
        return 0

    # ---------------------------------------------------------------- state

    cdef object all_stats(self):
        cdef int node
        cdef double[::1] row = np.empty(self.width)
        cdef double[:, ::1] stats
        if self.n_values <= ROW_CLASSES:
            return Trees.all_stats(self)
        stats = np.empty((self.n_used, HEADER))
        for node in range(self.n_used):
            self.read(node, &row[0])
            stats[node] = row[:HEADER]
        return stats.base

    def state(self):
        """As of other trees; if there are many classes, those of each node are listed."""
        found = Trees.state(self)
        if self.n_values > ROW_CLASSES:
            found.update(listed(self))
        return found

    @classmethod
    def restored(cls, values):
        """The trees of a state. The owner checks that the features of the splits exist."""
        base = super(CompactTrees, cls).restored
        if type(values) is dict and "n_classes" in values:
            return restored(values, base)
        return base(values)

    # ---------------------------------------------------------------- inspection

    def check(self):
        """Raise an error if an invariant is broken."""
        cdef int node, row, n_rows = 0, n_free = 0
        cdef size_t n_bytes = 0
        Trees.check(self)
        for node in range(self.n_used):
            if self.nodes[node].split.feature >= 0:
                n_bytes += length_of(self.records + self.places[node])
                continue
            row = self.places[node]
            while row >= 0 and n_rows <= self.n_rows:
                n_rows, row = n_rows + 1, self.next_of(row)
        row = self.free_row
        while row >= 0 and n_free <= self.n_rows:
            n_free, row = n_free + 1, <int>self.counts(row)[0]
        require(n_bytes + self.n_dead == self.n_bytes and self.n_bytes <= self.byte_capacity,
                "CompactTrees: records are not those of the inner nodes")
        require(n_free == self.n_free_rows and n_rows + n_free == self.n_rows
                and self.n_rows <= self.row_capacity
                and <size_t>self.row_capacity * self.stride <= self.row_cells,
                "CompactTrees: rows are not those of the leaves")

    def __sizeof__(self):
        return (Trees.__sizeof__(self) + self.capacity * sizeof(int)
                + self.row_cells * sizeof(double) + self.byte_capacity)


# --- Sizes ----------------------------------------------------------------------------------

cdef size_t length_of(const unsigned char* record) noexcept nogil:
    """Number of bytes of a record."""
    cdef double n, unused
    cdef const unsigned char* at = get(get(record + sizeof(double), &unused), &n)
    for _ in range(2 * <int>n):
        at = get(at, &unused)
    return at - record


cdef inline size_t class_bytes(int n_values) noexcept nogil:
    """Maximum bytes of a class and its weight in a record."""
    return MOST_NUMBER_BYTES + (
        1 if n_values <= SHORT_NUMBER else 3 if n_values <= 65536 else MOST_NUMBER_BYTES)


cdef inline int most_rows(int n_values) noexcept nogil:
    """Maximum number of rows of a leaf."""
    return 1 + n_values // ROW_CLASSES


cdef inline size_t bytes_of_records(size_t n, size_t n_classes, int n_values) noexcept nogil:
    """Maximum bytes of n records with n_classes classes in total."""
    return n * HEAD_BYTES + n_classes * class_bytes(n_values)


cdef inline size_t bytes_of_splits(size_t n_samples, int n_values) noexcept nogil:
    """Maximum bytes of the records if leaves with n_samples are split, see `reserve_splits`."""
    cdef size_t n_classes = classes_of(n_samples, n_values) + n_samples // 2 * n_values
    return bytes_of_records(n_samples, min(n_classes, n_samples * n_values), n_values)


cdef inline size_t classes_of(size_t n_samples, size_t n_values) noexcept nogil:
    """Maximum number of classes in all splits of a new tree, whose nodes have up to n_values.

    In the longest possible tree each split separates one sample. Then the nodes have n_samples,
    n_samples - 1, ... samples, and a node has at most as many classes as samples.
    """
    cdef size_t n = min(n_samples, n_values)
    return n * (n + 1) // 2 + (n_samples - n) * n_values
