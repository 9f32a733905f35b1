from .grove cimport Leaf
from .particles cimport Particles

cdef void set_prior(Particles cloud) noexcept nogil
cdef void refresh(Particles cloud) noexcept nogil
cdef void finish_leaf(Particles cloud, int node) noexcept nogil
cdef void update_time(Particles cloud, int leaf) noexcept nogil
cdef double fading(Particles cloud, int leaf) noexcept nogil
cdef double weight_at(Particles cloud, int slot, const Leaf* leaf) noexcept nogil
cdef void weigh_samples(Particles cloud, int leaf) noexcept nogil
cdef const double* faded(Particles cloud, int visit) noexcept nogil
cdef void sum_slots(Particles cloud, const int* slots, int n, double* row) noexcept nogil
cdef double row_score(Particles cloud, const double* total, const double* retired) noexcept nogil
cdef double leaf_score(Particles cloud, int leaf) noexcept nogil
cdef double score_subtree(Particles cloud, int node, bint looking) noexcept nogil
cdef int sum_subtree(Particles cloud, int node, double* row) noexcept nogil
