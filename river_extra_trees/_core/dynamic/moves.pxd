from .particles cimport Particles

cdef bint move_all(Particles cloud, const double* x, int first, int stop) noexcept nogil
