"""Compact classification trees. See the header."""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport uint8_t

from ..allocation cimport enough, free, raise_memory_error, resized, trimmed
from ..arrays cimport view
from ..trees cimport FAINTEST, GAIN, HEADER, LEAF, MAX_CLASSES, VISITED, WEIGHT, Node, Trees

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
        free(self.cells)

    # ---------------------------------------------------------------- memory

    cdef int width_of(self, int n_values) noexcept nogil:
        return GAIN + 1

    cdef int allocate_cells(self, Py_ssize_t n) except -1 nogil:
        """See `reserve_cells`."""
        cdef Py_ssize_t capacity = enough(self.n_cells_in_use() + n, self.cell_capacity)
        if capacity > LARGEST_CELLS:
            raise_memory_error()
        self.cells = <Cell*>resized(self.cells, capacity, sizeof(Cell))
        self.cell_capacity = <int>capacity
        return 0

    cdef void trim(self, int extra) noexcept nogil:
        cdef int capacity = min(self.n_cells_used + extra, self.cell_capacity)
        Trees.trim(self, extra)
        if 0 < capacity < self.cell_capacity:
            self.cells = <Cell*>trimmed(self.cells, capacity * sizeof(Cell))
            self.cell_capacity = capacity

    cdef void take_cells(self, CompactTrees other) noexcept nogil:
        """Take over the cells of another arena, in addition to `take_nodes`."""
        free(self.cells)
        self.cells, self.cell_capacity = other.cells, other.cell_capacity
        self.n_cells_used, self.free_cell, self.n_free_cells = (
            other.n_cells_used, other.free_cell, other.n_free_cells)
        other.cells, other.free_cell = NULL, -1
        other.n_cells_used = other.n_free_cells = other.cell_capacity = 0

    cdef int add_cell(self, int leaf, int code, double weight) noexcept nogil:
        """Add a class to a leaf; return its cell. The memory is reserved."""
        cdef int cell = self.free_cell
        if cell >= 0:
            self.free_cell = self.cells[cell].next
            self.n_free_cells -= 1
        else:
            cell = self.n_cells_used
            self.n_cells_used += 1
        self.cells[cell].weight, self.cells[cell].code = weight, code
        self.cells[cell].next = self.nodes[leaf].right
        self.nodes[leaf].right = cell
        return cell

    cdef int cell_of(self, int leaf, int code) noexcept nogil:
        """The cell of a class of a leaf, which may be new."""
        cdef int cell = self.nodes[leaf].right
        while cell >= 0:
            if self.cells[cell].code == code:
                return cell
            cell = self.cells[cell].next
        return self.add_cell(leaf, code, 0.0)

    cdef void release_first(self, int leaf) noexcept nogil:
        """Release the first cell of a leaf."""
        cdef int cell = self.nodes[leaf].right
        self.nodes[leaf].right = self.cells[cell].next
        self.cells[cell].next = self.free_cell
        self.free_cell = cell
        self.n_free_cells += 1

    cdef void release(self, int leaf) noexcept nogil:
        """Release all cells of a leaf."""
        while self.nodes[leaf].right >= 0:
            self.release_first(leaf)

    # ---------------------------------------------------------------- changes of a leaf

    cdef void cut(self, int leaf) noexcept nogil:
        self.release(leaf)
        Trees.cut(self, leaf)

    cdef void close(self, int leaf, double gain) noexcept nogil:
        self.release(leaf)
        Trees.close(self, leaf, gain)

    cdef void set_leaf(self, int leaf, double weight, const double* counts,
                       int n_classes) noexcept nogil:
        """Set the weight of an empty leaf and of its first classes; others have weight 0."""
        cdef int c, n = 0, code = -1
        for c in range(n_classes):
            if counts[c] != 0.0:
                n, code = n + 1, c
        self.nodes[leaf].split.threshold = weight
        if n < 2:
            self.nodes[leaf].left = code
            return
        for c in range(n_classes):
            if counts[c] != 0.0:
                self.add_cell(leaf, c, counts[c])

    cdef void add_class(self, int leaf, int code, double weight, double batch) noexcept nogil:
        cdef Node* this = &self.nodes[leaf]
        if this.right < 0 and (this.left == code or this.left < 0):
            this.left = code
        else:
            self.use_cells(leaf)
            self.cells[self.cell_of(leaf, code)].weight += weight
        this.split.threshold += weight

    cdef void use_cells(self, int leaf) noexcept nogil:
        """Move the class of a leaf with one class to a cell."""
        cdef Node* this = &self.nodes[leaf]
        if this.left >= 0:
            self.add_cell(leaf, this.left, this.split.threshold)
            this.left = -1

    cdef void fade(self, int leaf) noexcept nogil:
        cdef Node* this = &self.nodes[leaf]
        cdef int cell = this.right
        this.split.threshold *= self.fading
        if this.split.threshold == 0.0:
            self.release(leaf)
            this.left = -1
            return
        if this.split.threshold < FAINTEST:         # it has a weight, but no class
            self.use_cells(leaf)
            cell = this.right
        while cell >= 0:
            self.cells[cell].weight *= self.fading
            if self.cells[cell].weight < FAINTEST:
                self.cells[cell].weight = 0.0
            cell = self.cells[cell].next

    cdef void merge_children(self, int node) noexcept nogil:
        cdef int left = self.nodes[node].left, right = self.nodes[node].right
        cdef Node* this = &self.nodes[node]
        cdef Node* other = &self.nodes[right]
        cdef Cell cell
        self.clear(node)
        self.open(node)
        this.split.threshold = self.nodes[left].split.threshold
        this.left, this.right = self.nodes[left].left, self.nodes[left].right
        self.nodes[left].right = -1
        if other.left >= 0:
            self.add_class(node, other.left, other.split.threshold, 1.0)
        elif other.right >= 0:
            self.use_cells(node)
            this.split.threshold += other.split.threshold
        while other.right >= 0:
            cell = self.cells[other.right]
            self.release_first(right)               # so there is memory for a cell
            self.cells[self.cell_of(node, cell.code)].weight += cell.weight
        self.cut(left)
        self.cut(right)

    # ---------------------------------------------------------------- statistics

    cdef double weight_of(self, int leaf) noexcept nogil:
        return self.nodes[leaf].split.threshold

    cdef double visited_of(self, int leaf) noexcept nogil:
        return self.weight_of(leaf) > 0.0

    cdef void add_leaf(self, int leaf, double* row) noexcept nogil:
        cdef int cell = self.nodes[leaf].right
        row[WEIGHT] += self.weight_of(leaf)
        row[VISITED] = max(row[VISITED], self.visited_of(leaf))
        if self.nodes[leaf].left >= 0:
            row[HEADER + self.nodes[leaf].left] += self.weight_of(leaf)
        while cell >= 0:
            row[HEADER + self.cells[cell].code] += self.cells[cell].weight
            cell = self.cells[cell].next

    # ---------------------------------------------------------------- state

    FIELDS = {
        **Trees.FIELDS,
        "cell_weights": ("numbers", "cells", {"least": 0.0, "most": LARGEST_FLOAT}),
        "cell_codes": ("whole_numbers", np.int32, "cells", {"most": MAX_CLASSES}),
        "next_cells": ("whole_numbers", np.int32, "cells", {"least": -1, "most": LARGEST_CELLS}),
        "free_cell": ("whole", -1, LARGEST_CELLS),
    }
    DEFAULTS = {
        **Trees.DEFAULTS, "stats": np.zeros((1, GAIN + 1)), "cell_weights": np.empty(0),
        "cell_codes": np.empty(0, np.int32), "next_cells": np.empty(0, np.int32), "free_cell": -1,
    }

    cdef dict views(self):
        cells = view(self.cells, CELL, (self.cell_capacity,))[:self.n_cells_used]
        return {**Trees.views(self), "cell_weights": cells["weight"],
                "cell_codes": cells["code"], "next_cells": cells["next"]}

    cdef int fill(self, dict fields) except -1:
        self.reserve_cells(len(fields["cell_codes"]))
        self.n_cells_used, self.free_cell = len(fields["cell_codes"]), fields["free_cell"]
        return Trees.fill(self, fields)

    cdef int check_leaves(self) except -1:
        """Raise a StateError for leaves or lists of cells that no samples make."""
        cdef int node, n = 0
        cdef const Node* this
        cdef uint8_t[::1] met = np.zeros(self.n_cells_used, np.uint8)
        for node in range(self.n_used):
            this = &self.nodes[node]
            if this.split.feature == LEAF:
                require(this.split.threshold == 0.0
                        or (this.split.threshold >= FAINTEST_WEIGHT
                            and this.split.threshold <= LARGEST_FLOAT),
                        "CompactTrees: a weight is out of range")
                require(-1 <= this.left < self.n_values and (this.left < 0 or this.right < 0)
                        and (this.left >= 0 or this.right >= 0 or this.split.threshold == 0.0),
                        "CompactTrees: a leaf has no such class")
                n += self.meet_cells(this.right, 1.000001 * this.split.threshold, met)
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
        return Trees.__sizeof__(self) + self.cell_capacity * sizeof(Cell)
