"""One step of particle learning: add a sample, weigh the particles, resample, move.

Of the samples of a full window, the one that is least informative for its leaves retires first. The
scores in a leaf are computed once for all trees that contain it.
"""

from ..linalg cimport LeafModel
from .particles cimport Particles, Policy

cdef int learn_row(Particles filter, double target, double weight, int gone) except -1 nogil
cdef int rejuvenate(Particles filter) except -1

cdef void retire_slot(Particles filter, int slot) noexcept nogil
cdef double[:, ::1] scores(Particles filter, Policy criterion)
cdef int to_retire(Particles filter, Policy policy) except? -1 nogil
cdef double alc_at(Particles filter, object x) except? -1.0
cdef double leaf_entropy(const LeafModel* model, const double* row) noexcept nogil
