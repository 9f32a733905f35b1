"""The growth of the leaves of a tree. See the header of `workspace` for the layout.

The samples are assigned to leaves, and each leaf that may be split becomes a task. If a task finds
a split, the children that may be split become new tasks.
"""

cimport cython
from libc.float cimport DBL_EPSILON
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from ..rng cimport Rng
from ..schema cimport Schema
from ..split cimport ENTROPY, GINI, VARIANCE, Candidate, Split, goes_left
from ..trees cimport GAIN, HEADER, VISITED, WEIGHT, Node
from .published cimport published_impurity_before
from .search cimport find_split, node_score, x_log_x
from .workspace cimport FORGETFUL, NONE, STREAM, Side, Task, Workspace
from .workspace cimport assign_leaves, count_missing, is_open, is_ranked, make_tasks

cdef dict CRITERIA = {"gini": GINI, "entropy": ENTROPY, "variance": VARIANCE}
cdef dict SPLITTERS = {"best": False, "random": True}
cdef dict PROGRAMS = {None: NONE, "stream": STREAM, "forgetful": FORGETFUL}

# A later candidate must be better by more than this share of the node's weight (or score), so that
# rounding does not break ties.
cdef double TIE = 1e-12

# Bit j of b is the lowest bit of byte j of SPREAD[b].
cdef uint64_t[256] SPREAD
for _i in range(256):
    SPREAD[_i] = 0
    for _j in range(8):
        if _i >> _j & 1:
            SPREAD[_i] |= <uint64_t>1 << (8 * _j)


@cython.final
cdef class Splitter(Workspace):
    """Rules of growth, and the growth itself.

    A leaf is split if its targets differ and the rules allow it, even if no split decreases the
    impurity, because two features may be useful only together. Candidate thresholds are the
    midpoints of adjacent values; `x <= threshold` goes left. A nominal feature is split into one
    value, which goes left, and the rest. If the node has missing values, each threshold is tried
    with them on the right, then on the left, and at last all present values are split from the
    missing ones. If it has none, later missing values go to the heavier child. Ties are broken
    by the lower column, then missing values on the right, then the lower threshold. Scores within a
    relative tolerance of 1e-12 count as equal, so that rounding has no effect.

    Parameters
    ----------
    criterion
        `"gini"`, `"entropy"` or `"variance"`.
    max_depth
        Maximum depth of a tree; `None` for no limit.
    min_samples_split
        Minimum number of samples of a node that is split, with the copies of a bootstrap.
    min_samples_leaf
        Minimum number of samples on either side of a split, with copies.
    splitter
        `"best"`, or `"random"` for one uniformly drawn threshold per visited feature.
    shuffled
        Visit the features in random order even if all are visited; the order breaks ties.
    published
        Published program whose splits are reproduced. Scores are then computed with its arithmetic
        and compared exactly, so that rounding breaks ties as it did there. `"stream"`: the split of
        an existing leaf must not increase the impurity of its parent instead of its own. So the
        leaf is split even if its targets are equal, but not if the children are less pure than the
        parent. `"forgetful"`: a threshold is the largest value that goes left.
    support
        What the split of one of many nominal values (more than 16) must achieve per level of its
        depth: the share of the impurity that it removes, times the number of samples. Without it,
        trees on such features become long chains, in which each node separates one value.
    """

    def __init__(self, criterion, max_depth=None, min_samples_split=2, min_samples_leaf=1,
                 splitter="best", shuffled=False, published=None, support=0.0):
        self.criterion = CRITERIA[criterion]
        self.random = SPLITTERS[splitter]
        self.max_depth = 0x7FFFFFFF if max_depth is None else max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.shuffled = shuffled
        self.published = PROGRAMS[published]
        self.support = support

    def __reduce__(self):
        return Splitter, (
            ("gini", "entropy", "variance")[self.criterion], self.max_depth,
            self.min_samples_split, self.min_samples_leaf, "random" if self.random else "best",
            self.shuffled, (None, "stream", "forgetful")[self.published], self.support,
        )

    cdef int grow(self, int root, Schema schema, const int* copies, int max_features, double step,
                  Rng rng, const uint8_t* chosen=NULL, const int* members=NULL, int n_members=0,
                  const int* leaves=NULL) except -1 nogil:
        """Grow the leaves of `trees` below `root` that the samples of `window` reach.

        The growth uses the sorted samples or, if no sample is sorted, all samples. The statistics
        of existing nodes must contain them already (`Trees.learn`); new nodes get the statistics of
        the samples in the window. Optional arrays: `copies`, per slot the number of copies of the
        sample (NULL: one each); `chosen`, per column whether it may be split (NULL: all);
        `members`, the slots of the samples in the tree in order of arrival (NULL: all samples with
        copies); `leaves`, per slot the leaf that the sample reaches, -1 if unknown.

        Returns the number of leaves that were split.
        """
        cdef int n_tasks, before = self.trees.n_used - self.trees.n_free
        self.prepare(schema, chosen, members, n_members)
        self.step, self.rng = step, rng
        self.max_features = max_features if max_features > 0 else self.n_chosen
        assign_leaves(self, root, copies, leaves)
        n_tasks = make_tasks(self)
        while n_tasks > 0:
            n_tasks -= 1
            grow_leaf(self, self.tasks[n_tasks], &n_tasks)
        return (self.trees.n_used - self.trees.n_free - before) // 2


