"""One step of particle learning: add a sample, weigh the particles, resample, move.

Several forgetting factors compete, which the paper leaves as future work at the end of section 5.
Each factor has its own particles. The best factor is a hidden state that may change at every
sample, and the filter computes its posterior distribution by Bayesian model averaging, as in
dynamic model averaging (Raftery, Karny and Ettler 2010) with the switches of fixed share (Herbster
and Warmuth 1998). Fixed share keeps the probability of every factor above zero, so that the filter
returns to a short memory a few samples after a change. In a regression, one such rule forgets old
evidence and another does not; Bayes' rule decides between them in the same way.

A rejuvenation adds particles grown from the active samples; half of them inherit the retired
statistics of the old ones.
"""

from .particles cimport Particles

cdef int learn_row(Particles filter, double target, double weight, int gone) except -1 nogil
cdef int rejuvenate(Particles filter) except -1

cdef void retire_slot(Particles filter, int slot) noexcept nogil
cdef int random(Particles filter) noexcept nogil
