"""The growth of an extremely randomised tree, in small steps. See the header."""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport uint32_t
from libc.string cimport memcmp, memcpy, memmove, memset

from ..allocation cimport carve, free, product, resized, trimmed
from ..rng cimport next_word, skip
from ..split cimport ENTROPY, VALUES, VARIANCE, goes_left
from ..tree cimport add_class, learn_number, reserve_pairs, split_leaf
from .buffer cimport BLOCK
from .candidates cimport LEAST_TOLD
from .column_lists cimport MOST_COUNTED, Link
from .lane_rows cimport Lane, Lanes, Range, float_at, largest_at
from .node_values cimport NodeValues

cdef extern from "bits.h":
    int lowest_bit(uint64_t word) nogil

cdef extern from "lanes.h":
    int has_lane(const uint64_t* set, int lane) nogil
    int count_lanes(const uint64_t* set, int n_words) nogil
    int lane_at(const uint64_t* set, int at) nogil
    int bit_length(uint32_t number) nogil
    void draw_thresholds(const Lanes* lanes, const uint8_t* rows, int n, const uint64_t* words,
                         uint8_t* thresholds, uint64_t* vary) nogil
    void count_segments(const Lanes* lanes, const uint8_t* rows, const Segment* segments,
                        int n_segments, const uint8_t* thresholds, int* counts) nogil
    void sum_targets(const Lanes* lanes, const uint8_t* rows, const int* targets, int n,
                     const uint8_t* thresholds, int* sums, int* counts) nogil
    void score_lanes(const Lanes* lanes, const int* counts, const Segment* segments,
                     int n_segments, const int* sums, int total, int n, int least,
                     const uint64_t* chosen, float* scores) nogil
    float find_best(const float* scores, int n_lanes, uint64_t* best) nogil
    void move_rows(const Lanes* lanes, const uint8_t* rows, int n, int n_left, const Test* test,
                   uint8_t* to, const int* items, int* to_items, int keeps_left,
                   int keeps_right) nogil
    double power_below(double magnitude) nogil
    void clear_lanes(uint64_t* set, int n_words) nogil
    void copy_lanes(uint64_t* set, const uint64_t* other, int n_words) nogil
    void find_unequal(const Lanes* lanes, const uint8_t* rows, uint64_t* vary) nogil
    int word_of(const Lanes* lanes, int lane) nogil
    int divide_two(const Lanes* lanes, const uint8_t* rows, int lane, uint64_t word,
                   float* threshold) nogil

cdef enum:
    WIDE = 8                # a growth is wide if it is offered so many columns per tried one
    LEAST_TRIM = 1 << 16    # bytes

CRITERIA = ("gini", "entropy", "variance")


