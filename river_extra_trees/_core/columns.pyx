"""Columns of samples. See the header."""

from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact
from libc.math cimport INFINITY, NAN, fabs

from .schema cimport Labels
from .validation cimport (
    CATEGORY, MISSING, NUMBER, Kind, check_name, classify, read_number, read_weight,
)

import numpy as np

cdef extern from "Python.h":
    double int_as_double "PyLong_AsDouble"(object) except? -1.0


cdef class Column:
    """One value of every row of a table. See the header.

    Parameters
    ----------
    name
        Name of the feature.
    length
        Number of rows.
    numbers
        Array of doubles, NaN where a row has no number; None: no numbers.
    codes
        Array of positions in `values`, -1 where a row has no nominal value; None: no codes.
    values
        The nominal values.
    refused
        The first row with an invalid value; -1 if all values are valid.
    error
        The exception for that value.
    """

    def __cinit__(self, name, Py_ssize_t length, numbers=None, codes=None, list values=None,
                  Py_ssize_t refused=-1, error=None):
        self.name, self.length, self.array, self.codes = name, length, numbers, codes
        self.values = [] if values is None else values
        self.refused, self.error = refused, error
        self.number_view = numbers      # also if None: a view that was never set is not None
        self.code_view = codes
        if numbers is not None:
            check_length(self.number_view.shape[0], length)
        if codes is not None:
            check_length(self.code_view.shape[0], length)
            if length and (<Py_ssize_t>codes.min() < -1
                           or <Py_ssize_t>codes.max() >= len(self.values)):
                raise ValueError(f"a code is none of {len(self.values)} values")

    @property
    def numbers(self):
        """The numbers as an array of doubles; None if there are none."""
        if self.array is None and self.number_view is not None:
            self.array = np.asarray(self.number_view)
        return self.array

    def refuse(self, Py_ssize_t row, error):
        """Record the error for a row, unless an earlier row has an error."""
        if self.refused < 0 or row < self.refused:
            self.refused, self.error = row, error


cdef int check_length(Py_ssize_t found, Py_ssize_t length) except -1:
    if found != length:
        raise ValueError(f"{found} values in a column of {length} rows")
    return 0


cdef Column named(Column column):
    """Check the name of a column. An invalid name is an error in the first row."""
    if column.length:
        try:
            check_name(column.name)
        except (TypeError, ValueError) as error:
            column.refuse(0, error)
    return column


# --- Numbers ---------------------------------------------------------------------------------

cdef Column checked(Column column, bint is_finite):
    """Record the error for the first infinite number of a column, and for an invalid name."""
    cdef double number
    cdef Py_ssize_t row
    for row in range(0 if is_finite else column.length):
        if fabs(column.number_view[row]) == INFINITY:
            try:
                classify(column.name, column.number_view[row], &number)
            except ValueError as error:
                column.refuse(row, error)
            break
    return named(column)


def columns_of_block(list names, block):
    """Columns of numbers, from the columns of an array of doubles; NaN is missing."""
    cdef const double[:, :] numbers = block
    cdef bint is_finite = not np.isinf(block).any()
    cdef Py_ssize_t i
    cdef Column column
    cdef list columns = []
    if len(names) != numbers.shape[1]:
        raise ValueError(f"{len(names)} names for {numbers.shape[1]} columns")
    for i in range(numbers.shape[1]):
        column = Column(names[i], numbers.shape[0])
        column.number_view = numbers[:, i]
        columns.append(checked(column, is_finite))
    return columns


def column_of_numbers(name, numbers):
    """A column of numbers, from an array of doubles; NaN is missing."""
    return checked(Column(name, len(numbers), numbers), not np.isinf(numbers).any())


# --- Values of any kind ----------------------------------------------------------------------

cdef object key_of(object value):
    """What tells a value from others that are equal to it, such as True from 1.

    A learner takes these for one value, and keeps the one that it learned first.
    """
    kind = type(value)
    if kind is str or kind is int:
        return value
    if isinstance(value, tuple):
        return kind, tuple([key_of(each) for each in value])
    if isinstance(value, frozenset):
        return kind, frozenset([key_of(each) for each in value])
    return kind, value


def column_of_values(name, list values):
    """A column of arbitrary values, which are treated like the values of samples."""
    cdef Py_ssize_t row, n = len(values)
    cdef double number
    cdef double[::1] numbers = None
    cdef int[::1] codes = None
    cdef dict known = {}
    cdef list found = []
    cdef Kind kind
    for row in range(n):
        value = values[row]
        number = NAN
        if type(value) is str:
            kind = CATEGORY
        elif PyFloat_CheckExact(value) and PyFloat_AS_DOUBLE(value) - PyFloat_AS_DOUBLE(value) == 0:
            kind, number = NUMBER, PyFloat_AS_DOUBLE(value)
        elif value is None:
            kind = MISSING
        else:
            try:
                if PyLong_CheckExact(value):
                    kind, number = NUMBER, as_double(name, value)
                else:
                    kind = classify(name, value, &number)
            except (TypeError, ValueError) as error:
                return named(Column(name, n, refused=row, error=error))
        if kind == NUMBER:
            if numbers is None:
                numbers = np.full(n, NAN)
            numbers[row] = number
        elif kind == CATEGORY:
            if codes is None:
                codes = np.full(n, -1, dtype=np.intc)
            key = value if type(value) is str else key_of(value)
            code = known.get(key)
            if code is None:
                code = known[key] = len(found)
                found.append(value)
            codes[row] = code
    return named(Column(name, n, None if numbers is None else numbers.base,
                        None if codes is None else codes.base, found))


cdef double as_double(object name, object value) except? -1.0:
    """An integer as a double; an error if it is too large."""
    cdef double number
    try:
        return int_as_double(value)
    except OverflowError:
        classify(name, value, &number)
        raise


# --- Targets and weights ---------------------------------------------------------------------

def column_of_targets(list values, bint are_weights=False):
    """A column of numeric targets, or of weights."""
    cdef Py_ssize_t row, n = len(values)
    cdef double[::1] numbers = np.full(n, NAN)
    for row in range(n):
        try:
            numbers[row] = read_weight(values[row]) if are_weights else read_number(values[row])
        except (TypeError, ValueError) as error:
            return Column(None, n, numbers.base, None, None, row, error)
    return Column(None, n, numbers.base)


def column_of_labels(list values):
    """A column of labels; every label that `Labels` accepts is valid."""
    cdef Py_ssize_t row, n = len(values)
    cdef int[::1] codes = np.full(n, -1, dtype=np.intc)
    cdef Labels none = Labels()
    cdef dict known = {}
    cdef list found = []
    for row in range(n):
        value = values[row]
        try:
            try:
                code = known.get(key_of(value))
            except TypeError:
                code = None             # not hashable: `Labels` says it better
            if code is None:
                none.code(value)
                code = known[key_of(value)] = len(found)
                found.append(value)
        except (TypeError, ValueError) as error:
            return Column(None, n, None, codes.base, found, row, error)
        codes[row] = code
    return Column(None, n, None, codes.base, found)
