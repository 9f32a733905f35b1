"""Slots of a window in sorted order: ascending, missing last, equal values in order of arrival.

`key[slot]` is the value by which a slot is sorted.
"""

from libc.stdint cimport uint8_t

cdef int rank(
    const int* order, int n, const double* key, double value, bint equal
) noexcept nogil
cdef void sort_slots(int* slots, int* spare, const double* key, int n) noexcept nogil
cdef void merge_slots(
    int* into, const int* old, int n_old, const int* new, int n_new, const double* key
) noexcept nogil
cdef int keep(int* slots, int n, const uint8_t* gone) noexcept nogil

cdef inline bint comes_before(double a, double b) noexcept nogil:
    """a sorts strictly before b; missing values come last and are equal to each other."""
    return (a < b) | ((b != b) & (a == a))
