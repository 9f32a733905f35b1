"""Columns, regressors and classes: everything that grows when the stream brings new ones.

Whatever can fail is done first, into new memory; only then does the filter change.
"""

from .particles cimport ParticleFilter

cdef int regressors_wanted(ParticleFilter filter) noexcept nogil
cdef int follow(ParticleFilter filter, int n_regressors, int n_classes,
                int capacity) except -1 nogil
cdef int reshape(
    ParticleFilter filter, int n_columns, int n_regressors, int n_classes, int capacity
) except -1
cdef int reserve_scratch(
    ParticleFilter filter, size_t capacity, size_t columns, size_t size_v, size_t width
) except -1 nogil
cdef void lay_out_scratch(ParticleFilter filter) noexcept nogil
