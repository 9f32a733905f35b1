"""Predict the rows of a batch with a `MemoryForest`, several at once. See the header."""

from cpython.object cimport PyObject
from libc.string cimport memset

from ..batch cimport Reader
from ..memory cimport free, product, resized
from ..shares cimport first_largest
from ..trees cimport Trees
from .compact_trees cimport CompactTrees
from .memories cimport Group, MemoryForest

cdef enum:
    AT_ONCE = 8             # walks down trees at the same time
    MOST_ROWS = 256         # rows of a block
    MOST_CELLS = 1 << 17    # doubles of a block, unless AT_ONCE rows need more

cdef struct Block:          # rows of a batch, and the predictions of the trees for them
    int n                   # number of rows
    Py_ssize_t n_columns
    double* rows            # rows[i * n_columns + column]
    Py_ssize_t n_answers
    double* answers         # answers[i * n_answers + ...]: see `MemoryForest.answers`


cdef int answer_rows(MemoryForest forest, Reader reader, Py_ssize_t stop,
                     int n_labels) except -1 nogil:
    """Predict rows until one has a value to look up; see `Learner.run`."""
    cdef Block block
    cdef int most
    cdef double* cells
    block.n_columns = forest.schema.n_columns
    block.n_answers = <Py_ssize_t>forest.n_members() * forest.n_values()
    most = <int>min(max(MOST_CELLS // (block.n_columns + block.n_answers + 1),
                        <Py_ssize_t>AT_ONCE), <Py_ssize_t>MOST_ROWS, stop - reader.row)
    forest.reserve_answers(n_labels)
    cells = <double*>resized(
        NULL, product(most, block.n_columns + block.n_answers + 1), sizeof(double))
    block.rows = cells
    block.answers = cells + most * block.n_columns
    while reader.row < stop:
        read_rows(&block, reader, min(<Py_ssize_t>most, stop - reader.row))
        if block.n == 0:
            break
        answer_block(forest, &block, reader, n_labels)
    free(cells)
    return 0


cdef void read_rows(Block* block, Reader reader, Py_ssize_t most) noexcept nogil:
    """Read at most so many rows, without one that has a value to look up."""
    cdef Py_ssize_t start = reader.row
    block.n = 0
    while block.n < most:
        reader.encode_into(block.rows + block.n * block.n_columns)
        if reader.finds:
            break
        block.n += 1
        reader.row += 1
    reader.row = start


cdef void answer_block(MemoryForest forest, Block* block, Reader reader,
                       int n_labels) noexcept nogil:
    """Predict the rows of a block, and store the predictions."""
    cdef int i, width = forest.n_values()
    cdef double* answers = block.answers
    forest.n_row = -1           # the members of the mixture predict other rows
    answer_trees(forest, block, width)
    for i in range(block.n):
        if width and not forest.regression:
            forest.naive.answer(
                block.rows + i * block.n_columns, forest.pool.naive_answer(width))
        forest.combine(answers, width)
        if reader.asks_numbers:
            reader.number_answers[reader.row] = forest.mixture.mean
        elif reader.asks_shares:
            reader.put_shares(forest.pool.pooled, n_labels)
        else:
            reader.label_answers[reader.row] = (
                first_largest(forest.pool.pooled, n_labels) if n_labels else -1)
        answers += block.n_answers
        reader.row += 1


cdef void answer_trees(MemoryForest forest, Block* block, int width) noexcept nogil:
    """Let each tree predict all rows of a block."""
    cdef int g, tree
    cdef PyObject* group
    memset(block.answers, 0, block.n * block.n_answers * sizeof(double))
    for g in range(forest.n_groups()):
        group = forest.group(g)
        for tree in range(max((<Group>group).first, forest.first_tree),
                          min((<Group>group).first + (<Group>group).n, forest.stop_tree)):
            answer_tree(forest, block, tree, <Trees>forest.tree(tree), (<Group>group).n,
                        2 * tree if forest.regression else g * width, width)


cdef void answer_tree(MemoryForest forest, Block* block, int tree, Trees trees, int n_trees,
                      int place, int width) noexcept nogil:
    """Let one of the n_trees trees of a group predict the rows; `place`: where in the answers."""
    cdef int start = 0, i, n
    cdef double* answers = block.answers + place
    cdef (const double*)[AT_ONCE] rows
    cdef int[AT_ONCE] leaves
    while start < block.n:
        n = min(<int>AT_ONCE, block.n - start)
        for i in range(n):
            rows[i] = block.rows + (start + i) * block.n_columns
        trees.walk_rows(trees.roots[0], rows, n, 1, block.n_columns, leaves)
        for i in range(n):
            if forest.regression:
                forest.tree_number(tree, trees, leaves[i], rows[i], answers)
            else:
                (<CompactTrees>trees).add_shares(leaves[i], n_trees, width, answers)
            answers += block.n_answers
        start += n


cdef void find_leaves(MemoryForest forest) noexcept nogil:
    """Find the leaves that the row encoded last reaches. It goes down several trees at once."""
    cdef int tree = forest.first_tree, i, n
    cdef bint go
    cdef int* leaves
    cdef (PyObject*)[AT_ONCE] trees
    while tree < forest.stop_tree:
        n = min(<int>AT_ONCE, forest.stop_tree - tree)
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
