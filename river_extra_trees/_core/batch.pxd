"""Batches: samples as columns, and a reader that encodes their rows for a learner.

A `Batch` contains the columns of some samples, with or without targets and weights. It does not
depend on a learner, so any learner can read it.

A `Reader` encodes the rows of a batch for a learner: all rows in order, or chosen rows in a given
order. It links the columns of the batch to those of the schema once (`links`). The codes of all
nominal values are looked up then; if rows were chosen, the code of a value is looked up when a row
first contains it. `read` encodes one row. `read_ahead` encodes several rows, column by column,
without the GIL. When a row contains a new feature or a new nominal value, `admit` adds it to the
schema as `Schema.admit` does.

One reader can serve several learners in turn: `Learner.take_over` assigns a range of its rows to
a learner.
"""

from libc.stdint cimport uint8_t

from .ahead cimport Ahead
from .columns cimport Column
from .links cimport Link
from .schema cimport Labels, Schema

cdef class Batch:
    cdef readonly Py_ssize_t n          # rows
    cdef readonly list columns          # of Column
    cdef readonly Column targets        # numbers, or codes of labels; or None
    cdef readonly Column weights        # numbers, or None if all weights are 1

cdef class Reader:
    cdef readonly Batch batch
    # Positions count the rows in the order in which this reader reads them.
    cdef readonly Py_ssize_t n          # end of the range of the current learner
    cdef readonly Py_ssize_t row        # position of the next row
    cdef readonly Py_ssize_t n_chosen   # number of rows that the reader reads in all
    cdef bint is_chosen                 # whether it reads `chosen`; else all rows in order
    cdef const Py_ssize_t[::1] chosen   # position -> row of the batch
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
    cdef Ahead ahead                    # scratch: the rows of `read_ahead`

    cdef Link* links
    cdef int n_links
    cdef int* known                     # memory of `Link.known` for all links
    cdef int* label_codes               # code in the batch -> code of the learner, or UNKNOWN
    cdef Schema schema                  # schema in which the links were looked up
    cdef unsigned long version          # version of that schema at the look-up
    cdef Py_ssize_t n_labels            # labels of the learner when `label_codes` was looked up

    cdef int take_targets(self) except -1
    cdef int choose(self, chosen) except -1
    cdef int link(self, Schema schema, Labels labels) except -1
    cdef int link_labels(self, Labels labels) except -1
    cdef bint read(self) except -1
    cdef int read_ahead(self, Py_ssize_t stop, int room, bint regression) noexcept nogil
    cdef int read_targets(self, int n, int room, bint regression) noexcept nogil
    cdef void encode(self, double* values, Py_ssize_t stride, int n, uint8_t* marks) noexcept nogil
    cdef int look_up(self) except -1
    cdef int admit(self) except -1
    cdef bint has_new_features(self) noexcept
    cdef list new_features(self)
    cdef int relink(self, list fresh) except -1
    cdef void answer(self, Py_ssize_t row, const double* shares, int n) noexcept nogil
    cdef void put_shares(self, Py_ssize_t row, const double* shares, int n) noexcept nogil
    cdef double find_label(self, Labels labels) except? -1.0
    cdef object label(self)
    cdef void name_label(self, int code) noexcept nogil
    cdef int go_between(self, Py_ssize_t start, Py_ssize_t stop) except -1
    cdef list refusals(self)
    cdef int refuse_names(self, list found) except -1
    cdef int refuse_labels(self, Labels labels, list found) except -1

    cdef inline Py_ssize_t place(self, Py_ssize_t row) noexcept nogil:
        """The row of the batch at a position of the reader."""
        return self.chosen[row] if self.is_chosen else row

    cdef inline double weight(self) noexcept nogil:
        """The weight of the next row."""
        return self.weights[self.place(self.row)] if self.is_weighted else 1.0

    cdef inline double target(self) noexcept nogil:
        """The number of the next row, or the code of its label; below 0 for a new label."""
        if self.has_labels:
            return self.label_codes[self.label_targets[self.place(self.row)]]
        return self.number_targets[self.place(self.row)]
