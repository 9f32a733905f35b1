"""Trees that share equal subtrees. See the header for the layout."""

import numpy as np

from libc.limits cimport INT_MAX
from libc.string cimport memcpy, memset

from ..allocation cimport free, raise_memory_error, resized, zeroed
from ..parts cimport view
from ..split cimport ONE_VALUE, VALUES
from ..trees cimport MAX_CLASSES
from ..value_sets cimport (
    ValueSet, bytes_of, codes_of, drop_values, new_values, threshold_of, values_at,
)

from ..state import fields_of_sets, put_back, require, sets_in

LARGEST_INT, LARGEST_REGION = 2**31 - 1, 2**62
FIELDS = {      # of the nodes below some roots, and of the leaves in the order of their nodes
    "roots": ("array", np.int32, "roots"),
    "links": ("array", np.int32, "nodes", 3),       # feature, left, right; all -1 in a leaf
    "cuts": ("numbers", "nodes"),
    "nominal": ("array", np.uint8, None),           # empty: no split is by a set of values
    # The sets of values, and of each split by values the number of its set:
    "set_of": ("array", np.int32, None), "set_sizes": ("array", np.int32, "sets"),
    "set_others": ("whole_numbers", np.uint8, "sets", {"most": 1}),
    "set_codes": ("array", np.float64, None), "set_borders": ("array", np.float64, None, 2),
    "set_labels": ("whole_numbers", np.int32, "sets", {"most": MAX_CLASSES}),
    "missing_left": ("whole_numbers", np.uint8, "nodes", {"most": 1}),
    "regions": ("whole_numbers", np.int64, "nodes", {"least": 1, "most": LARGEST_REGION}),
    "times": ("array", np.int64, "leaves"),
    "n_active": ("whole_numbers", np.int32, "leaves", {"most": LARGEST_INT // 8}),
    "rows": ("numbers", "leaves", "two rows"),
    "leaf_slots": ("array", np.int32, "leaf slots"),
}
cdef enum:
    LEAST_SLOTS = 4         # capacity of a new leaf


cdef Leaf* empty_leaf(int width) except NULL nogil:
    """A leaf without samples, and without memory for slots."""
    cdef Leaf* leaf = <Leaf*>zeroed(1, sizeof(Leaf) + 2 * <size_t>width * sizeof(double))
    leaf.total = <double*>(leaf + 1)
    leaf.retired = leaf.total + width
    return leaf


cdef void free_leaf(Leaf* leaf) noexcept nogil:
    free(leaf.slots)
    free(leaf)


cdef void drop_set(Node* node) noexcept nogil:
    """Let the set of values of a split go, if it has one."""
    if node.split.nominal == VALUES:
        drop_values(values_at(node.split.threshold))
        node.split.nominal = 0


cdef class SharedTrees(Owner):
    """Nodes and leaves, with reference counts. Pointers to nodes are valid until the next new one.

    Parameters
    ----------
    width
        Doubles in one row of statistics.
    """

    def __cinit__(self, int width=1):
        self.width = width
        self.free_node = -1

    def __dealloc__(self):
        cdef int node
        for node in range(self.n_nodes):
            if self.nodes[node].leaf != NULL:
                free_leaf(self.nodes[node].leaf)
            drop_set(&self.nodes[node])

    # --- Nodes and leaves -------------------------------------------------------------------

    cdef void hold_columns(self, uint8_t* held) noexcept nogil:
        """Mark the columns of the splits."""
        cdef int node
        for node in range(self.n_nodes):
            if self.nodes[node].refs and self.nodes[node].leaf == NULL:
                held[self.nodes[node].split.feature] = True

    cdef int new_node(self) except -1 nogil:
        """A node with one reference; the caller sets its other fields."""
        cdef int node = self.free_node, capacity
        if node >= 0:
            self.free_node = self.nodes[node].left
        else:
            node = self.n_nodes
            if node == self.capacity:
                if node > INT_MAX // 2:
                    raise_memory_error()
                capacity = node + node // 4 + 1
                self.resize(&self.nodes, capacity, sizeof(Node))
                self.resize(&self.stack, capacity, sizeof(int))
                self.capacity = capacity
            self.n_nodes += 1
        memset(&self.nodes[node], 0, sizeof(Node))
        self.nodes[node].refs = 1
        self.nodes_in_use += 1
        return node

    cdef int new_leaf(self, int depth, int n_slots) except -1 nogil:
        """Node of an empty leaf in a new region, with room for n slots."""
        cdef int node = self.new_node(), capacity = max(n_slots, <int>LEAST_SLOTS)
        cdef Leaf* leaf = empty_leaf(self.width)
        self.nodes[node].leaf = leaf
        self.leaves_in_use += 1
        leaf.slots = <int*>resized(NULL, capacity, sizeof(int))
        leaf.capacity = capacity
        self.nodes[node].split.feature = -1
        self.nodes[node].n_leaves = 1
        self.nodes[node].depth = <short>depth
        self.n_regions += 1
        self.nodes[node].region = self.n_regions
        return node

    cdef int leaf_for(self, int parent, int n_slots) except -1 nogil:
        """Node of a leaf with the n slots of all leaves below the parent."""
        cdef int node = self.new_leaf(self.nodes[parent].depth, n_slots)
        cdef int n_stack = 1
        cdef Leaf* whole = self.nodes[node].leaf
        cdef const Leaf* part
        self.nodes[node].region = self.nodes[parent].region
        self.stack[0] = parent
        while n_stack:
            part = self.nodes[pop(self, &n_stack)].leaf
            if part != NULL:
                memcpy(whole.slots + whole.n_active, part.slots, part.n_active * sizeof(int))
                whole.n_active += part.n_active
                whole.stratum = part.stratum
        return node

    cdef int copied_leaf(self, int node) except -1 nogil:
        """A copy of a leaf."""
        cdef const Leaf* old = self.nodes[node].leaf
        cdef int copy = self.leaf_for(node, old.n_active)
        cdef Leaf* leaf = self.nodes[copy].leaf
        leaf.time, leaf.log_marginal, leaf.is_linear = old.time, old.log_marginal, old.is_linear
        memcpy(leaf.total, old.total, 2 * self.width * sizeof(double))
        return copy

    cdef int copied_split(self, int node) except -1 nogil:
        """A copy of an inner node, whose children are those of the node."""
        cdef int copy = self.new_node()
        self.nodes[copy] = self.nodes[node]
        self.nodes[copy].stamp = 0
        self.nodes[copy].refs = 1
        if self.nodes[copy].split.nominal == VALUES:
            values_at(self.nodes[copy].split.threshold).n_owners += 1
        return copy

    cdef int add_slot(self, Leaf* leaf, int slot) except -1 nogil:
        """Add a slot to a leaf."""
        if leaf.n_active == leaf.capacity:
            leaf.slots = <int*>resized(leaf.slots, 2 * <size_t>leaf.capacity, sizeof(int))
            leaf.capacity *= 2
        leaf.slots[leaf.n_active] = slot
        leaf.n_active += 1
        return 0

    cdef void remove_slot(self, Leaf* leaf, int slot) noexcept nogil:
        """Remove a slot from its leaf."""
        cdef int i = 0
        while leaf.slots[i] != slot:
            i += 1
        leaf.n_active -= 1
        leaf.slots[i] = leaf.slots[leaf.n_active]

    # --- References -------------------------------------------------------------------------

    cdef void add_references(self, int node, int n) noexcept nogil:
        """Add n references."""
        self.nodes[node].refs += n

    cdef void release(self, int node) noexcept nogil:
        """Release a reference; free nodes without references."""
        cdef Node* gone = &self.nodes[node]
        gone.refs -= 1
        if gone.refs:
            return
        if gone.leaf == NULL:       # no deeper than MAX_DEPTH
            self.release(gone.left)
            self.release(gone.right)
            drop_set(gone)
        else:
            free_leaf(gone.leaf)
            gone.leaf = NULL
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
            if self.nodes[node].leaf == NULL:
                stack += [self.nodes[node].right, self.nodes[node].left]
        return found

    cdef object nodes_below(self, const int* roots, int n_roots):
        """Every node below some roots once, breadth first, so that children follow their parents.

        Within a depth, the order is that of roots and paths. The stamps of the nodes are reset.
        """
        cdef int[::1] found = np.empty(self.n_nodes, np.int32)
        cdef int* nodes = &found[0]
        cdef int i, n = 0, at = 0
        cdef const Node* here
        for i in range(self.n_nodes):
            self.nodes[i].stamp = 0
        for i in range(n_roots):
            n += self.append(roots[i], nodes + n)
        while at < n:
            here = &self.nodes[nodes[at]]
            at += 1
            if here.leaf == NULL:
                n += self.append(here.left, nodes + n)
                n += self.append(here.right, nodes + n)
        for i in range(n):
            self.nodes[nodes[i]].stamp = 0
        return found.base[:n]

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
        copy = self.copied_split(node)
        self.nodes[node].refs -= 1
        self.nodes[self.nodes[node].left].refs += 1
        self.nodes[self.nodes[node].right].refs += 1
        return copy

    cdef int path_copy(self, int at, const double* x, int depth, int node) except -1 nogil:
        """Replace the node that is `depth` levels below `at` on the path of x, in this tree only.

        Returns the node in place of `at`. Takes over the caller's references to `at` and `node`.
        """
        cdef int old, new, before
        if depth == 0:
            self.release(at)
            return node
        at = self.own(at)
        old = side(&self.nodes[at], x)
        before = self.nodes[old].n_leaves
        new = self.path_copy(old, x, depth - 1, node)
        if self.nodes[at].left == old:
            self.nodes[at].left = new
        else:
            self.nodes[at].right = new
        self.nodes[at].n_leaves += self.nodes[new].n_leaves - before
        return at

    # --- State ------------------------------------------------------------------------------

    cdef dict views(self):
        """The fields of the nodes that a state has."""
        cdef Node* here = self.nodes
        cdef tuple n = (self.capacity,), step = (sizeof(Node),)
        return {
            "feature": view(&here.split.feature, "i4", n, step),
            "left": view(&here.left, "i4", n, step), "right": view(&here.right, "i4", n, step),
            "cuts": view(&here.split.threshold, "f8", n, step),
            "nominal": view(&here.split.nominal, "u1", n, step),
            "missing_left": view(&here.split.missing_left, "u1", n, step),
            "regions": view(&here.region, "i8", n, step),
        }

    cdef dict state(self, const int* roots, int n_roots, const int[::1] number_of):
        """Splits and leaves; depths, sizes and references follow from the links.

        `number_of` numbers the slots of the active samples.
        """
        cdef int i, k
        cdef const Leaf* leaf
        found = self.nodes_below(roots, n_roots)
        number = np.zeros(self.n_nodes, np.int32)
        number[found] = np.arange(len(found))
        nodes = {name: values.take(found) for name, values in self.views().items()}
        inner = nodes["feature"] >= 0
        children = [number[np.where(inner, nodes[name], 0)] for name in ("left", "right")]
        links = np.where(inner, [nodes["feature"], *children], np.int32(-1)).T.copy()
        times, n_active, rows, slots = [], [], [], []
        for i in found[links[:, 0] < 0]:
            leaf = self.nodes[i].leaf
            times.append(leaf.time)
            n_active.append(leaf.n_active)
            rows.append(view(leaf.total, "f8", (2 * self.width,)).copy())
            slots += [number_of[leaf.slots[k]] for k in range(leaf.n_active)]
        is_set = nodes["nominal"] == VALUES
        nodes["cuts"][is_set] = 0.0
        return {
            "roots": np.array([number[roots[i]] for i in range(n_roots)], np.int32),
            "links": links, "cuts": nodes["cuts"], "missing_left": nodes["missing_left"],
            "nominal": nodes["nominal"] if is_set.any() else nodes["nominal"][:0],
            **self.sets_of(found[is_set]),
            # other nodes are forgotten
            "regions": np.unique(nodes["regions"], return_inverse=True)[1].astype(np.int64) + 1,
            "times": np.array(times, np.int64), "n_active": np.array(n_active, np.int32),
            "rows": np.array(rows), "leaf_slots": np.array(slots, np.int32),
        }

    cdef dict sets_of(self, object owners):
        """The sets of values of some nodes, in the order in which these have them."""
        cdef const ValueSet* values
        cdef int i
        cdef dict number = {}
        cdef list of_nodes = [], sets = []
        for i in owners:
            values = values_at(self.nodes[i].split.threshold)
            if <size_t>values not in number:
                number[<size_t>values] = len(number)
                sets.append((view(codes_of(values), "f8", (values.n,)), values.others_left,
                             (values.prior, values.border), values.label))
            of_nodes.append(number[<size_t>values])
        return {"set_of": np.array(of_nodes, np.int32), **fields_of_sets(sets)}

    def __sizeof__(self):
        cdef int node
        sets = {}
        for node in range(self.n_nodes):
            if self.nodes[node].split.nominal == VALUES:
                sets[<size_t>values_at(self.nodes[node].split.threshold)] = bytes_of(
                    values_at(self.nodes[node].split.threshold).n)
        n_slots = sum([self.nodes[node].leaf.capacity for node in range(self.n_nodes)
                       if self.nodes[node].leaf != NULL])
        return (super().__sizeof__() + n_slots * sizeof(int) + sum(sets.values())
                + <size_t>self.leaves_in_use * (sizeof(Leaf) + 2 * self.width * sizeof(double)))


cdef SharedTrees restored_trees(int width, Schema schema, bint published, dict fields):
    """The trees of a state, whose fields have been read; the owner checks the slots.

    Nodes of one region must have the same path, so that they contain the same samples. A region has
    one leaf that trees share, except in dynaTree, where moves copy it.
    """
    cdef SharedTrees trees = SharedTrees(width)
    cdef const int[:, ::1] links = fields["links"]
    cdef const int[::1] n_active = fields["n_active"], slots = fields["leaf_slots"]
    cdef const double[:, ::1] rows = fields["rows"]
    cdef Node* here
    cdef int i, child, right, n = <int>len(links), leaf = 0, first = 0
    inner = links.base[:, 0] >= 0
    features, lefts, rights = np.where(inner, links.base.T, np.int32(-1))
    require(0 < n and n <= LARGEST_INT // 8 and n - np.count_nonzero(inner) == len(n_active)
            and np.sum(n_active, dtype=np.int64) == len(slots)
            and len(slots) <= LARGEST_INT // 8,
            "SharedTrees: nodes, leaves and their samples do not fit together")
    require(np.all(features < schema.n_columns), "SharedTrees: a split by no feature")
    leaf_regions = fields["regions"].compress(~inner)
    require(published or len(np.unique(leaf_regions)) == len(leaf_regions),
            "SharedTrees: two leaves of a region")
    with_codes = np.array([*[schema.has_codes(i) for i in range(schema.n_columns)], False])
    nominal = fields["nominal"] if len(fields["nominal"]) else with_codes[features].astype(np.uint8)
    is_set = nominal == VALUES
    require(np.count_nonzero(is_set) == len(fields["set_of"]),
            "SharedTrees: a set of values is missing")
    require(len(nominal) == n and np.all((nominal <= ONE_VALUE) | is_set)
            and np.array_equal(nominal > 0, with_codes[features] & inner),
            "SharedTrees: a split of another kind")
    for i in range(n):
        if links[i, 0] >= 0:
            trees.new_node()
            continue
        trees.new_leaf(0, n_active[leaf])
        here = &trees.nodes[i]
        here.leaf.time, here.leaf.n_active = fields["times"][leaf], n_active[leaf]
        memcpy(here.leaf.total, &rows[leaf, 0], 2 * width * sizeof(double))
        if n_active[leaf]:
            memcpy(here.leaf.slots, &slots[first], n_active[leaf] * sizeof(int))
        first += n_active[leaf]
        leaf += 1
    put_back({name: values[:n] for name, values in trees.views().items()}, {
        **fields, "feature": features, "left": lefts, "right": rights,
        "nominal": np.where(is_set, 0, nominal),    # sets are added one by one
    })
    sets, made = sets_in(fields, "SharedTrees", width - 1), {}  # ... by number, an owner of each
    require(np.array_equal(np.unique(fields["set_of"]), np.arange(len(sets))),
            "SharedTrees: a set of values has no split")
    for i, child in zip(np.flatnonzero(is_set), fields["set_of"]):
        give_set(trees, i, child, sets, made)
    trees.n_regions = np.max(fields["regions"])
    for i in range(n):
        trees.nodes[i].refs = 0
    ways = {}       # from a region to the only way to it
    strata = np.repeat(np.arange(len(fields["stratum"]) - 1), np.diff(fields["stratum"]))
    for child, stratum in zip(fields["roots"].tolist(), strata.tolist(), strict=True):
        require(0 <= child < n, "SharedTrees: a root does not exist")
        lead(trees, child, 0, stratum, ways, None)
    for i in range(n):
        here = &trees.nodes[i]
        require(here.refs > 0, "SharedTrees: a node is in no tree")
        if here.leaf != NULL:
            here.leaf.stratum = here.memo
            continue
        for right in range(2):
            child = here.right if right else here.left
            require(i < child < n, "SharedTrees: a child does not exist, or is above its parent")
            lead(trees, child, here.depth + 1, here.memo, ways, (
                here.region, here.split.feature, here.split.threshold, here.split.nominal,
                here.split.missing_left, right))
    for i in range(n - 1, -1, -1):
        here = &trees.nodes[i]
        if here.leaf == NULL:       # a forged tree can have more leaves than nodes
            here.n_leaves = min(trees.nodes[here.left].n_leaves
                                + trees.nodes[here.right].n_leaves, <int>(LARGEST_INT // 4))
    return trees


cdef int give_set(SharedTrees trees, int node, int number, list sets, dict made) except -1:
    """Give a split a set, which is made for the first of its owners."""
    cdef ValueSet* values
    cdef const double[::1] codes
    cdef Node* here = &trees.nodes[node]
    if number in made:
        values = values_at(trees.nodes[<int>made[number]].split.threshold)
        values.n_owners += 1
    else:
        codes, others_left, (prior, border), label = sets[number]
        values = new_values(<int>codes.shape[0], others_left)
        if values == NULL:
            raise_memory_error()
        values.n_owners, values.label, values.prior, values.border = 1, label, prior, border
        if codes.shape[0]:
            memcpy(codes_of(values), &codes[0], codes.shape[0] * sizeof(double))
        made[number] = node
    here.split.threshold, here.split.nominal = threshold_of(values), VALUES
    return 0


cdef int lead(SharedTrees trees, int node, int depth, int stratum, dict ways,
              tuple way) except -1:
    """Add a reference from a root or a parent, which leads one way to the region of the node."""
    cdef Node* here = &trees.nodes[node]
    require(depth <= MAX_DEPTH, "SharedTrees: a node is too deep")
    require(ways.setdefault(here.region, way) == way, "SharedTrees: a region in two places")
    here.refs += 1
    here.depth, here.memo = <short>depth, stratum
    return 0
