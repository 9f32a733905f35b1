"""Decision trees in one arena. See the header for the layout.

This module stores, queries, prunes, checks, saves and describes trees. It does not choose splits.
"""

import numpy as np

from libc.stdint cimport uint8_t
from libc.string cimport memcpy, memmove, memset

from .memory cimport enough, free, product, raise_memory_error, resized, trimmed
from .split cimport GROUP, N_BUCKETS

from .state import (
    FAINTEST_WEIGHT, LARGEST_FLOAT, LARGEST_TARGET, State, reduced, require, without_defaults,
)

cdef enum:
    LARGEST_ARENA = 1 << 29     # nodes: twice this number fits into 32 bits


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
        The statistics of inner nodes do not decay.
    """

    def __cinit__(self, int n_values=0, bint regression=False, double fading=1.0):
        self.regression = regression
        self.fading = fading
        self.n_values = 2 if regression else n_values
        self.width = HEADER + self.n_values

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
        if capacity > LARGEST_ARENA:
            raise_memory_error()
        self.reserve_stats(capacity, extra, n_values)
        if capacity > self.capacity:
            self.nodes = <Node*>resized(self.nodes, capacity, sizeof(Node))
            self.free_nodes = <int*>resized(self.free_nodes, capacity, sizeof(int))
            self.capacity = <int>capacity
        return 0

    cdef int reserve_stats(self, Py_ssize_t capacity, Py_ssize_t extra,
                           int n_values) except -1 nogil:
        """Allocate memory for the statistics of `capacity` nodes, `extra` of which are new."""
        cdef int width = self.width if self.regression else HEADER + max(n_values, self.n_values)
        cdef size_t n_cells = product(capacity, width)
        if n_cells > self.n_cells:
            self.stats = <double*>resized(self.stats, n_cells, sizeof(double))
            self.n_cells = n_cells
        return 0

    cdef void trim(self, int extra) noexcept nogil:
        """Free unused memory, except for `extra` more nodes."""
        cdef int capacity = min(self.n_used + extra, self.capacity)
        self.trim_stats(capacity)       # they may have spare memory even if the nodes have none
        if capacity < self.capacity:
            self.nodes = <Node*>trimmed(self.nodes, capacity * sizeof(Node))
            self.free_nodes = <int*>trimmed(self.free_nodes, capacity * sizeof(int))
            self.capacity = capacity

    cdef void trim_stats(self, int capacity) noexcept nogil:
        """Free the memory for statistics of more than `capacity` nodes."""
        self.n_cells = <size_t>capacity * self.width
        self.stats = <double*>trimmed(self.stats, self.n_cells * sizeof(double))

    cdef int reserve_roots(self, int n_roots) except -1 nogil:
        if n_roots > self.root_capacity:
            self.roots = <int*>resized(self.roots, n_roots, sizeof(int))
            self.root_capacity = n_roots
        return 0

    cdef void widen(self, int n_values) noexcept nogil:
        """Extend the statistics to more classes, with weight 0. `reserve` has allocated memory."""
        cdef int node, width = HEADER + n_values
        if self.regression or n_values <= self.n_values:
            return
        for node in range(self.n_used - 1, -1, -1):     # from the end: rows only move up
            memmove(self.stats + <Py_ssize_t>node * width, self.row(node),
                    self.width * sizeof(double))
            memset(self.stats + <Py_ssize_t>node * width + self.width, 0,
                   (width - self.width) * sizeof(double))
        self.width, self.n_values = width, n_values

    cdef int new_node(self, int parent, int depth) noexcept nogil:
        """Add a leaf with empty statistics. `reserve` has allocated the memory."""
        cdef int node
        if self.n_free:
            self.n_free -= 1
            node = self.free_nodes[self.n_free]
        else:
            node = self.n_used
            self.n_used += 1
        memset(&self.nodes[node], 0, sizeof(Node))
        self.clear(node)
        self.nodes[node].split.feature = LEAF
        self.nodes[node].left = self.nodes[node].right = -1
        self.nodes[node].parent = parent
        self.nodes[node].depth = depth
        return node

    cdef void cut(self, int node) noexcept nogil:
        """Put one node on the free list."""
        memset(&self.nodes[node], 0, sizeof(Node))
        self.clear(node)
        self.nodes[node].split.feature = FREE
        self.free_nodes[self.n_free] = node
        self.n_free += 1

    cdef void collapse(self, int node) noexcept nogil:
        """Free all nodes below a node and make it a leaf; its statistics are kept."""
        cdef int below = node, parent
        if self.nodes[node].split.feature < 0:
            return
        while self.nodes[node].split.feature >= 0:
            if self.nodes[below].split.feature >= 0 and self.nodes[below].left >= 0:
                below = self.nodes[below].left
            elif self.nodes[below].split.feature >= 0 and self.nodes[below].right >= 0:
                below = self.nodes[below].right
            elif below == node:
                self.nodes[node].split.feature = LEAF
            else:
                parent = self.nodes[below].parent
                if self.nodes[parent].left == below:
                    self.nodes[parent].left = -1
                else:
                    self.nodes[parent].right = -1
                self.cut(below)
                below = parent
        self.nodes[node].split.threshold = 0.0
        self.nodes[node].split.nominal = self.nodes[node].split.missing_left = 0
        self.reopen(node)

    # Access to the statistics of a node; `CompactTrees` overrides these methods, because it stores
    # statistics differently.

    cdef void clear(self, int node) noexcept nogil:
        """Initialise the statistics of a node as empty."""
        memset(self.row(node), 0, self.width * sizeof(double))

    cdef void close(self, int node, double gain) noexcept nogil:
        """Store the gain of the split that a leaf gets next."""
        self.row(node)[GAIN] = gain

    cdef void reopen(self, int node) noexcept nogil:
        """Update the statistics of a node that is becoming a leaf again."""
        self.row(node)[GAIN] = 0.0

    cdef double weight_of(self, int node) noexcept nogil:
        return self.row(node)[WEIGHT]

    cdef double visited_of(self, int node) noexcept nogil:
        return self.row(node)[VISITED]

    cdef void read(self, int node, double* row) noexcept nogil:
        """Copy the statistics of a node, in the layout of the header."""
        memcpy(row, self.row(node), self.width * sizeof(double))

    cdef int write(self, int node, const double* row) except -1:
        """Set the statistics of a node without statistics; the inverse of `read`."""
        memcpy(self.row(node), row, self.width * sizeof(double))
        return 0

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
        cdef double of_a = self.visited_of(a), of_b = self.visited_of(b)
        if of_a == of_b:
            of_a, of_b = self.weight_of(a), self.weight_of(b)
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

    def fits(self, codes):
        """Whether all columns of splits exist, and nominal splits are those of nominal columns.

        `codes` are those of a schema: per column None if it is numeric.
        """
        cdef int i
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
        """One node as a dict, for plots, tables and tests."""
        assert 0 <= node < self.n_used and self.nodes[node].split.feature != FREE
        cdef Node* this = &self.nodes[node]
        cdef double[::1] row = np.empty(self.width)
        cdef bint is_split = this.split.feature >= 0
        self.read(node, &row[0])
        return {
            "node": node, "parent": this.parent, "depth": this.depth,
            "feature": this.split.feature, "threshold": this.split.threshold if is_split else 0.0,
            "left": this.left if is_split else -1, "right": this.right,
            "nominal": this.split.nominal,
            "missing_left": bool(this.split.missing_left), "weight": row[WEIGHT],
            "visited": row[VISITED], "gain": row[GAIN],
            "values": [row[HEADER + i] for i in range(self.n_values)],
        }

    def preorder(self, int tree=0):
        """Node numbers of a tree, parents before children, left before right."""
        stack = [self.root(tree)]
        found = []
        while stack:
            node = stack.pop()
            found.append(node)
            if self.nodes[<int>node].split.feature >= 0:
                stack += [self.nodes[<int>node].right, self.nodes[<int>node].left]
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
                    "Trees: a node does not know its place")

    def __sizeof__(self):
        return (
            object.__sizeof__(self) + self.root_capacity * sizeof(int)
            + self.capacity * (sizeof(Node) + sizeof(int)) + self.n_cells * sizeof(double)
        )

    def state(self):
        """Splits and statistics of all nodes, and roots, from which parents and depths follow."""
        cdef Py_ssize_t i, k = 0, n = self.n_used, n_splits = 0
        cdef double[::1] threshold
        cdef int[:, ::1] links
        cdef uint8_t[:, ::1] flags
        for i in range(n):
            n_splits += self.nodes[i].split.feature >= 0
        threshold = np.empty(n_splits)
        links = np.empty((n_splits, 4), dtype=np.int32)
        flags = np.empty((n_splits, 2), dtype=np.uint8)
        for i in range(n):
            if self.nodes[i].split.feature >= 0:
                threshold[k] = self.nodes[i].split.threshold
                links[k, 0], links[k, 1] = <int>i, self.nodes[i].split.feature
                links[k, 2], links[k, 3] = self.nodes[i].left, self.nodes[i].right
                flags[k, 0] = self.nodes[i].split.nominal
                flags[k, 1] = self.nodes[i].split.missing_left
                k += 1
        return without_defaults({
            "regression": self.regression, "fading": self.fading,
            "threshold": threshold.base, "links": links.base,
            "flags": flags.base, "stats": self.all_stats(),
            "free_nodes": np.array([self.free_nodes[i] for i in range(self.n_free)], np.int32),
            "roots": np.array([self.roots[i] for i in range(self.n_roots)], np.int32),
        }, self.DEFAULTS)

    cdef object all_stats(self):
        """The statistics of all nodes, as an array [node, statistic]."""
        cdef int node
        cdef double[:, ::1] stats = np.empty((self.n_used, self.width))
        for node in range(self.n_used):
            self.read(node, &stats[node, 0])
        return stats.base

    # The state of a tree of one leaf.
    DEFAULTS = {
        "regression": False, "fading": 1.0, "threshold": np.empty(0),
        "links": np.empty((0, 4), np.int32), "flags": np.empty((0, 2), np.uint8),
        "free_nodes": np.empty(0, np.int32), "roots": np.zeros(1, np.int32),
    }

    @classmethod
    def restored(cls, values):
        """The trees of a state. The owner checks that the features of the splits exist."""
        cdef Trees trees
        state = State("Trees", values, (*cls.DEFAULTS, "stats"), cls.DEFAULTS)
        threshold = state.numbers("threshold", None)
        n_splits = len(threshold)
        regression = state.flag("regression")
        stats = state.array("stats", np.float64, None, None)
        n, width = stats.shape
        require(n <= LARGEST_ARENA and HEADER <= width <= HEADER + MAX_CLASSES
                and (width == HEADER + 2 or not regression),
                "Trees: the statistics are not those of such a tree")
        trees = cls(width - HEADER, regression, state.number("fading", 0.0, 1.0))
        check_stats(stats, regression)
        links = state.array("links", np.int32, n_splits, 4)
        splits = links[:, 0]
        require(np.all(splits[1:] > splits[:n_splits - 1]) and np.all((splits >= 0) & (splits < n))
                and np.all(links[:, 1] >= 0), "Trees: a split has no node")
        flags = state.array("flags", np.uint8, n_splits, 2)
        groups = threshold[flags[:, 0] >= GROUP]
        require(np.all((groups >= 0.0) & (groups < 2.0**N_BUCKETS) & (groups == np.floor(groups))),
                "Trees: a group of values is no set of buckets")
        trees.fill(threshold, links, flags, stats)
        trees.link(state.array("free_nodes", np.int32, None), state.array("roots", np.int32, None))
        return trees

    cdef int fill(self, const double[::1] threshold, const int[:, ::1] links,
                  const uint8_t[:, ::1] flags, const double[:, ::1] stats) except -1:
        """Copy nodes and statistics into the empty arena; `link` checks the links."""
        cdef int i, node, n = <int>stats.shape[0]
        self.reserve(n, self.n_values)
        for _ in range(n):
            self.new_node(-1, -1)                       # a leaf, not visited yet
        for i in range(<int>threshold.shape[0]):
            node = links[i, 0]
            self.nodes[node].split.threshold = threshold[i]
            self.nodes[node].split.feature = links[i, 1]
            self.nodes[node].split.nominal = flags[i, 0]
            self.nodes[node].split.missing_left = flags[i, 1] != 0
            self.nodes[node].left, self.nodes[node].right = links[i, 2], links[i, 3]
        for i in range(n):
            self.write(i, &stats[i, 0])
        return 0

    cdef int link(self, const int[::1] free_nodes, const int[::1] roots) except -1:
        """Copy free nodes and roots; traverse the trees, so that every node is visited once."""
        cdef int i, node, met
        cdef const Node* this
        cdef Py_ssize_t n = free_nodes.shape[0] + roots.shape[0]
        require(n <= self.n_used, "Trees: more free nodes and roots than nodes")
        self.reserve_roots(<int>roots.shape[0])
        for i in range(roots.shape[0]):
            self.roots[i] = roots[i]
            self.meet(roots[i], -1, i)
        self.n_roots = met = <int>roots.shape[0]
        i = 0
        while i < met:                          # `free_nodes` is the queue of visited nodes
            node = self.free_nodes[i]
            i += 1
            this = &self.nodes[node]
            if this.split.feature >= 0:
                self.meet(this.left, node, met)
                self.meet(this.right, node, met + 1)
                met += 2
        for i in range(free_nodes.shape[0]):
            self.meet(free_nodes[i], -1, met + i)
        for i in range(free_nodes.shape[0]):
            self.cut(free_nodes[i])
        require(met + self.n_free == self.n_used, "Trees: a node is neither in a tree nor free")
        return 0

    cdef int meet(self, int node, int parent, int place) except -1:
        """Record the visit of a node as a child, a root or a free node; it must be the first."""
        require(0 <= node < self.n_used and self.nodes[node].depth < 0,
                "Trees: a node does not exist or is in two places")
        self.free_nodes[place] = node
        self.nodes[node].parent = parent
        self.nodes[node].depth = self.nodes[parent].depth + 1 if parent >= 0 else 0
        return 0

    def __reduce__(self):
        return reduced(type(self), self.state())


def check_stats(stats, regression):
    """Raise a StateError for statistics that are impossible for any samples.

    The statistics of a node are not compared with those of its children. Gains and sums of squares
    may overflow if weights are large; they are not used as indices.
    """
    weights = stats[:, [WEIGHT, VISITED]] if regression else np.delete(stats, GAIN, axis=1)
    require(np.all((weights >= 0.0) & (weights <= LARGEST_FLOAT)),
            "Trees: a weight is negative or not finite")
    require(not np.any((weights[:, 0] > 0.0) & (weights[:, 0] < FAINTEST_WEIGHT)),
            "Trees: a weight is too small for full precision")
    require(regression or np.all(stats[:, HEADER:] <= 1.000001 * stats[:, [WEIGHT]]),
            "Trees: a class weighs more than its node")
    require(not regression or np.all(np.abs(stats[:, HEADER]) <= 2.0 * LARGEST_TARGET),
            "Trees: a mean is not one of targets")
