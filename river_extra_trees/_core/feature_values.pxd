"""What kind of value a feature has, and which names and values are refused.

Numbers (bool included) are numeric, all other hashable values are nominal. `None`, NaN and what
differs from itself, as pandas' NaT does, are missing.
"""

cdef enum Kind:
    MISSING = 0
    NUMBER = 1
    CATEGORY = 2

cdef bint is_number(object value) except -1
cdef Kind classify(object name, object value, double* number) except *
cdef bint holds_nan(object value) except -1
cdef int check_name(object name) except -1
cdef object order_of(tuple column)
