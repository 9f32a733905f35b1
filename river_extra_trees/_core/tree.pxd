"""A tree: the data layout, and what is done to it.

The children of a node are a pair: nodes 2 k and 2 k + 1, in either order, so the sibling of node i
is i ^ 1. The root is node 0, and node 1 is never used. What no walk reads is stored once per pair.
Only leaves learn samples. An inner node is described by the sum of its leaves.

A walk down a tree takes no branch that depends on a value: the next node is `left ^ turn`, and a
leaf leads to itself. So one row is walked down several trees side by side (`walk_trees`): a step
has to wait for the memory of a node, but not for the steps of other walks. Many rows go down one
tree together (`walk_rows`): each node divides those that reach it.

The statistics of a leaf of a classification take no more memory than its node, if all its samples
are of one class. They are in the node, too: its weight is `threshold`, and

    left >= 0       all the weight is of this class
    left = -1       there is no class
    otherwise       -2 - left is the first cell of a list: one cell per class

If a tree is grown until its leaves are pure, most leaves have one class. A leaf has at most as many
cells as it has learned samples.

A leaf of a regression has two moments beside its weight; its `left` is -2 - their number. There is
one leaf more than splits, so there are as many moments as pairs. The root begins with number 0; of
the children of a split, the left one takes over that of the parent, and the right one has that of
the pair.

A tree owns the sets of values of its splits, see `value_sets`. Who explains predictions keeps sums
of the leaves below its inner nodes there, see `explain`; what changes a leaf forgets those above.
"""

from libc.math cimport NAN
from libc.stdint cimport uint8_t, uint16_t

from .moments cimport follow_moments
from .schema cimport Schema
from .split cimport ONE_VALUE, VALUES, Split
from .value_sets cimport ValueSet, values_at, values_go_left
from .window cimport Window

cdef enum:
    LARGEST_ARENA = 1 << 29     # nodes: twice this number fits into 32 bits
    LARGEST_CELLS = 1 << 30
    LANES = 8               # walks of a row side by side
    FEW_WALKS = 2           # so many go alone
    STEPS = 3               # steps of all lanes between two tests whether they have ended
    # Bits of `turns`. A leaf has none, a split has OTHERS_RIGHT:
    MISSING_RIGHT = 1       # missing values go right
    OTHERS_RIGHT = 2        # so do present values that do not go left
    UNUSED = 0xFFFF         # `feature` of a node that is not in the tree

cdef enum RowKind:
    ANY = 0
    NUMERIC = 1             # no column is nominal
    COMPLETE = 2            # besides, no value is missing

cdef const double FAINTEST = 1e-200     # a decayed class weight below this becomes 0

cdef struct Node:           # 16 bytes
    double threshold        # of a split, as in `Split`; of a leaf its weight
    int left                # the left child; the right one is left ^ 1. Of a leaf: its class
    uint16_t feature        # column of the schema; 0 in a leaf
    uint8_t nominal         # as in `Split`; 0 in a leaf
    uint8_t turns           # which values go right

cdef struct Cell:           # 16 bytes: a class of a leaf
    double weight
    int code
    int next                # the next cell of the leaf, or of the free cells; or -1

cdef struct ClassShare:     # of a class in a leaf
    double share
    int code

cdef struct Leap:           # 16 bytes; see `leaps`
    int start, feature
    int node                # where it ends; 0: a free slot
    int depth               # of that; of a leap to the end of a chain: its number of splits; from
                            #   the end: where the chain begins

cdef struct Kind:           # of all trees of a forest
    bint regression
    bint with_visits        # whether leaves know when they were visited
    bint with_impurities    # whether inner nodes know their impurity when they were split
    double fading           # decay factor: the weights of a leaf are multiplied by it before the
                            #   leaf learns a sample

