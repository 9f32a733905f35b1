"""The columns of a stream: how often their values are missing, unusual, or in each of some bins.

names       of the columns from 1 on. Column 0 stands for the names themselves
values      per column: a dict from usual values to bins, of a column of names; else None. It has
            one item more than `names`, and none before there are bins
counts      float[n_columns, N_BINS]: of the present block. Floats hold them exactly, and half as
            many of the caches' lines are read at the end of a block
usual       the same, of the first REFERENCE blocks. Then it is fixed, so that the distances of
            blocks from it are exchangeable if nothing changes; else those of equal blocks would
            move with it
recent      the same, of the latest blocks; earlier ones fade
n_usual     int[n_columns]: blocks in the usual counts, besides the first samples
edges       double[n_columns, N_BINS - 2]: a number lies in bin 1 + the number of edges below it;
            +inf where there is no edge
held        double[N_HELD, n_columns]: numbers of `n_held` samples that are not counted yet, NaN
            where there is none. They are counted together, column by column: when a sample
            comes, the caches hold neither edges nor counts
rows        samples that columns without bins wait for, N_ROWS at most
waiting     these columns

Bin 0 counts missing values. In columns of names, any value that is not usual is in bin 1; they have
no edges. Column 0 has its value in the last bin where a sample has a name that is not known, else
in bin 1.
"""

from cpython.ref cimport PyObject

from .evidence cimport Evidence

cdef enum:
    N_BINS = 16
    REFERENCE = 16
    N_ROWS = 64     # from which bins are made
    N_HELD = 8
    SAMPLES = 64    # of a shortest block, of which some are looked at

cdef class Bins:
    cdef readonly object counts, usual, recent, edges, n_usual      # numpy arrays
    cdef float[:, ::1] _counts, _usual, _recent
    cdef double[:, ::1] _edges, _held
    cdef int[::1] _n_usual
    cdef int n_held
    cdef readonly list names, values
    cdef list met               # the names in the latest sample that had all in order
    cdef public list rows, waiting
    cdef public list evidence       # that each column has changed
    cdef public set known           # names that are not new
    cdef public long long n_blocks

    cpdef add(self, x)
    cpdef count(self)
    cpdef list end_block(self)
    cdef list changed(self)
    cdef int hold(self, dict x) except -1
    cdef bint is_next(self, Py_ssize_t i, PyObject* name) except -1
    cdef int bin_of(self, Py_ssize_t column, object value) except -1
    cdef int bin_of_number(self, Py_ssize_t column, double number) noexcept
    cdef int bin_of_name(self, Py_ssize_t column, object value) except -1
    cdef double settle(self, Py_ssize_t column) noexcept
