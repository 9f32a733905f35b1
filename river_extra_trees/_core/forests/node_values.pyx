"""The nominal values of a node of a growing tree. See the header."""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from libc.string cimport memset

from ..allocation cimport carve, product
from ..sorting cimport sort_slots
from ..split cimport NO_VALUE
from ..value_sets cimport N_CUTS, SMOOTH, codes_of, cut_of, new_values, smoothed
from .lane_rows cimport float_at


@cython.final
cdef class NodeValues:
    """Numbers the values of a node, and finds their splits, in the memory of a growth."""

    cdef int lay_out(self, size_t* end, size_t most_values) except -1 nogil:
        """Take the memory of the doubles for nodes of so many values."""
        self.codes = <double*>carve(end, most_values, sizeof(double))
        self.weights = <double*>carve(end, most_values, sizeof(double))
        self.totals = <double*>carve(end, most_values, sizeof(double))
        return 0

    cdef int lay_out_ints(self, size_t* end, size_t most_values, size_t n_counts) except -1 nogil:
        """Take the memory of the integers; values are hashed for as many samples at most."""
        self.sizes = <int*>carve(end, most_values, sizeof(int))
        self.table = <int*>carve(end, product(4, most_values), sizeof(int))
        self.counts = <int*>carve(end, n_counts, sizeof(int))
        return 0

    cdef void begin(self, int n, uint64_t salt) noexcept nogil:
        """Begin to number the values of n samples.

        The salt decides where the table holds a value, and nothing else: the product with an odd
        random number spreads any values in its upper bits.
        """
        self.mask, self.shift, self.factor = 2, 63, salt | 1
        while self.mask < 2 * <uint64_t>n:
            self.mask, self.shift = 2 * self.mask, self.shift - 1
        memset(self.table, 0xff, self.mask * sizeof(int))
        self.mask -= 1
        self.n_values, self.n_samples, self.missing = 0, n, -1

    cdef void number(self, const double* values, int n, int* found) noexcept nogil:
        """Number the values of the next n samples: found[i] is the number of that of sample i."""
        cdef int* table = self.table
        cdef double* codes = self.codes
        cdef uint64_t at, mask = self.mask, factor = self.factor
        cdef int i, k, shift = self.shift
        for i in range(n):
            if values[i] != values[i]:
                if self.missing < 0:
                    self.missing = self.add_value(NO_VALUE)
                k = self.missing
            else:
                at = <uint64_t><int64_t>values[i] * factor >> shift
                while table[at] >= 0 and codes[table[at]] != values[i]:
                    at = (at + 1) & mask
                if table[at] < 0:
                    table[at] = self.add_value(values[i])
                k = table[at]
            self.sizes[k] += 1
            found[i] = k

    cdef void number_rows(self, const uint8_t* lane, size_t size, int n, int* found) noexcept nogil:
        """Number the values in a lane of n rows, which have numbers in the growth already."""
        cdef int* table = self.table
        cdef double* codes = self.codes
        cdef int* sizes = self.sizes
        cdef int i, k, n_values = 0, missing = -1
        cdef float value
        cdef double code
        for i in range(n):
            value = float_at(lane)
            lane += size
            code = value if value == value else NO_VALUE
            k = table[<int>value] if value == value else missing
            if not (0 <= k < n_values and codes[k] == code):    # it was of an earlier node
                k, n_values = n_values, n_values + 1
                codes[k], sizes[k] = code, 0
                if value == value:
                    table[<int>value] = k
                else:
                    missing = k
            sizes[k] += 1
            found[i] = k
        self.n_values, self.n_samples, self.missing = n_values, n, missing

    cdef void name(self, const int* numbers, const double* values) noexcept nogil:
        """Replace the numbers in the growth, which `number_rows` has left, by the values."""
        cdef int i
        for i in range(self.n_samples):
            if numbers[i] != self.missing:
                self.codes[numbers[i]] = values[i]

    cdef inline int add_value(self, double code) noexcept nogil:
        """Give a value the next number."""
        self.codes[self.n_values], self.sizes[self.n_values] = code, 0
        self.n_values += 1
        return self.n_values - 1

    cdef void count(self, const int* numbers, const Segment* segments,
                    int n_segments) noexcept nogil:
        """Count the samples of each segment and value."""
        cdef int s, i = 0, stop = 0
        cdef int* counts = self.counts
        memset(counts, 0, n_segments * self.n_values * sizeof(int))
        for s in range(n_segments):
            stop += segments[s].n
            for i in range(i, stop):
                counts[numbers[i]] += 1
            i, counts = stop, counts + self.n_values

    cdef void add_rest(self, int n) noexcept nogil:
        """Let n more samples miss the value; `order` finds their sums as those of the rest."""
        self.missing = self.add_value(NO_VALUE)
        self.sizes[self.missing] = n

    cdef double surplus(self, const int* numbers, const double* weights, const int* segments,
                        const double* targets) noexcept nogil:
        """What the values tell beyond chance in a node whose targets differ, see the header.

        The samples of a segment are adjacent. Its indicator is the target if `targets` is NULL.
        """
        cdef double of_values = 0.0, of_node = 0.0, squares = 0.0, weight = 0.0, target, own
        cdef int i, j
        memset(self.weights, 0, self.n_values * sizeof(double))
        memset(self.totals, 0, self.n_values * sizeof(double))
        for i in range(self.n_samples):
            self.weights[numbers[i]] += weights[i]
            weight += weights[i]
        i = 0
        while i < self.n_samples:
            j, own = i, 0.0
            while j < self.n_samples and segments[j] == segments[i]:
                target = 1.0 if targets == NULL else targets[j]
                self.totals[numbers[j]] += weights[j] * target
                own += weights[j] * target
                squares += weights[j] * target * target
                j += 1
            of_node += own * own / weight
            for i in range(i, j):
                own = self.totals[numbers[i]]
                if own != 0.0:      # else the weight may be 0, too
                    of_values += own * own / self.weights[numbers[i]]
                self.totals[numbers[i]] = 0.0
            i = j
        return self.beyond_chance(of_values, of_node, squares)

    cdef double surplus_of_counts(self, const Segment* segments, int n_segments) noexcept nogil:
        """Do as `surplus`, for samples of weight 1 that were counted; the targets are classes."""
        cdef double of_values = 0.0, of_node = 0.0, own
        cdef int s, k
        for s in range(n_segments):
            own = segments[s].n
            of_node += own * own / self.n_samples
            for k in range(self.n_values):
                own = self.counts[s * self.n_values + k]
                of_values += own * own / self.sizes[k]
        return self.beyond_chance(of_values, of_node, self.n_samples)

    cdef double beyond_chance(self, double of_values, double of_node,
                              double squares) noexcept nogil:
        """The surplus of B and C with S, see the header."""
        return ((self.n_samples - 1) * (of_values - of_node) / (squares - of_node)
                - (self.n_values - 1) if squares > of_node else 0.0)

    cdef bint order(self, const int* numbers, const double* weights, const int* segments,
                    const double* targets, int top, double total, double weight) noexcept nogil:
        """Compute the mean target of each value; return whether they differ.

        A target is whether the segment is `top`, if `targets` is NULL. The sum of the targets and
        the weight are those of the node.
        """
        cdef int i
        cdef double others = total, weight_of_others = weight, target
        memset(self.weights, 0, self.n_values * sizeof(double))
        memset(self.totals, 0, self.n_values * sizeof(double))
        for i in range(self.n_samples):
            target = segments[i] == top if targets == NULL else targets[i]
            self.weights[numbers[i]] += weights[i]
            self.totals[numbers[i]] += weights[i] * target
            weight_of_others -= weights[i]
            others -= weights[i] * target
        if self.missing >= 0 and self.weights[self.missing] == 0.0:     # the rest
            self.weights[self.missing], self.totals[self.missing] = weight_of_others, others
        return self.find_cuts(total / weight)

    cdef bint order_counts(self, int top, int n) noexcept nogil:
        """Do as `order`, for samples of weight 1 that were counted; n of them are in `top`."""
        cdef int k
        for k in range(self.n_values):
            self.weights[k], self.totals[k] = self.sizes[k], self.counts[top * self.n_values + k]
        return self.find_cuts(<double>n / self.n_samples)

    cdef bint find_cuts(self, double mean) noexcept nogil:
        """Find the borders between the mean targets of the values; return whether they differ."""
        cdef int i
        cdef double low = INFINITY, high = -INFINITY, own
        self.cuts.prior = SMOOTH * mean
        for i in range(self.n_values):
            own = smoothed(&self.cuts, self.totals[i], self.weights[i])
            low, high = min(low, own), max(high, own)
        self.cuts.low = low
        self.cuts.scale = N_CUTS / (high - low) if high > low else 0.0
        return high > low

    cdef inline bint is_left(self, int number, int cut) noexcept nogil:
        """Whether a value lies left of a cut."""
        return cut_of(&self.cuts, smoothed(
            &self.cuts, self.totals[number], self.weights[number])) <= cut

    cdef inline bint is_left_without(self, int number, double weight, double target,
                                     int cut) noexcept nogil:
        """Whether a value would lie left of a cut without one of its samples."""
        return cut_of(&self.cuts, smoothed(
            &self.cuts, self.totals[number] - weight * target,
            self.weights[number] - weight)) <= cut

    cdef int n_left(self, int cut) noexcept nogil:
        """Number of samples whose values lie left of a cut."""
        cdef int i, n = 0
        for i in range(self.n_values):
            if self.is_left(i, cut):
                n += self.sizes[i]
        return n

    cdef ValueSet* new_set(self, int cut, int* order, int* spare) noexcept nogil:
        """Make the set of the values on the lighter side of a cut; NULL if memory is short."""
        cdef int i, n = 0
        cdef double balance = 0.0
        cdef ValueSet* values
        for i in range(self.n_values):
            balance += self.weights[i] if self.is_left(i, cut) else -self.weights[i]
        for i in range(self.n_values):
            if i != self.missing and self.is_left(i, cut) != (balance >= 0.0):
                order[n] = i
                n += 1
        sort_slots(order, spare, self.codes, n)
        values = new_values(n, balance >= 0.0)
        if values != NULL:
            for i in range(n):
                codes_of(values)[i] = self.codes[order[i]]
        return values
