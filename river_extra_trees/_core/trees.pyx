"""The trees of a learner as a table. See the header."""

import numpy as np

from libc.string cimport memmove

from .parts cimport view
from .split cimport ONE_VALUE, VALUES
from .tree cimport (
    LARGEST_ARENA, LARGEST_CELLS, MISSING_RIGHT, OTHERS_RIGHT, UNUSED, Node, add_leaf,
    begin_tree, bytes_of_tree, copy_tree, depth_of, first_cell, forget_in_leaves, free_tree,
    give_set, hold_splits, is_leaf, mark_in_leaves, mean_of, n_nodes_of, next_below, parent_of,
    plant, reserve_cells, reserve_pairs, shrink, uproot,
)
from .value_sets cimport ValueSet, codes_of, values_at

from .state import (
    FAINTEST_WEIGHT, LARGEST_FLOAT, LARGEST_TARGET, fields_of_sets, put_back, require, sets_in,
)

cdef enum:
    NOT_MET = -1                # depth of a pair that `link` has not met yet

# The structs `Node` and `Cell`.
NODE = np.dtype([
    ("threshold", "f8"), ("left", "i4"), ("feature", "u2"), ("nominal", "u1"), ("turns", "u1"),
])
CELL = np.dtype([("cell_weights", "f8"), ("cell_codes", "i4"), ("next_cells", "i4")])
# Arrays of a state that hold those of all trees, one after the other.
PER_NODE = (*NODE.names, "visited")
PER_PAIR = ("moments", "gains", "impurities")
N_USED, FREE_PAIR, N_CELLS, FREE_CELL = range(4)    # columns of `counts`


cdef object threshold_in(double threshold, int nominal):
    """The threshold of a split; of a set of values, (others_left, codes)."""
    cdef const ValueSet* values
    if nominal != VALUES:
        return threshold
    values = values_at(threshold)
    return bool(values.others_left), frozenset([codes_of(values)[i] for i in range(values.n)])


