"""Tables: samples as columns, and a reader that encodes their rows for a learner.

A `Table` contains the columns of some samples, with or without targets and weights. It does not
depend on a learner, so any learner can read it.

A `RowReader` encodes the rows of a table for a learner, in their order. It links the columns of the
table to those of the schema once, and computes the code of each nominal value once. `read` encodes
one row. `read_ahead` encodes several rows, column by column, without the GIL. A row with a new
feature is given to `Learner.admit` as a dict; the next row with it looks up what has been added.

The rows that are read ahead are in an `Ahead`. A step of a row down a tree has to wait for the step
before it, but not for the steps of other rows. So several rows go down a tree together, and the
processor overlaps their steps. The values are stored by column, because the reader encodes one
column after the other.
"""

from libc.stdint cimport int64_t, uint8_t

from .columns cimport Column
from .parts cimport Owner
from .schema cimport Labels, Schema
from .team cimport Job, Team

cdef enum:
    UNKNOWN = -2    # not in the schema or the labels yet
    IGNORED = -3    # the schema is closed
    AHEAD = 256             # maximum number of rows that are read ahead, if they are learned ...
    LONG_AHEAD = 2048       # ... and if they are only predicted

cdef struct Link:
    # A column of the table, and the columns of the schema to which its values belong.
    const char* numbers     # first number, or NULL if the column has none
    Py_ssize_t stride       # bytes from one number to the next
    const int* numbered     # by row, the number of its nominal value or -1; NULL: there are none
    int numeric             # column of the schema for the numbers, UNKNOWN or IGNORED
    int nominal             # column of the schema for the nominal values, UNKNOWN or IGNORED
    int n_values
    double* codes           # number of a nominal value -> its code
    long* noted             # number of a nominal value -> `Schema.n_noted` when it was found to be
                            #   remembered; -1: not found yet

cdef class Table:
    cdef readonly Py_ssize_t n          # rows
    cdef readonly list columns          # of Column
    cdef readonly Column targets        # numbers, or codes of labels; or None
    cdef readonly Column weights        # numbers, or None if all weights are 1

    cdef list all_columns(self)

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

cdef class RowReader(Owner):
    cdef readonly Table table
    cdef readonly Py_ssize_t n          # rows
    cdef readonly Py_ssize_t row        # the next row
    cdef readonly bint learns           # whether the learner learns the rows
    cdef bint asks                      # whether the learner predicts the rows
    cdef bint asks_numbers, asks_labels, asks_shares    # kinds of predictions to store
    cdef bint has_labels, is_weighted
    cdef const int[::1] label_targets   # by row: one of these two is set
    cdef const double[::1] number_targets
    cdef const double[::1] weights      # by row, if `is_weighted`
    cdef bint answered                  # whether the next row has been predicted
    # The predictions: arrays by row, or None if they are not asked for.
    cdef readonly object numbers        # predicted numbers
    cdef readonly object labels         # predicted labels, as numbers in `names`; -1: no label
    cdef readonly object shares         # probabilities [row, number in `names`]; NaN: unknown label
    cdef double[::1] number_answers
    cdef Py_ssize_t[::1] label_answers
    cdef double[:, ::1] share_answers
    cdef Ahead ahead                    # scratch: the rows of `read_ahead`
    cdef Team team                      # the threads that read the rows
    cdef Job job                        # what these do for the current learner, or None

    cdef Link* links
    cdef int n_links
    cdef int* columns                   # ascending: the columns of the schema with a link ...
    cdef int n_columns                  # ... and their number
    cdef double* codes                  # memory of `Link.codes` for all links
    cdef long* noted                    # memory of `Link.noted` for all links
    cdef size_t n_codes
    cdef int* label_codes               # code in the table -> code of the learner, or UNKNOWN
    cdef Schema schema                  # schema in which the links were looked up
    cdef unsigned long version          # version of that schema at the look-up, ...
    cdef unsigned long n_searches       # ... its number of searches, ...
    cdef bint is_closed                 # ... and whether it was closed to new features
    cdef Labels known_labels            # the labels of the learner ...
    cdef unsigned long label_version    # ... and their version when `label_codes` was looked up
    cdef readonly list names            # predicted labels, in the order of their numbers
    cdef dict numbers_of_names          # their numbers
    cdef int* answer_of                 # code of the learner -> number of its label in `names`; -1:
                                        #   the code is free

    cdef int compute_codes(self) except -1
    cdef int read_targets_of(self, Table table) except -1
    cdef int link(self, Schema schema, Labels labels, int64_t n_seen) except -1
    cdef int link_columns(self) except -1
    cdef int link_labels(self, Labels labels) except -1
    cdef int name_codes(self, Labels labels) except -1
    cdef int name_code(self, int code, object label) except -1
    cdef bint read(self) except -1
    cdef int note_values(self, Py_ssize_t start) except -1
    cdef int note_labels(self, Labels labels, Py_ssize_t start) except -1
    cdef void blank_row(self) noexcept nogil
    cdef dict sample(self)
    cdef int read_ahead(self, Py_ssize_t stop, int room, bint regression) noexcept nogil
    cdef int read_targets(self, int n, int room, bint regression) noexcept nogil
    cdef void encode(self, Py_ssize_t row, int n, double* values, Py_ssize_t stride,
                     uint8_t* marks) noexcept nogil
    cdef void store_prediction(self, Py_ssize_t row, const double* shares, int n) noexcept nogil
    cdef void store_label(self, Py_ssize_t row, int code, int n) noexcept nogil
    cdef void store_shares(self, Py_ssize_t row, const double* shares, int n) noexcept nogil
    cdef double find_label(self, Labels labels) except? -1.0
    cdef object label(self)
    cdef int name_label(self, Labels labels) except -1
    cdef list refusals(self)
    cdef int check_labels(self, list found) except -1

    cdef inline double weight(self) noexcept nogil:
        """The weight of the next row."""
        return self.weights[self.row] if self.is_weighted else 1.0

    cdef inline double target(self) noexcept nogil:
        """The number of the next row, or the code of its label; below 0 for a new label."""
        if self.has_labels:
            return self.label_codes[self.label_targets[self.row]]
        return self.number_targets[self.row]
