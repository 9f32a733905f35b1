"""The candidates of the columns of a node that are visited one by one. See the header."""

from libc.math cimport INFINITY, NAN, log, sqrt
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy

from ..rng cimport below
from ..shares cimport first_largest
from ..split cimport NO_VALUE, ONE_VALUE, VALUES
from ..value_sets cimport DRAWS, N_CUTS, ValueSet, are_ordered, threshold_of
from .lane_rows cimport GATHERED, LEAST_EVIDENCE, float_at

cdef extern from "lanes.h":
    int bit_length(uint32_t number) nogil
    double power_below(double magnitude) nogil
    double list_numbers(const double* numbers, const int* items, int n, double* own, double* low,
                        double* high) nogil
    int whole_numbers(const double* own, int n, double center, double grain, int* whole) nogil

cdef double SHARE_OF_TREE = 0.3     # of the evidence of a column
cdef double LEAST_RANGE = 1e-290    # of targets: the grain of a smaller one would be infinite


cdef class Candidates(LaneRows):
    """The candidates of one column after the other. See the header."""

    # ---------------------------------------------------------------- the samples of a task

    cdef void list_samples(self) noexcept nogil:
        """List the segments, weights and targets of the samples of the task."""
        cdef int i = 0, s, _
        cdef const int* items = self.own_items()
        if self.is_listed:
            return
        self.is_listed = True
        self.node.weight, self.node.n = 0.0, 0
        for s in range(self.task.n_segments):
            self.node.counts[s] = 0.0
            for _ in range(self.own[s].n):
                self.codes[i] = s
                self.weights[i] = 1.0 if self.is_plain else self.weight(items[i])
                if self.criterion == VARIANCE:
                    self.targets[i] = self.whole_targets[i]
                self.add(&self.node, i)
                i += 1

    cdef void read_lane(self, int lane) noexcept nogil:
        """Read the values of a lane of floats; if it is nominal, from the buffer."""
        cdef int i
        if self.nominal[self.of_lanes[lane].column]:
            self.read_column(self.of_lanes[lane].column)
            return
        cdef const uint8_t* at = self.own_rows() + self.byte_of(lane)
        for i in range(self.task.n):
            self.values[i] = float_at(at)
            at += self.lanes.size

    cdef void read_column(self, int column) noexcept nogil:
        """Read the values of a column from the buffer."""
        cdef int i
        cdef const int* items = self.own_items()
        for i in range(self.task.n):
            self.spare[i] = self.places[items[i]]
        self.buffer.gather(column, self.spare, self.task.n, self.values, 1)

    cdef bint read_targets(self) noexcept nogil:
        """Compute the whole targets of the task; return whether they differ."""
        cdef int i, n = self.task.n
        cdef const int* items = self.own_items()
        cdef double* own = self.values              # no column is read yet
        cdef double low, high, total, weights = n, weight
        total = list_numbers(self.numbers, items, n, own, &low, &high)
        if low == high:
            return False
        if not self.is_plain:
            total = weights = 0.0
            for i in range(n):
                weight = self.weight(items[i])
                total += weight * own[i]
                weights += weight
        self.center = total / weights
        self.grain = power_below(max(self.center - low, high - self.center, LEAST_RANGE)) * (
            1 << (BITS_OF_SUM - bit_length(n - 1)))
        self.total = whole_numbers(own, n, self.center, self.grain, self.whole_targets)
        return True

    # ---------------------------------------------------------------- columns

    cdef void visit_lane(self, int lane) noexcept nogil:
        """Find the best candidate of a lane."""
        cdef int column = self.of_lanes[lane].column, n = self.task.n
        self.list_samples()
        self.best.split.feature = -1
        if self.nominal[column]:
            self.number_lane(lane)
            self.judge(lane)
            self.visit_nominal(column, n)
        else:
            self.read_lane(lane)
            self.visit_numeric(column, n, float_at(self.thresholds + self.byte_of(lane)))
        self.scores[lane] = -INFINITY
        if self.best.split.feature >= 0:
            self.scores[lane] = self.best.score
            self.splits[lane] = self.best.split

    cdef void visit_numeric(self, int column, int n, double threshold) noexcept nogil:
        """Evaluate a threshold of a numeric column; missing values go right, or left."""
        cdef int i
        self.clear_sides()
        for i in range(n):
            if self.values[i] != self.values[i]:
                self.add(&self.missing, i)
            elif self.values[i] <= threshold:
                self.add(&self.left, i)
            else:
                self.add(&self.right, i)
        if self.missing.n:
            self.offer_both(column, threshold)
        else:
            self.offer(column, threshold, 0, self.left.weight >= self.right.weight)

    cdef void judge(self, int lane) noexcept nogil:
        """Sum up what a nominal column, whose values have numbers, tells beyond chance."""
        if self.is_judged and self.has_others():
            self.surplus[lane] += (
                self.node_values.surplus_of_counts(self.own, self.task.n_segments)
                if self.has_counts else self.node_values.surplus(
                    self.spare, self.weights, self.codes, self.own_targets()))
            self.freedom[lane] += self.node_values.n_values - 1

    cdef bint has_others(self) noexcept nogil:
        """Whether so many targets differ from the most frequent one that columns are judged."""
        cdef int s, most = 1
        if self.criterion != VARIANCE:
            for s in range(self.task.n_segments):
                most = max(most, self.own[s].n)
        return self.task.n - most >= LEAST_OTHERS

    cdef void judge_thresholds(self) noexcept nogil:
        """Sum up what the thresholds that have scores tell beyond chance of the numbers."""
        cdef int i, lane, n = self.task.n
        cdef int64_t whole_squares = 0
        cdef double squares = 0.0, of_node, told
        if self.is_plain:
            for i in range(n):
                whole_squares += <int64_t>self.whole_targets[i] * self.whole_targets[i]
            squares, of_node = whole_squares, <double>self.total * self.total / n
        else:                           # then all lanes were visited
            for i in range(n):
                squares += self.weights[i] * self.targets[i] * self.targets[i]
            of_node = self.node.counts[0] * self.node.counts[0] / self.node.weight
        if not squares > of_node:
            return
        for lane in range(self.lanes.n_lanes):
            if self.scores[lane] > -INFINITY and not self.is_nominal(lane):
                told = min(max((self.scores[lane] - of_node) / (squares - of_node), 0.0), 1.0)
                self.surplus[lane] += n * ((n - 1) * told - 1.0)
                self.freedom[lane] += <double>n * n

    cdef void keep_evidence(self) noexcept nogil:
        """Let the evidence of the columns learn from the growth, which has ended."""
        cdef int lane
        cdef double* evidence
        for lane in range(self.lanes.n_lanes if self.is_judged else 0):
            if self.freedom[lane] > 0.0:
                evidence = &self.evidence[self.of_lanes[lane].column]
                evidence[0] += SHARE_OF_TREE * (
                    self.surplus[lane] / sqrt(2.0 * self.freedom[lane]) - evidence[0])

    cdef void begin_evidence(self) noexcept nogil:
        """Begin the sums of the lanes, and find those that told nothing in former growths."""
        cdef int lane, column
        self.n_silent = 0
        for lane in range(self.lanes.n_lanes):
            self.surplus[lane] = self.freedom[lane] = 0.0
            column = self.of_lanes[lane].column
            self.is_silent[lane] = (self.is_judged and column >= 0
                                    and self.evidence[column] < LEAST_EVIDENCE)
            self.n_silent += self.is_silent[lane]

    cdef void leave_out(self) noexcept nogil:
        """Leave the silent lanes out, if another one allows a split."""
        cdef int lane
        cdef bint are_others = False
        if self.is_judged and self.criterion == VARIANCE and self.has_others():
            self.judge_thresholds()
        for lane in range(self.lanes.n_lanes if self.n_silent else 0):
            are_others |= self.scores[lane] > -INFINITY and not self.is_silent[lane]
        for lane in range(self.lanes.n_lanes if are_others else 0):
            if self.is_silent[lane]:
                self.scores[lane] = -INFINITY

    cdef inline bint is_nominal(self, int lane) noexcept nogil:
        """Whether a lane that has a score is that of a nominal column."""
        return lane >= self.lanes.n_fast and self.nominal[self.of_lanes[lane].column]

    cdef void visit_nominal(self, int column, int n) noexcept nogil:
        """Evaluate the split of a nominal column, whose values have numbers."""
        if are_ordered(DRAWS, self.node_values.n_values, n):
            self.visit_cut(column, n)
        elif self.node_values.n_values == 2:
            self.visit_value(column, n, 0)

    cdef void number_values(self, int n) noexcept nogil:
        """Number the nominal values that were read; `spare` lists the numbers."""
        self.node_values.begin(n, self.rng.state)
        self.node_values.number(self.values, n, self.spare)
        self.has_counts = False

    cdef void number_column(self, int k) noexcept nogil:
        """Number the values of an offered nominal column in all samples of the growth.

        Floats hold them exactly: growths with lanes have at most MOST_CELLS = 2^23 samples.
        """
        cdef double[GATHERED] values
        cdef int[GATHERED] numbers
        cdef int at = 0, i, n
        cdef float number
        cdef uint8_t* to = self.numbers_of(self.n_numbered)
        self.ranges[k].number = self.n_numbered
        self.n_numbered += 1
        self.node_values.begin(self.n_samples, self.rng.state)
        while at < self.n_samples:
            n = min(self.n_samples - at, <int>GATHERED)
            self.buffer.gather(self.columns[k], self.places + at, n, values, 1)
            self.node_values.number(values, n, numbers)
            for i in range(n):
                number = NAN if values[i] != values[i] else numbers[i]
                memcpy(to + (at + i) * sizeof(float), &number, sizeof(float))
            at += n
        self.most_values = max(self.most_values, self.node_values.n_values)

    cdef void number_lane(self, int lane) noexcept nogil:
        """Number the values of a nominal lane in the task, and count them."""
        self.node_values.number_rows(self.own_rows() + self.byte_of(lane), self.lanes.size,
                                     self.task.n, self.spare)
        self.count_values()

    cdef void count_values(self) noexcept nogil:
        """Count the values that were numbered by segment, if weights are 1 and this is fast."""
        self.has_counts = (
            self.is_plain and self.criterion != VARIANCE
            and <int64_t>self.task.n_segments * self.node_values.n_values <= 2 * self.task.n)
        if self.has_counts:
            self.node_values.count(self.spare, self.own, self.task.n_segments)

    cdef const double* own_targets(self) noexcept nogil:
        """The targets of the samples of the task; NULL in a classification."""
        return self.targets if self.criterion == VARIANCE else NULL

    cdef void visit_cut(self, int column, int n) noexcept nogil:
        """Evaluate a random cut of the order of the values; see `value_sets`.

        The threshold of the candidate is the number of the cut, see `name_values`. Without evidence
        for it, the value of a random sample is split from all others.
        """
        cdef int cut = <int>below(&self.rng, N_CUTS - 1), top = self.top_segment(), n_left = 0
        if self.order_values():
            n_left = self.node_values.n_left(cut)
        if min(n_left, n - n_left) >= max(1, self.min_samples_leaf):
            self.fill_sides(n, -1, cut, top)
            if self.is_smaller_left(top):
                self.offer(column, cut, VALUES, False)
                return
        self.visit_value(column, n, <int>below(&self.rng, n))

    cdef void visit_value(self, int column, int n, int sample) noexcept nogil:
        """Evaluate the split of the nominal value of a sample, or of none, from all others."""
        cdef int number = self.spare[sample]
        cdef bint is_none = number == self.node_values.missing
        self.fill_sides(n, number, 0, 0)
        # No value has the code NO_VALUE, so that split separates missing values from all others.
        self.offer(column, NO_VALUE if is_none else self.buffer.value(
            column, self.places[self.own_items()[sample]]), ONE_VALUE, is_none)

    cdef void fill_sides(self, int n, int number, int cut, int top) noexcept nogil:
        """Fill the sides of the split of a value; of a cut, if the number is -1.

        Samples of a segment and a value are alike if all weights are 1: then they were counted.
        """
        cdef int i, s, k, n_left, n_values = self.node_values.n_values
        cdef bint is_left
        cdef double target
        cdef const int* counts
        cdef uint8_t* goes_left = <uint8_t*>self.node_values.table     # by value, then if it is top
        self.clear_sides()
        if not self.has_counts:
            for i in range(n):
                target = self.targets[i] if self.criterion == VARIANCE else self.codes[i] == top
                is_left = self.spare[i] == number if number >= 0 else (
                    self.node_values.is_left_without(self.spare[i], self.weights[i], target, cut))
                self.add(&self.left if is_left else &self.right, i)
            return
        for k in range(2 * n_values):
            goes_left[k] = k % n_values == number if number >= 0 else (
                self.node_values.is_left_without(k % n_values, 1.0, k >= n_values, cut))
        for s in range(self.task.n_segments):
            counts, i, n_left = self.node_values.counts + s * n_values, n_values * (s == top), 0
            for k in range(n_values):
                n_left += goes_left[i + k] * counts[k]
            self.left.counts[s], self.right.counts[s] = n_left, self.own[s].n - n_left
            self.left.n += n_left
        self.right.n = n - self.left.n
        self.left.weight, self.right.weight = self.left.n, self.right.n

    cdef int top_segment(self) noexcept nogil:
        """The first of the heaviest segments: its samples have the target 1."""
        return first_largest(self.node.counts, self.task.n_segments)

    cdef bint order_values(self) noexcept nogil:
        """Order the values that were numbered; return whether there is an order."""
        cdef int top = self.top_segment()
        if self.has_counts:
            return self.node_values.order_counts(top, self.own[top].n)
        return self.node_values.order(self.spare, self.weights, self.codes, self.own_targets(), top,
                                      self.node.counts[top], self.node.weight)

    cdef bint name_values(self, Split* split) noexcept nogil:
        """Make the set of values of a cut that was found; return False if memory is short.

        The values were numbered and ordered.
        """
        cdef int cut = <int>split.threshold
        cdef ValueSet* values
        split.missing_left = self.node_values.missing >= 0 and self.node_values.is_left(
            self.node_values.missing, cut)
        values = self.node_values.new_set(cut, self.spare, self.node_values.table)
        if values == NULL:
            return False
        if self.node_values.missing < 0:
            split.missing_left = values.others_left
        split.threshold = threshold_of(values)
        return True

    # ---------------------------------------------------------------- candidates

    cdef void offer_both(self, int column, double threshold) noexcept nogil:
        """Evaluate a threshold with the missing values on the right, then on the left."""
        cdef Side right = self.right
        cdef int c
        self.join(&self.right)
        self.offer(column, threshold, 0, False)
        self.right.weight, self.right.n = right.weight, right.n
        for c in range(self.task.n_segments):
            self.right.counts[c] -= self.missing.counts[c]
        self.join(&self.left)
        self.offer(column, threshold, 0, True)

    cdef void join(self, Side* side) noexcept nogil:
        """Add the missing values to a side."""
        cdef int c
        side.weight += self.missing.weight
        side.n += self.missing.n
        for c in range(self.task.n_segments):
            side.counts[c] += self.missing.counts[c]

    cdef void offer(self, int column, double threshold, int nominal,
                    bint missing_left) noexcept nogil:
        """Keep a candidate if it is the best so far."""
        if self.is_best(column):
            self.best.split.threshold = threshold
            self.best.split.nominal, self.best.split.missing_left = nominal, missing_left

    cdef double side_score(self, const Side* side) noexcept nogil:
        """The term of one side in the score of a split."""
        cdef double total = 0.0
        cdef int s
        for s in range(self.task.n_segments):
            if self.criterion != ENTROPY:
                total += side.counts[s] * side.counts[s]
            elif side.counts[s] > 0.0:
                total += side.counts[s] * log(side.counts[s] / side.weight)
        return total if self.criterion == ENTROPY else total / side.weight

    cdef double gain(self, const Side* node, const Side* left, const Side* right) noexcept nogil:
        """The decrease of impurity by a split of a node into two sides, times the weight."""
        return self.unscaled(self.side_score(left) + self.side_score(right)
                             - self.side_score(node))
