"""The ensemble as Python sees it."""

from .ensemble cimport Ensemble

cdef class Shrubs(Ensemble):
    cdef double read_target(self, object y) except? -1.0
