"""A pass of several rows: the trees of an `ExtraTrees` predict and learn them side by side.

Trees do not know of each other, so each tree can read several rows before another tree reads the
first one. Its nodes then stay in the cache of the processor, and the rows go down together: a step
down a tree has to wait for the memory of a node, but not for the steps of other rows. The rows of a
pass are those that were read ahead. Its phases:

    STORE       one thread pushes all samples into the buffer
    GROW        a task per group does the growths of all samples, which depend on the buffer alone
    LEARN       a task per tree predicts and learns all rows; after some of them it splits leaves,
                or becomes one of the trees that GROW has finished. Another task: naive Bayes
    ADD         a task per range of rows adds up the predictions of the trees, in a classification
    COMBINE     one thread combines the predictions of each row, and updates the weights

The threads of a `Team` do the tasks of a phase. In LEARN they store the predictions of the trees in
a table, which ADD adds up in the order of the trees; a thread alone adds them up at once. So all
predictions are equal to the bit to those of a single row, whatever the number of threads. The table
lists the classes of each leaf that a row reaches; most leaves have few.
"""

cimport cython
from libc.stdint cimport int64_t

from ..ahead cimport Ahead
from ..table cimport RowReader
from ..tree cimport ClassShare
from .row_pass cimport RowPass
from .extra_trees cimport ExtraTrees, Group, SmallBatch

cdef enum Phase:
    GROW = 0
    LEARN = 1
    ADD = 2

cdef struct Answers:            # of one tree of a classification
    ClassShare* shares          # of all rows, one after the other
    size_t n                    # number of these
    size_t capacity
    size_t* ends                # per row: the end of its shares

@cython.final
cdef class TreePass(RowPass):
    cdef ExtraTrees forest
    cdef bint learns            # whether rows with a weight are learned
    cdef const int* columns     # columns of the rows, as in `RowReader`
    cdef int n_columns
    cdef Phase phase
    cdef bint is_shared         # whether several threads do its tasks
    cdef int width              # number of values of a prediction, see `ExtraTrees.n_values`
    cdef int n_learned          # number of rows that are learned
    cdef int64_t first          # number of the first of these in the stream
    cdef Answers* trees         # per tree of a classification
    cdef int n_trees            # number of these
    cdef size_t* ends           # memory of `Answers.ends`
    cdef double* answers        # answers[i * n_answers + ...] of row i, see `ExtraTrees.answers`
    cdef double* naive          # naive[i * width + class]: predictions of naive Bayes
    cdef double* mixed          # of one row, see `ExtraTrees.mixed`
    cdef double* row            # one row, by column
    cdef Py_ssize_t n_answers
    cdef size_t capacity        # allocated doubles per row of `answers`
    cdef size_t row_capacity    # number of columns of `row`

    cdef int run(self, RowReader reader, Py_ssize_t stop, int n_labels) except -1 nogil
    cdef int learn_rows(self, RowReader reader) except -1 nogil
    cdef int store(self, RowReader reader) except -1 nogil
    cdef int do_all(self, RowReader reader, Phase phase, long n_tasks) except -1 nogil
    cdef bint is_learned(self, int i) noexcept nogil
    cdef int do_tree(self, Group group, int g, int tree, SmallBatch small) except -1 nogil
    cdef double answer(self, Group group, int g, int tree, int leaf, int i) except? -1.0 nogil
    cdef void do_naive(self) noexcept nogil
    cdef void add_up(self, int first, int stop) noexcept nogil
    cdef void begin(self, RowReader reader) noexcept nogil
    cdef void combine(self, RowReader reader, Py_ssize_t row) noexcept nogil

cdef void combine_numbers(ExtraTrees forest, double* answers, double* mixed) noexcept nogil
