"""Decision trees in one arena: the data layout.

An arena is an array of nodes and an array of their statistics. A tree is identified by the node
number of its root. A learner with many trees may use one arena for all trees or one per tree.
Only leaves learn samples. An inner node is described by the sum of its leaves.

The children of a node are a pair: nodes 2 k and 2 k + 1, in either order, so the sibling of node i
is i ^ 1. A root is the first node of a pair whose second node is never used. What no walk reads is
stored once per pair.

A walk down a tree takes no branch that depends on a value: the next node is `left ^ turn`, and a
leaf leads to itself. So several trees or rows are walked side by side. A step has to wait for the
memory of a node, but not for the steps of other walks.
"""

from libc.math cimport NAN
from libc.stdint cimport uint8_t, uint16_t

from .allocation cimport free
from .moments cimport follow_moments
from .shares cimport first_largest
from .split cimport GROUP, ONE_VALUE, Split, is_in_group
from .window cimport Window

cdef enum:
    LANES = 8               # walks side by side
    STEPS = 3               # steps of all lanes between two tests whether they have ended
    HEADER = 2              # number of statistics before those of the target: the two below
    WEIGHT = 0              # total weight of the samples that this leaf has learned
    VISITED = 1             # number of the last batch with a sample in this leaf (0: none)
    MAX_CLASSES = 1 << 24   # of a restored arena, so that sizes do not overflow
    # Bits of `turns`. A leaf has none, a split has OTHERS_RIGHT:
    MISSING_RIGHT = 1       # missing values go right
    OTHERS_RIGHT = 2        # so do present values that do not go left
    UNUSED = 0xFFFF         # `feature` of a node that is in no tree

cdef const double FAINTEST = 1e-200     # a decayed class weight below this becomes 0

cdef struct Node:           # 16 bytes
    double threshold        # as in `Split`
    int left                # the left child; the right one is left ^ 1. Of a leaf: the leaf itself
    uint16_t feature        # column of the schema; 0 in a leaf
    uint8_t nominal         # as in `Split`; 0 in a leaf
    uint8_t turns           # which values go right

# --- Walks ----------------------------------------------------------------------------------------

cdef struct Walks:          # LANES walks side by side
    (const Node*)[LANES] trees      # the nodes of the tree of each walk
    int[LANES] roots                # the node at which it begins
    (const double*)[LANES] rows     # its row


cdef inline bint is_leaf(const Node* node) noexcept nogil:
    return node.turns == 0


cdef inline unsigned int turn(const Node* node, double value, bint numeric) noexcept nogil:
    """1 if a value of the feature goes right, else 0. In a leaf it is always 0.

    If all columns are `numeric`, there is no branch, else one for groups of values.
    """
    cdef unsigned int other = value > node.threshold
    if not numeric:
        other |= (value < node.threshold) & (node.nominal == ONE_VALUE)
        if node.nominal >= GROUP:
            other = value == value and not is_in_group(node.threshold, node.nominal, value)
    return ((other << 1 | (value != value)) & node.turns) != 0


cdef inline double value_in(const double* row, Py_ssize_t feature, Py_ssize_t stride,
                            Py_ssize_t n_columns, const int* lines) noexcept nogil:
    """The value of a row of `descend` in a column."""
    if n_columns < 0:
        return row[feature * stride]
    if feature >= n_columns or lines[feature] < 0:
        return NAN
    return row[lines[feature] * stride]


cdef inline void descend(const Walks* walks, int n, Py_ssize_t stride, Py_ssize_t n_columns,
                         const int* lines, bint numeric, int* leaves) noexcept nogil:
    """Find the leaves that n walks reach; see `walk_rows`.

    `lines` are those of a window with n_columns columns. Else n_columns is -1.
    """
    cdef (const Node*)[LANES] reached
    cdef const Node* this
    cdef unsigned int going = 1
    cdef int k, _
    for k in range(LANES):
        reached[k] = walks.trees[k] + walks.roots[k]
    while going:
        for _ in range(STEPS):
            for k in range(LANES):
                this = reached[k]
                reached[k] = walks.trees[k] + (this.left ^ <int>turn(
                    this, value_in(walks.rows[k], this.feature, stride, n_columns, lines),
                    numeric))
        going = 0
        for k in range(LANES):
            going |= reached[k].turns
    for k in range(n):
        leaves[k] = <int>(reached[k] - walks.trees[k])


