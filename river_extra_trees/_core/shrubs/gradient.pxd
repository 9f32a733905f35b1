from .ensemble cimport Ensemble

cdef void standardise(Ensemble shrubs) noexcept nogil
cdef void find_gradient(Ensemble shrubs, double l2) noexcept nogil
