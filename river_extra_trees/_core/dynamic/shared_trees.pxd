"""Trees that share their branches: the trees of a particle filter.

A particle is the id of a root. Trees are immutable in shape: a move copies the nodes between the
root and the place of the move (those that other trees need as well), everything else is shared and
reference-counted. The region of the feature space that a node stands for is therefore the same in
every tree that holds the node, and so is its depth. What a sample changes inside a leaf is
the same for every tree that holds the leaf, so leaves are edited in place, once for all trees.

Two arrays of structs, each with a free list, plus rows and slot lists:

rows[leaf * 2 * width]           statistics of all samples of the leaf, active and retired
rows[leaf * 2 * width + width]   statistics of the retired ones alone
slots[leaf.slots ...]            the slots in the pool of the leaf's active points, in a block of
                                 4, 8, 16, ... cells; free blocks of each size are chained
"""

from libc.stdint cimport int64_t, uint8_t

cdef enum:
    MAX_DEPTH = 60      # no leaf this deep is split: improbable by the prior, and memory is bounded
    MIN_BLOCK = 4
    N_BLOCK_SIZES = 26

cdef struct Node:
    double cut          # numeric: x <= cut goes left; nominal: x == cut goes left
    int64_t region      # nodes of one region hold the same samples: a leaf, the splits that replace
                        #   it in other trees, the leaf that these are pruned to
    int feature         # column, or -1 for a leaf
    int left            # node; of a leaf: its id in `leaves`; of a free node: the next free one
    int right           # node
    int refs            # trees and parents that point here; 0 when free
    int n_leaves        # leaves below, 1 for a leaf
    unsigned int stamp  # scratch of `gather`: `memo` is valid while this is the current epoch
    int memo            # scratch of `gather`
    short depth         # of the root: 0
    uint8_t nominal
    uint8_t missing_left    # where missing values go

cdef struct Leaf:
    int64_t time        # number of samples in the stream when the weights were last up to date
    double log_marginal     # of the row, as of `time`
    double decay        # forgetting factor per sample of the stream
    int slots           # start of the block; of a free leaf: the next free one
    int block           # size of the block is MIN_BLOCK << block
    int n_active
    bint is_linear      # log_marginal used the regressors

cdef class SharedTrees:
    cdef Node* nodes
    cdef Leaf* leaves
    cdef double* rows
    cdef int* slots
    cdef int* stack             # scratch: node ids, as many as there are nodes
    cdef int n_nodes, node_capacity, free_node
    cdef int n_leaves, leaf_capacity, free_leaf
    cdef int n_cells, cell_capacity
    cdef int free_block[N_BLOCK_SIZES]
    cdef readonly int width     # doubles of one row of statistics
    cdef readonly int nodes_in_use, leaves_in_use
    cdef readonly int64_t n_regions     # so far

    cdef int reserve(self, size_t n_nodes, size_t n_leaves, size_t n_cells) except -1 nogil
    cdef int new_node(self) noexcept nogil
    cdef int64_t new_region(self) noexcept nogil
    cdef int new_leaf(self, int depth, int64_t region, int n_slots) noexcept nogil
    cdef int leaf_for(self, int parent, int n_slots) noexcept nogil
    cdef int new_block(self, int block) noexcept nogil
    cdef void free_slots_of(self, Leaf* leaf) noexcept nogil
    cdef void add_slot(self, Leaf* leaf, int slot) noexcept nogil
    cdef void remove_slot(self, Leaf* leaf, int slot) noexcept nogil
    cdef void hold(self, int node) noexcept nogil
    cdef void count(self, int node, int change) noexcept nogil
    cdef void release(self, int node) noexcept nogil
    cdef list below(self, int node)
    cdef int distinct(self, const int* roots, int n_roots, int* found) noexcept nogil
    cdef bint append(self, int node, int* place) noexcept nogil
    cdef int own(self, int node) noexcept nogil
    cdef int path_copy(self, int root, const double* x, int depth, int node) noexcept nogil
    cdef size_t cells_in_use(self) noexcept nogil
    cdef SharedTrees compacted(self, int* roots, int n_roots)
    cdef int copy_node(self, SharedTrees other, int node) noexcept nogil
    cdef double* total(self, int leaf) noexcept nogil
    cdef double* retired(self, int leaf) noexcept nogil

cdef inline int side(const Node* node, const double* x) noexcept nogil:
    """The child of an inner node that x belongs to."""
    cdef double value = x[node.feature]
    cdef bint left
    if value != value:
        left = node.missing_left
    elif node.nominal:
        left = value == node.cut
    else:
        left = value <= node.cut
    return node.left if left else node.right

cdef inline Leaf* leaf_at(SharedTrees trees, int node) noexcept nogil:
    """What belongs to the node of a leaf."""
    return &trees.leaves[trees.nodes[node].left]

cdef inline int pop(SharedTrees trees, int* n_stack) noexcept nogil:
    """Take a node off the stack and put its children there, the right one on top."""
    cdef int node
    n_stack[0] -= 1
    node = trees.stack[n_stack[0]]
    if trees.nodes[node].feature >= 0:
        trees.stack[n_stack[0]] = trees.nodes[node].left
        trees.stack[n_stack[0] + 1] = trees.nodes[node].right
        n_stack[0] += 2
    return node

cdef inline int block_for(int n) noexcept nogil:
    """The smallest block with room for n slots."""
    cdef int block = 0
    while (MIN_BLOCK << block) < n:
        block += 1
    return block
