from .particles cimport Particles

cdef int prepare(Particles cloud, double target, bint leaving) except -1
cdef int adapt(Particles cloud, int n_classes, int capacity) except -1
cdef int widen(
    Particles cloud, int n_columns, int n_regressors, int n_classes, int capacity
) except -1
cdef int reserve_scratch(
    Particles cloud, size_t capacity, size_t columns, size_t size_v, size_t width
) except -1
cdef void lay_out_scratch(Particles cloud) noexcept nogil
