"""What holds in every particle filter.

Types, shapes and ranges are checked where a state is read (`load`); the invariants tell whether the
parts of a filter belong together.
"""

from .particles cimport ParticleFilter

cdef int invariants(ParticleFilter filter) except -1
cdef object distinct_nodes(ParticleFilter filter)
cdef object decays_of(ParticleFilter filter, object nodes=*)
