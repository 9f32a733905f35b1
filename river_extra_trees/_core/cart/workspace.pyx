"""The scratch memory of one growth, and the functions that fill it. See the header."""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from ..ahead cimport AHEAD
from ..memory cimport free, product, raise_memory_error, resized
from ..schema cimport Schema
from ..sorting cimport sort_codes, sort_slots
from ..split cimport VARIANCE


cdef size_t take(size_t* end, size_t n, size_t size) except? 0 nogil:
    """Reserve n items at the end of the block; return their offset. Raises a MemoryError."""
    cdef size_t begin = end[0], bytes = product(n, size)
    if begin > <size_t>-1 - bytes:
        raise_memory_error()
    end[0] = begin + bytes
    return begin


cdef class Workspace:
    """Rules of growth, and scratch memory that is used again by each growth."""

    def __dealloc__(self):
        free(self.block)

    def __sizeof__(self):
        return object.__sizeof__(self) + self.block_bytes

    cdef int reserve(self, size_t n_nodes, size_t n, size_t n_slots, size_t n_columns,
                     size_t n_classes) except -1 nogil:
        """Allocate memory for the growth of a tree of up to n_nodes nodes on n samples."""
        cdef size_t bytes = self.lay_out(n_nodes, n, n_slots, n_columns, n_classes)
        if bytes > self.block_bytes:
            bytes += bytes // 2
            free(self.block)
            self.block, self.block_bytes = NULL, 0
            self.block = <char*>resized(NULL, bytes, 1)
            self.block_bytes = bytes
            self.lay_out(n_nodes, n, n_slots, n_columns, n_classes)
        return 0

    cdef size_t lay_out(self, size_t n_nodes, size_t n, size_t n_slots, size_t n_columns,
                        size_t n_classes) except 0 nogil:
        """Divide the block, parts with the strictest alignment first; return its size in bytes."""
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
        self.ranges = <LeafRange*>take(&end, n, sizeof(LeafRange))
        self.tasks = <Task*>take(&end, n + 1, sizeof(Task))
        self.ranked = <int*>take(&end, product(n_columns, n), sizeof(int))
        self.samples = <int*>take(&end, n, sizeof(int))
        self.copies = <int*>take(&end, n, sizeof(int))
        self.code = <int*>take(&end, n, sizeof(int))
        self.slot_of = <int*>take(&end, n, sizeof(int))
        self.range_of_slot = <int*>take(&end, n_slots, sizeof(int))
        self.sample_of = <int*>take(&end, n_slots, sizeof(int))
        self.name = <int*>take(&end, n_columns, sizeof(int))
        self.columns = <int*>take(&end, n_columns, sizeof(int))
        self.bit = <int*>take(&end, n_columns, sizeof(int))
        self.spare = <int*>take(&end, max(n, n_columns), sizeof(int))
        self.range_of_leaf = <int*>take(&end, n_nodes, sizeof(int))
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
        """Allocate memory in the tree and the scratch, and set the arrays per column."""
        cdef int i, column
        self.members, self.n_members = members, n_members
        if members == NULL:
            self.members = self.window.by_arrival if self.window.n_sorted else self.window.fresh
            self.n_members = self.window.n_sorted if self.window.n_sorted else self.window.n_fresh
        self.trees.reserve(2 * <Py_ssize_t>self.n_members, self.trees.n_values)
        self.reserve(self.trees.capacity, self.window.size, self.window.capacity,
                     self.window.n_live, self.trees.n_values)
        self.numeric = schema.is_numeric()
        self.n_chosen = 0
        for i in range(self.window.n_live):
            column = self.window.live[i]
            if chosen == NULL or chosen[column]:
                self.name[self.n_chosen] = column
                self.nominal[self.n_chosen] = schema.has_codes(column)
                self.columns[self.n_chosen] = self.n_chosen
                self.n_chosen += 1
        return 0


# --- Assignment of samples to leaves --------------------------------------------------------------


