"""A pass of rows, one or several: the trees of an `ExtraTrees` predict and learn them.

Trees do not know of each other, so each tree can read several rows before another tree reads the
first one. Its nodes then stay in the cache of the processor, and the rows go down together. The
rows of a pass are those that were read ahead, or the one row of the schema. The latter goes down
all trees side by side, before the pass; it is predicted by one pass and learned by another one. The
phases of a pass:

    STORE       one thread pushes all samples into the buffer
    GROW        a task per group does the growths of all samples, which depend on the buffer alone
    LEARN       a task per tree predicts and learns all rows; after some of them it splits leaves,
                or becomes one of the trees that GROW has finished. Another task: the logistic
                regression
    ADD         a task per range of rows adds up the predictions of the trees, in a classification
    COMBINE     one thread combines the predictions of each row, and updates the weights

The threads of a `Team` do the tasks of a phase (`TreePass`), or one thread does them. In LEARN
several threads store the predictions of the trees in a table, which ADD adds up in the order of the
trees; a thread alone adds them up at once. So all predictions are equal to the bit, whatever the
number of threads and of rows. The table lists the classes of each leaf that a row reaches; most
leaves have few.
"""

cimport cython

from ..ensemble cimport RowPass
from ..parts cimport Owner
from ..table cimport RowReader
from .extra_trees cimport ExtraTrees, Pass

cdef enum Phase:
    GROW = 0
    LEARN = 1
    ADD = 2

@cython.final
cdef class TreePass(RowPass):
    """Passes of rows that were read ahead."""
    cdef ExtraTrees forest
    cdef Pass rows
    cdef Phase phase
    cdef size_t row_capacity    # number of columns of `rows.row`

    cdef int run(self, RowReader reader, Py_ssize_t stop, int n_labels) except -1 nogil
    cdef void begin(self, RowReader reader, int n) noexcept nogil
    cdef int do_all(self, RowReader reader, Phase phase, long n_tasks) except -1 nogil

cdef int reserve_pass(ExtraTrees forest, Owner owner, Pass* rows, int room,
                      int n_labels) except -1 nogil
cdef int pass_rows(ExtraTrees forest, Pass* rows, RowReader reader, Py_ssize_t row,
                   TreePass job) except -1 nogil
