from .particles cimport Particles

cdef void divide(Particles cloud, int* stratum) noexcept nogil
cdef void believe(Particles cloud) noexcept nogil
cdef void set_shares(Particles cloud, int first) noexcept nogil
