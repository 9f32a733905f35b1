"""The growth of one leaf: what its samples are, which columns vary, and whether it is split."""

from libc.float cimport DBL_EPSILON
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy, memset

from ..trees cimport HEADER, WEIGHT
from .candidates cimport find
from .division cimport apply
from .published cimport judged_by
from .sides cimport x_log_x
from .workspace cimport GINI, VARIANCE, Side, Split, Task, Workspace

# A later candidate wins only if it is better by more than this share of the node's weight (or
# score): what rounding could have made of a tie does not decide.
cdef double TIE = 1e-12

# Bit j of b is the lowest bit of byte j of SPREAD[b].
cdef uint64_t[256] SPREAD
for _i in range(256):
    SPREAD[_i] = 0
    for _j in range(8):
        if _i >> _j & 1:
            SPREAD[_i] |= <uint64_t>1 << (8 * _j)


cdef void grow_leaf(Workspace work, Task task, int* n_tasks) noexcept nogil:
    """Split one leaf if a split is found, and leave the open children as new tasks."""
    cdef Split split
    cdef Task left, right
    if work.n_bits:
        count_high(work, &task)
    drop_constant(work, &task)
    if task.n_active == 0:
        return
    weigh_node(work, &task)
    if work.reference:
        work.judged = judged_by(work, task.node)
    split = find(work, &task)
    if split.column < 0 or (
        work.reference
        and work.node.weight / work.batch_weight * split.removed + DBL_EPSILON < 0.0
    ):
        return
    apply(work, &task, &split, &left, &right)
    if right.n_active > 0:
        work.tasks[n_tasks[0]] = right
        n_tasks[0] += 1
    if left.n_active > 0:           # on top: the left side is grown first
        work.tasks[n_tasks[0]] = left
        n_tasks[0] += 1


cdef void drop_constant(Workspace work, Task* task) noexcept nogil:
    """Move the columns that do not vary behind columns[:n_active], keeping the others' order.

    A column that is constant in a node is so below it. The tasks still waiting see the same
    set of columns in front of their own n_active, whatever order this leaves it in.
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
    """Whether a column has two values in a node, or is missing in a part of it."""
    cdef const double* data = work.values + <Py_ssize_t>column * work.n
    cdef const int* ranked = work.ranked + <Py_ssize_t>column * work.n
    cdef double first, last
    cdef int code, n_high = 0
    if work.bit[column] >= 0:
        for code in range(work.trees.n_values):
            n_high += work.high[code * 8 * work.n_bytes + work.bit[column]]
        return 0 < n_high < task.copies
    first, last = data[ranked[task.start]], data[ranked[task.end - 1]]
    return first < last or (last != last and first == first)


cdef void count_high(Workspace work, const Task* task) noexcept nogil:
    """Count per class and two-valued column how many samples of the node have the high value.

    One byte of bits is spread over eight counters at once, which are emptied before any of
    them could overflow.
    """
    cdef int i, k, byte, weight = 0
    cdef const uint8_t* bits
    cdef uint64_t* lanes
    memset(work.high, 0, 8 * work.trees.n_values * work.n_bytes * sizeof(int))
    for i in range(task.start, task.end):
        k = work.samples[i]
        weight += work.copies[k]
        if weight > 255:
            empty_lanes(work)
            weight = work.copies[k]
        bits = work.bits + <Py_ssize_t>k * work.n_bytes
        lanes = work.lanes + work.code[k] * work.n_bytes
        for byte in range(work.n_bytes):
            lanes[byte] += SPREAD[bits[byte]] * <uint64_t>work.copies[k]
    empty_lanes(work)


cdef void empty_lanes(Workspace work) noexcept nogil:
    """Add the small counters to the large ones."""
    cdef int i, j
    cdef uint64_t lane
    for i in range(work.trees.n_values * work.n_bytes):
        lane = work.lanes[i]
        if lane:
            work.lanes[i] = 0
            for j in range(8):
                work.high[8 * i + j] += (lane >> (8 * j)) & 255


cdef void weigh_node(Workspace work, const Task* task) noexcept nogil:
    """Totals of the node; for a regression, the targets less their mean."""
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
    else:                           # the leaf may hold earlier samples too
        node.weight = 0.0
        memset(node.counts, 0, work.trees.n_values * sizeof(double))
        for i in range(task.start, task.end):
            node.weight += work.mass[work.samples[i]]
            node.counts[work.code[work.samples[i]]] += work.mass[work.samples[i]]
    work.tie = 0.0 if work.exact else TIE * node.weight
    for code in range(work.trees.n_values):
        if work.criterion == GINI:
            node.score += node.counts[code] * node.counts[code]
        else:
            node.score += x_log_x(node.counts[code])


cdef void centre(Workspace work, const Task* task) noexcept nogil:
    """Totals of the node in a regression, and the targets less their mean."""
    cdef int i, slot
    cdef double mean = 0.0, mass
    cdef Side* node = &work.node
    cdef const double* target = work.target
    node.weight, node.score, node.copies = 0.0, 0.0, task.copies
    work.spread = 0.0
    for i in range(task.start, task.end):
        slot = work.samples[i]
        mass = work.mass[slot]
        node.weight += mass
        mean += mass * (target[slot] - mean) / node.weight
    for i in range(task.start, task.end):
        slot = work.samples[i]
        work.centred[slot] = target[slot] - mean
        node.score += work.mass[slot] * work.centred[slot]
        work.spread += work.mass[slot] * work.centred[slot] * work.centred[slot]
    work.tie = 0.0 if work.exact else TIE * work.spread
