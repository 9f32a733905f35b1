from .particles cimport ParticleFilter

cdef void move_all(ParticleFilter filter, const double* x, int first, int stop) noexcept nogil
cdef int rejuvenate(ParticleFilter filter) except -1
