"""Compact classification trees. See the header."""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport uint8_t

from ..allocation cimport enough, free, raise_memory_error, resized, trimmed
from ..arrays cimport view
from ..trees cimport FAINTEST, HEADER, MAX_CLASSES, UNUSED, VISITED, WEIGHT, Node, Trees, is_leaf

from ..state import FAINTEST_WEIGHT, LARGEST_FLOAT, require

cdef enum:
    LARGEST_CELLS = 1 << 30

# The struct `Cell`.
CELL = np.dtype([("weight", "f8"), ("code", "i4"), ("next", "i4")], align=True)


cdef class CompactTrees(Trees):
    """Classification trees with few bytes per node. See the header."""

    def __cinit__(self, int n_values=0, bint regression=False, double fading=1.0):
        require(not regression, "CompactTrees: there are no such trees of numbers")
        self.width = self.width_of(n_values)    # the base class could not call this method
        self.free_cell = -1

    def __dealloc__(self):
        free(self.codes)
        free(self.cells)

    # ---------------------------------------------------------------- memory

    cdef int width_of(self, int n_values) noexcept nogil:
        return 0

    cdef int reserve(self, Py_ssize_t n_pairs, int n_values) except -1 nogil:
        Trees.reserve(self, n_pairs, n_values)
        if self.capacity > self.code_capacity:
            self.codes = <int*>resized(self.codes, self.capacity, sizeof(int))
            self.code_capacity = self.capacity
        return 0

    cdef int allocate_cells(self, Py_ssize_t n) except -1 nogil:
        """See `reserve_cells`."""
        cdef Py_ssize_t capacity = enough(self.n_cells_in_use() + n, self.cell_capacity)
        if capacity > LARGEST_CELLS:
            raise_memory_error()
        self.cells = <Cell*>resized(self.cells, capacity, sizeof(Cell))
        self.cell_capacity = <int>capacity
        return 0

    cdef void trim(self, int n_pairs) noexcept nogil:
        cdef int capacity = min(self.n_cells_used + 2 * n_pairs, self.cell_capacity)
        Trees.trim(self, n_pairs)
        self.codes = <int*>trimmed(self.codes, self.capacity * sizeof(int))
        self.code_capacity = self.capacity
        if 0 < capacity < self.cell_capacity:
            self.cells = <Cell*>trimmed(self.cells, capacity * sizeof(Cell))
            self.cell_capacity = capacity

    cdef void take(self, Trees other) noexcept nogil:
        Trees.take(self, other)
        self.take_cells(<CompactTrees>other)

    cdef void take_cells(self, CompactTrees other) noexcept nogil:
        free(self.codes)
        free(self.cells)
        self.codes, self.code_capacity = other.codes, other.code_capacity
        self.cells, self.cell_capacity = other.cells, other.cell_capacity
        self.n_cells_used, self.free_cell, self.n_free_cells = (
            other.n_cells_used, other.free_cell, other.n_free_cells)
        other.codes, other.cells, other.free_cell = NULL, NULL, -1
        other.code_capacity = 0
        other.n_cells_used = other.n_free_cells = other.cell_capacity = 0

    cdef int first_cell(self, int leaf) noexcept nogil:
        """The first cell of a leaf, or a negative number if it has none."""
        return -2 - self.codes[leaf]

    cdef int add_cell(self, int leaf, int code, double weight) noexcept nogil:
        """Add a class to a leaf without a class or with cells; return its cell.

        The memory is reserved.
        """
        cdef int cell = self.free_cell
        if cell >= 0:
            self.free_cell = self.cells[cell].next
            self.n_free_cells -= 1
        else:
            cell = self.n_cells_used
            self.n_cells_used += 1
        self.cells[cell].weight, self.cells[cell].code = weight, code
        self.cells[cell].next = self.first_cell(leaf)
        self.codes[leaf] = -2 - cell
        return cell

    cdef int cell_of(self, int leaf, int code) noexcept nogil:
        """The cell of a class of a leaf, which may be new."""
        cdef int cell = self.first_cell(leaf)
        while cell >= 0:
            if self.cells[cell].code == code:
                return cell
            cell = self.cells[cell].next
        return self.add_cell(leaf, code, 0.0)

    cdef void release_first(self, int leaf) noexcept nogil:
        """Release the first cell of a leaf."""
        cdef int cell = self.first_cell(leaf)
        self.codes[leaf] = -2 - self.cells[cell].next
        self.cells[cell].next = self.free_cell
        self.free_cell = cell
        self.n_free_cells += 1

    # ---------------------------------------------------------------- changes of a leaf

    cdef void clear(self, int node) noexcept nogil:
        """Make a node an empty leaf; its cells are released."""
        self.open(node)
        self.codes[node] = -1

    cdef void cut(self, int left) noexcept nogil:
        self.close(left)
        self.close(left ^ 1)
        Trees.cut(self, left)

    cdef void close(self, int leaf) noexcept nogil:
        while self.first_cell(leaf) >= 0:
            self.release_first(leaf)
        self.codes[leaf] = -1

    cdef void set_leaf(self, int leaf, double weight, const double* counts,
                       int n_classes) noexcept nogil:
        """Set the weight of an empty leaf and of its first classes; others have weight 0."""
        cdef int c, n = 0, code = -1
        for c in range(n_classes):
            if counts[c] != 0.0:
                n, code = n + 1, c
        self.nodes[leaf].threshold = weight
        if n < 2:
            self.codes[leaf] = code
            return
        for c in range(n_classes):
            if counts[c] != 0.0:
                self.add_cell(leaf, c, counts[c])

    cdef void add_class(self, int leaf, int code, double weight, double batch) noexcept nogil:
        if self.codes[leaf] == code or self.codes[leaf] == -1:
            self.codes[leaf] = code
        else:
            self.use_cells(leaf)
            self.cells[self.cell_of(leaf, code)].weight += weight
        self.nodes[leaf].threshold += weight

    cdef void use_cells(self, int leaf) noexcept nogil:
        """Move the class of a leaf with one class to a cell."""
        cdef int code = self.codes[leaf]
        if code >= 0:
            self.codes[leaf] = -1
            self.add_cell(leaf, code, self.nodes[leaf].threshold)

    cdef void fade(self, int leaf) noexcept nogil:
        cdef Node* this = &self.nodes[leaf]
        cdef int cell
        this.threshold *= self.fading
        if this.threshold == 0.0:
            self.close(leaf)
            return
        if this.threshold < FAINTEST:               # it has a weight, but no class
            self.use_cells(leaf)
        cell = self.first_cell(leaf)
        while cell >= 0:
            self.cells[cell].weight *= self.fading
            if self.cells[cell].weight < FAINTEST:
                self.cells[cell].weight = 0.0
            cell = self.cells[cell].next

    cdef void merge_children(self, int node) noexcept nogil:
        cdef int left = self.nodes[node].left, right = left ^ 1, code = self.codes[left ^ 1]
        cdef double weight = self.nodes[right].threshold
        cdef Cell cell
        self.open(node)
        self.nodes[node].threshold = self.nodes[left].threshold
        self.codes[node], self.codes[left] = self.codes[left], -1
        if code >= 0:
            self.add_class(node, code, weight, 1.0)
        elif code < -1:
            self.use_cells(node)
            self.nodes[node].threshold += weight
        while self.first_cell(right) >= 0:
            cell = self.cells[self.first_cell(right)]
            self.release_first(right)               # so there is memory for a cell
            self.cells[self.cell_of(node, cell.code)].weight += cell.weight
        self.cut(left)

    # ---------------------------------------------------------------- statistics

    cdef double weight_of(self, int leaf) noexcept nogil:
        return self.nodes[leaf].threshold

    cdef double visited_of(self, int leaf) noexcept nogil:
        return self.weight_of(leaf) > 0.0

    cdef void add_leaf(self, int leaf, double* row) noexcept nogil:
        cdef int cell = self.first_cell(leaf)
        row[WEIGHT] += self.weight_of(leaf)
        row[VISITED] = max(row[VISITED], self.visited_of(leaf))
        if self.codes[leaf] >= 0:
            row[HEADER + self.codes[leaf]] += self.weight_of(leaf)
        while cell >= 0:
            row[HEADER + self.cells[cell].code] += self.cells[cell].weight
            cell = self.cells[cell].next

    # ---------------------------------------------------------------- state

    FIELDS = {
        **{name: field for name, field in Trees.FIELDS.items() if name != "stats"},
        "codes": ("whole_numbers", np.int32, "nodes",
                  {"least": -2 - LARGEST_CELLS, "most": MAX_CLASSES}),
        "cell_weights": ("numbers", "cells", {"least": 0.0, "most": LARGEST_FLOAT}),
        "cell_codes": ("whole_numbers", np.int32, "cells", {"most": MAX_CLASSES}),
        "next_cells": ("whole_numbers", np.int32, "cells", {"least": -1, "most": LARGEST_CELLS}),
        "free_cell": ("whole", -1, LARGEST_CELLS),
    }
    DEFAULTS = {
        **Trees.DEFAULTS, "codes": np.full(2, -1, np.int32), "cell_weights": np.empty(0),
        "cell_codes": np.empty(0, np.int32), "next_cells": np.empty(0, np.int32), "free_cell": -1,
    }

    cdef dict views(self):
        cdef dict views = Trees.views(self)
        cells = view(self.cells, CELL, (self.cell_capacity,))[:self.n_cells_used]
        del views["stats"]
        return {**views, "codes": view(self.codes, "i4", (self.code_capacity,))[:self.n_used],
                "cell_weights": cells["weight"],
                "cell_codes": cells["code"], "next_cells": cells["next"]}

    cdef int fill(self, dict fields) except -1:
        self.reserve_cells(len(fields["cell_codes"]))
        self.n_cells_used, self.free_cell = len(fields["cell_codes"]), fields["free_cell"]
        return Trees.fill(self, {**fields, "stats": np.empty((len(fields["codes"]), 0))})

    cdef int check_leaves(self) except -1:
        """Raise a StateError for leaves or lists of cells that no samples make."""
        cdef int node, code, n = 0
        cdef double weight
        cdef uint8_t[::1] met = np.zeros(self.n_cells_used, np.uint8)
        for node in range(self.n_used):
            code, weight = self.codes[node], self.nodes[node].threshold
            if not is_leaf(&self.nodes[node]) or self.nodes[node].feature == UNUSED:
                require(code == -1, "CompactTrees: only leaves have classes")
                continue
            require(weight == 0.0 or (weight >= FAINTEST_WEIGHT and weight <= LARGEST_FLOAT),
                    "CompactTrees: a weight is out of range")
            require(code < self.n_values and (code != -1 or weight == 0.0),
                    "CompactTrees: a leaf has no such class")
            n += self.meet_cells(self.first_cell(node), 1.000001 * weight, met)
        self.n_free_cells = self.meet_cells(self.free_cell, INFINITY, met)
        require(n + self.n_free_cells == self.n_cells_used,
                "CompactTrees: a cell is neither of a leaf nor free")
        return 0

    cdef int meet_cells(self, int cell, double most, uint8_t[::1] met) except -1:
        """Record the visits of the cells of a list, which must be the first; count them."""
        cdef int n = 0
        while cell >= 0:
            require(cell < self.n_cells_used and not met[cell]
                    and self.cells[cell].code < self.n_values and self.cells[cell].weight <= most,
                    "CompactTrees: a cell does not exist, is in two lists or of no class")
            met[cell] = True
            n, cell = n + 1, self.cells[cell].next
        return n

    def check(self):
        """Raise an error if an invariant is broken."""
        cdef CompactTrees other = type(self).restored(self.state())
        Trees.check(self)
        require(self.n_free_cells == other.n_free_cells
                and self.n_cells_used <= self.cell_capacity,
                "CompactTrees: there are not so many cells")

    def __sizeof__(self):
        return (Trees.__sizeof__(self) + self.cell_capacity * sizeof(Cell)
                + self.code_capacity * sizeof(int))
