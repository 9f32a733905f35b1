"""The growth of the leaves of a tree. See the header of `workspace` for the layout.

The samples are assigned to leaves, and each leaf that may be split becomes a task. If a task finds
a split, the children that may be split become new tasks.
"""

cimport cython
from libc.float cimport DBL_EPSILON
from libc.math cimport NAN
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

from ..schema cimport MAX_LABELS
from ..table cimport AHEAD
from ..split cimport ENTROPY, GINI, VALUES, VARIANCE, Candidate, Split, goes_left
from ..tree cimport (
    Rows, learn_number, n_nodes_of, reserve_cells, reserve_pairs, rows_of, send_missing,
    set_classes, split_leaf, walk_rows, weight_of,
)
from .published cimport impurity_of_leaf, impurity_to_decrease
from .search cimport (
    count_missing, find_split, is_open, is_ranked, load, name_values, node_score, rank,
    threshold_between, unload, x_log_x,
)
from .workspace cimport (
    FEW_SAMPLES, FORGETFUL, LISTED, NONE, STREAM, TABLE, Entry, Side, Task,
)

cdef extern from "../bits.h":
    int lowest_bit(uint64_t word) nogil

cdef enum:
    MANY_CLASSES = 16       # of so many, a node numbers those that it has
    WORDS = MAX_LABELS // 64