cdef inline void walk(const Walks* walks, int n, Py_ssize_t stride, bint numeric,
                      int* leaves) noexcept nogil:
    """Find the leaves of n walks; the other lanes have some row and tree, too."""
    if numeric:
        descend(walks, n, stride, -1, NULL, True, leaves)
    else:
        descend(walks, n, stride, -1, NULL, False, leaves)


cdef inline void walk_window(const Walks* walks, int n, Window window, bint numeric,
                             int* leaves) noexcept nogil:
    """`walk` for samples of a window."""
    if numeric:
        descend(walks, n, window.capacity, window.n_columns, window.lines, True, leaves)
    else:
        descend(walks, n, window.capacity, window.n_columns, window.lines, False, leaves)


# --- Statistics of a leaf -------------------------------------------------------------------------

cdef inline void count_class(double* row, int code, double weight, double batch) noexcept nogil:
    """Add a sample of a class to the statistics of a node."""
    row[WEIGHT] += weight
    row[VISITED] = batch
    row[HEADER + code] += weight


cdef inline void count_number(double* row, double y, double weight, double batch,
                              double fading) noexcept nogil:
    """Add a number to the statistics of a node, after decay."""
    row[WEIGHT] = row[WEIGHT] * fading + weight
    row[VISITED] = batch
    row[HEADER + 1] *= fading
    follow_moments(row + HEADER, row + HEADER + 1, y, weight, row[WEIGHT])


cdef inline void fade_row(double* row, double fading, int n_values, bint regression) noexcept nogil:
    """Multiply the weights of the samples in a leaf by the decay factor."""
    cdef int code
    cdef double weight
    row[WEIGHT] *= fading
    if regression:
        row[HEADER + 1] *= fading       # the mean is unchanged
        return
    for code in range(HEADER, HEADER + n_values):
        weight = row[code] * fading
        row[code] = weight * (weight >= FAINTEST)   # avoids slow subnormal numbers, and a branch


