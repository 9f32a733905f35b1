"""Stream decision forests: batches, bootstraps and swaps (Xu, Dey, Panda, Vogelstein 2022)."""

import numpy as np

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

from ..cart.splitter cimport Splitter
from ..learner cimport Learner
from ..lists cimport item_of, length_of
from ..memory cimport free, product, resized, zeroed
from ..rng cimport BOOTSTRAP, FEATURES, RENEW, SWAP, Rng, below, rng_for, uniform
from ..trees cimport HEADER, VISITED, Trees
from ..window cimport Window
from .batch_growth cimport BatchGrowth
from .forest cimport Forest, room_in

from ..state import require


cdef class StreamForest(Forest):
    """Trees that keep growing, a batch of samples at a time.

    The statistics of the nodes are up to date after every sample; leaves are split when a batch is
    full. Each tree weighs a batch by its own bootstrap: a number of copies of every sample.

    Parameters
    ----------
    n_trees
        Number of trees.
    regression
        Whether targets are numbers in place of labels.
    batch_size
        Number of samples of a batch.
    reference
        Let the leaves hold only the last batch that reached them, learned when it is complete.
    seed
        Names the streams of random numbers.
    bootstrap
        Draw the batch of each tree with replacement (Algorithm 2); else every sample counts once.
    fading
        What is left of a leaf's earlier weights after each sample it learns.
    n_latest
        Number of samples to keep for the growth of new trees; 0 grows them on the batch.
    warm_up
        Number of samples during which the early pool answers.
    """

    cdef readonly bint bootstrap
    cdef readonly int n_latest
    cdef readonly Window latest         # between batches, the n_latest latest samples
    cdef int* sample_counts             # sample_counts[tree * batch_size + position]: the bootstrap
                                        #   of the tree; made for the first sample
    cdef double* losses                 # per tree: prequential loss in this batch

    def __init__(self, int n_trees, bint regression, int batch_size, bint reference, seed,
                 bint bootstrap, double fading, int n_latest, int64_t warm_up=0):
        self.begin(n_trees, regression, batch_size, reference, fading, seed, warm_up)
        self.bootstrap = bootstrap
        self.n_latest = n_latest
        self.latest = Window(1)
        self.set_losses(np.zeros(n_trees))

    def __dealloc__(self):
        free(self.losses)
        free(self.sample_counts)

    cdef int set_losses(self, const double[::1] losses) except -1:
        """Let there be these losses, one per tree."""
        cdef Py_ssize_t tree, n = losses.shape[0]
        self.losses = <double*>resized(self.losses, n + 1, sizeof(double))
        for tree in range(n):
            self.losses[tree] = losses[tree]
        return 0

    cdef object all_losses(self):
        return np.array([self.losses[tree] for tree in range(len(self.trees))], np.float64)

    cdef int make_sample_counts(self) except -1:
        """Make the bootstraps of this batch, unless there are any."""
        if self.bootstrap and self.sample_counts == NULL:
            self.sample_counts = <int*>zeroed(
                product(len(self.trees), self.batch_size), sizeof(int))
            self.draw_bootstraps()
        return 0

    cdef void forget_sample_counts(self) noexcept:
        """Let the bootstraps be made anew, for other trees."""
        free(self.sample_counts)
        self.sample_counts = NULL

    cdef void draw_bootstraps(self) noexcept:
        """Draw the bootstraps of the next batch: batch_size draws with replacement per tree."""
        cdef int tree, n_trees = <int>len(self.trees), _
        cdef int* counts = self.sample_counts
        cdef Rng rng
        if counts == NULL:
            return
        memset(counts, 0, <size_t>n_trees * self.batch_size * sizeof(int))
        for tree in range(n_trees):
            rng = rng_for(self.seed, self.first_tree + tree, self.n_batches, BOOTSTRAP)
            for _ in range(self.batch_size):
                counts[<int>below(&rng, self.batch_size)] += 1
            counts += self.batch_size

    # --- One sample ---------------------------------------------------------------------------

    cdef int reserve(self, int n_labels) except -1 nogil:
        Forest.reserve(self, n_labels)
        if self.n_latest:
            self.latest.reserve_one(self.schema.n_columns)
        if self.bootstrap and self.sample_counts == NULL:
            with gil:
                self.make_sample_counts()
        return 0

    cdef int room(self, int n_labels) noexcept nogil:
        cdef int room = Forest.room(self, n_labels)
        if self.bootstrap and self.sample_counts == NULL:
            return 0
        return min(room, room_in(self.latest, self.schema)) if self.n_latest else room

    cdef void take_row(self, const int* leaves, double target, double weight,
                       int n_labels) noexcept nogil:
        """Score each tree on a sample, then add the sample to the statistics of its nodes."""
        cdef int i, leaf, slot, position = self.window.size, copies = 1
        cdef Py_ssize_t n_trees = length_of(<PyObject*>self.trees)
        cdef double error
        cdef PyObject* trees
        slot = self.push(target, weight)
        if self.n_latest:
            self.latest.push(self.schema, target, weight)
        for i in range(n_trees):
            trees = item_of(<PyObject*>self.trees, i)
            leaf = self.leaf_at(leaves, i)
            if n_trees == 1:
                self.window.leaf[slot] = leaf
            if self.regression:
                error = target - (<Trees>trees).row(leaf)[HEADER]
                self.losses[i] += weight * error * error
            else:
                self.losses[i] += weight * ((<Trees>trees).majority(leaf) != <int>target)
            if self.bootstrap:
                copies = self.sample_counts[<Py_ssize_t>i * self.batch_size + position]
            if copies and not self.reference:
                (<Trees>trees).learn(leaf, target, weight * copies, self.n_batches + 1)

    cdef const int* copies_of(self, int tree) noexcept nogil:
        if self.sample_counts == NULL:
            return NULL
        return self.sample_counts + <Py_ssize_t>tree * self.batch_size

    cdef int make_bags(self) except -1:
        return self.make_sample_counts()

    # --- One batch ----------------------------------------------------------------------------

    def grow(self, uint64_t batch, list splitters, list replaced, int max_features,
             int max_nodes):
        """Grow all trees on the batch, some of them anew, and begin the next one.

        Parameters
        ----------
        batch
            Number of the batch that this was planned for. Nothing is done if that batch is not
            full, or grown on already.
        splitters
            One per thread.
        replaced
            Numbers of the trees, in the whole forest, that make room for new ones.
        max_features
            Number of features that a split looks at.
        max_nodes
            Bound on the number of nodes of a tree.
        """
        cdef StreamGrowth growth
        with self.using():
            if batch != self.n_batches or self.n_gathered() < self.batch_size:
                return
            self.make_sample_counts()
            self.latest.sort()      # the batch is not: only leaves that may be split sort theirs
            growth = StreamGrowth(self, splitters, replaced, max_features, max_nodes)
            growth.run()
            self.trees = growth.trees
            self.end_batch()

    cdef void end_batch(self) noexcept:
        """Forget the batch and draw the bootstraps of the next."""
        self.window.clear()
        self.latest.release_first(self.latest.size - self.n_latest)
        self.n_batches += 1
        memset(self.losses, 0, len(self.trees) * sizeof(double))
        self.draw_bootstraps()

    cdef void overwrite(self, Trees trees, const int* copies) noexcept nogil:
        """Make the leaves that the batch has reached hold this batch alone."""
        cdef int i, slot, leaf, n
        cdef double step = self.n_batches + 1
        for i in range(self.window.size):
            slot = self.window.slot_at(i)
            n = copies[slot] if copies != NULL else 1
            if n == 0:
                continue
            leaf = trees.walk(trees.roots[0], self.window.data + slot, self.window.capacity,
                              self.window.n_columns)
            if trees.row(leaf)[VISITED] != step:
                trees.clear(leaf)
            if self.regression:
                trees.add_number(leaf, self.window.target[slot], n * self.window.weight[slot], step)
            else:
                trees.add_class(leaf, <int>self.window.target[slot],
                                n * self.window.weight[slot], step)

    def tree_losses(self):
        """The prequential loss of each tree in this batch."""
        with self.using():
            return self.all_losses()

    def trees_to_replace(self, losses, int n_swaps, bint always):
        """The numbers of the trees to be swapped for new ones in this batch, worst first.

        From the second batch on: with probability 1 / b in batch b (Algorithm 2), or always those
        that have made an error. `losses` are those of all trees of the forest.
        """
        cdef uint64_t b = self.n_batches + 1
        cdef Rng rng = rng_for(self.seed, 0, self.n_batches, SWAP)
        if n_swaps == 0 or b < 2 or (not always and uniform(&rng) >= 1.0 / b):
            return []
        order = np.argsort(-losses, kind="stable")[:n_swaps].tolist()
        return [tree for tree in order if losses[tree] > 0.0 or not always]

    # --- Copies and parts ---------------------------------------------------------------------

    cdef Learner serving_copy(self):
        cdef StreamForest copy = Forest.serving_copy(self)
        copy.set_losses(np.zeros(len(copy.trees)))
        return copy

    cdef object keep_trees(self, int first, int stop):
        losses = self.all_losses()[first:stop]
        Forest.keep_trees(self, first, stop)
        self.set_losses(losses)
        self.forget_sample_counts()
        self.window.forget_leaves()

    cdef object join_parts(self, list parts):
        losses = np.concatenate([(<StreamForest>part).all_losses() for part in parts])
        Forest.join_parts(self, parts)
        self.set_losses(losses)
        self.forget_sample_counts()
        self.window.forget_leaves()

    # --- State --------------------------------------------------------------------------------

    def __sizeof__(self):
        cdef size_t n_counts = 0 if self.sample_counts == NULL else self.batch_size
        return super().__sizeof__() + (
            (len(self.trees) + 1) * sizeof(double) + len(self.trees) * n_counts * sizeof(int))

    def settings(self):
        return {**super().settings(), "bootstrap": self.bootstrap, "fading": self.fading,
                "n_latest": self.n_latest}

    cdef dict fields(self):
        """The trees and the samples; the bootstraps of the batch follow from the seed."""
        return {**Forest.fields(self), "bootstrap": self.bootstrap, "n_latest": self.n_latest,
                "latest": self.latest if self.n_latest else None, "losses": self.all_losses()}

    STATE = (*Forest.STATE, "bootstrap", "n_latest", "latest", "losses")
    DEFAULTS = {**Forest.DEFAULTS, "bootstrap": False, "n_latest": 0, "latest": None}

    cdef object read(self, object state):
        Forest.read(self, state)
        self.bootstrap = state.flag("bootstrap")
        self.n_latest = state.whole("n_latest", 0, 2**31 - 1)
        self.latest = state.part("latest", Window) if self.n_latest else Window(1)
        # Heavy samples with large errors lose more than floats hold; losses are only compared.
        self.set_losses(state.numbers("losses", len(self.trees), least=0.0))

    cdef int check_structure(self) except -1:
        self.latest.check()
        return Forest.check_structure(self)

    cdef int check_fits(self) except -1:
        Forest.check_fits(self)
        require(self.window.is_in_order(), "StreamForest: the batch is not in its slots")
        require(self.latest.size - self.window.size <= self.n_latest,
                "StreamForest: too many latest samples")
        return self.check_targets(self.latest)


