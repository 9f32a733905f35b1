"""Decision trees in one arena. See the header for the layout.

This module stores, queries, prunes, checks, saves and describes trees. It does not choose splits.
"""

import numpy as np

from libc.string cimport memmove, memset

from .allocation cimport enough, free, product, raise_memory_error, resized, trimmed
from .arrays cimport view
from .moments cimport join_moments
from .split cimport GROUP, N_BUCKETS, VALUES, Split
from .value_sets cimport ValueSet, bytes_of, codes_of, new_values, threshold_of, values_at

from .former_trees import is_former, renewed
from .state import (
    FAINTEST_WEIGHT, LARGEST_CODE, LARGEST_FLOAT, LARGEST_TARGET, State, are_codes, fields_of,
    put_back, reduced, require, without_defaults,
)

cdef enum:
    LARGEST_ARENA = 1 << 29     # nodes: twice this number fits into 32 bits
    NOT_MET = -1                # depth of a pair that `link` has not met yet

# The struct `Node`.
NODE = np.dtype([
    ("threshold", "f8"), ("left", "i4"), ("feature", "u2"), ("nominal", "u1"), ("turns", "u1"),
])


cdef object threshold_in(const Node* node):
    """The threshold of a split; of a set of values, (others_left, codes)."""
    cdef const ValueSet* values
    if node.nominal != VALUES:
        return node.threshold
    values = values_at(node.threshold)
    return bool(values.others_left), frozenset([codes_of(values)[i] for i in range(values.n)])


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
        self.free_pair = -1

    def __dealloc__(self):
        self.free_sets()
        free(self.nodes)
        free(self.stats)
        free(self.gains)
        free(self.parents)
        free(self.depths)
        free(self.roots)

    # ---------------------------------------------------------------- memory

    cdef int reserve(self, Py_ssize_t n_pairs, int n_values) except -1 nogil:
        """Allocate memory for n more pairs of nodes, each a root or two children, and for
        `n_values` classes.

        Nothing else changes, so nothing must be undone if memory is short.
        """
        cdef Py_ssize_t pairs = enough(self.n_used // 2 - self.n_free + n_pairs, self.capacity // 2)
        cdef size_t n_cells
        if pairs > LARGEST_ARENA // 2:
            raise_memory_error()
        n_cells = product(2 * pairs, self.width_of(max(n_values, self.n_values)))
        if n_cells > self.n_cells:
            self.stats = <double*>resized(self.stats, n_cells, sizeof(double))
            self.n_cells = n_cells
        if 2 * pairs > self.capacity:
            self.nodes = <Node*>resized(self.nodes, 2 * pairs, sizeof(Node))
            self.gains = <double*>resized(self.gains, pairs, sizeof(double))
            self.parents = <int*>resized(self.parents, pairs, sizeof(int))
            self.depths = <int*>resized(self.depths, pairs, sizeof(int))
            self.capacity = 2 * <int>pairs
        return 0

    cdef int width_of(self, int n_values) noexcept nogil:
        """Number of statistics of a node if so many classes are known."""
        return HEADER + (2 if self.regression else n_values)

    cdef void trim(self, int n_pairs) noexcept nogil:
        """Free unused memory, except for n more pairs."""
        cdef int capacity = min(self.n_used + 2 * n_pairs, self.capacity)
        if capacity < self.capacity:
            self.n_cells = <size_t>capacity * self.width
            if self.width > 0:
                self.stats = <double*>trimmed(self.stats, self.n_cells * sizeof(double))
            self.nodes = <Node*>trimmed(self.nodes, capacity * sizeof(Node))
            self.gains = <double*>trimmed(self.gains, capacity // 2 * sizeof(double))
            self.parents = <int*>trimmed(self.parents, capacity // 2 * sizeof(int))
            self.depths = <int*>trimmed(self.depths, capacity // 2 * sizeof(int))
            self.capacity = capacity

    cdef void free_sets(self) noexcept nogil:
        """Free the sets of values of all splits, when the nodes are freed."""
        cdef int i
        for i in range(self.n_used if self.set_bytes else 0):
            if self.nodes[i].nominal == VALUES:
                free(values_at(self.nodes[i].threshold))
        self.set_bytes = 0

    cdef int reserve_roots(self, int n_roots) except -1 nogil:
        if n_roots > self.root_capacity:
            self.roots = <int*>resized(self.roots, n_roots, sizeof(int))
            self.root_capacity = n_roots
        return 0

    cdef void take(self, Trees other) noexcept nogil:
        """Take over nodes and roots of another arena, which has none then."""
        self.free_sets()
        free(self.nodes)
        free(self.stats)
        free(self.gains)
        free(self.parents)
        free(self.depths)
        free(self.roots)
        self.nodes, self.stats, self.n_cells = other.nodes, other.stats, other.n_cells
        self.gains, self.parents, self.depths = other.gains, other.parents, other.depths
        self.n_values, self.width, self.capacity = other.n_values, other.width, other.capacity
        self.n_used, self.free_pair, self.n_free = other.n_used, other.free_pair, other.n_free
        self.roots, self.n_roots, self.root_capacity = (
            other.roots, other.n_roots, other.root_capacity)
        other.nodes, other.stats, other.gains, other.roots = NULL, NULL, NULL, NULL
        other.parents, other.depths = NULL, NULL
        self.set_bytes, other.set_bytes = other.set_bytes, 0
        other.n_cells, other.free_pair = 0, -1
        other.capacity = other.n_used = other.n_free = other.n_roots = other.root_capacity = 0

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

    # ---------------------------------------------------------------- nodes

    cdef int new_pair(self, int parent, int depth) noexcept nogil:
        """Add two empty leaves; return the left one. `reserve` has allocated the memory."""
        cdef int left = self.free_pair
        if left >= 0:
            self.free_pair = self.nodes[left].left
            self.n_free -= 1
        else:
            left = self.n_used
            self.n_used += 2
            self.nodes[left].nominal = self.nodes[left ^ 1].nominal = 0     # not read before
        self.gains[left >> 1], self.parents[left >> 1] = 0.0, parent
        self.depths[left >> 1] = depth
        self.clear(left)
        self.clear(left ^ 1)
        return left

    cdef int split(self, int leaf, const Split* split, double gain) noexcept nogil:
        """Split a leaf into two empty leaves; return the left one."""
        cdef int left = self.new_pair(leaf, self.depth_of(leaf) + 1)
        cdef Node* this = &self.nodes[leaf]
        self.close(leaf)
        self.gains[left >> 1] = gain
        this.threshold, this.left = split.threshold, left
        this.feature, this.nominal = <uint16_t>split.feature, split.nominal
        this.turns = OTHERS_RIGHT
        if split.nominal == VALUES:
            self.set_bytes += bytes_of(values_at(split.threshold).n)
        self.send_missing(leaf, split.missing_left)
        return left

    cdef void send_missing(self, int node, bint left) noexcept nogil:
        """Send the missing values of a split to one side."""
        self.nodes[node].turns = OTHERS_RIGHT if left else OTHERS_RIGHT | MISSING_RIGHT

    cdef void cut(self, int left) noexcept nogil:
        """Put the pair of a left child, or of a root, on the list of free pairs."""
        cdef int next = left ^ 1 if self.parents[left >> 1] >= 0 else left
        self.clear(left)
        self.clear(left ^ 1)
        self.nodes[left].feature = self.nodes[left ^ 1].feature = UNUSED
        self.nodes[next].left = self.free_pair
        self.free_pair = next
        self.n_free += 1
        self.parents[left >> 1], self.depths[left >> 1] = -1, 0

    cdef void collapse(self, int node) noexcept nogil:
        """Free all nodes below a node. It becomes a leaf with the sum of their statistics."""
        cdef int at = node
        cdef const Node* this
        while not is_leaf(&self.nodes[node]):
            this = &self.nodes[at]
            if not is_leaf(&self.nodes[this.left]):
                at = this.left
            elif not is_leaf(&self.nodes[this.left ^ 1]):
                at = this.left ^ 1
            else:
                self.merge_children(at)
                at = self.parent_of(at) if at != node else node

    cdef void open(self, int node) noexcept nogil:
        """Make a node a leaf; its statistics do not change."""
        cdef Node* this = &self.nodes[node]
        if this.nominal == VALUES:
            self.set_bytes -= bytes_of(values_at(this.threshold).n)
            free(values_at(this.threshold))
        this.threshold, this.left = 0.0, node
        this.feature = this.nominal = this.turns = 0

    def add_tree(self):
        """Add a tree of one empty leaf; return the number of the tree."""
        self.reserve_roots(self.n_roots + 1)
        self.reserve(1, self.n_values)
        return self.new_root()

    cdef int new_root(self) noexcept nogil:
        """`add_tree` after `reserve_roots` and `reserve` have allocated the memory."""
        cdef int root = self.new_pair(-1, 0) & ~1
        self.nodes[root ^ 1].feature = UNUSED
        self.roots[self.n_roots] = root
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

    # ---------------------------------------------------------------- statistics of leaves
    # `CompactTrees` overrides these methods.

    cdef void clear(self, int node) noexcept nogil:
        """Make a node an empty leaf."""
        self.open(node)
        memset(self.row(node), 0, self.width * sizeof(double))

    cdef void close(self, int leaf) noexcept nogil:
        """Free what a leaf needs beside its node; it is split next."""

    cdef void merge_children(self, int node) noexcept nogil:
        """Make the parent of two leaves a leaf, with the sum of their statistics."""
        cdef int left = self.nodes[node].left
        self.clear(node)
        self.add_leaf(left, self.row(node))
        self.add_leaf(left ^ 1, self.row(node))
        self.cut(left)

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

    # ---------------------------------------------------------------- pruning

    def shrink(self, int max_nodes):
        """See `shrink_to`."""
        self.shrink_to(max_nodes)

    cdef void shrink_to(self, int max_nodes) noexcept nogil:
        """Collapse the least recently visited bottom splits until the arena has max_nodes nodes.

        A bottom split is a split whose children are leaves. Among splits that were visited equally
        recently, the one with the smallest weight is collapsed first. Each round collapses as many
        splits as could be necessary, so the cost per removed node is small. Roots are kept.
        """
        cdef int n, _, at, node, first, excess = self.n_nodes_in_use() - max(
            max_nodes, self.n_roots)
        while excess > 0:
            n = self.list_bottom_splits(&first)
            at = first
            at = self.sort_by_use(&at, n)
            n = min(n, (excess + 1) // 2)
            for _ in range(n):
                node, at = at, self.after(at)
                self.collapse(node)
            while at >= 0:
                node, at = at, self.after(at)
                self.link_bottom(node, self.nodes[node].left)
            excess -= 2 * n

    # The bottom splits are a list without memory of its own: the left leaf of each, whose `left` is
    # its own number, has the number of the next split instead.

    cdef int after(self, int node) noexcept nogil:
        """The bottom split after another one in the list; -1: none."""
        return self.nodes[self.nodes[node].left].left

    cdef void link_bottom(self, int node, int next) noexcept nogil:
        self.nodes[self.nodes[node].left].left = next

    cdef int list_bottom_splits(self, int* first) noexcept nogil:
        """List the bottom splits by number; return how many there are."""
        cdef int node, n = 0
        cdef const Node* this
        first[0] = -1
        for node in range(self.n_used - 1, -1, -1):
            this = &self.nodes[node]
            if (not is_leaf(this) and is_leaf(&self.nodes[this.left])
                    and is_leaf(&self.nodes[this.left ^ 1])):
                self.link_bottom(node, first[0])
                first[0] = node
                n += 1
        return n

    cdef int sort_by_use(self, int* at, int n) noexcept nogil:
        """Take n bottom splits from a list and merge-sort them; return the least used one."""
        cdef int a, b, node, first = -1, last = -1
        if n < 2:
            if n == 1:
                first, at[0] = at[0], self.after(at[0])
                self.link_bottom(first, -1)
            return first
        a = self.sort_by_use(at, n // 2)
        b = self.sort_by_use(at, n - n // 2)
        while a >= 0 or b >= 0:
            if b < 0 or (a >= 0 and self.is_less_used(a, b)):
                node, a = a, self.after(a)
            else:
                node, b = b, self.after(b)
            if last < 0:
                first = node
            else:
                self.link_bottom(last, node)
            last = node
        return first

    cdef bint is_less_used(self, int a, int b) noexcept nogil:
        cdef int one = self.nodes[a].left, other = self.nodes[b].left
        cdef double of_a = max(self.visited_of(one), self.visited_of(one ^ 1))
        cdef double of_b = max(self.visited_of(other), self.visited_of(other ^ 1))
        if of_a == of_b:
            of_a = self.weight_of(one) + self.weight_of(one ^ 1)
            of_b = self.weight_of(other) + self.weight_of(other ^ 1)
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
        cdef const Node* this
        if (self.regression != regression or self.n_values != (2 if regression else n_labels)
                or (regression and n_labels) or self.fading != fading):
            return False
        for i in range(self.n_used):
            this = &self.nodes[i]
            if not is_leaf(this) and (this.feature >= len(codes) or (
                    this.nominal and codes[this.feature] is None)):
                return False
        return True

    @property
    def n_nodes(self):
        return self.n_nodes_in_use()

    @property
    def height(self):
        """Number of splits on the longest path to a leaf."""
        return max((self.depth_of(i) for i in range(0, self.n_used, 2)), default=0)

    def root(self, int tree=0):
        assert 0 <= tree < self.n_roots
        return self.roots[tree]

    def node(self, int node):
        """One node as a dict, for plots and tests; an inner one is the sum of its leaves."""
        assert 0 <= node < self.n_used and self.nodes[node].feature != UNUSED
        cdef Node* this = &self.nodes[node]
        cdef double[::1] row = np.zeros(HEADER + self.n_values)
        cdef int below
        cdef bint is_split = not is_leaf(this)
        for below in self.below(node):
            if is_leaf(&self.nodes[below]):
                self.add_leaf(below, &row[0])
        return {
            "node": node, "parent": self.parent_of(node), "depth": self.depth_of(node),
            "feature": this.feature if is_split else -1,
            "threshold": threshold_in(this) if is_split else 0.0,
            "left": this.left if is_split else -1, "right": this.left ^ 1 if is_split else -1,
            "nominal": this.nominal,
            "missing_left": is_split and not this.turns & MISSING_RIGHT, "weight": row[WEIGHT],
            "visited": row[VISITED], "gain": self.gains[this.left >> 1] if is_split else 0.0,
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
            if not is_leaf(&self.nodes[node]):
                stack += [self.nodes[node].left ^ 1, self.nodes[node].left]
        return found

    def check(self):
        """Raise a StateError if the arena does not equal the one restored from its state."""
        cdef Trees other = type(self).restored(self.state())
        cdef int pair
        require(self.n_used <= self.capacity, "Trees: more nodes than there is room for")
        require(self.n_free == other.n_free, "Trees: the number of free pairs is wrong")
        for pair in range(self.n_used // 2):
            require(self.parents[pair] == other.parents[pair]
                    and self.depths[pair] == other.depths[pair],
                    "Trees: the parent or the depth of a node is wrong")

    def __sizeof__(self):
        return (
            object.__sizeof__(self) + self.root_capacity * sizeof(int)
            + self.capacity // 2 * (2 * sizeof(Node) + sizeof(double) + 2 * sizeof(int))
            + self.n_cells * sizeof(double) + self.set_bytes
        )

    FIELDS = {
        "n_values": ("whole", 0, MAX_CLASSES), "regression": ("flag",),
        "fading": ("number", 0.0, 1.0),
        "threshold": ("numbers", "nodes"),
        "left": ("whole_numbers", np.int32, "nodes", {"least": -1, "most": LARGEST_ARENA}),
        "feature": ("array", np.uint16, "nodes"), "nominal": ("array", np.uint8, "nodes"),
        "turns": ("whole_numbers", np.uint8, "nodes", {"most": MISSING_RIGHT | OTHERS_RIGHT}),
        "stats": ("array", np.float64, "nodes", None), "gains": ("array", np.float64, None),
        "free_pair": ("whole", -1, LARGEST_ARENA), "roots": ("array", np.int32, None),
        # Of the sets of values, by node: the codes of all; of each their number, and others_left.
        "set_codes": ("array", np.float64, None), "set_sizes": ("array", np.int32, "sets"),
        "set_others": ("whole_numbers", np.uint8, "sets", {"most": 1}),
    }
    # Of a tree of one leaf with two classes.
    DEFAULTS = {
        "n_values": 2, "regression": False, "fading": 1.0, "threshold": np.zeros(2),
        "left": np.arange(2, dtype=np.int32), "feature": np.array([0, UNUSED], np.uint16),
        "nominal": np.zeros(2, np.uint8), "turns": np.zeros(2, np.uint8), "free_pair": -1,
        "roots": np.zeros(1, np.int32), "set_codes": np.empty(0),
        "set_sizes": np.empty(0, np.int32), "set_others": np.empty(0, np.uint8),
    }

    def state(self):
        """Nodes and statistics; parents and depths follow from the roots."""
        sets = self.list_sets()
        fields = fields_of(self, self.FIELDS, {
            **self.views(),
            "set_codes": np.concatenate([np.empty(0), *[codes for codes, _ in sets]]),
            "set_sizes": np.array([len(codes) for codes, _ in sets], np.int32),
            "set_others": np.array([others for _, others in sets], np.uint8),
        })
        fields["threshold"][fields["nominal"] == VALUES] = 0.0
        return without_defaults(fields, self.DEFAULTS)

    cdef list list_sets(self):
        """(codes, others_left) of each set of values, by node."""
        cdef int i
        cdef const ValueSet* values
        cdef list found = []
        for i in range(self.n_used if self.set_bytes else 0):
            if self.nodes[i].nominal == VALUES:
                values = values_at(self.nodes[i].threshold)
                found.append((view(codes_of(values), "f8", (values.n,)), values.others_left))
        return found

    cdef int fill_sets(self, dict fields) except -1:
        """Make the sets of values of a state."""
        cdef int i, start = 0, k = 0, n
        cdef ValueSet* values
        codes, sizes = fields["set_codes"], fields["set_sizes"]
        owners = np.flatnonzero((fields["nominal"] == VALUES) & (fields["turns"] > 0))
        require(len(owners) == len(sizes) and np.all(sizes >= 0) and np.sum(sizes, dtype=np.int64)
                == len(codes) and are_codes(codes, 0, LARGEST_CODE + 1),
                "Trees: a set of values is missing, or holds what is no code")
        for i in owners:
            n = sizes[k]
            require(np.all(np.diff(codes[start:start + n]) > 0.0),
                    "Trees: the values of a set do not ascend")
            values = new_values(n, fields["set_others"][k])
            if values == NULL:
                raise_memory_error()
            self.nodes[i].threshold, self.nodes[i].nominal = threshold_of(values), VALUES
            self.set_bytes += bytes_of(n)
            view(codes_of(values), "f8", (n,))[...] = codes[start:start + n]
            start, k = start + n, k + 1
        return 0

    cdef dict views(self):
        """The arrays of a state."""
        nodes = view(self.nodes, NODE, (self.capacity,))[:self.n_used]
        n_rows = self.n_cells // self.width if self.width else 0      # compact trees have none
        return {
            **{name: nodes[name] for name in NODE.names},
            "stats": view(self.stats, "f8", (n_rows, self.width))[:self.n_used],
            "gains": view(self.gains, "f8", (self.capacity // 2,))[:self.n_used // 2],
            "roots": view(self.roots, "i4", (self.root_capacity,))[:self.n_roots],
        }

    @classmethod
    def restored(cls, values):
        """The trees of a state. The owner checks that the features of the splits exist."""
        cdef Trees trees
        cdef dict fields
        cdef bint former = is_former(values)
        if former:
            values = renewed(cls.__name__, values)
        fields = State(cls.__name__, values, cls.FIELDS, cls.DEFAULTS).read(cls.FIELDS)
        trees = cls(fields["n_values"], fields["regression"], fields["fading"])
        trees.fill(fields)
        trees.link()
        trees.check_leaves()
        trees.is_former = former
        return trees

    cdef int fill(self, dict fields) except -1:
        """Copy the arrays of a state into the empty arena; `link` checks the links."""
        n, stats, nominal = len(fields["left"]), fields["stats"], fields["nominal"]
        require(n <= LARGEST_ARENA and n % 2 == 0 and len(fields["gains"]) == n // 2
                and len(fields["roots"]) <= n // 2, "Trees: more nodes than there can be")
        require(self.n_values == fields["n_values"] and stats.shape[1] == self.width,
                "Trees: the statistics are not those of such a tree")
        groups = fields["threshold"][
            (nominal >= GROUP) & (nominal < VALUES) & (fields["turns"] > 0)]
        require(np.all((groups >= 0.0) & (groups < 2.0**N_BUCKETS) & (groups == np.floor(groups))),
                "Trees: a group of values is no set of buckets")
        self.reserve(n // 2, self.n_values)
        self.reserve_roots(<int>len(fields["roots"]))
        self.n_used, self.free_pair = <int>n, fields["free_pair"]
        self.n_roots = <int>len(fields["roots"])
        # Without the sets, which are added one by one: memory may be short.
        put_back(self.views(), {**fields, "nominal": np.where(nominal == VALUES, 0, nominal)})
        return self.fill_sets(fields)

    cdef int link(self) except -1:
        """Find parents and depths; every pair must be free, or be in one place of one tree."""
        cdef int i, pair, root, at = self.free_pair
        for pair in range(self.n_used // 2):
            self.depths[pair] = NOT_MET
        while at >= 0:
            self.meet(at, -1, 0)
            require(self.is_unused(at) and self.is_unused(at ^ 1),
                    "Trees: a node is in a tree and free")
            self.n_free += 1
            at = self.nodes[at].left
        for i in range(self.n_roots):
            root = self.roots[i]
            self.meet(root, -1, 0)
            require(root % 2 == 0 and self.is_unused(root ^ 1), "Trees: a root has a sibling")
            self.link_tree(root)
        for pair in range(self.n_used // 2):
            require(self.depths[pair] != NOT_MET, "Trees: a node is neither in a tree nor free")
        return 0

    cdef int link_tree(self, int root) except -1:
        """`link` for the nodes of a tree, in preorder."""
        cdef int node = root
        cdef const Node* this
        while True:
            this = &self.nodes[node]
            require(this.feature != UNUSED, "Trees: a node is in a tree and free")
            if not is_leaf(this):
                require(this.turns & OTHERS_RIGHT, "Trees: nothing goes right at a split")
                self.meet(this.left, node, self.depth_of(node) + 1)
                node = this.left
                continue
            require(this.left == node and this.feature == 0 and this.nominal == 0,
                    "Trees: a leaf leads to another node")
            while node != root and node != self.nodes[self.parent_of(node)].left:
                node = self.parent_of(node)
            if node == root:
                return 0
            node ^= 1

    cdef bint is_unused(self, int node) noexcept nogil:
        return self.nodes[node].feature == UNUSED and is_leaf(&self.nodes[node])

    cdef int meet(self, int node, int parent, int depth) except -1:
        """Record the visit of a pair, which must be the first one."""
        require(0 <= node < self.n_used and self.depth_of(node) == NOT_MET,
                "Trees: a node does not exist or is in two places")
        self.parents[node >> 1], self.depths[node >> 1] = parent, depth
        return 0

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
