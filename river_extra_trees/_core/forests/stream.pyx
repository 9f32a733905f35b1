"""Stream decision forests: batches, bootstraps and swaps (Xu, Dey, Panda, Vogelstein 2022)."""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memset

from ..parts cimport view
from ..cart.splitter cimport Splitter
from ..cart.workspace cimport find_distinct
from ..learner cimport Learner
from ..rng cimport FEATURES, RENEW, SWAP, Rng, below, rng_for, uniform
from ..tree cimport Tree, clear, learn, majority, mean_of, shrink, trim, walk_slot
from ..trees cimport Trees
from ..window cimport Window
from .forest cimport Forest

from ..state import require


cdef inline double loss_of(const Tree* tree, bint regression, int leaf, double target,
                           double weight) noexcept nogil:
    """The weighted squared error of a leaf; in a classification the weight of a wrong label."""
    cdef double error
    if regression:
        error = target - mean_of(tree, leaf)
        return weight * error * error
    return weight * (majority(tree, leaf) != <int>target)


cdef class StreamForest(Forest):
    """Trees that continue to grow on each batch of samples.

    The statistics of the nodes learn every sample at once; leaves are split when a batch is full.
    Each tree has its own bootstrap of a batch: a number of copies of every sample.

    Parameters
    ----------
    n_trees
        Number of trees.
    regression
        Whether targets are numbers instead of labels.
    batch_size
        Number of samples of a batch.
    published
        Whether leaves contain only the last batch that reached them, learned when it is complete.
    seed
        Seed of the streams of random numbers.
    bagging
        Draw the batch of each tree with replacement (Algorithm 2); else every sample counts once.
    fading
        Decay factor of the weights of a leaf, per sample that it learns.
    """

    cdef public Window full             # the last batch, while trees wait to grow on it
    cdef double* losses                 # per tree: prequential loss in this batch

    def __init__(self, int n_trees, bint regression, int batch_size, bint published, seed,
                 bint bagging, double fading):
        self.begin(n_trees, regression, batch_size, published, fading, seed)
        self.bagging = bagging
        self.reserve_losses()

    cdef int reserve_losses(self) except -1:
        """Allocate the losses, all zero."""
        return self.renew(&self.losses, self.trees.n_trees + 1, sizeof(double))

    # --- One sample ---------------------------------------------------------------------------

    cdef int hold_columns(self, uint8_t* held, int64_t* latest) except -1:
        if self.full is not None:
            self.full.find_latest(latest)
        return Forest.hold_columns(self, held, latest)

    cdef void forget_columns(self, const uint8_t* held) noexcept:
        if self.full is not None:
            self.full.keep_columns(held)
        Forest.forget_columns(self, held)

    cdef void find_offered(self) noexcept:
        """Trees that wait grow on the last batch."""
        if self.full is None:
            Forest.find_offered(self)
        else:
            find_distinct(self.full, self.schema, self.history)

    cdef int hold_labels(self, uint8_t* held, uint8_t* met) except -1:
        if self.full is not None:
            self.full.mark_classes(held)
        return Forest.hold_labels(self, held, met)

    cdef Trees new_trees(self):
        return Trees(0, self.regression, self.fading, with_visits=True,
                     with_impurities=self.published)

    cdef int learn_rows(self, const int* leaves, Py_ssize_t spacing, const double* targets,
                        const double* weights, const int* slots, int n, int position,
                        int n_labels) except -1 nogil:
        """Add the losses of each tree on the rows, and let its nodes learn the rows.

        Trees without bootstraps are never replaced, so their losses are not needed. The slot of a
        sample in the window is its position in the batch.
        """
        cdef int i, leaf, tree, n_trees = self.trees.n_trees
        cdef int* noted = self.window.leaf if n_trees == 1 else NULL
        for i in range(n):
            if slots[i] >= 0:
                learn(self.root_statistics.trees, &self.root_statistics.kind, 0, targets[i],
                      weights[i], 0.0)
        for tree in range(n_trees - self.n_waiting):    # others catch up when they have grown
            for i in range(n):
                if slots[i] < 0:
                    continue
                leaf = leaves[tree * spacing + i]
                if noted != NULL:
                    noted[slots[i]] = leaf
                self.learn_in(tree, leaf, slots[i], targets[i], weights[i])
        return 0

    cdef inline int learn_in(self, int tree, int leaf, int slot, double target,
                             double weight) except -1 nogil:
        """Add the loss of a tree on a sample of this batch, and let its leaf learn the sample."""
        cdef Tree* this = &self.trees.trees[tree]
        cdef const int* bag = self.copies_of(tree)
        cdef int copies = 1
        if bag != NULL:
            self.losses[tree] += loss_of(this, self.trees.kind.regression, leaf, target, weight)
            copies = bag[slot]
        if copies and not self.published:
            learn(this, &self.trees.kind, leaf, target, weight * copies, self.n_batches + 1)
        return 0

    cdef int catch_up(self, int tree, int first) except -1 nogil:
        cdef int i, slot
        for i in range(first, self.window.size):
            slot = self.window.slot_at(i)
            self.learn_in(tree, walk_slot(&self.trees.trees[tree], self.window, slot), slot,
                          self.window.target[slot], self.window.weight[slot])
        return 0

    # --- One batch ----------------------------------------------------------------------------

    def begin_growth(self, uint64_t batch, list replaced, int max_depth, int n_tried,
                     int n_per_step):
        """Begin the growth of all trees on the batch, and the next batch.

        Parameters
        ----------
        batch
            Number of the batch of the plan. Nothing is done if that batch is not full or the trees
            have begun to grow on it already.
        replaced
            Numbers of the trees that new ones replace.
        max_depth
            Maximum depth of a tree.
        n_tried
            Number of features that a split visits.
        n_per_step
            Number of trees that grow at once, and after each sample from then on.
        """
        cdef Window window
        with self.using():
            if (batch != self.n_batches or self.n_waiting > 0
                    or self.n_gathered() < self.batch_size):
                return
            assert n_per_step * <int64_t>self.batch_size >= <int64_t>self.trees.n_trees
            plan = np.zeros((self.trees.n_trees, 2), np.int64)
            for tree in replaced:   # without memory, `plan[replaced]` fails without an exception
                plan[tree, 0] = 1
            plan[:, 1] = max_depth
            window = Window(self.window.capacity)
            window.n_seen = self.window.n_seen
            self.full, self.window = self.window, window
            self.begin_waiting(plan, n_tried, n_per_step)
            self.n_batches += 1
            memset(self.losses, 0, self.trees.n_trees * sizeof(double))

    cdef int end_waiting(self) except -1:
        """Remember what the values of the batch say, which no tree grows on any more."""
        cdef int i
        if self.n_batches > 0 and not self.published:
            for i in range(self.full.size):
                self.history.learn(self.full, self.full.slot_at(i), self.schema)
        self.full = None
        return 0

    cdef uint64_t batch_of_bag(self, int tree) noexcept:
        """A tree that waits has yet to grow on its bag of the last batch."""
        return self.batch_of_growth() if tree >= self.trees.n_trees - self.n_waiting else (
            self.n_batches)

    cdef int grow_tree(self, int tree, Splitter splitter, int max_nodes) except -1:
        """Split the leaves that the samples have reached in a tree (Algorithm 1, lines 7 to 13)."""
        cdef Window window = self.full
        cdef uint64_t batch = self.batch_of_growth()
        cdef bint is_replaced = self.plan[tree][0]
        cdef bint is_new = self.has_early_trees() or is_replaced
        cdef Tree* this = self.new_tree(tree) if is_new else &self.trees.trees[tree]
        cdef bytearray memory = bytearray(window.capacity * sizeof(int))
        cdef int* drawn = <int*><char*>memory
        cdef const int* copies = self.copies_of(tree)
        cdef const int* leaves = NULL
        if is_replaced:
            self.draw(tree, drawn)
            copies = drawn
        if self.trees.n_trees == 1 and not is_new and self.schema.is_numeric():
            leaves = window.leaf
        splitter.window, splitter.history = window, self.history
        splitter.max_depth = self.plan[tree][1]
        if self.trees.n_trees == 1:     # no other tree mends a split, and time is no matter
            splitter.least_named = 1
        with nogil:
            if is_new:
                self.learn_root(this, window, window.size, copies)
            elif self.published:
                self.overwrite(this, copies)
            splitter.grow(this, &self.trees.kind, self.trees.n_values, self.schema, copies,
                          self.n_tried, batch + 1, rng_for(self.seed, tree, batch, FEATURES),
                          NULL, NULL, 0, leaves)
            shrink(this, max_nodes)
            self.draw_bag(tree, self.n_batches)
            self.catch_up(tree, 0)
            trim(this, &self.trees.kind, 0)
        return 0

    cdef void draw(self, int tree, int* counts) noexcept nogil:
        """Draw a bootstrap of the batch for a new tree (Algorithm 2, line 12)."""
        cdef Rng rng = rng_for(self.seed, tree, self.batch_of_growth(), RENEW)
        cdef int _
        for _ in range(self.full.size):
            counts[self.full.slot_at(<int>below(&rng, self.full.size))] += 1

    cdef int overwrite(self, Tree* tree, const int* copies) except -1 nogil:
        """Reset the leaves that the batch has reached, so that they contain only this batch."""
        cdef int i, slot, leaf, n
        cdef double batch = self.batch_of_growth() + 1
        for i in range(self.full.size):
            slot = self.full.slot_at(i)
            n = copies[slot] if copies != NULL else 1
            if n == 0:
                continue
            leaf = walk_slot(tree, self.full, slot)
            if tree.visited[leaf] != batch:
                clear(tree, leaf)
            learn(tree, &self.trees.kind, leaf, self.full.target[slot],
                  n * self.full.weight[slot], batch)
        return 0

    def tree_losses(self):
        """The prequential loss of each tree in this batch."""
        with self.using():
            return self.views()["losses"].copy()

    def trees_to_replace(self, int n_swaps):
        """The numbers of the trees that are replaced in this batch, worst first.

        From the second batch on: those with errors; in the published program any, with probability
        1 / b in batch b (Algorithm 2, lines 8 to 11).
        """
        cdef object losses = self.tree_losses()
        cdef uint64_t b = self.n_batches + 1
        cdef Rng rng = rng_for(self.seed, 0, self.n_batches, SWAP)
        if n_swaps == 0 or b < 2 or (self.published and uniform(&rng) >= 1.0 / b):
            return []
        order = np.argsort(-losses, kind="stable")[:n_swaps].tolist()
        return [tree for tree in order if losses[tree] > 0.0 or self.published]

    # --- Copies -------------------------------------------------------------------------------

    cdef Learner serving_copy(self):
        cdef StreamForest copy = Forest.serving_copy(self)
        copy.reserve_losses()
        return copy

    # --- State --------------------------------------------------------------------------------

    def settings(self):
        return {**super().settings(), "fading": self.fading}

    FIELDS = {**Forest.FIELDS, "losses": ("numbers", "trees", {"least": 0.0}),
              "full": ("part_or_none", Window)}
    DEFAULTS = {**Forest.DEFAULTS, "full": None}

    cdef dict views(self):
        # Heavy samples with large errors lose more than floats hold; losses are only compared.
        return {"losses": view(self.losses, "f8", (self.trees.n_trees,))}

    cdef int load(self, dict fields) except -1:
        self.trees = fields["trees"]
        self.reserve_losses()
        return Forest.load(self, fields)

    cdef int check_structure(self) except -1:
        require((self.full is None) == (self.n_waiting == 0 or self.n_batches == 0),
                "StreamForest: trees wait without a batch")
        Forest.check_structure(self)
        for window in [self.window] if self.full is None else [self.window, self.full]:
            require(window.slots() == list(range(window.size)) and window.n_sorted == 0,
                    "StreamForest: the batch is not in its slots")
        if self.full is not None:
            require(self.full.size == self.batch_size, "StreamForest: the last batch is not full")
            self.full.check_codes(self.schema, -1 if self.regression else <int>len(self.labels))
        return 0
