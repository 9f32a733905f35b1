"""Stream decision forests: batches, bootstraps and swaps (Xu, Dey, Panda, Vogelstein 2022)."""

import numpy as np

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
from libc.string cimport memset

from ..cart.splitter cimport Splitter
from ..guarded cimport end_step
from ..learner cimport Learner
from ..lists cimport item_of, length_of
from ..memory cimport free, resized
from ..rng cimport FEATURES, RENEW, SWAP, Rng, below, rng_for, uniform
from ..trees cimport HEADER, VISITED, Trees
from ..window cimport Window
from .batch_growth cimport BatchGrowth
from .forest cimport Forest

from ..state import require


cdef inline double loss_of(Trees trees, int leaf, double target, double weight) noexcept nogil:
    """The weighted squared error of a leaf; in a classification the weight of a wrong label."""
    cdef double error
    if trees.regression:
        error = target - trees.row(leaf)[HEADER]
        return weight * error * error
    return weight * (trees.majority(leaf) != <int>target)


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
    bootstrap
        Draw the batch of each tree with replacement (Algorithm 2); else every sample counts once.
    fading
        Decay factor of the weights of a leaf, per sample that it learns.
    """

    cdef double* losses                 # per tree: prequential loss in this batch

    def __init__(self, int n_trees, bint regression, int batch_size, bint published, seed,
                 bint bootstrap, double fading):
        self.begin(n_trees, regression, batch_size, published, fading, seed)
        self.bagging = bootstrap
        self.set_losses(np.zeros(n_trees))

    def __dealloc__(self):
        free(self.losses)

    cdef int set_losses(self, const double[::1] losses) except -1:
        """Set the losses, one per tree."""
        cdef Py_ssize_t tree, n = losses.shape[0]
        self.losses = <double*>resized(self.losses, n + 1, sizeof(double))
        for tree in range(n):
            self.losses[tree] = losses[tree]
        return 0

    cdef object all_losses(self):
        return np.array([self.losses[tree] for tree in range(len(self.trees))], np.float64)

    # --- One sample ---------------------------------------------------------------------------

    cdef void learn_rows(self, const int* leaves, const double* targets, const double* weights,
                         const int* slots, int n, int position, int n_labels) noexcept nogil:
        """Add the losses of each tree on the rows, and let its nodes learn the rows.

        Trees without bootstraps are never replaced, so their losses are not needed. The slot of a
        sample in the window is its position in the batch.
        """
        cdef int i, leaf, tree, copies = 1
        cdef int n_trees = <int>length_of(<PyObject*>self.trees)
        cdef double batch = self.n_batches + 1
        cdef bint learns = not self.published
        cdef int* noted = self.window.leaf if n_trees == 1 else NULL
        cdef const int* bag = NULL
        cdef PyObject* trees
        for i in range(n):
            if slots[i] >= 0:
                self.root_statistics.learn(
                    self.root_statistics.roots[0], targets[i], weights[i], 0.0)
        for tree in range(n_trees):
            trees = item_of(<PyObject*>self.trees, tree)
            bag = self.copies_of(tree)
            for i in range(n):
                if slots[i] < 0:
                    continue
                leaf = self.leaf_at(leaves, tree, i)
                if noted != NULL:
                    noted[slots[i]] = leaf
                if bag != NULL:
                    self.losses[tree] += loss_of(<Trees>trees, leaf, targets[i], weights[i])
                    copies = bag[slots[i]]
                if copies and learns:
                    (<Trees>trees).learn(leaf, targets[i], weights[i] * copies, batch)

    # --- One batch ----------------------------------------------------------------------------

    def grow(self, uint64_t batch, list splitters, list replaced, int max_features,
             int max_nodes):
        """Grow all trees on the batch, replace some of them, and begin the next batch.

        Parameters
        ----------
        batch
            Number of the batch of the plan. Nothing is done if that batch is not full or the trees
            have grown on it already.
        splitters
            One per thread.
        replaced
            Numbers of the trees to replace.
        max_features
            Number of features that a split visits.
        max_nodes
            Maximum number of nodes of a tree.
        """
        cdef StreamGrowth growth
        with self.using():
            if batch != self.n_batches or self.n_gathered() < self.batch_size:
                return
            growth = StreamGrowth(self, splitters)
            growth.replaced = replaced
            growth.max_features, growth.max_nodes = max_features, max_nodes
            growth.run()
            self.end_batch()
            end_step(self)

    cdef void end_batch(self) noexcept:
        """Remove the batch and draw the bags of the next batch."""
        self.window.clear()
        self.n_batches += 1
        memset(self.losses, 0, len(self.trees) * sizeof(double))
        self.draw_bags()

    cdef void draw(self, int tree, int* counts) noexcept nogil:
        """Draw a bootstrap of the batch for a new tree (Algorithm 2, line 12)."""
        cdef Rng rng = rng_for(self.seed, tree, self.n_batches, RENEW)
        cdef int _
        for _ in range(self.window.size):
            counts[self.window.slot_at(<int>below(&rng, self.window.size))] += 1

    cdef void overwrite(self, Trees trees, const int* copies) noexcept nogil:
        """Reset the leaves that the batch has reached, so that they contain only this batch."""
        cdef int i, slot, leaf, n
        cdef double batch = self.n_batches + 1
        for i in range(self.window.size):
            slot = self.window.slot_at(i)
            n = copies[slot] if copies != NULL else 1
            if n == 0:
                continue
            leaf = trees.walk_slot(trees.roots[0], self.window, slot)
            if trees.row(leaf)[VISITED] != batch:
                trees.clear(leaf)
            if self.regression:
                trees.add_number(leaf, self.window.target[slot], n * self.window.weight[slot],
                                 batch)
            else:
                trees.add_class(leaf, <int>self.window.target[slot],
                                n * self.window.weight[slot], batch)

    def tree_losses(self):
        """The prequential loss of each tree in this batch."""
        with self.using():
            return self.all_losses()

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
        copy.set_losses(np.zeros(len(copy.trees)))
        return copy

    # --- State --------------------------------------------------------------------------------

    def __sizeof__(self):
        return super().__sizeof__() + (len(self.trees) + 1) * sizeof(double)

    def settings(self):
        return {**super().settings(), "bootstrap": self.bagging, "fading": self.fading}

    cdef dict fields(self):
        """The trees and the samples; the bags of the batch follow from the seed."""
        return {**Forest.fields(self), "bootstrap": self.bagging, "losses": self.all_losses()}

    STATE = (*Forest.STATE, "bootstrap", "losses")
    DEFAULTS = {**Forest.DEFAULTS, "bootstrap": False}

    cdef object read(self, object state):
        Forest.read(self, state)
        self.bagging = state.flag("bootstrap")
        # Heavy samples with large errors lose more than floats hold; losses are only compared.
        self.set_losses(state.numbers("losses", len(self.trees), least=0.0))

    cdef int check_fits(self) except -1:
        Forest.check_fits(self)
        require(self.window.slots() == list(range(self.window.size)),
                "StreamForest: the batch is not in its slots")
        return 0


cdef class StreamGrowth(BatchGrowth):
    """The growth of all trees on one batch."""

    cdef list replaced      # the trees to replace
    cdef int max_features
    cdef int max_nodes

    cdef int grow_tree(self, int tree, Splitter splitter) except -1:
        """Split the leaves that the samples have reached in a tree (Algorithm 1, lines 7 to 13)."""
        cdef StreamForest forest = self.forest
        cdef Window window = forest.window
        cdef bint is_new = self.is_first or tree in self.replaced
        cdef Trees trees = forest.new_tree() if is_new else forest.trees[tree]
        cdef bytearray memory = bytearray(window.capacity * sizeof(int))
        cdef int* drawn = <int*><char*>memory
        cdef const int* copies = forest.copies_of(tree)
        cdef const int* leaves = NULL
        if tree in self.replaced:
            forest.draw(tree, drawn)
            copies = drawn
        if self.n_trees == 1 and not is_new and window.n_sorted == 0:
            leaves = window.leaf
        forest.trees[tree] = splitter.trees = trees
        splitter.window = window
        with nogil:
            if is_new:
                forest.learn_root(trees, copies)
            elif forest.published:
                forest.overwrite(trees, copies)
            splitter.grow(trees.roots[0], forest.schema, copies, self.max_features,
                          forest.n_batches + 1,
                          rng_for(forest.seed, tree, forest.n_batches, FEATURES),
                          NULL, NULL, 0, leaves)
            trees.shrink_to(self.max_nodes)
            trees.trim(0)
        return 0