cdef void assign_leaves(Workspace work, int root, const int* copies_of_slot,
                        const int* leaf_of_slot) noexcept nogil:
    """Find the leaf of every sample, several at once; each leaf gets a range."""
    cdef int i, j, slot, n = 0
    cdef bint all_known = leaf_of_slot != NULL
    cdef int64_t latest = -1
    cdef int[AHEAD] slots
    cdef int[AHEAD] leaves
    memset(work.range_of_leaf, 0xFF, work.trees.n_used * sizeof(int))    # -1 everywhere
    memset(work.sample_of, 0xFF, work.window.capacity * sizeof(int))
    memset(work.ranges, 0, work.n_members * sizeof(LeafRange))
    work.n_ranges = 0
    work.batch_weight = 0.0
    work.unit_weights = work.criterion != VARIANCE and not work.random
    work.few = FEW_SAMPLES
    for i in range(work.n_members):
        slot = work.members[i]
        if work.window.arrival[slot] < latest:
            work.few = 0                # sorted orders have equal values in order of arrival
        latest = work.window.arrival[slot]
        if copies_of_slot == NULL or copies_of_slot[slot]:
            slots[n] = slot
            if leaf_of_slot != NULL:
                leaves[n] = leaf_of_slot[slot]
                all_known &= leaves[n] >= 0
            n += 1
        else:
            work.range_of_slot[slot] = -1
        if n == AHEAD or i + 1 == work.n_members:
            if not all_known:
                work.trees.walk_slots(root, work.window, slots, n, work.numeric, leaves)
            for j in range(n):
                assign(work, slots[j], leaves[j],
                       1 if copies_of_slot == NULL else copies_of_slot[slots[j]])
            n, all_known = 0, leaf_of_slot != NULL


cdef inline void assign(Workspace work, int slot, int leaf, int copies) noexcept nogil:
    """Assign a sample to a leaf, without a branch on whether the leaf has a range already."""
    cdef double* first = work.centred   # per range, for now: target of its first sample
    cdef double target = work.window.target[slot], weight = work.window.weight[slot]
    cdef int g = work.range_of_leaf[leaf], is_new = g < 0
    cdef LeafRange* here
    first[work.n_ranges] = target       # of no effect unless the range is new
    g += is_new * (work.n_ranges - g)
    work.n_ranges += is_new
    work.range_of_leaf[leaf] = g
    work.range_of_slot[slot] = g
    work.sample_of[slot] = copies       # until `number_samples`
    here = &work.ranges[g]
    here.node = leaf
    here.size += 1
    here.copies += copies
    here.varies |= target != first[g]
    work.batch_weight += weight * copies
    work.unit_weights &= weight == 1.0 and copies <= 255


cdef int make_tasks(Workspace work) noexcept nogil:
    """Lay the ranges that can be split one behind the other, in every order."""
    cdef int g, n_tasks = 0
    cdef LeafRange* here
    cdef Task* task
    work.n = 0
    for g in range(work.n_ranges):
        here = &work.ranges[g]
        here.start = -1
        if is_open(work, here.node, here.copies, here.varies or work.published == STREAM):
            here.start = work.n
            work.n += here.size
    for g in range(work.n_ranges - 1, -1, -1):      # the first range is to be grown first
        here = &work.ranges[g]
        if here.start >= 0:
            task = &work.tasks[n_tasks]
            task.node, task.start, task.end = here.node, here.start, here.start + here.size
            task.copies, task.n_active, task.is_new = here.copies, work.n_chosen, False
            n_tasks += 1
    if n_tasks:
        number_samples(work)
        rank_samples(work, n_tasks)
    return n_tasks


cdef void number_samples(Workspace work) noexcept nogil:
    """Number the samples of the ranges to be grown, and set the arrays per sample."""
    cdef int i, g, k, slot, copies
    for g in range(work.n_ranges):
        work.spare[g] = work.ranges[g].start
    for i in range(work.n_members):
        slot = work.members[i]
        g, copies = work.range_of_slot[slot], work.sample_of[slot]
        work.sample_of[slot] = -1
        if g < 0 or work.ranges[g].start < 0:
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


