from .ensemble cimport Ensemble

cdef bint sums_run(Ensemble shrubs) noexcept nogil
cdef void count(Ensemble shrubs, int slot, double sign) noexcept nogil
cdef void count_newcomer(Ensemble shrubs, int newcomer) noexcept nogil
cdef void rebuild(Ensemble shrubs) noexcept nogil
cdef double fill_sums(Ensemble shrubs, const double[::1] hits, const double[:, ::1] gram,
                      double total_weight, int since_rebuild) except -1
