"""Leaps of rows that have few of the features. See the header."""

from libc.math cimport NAN
from libc.stdint cimport int64_t, uint32_t

from .allocation cimport zeroed
from .rng cimport mix
from .tree cimport Leap, depth_of, forget_leaps, is_leaf, n_nodes_of, parent_of, turn, walk_trees


cdef extern from "bits.h":
    void load_ahead(const void* at) nogil

cdef enum:
    AHEAD = 4               # trees, whose leaps are loaded meanwhile


# --- The table ------------------------------------------------------------------------------------


cdef inline uint32_t place_of(const Tree* tree, int start, int feature) noexcept nogil:
    """The first slot where a leap may be."""
    return <uint32_t>(mix(<uint64_t>start << 16 | <uint64_t>feature) >> (64 - tree.leap_bits))


cdef inline Leap* slot_of(const Tree* tree, int start, int feature) noexcept nogil:
    """The leap from a node by a feature, or the free slot where it would be."""
    cdef uint32_t last = (<uint32_t>1 << tree.leap_bits) - 1
    cdef uint32_t at = place_of(tree, start, feature)
    while tree.leaps[at].node != 0 and (
            tree.leaps[at].start != start or tree.leaps[at].feature != feature):
        at = (at + 1) & last
    return &tree.leaps[at]


cdef inline const Leap* find(const Tree* tree, int start, int feature) noexcept nogil:
    """The leap from a node by a feature; NULL: there is none."""
    cdef const Leap* found = slot_of(tree, start, feature)
    return found if found.node != 0 else NULL       # no leap leads to the root


cdef inline void set_leap(Tree* tree, int start, int feature, int node, int depth) noexcept nogil:
    cdef Leap* slot = slot_of(tree, start, feature)
    tree.n_leaps += slot.node == 0
    slot.start, slot.feature, slot.node, slot.depth = start, feature, node, depth


cdef inline bint has_room(const Tree* tree, int n) noexcept nogil:
    """Whether at most two thirds of the slots are in use with n more."""
    return 3 * <int64_t>(tree.n_leaps + n) <= <int64_t>2 << tree.leap_bits


cdef int make_leaps(Tree* tree) except -1 nogil:
    """Make the leaps of a tree anew if it has at least doubled since this was done."""
    cdef int node, end, n, n_leaps = 0, n_nodes = n_nodes_of(tree)
    if n_nodes < 2 * max(tree.n_leapt, <int>LEAST_CHAIN):
        return 0
    forget_leaps(tree)
    for node in range(tree.n_used):
        if is_head(tree, node):
            n = length_of_chain(tree, node, &end)
            n_leaps += n + 2 if n >= LEAST_CHAIN else 0
    tree.n_leapt = n_nodes
    if n_leaps == 0:
        return 0
    while not has_room(tree, n_leaps):
        tree.leap_bits += 1
    tree.leaps = <Leap*>zeroed(<size_t>1 << tree.leap_bits, sizeof(Leap))
    for node in range(tree.n_used):
        if is_head(tree, node) and length_of_chain(tree, node, &end) >= LEAST_CHAIN:
            add_splits(tree, node, node, end)
    return 0


cdef void extend_leaps(Tree* tree, int end) noexcept nogil:
    """Let the chain that ended at a leaf go on if that has been split.

    If there is no room, the next `make_leaps` makes it.
    """
    cdef const Leap* own = find(tree, end, HEAD) if tree.leaps != NULL else NULL
    cdef int new_end
    if own == NULL or is_leaf(&tree.nodes[end]):
        return
    if has_room(tree, length_of_chain(tree, end, &new_end) + 1):
        add_splits(tree, own.depth, end, new_end)
    else:
        tree.n_leapt = 0


cdef inline bint is_head(const Tree* tree, int node) noexcept nogil:
    """Whether a chain with a split begins at a node."""
    cdef int parent
    if is_leaf(&tree.nodes[node]):
        return False
    parent = parent_of(tree, node)
    return parent < 0 or missing_side(&tree.nodes[parent]) != node


