"""The base of the core objects of all families: schema, labels, and the way of a sample.

The way of a sample: `learn` reads the weight and the target, `Schema.admit` encodes the row,
`reserve` makes all the room that the sample needs, and then `take`, which cannot fail, learns it.
A sample that is refused, for want of memory for instance, leaves no trace. `learn` tells whether a
batch is full now. The estimator plans what is to be done with it, and the core object carries that
out. If that fails, or a signal interrupts it, the batch stays full, and no sample is learned before
it is done.

The way of a batch: `reader` refuses it as a whole or links its columns to the schema, and then
`go_on` reads row by row, answers it if it was asked to, and learns it as `learn` does. It stops
where a batch is full.
"""

from .batch cimport Reader
from .guarded cimport Guarded
from .naive_bayes cimport EarlyPool
from .schema cimport Labels, Schema

# So many rows of a batch are read in one call: between calls Python handles signals, and lets other
# threads run.
cdef enum:
    STRETCH = 256

cdef class Learner(Guarded):
    cdef readonly Schema schema
    cdef readonly Labels labels         # empty in a regression
    cdef readonly bint regression
    cdef readonly EarlyPool early       # what answers beside the family at first; then None

    # --- What a family brings -----------------------------------------------------------------
    # Refuses a sample for reasons of the family's own.
    cdef int check_sample(self, double target, double weight) except -1
    # Makes room for the row that the schema encoded last and for so many labels. The last that can
    # fail: nothing that answers depend on may change before.
    cdef int reserve(self, int n_labels) except -1 nogil
    # Gives new labels their places, for which there is room.
    cdef void widen(self, int n_labels) noexcept
    # Learns the row that the schema encoded last.
    cdef void take(self, double target, double weight) noexcept nogil
    # Whether a batch waits to be grown on.
    cdef bint batch_is_full(self) noexcept nogil
    # Answers and learns rows without Python's lock, as far as a row brings nothing new and no batch
    # is full. It may stop before any row; the next one then goes the usual way. A family can bring
    # one that takes several rows at once ...
    cdef int run(self, Reader reader, Py_ssize_t stop, int n_labels) except -1 nogil
    # ... and this, which makes what it needs, and says no if `run` needed the lock for each row:
    # beside a busy thread, every return of the lock can wait for milliseconds.
    cdef bint prepare_run(self, Reader reader) except -1
    # Answers to the row that the schema encoded last. The code of the label, where there is one ...
    cdef int row_label(self) except -1 nogil
    # ... the shares of all labels, which need not sum to one; valid until the next call ...
    cdef double* row_shares(self) except? NULL nogil
    # ... or the number.
    cdef double row_number(self) except? -1.0 nogil
    # The shares that the early pool makes of these; it learns from the code of the class unless
    # that is negative.
    cdef double* early_shares(self, int code) except? NULL nogil
    # The number of trees; the nodes of one of them in preorder, left before right, each a dict (see
    # `nodes`); and (number of nodes of all trees, height of the highest).
    cdef int count_trees(self) noexcept
    cdef list tree_nodes(self, int tree)
    cdef tuple tree_sizes(self)
    # A copy that answers alike, without what only learning needs.
    cdef Learner serving_copy(self)
    # What the object remembers, see `state.py`.
    cdef dict fields(self)
    # Raises a StateError if an invariant between the parts is broken. Loading ends with it.
    cdef int check_structure(self) except -1

    # --- What all families share --------------------------------------------------------------
    cdef double read_target(self, object y) except? -1.0
    cdef object learn_sample(self, object x, object y, object w)
    cdef int learn_row(self, double target, double weight, object y) except -1
    cdef int refuse_targets(self, Reader reader, list refusals) except -1
    cdef bint read_rows(self, Reader reader, Py_ssize_t stop) except -1
    cdef int learn_next(self, Reader reader, bint is_known, double weight) except -1
    cdef int find_room_again(self, Reader reader) except -1
    cdef int answer_row(self, Reader reader) except -1 nogil
    cdef int n_labels(self) noexcept nogil
    cdef bint pools(self) noexcept nogil
    cdef double* shares(self) except? NULL nogil
    cdef int label(self) except -1 nogil
    cdef int read_early(self, object state, int n_answers) except -1