# --- Split of a leaf ------------------------------------------------------------------------------


cdef void grow_leaf(Workspace work, Task task, int* n_tasks) noexcept nogil:
    """Split one leaf if a split is found, and add the children that may be split as tasks."""
    cdef Candidate best
    cdef Task left, right
    if work.n_bits:
        count_high(work, &task)
    drop_constant(work, &task)
    if task.n_active == 0:
        return
    weigh_node(work, &task)
    if work.published == STREAM:
        work.impurity_before = published_impurity_before(work, task.node)
    best = find_split(work, &task)
    if best.split.feature < 0 or (
        work.published == STREAM
        and work.node.weight / work.batch_weight * work.removed + DBL_EPSILON < 0.0
    ):
        return
    divide(work, &task, &best, &left, &right)
    if right.n_active > 0:
        work.tasks[n_tasks[0]] = right
        n_tasks[0] += 1
    if left.n_active > 0:           # on top: the left side is grown first
        work.tasks[n_tasks[0]] = left
        n_tasks[0] += 1


cdef void drop_constant(Workspace work, Task* task) noexcept nogil:
    """Move the constant columns behind columns[:n_active]; the order of the others is kept.

    A column that is constant in a node is constant in its descendants. Waiting tasks still have the
    same set of columns in columns[:n_active], with their own n_active; only the order changes.
    """
    cdef int i, column, kept = 0, dropped = 0
    for i in range(task.n_active):
        column = work.columns[i]
        if varies(work, task, column):
            work.columns[kept] = column
            kept += 1
        else:
            work.spare[dropped] = column
            dropped += 1
    memcpy(work.columns + kept, work.spare, dropped * sizeof(int))
    task.n_active = kept


cdef bint varies(Workspace work, const Task* task, int column) noexcept nogil:
    """Whether a column has two values in a node, or is missing in some of its samples."""
    cdef const double* data = work.values + <Py_ssize_t>column * work.n
    cdef const int* ranked = work.ranked + <Py_ssize_t>column * work.n
    cdef double first, last
    cdef int code, i
    cdef int64_t n_high = 0
    if work.bit[column] >= 0:
        for code in range(work.trees.n_values):
            n_high += work.high[code * 8 * work.n_bytes + work.bit[column]]
        return 0 < n_high < task.copies
    if not is_ranked(work, task):
        first = data[work.samples[task.start]]
        for i in range(task.start + 1, task.end):
            last = data[work.samples[i]]
            if last != first and (last == last or first == first):
                return True
        return False
    first, last = data[ranked[task.start]], data[ranked[task.end - 1]]
    return first < last or (last != last and first == first)


cdef void count_high(Workspace work, const Task* task) noexcept nogil:
    """Count the samples of the node with the high value, per class and two-valued column.

    One addition adds a byte of bits to eight counters of 8 bits. They are added to `high` before
    any of them can overflow.
    """
    cdef int i, k, copies = 0
    cdef Py_ssize_t byte
    cdef const uint8_t* bits
    cdef uint64_t* counters
    memset(work.high, 0, 8 * work.trees.n_values * work.n_bytes * sizeof(int))
    for i in range(task.start, task.end):
        k = work.samples[i]
        copies += work.copies[k]
        if copies > 255:
            flush_counters(work)
            copies = work.copies[k]
        bits = work.bits + k * work.n_bytes
        counters = work.counters + work.code[k] * work.n_bytes
        for byte in range(work.n_bytes):
            counters[byte] += SPREAD[bits[byte]] * <uint64_t>work.copies[k]
    flush_counters(work)


