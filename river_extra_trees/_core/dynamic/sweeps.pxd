from .particles cimport Particles

cdef void weigh_cuts(Particles cloud, int node) noexcept nogil
