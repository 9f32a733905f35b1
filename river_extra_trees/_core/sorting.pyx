"""Slots of a window in sorted order. See the header."""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

cdef enum:
    RUN = 8     # slots that are sorted by comparing each with each


cdef void sort_slots(int* slots, int* spare, const double* key, int n) noexcept nogil:
    """Sort slots by key[slot], missing last, equal keys in the order given.

    A merge sort. Which of two keys comes first is a coin toss on fresh samples, so that branches
    on it would be mispredicted half of the time; the loops choose by arithmetic instead.
    """
    cdef int start, width = RUN
    cdef int* source = spare
    cdef int* into = slots
    memcpy(spare, slots, n * sizeof(int))
    start = 0
    while start < n:
        sort_run(into + start, source + start, key, min(<int>RUN, n - start))
        start += RUN
    while width < n:
        source, into = into, source
        start = 0
        while start + 2 * width <= n:
            merge_twins(into + start, source + start, width, key)
            start += 2 * width
        if start + width < n:
            memcpy(into + start, source + start, width * sizeof(int))
            merge_slots(into + start, into + start, width, source + start + width,
                        n - start - width, key)
        else:
            memcpy(into + start, source + start, (n - start) * sizeof(int))
        width *= 2
    if into != slots:
        memcpy(slots, into, n * sizeof(int))


cdef inline void sort_run(int* into, const int* slots, const double* key, int n) noexcept nogil:
    """Sort up to RUN slots by counting for each how many come before it."""
    cdef int ranks[RUN]
    cdef double keys[RUN]
    cdef int i, j, later
    for i in range(n):
        ranks[i] = 0
        keys[i] = key[slots[i]]
    for i in range(1, n):
        for j in range(i):
            later = comes_before(keys[i], keys[j])
            ranks[j] += later
            ranks[i] += 1 - later
    for i in range(n):
        into[ranks[i]] = slots[i]


cdef inline void merge_twins(int* into, const int* slots, int width,
                             const double* key) noexcept nogil:
    """Merge two neighbouring sorted runs of one width, from both ends at once.

    As many steps from each end as one run is wide never leave it, and the two chains of
    comparisons do not wait for each other.
    """
    cdef int low = 0, high = width, last_low = width - 1, last_high = 2 * width - 1
    cdef int i, taken
    for i in range(width):
        taken = comes_before(key[slots[high]], key[slots[low]])
        into[i] = slots[low + taken * (high - low)]
        high += taken
        low += 1 - taken
        taken = comes_before(key[slots[last_high]], key[slots[last_low]])
        into[2 * width - 1 - i] = slots[last_high + taken * (last_low - last_high)]
        last_low -= taken
        last_high -= 1 - taken


cdef void merge_slots(int* into, const int* old, int n_old, const int* new, int n_new,
                      const double* key) noexcept nogil:
    """Merge new slots behind equal old ones. `into` may be `old` itself, with room at its end."""
    cdef int i = n_old - 1, j = n_new - 1, k = n_old + n_new - 1
    cdef int slot, is_old
    while i >= 0 and j >= 0:
        slot = new[j]
        is_old = comes_before(key[slot], key[old[i]])
        into[k] = slot + is_old * (old[i] - slot)
        i -= is_old
        j -= 1 - is_old
        k -= 1
    memcpy(into, new, (j + 1) * sizeof(int))
    if into != old:
        memcpy(into, old, (i + 1) * sizeof(int))


cdef int keep(int* slots, int n, const int64_t* arrival) noexcept nogil:
    """Drop the free slots from an array, in place; return how many are left."""
    cdef int i, kept = 0
    for i in range(n):
        slots[kept] = slots[i]
        kept += arrival[slots[i]] >= 0
    return kept
