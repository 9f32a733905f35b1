"""One step of particle learning: add a sample, weigh the particles, resample, move.

Several forgetting factors compete, which the paper leaves as future work at the end of section 5.
Each factor has its own particles. The best factor is a hidden state that may change at every
sample, and the filter computes its posterior distribution by Bayesian model averaging, as in
dynamic model averaging (Raftery, Karny and Ettler 2010) with the switches of fixed share (Herbster
and Warmuth 1998). Fixed share keeps the probability of every factor above zero, so that the filter
returns to a short memory a few samples after a change. In a regression, one such rule forgets old
evidence and another does not; Bayes' rule decides between them in the same way.
"""

from .particles cimport ParticleFilter

cdef double LARGEST_REGRESSOR       # larger values are replaced by this one

cdef int add_roots(ParticleFilter filter, int first) except -1
cdef int reserve_step(ParticleFilter filter) except -1 nogil
cdef void learn_row(ParticleFilter filter, double target, double weight) noexcept nogil
cdef void step(ParticleFilter filter, int slot, int first, int stop) noexcept nogil

cdef void fill_v(ParticleFilter filter, const double* x, double target) noexcept nogil
cdef void gather(ParticleFilter filter, const double* x, int first, int stop) noexcept nogil
cdef void set_shares(ParticleFilter filter, int first) noexcept nogil
cdef void sum_beliefs(ParticleFilter filter) noexcept nogil

cdef void retire_slot(ParticleFilter filter, int slot) noexcept nogil
cdef int oldest(ParticleFilter filter) noexcept nogil
cdef int random(ParticleFilter filter) noexcept nogil
