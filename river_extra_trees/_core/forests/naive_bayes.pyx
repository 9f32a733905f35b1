"""Naive Bayes with a decay factor. See the header."""

import numpy as np

from libc.math cimport INFINITY, exp, log
from libc.string cimport memcpy, memset

from ..memory cimport free, product, resized, zeroed
from ..schema cimport OTHER, Schema

from ..state import LARGEST_FLOAT, State, reduced, require

cdef double LARGEST_UNIT = 1e50
# Initial count of every class and value, and weight of the overall variance in the variance of a
# class.
cdef double PRIOR_COUNT = 0.5
cdef double PRIOR_WEIGHT = 0.1
cdef double FARTHEST = 1e4          # squared standardised distances are clipped to this


cdef class NaiveBayes:
    """A naive Bayes classifier with a decay factor.

    Parameters
    ----------
    memory
        Number of samples after which the weight of a sample has decayed to 1 / e.
    """

    def __cinit__(self, double memory):
        self.memory = memory
        self.unit = 1.0

    def __dealloc__(self):
        cdef int column
        for column in range(self.column_capacity):
            free(self.counts[column])
        free(self.counts)
        free(self.n_values)
        free(self.class_weights)
        free(self.moments)
        free(self.overall)

    # ---------------------------------------------------------------- memory

    cdef NaiveBayes reserved(self, Schema schema, int n_columns, int n_classes):
        """This classifier, or a copy if there are new classes, with room for columns and classes.

        Only memory is allocated; `extend` and `learn` change the statistics."""
        cdef NaiveBayes found = self if n_classes <= self.n_classes else self.widened(n_classes)
        cdef int column, most = most_columns(found.n_classes)
        n_columns = min(n_columns, most)
        if n_columns > found.column_capacity:
            found.reserve_columns(max(n_columns, min(2 * found.column_capacity, most)))
        for column in range(found.n_columns, n_columns):
            if schema.codes[column] is not None and found.counts[column] == NULL:
                found.counts[column] = <double*>zeroed(
                    product(MAX_VALUES, found.n_classes), sizeof(double))
        return found

    cdef void extend(self, Schema schema) noexcept:
        """Add new columns; `reserved` has allocated the memory."""
        cdef int column, n_columns = min(schema.n_columns, most_columns(self.n_classes))
        for column in range(self.n_columns, n_columns):
            if schema.codes[column] is not None:
                self.n_values[column] = 1
        self.n_columns = max(self.n_columns, n_columns)

    cdef int reserve_columns(self, int n_columns) except -1:
        cdef int added = n_columns - self.column_capacity
        cdef size_t cells = product(n_columns, max(1, self.n_classes))
        self.counts = <double**>resized(self.counts, n_columns, sizeof(double*))
        self.n_values = <int*>resized(self.n_values, n_columns, sizeof(int))
        self.overall = <Moments*>resized(self.overall, n_columns, sizeof(Moments))
        self.moments = <Moments*>resized(self.moments, cells, sizeof(Moments))
        memset(self.counts + self.column_capacity, 0, added * sizeof(double*))
        memset(self.n_values + self.column_capacity, 0, added * sizeof(int))
        memset(self.overall + self.column_capacity, 0, added * sizeof(Moments))
        memset(self.moments + <Py_ssize_t>self.column_capacity * self.n_classes, 0,
               <size_t>added * self.n_classes * sizeof(Moments))
        self.column_capacity = n_columns
        return 0

    cdef NaiveBayes widened(self, int n_classes):
        """A copy with room for more classes, and thus maybe for fewer columns."""
        cdef NaiveBayes wide = NaiveBayes(self.memory)
        cdef int most = most_columns(n_classes)
        cdef int column, value, n = self.n_classes
        wide.n_classes = n_classes
        wide.unit, wide.total = self.unit, self.total
        wide.class_weights = <double*>zeroed(n_classes, sizeof(double))
        wide.reserve_columns(max(1, min(self.column_capacity, most)))
        wide.n_columns = min(self.n_columns, most)
        for column in range(wide.n_columns):
            wide.n_values[column] = self.n_values[column]
            wide.overall[column] = self.overall[column]
            memcpy(wide.moments + <Py_ssize_t>column * n_classes,
                   self.moments + <Py_ssize_t>column * n, n * sizeof(Moments))
            if self.n_values[column]:
                wide.counts[column] = <double*>zeroed(
                    product(MAX_VALUES, n_classes), sizeof(double))
                for value in range(MAX_VALUES):
                    memcpy(wide.counts[column] + value * n_classes,
                           self.counts[column] + value * n, n * sizeof(double))
        if n:
            memcpy(wide.class_weights, self.class_weights, n * sizeof(double))
        return wide

    # ---------------------------------------------------------------- answers

    cdef void answer(self, Schema schema, double* answers) noexcept nogil:
        """Write the probability of every class for the row of the schema, whose columns ascend.

        It is uniform if nothing was learned.
        """
        cdef int c
        cdef double largest = -INFINITY, total = 0.0
        self.log_likelihoods(schema, answers)
        for c in range(self.n_classes):
            largest = max(largest, answers[c])
        for c in range(self.n_classes):
            answers[c] = exp(answers[c] - largest)
            total += answers[c]
        for c in range(self.n_classes):
            answers[c] = answers[c] / total if 0.0 < total < INFINITY else 1.0 / self.n_classes

    cdef void log_likelihoods(self, Schema schema, double* answers) noexcept nogil:
        """Write for each class the log of its prior times the likelihood of the row."""
        cdef int column, c, k, value
        cdef const double* row = schema.row
        cdef double weight, spread, variance, squared, prior
        cdef const Moments* of_class
        cdef const double* counts
        prior = self.total / self.unit + PRIOR_COUNT * self.n_classes
        for c in range(self.n_classes):
            answers[c] = log((self.class_weights[c] / self.unit + PRIOR_COUNT) / prior)
        for k in range(schema.n_filled):
            column = schema.filled[k]
            if column >= self.n_columns or row[column] != row[column]:
                continue
            if self.n_values[column]:
                value = value_of(row[column])
                counts = self.counts[column] + value * self.n_classes
                for c in range(self.n_classes):
                    weight = self.class_weights[c] / self.unit
                    answers[c] += log((counts[c] / self.unit + PRIOR_COUNT)
                                      / (weight + PRIOR_COUNT * self.n_values[column]))
                continue
            weight = self.overall[column].weight
            if not weight > 0.0 or not self.overall[column].squares > 0.0:
                continue
            spread = self.overall[column].squares / weight
            of_class = self.moments + <Py_ssize_t>column * self.n_classes
            for c in range(self.n_classes):
                weight = of_class[c].weight / self.unit
                variance = (of_class[c].squares / self.unit + PRIOR_WEIGHT * spread) / (
                    weight + PRIOR_WEIGHT)
                squared = row[column] - (of_class[c].mean if weight > 0.0
                                         else self.overall[column].mean)
                squared = squared * squared / variance
                answers[c] -= 0.5 * (log(variance) + (squared if squared < FARTHEST else FARTHEST))

    # ---------------------------------------------------------------- learning

    cdef void learn(self, Schema schema, int code, double weight) noexcept nogil:
        """Learn the row of the schema; `reserved` has allocated memory for it and its class."""
        cdef int column, k, value
        cdef const double* row = schema.row
        cdef double share
        self.unit /= 1.0 - 1.0 / self.memory
        if self.unit > LARGEST_UNIT:
            self.rescale()
        share = weight * self.unit
        self.total += share
        self.class_weights[code] += share
        for k in range(schema.n_filled):
            column = schema.filled[k]
            if column >= self.n_columns or row[column] != row[column]:
                continue
            if self.n_values[column]:
                value = value_of(row[column])
                self.n_values[column] = max(self.n_values[column], value + 1)
                self.counts[column][value * self.n_classes + code] += share
            else:
                add(&self.moments[<Py_ssize_t>column * self.n_classes + code], row[column], share)
                add(&self.overall[column], row[column], share)

    cdef void rescale(self) noexcept nogil:
        """Divide all sums by the unit, and set the unit to 1."""
        cdef int column, c
        cdef Py_ssize_t i
        cdef double factor = 1.0 / self.unit
        self.total *= factor
        for c in range(self.n_classes):
            self.class_weights[c] *= factor
        for i in range(<Py_ssize_t>self.n_columns * self.n_classes):
            self.moments[i].weight *= factor
            self.moments[i].squares *= factor
        for column in range(self.n_columns):
            self.overall[column].weight *= factor
            self.overall[column].squares *= factor
            if self.n_values[column]:
                for i in range(<Py_ssize_t>MAX_VALUES * self.n_classes):
                    self.counts[column][i] *= factor
        self.unit = 1.0

    # ---------------------------------------------------------------- state

    def check(self):
        """Raise a StateError if an invariant is broken."""
        require(1.0 <= self.unit <= LARGEST_UNIT and self.memory >= 1.0,
                "NaiveBayes: the unit is out of bounds")
        require(self.n_columns <= self.column_capacity, "NaiveBayes: a column has no place")

    cdef bint belongs_to(self, Schema schema) except -1:
        """Whether the columns exist in the schema and have the same kinds there."""
        cdef int column
        if self.n_columns > schema.n_columns:
            return False
        for column in range(self.n_columns):
            if (self.n_values[column] > 0) != (schema.codes[column] is not None):
                return False
        return True

    def __sizeof__(self):
        cdef int column
        cdef size_t size = self.n_classes * sizeof(double)
        size += self.column_capacity * (
            sizeof(double*) + sizeof(int) + (1 + <size_t>self.n_classes) * sizeof(Moments))
        for column in range(self.n_columns):
            if self.n_values[column]:
                size += <size_t>MAX_VALUES * self.n_classes * sizeof(double)
        return object.__sizeof__(self) + size

    def state(self):
        """The parameters and the sums as they are stored: times the unit."""
        cdef Py_ssize_t n = self.n_columns, k = self.n_classes, i, c
        cdef double[:, :, ::1] moments = np.zeros((n, k + 1, 3))
        cdef Moments* found
        for i in range(n):
            for c in range(k + 1):
                found = &self.overall[i] if c == k else &self.moments[i * k + c]
                moments[i, c, 0], moments[i, c, 1] = found.weight, found.mean
                moments[i, c, 2] = found.squares
        nominal = [int(i) for i in range(n) if self.n_values[i]]
        return {
            "memory": self.memory, "unit": self.unit, "total": self.total,
            "class_weights": np.array([self.class_weights[c] for c in range(k)], np.float64),
            "moments": moments.base,
            "n_values": np.array([self.n_values[i] for i in range(n)], np.int32),
            "counts": np.array(
                [[self.counts[<int>i][c] for c in range(MAX_VALUES * k)] for i in nominal],
                np.float64).reshape(len(nominal), MAX_VALUES * k),
        }

    @classmethod
    def restored(cls, values):
        """The classifier of a state. The owner checks that its columns and classes exist."""
        cdef NaiveBayes found
        cdef Py_ssize_t i, c, k, place = 0
        cdef const double[:, :, ::1] moments
        cdef const double[:, ::1] counts
        cdef Moments* to
        state = State("NaiveBayes", values, ("memory", "unit", "total", "class_weights", "moments",
                                             "n_values", "counts"))
        weights = state.numbers("class_weights", None, least=0.0)
        n_values = state.array("n_values", np.int32, None)
        k = len(weights)
        moments = state.array("moments", np.float64, len(n_values), k + 1, 3)
        require(np.all((n_values >= 0) & (n_values <= MAX_VALUES)) and len(n_values) <= MAX_CELLS,
                "NaiveBayes: too many columns or values")
        counts = state.array("counts", np.float64, int(np.sum(n_values > 0)), MAX_VALUES * k)
        found = NaiveBayes(state.number("memory", 1.0, LARGEST_FLOAT))
        found.unit = state.number("unit", 1.0, LARGEST_UNIT)
        found.total = state.number("total", 0.0, LARGEST_FLOAT)
        if k:
            found = found.widened(<int>k)
            found.reserve_columns(max(1, min(<int>len(n_values), most_columns(<int>k))))
        for c in range(k):
            found.class_weights[c] = weights[c]
        for i in range(min(len(n_values), most_columns(<int>k)) if k else 0):
            found.n_values[i] = n_values[i]
            found.n_columns = <int>i + 1
            for c in range(k + 1):
                to = &found.overall[i] if c == k else &found.moments[i * k + c]
                to.weight, to.mean = moments[i, c, 0], moments[i, c, 1]
                to.squares = moments[i, c, 2]
            if n_values[i]:
                found.counts[i] = <double*>zeroed(product(MAX_VALUES, k), sizeof(double))
                memcpy(found.counts[i], &counts[place, 0], MAX_VALUES * k * sizeof(double))
                place += 1
        return found

    def __reduce__(self):
        return reduced(type(self), self.state())


cdef inline int value_of(double code) noexcept nogil:
    """The index of a nominal value in the counts."""
    return min(<int>code - OTHER, <int>MAX_VALUES - 1)


cdef inline void add(Moments* moments, double value, double weight) noexcept nogil:
    """Add a value to the moments: incremental weighted variance (West 1979)."""
    cdef double delta = value - moments.mean
    moments.weight += weight
    moments.mean += delta * (weight / moments.weight)
    moments.squares += weight * delta * (value - moments.mean)
