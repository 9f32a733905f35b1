"""The particle filter as Python uses it: particles that learn samples, answer, and can be saved."""

from .particles cimport Particles, Policy

cdef class ParticleFilter(Particles):
    cdef int chosen(self, Policy policy) except? -1 nogil
    cdef int find_leaf(self, int tree, object x) except -1
    cdef double clamped(self, double mean) noexcept nogil
    cdef const double* class_chances(self, int hit) noexcept nogil
    cdef dict views(self)
    cdef object beliefs(self)
    cdef object regressors_by_slot(self)
    cdef int load(self, object state) except -1
    cdef int load_trees(self, dict fields) except -1
