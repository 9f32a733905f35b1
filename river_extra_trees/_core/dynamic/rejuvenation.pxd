from .particles cimport ParticleFilter

cdef int rejuvenate(ParticleFilter filter) except -1
cdef list leaves_below(ParticleFilter filter, int node)
