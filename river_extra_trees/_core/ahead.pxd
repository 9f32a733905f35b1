"""Rows of a batch that are read ahead.

Each step of a row down a tree depends on the step before it, but not on the steps of other rows.
The processor can overlap the steps of several rows, so they go down a tree together. Their values
are column-major, because a batch is read one column at a time.
"""

from libc.stdint cimport uint8_t

cdef enum:
    AHEAD = 64      # maximum number of rows that are read ahead

cdef class Ahead:
    cdef double* values         # values[column * step + i]: value of row i, NaN if missing
    cdef (const double*)[AHEAD] rows    # rows[i]: first value of row i
    cdef int step               # number of rows for which there is room, at most AHEAD
    cdef int most               # number of rows to read next, at most `step`
    cdef double[AHEAD] targets
    cdef double[AHEAD] weights  # 0: the row is predicted, but not learned
    cdef uint8_t[AHEAD] marks   # why Python has to handle a row, see `Reader.encode`
    cdef int* leaves            # leaves[tree * AHEAD + i]: leaf that row i reaches
    cdef double* votes          # scratch: votes[i * n_labels + code]
    cdef size_t n_cells         # number of doubles allocated in `values`
    cdef size_t n_trees         # number of trees for which `leaves` has room
    cdef size_t n_labels        # number of labels for which `votes` has room

    cdef int reserve(self, size_t n_columns) except -1
    cdef int reserve_leaves(self, size_t n_trees, size_t n_labels) except -1
    cdef void copy(self, int i, double* row, int n_columns) noexcept nogil
