"""Decision trees in one arena: the data layout.

An arena is an array of nodes and an array of their statistics. A tree is identified by the node
number of its root. A learner with many trees may use one arena for all trees or one per tree.
Only leaves learn samples. An inner node is described by the sum of its leaves.

Nodes are an array of structs, because a stream predicts one row at a time and each step down a tree
then reads only half a cache line.
"""

from .ahead cimport AHEAD
from .allocation cimport free
from .moments cimport follow_moments
from .shares cimport first_largest
from .split cimport Split, goes_left, goes_left_branchless
from .window cimport Window

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define prefetch(address) __builtin_prefetch(address)
    #else
    #define prefetch(address) ((void)0)
    #endif
    """
    void prefetch(const void* address) noexcept nogil

cdef enum:
    LEAF = -1               # split.feature of a leaf
    FREE = -2               # split.feature of a node on the free list
    HEADER = 3              # number of statistics before those of the target: the three below
    GAIN = 0                # weighted decrease of impurity by the split of this node
    WEIGHT = 1              # total weight of the samples that this leaf has learned
    VISITED = 2             # number of the last batch with a sample in this leaf (0: none)
    MAX_CLASSES = 1 << 24   # of a restored arena, so that sizes do not overflow

cdef const double FAINTEST = 1e-200     # a decayed class weight below this becomes 0

cdef struct Node:           # 32 bytes
    Split split
    int left                # node number of the left child, if split.feature >= 0
    int right               # node number of the right child; directly after `left`
    int parent              # node number, or -1 for a root
    int depth               # 0 for a root

cdef class Trees:
    # Statistics of node i: stats[i * width : (i + 1) * width]. They begin with GAIN, WEIGHT and
    # VISITED. In a classification the weight of each class follows, by its code; in a regression
    # the mean and the sum of squared deviations from the mean follow. Those of an inner node,
    # except its gain, are the ones that it had when it was split.
    cdef Node* nodes
    cdef double* stats
    cdef int* free_nodes    # stack of free node numbers below n_used
    cdef readonly int n_values      # statistics of the target: number of known classes, or 2
    cdef readonly bint regression
    cdef readonly double fading     # decay factor of the leaves, see `learn`
    cdef int width                  # see `width_of`
    cdef int capacity               # number of allocated nodes
    cdef size_t n_cells             # allocated doubles in stats, at least capacity * width
    cdef int n_used                 # every node in use has a smaller number
    cdef int n_free
    cdef int* roots
    cdef readonly int n_roots
    cdef int root_capacity

    cdef int reserve(self, Py_ssize_t extra, int n_values) except -1 nogil
    cdef int width_of(self, int n_values) noexcept nogil
    cdef void trim(self, int extra) noexcept nogil
    cdef int reserve_roots(self, int n_roots) except -1 nogil
    cdef void widen(self, int n_values) noexcept nogil
    cdef int new_root(self) noexcept nogil
    cdef void remove(self, int tree) noexcept nogil
    cdef void shrink_to(self, int max_nodes) noexcept nogil
    cdef int list_bottom_splits(self, int* found) noexcept nogil
    cdef void sort_by_use(self, int* nodes, int n) noexcept nogil
    cdef bint is_less_used(self, int a, int b) noexcept nogil
    cdef dict views(self)
    cdef int fill(self, dict fields) except -1
    cdef int link(self) except -1
    cdef int check_leaves(self) except -1
    cdef int meet(self, int node, int parent, int place) except -1
    cdef int new_node(self, int parent, int depth) noexcept nogil
    cdef void cut(self, int node) noexcept nogil
    cdef void clear(self, int node) noexcept nogil
    cdef void close(self, int node, double gain) noexcept nogil
    cdef void collapse(self, int node) noexcept nogil
    cdef void merge_children(self, int node) noexcept nogil
    cdef void open(self, int node) noexcept nogil
    cdef double weight_of(self, int leaf) noexcept nogil
    cdef double visited_of(self, int leaf) noexcept nogil
    cdef void add_leaf(self, int leaf, double* row) noexcept nogil
    cdef list below(self, int node)

    cdef inline void take_nodes(self, Trees other) noexcept nogil:
        """Take over nodes and roots of another arena, which has none then."""
        free(self.nodes)
        free(self.stats)
        free(self.free_nodes)
        free(self.roots)
        self.nodes, self.stats, self.n_cells = other.nodes, other.stats, other.n_cells
        self.n_values, self.width, self.capacity = other.n_values, other.width, other.capacity
        self.free_nodes, self.n_used, self.n_free = other.free_nodes, other.n_used, other.n_free
        self.roots, self.n_roots, self.root_capacity = (
            other.roots, other.n_roots, other.root_capacity)
        other.nodes, other.stats, other.free_nodes, other.roots = NULL, NULL, NULL, NULL
        other.n_cells = 0
        other.capacity = other.n_used = other.n_free = other.n_roots = other.root_capacity = 0

    cdef inline double* row(self, int node) noexcept nogil:
        return self.stats + <Py_ssize_t>node * self.width

    cdef inline int step(self, int node, const double* x, Py_ssize_t stride,
                         Py_ssize_t n_columns) noexcept nogil:
        """The child of an inner node that x goes to. Columns from n_columns on are missing."""
        cdef const Node* this = &self.nodes[node]
        cdef Py_ssize_t feature = this.split.feature
        cdef bint left
        if feature < n_columns:
            left = goes_left(&this.split, x[feature * stride])
        else:
            left = this.split.missing_left
        return this.left if left else this.right

    cdef inline int walk(self, int node, const double* x, Py_ssize_t stride,
                         Py_ssize_t n_columns) noexcept nogil:
        """The leaf below `node` that x reaches; x[column * stride] is its value of a column."""
        while self.nodes[node].split.feature >= 0:
            node = self.step(node, x, stride, n_columns)
        return node

    cdef inline int walk_slot(self, int node, Window window, int slot) noexcept nogil:
        """The leaf below `node` that a sample of a window reaches."""
        cdef const Node* this = &self.nodes[node]
        while this.split.feature >= 0:
            node = this.left if goes_left(
                &this.split, window.value(this.split.feature, slot)) else this.right
            this = &self.nodes[node]
        return node

    cdef inline void walk_rows(self, int root, const double** rows, int n, Py_ssize_t stride,
                               Py_ssize_t n_columns, bint numeric, int* leaves) noexcept nogil:
        """Find the leaves below `root` that n <= AHEAD rows reach, see `walk`.

        All rows descend together, each step of them without a branch that depends on a row. The
        steps are shorter if all columns are `numeric`.
        """
        if numeric:
            descend(self.nodes, root, rows, n, stride, n_columns, NULL, True, leaves)
        else:
            descend(self.nodes, root, rows, n, stride, n_columns, NULL, False, leaves)

    cdef inline void walk_slots(self, int root, Window window, const int* slots, int n,
                                bint numeric, int* leaves) noexcept nogil:
        """`walk_rows` for n samples of a window."""
        cdef (const double*)[AHEAD] rows
        cdef int i
        for i in range(n):
            rows[i] = window.data + slots[i]
        if numeric:
            descend(self.nodes, root, rows, n, window.capacity, window.n_columns, window.lines,
                    True, leaves)
        else:
            descend(self.nodes, root, rows, n, window.capacity, window.n_columns, window.lines,
                    False, leaves)

    cdef void add_class(self, int node, int code, double weight, double batch) noexcept nogil
    cdef void add_number(self, int node, double y, double weight, double batch) noexcept nogil
    cdef void fade(self, int leaf) noexcept nogil

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


cdef inline void descend(const Node* nodes, int root, const double** rows, int n,
                         Py_ssize_t stride, Py_ssize_t n_columns, const int* lines, bint numeric,
                         int* leaves) noexcept nogil:
    """See `Trees.walk_rows`; `lines` are those of the columns, or NULL."""
    cdef const Node* this
    cdef (const Node*)[AHEAD] reached
    cdef int[AHEAD] going               # the rows that have not reached a leaf
    cdef int i, k, m, n_going = n if nodes[root].split.feature >= 0 else 0
    cdef unsigned int left
    cdef Py_ssize_t line
    cdef double value
    for i in range(n):
        reached[i], going[i] = &nodes[root], i
    while n_going > 0:
        m = 0
        for k in range(n_going):
            i = going[k]
            this = reached[i]
            left = this.split.missing_left
            line = this.split.feature
            if line < n_columns and lines != NULL:
                line = lines[line]
            if 0 <= line < n_columns:
                value = rows[i][line * stride]
                if numeric:
                    left = (value <= this.split.threshold) | ((value != value) & left)
                else:
                    left = goes_left_branchless(&this.split, value)
            this = &nodes[(&this.left)[left ^ 1]]       # `left` or `right`
            prefetch(this)                              # read after the steps of the other rows
            reached[i] = this
        for k in range(n_going):
            i = going[k]
            going[m] = i
            m += reached[i].split.feature >= 0
        n_going = m
    for i in range(n):
        leaves[i] = <int>(reached[i] - nodes)


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
