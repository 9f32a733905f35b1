"""One step of particle learning: add a sample, weigh the particles, resample, move."""

from .particles cimport Particles

cdef int learn_row(Particles filter, double target, double weight, int gone) except -1 nogil
cdef int rejuvenate(Particles filter) except -1

cdef void retire_slot(Particles filter, int slot) noexcept nogil
