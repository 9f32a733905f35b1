from .particles cimport Particles

cdef double predict_number(Particles cloud, object x) except? -1.0
cdef list mixture(Particles cloud, object x)
cdef dict predict_proba(Particles cloud, object x)
