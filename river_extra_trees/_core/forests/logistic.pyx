"""Multinomial logistic regression. See the header."""

import numpy as np

from libc.math cimport exp, log, sqrt
from libc.string cimport memcpy, memset

from ..allocation cimport enough, product, zeroed
from ..parts cimport view
from ..shares cimport softmax
from ..moments cimport RUNNING_MEMORY, follow_value, standardised

from ..state import LARGEST_CODE, are_codes, require

cdef enum:
    INTERCEPT = -1
    GONE = -2
    FIRST_CAPACITY = 4
    LEVEL_MEMORY = 100      # of the level, in samples

cdef double NUMERIC = -1.0          # no code
cdef double RATE = 0.2
cdef double LARGEST_WEIGHT = 10.0
cdef double LEAST_SQUARES = 1e-12   # beside G, which may be 0
cdef double LARGEST_SQUARES = 1e300

cdef inline double code_of(Schema schema, int column, double value) noexcept nogil:
    """The code of the regressor of a value."""
    return value if schema.has_codes(column) else NUMERIC


cdef inline int place_in(LogisticRegression self, const double* row, int column,
                         Schema schema) noexcept nogil:
    """The place of the regressor of a row's value in a column; -1: none, or it is not known."""
    if row[column] != row[column]:
        return -1
    return self.place_of(column, code_of(schema, column, row[column]))


cdef inline double z_of(const Regressor* regressor, double value) noexcept nogil:
    """z_j of a value."""
    if regressor.code != NUMERIC:
        return 1.0
    if regressor.is_indicator and is_bit(value):
        return value
    return standardised(&regressor.running, value)


cdef inline bint is_bit(double value) noexcept nogil:
    return value == 0.0 or value == 1.0


