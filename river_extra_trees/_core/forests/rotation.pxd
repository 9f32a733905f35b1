"""Replace the trees of an `ExtraTrees` in turn, and split their leaves in between."""

from libc.stdint cimport int64_t

from .extra_trees cimport ExtraTrees, Group, SmallBatch
from .model_trees cimport IN_LEAVES

cdef int reserve_group(ExtraTrees forest, Group group, int64_t n_seen,
                       int n_labels) except -1 nogil
cdef double interval_of(Group group, int64_t n_seen) noexcept nogil
cdef int64_t patience(int window_size, int n) noexcept nogil
cdef void begin_again(ExtraTrees forest, Group group) noexcept
cdef int grow_group(ExtraTrees forest, Group group, int64_t first, int n) except -1 nogil
cdef void start_growth(ExtraTrees forest, Group group) noexcept nogil
cdef bint advance(ExtraTrees forest, Group group, int64_t at,
                  int64_t n_seen) except -1 nogil
cdef int change_tree(ExtraTrees forest, Group group, int tree, int64_t n_seen, int version,
                     SmallBatch small) except -1 nogil


cdef inline bint splits_leaves(ExtraTrees forest, Group group) noexcept nogil:
    """Whether the leaves of the trees of a group are split on small batches."""
    return not forest.regression or group.growth.kind != IN_LEAVES
