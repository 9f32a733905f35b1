from .particles cimport Particles

cdef int adapt(Particles cloud) except -1
cdef int widen(Particles cloud, int n_columns, int n_regressors, int n_classes) except -1
cdef int reserve_scratch(Particles cloud) except -1
cdef int prepare(Particles cloud, double target, bint leaving) except -1
