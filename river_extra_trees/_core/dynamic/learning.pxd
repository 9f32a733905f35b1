from .particles cimport Particles

cdef int plant_roots(Particles cloud, int first) except -1
cdef bint step(Particles cloud, int slot, int first, int stop, bint weighed) noexcept nogil
cdef int learn_row(Particles cloud, double target, double weight) except -1
