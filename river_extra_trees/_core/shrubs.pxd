"""The weighted ensemble of Algorithm 1: shrubs, their weights and what the gradient needs.

Trees stand in the order of their birth; position k is root k of the arena. Everything per tree is
an array over positions, with room for `n_models` trees and the newcomer.

The leaf of every (tree, remembered sample) is kept, so a sample walks down each tree once in its
life. For classification with the squared error the gradient is linear in the weights,

    dL/dw_k = 2 (sum_j gram[k, j] w_j - hits[k]) / (weight of the window * classes),

and `gram` and `hits` follow the window by adding the sample that came and subtracting the one that
went. Cross-entropy and regression sum over the window in every round.
"""

from libc.stdint cimport int64_t, uint64_t

from .schema cimport Labels, Schema
from .splitter cimport Splitter
from .trees cimport Trees
from .window cimport Window

cdef enum Loss:
    SQUARED_ERROR = 0
    CROSS_ENTROPY = 1

cdef class Shrubs:
    cdef readonly Schema schema
    cdef readonly Labels labels         # empty in a regression
    cdef readonly Window window
    cdef readonly Trees trees
    cdef readonly Splitter splitter
    cdef readonly int n_models
    cdef readonly int window_size
    cdef readonly int loss
    cdef readonly int rounds
    cdef readonly bint project_each_round
    cdef readonly double l0             # strengths of the regularisers
    cdef readonly double l1
    cdef readonly double node_penalty
    cdef readonly bint standardised     # regression: whether targets are
    cdef readonly bint lazy             # whether trees that cannot get a weight stay unplanted
    cdef readonly int64_t n_trained     # trees ever grown

    cdef double* weights        # the trees' weights; starts the one block of all arrays
    cdef double* hits           # hits[k] = sum over the window of weight * h_k(x)[y]
    cdef double* gradient       # scratch
    cdef double* gram           # gram[j * places + k] = sum of weight * <h_j(x), h_k(x)>
    cdef int64_t* births        # number of the sample after which the tree was grown
    cdef int* sizes             # nodes
    cdef int* answering         # scratch: leaves of a row to be predicted
    cdef int* leaves            # leaves[k * window_size + slot] = leaf of tree k
    cdef double* outputs        # scratch: outputs[c * places + k] = h_k(x)[c]; a block of its own
    cdef double* slopes         # scratch: f(x)[c], or the derivative of the loss by it
    cdef int width              # outputs of a tree: classes, or 1
    cdef double total_weight    # of the samples in the window
    cdef double reach           # the most that one step of 1 can give a newcomer
    cdef double centre          # of the targets in the window
    cdef double scale
    cdef int since_rebuild      # samples since gram and hits were summed afresh

    cdef int fill(self, const double[::1] weights, const int64_t[::1] births) except -1
    cdef double fill_sums(self, const double[::1] hits, const double[:, ::1] gram,
                          double total_weight, int since_rebuild) except -1
    cdef int widen(self, int width) except -1
    cdef bint sums_run(self) noexcept nogil
    cdef void evaluate(self, const double* x, Py_ssize_t stride, Py_ssize_t n_columns,
                       int* leaves, Py_ssize_t spacing) noexcept nogil
    cdef void gather(self, const int* leaves, Py_ssize_t spacing) noexcept nogil
    cdef double answer(self, int c) noexcept nogil
    cdef int answer_all(self, object x) except -1
    cdef double read_target(self, object y) except? -1.0
    cdef bint push(self, double target, double weight) noexcept nogil
    cdef void count(self, int slot, double sign) noexcept nogil
    cdef void rebuild(self) noexcept nogil
    cdef bint is_hopeless(self, double step_size, double l2) noexcept nogil
    cdef int train(self, uint64_t seed, int max_features) except -1
    cdef void count_newcomer(self, int newcomer) noexcept nogil
    cdef void weigh(self, double step_size, double l2) noexcept nogil
    cdef void standardise(self) noexcept nogil
    cdef void find_gradient(self, double l2) noexcept nogil
    cdef void gradient_from_sums(self) noexcept nogil
    cdef void gradient_of_numbers(self) noexcept nogil
    cdef void gradient_of_entropy(self) noexcept nogil
    cdef void softmax(self) noexcept nogil
    cdef void project(self, double step_size) noexcept nogil
    cdef void threshold(self, double step_size) noexcept nogil
    cdef int prune(self) except -1
