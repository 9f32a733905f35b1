"""Scores of samples by what they tell: section 4 of the paper.

The sample that is least informative for its leaves retires first. The scores in a leaf are computed
once for all trees that contain it.
"""

from ..linalg cimport LeafModel
from .particles cimport Particles, Policy

cdef double[:, ::1] scores(Particles filter, Policy criterion)
cdef int to_retire(Particles filter, Policy policy) except? -1 nogil
cdef double alc_at(Particles filter, object x) except? -1.0
cdef double leaf_entropy(const LeafModel* model, const double* row) noexcept nogil
