"""Ensembles of trees on one stream: the work per sample.

A single tree is a forest of one. The subclasses define the bags of a batch and the growth of trees.

A forest may be divided into parts. Each part has some of the trees and reads all samples.
"""

from cpython.object cimport PyObject
from libc.math cimport NAN
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset

from copy import deepcopy

import numpy as np

from ..batch cimport AHEAD, Ahead, Batch, Reader
from ..guarded cimport Holder
from ..learner cimport Learner
from ..lists cimport item_of, length_of
from ..memory cimport free, product, resized, zeroed
from ..naive_bayes cimport EarlyPool
from ..rng cimport BOOTSTRAP, Rng, below, rng_for
from ..schema cimport Labels, Schema
from ..shares cimport first_largest
from ..trees cimport HEADER, WEIGHT, Trees
from ..window cimport Window

from ..state import State, require

cdef enum:
    FIRST = 10      # number of samples at the first early growth; also the smallest step after it


cdef int room_in(Window window, Schema schema) noexcept nogil:
    """Number of samples of the schema for which a window has memory."""
    if schema.n_columns > window.column_capacity:
        return 0
    return window.capacity - window.size


cdef class Ensemble(Learner):
    """Trees that learn one stream and vote."""

    cdef Trees new_tree(self):
        """A tree of one empty leaf."""
        cdef Trees trees = Trees(len(self.labels), self.regression, self.fading)
        trees.add_tree()
        return trees

    cdef int count_trees(self) noexcept:
        return <int>len(self.trees)

    cdef list tree_nodes(self, int tree):
        return [self.trees[tree].node(node) for node in self.trees[tree].preorder()]

    cdef tuple tree_sizes(self):
        return (sum(trees.n_nodes for trees in self.trees),
                max((trees.height for trees in self.trees), default=0))


