"""Predict rows with a `MemoryForest`. See the header."""

from cpython.object cimport PyObject
from libc.string cimport memset

from ..ahead cimport AHEAD
from ..table cimport Reader
from ..memory cimport free, product, resized
from ..trees cimport Trees
from .compact_trees cimport CompactTrees
from .memories cimport Group, MemoryForest

cdef enum:
    AT_ONCE = 8     # trees that a single row goes down at the same time


cdef int answer_rows(MemoryForest forest, Reader reader, Py_ssize_t stop,
                     int n_labels) except -1 nogil:
    """Predict rows until Python has to look up a value of the next row; see `Learner.run`."""
    cdef int n
    cdef double* answers        # answers[i * n_answers + ...] of row i, see `MemoryForest.answers`
    cdef Py_ssize_t n_answers = <Py_ssize_t>forest.n_members() * forest.n_values()
    forest.reserve_answers(n_labels)
    answers = <double*>resized(NULL, product(AHEAD, n_answers + 1), sizeof(double))
    while reader.row < stop:
        n = reader.read_ahead(stop, 0, forest.regression)
        if n == 0:
            break
        answer_trees(forest, reader, n, answers, n_answers)
        combine_rows(forest, reader, n, answers, n_answers)
        reader.row += n
    free(answers)
    return 0


cdef void answer_trees(MemoryForest forest, Reader reader, int n, double* answers,
                       Py_ssize_t n_answers) noexcept nogil:
    """Let each tree predict the n rows that were read ahead."""
    cdef int g, tree, width = forest.n_values()
    cdef PyObject* group
    memset(answers, 0, n * n_answers * sizeof(double))
    for g in range(forest.n_groups()):
        group = forest.group(g)
        for tree in range((<Group>group).first, (<Group>group).first + (<Group>group).n):
            if forest.regression:
                tree_numbers(forest, tree, <Trees>forest.tree(tree), reader, n,
                             answers + 2 * tree, n_answers)
            else:
                tree_classes((<Group>group).n, <CompactTrees>forest.tree(tree), reader, n,
                             answers + g * width, n_answers, width)


cdef void tree_classes(int n_trees, CompactTrees trees, Reader reader, int n, double* answers,
                       Py_ssize_t n_answers, int width) noexcept nogil:
    """Add the class shares of one of the n_trees trees of a group."""
    cdef int i
    cdef int[AHEAD] leaves
    trees.walk_rows(trees.roots[0], reader.ahead.rows, n, reader.ahead.stride,
                    reader.schema.n_columns, reader.schema.is_numeric(), leaves)
    for i in range(n):
        trees.add_shares(leaves[i], n_trees, width, answers)
        answers += n_answers


cdef void tree_numbers(MemoryForest forest, int tree, Trees trees, Reader reader, int n,
                       double* answers, Py_ssize_t n_answers) noexcept nogil:
    """Write the numbers that a tree predicts."""
    cdef int i
    cdef int[AHEAD] leaves
    trees.walk_rows(trees.roots[0], reader.ahead.rows, n, reader.ahead.stride,
                    reader.schema.n_columns, reader.schema.is_numeric(), leaves)
    for i in range(n):
        forest.tree_number(tree, trees, leaves[i], reader.ahead.rows[i], reader.ahead.stride,
                           answers)
        answers += n_answers


cdef void combine_rows(MemoryForest forest, Reader reader, int n, double* answers,
                       Py_ssize_t n_answers) noexcept nogil:
    """Combine the predictions of the trees for each row, and store the result."""
    cdef int i, width = forest.n_values()
    forest.n_row = -1           # the predictions in the forest will be those of another row
    for i in range(n):
        if forest.regression:
            forest.combine(answers, width)
            reader.answer(reader.row + i, &forest.mixture.mean, 1)
        else:
            reader.ahead.copy(i, forest.schema.row, reader.columns, reader.n_columns)
            if width:
                forest.naive.answer(forest.schema, forest.pool.naive_answer(width))
            forest.combine(answers, width)
            reader.answer(reader.row + i, forest.pool.pooled, width)
        answers += n_answers


cdef void find_leaves(MemoryForest forest) noexcept nogil:
    """Find the leaves that the row encoded last reaches. It goes down several trees at once."""
    cdef int tree = 0, i, n
    cdef bint go
    cdef int* leaves
    cdef (PyObject*)[AT_ONCE] trees
    while tree < forest.n_trees:
        n = min(<int>AT_ONCE, forest.n_trees - tree)
        leaves = forest.reached + tree
        for i in range(n):
            trees[i] = forest.tree(tree + i)
            leaves[i] = (<Trees>trees[i]).roots[0]
        go = True
        while go:
            go = False
            for i in range(n):
                if (<Trees>trees[i]).nodes[leaves[i]].split.feature >= 0:
                    leaves[i] = (<Trees>trees[i]).step(
                        leaves[i], forest.schema.row, 1, forest.schema.n_columns)
                    go = True
        tree += n


cdef void combine_numbers(MemoryForest forest, double* answers) noexcept nogil:
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
    forest.mixture.answer(means, variance)
