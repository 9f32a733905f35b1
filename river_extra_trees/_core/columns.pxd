"""Columns of samples: numbers, codes of nominal values, or both.

A `Column` contains one value for each row: a number, the code of a nominal value in a list, or
neither if the value is missing. `values.classify` decides which of these a value is. The column
records an invalid value when it is made; the error is raised when a learner reads the column.
Targets are columns of numbers or of labels, weights are columns of numbers; they have no name.
"""

cdef class Column:
    cdef readonly object name
    cdef readonly object codes          # int32 array, -1: not a nominal value; None: no codes
    cdef readonly list values           # code -> nominal value; maybe with values of no row
    cdef readonly Py_ssize_t length
    cdef readonly Py_ssize_t refused    # first row with an invalid value; -1: all are valid
    cdef readonly object error          # exception for that value
    cdef const double[:] number_view    # NaN: not a number; None: no numbers
    cdef object array                   # `number_view` as an array; None if not asked for yet
    cdef const int[::1] code_view
