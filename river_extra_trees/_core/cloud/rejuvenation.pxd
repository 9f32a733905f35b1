from .particles cimport Particles

cdef int rejuvenate(Particles cloud) except -1
