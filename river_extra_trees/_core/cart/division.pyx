"""Carrying a split out: the leaf gets its children, and every order is partitioned."""

from libc.string cimport memcpy

from ..trees cimport GAIN, HEADER, VISITED, WEIGHT, Node
from .candidates cimport count_missing
from .sides cimport node_score
from .workspace cimport Split, Task, Workspace, is_open


cdef void apply(Workspace work, const Task* task, const Split* split, Task* left,
                Task* right) noexcept nogil:
    """Give the leaf its children, with their statistics, and partition every order.

    A child that is not to be grown is told by n_active = 0.
    """
    cdef Node* node = &work.trees.nodes[task.node]
    left.node = work.trees.new_node(task.node, node.depth + 1)
    right.node = work.trees.new_node(task.node, node.depth + 1)
    node.feature, node.threshold = split.column, split.threshold
    node.nominal, node.missing_left = split.nominal, split.missing_left
    node.left, node.right = left.node, right.node
    work.trees.row(task.node)[GAIN] = split.score - node_score(work)
    left.is_new = right.is_new = True
    left.start, right.end = task.start, task.end
    deal(work, task, left, right)
    left.n_active = task.n_active if left.n_active else 0
    right.n_active = task.n_active if right.n_active else 0
    if count_missing(work, task, split.column) == 0:
        node.missing_left = (work.trees.row(left.node)[WEIGHT]
                             >= work.trees.row(right.node)[WEIGHT])
    if left.n_active or right.n_active:
        partition_all(work, task, split)


cdef void deal(Workspace work, const Task* task, Task* left, Task* right) noexcept nogil:
    """Fill the statistics of both sides, and say in n_active whether they may be grown."""
    cdef int n_left = mark_sides(work, task)
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


cdef int mark_sides(Workspace work, const Task* task) noexcept nogil:
    """Write to `left` on which side of the split each sample is; return how many are left."""
    cdef const Node* node = &work.trees.nodes[task.node]
    cdef const double* data = work.values + <Py_ssize_t>node.feature * work.n
    cdef double threshold = node.threshold
    cdef int bit = work.bit[node.feature], byte, mask, i, k, n_left = 0
    if bit >= 0:
        byte, mask = bit // 8, 1 << (bit % 8)
        for i in range(task.start, task.end):
            k = work.samples[i]
            work.left[k] = not work.bits[<Py_ssize_t>k * work.n_bytes + byte] & mask
            n_left += work.left[k]
    elif node.nominal or node.missing_left:
        for i in range(task.start, task.end):
            k = work.samples[i]
            work.left[k] = work.trees.goes_left(task.node, data[k])
            n_left += work.left[k]
    else:
        for i in range(task.start, task.end):
            k = work.samples[i]
            work.left[k] = data[k] <= threshold     # a missing value: no
            n_left += work.left[k]
    return n_left


cdef void fill_classes(Workspace work, const Task* task, Task* left, Task* right,
                       bint* varies) noexcept nogil:
    cdef (double*)[2] rows
    cdef int i, k, side, code, n_classes, copies = 0
    cdef double mass
    rows[0], rows[1] = work.trees.row(right.node), work.trees.row(left.node)
    for i in range(task.start, task.end):
        k = work.samples[i]
        side = work.left[k]
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
        side = work.left[k]
        if n[side] == 0:
            first[side] = work.target[k]
        n[side] += 1
        varies[side] |= work.target[k] != first[side]
        left.copies += side * work.copies[k]
        work.trees.add_number(child[side], work.target[k], work.mass[k], work.step)


cdef void partition_all(Workspace work, const Task* task, const Split* split) noexcept nogil:
    """Bring every order in line with the split. That of its own column mostly is already."""
    cdef int i, column
    partition(work, work.samples, task)
    for i in range(task.n_active):
        column = work.columns[i]
        if work.bit[column] >= 0:
            continue
        if column != split.column or split.nominal or split.missing_left:
            partition(work, work.ranked + <Py_ssize_t>column * work.n, task)


cdef void partition(Workspace work, int* slots, const Task* task) noexcept nogil:
    """Left samples first, both sides in the order they had; no branch depends on a sample."""
    cdef int i, slot, side, kept = task.start, moved = 0
    for i in range(task.start, task.end):
        slot = slots[i]
        side = work.left[slot]
        slots[kept] = slot
        work.spare[moved] = slot
        kept += side
        moved += 1 - side
    memcpy(slots + kept, work.spare, moved * sizeof(int))
