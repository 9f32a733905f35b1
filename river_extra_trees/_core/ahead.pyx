"""Rows of a batch that are read ahead. See the header."""

from libc.math cimport NAN

from .allocation cimport product
from .parts cimport Owner

cdef enum:
    CELLS = 1 << 14         # number of values (128 KB) that limits the rows of many columns
    FEWEST = 8              # minimum number of rows, whatever the number of columns


cdef class Ahead(Owner):
    """Rows of a batch that are read ahead. See the header."""

    def __cinit__(self):
        self.n_columns = -1

    cdef int reserve(self, size_t n_columns) except -1:
        """Allocate memory for rows of n_columns columns, all missing if there was none."""
        cdef size_t cell, n_cells, n_rows = min(<size_t>AHEAD, CELLS // max(n_columns, <size_t>1))
        if <int>n_columns == self.n_columns and self.least <= self.stride:
            return 0
        self.n_columns = -1
        n_rows = max(n_rows, <size_t>FEWEST, <size_t>self.least)
        n_cells = product(max(n_columns, <size_t>1), n_rows)
        if n_cells > self.n_cells:
            self.resize(&self.values, n_cells, sizeof(double))
            self.n_cells = n_cells
        self.stride = <int>n_rows
        self.most = self.stride if self.most == 0 else min(self.most, self.stride)
        for cell in range(n_cells):
            self.values[cell] = NAN
        self.n_columns = <int>n_columns
        return 0

    cdef int reserve_leaves(self, size_t n_trees, size_t n_labels) except -1:
        """Allocate memory for the leaves in n_trees trees, and their votes for n_labels labels.

        There is memory even without trees or labels, because C functions accept no null pointers.
        """
        cdef size_t n_leaves = product(max(n_trees, <size_t>1), self.stride)
        cdef size_t n_votes = product(max(n_labels, <size_t>1), self.stride)
        if n_leaves > self.n_leaves:
            self.resize(&self.leaves, n_leaves, sizeof(int))
            self.n_leaves = n_leaves
        if n_votes > self.n_votes:
            self.resize(&self.votes, n_votes, sizeof(double))
            self.n_votes = n_votes
        return 0

    cdef void copy(self, int i, double* row, const int* columns, int n) noexcept nogil:
        """Copy the values of row i in n columns to `row`."""
        cdef int k
        for k in range(n):
            row[columns[k]] = self.values[<Py_ssize_t>columns[k] * self.stride + i]
