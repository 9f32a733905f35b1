from .particles cimport ParticleFilter
from .shared_trees cimport Leaf

cdef void set_prior(ParticleFilter filter) noexcept nogil
cdef void refresh(ParticleFilter filter) noexcept nogil
cdef void finish_leaf(ParticleFilter filter, int leaf) noexcept nogil
cdef void update_time(ParticleFilter filter, int leaf) noexcept nogil
cdef double fading(ParticleFilter filter, int leaf, int ahead) noexcept nogil
cdef double weight_at(ParticleFilter filter, int slot, const Leaf* leaf) noexcept nogil
cdef void weigh_samples(ParticleFilter filter, int leaf) noexcept nogil
cdef const double* faded(ParticleFilter filter, int leaf, int ahead, double* row) noexcept nogil
cdef void sum_slots(ParticleFilter filter, const int* slots, int n, double* row) noexcept nogil
cdef double row_score(ParticleFilter filter, const double* total,
                      const double* retired) noexcept nogil
cdef double leaf_score(ParticleFilter filter, int leaf) noexcept nogil
cdef double score_subtree(ParticleFilter filter, int node, bint read_only) noexcept nogil
cdef int sum_subtree(ParticleFilter filter, int node, double* row) noexcept nogil

cdef int regressors_wanted(ParticleFilter filter) noexcept nogil
cdef int follow(ParticleFilter filter, int n_regressors, int n_classes,
                int capacity) except -1 nogil
cdef int reshape(ParticleFilter filter, int n_columns, int n_regressors, int n_classes,
                 int capacity) except -1
cdef int reserve_scratch(ParticleFilter filter, size_t capacity, size_t columns, size_t size_v,
                         size_t width) except -1 nogil
cdef void lay_out_scratch(ParticleFilter filter) noexcept nogil
