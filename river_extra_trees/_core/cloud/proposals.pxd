from libc.math cimport exp

from .particles cimport Particles, Visit

cdef void propose_all(Particles cloud, Visit* visit) noexcept nogil

cdef inline double odds(double log_odds) noexcept nogil:
    """Odds from their logarithm; 0 where there are none."""
    return exp(min(log_odds, 600.0)) if log_odds == log_odds else 0.0