cdef void rank_samples(Workspace work, int n_tasks) noexcept nogil:
    """Set the values of every column, and its sorted order or its bits."""
    cdef int i, k, column
    cdef bint any_ranked = False
    cdef const double* data
    cdef double* values
    for i in range(n_tasks):
        any_ranked |= is_ranked(work, &work.tasks[i])
    work.in_table = work.unit_weights and work.batch_weight < TABLE
    work.n_bits = 0
    for column in range(work.n_chosen):
        data = work.window.values_of(work.name[column])
        values = work.values + <Py_ssize_t>column * work.n
        for k in range(work.n):
            values[k] = data[work.slot_of[k]]
        work.bit[column] = -1
        if work.unit_weights and not work.nominal[column] and give_bit(work, column, values):
            continue
        if not any_ranked:
            continue
        if work.window.n_sorted:
            rank_by_range(work, work.window.order_of(work.name[column]),
                          work.ranked + <Py_ssize_t>column * work.n)
        else:
            sort_ranges(work, n_tasks, values, work.nominal[column],
                        work.ranked + <Py_ssize_t>column * work.n)


cdef void sort_ranges(Workspace work, int n_tasks, const double* values, bint are_codes,
                      int* ranked) noexcept nogil:
    """Sort each range, ties in order of arrival."""
    cdef int i, k
    cdef const Task* task
    for k in range(work.n):
        ranked[k] = k
    for i in range(n_tasks):
        task = &work.tasks[i]
        if is_ranked(work, task) and are_codes:
            sort_codes(ranked + task.start, work.spare, values, task.end - task.start)
        elif is_ranked(work, task):
            sort_slots(ranked + task.start, work.spare, values, task.end - task.start)


cdef void rank_few(Workspace work, const Task* task, int column) noexcept nogil:
    """Sort the samples of a node with few samples by one column."""
    cdef int* ranked = work.ranked + <Py_ssize_t>column * work.n + task.start
    memcpy(ranked, work.samples + task.start, (task.end - task.start) * sizeof(int))
    sort_slots(ranked, work.spare, work.values + <Py_ssize_t>column * work.n,
               task.end - task.start)


cdef void rank_by_range(Workspace work, const int* order, int* ranked) noexcept nogil:
    """Copy a sorted order of the window, divided into the ranges."""
    cdef int i = 0, g, k, placed = 0
    if work.n_ranges == 1:          # no branch that depends on the sample
        while placed < work.n:
            k = work.sample_of[order[i]]
            ranked[placed] = k
            placed += k >= 0
            i += 1
        return
    for g in range(work.n_ranges):
        work.spare[g] = work.ranges[g].start
    for i in range(work.window.n_sorted):
        k = work.sample_of[order[i]]
        if k >= 0:
            g = work.range_of_slot[order[i]]
            ranked[work.spare[g]] = k
            work.spare[g] += 1


cdef bint give_bit(Workspace work, int column, const double* values) noexcept nogil:
    """If a column has exactly two values, set the bits of the samples with the higher one."""
    cdef int k = 0, mask
    cdef Py_ssize_t byte
    cdef double low = values[0], high
    while k < work.n and values[k] == low:
        k += 1
    if k == work.n:                 # constant
        return False
    high = values[k]
    for k in range(k, work.n):
        if values[k] != low and values[k] != high:      # a third value, or missing
            return False
    if high != high or low != low:
        return False
    low, high = min(low, high), max(low, high)
    byte, mask = work.n_bits // 8, 1 << (work.n_bits % 8)
    for k in range(work.n):
        if values[k] == high:
            work.bits[k * work.n_bytes + byte] |= mask
    work.cuts[work.n_bits] = threshold_between(work, low, high)
    work.bit[column] = <int>work.n_bits
    work.n_bits += 1
    return True


cdef int count_missing(Workspace work, const Task* task, int column) noexcept nogil:
    cdef const double* data = work.values + <Py_ssize_t>column * work.n
    cdef const int* ranked = work.ranked + <Py_ssize_t>column * work.n
    cdef int i = task.end
    if work.bit[column] >= 0:
        return 0
    while data[ranked[i - 1]] != data[ranked[i - 1]]:   # not all are missing, because it varies
        i -= 1
    return task.end - i
