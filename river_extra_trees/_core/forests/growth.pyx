"""The growth of an extremely randomised tree, in small steps. See the header."""

cimport cython
from libc.math cimport INFINITY, log
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from ..allocation cimport free, product, resized, carve
from ..moments cimport follow_moments
from ..rng cimport Rng, below
from ..schema cimport Schema
from ..shares cimport first_largest
from ..split cimport (
    ENTROPY, GROUP, MANY_VALUES, NO_VALUE, N_SALTS, ONE_VALUE, VARIANCE, bucket_of, goes_left,
    random_threshold,
)
from ..tree cimport (
    Kind, Tree, add_class, depth_of, learn_number, reserve_pairs, set_classes, split_leaf,
)
from .buckets cimport MISSING_BUCKET, N_ROWS, Buckets

CRITERIA = ("gini", "entropy", "variance")


cdef inline int find_extremes(const double* values, int n, double* low,
                              double* high) noexcept nogil:
    """Find the smallest and the largest value; return the number of missing ones.

    There is no branch: comparisons with NaN are false. Two samples at a time do not have to wait
    for each other.
    """
    cdef double low_0 = INFINITY, low_1 = INFINITY, high_0 = -INFINITY, high_1 = -INFINITY
    cdef double a, b
    cdef int i = 0, n_missing = 0
    while i + 1 < n:
        a, b = values[i], values[i + 1]
        n_missing += (a != a) + (b != b)
        low_0 = a if a < low_0 else low_0
        low_1 = b if b < low_1 else low_1
        high_0 = a if a > high_0 else high_0
        high_1 = b if b > high_1 else high_1
        i += 2
    if i < n:
        a = values[i]
        n_missing += a != a
        low_0 = a if a < low_0 else low_0
        high_0 = a if a > high_0 else high_0
    low[0] = low_0 if low_0 < low_1 else low_1
    high[0] = high_0 if high_0 > high_1 else high_1
    return n_missing


cdef inline int count_sides(const double* values, double threshold, const int* codes,
                            const double* weights, int n, int n_classes,
                            double* counts) noexcept nogil:
    """Add the samples to the counts of the left or right side; return the number on the right.

    There is no branch that depends on a sample.
    """
    cdef int i, side, n_right = 0
    for i in range(n):
        side = values[i] > threshold
        counts[side * n_classes + codes[i]] += weights[i]
        n_right += side
    return n_right


