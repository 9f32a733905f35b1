# cython: nonecheck=True
"""Counts of values in bins. See the header."""

import numpy as np

from .safe_repr import safe_repr
from .evidence cimport WAITING, Evidence
from .validation cimport is_missing

from cpython.dict cimport PyDict_GetItem, PyDict_Next
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.ref cimport PyObject

BINS, ROWS, BLOCK = N_BINS, N_ROWS, SAMPLES
cdef double FADING = 1.0 - 1.0 / WAITING    # of the recent counts, per block


cdef class Bins:
    """Counts of values per column and bin. See the header."""

    def __cinit__(self, *args):
        self.names, self.values, self.rows, self.waiting, self.evidence = [], [], [], [], []
        self.known, self.n_blocks = set(), 0

    def set_columns(self, list names):
        """Begin to look at some columns, of which none has bins."""
        cdef Py_ssize_t n = len(names) + 1
        self.names, self.values = list(names), [None] * n
        self.edges = np.full((n, N_BINS - 2), np.inf)
        self.counts, self.usual, self.recent = np.zeros((3, n, N_BINS))
        self.n_usual = np.zeros(n, np.intc)
        self._edges, self._counts, self._n_usual = self.edges, self.counts, self.n_usual
        self._usual, self._recent = self.usual, self.recent

    cpdef add(self, x):
        """Look at a sample of a block."""
        cdef dict row = x if type(x) is dict else dict(x)
        if self.values:
            self.count(row)
        if (self.waiting or not self.values) and len(self.rows) < N_ROWS:
            self.rows.append({name: plain(value) for name, value in row.items()})

    cdef int count(self, dict x) except -1:
        """Count the values of a sample."""
        cdef Py_ssize_t column, n = len(self.values), n_found = 0, place = 0
        cdef PyObject* name
        cdef PyObject* found
        for column in range(1, n):
            # Samples mostly have their columns in this order.
            if (not PyDict_Next(x, &place, &name, &found)
                    or name != <PyObject*>self.names[column - 1]):
                found = PyDict_GetItem(x, self.names[column - 1])
            if found == NULL:
                self._counts[column, 0] += 1.0
                continue
            value = <object>found   # a reference: its methods may change the sample
            self._counts[column, self.bin_of(column, value)] += 1.0
            n_found += 1
        self._counts[0, 1 if n_found == len(x) or x.keys() <= self.known else N_BINS - 1] += 1.0
        return 0

    def begin(self, Py_ssize_t column):
        """Take the values of a column in `rows` as the usual ones."""
        if not 0 <= column < len(self.values):
            raise IndexError(column)
        self.counts[column] = self.recent[column] = self.usual[column] = 0.0
        self.n_usual[column] = 0
        for x in self.rows:
            if column:
                self._usual[column, self.bin_of(column, x.get(self.names[column - 1]))] += 1.0
            else:
                self._usual[0, 1 if x.keys() <= self.known else N_BINS - 1] += 1.0

    cdef int bin_of(self, Py_ssize_t column, object value) except -1:
        """The bin of a value."""
        cdef long long whole
        cdef int overflow = 0
        if PyFloat_CheckExact(value):
            return self.bin_of_number(column, PyFloat_AS_DOUBLE(value))
        if PyLong_CheckExact(value):
            whole = PyLong_AsLongLongAndOverflow(value, &overflow)
            if not overflow:
                return self.bin_of_number(column, <double>whole)
        value = plain(value)
        if value is None:
            return 0
        if PyFloat_CheckExact(value):
            return self.bin_of_number(column, PyFloat_AS_DOUBLE(value))
        return 0 if self.values[column] is None else self.bin_of_name(column, value)

    cdef int bin_of_number(self, Py_ssize_t column, double number) except -1:
        cdef const double* edges = &self._edges[column, 0]
        cdef int i, found = 1
        if number != number:
            return 0
        if self.values[column] is not None:
            return self.bin_of_name(column, number)
        for i in range(N_BINS - 2):
            found += number > edges[i]
        return found

    cdef int bin_of_name(self, Py_ssize_t column, object value) except -1:
        """The bin of a value of a column of names."""
        cdef PyObject* known = PyDict_GetItem(self.values[column], value)
        cdef int found = 1 if known == NULL else <object>known
        if not 0 <= found < N_BINS:
            raise IndexError(found)
        return found

    def changed(self):
        """End a shortest block; return the columns that have changed."""
        cdef Py_ssize_t column
        cdef Evidence each
        cdef double distance
        found = []
        self.n_blocks += 1
        for column in range(min(len(self.evidence), len(self.values))):
            each = self.evidence[column]
            if each.ends(self.n_blocks) and column not in self.waiting:
                distance = self.settle(column)
                if distance >= 0.0 and each.update(distance):
                    found.append(column)
        return found

    cdef double settle(self, Py_ssize_t column) noexcept:
        """End a block of a column.

        The result is the chi-squared distance of the counts from the usual ones; -1 while these are
        still collected.
        """
        cdef double* counts = &self._counts[column, 0]
        cdef double* usual = &self._usual[column, 0]
        cdef double* recent = &self._recent[column, 0]
        cdef bint is_begun = self._n_usual[column] == REFERENCE
        cdef double n = 0.0, n_usual = 0.0, distance = 0.0, expected
        cdef int i
        for i in range(N_BINS):
            n += counts[i]
            n_usual += usual[i]
        for i in range(N_BINS):
            expected = usual[i] * (n / n_usual)
            distance += (counts[i] - expected) * (counts[i] - expected) / (expected + 0.5)
            recent[i] = FADING * recent[i] + counts[i]
            if not is_begun:
                usual[i] += counts[i]
            counts[i] = 0.0
        self._n_usual[column] += not is_begun
        return distance if is_begun else -1.0


cpdef number_of(value):
    """A number as a float; None for names and for numbers that are too large."""
    if isinstance(value, (str, bytes)):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


cpdef plain(value):
    """A value as bins read it: None if it is missing, a number, or a name."""
    if value is None or type(value) is str:
        return value
    if isinstance(value, (str, bytes)):
        return value
    number = number_of(value)
    if number is not None:
        return None if number != number else number
    return None if is_missing(value) else safe_repr(value)
