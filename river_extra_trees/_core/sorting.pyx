"""Slots of a window in sorted order. See the header."""

from libc.stdint cimport uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memset

cdef enum:
    LEAST = 32      # minimum number of slots for which radix sort is faster than insertion
    FEW = 1024      # fewer slots are sorted by two leading digits first, others by three
    DIGITS = 8      # number of digits of a key: of eight bits each
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


cdef void sort_slots(int* slots, int* spare, const double* key, int n) noexcept nogil:
    """Sort slots by key[slot], missing values last; the sort is stable.

    Radix sort by the leading bits in which the keys differ, then insertion. If these bits do not
    separate the keys, for instance because one key is far away from all others, radix sort by all
    bits.
    """
    cdef uint64_t bits, least = <uint64_t>-1, most = 0
    cdef int i, shift = 0, n_leading = 2 if n < FEW else 3
    if n < LEAST:
        insert_all(slots, key, n, n)
        return
    for i in range(n):
        bits = ordered(key[slots[i]])
        least, most = min(least, bits), max(most, bits)
    while (most - least) >> shift >> (8 * n_leading):
        shift += 1
    sort_by_digits(slots, spare, key, n, least, shift, n_leading)
    if not insert_all(slots, key, n, PATIENCE):
        sort_by_digits(slots, spare, key, n, least, 0, DIGITS)


cdef inline void sort_by_digits(int* slots, int* spare, const double* key, int n, uint64_t least,
                                int shift, int n_digits) noexcept nogil:
    """Counting sort by one digit after the other, from the bit `shift` on, the last one first."""
    cdef int[DIGITS][256] counts
    cdef int* source = slots
    cdef int* into = spare
    cdef uint64_t bits
    cdef int i, digit, value, slot, begin
    memset(counts, 0, n_digits * sizeof(counts[0]))
    for i in range(n):
        bits = (ordered(key[slots[i]]) - least) >> shift
        for digit in range(n_digits):
            counts[digit][(bits >> (8 * digit)) & 255] += 1
    for digit in range(n_digits):
        begin = 0
        for value in range(256):
            begin, counts[digit][value] = begin + counts[digit][value], begin
        for i in range(n):
            slot = source[i]
            value = ((ordered(key[slot]) - least) >> (shift + 8 * digit)) & 255
            into[counts[digit][value]] = slot
            counts[digit][value] += 1
        source, into = into, source
    if source != slots:
        memcpy(slots, source, n * sizeof(int))


cdef inline bint insert_all(int* slots, const double* key, int n, int most) noexcept nogil:
    """Insertion sort; False if that needs more than `most` moves per slot on average."""
    cdef int64_t patience = <int64_t>most * n
    cdef int i, j, slot
    cdef double value
    for i in range(1, n):
        slot, j = slots[i], i
        value = key[slot]
        while j > 0 and comes_before(value, key[slots[j - 1]]):
            slots[j] = slots[j - 1]
            j -= 1
        slots[j] = slot
        patience -= i - j
        if patience < 0:
            return False
    return True


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


cdef int compare(const void* one, const void* other) noexcept nogil:
    return (<const int*>one)[0] - (<const int*>other)[0]


cdef void sort_numbers(int* numbers, int n) noexcept nogil:
    """Sort numbers of columns, which mostly are in order."""
    cdef int i
    for i in range(1, n):
        if numbers[i - 1] > numbers[i]:
            qsort(numbers, n, sizeof(int), compare)
            return
