"""The active samples of a particle filter, which come and go one at a time.

They are a window whose work for a sample depends on the values of the sample that comes and of the
one that leaves. So it knows which lines each slot has a value in, and a sorted order holds only the
slots with a value: what follows them in `Window.order` has no meaning.
"""

from libc.stdint cimport uint64_t

from ..window cimport Window

cdef extern from *:
    """
    #ifdef _MSC_VER
    #include <intrin.h>
    static int lowest_bit(unsigned long long word) {
        unsigned long place;
        _BitScanForward64(&place, word);
        return (int)place;
    }
    #else
    #define lowest_bit __builtin_ctzll
    #endif
    """
    int lowest_bit(unsigned long long word) noexcept nogil

cdef class ActiveSamples(Window):
    cdef uint64_t* filled       # bit line % 64 of filled[slot * n_words + line / 64]: whether the
                                #   slot has a value in the line; start of the memory of all three
    cdef int* n_present         # per line: number of slots with a value
    cdef int* column_of         # per line that is in use: its column
    cdef int n_words
    cdef uint64_t* spare        # the memory to which `move` moves them, otherwise NULL

    cdef int place_of(self, int line, int slot) noexcept nogil
    cdef bint leave(self, int line, int slot) noexcept nogil
    cdef void enter(self, int line, int slot, double value) noexcept nogil
    cdef void put(self, int line, int slot, double value) noexcept nogil
    cdef int columns_in(self, int slot, int* columns) noexcept nogil

    cdef inline int present(self, int column) noexcept nogil:
        """The number of samples with a value in a column."""
        if column >= self.n_columns or self.lines[column] < 0:
            return 0
        return self.n_present[self.lines[column]]
