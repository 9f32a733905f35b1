"""Targets and weights of samples as numbers, or an error that says what is wrong with them."""

cdef double read_weight(object w) except -1.0
cdef double read_number(object y) except? -1.0
