"""Stream decision forests: batches, bootstraps and swaps (Xu, Dey, Panda, Vogelstein 2022)."""

import numpy as np

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
from libc.string cimport memset

from ..cart.splitter cimport Splitter
from ..learner cimport Learner
from ..lists cimport item_of, length_of
from ..memory cimport free, resized, zeroed
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
            self.make_bags()        # of a forest that was loaded with a full batch
            growth = StreamGrowth(self, splitters, replaced, max_features, max_nodes)
            growth.run()
            self.trees = growth.trees
            self.end_batch()

    cdef void end_batch(self) noexcept:
        """Remove the batch and draw the bags of the next batch."""
        self.window.clear()
        self.n_batches += 1
        memset(self.losses, 0, len(self.trees) * sizeof(double))
        self.draw_bags()

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
        require(self.window.is_in_order(), "StreamForest: the batch is not in its slots")
        return 0


cdef class Bootstrap:
    """The number of copies of each sample, per slot."""

    cdef int* counts

    def __cinit__(self, int capacity):
        self.counts = <int*>zeroed(capacity, sizeof(int))

    def __dealloc__(self):
        free(self.counts)


cdef class StreamGrowth(BatchGrowth):
    """The growth of all trees on one batch. The constructor can fail, `run` cannot."""

    cdef StreamForest forest
    cdef list trees         # of the forest, with new trees for those that are replaced
    cdef int max_features
    cdef int max_nodes
    cdef list bootstraps    # per tree: of the batch for a new one; None: it is grown further

    def __init__(self, StreamForest forest, list splitters, list replaced, int max_features,
                 int max_nodes):
        cdef Window window = forest.window
        cdef Trees trees
        cdef Splitter splitter
        cdef int index
        self.forest, self.splitters = forest, splitters
        self.max_features, self.max_nodes = max_features, max_nodes
        self.trees, self.n_trees = list(forest.trees), len(forest.trees)
        self.bootstraps = [None] * self.n_trees
        for index in replaced:
            self.trees[index] = forest.new_tree()
            self.bootstraps[index] = self.draw(index)
        if forest.n_batches == 0 and forest.n_early:
            self.trees = [forest.new_tree() for _ in forest.trees]
        for index in range(self.n_trees):
            trees = self.trees[index]
            trees.reserve(2 * <Py_ssize_t>window.size, trees.n_values)
            for splitter in splitters:
                splitter.reserve(trees.capacity, window.size, window.capacity, window.n_live,
                                 trees.n_values)

    cdef Bootstrap draw(self, int index):
        """A bootstrap of the batch for a new tree (Algorithm 2, line 12)."""
        cdef StreamForest forest = self.forest
        cdef Window window = forest.window
        cdef Bootstrap bootstrap = Bootstrap(window.capacity)
        cdef Rng rng = rng_for(forest.seed, index, forest.n_batches, RENEW)
        for _ in range(window.size):
            bootstrap.counts[window.slot_at(<int>below(&rng, window.size))] += 1
        return bootstrap

    cdef int grow_tree(self, int index, int worker, Splitter splitter) except -1:
        """Split the leaves that the samples have reached in a tree (Algorithm 1, lines 7 to 13)."""
        cdef StreamForest forest = self.forest
        cdef Trees trees = self.trees[index]
        cdef Window window = forest.window
        cdef const int* copies = forest.copies_of(index)
        cdef const int* leaves = NULL
        if self.bootstraps[index] is not None:
            copies = (<Bootstrap>self.bootstraps[index]).counts
            forest.learn_root(trees, window, copies)
        elif forest.published:
            forest.overwrite(trees, copies)
        elif trees is not forest.trees[index]:      # it replaces an early tree
            forest.learn_root(trees, window, copies)
        if self.n_trees == 1 and trees is forest.trees[index] and window.n_sorted == 0:
            leaves = window.leaf
        splitter.grow(trees, trees.roots[0], window, forest.schema, copies, self.max_features,
                      forest.n_batches + 1,
                      rng_for(forest.seed, index, forest.n_batches, FEATURES),
                      NULL, NULL, 0, leaves)
        trees.shrink_to(self.max_nodes)
        trees.trim(0)
        return 0
