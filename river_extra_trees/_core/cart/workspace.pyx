"""The scratch memory of one growth, and how it is filled. See the header for its contents."""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memset

from ..memory cimport free, product, raise_memory_error, zeroed
from ..schema cimport Schema


cdef size_t take(size_t* end, size_t n, size_t size) except? 0 nogil:
    """The address of n items at the end of what was taken so far; a MemoryError if none is left."""
    cdef size_t begin = end[0], bytes = product(n, size)
    if begin > <size_t>-1 - bytes:
        raise_memory_error()
    end[0] = begin + bytes
    return begin


cdef class Workspace:
    """Rules of growth, and scratch memory that serves one growth after the other."""

    def __dealloc__(self):
        free(self.block)

    def __sizeof__(self):
        return object.__sizeof__(self) + self.block_bytes

    cdef int reserve(self, size_t n_nodes, size_t n, size_t n_slots, size_t n_columns,
                     size_t n_classes) except -1 nogil:
        """Lay out the memory for growing a tree that has room for n_nodes on n samples."""
        cdef size_t bytes = self.lay_out(n_nodes, n, n_slots, n_columns, n_classes)
        if bytes > self.block_bytes:
            bytes += bytes // 2
            free(self.block)
            self.block, self.block_bytes = NULL, 0
            self.block = <char*>zeroed(bytes, 1)
            self.block_bytes = bytes
            self.lay_out(n_nodes, n, n_slots, n_columns, n_classes)
        return 0

    cdef size_t lay_out(self, size_t n_nodes, size_t n, size_t n_slots, size_t n_columns,
                        size_t n_classes) except 0 nogil:
        """Divide the block, the parts of strictest alignment first; return the bytes needed."""
        cdef size_t n_bytes = n_columns // 8 + 1
        cdef size_t begin = <size_t>self.block, end = begin
        self.values = <double*>take(&end, product(n_columns, n), sizeof(double))
        self.target = <double*>take(&end, n, sizeof(double))
        self.mass = <double*>take(&end, n, sizeof(double))
        self.centred = <double*>take(&end, n, sizeof(double))
        self.counts = <double*>take(&end, product(3, n_classes), sizeof(double))
        self.waiting = <double*>take(&end, n_classes, sizeof(double))
        self.cuts = <double*>take(&end, n_columns, sizeof(double))
        self.counters = <uint64_t*>take(&end, product(n_classes, n_bytes), sizeof(uint64_t))
        self.groups = <Group*>take(&end, n, sizeof(Group))
        self.tasks = <Task*>take(&end, n + 1, sizeof(Task))
        self.ranked = <int*>take(&end, product(n_columns, n), sizeof(int))
        self.samples = <int*>take(&end, n, sizeof(int))
        self.copies = <int*>take(&end, n, sizeof(int))
        self.code = <int*>take(&end, n, sizeof(int))
        self.slot_of = <int*>take(&end, n, sizeof(int))
        self.group = <int*>take(&end, n_slots, sizeof(int))
        self.sample_of = <int*>take(&end, n_slots, sizeof(int))
        self.columns = <int*>take(&end, n_columns, sizeof(int))
        self.bit = <int*>take(&end, n_columns, sizeof(int))
        self.spare = <int*>take(&end, max(n, n_columns), sizeof(int))
        self.group_of_leaf = <int*>take(&end, n_nodes, sizeof(int))
        self.high = <int*>take(&end, product(n_classes, 8 * n_bytes), sizeof(int))
        self.nominal = <uint8_t*>take(&end, n_columns, 1)
        self.goes_left = <uint8_t*>take(&end, n, 1)
        self.bits = <uint8_t*>take(&end, product(n, n_bytes), 1)
        self.left.counts = self.counts
        self.right.counts = self.counts + n_classes
        self.node.counts = self.counts + 2 * n_classes
        return end - begin

    cdef int prepare(self, Schema schema, const uint8_t* chosen, const int* members,
                     int n_members) except -1 nogil:
        """Make room in the tree and in the scratch memory, and fill in what is known per column."""
        cdef int i
        self.members = members if members != NULL else self.window.by_arrival
        self.n_members = n_members if members != NULL else self.window.n_sorted
        self.trees.reserve(2 * <Py_ssize_t>self.n_members, self.trees.n_values)
        self.reserve(self.trees.capacity, self.window.n_sorted, self.window.capacity,
                     self.window.n_columns, self.trees.n_values)
        self.n_columns = self.window.n_columns
        self.n_chosen = 0
        for i in range(self.n_columns):
            self.nominal[i] = schema.has_codes(i)
            if chosen == NULL or chosen[i]:
                self.columns[self.n_chosen] = i
                self.n_chosen += 1
        return 0


