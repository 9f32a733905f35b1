"""The data of a cloud of dynamic trees. See the header for the structures."""

from libc.math cimport INFINITY
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from ..memory cimport calloc, free
from ..schema cimport Labels, Schema
from .slopes cimport Slopes

cdef enum:
    BYTES_PER_PARTICLE = (
        2 * sizeof(double) + sizeof(Visit) + sizeof(Group) + 5 * sizeof(int)
    )


cdef class Particles:
    """Particles and the points they share.

    Parameters
    ----------
    n_particles
        Number of trees.
    window
        Active points at most; the caller retires one before the next is learned.
    n_classes
        0 for regression. Classes may be added later by learning one.
    linear
        Whether leaves use the numeric features: a linear model, or a logistic one of the classes.
    min_samples_leaf
        Active points that a split leaves on both sides; 0: see `least_leaf`.
    alpha, beta
        A node at depth D is split with prior probability alpha (1 + D)^-beta ...
    leaf_bonus
        ... times exp(leaf_bonus) for every leaf that the tree has, or exp(number of coefficients)
        where that is less: more than alpha and beta, which are probabilities, can say in favour of
        large trees.
    decays
        Forgetting factors per sample of the stream; with `reference` one factor per retirement in
        a leaf. Of several, each particle has its own, and evidence decides how many have which.
    prior_weight
        See `set_prior`.
    reference
        Flat priors, move scores and forgetting of dynaTree 1.2-17.
    cuts_by_range
        Propose cuts uniformly over the range of a feature in the leaf, not over its gaps.
    seed
        Of all random numbers.
    """

    def __cinit__(
        self, int n_particles, int window, bint classifier, bint linear, int min_samples_leaf,
        double alpha, double beta, double leaf_bonus, decays, double prior_weight, bint reference,
        bint cuts_by_range, uint64_t seed,
    ):
        cdef int depth
        self.n_particles = self.n_alive = n_particles
        self.window, self.seed = window, seed
        self.min_samples_leaf, self.leaves_follow = min_samples_leaf, min_samples_leaf == 0
        self.alpha, self.beta, self.leaf_bonus = alpha, beta, leaf_bonus
        self.prior_weight = prior_weight
        assert 1 <= len(decays) <= min(MAX_DECAYS, n_particles)
        self.n_decays = len(decays)
        for depth in range(self.n_decays):
            self.decays[depth] = decays[depth]
            self.belief[depth] = 1.0 / self.n_decays
        self.linear, self.reference, self.cuts_by_range = linear, reference, cuts_by_range
        self.model.multinomial = classifier
        self.slopes = Slopes() if classifier and linear else None
        self.schema, self.labels = Schema(), Labels()
        self.lowest, self.highest = INFINITY, -INFINITY
        self.reserve_particles(n_particles)

    def __dealloc__(self):
        free(self.per_particle)
        free(self.block)
        free(self.scratch)

    cdef int reserve_particles(self, int n) except -1:
        """Make room for so many particles, if there is less."""
        cdef char* memory
        n = max(n, LEAST_PROPOSALS)
        if n <= self.capacity:
            return 0
        memory = <char*>calloc(1, self.bytes_for(n))
        if memory == NULL:
            raise MemoryError
        self.capacity = n
        self.weights = <double*>memory
        if self.share != NULL:
            memcpy(self.weights + n, self.share, self.n_alive * sizeof(double))
        self.share = self.weights + n
        self.visits = <Visit*>(self.share + n)
        self.groups = <Group*>(self.visits + n)
        self.cuts = <Cut*>(self.groups + n)
        self.resampled = <int*>(self.cuts + self.most_cuts(n))
        self.regrouped, self.group_of = self.resampled + n, self.resampled + 2 * n
        self.next = self.resampled + 3 * n
        if self.roots != NULL:
            memcpy(self.resampled + 4 * n, self.roots, self.n_alive * sizeof(int))
        self.roots = self.resampled + 4 * n
        free(self.per_particle)
        self.per_particle = memory
        return 0

    cdef int most_cuts(self, int n) noexcept:
        """Cuts that are proposed at a leaf which so many particles hold."""
        return n if self.reference else min(n, MOST_PROPOSALS)

    cdef size_t bytes_for(self, int n) noexcept:
        """Bytes of all that there is per particle."""
        return n * <size_t>BYTES_PER_PARTICLE + self.most_cuts(n) * sizeof(Cut)

    def __sizeof__(self):
        return (
            object.__sizeof__(self) + self.bytes_for(self.capacity)
            + self.block_bytes + self.scratch_bytes
        )
