from .particles cimport Particles

cdef double LARGEST_REGRESSOR       # larger values count as this one

cdef void fill_v(Particles cloud, const double* x, double target) noexcept nogil
cdef void next_tick(Particles cloud) noexcept nogil
cdef void gather(Particles cloud, const double* x, int first, int stop) noexcept nogil
cdef int reserve_slots(Particles cloud) except -1
cdef int find(Particles cloud, object x) except -1
cdef double limited(double value) noexcept nogil
