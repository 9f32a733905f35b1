"""What a particle filter does in its steps, one thing at a time, as Python can call it."""

import numpy as np

from libc.stdint cimport uint8_t

from river_extra_trees._core.dynamic cimport scores as core_scores
from river_extra_trees._core.dynamic cimport step as core_step
from river_extra_trees._core.dynamic.particles cimport (
    ALC, ALM, ENTROPY, OLDEST, RANDOM, Particles,
)

POLICIES = {"oldest": OLDEST, "random": RANDOM, "alc": ALC, "alm": ALM, "entropy": ENTROPY}


def retire(Particles particles, int slot):
    """Move an active sample into the priors of its leaves."""
    cdef uint8_t[::1] gone = np.zeros(particles.pool.capacity, np.uint8)
    cdef int i
    drawn = [particles.drawn[i] for i in range(particles.pool.size)]
    drawn.remove(slot)
    core_step.retire_slot(particles, slot)
    for i in range(len(drawn)):
        particles.drawn[i] = drawn[i]
    gone[slot] = True
    particles.pool.release(&gone[0])


def to_retire(Particles particles, str policy):
    """Slot of the active sample to retire next."""
    return core_scores.to_retire(particles, POLICIES[policy])


def retire_oldest(Particles particles):
    """Move the oldest active sample into the priors of its leaves."""
    retire(particles, to_retire(particles, "oldest"))


def scores(Particles particles, str criterion):
    """Score of each active sample, by slot."""
    cdef double[:, ::1] found = core_scores.scores(particles, POLICIES[criterion])
    return {slot: found[<int>slot, 0] for slot in particles.pool.slots()}


def rejuvenate(Particles particles):
    """Add as many new particles, grown from the active samples in random order."""
    core_step.rejuvenate(particles)
