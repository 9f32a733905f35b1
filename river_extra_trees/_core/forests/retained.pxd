"""The samples that one tree retains: slots of a window, and how many copies of each."""

from libc.stdint cimport int64_t
from ..rng cimport Rng

cdef class Retained:
    cdef int* slots             # in order of forgetting: the first goes first
    cdef int* counts            # copies of the sample in slots[i], > 0
    cdef readonly int n         # samples
    cdef readonly int64_t total     # copies of all of them
    cdef int capacity

    cdef int reserve(self, Py_ssize_t extra) except -1
    cdef void add(self, int slot, int count) noexcept nogil
    cdef void forget_first(self, int64_t k) noexcept nogil
    cdef void forget_random(self, int64_t k, Rng rng) noexcept nogil
    cdef void mark(self, int* counts_of_slot) noexcept nogil

cdef Retained moved(Retained retained, const int[::1] place)