# --- Samples fall to leaves -----------------------------------------------------------------------


cdef void assign_leaves(Workspace work, int root, const int* copies_of_slot) noexcept nogil:
    """Find the leaf of every sample; samples of one leaf are a group."""
    cdef int i, slot, leaf, copies = 1
    cdef Group* group
    cdef double* first = work.centred   # per group, for now: target of its first sample
    memset(work.group_of_leaf, 0xFF, work.trees.n_used * sizeof(int))    # -1 everywhere
    memset(work.sample_of, 0xFF, work.window.capacity * sizeof(int))
    work.n_groups = 0
    work.batch_weight = 0.0
    work.unit_weights = work.criterion != VARIANCE and not work.random
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
        work.sample_of[slot] = copies   # until `number_samples`
        group = &work.groups[work.group[slot]]
        group.size += 1
        group.copies += copies
        group.varies |= work.window.target[slot] != first[work.group[slot]]
        work.batch_weight += work.window.weight[slot] * copies
        work.unit_weights &= work.window.weight[slot] == 1.0 and copies <= 255


cdef int make_tasks(Workspace work) noexcept nogil:
    """Lay the samples of the groups that can be split into ranges, in every order."""
    cdef int g, i, k, column, n_tasks = 0
    cdef const double* data
    cdef Group* group
    cdef Task* task
    work.n = 0
    for g in range(work.n_groups):
        group = &work.groups[g]
        group.start = -1
        if is_open(work, group.node, group.copies, group.varies or work.program == STREAM):
            group.start = work.n
            work.n += group.size
    for g in range(work.n_groups - 1, -1, -1):      # the first group is to be grown first
        group = &work.groups[g]
        if group.start >= 0:
            task = &work.tasks[n_tasks]
            task.node, task.start, task.end = group.node, group.start, group.start + group.size
            task.copies, task.n_active, task.is_new = group.copies, work.n_chosen, False
            n_tasks += 1
    if n_tasks == 0:
        return 0
    number_samples(work)
    work.in_table = work.unit_weights and work.batch_weight < TABLE
    work.n_bits = 0
    for i in range(work.n_chosen):
        column = work.columns[i]
        work.bit[column] = -1
        if work.unit_weights and not work.nominal[column] and give_bit(work, column):
            continue
        data = work.window.data + <Py_ssize_t>column * work.window.capacity
        for k in range(work.n):
            work.values[<Py_ssize_t>column * work.n + k] = data[work.slot_of[k]]
        rank_by_group(work, work.window.order + <Py_ssize_t>column * work.window.capacity,
                      work.ranked + <Py_ssize_t>column * work.n)
    return n_tasks


cdef void number_samples(Workspace work) noexcept nogil:
    """Number the samples of the groups to be grown and copy what there is per sample."""
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
    memset(work.bits, 0, work.n * work.n_bytes)
    memset(work.counters, 0, work.trees.n_values * work.n_bytes * sizeof(uint64_t))


cdef void rank_by_group(Workspace work, const int* order, int* ranked) noexcept nogil:
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
    cdef int begin = 0, end = work.window.n_sorted - 1, middle, i, k, mask
    cdef Py_ssize_t byte
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
            work.bits[k * work.n_bytes + byte] |= mask
    work.cuts[work.n_bits] = threshold_between(work, low, high)
    work.bit[column] = <int>work.n_bits
    work.n_bits += 1
    return True
