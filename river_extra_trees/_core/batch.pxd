"""Batches: samples as columns, and the way of a learner through their rows.

A `Batch` is the columns of some samples, with or without targets and weights. It knows nothing of
a learner, so that any learner can read it.

A `Reader` goes through the rows of a batch for a learner, or through chosen rows in an order that
it is given. It looks up once where the columns go in the schema, and where a nominal value goes
when a row first has it, and then encodes row after row without a look-up. Where a row brings a
feature or a nominal value for the first time, `admit` learns it as `Schema.admit` does.

One reader can serve several learners, one after the other: each takes over a part of its way
(`Learner.take_over`).
"""

from .columns cimport Column
from .schema cimport Labels, Schema

cdef class Batch:
    cdef readonly Py_ssize_t n          # rows
    cdef readonly list columns          # of Column
    cdef readonly Column targets        # numbers, or labels by their codes; or None
    cdef readonly Column weights        # numbers, or None where every weight is 1

cdef enum:
    AHEAD = 8   # rows of a batch that are read ahead

cdef class Ahead:
    """Rows of a batch that are read ahead, and the leaves that they reach.

    A step down a tree waits for the step before it, but not for those of other rows. So several
    rows go down a tree at once.
    """
    cdef double* rows           # rows[i * n_columns + column]
    cdef int* leaves            # leaves[tree * AHEAD + i]
    cdef double[AHEAD] targets
    cdef double[AHEAD] weights  # 0: the row is only answered
    cdef size_t n_cells         # doubles allocated in `rows`
    cdef size_t n_trees         # that `leaves` has room for

    cdef int reserve(self, size_t n_columns, size_t n_trees) except -1

cdef struct Link:
    # A column of the batch, and where its values go in the row.
    const char* numbers     # NULL where there are none; the step from row to row is in bytes
    Py_ssize_t number_step
    const char* codes       # likewise
    Py_ssize_t code_step
    int numeric             # column of the schema for the numbers, UNKNOWN or IGNORED
    int nominal             # column of the schema for the nominal values, UNKNOWN or IGNORED
    int n_values
    int* known              # code in the batch -> code in the schema, UNKNOWN or UNSEEN

cdef class Reader:
    cdef readonly Batch batch
    cdef readonly Py_ssize_t n          # rows to the end of the way of this learner
    cdef readonly Py_ssize_t row        # the next one, counted on the way
    cdef readonly Py_ssize_t n_chosen   # rows of the whole way
    cdef bint is_chosen                 # whether they are not all rows of the batch in order ...
    cdef const Py_ssize_t[::1] chosen   # ... but these
    cdef bint finds                     # whether `encode` has found a value to look up
    cdef readonly bint learns           # or answers only
    cdef bint asks                      # whether it answers ...
    cdef bint asks_numbers, asks_labels, asks_shares    # ... and by which of these
    cdef bint has_labels, is_weighted
    cdef const int[::1] label_targets   # one of the two, by row
    cdef const double[::1] number_targets
    cdef const double[::1] weights      # where `is_weighted`
    cdef bint answered                  # whether the next row has been answered
    cdef readonly object numbers        # the answers, arrays by row of the way, or None where
                                        #   nobody asked:
    cdef readonly object labels         # ... numbers; codes of labels, -1 for none
    cdef readonly object shares         # ... probabilities by row and label, NaN where unknown
    cdef double[::1] number_answers
    cdef Py_ssize_t[::1] label_answers
    cdef double[:, ::1] share_answers
    cdef Ahead ahead                    # scratch of a learner that reads rows ahead, or None

    cdef Link* links
    cdef int n_links
    cdef int* known                     # of all links
    cdef int* label_codes               # code in the batch -> code of the learner, or UNKNOWN
    cdef Schema schema                  # that the links were looked up in ...
    cdef unsigned long version          # ... and its version then
    cdef Py_ssize_t n_labels            # likewise

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
    cdef int relink(self, Link* link, Column column, bint is_nominal, int code) except -1
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
