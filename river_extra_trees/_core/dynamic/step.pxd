"""One step of particle learning: add a sample, weigh the particles, resample, move.

Forgetting factors compete, which the paper leaves as future work at the end of section 5. Every
factor has particles of its own, which weigh the stream by it from first to last. The factor of the
stream is a hidden state that may change at any sample; evidence says which one it is. This is
Bayesian model averaging over a switching state, as in "dynamic model averaging" (Raftery, Karny and
Ettler 2010) with the switches of "fixed share" (Herbster and Warmuth 1998): no factor is ever lost,
so the filter is back at a short memory a few samples after the stream turns.
"""

from .particles cimport ParticleFilter

cdef double LARGEST_REGRESSOR       # larger values count as this one

cdef int add_roots(ParticleFilter filter, int first) except -1
cdef int reserve_step(ParticleFilter filter) except -1 nogil
cdef void learn_row(ParticleFilter filter, double target, double weight) noexcept nogil
cdef void step(ParticleFilter filter, int slot, int first, int stop, bint weighed) noexcept nogil

cdef void fill_v(ParticleFilter filter, const double* x, double target) noexcept nogil
cdef void gather(ParticleFilter filter, const double* x, int first, int stop) noexcept nogil
cdef void set_shares(ParticleFilter filter, int first) noexcept nogil

cdef void retire_slot(ParticleFilter filter, int slot) noexcept nogil
cdef int oldest(ParticleFilter filter) noexcept nogil
cdef int random(ParticleFilter filter) noexcept nogil
