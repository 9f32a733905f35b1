"""The trees of a particle filter as Python values, and scores of samples and columns.

The sample that is least informative for its leaves retires first (section 4 of the paper). The
scores in a leaf are computed once for all trees that contain it.
"""

from .particles cimport Particles, Policy

cdef list describe(Particles filter, int particle)
cdef list split_shares(Particles filter)
cdef tuple tree_statistics(Particles filter)
cdef list distinct_roots(Particles filter)
cdef list nodes_at(Particles filter, object root)

cdef dict scores(Particles filter, Policy criterion)
cdef int least_useful(Particles filter, Policy criterion) except? -1 with gil
cdef double alc_at(Particles filter, object x) except? -1.0
cdef list relevance(Particles filter)