cdef int length_of_chain(const Tree* tree, int head, int* end) noexcept nogil:
    """The number of splits of a chain; find the leaf at its end."""
    cdef int node = head
    while not is_leaf(&tree.nodes[node]):
        node = missing_side(&tree.nodes[node])
    end[0] = node
    return depth_of(tree, node) - depth_of(tree, head)


cdef void add_splits(Tree* tree, int head, int first, int end) noexcept nogil:
    """Add the leaps of the last splits of a chain, `first` and those below, the last one first."""
    cdef int node = end, feature
    cdef int start
    cdef Leap* slot
    set_leap(tree, head, END, end, depth_of(tree, end) - depth_of(tree, head))
    set_leap(tree, end, HEAD, end, head)
    while node != first:
        node = parent_of(tree, node)
        feature, start = tree.nodes[node].feature, head
        slot = slot_of(tree, start, feature)
        while slot.node != 0 and slot.depth < depth_of(tree, node):
            start = slot.node
            slot = slot_of(tree, start, feature)
        if slot.node != 0:
            set_leap(tree, node, feature, slot.node, slot.depth)
        if node != head:
            set_leap(tree, start, feature, node, depth_of(tree, node))


# --- Walks ----------------------------------------------------------------------------------------


cdef inline double value_of(const Present* present, int column) noexcept nogil:
    """The value of a column; NaN if the row has none."""
    cdef int k
    if present.marks >> (column & 63) & 1:
        for k in range(present.n):
            if present.columns[k] == column:
                return present.values[k]
    return NAN


cdef int leap(const Tree* tree, const Present* present) noexcept nogil:
    """The leaf of a tree with leaps that a row reaches."""
    cdef int node = 0, child
    cdef bint begins = True         # whether a chain begins at the node
    cdef const Node* this = tree.nodes
    cdef const Leap* end
    while not is_leaf(this):
        end = find(tree, node, END) if begins else NULL
        child = this.left ^ <int>turn(this, value_of(present, this.feature), False)
        begins = child != missing_side(this)
        if not begins and end != NULL and end.depth >= LEAST_OF_VALUES * present.n:
            begins = leave_chain(tree, present, node, &child)
            if not begins:
                child = end.node
        node = child
        this = &tree.nodes[node]
    return node


cdef bint leave_chain(const Tree* tree, const Present* present, int head,
                      int* child) noexcept nogil:
    """Find the child to which a row goes where it leaves a chain after its head.

    Returns False if the row reaches the end.
    """
    cdef (const Leap*)[MOST_PRESENT] next
    cdef const Node* this
    cdef int k, best
    for k in range(present.n):
        next[k] = find(tree, head, present.columns[k])
    while True:
        best = -1
        for k in range(present.n):
            if next[k] != NULL and (best < 0 or next[k].depth < next[best].depth):
                best = k
        if best < 0:
            return False
        this = &tree.nodes[next[best].node]
        child[0] = this.left ^ <int>turn(this, present.values[best], False)
        if child[0] != missing_side(this):
            return True
        next[best] = find(tree, next[best].node, present.columns[best])


cdef inline void load_first(const Tree* tree, const Present* present) noexcept nogil:
    """Load what the walk down a tree reads first."""
    cdef int k
    load_ahead(tree.nodes)
    load_ahead(tree.leaps + place_of(tree, 0, END))
    for k in range(present.n):
        load_ahead(tree.leaps + place_of(tree, 0, present.columns[k]))


cdef void leap_trees(const Tree* trees, int n, Schema schema, int* leaves) noexcept nogil:
    """Find the leaves that the row of a schema, which has few values, reaches in n trees."""
    cdef Present present
    cdef int k, i = 0, stop
    present.n, present.marks = 0, 0
    for k in range(schema.n_filled):
        add_present(&present, schema.filled[k], schema.row[schema.filled[k]])
    while i < n:
        stop = i
        while stop < n and trees[stop].leaps == NULL:
            stop += 1
        if stop > i:
            walk_trees(trees + i, stop - i, schema, leaves + i)
            i = stop
        else:
            if i + AHEAD < n and trees[i + AHEAD].leaps != NULL:
                load_first(trees + i + AHEAD, &present)
            leaves[i] = leap(trees + i, &present)
            i += 1