cdef class LogisticRegression(Part):
    """Multinomial logistic regression, learned online. See the header."""

    # ---------------------------------------------------------------- memory

    cdef int fit(self, int n_labels) except -1 nogil:
        """Extend the weights to so many labels."""
        if n_labels == self.n_labels:
            return 0
        while self.n > self.most(n_labels):
            self.evict()
        if n_labels > self.width:
            self.reserve(
                max(<int>FIRST_CAPACITY, min(self.capacity, self.most(n_labels))), n_labels)
        self.n_labels = n_labels
        if self.n == 0:
            self.add(INTERCEPT, NUMERIC)
        return 0

    cdef int reserve(self, int capacity, int n_labels) except -1 nogil:
        """Make room for so many regressors and labels."""
        cdef int i, n_slots = 4, width = <int>enough(n_labels, self.width)
        cdef Slope* slopes
        while n_slots < 2 * capacity:
            n_slots *= 2
        self.resize(&self.slots, n_slots, sizeof(int))
        self.n_slots = n_slots
        self.compact()
        self.resize(&self.regressors, capacity, sizeof(Regressor))
        slopes = <Slope*>zeroed(product(capacity, width), sizeof(Slope))
        for i in range(self.n):
            memcpy(slopes + <Py_ssize_t>i * width, self.slopes + <Py_ssize_t>i * self.width,
                   self.n_labels * sizeof(Slope))
        self.replace(&self.slopes, slopes, capacity * <size_t>width * sizeof(Slope))
        self.width, self.capacity = width, capacity
        return 0

    cdef int add(self, int column, double code) except -1 nogil:
        """Add a regressor; return its place."""
        cdef int place
        if self.n == self.most(self.n_labels):
            self.evict()
        if self.n == self.capacity:
            self.reserve(min(2 * self.capacity, self.most(self.n_labels)), self.n_labels)
        place = self.n
        memset(&self.regressors[place], 0, sizeof(Regressor))
        self.forget_slopes(place)
        self.regressors[place].column, self.regressors[place].code = column, code
        self.regressors[place].is_indicator = column >= 0 and code == NUMERIC
        self.n += 1
        self.put(place)
        return place

    cdef void forget_slopes(self, int place) noexcept nogil:
        memset(self.slopes + <Py_ssize_t>place * self.width, 0, self.width * sizeof(Slope))

    cdef int place_of(self, int column, double code) noexcept nogil:
        """The place of a regressor; -1 if it is not known."""
        cdef int slot = self.first_slot(column, code), place
        while True:
            place = self.slots[slot]
            if place < 0 or (self.regressors[place].column == column
                             and self.regressors[place].code == code):
                return place
            slot = (slot + 1) & (self.n_slots - 1)

    cdef void put(self, int place) noexcept nogil:
        """Put a regressor into the table of slots."""
        cdef int slot = self.first_slot(
            self.regressors[place].column, self.regressors[place].code)
        while self.slots[slot] >= 0:
            slot = (slot + 1) & (self.n_slots - 1)
        self.slots[slot] = place

    cdef void evict(self) noexcept nogil:
        """Forget the regressors met least recently; at most half of the others stay."""
        cdef int64_t low = -1, high = self.n_learned, middle
        cdef int i, n
        while high - low > 1:       # at most half were seen after `high`
            middle = low + (high - low) // 2
            n = 0
            for i in range(1, self.n):
                n += self.regressors[i].seen > middle
            if 2 * n > self.n:
                low = middle
            else:
                high = middle
        for i in range(1, self.n):
            if self.regressors[i].seen <= high:
                self.regressors[i].column = GONE
        self.compact()

    cdef void compact(self) noexcept nogil:
        """Leave out the regressors that are gone, and put the others into empty slots."""
        cdef int i, n = 0
        cdef Py_ssize_t width = self.width
        memset(self.slots, -1, self.n_slots * sizeof(int))
        for i in range(self.n):
            if self.regressors[i].column == GONE:
                continue
            if i > n:
                self.regressors[n] = self.regressors[i]
                memcpy(self.slopes + n * width, self.slopes + i * width, width * sizeof(Slope))
            self.put(n)
            n += 1
        self.n = n

    cdef void forget_columns(self, const uint8_t* held) noexcept nogil:
        """Forget the columns that are not marked."""
        cdef int i
        for i in range(1, self.n):
            if not held[self.regressors[i].column]:
                self.regressors[i].column = GONE
        if self.n:
            self.compact()

    cdef void forget_classes(self, const uint8_t* gone) noexcept nogil:
        """Forget the marked classes."""
        cdef int i, c
        for i in range(self.n):
            for c in range(self.n_labels):
                if gone[c]:
                    memset(&self.slopes[<Py_ssize_t>i * self.width + c], 0, sizeof(Slope))

    # ---------------------------------------------------------------- answers

    cdef void answer(self, const double* row, const int* columns, int n, Schema schema,
                     double* answers, int width) noexcept nogil:
        """Write the probability of every class for a row; uniform if nothing was learned."""
        if self.n:
            self.scores(row, columns, n, schema, answers)
        else:
            memset(answers, 0, width * sizeof(double))
        softmax(answers, width)

    cdef void scores(self, const double* row, const int* columns, int n, Schema schema,
                     double* answers) noexcept nogil:
        """Write b_c + sum_j w_jc z_j for each class."""
        cdef int k, c, place, column, n_labels = self.n_labels
        cdef double z
        cdef const Slope* slopes = self.slopes
        for c in range(n_labels):
            answers[c] = slopes[c].weight
        for k in range(n):
            column = columns[k]
            place = place_in(self, row, column, schema)
            if place < 0:
                continue
            z = z_of(&self.regressors[place], row[column])
            slopes = self.slopes + <Py_ssize_t>place * self.width
            for c in range(n_labels):
                answers[c] += z * slopes[c].weight

    cdef void add_terms(self, const double* row, const int* columns, int n, Schema schema,
                        const double* factors, double* terms, Py_ssize_t stride) noexcept nogil:
        """Add what each column adds to the sum of factors[class] times the score of the class."""
        cdef int k, c, place, column
        cdef double term
        cdef const Slope* slopes
        for k in range(n):
            column = columns[k]
            place = place_in(self, row, column, schema)
            if place < 0:
                continue
            slopes = self.slopes + <Py_ssize_t>place * self.width
            term = 0.0
            for c in range(self.n_labels):
                term += factors[c] * slopes[c].weight
            terms[column * stride] += term * z_of(&self.regressors[place], row[column])

    # ---------------------------------------------------------------- learning

    cdef int learn(self, const double* row, const int* columns, int n, Schema schema, int code,
                   double weight, const double* shares) except -1 nogil:
        """Learn a row, after `fit`."""
        cdef int k, place, column, n_values = 0
        cdef double value
        cdef Regressor* regressor
        for k in range(n if n > MOST_OF_SAMPLE else 0):
            n_values += row[columns[k]] == row[columns[k]]
        weight = self.relative(weight)
        self.step(0, weight, shares, code)
        for k in range(n):
            column = columns[k]
            if row[column] != row[column]:
                continue
            value = code_of(schema, column, row[column])
            place = self.place_of(column, value)
            if place < 0 and n_values > MOST_OF_SAMPLE:
                continue
            if place < 0:
                place = self.add(column, value)
            regressor = &self.regressors[place]
            regressor.seen = self.n_learned
            self.step(place, weight * z_of(regressor, row[column]), shares, code)
            if regressor.code == NUMERIC:
                follow_value(&regressor.running, row[column])
                if regressor.is_indicator and not is_bit(row[column]):
                    regressor.is_indicator = False
                    self.forget_slopes(place)       # they belong to other z
        self.n_learned += 1
        return 0

    cdef double relative(self, double weight) noexcept nogil:
        """v of a weight, whose logarithm the level follows first."""
        cdef double size = log(weight)
        self.level += (size - self.level) / min(self.n_learned + 1, <int64_t>LEVEL_MEMORY)
        return min(exp(size - self.level), LARGEST_WEIGHT)

    cdef void step(self, int place, double factor, const double* shares, int code) noexcept nogil:
        """A step down the gradient: `factor` is v z, see the header."""
        cdef int c
        cdef double gradient
        cdef Slope* slopes = self.slopes + <Py_ssize_t>place * self.width
        if factor == 0.0:
            return
        for c in range(self.n_labels):
            gradient = factor * (shares[c] - (c == code))
            slopes[c].squares = min(slopes[c].squares + gradient * gradient, LARGEST_SQUARES)
            slopes[c].weight -= RATE * gradient / sqrt(slopes[c].squares + LEAST_SQUARES)

    # ---------------------------------------------------------------- state

    cdef bint belongs_to(self, Schema schema, int n_labels) except -1:
        """Whether it knows these labels, and its columns have the same kinds in the schema."""
        cdef int i
        for i in range(1, self.n):
            if (self.regressors[i].column >= schema.n_columns
                    or schema.has_codes(self.regressors[i].column)
                    != (self.regressors[i].code != NUMERIC)):
                return False
        return self.n_labels == n_labels

    FIELDS = {
        "n_labels": ("whole", 0, 2**31 - 1), "n_learned": ("whole",),
        "level": ("number", -1000.0, 1000.0),
        "columns": (
            "whole_numbers", np.int32, "regressors", {"least": INTERCEPT, "most": 2**31 - 1}),
        "codes": ("numbers", "regressors", {"least": NUMERIC, "most": float(LARGEST_CODE)}),
        "indicators": ("whole_numbers", np.int32, "regressors", {"most": 1}),
        "seen": ("whole_numbers", np.int64, "regressors", {"most": 2**62}),
        "running": ("numbers", "regressors", 3, {"least": -1e306, "most": 1e306}),
        "weights": ("numbers", "regressors", None, {"least": -1e100, "most": 1e100}),
        "squares": ("numbers", "regressors", None, {"least": 0.0, "most": LARGEST_SQUARES}),
    }

    cdef dict views(self):
        """The arrays over the regressors."""
        cdef int size = sizeof(Regressor), n = self.n, k = self.n_labels, room = self.capacity
        cdef Regressor no_regressor         # fields of a NULL have no address
        cdef Slope no_slope
        cdef Regressor* first = &no_regressor if self.regressors == NULL else self.regressors
        cdef Slope* slopes = &no_slope if self.slopes == NULL else self.slopes
        strides = (self.width * sizeof(Slope), sizeof(Slope))
        return {
            "columns": view(&first.column, "i4", (room,), (size,))[:n],
            "codes": view(&first.code, "f8", (room,), (size,))[:n],
            "indicators": view(&first.is_indicator, "i4", (room,), (size,))[:n],
            "seen": view(&first.seen, "i8", (room,), (size,))[:n],
            "running": view(&first.running, "f8", (room, 3), (size, sizeof(double)))[:n],
            "weights": view(&slopes.weight, "f8", (room, self.width), strides)[:n, :k],
            "squares": view(&slopes.squares, "f8", (room, self.width), strides)[:n, :k],
        }

    cdef int load(self, dict fields) except -1:
        columns, codes, running = fields["columns"], fields["codes"], fields["running"]
        n, n_labels = len(columns), fields["n_labels"]
        require(n <= self.most(n_labels) and (n > 0) == (n_labels > 0)
                and fields["weights"].shape == fields["squares"].shape
                and fields["weights"].shape == (n, n_labels)
                and np.all((columns < 0) == (np.arange(n) == 0))
                and len(set(zip(columns.tolist(), codes.tolist()))) == n
                and are_codes(codes, -1, LARGEST_CODE + 1)
                and np.all((columns >= 0) & (codes == NUMERIC) >= fields["indicators"])
                and np.all(fields["seen"] <= fields["n_learned"])
                and np.all((running[:, 0] >= 0.0) & (running[:, 0] <= RUNNING_MEMORY)
                           & (running[:, 2] >= 0.0)),
                "LogisticRegression: there are no such regressors")
        if n:
            self.reserve(n, n_labels)
        self.n, self.n_labels = n, n_labels
        Part.load(self, fields)
        if n:
            self.compact()
        return 0
