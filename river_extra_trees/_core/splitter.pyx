"""Growing CART trees on presorted columns. See the header for the layout."""

cimport cython
from libc.float cimport DBL_EPSILON
from libc.math cimport INFINITY, log
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy, memset

from .memory cimport calloc, free
from .rng cimport Rng, below, uniform
from .schema cimport Schema
from .trees cimport GAIN, HEADER, VISITED, WEIGHT, Node, Trees
from .window cimport Window

cdef enum:
    TABLE = 4096

# A later candidate wins only if it is better by more than this share of the node's weight (or
# score): what rounding could have made of a tie does not decide.
cdef double TIE = 1e-12
cdef double NO_CODE = -2.0      # threshold of a nominal split that sends only missing values left

# Bit j of b is the lowest bit of byte j of SPREAD[b].
cdef uint64_t[256] SPREAD
for _i in range(256):
    SPREAD[_i] = 0
    for _j in range(8):
        if _i >> _j & 1:
            SPREAD[_i] |= <uint64_t>1 << (8 * _j)

cdef double[TABLE] X_LOG_X
X_LOG_X[0] = 0.0
for _i in range(1, TABLE):
    X_LOG_X[_i] = _i * log(<double>_i)


cdef inline double x_log_x(double x) noexcept nogil:
    cdef int whole
    if x < TABLE:
        whole = <int>x
        if whole == x:
            return X_LOG_X[whole]
    return x * log(x) if x > 0.0 else 0.0


