"""Slots of a window in sorted order: ascending, missing values last, ties in order of arrival.

`key[slot]` is the value that determines the position of a slot.
"""

from libc.stdint cimport int64_t

cdef void sort_slots(int* slots, int* spare, const double* key, int n) noexcept nogil
cdef void merge_slots(
    int* into, const int* old, int n_old, const int* new, int n_new, const double* key
) noexcept nogil
cdef void sort_numbers(int* numbers, int n) noexcept nogil
cdef int keep(int* slots, int n, const int64_t* arrival) noexcept nogil

cdef inline bint comes_before(double a, double b) noexcept nogil:
    """Whether a sorts strictly before b; missing values come last and are equal to each other."""
    return (a < b) | ((b != b) & (a == a))


cdef inline int rank(
    const int* order, int n, const double* key, double value, bint equal
) noexcept nogil:
    """Number of sorted slots whose key comes before a value, or, if `equal`, is equal to it."""
    cdef int low = 0, high = n, middle
    cdef bint before
    while low < high:
        middle = (low + high) // 2
        if equal:
            before = not comes_before(value, key[order[middle]])
        else:
            before = comes_before(key[order[middle]], value)
        if before:
            low = middle + 1
        else:
            high = middle
    return low
