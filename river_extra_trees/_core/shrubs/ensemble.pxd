"""The weighted ensemble of Algorithm 1: shrubs, their weights, and the window they learn from.

Trees stand in the order of their birth; position k is root k of the arena. Everything per tree is
an array over positions, with room for `n_models` trees and the newcomer.

The leaf of every (tree, remembered sample) is kept, so a sample walks down each tree once in its
life. For classification with the squared error the gradient is linear in the weights,

    dL/dw_k = 2 (sum_j gram[k, j] w_j - hits[k]) / (weight of the window * classes),

and `gram` and `hits` are running sums: they add the sample that came and subtract the one that
left. Cross-entropy and regression sum over the window in every round.
"""

from libc.stdint cimport int64_t, uint64_t

from ..cart.splitter cimport Splitter
from ..learner cimport Learner
from ..trees cimport Trees
from ..window cimport Window

cdef enum Loss:
    SQUARED_ERROR = 0
    CROSS_ENTROPY = 1

cdef class Shrubs(Learner):
    cdef readonly Window window
    cdef readonly Trees trees
    cdef readonly Splitter splitter
    # --- Settings, as in the estimators -------------------------------------------------------
    cdef readonly int n_models
    cdef readonly int window_size
    cdef readonly int loss
    cdef readonly int rounds
    cdef readonly int update_interval
    cdef readonly bint only_errors      # train a tree only on samples that were answered wrongly
    cdef readonly bint project_each_round
    cdef readonly object max_features
    cdef readonly double step_size      # 0 for the adaptive one
    cdef readonly double rho            # 0 where step size and l2 are given
    cdef readonly double l0             # strengths of the regularisers
    cdef readonly double l1
    cdef readonly double l2
    cdef readonly double node_penalty
    cdef readonly uint64_t seed
    cdef double feature_share           # of the features, looked at per split; or 0
    cdef int feature_count              # their number, or one of the rules in `ensemble.pyx`

    # --- State --------------------------------------------------------------------------------
    cdef readonly int64_t n_trained     # trees ever grown
    cdef double* weights        # the trees' weights; starts the one block of all arrays
    cdef double* hits           # hits[k] = sum over the window of weight * h_k(x)[y]
    cdef double* gradient       # scratch
    cdef double* gram           # gram[j * places + k] = sum of weight * <h_j(x), h_k(x)>
    cdef int64_t* births        # number of the sample after which the tree was grown
    cdef int* sizes             # nodes
    cdef int* answering         # scratch: leaves of a row
    cdef int* leaves            # leaves[k * window_size + slot] = leaf of tree k
    cdef double* outputs        # scratch: outputs[c * places + k] = h_k(x)[c]; a block of its own
    cdef double* slopes         # scratch: f(x)[c], or the derivative of the loss by it
    cdef int width              # outputs of a tree: classes, or 1
    cdef int width_capacity
    cdef double total_weight    # of the samples in the window
    cdef double reach           # scratch: the most that a step of 1 can give a newcomer
    cdef double centre          # scratch: of the targets in the window
    cdef double scale
    cdef int since_rebuild      # samples since gram and hits were summed afresh

    cdef int allocate(self, size_t places) except -1
    cdef int reserve_outputs(self, int width) except -1 nogil
    cdef void let_grow(self, Window window, Trees trees) noexcept
    cdef int n_features(self) noexcept nogil
    cdef bint push(self, double target, double weight) noexcept nogil
    cdef void train(self) noexcept nogil
    cdef void find_leaves(self) noexcept nogil
    cdef int load(self, object state) except -1
    cdef int check_samples(self) except -1
    cdef int check_weights(self) except -1
