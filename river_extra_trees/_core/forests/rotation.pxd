"""Replace the trees of a `MemoryForest` in turn, and split their leaves in between."""

from libc.stdint cimport int64_t

from ..trees cimport Trees
from .memories cimport Group, MemoryForest

cdef int reserve_group(MemoryForest forest, Group group, int n_labels) except -1 nogil
cdef double interval_of(Group group, int64_t n_seen) noexcept nogil
cdef void continue_growth(MemoryForest forest, Group group) noexcept nogil
cdef void start_growth(MemoryForest forest, Group group) noexcept nogil
cdef void find_recent(MemoryForest forest) noexcept nogil
cdef bint advance(MemoryForest forest, Group group, int64_t n_steps) noexcept nogil
cdef void split_leaves(MemoryForest forest, int tree, Trees trees) noexcept nogil