@cython.final
cdef class Growth:
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
        # In a regression the scores of two equal partitions may differ by rounding.
        self.least_ratio = 1.0 + 1e-12 if self.criterion == VARIANCE else 1.0
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.buckets = Buckets()

    def __dealloc__(self):
        free(self.block)

    # ---------------------------------------------------------------- memory

    cdef int reserve(self, Tree* tree, const Kind* kind, int n_buckets, int n_columns, int n_labels,
                     int n_samples) except -1 nogil:
        """Allocate all memory that the growth of a tree on n_samples samples may need.

        `n_buckets` is that of `Buckets.lay_out`. Labels and columns are those of the samples; the
        tree may not know all of them yet.
        """
        cdef size_t bytes
        self.n_classes = 1 if self.criterion == VARIANCE else max(1, n_labels)
        bytes = self.lay_out(n_samples, n_columns, n_buckets)
        if bytes > self.block_bytes:
            self.release()
            self.block = <char*>resized(NULL, bytes, 1)
            self.block_bytes = bytes
            self.lay_out(n_samples, n_columns, n_buckets)
        # All new pairs, and a root if there is none.
        return reserve_pairs(tree, kind, (tree.n_used == 0)
                             + n_samples // max(1, self.min_samples_leaf))

    cdef size_t lay_out(self, size_t n, size_t n_columns, int n_buckets) except 0 nogil:
        """Divide the block for the growth on n samples; return its size in bytes."""
        cdef size_t begin = <size_t>self.block, end = begin
        cdef size_t n_numbers = n if self.criterion == VARIANCE else 0
        self.buckets.lay_out(&end, n_buckets, self.n_classes + 1)
        self.weights = <double*>carve(&end, n, sizeof(double))
        self.values = <double*>carve(&end, n, sizeof(double))
        self.numbers = <double*>carve(&end, n_numbers, sizeof(double))
        self.targets = <double*>carve(&end, n_numbers, sizeof(double))
        self.counts = <double*>carve(&end, product(4, self.n_classes), sizeof(double))
        # At most one of two children is below the top of the stack, and it has at least 2 samples.
        self.tasks = <Task*>carve(&end, n // 2 + 2, sizeof(Task))
        self.places = <int*>carve(&end, n, sizeof(int))
        self.spare = <int*>carve(&end, n, sizeof(int))
        self.codes = <int*>carve(&end, n - n_numbers, sizeof(int))
        self.columns = <int*>carve(&end, n_columns, sizeof(int))
        self.nominal = <uint8_t*>carve(&end, n_columns, 1)
        return end - begin

    cdef void release(self) noexcept nogil:
        """Free the memory of the growth."""
        free(self.block)
        self.block, self.block_bytes = NULL, 0

    # ---------------------------------------------------------------- steps of a growth

    cdef void learn_root(self, Tree* tree, int i) noexcept nogil:
        """Let the root learn one of the samples of the growth."""
        cdef int place = self.places[i]
        if self.criterion == VARIANCE:
            learn_number(tree, 0, self.numbers[i], self.buffer.weight(place), 1.0)
        else:
            add_class(tree, 0, <int>self.buffer.target(place), self.buffer.weight(place))

    cdef void offer_column(self, Schema schema, int column) noexcept nogil:
        """Add a column to those of the next growth."""
        self.nominal[column] = schema.has_codes(column)
        self.columns[self.n_offered] = column
        self.n_offered += 1

    cdef void begin(self, int node, int n_samples, int max_features, Rng rng) noexcept nogil:
        """Begin to split a leaf with the samples `places[:n_samples]`; `reserve` made the room.

        The columns were offered before. A regression splits by `numbers[:n_samples]`.
        """
        self.rng, self.max_features, self.n_steps = rng, max_features, 0
        self.is_open = False
        self.n_tasks = 1
        self.tasks[0].node, self.tasks[0].start, self.tasks[0].end = node, 0, n_samples
        self.tasks[0].n_active = self.n_offered
        self.node.counts = self.counts
        self.left.counts = self.counts + self.n_classes
        self.right.counts = self.counts + 2 * self.n_classes
        self.missing.counts = self.counts + 3 * self.n_classes

    cdef bint advance(self, Tree* tree, int64_t n_steps) noexcept nogil:
        """Do n_steps steps, or a few more; return whether the growth has ended."""
        cdef int64_t until = self.n_steps + n_steps
        while self.n_steps < until:
            if not self.is_open:
                if self.n_tasks == 0:
                    return True
                self.n_tasks -= 1
                self.task = self.tasks[self.n_tasks]
                self.open_node(tree)
            elif self.n_left > 0 and (self.n_visited < self.max_features
                                      or self.best.split.feature < 0):
                self.visit_column()
            else:
                self.is_open = False
                if self.best.split.feature >= 0:
                    self.split_node(tree)
        return self.n_tasks == 0 and not self.is_open

    cdef void open_node(self, Tree* tree) noexcept nogil:
        """Read the targets of a node, unless the rules or its purity make it a leaf."""
        cdef int i, k, n = self.task.end - self.task.start
        cdef double weight, mean = 0.0, spread = 0.0
        cdef const int* places = self.places + self.task.start
        self.n_steps += 1
        if (depth_of(tree, self.task.node) >= self.max_depth
                or n < self.min_samples_split or n < 2 * self.min_samples_leaf):
            return
        self.n_steps += n
        self.node.weight = 0.0
        memset(self.node.counts, 0, self.n_classes * sizeof(double))
        if self.criterion == VARIANCE:
            for i in range(n):
                weight = self.weights[i] = self.buffer.weight(places[i])
                self.targets[i] = self.numbers[self.task.start + i]
                self.node.weight += weight
                follow_moments(&mean, &spread, self.targets[i], weight, self.node.weight)
            if not spread > 0.0:
                return
            for i in range(n):
                self.targets[i] -= mean
                self.node.counts[0] += self.weights[i] * self.targets[i]
            self.node_score = 0.0
        else:
            k = 0
            self.is_plain = self.n_classes == 2
            for i in range(n):
                weight = self.weights[i] = self.buffer.weight(places[i])
                self.codes[i] = <int>self.buffer.target(places[i])
                self.node.weight += weight
                self.node.counts[self.codes[i]] += weight
                self.is_plain &= weight == 1.0
                k += self.codes[i] != self.codes[0]
            if k == 0:
                return
            self.node_score = self.side_score(&self.node)
        self.is_open = True
        self.n_left, self.n_visited = self.task.n_active, 0
        self.best.split.feature = -1

    cdef double side_score(self, const Side* side) noexcept nogil:
        """The term of one side in the score of a split."""
        cdef double total = 0.0
        cdef int c
        if self.criterion == ENTROPY:
            for c in range(self.n_classes):
                if side.counts[c] > 0.0:
                    total += side.counts[c] * log(side.counts[c] / side.weight)
            return total
        for c in range(self.n_classes):
            total += side.counts[c] * side.counts[c]
        return total / side.weight

    # ---------------------------------------------------------------- candidates

    cdef void visit_column(self) noexcept nogil:
        """Draw one of the remaining columns, and evaluate its candidates."""
        cdef int n = self.task.end - self.task.start, j, column
        j = <int>below(&self.rng, self.n_left)
        self.n_left -= 1
        column = self.columns[j]
        self.columns[j] = self.columns[self.n_left]
        self.columns[self.n_left] = column
        self.n_steps += 2 * n
        if self.nominal[column]:
            if not self.visit_nominal(column, n):
                self.drop(column)
        elif not self.visit_numeric(column, n):
            self.drop(column)

    cdef void drop(self, int column) noexcept nogil:
        """Remove the column drawn last, which is constant here, from the active columns."""
        self.task.n_active -= 1
        self.columns[self.n_left] = self.columns[self.task.n_active]
        self.columns[self.task.n_active] = column

    cdef bint visit_numeric(self, int column, int n) noexcept nogil:
        """Draw a threshold between the extremes of a column; return whether it varies."""
        cdef const int* places = self.places + self.task.start
        cdef double low, high, threshold
        cdef int i, n_missing, n_classes = self.n_classes
        cdef double* counts = self.left.counts      # the right side's follow
        self.buffer.gather(column, places, n, self.values)
        n_missing = find_extremes(self.values, n, &low, &high)
        if n_missing == n or (low == high and n_missing == 0):
            return False
        self.n_visited += 1
        threshold = random_threshold(&self.rng, low, high)
        memset(counts, 0, 3 * n_classes * sizeof(double))
        self.left.weight = self.right.weight = self.missing.weight = 0.0
        self.left.n = self.right.n = self.missing.n = 0
        if n_missing:
            for i in range(n):
                if self.values[i] != self.values[i]:
                    self.add(&self.missing, i)
                elif self.values[i] <= threshold:
                    self.add(&self.left, i)
                else:
                    self.add(&self.right, i)
            self.offer_both(column, threshold)
            return True
        if self.criterion == VARIANCE:
            for i in range(n):
                self.add(&self.left if self.values[i] <= threshold else &self.right, i)
        else:
            if self.is_plain:
                self.right.n = self.count_right(threshold, n)
            else:
                self.right.n = count_sides(
                    self.values, threshold, self.codes, self.weights, n, n_classes, counts)
            self.left.n = n - self.right.n
            for i in range(n_classes):
                self.left.weight += self.left.counts[i]
                self.right.weight += self.right.counts[i]
        self.offer(column, threshold, 0, self.left.weight >= self.right.weight)
        return True

    cdef int count_right(self, double threshold, int n) noexcept nogil:
        """`count_sides` for two classes if all weights are 1: sums of ones are exact."""
        cdef const double* values = self.values
        cdef const int* codes = self.codes
        cdef int i, side, n_right = 0, n_second = 0
        for i in range(n):
            side = values[i] > threshold
            n_right += side
            n_second += side & codes[i]
        self.right.counts[0], self.right.counts[1] = n_right - n_second, n_second
        self.left.counts[0] = self.node.counts[0] - self.right.counts[0]
        self.left.counts[1] = self.node.counts[1] - n_second
        return n_right

    cdef bint visit_nominal(self, int column, int n) noexcept nogil:
        """Evaluate the values of a nominal column, each or in groups, against the rest.

        Return whether the column varies.
        """
        cdef int i, n_met
        cdef double[MANY_VALUES] met
        self.buffer.gather(column, self.places + self.task.start, n, self.values)
        n_met = self.buckets.number_values(self.values, n, met, self.spare)
        if n_met > MANY_VALUES:
            self.weigh_groups(column, n)
        elif n_met > 1:
            self.fill_buckets(n_met, n)
            for i in range(n_met):
                self.weigh_value(column, met[i], i, n)
        self.n_visited += n_met > 1
        return n_met > 1

    cdef void fill_buckets(self, int n_buckets, int n) noexcept nogil:
        """Add the samples to the buckets whose numbers are in `spare`."""
        self.buckets.clear(n_buckets, self.n_classes + 1)
        if self.criterion == VARIANCE:
            self.buckets.add_numbers(self.spare, self.weights, self.targets, n)
        else:
            self.buckets.add_classes(self.spare, self.weights, self.codes, n)

    cdef void weigh_value(self, int column, double code, int bucket, int n) noexcept nogil:
        """Evaluate the split of one nominal value, or of missing values, from all others."""
        cdef const double* row = self.buckets.row(bucket)
        cdef int c
        self.left.weight, self.left.n = row[0], self.buckets.sizes[bucket]
        self.right.weight, self.right.n = self.node.weight - row[0], n - self.left.n
        for c in range(self.n_classes):
            self.left.counts[c] = row[1 + c]
            self.right.counts[c] = self.node.counts[c] - row[1 + c]
        # No value has the code NO_VALUE, so that split separates missing values from all others.
        self.offer(column, code, ONE_VALUE, code == NO_VALUE)

    cdef void weigh_groups(self, int column, int n) noexcept nogil:
        """Evaluate the cuts of the buckets of values, ordered by their mean target.

        What the node does not have, empty buckets or missing values, goes to the heavier side.
        """
        cdef int salt = <int>below(&self.rng, N_SALTS)
        cdef int i, k, c, n_groups, n_left = 0
        cdef double value
        cdef bint is_heavier = False
        cdef uint64_t group
        cdef const double* row
        cdef int[N_ROWS] order
        for i in range(n):
            value = self.values[i]
            self.spare[i] = MISSING_BUCKET if value != value else bucket_of(salt, value)
        self.fill_buckets(N_ROWS, n)
        n_groups = self.buckets.put_in_order(
            1 + first_largest(self.node.counts, self.n_classes), order)
        memset(self.left.counts, 0, self.n_classes * sizeof(double))
        self.left.weight, self.left.n = 0.0, 0
        for k in range(n_groups - 1):
            row = self.buckets.row(order[k])
            self.left.weight += row[0]
            self.left.n += self.buckets.sizes[order[k]]
            self.right.weight, self.right.n = self.node.weight - self.left.weight, n - self.left.n
            for c in range(self.n_classes):
                self.left.counts[c] += row[1 + c]
                self.right.counts[c] = self.node.counts[c] - self.left.counts[c]
            if self.is_best(column):
                n_left, is_heavier = k + 1, self.left.weight >= self.right.weight
        if n_left:
            self.best.split.nominal = GROUP + salt
            group = self.buckets.group(order, n_left, is_heavier)
            self.best.split.missing_left = group >> MISSING_BUCKET
            self.best.split.threshold = <double>(group & ~(<uint64_t>1 << MISSING_BUCKET))

    cdef inline void add(self, Side* side, int i) noexcept nogil:
        side.n += 1
        side.weight += self.weights[i]
        if self.criterion == VARIANCE:
            side.counts[0] += self.weights[i] * self.targets[i]
        else:
            side.counts[self.codes[i]] += self.weights[i]

    cdef void offer_both(self, int column, double threshold) noexcept nogil:
        """Evaluate a threshold with the missing values on the right, then on the left."""
        cdef Side right = self.right
        cdef int c
        self.join(&self.right)
        self.offer(column, threshold, 0, False)
        self.right.weight, self.right.n = right.weight, right.n
        for c in range(self.n_classes):
            self.right.counts[c] -= self.missing.counts[c]
        self.join(&self.left)
        self.offer(column, threshold, 0, True)

    cdef void join(self, Side* side) noexcept nogil:
        """Add the missing values to a side."""
        cdef int c
        side.weight += self.missing.weight
        side.n += self.missing.n
        for c in range(self.n_classes):
            side.counts[c] += self.missing.counts[c]

    cdef void offer(self, int column, double threshold, int nominal,
                    bint missing_left) noexcept nogil:
        """Keep a candidate if it is the best so far."""
        if self.is_best(column):
            self.best.split.threshold = threshold
            self.best.split.nominal, self.best.split.missing_left = nominal, missing_left

    cdef bint is_best(self, int column) noexcept nogil:
        """Whether the two sides make the best candidate so far; keep its score and column then."""
        cdef double score
        if (self.left.n < self.min_samples_leaf or self.right.n < self.min_samples_leaf
                or not self.left.weight > 0.0 or not self.right.weight > 0.0):
            return False
        score = self.side_score(&self.left) + self.side_score(&self.right)
        if self.best.split.feature >= 0 and not score > self.best.score * self.least_ratio:
            return False
        self.best.score, self.best.split.feature = score, column
        return True

    # ---------------------------------------------------------------- splits

    cdef void split_node(self, Tree* tree) noexcept nogil:
        """Perform the best split: create two leaves, their statistics and their tasks."""
        cdef int start = self.task.start, n = self.task.end - start, n_left
        cdef int[2] children
        children[0] = split_leaf(
            tree, self.task.node, &self.best.split, self.best.score - self.node_score)
        children[1] = children[0] ^ 1
        self.n_steps += 2 * n
        self.buffer.gather(self.best.split.feature, self.places + start, n, self.values)
        n_left = self.part(tree, children, n)
        self.push(children[1], start + n_left, self.task.end)
        self.push(children[0], start, start + n_left)   # grown first

    cdef int part(self, Tree* tree, const int* children, int n) noexcept nogil:
        """Partition the samples of the current task by `values`, the left child first; let the
        children learn them. Return the number of samples that go left."""
        cdef int i, left, n_left = 0, n_right = 0, n_classes = self.n_classes
        cdef bint is_regression = self.criterion == VARIANCE
        cdef int* places = self.places + self.task.start
        cdef double* numbers = self.numbers + self.task.start
        cdef double* counts = self.left.counts          # the right side's follow
        cdef double[2] weights
        memset(counts, 0, 2 * n_classes * sizeof(double))
        weights[0] = weights[1] = 0.0
        for i in range(n):                              # no branch that depends on the sample
            left = goes_left(&self.best.split, self.values[i])
            self.spare[n_right] = places[n_left] = places[i]
            if is_regression:
                learn_number(tree, children[1 - left], numbers[i], self.weights[i], 1.0)
                self.targets[n_right] = numbers[n_left] = numbers[i]
            else:
                weights[1 - left] += self.weights[i]
                counts[(1 - left) * n_classes + self.codes[i]] += self.weights[i]
            n_left += left
            n_right += 1 - left
        memcpy(places + n_left, self.spare, n_right * sizeof(int))
        if is_regression:
            memcpy(numbers + n_left, self.targets, n_right * sizeof(double))
            return n_left
        for i in range(2):
            set_classes(tree, children[i], weights[i], counts + i * n_classes, n_classes)
        return n_left

    cdef void push(self, int node, int start, int end) noexcept nogil:
        if end - start >= self.min_samples_split and end - start > 1 and self.task.n_active:
            self.tasks[self.n_tasks].node = node
            self.tasks[self.n_tasks].start, self.tasks[self.n_tasks].end = start, end
            self.tasks[self.n_tasks].n_active = self.task.n_active
            self.n_tasks += 1
