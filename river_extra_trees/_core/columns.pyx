"""Columns of samples. See the header."""

from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact
from libc.math cimport INFINITY, NAN, fabs
from libc.stdint cimport uint64_t
from libc.stdlib cimport llabs

from .schema cimport Labels, Schema
from .values cimport (
    CATEGORY, MISSING, NUMBER, Kind, check_name, classify, read_number, read_weight,
)

import numpy as np

cdef extern from "Python.h":
    double int_as_double "PyLong_AsDouble"(object) except? -1.0

# The bits of the exponent of a double. All are set if the double is infinite or NaN.
cdef uint64_t EXPONENT = <uint64_t>0x7FF << 52
cdef uint64_t LOWEST_OF_EXPONENT = <uint64_t>1 << 52


cdef int check_length(Py_ssize_t found, Py_ssize_t length) except -1:
    if found != length:
        raise ValueError(f"{found} values in a column of {length} rows")
    return 0


cdef class Column:
    """One value of every row of a batch. See the header.

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
    are_distinct
        Whether no two of the values are equal.
    """

    def __cinit__(self, name, Py_ssize_t length, numbers=None, codes=None, list values=None,
                  Py_ssize_t refused=-1, error=None, bint are_distinct=False):
        self.name, self.length, self.array, self.codes = name, length, numbers, codes
        self.values = [] if values is None else values
        self.refused, self.error, self.are_distinct = refused, error, are_distinct
        self.number_view = numbers      # also if None: a view that was never set is not None
        if numbers is not None:
            check_length(self.number_view.shape[0], length)
        if codes is not None:
            self.code_view = codes
            check_length(self.code_view.shape[0], length)

    def __reduce__(self):
        return Column, (self.name, self.length, self.numbers, self.codes, self.values,
                        self.refused, self.error, self.are_distinct)

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


cdef Column named(Column column):
    """Check the name of a column. An invalid name is an error in the first row."""
    if column.length:
        try:
            check_name(column.name)
        except (TypeError, ValueError) as error:
            column.refuse(0, error)
    return column


cdef bint has_infinite(const double[:, :] numbers) noexcept nogil:
    """Whether a number is infinite."""
    cdef Py_ssize_t i, j, n_lines, length
    cdef bint found = False
    if numbers.shape[1] == 1 or llabs(numbers.strides[0]) < llabs(numbers.strides[1]):
        numbers = numbers.T             # the inner loop follows the memory
    n_lines, length = numbers.shape[0], numbers.shape[1]
    if n_lines == 0 or length == 0:
        return False
    if numbers.strides[1] != sizeof(double):
        for i in range(n_lines):
            for j in range(length):
                found |= fabs(numbers[i, j]) == INFINITY
        return found
    if numbers.strides[0] == <Py_ssize_t>(length * sizeof(double)):
        n_lines, length = 1, n_lines * length
    for i in range(n_lines):
        found |= has_infinite_bits(<const uint64_t*>&numbers[i, 0], length)
    return found


cdef bint has_infinite_bits(const uint64_t* numbers, Py_ssize_t n) noexcept nogil:
    """Whether one of n doubles, given by their bits, is infinite.

    Compilers vectorise these loops, but not the same loops over doubles.
    """
    cdef uint64_t found = 0
    cdef Py_ssize_t i
    for i in range(n):                  # no early exit
        found |= (numbers[i] & EXPONENT) + LOWEST_OF_EXPONENT
    if not found >> 63:                 # no carry, so none is infinite or NaN
        return False
    found = 0
    for i in range(n):
        found |= numbers[i] << 1 == EXPONENT << 1
    return found != 0


cdef int refuse_infinite(Column column) except -1:
    """Record the error for the first infinite number."""
    cdef double number
    cdef Py_ssize_t row
    for row in range(column.length):
        if fabs(column.number_view[row]) == INFINITY:
            try:
                classify(column.name, column.number_view[row], &number)
            except ValueError as error:
                column.refuse(row, error)
            return 0
    return 0


def columns_of_block(list names, block):
    """Columns of numbers, from the columns of an array of doubles; NaN is missing."""
    cdef const double[:, :] numbers = block
    cdef bint is_finite
    cdef Py_ssize_t i
    cdef Column column
    cdef list columns = []
    if len(names) != numbers.shape[1]:
        raise ValueError(f"{len(names)} names for {numbers.shape[1]} columns")
    with nogil:
        is_finite = not has_infinite(numbers)
    for i in range(numbers.shape[1]):
        column = Column(names[i], numbers.shape[0])
        column.number_view = numbers[:, i]
        if not is_finite:
            refuse_infinite(column)
        columns.append(named(column))
    return columns


def column_of_numbers(name, numbers):
    """A column of numbers, from an array of doubles; NaN is missing."""
    cdef Column column = Column(name, len(numbers), numbers)
    cdef bint is_finite
    with nogil:
        is_finite = not has_infinite(column.number_view[:, None])
    if not is_finite:
        refuse_infinite(column)
    return named(column)


