"""Stream decision forests: batches, bootstraps and swaps (Xu, Dey, Panda, Vogelstein 2022)."""

import numpy as np

from libc.stdint cimport uint64_t

from .forest cimport Forest, read_weight
from .rng cimport BOOTSTRAP, FEATURES, RENEW, SWAP, Rng, below, rng_for, uniform
from .splitter cimport Splitter
from .trees cimport HEADER, VISITED, Trees
from .window cimport Window

from .state import require


cdef class StreamForest(Forest):
    """Trees that keep growing, a batch of samples at a time.

    The statistics of the nodes are up to date after every sample; leaves are split when a batch is
    full. Each tree weighs a batch by its own bootstrap: a number of copies of every sample.

    Parameters
    ----------
    n_trees, regression, fading
        See `Forest`.
    batch_size
        Number of samples of a batch.
    bootstrap
        Draw the batch of each tree with replacement (Algorithm 2); else every sample counts once.
    reference
        Let the leaves hold only the last batch that reached them, learned when it is complete.
    n_latest
        Number of samples to keep for the growth of new trees; 0 grows them on the batch.
    seed
        Names the streams of random numbers.
    """

    cdef readonly int batch_size
    cdef readonly bint bootstrap
    cdef readonly bint reference
    cdef readonly int n_latest
    cdef readonly Window latest         # between batches, the n_latest latest samples
    cdef readonly uint64_t seed
    cdef readonly uint64_t n_batches    # completed
    cdef int[:, ::1] copies             # per tree and position in the batch
    cdef double[::1] losses             # per tree: prequential loss in this batch
    cdef double batch_weight            # of the samples in this batch

    def __init__(self, int n_trees, bint regression, int batch_size, bint bootstrap,
                 bint reference, double fading, int n_latest, seed):
        super().__init__(n_trees, regression, fading)
        self.batch_size = batch_size
        self.bootstrap = bootstrap
        self.reference = reference
        self.n_latest = n_latest
        self.latest = Window()
        self.seed = seed
        self.window.reserve(batch_size, 0)
        self.losses = np.zeros(n_trees)
        self.draw_copies()

    cdef int draw_copies(self) except -1:
        """Draw the bootstraps of the next batch: batch_size draws with replacement per tree."""
        cdef int tree
        cdef Rng rng
        if not self.bootstrap:
            return 0
        self.copies = np.zeros((len(self.trees), self.batch_size), dtype=np.intc)
        for tree in range(len(self.trees)):
            rng = rng_for(self.seed, self.first_tree + tree, self.n_batches, BOOTSTRAP)
            for _ in range(self.batch_size):
                self.copies[tree, <int>below(&rng, self.batch_size)] += 1
        return 0

    def learn(self, x, y, w):
        """Learn a sample; return whether the batch is now full."""
        cdef double weight = read_weight(w)
        cdef double target = self.read_target(y)
        cdef int position, slot
        if weight == 0.0:
            self.schema.encode(x)
            return False
        if self.window.size >= self.batch_size:     # Ctrl-C came between this batch and its growth
            self.begin_growth()
            self.end_batch()
        position = self.window.size
        slot = self.push(x, y, target, weight)
        if self.n_latest:
            self.latest.push(self.schema, self.window.target[slot], weight)
        self.count(self.window.target[slot], weight, position)
        return position + 1 >= self.batch_size

    cdef void count(self, double target, double weight, int position) noexcept:
        """Score each tree on a sample, then add the sample to the statistics of its nodes."""
        cdef int i, leaf, copies = 1
        cdef double error
        cdef Trees trees
        self.batch_weight += weight
        for i in range(len(self.trees)):
            trees = <Trees>self.trees[i]
            leaf = trees.walk(trees.roots[0], self.schema.row, 1, self.schema.n_columns)
            if self.regression:
                error = target - trees.row(leaf)[HEADER]
                self.losses[i] += weight * error * error
            else:
                self.losses[i] += weight * (trees.majority(leaf) != <int>target)
            if self.bootstrap:
                copies = self.copies[i, position]
            if copies and not self.reference:
                trees.learn(leaf, target, weight * copies, self.n_batches + 1)

    def grow_tree(self, int index, Splitter splitter, int max_features, int max_nodes):
        """Split the leaves of one tree that the batch has reached (Algorithm 1)."""
        cdef Trees trees = self.trees[index]
        cdef const int* copies = &self.copies[index, 0] if self.bootstrap else NULL
        if self.reference:
            self.overwrite(trees, copies)
        splitter.grow(trees, trees.roots[0], self.window, self.schema, copies, max_features,
                      self.n_batches + 1,
                      rng_for(self.seed, self.first_tree + index, self.n_batches, FEATURES))
        trees.shrink(max_nodes)

    cdef int overwrite(self, Trees trees, const int* copies) except -1:
        """Make the leaves that the batch has reached hold this batch alone."""
        cdef int i, slot, leaf, n
        cdef double step = self.n_batches + 1
        for i in range(self.window.n_sorted):
            slot = self.window.by_arrival[i]
            n = copies[slot] if copies != NULL else 1
            if n == 0:
                continue
            leaf = trees.walk(trees.roots[0], self.window.data + slot, self.window.capacity,
                              self.window.n_columns)
            if trees.row(leaf)[VISITED] != step:
                trees.reset(leaf)
            if self.regression:
                trees.add_number(leaf, self.window.target[slot], n * self.window.weight[slot], step)
            else:
                trees.add_class(leaf, <int>self.window.target[slot],
                                n * self.window.weight[slot], step)
        return 0

    def begin_growth(self):
        """Sort the samples; to be called once before `grow_tree` and `replace`."""
        self.window.sort()
        self.latest.sort()

    def tree_losses(self):
        """The prequential loss of each tree in this batch."""
        return np.array(self.losses)

    def worst(self, losses, int n_swaps, bint always):
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

    def replace(self, int index, Splitter splitter, int max_features, int max_nodes):
        """Put a new tree in the place of one, grown on a bootstrap of the latest samples."""
        cdef Trees trees = self.sapling()
        cdef Window window = self.latest if self.n_latest else self.window
        cdef int[::1] copies = np.zeros(window.capacity, dtype=np.intc)
        cdef uint64_t number = self.first_tree + index
        cdef Rng rng = rng_for(self.seed, number, self.n_batches, RENEW)
        cdef int i, slot
        for _ in range(window.n_sorted):
            copies[window.by_arrival[<int>below(&rng, window.n_sorted)]] += 1
        for i in range(window.n_sorted):
            slot = window.by_arrival[i]
            if copies[slot]:
                trees.learn(trees.roots[0], window.target[slot],
                            window.weight[slot] * copies[slot], self.n_batches + 1)
        splitter.grow(trees, trees.roots[0], window, self.schema, &copies[0], max_features,
                      self.n_batches + 1, rng_for(self.seed, number, self.n_batches, FEATURES))
        trees.shrink(max_nodes)
        self.trees[index] = trees

    cdef int forget_oldest(self) except -1:
        """Keep of the latest samples no more than asked for."""
        cdef unsigned char[::1] gone
        cdef int i, n_gone = self.latest.size - self.n_latest
        if n_gone > 0:
            gone = np.zeros(self.latest.capacity, dtype=np.uint8)
            for i in range(n_gone):
                gone[self.latest.by_arrival[i]] = 1
            self.latest.release(&gone[0])
        return 0

    def end_batch(self):
        """Forget the batch and draw the bootstraps of the next."""
        self.window.clear()
        self.forget_oldest()
        self.n_batches += 1
        self.losses[:] = 0.0
        self.batch_weight = 0.0
        self.draw_copies()

    def bare(self):
        cdef StreamForest copy = super().bare()
        copy.losses = np.zeros(len(copy.trees))
        return copy

    def empty(self):
        return StreamForest(0, self.regression, 1, False, self.reference, self.fading, 0,
                            self.seed)

    def keep(self, int first, int stop):
        super().keep(first, stop)
        self.losses = np.array(self.losses[first:stop])
        self.draw_copies()

    def join(self, parts):
        super().join(parts)
        self.losses = np.concatenate([part.tree_losses() for part in [self, *parts]])
        self.draw_copies()

    def check(self):
        """Raise AssertionError if an invariant is broken."""
        super().check()
        self.latest.check()
        assert self.latest.size <= self.n_latest + self.window.size
        assert self.window.slots() == list(range(self.window.size))     # as `copies` is indexed

    def settings(self):
        """The arguments that make such a forest."""
        return {
            **super().settings(), "batch_size": self.batch_size, "bootstrap": self.bootstrap,
            "reference": self.reference, "n_latest": self.n_latest, "seed": self.seed,
        }

    def state(self):
        """The trees and the samples; the bootstraps of the batch follow from the seed."""
        return {
            **super().state(), "batch_size": self.batch_size, "bootstrap": self.bootstrap,
            "reference": self.reference, "n_latest": self.n_latest, "latest": self.latest,
            "seed": self.seed, "n_batches": self.n_batches, "losses": np.array(self.losses),
            "batch_weight": self.batch_weight,
        }

    STATE = (*Forest.STATE, "batch_size", "bootstrap", "reference", "n_latest", "latest", "seed",
             "n_batches", "losses", "batch_weight")

    def _restore(self, state):
        super()._restore(state)
        self.batch_size = state.whole("batch_size", 1, self.window.capacity)
        self.bootstrap = state.flag("bootstrap")
        self.reference = state.flag("reference")
        self.n_latest = state.whole("n_latest", 0, 2**31 - 1)
        self.latest = state.part("latest", Window)
        self.seed = state.whole("seed", 0, 2**64 - 1)
        self.n_batches = state.whole("n_batches")
        self.losses = state.numbers("losses", len(self.trees), least=0.0).copy()
        self.batch_weight = state.number("batch_weight", 0.0)
        require(self.window.size <= self.batch_size
                and self.window.slots() == list(range(self.window.size)),
                "StreamForest: the batch is not in its slots")
        require(self.latest.size <= self.n_latest + self.window.size,
                "StreamForest: too many latest samples")
        self.check_window(self.latest)
        self.draw_copies()

    def __sizeof__(self):
        return super().__sizeof__() + (
            self.losses.nbytes + (self.copies.nbytes if self.bootstrap else 0)
        )
