"""The base class of the core objects of all families: schema, labels, and how samples are learned.

One sample: `learn` reads the weight and the target, `Labels.learn` adds a new label, `admit`
encodes the row. If one of them fails, the learner stays as it was. Then the step begins, see
`guarded`: `reserve` allocates memory, and `update` learns the row. If memory runs out, the learner
refuses all later calls. `learn` returns whether the batch of the family is
full now. The estimator then plans the growth, and the core object grows the trees. If the growth
fails or a signal interrupts it, the batch stays full, and no sample is learned until the growth
has succeeded.

A `Table` of samples, such as a frame: `reader` checks all rows and links the columns to the schema.
`read_stretch` then reads row after row, predicts it if asked to, and learns it as `learn` does. It
stops after a stretch of rows, or when the batch of the family is full.
"""

from libc.stdint cimport int64_t, uint8_t

from .explain cimport Contributions, Explanations
from .table cimport RowReader
from .guarded cimport Guarded
from .schema cimport Labels, Schema
from .team cimport Team

# Number of rows in a stretch: the maximum that one call of `read_stretch` reads. Between two calls
# Python handles signals, and other threads can use the model.
cdef enum:
    STRETCH = 256           # of rows that are learned
    LONG_STRETCH = 4096     # of rows that are only predicted, which takes less time

cdef class Learner(Guarded):
    cdef public Schema schema
    cdef public Labels labels           # empty in a regression
    cdef public bint regression
    cdef int most_rows                  # that `read_stretch` predicts without learning them

    # --- Methods that a family overrides ------------------------------------------------------
    # Raises an error if the family cannot learn a sample.
    cdef int check_sample(self, double target, double weight) except -1
    # Allocates memory for the row that the schema encoded last and for `n_labels` labels.
    cdef int reserve(self, int n_labels) except -1 nogil
    # Marks the columns of splits and models, and writes for each column the number of the latest
    # stored sample with a value; -1: none.
    cdef int hold_columns(self, uint8_t* held, int64_t* latest) except -1
    # Forgets all values of the columns that are not marked.
    cdef void forget_columns(self, const uint8_t* held) noexcept
    # Marks the labels of stored samples in `held`, and those of leaves in `met`.
    cdef int hold_labels(self, uint8_t* held, uint8_t* met) except -1
    # Forgets the marked labels, which no stored sample has but those that make room.
    cdef void forget_labels(self, const uint8_t* gone) noexcept
    # Extends the statistics to `n_labels` labels; `reserve` has allocated the memory.
    cdef void widen(self, int n_labels) noexcept
    # Learns the row that the schema encoded last.
    cdef int update(self, double target, double weight) except -1 nogil
    # Whether the batch is full, so that the trees have to grow before the next sample.
    cdef bint batch_is_full(self) noexcept nogil
    # Predicts and learns rows without the GIL, until a row has a new feature, value or label or the
    # batch is full. It may stop before any row; `read_rows` then handles that row itself. A family
    # can override this method to predict or learn several rows at once. It should rarely take the
    # GIL: if another thread computes in Python, that takes milliseconds.
    cdef int run(self, RowReader reader, Py_ssize_t stop, int n_labels) except -1 nogil
    # Allocates what `run` needs beside the rows that are read ahead.
    cdef int prepare_run(self, RowReader reader) except -1
    # The predictions for the row that the schema encoded last. The code of the label; there must be
    # at least one label:
    cdef int row_label(self) except -1 nogil
    # The shares of all labels, which need not sum to one; valid until the next call:
    cdef double* row_shares(self) except? NULL nogil
    # The number:
    cdef double row_number(self) except? -1.0 nogil
    # Divides outputs among the columns: numbers, or the log odds of classes.
    cdef Explanations explanations(self, Contributions total, bint shapley, Team team)
    # Remembers a question: the row that the schema encoded last, which was just predicted.
    cdef int remember(self) except -1 nogil
    # The number of trees; the nodes of one tree in preorder, left before right, each a dict (see
    # `nodes`); and (number of nodes of all trees, largest height of a tree).
    cdef int count_trees(self) noexcept
    cdef list tree_nodes(self, int tree)
    cdef tuple tree_sizes(self)
    # A copy that makes the same predictions, without the data that only learning needs.
    cdef Learner serving_copy(self)

    # --- Methods of all families --------------------------------------------------------------
    cdef double read_target(self, object y) except? -1.0
    cdef object learn_sample(self, object x, object y, object w)
    cdef int admit(self, object x) except -1
    cdef int free_columns(self, dict x, list fresh, list wanted) except -1
    cdef bytearray free_labels(self, object label)
    cdef int learn_row(self, double target, double weight, bint is_encoded, object x,
                       object y) except -1
    cdef int refuse_targets(self, RowReader reader, list refusals) except -1
    cdef bint read_rows(self, RowReader reader, Py_ssize_t stop) except -1
    cdef int learn_next(self, RowReader reader, bint is_known, double weight) except -1
    cdef int predict_row(self, RowReader reader) except -1 nogil
    cdef int code_to_explain(self, object label) except? -1
    cdef int n_labels(self) noexcept nogil