def column_of_texts(name, codes, list values):
    """A column of texts, from their positions in a list of distinct texts; -1 is missing."""
    return named(Column(name, len(codes), None, codes, values, are_distinct=True))


def column_of_values(name, list values, Schema schema=None):
    """A column of arbitrary values, which are treated like the values of samples.

    The schema is that of the model that will read the column. Its values then come first.
    """
    cdef Py_ssize_t row, n = len(values)
    cdef double number
    cdef double[::1] numbers = None
    cdef int[::1] codes = None
    cdef Coder known = Coder()
    cdef dict learned = None if schema is None else schema.codes_of(name)
    cdef Kind kind
    cdef Column column
    if learned is not None and len(learned) <= n:
        known.known = learned.copy()
        known.values = list(known.known)
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
                column = Column(name, n)
                column.refuse(row, error)
                return named(column)
        if kind == NUMBER:
            if numbers is None:
                numbers = np.full(n, NAN)
            numbers[row] = number
        elif kind == CATEGORY:
            if codes is None:
                codes = np.full(n, -1, dtype=np.intc)
            codes[row] = known.code(value)
    return named(Column(name, n, None if numbers is None else numbers.base,
                        None if codes is None else codes.base,
                        None if codes is None else known.values, are_distinct=not known.others))


cdef class Coder:
    """Values <-> codes. Equal values of different types, such as 1 and True, have different codes.

    A learner treats such values as one value, and stores the one that it learned first.
    """
    cdef dict known         # value -> its code
    cdef dict others        # value -> codes of equal values of other types
    cdef list values

    def __cinit__(self):
        self.known, self.others, self.values = {}, {}, []

    cdef int code(self, object value) except -1:
        cdef object first
        cdef int code
        found = self.known.get(value)
        if found is None:
            self.known[value] = len(self.values)
            return self.add(value)
        first = self.values[found]
        if first is value or (type(first) is str and type(value) is str) or is_like(first, value):
            return found
        for code in self.others.setdefault(value, []):
            if is_like(self.values[code], value):
                return code
        self.others[value].append(len(self.values))
        return self.add(value)

    cdef int add(self, object value) except -1:
        self.values.append(value)
        return <int>len(self.values) - 1


cdef bint is_like(object value, object other) except -1:
    """Whether equal values have the same type, including the values that they contain."""
    if type(value) is not type(other):
        return False
    if isinstance(value, tuple):
        return all([is_like(a, b) for a, b in zip(value, other)])
    if isinstance(value, frozenset):
        return {(type(each), each) for each in value} == {(type(each), each) for each in other}
    return True


cdef double as_double(object name, object value) except? -1.0:
    """An integer as a double; an error if it is too large."""
    cdef double number
    try:
        return int_as_double(value)
    except OverflowError:
        classify(name, value, &number)
        raise


def column_of_codes(name, codes, list values):
    """A column of values of any kind, from their positions in a list; -1 is missing."""
    cdef int position, n = <int>len(values), n_numbers = 0
    cdef double[::1] numbers = np.full(n + 1, NAN)
    cdef int[::1] places = np.full(n + 1, -1, dtype=np.intc)
    cdef dict known = {}
    cdef list errors = []
    cdef double number
    cdef Kind kind
    cdef Column column
    for position in range(n):
        value = values[position]
        try:
            kind = CATEGORY if type(value) is str else classify(name, value, &number)
        except (TypeError, ValueError) as error:
            errors.append((position, error))
            continue
        if kind == NUMBER:
            numbers[position] = number
            n_numbers += 1
        elif kind == CATEGORY:
            places[position] = known.setdefault(value, len(known))
    column = Column(name, len(codes), numbers.base.take(codes) if n_numbers else None,
                    codes if len(known) == n else places.base.take(codes) if known else None,
                    list(known), are_distinct=True)
    for position, error in errors:
        rows = np.flatnonzero(codes == position)
        if len(rows):
            column.refuse(rows[0], error)
    return named(column)


def are_within(const double[:] numbers, double low, double high):
    """Whether low <= number <= high for all numbers."""
    cdef bint found = True
    cdef Py_ssize_t i
    for i in range(numbers.shape[0]):
        found &= low <= numbers[i] <= high
    return found


def column_of_targets(list values):
    """A column of numeric targets."""
    return column_of_each(values, False)


def column_of_weights(list values):
    """A column of weights."""
    return column_of_each(values, True)


cdef Column column_of_each(list values, bint are_weights):
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
    cdef int[::1] codes = np.empty(n, dtype=np.intc)
    cdef Labels none = Labels()
    cdef Coder known = Coder()
    codes[:] = -1
    for row in range(n):
        value = values[row]
        try:
            code = known.known.get(value)
            if code is None:
                none.code(value)
            if code is None or known.values[code] is not value:
                code = known.code(value)
        except (TypeError, ValueError) as error:
            try:
                none.code(value)
            except (TypeError, ValueError) as better:
                error = better
            return Column(None, n, None, codes.base, known.values, row, error)
        codes[row] = code
    return Column(None, n, None, codes.base, known.values)
