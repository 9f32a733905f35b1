"""Trees that share equal subtrees. See the header for the layout."""

from libc.limits cimport INT_MAX
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from ..memory cimport free, resized, zeroed


cdef int larger(size_t capacity, size_t n) except -1 nogil:
    """A capacity that has grown by n and a quarter."""
    capacity += capacity // 4 + n
    if capacity > INT_MAX:
        with gil:
            raise MemoryError("the trees are too large")
    return <int>capacity


cdef class SharedTrees:
    """Nodes, leaves, statistics rows and slot lists, with reference counts.

    Only `reserve` allocates memory. Pointers are valid until its next call.

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
        """Make room for that many more of each. After a MemoryError, nothing is lost."""
        cdef int capacity
        if self.node_capacity - self.nodes_in_use < <Py_ssize_t>n_nodes:
            capacity = larger(self.node_capacity, n_nodes)
            self.nodes = <Node*>resized(self.nodes, capacity, sizeof(Node))
            self.stack = <int*>resized(self.stack, capacity, sizeof(int))
            self.node_capacity = capacity
        if self.leaf_capacity - self.leaves_in_use < <Py_ssize_t>n_leaves:
            capacity = larger(self.leaf_capacity, n_leaves)
            self.leaves = <Leaf*>resized(self.leaves, capacity, sizeof(Leaf))
            self.rows = <double*>resized(self.rows, capacity, 2 * self.width * sizeof(double))
            self.leaf_capacity = capacity
        if self.cell_capacity - self.n_cells < <Py_ssize_t>n_cells:
            capacity = larger(self.cell_capacity, n_cells)
            self.slots = <int*>resized(self.slots, capacity, sizeof(int))
            self.cell_capacity = capacity
        return 0

    cdef int new_node(self) noexcept nogil:
        """A node with one reference; the caller sets its other fields."""
        cdef int node = self.free_node
        if node >= 0:
            self.free_node = self.nodes[node].left
        else:
            node = self.n_nodes
            self.n_nodes += 1
        memset(&self.nodes[node], 0, sizeof(Node))
        self.nodes[node].refs = 1
        self.nodes_in_use += 1
        return node

    cdef int64_t new_region(self) noexcept nogil:
        """Number of a new region."""
        self.n_regions += 1
        return self.n_regions

    cdef int new_leaf(self, int depth, int64_t region, int n_slots) noexcept nogil:
        """Node of an empty leaf with room for n slots."""
        cdef int node = self.new_node(), leaf = self.free_leaf
        if leaf >= 0:
            self.free_leaf = self.leaves[leaf].slots
        else:
            leaf = self.n_leaves
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

    cdef int leaf_for(self, int parent, int n_slots) noexcept nogil:
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

    cdef int new_block(self, int block) noexcept nogil:
        cdef int start = self.free_block[block]
        if start >= 0:
            self.free_block[block] = self.slots[start]
        else:
            start = self.n_cells
            self.n_cells += MIN_BLOCK << block
        return start

    cdef void free_slots_of(self, Leaf* leaf) noexcept nogil:
        self.slots[leaf.slots] = self.free_block[leaf.block]
        self.free_block[leaf.block] = leaf.slots

    cdef double* total(self, int leaf) noexcept nogil:
        return self.rows + <size_t>leaf * 2 * self.width

    cdef double* retired(self, int leaf) noexcept nogil:
        return self.rows + <size_t>leaf * 2 * self.width + self.width

    # --- Saving memory ----------------------------------------------------------------------

    cdef SharedTrees compacted(self, int* roots, int n_roots):
        """Copy the trees without unused memory; `roots` get the new ids.

        The nodes of a tree are then adjacent.
        """
        cdef SharedTrees new = SharedTrees(self.width)
        cdef int* numbers
        cdef int i, node, n_stack
        new.reserve(self.nodes_in_use, self.leaves_in_use, self.cells_in_use())
        numbers = <int*>zeroed(self.n_nodes, sizeof(int))
        memset(numbers, 255, self.n_nodes * sizeof(int))    # -1
        new.n_regions = self.n_regions
        for i in range(n_roots):
            n_stack, self.stack[0] = 1, roots[i]
            while n_stack:
                n_stack -= 1
                node = self.stack[n_stack]
                if numbers[node] >= 0:
                    continue
                numbers[node] = new.copy_node(self, node)
                if self.nodes[node].split.feature >= 0:
                    self.stack[n_stack] = self.nodes[node].right
                    self.stack[n_stack + 1] = self.nodes[node].left
                    n_stack += 2
            roots[i] = numbers[roots[i]]
        for i in range(new.n_nodes):
            if new.nodes[i].split.feature >= 0:
                new.nodes[i].left = numbers[new.nodes[i].left]
                new.nodes[i].right = numbers[new.nodes[i].right]
        free(numbers)
        return new

    cdef size_t cells_in_use(self) noexcept nogil:
        """Number of cells if every leaf has the smallest possible block."""
        cdef size_t n = 0
        cdef int node
        cdef const Node* here
        for node in range(self.n_nodes):
            here = &self.nodes[node]
            if here.refs and here.split.feature < 0:
                n += MIN_BLOCK << block_for(self.leaves[here.left].n_active)
        return n

    cdef int copy_node(self, SharedTrees other, int node) noexcept nogil:
        """Copy a node of another object; the children of an inner node keep their old ids."""
        cdef const Node* old = &other.nodes[node]
        cdef const Leaf* leaf
        cdef Leaf* here
        cdef int copy
        if old.split.feature >= 0:
            copy = self.new_node()
            self.nodes[copy] = old[0]
            self.nodes[copy].stamp = 0
            return copy
        leaf = &other.leaves[old.left]
        copy = self.new_leaf(old.depth, old.region, leaf.n_active)
        self.nodes[copy].refs = old.refs
        here = &self.leaves[self.nodes[copy].left]
        here.time, here.log_marginal, here.decay = leaf.time, leaf.log_marginal, leaf.decay
        here.n_active, here.is_linear = leaf.n_active, leaf.is_linear
        memcpy(self.slots + here.slots, other.slots + leaf.slots, leaf.n_active * sizeof(int))
        memcpy(self.total(self.nodes[copy].left), other.total(old.left),
               2 * self.width * sizeof(double))
        return copy

    # --- Slots of a leaf --------------------------------------------------------------------

    cdef void add_slot(self, Leaf* leaf, int slot) noexcept nogil:
        """Add a slot to a leaf. Requires `reserve` of MIN_BLOCK << (leaf.block + 1) cells."""
        cdef int start
        if leaf.n_active == MIN_BLOCK << leaf.block:
            start = self.new_block(leaf.block + 1)
            memcpy(self.slots + start, self.slots + leaf.slots, leaf.n_active * sizeof(int))
            self.free_slots_of(leaf)
            leaf.slots = start
            leaf.block += 1
        self.slots[leaf.slots + leaf.n_active] = slot
        leaf.n_active += 1

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

    cdef int own(self, int node) noexcept nogil:
        """Return an inner node itself if it has one reference, otherwise a copy."""
        cdef int copy
        if self.nodes[node].refs == 1:
            return node
        copy = self.new_node()
        self.nodes[copy] = self.nodes[node]
        self.nodes[copy].refs = 1
        self.nodes[copy].stamp = 0
        self.nodes[node].refs -= 1
        self.nodes[self.nodes[node].left].refs += 1
        self.nodes[self.nodes[node].right].refs += 1
        return copy

    cdef int path_copy(self, int root, const double* x, int depth, int node) noexcept nogil:
        """Replace the node at a depth on the path of x, in this tree only; return the new root.

        Takes over the caller's references to `root` and `node`. Requires `reserve` of `depth`
        nodes.
        """
        cdef Node* nodes = self.nodes
        cdef int at, child, old, change
        if depth == 0:
            self.release(root)
            return node
        root = self.own(root)
        at = root
        for _ in range(1, depth):
            child = side(&nodes[at], x)
            old = child
            child = self.own(child)
            if nodes[at].left == old:
                nodes[at].left = child
            else:
                nodes[at].right = child
            at = child
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

    def __sizeof__(self):
        return (
            object.__sizeof__(self)
            + <size_t>self.node_capacity * (sizeof(Node) + sizeof(int))
            + <size_t>self.leaf_capacity * (sizeof(Leaf) + 2 * self.width * sizeof(double))
            + self.cell_capacity * sizeof(int)
        )
