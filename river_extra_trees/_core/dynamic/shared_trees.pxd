"""The trees of a particle filter, which share equal subtrees.

A particle is the id of a root. The structure of trees is persistent: a move copies the nodes on the
path from the root to the place of the move if other trees use them; all other nodes are shared and
reference-counted. So a node has the same region of the feature space and the same depth in all its
trees. A sample changes a leaf in the same way for all trees that contain it, so that leaves are
changed in place.

There are two arrays of structs, each with a free list, and the statistics of the leaves:

rows[leaf * 2 * width]           statistics of all samples of the leaf, active and retired
rows[leaf * 2 * width + width]   statistics of the retired samples
"""

from libc.stdint cimport int64_t, uint64_t

from ..schema cimport Schema
from ..split cimport Split, goes_left

cdef enum:
    MAX_DEPTH = 60      # leaves this deep are not split; the prior makes them improbable anyway

cdef struct Node:
    Split split         # of an inner node
    int64_t region      # nodes with one region contain the same samples: a leaf, the splits that
                        #   replace it in other trees, and the leaf to which these are pruned
    uint64_t stamp      # scratch of `gather`: `memo` is valid while this is the current epoch
    int memo            # scratch of `gather`
    int left            # node; for a leaf, its id in `leaves`; for a free node, the next free node
    int right           # node
    int refs            # references from roots and parents; 0: free
    int n_leaves        # number of leaves below; 1 for a leaf
    short depth         # 0 for the root

cdef struct Leaf:
    int64_t time        # number of samples of the stream up to which the weights have decayed
    double log_marginal     # log marginal likelihood of the row at `time`
    int* slots          # the n_active slots of the active samples of the leaf in the pool
    int n_active        # for a free leaf, the next free leaf
    int capacity        # of `slots`
    int stratum         # number of the forgetting factor
    bint is_linear      # whether log_marginal used the regressors

cdef class SharedTrees:
    cdef Node* nodes
    cdef Leaf* leaves
    cdef double* rows
    cdef int* stack             # scratch: node ids, as many as there are nodes
    cdef int n_nodes, node_capacity, free_node
    cdef int n_leaves, leaf_capacity, free_leaf
    cdef readonly int width     # doubles of one row of statistics
    cdef int nodes_in_use, leaves_in_use
    cdef int64_t n_regions      # the largest region so far

    cdef int new_node(self) except -1 nogil
    cdef int64_t new_region(self) noexcept nogil
    cdef int new_leaf(self, int depth, int64_t region, int n_slots) except -1 nogil
    cdef int leaf_for(self, int parent, int n_slots) except -1 nogil
    cdef int add_slot(self, Leaf* leaf, int slot) except -1 nogil
    cdef void remove_slot(self, Leaf* leaf, int slot) noexcept nogil
    cdef void add_references(self, int node, int n) noexcept nogil
    cdef void release(self, int node) noexcept nogil
    cdef list below(self, int node)
    cdef int distinct(self, const int* roots, int n_roots, int* found) noexcept nogil
    cdef bint append(self, int node, int* place) noexcept nogil
    cdef int own(self, int node) except -1 nogil
    cdef int path_copy(self, int at, const double* x, int depth, int node) except -1 nogil
    cdef int copy_node(self, int node) except -1 nogil
    cdef dict node_views(self)
    cdef dict leaf_views(self)
    cdef object nodes_below(self, const int* roots, int n_roots)
    cdef dict state(self, const int* roots, int n_roots)

    cdef inline double* total(self, int leaf) noexcept nogil:
        """Statistics of all samples of a leaf."""
        return self.rows + <size_t>leaf * 2 * self.width

    cdef inline double* retired(self, int leaf) noexcept nogil:
        """Statistics of the retired samples of a leaf."""
        return self.total(leaf) + self.width

cdef SharedTrees restored_trees(int width, Schema schema, bint published, dict fields)

cdef inline int side(const Node* node, const double* x) noexcept nogil:
    """The child of an inner node that x belongs to."""
    return node.left if goes_left(&node.split, x[node.split.feature]) else node.right

cdef inline Leaf* leaf_at(SharedTrees trees, int node) noexcept nogil:
    """The leaf of a node."""
    return &trees.leaves[trees.nodes[node].left]

cdef inline int pop(SharedTrees trees, int* n_stack) noexcept nogil:
    """Pop a node from the stack, and push its children, the right one last."""
    cdef int node
    n_stack[0] -= 1
    node = trees.stack[n_stack[0]]
    if trees.nodes[node].split.feature >= 0:
        trees.stack[n_stack[0]] = trees.nodes[node].left
        trees.stack[n_stack[0] + 1] = trees.nodes[node].right
        n_stack[0] += 2
    return node
