"""Trees that learn one stream and vote. See the header."""

from libc.stdint cimport int64_t, uint8_t

from .lists cimport item_of
from .table cimport LONG_AHEAD
from .tree cimport Rows, rows_by_column, walk_rows

cdef enum:
    FEW = 1 << 15           # rows times trees that one thread predicts before another has begun
    LONG_CELLS = 1 << 18    # numbers (2 MB), of the features and the predictions of rows read ahead


cdef class Ensemble(Learner):
    """Trees that learn one stream and vote."""

    cdef Trees new_trees(self):
        """A table without a tree."""
        return Trees(0, self.regression, self.fading)

    cdef RowPass new_pass(self, RowReader reader, Ahead ahead):
        """A pass for the rows of a reader."""
        return RowPass(self, ahead, reader)

    cdef int prepare_run(self, RowReader reader) except -1:
        if reader.job is None:
            reader.job = self.new_pass(reader, reader.ahead) if reader.learns else Ranges(self)
        if reader.learns:
            return (<RowPass>reader.job).prepare()
        return (<Ranges>reader.job).prepare(reader)

    cdef int run(self, RowReader reader, Py_ssize_t stop, int n_labels) except -1 nogil:
        return (<Ranges>reader.job).run(reader, stop)

    cdef void answer_ahead(self, RowReader reader, Ahead ahead, Py_ssize_t row, int first, int n,
                           int n_labels) noexcept nogil:
        pass

    cdef size_t size_of_answers(self) noexcept:
        return self.trees.n_trees + self.n_labels() + 1

    cdef int count_trees(self) noexcept:
        return self.trees.n_trees

    cdef list tree_nodes(self, int tree):
        return self.trees.nodes(tree)

    cdef tuple tree_sizes(self):
        return self.trees.n_nodes, self.trees.height


cdef class WindowEnsemble(Ensemble):
    """Trees that grow on a window, by the exact search for splits of `cart`."""

    cdef int hold_columns(self, uint8_t* held, int64_t* latest) except -1:
        self.trees.hold_columns(held)
        self.window.find_latest(latest)
        return 0

    cdef void forget_columns(self, const uint8_t* held) noexcept:
        self.window.keep_columns(held)
        self.history.forget_columns(held)

    cdef int hold_labels(self, uint8_t* held, uint8_t* met) except -1:
        self.window.mark_classes(held)
        self.trees.mark_classes(met)
        return 0

    cdef void forget_labels(self, const uint8_t* gone) noexcept:
        self.trees.forget_classes(gone)
        self.history.forget_classes(gone)

    cdef void widen(self, int n_labels) noexcept:
        self.trees.widen(n_labels)

    @property
    def n_seen(self):
        """Number of samples learned."""
        return self.window.n_seen

    cdef int check_codes(self) except -1:
        cdef int n_labels = -1 if self.regression else self.n_labels()
        self.window.check_codes(self.schema, n_labels)
        return self.history.check_codes(self.schema, n_labels)


cdef class RowPass(Job):
    """A pass of some rows through all trees: their walks, of which each tree is a task."""

    def __cinit__(self, Ensemble ensemble, Ahead ahead, RowReader reader):
        self.ensemble, self.ahead, self.learns = ensemble, ahead, reader.learns

    cdef int prepare(self) except -1:
        return self.ahead.reserve_leaves(self.ensemble.trees.n_trees, self.ensemble.n_labels())

    cdef int do(self, long tree, int thread) except -1 nogil:
        cdef Rows rows = rows_by_column(self.ahead.values, self.ahead.stride)
        walk_rows(&self.ensemble.trees.trees[tree], &rows, NULL, self.n,
                  self.ahead.leaves + tree * self.ahead.stride)
        return 0

    cdef int predict(self, RowReader reader, Py_ssize_t row) except -1 nogil:
        cdef long tree
        for tree in range(self.ensemble.trees.n_trees):
            self.do(tree, 0)
        self.ensemble.answer_ahead(reader, self.ahead, row, 0, self.n, self.ensemble.n_labels())
        return 0

    cdef int read(self, RowReader reader, Py_ssize_t row, int n) except -1 nogil:
        """Encode and predict n rows; return their number, less if Python has to handle one."""
        reader.encode(row, n, self.ahead.values, self.ahead.stride, self.ahead.marks)
        self.n = 0
        while self.n < n and not self.ahead.marks[self.n]:
            self.n += 1
        self.predict(reader, row)
        return self.n


cdef class Ranges(Job):
    """Ranges of rows that are predicted side by side. See the header."""

    def __cinit__(self, Ensemble ensemble):
        self.ensemble, self.passes = ensemble, []

    cdef int prepare(self, RowReader reader) except -1:
        """Allocate the memory of each thread."""
        cdef RowPass each
        cdef Py_ssize_t n = reader.n - reader.row
        cdef size_t n_cells = self.ensemble.schema.n_columns + self.ensemble.size_of_answers()
        cdef int n_ahead = <int>min(n, <Py_ssize_t>LONG_AHEAD, <Py_ssize_t>(LONG_CELLS // n_cells))
        self.n_threads = reader.team.n_threads if n * self.ensemble.trees.n_trees > FEW else 1
        while len(self.passes) < self.n_threads:
            self.passes.append(self.ensemble.new_pass(
                reader, Ahead() if self.passes else reader.ahead))
        for each in self.passes:
            each.ahead.least = n_ahead
            each.ahead.reserve(self.ensemble.schema.n_columns)
            each.prepare()
        return 0

    cdef int run(self, RowReader reader, Py_ssize_t stop) except -1 nogil:
        """Predict rows until Python has to handle one; see `Learner.run`."""
        cdef Py_ssize_t n = stop - reader.row
        cdef long task, n_tasks
        self.reader, self.first, self.stop = <PyObject*>reader, reader.row, stop
        self.size = self.size_of(n)
        n_tasks = (n + self.size - 1) // self.size
        if self.n_threads > 1:
            reader.team.run(self, n_tasks)
        for task in range(n_tasks):
            if self.n_threads == 1:
                self.do(task, 0)
            reader.row += self.done[task]
            if self.done[task] < min(<Py_ssize_t>self.size, stop - self.first - task * self.size):
                return 0
        return 0

    cdef int size_of(self, Py_ssize_t n) noexcept nogil:
        """Number of rows in a range: several ranges per thread, so that all end together."""
        cdef int stride = (<RowPass>item_of(<PyObject*>self.passes, 0)).ahead.stride
        if self.n_threads == 1:
            return stride
        return <int>min(<Py_ssize_t>stride, max(<Py_ssize_t>LEAST_RANGE, n // (4 * self.n_threads)))

    cdef int do(self, long task, int thread) except -1 nogil:
        cdef Py_ssize_t row = self.first + task * self.size
        self.done[task] = (<RowPass>item_of(<PyObject*>self.passes, thread)).read(
            <RowReader>self.reader, row, <int>min(<Py_ssize_t>self.size, self.stop - row))
        return 0
