"""Compact classification trees: few bytes per node, whatever the number of classes.

The nodes are those of `trees`, without a row of statistics. In a leaf `threshold` is the total
weight, and an array tells the class:

    codes[leaf] >= 0    the class of all samples in the leaf
    codes[leaf] = -1    no class
    otherwise           -2 - codes[leaf] is the first cell of a list: one cell per class

If a tree is grown until its leaves are pure, most leaves have one class. A leaf has at most as many
cells as it has learned samples. The statistic VISITED of a leaf is 1 if it has a weight, else 0.
"""

from libc.stdint cimport uint8_t

from ..trees cimport FAINTEST, Trees

cdef struct Cell:                   # 16 bytes: a class of a leaf
    double weight
    int code
    int next                        # the next cell of the leaf, or of the free cells; or -1

cdef struct ClassShare:             # of a class in a leaf
    double share
    int code

cdef class CompactTrees(Trees):
    cdef int* codes                 # per node, see above; -1 in inner nodes
    cdef int code_capacity          # number of nodes for which it has room
    cdef Cell* cells
    cdef int n_cells_used           # every cell in use has a smaller number
    cdef readonly int free_cell     # the first free cell, or -1
    cdef int n_free_cells
    cdef int cell_capacity          # number of allocated cells

    cdef int allocate_cells(self, Py_ssize_t n) except -1 nogil
    cdef void take_cells(self, CompactTrees other) noexcept nogil
    cdef int first_cell(self, int leaf) noexcept nogil
    cdef int add_cell(self, int leaf, int code, double weight) noexcept nogil
    cdef int cell_of(self, int leaf, int code) noexcept nogil
    cdef void release_first(self, int leaf) noexcept nogil
    cdef void use_cells(self, int leaf) noexcept nogil
    cdef int meet_cells(self, int cell, double most, uint8_t[::1] met) except -1
    cdef void set_leaf(self, int leaf, double weight, const double* counts,
                       int n_classes) noexcept nogil

    cdef inline int n_cells_in_use(self) noexcept nogil:
        return self.n_cells_used - self.n_free_cells

    cdef inline int reserve_cells(self, Py_ssize_t n) except -1 nogil:
        """Allocate memory for n more cells; called per tree and sample."""
        if self.n_cells_in_use() + n <= self.cell_capacity:
            return 0
        return self.allocate_cells(n)

    cdef inline int reserve_samples(self, Py_ssize_t n) except -1 nogil:
        """Allocate memory for the cells of trees that learn n samples in all."""
        return self.reserve_cells(n - self.n_cells_in_use())

    cdef inline int reserve_splits(self, Py_ssize_t n_samples,
                                   Py_ssize_t max_nodes) except -1 nogil:
        """Allocate memory to learn a sample, split leaves with n_samples, then `shrink_to`."""
        cdef Py_ssize_t n_removed = (self.n_nodes_in_use() + 2 * n_samples - max_nodes) // 2
        return self.reserve_cells(2 + n_samples + 2 * max(<Py_ssize_t>0, n_removed))

    cdef inline void learn_in_leaf(self, int leaf, int code, double weight) noexcept nogil:
        """Apply the decay factor to a leaf (`fade`), then add a sample (`add_class`).

        Memory for two cells is reserved.
        """
        cdef double faded = self.nodes[leaf].threshold * self.fading
        if self.codes[leaf] == code and faded >= FAINTEST:
            self.nodes[leaf].threshold = faded + weight
            return
        if self.fading < 1.0:
            self.fade(leaf)
        self.add_class(leaf, code, weight, 1.0)

    cdef inline void add_shares(self, int leaf, int n_trees, int width,
                                double* answers) noexcept nogil:
        """Add the class shares in a leaf, divided by n_trees, to the mean over n_trees trees."""
        cdef double weight = self.nodes[leaf].threshold, share
        cdef int c, cell
        if not weight > 0.0:
            for c in range(width):
                answers[c] += 1.0 / (width * n_trees)
            return
        share = 1.0 / (weight * n_trees)
        if self.codes[leaf] >= 0:
            answers[self.codes[leaf]] += weight * share
            return
        cell = -2 - self.codes[leaf]
        while cell >= 0:
            answers[self.cells[cell].code] += self.cells[cell].weight * share
            cell = self.cells[cell].next

    cdef inline int list_shares(self, int leaf, int n_trees, int width,
                                ClassShare* found) noexcept nogil:
        """List what `add_shares` adds, at most one share per class; return their number."""
        cdef double weight = self.nodes[leaf].threshold, share
        cdef int c, cell, n = 0
        if not weight > 0.0:
            for c in range(width):
                found[c].code, found[c].share = c, 1.0 / (width * n_trees)
            return width
        share = 1.0 / (weight * n_trees)
        if self.codes[leaf] >= 0:
            found.code, found.share = self.codes[leaf], weight * share
            return 1
        cell = -2 - self.codes[leaf]
        while cell >= 0:
            found[n].code, found[n].share = self.cells[cell].code, self.cells[cell].weight * share
            cell = self.cells[cell].next
            n += 1
        return n
