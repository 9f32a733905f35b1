"""Scores of the published programs."""

from .workspace cimport Workspace

cdef double published_score(Workspace work, double* removed) noexcept nogil
cdef double published_impurity(Workspace work, const double* counts, double weight) noexcept nogil
cdef double published_impurity_before(Workspace work, int node) noexcept nogil
