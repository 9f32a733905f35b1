from .particles cimport Particles

cdef int mutate(Particles cloud) except -1
cdef int regrown(Particles cloud, int node, double decay) noexcept nogil
cdef list forgetting_factors(Particles cloud)
