"""Slots of a window in sorted order. See the header."""

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

from .schema cimport MAX_CATEGORIES, OTHER

cdef enum:
    FEW = 8         # maximum number of slots that are sorted by comparing all pairs
    LEAST = 48      # minimum number of slots for which radix sort is faster
    MANY = 512      # number of slots per radix sort
    PATIENCE = 8    # mean number of moves per slot after which the insertion sort is given up

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    /* A number in the order of `comes_before`: -0.0 is 0.0, and NaN comes last. */
    static inline uint64_t ordered(double number)
    {
        uint64_t bits;
        number += 0.0;
        memcpy(&bits, &number, sizeof(bits));
        bits ^= (0 - (bits >> 63)) | UINT64_C(0x8000000000000000);
        return number == number ? bits : UINT64_MAX;
    }
    """
    uint64_t ordered(double number) noexcept nogil

cdef struct Entry:
    uint64_t key
    int slot


cdef void sort_slots(int* slots, int* spare, const double* key, int n) noexcept nogil:
    """Sort slots by key[slot], missing values last; the sort is stable."""
    if n <= FEW:
        sort_few(slots, slots, key, n)
    else:
        sort_by_merging(slots, spare, key, n, FEW if n < LEAST else MANY)


cdef void sort_codes(int* slots, int* spare, const double* key, int n) noexcept nogil:
    """As `sort_slots`, for nominal values: their codes are whole numbers, the least of them OTHER.

    Counting sort, unless there are few slots for the number of codes.
    """
    cdef int starts[MAX_CATEGORIES + 2]
    cdef int i, place, begin = 0, n_places = 2      # those of OTHER and of the missing values
    for i in range(n):
        if key[slots[i]] - OTHER + 2 > n_places:
            n_places = <int>key[slots[i]] - OTHER + 2
    if n < LEAST or n_places > 16 * n:
        sort_slots(slots, spare, key, n)
        return
    memset(starts, 0, n_places * sizeof(int))
    for i in range(n):
        starts[place_of(key[slots[i]], n_places)] += 1
    for place in range(n_places):
        begin, starts[place] = begin + starts[place], begin
    memcpy(spare, slots, n * sizeof(int))
    for i in range(n):
        place = place_of(key[spare[i]], n_places)
        slots[starts[place]] = spare[i]
        starts[place] += 1


cdef inline int place_of(double code, int n_places) noexcept nogil:
    return <int>code - OTHER if code == code else n_places - 1


cdef void sort_by_merging(int* slots, int* spare, const double* key, int n,
                          int width) noexcept nogil:
    """Sort runs of FEW or MANY slots, then merge them.

    On unsorted samples a branch on the comparison of two keys would be mispredicted half of the
    time, so the loops use arithmetic instead of branches.
    """
    cdef int start, run = width
    cdef int* source = spare
    cdef int* into = slots
    memcpy(spare, slots, n * sizeof(int))
    start = 0
    while start < n:
        if run == FEW:
            sort_few(into + start, source + start, key, min(run, n - start))
        else:
            sort_many(into + start, source + start, key, min(run, n - start))
        start += run
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


cdef inline void sort_few(int* into, const int* slots, const double* key, int n) noexcept nogil:
    """Sort up to FEW slots: count the slots before each slot. `into` may be `slots`."""
    cdef int ranks[FEW]
    cdef int given[FEW]
    cdef double keys[FEW]
    cdef int i, j, later
    for i in range(n):
        ranks[i] = 0
        given[i] = slots[i]
        keys[i] = key[slots[i]]
    for i in range(1, n):
        for j in range(i):
            later = comes_before(keys[i], keys[j])
            ranks[j] += later
            ranks[i] += 1 - later
    for i in range(n):
        into[ranks[i]] = given[i]


cdef void sort_many(int* into, int* slots, const double* key, int n) noexcept nogil:
    """Sort up to MANY slots by the leading 24 bits in which their keys differ, then by insertion.

    If these bits do not separate the keys, for instance because one key is far away from all
    others, the slots are merge-sorted, with `slots` as scratch memory.
    """
    cdef Entry entries[MANY]
    cdef Entry spare[MANY]
    cdef int counts[3][256]
    cdef uint64_t least = <uint64_t>-1, most = 0
    cdef int i, digit, shift = 0
    for i in range(n):
        entries[i].key, entries[i].slot = ordered(key[slots[i]]), slots[i]
        least, most = min(least, entries[i].key), max(most, entries[i].key)
    while (most - least) >> shift >> 24:
        shift += 1
    memset(counts, 0, sizeof(counts))
    for i in range(n):
        for digit in range(3):
            counts[digit][((entries[i].key - least) >> (shift + 8 * digit)) & 255] += 1
    sort_by_digit(spare, entries, n, least, shift, counts[0])
    sort_by_digit(entries, spare, n, least, shift + 8, counts[1])
    sort_by_digit(spare, entries, n, least, shift + 16, counts[2])
    if insert_all(spare, n):
        for i in range(n):
            into[i] = spare[i].slot
    else:
        memcpy(into, slots, n * sizeof(int))
        sort_by_merging(into, slots, key, n, FEW)


cdef inline void sort_by_digit(Entry* into, const Entry* entries, int n, uint64_t least, int shift,
                               int* counts) noexcept nogil:
    """Counting sort of entries by eight bits; `counts` has the frequency of each value."""
    cdef int value, i, place, begin = 0
    for value in range(256):
        begin, counts[value] = begin + counts[value], begin
    for i in range(n):
        value = ((entries[i].key - least) >> shift) & 255
        place = counts[value]
        into[place] = entries[i]
        counts[value] = place + 1


cdef inline bint insert_all(Entry* entries, int n) noexcept nogil:
    """Insertion sort of nearly sorted entries; False if that needs too many moves."""
    cdef Entry entry
    cdef int i, j, patience = PATIENCE * n
    for i in range(1, n):
        entry, j = entries[i], i
        while j > 0 and entries[j - 1].key > entry.key:
            entries[j] = entries[j - 1]
            j -= 1
        entries[j] = entry
        patience -= i - j
        if patience < 0:
            return False
    return True


cdef inline void merge_twins(int* into, const int* slots, int width,
                             const double* key) noexcept nogil:
    """Merge two adjacent sorted runs of equal width, from both ends at once.

    The merge takes `width` steps from each end, so no step leaves the runs. The two chains of
    comparisons are independent, so the processor can overlap them.
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
    """Merge sorted new slots after equal old slots. `into` may be `old`, with room at its end.

    Old slots mostly come in runs. A branch that is mispredicted at the end of each run costs less
    than a chain of dependent comparisons.
    """
    cdef int i = n_old - 1, j, slot
    cdef double value
    for j in range(n_new - 1, -1, -1):
        slot = new[j]
        value = key[slot]
        while i >= 0 and comes_before(value, key[old[i]]):
            into[i + j + 1] = old[i]
            i -= 1
        into[i + j + 1] = slot
    if into != old:
        memcpy(into, old, (i + 1) * sizeof(int))


cdef int keep(int* slots, int n, const int64_t* arrival) noexcept nogil:
    """Remove the free slots from an array, in place; return the number of slots left."""
    cdef int i, kept = 0
    for i in range(n):
        slots[kept] = slots[i]
        kept += arrival[slots[i]] >= 0
    return kept