cdef class Trees(Part):
    """The trees of a learner.

    Parameters
    ----------
    n_values
        Number of known classes; ignored for a regression.
    regression
        Whether leaves store (mean, sum of squared deviations) instead of class weights.
    fading
        Decay factor: the weights of a leaf are multiplied by it before the leaf learns a sample.
    with_visits, with_impurities
        See `Kind`.
    """

    def __init__(self, int n_values=0, bint regression=False, double fading=1.0, *,
                 bint with_visits=False, bint with_impurities=False):
        self.kind.regression, self.kind.fading = regression, fading
        self.kind.with_visits, self.kind.with_impurities = with_visits, with_impurities
        self.n_values = 2 if regression else n_values

    def __dealloc__(self):
        cdef int i
        for i in range(self.capacity):
            free_tree(&self.trees[i])

    # ---------------------------------------------------------------- trees

    cdef int reserve_trees(self, int n) except -1 nogil:
        """Allocate memory for n trees in all, without nodes."""
        cdef int i
        if n > self.capacity:
            self.resize(&self.trees, n, sizeof(Tree))
            for i in range(self.capacity, n):
                begin_tree(&self.trees[i])
            self.capacity = n
        return 0

    cdef void widen(self, int n_values) noexcept nogil:
        """Know more classes."""
        if not self.kind.regression:
            self.n_values = max(self.n_values, n_values)

    cdef int new_tree(self) except -1 nogil:
        """Add a tree of one empty leaf; return its number."""
        self.reserve_trees(self.n_trees + 1)
        reserve_pairs(&self.trees[self.n_trees], &self.kind, 1)
        plant(&self.trees[self.n_trees])
        self.n_trees += 1
        return self.n_trees - 1

    cdef void hold_columns(self, uint8_t* held) noexcept nogil:
        """Mark the columns of the splits."""
        cdef int i
        for i in range(self.n_trees):
            hold_splits(&self.trees[i], held)

    cdef void mark_classes(self, uint8_t* met) noexcept nogil:
        """Mark the classes of the leaves."""
        cdef int i
        for i in range(self.n_trees):
            mark_in_leaves(&self.trees[i], met)

    cdef void forget_classes(self, const uint8_t* gone) noexcept nogil:
        """Let all leaves forget the marked classes."""
        cdef int i
        for i in range(self.n_trees):
            forget_in_leaves(&self.trees[i], gone)

    def add_tree(self):
        """Add a tree of one empty leaf; return its number."""
        return self.new_tree()

    cdef void remove(self, int tree) noexcept nogil:
        """Remove a tree; the numbers of all later trees decrease by one."""
        cdef Tree removed = self.trees[tree]
        self.n_trees -= 1
        memmove(&self.trees[tree], &self.trees[tree + 1], (self.n_trees - tree) * sizeof(Tree))
        uproot(&removed)
        self.trees[self.n_trees] = removed

    def __len__(self):
        return self.n_trees

    def __getitem__(self, int tree):
        """A copy of one tree, as a table of its own."""
        cdef Trees copy = Trees(self.n_values, **self.kind)
        if not 0 <= tree < self.n_trees:
            raise IndexError(tree)
        copy.add_tree()
        copy_tree(copy.trees, &self.trees[tree], &self.kind)
        return copy

    def shrink(self, int max_nodes, int tree=0):
        """Remove the least used splits of a tree until it has at most max_nodes nodes."""
        assert 0 <= tree < self.n_trees
        shrink(&self.trees[tree], max_nodes)

    # ---------------------------------------------------------------- description as Python values

    def fits(self, Trees empty, codes, int n_labels):
        """Whether trees can belong to a learner with this empty table, this schema, these labels.

        `codes` are those of the schema: per column None if it is numeric. All columns of splits
        must exist, and nominal splits be those of nominal columns.
        """
        cdef int i, tree
        cdef const Node* this
        cdef dict kind = self.kind, expected = empty.kind
        cdef bint regression = self.kind.regression
        if (kind != expected or self.n_values != (2 if regression else n_labels)
                or (regression and n_labels)):
            return False
        for tree in range(self.n_trees):
            for i in range(self.trees[tree].n_used):
                this = &self.trees[tree].nodes[i]
                if not is_leaf(this) and (this.feature >= len(codes) or (
                        this.nominal and codes[this.feature] is None)):
                    return False
        return True

    @property
    def n_nodes(self):
        return sum([n_nodes_of(&self.trees[tree]) for tree in range(self.n_trees)])

    @property
    def height(self):
        """Number of splits on the longest path to a leaf."""
        cdef int tree, node, height = 0
        for tree in range(self.n_trees):
            for node in range(self.trees[tree].n_used):
                height = max(height, depth_of(&self.trees[tree], node))
        return height

    def node(self, int node, int tree=0):
        """One node as a dict, for plots and tests; an inner one is the sum of its leaves."""
        assert 0 <= tree < self.n_trees and 0 <= node < self.trees[tree].n_used
        cdef const Tree* of = &self.trees[tree]
        cdef const Node* this = &of.nodes[node]
        cdef double[::1] values = np.zeros(max(1, self.n_values))
        cdef double weight = 0.0
        cdef int below
        cdef bint is_split = not is_leaf(this)
        assert this.feature != UNUSED
        for below in self.below(of, node):
            if is_leaf(&of.nodes[below]):
                add_leaf(of, below, &weight, &values[0])
        return {
            "node": node, "parent": parent_of(of, node), "depth": depth_of(of, node),
            "feature": this.feature if is_split else -1,
            "threshold": threshold_in(this.threshold, this.nominal) if is_split else 0.0,
            "left": this.left if is_split else -1, "right": this.left ^ 1 if is_split else -1,
            "nominal": this.nominal,
            "missing_left": is_split and not this.turns & MISSING_RIGHT, "weight": weight,
            "gain": of.gains[this.left >> 1] if is_split else 0.0,
            "values": [values[i] for i in range(self.n_values)],
        }

    def preorder(self, int tree=0):
        """Node numbers of a tree, parents before children, left before right."""
        assert 0 <= tree < self.n_trees
        return self.below(&self.trees[tree], 0)

    def nodes(self, int tree=0):
        """The nodes of a tree in preorder, see `node`."""
        return [self.node(node, tree) for node in self.preorder(tree)]

    cdef list below(self, const Tree* tree, int node):
        """Numbers of a node and of all nodes below it, in preorder."""
        cdef list found = []
        cdef int top = node
        while node >= 0:
            found.append(node)
            node = next_below(tree, node, top)
        return found

    def __sizeof__(self):
        cdef int tree
        return super().__sizeof__() + sum(
            [bytes_of_tree(&self.trees[tree], &self.kind) for tree in range(self.capacity)])

    # ---------------------------------------------------------------- state

    def check(self):
        """Raise a StateError if the trees do not equal those restored from their state."""
        cdef Trees other = type(self).restored(self.state())
        cdef int i, pair
        cdef const Tree* tree
        cdef const Tree* same
        for i in range(self.n_trees):
            tree, same = &self.trees[i], &other.trees[i]
            require(tree.n_used <= tree.capacity and tree.n_cells_used <= tree.cell_capacity,
                    "Trees: more nodes or cells than there is room for")
            require(tree.n_free == same.n_free and tree.n_free_cells == same.n_free_cells,
                    "Trees: the number of free pairs or cells is wrong")
            for pair in range(tree.n_used // 2):
                require(tree.parents[pair] == same.parents[pair]
                        and tree.depths[pair] == same.depths[pair],
                        "Trees: the parent or the depth of a node is wrong")

    FIELDS = {
        "n_values": ("whole", 0, MAX_CLASSES), "regression": ("flag",),
        "fading": ("number", 0.0, 1.0), "with_visits": ("flag",),
        "with_impurities": ("flag",),
        "counts": ("array", np.int32, "trees", 4),
        "threshold": ("numbers", "nodes"),
        "left": ("whole_numbers", np.int32, "nodes",
                 {"least": -2 - LARGEST_CELLS, "most": LARGEST_ARENA}),
        "feature": ("array", np.uint16, "nodes"), "nominal": ("array", np.uint8, "nodes"),
        "turns": ("whole_numbers", np.uint8, "nodes", {"most": MISSING_RIGHT | OTHERS_RIGHT}),
        "moments": ("array", np.float64, None, 2),
        "visited": ("numbers", None, {"least": 0.0, "most": LARGEST_FLOAT}),
        "gains": ("array", np.float64, "pairs"), "impurities": ("array", np.float64, None),
        "cell_weights": ("numbers", "cells", {"least": 0.0, "most": LARGEST_FLOAT}),
        "cell_codes": ("whole_numbers", np.int32, "cells", {"most": MAX_CLASSES}),
        "next_cells": ("whole_numbers", np.int32, "cells", {"least": -1, "most": LARGEST_CELLS}),
        # Of the sets of values, by node: the codes of all; of each their number, and others_left;
        # its prior and its border; and its label.
        "set_codes": ("array", np.float64, None), "set_sizes": ("array", np.int32, "sets"),
        "set_others": ("whole_numbers", np.uint8, "sets", {"most": 1}),
        "set_borders": ("array", np.float64, None, 2),
        "set_labels": ("whole_numbers", np.int32, "sets", {"most": MAX_CLASSES}),
    }
    # Of one tree of one empty leaf.
    DEFAULTS = {
        "threshold": np.zeros(2), "left": np.full(2, -1, np.int32),
        "feature": np.array([0, UNUSED], np.uint16), "nominal": np.zeros(2, np.uint8),
        "turns": np.zeros(2, np.uint8), "gains": np.zeros(1),
        "n_values": 2, "regression": False, "fading": 1.0, "with_visits": False,
        "with_impurities": False, "moments": np.empty((0, 2)), "visited": np.empty(0),
        "impurities": np.empty(0),
        "cell_weights": np.empty(0), "cell_codes": np.empty(0, np.int32),
        "next_cells": np.empty(0, np.int32), "set_codes": np.empty(0),
        "set_sizes": np.empty(0, np.int32), "set_others": np.empty(0, np.uint8),
        "set_borders": np.empty((0, 2)), "set_labels": np.empty(0, np.int32),
    }

    cdef dict fields(self):
        """All trees, one after the other; parents and depths follow from their nodes."""
        cdef Tree nothing
        cdef int i
        counts = np.array(
            [(self.trees[i].n_used, self.trees[i].free_pair, self.trees[i].n_cells_used,
              self.trees[i].free_cell) for i in range(self.n_trees)], np.int32).reshape(-1, 4)
        begin_tree(&nothing)
        parts = [self.views_of(&nothing)]
        for i in range(self.n_trees):
            parts.append(self.views_of(&self.trees[i]))
        arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        arrays["threshold"][arrays["nominal"] == VALUES] = 0.0
        return {**self.kind, "n_values": self.n_values, "counts": counts, **arrays,
                **self.fields_of_all_sets()}

    cdef dict fields_of_all_sets(self):
        """The sets of values, by tree and node."""
        cdef int tree, i
        cdef const Tree* this
        cdef const ValueSet* values
        cdef list found = [], borders = [], labels = []
        for tree in range(self.n_trees):
            this = &self.trees[tree]
            for i in range(this.n_used if this.set_bytes else 0):
                if this.nodes[i].nominal == VALUES:
                    values = values_at(this.nodes[i].threshold)
                    found.append((view(codes_of(values), "f8", (values.n,)), values.others_left))
                    borders.append((values.prior, values.border))
                    labels.append(values.label)
        return {**fields_of_sets(found), "set_borders": np.array(borders).reshape(-1, 2),
                "set_labels": np.array(labels, np.int32)}

    cdef dict views_of(self, const Tree* tree):
        """The arrays of a tree; those that its kind does not have are empty."""
        cdef int n = tree.capacity, n_used = tree.n_used
        nodes = view(tree.nodes, NODE, (n,))[:n_used]
        cells = view(tree.cells, CELL, (tree.cell_capacity,))[:tree.n_cells_used]
        cdef const Kind* kind = &self.kind
        return {
            **{name: nodes[name] for name in NODE.names},
            **{name: cells[name] for name in CELL.names},
            "moments": view(tree.moments, "f8", (kind.regression * (n // 2), 2))[:n_used // 2],
            "visited": view(tree.visited, "f8", (kind.with_visits * n,))[:n_used],
            "gains": view(tree.gains, "f8", (n // 2,))[:n_used // 2],
            "impurities": view(
                tree.impurities, "f8", (kind.with_impurities * (n // 2),))[:n_used // 2],
        }

    cdef int load(self, dict fields) except -1:
        """Take over trees, and check each. The owner checks that the features of splits exist."""
        cdef Tree* tree
        cdef dict kind = self.kind
        self.__init__(fields["n_values"], **{name: fields[name] for name in kind})
        counts, n, pairs = fields["counts"], len(fields["threshold"]), len(fields["gains"])
        used, cells = counts[:, N_USED].astype(np.int64), counts[:, N_CELLS].astype(np.int64)
        lengths = {"moments": pairs * self.kind.regression,
                   "visited": n * self.kind.with_visits,
                   "impurities": pairs * self.kind.with_impurities}
        require(np.all((used >= 2) & (used % 2 == 0) & (cells >= 0)) and used.sum() == n
                and cells.sum() == len(fields["cell_codes"])
                and 2 * pairs == n and n <= LARGEST_ARENA
                and np.all(counts[:, [FREE_PAIR, FREE_CELL]] >= -1)
                and all([len(fields[name]) == length for name, length in lengths.items()]),
                "Trees: nodes, cells or statistics of nodes are missing")
        nominal = fields["nominal"]
        require(np.all((nominal <= ONE_VALUE) | (nominal == VALUES)), "Trees: no such split")
        # Without the sets, which are added one by one: memory may be short.
        fields = {**fields, "nominal": np.where(nominal == VALUES, 0, nominal)}
        self.reserve_trees(<int>len(counts))
        node = pair = cell = 0
        for n_used, free_pair, n_cells, free_cell in counts.tolist():
            tree = &self.trees[self.n_trees]
            self.n_trees += 1
            reserve_pairs(tree, &self.kind, n_used // 2)
            reserve_cells(tree, n_cells)
            tree.n_used, tree.free_pair = n_used, free_pair
            tree.n_cells_used, tree.free_cell = n_cells, free_cell
            parts = {name: fields[name][node:node + n_used] for name in PER_NODE}
            parts |= {name: fields[name][pair:pair + n_used // 2] for name in PER_PAIR}
            parts |= {name: fields[name][cell:cell + n_cells] for name in CELL.names}
            put_back(self.views_of(tree), parts)
            node, pair, cell = node + n_used, pair + n_used // 2, cell + n_cells
            link(tree)
            check_leaves(tree, self.n_values)
        return self.fill_sets(nominal, fields)

    cdef int fill_sets(self, nominal, dict fields) except -1:
        """Make the sets of values of a state, whose splits are there."""
        cdef int tree, i
        cdef ValueSet* values
        sets = sets_in(fields, "Trees")
        owners = np.flatnonzero((nominal == VALUES) & (fields["turns"] > 0))
        require(len(owners) == len(sets) == len(fields["set_borders"]),
                "Trees: a set of values is missing")
        require(not np.any(fields["set_labels"] >= self.n_values),
                "Trees: a set of values has an unknown label")
        ends = fields["counts"][:, N_USED].cumsum()
        of_trees = np.searchsorted(ends, owners, "right")
        owners -= (ends - fields["counts"][:, N_USED])[of_trees]
        for tree, i, (codes, others_left), (prior, border), label in zip(
                of_trees, owners, sets, fields["set_borders"].tolist(),
                fields["set_labels"].tolist()):
            values = give_set(&self.trees[tree], i, <int>len(codes), others_left)
            values.prior, values.border, values.label = prior, border, label
            view(codes_of(values), "f8", codes.shape)[...] = codes
        return 0


# --- Checks of a restored tree ------------------------------------------------------------------


cdef int link(Tree* tree) except -1:
    """Find parents and depths; every pair must be free, or be in one place of the tree."""
    cdef int pair, at = tree.free_pair
    for pair in range(tree.n_used // 2):
        tree.depths[pair] = NOT_MET
    while at >= 0:
        meet(tree, at, -1, 0)
        require(is_unused(&tree.nodes[at]) and is_unused(&tree.nodes[at ^ 1]),
                "Trees: a node is in a tree and free")
        tree.n_free += 1
        at = tree.nodes[at].left
    require(at == -1, "Trees: the list of free nodes has no end")
    meet(tree, 0, -1, 0)
    require(is_unused(&tree.nodes[1]), "Trees: a root has a sibling")
    link_below(tree)
    for pair in range(tree.n_used // 2):
        require(tree.depths[pair] != NOT_MET, "Trees: a node is neither in a tree nor free")
    return 0


cdef int link_below(Tree* tree) except -1:
    """`link` for the nodes below the root, in preorder."""
    cdef int node = 0
    cdef const Node* this
    while node >= 0:
        this = &tree.nodes[node]
        require(this.feature != UNUSED, "Trees: a node is in a tree and free")
        if is_leaf(this):
            require(this.feature == 0 and this.nominal == 0, "Trees: a leaf has a feature")
        else:
            require(this.turns & OTHERS_RIGHT, "Trees: nothing goes right at a split")
            meet(tree, this.left, node, depth_of(tree, node) + 1)
        node = next_below(tree, node, 0)
    return 0


cdef bint is_unused(const Node* node) noexcept nogil:
    return node.feature == UNUSED and is_leaf(node)


cdef int meet(Tree* tree, int node, int parent, int depth) except -1:
    """Record the visit of a pair, which must be the first one."""
    require(0 <= node < tree.n_used and depth_of(tree, node) == NOT_MET,
            "Trees: a node does not exist or is in two places")
    tree.parents[node >> 1], tree.depths[node >> 1] = parent, depth
    return 0


cdef int check_leaves(Tree* tree, int n_values) except -1:
    """Raise a StateError for statistics of leaves that are impossible for any samples.

    Gains and sums of squares may overflow if weights are large; they are not used as indices.
    """
    cdef int node, n = 0
    cdef double weight
    cdef const Node* this
    cdef uint8_t[::1] met = np.zeros(tree.n_cells_used, np.uint8)
    for node in range(tree.n_used):
        this = &tree.nodes[node]
        if not is_leaf(this) or this.feature == UNUSED:
            continue
        weight = this.threshold
        require(weight == 0.0 or (weight >= FAINTEST_WEIGHT and weight <= LARGEST_FLOAT),
                "Trees: a weight is negative, not finite, or too small for full precision")
        if tree.moments != NULL:
            require(this.left == -2 - moments_below(tree, node),
                    "Trees: a leaf has the moments of another one")
            require(abs(mean_of(tree, node)) <= 2.0 * LARGEST_TARGET,
                    "Trees: a mean is not one of targets")
            continue
        require(this.left < n_values and (this.left != -1 or weight == 0.0),
                "Trees: a leaf has no such class")
        n += meet_cells(tree, first_cell(tree, node), n_values, 1.000001 * weight, met)
        require(first_cell(tree, node) < 0
                or weight_of_cells(tree, first_cell(tree, node)) > 0.0 or weight == 0.0,
                "Trees: no class of a leaf has a weight")
    tree.n_free_cells = meet_cells(tree, tree.free_cell, n_values, np.inf, met)
    require(n + tree.n_free_cells == tree.n_cells_used,
            "Trees: a cell is neither of a leaf nor free")
    return 0


cdef int moments_below(const Tree* tree, int leaf) noexcept nogil:
    """The number of the moments of a leaf, see the header of `tree`."""
    while parent_of(tree, leaf) >= 0 and tree.nodes[parent_of(tree, leaf)].left == leaf:
        leaf = parent_of(tree, leaf)
    return leaf >> 1


cdef double weight_of_cells(const Tree* tree, int cell) noexcept nogil:
    cdef double total = 0.0
    while cell >= 0:
        total += tree.cells[cell].weight
        cell = tree.cells[cell].next
    return total


cdef int meet_cells(const Tree* tree, int cell, int n_values, double most,
                    uint8_t[::1] met) except -1:
    """Record the visits of the cells of a list, which must be the first; count them."""
    cdef int n = 0
    while cell >= 0:
        require(cell < tree.n_cells_used and not met[cell] and tree.cells[cell].code < n_values
                and tree.cells[cell].weight <= most,
                "Trees: a cell does not exist, is in two lists or of no class")
        met[cell] = True
        n, cell = n + 1, tree.cells[cell].next
    return n