cdef class Forest(Ensemble):
    """Trees that learn in batches. Subclasses call `begin` in their constructor."""

    cdef int begin(self, int n_trees, bint regression, int batch_size, bint reference,
                   double fading, object seed, int64_t warm_up) except -1:
        self.regression, self.reference = regression, reference
        self.batch_size, self.fading, self.seed = batch_size, fading, seed
        self.window = Window()
        self.root_statistics = Trees(0, regression)
        self.root_statistics.add_tree()
        self.trees = [self.new_tree() for _ in range(n_trees)]
        self.reserve_sums(1)
        if warm_up > 0 and not (regression or reference):
            self.early = EarlyPool(n_trees, warm_up)
        return 0

    def __dealloc__(self):
        free(self.sums)
        free(self.bags)

    # --- Learning -----------------------------------------------------------------------------

    cdef int reserve(self, int n_labels) except -1 nogil:
        cdef Py_ssize_t tree
        if not self.regression:
            for tree in range(length_of(<PyObject*>self.trees)):
                (<Trees>item_of(<PyObject*>self.trees, tree)).reserve(0, n_labels)
            self.root_statistics.reserve(0, n_labels)
        self.reserve_sums(n_labels)
        if self.bagging and self.bags == NULL:
            with gil:
                self.make_bags()
        return self.window.reserve_one(self.schema.n_columns, self.batch_size)

    cdef void widen(self, int n_labels) noexcept:
        cdef Trees trees
        for trees in self.trees:
            trees.widen(n_labels)
        self.root_statistics.widen(n_labels)

    cdef int push(self, double target, double weight) noexcept nogil:
        """Store the row encoded last in the window; return its slot."""
        self.root_statistics.learn(self.root_statistics.roots[0], target, weight, 0.0)
        return self.window.push(self.schema, target, weight)

    cdef void take(self, double target, double weight) noexcept nogil:
        self.take_row(NULL, target, weight, self.n_labels())

    cdef void take_row(self, const int* leaves, double target, double weight,
                       int n_labels) noexcept nogil:
        pass

    cdef bint batch_is_full(self) noexcept nogil:
        return self.n_gathered() >= self.batch_end()

    cdef int batch_end(self) noexcept nogil:
        """Number of samples in this batch at which the trees grow next."""
        if self.n_batches > 0 or self.reference:
            return self.batch_size
        return <int>min(self.n_early + <int64_t>max(FIRST, self.n_early // 2),
                        <int64_t>self.batch_size)

    cdef int n_gathered(self) noexcept nogil:
        """Number of samples in this batch."""
        return self.window.size

    @property
    def n_in_batch(self):
        """Number of samples in this batch."""
        return self.n_gathered()

    cdef int make_bags(self) except -1:
        """Draw the bags of this batch, unless they are drawn already."""
        if self.bagging and self.bags == NULL:
            self.bags = <int*>zeroed(product(len(self.trees), self.batch_size), sizeof(int))
            self.draw_bags()
        return 0

    cdef void draw_bags(self) noexcept:
        """Draw the bags of the next batch with replacement; in the first one `make_bags` does."""
        cdef int tree, n_trees = <int>len(self.trees)
        cdef int* bag = self.bags
        cdef int64_t _
        cdef Rng rng
        if bag == NULL:
            return
        memset(bag, 0, <size_t>n_trees * self.batch_size * sizeof(int))
        for tree in range(n_trees):
            rng = rng_for(self.seed, self.first_tree + tree, self.n_batches, BOOTSTRAP)
            for _ in range(self.bag_size(&rng)):
                bag[<int>below(&rng, self.batch_size)] += 1
            bag += self.batch_size

    cdef int64_t bag_size(self, Rng* rng) noexcept:
        """Number of samples in the bag of a tree, copies counted."""
        return self.batch_size

    cdef Window early_window(self):
        """A window with the samples of the first batch so far; slot = position in the batch.

        The samples are sorted if several trees use them.
        """
        if len(self.trees) == 1 and self.window.n_sorted == 0 and self.window.is_in_order():
            return self.window
        return self.window.sorted_copy()

    cdef const int* copies_of(self, int tree) noexcept nogil:
        """Per position in this batch: copies of the sample in a tree; NULL: one each."""
        return self.bags + <Py_ssize_t>tree * self.batch_size if self.bags != NULL else NULL

    cdef int mark_columns(self, int tree, uint8_t* chosen) except -1:
        """Mark the columns that a tree may split."""
        memset(chosen, 1, self.window.n_columns)
        return 0

    cdef void learn_root(self, Trees trees, Window window, const int* copies) noexcept nogil:
        """Add the samples to the root of a new tree; `copies` is per slot."""
        cdef int i, slot, n
        for i in range(window.size):
            slot = window.slot_at(i)
            n = copies[slot] if copies != NULL else 1
            if n:
                trees.learn(trees.roots[0], window.target[slot], window.weight[slot] * n,
                            self.n_batches + 1)

    @property
    def n_seen(self):
        """Number of samples learned."""
        return self.window.n_seen

    # --- Rows of a batch without the GIL ------------------------------------------------------

    cdef bint prepare_run(self, Reader reader) except -1:
        if reader.ahead is None:
            reader.ahead = Ahead()
        reader.ahead.reserve(self.schema.n_columns, len(self.trees))
        self.reserve_sums(self.n_labels())
        return True

    cdef int run(self, Reader reader, Py_ssize_t stop, int n_labels) except -1 nogil:
        """Predict and learn rows; several rows go down the trees at once.

        No tree changes its splits before the batch is full.
        """
        cdef Py_ssize_t tree, n_columns = self.schema.n_columns
        cdef int i, n
        cdef PyObject* trees
        cdef (const double*)[AHEAD] rows
        for i in range(AHEAD):
            rows[i] = reader.ahead.rows + i * n_columns
        while reader.row < stop and not (reader.answered or self.batch_is_full()):
            n = self.read_ahead(reader, stop, n_labels)
            if n == 0:
                return 0
            for tree in range(length_of(<PyObject*>self.trees)):
                trees = item_of(<PyObject*>self.trees, tree)
                (<Trees>trees).walk_rows((<Trees>trees).roots[0], rows, n, 1, n_columns,
                                         reader.ahead.leaves + tree * AHEAD)
            for i in range(n):
                if reader.asks:
                    self.answer_ahead(reader, reader.ahead.leaves + i, n_labels)
                if reader.ahead.weights[i] > 0.0:
                    memcpy(self.schema.row, rows[i], n_columns * sizeof(double))
                    self.take_row(reader.ahead.leaves + i, reader.ahead.targets[i],
                                  reader.ahead.weights[i], n_labels)
                reader.row += 1
        return 0

    cdef int read_ahead(self, Reader reader, Py_ssize_t stop, int n_labels) noexcept nogil:
        """Read the next rows without new values while there is room; return their number."""
        cdef Py_ssize_t start = reader.row, n_columns = self.schema.n_columns
        cdef int n = 0, room = self.room(n_labels) if reader.learns else 0
        cdef bint is_known, is_new
        while n < AHEAD and reader.row < stop:
            is_known = reader.encode_into(reader.ahead.rows + n * n_columns)
            if reader.finds:
                break
            reader.ahead.weights[n] = reader.weight() if reader.learns else 0.0
            if reader.ahead.weights[n] > 0.0:
                reader.ahead.targets[n] = reader.target()
                is_new = not self.regression and reader.ahead.targets[n] < 0.0
                if room <= 0 or is_new or not is_known:
                    break
                room -= 1
            n += 1
            reader.row += 1
            if reader.ahead.weights[n - 1] > 0.0 and room == 0:
                break               # trees grow before the next row is predicted
        reader.row = start
        return n

    cdef int room(self, int n_labels) noexcept nogil:
        if (self.bagging and self.bags == NULL) or (
                not self.regression and self.root_statistics.n_values != n_labels):
            return 0
        return min(self.batch_end() - self.n_gathered(), room_in(self.window, self.schema))

    cdef void answer_ahead(self, Reader reader, const int* leaves, int n_labels) noexcept nogil:
        """Store the predictions for the next row, from its leaves."""
        if reader.asks_numbers:
            reader.number_answers[reader.row] = self.mean_of_trees(leaves)
        elif reader.asks_shares:
            reader.put_shares(self.sum_votes(leaves, n_labels), n_labels)
        elif n_labels:
            reader.label_answers[reader.row] = first_largest(
                self.sum_votes(leaves, n_labels), n_labels)
        else:
            reader.label_answers[reader.row] = -1

    # --- Predictions --------------------------------------------------------------------------

    cdef int reserve_sums(self, int n_labels) except -1 nogil:
        if n_labels > self.n_sums:
            self.sums = <double*>resized(self.sums, n_labels, sizeof(double))
            self.n_sums = n_labels
        return 0

    cdef inline int leaf_of(self, Trees trees) noexcept nogil:
        """The leaf that the row encoded last reaches."""
        return trees.walk(trees.roots[0], self.schema.row, 1, self.schema.n_columns)

    cdef inline int leaf_at(self, const int* leaves, Py_ssize_t tree) noexcept nogil:
        """The leaf of a tree from `leaves`, or, if NULL, the one the row encoded last reaches."""
        if leaves != NULL:
            return leaves[tree * AHEAD]
        return self.leaf_of(<Trees>item_of(<PyObject*>self.trees, tree))

    cdef bint add_votes(self, Trees trees, int leaf, double* votes) noexcept nogil:
        """Add the class frequencies of a leaf to the votes; return whether it has samples."""
        cdef const double* row = trees.row(leaf)
        cdef int code
        if row[WEIGHT] <= 0.0:
            return False
        for code in range(trees.n_values):
            votes[code] += row[HEADER + code] / row[WEIGHT]
        return True

    cdef double* row_shares(self) except? NULL nogil:
        return self.sum_votes(NULL, self.n_labels())

    cdef double* sum_votes(self, const int* leaves, int n_labels) noexcept nogil:
        """The sums of the class frequencies of the leaves."""
        cdef Py_ssize_t tree
        cdef bint voted = False
        memset(self.sums, 0, n_labels * sizeof(double))
        for tree in range(length_of(<PyObject*>self.trees)):
            voted |= self.add_votes(<Trees>item_of(<PyObject*>self.trees, tree),
                                    self.leaf_at(leaves, tree), self.sums)
        if not voted:
            self.add_votes(self.root_statistics, self.root_statistics.roots[0], self.sums)
        return self.sums

    cdef double* early_shares(self, int code) except? NULL nogil:
        """The sums of the class frequencies of each tree after the early pool."""
        cdef int c, tree, n_labels = self.early.n_classes
        cdef double* sums = self.early.sums
        cdef PyObject* trees
        if self.early.n_answers == 0:       # a part without trees
            return self.row_shares()
        self.early.look_at(self.schema.row)
        memset(sums, 0, n_labels * sizeof(double))
        for tree in range(self.early.n_answers):
            trees = item_of(<PyObject*>self.trees, tree)
            memset(self.sums, 0, n_labels * sizeof(double))
            Forest.add_votes(self, <Trees>trees, self.leaf_of(<Trees>trees), self.sums)
            self.early.pool(tree, self.sums)
            if code >= 0:
                self.early.weigh(tree, self.sums, code)
            for c in range(n_labels):
                sums[c] += self.sums[c]
        return sums

    cdef double row_number(self) except? -1.0 nogil:
        return self.mean_of_trees(NULL)

    cdef double mean_of_trees(self, const int* leaves) noexcept nogil:
        """The mean of the leaf means."""
        cdef const double* row
        cdef double total = 0.0
        cdef Py_ssize_t tree
        cdef int n = 0
        for tree in range(length_of(<PyObject*>self.trees)):
            row = (<Trees>item_of(<PyObject*>self.trees, tree)).row(self.leaf_at(leaves, tree))
            if row[WEIGHT] > 0.0:
                total += row[HEADER]
                n += 1
        return total / n if n else self.root_statistics.row(self.root_statistics.roots[0])[HEADER]

    def votes(self, Batch batch):
        """The vote of each tree on each row, as an array [row, tree, class].

        Class frequencies, all zero for an empty tree; during the first samples the result of the
        early pool. In a regression the only class is the mean, NaN for an empty tree.
        """
        cdef Py_ssize_t row, tree, width
        cdef double[:, :, ::1] votes
        cdef Reader reader = self.reader(batch)
        cdef Trees trees
        cdef int leaf
        cdef bint pools
        with self.using():
            pools = self.pools()
            reader.link(self.schema, self.labels)
            width = 1 if self.regression else len(self.labels.labels)
            votes = np.zeros((len(batch), len(self.trees), max(1, width)))
            for row in range(votes.shape[0]):
                reader.row = row
                reader.read()
                if pools:
                    self.early.look_at(self.schema.row)
                for tree in range(votes.shape[1]):
                    trees = <Trees>self.trees[tree]
                    leaf = self.leaf_of(trees)
                    if not self.regression:
                        self.add_votes(trees, leaf, &votes[row, tree, 0])
                        if pools:
                            self.early.pool(<int>tree, &votes[row, tree, 0])
                    elif trees.row(leaf)[WEIGHT] > 0.0:
                        votes[row, tree, 0] = trees.row(leaf)[HEADER]
                    else:
                        votes[row, tree, 0] = NAN
            return votes.base

    # --- Copies and parts ---------------------------------------------------------------------

    cdef Learner serving_copy(self):
        cdef Forest copy = type(self)(**{**self.settings(), "n_trees": 0, "batch_size": 1})
        copy.schema, copy.labels, copy.trees, copy.root_statistics = deepcopy(
            (self.schema, self.labels, self.trees, self.root_statistics))
        copy.reserve_sums(<int>len(copy.labels))
        return copy

    def keep(self, int first, int stop):
        """Reduce this object to the part of the forest with the trees first ... stop - 1."""
        with self.using():
            self.keep_trees(first, stop)

    cdef object keep_trees(self, int first, int stop):
        self.trees = self.trees[first:stop]
        free(self.bags)
        self.bags = NULL        # they are drawn again, for these trees
        self.first_tree += first
        self.is_part = True
        if self.early is not None:
            self.early.keep_answers(first, stop)

    def join(self, parts):
        """Restore the whole forest from this part, the first one, and all others in order."""
        parts = [self, *parts]
        _held = [Holder(part) for part in parts]
        self.join_parts(parts)

    cdef object join_parts(self, list parts):
        self.trees = [trees for part in parts for trees in (<Forest>part).trees]
        free(self.bags)
        self.bags = NULL        # they are drawn again, for these trees
        self.is_part = False
        if self.early is not None:
            self.early.join([(<Forest>part).early for part in parts])

    # --- State --------------------------------------------------------------------------------

    def __sizeof__(self):
        cdef size_t n_counts = 0 if self.bags == NULL else len(self.trees) * self.batch_size
        return object.__sizeof__(self) + self.n_sums * sizeof(double) + n_counts * sizeof(int)

    def settings(self):
        """The arguments of the constructor."""
        return {"n_trees": len(self.trees), "regression": self.regression,
                "batch_size": self.batch_size, "reference": self.reference, "seed": self.seed}

    cdef dict fields(self):
        return {name: getattr(self, name) for name in Forest.STATE}

    STATE = ("regression", "batch_size", "reference", "fading", "seed", "n_batches", "n_early",
             "schema", "labels", "window", "trees", "root_statistics", "first_tree", "is_part",
             "early")

    DEFAULTS = {"regression": False, "reference": False, "n_batches": 0, "n_early": 0,
                "first_tree": 0, "is_part": False, "early": None}

    @classmethod
    def restored(cls, values):
        """The forest of a state."""
        cdef Forest forest = cls.__new__(cls)
        forest.read(State(cls.__name__, values, cls.STATE, cls.DEFAULTS))
        forest.check_fits()
        forest.reserve_sums(max(1, <int>len(forest.labels)))
        return forest

    cdef object read(self, object state):
        """Read the fields of a state; `check_fits` checks their consistency."""
        self.regression = state.flag("regression")
        self.reference = state.flag("reference")
        self.fading = state.number("fading", 0.0, 1.0)
        self.seed = state.whole("seed", 0, 2**64 - 1)
        self.n_batches = state.whole("n_batches")
        self.schema = state.part("schema", Schema)
        self.labels = state.part("labels", Labels)
        self.window = state.part("window", Window)
        self.batch_size = state.whole("batch_size", 1, 2**31 - 1)
        self.trees = state.parts("trees", Trees)
        self.root_statistics = state.part("root_statistics", Trees)
        self.n_early = state.whole("n_early", 0, self.batch_size)
        self.is_part = state.flag("is_part")
        self.first_tree = state.whole("first_tree", 0, 2**31 - 1 if self.is_part else 0)
        self.read_early(state, len(self.trees))

    cdef int check_structure(self) except -1:
        return self.check_fits()

    cdef int check_fits(self) except -1:
        """Raise a StateError if the valid parts of the forest are not consistent."""
        cdef Trees trees
        n_values = 2 if self.regression else len(self.labels)
        require((self.trees or self.is_part) and not (self.regression and self.labels.labels),
                "Forest: there is no tree, or a regression has labels")
        require(self.root_statistics.n_used == 1, "Forest: the root statistics are no leaf")
        for trees in [self.root_statistics, *self.trees]:
            require(trees.n_roots == 1 and trees.regression == self.regression
                    and trees.n_values == n_values and trees.n_features <= self.schema.n_columns
                    and trees.fading == (1.0 if trees is self.root_statistics else self.fading),
                    "Forest: a tree does not belong to it")
        require(self.n_gathered() <= self.batch_size,
                "Forest: the batch has too many samples")
        require(self.n_batches > 0 or self.n_early <= self.n_gathered(),
                "Forest: the first trees have grown on samples that are not there")
        return self.check_targets(self.window)

    cdef int check_targets(self, Window window) except -1:
        """Raise an error for a window with columns or labels that this forest does not have."""
        cdef int slot
        cdef double target, n_labels = len(self.labels.labels)
        require(window.n_columns <= self.schema.n_columns, "Forest: a column has no name")
        for slot in window.slots():
            target = window.target[slot]
            require(self.regression or (0 <= target < n_labels and target == <int>target),
                    "Forest: a sample has no known label")
        return 0
