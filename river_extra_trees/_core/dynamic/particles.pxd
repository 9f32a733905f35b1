"""A particle filter of dynamic trees: the data structures.

One step weighs the particles by the predictive density of the new sample, resamples them, adds the
sample, and then moves each particle: it stays, grows or prunes at the leaf of the sample. Work that
is the same for several particles is done once: a `LeafHit` is a distinct leaf that contains the
sample, and a `LeafParent` is a distinct pair of such a leaf and its parent, on which the odds of
stay and prune depend.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from ..cart.value_history cimport ValueHistory
from ..learner cimport Learner
from ..linalg cimport MAX_REGRESSORS, LeafModel
from ..split cimport Split
from ..window cimport Window
from .leaf_models cimport BATCH_PAIRS
from .shared_trees cimport MAX_DEPTH, Leaf, SharedTrees

cdef struct Regressor:
    int feature
    double fill             # running mean, which replaces missing values
    double fill_weight

cdef struct LeafHit:
    int node                # the leaf's node
    double share            # sum of `Particles.share` over the particles with this leaf
    int first               # first of these particles after resampling; `next` links the others
    double log_weight       # log predictive density of the new sample, later its exponential
    int64_t region_above    # region of the parents in all trees; 0: no parent, or not known yet
    double pruned_score     # what one leaf for `region_above` adds to the log posterior of a tree

cdef struct LeafParent:
    int hit
    int parent              # node, or -1 if the leaf is the root
    int pruned              # node of the leaf that replaces the parent, or -1
    double prune_odds       # odds of prune against stay; -1: not computed yet

cdef struct Column:         # a live column of the pool, and the samples of the current leaf in it
    int feature
    const double* x         # by slot, of those that have a value
    const int* ranked       # the slots of the pool in sorted order
    int* rank               # by slot: position in `ranked`
    int* order              # sorted slots of the leaf; missing values last
    int n_present           # number of those with a value; -1: not sorted yet
    int n_values            # of a nominal column: number of different values in the leaf

cdef struct Cut:
    Split split
    int column              # of `columns`
    int n_left              # number of samples with a value that go left
    int64_t position        # equal cuts have the same; a scan follows it; -1: no cut
    double correction       # of the log odds, for the number of ways to divide nominal values
    int label               # of a cut by a set of values: by whose shares they are ordered
    int first               # of such a cut: number of the first equal one
    double* odds            # `found` of the first of equal cuts; NULL: no cut
    double found            # odds of this cut against stay
    int grown               # node that replaces the leaf; -1: no particle has taken the cut yet

cdef struct Met:            # a nominal value of a leaf, or of the history; sums about the mean
    double code
    int n                   # samples of the leaf
    double weight
    double total            # sum of weight times signal
    double mean             # regularised, with the history
    double past_weight      # of the history
    double past_total

cdef struct SplitScan:      # scratch for scoring the cuts proposed at one leaf
    double* offsets         # offsets[slot * (q + 1) ...]: v minus its means in the leaf
    # Cells (see `linalg` and `leaf_models`):
    double* passed          # of the samples scanned so far
    double* low             # of the prior
    double* high            # of the prior and all samples of the leaf
    double* retired         # of the retired samples of the leaf
    double* batch           # of the children of the cuts that wait for their odds, interleaved
    Cut* waiting[BATCH_PAIRS]       # these cuts
    double shares[BATCH_PAIRS]      # share of the retired samples that the first child inherits
    double base             # log odds of a cut without the evidence of its children
    int n_waiting
    const Leaf* leaf
    int* chosen             # slots of the samples that a nominal cut sends left
    double* signal          # signal[slot]: what the linear model of the leaf leaves of the target
    bint has_signal         # whether `signal` has been computed for this leaf
    bint is_short           # whether there was no memory for a set of values

cdef enum:
    MOST_PAST = 1 << 13     # entries of the history: a proposal of a cut reads all of its column

cdef enum:
    # Cuts proposed per leaf and step: one per particle with the leaf, within these bounds.
    LEAST_PROPOSALS = 4     # fills a batch of leaf models
    MOST_PROPOSALS = 100
    MOST_RANKED = 128       # columns at once; at least one per proposal
    MAX_DECAYS = 8
    MAX_RULES = 2           # see `SWITCH` in `step`
    N_POWERS = 512
    PRIOR_WINDOW = 500

cdef enum Policy:           # which active sample retires from a full window
    OLDEST
    RANDOM
    ALC                     # from here on: the sample with the smallest score, see `scores`
    ALM
    ENTROPY

cdef double LARGEST_REGRESSOR       # larger values are replaced by this one

cdef class Particles(Learner):
    cdef readonly Window pool
    cdef readonly ValueHistory history      # in a classification: of samples that left the pool
    cdef SharedTrees trees
    cdef LeafModel model
    cdef double* block              # memory of the following rows, of the row of the prior, and of
                                    #   the scratch of the model
    cdef double* global_statistics  # row of all samples with slow decay; it scales the prior
    cdef double* row_other          # scratch: two rows
    cdef double* row_decayed        # scratch: see `decayed`
    cdef Regressor regressors[MAX_REGRESSORS]
    cdef uint8_t* is_regressor      # per column
    cdef double v[MAX_REGRESSORS + 1]   # scratch: v of the new sample, see `linalg`
    cdef double* x                  # scratch: features of an active sample, see `features_of`
    cdef int* x_columns             # the n_x columns with a value in `x`
    cdef int* proposed              # scratch: the columns in which cuts are proposed
    cdef int n_x
    cdef int n_columns              # capacity of these four
    cdef double* active_v           # active_v[slot * (q + 1) ...]: v of an active sample
    cdef int* drawn                 # drawn[k], k < pool.size: slot that k stands for in a draw
    cdef int capacity               # of these two, in slots
    cdef readonly double lowest, highest    # targets seen

    cdef readonly int n_particles
    cdef int n_alive                # n_particles, or twice that after a rejuvenation
    cdef int* roots                 # roots[particle]
    cdef double* share              # share[particle]: weight in predictions and evidence; sum is 1
    cdef int* resampled             # scratch
    cdef int* pair_of               # scratch: pair_of[particle]
    cdef int* resampled_pairs       # scratch
    cdef int* next                  # scratch: next particle with the same hit
    cdef double* weights            # scratch; starts the memory of these arrays
    cdef Cut* cuts                  # scratch: proposals at one leaf, at most MOST_PROPOSALS; in
                                    #   dynaTree one per particle
    cdef Cut** in_order             # scratch: these proposals, in the order of a scan
    cdef int n_proposed             # those whose sets of values are there
    cdef Met* met                   # scratch: the values of a nominal column ...
    cdef int most_met               # ... for which there is room
    cdef LeafHit* hits
    cdef LeafParent* pairs
    cdef int n_hits, n_pairs
    cdef uint64_t epoch             # number of the current search for leaves

    cdef readonly int window
    cdef public int min_samples_leaf        # public for a test that prevents splits
    cdef bint leaves_follow         # whether min_samples_leaf depends on the number of regressors
    cdef readonly double alpha, beta, leaf_bonus
    # The particles of one forgetting factor are a stratum: those of decays[k] are the particles
    # from stratum[k] to before stratum[k + 1]. Particles of different strata never share a tree.
    cdef double decays[MAX_DECAYS]
    cdef int n_decays
    # A stratum has at most the latest reach[k] samples as active ones. Those of the pool that are
    # older are retired in its leaves, as they weigh next to nothing there. In a classification and
    # in dynaTree, all samples of the pool are in reach.
    cdef int reach[MAX_DECAYS]
    cdef double powers[MAX_DECAYS][N_POWERS]    # powers[k][age] = decays[k] ** age
    cdef int stratum[MAX_DECAYS + 1]
    cdef double factor_posterior[MAX_DECAYS]    # probability of each forgetting factor
    cdef double belief[MAX_RULES][MAX_DECAYS]   # its parts by rule, see `update_factor_posterior`
    cdef readonly bint published
    cdef readonly bint linear       # whether leaves use numeric features, the regressors
    cdef readonly double prior_weight
    cdef double log_split[MAX_DEPTH + 2]    # log prior probability of a split at each depth
    cdef double log_stop[MAX_DEPTH + 2]     # log prior probability of a leaf at each depth
    cdef readonly uint64_t seed
    cdef readonly int64_t n_steps   # steps taken, including those of rejuvenations
    cdef readonly double log_evidence
    cdef readonly double log_predictive     # of the last sample learned
    cdef Policy policy              # which sample leaves a full window
    cdef readonly int64_t rejuvenate_every      # samples; 0: never

    cdef void* scratch              # memory of the following arrays, for the cuts of one leaf
    cdef size_t scratch_bytes
    cdef int* ranked_as             # per line of the pool: its place in `columns`, or -1
    cdef Column* columns            # the n_ranked live columns that were ranked for this step
    cdef int n_ranked, most_ranked
    cdef uint64_t* bits             # for sorting: one bit per rank in the pool, 0 in between
    cdef const double* sample_weight    # per slot: weight in the current leaf; in the pool, or in
                                        #   `decayed_weight` if samples decay
    cdef double* decayed_weight
    cdef SplitScan scan

    cdef int find_row(self) except -1 nogil
    cdef const double* statistics_of(self, int hit) noexcept nogil

cdef inline bint decays_by_leaf(Particles filter) noexcept nogil:
    """Whether equal regions differ between trees: in dynaTree, each leaf has its own decay."""
    return filter.published and filter.decays[0] < 1.0

cdef inline bint is_active(Particles filter, int slot, int stratum) noexcept nogil:
    """Whether the leaves of a stratum hold a sample of the pool as an active one."""
    return filter.pool.n_seen - filter.pool.arrival[slot] <= filter.reach[stratum]

cdef inline int prior_window(Particles filter) noexcept nogil:
    """The prior of the leaves follows about ten times so many samples."""
    return min(filter.window, <int>PRIOR_WINDOW)

cdef inline bint is_due(Particles filter) noexcept nogil:
    """Whether it is time for what is done rarely: at doubling intervals, at most `prior_window`."""
    return (filter.pool.n_seen % prior_window(filter) == 0
            or filter.pool.n_seen & (filter.pool.n_seen - 1) == 0)

cdef inline bint fades(Particles filter, const Leaf* leaf) noexcept nogil:
    """Whether weights in a leaf decay per sample of the stream."""
    return not filter.published and filter.decays[leaf.stratum] < 1.0

cdef inline int n_rules(Particles filter) noexcept nogil:
    """The number of rules that learn the probabilities of the forgetting factors."""
    return MAX_RULES if filter.regression and filter.n_decays > 1 else 1

# --- Statistics of leaves
cdef void set_constants(Particles filter) noexcept nogil
cdef void refresh(Particles filter) noexcept nogil
cdef void finish_leaf(Particles filter, Leaf* leaf) noexcept nogil
cdef void update_time(Particles filter, Leaf* leaf) noexcept nogil
cdef double decay_ahead(Particles filter, const Leaf* leaf, int ahead) noexcept nogil
cdef double weight_at(Particles filter, int slot, const Leaf* leaf) noexcept nogil
cdef void weigh_samples(Particles filter, const Leaf* leaf) noexcept nogil
cdef const double* decayed(Particles filter, const Leaf* leaf, int ahead) noexcept nogil
cdef double row_score(Particles filter, const double* total,
                      const double* retired) noexcept nogil
cdef double leaf_score(Particles filter, const Leaf* leaf) noexcept nogil
cdef double score_subtree(Particles filter, int node, bint read_only) noexcept nogil
cdef int sum_subtree(Particles filter, int node, double* row) noexcept nogil

cdef int follow(Particles filter) except -1 nogil
cdef int reshape(Particles filter, int n_classes, list regressors) except -1
cdef int fit_scratch(Particles filter) except -1 nogil
cdef int ranked(Particles filter, int feature) noexcept nogil
cdef void forget_ranks(Particles filter) noexcept nogil
cdef void drop_proposals(Particles filter) noexcept nogil

# --- Particles
cdef int add_roots(Particles filter, int first) except -1
cdef void divide_particles(Particles filter, int* stratum) noexcept nogil
cdef void sum_beliefs(Particles filter) noexcept nogil
cdef void set_shares(Particles filter, int first) noexcept nogil

# --- The leaves of a sample
cdef const double* features_of(Particles filter, int slot) noexcept nogil
cdef void fill_v(Particles filter, const double* x, double target) noexcept nogil
cdef void gather(Particles filter, const double* x, int first, int stop) noexcept nogil

cdef inline double* v_of(Particles filter, Py_ssize_t slot) noexcept nogil:
    """Regressors and target of an active sample."""
    return filter.active_v + slot * (filter.model.n_regressors + 1)

cdef inline double limited(double value) noexcept nogil:
    """Limit a regressor, so that products with others are finite."""
    return min(max(value, -LARGEST_REGRESSOR), LARGEST_REGRESSOR)
