"""Decision trees in one arena. See the header for the layout.

This module stores, queries, prunes, checks, saves and describes trees. It does not choose splits.
"""

import numpy as np

from libc.string cimport memmove, memset

from .allocation cimport enough, free, product, raise_memory_error, resized, trimmed
from .arrays cimport view
from .moments cimport join_moments
from .split cimport GROUP, N_BUCKETS, Split

from .state import (
    FAINTEST_WEIGHT, LARGEST_FLOAT, LARGEST_TARGET, State, fields_of, put_back, reduced, require,
    without_defaults,
)

cdef enum:
    LARGEST_ARENA = 1 << 29     # nodes: twice this number fits into 32 bits

# The struct `Node`.
NODE = np.dtype([
    ("threshold", "f8"), ("feature", "i4"), ("nominal", "u1"), ("missing_left", "u1"),
    ("left", "i4"), ("right", "i4"), ("parent", "i4"), ("depth", "i4"),
], align=True)
NUMBER = ("whole_numbers", np.int32, "nodes", {"least": -2, "most": LARGEST_ARENA})


cdef class Trees:
    """An arena of nodes and the roots of the trees in it.

    Parameters
    ----------
    n_values
        Number of known classes; ignored for a regression.
    regression
        Whether leaves store (mean, sum of squared deviations) instead of class weights.
    fading
        Decay factor: the weights of a leaf are multiplied by it before the leaf learns a sample.
    """

    def __cinit__(self, int n_values=0, bint regression=False, double fading=1.0):
        self.regression = regression
        self.fading = fading
        self.n_values = 2 if regression else n_values
        self.width = self.width_of(self.n_values)

    def __dealloc__(self):
        free(self.nodes)
        free(self.stats)
        free(self.free_nodes)
        free(self.roots)

    # ---------------------------------------------------------------- memory

    cdef int reserve(self, Py_ssize_t extra, int n_values) except -1 nogil:
        """Allocate memory for `extra` more nodes and for `n_values` classes.

        Nothing else changes, so nothing must be undone if memory is short.
        """
        cdef Py_ssize_t capacity = enough(self.n_used - self.n_free + extra, self.capacity)
        cdef size_t n_cells
        if capacity > LARGEST_ARENA:
            raise_memory_error()
        n_cells = product(capacity, self.width_of(max(n_values, self.n_values)))
        if n_cells > self.n_cells:
            self.stats = <double*>resized(self.stats, n_cells, sizeof(double))
            self.n_cells = n_cells
        if capacity > self.capacity:
            self.nodes = <Node*>resized(self.nodes, capacity, sizeof(Node))
            self.free_nodes = <int*>resized(self.free_nodes, capacity, sizeof(int))
            self.capacity = <int>capacity
        return 0

    cdef int width_of(self, int n_values) noexcept nogil:
        """Number of statistics of a node if so many classes are known."""
        return HEADER + (2 if self.regression else n_values)

    cdef void trim(self, int extra) noexcept nogil:
        """Free unused memory, except for `extra` more nodes."""
        cdef int capacity = min(self.n_used + extra, self.capacity)
        self.n_cells = <size_t>capacity * self.width
        self.stats = <double*>trimmed(self.stats, self.n_cells * sizeof(double))
        if capacity < self.capacity:
            self.nodes = <Node*>trimmed(self.nodes, capacity * sizeof(Node))
            self.free_nodes = <int*>trimmed(self.free_nodes, capacity * sizeof(int))
            self.capacity = capacity

    cdef int reserve_roots(self, int n_roots) except -1 nogil:
        if n_roots > self.root_capacity:
            self.roots = <int*>resized(self.roots, n_roots, sizeof(int))
            self.root_capacity = n_roots
        return 0

    cdef void widen(self, int n_values) noexcept nogil:
        """Extend the statistics to more classes, with weight 0. `reserve` has allocated memory."""
        cdef int node, width
        if self.regression or n_values <= self.n_values:
            return
        self.n_values, width = n_values, self.width_of(n_values)
        if width == self.width:
            return
        for node in range(self.n_used - 1, -1, -1):     # from the end: rows only move up
            memmove(self.stats + <Py_ssize_t>node * width, self.row(node),
                    self.width * sizeof(double))
            memset(self.stats + <Py_ssize_t>node * width + self.width, 0,
                   (width - self.width) * sizeof(double))
        self.width = width

    cdef int new_node(self, int parent, int depth) noexcept nogil:
        """Add a leaf with empty statistics. `reserve` has allocated the memory."""
        cdef int node
        if self.n_free:
            self.n_free -= 1
            node = self.free_nodes[self.n_free]
        else:
            node = self.n_used
            self.n_used += 1
        self.open(node)
        self.clear(node)
        self.nodes[node].parent = parent
        self.nodes[node].depth = depth
        return node

    cdef void cut(self, int node) noexcept nogil:
        """Put one node on the free list."""
        self.open(node)
        self.clear(node)
        self.nodes[node].split.feature = FREE
        self.nodes[node].parent, self.nodes[node].depth = -1, 0
        self.free_nodes[self.n_free] = node
        self.n_free += 1

    cdef void collapse(self, int node) noexcept nogil:
        """Free all nodes below a node and make it a leaf, which knows what its leaves knew."""
        cdef int at = node
        cdef Node* this
        while self.nodes[node].split.feature >= 0:
            this = &self.nodes[at]
            if self.nodes[this.left].split.feature >= 0:
                at = this.left
            elif self.nodes[this.right].split.feature >= 0:
                at = this.right
            else:
                self.merge_children(at)
                at = this.parent if at != node else node

    # The statistics of leaves; `CompactTrees` overrides these methods.

    cdef void clear(self, int leaf) noexcept nogil:
        """Initialise the statistics of a leaf as empty."""
        memset(self.row(leaf), 0, self.width * sizeof(double))

    cdef void close(self, int leaf, double gain) noexcept nogil:
        """Store the gain of the split that a leaf gets next."""
        self.row(leaf)[GAIN] = gain

    cdef void merge_children(self, int node) noexcept nogil:
        """Make the parent of two leaves a leaf, with the sum of their statistics."""
        cdef int left = self.nodes[node].left, right = self.nodes[node].right
        self.clear(node)
        self.add_leaf(left, self.row(node))
        self.add_leaf(right, self.row(node))
        self.open(node)
        self.cut(left)
        self.cut(right)

    cdef void open(self, int node) noexcept nogil:
        """Remove the split of a node."""
        cdef Node* this = &self.nodes[node]
        memset(&this.split, 0, sizeof(Split))
        this.split.feature = LEAF
        this.left = this.right = -1

    cdef double weight_of(self, int leaf) noexcept nogil:
        return self.row(leaf)[WEIGHT]

    cdef double visited_of(self, int leaf) noexcept nogil:
        return self.row(leaf)[VISITED]

    cdef void add_leaf(self, int leaf, double* row) noexcept nogil:
        """Add the statistics of a leaf to others, in the layout of the header."""
        cdef const double* own = self.row(leaf)
        cdef int i
        if self.regression:
            join_moments(row + HEADER, row + HEADER + 1, row[WEIGHT], own[HEADER],
                         own[HEADER + 1], own[WEIGHT])
        else:
            for i in range(HEADER, HEADER + self.n_values):
                row[i] += own[i]
        row[WEIGHT] += own[WEIGHT]
        row[VISITED] = max(row[VISITED], own[VISITED])

    def add_tree(self):
        """Add a tree of one empty leaf; return the number of the tree."""
        self.reserve_roots(self.n_roots + 1)
        self.reserve(1, self.n_values)
        return self.new_root()

    cdef int new_root(self) noexcept nogil:
        """`add_tree` after `reserve_roots` and `reserve` have allocated the memory."""
        self.roots[self.n_roots] = self.new_node(-1, 0)
        self.n_roots += 1
        return self.n_roots - 1

    cdef void remove(self, int tree) noexcept nogil:
        """Remove a tree; the numbers of all later trees decrease by one."""
        cdef int i
        self.collapse(self.roots[tree])
        self.cut(self.roots[tree])
        for i in range(tree, self.n_roots - 1):
            self.roots[i] = self.roots[i + 1]
        self.n_roots -= 1

    def shrink(self, int max_nodes):
        """See `shrink_to`."""
        self.shrink_to(max_nodes)

    cdef void shrink_to(self, int max_nodes) noexcept nogil:
        """Collapse the least recently visited bottom splits until the arena has max_nodes nodes.

        A bottom split is a split whose children are leaves. Among splits that were visited equally
        recently, the one with the smallest weight is collapsed first. Each round collapses as many
        splits as could be necessary, so the cost per removed node is small. Roots are kept.
        """
        cdef int n, i, excess = self.n_used - self.n_free - max(max_nodes, self.n_roots)
        cdef int* bottom
        while excess > 0:
            # The list is written after the stack of free nodes. There is room, because the two
            # leaves of a bottom split are on the stack only after it is collapsed.
            bottom = self.free_nodes + self.capacity - self.list_bottom_splits(NULL)
            n = self.list_bottom_splits(bottom)
            self.sort_by_use(bottom, n)
            n = min(n, (excess + 1) // 2)
            for i in range(n):
                self.collapse(bottom[i])
            excess -= 2 * n

    cdef int list_bottom_splits(self, int* found) noexcept nogil:
        """Write the bottom splits, unless `found` is NULL; return their number."""
        cdef int node, n = 0
        cdef const Node* this
        for node in range(self.n_used):
            this = &self.nodes[node]
            if (this.split.feature >= 0 and self.nodes[this.left].split.feature < 0
                    and self.nodes[this.right].split.feature < 0):
                if found != NULL:
                    found[n] = node
                n += 1
        return n

    cdef void sort_by_use(self, int* nodes, int n) noexcept nogil:
        """Sort nodes, the least used first (Shell 1959: needs no memory)."""
        cdef int gap = n // 2, i, j, node
        while gap > 0:
            for i in range(gap, n):
                node, j = nodes[i], i
                while j >= gap and self.is_less_used(node, nodes[j - gap]):
                    nodes[j] = nodes[j - gap]
                    j -= gap
                nodes[j] = node
            gap //= 2

    cdef bint is_less_used(self, int a, int b) noexcept nogil:
        cdef const Node* one = &self.nodes[a]
        cdef const Node* other = &self.nodes[b]
        cdef double of_a = max(self.visited_of(one.left), self.visited_of(one.right))
        cdef double of_b = max(self.visited_of(other.left), self.visited_of(other.right))
        if of_a == of_b:
            of_a = self.weight_of(one.left) + self.weight_of(one.right)
            of_b = self.weight_of(other.left) + self.weight_of(other.right)
        return of_a < of_b if of_a != of_b else a < b

    # ---------------------------------------------------------------- learning

    cdef void add_class(self, int node, int code, double weight, double batch) noexcept nogil:
        count_class(self.row(node), code, weight, batch)

    cdef void add_number(self, int node, double y, double weight, double batch) noexcept nogil:
        count_number(self.row(node), y, weight, batch, 1.0)

    cdef void fade(self, int leaf) noexcept nogil:
        """Multiply the weights of the samples in a leaf by the decay factor."""
        fade_row(self.row(leaf), self.fading, self.n_values, self.regression)

    # ---------------------------------------------------------------- description as Python values

    def fits(self, codes, bint regression, int n_labels, double fading=1.0):
        """Whether trees can belong to a learner with this schema, these labels and this decay.

        `codes` are those of the schema: per column None if it is numeric. All columns of splits
        must exist, and nominal splits be those of nominal columns.
        """
        cdef int i
        if (self.regression != regression or self.n_values != (2 if regression else n_labels)
                or (regression and n_labels) or self.fading != fading):
            return False
        for i in range(self.n_used):
            if self.nodes[i].split.feature >= 0 and (
                    self.nodes[i].split.feature >= len(codes)
                    or (self.nodes[i].split.nominal
                        and codes[self.nodes[i].split.feature] is None)):
                return False
        return True

    @property
    def n_nodes(self):
        return self.n_used - self.n_free

    @property
    def height(self):
        """Number of splits on the longest path to a leaf."""
        return max((self.nodes[i].depth for i in range(self.n_used)), default=0)

    def root(self, int tree=0):
        assert 0 <= tree < self.n_roots
        return self.roots[tree]

    def node(self, int node):
        """One node as a dict, for plots and tests; an inner one is the sum of its leaves."""
        assert 0 <= node < self.n_used and self.nodes[node].split.feature != FREE
        cdef Node* this = &self.nodes[node]
        cdef double[::1] row = np.zeros(HEADER + self.n_values)
        cdef int below
        cdef bint is_split = this.split.feature >= 0
        for below in self.below(node):
            if self.nodes[below].split.feature < 0:
                self.add_leaf(below, &row[0])
        return {
            "node": node, "parent": this.parent, "depth": this.depth,
            "feature": this.split.feature, "threshold": this.split.threshold if is_split else 0.0,
            "left": this.left if is_split else -1, "right": this.right if is_split else -1,
            "nominal": this.split.nominal if is_split else 0,
            "missing_left": bool(is_split and this.split.missing_left), "weight": row[WEIGHT],
            "visited": row[VISITED], "gain": self.row(node)[GAIN] if is_split else 0.0,
            "values": [row[HEADER + i] for i in range(self.n_values)],
        }

    def preorder(self, int tree=0):
        """Node numbers of a tree, parents before children, left before right."""
        return self.below(self.root(tree))

    cdef list below(self, int node):
        """Numbers of a node and of all nodes below it, in preorder."""
        cdef list stack = [node], found = []
        while stack:
            node = stack.pop()
            found.append(node)
            if self.nodes[node].split.feature >= 0:
                stack += [self.nodes[node].right, self.nodes[node].left]
        return found

    def check(self):
        """Raise a StateError if the arena does not equal the one restored from its state."""
        cdef Trees other = type(self).restored(self.state())
        cdef int node
        require(self.n_used <= self.capacity, "Trees: more nodes than there is room for")
        for node in range(self.n_used):
            require(self.nodes[node].parent == other.nodes[node].parent
                    and self.nodes[node].depth == other.nodes[node].depth
                    and (self.nodes[node].split.feature == FREE)
                    == (other.nodes[node].split.feature == FREE),
                    "Trees: the parent or the depth of a node is wrong")

    def __sizeof__(self):
        return (
            object.__sizeof__(self) + self.root_capacity * sizeof(int)
            + self.capacity * (sizeof(Node) + sizeof(int)) + self.n_cells * sizeof(double)
        )

    FIELDS = {
        "n_values": ("whole", 0, MAX_CLASSES), "regression": ("flag",),
        "fading": ("number", 0.0, 1.0),
        "threshold": ("numbers", "nodes"), "feature": NUMBER, "left": NUMBER, "right": NUMBER,
        "nominal": ("array", np.uint8, "nodes"),
        "missing_left": ("whole_numbers", np.uint8, "nodes", {"most": 1}),
        "stats": ("array", np.float64, "nodes", None),
        "free_nodes": ("array", np.int32, None), "roots": ("array", np.int32, None),
    }
    # Of a tree of one leaf with two classes.
    DEFAULTS = {
        "n_values": 2, "regression": False, "fading": 1.0, "threshold": np.zeros(1),
        "feature": np.full(1, LEAF, np.int32), "left": np.full(1, -1, np.int32),
        "right": np.full(1, -1, np.int32), "nominal": np.zeros(1, np.uint8),
        "missing_left": np.zeros(1, np.uint8), "free_nodes": np.empty(0, np.int32),
        "roots": np.zeros(1, np.int32),
    }

    def state(self):
        """Nodes and statistics; parents and depths follow from the roots."""
        return without_defaults(fields_of(self, self.FIELDS, self.views()), self.DEFAULTS)

    cdef dict views(self):
        """The arrays of a state."""
        nodes = view(self.nodes, NODE, (self.capacity,))[:self.n_used]
        n_rows = self.n_cells // self.width
        return {
            **{name: nodes[name] for name in (
                "threshold", "feature", "nominal", "missing_left", "left", "right")},
            "stats": view(self.stats, "f8", (n_rows, self.width))[:self.n_used],
            "free_nodes": view(self.free_nodes, "i4", (self.capacity,))[:self.n_free],
            "roots": view(self.roots, "i4", (self.root_capacity,))[:self.n_roots],
        }

    @classmethod
    def restored(cls, values):
        """The trees of a state. The owner checks that the features of the splits exist."""
        cdef Trees trees
        cdef dict fields = State(cls.__name__, values, cls.FIELDS, cls.DEFAULTS).read(cls.FIELDS)
        trees = cls(fields["n_values"], fields["regression"], fields["fading"])
        trees.fill(fields)
        trees.link()
        trees.check_leaves()
        return trees

    cdef int fill(self, dict fields) except -1:
        """Copy the arrays of a state into the empty arena; `link` checks the links."""
        n, stats, nominal = len(fields["feature"]), fields["stats"], fields["nominal"]
        require(n <= LARGEST_ARENA and len(fields["free_nodes"]) <= n
                and len(fields["roots"]) <= n, "Trees: more nodes than there can be")
        require(self.n_values == fields["n_values"] and stats.shape[1] == self.width,
                "Trees: the statistics are not those of such a tree")
        groups = fields["threshold"][(nominal >= GROUP) & (fields["feature"] >= 0)]
        require(np.all((groups >= 0.0) & (groups < 2.0**N_BUCKETS) & (groups == np.floor(groups))),
                "Trees: a group of values is no set of buckets")
        self.reserve(n, self.n_values)
        self.reserve_roots(<int>len(fields["roots"]))
        self.n_used, self.n_free = <int>n, <int>len(fields["free_nodes"])
        self.n_roots = <int>len(fields["roots"])
        put_back(self.views(), fields)
        return 0

    cdef int link(self) except -1:
        """Find parents and depths; every node must be free, or be in one place of one tree."""
        cdef int i, node, met = 0
        cdef const Node* this
        for node in range(self.n_used):
            self.nodes[node].depth = FREE
        for i in range(self.n_free):
            met = self.meet(self.free_nodes[i], -1, met)
        for i in range(self.n_roots):
            met = self.meet(self.roots[i], -1, met)
        for i in range(self.n_used):            # `free_nodes` is the queue of visited nodes
            require(i < met, "Trees: a node is neither in a tree nor free")
            this = &self.nodes[self.free_nodes[i]]
            require((this.split.feature == FREE) == (i < self.n_free),
                    "Trees: a node is in a tree and free")
            if this.split.feature >= 0:
                met = self.meet(this.left, self.free_nodes[i], met)
                met = self.meet(this.right, self.free_nodes[i], met)
        return 0

    cdef int meet(self, int node, int parent, int place) except -1:
        """Record the visit of a node, which must be the first one; return the next place."""
        require(0 <= node < self.n_used and self.nodes[node].depth == FREE,
                "Trees: a node does not exist or is in two places")
        self.free_nodes[place] = node
        self.nodes[node].parent = parent
        self.nodes[node].depth = self.nodes[parent].depth + 1 if parent >= 0 else 0
        return place + 1

    cdef int check_leaves(self) except -1:
        """Raise a StateError for statistics that are impossible for any samples.

        Gains and sums of squares may overflow if weights are large; they are not used as indices.
        """
        stats = self.views()["stats"]
        weights = stats[:, [WEIGHT, VISITED] if self.regression else slice(WEIGHT, None)]
        require(np.all((weights >= 0.0) & (weights <= LARGEST_FLOAT)),
                "Trees: a weight is negative or not finite")
        require(not np.any((weights[:, 0] > 0.0) & (weights[:, 0] < FAINTEST_WEIGHT)),
                "Trees: a weight is too small for full precision")
        require(self.regression or np.all(stats[:, HEADER:] <= 1.000001 * stats[:, [WEIGHT]]),
                "Trees: a class weighs more than its node")
        require(not self.regression or np.all(np.abs(stats[:, HEADER]) <= 2.0 * LARGEST_TARGET),
                "Trees: a mean is not one of targets")
        return 0

    def __reduce__(self):
        return reduced(type(self), self.state())
