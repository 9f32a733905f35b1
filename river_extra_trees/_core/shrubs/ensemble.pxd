"""The weighted ensemble of Algorithm 1: shrubs, their weights and what the gradient needs.

Trees stand in the order of their birth; position k is root k of the arena. Everything per tree is
an array over positions, with room for `n_models` trees and the newcomer.

The leaf of every (tree, remembered sample) is kept, so a sample walks down each tree once in its
life. For classification with the squared error the gradient is linear in the weights,

    dL/dw_k = 2 (sum_j gram[k, j] w_j - hits[k]) / (weight of the window * classes),

and `gram` and `hits` follow the window by adding the sample that came and subtracting the one that
went. Cross-entropy and regression sum over the window in every round.
"""

from libc.stdint cimport int64_t

from ..cart.splitter cimport Splitter
from ..schema cimport Labels, Schema
from ..trees cimport Trees
from ..window cimport Window

cdef enum Loss:
    SQUARED_ERROR = 0
    CROSS_ENTROPY = 1

cdef enum:
    REBUILD = 16        # windows after which the running sums are summed afresh, against drift

cdef class Ensemble:
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
    cdef int width_capacity
    cdef double total_weight    # of the samples in the window
    cdef double reach           # the most that one step of 1 can give a newcomer
    cdef double centre          # of the targets in the window
    cdef double scale
    cdef int since_rebuild      # samples since gram and hits were summed afresh

    cdef int reserve_outputs(self, int width) except -1
    cdef int reserve(self, int width) except -1