cdef class Trees:
    # Statistics of node i: stats[i * width : (i + 1) * width]. They begin with WEIGHT and VISITED.
    # In a classification the weight of each class follows, by its code; in a regression the mean
    # and the sum of squared deviations from the mean follow. Those of an inner node are the ones
    # that it had when it was split.
    cdef Node* nodes
    cdef double* stats
    # Per pair, and the number of the pair is i // 2:
    cdef double* gains      # weighted decrease of impurity by the split of the parent
    cdef int* parents       # number of the parent, or -1 for a root
    cdef int* depths        # 0 for a root
    cdef readonly int n_values      # statistics of the target: number of known classes, or 2
    cdef readonly bint regression
    cdef readonly double fading     # decay factor of the leaves, see `learn`
    cdef int width                  # see `width_of`
    cdef int capacity               # number of allocated nodes, even
    cdef size_t n_cells             # allocated doubles in stats, at least capacity * width
    cdef int n_used                 # every node in use has a smaller number; even
    # The free pairs are a list: `free_pair` is one of the nodes of the first, -1 if there is none,
    # and `left` of that node is one of the next. The node in the list becomes the left child.
    cdef readonly int free_pair
    cdef int n_free                 # number of free pairs
    cdef int* roots
    cdef readonly int n_roots
    cdef int root_capacity
    cdef size_t set_bytes   # of the sets of values in the splits, which the arena owns
    cdef readonly bint is_former    # whether its nodes had other numbers in a file, see `renewed`

    cdef int reserve(self, Py_ssize_t n_pairs, int n_values) except -1 nogil
    cdef int width_of(self, int n_values) noexcept nogil
    cdef void trim(self, int n_pairs) noexcept nogil
    cdef void free_sets(self) noexcept nogil
    cdef list list_sets(self)
    cdef int fill_sets(self, dict fields) except -1
    cdef int reserve_roots(self, int n_roots) except -1 nogil
    cdef void take(self, Trees other) noexcept nogil
    cdef void widen(self, int n_values) noexcept nogil
    cdef int new_pair(self, int parent, int depth) noexcept nogil
    cdef int split(self, int leaf, const Split* split, double gain) noexcept nogil
    cdef void send_missing(self, int node, bint left) noexcept nogil
    cdef void cut(self, int left) noexcept nogil
    cdef void collapse(self, int node) noexcept nogil
    cdef void open(self, int node) noexcept nogil
    cdef int new_root(self) noexcept nogil
    cdef void remove(self, int tree) noexcept nogil
    cdef void clear(self, int node) noexcept nogil
    cdef void close(self, int leaf) noexcept nogil
    cdef void merge_children(self, int node) noexcept nogil
    cdef double weight_of(self, int leaf) noexcept nogil
    cdef double visited_of(self, int leaf) noexcept nogil
    cdef void add_leaf(self, int leaf, double* row) noexcept nogil
    cdef void shrink_to(self, int max_nodes) noexcept nogil
    cdef int after(self, int node) noexcept nogil
    cdef void link_bottom(self, int node, int next) noexcept nogil
    cdef int list_bottom_splits(self, int* first) noexcept nogil
    cdef int sort_by_use(self, int* at, int n) noexcept nogil
    cdef bint is_less_used(self, int a, int b) noexcept nogil
    cdef list below(self, int node)
    cdef dict views(self)
    cdef int fill(self, dict fields) except -1
    cdef int link(self) except -1
    cdef int link_tree(self, int root) except -1
    cdef bint is_unused(self, int node) noexcept nogil
    cdef int meet(self, int node, int parent, int depth) except -1
    cdef int check_leaves(self) except -1
    cdef void add_class(self, int node, int code, double weight, double batch) noexcept nogil
    cdef void add_number(self, int node, double y, double weight, double batch) noexcept nogil
    cdef void fade(self, int leaf) noexcept nogil

    cdef inline double* row(self, int node) noexcept nogil:
        return self.stats + <Py_ssize_t>node * self.width

    cdef inline int parent_of(self, int node) noexcept nogil:
        return self.parents[node >> 1]

    cdef inline int depth_of(self, int node) noexcept nogil:
        return self.depths[node >> 1]

    cdef inline int n_nodes_in_use(self) noexcept nogil:
        return self.n_used - 2 * self.n_free - self.n_roots

    cdef inline int leaf_below(self, int node, const double* row) noexcept nogil:
        """The leaf below `node` that a row, by column, reaches."""
        cdef const Node* this = &self.nodes[node]
        while not is_leaf(this):
            node = this.left ^ <int>turn(this, row[this.feature], False)
            this = &self.nodes[node]
        return node

    cdef inline int walk_slot(self, int node, Window window, int slot) noexcept nogil:
        """The leaf below `node` that a sample of a window reaches."""
        cdef const Node* this = &self.nodes[node]
        while not is_leaf(this):
            node = this.left ^ <int>turn(this, window.value(this.feature, slot), False)
            this = &self.nodes[node]
        return node

    cdef inline void walk_rows(self, int root, const double** rows, int n, Py_ssize_t stride,
                               bint numeric, int* leaves) noexcept nogil:
        """Find the leaves below `root` that n rows reach.

        rows[i][column * stride] is the value of row i in a column. The steps are shorter if all
        columns are `numeric`.
        """
        cdef Walks walks
        cdef int i = 0, k
        for k in range(LANES):
            walks.trees[k], walks.roots[k] = self.nodes, root
        while i < n:
            for k in range(LANES):
                walks.rows[k] = rows[min(i + k, n - 1)]
            walk(&walks, min(n - i, <int>LANES), stride, numeric, leaves + i)
            i += LANES

    cdef inline void walk_slots(self, int root, Window window, const int* slots, int n,
                                bint numeric, int* leaves) noexcept nogil:
        """`walk_rows` for n samples of a window."""
        cdef Walks walks
        cdef int i = 0, k
        for k in range(LANES):
            walks.trees[k], walks.roots[k] = self.nodes, root
        while i < n:
            for k in range(LANES):
                walks.rows[k] = window.data + slots[min(i + k, n - 1)]
            walk_window(&walks, min(n - i, <int>LANES), window, numeric, leaves + i)
            i += LANES

    cdef inline void learn(self, int leaf, double target, double weight,
                           double batch) noexcept nogil:
        """Add a sample to the statistics of its leaf, after decay."""
        cdef double* row = self.row(leaf)
        if self.regression:
            count_number(row, target, weight, batch, self.fading)
            return
        if self.fading < 1.0:
            fade_row(row, self.fading, self.n_values, False)
        count_class(row, <int>target, weight, batch)

    cdef inline int majority(self, int node) noexcept nogil:
        """The class with the largest weight in a node, the first if equal; -1 if it is empty."""
        cdef const double* row = self.row(node)
        return first_largest(row + HEADER, self.n_values) if row[WEIGHT] > 0.0 else -1
