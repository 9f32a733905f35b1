"""Rows of a batch that are read ahead.

A step of a row down a tree has to wait for the step before it, but not for the steps of other rows.
So several rows go down a tree together, and the processor overlaps their steps. The values are
stored by column, because the reader encodes one column after the other.
"""

from libc.stdint cimport uint8_t

from .parts cimport Owner

cdef enum:
    AHEAD = 256             # maximum number of rows that are read ahead, if they are learned ...
    LONG_AHEAD = 2048       # ... and if they are only predicted

cdef class Ahead(Owner):
    cdef double* values         # values[column * stride + i]: value of row i, NaN if missing; only
                                #   the columns in which the reader writes have other values
    cdef int n_columns          # of `values`; -1: it holds values of other columns
    cdef int stride             # number of rows for which there is room, at most LONG_AHEAD
    cdef int least              # so many there should be, see `Ranges.prepare`
    cdef int most               # number of rows to read next, at most `stride`; it doubles, and
                                #   falls when Python has to handle a row
    cdef double[AHEAD] targets
    cdef double[AHEAD] weights  # 0: the row is predicted, but not learned
    cdef uint8_t[LONG_AHEAD] marks  # why Python has to handle a row, see `RowReader.encode`
    cdef int* leaves            # leaves[tree * stride + i]: leaf that row i reaches
    cdef double* votes          # scratch: votes[i * n_labels + code]
    cdef size_t n_cells         # number of doubles allocated in `values`
    cdef size_t n_leaves        # number of allocated `leaves`
    cdef size_t n_votes         # number of allocated `votes`

    cdef int reserve(self, size_t n_columns) except -1
    cdef int reserve_leaves(self, size_t n_trees, size_t n_labels) except -1
    cdef void copy(self, int i, double* row, const int* columns, int n) noexcept nogil
