"""What samples and columns are worth: section 4 of the paper.

The sample that teaches least about the leaves it lies in is the one to retire. The scores of a leaf
are computed once, for all trees that hold it.
"""

from .particles cimport ParticleFilter, Policy

cdef dict scores(ParticleFilter filter, Policy criterion)
cdef int least_useful(ParticleFilter filter, Policy criterion) except? -1 with gil
cdef double alc_at(ParticleFilter filter, object x) except? -1.0
cdef list relevance(ParticleFilter filter)