cdef struct Tree:
    Node* nodes             # begin of the block of memory that holds all but the cells
    # Per leaf, or NULL if the tree is of another kind:
    double* moments         # moments[2 * number]: mean, sum of squared deviations from it
    # Per node, or NULL:
    double* visited         # number of the last batch with a sample in the leaf (0: none); of an
                            #   inner node, when it was split
    # Per pair; the number of the pair is node // 2:
    double* gains           # weighted decrease of impurity by the split of the parent
    double* impurities      # impurity of the parent when it was split
    int* parents            # -1 of the root
    int* depths             # 0 of the root
    int capacity            # number of nodes for which there is room, even
    int n_used              # every node in use has a smaller number; even
    # The free pairs are a list: `free_pair` is one of the nodes of the first, -1 if there is none,
    # and `left` of that node is one of the next. The node in the list becomes the left child.
    int free_pair
    int n_free              # number of free pairs
    Cell* cells
    int cell_capacity
    int n_cells_used        # every cell in use has a smaller number
    int free_cell           # the first free cell, or -1
    int n_free_cells
    size_t set_bytes        # of the sets of values
    double* subtotals       # subtotals[pair * n_subtotals + k], of the parent of the pair: its
                            #   weight, NaN if they are not known, then other sums. NULL: none
    int n_subtotals         # number of these values per pair
    int subtotal_pairs      # number of pairs with memory for them
    Leap* leaps             # 1 << leap_bits slots of a hash table; NULL: there are none
    int leap_bits
    int n_leaps             # number of slots that are in use
    int n_leapt             # number of nodes when they were made, or found to be none

# --- Memory ---------------------------------------------------------------------------------------

cdef void begin_tree(Tree* tree) noexcept nogil
cdef void free_tree(Tree* tree) noexcept nogil
cdef int reserve_pairs(Tree* tree, const Kind* kind, Py_ssize_t n) except -1 nogil
cdef int allocate_cells(Tree* tree, Py_ssize_t n) except -1 nogil
cdef int copy_tree(Tree* to, const Tree* tree, const Kind* kind) except -1 nogil
cdef void trim(Tree* tree, const Kind* kind, int n_pairs) noexcept nogil
cdef ValueSet* give_set(Tree* tree, int node, int n, bint others_left) except NULL nogil
cdef int move_value(Tree* tree, int node, double code) except -1 nogil
cdef size_t bytes_of_tree(const Tree* tree, const Kind* kind) noexcept nogil


cdef inline int reserve_cells(Tree* tree, Py_ssize_t n) except -1 nogil:
    """Allocate memory for n more cells; called per tree and sample."""
    if tree.n_cells_used - tree.n_free_cells + n <= tree.cell_capacity:
        return 0
    return allocate_cells(tree, n)


cdef inline int reserve_samples(Tree* tree, Py_ssize_t n) except -1 nogil:
    """Allocate memory for the cells of a tree that learns n samples in all."""
    return reserve_cells(tree, n - (tree.n_cells_used - tree.n_free_cells))


# --- Nodes ----------------------------------------------------------------------------------------

cdef void uproot(Tree* tree) noexcept nogil
cdef void forget_subtotals(Tree* tree) noexcept nogil
cdef void forget_leaps(Tree* tree) noexcept nogil
cdef void plant(Tree* tree) noexcept nogil
cdef int split_leaf(Tree* tree, int leaf, const Split* split, double gain) noexcept nogil
cdef void send_missing(Tree* tree, int node, bint left) noexcept nogil
cdef int shrink(Tree* tree, int max_nodes) except -1 nogil
cdef void hold_splits(const Tree* tree, uint8_t* held) noexcept nogil
cdef void hold_sets(const Tree* tree, uint8_t* held) noexcept nogil


cdef inline bint is_leaf(const Node* node) noexcept nogil:
    return node.turns == 0


cdef inline int parent_of(const Tree* tree, int node) noexcept nogil:
    return tree.parents[node >> 1]


cdef inline int depth_of(const Tree* tree, int node) noexcept nogil:
    return tree.depths[node >> 1]


cdef inline int next_below(const Tree* tree, int node, int top) noexcept nogil:
    """The next node in preorder, of those below `top`; -1: there is none."""
    if not is_leaf(&tree.nodes[node]):
        return tree.nodes[node].left
    while node != top and node != tree.nodes[parent_of(tree, node)].left:
        node = parent_of(tree, node)
    return -1 if node == top else node ^ 1


