"""A particle filter of dynamic trees: its data, and how they are laid out.

One step is: weigh the particles by the predictive density of the new sample, resample, add the
sample, then let every particle stay, grow or prune at the leaf of the sample. What does not differ
between particles is done once: a `LeafHit` is a distinct leaf that the sample falls into, a
`LeafParent` a distinct pair of such a leaf and its parent, which is all that stay and prune depend
on.

The data are here; every other module of the folder holds functions on them, for one purpose each.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from ..learner cimport Learner
from .leaf_models cimport BATCH_PAIRS, LeafModel
from .pool cimport LogisticLeaves, Pool
from .shared_trees cimport MAX_DEPTH, SharedTrees

cdef struct LeafHit:
    int node                # the leaf's node
    double share            # of the particles that hold it, see `ParticleFilter.share`
    int first               # the first of them after the resampling; the others by `next`
    double log_weight       # log predictive density of the new sample, then its exponential
    int64_t region_above    # of the nodes above, in all trees; 0: there are none, or not met yet
    double pruned_score     # what one leaf there adds to the log posterior of its tree

cdef struct LeafParent:
    int hit
    int parent              # node, or -1 where the leaf is the root
    int pruned              # node of the leaf that takes the parent's place, or -1
    double prune_odds       # of prune against stay; -1: not computed yet

cdef struct Cut:
    double threshold
    double* odds            # of this cut against stay, a cell of `memo`; NULL: no cut
    int column
    int start               # the present values in sorted order: `n_left` from `start` go left
    int n_left
    int grown               # node that takes the leaf's place, or -1: nobody has taken the cut yet
    uint8_t nominal
    uint8_t missing_left

cdef struct SplitScan:      # scratch: scoring the cuts proposed at one leaf
    double* offsets         # offsets[slot * size_v ...]: v less its means in the leaf
    double* passed          # cells (see `leaf_models`) of the samples passed
    double* low             # of the prior alone
    double* high            # of the prior and the whole leaf
    double* retired         # of the leaf's retired samples
    double* batch           # of the children of the cuts waiting for their odds, side by side
    double* waiting[BATCH_PAIRS]    # where these odds go
    double shares[BATCH_PAIRS]      # of the retired samples, that go to the first child
    double base             # log odds of a cut, the evidence of its children left out
    int n_waiting
    int leaf

cdef enum:
    # Cuts proposed per leaf and step: as many as particles hold the leaf, within these bounds.
    LEAST_PROPOSALS = 4     # they fill a batch of leaf models
    MOST_PROPOSALS = 100
    MAX_DECAYS = 8
    N_POWERS = 512

cdef enum Policy:           # which active sample leaves a full window
    OLDEST
    RANDOM
    ALC                     # the one with the smallest score, see `scores`
    ALM
    ENTROPY

cdef double LARGEST_SQUARE      # of a target, times its weight

cdef class ParticleFilter(Learner):
    cdef readonly Pool pool
    cdef readonly SharedTrees trees
    cdef LeafModel model
    cdef double* block              # all that follows, and the row of the prior
    cdef size_t block_bytes
    cdef double* global_statistics  # of all samples, slowly fading: they scale the prior
    cdef double* v                  # scratch: the new sample, see `leaf_models`
    cdef double* row_other          # scratch rows, two
    cdef double* row_faded          # a scratch row: what a reader sees of a leaf
    cdef int n_columns              # that `nominal` has room for
    cdef double* fill               # per regressor: running mean, stands in for a missing value
    cdef double* fill_weight
    cdef int* regressors            # column of each regressor
    cdef uint8_t* nominal           # per column
    cdef readonly double lowest, highest    # targets seen

    cdef readonly int n_particles
    cdef int n_alive                # n_particles, or twice that after a rejuvenation
    cdef int capacity               # particles there is room for, LEAST_PROPOSALS at least
    cdef void* per_particle         # all that follows
    cdef int* roots                 # roots[particle]
    cdef double* share              # share[particle]: of the answers and the evidence; sum to 1
    cdef int* resampled             # scratch
    cdef int* pair_of               # scratch: pair_of[particle]
    cdef int* resampled_pairs       # scratch
    cdef int* next                  # scratch: next particle at the same hit
    cdef double* weights            # scratch
    cdef Cut* cuts                  # scratch: the proposals at one leaf, MOST_PROPOSALS at most; in
                                    #   the reference as many as particles
    cdef LeafHit* hits
    cdef LeafParent* pairs
    cdef int n_hits, n_pairs
    cdef unsigned int epoch         # number of the current search for leaves

    cdef readonly int window
    cdef public int min_samples_leaf        # a test raises it to keep the trees at their roots
    cdef bint leaves_follow         # min_samples_leaf follows the number of regressors
    cdef readonly double alpha, beta, leaf_bonus
    # Particles of one forgetting factor are a stratum: they lie side by side, those of decays[k]
    # from stratum[k] up to stratum[k + 1]. Particles of different strata never share a tree.
    cdef double decays[MAX_DECAYS]
    cdef int n_decays
    cdef double powers[MAX_DECAYS][N_POWERS]    # powers[k][age] = decays[k] ** age
    cdef int stratum[MAX_DECAYS + 1]
    cdef double factor_posterior[MAX_DECAYS]    # probability of each forgetting factor
    cdef readonly bint reference
    cdef readonly bint linear       # leaves use the numeric features: the regressors
    cdef LogisticLeaves logistic    # of linear leaves in a classification; else None
    cdef readonly double prior_weight
    cdef double log_split[MAX_DEPTH + 2]    # log prior of a split at each depth ...
    cdef double log_stop[MAX_DEPTH + 2]     # ... and of a leaf
    cdef readonly uint64_t seed
    cdef readonly int64_t n_seen    # samples learned: the clock of forgetting
    cdef readonly int64_t n_steps   # steps taken, those of a rejuvenation included
    cdef readonly double log_evidence
    cdef readonly double log_predictive     # of the last sample learned
    cdef int leaving                # slot of the sample that the next one replaces, or -1
    cdef Policy discard             # how `reserve` chooses it

    cdef void* scratch              # all that follows: work space for the cuts of one leaf
    cdef size_t scratch_bytes
    cdef int scratch_capacity       # of the pool it has room for, 0 when it is out of date
    cdef int* order                 # order[column * capacity ...]: sorted slots of the current leaf
    cdef int* n_present             # per column: of these not missing; -1 where not sorted yet
    cdef double* memo               # memo[(2 column + missing_left) * (capacity + 1) + i]: odds of
                                    #   a proposed cut; i is n_left, of a nominal column start
    cdef uint64_t* proposed         # proposed[(2 column + missing_left) * n_words ...]: bit i is
                                    #   set where the cut i is proposed
    cdef int n_words                # capacity // 64 + 1
    cdef uint64_t* bits             # scratch for sorting: a bit per rank in the pool
    cdef int* places                # scratch: the cuts proposed of one column, in sorted order
    cdef const double* sample_weight    # per slot: weight in the current leaf; lies in the pool, or
                                        #   where samples fade in ...
    cdef double* faded_weight           # ... this scratch
    cdef SplitScan scan

    cdef int reserve_particles(self, int n) except -1
    cdef int find_row(self) except -1 nogil
    cdef int chosen(self) except? -1 nogil
    cdef int most_cuts(self, int n) noexcept
    cdef size_t bytes_for(self, size_t n) noexcept
    cdef int check_slot(self, int slot) except -1
    cdef int find_leaves(self, object x) except -1
    cdef int find_leaf(self, int tree, object x) except -1
    cdef int prepare_chances(self) except -1 nogil
    cdef const double* statistics_of(self, int hit) noexcept nogil
    cdef double clamped(self, double mean) noexcept nogil
    cdef const double* class_chances(self, int hit) noexcept nogil

cdef inline bint fades_by_leaf(ParticleFilter filter) noexcept nogil:
    """Whether trees differ in what a region has retired: in the reference it fades leaf by leaf."""
    return filter.reference and filter.decays[0] < 1.0
