"""Replace the trees of a `MemoryForest` in turn, and split their leaves in between."""

from libc.stdint cimport int64_t

from .memories cimport Group, MemoryForest

cdef int reserve_growth(MemoryForest forest, Group group, int n_labels, int n_samples) except -1
cdef void continue_growth(MemoryForest forest, Group group) noexcept
cdef void start_growth(MemoryForest forest, Group group) noexcept
cdef bint catch_up(MemoryForest forest, Group group, int64_t n) noexcept
cdef void split_leaves(MemoryForest forest, int tree) noexcept
