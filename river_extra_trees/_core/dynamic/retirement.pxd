from .particles cimport Particles

cdef void retire_slot(Particles cloud, int slot) noexcept nogil
cdef int oldest(Particles cloud) noexcept nogil
cdef int random(Particles cloud) noexcept nogil
