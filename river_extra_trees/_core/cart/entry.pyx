"""The samples of a window enter a tree: each falls to a leaf, and orders are laid out by leaf."""

from libc.stdint cimport uint64_t
from libc.string cimport memset

from .sides cimport TABLE, between
from .workspace cimport VARIANCE, Group, Workspace, is_open


cdef void enter(Workspace work, int root, const int* copies_of_slot) noexcept nogil:
    """Find the leaf of every sample; samples of one leaf are a group."""
    cdef int i, slot, leaf, copies = 1
    cdef Group* group
    cdef double* first = work.centred   # per group, for now: target of its first sample
    memset(work.group_of_leaf, 0xFF, work.trees.n_used * sizeof(int))    # -1 everywhere
    memset(work.sample_of, 0xFF, work.window.capacity * sizeof(int))
    work.n_groups = 0
    work.batch_weight = 0.0
    work.countable = work.criterion != VARIANCE and not work.random
    for i in range(work.n_members):
        slot = work.members[i]
        if copies_of_slot != NULL:
            copies = copies_of_slot[slot]
        work.group[slot] = -1
        if copies == 0:
            continue
        leaf = work.trees.walk(root, work.window.data + slot, work.window.capacity,
                               work.window.n_columns)
        if work.group_of_leaf[leaf] < 0:
            work.group_of_leaf[leaf] = work.n_groups
            group = &work.groups[work.n_groups]
            group.node, group.size, group.copies, group.varies = leaf, 0, 0, False
            first[work.n_groups] = work.window.target[slot]
            work.n_groups += 1
        work.group[slot] = work.group_of_leaf[leaf]
        work.sample_of[slot] = copies   # until `number`
        group = &work.groups[work.group[slot]]
        group.size += 1
        group.copies += copies
        group.varies |= work.window.target[slot] != first[work.group[slot]]
        work.batch_weight += work.window.weight[slot] * copies
        work.countable &= work.window.weight[slot] == 1.0 and copies <= 255


cdef int admit(Workspace work) noexcept nogil:
    """Lay the samples of the groups that can be split into ranges, in every order."""
    cdef int g, i, k, column, n_tasks = 0
    cdef const double* data
    cdef Group* group
    work.n = 0
    for g in range(work.n_groups):
        group = &work.groups[g]
        group.start = -1
        if is_open(work, group.node, group.copies, group.varies or work.reference):
            group.start = work.n
            work.n += group.size
    for g in range(work.n_groups - 1, -1, -1):      # the first group is to be grown first
        group = &work.groups[g]
        if group.start >= 0:
            work.tasks[n_tasks].node = group.node
            work.tasks[n_tasks].start = group.start
            work.tasks[n_tasks].end = group.start + group.size
            work.tasks[n_tasks].copies = group.copies
            work.tasks[n_tasks].n_active = work.n_chosen
            work.tasks[n_tasks].is_new = False
            n_tasks += 1
    if n_tasks == 0:
        return 0
    number(work)
    work.integral = work.countable and work.batch_weight < TABLE
    work.n_bits = 0
    for i in range(work.n_chosen):
        column = work.columns[i]
        work.bit[column] = -1
        if work.countable and not work.nominal[column] and give_bit(work, column):
            continue
        data = work.window.data + <Py_ssize_t>column * work.window.capacity
        for k in range(work.n):
            work.values[<Py_ssize_t>column * work.n + k] = data[work.slot_of[k]]
        lay_out(work, work.window.order + <Py_ssize_t>column * work.window.capacity,
                work.ranked + <Py_ssize_t>column * work.n)
    return n_tasks


cdef void number(Workspace work) noexcept nogil:
    """Number the samples of the admitted groups and copy what there is per sample."""
    cdef int i, g, k, slot, copies
    for g in range(work.n_groups):
        work.spare[g] = work.groups[g].start
    for i in range(work.n_members):
        slot = work.members[i]
        g, copies = work.group[slot], work.sample_of[slot]
        work.sample_of[slot] = -1
        if g < 0 or work.groups[g].start < 0:
            continue
        k = work.spare[g]
        work.spare[g] += 1
        work.sample_of[slot] = work.samples[k] = k
        work.slot_of[k] = slot
        work.copies[k] = copies
        work.target[k] = work.window.target[slot]
        work.mass[k] = work.window.weight[slot] * copies
        if work.criterion != VARIANCE:
            work.code[k] = <int>work.target[k]
    work.n_bytes = work.n_chosen // 8 + 1
    memset(work.bits, 0, <size_t>work.n * work.n_bytes)
    memset(work.lanes, 0, work.trees.n_values * work.n_bytes * sizeof(uint64_t))


cdef void lay_out(Workspace work, const int* order, int* ranked) noexcept nogil:
    """Copy a sorted order of the window, each group to its range."""
    cdef int i = 0, g, k, placed = 0
    if work.n_groups == 1:          # no branch that depends on the sample
        while placed < work.n:
            k = work.sample_of[order[i]]
            ranked[placed] = k
            placed += k >= 0
            i += 1
        return
    for g in range(work.n_groups):
        work.spare[g] = work.groups[g].start
    for i in range(work.window.n_sorted):
        k = work.sample_of[order[i]]
        if k >= 0:
            g = work.group[order[i]]
            ranked[work.spare[g]] = k
            work.spare[g] += 1


cdef bint give_bit(Workspace work, int column) noexcept nogil:
    """If the column has just two values in the window, note which samples have the higher."""
    cdef const double* data = work.window.data + <Py_ssize_t>column * work.window.capacity
    cdef const int* order = work.window.order + <Py_ssize_t>column * work.window.capacity
    cdef int begin = 0, end = work.window.n_sorted - 1, middle, i, k, byte, mask
    cdef double low = data[order[0]], high = data[order[end]]
    if not low < high:              # constant, or missing somewhere
        return False
    while begin < end:              # the first high value
        middle = (begin + end) // 2
        if data[order[middle]] > low:
            end = middle
        else:
            begin = middle + 1
    if data[order[begin]] != high:
        return False
    byte, mask = work.n_bits // 8, 1 << (work.n_bits % 8)
    for i in range(begin, work.window.n_sorted):
        k = work.sample_of[order[i]]
        if k >= 0:
            work.bits[<Py_ssize_t>k * work.n_bytes + byte] |= mask
    work.cuts[work.n_bits] = between(work, low, high)
    work.bit[column] = work.n_bits
    work.n_bits += 1
    return True
