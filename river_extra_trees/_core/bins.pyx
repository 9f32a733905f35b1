# cython: nonecheck=True
"""Counts of values in bins. See the header."""

import numpy as np

from .safe_repr import safe_repr
from .evidence cimport WAITING
from .validation cimport is_missing

from cpython.dict cimport PyDict_GetItem, PyDict_Next
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.unicode cimport PyUnicode_CheckExact, PyUnicode_Compare
from libc.math cimport NAN

cdef extern from "Python.h":
    # Without references to the names and values: their counts are not in the caches.
    PyObject* PyList_GET_ITEM(object, Py_ssize_t)
    bint PyFloat_CheckExact(PyObject*)
    double PyFloat_AS_DOUBLE(PyObject*)

BINS, ROWS, BLOCK = N_BINS, N_ROWS, SAMPLES
cdef float FADING = 1.0 - 1.0 / WAITING    # of the recent counts, per block


cdef class Bins:
    """Counts of values per column and bin. See the header."""

    def __cinit__(self, *args):
        self.names, self.met, self.values = [], [], []
        self.rows, self.waiting, self.evidence = [], [], []
        self.known, self.n_blocks = set(), 0

    def set_columns(self, list names):
        """Begin to look at some columns, of which none has bins."""
        cdef Py_ssize_t n = len(names) + 1
        self.names, self.met, self.values = list(names), list(names), [None] * n
        self.edges, self._held = np.full((n, N_BINS - 2), np.inf), np.empty((N_HELD, n))
        self.n_held = 0
        self.counts, self.usual, self.recent = np.zeros((3, n, N_BINS), np.single)
        self.n_usual = np.zeros(n, np.intc)
        self._edges, self._counts, self._n_usual = self.edges, self.counts, self.n_usual
        self._usual, self._recent = self.usual, self.recent

    cpdef add(self, x):
        """Look at a sample of a block."""
        cdef dict row = x if type(x) is dict else dict(x)
        if self.values:
            self.hold(row)
        if (self.waiting or not self.values) and len(self.rows) < N_ROWS:
            self.rows.append({name: plain(value) for name, value in row.items()})

    cdef int hold(self, dict x) except -1:
        """Keep the numbers of a sample until they are counted; count its names at once."""
        cdef Py_ssize_t column, n = len(self.values), n_found = 0, place = 0
        cdef PyObject* name
        cdef PyObject* found
        cdef int at
        cdef list met = self.met, values = self.values
        if self.n_held == N_HELD:
            self.count()
        at = self.n_held    # the methods of a value may add other samples
        for column in range(1, n):
            # Samples mostly have their columns in this order.
            if not PyDict_Next(x, &place, &name, &found) or (
                    name != PyList_GET_ITEM(met, column - 1)
                    and not self.is_next(column - 1, name)):
                found = PyDict_GetItem(x, self.names[column - 1])
            n_found += found != NULL
            if PyList_GET_ITEM(values, column) != <PyObject*>None:
                value = None if found == NULL else <object>found
                self._counts[column, self.bin_of(column, value)] += 1.0
            elif found == NULL:
                self._held[at, column] = NAN
            elif PyFloat_CheckExact(found):
                self._held[at, column] = PyFloat_AS_DOUBLE(found)
            else:
                value = <object>found   # a reference: its methods may change the sample
                self._held[at, column] = number_in(value)
        self._counts[0, 1 if n_found == len(x) or x.keys() <= self.known else N_BINS - 1] += 1.0
        self.n_held = at + 1
        return 0

    cdef bint is_next(self, Py_ssize_t i, PyObject* name) except -1:
        """Whether another object is the name of a column: readers make new ones for each row."""
        cdef PyObject* met = PyList_GET_ITEM(self.met, i)
        if (not PyUnicode_CheckExact(<object>name) or not PyUnicode_CheckExact(<object>met)
                or PyUnicode_Compare(<object>name, <object>met) != 0):
            return False
        self.met[i] = <object>name
        return True

    cpdef count(self):
        """Count the numbers of the samples that are held."""
        cdef Py_ssize_t column, n = len(self.values)
        cdef int i
        for column in range(1, n):
            if PyList_GET_ITEM(self.values, column) == <PyObject*>None:
                for i in range(self.n_held):
                    self._counts[column, self.bin_of_number(column, self._held[i, column])] += 1.0
        self.n_held = 0

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
        cdef double number = number_in(value)
        if self.values[column] is None:
            return self.bin_of_number(column, number)
        if number == number:
            return self.bin_of_name(column, number)
        value = plain(value)
        return 0 if value is None else self.bin_of_name(column, value)

    cdef int bin_of_number(self, Py_ssize_t column, double number) noexcept:
        """The bin of a number, by the edges below it."""
        cdef const double* edges = &self._edges[column, 0]
        cdef int n_below
        if number != number:
            return 0
        n_below = 8 * (number > edges[7])
        n_below += 4 * (number > edges[n_below + 3])
        n_below += 2 * (number > edges[n_below + 1])
        n_below += n_below < N_BINS - 2 and number > edges[n_below]
        return 1 + n_below

    cdef int bin_of_name(self, Py_ssize_t column, object value) except -1:
        """The bin of a value of a column of names."""
        cdef PyObject* known = PyDict_GetItem(self.values[column], value)
        cdef int found = 1 if known == NULL else <object>known
        if not 0 <= found < N_BINS:
            raise IndexError(found)
        return found

    cpdef list end_block(self):
        """End a shortest block; return the name, the size and the text of each change."""
        self.count()
        if len(self.rows) == N_ROWS:
            self.make_bins()
        return [self.take_change(column) for column in self.changed()]

    cdef list changed(self):
        """End a shortest block; return the columns that have changed."""
        cdef Py_ssize_t column
        cdef Evidence each
        cdef double distance
        cdef list found = []
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
        cdef float* counts = &self._counts[column, 0]
        cdef float* usual = &self._usual[column, 0]
        cdef float* recent = &self._recent[column, 0]
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


cdef double number_in(value) except? -1.0:
    """A value as a number; NaN if it is missing or a name."""
    cdef long long whole
    cdef int overflow = 0
    if type(value) is float:
        return value
    if PyLong_CheckExact(value):
        whole = PyLong_AsLongLongAndOverflow(value, &overflow)
        if not overflow:
            return <double>whole
    value = plain(value)
    return value if type(value) is float else NAN


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
