from libc.stdint cimport int64_t, uint64_t

from .ensemble cimport Ensemble

cdef void widen(Ensemble shrubs, int width) noexcept nogil
cdef bint push(Ensemble shrubs, double target, double weight) noexcept nogil
cdef int update(Ensemble shrubs, bint train, double step_size, double l2, uint64_t seed,
                int max_features) except -1
cdef int fill(Ensemble shrubs, const double[::1] weights, const int64_t[::1] births) except -1