cdef void flush_counters(Workspace work) noexcept nogil:
    """Add the counters of 8 bits to `high`, and reset them."""
    cdef Py_ssize_t i, j
    cdef uint64_t counters
    for i in range(work.trees.n_values * work.n_bytes):
        counters = work.counters[i]
        if counters:
            work.counters[i] = 0
            for j in range(8):
                work.high[8 * i + j] += (counters >> (8 * j)) & 255


cdef void weigh_node(Workspace work, const Task* task) noexcept nogil:
    """Compute the totals of the node; in a regression also the centred targets."""
    cdef Side* node = &work.node
    cdef const double* row = work.trees.row(task.node)
    cdef int i, code
    if work.criterion == VARIANCE:
        centre(work, task)
        return
    node.copies, node.score = task.copies, 0.0
    if task.is_new:
        node.weight = row[WEIGHT]
        memcpy(node.counts, row + HEADER, work.trees.n_values * sizeof(double))
    else:                           # the statistics may include earlier samples
        node.weight = 0.0
        memset(node.counts, 0, work.trees.n_values * sizeof(double))
        for i in range(task.start, task.end):
            node.weight += work.mass[work.samples[i]]
            node.counts[work.code[work.samples[i]]] += work.mass[work.samples[i]]
    work.tie = TIE * node.weight if work.published == NONE else 0.0
    for code in range(work.trees.n_values):
        if work.criterion == GINI:
            node.score += node.counts[code] * node.counts[code]
        else:
            node.score += x_log_x(node.counts[code])


cdef void centre(Workspace work, const Task* task) noexcept nogil:
    """Compute the totals of the node and the centred targets in a regression."""
    cdef int i, k
    cdef double mean = 0.0, mass
    cdef Side* node = &work.node
    cdef const double* target = work.target
    node.weight, node.score, node.copies = 0.0, 0.0, task.copies
    work.spread = 0.0
    for i in range(task.start, task.end):
        k = work.samples[i]
        mass = work.mass[k]
        node.weight += mass
        mean += mass * (target[k] - mean) / node.weight
    for i in range(task.start, task.end):
        k = work.samples[i]
        work.centred[k] = target[k] - mean
        node.score += work.mass[k] * work.centred[k]
        work.spread += work.mass[k] * work.centred[k] * work.centred[k]
    work.tie = TIE * work.spread if work.published == NONE else 0.0


# --- Creation of the children ---------------------------------------------------------------------


cdef void divide(Workspace work, const Task* task, const Candidate* best, Task* left,
                 Task* right) noexcept nogil:
    """Create the children of a leaf with their statistics, and partition every order.

    n_active = 0 marks a child that must not be split.
    """
    cdef Node* node = &work.trees.nodes[task.node]
    left.node = work.trees.new_node(task.node, node.depth + 1)
    right.node = work.trees.new_node(task.node, node.depth + 1)
    node.split = best.split
    node.split.feature = work.name[best.split.feature]
    node.left, node.right = left.node, right.node
    work.trees.row(task.node)[GAIN] = best.score - node_score(work)
    left.is_new = right.is_new = True
    left.start, right.end = task.start, task.end
    fill_children(work, task, best, left, right)
    left.n_active = task.n_active if left.n_active else 0
    right.n_active = task.n_active if right.n_active else 0
    if count_missing(work, task, best.split.feature) == 0:
        node.split.missing_left = (work.trees.row(left.node)[WEIGHT]
                                   >= work.trees.row(right.node)[WEIGHT])
    if left.n_active or right.n_active:
        partition_all(work, task, best, left, right)


