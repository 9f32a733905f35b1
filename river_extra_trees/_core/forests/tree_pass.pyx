"""A pass of the trees of a forest over several rows. See the header."""

cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from ..ahead cimport AHEAD, Ahead
from ..allocation cimport free, product, resized, zeroed
from ..guarded cimport begin_step, end_step
from ..learner cimport STRETCH
from ..table cimport RowReader
from ..tree cimport (
    ClassShare, Rows, Tree, add_shares, list_shares, rows_by_column, walk_rows,
)
from .row_pass cimport RowPass
from .extra_trees cimport ExtraTrees, Group, SmallBatch
from .model_trees cimport remainder
from .questions cimport hash_of
from .rotation cimport change_tree, find_recent, grow_group, learn_row, next_change

cdef enum:
    FEW = 512           # rows times trees for which no other thread is woken
    N_RANGES = 16       # of rows in the phase ADD


@cython.final
cdef class TreePass(RowPass):
    """A pass of several rows through the trees of a forest. See the header."""

    def __cinit__(self, ExtraTrees forest, Ahead ahead, RowReader reader):
        cdef int tree
        self.forest, self.ahead, self.learns = forest, ahead, reader.learns
        if forest.regression or not self.learns:
            return
        self.n_trees = forest.n_trees
        self.trees = <Answers*>zeroed(self.n_trees, sizeof(Answers))
        self.ends = <size_t*>zeroed(product(self.n_trees, AHEAD), sizeof(size_t))
        for tree in range(self.n_trees):
            self.trees[tree].ends = self.ends + <Py_ssize_t>tree * AHEAD

    def __dealloc__(self):
        cdef int tree
        if self.trees != NULL:
            for tree in range(self.n_trees):
                free(self.trees[tree].shares)
        free(self.trees)
        free(self.ends)
        free(self.answers)
        free(self.naive)
        free(self.mixed)
        free(self.row)

    cdef int prepare(self) except -1:
        """Allocate memory for the predictions."""
        cdef size_t n, n_columns = self.forest.schema.n_columns
        self.width = self.forest.n_values()
        self.n_answers = <Py_ssize_t>self.forest.n_members() * self.width
        n = max(<Py_ssize_t>1, self.n_answers)
        if n > self.capacity:
            self.answers = <double*>resized(self.answers, product(AHEAD, n), sizeof(double))
            self.mixed = <double*>resized(
                self.mixed, self.forest.size_of_mixed(self.width), sizeof(double))
            if not self.forest.regression:
                self.naive = <double*>resized(
                    self.naive, product(AHEAD, max(1, self.width)), sizeof(double))
            self.capacity = n
        if n_columns > self.row_capacity:
            self.row = <double*>resized(self.row, n_columns, sizeof(double))
            self.row_capacity = n_columns
        return 0

    cdef int run(self, RowReader reader, Py_ssize_t stop, int n_labels) except -1 nogil:
        """Predict and learn rows until Python has to handle one; see `Learner.run`."""
        self.forest.reserve_answers(n_labels)
        while reader.row < stop and not reader.answered:
            self.n = reader.read_ahead(stop, <int>STRETCH, self.forest.regression)
            if self.n == 0:
                return 0
            self.learn_rows(reader)
            reader.row += self.n
        return 0

    cdef int predict(self, RowReader reader, Py_ssize_t row) except -1 nogil:
        cdef long task
        self.phase, self.is_shared, self.n_learned = LEARN, False, 0
        self.first = self.forest.buffer.n_seen
        self.begin(reader)
        for task in range(self.forest.n_trees + (not self.forest.regression) - 1, -1, -1):
            self.do(task, 0)
        self.combine(reader, row)
        return 0

    cdef void begin(self, RowReader reader) noexcept nogil:
        self.columns, self.n_columns = reader.columns, reader.n_columns
        memset(self.answers, 0, self.n * self.n_answers * sizeof(double))

    cdef int learn_rows(self, RowReader reader) except -1 nogil:
        """Predict and learn the rows that were read ahead."""
        cdef int i
        self.first, self.n_learned = self.forest.buffer.n_seen, 0
        for i in range(self.n):
            self.n_learned += self.is_learned(i)
        if self.n_learned:
            begin_step(self.forest)
            self.store(reader)
            self.do_all(reader, GROW, self.forest.n_groups())
        self.begin(reader)
        self.do_all(reader, LEARN, self.forest.n_trees + (not self.forest.regression))
        if self.is_shared and not self.forest.regression:
            self.do_all(reader, ADD, N_RANGES)
        for i in range(self.forest.n_groups()):
            (<Group>self.forest.group(i)).n_ready = 0
        self.combine(reader, reader.row)
        end_step(self.forest)
        return 0

    cdef bint is_learned(self, int i) noexcept nogil:
        return self.learns and self.ahead.weights[i] > 0.0

    cdef int store(self, RowReader reader) except -1 nogil:
        """Push the samples into the buffer."""
        cdef int i
        cdef double* row = self.forest.schema.row
        for i in range(self.n):
            if self.is_learned(i):
                if self.forest.regression:
                    self.ahead.targets[i] = self.forest.mixture.bounded(self.ahead.targets[i])
                self.ahead.copy(i, row, reader.columns, reader.n_columns)
                self.forest.buffer.reserve(
                    row, reader.columns, reader.n_columns, self.forest.schema.n_columns)
                self.forest.buffer.push(row, self.forest.schema.n_columns, self.ahead.targets[i],
                                        self.ahead.weights[i])
        find_recent(self.forest, self.first)
        return 0

    cdef int do_all(self, RowReader reader, Phase phase, long n_tasks) except -1 nogil:
        """Do the tasks of a phase."""
        cdef long task
        self.phase = phase
        self.is_shared = reader.team.n_threads > 1 and self.n * self.forest.n_trees > FEW
        if self.is_shared:
            return reader.team.run(self, n_tasks)
        for task in range(n_tasks - 1, -1, -1):     # trees in their order
            self.do(task, 0)
        return 0

    cdef int do(self, long task, int thread) except -1 nogil:
        """Do a task; those that take longest are the first."""
        cdef PyObject* group
        cdef int g = self.forest.n_groups() - 1, tree
        if self.phase == GROW:
            return grow_group(
                self.forest, <Group>self.forest.group(g - <int>task), self.first, self.n_learned)
        if self.phase == ADD:
            self.add_up(self.n * <int>task // N_RANGES, self.n * (<int>task + 1) // N_RANGES)
            return 0
        tree = self.forest.n_trees - 1 - <int>task
        if not self.forest.regression:
            if task == 0:
                self.do_naive()
                return 0
            tree += 1
        group = self.forest.group(g)
        while (<Group>group).first > tree:
            g -= 1
            group = self.forest.group(g)
        return self.do_tree(<Group>group, g, tree, <SmallBatch>self.forest.small_of(thread))

    cdef int do_tree(self, Group group, int g, int tree, SmallBatch small) except -1 nogil:
        """Let a tree predict all rows, and learn each of them after its prediction.

        Between two changes of its splits, all rows go down the tree together.
        """
        cdef int[AHEAD] leaves
        cdef Rows rows
        cdef int i = 0, k, stop, version = group.first_version(tree)
        cdef int64_t n_seen = self.first, change, coming
        cdef double slope
        if self.trees != NULL:
            self.trees[tree].n = 0
        while i < self.n:
            change = next_change(self.forest, group, tree, n_seen, version)
            stop, coming = i, n_seen
            while stop < self.n and coming < change:
                coming += self.is_learned(stop)
                stop += 1
            rows = rows_by_column(self.ahead.values + i, self.ahead.stride)
            walk_rows(&self.forest.trees.trees[tree], &rows, NULL, stop - i, leaves)
            for k in range(stop - i):
                slope = self.answer(group, g, tree, leaves[k], i + k)
                if self.is_learned(i + k):
                    learn_row(self.forest, tree, leaves[k], <int>(n_seen % self.forest.batch_size),
                              remainder(self.ahead.targets[i + k], slope)
                              if self.forest.regression else self.ahead.targets[i + k],
                              self.ahead.weights[i + k])
                    n_seen += 1
            i = stop
            if n_seen == change:
                version = change_tree(self.forest, group, tree, n_seen, version, small)
        return 0

    cdef double answer(self, Group group, int g, int tree, int leaf, int i) except? -1.0 nogil:
        """Store the prediction of a tree for row i; return the slope of its linear model."""
        cdef Answers* found
        cdef const Tree* this = &self.forest.trees.trees[tree]
        if self.forest.regression:
            return self.forest.tree_number(
                tree, leaf, self.ahead.rows[i], self.ahead.stride,
                self.answers + i * self.n_answers + 2 * tree)
        if not self.is_shared:      # all trees so far have added theirs
            add_shares(
                this, leaf, group.n, self.width, self.answers + i * self.n_answers + g * self.width)
            return 0.0
        found = &self.trees[tree]
        if found.n + self.width > found.capacity:
            found.shares = <ClassShare*>resized(
                found.shares, max(2 * (found.n + self.width), <size_t>AHEAD), sizeof(ClassShare))
            found.capacity = max(2 * (found.n + self.width), <size_t>AHEAD)
        found.n += list_shares(this, leaf, group.n, self.width, found.shares + found.n)
        found.ends[i] = found.n
        return 0.0

    cdef void do_naive(self) noexcept nogil:
        """Let naive Bayes predict all rows, and learn each of them after its prediction."""
        cdef int i
        if self.width == 0:
            return
        for i in range(self.n):
            self.ahead.copy(i, self.row, self.columns, self.n_columns)
            self.forest.naive.answer(
                self.row, self.columns, self.n_columns, self.naive + i * self.width)
            if self.is_learned(i):
                self.forest.naive.learn(self.row, self.columns, self.n_columns,
                                        <int>self.ahead.targets[i], self.ahead.weights[i])

    cdef void add_up(self, int first, int stop) noexcept nogil:
        """Add the shares of the classes in the leaves of some rows to those of the groups."""
        cdef int g, tree, i
        cdef size_t k
        cdef PyObject* group
        cdef const Answers* found
        cdef double* answers
        for g in range(self.forest.n_groups()):
            group = self.forest.group(g)
            for tree in range((<Group>group).first, (<Group>group).first + (<Group>group).n):
                found = &self.trees[tree]
                answers = self.answers + first * self.n_answers + g * self.width
                k = found.ends[first - 1] if first > 0 else 0
                for i in range(first, stop):
                    while k < found.ends[i]:
                        answers[found.shares[k].code] += found.shares[k].share
                        k += 1
                    answers += self.n_answers

    cdef void combine(self, RowReader reader, Py_ssize_t row) noexcept nogil:
        """Combine the predictions of the trees for each row, and update the weights."""
        cdef int i, width = self.width
        cdef int64_t n_seen = self.first
        cdef Py_ssize_t place
        cdef double* answers = self.answers
        for i in range(self.n):
            if not self.forest.regression:
                memcpy(self.forest.pool.naive_answer(self.mixed, width), self.naive + i * width,
                       width * sizeof(double))
            self.forest.combine(answers, self.mixed, width)
            reader.store_prediction(
                row + i, self.forest.prediction(self.mixed, width), self.forest.n_labels())
            place = row + i - self.forest.first_asked
            if not self.learns and self.forest.first_place >= 0 and place >= 0:
                self.forest.questions.put(
                    self.forest.first_place + <int>place,
                    hash_of(self.ahead.rows[i], self.ahead.stride, self.columns, self.n_columns),
                    self.forest.buffer.n_seen, self.mixed)
            if self.is_learned(i):
                self.forest.n_row = -1      # its predictions are those of other weights
                self.forest.learn_weights(
                    self.ahead.rows[i], self.ahead.stride, self.columns, self.n_columns, n_seen,
                    answers, self.mixed, self.ahead.targets[i], width)
                n_seen += 1
            answers += self.n_answers


cdef void combine_numbers(ExtraTrees forest, double* answers, double* mixed) noexcept nogil:
    """Compute the mean of the trees in each group and the variance V, then combine them."""
    cdef int i, n, g, n_groups = forest.n_groups()
    cdef double* means = answers + 2 * forest.n_trees
    cdef double mean, inside, among, deviation, variance = 0.0
    for g in range(n_groups):
        n = (<Group>forest.group(g)).n
        mean = inside = among = 0.0
        for i in range(n):
            mean += answers[2 * i] / n
            inside += answers[2 * i + 1] / n
        for i in range(n):
            deviation = answers[2 * i] - mean
            among += deviation * deviation / n
        means[g] = mean
        variance += (inside + among) / n_groups
        answers += 2 * n
    forest.mixture.answer(means, variance, mixed)
