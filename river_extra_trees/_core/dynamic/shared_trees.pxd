"""The trees of a particle filter, which share equal subtrees.

A particle is the id of a root. The structure of trees is persistent: a move copies the nodes on the
path from the root to the place of the move if other trees use them; all other nodes are shared and
reference-counted. So a node has the same region of the feature space and the same depth in all its
trees. A sample changes a leaf in the same way for all trees that contain it, so that leaves are
changed in place.

A leaf is a struct in front of two rows of statistics, see `linalg`: those of all its samples, and
those of its retired samples.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from ..parts cimport Owner
from ..schema cimport Schema
from ..split cimport Split, goes_left

cdef enum:
    MAX_DEPTH = 60      # leaves this deep are not split; the prior makes them improbable anyway

cdef struct Leaf:
    double* total       # statistics of all samples, active and retired
    double* retired     # statistics of the retired samples
    int* slots          # the n_active slots of the active samples in the pool
    int n_active
    int capacity        # of `slots`
    int64_t time        # number of samples of the stream up to which the weights have decayed
    double log_marginal     # log marginal likelihood of `total` at `time`
    int stratum         # number of the forgetting factor
    bint is_linear      # whether log_marginal used the regressors

cdef struct Node:
    Split split         # of an inner node
    int64_t region      # nodes with one region contain the same samples: a leaf, the splits that
                        #   replace it in other trees, and the leaf to which these are pruned
    Leaf* leaf          # NULL: an inner node
    uint64_t stamp      # scratch of `gather`: `memo` is valid while this is the current epoch
    int memo            # scratch of `gather`
    int left            # node; for a free node, the next free node
    int right           # node
    int refs            # references from roots and parents; 0: free
    int n_leaves        # number of leaves below; 1 for a leaf
    short depth         # 0 for the root

cdef class SharedTrees(Owner):
    cdef Node* nodes
    cdef int* stack             # scratch: node ids, as many as there are nodes
    cdef int n_nodes            # in use or free
    cdef int capacity           # of `nodes`
    cdef int free_node          # the first free node, or -1
    cdef int width     # doubles of one row of statistics
    cdef int nodes_in_use, leaves_in_use
    cdef int64_t n_regions      # the largest region so far

    cdef void hold_columns(self, uint8_t* held) noexcept nogil
    cdef int new_node(self) except -1 nogil
    cdef int new_leaf(self, int depth, int n_slots) except -1 nogil
    cdef int leaf_for(self, int parent, int n_slots) except -1 nogil
    cdef int add_slot(self, Leaf* leaf, int slot) except -1 nogil
    cdef void remove_slot(self, Leaf* leaf, int slot) noexcept nogil
    cdef void add_references(self, int node, int n) noexcept nogil
    cdef void release(self, int node) noexcept nogil
    cdef list below(self, int node)
    cdef object nodes_below(self, const int* roots, int n_roots)
    cdef bint append(self, int node, int* place) noexcept nogil
    cdef int own(self, int node) except -1 nogil
    cdef int path_copy(self, int at, const double* x, int depth, int node) except -1 nogil
    cdef int copied_leaf(self, int node) except -1 nogil
    cdef int copied_split(self, int node) except -1 nogil
    cdef dict views(self)
    cdef dict sets_of(self, object owners)
    cdef dict state(self, const int* roots, int n_roots, const int[::1] number_of)

cdef Leaf* empty_leaf(int width) except NULL nogil
cdef SharedTrees restored_trees(int width, Schema schema, bint published, dict fields)

cdef inline int side(const Node* node, const double* x) noexcept nogil:
    """The child of an inner node that x belongs to."""
    return node.left if goes_left(&node.split, x[node.split.feature]) else node.right

cdef inline int pop(SharedTrees trees, int* n_stack) noexcept nogil:
    """Pop a node from the stack, and push its children, the right one last."""
    cdef int node
    n_stack[0] -= 1
    node = trees.stack[n_stack[0]]
    if trees.nodes[node].leaf == NULL:
        trees.stack[n_stack[0]] = trees.nodes[node].left
        trees.stack[n_stack[0] + 1] = trees.nodes[node].right
        n_stack[0] += 2
    return node
