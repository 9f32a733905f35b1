"""How often the values of some columns lie in each of their bins.

counts      double[n_columns, N_BINS]: of the present block
usual       the same, of the first REFERENCE blocks. Then it is fixed, so that the distances of
            blocks from it are exchangeable if nothing changes; else those of equal blocks would
            move with it
recent      the same, of the latest blocks; earlier ones fade
n_blocks    int[n_columns]: blocks since the usual values were begun
edges       double[n_columns, N_BINS - 2]: a number lies in bin 1 + the number of edges below it;
            +inf where there is no edge

Bin 0 counts missing values. Columns of names have a dict from their usual values to bins, and no
edges; any other value is in bin 1. Column 0 stands for the names of the columns: its value is in
the last bin where a sample has a name that is not known, else in bin 1.
"""

from .evidence cimport Evidence

cdef enum:
    N_BINS = 16
    REFERENCE = 16

cdef class Bins:
    cdef readonly object counts, usual, recent, edges, n_blocks     # numpy arrays
    cdef double[:, ::1] _counts, _usual, _recent, _edges
    cdef int[::1] _n_blocks
    cdef readonly list names        # of the columns from 1 on
    cdef readonly list values       # per column: a dict from values to bins, or None
    cdef public set known           # names that are not new

    cdef int bin_of(self, Py_ssize_t column, object value) except -1
    cdef int bin_of_number(self, Py_ssize_t column, double number) except -1
    cdef int bin_of_name(self, Py_ssize_t column, object value) except -1
    cdef double settle(self, Py_ssize_t column) noexcept
