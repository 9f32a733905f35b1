"""Batches: samples as columns, and a reader that encodes their rows for a learner.

A `Batch` contains the columns of some samples, with or without targets and weights. It does not
depend on a learner, so any learner can read it.

A `Reader` encodes the rows of a batch for a learner: all rows in order, or chosen rows in a given
order. It looks up the schema's column of each column of the batch once, and the code of each
nominal value when a row first contains it. Other rows need no look-up. When a row contains a new
feature or a new nominal value, `admit` adds it to the schema as `Schema.admit` does.

One reader can serve several learners in turn: `Learner.take_over` assigns a range of its rows to
a learner.
"""

from .columns cimport Column
from .schema cimport Labels, Schema

cdef class Batch:
    cdef readonly Py_ssize_t n          # rows
    cdef readonly list columns          # of Column
    cdef readonly Column targets        # numbers, or codes of labels; or None
    cdef readonly Column weights        # numbers, or None if all weights are 1

cdef enum:
    AHEAD = 8   # maximum number of rows that are read ahead

cdef class Ahead:
    """Rows of a batch that are read ahead, and the leaves that they reach.

    Each step of a row down a tree depends on the step before it, but not on the steps of other
    rows. The processor can overlap the steps of several rows, so they go down a tree together.
    """
    cdef double* rows           # rows[i * n_columns + column]
    cdef int* leaves            # leaves[tree * AHEAD + i]
    cdef double[AHEAD] targets
    cdef double[AHEAD] weights  # 0: the row is predicted, but not learned
    cdef size_t n_cells         # number of doubles allocated in `rows`
    cdef size_t n_trees         # number of trees for which `leaves` has room

    cdef int reserve(self, size_t n_columns, size_t n_trees) except -1

cdef struct Link:
    # A column of the batch, and the columns of the schema that its values go to.
    const char* numbers     # first number, or NULL if the column has none; steps are in bytes
    Py_ssize_t number_step
    const char* codes       # first code of a nominal value, or NULL if the column has none
    Py_ssize_t code_step
    int numeric             # column of the schema for the numbers, UNKNOWN or IGNORED
    int nominal             # column of the schema for the nominal values, UNKNOWN or IGNORED
    int n_values
    bint are_distinct       # see `Column.are_distinct`
    int* known              # code in the batch -> code in the schema, or UNKNOWN or UNSEEN

cdef class Reader:
    cdef readonly Batch batch
    # Positions count the rows in the order in which this reader reads them.
    cdef readonly Py_ssize_t n          # end of the range of the current learner
    cdef readonly Py_ssize_t row        # position of the next row
    cdef readonly Py_ssize_t n_chosen   # number of rows that the reader reads in all
    cdef bint is_chosen                 # whether it reads `chosen`; else all rows in order
    cdef const Py_ssize_t[::1] chosen   # position -> row of the batch
    cdef bint finds                     # whether `encode` found a value to look up
    cdef readonly bint learns           # whether the learner learns the rows
    cdef bint asks                      # whether the learner predicts the rows
    cdef bint asks_numbers, asks_labels, asks_shares    # kinds of predictions to store
    cdef bint has_labels, is_weighted
    cdef const int[::1] label_targets   # by row of the batch: one of these two is set
    cdef const double[::1] number_targets
    cdef const double[::1] weights      # by row of the batch, if `is_weighted`
    cdef bint answered                  # whether the next row has been predicted
    # The predictions: arrays by position, or None if they are not asked for.
    cdef readonly object numbers        # predicted numbers
    cdef readonly object labels         # codes of predicted labels; -1: no label
    cdef readonly object shares         # probabilities [position, label]; NaN: unknown label
    cdef double[::1] number_answers
    cdef Py_ssize_t[::1] label_answers
    cdef double[:, ::1] share_answers
    cdef Ahead ahead                    # scratch of a learner that reads rows ahead, or None

    cdef Link* links
    cdef int n_links
    cdef int* known                     # memory of `Link.known` for all links
    cdef int* label_codes               # code in the batch -> code of the learner, or UNKNOWN
    cdef Schema schema                  # schema in which the links were looked up
    cdef unsigned long version          # version of that schema at the look-up
    cdef Py_ssize_t n_labels            # labels of the learner when `label_codes` was looked up

    cdef int take_targets(self) except -1
    cdef int choose(self, chosen) except -1
    cdef Py_ssize_t place(self, Py_ssize_t row) noexcept nogil
    cdef int link(self, Schema schema, Labels labels) except -1
    cdef int link_labels(self, Labels labels) except -1
    cdef bint read(self) except -1
    cdef bint encode(self) noexcept nogil
    cdef bint encode_into(self, double* row) noexcept nogil
    cdef int look_up(self) except -1
    cdef int admit(self) except -1
    cdef bint has_new_features(self) noexcept
    cdef list new_features(self)
    cdef int relink(self, list fresh) except -1
    cdef void put_shares(self, const double* shares, int n) noexcept nogil
    cdef double weight(self) noexcept nogil
    cdef double target(self) noexcept nogil
    cdef double find_label(self, Labels labels) except? -1.0
    cdef object label(self)
    cdef void name_label(self, int code) noexcept nogil
    cdef int go_between(self, Py_ssize_t start, Py_ssize_t stop) except -1
    cdef list refusals(self)
    cdef int refuse_names(self, list found) except -1
    cdef int refuse_labels(self, Labels labels, list found) except -1
