"""Validation of the values of a sample: kinds of feature values, numeric targets, weights.

Numbers (bool included) are numeric, other hashable values are nominal. `None`, NaN and values that
are not equal to themselves, such as NaT of pandas and numpy, are missing. An invalid value is an
error.
"""

cdef enum Kind:
    MISSING = 0
    NUMBER = 1
    CATEGORY = 2

cdef dict as_dict(object x)
cdef Kind classify(object name, object value, double* number) except *
cdef bint holds_nan(object value) except -1
cdef int check_name(object name) except -1
cdef bint is_missing(object value) except -1
cdef object order_of(tuple column)

cdef double read_weight(object w) except -1.0
cdef double read_number(object y) except? -1.0
