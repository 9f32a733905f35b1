"""The data of a cloud of dynamic trees.

One step is: weigh the particles by the predictive density of the new point, resample, add the
point, then let every particle stay, grow or prune at the leaf of the point. What does not differ
between particles is done once: a `Visit` is a distinct leaf that the point falls into, a `Group` a
distinct pair of such a leaf and its parent, which is all that stay and prune depend on.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from ..grove cimport MAX_DEPTH, Grove
from ..pool cimport Pool
from ..posterior cimport LeafModel
from ..schema cimport Labels, Schema
from .slopes cimport Slopes

cdef struct Visit:
    int node                # the leaf's node
    int n_particles         # that hold it
    int first               # the first of them, after the resampling; then follow `Particles.next`
    double log_weight       # log predictive density of the new point

cdef struct Group:
    int visit
    int parent              # node, or -1 where the leaf is the root
    int pruned              # node of the leaf that takes the parent's place, or -1
    double prune_odds       # of prune against stay; -1: not computed yet

cdef struct Cut:
    double threshold
    double* odds            # of this cut against stay, a cell of `Particles.memo`; NULL: no cut
    double u                # of the particle: which move is taken
    int column
    int start               # the present values in sorted order: `n_left` from `start` go left
    int n_left
    bint nominal
    bint missing_left

cdef enum:
    MAX_PROPOSALS = 100     # independent proposals per leaf and step; further particles repeat one
    MAX_DECAYS = 8
    MAX_REGRESSORS = 64     # numeric features after these are split on, but not regressed on

cdef class Particles:
    cdef readonly Schema schema
    cdef readonly Labels labels     # empty in a regression
    cdef readonly Pool pool
    cdef readonly Grove grove
    cdef LeafModel model
    cdef double* overall            # statistics of all samples, slowly fading: scale of the prior
    cdef double* v                  # scratch: the new point, see posterior
    cdef double* fill               # per regressor: running mean, stands in for a missing value
    cdef double* fill_weight
    cdef int* regressors            # column of each regressor
    cdef uint8_t* nominal           # per column
    cdef readonly double lowest, highest    # targets seen

    cdef readonly int n_particles
    cdef int n_alive                # n_particles, or twice that after a rejuvenation
    cdef int* roots                 # roots[particle]
    cdef int* resampled             # scratch
    cdef int* group_of              # scratch: group_of[particle]
    cdef int* regrouped             # scratch
    cdef int* next                  # scratch: next particle at the same visit
    cdef double* weights            # scratch
    cdef Visit* visits
    cdef Group* groups
    cdef int n_visits, n_groups
    cdef unsigned int tick          # number of the current gathering

    cdef readonly int window
    cdef public int min_samples_leaf        # a test raises it to keep the trees at their roots
    cdef readonly double alpha, beta
    cdef double decay               # of a new root
    cdef double decays[MAX_DECAYS]  # that particles may have, ascending
    cdef int n_decays
    cdef readonly bint reference
    cdef readonly bint linear       # leaves use the numeric features: the regressors
    cdef Slopes slopes              # of linear leaves in a classification; else None
    cdef readonly bint cuts_by_range    # proposals uniform over the range, not over the gaps
    cdef double prior_weight
    cdef double log_split[MAX_DEPTH + 2]
    cdef double log_stop[MAX_DEPTH + 2]
    cdef uint64_t seed
    cdef bint looking               # leaves shall not fade: an onlooker changes no bit
    cdef readonly int64_t n_seen    # samples learned: the clock of forgetting
    cdef readonly int64_t n_steps   # steps taken, those of a rejuvenation included
    cdef readonly double log_evidence
    cdef readonly double log_predictive     # of the last sample learned

    cdef int* order                 # order[column * capacity ...]: sorted slots of the current leaf
    cdef int* n_present             # per column: of these not missing; -1 where not sorted yet
    cdef double* memo               # memo[(2 column + missing_left) * (capacity + 1) + i]: odds of
                                    #   a cut, -1 where one is proposed; i is n_left, of a nominal
                                    #   column start
    cdef int* n_needed              # per column and missing_left: number of i proposed
    cdef uint64_t* bits             # scratch for sorting: a bit per rank in the pool
    cdef Cut* cuts                  # scratch: the proposal of each particle
    cdef double* sample_weight      # scratch, per slot: weight in the current leaf
    cdef double* row_small          # scratch rows, two each
    cdef double* row_other
    cdef double* row_child
    cdef int scratch_capacity
