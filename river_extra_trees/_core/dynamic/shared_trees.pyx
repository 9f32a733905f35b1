"""Trees that share equal subtrees. See the header for the layout."""

import numpy as np

from libc.limits cimport INT_MAX
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from ..arrays cimport view
from ..memory cimport free, resized

from ..state import put_back, require

LARGEST_INT, LARGEST_REGION = 2**31 - 1, 2**62
FIELDS = {      # of the nodes below some roots, and of the leaves in the order of their nodes
    "roots": ("array", np.int32, "roots"),
    "links": ("array", np.int32, "nodes", 3),       # feature, left, right; all -1 in a leaf
    "cuts": ("numbers", "nodes"),
    "flags": ("whole_numbers", np.uint8, "nodes", 2, {"most": 1}),      # nominal, missing_left
    "regions": ("whole_numbers", np.int64, "nodes", {"least": 1, "most": LARGEST_REGION}),
    "n_regions": ("whole", 0, LARGEST_REGION),
    "times": ("array", np.int64, "leaves"),
    "n_active": ("whole_numbers", np.int32, "leaves", {"most": LARGEST_INT // 8}),
    "rows": ("numbers", "leaves", "two rows"),
    "leaf_slots": ("array", np.int32, "leaf slots"),
}


cdef int larger(size_t capacity, size_t n) except -1 nogil:
    """A capacity for n items that has grown by a quarter, if it has to grow."""
    if n <= capacity:
        return <int>capacity
    n = max(n, capacity + capacity // 4)
    if n > INT_MAX:
        with gil:
            raise MemoryError("the trees are too large")
    return <int>n


cdef class SharedTrees:
    """Nodes, leaves, statistics rows and slot lists, with reference counts.

    Pointers are valid until the next new node, leaf or block.

    Parameters
    ----------
    width
        Doubles in one row of statistics.
    """

    def __cinit__(self, int width=1):
        self.width = width
        self.free_node = self.free_leaf = -1
        for size in range(N_BLOCK_SIZES):
            self.free_block[<int>size] = -1

    def __dealloc__(self):
        free(self.nodes)
        free(self.leaves)
        free(self.rows)
        free(self.slots)
        free(self.stack)

    # --- Memory -----------------------------------------------------------------------------

    cdef int reserve(self, size_t n_nodes, size_t n_leaves, size_t n_cells) except -1 nogil:
        """Make room for that many of each."""
        cdef int nodes = larger(self.node_capacity, n_nodes)
        cdef int leaves = larger(self.leaf_capacity, n_leaves)
        cdef int cells = larger(self.cell_capacity, n_cells)
        if nodes > self.node_capacity:
            self.nodes = <Node*>resized(self.nodes, nodes, sizeof(Node))
            self.stack = <int*>resized(self.stack, nodes, sizeof(int))
            self.node_capacity = nodes
        if leaves > self.leaf_capacity:
            self.leaves = <Leaf*>resized(self.leaves, leaves, sizeof(Leaf))
            self.rows = <double*>resized(self.rows, leaves, 2 * self.width * sizeof(double))
            self.leaf_capacity = leaves
        if cells > self.cell_capacity:
            self.slots = <int*>resized(self.slots, cells, sizeof(int))
            self.cell_capacity = cells
        return 0

    cdef int new_node(self) except -1 nogil:
        """A node with one reference; the caller sets its other fields."""
        cdef int node = self.free_node
        if node >= 0:
            self.free_node = self.nodes[node].left
        else:
            node = self.n_nodes
            if node == self.node_capacity:
                self.reserve(node + 1, 0, 0)
            self.n_nodes += 1
        memset(&self.nodes[node], 0, sizeof(Node))
        self.nodes[node].refs = 1
        self.nodes_in_use += 1
        return node

    cdef int64_t new_region(self) noexcept nogil:
        """Number of a new region."""
        self.n_regions += 1
        return self.n_regions

    cdef int new_leaf(self, int depth, int64_t region, int n_slots) except -1 nogil:
        """Node of an empty leaf with room for n slots."""
        cdef int node = self.new_node(), leaf = self.free_leaf
        if leaf >= 0:
            self.free_leaf = self.leaves[leaf].slots
        else:
            leaf = self.n_leaves
            if leaf == self.leaf_capacity:
                self.reserve(0, leaf + 1, 0)
            self.n_leaves += 1
        self.leaves_in_use += 1
        memset(&self.leaves[leaf], 0, sizeof(Leaf))
        memset(self.total(leaf), 0, 2 * self.width * sizeof(double))
        self.leaves[leaf].block = block_for(n_slots)
        self.leaves[leaf].slots = self.new_block(self.leaves[leaf].block)
        self.nodes[node].split.feature = -1
        self.nodes[node].left = leaf
        self.nodes[node].n_leaves = 1
        self.nodes[node].depth = <short>depth
        self.nodes[node].region = region
        return node

    cdef int leaf_for(self, int parent, int n_slots) except -1 nogil:
        """Node of a leaf with the n slots of all leaves below the parent."""
        cdef int node = self.new_leaf(self.nodes[parent].depth, self.nodes[parent].region, n_slots)
        cdef int n_stack = 1, old
        cdef Leaf* whole = leaf_at(self, node)
        cdef const Leaf* part
        self.stack[0] = parent
        while n_stack:
            old = pop(self, &n_stack)
            if self.nodes[old].split.feature < 0:
                part = leaf_at(self, old)
                memcpy(self.slots + whole.slots + whole.n_active, self.slots + part.slots,
                       part.n_active * sizeof(int))
                whole.n_active += part.n_active
                whole.decay = part.decay
        return node

    cdef int new_block(self, int block) except -1 nogil:
        cdef int start = self.free_block[block]
        if start >= 0:
            self.free_block[block] = self.slots[start]
        else:
            start = self.n_cells
            self.reserve(0, 0, <size_t>start + (MIN_BLOCK << block))
            self.n_cells += MIN_BLOCK << block
        return start

    cdef void free_slots_of(self, Leaf* leaf) noexcept nogil:
        self.slots[leaf.slots] = self.free_block[leaf.block]
        self.free_block[leaf.block] = leaf.slots

    cdef double* total(self, int leaf) noexcept nogil:
        return self.rows + <size_t>leaf * 2 * self.width

    cdef double* retired(self, int leaf) noexcept nogil:
        return self.rows + <size_t>leaf * 2 * self.width + self.width

    cdef int copy_node(self, int node) except -1 nogil:
        """A copy of a node; its children are those of the node."""
        cdef int copy, leaf, old = self.nodes[node].left
        cdef Leaf* here
        if self.nodes[node].split.feature >= 0:
            copy = self.new_node()
            self.nodes[copy] = self.nodes[node]
            self.nodes[copy].stamp = 0
            self.nodes[copy].refs = 1
            return copy
        copy = self.leaf_for(node, self.leaves[old].n_active)
        leaf = self.nodes[copy].left
        here = &self.leaves[leaf]
        here.time, here.log_marginal = self.leaves[old].time, self.leaves[old].log_marginal
        here.is_linear = self.leaves[old].is_linear
        memcpy(self.total(leaf), self.total(old), 2 * self.width * sizeof(double))
        return copy

    # --- Slots of a leaf --------------------------------------------------------------------

    cdef int add_slot(self, Leaf* leaf, int slot) except -1 nogil:
        """Add a slot to a leaf."""
        cdef int start
        if leaf.n_active == MIN_BLOCK << leaf.block:
            start = self.new_block(leaf.block + 1)
            memcpy(self.slots + start, self.slots + leaf.slots, leaf.n_active * sizeof(int))
            self.free_slots_of(leaf)
            leaf.slots = start
            leaf.block += 1
        self.slots[leaf.slots + leaf.n_active] = slot
        leaf.n_active += 1
        return 0

    cdef void remove_slot(self, Leaf* leaf, int slot) noexcept nogil:
        cdef int* slots = self.slots + leaf.slots
        cdef int i = 0
        while slots[i] != slot:
            i += 1
        leaf.n_active -= 1
        slots[i] = slots[leaf.n_active]

    # --- References -------------------------------------------------------------------------

    cdef void hold(self, int node) noexcept nogil:
        """Add a reference."""
        self.nodes[node].refs = self.nodes[node].refs + 1

    cdef void count(self, int node, int change) noexcept nogil:
        """Add references, or release one if `change` is negative."""
        if change < 0:
            self.release(node)
        else:
            self.nodes[node].refs = self.nodes[node].refs + change

    cdef void release(self, int node) noexcept nogil:
        """Release a reference; free nodes without references."""
        cdef int n_stack = 1
        cdef Node* gone
        cdef Leaf* leaf
        self.stack[0] = node
        while n_stack:
            n_stack -= 1
            node = self.stack[n_stack]
            gone = &self.nodes[node]
            gone.refs -= 1
            if gone.refs:
                continue
            if gone.split.feature >= 0:
                self.stack[n_stack] = gone.left
                self.stack[n_stack + 1] = gone.right
                n_stack += 2
            else:
                leaf = &self.leaves[gone.left]
                self.free_slots_of(leaf)
                leaf.slots = self.free_leaf
                self.free_leaf = gone.left
                self.leaves_in_use -= 1
            gone.left = self.free_node
            self.free_node = node
            self.nodes_in_use -= 1

    # --- Walking ----------------------------------------------------------------------------

    cdef list below(self, int node):
        """The nodes of a tree, parents before children, left before right."""
        cdef list stack = [node], found = []
        while stack:
            node = stack.pop()
            found.append(node)
            if self.nodes[node].split.feature >= 0:
                stack += [self.nodes[node].right, self.nodes[node].left]
        return found

    cdef int distinct(self, const int* roots, int n_roots, int* found) noexcept nogil:
        """List every node below some roots once, breadth first; return their number.

        Within a depth, the order is that of roots and paths. `found` needs room for all nodes. The
        stamps of the nodes are reset.
        """
        cdef int i, n = 0, at = 0
        cdef const Node* here
        for i in range(self.n_nodes):
            self.nodes[i].stamp = 0
        for i in range(n_roots):
            n += self.append(roots[i], found + n)
        while at < n:
            here = &self.nodes[found[at]]
            at += 1
            if here.split.feature >= 0:
                n += self.append(here.left, found + n)
                n += self.append(here.right, found + n)
        for i in range(n):
            self.nodes[found[i]].stamp = 0
        return n

    cdef bint append(self, int node, int* place) noexcept nogil:
        """Append a node, unless it is listed already; return whether it was appended."""
        if self.nodes[node].stamp:
            return False
        self.nodes[node].stamp = 1
        place[0] = node
        return True

    # --- Moves ------------------------------------------------------------------------------

    cdef int own(self, int node) except -1 nogil:
        """Return an inner node itself if it has one reference, otherwise a copy."""
        cdef int copy
        if self.nodes[node].refs == 1:
            return node
        copy = self.copy_node(node)
        self.nodes[node].refs -= 1
        self.nodes[self.nodes[node].left].refs += 1
        self.nodes[self.nodes[node].right].refs += 1
        return copy

    cdef int path_copy(self, int root, const double* x, int depth, int node) except -1 nogil:
        """Replace the node at a depth on the path of x, in this tree only; return the new root.

        Takes over the caller's references to `root` and `node`.
        """
        cdef Node* nodes
        cdef int at, child, old, change
        if depth == 0:
            self.release(root)
            return node
        root = self.own(root)
        at = root
        for _ in range(1, depth):
            old = side(&self.nodes[at], x)
            child = self.own(old)
            if self.nodes[at].left == old:
                self.nodes[at].left = child
            else:
                self.nodes[at].right = child
            at = child
        nodes = self.nodes
        old = side(&nodes[at], x)
        change = nodes[node].n_leaves - nodes[old].n_leaves
        if nodes[at].left == old:
            nodes[at].left = node
        else:
            nodes[at].right = node
        at = root
        for _ in range(depth):
            nodes[at].n_leaves += change
            at = side(&nodes[at], x)
        self.release(old)
        return root

    # --- State ------------------------------------------------------------------------------

    cdef dict node_views(self):
        """The fields of all nodes as arrays."""
        cdef Node* node = self.nodes
        cdef tuple n = (self.n_nodes,), step = (sizeof(Node),)
        return {
            "feature": view(&node.split.feature, "i4", n, step),
            "cuts": view(&node.split.threshold, "f8", n, step),
            "nominal": view(&node.split.nominal, "u1", n, step),
            "missing_left": view(&node.split.missing_left, "u1", n, step),
            "regions": view(&node.region, "i8", n, step),
            "left": view(&node.left, "i4", n, step), "right": view(&node.right, "i4", n, step),
            "refs": view(&node.refs, "i4", n, step), "depth": view(&node.depth, "i2", n, step),
            "n_leaves": view(&node.n_leaves, "i4", n, step),
        }

    cdef dict leaf_views(self):
        """The fields of all leaves as arrays; their slots are in blocks."""
        cdef Leaf* leaf = self.leaves
        cdef tuple n = (self.n_leaves,), step = (sizeof(Leaf),)
        return {
            "times": view(&leaf.time, "i8", n, step), "decay": view(&leaf.decay, "f8", n, step),
            "log_marginal": view(&leaf.log_marginal, "f8", n, step),
            "n_active": view(&leaf.n_active, "i4", n, step),
            "start": view(&leaf.slots, "i4", n, step),
            "rows": view(self.rows, "f8", (self.n_leaves, 2 * self.width)),
        }

    cdef object nodes_below(self, const int* roots, int n_roots):
        """All distinct nodes, breadth first, so that children come after their parents."""
        cdef int[::1] found = np.empty(self.n_nodes, np.int32)
        return found.base[:self.distinct(roots, n_roots, &found[0])]

    cdef dict state(self, const int* roots, int n_roots):
        """Splits and leaves; depths, sizes and references follow from the links."""
        cdef const int[::1] found = self.nodes_below(roots, n_roots)
        cdef int[::1] number = np.full(self.n_nodes, -1, np.int32)
        cdef int[:, ::1] links = np.full((found.shape[0], 3), -1, np.int32)
        cdef const Node* here
        cdef Py_ssize_t i
        for i in range(found.shape[0]):
            number[found[i]] = <int>i
        for i in range(found.shape[0]):
            here = &self.nodes[found[i]]
            if here.split.feature >= 0:
                links[i, 0], links[i, 1], links[i, 2] = (
                    here.split.feature, number[here.left], number[here.right])
        nodes = {name: values.take(found.base) for name, values in self.node_views().items()}
        leaf = nodes["left"].compress(links.base[:, 0] < 0)
        leaves = {name: values.take(leaf, 0) for name, values in self.leaf_views().items()}
        slots = [self.slots[<int>first + <int>i]
                 for first, n in zip(leaves["start"].tolist(), leaves["n_active"].tolist())
                 for i in range(n)]
        return {
            "roots": np.array([number[roots[i]] for i in range(n_roots)], np.int32),
            "links": links.base, "flags": np.stack((nodes["nominal"], nodes["missing_left"]), 1),
            "cuts": nodes["cuts"], "regions": nodes["regions"], "times": leaves["times"],
            "n_active": leaves["n_active"], "rows": leaves["rows"],
            "leaf_slots": np.array(slots, np.int32),
        }

    def __sizeof__(self):
        return (
            object.__sizeof__(self)
            + <size_t>self.node_capacity * (sizeof(Node) + sizeof(int))
            + <size_t>self.leaf_capacity * (sizeof(Leaf) + 2 * self.width * sizeof(double))
            + self.cell_capacity * sizeof(int)
        )


cdef SharedTrees restored_trees(int width, int n_columns, bint published, dict fields):
    """The trees of a state, whose fields have been read; the owner checks the slots."""
    cdef SharedTrees trees = SharedTrees(width)
    cdef const int[:, ::1] links = fields["links"]
    cdef const int[::1] n_active = fields["n_active"], slots = fields["leaf_slots"]
    cdef Py_ssize_t n = links.shape[0], n_slots = slots.shape[0]
    cdef int i, leaf = 0
    refs = check_links(fields, n_columns)
    check_regions(fields, published)
    trees.reserve(n, n_active.shape[0], 2 * n_slots + MIN_BLOCK * n_active.shape[0])
    trees.n_regions = fields["n_regions"]
    n_slots = 0
    for i in range(n):
        if links[i, 0] >= 0:
            trees.new_node()
            continue
        trees.new_leaf(0, 0, n_active[leaf])
        if n_active[leaf]:
            memcpy(trees.slots + trees.leaves[leaf].slots, &slots[n_slots],
                   n_active[leaf] * sizeof(int))
        n_slots += n_active[leaf]
        leaf += 1
    views = trees.node_views()
    put_back({name: views[name] for name in ("cuts", "regions", "refs", "nominal", "missing_left")},
             {**fields, "refs": refs, "nominal": fields["flags"][:, 0],
              "missing_left": fields["flags"][:, 1]})
    views = trees.leaf_views()
    put_back({name: views[name] for name in ("times", "n_active", "rows")}, fields)
    for i in range(n):
        if links[i, 0] >= 0:
            trees.nodes[i].split.feature = links[i, 0]
            trees.nodes[i].left, trees.nodes[i].right = links[i, 1], links[i, 2]
    set_depths(trees)
    return trees


cdef object check_links(dict fields, int n_columns):
    """Check that all indices of nodes exist; return the number of references to each node."""
    links, roots, n_active = fields["links"], fields["roots"], fields["n_active"]
    cdef Py_ssize_t n = len(links)
    inner = links[:, 0] >= 0
    children = links.compress(inner, 0)[:, 1:]
    parents = np.arange(n).compress(inner)[:, None]
    require(0 < n <= LARGEST_INT // 8 and len(fields["leaf_slots"]) <= LARGEST_INT // 8
            and n - np.count_nonzero(inner) == len(n_active)
            and np.sum(n_active, dtype=np.int64) == len(fields["leaf_slots"]),
            "SharedTrees: nodes, leaves and their samples do not fit together")
    require(np.all((roots >= 0) & (roots < n)) and np.all((children > parents) & (children < n)),
            "SharedTrees: a root or a child does not exist")
    require(np.all(links[:, 0] < n_columns) and not np.any(fields["flags"][:, 0] & ~inner),
            "SharedTrees: a split by no feature, or a leaf that compares a nominal value")
    refs = np.bincount(np.concatenate((roots, children.ravel())), minlength=n)
    require(np.all(refs > 0), "SharedTrees: a node is in no tree")
    return refs


cdef int check_regions(dict fields, bint published) except -1:
    """Check that nodes of one region have the same path, so that they contain the same samples.

    A region has one leaf that trees share, except in dynaTree, where moves copy it.
    """
    links, regions, flags = fields["links"], fields["regions"], fields["flags"]
    inner = links[:, 0] >= 0
    above = np.stack((regions, links[:, 0], fields["cuts"].view(np.int64), flags[:, 0],
                      flags[:, 1]), 1).compress(inner, 0)
    ways = [np.column_stack((regions.take(links.compress(inner, 0)[:, 1 + right]), above,
                             np.full(len(above), right)))
            for right in range(2)]
    of_roots = np.zeros((len(fields["roots"]), ways[0].shape[1]), np.int64)
    of_roots[:, 0] = regions.take(fields["roots"])
    ways = np.unique(np.concatenate((*ways, of_roots)), axis=0)
    require(len(np.unique(ways[:, 0])) == len(ways) and np.max(regions) <= fields["n_regions"],
            "SharedTrees: a region in two places")
    leaves = regions.compress(~inner)
    require(published or len(np.unique(leaves)) == len(leaves),
            "SharedTrees: two leaves of a region")
    return 0


cdef int set_depths(SharedTrees trees) except -1:
    """Compute the depths of all nodes, whose children come after them, and their leaves below."""
    cdef Node* here
    cdef int i, child
    for i in range(trees.n_nodes):
        here = &trees.nodes[i]
        require(here.depth <= MAX_DEPTH, "SharedTrees: a node is too deep")
        if here.split.feature >= 0:
            for child in (here.left, here.right):
                trees.nodes[child].depth = <short>(here.depth + 1)
    for i in range(trees.n_nodes - 1, -1, -1):
        here = &trees.nodes[i]
        if here.split.feature >= 0:     # a forged tree can have more leaves than nodes
            here.n_leaves = min(trees.nodes[here.left].n_leaves
                                + trees.nodes[here.right].n_leaves, <int>(LARGEST_INT // 4))
    return 0
