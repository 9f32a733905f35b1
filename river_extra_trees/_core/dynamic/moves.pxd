"""The moves of the particles: cuts proposed at a leaf, their odds, and stay, grow or prune."""

from .particles cimport Particles

cdef int move_all(Particles filter, const double* x, int first, int stop) except -1 nogil
