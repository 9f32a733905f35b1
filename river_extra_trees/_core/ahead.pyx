"""Rows of a batch that are read ahead. See the header."""

from .memory cimport free, product, resized


cdef class Ahead:
    """Some rows of a batch. See the header."""

    def __dealloc__(self):
        free(self.rows)
        free(self.leaves)

    cdef int reserve(self, size_t n_columns, size_t n_trees) except -1:
        """Make room for rows of so many columns, and for their leaves in so many trees."""
        cdef size_t n_cells = product(max(n_columns, <size_t>1), AHEAD)
        if n_cells > self.n_cells:
            self.rows = <double*>resized(self.rows, n_cells, sizeof(double))
            self.n_cells = n_cells
        if n_trees > self.n_trees:
            self.leaves = <int*>resized(
                self.leaves, product(n_trees, AHEAD), sizeof(int))
            self.n_trees = n_trees
        return 0
