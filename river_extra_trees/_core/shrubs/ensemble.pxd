"""The weighted ensemble of Algorithm 1: trees, their weights, and the window of samples.

Trees are ordered by age; tree k is root k of the arena. Arrays over the trees have room for
`n_models` trees and a new one.

The leaf of every sample of the window in every tree is stored, so that a sample passes down each
tree once. For classification with the squared error, the gradient is linear in the weights,

    dL/dw_k = 2 (sum_j gram[k, j] w_j - hits[k]) / (weight of the window * classes).

`gram` and `hits` are running sums, to which new samples are added and from which old ones are
subtracted. Cross-entropy and regression sum over the window in every round.
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
    cdef readonly bint only_errors      # train a tree only after a wrong prediction
    cdef readonly bint project_each_round
    cdef readonly object max_features
    cdef readonly double step_size      # 0: adaptive
    cdef readonly double rho            # 0: step_size and l2 are given
    cdef readonly double l0             # strengths of the regularisers
    cdef readonly double l1
    cdef readonly double l2
    cdef readonly double node_penalty
    cdef readonly uint64_t seed
    cdef double feature_share           # share of the features to try per split, or 0
    cdef int feature_count              # number of them, or one of the rules in `ensemble.pyx`

    # --- State --------------------------------------------------------------------------------
    cdef readonly int64_t n_trained     # number of trees grown so far
    cdef double* weights        # weights of the trees; start of the memory of all arrays
    cdef double* hits           # hits[k] = sum over the window of weight * h_k(x)[y]
    cdef double* gradient       # scratch
    cdef double* gram           # gram[j * places + k] = sum of weight * <h_j(x), h_k(x)>
    cdef int64_t* births        # number of the sample after which the tree was grown
    cdef int* sizes             # number of nodes
    cdef int* answering         # scratch: leaves of a row
    cdef int* leaves            # leaves[k * window_size + slot] = leaf of tree k
    cdef double* outputs        # scratch: outputs[c * places + k] = h_k(x)[c]; own memory
    cdef double* slopes         # scratch: f(x)[c], or the derivative of the loss with respect to it
    cdef int width              # number of outputs of a tree: classes, or 1
    cdef int width_capacity
    cdef double total_weight    # of the samples in the window
    cdef double reach           # scratch: largest weight that a new tree can get by a step of 1
    cdef double centre          # scratch: mean of the targets in the window
    cdef double scale
    cdef int since_rebuild      # samples since the last `rebuild` of gram and hits

    cdef int allocate(self, size_t places) except -1
    cdef int reserve_outputs(self, int width) except -1 nogil
    cdef void let_grow(self, Window window, Trees trees) noexcept
    cdef int n_features(self) noexcept nogil
    cdef bint push(self, double target, double weight) noexcept nogil
    cdef void train(self) noexcept nogil
    cdef void find_leaves(self) noexcept nogil
    cdef double* shares_in(self, const int* leaves, Py_ssize_t spacing) noexcept nogil
    cdef dict views(self)
    cdef int load(self, dict fields) except -1
    cdef int check_samples(self) except -1
    cdef int check_weights(self) except -1
