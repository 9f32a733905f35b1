"""Counts of values in bins. See the header."""

import numpy as np

from .safe_repr import safe_repr
from .evidence cimport WAITING, Evidence
from .validation cimport is_missing

from cpython.dict cimport PyDict_GetItem
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.ref cimport PyObject

cdef double FADING = 1.0 - 1.0 / WAITING    # of the recent counts, per block


cdef class Bins:
    """Counts of values per column and bin. See the header.

    Parameters
    ----------
    names
        The names of the columns.
    """

    def __init__(self, list names):
        cdef Py_ssize_t n = len(names) + 1
        self.names, self.values, self.known = list(names), [None] * n, set(names)
        self.edges = np.full((n, N_BINS - 2), np.inf)
        self.counts, self.usual, self.recent = np.zeros((3, n, N_BINS))
        self._edges, self._counts = self.edges, self.counts
        self._usual, self._recent = self.usual, self.recent
        self.n_blocks = np.zeros(n, np.intc)
        self._n_blocks = self.n_blocks

    def __reduce__(self):
        return restored, (self.names, self.values, self.known, self.state())

    def state(self):
        """Copies of the arrays by name."""
        names = ("edges", "counts", "usual", "recent", "n_blocks")
        return {name: getattr(self, name).copy() for name in names}

    def add(self, dict x):
        """Count a sample."""
        cdef Py_ssize_t column, n_found = 0
        cdef PyObject* value
        for column in range(1, len(self.values)):
            value = PyDict_GetItem(x, self.names[column - 1])
            n_found += value != NULL
            self._counts[column, 0 if value == NULL else self.bin_of(column, <object>value)] += 1.0
        self._counts[0, 1 if n_found == len(x) or x.keys() <= self.known else N_BINS - 1] += 1.0

    def begin(self, Py_ssize_t column, list rows):
        """Take the values of a column in some samples as the usual ones."""
        if not 0 <= column < len(self.values):
            raise IndexError(column)
        self.counts[column] = self.recent[column] = self.usual[column] = 0.0
        self.n_blocks[column] = 0
        for x in rows:
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

    def end_block(self, list evidence, list waiting, long long n_blocks):
        """End a shortest block.

        Parameters
        ----------
        evidence
            That of each column.
        waiting
            Columns without bins.
        n_blocks
            Number of shortest blocks so far.

        Returns
        -------
        The columns that have changed.
        """
        cdef Py_ssize_t column
        cdef Evidence each
        cdef double distance
        changed = []
        for column in range(min(len(evidence), len(self.values))):
            each = evidence[column]
            if each.ends(n_blocks) and column not in waiting:
                distance = self.settle(column)
                if distance >= 0.0 and each.update(distance):
                    changed.append(column)
        return changed

    cdef double settle(self, Py_ssize_t column) noexcept:
        """End a block of a column.

        The result is the chi-squared distance of the counts from the usual ones; -1 while these are
        still collected.
        """
        cdef double* counts = &self._counts[column, 0]
        cdef double* usual = &self._usual[column, 0]
        cdef double* recent = &self._recent[column, 0]
        cdef bint is_begun = self._n_blocks[column] == REFERENCE
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
        self._n_blocks[column] += not is_begun
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


def restored(names, values, known, arrays):
    """Bins with such arrays, whose shapes fit the names."""
    bins = Bins(names)
    bins.values[:] = values
    bins.known = known
    for name, array in arrays.items():
        getattr(bins, name)[...] = array
    return bins
