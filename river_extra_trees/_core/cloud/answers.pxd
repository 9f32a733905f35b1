from .particles cimport Particles

cdef double predict(Particles cloud, object x) except? -1.0
cdef list mixture(Particles cloud, object x)
cdef dict probabilities(Particles cloud, object x)