cdef void fill_children(Workspace work, const Task* task, const Candidate* best, Task* left,
                        Task* right) noexcept nogil:
    """Set the statistics of both sides, and n_active = 0 for a side that must not be split."""
    cdef int n_left = mark_sides(work, task, &best.split)
    cdef bint[2] varies
    if work.trees.regression:
        fill_numbers(work, task, left, right, varies)
    else:
        fill_classes(work, task, left, right, varies)
    work.trees.row(left.node)[VISITED] = work.trees.row(right.node)[VISITED] = work.step
    left.end = right.start = task.start + n_left
    right.copies = task.copies - left.copies
    left.n_active = is_open(work, left.node, left.copies, varies[1])
    right.n_active = is_open(work, right.node, right.copies, varies[0])


cdef int mark_sides(Workspace work, const Task* task, const Split* split) noexcept nogil:
    """Mark the side of each sample; return the number of samples on the left."""
    cdef const double* data = work.values + <Py_ssize_t>split.feature * work.n
    cdef double threshold = split.threshold
    cdef int bit = work.bit[split.feature], byte, mask, i, k, n_left = 0
    if bit >= 0:
        byte, mask = bit // 8, 1 << (bit % 8)
        for i in range(task.start, task.end):
            k = work.samples[i]
            work.goes_left[k] = not work.bits[k * work.n_bytes + byte] & mask
            n_left += work.goes_left[k]
    elif split.nominal or split.missing_left:
        for i in range(task.start, task.end):
            k = work.samples[i]
            work.goes_left[k] = goes_left(split, data[k])
            n_left += work.goes_left[k]
    else:
        for i in range(task.start, task.end):
            k = work.samples[i]
            work.goes_left[k] = data[k] <= threshold    # a missing value: no
            n_left += work.goes_left[k]
    return n_left


cdef void fill_classes(Workspace work, const Task* task, Task* left, Task* right,
                       bint* varies) noexcept nogil:
    cdef (double*)[2] rows
    cdef int i, k, side, code, n_classes
    cdef int64_t copies = 0
    cdef double mass
    rows[0], rows[1] = work.trees.row(right.node), work.trees.row(left.node)
    for i in range(task.start, task.end):
        k = work.samples[i]
        side = work.goes_left[k]
        mass = work.mass[k]
        rows[side][HEADER + work.code[k]] += mass
        rows[side][WEIGHT] += mass
        copies += side * work.copies[k]
    left.copies = copies
    for side in range(2):
        n_classes = 0
        for code in range(work.trees.n_values):
            n_classes += rows[side][HEADER + code] > 0.0
        varies[side] = n_classes > 1


cdef void fill_numbers(Workspace work, const Task* task, Task* left, Task* right,
                       bint* varies) noexcept nogil:
    cdef int i, k, side
    cdef int[2] child, n
    cdef double[2] first
    child[0], child[1] = right.node, left.node
    n[0] = n[1] = 0
    varies[0] = varies[1] = False
    left.copies = 0
    for i in range(task.start, task.end):
        k = work.samples[i]
        side = work.goes_left[k]
        if n[side] == 0:
            first[side] = work.target[k]
        n[side] += 1
        varies[side] |= work.target[k] != first[side]
        left.copies += side * work.copies[k]
        work.trees.add_number(child[side], work.target[k], work.mass[k], work.step)


cdef bint is_kept(Workspace work, const Task* child) noexcept nogil:
    """Whether a child needs the sorted orders of its samples."""
    return child.n_active > 0 and is_ranked(work, child)


cdef void partition_all(Workspace work, const Task* task, const Candidate* best, const Task* left,
                        const Task* right) noexcept nogil:
    """Partition every order. The order of the split column is mostly partitioned already."""
    cdef int i, column
    partition(work, work.samples, task)
    if not (is_kept(work, left) or is_kept(work, right)):
        return
    for i in range(task.n_active):
        column = work.columns[i]
        if work.bit[column] >= 0:
            continue
        if (column != best.split.feature or best.split.nominal or best.split.missing_left):
            partition(work, work.ranked + <Py_ssize_t>column * work.n, task)


cdef void partition(Workspace work, int* samples, const Task* task) noexcept nogil:
    """Stable partition, left samples first; no branch depends on a sample."""
    cdef int i, k, side, kept = task.start, moved = 0
    for i in range(task.start, task.end):
        k = samples[i]
        side = work.goes_left[k]
        samples[kept] = k
        work.spare[moved] = k
        kept += side
        moved += 1 - side
    memcpy(samples + kept, work.spare, moved * sizeof(int))
