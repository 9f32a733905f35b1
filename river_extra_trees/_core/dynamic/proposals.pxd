from libc.math cimport exp

from ..rng cimport Rng
from .particles cimport Particles, Visit

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

cdef int propose_all(Particles cloud, const Visit* visit, Rng* rng) noexcept nogil

cdef inline double odds(double log_odds) noexcept nogil:
    """Odds from their logarithm; 0 where there are none."""
    return exp(min(log_odds, 600.0)) if log_odds == log_odds else 0.0
