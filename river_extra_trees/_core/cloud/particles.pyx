"""The data of a cloud of dynamic trees. See the header for the structures."""

from libc.math cimport INFINITY, log, log1p, pow
from libc.stdint cimport uint64_t

from ..memory cimport calloc, free
from ..posterior cimport scratch_size
from ..schema cimport Labels, Schema
from .slopes cimport Slopes


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
        Active points that a split leaves on both sides.
    alpha, beta
        A node at depth D is split with prior probability alpha (1 + D)^-beta.
    decays
        Forgetting factors per sample of the stream, ascending; with `reference` one factor per
        retirement in a leaf. Of several, each particle has its own and may change it.
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
        double alpha, double beta, decays, double prior_weight, bint reference,
        bint cuts_by_range, uint64_t seed,
    ):
        cdef int depth
        cdef double share
        self.n_particles = self.n_alive = n_particles
        self.window, self.min_samples_leaf = window, min_samples_leaf
        self.alpha, self.beta, self.prior_weight, self.seed = alpha, beta, prior_weight, seed
        assert 1 <= len(decays) <= MAX_DECAYS and n_particles >= 1
        self.n_decays = len(decays)
        for depth in range(self.n_decays):
            self.decays[depth] = decays[depth]
        self.decay = self.decays[self.n_decays - 1]
        self.linear, self.reference, self.cuts_by_range = linear, reference, cuts_by_range
        self.model.multinomial = classifier
        self.slopes = Slopes() if classifier and linear else None
        for depth in range(MAX_DEPTH + 2):
            share = alpha * pow(1.0 + depth, -beta)
            self.log_split[depth] = log(share) if share > 0.0 else -INFINITY
            self.log_stop[depth] = log1p(-share)
        self.schema, self.labels = Schema(), Labels()
        self.lowest, self.highest = INFINITY, -INFINITY
        self.roots = <int*>calloc(2 * n_particles, sizeof(int))
        self.resampled = <int*>calloc(2 * n_particles, sizeof(int))
        self.group_of = <int*>calloc(2 * n_particles, sizeof(int))
        self.regrouped = <int*>calloc(2 * n_particles, sizeof(int))
        self.next = <int*>calloc(2 * n_particles, sizeof(int))
        self.weights = <double*>calloc(2 * n_particles, sizeof(double))
        self.visits = <Visit*>calloc(2 * n_particles, sizeof(Visit))
        self.groups = <Group*>calloc(2 * n_particles, sizeof(Group))
        self.cuts = <Cut*>calloc(2 * n_particles, sizeof(Cut))
        if (
            self.roots == NULL or self.resampled == NULL or self.group_of == NULL
            or self.regrouped == NULL or self.next == NULL or self.weights == NULL
            or self.visits == NULL or self.groups == NULL or self.cuts == NULL
        ):
            raise MemoryError

    def __dealloc__(self):
        free(self.roots)
        free(self.resampled)
        free(self.group_of)
        free(self.regrouped)
        free(self.next)
        free(self.weights)
        free(self.visits)
        free(self.groups)
        free(self.v)
        free(self.overall)
        free(self.fill)
        free(self.fill_weight)
        free(self.regressors)
        free(self.nominal)
        free(self.order)
        free(self.n_present)
        free(self.memo)
        free(self.sample_weight)
        free(self.row_small)
        free(self.row_other)
        free(self.row_child)
        free(self.n_needed)
        free(self.bits)
        free(self.cuts)
        free(self.model.prior)
        free(self.model.scratch)

    def __sizeof__(self):
        cdef size_t columns = max(1, self.pool.n_columns)
        return (
            object.__sizeof__(self)
            + 2 * self.n_particles * (
                5 * sizeof(int) + sizeof(double) + sizeof(Visit) + sizeof(Group) + sizeof(Cut))
            + (8 * self.model.width + scratch_size(self.model.n_regressors)) * sizeof(double)
            + self.scratch_capacity * (columns * (sizeof(int) + 2 * sizeof(double))
                                       + 2 * sizeof(double))
            + (self.model.n_regressors + 1) * (3 * sizeof(double) + sizeof(int)) + columns
        )