@cython.final
cdef class Growth(ColumnLists):
    """The growth of an extremely randomised tree. See the header.

    Parameters
    ----------
    criterion
        "gini", "entropy" (of classes) or "variance" (of numbers).
    max_depth, min_samples_split, min_samples_leaf
        Rules that end the growth.
    """

    def __cinit__(self, criterion, int max_depth, int min_samples_split, int min_samples_leaf):
        self.criterion = CRITERIA.index(criterion)
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.node_values = NodeValues()

    def __dealloc__(self):
        free(self.block)
        free(self.columns)
        free(self.nominal)
        free(self.evidence)
        free(self.list_of)
        free(self.marks)

    # ---------------------------------------------------------------- memory

    cdef int reserve(self, Tree* tree, const Kind* kind, int n_labels, int n_samples,
                     int64_t n_values, int max_features) except -1 nogil:
        """Allocate all memory that the growth of a tree on n_samples samples may need.

        The columns were offered, of which a node tries max_features, and the samples have n_values
        values in all. The labels are those of the samples; the tree may not know all of them yet.
        """
        cdef size_t bytes
        cdef Layout layout
        cdef int64_t n_cells = <int64_t>self.n_offered * n_samples
        self.max_features = max_features
        self.is_sparse = n_samples > 2 and are_few(n_values, n_cells)
        self.n_values = <int>n_values if self.is_sparse else 0
        self.is_complete = n_values == n_cells and self.n_offered == self.buffer.n_features
        # Two samples are split by any column that varies.
        self.is_wide = (n_samples == 2 or self.n_offered > <int64_t>WIDE * max_features
                        or n_cells > MOST_CELLS or self.is_sparse)
        self.n_classes = 1 if self.criterion == VARIANCE else max(1, n_labels)
        self.has_class_counts = (self.is_sparse and self.criterion != VARIANCE
                                 and self.n_classes <= MOST_COUNTED)
        self.n_samples, self.has_items, self.is_fast = n_samples, True, False
        memset(&self.lanes, 0, sizeof(Lanes))
        # Until the lanes are known: float lanes, and some to fill the last unit of each kind.
        self.lanes.size = 0 if self.is_wide else 16 * (self.n_offered // 4 + 3)
        memset(&layout, 0, sizeof(Layout))
        layout.n_samples, layout.n_offered = self.room(), self.n_offered
        layout.n_values, layout.n_classes = self.n_values, self.n_classes
        layout.is_wide, layout.is_sparse = self.is_wide, self.is_sparse
        layout.min_samples_leaf = self.min_samples_leaf
        layout.has_nominal, layout.has_class_counts = self.has_nominal, self.has_class_counts
        if memcmp(&layout, &self.layout, sizeof(Layout)) != 0:
            self.layout.n_samples = 0
            bytes = self.lay_out(self.room())
            if bytes > self.block_bytes:
                self.release(False)
                self.block = <char*>resized(NULL, bytes, 1)
                self.block_bytes = bytes
                self.lay_out(self.room())
            self.layout = layout
        # All new pairs, and a root if there is none.
        return reserve_pairs(tree, kind, (tree.n_used == 0)
                             + n_samples // max(1, self.min_samples_leaf))

    cdef size_t lay_out(self, size_t most_values) except 0 nogil:
        """Divide the block for `n_samples` rows of `lanes.size` bytes; return its size in bytes.

        A nominal column has at most so many values in a node.
        """
        cdef size_t begin = <size_t>self.block, end = begin, n = self.room()
        cdef size_t n_numbers = n if self.criterion == VARIANCE else 0
        cdef size_t n_slow = 0 if self.is_fast else n
        cdef size_t n_tasks = n // (2 * max(1, self.min_samples_leaf)) + 2
        cdef size_t n_nominal = most_values if self.has_nominal else 0
        # Of few classes and values; see `count_values`.
        cdef size_t n_counts = 0 if n_numbers else min(2 * n, product(n_nominal, self.n_classes))
        # Lanes for the columns, and some to fill the last unit of each kind.
        cdef size_t n_columns = 0 if self.is_wide else self.n_offered
        cdef size_t n_lanes = 0 if self.is_wide else n_columns + 15 + 3 + 3
        cdef size_t size = self.lanes.size
        cdef int i
        self.n_words = <int>(n_lanes + 63) // 64
        cdef size_t n_values = n if self.is_sparse and self.has_nominal else 0
        self.links = <Link*>carve(&end, self.n_values + self.most_lists(), sizeof(Link))
        self.numbers = <double*>carve(&end, n_numbers, sizeof(double))
        self.weights_of = <double*>carve(&end, n_values, sizeof(double))
        self.targets_of = <double*>carve(&end, n_values, sizeof(double))
        self.node.counts = <double*>carve(&end, self.n_classes, sizeof(double))
        self.left.counts = <double*>carve(&end, self.n_classes, sizeof(double))
        self.right.counts = <double*>carve(&end, self.n_classes, sizeof(double))
        self.missing.counts = <double*>carve(&end, self.n_classes, sizeof(double))
        self.surplus = <double*>carve(&end, n_lanes, sizeof(double))
        self.freedom = <double*>carve(&end, n_lanes, sizeof(double))
        self.words = <uint64_t*>carve(&end, n_lanes, sizeof(uint64_t))
        self.vary = <uint64_t*>carve(&end, self.n_words, sizeof(uint64_t))
        self.chosen = <uint64_t*>carve(&end, self.n_words, sizeof(uint64_t))
        self.best_lanes = <uint64_t*>carve(&end, self.n_words, sizeof(uint64_t))
        self.ranges = <Range*>carve(&end, n_columns, sizeof(Range))
        self.of_lanes = <Lane*>carve(&end, n_lanes, sizeof(Lane))
        self.splits = <Split*>carve(&end, n_lanes, sizeof(Split))
        self.counts = <int*>carve(&end, product(n_lanes, self.n_classes), sizeof(int))
        self.sums = <int*>carve(&end, n_lanes, sizeof(int))
        self.scores = <float*>carve(&end, n_lanes, sizeof(float))
        self.varying = <int*>carve(&end, n_lanes, sizeof(int))
        self.segments = <Segment*>carve(
            &end, n_tasks + 1 if n_numbers else n + self.n_classes, sizeof(Segment))
        self.left_segments = <Segment*>carve(&end, self.n_classes, sizeof(Segment))
        self.lefts = <int*>carve(&end, self.n_classes, sizeof(int))
        self.class_counts = <int*>carve(&end, self.n_classes, sizeof(int))
        self.places = <int*>carve(&end, n, sizeof(int))
        self.positions = <int*>carve(&end, n, sizeof(int))
        self.order = <int*>carve(&end, n_numbers, sizeof(int))
        self.whole_targets = <int*>carve(&end, n_numbers, sizeof(int))
        self.spare = <int*>carve(&end, n + 1, sizeof(int))
        self.lay_out_lists(&end, n)
        for i in range(2):
            self.items[i] = <int*>carve(&end, n if self.has_items else 0, sizeof(int))
        # What follows is not in use yet when `trim` divides the block anew.
        carve(&end, (0 - end) % sizeof(double), 1)
        self.node_values.lay_out(&end, n_nominal)
        self.weights = <double*>carve(&end, n_slow, sizeof(double))
        self.values = <double*>carve(&end, n_numbers if self.is_fast else n, sizeof(double))
        self.targets = <double*>carve(&end, n_numbers if n_slow else 0, sizeof(double))
        # At most one of two children is below the top of the stack, and it has at least 2 samples.
        self.tasks = <char*>carve(&end, n_tasks, sizeof(Task) if self.is_wide else TASK_BYTES)
        self.node_values.lay_out_ints(&end, n_nominal, n_counts)
        self.codes = <int*>carve(&end, n_slow, sizeof(int))
        self.sides = <uint8_t*>carve(&end, n_slow, 1)
        self.thresholds = <uint8_t*>carve(&end, size, 1)
        self.is_silent = <uint8_t*>carve(&end, n_lanes, 1)
        for i in range(2):
            self.rows[i] = <uint8_t*>carve(&end, product(n, size), 1)
        return end - begin

    cdef void trim(self) noexcept nogil:
        """Give the memory back that the lanes do not need, if it is much."""
        cdef size_t bytes
        cdef const uint8_t* numbers = self.rows[1]
        if self.block_bytes < LEAST_TRIM:
            return
        self.is_fast, self.layout.n_samples = self.lanes.n_other == 0, 0
        bytes = self.lay_out(self.most_values)
        memmove(self.rows[1], numbers, self.n_numbered * <size_t>self.n_samples * sizeof(float))
        if bytes + LEAST_TRIM < self.block_bytes:
            self.block = <char*>trimmed(self.block, bytes)
            self.block_bytes = bytes
            self.lay_out(self.most_values)
        memset(self.node_values.table, 0xff, self.most_values * sizeof(int))    # it has moved

    cdef size_t n_bytes(self) noexcept nogil:
        """Number of allocated bytes."""
        return self.block_bytes + self.column_capacity * (2 * sizeof(int) + sizeof(double) + 1) + (
            2 * <size_t>(self.column_capacity // 64 + 1) * sizeof(uint64_t))

    cdef void release(self, bint keeps_little) noexcept nogil:
        """Free the memory of the growth, unless it is little and may be kept for the next one."""
        if keeps_little and self.block_bytes < LEAST_TRIM:
            return
        free(self.block)
        self.block, self.block_bytes, self.layout.n_samples = NULL, 0, 0

    # ---------------------------------------------------------------- steps of a growth

    cdef void begin(self, int node, int depth, bint keeps_root, int n_samples,
                    Rng rng) noexcept nogil:
        """Begin to split a leaf with the samples `places[:n_samples]`; `reserve` made the room.

        A regression splits by `numbers[:n_samples]`. If the leaf is not split, it learns the
        samples, unless it knows them.
        """
        self.rng, self.n_steps, self.n_samples = rng, 0, n_samples
        self.root, self.keeps_root = node, keeps_root
        self.task.node, self.task.depth = node, depth
        self.n_tasks = self.n_segments = self.n_levels = 0
        self.phase = SORT

    cdef double expected_steps(self) noexcept nogil:
        """Estimated number of steps that are left, if nodes are halved until they are pure.

        In a sparse growth they are not halved; but there is about one node in two rows.
        """
        cdef double per_row = 8.0 if self.criterion == VARIANCE else 0.0, to_read
        if self.phase == DONE:
            return 0.0
        if self.is_sparse:
            per_row += 14.0 * self.max_features + 8.0 * self.n_values / self.n_samples
            to_read = 8.0 * self.n_samples + 12.0 * self.n_values
        elif self.is_wide:
            per_row += 8.0 * self.max_features
            to_read = self.n_samples * (8.0 + 3.0 * self.n_offered)
        else:
            per_row += 3.0 * self.lanes.size / 16 + 8.0 * min(self.max_features,
                                                              4 * self.lanes.n_other)
            to_read = self.n_samples * (8.0 + 3.0 * self.n_offered)
        if self.phase > OPEN and self.is_sparse:        # one task may be nearly all that is left
            return per_row * (self.n_levels + self.levels_of(self.task.n))
        if self.phase >= OPEN:
            return per_row * self.n_levels
        return to_read + per_row * self.levels_of(self.n_samples)

    cdef int64_t levels_of(self, int n) noexcept nogil:
        """In how many nodes below a node with n samples one of these is, times n."""
        return n if self.is_sparse else <int64_t>n * bit_length(n)

    cdef void finish(self, Tree* tree) noexcept nogil:
        """End the growth: what is left to be split stays leaves."""
        while self.phase < OPEN:
            self.step(tree)
        if self.phase != OPEN and self.phase != DONE:
            self.leave(tree)
        while self.phase != DONE:
            if self.take_task():
                self.leave(tree)

    cdef bint advance(self, Tree* tree, int64_t n_steps) noexcept nogil:
        """Do n_steps steps, or a few more; return whether the growth has ended."""
        cdef int64_t until = self.n_steps + n_steps
        while self.n_steps < until and self.phase != DONE:
            self.step(tree)
            # The usual order of the passes over a node, in which each test can be predicted.
            if self.phase == DRAW and self.n_steps < until:
                self.draw(tree)
            if self.phase == COUNT and self.n_steps < until:
                self.count()
            if self.phase == SPLIT and self.n_steps < until:
                self.find_split(tree)
        return self.phase == DONE

    cdef void step(self, Tree* tree) noexcept nogil:
        """Do the next pass, over all samples of a node at most; count its steps."""
        cdef int n
        if self.phase == OPEN:
            self.open_task(tree)
        elif self.phase == DRAW:
            self.draw(tree)
        elif self.phase == COUNT:
            self.count()
        elif self.phase == VISIT:
            if not self.is_wide:
                self.n_steps += 50 + 8 * self.task.n
            self.visit_next()
        elif self.phase == SPLIT:
            self.find_split(tree)
        elif self.phase == SORT:
            self.n_steps += 8 * self.n_samples
            self.sort_samples(tree)
        elif self.phase == MEASURE:
            self.n_steps += 10 + self.n_samples
            self.measure_column(self.at)
            if self.nominal[self.columns[self.at]]:
                self.number_column(self.at)
            self.at += 1
            if self.at == self.n_offered:
                self.assign_lanes()
                self.trim()
                self.begin_evidence()
                self.phase, self.at = ENCODE, 0
        elif self.phase == LIST:
            self.list_next()
        else:
            n = self.spare[self.at + 1] - self.spare[self.at]
            self.n_steps += 10 + 2 * n * self.lanes.n_lanes
            self.encode_run(self.at)
            self.touch_rows(self.spare[self.at], n)
            self.at += 1
            if self.at == self.n_runs:
                self.push_task(self.task)

    # ---------------------------------------------------------------- samples as rows

    cdef void sort_samples(self, Tree* tree) noexcept nogil:
        """Bring the samples into the order of their classes; find out what the growth may use."""
        cdef int i = 0, j, code = 0, n_of_class, at = 0, n = self.n_samples, n_run
        cdef const int* places = self.places
        cdef const double* targets
        cdef int* codes = self.codes
        cdef int* counts = self.class_counts
        cdef int* items = self.items[0]
        cdef int* positions = self.positions
        cdef double first = self.buffer.weight(places[0]), largest = first
        cdef bint is_pure = True, are_equal = True
        while i < n:
            n_run = self.adjacent_from(i)
            targets = self.buffer.targets_at(places[i])
            are_equal &= targets[BLOCK] == first and memcmp(
                targets + BLOCK, targets + BLOCK + 1, (n_run - 1) * sizeof(double)) == 0
            if self.criterion != VARIANCE:
                for j in range(n_run):
                    codes[j] = <int>targets[j]
            codes, i = codes + n_run, i + n_run
        codes = self.codes
        for i in range(0 if are_equal else n):
            largest = max(largest, self.buffer.weight(places[i]))
        self.unit = 2.0 * power_below(largest)
        self.is_plain = self.criterion != ENTROPY and are_equal and largest * self.unit == 1.0
        self.has_items = (self.is_wide or self.has_nominal or not self.is_plain
                          or self.criterion == VARIANCE)
        memset(counts, 0, self.n_classes * sizeof(int))
        if self.criterion == VARIANCE:
            counts[0] = n
            memset(codes, 0, n * sizeof(int))
            for i in range(1, n):
                if self.numbers[i] != self.numbers[0]:
                    is_pure = False
                    break
        else:
            for i in range(n):
                counts[codes[i]] += 1
            is_pure = counts[codes[0]] == n
        for code in range(self.n_classes):
            n_of_class = counts[code]
            counts[code] = at
            at += n_of_class
            if n_of_class:
                self.segments[self.n_segments].code = code
                self.segments[self.n_segments].n = n_of_class
                self.n_segments += 1
        for i in range(n):                          # each sample gets the next row of its class
            at = counts[codes[i]]
            counts[codes[i]] = at + 1
            positions[i], items[at] = at, i
            if self.is_wide:
                self.class_of[at] = codes[i]
        self.task.start, self.task.n, self.task.side = 0, n, 0
        self.task.n_segments, self.task.n_active = self.n_segments, self.n_offered
        self.own = self.segments
        self.only_counts = self.is_plain and self.criterion != VARIANCE
        self.is_judged = not self.is_wide and n >= LEAST_TOLD and (
            self.has_nominal or self.criterion == VARIANCE)
        self.has_class_counts &= self.only_counts
        if self.is_wide:
            self.begin_lists()
        if is_pure or self.n_offered == 0 or self.is_final(n, self.n_segments, self.task.depth):
            self.leave(tree)
            self.phase = DONE
        elif self.is_sparse:
            self.phase, self.at = LIST, 0
        elif self.is_wide:
            self.push_task(self.task)
        else:
            self.find_runs()
            self.phase, self.at, self.n_numbered, self.most_values = MEASURE, 0, 0, 0

    cdef void list_next(self) noexcept nogil:
        """Count the entries of a row, or link them; at the end, close the lists."""
        cdef int n = self.n_samples, at = self.at
        if at < n:
            self.count_entries(at)
        elif at < 2 * n:
            if at == n:
                self.choose_lists()
            self.fill_entries(at - n)
        else:
            self.close_lists()
            self.push_task(self.task)
        self.at += 1

    # ---------------------------------------------------------------- tasks

    cdef void push_task(self, Task task) noexcept nogil:
        """Add a task, whose segments are the last ones of `segments`."""
        if self.is_wide:
            (<Task*>self.tasks)[self.n_tasks] = task
        else:
            memcpy(self.tasks + self.n_tasks * <size_t>TASK_BYTES, &task, TASK_BYTES)
        self.n_tasks += 1
        self.n_levels += self.levels_of(task.n)
        self.phase = OPEN

    cdef bint take_task(self) noexcept nogil:
        """Take the next task, if there is one."""
        if self.n_tasks == 0:
            self.phase = DONE
            return False
        self.n_tasks -= 1
        if self.is_wide:
            self.task = (<Task*>self.tasks)[self.n_tasks]
        else:
            memcpy(&self.task, self.tasks + self.n_tasks * <size_t>TASK_BYTES, TASK_BYTES)
        self.n_levels -= self.levels_of(self.task.n)
        self.n_segments -= self.task.n_segments
        self.own = self.segments + self.n_segments
        return True

    cdef void open_task(self, Tree* tree) noexcept nogil:
        """Begin with the next task."""
        if not self.take_task():
            return
        self.is_listed = self.is_counted = False
        self.lane = self.best.split.feature = -1
        self.n_left, self.n_visited = self.task.n_active, 0
        self.n_steps += 10
        if self.is_wide and not self.only_counts:
            self.list_rows(&self.task)
        if self.criterion == VARIANCE:
            self.n_steps += 8 * self.task.n
            if not self.read_targets():
                self.leave(tree)
                return
        if self.is_wide:
            self.open_lists()
        self.phase = VISIT if self.is_wide else DRAW

    cdef void leave(self, Tree* tree) noexcept nogil:
        """Let the leaf of the task learn its samples: it is not split."""
        self.phase = OPEN
        if self.task.node != self.root or not self.keeps_root:
            self.set_leaf(tree, &self.task, self.own)

    cdef void set_leaf(self, Tree* tree, const Task* task, const Segment* segments) noexcept nogil:
        """Let a leaf learn the samples of a task."""
        cdef int i, s
        cdef const int* items = self.items[task.side] + task.start
        if self.is_wide and not self.only_counts:
            self.list_rows(task)
        if self.criterion == VARIANCE:
            for i in range(task.n):
                self.order[task.start + i] = items[i]
                learn_number(tree, task.node, self.numbers[items[i]],
                             self.buffer.weight(self.places[items[i]]), 1.0)
            return
        for s in range(task.n_segments):
            if self.is_plain:
                add_class(tree, task.node, segments[s].code, segments[s].n / self.unit)
                continue
            for i in range(segments[s].n):
                add_class(tree, task.node, segments[s].code,
                          self.buffer.weight(self.places[items[i]]))
            items += segments[s].n

    cdef inline bint is_final(self, int n, int n_segments, int depth) noexcept nogil:
        """Whether a leaf with n samples cannot be split."""
        return (n < 2 or n < self.min_samples_split or n < 2 * self.min_samples_leaf
                or depth >= self.max_depth or (n_segments == 1 and self.criterion != VARIANCE)
                or (self.is_wide and self.task.n_active + self.task.n_lists == 0))

    # ---------------------------------------------------------------- the passes

    cdef void draw(self, Tree* tree) noexcept nogil:
        """Draw thresholds; choose lanes among those that vary."""
        cdef int n = self.task.n, n_vary, word
        cdef int n_drawn = 4 * self.lanes.n_bytes + 2 * (self.lanes.n_full + self.lanes.n_other)
        cdef Rng rng = self.rng
        self.n_steps += 20 + n * (self.lanes.size // 16)
        skip(&self.rng, n_drawn)
        clear_lanes(self.vary, self.n_words)
        clear_lanes(self.best_lanes, self.n_words)
        if n == 2:
            find_unequal(&self.lanes, self.own_rows(), self.vary)
        else:
            self.draw_all(rng, n_drawn)
        n_vary = count_lanes(self.vary, self.n_words)
        self.phase = COUNT
        if n_vary == 0:
            self.leave(tree)
        elif n > 2:
            self.choose(n_vary, self.max_features)
        elif self.choose_one(n_vary) < self.lanes.n_fast:       # all are perfect for two
            word = word_of(&self.lanes, self.lane)
            skip(&rng, word)
            self.words[word], self.phase = next_word(&rng), SPLIT
        else:
            self.draw_all(rng, n_drawn)
            self.lane = -1

    cdef void draw_all(self, Rng rng, int n_words) noexcept nogil:
        """Draw the thresholds of all lanes, and find out which of them vary."""
        cdef int i
        for i in range(n_words):
            self.words[i] = next_word(&rng)
        draw_thresholds(&self.lanes, self.own_rows(), self.task.n, self.words, self.thresholds,
                        self.vary)

    cdef void choose(self, int n_vary, int n_chosen) noexcept nogil:
        """Choose at random among the lanes that vary."""
        cdef int i, j, n = 0, n_drawn, n_words = self.n_words
        cdef uint64_t word, bits = 0
        cdef bint leaves_out = 2 * n_chosen >= n_vary       # fewer are drawn so
        copy_lanes(self.chosen, self.vary, n_words)
        if n_vary <= n_chosen:
            return
        for i in range(n_words):
            word = self.vary[i]
            while word:
                self.varying[n] = 64 * i + lowest_bit(word)
                word &= word - 1
                n += 1
            if not leaves_out:
                self.chosen[i] = 0
        n_drawn = n_vary - n_chosen if leaves_out else n_chosen
        for i in range(n_drawn):
            bits = bits >> 16 if i % 4 else next_word(&self.rng)
            j = <int>((bits & 0xffff) * n >> 16)
            n -= 1
            self.chosen[self.varying[j] >> 6] ^= <uint64_t>1 << (self.varying[j] & 63)
            self.varying[j] = self.varying[n]

    cdef int choose_one(self, int n_vary) noexcept nogil:
        """Choose one of the lanes that vary, by the random numbers of `choose`."""
        cdef int at = 0 if n_vary == 1 else <int>(
            (next_word(&self.rng) & 0xffff) * n_vary >> 16)
        self.lane = lane_at(self.vary, 1 - at if n_vary == 2 else at)   # of two, one is left out
        clear_lanes(self.chosen, self.n_words)
        self.chosen[self.lane >> 6] = <uint64_t>1 << (self.lane & 63)
        return self.lane

    cdef void count(self) noexcept nogil:
        """Compute the scores of the fast lanes that are chosen."""
        cdef const int* sums = self.sums if self.criterion == VARIANCE else NULL
        self.n_steps += 20 + self.task.n * (self.lanes.size // 16)
        if self.is_counted:
            pass
        elif sums != NULL:
            sum_targets(&self.lanes, self.own_rows(), self.whole_targets, self.task.n,
                        self.thresholds, self.sums, self.counts)
        else:
            count_segments(&self.lanes, self.own_rows(), self.own, self.task.n_segments,
                           self.thresholds, self.counts)
        score_lanes(&self.lanes, self.counts, self.own, self.task.n_segments, sums, self.total,
                    self.task.n, self.min_samples_leaf, self.chosen, self.scores)
        self.is_counted = True
        self.at = self.lanes.n_fast
        self.phase = VISIT if self.lanes.n_other else SPLIT

    cdef void visit_next(self) noexcept nogil:
        """Visit the next chosen lane that is not fast, or draw a column of a wide growth."""
        if self.is_wide:
            if not self.visit_columns():
                self.n_steps += 50 + (0 if self.is_sparse else 8 * self.task.n)
                self.phase = SPLIT
            return
        while self.at < self.lanes.n_lanes and not has_lane(self.chosen, self.at):
            self.scores[self.at] = -INFINITY
            self.at += 1
        if self.at == self.lanes.n_lanes:
            self.phase = SPLIT
            return
        self.visit_lane(self.at)
        self.at += 1

    # ---------------------------------------------------------------- splits

    cdef void find_split(self, Tree* tree) noexcept nogil:
        """Split the task by its best candidate, if there is one."""
        cdef int n_equal
        self.n_steps += 100 + self.task.n * (self.lanes.size // 16)
        if self.is_wide:
            if self.best.split.feature < 0:
                self.leave(tree)
            else:
                self.split_wide(tree)
            return
        if self.lane < 0:
            self.leave_out()
            if find_best(self.scores, self.lanes.n_lanes, self.best_lanes) == -INFINITY:
                self.choose_others(tree)
                return
            n_equal = count_lanes(self.best_lanes, self.n_words)
            self.lane = lane_at(self.best_lanes, 0 if n_equal == 1 else <int>(
                (next_word(&self.rng) >> 32) * n_equal >> 32))
        if self.lane < self.lanes.n_fast and self.task.n == 2:
            self.split_two(tree)
        elif self.lane < self.lanes.n_fast:
            self.split_fast(tree)
        else:
            self.read_lane(self.lane)
            self.split_other(tree, &self.splits[self.lane])

    cdef void choose_others(self, Tree* tree) noexcept nogil:
        """Choose the lanes that were not chosen, since none of the chosen ones allows a split."""
        cdef int i
        cdef bint are_left = False
        for i in range(self.n_words):
            self.vary[i] &= ~self.chosen[i]
            self.chosen[i] = self.vary[i]
            self.best_lanes[i] = 0
            are_left |= self.vary[i] != 0
        self.phase = COUNT
        if not are_left:
            self.leave(tree)

    cdef void split_fast(self, Tree* tree) noexcept nogil:
        """Split the task at the threshold of a fast lane."""
        cdef size_t byte = self.byte_of(self.lane)
        cdef int s
        cdef int64_t left, n, of_left = 0, of_right = 0, of_node = 0     # squares of sums
        cdef Split split
        cdef Test test
        test.values, test.stride = self.own_rows() + byte, self.lanes.size
        test.is_float = not self.of_lanes[self.lane].is_byte
        test.limit = float_at(self.thresholds + byte) if test.is_float else self.thresholds[byte]
        for s in range(self.task.n_segments):
            self.lefts[s] = self.counts[s * self.lanes.n_fast + self.lane]
        self.left.n = 0
        for s in range(self.task.n_segments):
            left, n = self.lefts[s], self.own[s].n
            self.left.n += left
            of_left += left * left
            of_right += (n - left) * (n - left)
            of_node += n * n
        self.right.n = self.task.n - self.left.n
        if self.criterion == VARIANCE:
            of_left, of_node = self.sums[self.lane], self.total
            of_right = of_node - of_left
            of_left, of_right, of_node = of_left * of_left, of_right * of_right, of_node * of_node
        split = self.split_at(test.limit, self.left.n >= self.right.n)
        self.split_task(tree, &split, &test, self.unscaled(
            <double>of_left / self.left.n + <double>of_right / self.right.n
            - <double>of_node / self.task.n))

    cdef void split_two(self, Tree* tree) noexcept nogil:
        """Split two samples by the lane that was chosen; their leaves learn them, no row moves."""
        cdef const int* items = self.own_items()
        cdef float limit = 0.0
        cdef int right, node, i
        cdef int64_t of_left, of_right, of_node = self.total
        cdef double gain = 1.0
        cdef Split split
        right = divide_two(&self.lanes, self.own_rows(), self.lane,
                           self.words[word_of(&self.lanes, self.lane)], &limit)
        if self.criterion == VARIANCE:
            of_left, of_right = self.whole_targets[1 - right], self.whole_targets[right]
            gain = <double>(of_left * of_left) + of_right * of_right - <double>(
                of_node * of_node) / 2
        split = self.split_at(limit, True)
        node = split_leaf(tree, self.task.node, &split, self.unscaled(gain)) ^ 1
        for i in range(2):                          # the right one first
            if self.criterion == VARIANCE:
                self.order[self.task.start + 1 - i] = items[right]
                learn_number(tree, node, self.numbers[items[right]],
                             self.buffer.weight(self.places[items[right]]), 1.0)
            else:
                add_class(tree, node, self.own[right].code, 1.0 / self.unit)
            node, right = node ^ 1, 1 - right
        self.phase = OPEN

    cdef inline Split split_at(self, float limit, bint missing_left) noexcept nogil:
        """The split at a threshold of the lane, as it is encoded."""
        cdef const Lane* lane = &self.of_lanes[self.lane]
        cdef Split split
        split.feature, split.nominal, split.missing_left = lane.column, 0, missing_left
        split.threshold = limit if lane.is_exact else largest_at(limit, lane.offset, lane.scale)
        return split

    cdef void split_other(self, Tree* tree, const Split* found) noexcept nogil:
        """Split the task by a candidate of a lane whose `values` were read."""
        cdef Split split = found[0]
        cdef int i, s, is_left
        cdef Test test
        if split.nominal == VALUES:
            self.number_lane(self.lane)
            self.node_values.name(self.spare, self.values)
            self.order_values()
            if not self.name_values(&split):
                self.leave(tree)    # without memory it stays a leaf
                return
        for s in range(self.task.n_segments):
            self.lefts[s] = 0
        self.clear_sides()
        for i in range(self.task.n):
            is_left = goes_left(&split, self.values[i])
            self.sides[i] = not is_left
            self.lefts[self.codes[i]] += is_left
            self.add(&self.left if is_left else &self.right, i)
        if not split.nominal:
            split = self.split_at(<float>split.threshold, split.missing_left)
        test.values, test.stride, test.is_float, test.limit = self.sides, 1, False, 0.0
        self.split_task(tree, &split, &test, self.gain(&self.node, &self.left, &self.right))

    cdef void split_wide(self, Tree* tree) noexcept nogil:
        """Split the task by the best candidate of the columns that were visited."""
        cdef Split split = self.best.split
        cdef bint is_listed = self.is_sparse and self.list_of[split.feature] >= 0
        if not is_listed:
            self.read_column(split.feature)
        if split.nominal == VALUES:
            if is_listed:
                self.read_entries(&self.links[self.n_values + self.best_list])
                self.order_entries()
            else:
                self.number_values(self.task.n)
                self.order_values()
            if not self.name_values(&split):
                self.leave(tree)        # without memory it stays a leaf
                return
        if is_listed:
            self.pick_entries(&split)
        else:
            self.pick_values(&split)
        self.find_sides()
        self.split_task(tree, &split, NULL, self.gain(&self.node, &self.left, &self.right))

    cdef void split_task(self, Tree* tree, const Split* split, const Test* test,
                         double gain) noexcept nogil:
        """Perform a split: create two leaves, move the samples, and add what is left to do.

        The two sides are in `left.n`, `right.n` and `lefts`. A wide growth has
        picked rows and no test.
        """
        cdef Task left = self.task, right = self.task
        cdef int s, count
        left.n, right.n = self.left.n, self.right.n
        left.depth = right.depth = self.task.depth + 1
        left.side = right.side = 1 if self.is_wide else 1 - self.task.side
        right.start += left.n
        left.node = split_leaf(tree, self.task.node, split, gain)
        right.node = left.node ^ 1
        left.n_segments = right.n_segments = 0
        for s in range(self.task.n_segments):       # those of the right child replace the task's
            count = self.own[s].n - self.lefts[s]
            self.left_segments[left.n_segments].code = self.own[s].code
            self.left_segments[left.n_segments].n = self.lefts[s]
            left.n_segments += self.lefts[s] > 0
            self.own[right.n_segments].code, self.own[right.n_segments].n = self.own[s].code, count
            right.n_segments += count > 0
        self.move(test, &left, &right)
        self.phase = OPEN
        self.add_child(tree, &right, self.own)
        self.add_child(tree, &left, self.left_segments)    # on top: split first

    cdef void move(self, const Test* test, Task* left, Task* right) noexcept nogil:
        """Move the samples of the task to the other buffer, if its children need them."""
        cdef int from_, to = left.side
        cdef bint keeps_left = not self.is_final(left.n, left.n_segments, left.depth)
        cdef bint keeps_right = not self.is_final(right.n, right.n_segments, right.depth)
        if self.is_wide and self.picked_left:
            self.move_lighter(left, right, keeps_left, keeps_right)
            return
        if self.is_wide:
            self.move_lighter(right, left, keeps_right, keeps_left)
            return
        from_ = self.task.side
        move_rows(&self.lanes, self.own_rows(), self.task.n, left.n, test,
                  self.rows[to] + <size_t>left.start * self.lanes.size,
                  self.items[from_] + left.start if self.has_items else NULL,
                  self.items[to] + left.start, keeps_left, keeps_right)

    cdef void add_child(self, Tree* tree, const Task* child,
                        const Segment* segments) noexcept nogil:
        """Add the task of a child, or make it a leaf."""
        cdef int i
        if self.is_final(child.n, child.n_segments, child.depth):
            self.set_leaf(tree, child, segments)
            return
        for i in range(child.n_segments if segments == self.left_segments else 0):
            self.segments[self.n_segments + i] = segments[i]
        self.n_segments += child.n_segments
        self.push_task(child[0])
