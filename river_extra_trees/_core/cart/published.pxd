"""Scores of the published programs, with their order of arithmetic and thus their rounding."""

from .workspace cimport Workspace

cdef double published_score(Workspace work, double* removed) noexcept nogil
cdef double published_impurity(Workspace work, const double* counts, int n,
                               double weight) noexcept nogil
cdef double impurity_of_leaf(Workspace work, int leaf) noexcept nogil
cdef double impurity_to_decrease(Workspace work, int leaf) noexcept nogil
