"""The moves of the particles: cuts proposed at a leaf, their odds, and stay, grow or prune.

The odds come from scans over the sorted samples of the leaf. The statistics of the children of a
cut are sums over the samples scanned so far, and the differences to those of the whole leaf. Cuts
are collected and scored in batches.
"""

from libc.math cimport exp

from .particles cimport Particles

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

cdef int move_all(Particles filter, const double* x, int first, int stop) except -1 nogil

cdef inline double odds(double log_odds) noexcept nogil:
    """Odds from their logarithm; 0 for NaN."""
    return exp(min(log_odds, 600.0)) if log_odds == log_odds else 0.0
