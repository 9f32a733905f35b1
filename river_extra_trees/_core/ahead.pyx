"""Rows of a batch that are read ahead. See the header."""

from libc.math cimport NAN

from .allocation cimport free, product, resized

cdef enum:
    CELLS = 1 << 14         # number of values (128 KB) that limits the rows of many columns
    FEWEST = 8              # minimum number of rows, whatever the number of columns


cdef class Ahead:
    """Rows of a batch that are read ahead. See the header."""

    def __cinit__(self):
        self.n_columns = -1

    def __dealloc__(self):
        free(self.values)
        free(self.leaves)
        free(self.votes)

    cdef int reserve(self, size_t n_columns) except -1:
        """Allocate memory for rows of n_columns columns, all missing if there was none."""
        cdef size_t cell, n_cells, n_rows = min(<size_t>AHEAD, CELLS // max(n_columns, <size_t>1))
        if <int>n_columns == self.n_columns:
            return 0
        self.n_columns = -1
        n_rows = max(n_rows, <size_t>FEWEST)
        n_cells = product(max(n_columns, <size_t>1), n_rows)
        if n_cells > self.n_cells:
            self.values = <double*>resized(self.values, n_cells, sizeof(double))
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
        n_trees, n_labels = max(n_trees, <size_t>1), max(n_labels, <size_t>1)
        if n_trees > self.n_trees:
            self.leaves = <int*>resized(self.leaves, product(n_trees, AHEAD), sizeof(int))
            self.n_trees = n_trees
        if n_labels > self.n_labels:
            self.votes = <double*>resized(self.votes, product(n_labels, AHEAD), sizeof(double))
            self.n_labels = n_labels
        return 0

    cdef void copy(self, int i, double* row, const int* columns, int n) noexcept nogil:
        """Copy the values of row i in n columns to `row`."""
        cdef int k
        for k in range(n):
            row[columns[k]] = self.values[<Py_ssize_t>columns[k] * self.stride + i]
