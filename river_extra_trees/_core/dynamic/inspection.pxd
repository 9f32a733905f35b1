"""The trees of a particle filter as plain values, and what samples and columns are worth.

The sample that teaches least about the leaves it lies in is the one to retire (section 4 of the
paper). The scores of a leaf are computed once, for all trees that hold it.
"""

from .particles cimport ParticleFilter, Policy

cdef list describe(ParticleFilter filter, int particle)
cdef list split_shares(ParticleFilter filter)
cdef tuple tree_statistics(ParticleFilter filter)
cdef list distinct_roots(ParticleFilter filter)
cdef list nodes_at(ParticleFilter filter, object root)

cdef dict scores(ParticleFilter filter, Policy criterion)
cdef int least_useful(ParticleFilter filter, Policy criterion) except? -1 with gil
cdef double alc_at(ParticleFilter filter, object x) except? -1.0
cdef list relevance(ParticleFilter filter)
