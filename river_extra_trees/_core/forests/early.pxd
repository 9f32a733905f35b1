"""The first trees of a forest."""

from ..window cimport Window
from .forest cimport Forest

cdef int next_size(int n) noexcept nogil
cdef int grow_early(Forest forest, list splitters, int max_features, int max_depth,
                    int max_nodes) except -1
cdef Window copied(Window window)
