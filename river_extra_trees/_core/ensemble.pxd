"""Trees that learn one stream and vote: what forests and shrub ensembles have in common.

Rows of a table that are not learned change nothing, so each thread predicts ranges of them
(`Ranges`) with memory of its own (`RowPass`). Rows that are learned pass through the trees by a
`RowPass` as the job of a team, and what follows is the way of the family.
"""

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from .cart.value_history cimport ValueHistory
from .learner cimport LONG_STRETCH, Learner
from .table cimport Ahead, RowReader
from .team cimport Job
from .trees cimport Trees
from .window cimport Window

cdef enum:
    LEAST_RANGE = 8         # rows of a range; the last one may be shorter
    MOST_RANGES = LONG_STRETCH // LEAST_RANGE

cdef class Ensemble(Learner):
    cdef public Trees trees
    cdef public double fading       # decay factor of the leaves, see `Kind`
    cdef public uint64_t seed       # seed of the streams of random numbers

    cdef Trees new_trees(self)
    # Number of cells that a pass needs for the predictions of a row, at least 1.
    cdef size_t size_of_answers(self) noexcept
    cdef RowPass new_pass(self, RowReader reader, Ahead ahead)
    # Stores the predictions for n rows, from `first` on, from their leaves; row 0 in `ahead` is
    # `row` of the table. Threads predict different rows.
    cdef void answer_ahead(self, RowReader reader, Ahead ahead, Py_ssize_t row, int first, int n,
                           int n_labels) noexcept nogil

cdef class WindowEnsemble(Ensemble):
    """Trees that grow on a window, by the exact search for splits of `cart`."""
    cdef public Window window
    cdef public ValueHistory history        # of samples on which no tree grows any more

    # Raises a StateError if codes in window or history are unknown to the schema and the labels.
    cdef int check_codes(self) except -1

cdef class RowPass(Job):
    cdef Ensemble ensemble
    cdef Ahead ahead                # the rows
    cdef int n                      # number of rows
    cdef bint learns                # whether rows with a weight are learned

    # Allocates memory for the predictions.
    cdef int prepare(self) except -1
    # Predicts the rows, which begin at a row of the table.
    cdef int predict(self, RowReader reader, Py_ssize_t row) except -1 nogil
    cdef int read(self, RowReader reader, Py_ssize_t row, int n) except -1 nogil

cdef class Ranges(Job):
    cdef Ensemble ensemble
    cdef PyObject* reader           # valid during `run`
    cdef list passes                # of RowPass, per thread
    cdef int n_threads              # 1 for a few rows
    cdef Py_ssize_t first, stop     # the rows to predict
    cdef int size                   # number of rows in a range, except in the last one
    cdef int[MOST_RANGES] done      # per range: number of predicted rows

    cdef int prepare(self, RowReader reader) except -1
    cdef int run(self, RowReader reader, Py_ssize_t stop) except -1 nogil
    cdef int size_of(self, Py_ssize_t n) noexcept nogil
