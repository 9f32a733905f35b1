"""Cuts proposed at a leaf, and their odds by scans over its sorted samples.

The statistics of the children of a cut are sums over the samples scanned so far, and the
differences to those of the whole leaf. Cuts are collected and scored in batches.
"""

from libc.math cimport exp

from ..rng cimport Rng
from .particles cimport LeafHit, ParticleFilter

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

cdef int propose_all(ParticleFilter filter, const LeafHit* hit, Rng* rng) noexcept nogil

cdef inline double odds(double log_odds) noexcept nogil:
    """Odds from their logarithm; 0 for NaN."""
    return exp(min(log_odds, 600.0)) if log_odds == log_odds else 0.0
