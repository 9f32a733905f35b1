"""Naive Bayes with a decay factor. See the header."""

import numpy as np

from libc.math cimport INFINITY, NAN, log
from libc.stdint cimport uint8_t
from libc.string cimport memcpy, memset

from ..allocation cimport free, product, resized, zeroed
from ..arrays cimport view
from ..moments cimport follow_moments
from ..schema cimport Schema
from ..shares cimport softmax

from ..state import (
    LARGEST_CODE, LARGEST_FLOAT, State, are_codes, fields_of, put_back, reduced, require,
)

cdef double LARGEST_UNIT = 1e50
# Initial count of every class and value, and weight of the overall variance in the variance of a
# class.
cdef double PRIOR_COUNT = 0.5
cdef double PRIOR_WEIGHT = 0.1
cdef double FARTHEST = 1e4          # squared standardised distances are clipped to this

FIELDS = {
    "memory": ("number", 1.0, LARGEST_FLOAT), "unit": ("number", 1.0, LARGEST_UNIT),
    "total": ("number", 0.0, LARGEST_FLOAT),
    "class_weights": ("numbers", "classes", {"least": 0.0}),
    "n_values": ("whole_numbers", np.int32, "columns", {"most": 1 + MAX_VALUES}),
    "moments": ("array", np.float64, "columns", "classes", 3),
    "overall": ("array", np.float64, "columns", 3),
    "counts": ("array", np.float64, "nominal", MAX_VALUES, "classes"),
    "values": ("array", np.float64, "nominal", MAX_VALUES),
}


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
            free(self.values[column])
        free(self.counts)
        free(self.values)
        free(self.n_values)
        free(self.class_weights)
        free(self.moments)
        free(self.overall)

    # ---------------------------------------------------------------- memory

    cdef int fit(self, Schema schema, int n_classes) except -1 with gil:
        """Extend the statistics to the columns of the schema and to n_classes classes."""
        cdef int column, n_columns, most = most_columns(max(n_classes, self.n_classes))
        if n_classes > self.n_classes:
            self.widen(n_classes)
        n_columns = min(schema.n_columns, most)
        if n_columns > self.column_capacity:
            self.reserve_columns(max(n_columns, min(2 * self.column_capacity, most)))
        self.n_columns = max(self.n_columns, n_columns)
        for column in range(n_columns):
            if schema.has_codes(column) and not self.n_values[column]:
                self.begin_counts(column)
        self.version = schema.version
        return 0

    cdef void forget_columns(self, const uint8_t* held) noexcept nogil:
        """Make the columns that are not marked numeric ones without a value."""
        cdef int column
        for column in range(self.n_columns):
            if not held[column]:
                free(self.counts[column])
                free(self.values[column])
                self.counts[column] = self.values[column] = NULL
                self.n_values[column] = 0
                memset(&self.overall[column], 0, sizeof(Moments))
                memset(&self.moments[<Py_ssize_t>column * self.n_classes], 0,
                       self.n_classes * sizeof(Moments))
        self.find_nominal()

    cdef void forget_classes(self, const uint8_t* gone) noexcept nogil:
        """Forget the marked classes."""
        cdef int column, c, value, k = self.n_classes
        self.total = 0.0
        for c in range(k):
            if not gone[c]:
                self.total += self.class_weights[c]
                continue
            self.class_weights[c] = 0.0
            for column in range(self.n_columns):
                memset(&self.moments[<Py_ssize_t>column * k + c], 0, sizeof(Moments))
                for value in range(self.n_values[column] - 1):
                    self.counts[column][value * k + c] = 0.0

    cdef void find_nominal(self) noexcept nogil:
        """Find out whether a column is nominal."""
        cdef int column
        self.speaks = False
        for column in range(self.n_columns):
            self.speaks = self.speaks or self.n_values[column] > 0

    cdef int begin_counts(self, int column) except -1:
        """Make a column nominal."""
        cdef int i
        self.counts[column] = <double*>zeroed(product(MAX_VALUES, self.n_classes), sizeof(double))
        self.values[column] = <double*>zeroed(MAX_VALUES, sizeof(double))
        for i in range(MAX_VALUES):
            self.values[column][i] = NAN
        self.n_values[column] = 1
        self.speaks = True
        return 0

    cdef int reserve_columns(self, int n_columns) except -1:
        """Make room for n_columns columns; forget those beyond."""
        cdef int old = self.column_capacity, column
        for column in range(n_columns, old):
            free(self.counts[column])
            free(self.values[column])
        self.column_capacity = min(old, n_columns)
        self.n_columns = min(self.n_columns, n_columns)
        self.find_nominal()
        self.counts = <double**>with_rows(self.counts, old, n_columns, sizeof(double*))
        self.values = <double**>with_rows(self.values, old, n_columns, sizeof(double*))
        self.n_values = <int*>with_rows(self.n_values, old, n_columns, sizeof(int))
        self.overall = <Moments*>with_rows(self.overall, old, n_columns, sizeof(Moments))
        self.moments = <Moments*>with_rows(
            self.moments, old, n_columns, self.n_classes * sizeof(Moments))
        self.column_capacity = n_columns
        return 0

    cdef int widen(self, int n_classes) except -1:
        """Extend the statistics to n_classes classes, and thus maybe to fewer columns."""
        cdef int column, n = self.n_classes
        self.reserve_columns(max(1, min(self.column_capacity, most_columns(n_classes))))
        self.class_weights = <double*>with_rows(
            self.class_weights, n, n_classes, sizeof(double))
        self.moments = <Moments*>with_columns(
            self.moments, self.column_capacity, n * sizeof(Moments), n_classes * sizeof(Moments))
        for column in range(self.n_columns):
            if self.n_values[column]:
                self.counts[column] = <double*>with_columns(
                    self.counts[column], MAX_VALUES, n * sizeof(double),
                    n_classes * sizeof(double))
        self.n_classes = n_classes
        return 0

    # ---------------------------------------------------------------- answers

    cdef void answer(self, const double* row, const int* columns, int n,
                     double* answers) noexcept nogil:
        """Write the probability of every class for a row; uniform if nothing was learned."""
        if self.speaks:
            self.log_likelihoods(row, columns, n, answers)
        else:
            memset(answers, 0, self.n_classes * sizeof(double))
        softmax(answers, self.n_classes)

    cdef void log_likelihoods(self, const double* row, const int* columns, int n,
                              double* answers) noexcept nogil:
        """Write for each class the log of its prior times the likelihood of a row."""
        cdef int column, c, k, value
        cdef double weight, spread, variance, squared, prior
        cdef const Moments* of_class
        cdef const double* counts
        prior = self.total / self.unit + PRIOR_COUNT * self.n_classes
        for c in range(self.n_classes):
            answers[c] = log((self.class_weights[c] / self.unit + PRIOR_COUNT) / prior)
        for k in range(n):
            column = columns[k]
            if column >= self.n_columns or row[column] != row[column]:
                continue
            if self.n_values[column]:
                value = self.find(column, row[column])
                counts = self.counts[column] + value * self.n_classes
                for c in range(self.n_classes):
                    weight = self.class_weights[c] / self.unit
                    answers[c] += log(((counts[c] / self.unit if value >= 0 else 0.0) + PRIOR_COUNT)
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

    cdef void learn(self, const double* row, const int* columns, int n, int code,
                    double weight) noexcept nogil:
        """Learn a row, after `fit`."""
        cdef int column, k, value
        cdef double share
        if not self.speaks:
            return
        self.unit /= 1.0 - 1.0 / self.memory
        if self.unit > LARGEST_UNIT:
            self.rescale()
        share = weight * self.unit
        self.total += share
        self.class_weights[code] += share
        for k in range(n):
            column = columns[k]
            if column >= self.n_columns or row[column] != row[column]:
                continue
            if self.n_values[column]:
                value = self.find(column, row[column])
                if value < 0:
                    value = self.take_place(column, row[column])
                self.counts[column][value * self.n_classes + code] += share
            else:
                add(&self.moments[<Py_ssize_t>column * self.n_classes + code], row[column], share)
                add(&self.overall[column], row[column], share)

    cdef int find(self, int column, double code) noexcept nogil:
        """The place of a nominal value among those with counts; -1 if it has none."""
        cdef const double* values = self.values[column]
        cdef int i
        for i in range(self.n_values[column] - 1):
            if values[i] == code:
                return i
        return -1

    cdef int take_place(self, int column, double code) noexcept nogil:
        """Give a nominal value the next place, or that of the value with the least weight."""
        cdef double* counts = self.counts[column]
        cdef double weight, least = INFINITY
        cdef int i, c, place = self.n_values[column] - 1, k = self.n_classes
        if place < MAX_VALUES:
            self.n_values[column] += 1
        else:
            for i in range(MAX_VALUES):
                weight = 0.0
                for c in range(k):
                    weight += counts[i * k + c]
                if weight < least:
                    place, least = i, weight
            memset(counts + place * k, 0, k * sizeof(double))
        self.values[column][place] = code
        return place

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
        NaiveBayes.restored(self.state())
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
            2 * sizeof(double*) + sizeof(int) + (1 + <size_t>self.n_classes) * sizeof(Moments))
        for column in range(self.n_columns):
            if self.n_values[column]:
                size += <size_t>MAX_VALUES * (1 + self.n_classes) * sizeof(double)
        return object.__sizeof__(self) + size

    cdef dict views(self):
        """The arrays over classes and columns; counts and values of the nominal columns."""
        cdef Py_ssize_t n = self.n_columns, k = self.n_classes, room = self.column_capacity
        cdef int column
        return {
            "class_weights": view(self.class_weights, "f8", (k,)),
            "moments": view(self.moments, "f8", (room, k, 3))[:n],
            "overall": view(self.overall, "f8", (room, 3))[:n],
            "n_values": view(self.n_values, "i4", (room,))[:n],
            "counts": [view(self.counts[column], "f8", (MAX_VALUES, k))
                       for column in range(self.n_columns) if self.n_values[column]],
            "values": [view(self.values[column], "f8", (MAX_VALUES,))
                       for column in range(self.n_columns) if self.n_values[column]],
        }

    def state(self):
        """The parameters and the sums as they are stored: times the unit."""
        views = self.views()
        counts, values = views.pop("counts"), views.pop("values")
        return fields_of(self, FIELDS, {
            **views, "counts": np.reshape(counts, (len(counts), MAX_VALUES, self.n_classes)),
            "values": np.reshape(values, (len(values), MAX_VALUES)),
            "unit": self.unit, "total": self.total,
        })

    @classmethod
    def restored(cls, values):
        """The classifier of a state. The owner checks that its columns and classes exist."""
        cdef NaiveBayes found
        cdef int column
        fields = State("NaiveBayes", values, FIELDS).read(FIELDS)
        n, k = len(fields["n_values"]), len(fields["class_weights"])
        require(n <= (most_columns(<int>k) if k else 0), "NaiveBayes: too many columns")
        require(len(fields["counts"]) == np.sum(fields["n_values"] > 0),
                "NaiveBayes: counts must be those of the nominal columns")
        found = NaiveBayes(fields["memory"])
        if k:
            found.widen(<int>k)
            found.reserve_columns(max(1, <int>n))
        found.n_columns, found.unit, found.total = <int>n, fields["unit"], fields["total"]
        for column in np.flatnonzero(fields["n_values"]):
            found.begin_counts(column)
        views = found.views()
        for name in ("counts", "values"):
            for into, of_column in zip(views.pop(name), fields[name]):
                into[...] = of_column
        for column in np.flatnonzero(fields["n_values"]):
            n = fields["n_values"][column] - 1
            codes = view(found.values[column], "f8", (MAX_VALUES,))
            require(are_codes(codes[:n], 0, LARGEST_CODE + 1) and np.all(np.isnan(codes[n:])),
                    "NaiveBayes: a number is the code of no nominal value")
        put_back(views, fields)
        return found

    def __reduce__(self):
        return reduced(type(self), self.state())


cdef void* with_rows(void* memory, size_t n_old, size_t n_new, size_t size) except NULL:
    """Reallocate memory for n_new items; new ones are zero."""
    cdef char* found = <char*>resized(memory, max(<size_t>1, n_new), max(<size_t>1, size))
    if n_new > n_old:
        memset(found + n_old * size, 0, (n_new - n_old) * size)
    return found


cdef void* with_columns(void* memory, size_t n_rows, size_t old, size_t new) except NULL:
    """Reallocate a matrix for rows of `new` bytes instead of `old`; new bytes are zero."""
    cdef char* found = <char*>zeroed(n_rows, new)
    cdef size_t row
    for row in range(n_rows):
        memcpy(found + row * new, <char*>memory + row * old, old)
    free(memory)
    return found


cdef inline void add(Moments* moments, double value, double weight) noexcept nogil:
    """Add a value to the moments."""
    moments.weight += weight
    follow_moments(&moments.mean, &moments.squares, value, weight, moments.weight)