cdef inline int n_nodes_of(const Tree* tree) noexcept nogil:
    return tree.n_used - 2 * tree.n_free - 1


# --- Walks ----------------------------------------------------------------------------------------

cdef struct Rows:           # rows[i], a row, has values[line * stride + i] in a column
    const double* values
    Py_ssize_t stride
    const int* lines        # the line of each column; -1: all its values are missing. NULL: the
                            #   line has the number of the column
    Py_ssize_t n_columns    # with a line in `lines`; all values of later columns are missing
    Py_ssize_t n_long       # lines from here on are short (`window`): in line n_long + i, only
    const int* short_order      # row short_order[i] has a value,
    const double* short_value   # short_value[i]


cdef void walk_rows(const Tree* tree, const Rows* rows, const int* which, int n,
                    int* leaves) noexcept nogil


cdef inline unsigned int turn(const Node* node, double value, bint numeric) noexcept nogil:
    """1 if a value of the feature goes right, else 0. In a leaf it is always 0.

    If all columns are `numeric`, there is no branch, else one for groups of values.
    """
    cdef unsigned int other = value > node.threshold
    if not numeric:
        other |= (value < node.threshold) & (node.nominal == ONE_VALUE)
        if node.nominal == VALUES:
            other = value == value and not values_go_left(values_at(node.threshold), value)
    return ((other << 1 | (value != value)) & node.turns) != 0


cdef inline bint reaches(const Tree* tree, int node, int column, double code) noexcept nogil:
    """Whether no split above a node on a nominal column sends a value elsewhere."""
    cdef int parent = parent_of(tree, node)
    cdef const Node* above
    while parent >= 0:
        above = &tree.nodes[parent]
        if above.feature == column and above.left ^ <int>turn(above, code, False) != node:
            return False
        node, parent = parent, parent_of(tree, parent)
    return True


cdef inline Rows rows_by_column(const double* values, Py_ssize_t stride) noexcept nogil:
    """Rows with values[column * stride + i]."""
    cdef Rows rows
    rows.values, rows.stride, rows.lines, rows.n_columns = values, stride, NULL, 0
    rows.n_long, rows.short_value, rows.short_order = 0, NULL, NULL
    return rows


cdef inline Rows rows_of(Window window) noexcept nogil:
    """The samples of a window; the number of a row is its slot."""
    cdef Rows rows
    rows.values, rows.stride = window.data, window.capacity
    rows.lines, rows.n_columns, rows.n_long = window.lines, window.n_columns, window.n_long
    rows.short_value, rows.short_order = window.short_value, window.short_order
    return rows


cdef inline const double* column_in(const Rows* rows, Py_ssize_t column) noexcept nogil:
    """The values of a column, or NULL if all are missing, or all but one."""
    if rows.lines == NULL:
        return rows.values + column * rows.stride
    if column >= rows.n_columns or rows.lines[column] < 0 or rows.lines[column] >= rows.n_long:
        return NULL
    return rows.values + rows.lines[column] * rows.stride


cdef inline bint has_one(const Rows* rows, Py_ssize_t column) noexcept nogil:
    """Whether a column has a short line."""
    return rows.lines != NULL and column < rows.n_columns and rows.lines[column] >= rows.n_long


cdef inline double value_in(const Rows* rows, Py_ssize_t column, int row) noexcept nogil:
    """The value of a row in a column."""
    cdef const double* values = column_in(rows, column)
    cdef Py_ssize_t line
    if values != NULL:
        return values[row]
    if has_one(rows, column):
        line = rows.lines[column] - rows.n_long
        if rows.short_order[line] == row:
            return rows.short_value[line]
    return NAN


cdef inline int walk_slot(const Tree* tree, Window window, int slot) noexcept nogil:
    """The leaf that a sample of a window reaches."""
    cdef int node = 0
    cdef const Node* this = tree.nodes
    while not is_leaf(this):
        node = this.left ^ <int>turn(this, window.value(this.feature, slot), False)
        this = &tree.nodes[node]
    return node