cdef class Bootstrap:
    """The number of copies of each sample, per slot."""

    cdef int* counts

    def __cinit__(self, int capacity):
        self.counts = <int*>zeroed(capacity, sizeof(int))

    def __dealloc__(self):
        free(self.counts)


cdef class StreamGrowth(BatchGrowth):
    """The growth of all trees on one batch: making it may fail, `run` cannot."""

    cdef StreamForest forest
    cdef list trees         # of the forest, with new ones in the places of those to be replaced
    cdef int max_features
    cdef int max_nodes
    cdef list bootstraps    # per tree: of the samples for a new one; None: it is grown further

    def __init__(self, StreamForest forest, list splitters, list replaced, int max_features,
                 int max_nodes):
        cdef Window window
        cdef Trees trees
        cdef Splitter splitter
        cdef int index
        self.forest, self.splitters = forest, splitters
        self.max_features, self.max_nodes = max_features, max_nodes
        self.trees, self.n_trees = list(forest.trees), len(forest.trees)
        self.bootstraps = [None] * self.n_trees
        for tree in replaced:
            index = tree - forest.first_tree
            if 0 <= index < self.n_trees:       # else it is in another part of the forest
                self.trees[index] = forest.new_tree()
                self.bootstraps[index] = self.draw(index)
        if forest.n_batches == 0 and forest.n_early:
            self.trees = [forest.new_tree() for _ in forest.trees]
        for index in range(self.n_trees):
            trees, window = self.trees[index], self.window_of(index)
            trees.reserve(2 * <Py_ssize_t>window.size, trees.n_values)
            for splitter in splitters:
                splitter.reserve(trees.capacity, window.size, window.capacity, window.n_columns,
                                 trees.n_values)

    cdef Window window_of(self, int index):
        """The samples that a tree is grown on."""
        if self.bootstraps[index] is not None and self.forest.n_latest > 0:
            return self.forest.latest
        return self.forest.window

    cdef Bootstrap draw(self, int index):
        """A bootstrap of the samples for a new tree."""
        cdef StreamForest forest = self.forest
        cdef Window window = forest.latest if forest.n_latest else forest.window
        cdef Bootstrap bootstrap = Bootstrap(window.capacity)
        cdef Rng rng = rng_for(forest.seed, forest.first_tree + index, forest.n_batches, RENEW)
        for _ in range(window.size):
            bootstrap.counts[window.slot_at(<int>below(&rng, window.size))] += 1
        return bootstrap

    cdef int grow_tree(self, int index, int worker, Splitter splitter) except -1:
        """Split the leaves of one tree that the samples have reached (Algorithm 1)."""
        cdef StreamForest forest = self.forest
        cdef Trees trees = self.trees[index]
        cdef Window window = self.window_of(index)
        cdef const int* copies = forest.copies_of(index)
        cdef const int* leaves = NULL
        if self.bootstraps[index] is not None:
            copies = (<Bootstrap>self.bootstraps[index]).counts
            forest.learn_root(trees, window, copies)
        elif forest.reference:
            forest.overwrite(trees, copies)
        elif trees is not forest.trees[index]:      # in place of a first tree
            forest.learn_root(trees, window, copies)
        if self.n_trees == 1 and trees is forest.trees[index] and window.n_sorted == 0:
            leaves = window.leaf
        splitter.grow(trees, trees.roots[0], window, forest.schema, copies, self.max_features,
                      forest.n_batches + 1,
                      rng_for(forest.seed, forest.first_tree + index, forest.n_batches, FEATURES),
                      NULL, NULL, 0, leaves)
        trees.shrink_to(self.max_nodes)
        trees.trim(0)
        return 0