cdef dict CRITERIA = {"gini": GINI, "entropy": ENTROPY, "variance": VARIANCE}
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
    midpoints of adjacent values; `x <= threshold` goes left. A nominal feature is split into
    one value, which goes left, and the rest; if it has many, into groups (`value_sets`). If the
    node has missing values, each threshold is tried with them on the right, then on the left,
    and at last all present values are split from the missing ones. If it has none, later
    missing values go to the heavier child. Ties are broken by the lower column, then missing
    values on the right, then the lower threshold. Scores within a relative tolerance of 1e-12
    count as equal, so that rounding has no effect.

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
    shuffled
        Visit the features in random order even if all are visited; the order breaks ties.
    published
        Published program whose splits are reproduced. Scores are then computed with its arithmetic
        and compared exactly, so that rounding breaks ties as it did there. `"stream"`: the split of
        an existing leaf must not increase the impurity of its parent instead of its own. So the
        leaf is split even if its targets are equal, but not if the children are less pure than the
        parent. `"forgetful"`: a threshold is the largest value that goes left.
    """

    def __init__(self, criterion, max_depth=None, min_samples_split=2, min_samples_leaf=1,
                 shuffled=False, published=None):
        self.criterion = CRITERIA[criterion]
        self.max_depth = 0x7FFFFFFF if max_depth is None else max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.shuffled = shuffled
        self.least_named = LISTED
        self.published = PROGRAMS[published]

    cdef int grow(self, Tree* tree, const Kind* kind, int n_values, Schema schema,
                  const int* copies, int max_features, double step, Rng rng,
                  const uint8_t* chosen=NULL, const int* members=NULL, int n_members=0,
                  const int* leaves=NULL) except -1 nogil:
        """Grow the leaves of a tree that the samples of `window` reach.

        The growth uses the sorted samples or, if no sample is sorted, all samples, and the columns
        that `find_distinct` has found among them. The statistics
        of existing nodes must contain them already (`learn`); new nodes get the statistics of
        the samples in the window. Optional arrays: `copies`, per slot the number of copies of the
        sample (NULL: one each); `chosen`, per column whether it may be split (NULL: all);
        `members`, the slots of the samples in the tree in order of arrival (NULL: all samples with
        copies); `leaves`, per slot the leaf that the sample reaches, -1 if unknown.

        Returns the number of leaves that were split.
        """
        cdef int n_tasks, before = n_nodes_of(tree)
        self.tree, self.kind, self.n_values = tree, kind, n_values
        self.prepare(schema, chosen, members, n_members)
        self.step, self.rng = step, rng
        self.max_features = max_features if max_features > 0 else self.n_chosen + self.n_sparse
        assign_leaves(self, copies, leaves)
        n_tasks = make_tasks(self)
        while n_tasks > 0:
            n_tasks -= 1
            grow_leaf(self, self.tasks[n_tasks], &n_tasks)
        return (n_nodes_of(tree) - before) // 2

    cdef int prepare(self, Schema schema, const uint8_t* chosen, const int* members,
                     int n_members) except -1 nogil:
        """Allocate memory in the tree and the scratch, and set the arrays per column."""
        cdef int i, column, n_sparse, n_entries
        self.members, self.n_members = members, n_members
        if members == NULL:
            self.members = self.window.by_arrival if self.window.n_sorted else self.window.fresh
            self.n_members = self.window.n_sorted if self.window.n_sorted else self.window.n_fresh
        reserve_pairs(self.tree, self.kind, self.n_members)
        if not self.kind.regression:
            reserve_cells(self.tree, self.n_members)
        n_sparse = n_entries = 0
        for i in range(self.window.n_distinct):
            column = self.window.distinct[i]
            if (chosen == NULL or chosen[column]) and self.window.is_sparse(column):
                n_sparse += 1
                n_entries += self.window.n_growing(column)
        self.reserve(self.tree.capacity, self.window.size, self.window.capacity,
                     self.window.n_distinct - n_sparse, n_sparse, n_entries, self.n_values)
        self.n_chosen, self.n_sparse, self.n_entries = 0, n_sparse, n_entries
        for i in range(self.window.n_distinct):
            column = self.window.distinct[i]
            if (chosen == NULL or chosen[column]) and not self.window.is_sparse(column):
                self.columns[self.n_chosen] = self.n_chosen
                add_column(self, schema, column, self.n_chosen)
                self.n_chosen += 1
        n_sparse = 0
        for i in range(self.window.n_distinct if self.n_sparse else 0):
            column = self.window.distinct[i]
            if (chosen == NULL or chosen[column]) and self.window.is_sparse(column):
                add_column(self, schema, column, self.n_chosen + n_sparse)
                self.head[n_sparse] = -1
                n_sparse += 1
        self.loaded, self.n_linked = -1, 0
        return 0


cdef inline void add_column(Workspace work, Schema schema, int name, int column) noexcept nogil:
    work.name[column], work.nominal[column], work.bit[column] = name, schema.has_codes(name), -1


# --- Assignment of samples to leaves --------------------------------------------------------------


cdef void assign_leaves(Workspace work, const int* copies_of_slot,
                        const int* leaf_of_slot) noexcept nogil:
    """Find the leaf of every sample, several at once; each leaf gets a range."""
    cdef int i, j, slot, n = 0
    cdef bint all_known = leaf_of_slot != NULL
    cdef int64_t latest = -1
    cdef int[AHEAD] slots
    cdef int* leaves = work.range_of_slot   # until `assign`
    cdef Rows rows = rows_of(work.window)
    memset(work.range_of_leaf, 0xFF, work.tree.n_used * sizeof(int))    # -1 everywhere
    memset(work.sample_of, 0xFF, work.window.capacity * sizeof(int))
    memset(work.ranges, 0, work.n_members * sizeof(Task))
    work.n_ranges = 0
    work.batch_weight = 0.0
    work.unit_weights = work.criterion != VARIANCE
    work.few = FEW_SAMPLES
    for i in range(work.n_members):
        slot = work.members[i]
        if work.window.arrival[slot] < latest:
            work.few = 0                # sorted orders have equal values in order of arrival
        latest = work.window.arrival[slot]
        if copies_of_slot == NULL or copies_of_slot[slot]:
            slots[n] = slot
            if leaf_of_slot != NULL:
                leaves[slot] = leaf_of_slot[slot]
                all_known &= leaves[slot] >= 0
            n += 1
        else:
            leaves[slot] = -1
        if n == AHEAD or i + 1 == work.n_members:
            if not all_known:
                walk_rows(work.tree, &rows, slots, n, leaves)
            for j in range(n):
                assign(work, slots[j], leaves[slots[j]],
                       1 if copies_of_slot == NULL else copies_of_slot[slots[j]])
            n, all_known = 0, leaf_of_slot != NULL


cdef inline void assign(Workspace work, int slot, int leaf, int copies) noexcept nogil:
    """Assign a sample to a leaf, without a branch on whether the leaf has a range already."""
    cdef double* first = work.centred   # per range, for now: target of its first sample
    cdef double target = work.window.target[slot], weight = work.window.weight[slot]
    cdef int g = work.range_of_leaf[leaf], is_new = g < 0
    cdef Task* here
    first[work.n_ranges] = target       # of no effect unless the range is new
    g += is_new * (work.n_ranges - g)
    work.n_ranges += is_new
    work.range_of_leaf[leaf] = g
    work.range_of_slot[slot] = g
    work.sample_of[slot] = copies       # until `number_samples`
    here = &work.ranges[g]
    here.node = leaf
    here.end += 1
    here.copies += copies
    here.is_open |= target != first[g]
    work.batch_weight += weight * copies
    work.unit_weights &= weight == 1.0 and copies <= 255


cdef int make_tasks(Workspace work) noexcept nogil:
    """Lay the ranges that can be split one behind the other, in every order."""
    cdef int g, n_tasks = 0
    cdef Task* here
    work.n = 0
    for g in range(work.n_ranges):
        here = &work.ranges[g]
        here.is_open = is_open(
            work, here.node, here.copies, here.is_open or work.published == STREAM)
        here.start, here.n_active = work.n, work.n_chosen
        work.n += here.end if here.is_open else 0
        here.end = work.n
    for g in range(work.n_ranges - 1, -1, -1):      # the first range is to be grown first
        if work.ranges[g].is_open:
            work.tasks[n_tasks] = work.ranges[g]
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
        if g < 0 or not work.ranges[g].is_open:
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
    work.n_classes = work.n_values
    for g in range(work.n_values):
        work.labels[g] = work.number_of[g] = g
    if work.n_sparse:
        list_entries(work)
    work.n_bytes = work.n_chosen // 8 + 1
    memset(work.bits, 0, work.n * work.n_bytes)
    memset(work.counters, 0, work.n_values * work.n_bytes * sizeof(uint64_t))


cdef void list_entries(Workspace work) noexcept nogil:
    """List the entries of every sample, by ascending column."""
    cdef int i, c, k, n, at = 0
    cdef int* ends = work.first_entry
    cdef const int* order
    cdef const double* data
    cdef Entry* entry
    memset(ends, 0, (work.n + 1) * sizeof(int))
    for c in range(work.n_sparse):
        order = work.window.order_of(work.name[work.n_chosen + c])
        for i in range(work.window.n_growing(work.name[work.n_chosen + c])):
            k = work.sample_of[order[i]]
            if k >= 0:
                ends[k + 1] += 1
    for k in range(work.n):         # one place behind: where the next entry of a sample is stored
        n = ends[k + 1]
        ends[k + 1] = at
        at += n
    for c in range(work.n_sparse):
        order = work.window.order_of(work.name[work.n_chosen + c])
        data = work.window.values_of(work.name[work.n_chosen + c])
        for i in range(work.window.n_growing(work.name[work.n_chosen + c])):
            k = work.sample_of[order[i]]
            if k >= 0:
                entry = &work.entries[ends[k + 1]]
                ends[k + 1] += 1
                entry.value, entry.column, entry.sample = data[order[i]], c, k
    for k in range(work.n):
        work.sparse_values[k] = NAN


cdef void rank_samples(Workspace work, int n_tasks) noexcept nogil:
    """Set the values of every column, and its sorted order or its bits."""
    cdef int i, k, column
    cdef bint any_ranked = False, is_short
    cdef const double* data
    cdef double* values
    for i in range(n_tasks):
        any_ranked |= is_ranked(work, &work.tasks[i])
    work.in_table = work.unit_weights and work.batch_weight < TABLE
    work.n_bits = 0
    for column in range(work.n_chosen):
        data = work.window.values_of(work.name[column])
        values = work.values + <Py_ssize_t>column * work.n
        is_short = work.window.is_short(work.name[column])      # `data` has one value
        for k in range(work.n):
            if is_short:
                values[k] = work.window.value(work.name[column], work.slot_of[k])
            else:
                values[k] = data[work.slot_of[k]]
        work.bit[column] = -1
        if work.unit_weights and not work.nominal[column] and give_bit(work, column, values):
            continue
        if not any_ranked:
            continue
        if work.window.n_sorted:
            rank_by_range(work, n_tasks, work.window.order_of(work.name[column]),
                          work.window.n_growing(work.name[column]), work.ranked_of(column))
        else:
            for i in range(n_tasks):
                if is_ranked(work, &work.tasks[i]):
                    rank(work, &work.tasks[i], column)


cdef void rank_by_range(Workspace work, int n_tasks, const int* order, int n_present,
                        int* ranked) noexcept nogil:
    """Copy a sorted order of the window, divided into the ranges."""
    cdef int i = 0, g, k, placed = 0
    cdef const Task* task
    if work.n_ranges == 1:          # no branch that depends on the sample
        while placed < work.n and i < n_present:
            k = work.sample_of[order[i]]
            ranked[placed] = k
            placed += k >= 0
            i += 1
        work.spare[0] = placed
    else:
        for g in range(work.n_ranges):
            work.spare[g] = work.ranges[g].start
        for i in range(n_present):
            k = work.sample_of[order[i]]
            if k >= 0:
                g = work.range_of_slot[order[i]]
                ranked[work.spare[g]] = k
                work.spare[g] += 1
    for i in range(n_tasks):        # a range is shortened to the samples that have a value
        task = &work.tasks[i]
        placed = work.spare[work.range_of_leaf[task.node]]
        if placed < task.end:
            ranked[task.end - 1] = ~(placed - task.start)


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


# --- Split of a leaf ------------------------------------------------------------------------------


cdef void grow_leaf(Workspace work, Task task, int* n_tasks) noexcept nogil:
    """Split one leaf if a split is found, and add the children that may be split as tasks."""
    cdef Task left, right
    left.is_open = right.is_open = False
    if work.n_values >= MANY_CLASSES:
        number_classes(work, &task)
    if work.n_bits:
        count_high(work, &task)
    drop_constant(work, &task)
    if work.n_sparse:
        link_entries(work, &task)
    if task.n_active + work.n_linked > 0:
        split_task(work, &task, &left, &right)
    if work.n_sparse:
        unlink_entries(work)
    if right.is_open:
        work.tasks[n_tasks[0]] = right
        n_tasks[0] += 1
    if left.is_open:                # on top: the left side is grown first
        work.tasks[n_tasks[0]] = left
        n_tasks[0] += 1


cdef void split_task(Workspace work, Task* task, Task* left, Task* right) noexcept nogil:
    """Split one leaf if a split is found."""
    cdef Candidate best
    weigh_node(work, task)
    if work.published == STREAM:
        work.impurity_before = impurity_to_decrease(work, task.node)
    best = find_split(work, task)
    if best.split.feature < 0 or (
        work.published == STREAM
        and work.node.weight / work.batch_weight * work.removed + DBL_EPSILON < 0.0
    ):
        return
    load(work, task, best.split.feature)
    if best.split.nominal == VALUES and not name_values(work, task, &best.split):
        return                      # without memory it stays a leaf
    divide(work, task, &best, left, right)


cdef void link_entries(Workspace work, const Task* task) noexcept nogil:
    """Link the entries of the samples by columns; list the sparse columns that vary in the node."""
    cdef int i, k, e, c, kept = 0
    cdef Entry* entry
    work.n_found = 0
    for i in range(task.end - 1, task.start - 1, -1):
        k = work.samples[i]
        for e in range(work.first_entry[k], work.first_entry[k + 1]):
            entry = &work.entries[e]
            c = entry.column
            if work.head[c] < 0:
                work.linked[work.n_found] = c
                work.n_found += 1
                work.n_present[c] = 0
            entry.next = work.head[c]
            work.head[c] = e
            work.n_present[c] += 1
    for i in range(work.n_found):
        c = work.linked[i]
        if work.n_present[c] < task.end - task.start or has_two_values(work, c):
            work.linked[i] = work.linked[kept]
            work.linked[kept] = c
            kept += 1
    work.n_linked = kept


cdef bint has_two_values(Workspace work, int c) noexcept nogil:
    """Whether the entries of a sparse column differ."""
    cdef int e = work.head[c]
    cdef double first = work.entries[e].value
    while e >= 0:
        if work.entries[e].value != first:
            return True
        e = work.entries[e].next
    return False


cdef void unlink_entries(Workspace work) noexcept nogil:
    """Be ready for another node."""
    cdef int i
    unload(work)
    for i in range(work.n_found):
        work.head[work.linked[i]] = -1


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
        for code in range(work.n_classes):
            n_high += work.high[code * 8 * work.n_bytes + work.bit[column]]
        return 0 < n_high < task.copies
    if not is_ranked(work, task):
        first = data[work.samples[task.start]]
        for i in range(task.start + 1, task.end):
            last = data[work.samples[i]]
            if last != first and (last == last or first == first):
                return True
        return False
    if ranked[task.end - 1] < 0:
        return ranked[task.end - 1] != ~0       # not if all are missing
    return data[ranked[task.start]] < data[ranked[task.end - 1]]


cdef void count_high(Workspace work, const Task* task) noexcept nogil:
    """Count the samples of the node with the high value, per class and two-valued column.

    One addition adds a byte of bits to eight counters of 8 bits. They are added to `high` before
    any of them can overflow.
    """
    cdef int i, k, copies = 0
    cdef Py_ssize_t byte
    cdef const uint8_t* bits
    cdef uint64_t* counters
    memset(work.high, 0, 8 * work.n_classes * work.n_bytes * sizeof(int))
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
    for i in range(work.n_classes * work.n_bytes):
        counters = work.counters[i]
        if counters:
            work.counters[i] = 0
            for j in range(8):
                work.high[8 * i + j] += (counters >> (8 * j)) & 255


cdef void number_classes(Workspace work, const Task* task) noexcept nogil:
    """Number the classes of a node, in the order of their codes."""
    cdef uint64_t[WORDS] marks
    cdef int i, word, code
    memset(marks, 0, (work.n_values + 63) // 64 * sizeof(uint64_t))
    for i in range(task.start, task.end):
        code = <int>work.target[work.samples[i]]
        marks[code >> 6] |= <uint64_t>1 << (code & 63)
    work.n_classes = 0
    for word in range((work.n_values + 63) // 64):
        while marks[word]:
            code = 64 * word + lowest_bit(marks[word])
            marks[word] &= marks[word] - 1
            work.labels[work.n_classes] = code
            work.number_of[code] = work.n_classes
            work.n_classes += 1
    for i in range(task.start, task.end):
        work.code[work.samples[i]] = work.number_of[<int>work.target[work.samples[i]]]


cdef void weigh_node(Workspace work, const Task* task) noexcept nogil:
    """Compute the totals of the node; in a regression also the centred targets."""
    cdef Side* node = &work.node
    cdef int i, code
    work.n_met = 0
    if work.criterion == VARIANCE:
        centre(work, task)
        return
    node.copies, node.score, node.weight = task.copies, 0.0, 0.0
    memset(node.counts, 0, work.n_classes * sizeof(double))
    for i in range(task.start, task.end):   # those of the leaf may include earlier samples
        node.weight += work.mass[work.samples[i]]
        node.counts[work.code[work.samples[i]]] += work.mass[work.samples[i]]
    work.tie = TIE * node.weight if work.published == NONE else 0.0
    for code in range(work.n_classes):
        work.n_met += node.counts[code] > 0.0
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
    work.mean = mean
    for i in range(task.start, task.end):
        k = work.samples[i]
        work.centred[k] = target[k] - mean
        node.score += work.mass[k] * work.centred[k]
        work.spread += work.mass[k] * work.centred[k] * work.centred[k]
    work.tie = TIE * work.spread if work.published == NONE else 0.0


# --- Creation of the children ---------------------------------------------------------------------


cdef void divide(Workspace work, const Task* task, const Candidate* best, Task* left,
                 Task* right) noexcept nogil:
    """Create the children of a leaf with their statistics, and partition every order."""
    cdef Split split = best.split
    cdef double impurity = 0.0
    if work.published == STREAM:
        impurity = impurity_of_leaf(work, task.node)
    split.feature = work.name[best.split.feature]
    left.node = split_leaf(work.tree, task.node, &split, best.score - node_score(work))
    right.node = left.node ^ 1
    if work.published == STREAM:
        work.tree.impurities[left.node >> 1] = impurity
    left.start, right.end = task.start, task.end
    fill_children(work, task, best, left, right)
    left.n_active = right.n_active = task.n_active
    if count_missing(work, task, best.split.feature) == 0:
        send_missing(work.tree, task.node,
                     weight_of(work.tree, left.node) >= weight_of(work.tree, right.node))
    if left.is_open or right.is_open:
        partition_all(work, task, best, left, right)


cdef void fill_children(Workspace work, const Task* task, const Candidate* best, Task* left,
                        Task* right) noexcept nogil:
    """Set the statistics of both sides, and whether they may be split."""
    cdef int n_left = mark_sides(work, task, &best.split)
    cdef bint[2] varies
    if work.kind.regression:
        fill_numbers(work, task, left, right, varies)
    else:
        fill_classes(work, task, left, right, varies)
    if work.kind.with_visits:
        work.tree.visited[left.node] = work.tree.visited[right.node] = work.step
    left.end = right.start = task.start + n_left
    right.copies = task.copies - left.copies
    left.is_open = is_open(work, left.node, left.copies, varies[1])
    right.is_open = is_open(work, right.node, right.copies, varies[0])


cdef int mark_sides(Workspace work, const Task* task, const Split* split) noexcept nogil:
    """Mark the side of each sample; return the number of samples on the left."""
    cdef const double* data = work.values_of(split.feature)
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
    cdef (double*)[2] counts
    cdef double[2] weights
    cdef int[2] child
    cdef int i, k, side, code, n_classes
    cdef int64_t copies = 0
    cdef double mass
    child[0], child[1] = right.node, left.node
    counts[0], counts[1] = work.right.counts, work.left.counts
    memset(counts[0], 0, work.n_classes * sizeof(double))
    memset(counts[1], 0, work.n_classes * sizeof(double))
    weights[0] = weights[1] = 0.0
    for i in range(task.start, task.end):
        k = work.samples[i]
        side = work.goes_left[k]
        mass = work.mass[k]
        counts[side][work.code[k]] += mass
        weights[side] += mass
        copies += side * work.copies[k]
    left.copies = copies
    for side in range(2):
        n_classes = 0
        for code in range(work.n_classes):
            n_classes += counts[side][code] > 0.0
        varies[side] = n_classes > 1
        set_classes(work.tree, child[side], weights[side], work.labels, counts[side],
                    work.n_classes)


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
        learn_number(work.tree, child[side], work.target[k], work.mass[k], 1.0)


cdef bint is_kept(Workspace work, const Task* child) noexcept nogil:
    """Whether a child needs the sorted orders of its samples."""
    return child.is_open and is_ranked(work, child)


cdef void partition_all(Workspace work, const Task* task, const Candidate* best, const Task* left,
                        const Task* right) noexcept nogil:
    """Partition every order. The order of the split column is mostly partitioned already."""
    cdef int i, column
    cdef int* ranked
    partition(work, work.samples, task, right.start)
    if not (is_kept(work, left) or is_kept(work, right)):
        return
    for i in range(task.n_active):
        column = work.columns[i]
        if work.bit[column] >= 0:
            continue
        ranked = work.ranked + <Py_ssize_t>column * work.n
        if column != best.split.feature or best.split.nominal or ranked[task.end - 1] < 0:
            partition(work, ranked, task, right.start)


cdef void partition(Workspace work, int* samples, const Task* task, int middle) noexcept nogil:
    """Stable partition, left samples first; no branch depends on a sample.

    Of a sorted order, only the samples that have a value are there.
    """
    cdef int last = samples[task.end - 1]
    cdef int stop = task.end if last >= 0 else task.start + ~last
    cdef int i, k, side, kept = task.start, moved = 0
    for i in range(task.start, stop):
        k = samples[i]
        side = work.goes_left[k]
        samples[kept] = k
        work.spare[moved] = k
        kept += side
        moved += 1 - side
    memcpy(samples + middle, work.spare, moved * sizeof(int))
    if kept < middle:
        samples[middle - 1] = ~(kept - task.start)
    if middle + moved < task.end:
        samples[task.end - 1] = ~moved
