"""The values of a sample: features by their kind, targets and weights as numbers, or an error.

Features that are numbers (bool included) are numeric, all other hashable values are nominal.
`None`, NaN and what differs from itself, as pandas' NaT does, are missing.
"""

cdef enum Kind:
    MISSING = 0
    NUMBER = 1
    CATEGORY = 2

cdef Kind classify(object name, object value, double* number) except *
cdef bint holds_nan(object value) except -1
cdef int check_name(object name) except -1
cdef object order_of(tuple column)

cdef double read_weight(object w) except -1.0
cdef double read_number(object y) except? -1.0