@cython.final
cdef class Splitter:
    """Rules of growth, and the growth itself.

    A leaf is split while its samples differ in their targets and the rules allow it, even where no
    split improves the impurity (two features may only help together). Candidate thresholds are
    the midpoints of neighbouring values, `x <= threshold` goes left; a nominal feature is split one
    value against the rest, that value going left. Where values are missing, each threshold is tried
    with the missing ones right, then left, and last with all present values on the one and the
    missing ones on the other side; where none is missing, later ones go with the heavier child.
    Of equally good splits the lower column wins, then missing right before left, then the lower
    threshold; equal means within a relative 1e-12, so that rounding decides nothing.

    Parameters
    ----------
    criterion
        `"gini"`, `"entropy"` or `"variance"`.
    max_depth
        Depth at which leaves stay leaves; `None` for no limit.
    min_samples_split
        Least number of samples that are split, copies of a bootstrap counted.
    min_samples_leaf
        Least number of samples on either side, likewise.
    splitter
        `"best"`, or `"random"` for one uniformly drawn threshold per visited feature.
    shuffled
        Visit the features in random order even where all are visited: it decides ties.
    reference
        Decide as the published program of stream decision trees does. A leaf of the given tree is
        judged by the impurity that its parent was judged by: it is split even where its samples
        agree, and not where the children would be less pure than that. Scores are computed
        literally and compared exactly, so that rounding decides between equal ones.
    forgetful_reference
        Decide as the published program of forgetful trees does: scores are computed literally and
        compared exactly, and a threshold is the largest value that goes left.
    """

    def __init__(self, criterion, max_depth=None, min_samples_split=2, min_samples_leaf=1,
                 splitter="best", shuffled=False, reference=False, forgetful_reference=False):
        self.criterion = {"gini": GINI, "entropy": ENTROPY, "variance": VARIANCE}[criterion]
        self.random = {"best": False, "random": True}[splitter]
        self.max_depth = 0x7FFFFFFF if max_depth is None else max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.shuffled = shuffled
        self.reference = reference
        self.forgetful_reference = forgetful_reference
        self.exact = reference or forgetful_reference

    def __dealloc__(self):
        free(self.block)

    def __sizeof__(self):
        return object.__sizeof__(self) + self.block_bytes

    def __reduce__(self):
        return _splitter_from_state, (
            ("gini", "entropy", "variance")[self.criterion], self.max_depth,
            self.min_samples_split, self.min_samples_leaf, "random" if self.random else "best",
            self.shuffled, self.reference, self.forgetful_reference,
        )

    # ---------------------------------------------------------------- one call of grow

    cdef int grow(self, Trees trees, int root, Window window, Schema schema, const int* copies,
                  int max_features, double step, Rng rng, const uint8_t* chosen=NULL,
                  const int* members=NULL, int n_members=0) except -1:
        """Grow the leaves below `root` that the sorted samples of the window reach.

        The statistics of the nodes that exist already must hold the samples (`Trees.learn`). The
        new nodes get those of the samples in the window. `copies` gives per slot how often a
        sample is in the tree (NULL: once each), `chosen` per column whether it may be split (NULL:
        all may). `members` are the slots of the samples in the tree, in order of arrival, for
        callers that have them at hand (NULL: all samples with copies).

        Returns the number of leaves that were split.
        """
        cdef int n_tasks
        cdef int before = trees.n_used - trees.n_free
        self.prepare(trees, window, schema, copies, chosen)
        self.members = members if members != NULL else window.by_arrival
        self.n_members = n_members if members != NULL else window.n_sorted
        self.step, self.rng = step, rng
        self.max_features = max_features if max_features > 0 else self.n_chosen
        with nogil:
            self.enter(root, copies)
            n_tasks = self.admit()
            while n_tasks > 0:
                n_tasks -= 1
                self.grow_leaf(self.tasks[n_tasks], &n_tasks)
        self.window = self.trees = None
        return (trees.n_used - trees.n_free - before) // 2

    cdef int reserve(self, Trees trees, size_t n, size_t slots, size_t columns,
                     size_t classes) except -1:
        """Make room for growing a tree on n samples, in it and in the scratch memory."""
        trees.reserve(2 * <int>n, <int>classes)
        return self.reserve_scratch(trees, n, slots, columns, classes)

    cdef int reserve_scratch(self, Trees trees, size_t n, size_t slots, size_t columns,
                             size_t classes) except -1:
        cdef size_t bytes = columns // 8 + 1
        cdef size_t doubles = columns * n + 3 * n + 4 * classes + columns + classes * bytes
        cdef size_t ints = ((columns + 4) * n + 2 * slots + 2 * columns + max(n, columns)
                            + trees.capacity + 8 * classes * bytes)
        cdef size_t need = (doubles * sizeof(double) + n * sizeof(Group) + (n + 1) * sizeof(Task)
                            + ints * sizeof(int) + columns + n + n * bytes)
        if need > self.block_bytes:
            free(self.block)
            self.block_bytes = 0
            self.block = <char*>calloc(need + need // 2, 1)
            if self.block == NULL:
                raise MemoryError
            self.block_bytes = need + need // 2
        return 0

    cdef int prepare(self, Trees trees, Window window, Schema schema, const int* copies,
                     const uint8_t* chosen) except -1:
        """Lay out the scratch memory and fill what is known per slot and per column."""
        cdef size_t slots = window.capacity, columns = window.n_columns, n = window.n_sorted
        cdef size_t classes = trees.n_values, wider = max(n, columns), bytes = columns // 8 + 1
        cdef int i
        self.reserve(trees, n, slots, columns, classes)
        self.values = <double*>self.block
        self.target = self.values + columns * n
        self.mass = self.target + n
        self.centred = self.mass + n
        self.counts = self.centred + n
        self.waiting = self.counts + 3 * classes
        self.cuts = self.waiting + classes
        self.lanes = <uint64_t*>(self.cuts + columns)
        self.groups = <Group*>(self.lanes + classes * bytes)
        self.tasks = <Task*>(self.groups + n)
        self.ranked = <int*>(self.tasks + n + 1)
        self.samples = self.ranked + columns * n
        self.copies = self.samples + n
        self.code = self.copies + n
        self.slot_of = self.code + n
        self.group = self.slot_of + n
        self.sample_of = self.group + slots
        self.columns = self.sample_of + slots
        self.bit = self.columns + columns
        self.spare = self.bit + columns
        self.group_of_leaf = self.spare + wider
        self.high = self.group_of_leaf + trees.capacity
        self.nominal = <uint8_t*>(self.high + 8 * classes * bytes)
        self.left = self.nominal + columns
        self.bits = self.left + n
        self.here.counts = self.counts
        self.there.counts = self.counts + classes
        self.node.counts = self.counts + 2 * classes
        self.trees, self.window, self.n_columns = trees, window, columns
        self.n_chosen = 0
        for i in range(self.n_columns):
            self.nominal[i] = schema.codes[i] is not None
            if chosen == NULL or chosen[i]:
                self.columns[self.n_chosen] = i
                self.n_chosen += 1
        return 0

    cdef void enter(self, int root, const int* copies_of_slot) noexcept nogil:
        """Find the leaf of every sample; samples of one leaf are a group."""
        cdef int i, slot, leaf, copies = 1
        cdef Group* group
        cdef double* first = self.centred   # per group, for now: target of its first sample
        memset(self.group_of_leaf, 0xFF, self.trees.n_used * sizeof(int))    # -1 everywhere
        memset(self.sample_of, 0xFF, self.window.capacity * sizeof(int))
        self.n_groups = 0
        self.batch_weight = 0.0
        self.countable = self.criterion != VARIANCE and not self.random
        for i in range(self.n_members):
            slot = self.members[i]
            if copies_of_slot != NULL:
                copies = copies_of_slot[slot]
            self.group[slot] = -1
            if copies == 0:
                continue
            leaf = self.trees.walk(root, self.window.data + slot, self.window.capacity,
                                   self.window.n_columns)
            if self.group_of_leaf[leaf] < 0:
                self.group_of_leaf[leaf] = self.n_groups
                group = &self.groups[self.n_groups]
                group.node, group.size, group.copies, group.varies = leaf, 0, 0, False
                first[self.n_groups] = self.window.target[slot]
                self.n_groups += 1
            self.group[slot] = self.group_of_leaf[leaf]
            self.sample_of[slot] = copies   # until `number`
            group = &self.groups[self.group[slot]]
            group.size += 1
            group.copies += copies
            group.varies |= self.window.target[slot] != first[self.group[slot]]
            self.batch_weight += self.window.weight[slot] * copies
            self.countable &= self.window.weight[slot] == 1.0 and copies <= 255

    cdef int admit(self) noexcept nogil:
        """Lay the samples of the groups that can be split into ranges, in every order."""
        cdef int g, i, k, column, n_tasks = 0
        cdef const double* data
        cdef Group* group
        self.n = 0
        for g in range(self.n_groups):
            group = &self.groups[g]
            group.start = -1
            if self.is_open(group.node, group.copies, group.varies or self.reference):
                group.start = self.n
                self.n += group.size
        for g in range(self.n_groups - 1, -1, -1):      # the first group is to be grown first
            group = &self.groups[g]
            if group.start >= 0:
                self.tasks[n_tasks].node = group.node
                self.tasks[n_tasks].start = group.start
                self.tasks[n_tasks].end = group.start + group.size
                self.tasks[n_tasks].copies = group.copies
                self.tasks[n_tasks].n_active = self.n_chosen
                self.tasks[n_tasks].is_new = False
                n_tasks += 1
        if n_tasks == 0:
            return 0
        self.number()
        self.integral = self.countable and self.batch_weight < TABLE
        self.n_bits = 0
        for i in range(self.n_chosen):
            column = self.columns[i]
            self.bit[column] = -1
            if self.countable and not self.nominal[column] and self.give_bit(column):
                continue
            data = self.window.data + <Py_ssize_t>column * self.window.capacity
            for k in range(self.n):
                self.values[<Py_ssize_t>column * self.n + k] = data[self.slot_of[k]]
            self.lay_out(self.window.order + <Py_ssize_t>column * self.window.capacity,
                         self.ranked + <Py_ssize_t>column * self.n)
        return n_tasks

    cdef void number(self) noexcept nogil:
        """Number the samples of the admitted groups and copy what there is per sample."""
        cdef int i, g, k, slot, copies
        for g in range(self.n_groups):
            self.spare[g] = self.groups[g].start
        for i in range(self.n_members):
            slot = self.members[i]
            g, copies = self.group[slot], self.sample_of[slot]
            self.sample_of[slot] = -1
            if g < 0 or self.groups[g].start < 0:
                continue
            k = self.spare[g]
            self.spare[g] += 1
            self.sample_of[slot] = self.samples[k] = k
            self.slot_of[k] = slot
            self.copies[k] = copies
            self.target[k] = self.window.target[slot]
            self.mass[k] = self.window.weight[slot] * copies
            if self.criterion != VARIANCE:
                self.code[k] = <int>self.target[k]
        self.n_bytes = self.n_chosen // 8 + 1
        memset(self.bits, 0, <size_t>self.n * self.n_bytes)
        memset(self.lanes, 0, self.trees.n_values * self.n_bytes * sizeof(uint64_t))

    cdef void lay_out(self, const int* order, int* ranked) noexcept nogil:
        """Copy a sorted order of the window, each group to its range."""
        cdef int i = 0, g, k, placed = 0
        if self.n_groups == 1:          # no branch that depends on the sample
            while placed < self.n:
                k = self.sample_of[order[i]]
                ranked[placed] = k
                placed += k >= 0
                i += 1
            return
        for g in range(self.n_groups):
            self.spare[g] = self.groups[g].start
        for i in range(self.window.n_sorted):
            k = self.sample_of[order[i]]
            if k >= 0:
                g = self.group[order[i]]
                ranked[self.spare[g]] = k
                self.spare[g] += 1

    cdef bint give_bit(self, int column) noexcept nogil:
        """If the column has just two values in the window, note which samples have the higher."""
        cdef const double* data = self.window.data + <Py_ssize_t>column * self.window.capacity
        cdef const int* order = self.window.order + <Py_ssize_t>column * self.window.capacity
        cdef int begin = 0, end = self.window.n_sorted - 1, middle, i, k, byte, mask
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
        byte, mask = self.n_bits // 8, 1 << (self.n_bits % 8)
        for i in range(begin, self.window.n_sorted):
            k = self.sample_of[order[i]]
            if k >= 0:
                self.bits[<Py_ssize_t>k * self.n_bytes + byte] |= mask
        self.cuts[self.n_bits] = self.between(low, high)
        self.bit[column] = self.n_bits
        self.n_bits += 1
        return True

    cdef bint is_open(self, int node, int copies, bint varies) noexcept nogil:
        """Whether the rules allow to look for a split of these samples."""
        return (
            varies and copies >= self.min_samples_split and copies >= 2 * self.min_samples_leaf
            and self.trees.nodes[node].depth < self.max_depth
        )

    # ---------------------------------------------------------------- one leaf

    cdef void grow_leaf(self, Task task, int* n_tasks) noexcept nogil:
        """Split one leaf if a split is found, and leave the open children as new tasks."""
        cdef Split split
        cdef Task left, right
        if self.n_bits:
            self.count_high(&task)
        self.drop_constant(&task)
        if task.n_active == 0:
            return
        self.weigh_node(&task)
        if self.reference:
            self.judged = self.judged_by(task.node)
        split = self.find(&task)
        if split.column < 0 or (
            self.reference
            and self.node.weight / self.batch_weight * split.removed + DBL_EPSILON < 0.0
        ):
            return
        self.apply(&task, &split, &left, &right)
        if right.n_active > 0:
            self.tasks[n_tasks[0]] = right
            n_tasks[0] += 1
        if left.n_active > 0:           # on top: the left side is grown first
            self.tasks[n_tasks[0]] = left
            n_tasks[0] += 1

    cdef void drop_constant(self, Task* task) noexcept nogil:
        """Move the columns that do not vary behind columns[:n_active], keeping the others' order.

        A column that is constant in a node is so below it. The tasks still waiting see the same
        set of columns in front of their own n_active, whatever order this leaves it in.
        """
        cdef int i, column, kept = 0, dropped = 0
        for i in range(task.n_active):
            column = self.columns[i]
            if self.varies(task, column):
                self.columns[kept] = column
                kept += 1
            else:
                self.spare[dropped] = column
                dropped += 1
        memcpy(self.columns + kept, self.spare, dropped * sizeof(int))
        task.n_active = kept

    cdef bint varies(self, const Task* task, int column) noexcept nogil:
        """Whether a column has two values in a node, or is missing in a part of it."""
        cdef const double* data = self.values + <Py_ssize_t>column * self.n
        cdef const int* ranked = self.ranked + <Py_ssize_t>column * self.n
        cdef double first, last
        cdef int code, n_high = 0
        if self.bit[column] >= 0:
            for code in range(self.trees.n_values):
                n_high += self.high[code * 8 * self.n_bytes + self.bit[column]]
            return 0 < n_high < task.copies
        first, last = data[ranked[task.start]], data[ranked[task.end - 1]]
        return first < last or (last != last and first == first)

    cdef void count_high(self, const Task* task) noexcept nogil:
        """Count per class and two-valued column how many samples of the node have the high value.

        One byte of bits is spread over eight counters at once, which are emptied before any of
        them could overflow.
        """
        cdef int i, k, byte, weight = 0
        cdef const uint8_t* bits
        cdef uint64_t* lanes
        memset(self.high, 0, 8 * self.trees.n_values * self.n_bytes * sizeof(int))
        for i in range(task.start, task.end):
            k = self.samples[i]
            weight += self.copies[k]
            if weight > 255:
                self.empty_lanes()
                weight = self.copies[k]
            bits = self.bits + <Py_ssize_t>k * self.n_bytes
            lanes = self.lanes + self.code[k] * self.n_bytes
            for byte in range(self.n_bytes):
                lanes[byte] += SPREAD[bits[byte]] * <uint64_t>self.copies[k]
        self.empty_lanes()

    cdef void empty_lanes(self) noexcept nogil:
        """Add the small counters to the large ones."""
        cdef int i, j
        cdef uint64_t lane
        for i in range(self.trees.n_values * self.n_bytes):
            lane = self.lanes[i]
            if lane:
                self.lanes[i] = 0
                for j in range(8):
                    self.high[8 * i + j] += (lane >> (8 * j)) & 255

    cdef void weigh_node(self, const Task* task) noexcept nogil:
        """Totals of the node; for a regression, the targets less their mean."""
        cdef Side* node = &self.node
        cdef const double* row = self.trees.row(task.node)
        cdef int i, code
        if self.criterion == VARIANCE:
            self.centre(task)
            return
        node.copies, node.score = task.copies, 0.0
        if task.is_new:
            node.weight = row[WEIGHT]
            memcpy(node.counts, row + HEADER, self.trees.n_values * sizeof(double))
        else:                           # the leaf may hold earlier samples too
            node.weight = 0.0
            memset(node.counts, 0, self.trees.n_values * sizeof(double))
            for i in range(task.start, task.end):
                node.weight += self.mass[self.samples[i]]
                node.counts[self.code[self.samples[i]]] += self.mass[self.samples[i]]
        self.tie = 0.0 if self.exact else TIE * node.weight
        for code in range(self.trees.n_values):
            if self.criterion == GINI:
                node.score += node.counts[code] * node.counts[code]
            else:
                node.score += x_log_x(node.counts[code])

    cdef void centre(self, const Task* task) noexcept nogil:
        """Totals of the node in a regression, and the targets less their mean."""
        cdef int i, slot
        cdef double mean = 0.0, mass
        cdef Side* node = &self.node
        cdef const double* target = self.target
        node.weight, node.score, node.copies = 0.0, 0.0, task.copies
        self.spread = 0.0
        for i in range(task.start, task.end):
            slot = self.samples[i]
            mass = self.mass[slot]
            node.weight += mass
            mean += mass * (target[slot] - mean) / node.weight
        for i in range(task.start, task.end):
            slot = self.samples[i]
            self.centred[slot] = target[slot] - mean
            node.score += self.mass[slot] * self.centred[slot]
            self.spread += self.mass[slot] * self.centred[slot] * self.centred[slot]
        self.tie = 0.0 if self.exact else TIE * self.spread

    cdef Split find(self, const Task* task) noexcept nogil:
        """The best split of a node over the features that are visited."""
        cdef Split best
        cdef int i, j, column, n_visited = 0
        self.drawn = self.shuffled or self.random or self.max_features < task.n_active
        best.column, best.score = -1, -INFINITY
        best.threshold, best.nominal, best.missing_left, best.removed = 0.0, 0, 0, 0.0
        for i in range(task.n_active):
            if n_visited >= self.max_features and best.column >= 0:
                break
            if self.drawn:
                j = i + <int>below(&self.rng, task.n_active - i)
                self.columns[i], self.columns[j] = self.columns[j], self.columns[i]
            column = self.columns[i]
            n_visited += 1
            if self.is_perfect(&best) and (self.drawn or column > best.column):
                continue
            if self.random:
                self.try_random(task, column, &best)
            elif self.bit[column] >= 0:
                self.try_bit(column, &best)
            elif self.nominal[column]:
                self.try_nominal(task, column, &best)
            else:
                self.try_numeric(task, column, &best)
        return best

    cdef bint is_perfect(self, const Split* split) noexcept nogil:
        """Whether no other split can be better: both sides are pure."""
        if self.reference:      # scores of another scale
            return False
        if self.criterion == GINI:
            return split.score >= self.node.weight - self.tie
        return self.criterion == ENTROPY and split.score >= -self.tie

    # ---------------------------------------------------------------- candidates of one column

    cdef int n_missing(self, const Task* task, int column) noexcept nogil:
        cdef const double* data = self.values + <Py_ssize_t>column * self.n
        cdef const int* ranked = self.ranked + <Py_ssize_t>column * self.n
        cdef int i = task.end
        if self.bit[column] >= 0:
            return 0
        while data[ranked[i - 1]] != data[ranked[i - 1]]:   # not all are missing: it varies
            i -= 1
        return task.end - i

    cdef void try_numeric(self, const Task* task, int column, Split* best) noexcept nogil:
        cdef const int* ranked = self.ranked + <Py_ssize_t>column * self.n
        cdef int n_missing = self.n_missing(task, column)
        cdef int present = task.end - n_missing, i, missing_left
        for missing_left in range(2 if n_missing else 1):
            self.begin()
            if missing_left:
                for i in range(present, task.end):
                    self.shift(ranked[i])
            if self.criterion == VARIANCE:
                self.scan_numbers(column, ranked + task.start, present - task.start, missing_left,
                                  best)
            else:
                self.scan_classes(column, ranked + task.start, present - task.start, missing_left,
                                  best)
            if n_missing and not missing_left:
                self.shift(ranked[present - 1])
                self.offer(column, INFINITY, False, False, best)

    cdef void scan_numbers(self, int column, const int* slots, int n, bint missing_left,
                           Split* best) noexcept nogil:
        """Offer every threshold between the n sorted samples; all but the last end up left."""
        cdef const double* data = self.values + <Py_ssize_t>column * self.n
        cdef double value, following = data[slots[0]]
        cdef int i
        for i in range(n - 1):
            value = following
            following = data[slots[i + 1]]
            self.shift(slots[i])
            if value < following:
                self.offer(column, self.between(value, following), False, missing_left, best)

    cdef void scan_classes(self, int column, const int* slots, int n, bint missing_left,
                           Split* best) noexcept nogil:
        """As `scan_numbers`, but samples are moved only when a threshold is offered.

        Between two samples of one class, alone with their values, no threshold is as good as the
        better one of those around the run of that class (Fayyad and Irani 1992), so none is
        offered, unless the least number of samples in a leaf could forbid those around it.
        """
        cdef const double* data = self.values + <Py_ssize_t>column * self.n
        cdef bint skip = self.min_samples_leaf <= 1 and not self.reference, mixed = False
        cdef int first = self.code[slots[0]], code, i, copies = 0
        cdef double value, following = data[slots[0]]
        memset(self.waiting, 0, self.trees.n_values * sizeof(double))
        for i in range(n - 1):
            value = following
            following = data[slots[i + 1]]
            code = self.code[slots[i]]
            mixed |= code != first
            self.waiting[code] += self.mass[slots[i]]
            copies += self.copies[slots[i]]
            if value < following:
                if (skip and not mixed and self.code[slots[i + 1]] == code
                        and (i + 2 == n or following < data[slots[i + 2]])):
                    continue
                self.move_waiting(first, mixed, copies)
                self.offer(column, self.between(value, following), False, missing_left, best)
                first, mixed, copies = self.code[slots[i + 1]], False, 0
        self.move_waiting(first, mixed, copies)

    cdef inline double count_log_count(self, double count) noexcept nogil:
        return X_LOG_X[<int>count] if self.integral else x_log_x(count)

    cdef void move_waiting(self, int first, bint mixed, int copies) noexcept nogil:
        """Move what waits to the left: samples of one class, or of several."""
        cdef int code
        self.here.copies += copies
        self.there.copies -= copies
        if not mixed:
            self.move(first, self.waiting[first])
            self.waiting[first] = 0.0
            return
        for code in range(self.trees.n_values):
            if self.waiting[code] > 0.0:
                self.move(code, self.waiting[code])
                self.waiting[code] = 0.0

    cdef void try_bit(self, int column, Split* best) noexcept nogil:
        """The one threshold of a column of two values."""
        cdef int code, low, n_low = 0, bit = self.bit[column]
        self.begin()
        for code in range(self.trees.n_values):
            low = <int>self.node.counts[code] - self.high[code * 8 * self.n_bytes + bit]
            n_low += low
            if low > 0:
                self.move(code, low)
        self.here.copies, self.there.copies = n_low, self.node.copies - n_low
        self.offer(column, self.cuts[bit], False, False, best)

    cdef void try_nominal(self, const Task* task, int column, Split* best) noexcept nogil:
        cdef const double* data = self.values + <Py_ssize_t>column * self.n
        cdef const int* ranked = self.ranked + <Py_ssize_t>column * self.n
        cdef int n_missing = self.n_missing(task, column)
        cdef int present = task.end - n_missing, i, j, k, missing_left
        for missing_left in range(2 if n_missing else 1):
            i = task.start
            while i < present:
                self.begin()
                j = i
                while j < present and data[ranked[j]] == data[ranked[i]]:
                    self.shift(ranked[j])
                    j += 1
                if missing_left:
                    for k in range(present, task.end):
                        self.shift(ranked[k])
                self.offer(column, data[ranked[i]], True, missing_left, best)
                i = j
        if n_missing:
            self.begin()
            for i in range(present, task.end):
                self.shift(ranked[i])
            self.offer(column, NO_CODE, True, True, best)

    cdef void try_random(self, const Task* task, int column, Split* best) noexcept nogil:
        """One threshold between the least and the largest value, or the value of one sample."""
        cdef const double* data = self.values + <Py_ssize_t>column * self.n
        cdef const int* ranked = self.ranked + <Py_ssize_t>column * self.n
        cdef int n_missing = self.n_missing(task, column)
        cdef int present = task.end - n_missing, i, missing_left
        cdef double low = data[ranked[task.start]], high = data[ranked[present - 1]], threshold
        if self.nominal[column]:
            threshold = data[ranked[task.start + <int>below(&self.rng, present - task.start)]]
        else:
            threshold = low + uniform(&self.rng) * (high - low)
            if not low <= threshold < high:
                threshold = low
        for missing_left in range(2 if n_missing else 1):
            self.begin()
            for i in range(task.start, present):
                if (data[ranked[i]] == threshold if self.nominal[column]
                        else data[ranked[i]] <= threshold):
                    self.shift(ranked[i])
            if missing_left:
                for i in range(present, task.end):
                    self.shift(ranked[i])
            self.offer(column, threshold, self.nominal[column], missing_left, best)

    # ---------------------------------------------------------------- the two sides of a candidate

    cdef void begin(self) noexcept nogil:
        """All samples of the node on the right side."""
        cdef double* here = self.here.counts
        cdef double* there = self.there.counts
        self.here.weight, self.here.score, self.here.copies = 0.0, 0.0, 0
        self.there.weight, self.there.score = self.node.weight, self.node.score
        self.there.copies = self.node.copies
        if self.criterion != VARIANCE:
            memset(here, 0, self.trees.n_values * sizeof(double))
            memcpy(there, self.node.counts, self.trees.n_values * sizeof(double))

    cdef void shift(self, int slot) noexcept nogil:
        """Move one sample from the right side to the left."""
        cdef double mass = self.mass[slot]
        self.here.copies += self.copies[slot]
        self.there.copies -= self.copies[slot]
        if self.criterion != VARIANCE:
            self.move(self.code[slot], mass)
            return
        self.here.weight += mass
        self.there.weight -= mass
        self.here.score += mass * self.centred[slot]
        self.there.score -= mass * self.centred[slot]

    cdef inline void move(self, int code, double mass) noexcept nogil:
        """Move the weight of samples of one class from the right side to the left."""
        cdef double here = self.here.counts[code], there = self.there.counts[code]
        self.here.weight += mass
        self.there.weight -= mass
        self.here.counts[code] = here + mass
        self.there.counts[code] = there - mass
        if self.criterion == GINI:
            self.here.score += mass * (2.0 * here + mass)
            self.there.score += mass * (mass - 2.0 * there)
        else:
            self.here.score += self.count_log_count(here + mass) - self.count_log_count(here)
            self.there.score += self.count_log_count(there - mass) - self.count_log_count(there)

    cdef void offer(self, int column, double threshold, bint nominal, bint missing_left,
                    Split* best) noexcept nogil:
        """Take the present sides as the best split if the rules allow it and it is better."""
        cdef double score, lead, removed = 0.0
        cdef Side* here = &self.here
        cdef Side* there = &self.there
        if here.copies < self.min_samples_leaf or there.copies < self.min_samples_leaf:
            return
        if here.copies == 0 or there.copies == 0:
            return
        if self.reference:
            score = self.reference_score(&removed)
        elif self.forgetful_reference:
            score = self.forgetful_score()
        elif self.criterion == GINI:    # one division: whole weights give exact scores
            score = ((here.score * there.weight + there.score * here.weight)
                     / (here.weight * there.weight))
        elif self.criterion == ENTROPY:
            score = (here.score - self.count_log_count(here.weight)) + (
                there.score - self.count_log_count(there.weight))
        else:
            score = (here.score * here.score / here.weight
                     + there.score * there.score / there.weight)
        if score - score != 0.0:        # overflown: no answer
            return
        if best.column >= 0:
            lead = score - best.score
            if lead < -self.tie:
                return
            # A lower column comes later only where drop_constant has changed the order.
            if lead <= self.tie and (self.drawn or column >= best.column):
                return
        best.column, best.threshold, best.score = column, threshold, score
        best.nominal, best.missing_left, best.removed = nominal, missing_left, removed

    cdef double between(self, double value, double following) noexcept nogil:
        """The threshold between two neighbouring values: `value` goes left, `following` right."""
        cdef double threshold = 0.5 * value + 0.5 * following
        return threshold if threshold < following and not self.forgetful_reference else value

    cdef double node_score(self) noexcept nogil:
        """What `offer` would score the undivided node."""
        if self.exact and self.criterion != VARIANCE:
            return -self.node.weight * self.impurity(self.node.counts, self.node.weight)
        if self.criterion == GINI:
            return self.node.score / self.node.weight
        if self.criterion == ENTROPY:
            return self.node.score - x_log_x(self.node.weight)
        return 0.0

    # ---------------------------------------------------------------- the published programs

    cdef double impurity(self, const double* counts, double weight) noexcept nogil:
        """Impurity of class weights, in the published program's arithmetic."""
        cdef double squares = 0.0, bits = 0.0, share
        cdef int code
        for code in range(self.trees.n_values):
            if self.criterion == GINI:
                squares += counts[code] * counts[code]
            elif counts[code] > 0.0:
                share = counts[code] / weight
                bits -= share * (log(share) / log(2.0))
        return 1.0 - squares / (weight * weight) if self.criterion == GINI else bits

    cdef double judged_by(self, int node) noexcept nogil:
        """The impurity that a node is judged by: a new node's own, else that of its parent.

        A node that was split has kept the counts of the batch that split it, and was new at that
        time if that batch split its parent too.
        """
        cdef int parent = self.trees.nodes[node].parent
        cdef const double* row
        while parent >= 0 and self.trees.row(node)[VISITED] != self.trees.row(parent)[VISITED]:
            node, parent = parent, self.trees.nodes[parent].parent
        row = self.trees.row(node)
        if self.criterion == VARIANCE:
            return row[HEADER + 1] / row[WEIGHT]
        return self.impurity(row + HEADER, row[WEIGHT])

    cdef double reference_score(self, double* removed) noexcept nogil:
        """Score of the present sides, and the impurity that they remove from what was judged by."""
        cdef Side* here = &self.here
        cdef Side* there = &self.there
        cdef double left, right, weight = self.node.weight
        if self.criterion == VARIANCE:
            left = here.score * here.score / here.weight + there.score * there.score / there.weight
            removed[0] = self.judged - (self.spread - left) / weight
            return left
        left = self.impurity(here.counts, here.weight)
        right = self.impurity(there.counts, there.weight)
        removed[0] = self.judged - there.weight / weight * right - here.weight / weight * left
        return -there.weight * right - here.weight * left

    cdef double forgetful_score(self) noexcept nogil:
        """Score of the present sides in the arithmetic of the program of forgetful trees."""
        cdef double left = 1.0, right = 1.0, p, q, weight = self.node.weight
        cdef Side* here = &self.here
        cdef Side* there = &self.there
        cdef int code
        if self.criterion == VARIANCE:
            return here.score * here.score / here.weight + there.score * there.score / there.weight
        if self.criterion == ENTROPY:
            left = right = 0.0
        for code in range(self.trees.n_values):
            p, q = here.counts[code] / here.weight, there.counts[code] / there.weight
            if self.criterion == GINI:
                left -= p * p
                right -= q * q
            else:
                if p > 0.0:
                    left -= p * log(p)
                if q > 0.0:
                    right -= q * log(q)
        return -(left * here.weight / weight + right * there.weight / weight)

    # ---------------------------------------------------------------- carrying out a split

    cdef void apply(self, const Task* task, const Split* split, Task* left,
                    Task* right) noexcept nogil:
        """Give the leaf its children, with their statistics, and partition every order.

        A child that is not to be grown is told by n_active = 0.
        """
        cdef Node* node = &self.trees.nodes[task.node]
        left.node = self.trees.new_node(task.node, node.depth + 1)
        right.node = self.trees.new_node(task.node, node.depth + 1)
        node.feature, node.threshold = split.column, split.threshold
        node.nominal, node.missing_left = split.nominal, split.missing_left
        node.left, node.right = left.node, right.node
        self.trees.row(task.node)[GAIN] = split.score - self.node_score()
        left.is_new = right.is_new = True
        left.start, right.end = task.start, task.end
        self.deal(task, left, right)
        left.n_active = task.n_active if left.n_active else 0
        right.n_active = task.n_active if right.n_active else 0
        if self.n_missing(task, split.column) == 0:
            node.missing_left = (self.trees.row(left.node)[WEIGHT]
                                 >= self.trees.row(right.node)[WEIGHT])
        if left.n_active or right.n_active:
            self.partition_all(task, split)

    cdef void deal(self, const Task* task, Task* left, Task* right) noexcept nogil:
        """Fill the statistics of both sides, and say in n_active whether they may be grown."""
        cdef int n_left = self.mark_sides(task)
        cdef bint[2] varies
        if self.trees.regression:
            self.fill_numbers(task, left, right, varies)
        else:
            self.fill_classes(task, left, right, varies)
        self.trees.row(left.node)[VISITED] = self.trees.row(right.node)[VISITED] = self.step
        left.end = right.start = task.start + n_left
        right.copies = task.copies - left.copies
        left.n_active = self.is_open(left.node, left.copies, varies[1])
        right.n_active = self.is_open(right.node, right.copies, varies[0])

    cdef int mark_sides(self, const Task* task) noexcept nogil:
        """Write to `left` on which side of the split each sample is; return how many are left."""
        cdef const Node* node = &self.trees.nodes[task.node]
        cdef const double* data = self.values + <Py_ssize_t>node.feature * self.n
        cdef double threshold = node.threshold
        cdef int bit = self.bit[node.feature], byte, mask, i, k, n_left = 0
        if bit >= 0:
            byte, mask = bit // 8, 1 << (bit % 8)
            for i in range(task.start, task.end):
                k = self.samples[i]
                self.left[k] = not self.bits[<Py_ssize_t>k * self.n_bytes + byte] & mask
                n_left += self.left[k]
        elif node.nominal or node.missing_left:
            for i in range(task.start, task.end):
                k = self.samples[i]
                self.left[k] = self.trees.goes_left(task.node, data[k])
                n_left += self.left[k]
        else:
            for i in range(task.start, task.end):
                k = self.samples[i]
                self.left[k] = data[k] <= threshold     # a missing value: no
                n_left += self.left[k]
        return n_left

    cdef void fill_classes(self, const Task* task, Task* left, Task* right,
                           bint* varies) noexcept nogil:
        cdef (double*)[2] rows
        cdef int i, k, side, code, n_classes, copies = 0
        cdef double mass
        rows[0], rows[1] = self.trees.row(right.node), self.trees.row(left.node)
        for i in range(task.start, task.end):
            k = self.samples[i]
            side = self.left[k]
            mass = self.mass[k]
            rows[side][HEADER + self.code[k]] += mass
            rows[side][WEIGHT] += mass
            copies += side * self.copies[k]
        left.copies = copies
        for side in range(2):
            n_classes = 0
            for code in range(self.trees.n_values):
                n_classes += rows[side][HEADER + code] > 0.0
            varies[side] = n_classes > 1

    cdef void fill_numbers(self, const Task* task, Task* left, Task* right,
                           bint* varies) noexcept nogil:
        cdef int i, k, side
        cdef int[2] child, n
        cdef double[2] first
        child[0], child[1] = right.node, left.node
        n[0] = n[1] = 0
        varies[0] = varies[1] = False
        left.copies = 0
        for i in range(task.start, task.end):
            k = self.samples[i]
            side = self.left[k]
            if n[side] == 0:
                first[side] = self.target[k]
            n[side] += 1
            varies[side] |= self.target[k] != first[side]
            left.copies += side * self.copies[k]
            self.trees.add_number(child[side], self.target[k], self.mass[k], self.step)

    cdef void partition_all(self, const Task* task, const Split* split) noexcept nogil:
        """Bring every order in line with the split. That of its own column mostly is already."""
        cdef int i, column
        self.partition(self.samples, task)
        for i in range(task.n_active):
            column = self.columns[i]
            if self.bit[column] >= 0:
                continue
            if column != split.column or split.nominal or split.missing_left:
                self.partition(self.ranked + <Py_ssize_t>column * self.n, task)

    cdef void partition(self, int* slots, const Task* task) noexcept nogil:
        """Left samples first, both sides in the order they had; no branch depends on a sample."""
        cdef int i, slot, side, kept = task.start, moved = 0
        for i in range(task.start, task.end):
            slot = slots[i]
            side = self.left[slot]
            slots[kept] = slot
            self.spare[moved] = slot
            kept += side
            moved += 1 - side
        memcpy(slots + kept, self.spare, moved * sizeof(int))


def _splitter_from_state(*rules):
    return Splitter(*rules)
