"""Random numbers as a pure function of (seed, tree, step, purpose).

There is no global generator, and no generator is kept between calls: code that needs random numbers
asks for a stream by its name, which says what the numbers are for. Streams with different names are
independent. So a forest makes the same predictions whether its trees are grown in sequence, in
threads or in other processes. The mixing function is the finaliser of SplitMix64 (Steele, Lea,
Flood 2014), applied once per word of the name and then once per number drawn.

`tests/naive/rng.py` is the same generator in ten lines of Python.
"""

from libc.math cimport exp
from libc.stdint cimport uint32_t, uint64_t

# The purpose of a stream. Never change these numbers: that would change every seeded prediction.
cdef enum Purpose:
    BOOTSTRAP = 1
    FEATURES = 2
    SWAP = 3
    FORGET = 4
    SUBSET = 5
    RESAMPLE = 6
    MOVE = 7
    DISCARD = 8
    REJUVENATE = 9
    RENEW = 10
    BRANCH = 11
    EARLY = 12

cdef struct Rng:
    uint64_t state

cdef inline uint64_t mix(uint64_t z) noexcept nogil:
    z = (z ^ (z >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t>0x94D049BB133111EB
    return z ^ (z >> 31)

cdef inline void skip(Rng* rng, uint64_t n) noexcept nogil:
    """Leave out n words."""
    rng.state += n * <uint64_t>0x9E3779B97F4A7C15

cdef inline uint64_t next_word(Rng* rng) noexcept nogil:
    rng.state += <uint64_t>0x9E3779B97F4A7C15
    return mix(rng.state)

cdef inline Rng rng_for(
    uint64_t seed, uint64_t tree, uint64_t step, uint64_t purpose
) noexcept nogil:
    """The stream of random numbers with this name."""
    cdef Rng rng
    rng.state = mix(seed + <uint64_t>0x9E3779B97F4A7C15)
    rng.state = mix(rng.state ^ (tree + <uint64_t>0x9E3779B97F4A7C15))
    rng.state = mix(rng.state ^ (step + <uint64_t>0x9E3779B97F4A7C15))
    rng.state = mix(rng.state ^ (purpose + <uint64_t>0x9E3779B97F4A7C15))
    return rng

cdef inline double uniform(Rng* rng) noexcept nogil:
    """Uniform on [0, 1), with 53 random bits."""
    return <double>(next_word(rng) >> 11) * (1.0 / 9007199254740992.0)

cdef inline uint64_t below(Rng* rng, uint64_t n) noexcept nogil:
    """Uniform on 0 .. n-1, without the bias of a plain remainder. n must be positive."""
    cdef uint64_t word = next_word(rng)
    while word < n and word < (<uint64_t>0 - n) % n:    # 2**64 mod n words would be one too many
        word = next_word(rng)
    return word % n

cdef inline int scaled(uint64_t word, int n) noexcept nogil:
    """The lower half of a word as a number of 0 .. n-1: no division, but a bias of n / 2**32."""
    return <int>(<uint64_t>(<uint32_t>word) * <uint64_t>n >> 32)

cdef inline int poisson(Rng* rng, double mean) noexcept nogil:
    """Poisson by products of uniforms (Knuth): efficient for the small means of online bagging."""
    cdef double floor = exp(-mean)
    cdef double product = uniform(rng)
    cdef int count = 0
    while product > floor:
        product *= uniform(rng)
        count += 1
    return count
