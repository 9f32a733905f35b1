"""A pass of rows through the trees of a forest. See the header."""

cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from ..allocation cimport free, product, resized
from ..guarded cimport begin_step, end_step
from ..learner cimport STRETCH
from ..table cimport AHEAD, LONG_AHEAD, Ahead
from ..tree cimport (
    ClassShare, Rows, Tree, add_shares, learn, list_shares, mean_of, rows_by_column, squares_of,
    walk_rows, weight_of,
)
from .extra_trees cimport Answers, Group, SmallBatch
from .model_trees cimport LinearModels, remainder
from .rotation cimport change_tree, grow_group, splits_leaves

cdef enum:
    FEW = 512           # rows times trees for which no other thread is woken
    N_RANGES = 16       # of rows in the phase ADD
    BLOCK = 64          # rows of a regression whose trees are averaged together


cdef int64_t LARGEST_COUNT = 1 << 60


@cython.final
cdef class TreePass(RowPass):
    """Passes of rows that were read ahead. See the header."""

    def __cinit__(self, ExtraTrees forest, Ahead ahead, RowReader reader):
        cdef int tree
        self.forest = forest
        if forest.regression or not self.learns:
            return
        self.renew(&self.rows.trees, forest.n_trees, sizeof(Answers))
        self.renew(&self.rows.ends, product(forest.n_trees, AHEAD), sizeof(size_t))
        for tree in range(forest.n_trees):
            self.rows.trees[tree].ends = self.rows.ends + <Py_ssize_t>tree * AHEAD

    def __dealloc__(self):
        cdef int tree
        if self.rows.trees != NULL:
            for tree in range(self.forest.n_trees):
                free(self.rows.trees[tree].shares)

    cdef int prepare(self) except -1:
        """Allocate memory for the predictions."""
        cdef size_t n_columns = self.forest.schema.n_columns
        # Not a power of two: the cache has few places for lines whose addresses differ by one.
        reserve_pass(self.forest, self, &self.rows, self.ahead.stride + 4, self.forest.n_labels())
        if n_columns > self.row_capacity:
            self.resize(&self.rows.row, n_columns, sizeof(double))
            self.row_capacity = n_columns
        return 0

    cdef int run(self, RowReader reader, Py_ssize_t stop, int n_labels) except -1 nogil:
        """Predict and learn rows until Python has to handle one; see `Learner.run`."""
        self.forest.reserve(n_labels)
        while reader.row < stop and not reader.answered:
            self.n = reader.read_ahead(stop, <int>STRETCH, self.forest.regression)
            if self.n == 0:
                return 0
            self.begin(reader, self.n)
            self.rows.is_shared = (
                reader.team.n_threads > 1 and self.n * self.forest.n_trees > FEW)
            if self.rows.n_learned:
                begin_step(self.forest)
            pass_rows(self.forest, &self.rows, reader, reader.row, self)
            end_step(self.forest)
            reader.row += self.n
        return 0

    cdef int predict(self, RowReader reader, Py_ssize_t row) except -1 nogil:
        self.begin(reader, self.n)
        return pass_rows(self.forest, &self.rows, reader, row, self)

    cdef void begin(self, RowReader reader, int n) noexcept nogil:
        cdef Pass* rows = &self.rows
        cdef int i
        rows.n, rows.values, rows.stride = n, self.ahead.values, self.ahead.stride
        rows.columns, rows.n_columns = reader.columns, reader.n_columns
        rows.n_learned = 0
        rows.is_shared = False
        if self.learns:
            rows.targets, rows.weights = self.ahead.targets, self.ahead.weights
            for i in range(n):
                rows.n_learned += rows.weights[i] > 0.0

    cdef int do_all(self, RowReader reader, Phase phase, long n_tasks) except -1 nogil:
        """Let the threads of a team do the tasks of a phase."""
        self.phase = phase
        return reader.team.run(self, n_tasks)

    cdef int do(self, long task, int thread) except -1 nogil:
        """Do a task; those that take longest are the first."""
        cdef PyObject* group
        cdef int g = self.forest.n_groups() - 1, tree
        cdef Pass* rows = &self.rows
        if self.phase == GROW:
            return grow_group(
                self.forest, <Group>self.forest.group(g - <int>task), rows.first, rows.n_learned)
        if self.phase == ADD:
            add_up(self.forest, rows, rows.n * <int>task // N_RANGES,
                   rows.n * (<int>task + 1) // N_RANGES)
            return 0
        tree = self.forest.n_trees - <int>task
        if tree == self.forest.n_trees:
            return do_logistic(self.forest, rows)
        group = self.forest.group(g)
        while (<Group>group).first > tree:
            g -= 1
            group = self.forest.group(g)
        return do_tree(self.forest, rows, <Group>group, g, tree,
                       <SmallBatch>self.forest.small_of(thread))


# --- Memory ---------------------------------------------------------------------------------------


cdef int reserve_pass(ExtraTrees forest, Owner owner, Pass* rows, int room,
                      int n_labels) except -1 nogil:
    """Allocate memory of an owner for the predictions for so many rows and labels."""
    cdef int width = 2 if forest.regression else max(1, n_labels)
    cdef size_t n_answers = product(room, width)
    if width > rows.capacity or room > rows.room:
        owner.resize(&rows.answers, product(n_answers, forest.n_members()), sizeof(double))
        if forest.regression:
            owner.resize(&rows.means, product(min(room, <int>BLOCK), forest.n_groups() + 1),
                         sizeof(double))
            rows.variances = rows.means + min(room, <int>BLOCK) * <Py_ssize_t>forest.n_groups()
        elif room > 1:
            owner.resize(&rows.of_row, product(width, forest.n_groups()), sizeof(double))
        owner.resize(&rows.logistic, n_answers, sizeof(double))
        owner.resize(&rows.mixed, forest.size_of_mixed(width), sizeof(double))
        rows.capacity, rows.room = width, room
    return 0


# --- Phases ---------------------------------------------------------------------------------------


cdef int pass_rows(ExtraTrees forest, Pass* rows, RowReader reader, Py_ssize_t row,
                   TreePass job) except -1 nogil:
    """Predict rows, and learn those with a weight.

    The rows begin at a row of the table of a reader, if they are those of a table. If the pass is
    shared, the threads do the tasks of `job`.
    """
    cdef int g, tree
    cdef PyObject* group
    rows.first, rows.width = forest.buffer.n_seen, forest.n_values()
    rows.at = <int>(rows.first % forest.batch_size)
    if rows.n_learned:
        store(forest, rows)
    if not rows.is_answered and not forest.regression:
        for g in range(forest.n_groups()):
            memset(answers_of(rows, g, 0), 0, <size_t>rows.n * rows.width * sizeof(double))
    if rows.is_shared:
        if rows.n_learned:
            job.do_all(reader, GROW, forest.n_groups())
        job.do_all(reader, LEARN, forest.n_trees + 1)
        if not forest.regression:
            job.do_all(reader, ADD, N_RANGES)
    else:
        for g in range(forest.n_groups()):
            group = forest.group(g)
            if rows.n_learned:
                grow_group(forest, <Group>group, rows.first, rows.n_learned)
            if rows.leaves != NULL:
                do_row(forest, rows, <Group>group, g)
                continue
            for tree in range((<Group>group).first, (<Group>group).first + (<Group>group).n):
                do_tree(forest, rows, <Group>group, g, tree, <SmallBatch>forest.small_of(0))
        do_logistic(forest, rows)
    if rows.n_learned:
        for g in range(forest.n_groups()):
            (<Group>forest.group(g)).n_ready = 0
    combine(forest, rows, reader, row)
    return 0


cdef inline bint is_learned(const Pass* rows, int i) noexcept nogil:
    return rows.n_learned > 0 and rows.weights[i] > 0.0


cdef inline const double* row_of(const Pass* rows, int i, double* row) noexcept nogil:
    """Row i by column: in the memory `row`, unless it has its own."""
    cdef int k
    if rows.stride == 1:
        return rows.values
    for k in range(rows.n_columns):
        row[rows.columns[k]] = rows.values[rows.columns[k] * rows.stride + i]
    return row


cdef inline double* answers_of(const Pass* rows, int member, int i) noexcept nogil:
    """The prediction of a group, or of a tree of a regression, for row i."""
    return rows.answers + (<Py_ssize_t>member * rows.room + i) * rows.width


cdef int store(ExtraTrees forest, Pass* rows) except -1 nogil:
    """Push the samples into the buffer. Its values in other columns are those of the schema's."""
    cdef int i, n_columns = forest.schema.n_columns
    cdef const double* row
    for i in range(rows.n):
        if is_learned(rows, i):
            if forest.regression:
                rows.targets[i] = forest.mixture.bounded(rows.targets[i])
            row = row_of(rows, i, forest.schema.row)
            forest.buffer.reserve(row, rows.columns, rows.n_columns, n_columns)
            forest.buffer.push(row, n_columns, rows.targets[i], rows.weights[i])
    return 0


cdef int do_row(ExtraTrees forest, Pass* rows, Group group, int g) except -1 nogil:
    """Let the trees of a group predict the one row of a pass, or learn it.

    It has reached its leaves already.
    """
    cdef int tree, size = forest.batch_size, first = group.first, stop = first + group.n
    cdef int next_split = first + (rows.at + 1 + size - first % size) % size
    cdef bint regression = forest.regression, are_ready = group.n_ready > 0
    cdef double target = rows.targets[0] if rows.is_answered else 0.0
    if not rows.is_answered:
        for tree in range(first, stop):
            if regression:
                find_slope(forest, rows, tree)
            answer(forest, rows, group, g, tree, rows.leaves + tree, rows.slopes + tree, 0, 1)
        return 0
    for tree in range(first, stop):
        if regression:
            if rows.asked != NULL:
                find_slope(forest, rows, tree)
            target = remainder(rows.targets[0], rows.slopes[tree])
        learn_row(forest, tree, rows.leaves[tree], rows.at, target, rows.weights[0])
        if tree == next_split or are_ready:
            change_tree(forest, group, tree, rows.first + 1, group.first_version(tree),
                        <SmallBatch>forest.small_of(0))
        if tree == next_split:
            next_split += size
    return 0


cdef inline void find_slope(ExtraTrees forest, Pass* rows, int tree) noexcept nogil:
    """Compute the term of the linear model in the leaf that the one row reaches."""
    rows.slopes[tree] = (<LinearModels>forest.models_of(tree)).at_row(
        rows.leaves[tree], rows.values, forest.schema.n_columns)


cdef int do_tree(ExtraTrees forest, Pass* rows, Group group, int g, int tree,
                 SmallBatch small) except -1 nogil:
    """Let a tree predict several rows, and learn each of them after its prediction.

    Between two changes of its splits, all rows go down the tree together.
    """
    cdef int[LONG_AHEAD] leaves
    cdef double[LONG_AHEAD] slopes
    cdef Rows part
    cdef int i = 0, k, stop = rows.n, at = rows.at, version = group.first_version(tree)
    cdef int64_t n_seen = rows.first, change = -1, coming
    cdef double target
    if rows.is_shared and not forest.regression:
        rows.trees[tree].n = 0
    while i < rows.n:
        if rows.n_learned:
            change = next_change(forest, group, tree, n_seen, at, version)
            stop, coming = i, n_seen
            while stop < rows.n and coming < change:
                coming += is_learned(rows, stop)
                stop += 1
        part = rows_by_column(rows.values + i, rows.stride)
        walk_rows(&forest.trees.trees[tree], &part, NULL, stop - i, leaves)
        if forest.regression:
            (<LinearModels>forest.models_of(tree)).at_rows(
                leaves, rows.values + i, rows.stride, stop - i, forest.schema.n_columns, slopes)
        if not rows.n_learned:
            return answer(forest, rows, group, g, tree, leaves, slopes, 0, rows.n)
        for k in range(stop - i):
            answer(forest, rows, group, g, tree, leaves + k, slopes + k, i + k, 1)
            if is_learned(rows, i + k):
                target = rows.targets[i + k]
                if forest.regression:
                    target = remainder(target, slopes[k])
                learn_row(forest, tree, leaves[k], at, target, rows.weights[i + k])
                n_seen += 1
                at = at + 1 if at + 1 < forest.batch_size else 0
        i = stop
        if n_seen == change:
            version = change_tree(forest, group, tree, n_seen, version, small)
    return 0


cdef inline int learn_row(ExtraTrees forest, int tree, int leaf, int at, double target,
                          double weight) except -1 nogil:
    """Let the leaf of a tree that a sample reaches learn it.

    `at` is the number of the sample modulo the size of a small batch.
    """
    forest.leaves[<Py_ssize_t>tree * forest.batch_size + at] = leaf
    return learn(&forest.trees.trees[tree], &forest.trees.kind, leaf, target, weight, 0.0)


cdef inline int64_t next_change(ExtraTrees forest, Group group, int tree, int64_t n_seen, int at,
                                int version) noexcept nogil:
    """The number of samples after which the splits of a tree change next.

    `at` is n_seen modulo the size of a small batch; `version` is the next of the trees in `ready`
    that replaces it.
    """
    cdef int due = tree % forest.batch_size - at
    cdef int64_t found = LARGEST_COUNT
    if splits_leaves(forest, group):
        found = n_seen + (due if due > 0 else due + forest.batch_size)
    if version < group.n_ready:
        found = min(found, group.ready_at[version])
    return found


cdef inline int answer(ExtraTrees forest, Pass* rows, Group group, int g, int tree,
                       const int* leaves, const double* slopes, int first,
                       int n) except -1 nogil:
    """Store the predictions of a tree for n rows, with the slopes of its linear models."""
    cdef int i, width = rows.width, n_trees = group.n
    cdef Answers* found
    cdef const Tree* this = &forest.trees.trees[tree]
    cdef double* answers
    if forest.regression:
        answers = answers_of(rows, tree, first)
        for i in range(n):
            answer_number(this, leaves[i], slopes[i], answers + 2 * i)
        return 0
    if not rows.is_shared:      # all trees so far have added theirs
        answers = answers_of(rows, g, first)
        for i in range(n):
            add_shares(this, leaves[i], n_trees, width, answers)
            answers += width
        return 0
    found = &rows.trees[tree]
    for i in range(n):
        if found.n + width > found.capacity:
            found.shares = <ClassShare*>resized(
                found.shares, max(2 * (found.n + width), <size_t>AHEAD), sizeof(ClassShare))
            found.capacity = max(2 * (found.n + width), <size_t>AHEAD)
        found.n += list_shares(this, leaves[i], n_trees, width, found.shares + found.n)
        found.ends[first + i] = found.n
    return 0


cdef inline void answer_number(const Tree* tree, int leaf, double slope,
                               double* answer) noexcept nogil:
    """Write mean and variance in a leaf; the slope of its linear model is added."""
    answer[0] = mean_of(tree, leaf) + slope
    answer[1] = squares_of(tree, leaf) / weight_of(tree, leaf) if (
        weight_of(tree, leaf) > 0.0) else 0.0


cdef int do_logistic(ExtraTrees forest, Pass* rows) except -1 nogil:
    """Let the regression predict all rows, and learn each of them after its prediction."""
    cdef int i
    cdef double* shares
    cdef const double* row
    if forest.regression or rows.width == 0:
        return 0
    for i in range(rows.n):
        row, shares = row_of(rows, i, rows.row), rows.logistic + i * rows.width
        if not rows.is_answered or rows.asked != NULL:
            forest.logistic.answer(
                row, rows.columns, rows.n_columns, forest.schema, shares, rows.width)
        if is_learned(rows, i):
            forest.logistic.learn(row, rows.columns, rows.n_columns, forest.schema,
                                  <int>rows.targets[i], rows.weights[i], shares)
    return 0


cdef void add_up(ExtraTrees forest, Pass* rows, int first, int stop) noexcept nogil:
    """Add the shares of the classes in the leaves of some rows to those of the groups."""
    cdef int g, tree, i
    cdef size_t k
    cdef PyObject* group
    cdef const Answers* found
    cdef double* answers
    for g in range(forest.n_groups()):
        group = forest.group(g)
        for tree in range((<Group>group).first, (<Group>group).first + (<Group>group).n):
            found = &rows.trees[tree]
            answers = answers_of(rows, g, first)
            k = found.ends[first - 1] if first > 0 else 0
            for i in range(first, stop):
                while k < found.ends[i]:
                    answers[found.shares[k].code] += found.shares[k].share
                    k += 1
                answers += rows.width


cdef double* shares_of(ExtraTrees forest, const Pass* rows, int i) noexcept nogil:
    """The class shares in all groups for row i, one after the other."""
    cdef int g
    if rows.room == 1:
        return rows.answers
    for g in range(forest.n_groups()):
        memcpy(rows.of_row + <Py_ssize_t>g * rows.width, answers_of(rows, g, i),
               rows.width * sizeof(double))
    return rows.of_row


cdef void combine(ExtraTrees forest, Pass* rows, RowReader reader, Py_ssize_t row) noexcept nogil:
    """Combine the predictions of the trees for each row, and update the weights."""
    cdef int i, width = rows.width
    cdef int64_t n_seen = rows.first
    cdef Py_ssize_t place
    cdef double* answers = NULL
    for i in range(rows.n):
        if not forest.regression:
            answers = shares_of(forest, rows, i)
        if not rows.is_answered:
            if forest.regression:
                if i % BLOCK == 0:
                    average(forest, rows, i, min(<int>BLOCK, rows.n - i))
                forest.mixture.tilt(rows.mixed)[0] = forest.mixture.noise.answer(
                    rows.values + i, rows.stride, forest.schema.n_columns)
                forest.mixture.answer(means_of(rows, i % BLOCK, forest.n_groups()),
                                      rows.variances[i % BLOCK], rows.mixed)
            elif width:
                memcpy(forest.pool.logistic_answer(rows.mixed, width), rows.logistic + i * width,
                       width * sizeof(double))
                forest.pool.pool(answers, rows.mixed, width)
        if reader is not None:
            reader.store_prediction(
                row + i, forest.prediction(rows.mixed, width), forest.n_labels())
            place = row + i - forest.first_asked
            if rows.targets == NULL and forest.first_place >= 0 and place >= 0:
                forest.questions.put(
                    forest.first_place + <int>place,
                    forest.questions.hash_of(
                        rows.values + i, rows.stride, rows.columns, rows.n_columns),
                    forest.buffer.n_seen, rows.mixed)
        if is_learned(rows, i):
            forest.n_row = -1       # its predictions are those of other weights
            if not rows.is_answered:        # one row has it from the beginning
                rows.asked = forest.take(rows, i, n_seen)
            forest.learn_weights(rows, i, answers)
            n_seen += 1


cdef inline double* means_of(const Pass* rows, int i, int n_groups) noexcept nogil:
    """The means of the trees in all groups for row i of a block."""
    return rows.means + <Py_ssize_t>i * n_groups


cdef void average(ExtraTrees forest, Pass* rows, int first, int n) noexcept nogil:
    """Compute the mean of the trees in each group and the variance V, for a block of rows."""
    cdef double[2 * BLOCK] sums         # per row: of the means and variances in the leaves
    cdef double[BLOCK] among
    cdef double deviation
    cdef const double* answers
    cdef PyObject* group
    cdef int g, tree, i, n_trees, n_groups = forest.n_groups()
    memset(rows.variances, 0, n * sizeof(double))
    for g in range(n_groups):
        group = forest.group(g)
        n_trees = (<Group>group).n
        memset(sums, 0, 2 * n * sizeof(double))
        memset(among, 0, n * sizeof(double))
        for tree in range((<Group>group).first, (<Group>group).first + n_trees):
            answers = answers_of(rows, tree, first)
            for i in range(2 * n):
                sums[i] += answers[i] / n_trees
        for tree in range((<Group>group).first, (<Group>group).first + n_trees):
            answers = answers_of(rows, tree, first)
            for i in range(n):
                deviation = answers[2 * i] - sums[2 * i]
                among[i] += deviation * deviation / n_trees
        for i in range(n):
            means_of(rows, i, n_groups)[g] = sums[2 * i]
            rows.variances[i] += (sums[2 * i + 1] + among[i]) / n_groups
