"""Forgetting factors that compete: what the paper leaves as future work at the end of section 5.

Every factor has particles of its own, which weigh the stream by it from first to last. The factor
of the stream is a hidden state that may change at any sample; evidence says which one it is. This
is Bayesian model averaging over a switching state, as in "dynamic model averaging" (Raftery,
Karny and Ettler 2010) with the switches of "fixed share" (Herbster and Warmuth 1998): no factor
is ever lost, so the cloud is back at a short memory a few samples after the stream turns.
"""

from .particles cimport Particles

# Probability that the factor is drawn anew before a sample. Small: it costs a stream that does not
# change that much per sample at most. Not smaller: a factor out of favour keeps this share of the
# belief, and its logarithm is the evidence that the factor must gather to return.
cdef double SWITCH = 0.005


cdef void divide(Particles cloud, int* stratum) noexcept nogil:
    """Where strata begin if half of the particles are dealt by belief and half evenly."""
    cdef int k, n_strata = cloud.n_decays
    cdef int least = max(1, cloud.n_particles // (2 * n_strata))
    cdef int free = cloud.n_particles - n_strata * least
    cdef double below = 0.0
    stratum[0] = 0
    for k in range(n_strata):
        below += cloud.belief[k]
        stratum[k + 1] = (k + 1) * least + <int>(below * free + 0.5)
    stratum[n_strata] = cloud.n_particles


cdef void believe(Particles cloud) noexcept nogil:
    """Bayes' rule for the forgetting factors, once the particles are weighed."""
    cdef int k, particle
    cdef double total = 0.0
    for k in range(cloud.n_decays):
        cloud.belief[k] = 0.0
        for particle in range(cloud.stratum[k], cloud.stratum[k + 1]):
            cloud.belief[k] += cloud.share[particle] * cloud.weights[particle]
        total += cloud.belief[k]
    for k in range(cloud.n_decays):
        cloud.belief[k] = (1.0 - SWITCH) * cloud.belief[k] / total + SWITCH / cloud.n_decays


cdef void set_shares(Particles cloud, int first) noexcept nogil:
    """The particles of a stratum share the belief in its forgetting factor evenly."""
    cdef int k, particle
    for k in range(cloud.n_decays):
        for particle in range(first + cloud.stratum[k], first + cloud.stratum[k + 1]):
            cloud.share[particle] = cloud.belief[k] / (cloud.stratum[k + 1] - cloud.stratum[k])
