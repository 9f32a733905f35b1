from .workspace cimport Workspace

cdef double impurity(Workspace work, const double* counts, double weight) noexcept nogil
cdef double judged_by(Workspace work, int node) noexcept nogil
cdef double reference_score(Workspace work, double* removed) noexcept nogil
cdef double forgetful_score(Workspace work) noexcept nogil