cdef inline void descend(const Tree* trees, int n, const double* row, RowKind kind,
                         int* leaves) noexcept nogil:
    """Find the leaves that a row reaches in n trees, at most LANES; the other lanes are idle."""
    cdef (const Node*)[LANES] roots
    cdef (const Node*)[LANES] reached
    cdef const Node* this
    cdef size_t next, go
    cdef unsigned int right, going = 1
    cdef double value
    cdef int k, _
    for k in range(LANES):
        roots[k] = reached[k] = trees[min(k, n - 1)].nodes
    while going:
        for _ in range(STEPS):
            for k in range(LANES):
                this = reached[k]
                value = row[this.feature]
                # In a leaf this may be wrong if the row is complete: it does not matter.
                right = (value > this.threshold if kind == COMPLETE
                         else turn(this, value, kind == NUMERIC))
                next = <size_t>(roots[k] + (<unsigned int>this.left ^ right))
                # All bits of `go` are set in a split, none in a leaf.
                go = -(<size_t>this.turns // OTHERS_RIGHT)
                reached[k] = <const Node*>(<size_t>this ^ ((<size_t>this ^ next) & go))
        going = 0
        for k in range(LANES):
            going |= reached[k].turns
    for k in range(min(n, <int>LANES)):
        leaves[k] = <int>(reached[k] - roots[k])


cdef inline void walk_trees(const Tree* trees, int n, Schema schema, int* leaves) noexcept nogil:
    """Find the leaves that the row of a schema reaches in n trees."""
    cdef const double* row = schema.row
    cdef Rows rows = rows_by_column(row, 1)
    cdef RowKind kind = ANY
    cdef int tree = 0
    if schema.is_numeric():
        kind = COMPLETE if schema.is_complete() else NUMERIC
    while n - tree > FEW_WALKS:
        if kind == COMPLETE:
            descend(trees + tree, n - tree, row, COMPLETE, leaves + tree)
        elif kind == NUMERIC:
            descend(trees + tree, n - tree, row, NUMERIC, leaves + tree)
        else:
            descend(trees + tree, n - tree, row, ANY, leaves + tree)
        tree += LANES
    for tree in range(tree, n):         # for a few, other lanes would be in vain
        walk_rows(trees + tree, &rows, NULL, 1, leaves + tree)


# --- Leaves ---------------------------------------------------------------------------------------

cdef inline void touch(Tree* tree, int leaf) noexcept nogil:
    """A leaf changes: the subtotals above it are no longer known, if they were."""
    cdef int pair = leaf >> 1
    cdef double* weight
    if tree.subtotals == NULL:
        return
    while 0 < pair < tree.subtotal_pairs:
        weight = &tree.subtotals[<Py_ssize_t>pair * tree.n_subtotals]
        if weight[0] != weight[0]:      # nor are those above
            return
        weight[0] = NAN
        pair = tree.parents[pair] >> 1


cdef void clear(Tree* tree, int leaf) noexcept nogil
cdef void fade_classes(Tree* tree, int leaf, double fading) noexcept nogil
cdef void add_class(Tree* tree, int leaf, int code, double weight) noexcept nogil
cdef void set_classes(Tree* tree, int leaf, double weight, const int* codes,
                      const double* counts, int n_classes) noexcept nogil
cdef void read_classes(const Tree* tree, int leaf, double* counts, int n_classes) noexcept nogil
cdef void add_leaf(const Tree* tree, int leaf, double* weight, double* values) noexcept nogil
cdef int majority(const Tree* tree, int leaf) noexcept nogil
cdef void mark_in_leaves(const Tree* tree, uint8_t* met) noexcept nogil
cdef void forget_in_leaves(Tree* tree, const uint8_t* gone) noexcept nogil


cdef inline double weight_of(const Tree* tree, int leaf) noexcept nogil:
    return tree.nodes[leaf].threshold


cdef inline int first_cell(const Tree* tree, int leaf) noexcept nogil:
    """The first cell of a leaf, or a negative number if it has none."""
    return -2 - tree.nodes[leaf].left


cdef inline double weight_of_class(const Tree* tree, int leaf, int code) noexcept nogil:
    cdef int cell = first_cell(tree, leaf)
    if tree.nodes[leaf].left == code:
        return weight_of(tree, leaf)
    while cell >= 0:
        if tree.cells[cell].code == code:
            return tree.cells[cell].weight
        cell = tree.cells[cell].next
    return 0.0


cdef inline double* moments_of(const Tree* tree, int leaf) noexcept nogil:
    """Mean and sum of squares of a leaf."""
    return tree.moments + 2 * <Py_ssize_t>(-2 - tree.nodes[leaf].left)


cdef inline double mean_of(const Tree* tree, int leaf) noexcept nogil:
    return moments_of(tree, leaf)[0]


cdef inline double squares_of(const Tree* tree, int leaf) noexcept nogil:
    """The sum of the squared deviations from the mean."""
    return moments_of(tree, leaf)[1]


cdef inline void learn_number(Tree* tree, int leaf, double y, double weight,
                              double fading) noexcept nogil:
    """Let a leaf learn a number, after decay: the mean does not fade."""
    cdef double* moments = moments_of(tree, leaf)
    tree.nodes[leaf].threshold = tree.nodes[leaf].threshold * fading + weight
    moments[1] *= fading
    follow_moments(moments, moments + 1, y, weight, tree.nodes[leaf].threshold)


cdef inline int learn(Tree* tree, const Kind* kind, int leaf, double target, double weight,
                      double batch) except -1 nogil:
    """Let a leaf learn a sample, after decay. `batch` is the time of the visit, if it is kept."""
    cdef Node* this = &tree.nodes[leaf]
    cdef double faded = this.threshold * kind.fading
    touch(tree, leaf)
    if kind.with_visits:
        tree.visited[leaf] = batch
    if kind.regression:
        learn_number(tree, leaf, target, weight, kind.fading)
    elif this.left == <int>target and faded >= FAINTEST:     # all its weight is of this class
        this.threshold = faded + weight
    else:
        reserve_cells(tree, 2)
        if kind.fading < 1.0:
            fade_classes(tree, leaf, kind.fading)
        add_class(tree, leaf, <int>target, weight)
    return 0


cdef inline void add_frequencies(const Tree* tree, int leaf, double factor, double* values,
                                 Py_ssize_t stride) noexcept nogil:
    """Add the class frequencies in a leaf, times a factor, to values[class * stride]."""
    cdef int cell = first_cell(tree, leaf)
    if tree.nodes[leaf].left >= 0:      # most leaves are pure
        values[tree.nodes[leaf].left * stride] += factor
    while cell >= 0:
        values[tree.cells[cell].code * stride] += factor * (
            tree.cells[cell].weight / weight_of(tree, leaf))
        cell = tree.cells[cell].next


cdef inline void add_shares(const Tree* tree, int leaf, int n_trees, int width,
                            double* answers) noexcept nogil:
    """Add the class shares in a leaf, divided by n_trees, to the mean over n_trees trees."""
    cdef double weight = weight_of(tree, leaf), share
    cdef int c, cell
    if not weight > 0.0:
        for c in range(width):
            answers[c] += 1.0 / (width * n_trees)
        return
    share = 1.0 / (weight * n_trees)
    if tree.nodes[leaf].left >= 0:
        answers[tree.nodes[leaf].left] += weight * share
        return
    cell = first_cell(tree, leaf)
    while cell >= 0:
        answers[tree.cells[cell].code] += tree.cells[cell].weight * share
        cell = tree.cells[cell].next


cdef inline int list_shares(const Tree* tree, int leaf, int n_trees, int width,
                            ClassShare* found) noexcept nogil:
    """List what `add_shares` adds, at most one share per class; return their number."""
    cdef double weight = weight_of(tree, leaf), share
    cdef int c, cell, n = 0
    if not weight > 0.0:
        for c in range(width):
            found[c].code, found[c].share = c, 1.0 / (width * n_trees)
        return width
    share = 1.0 / (weight * n_trees)
    if tree.nodes[leaf].left >= 0:
        found.code, found.share = tree.nodes[leaf].left, weight * share
        return 1
    cell = first_cell(tree, leaf)
    while cell >= 0:
        found[n].code, found[n].share = tree.cells[cell].code, tree.cells[cell].weight * share
        cell = tree.cells[cell].next
        n += 1
    return n
