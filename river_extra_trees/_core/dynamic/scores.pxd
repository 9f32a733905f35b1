"""What samples and columns are worth: section 4 of the paper.

The sample that teaches least about the leaves it lies in is the one to retire. The scores of a leaf
are computed once, for all trees that hold it.
"""

from .particles cimport ParticleFilter

cdef dict scores(ParticleFilter filter, str criterion)
cdef int least_useful(ParticleFilter filter, str criterion) except -2
cdef double alc_at(ParticleFilter filter, object x) except? -1.0
cdef list relevance(ParticleFilter filter)
