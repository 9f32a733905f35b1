from .particles cimport Particles

cdef int rejuvenate(Particles cloud) except -1
cdef list leaves_below(Particles cloud, int node)
