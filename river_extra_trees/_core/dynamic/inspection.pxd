"""The trees of a particle filter as Python values, and scores of samples and columns.

The sample that is least informative for its leaves retires first (section 4 of the paper). The
scores in a leaf are computed once for all trees that contain it.
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
