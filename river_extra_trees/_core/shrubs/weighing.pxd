from .ensemble cimport Ensemble

cdef void weigh(Ensemble shrubs, double step_size, double l2) noexcept nogil
cdef void prune(Ensemble shrubs) noexcept nogil
