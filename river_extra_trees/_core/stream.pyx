"""Stream decision forests: batches, bootstraps and swaps (Xu, Dey, Panda, Vogelstein 2022)."""

import numpy as np

from libc.math cimport sqrt
from libc.stdint cimport uint64_t

from .forest cimport Forest, read_weight
from .rng cimport BOOTSTRAP, FEATURES, SWAP, Rng, below, rng_for, uniform
from .splitter cimport Splitter
from .trees cimport HEADER, VISITED, Trees

cdef enum:
    CONTROL_BATCHES = 10    # before which no tree can be said to have drifted


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
    seed
        Names the streams of random numbers.
    """

    cdef readonly int batch_size
    cdef readonly bint bootstrap
    cdef readonly bint reference
    cdef readonly uint64_t seed
    cdef readonly uint64_t n_batches    # completed
    cdef int[:, ::1] copies             # per tree and position in the batch
    cdef double[::1] losses             # per tree: prequential loss in this batch
    cdef double[:, ::1] records         # per tree: batches predicted, mean loss, squared deviations
    cdef double batch_weight            # of the samples in this batch

    def __init__(self, int n_trees, bint regression, int batch_size, bint bootstrap,
                 bint reference, double fading, seed):
        super().__init__(n_trees, regression, fading)
        self.batch_size = batch_size
        self.bootstrap = bootstrap
        self.reference = reference
        self.seed = seed
        self.window.reserve(batch_size, 0)
        self.losses = np.zeros(n_trees)
        self.records = np.zeros((n_trees, 3))
        self.draw_copies()

    cdef int draw_copies(self) except -1:
        """Draw the bootstraps of the next batch: batch_size draws with replacement per tree."""
        cdef int tree
        cdef Rng rng
        if not self.bootstrap:
            return 0
        self.copies = np.zeros((len(self.trees), self.batch_size), dtype=np.intc)
        for tree in range(len(self.trees)):
            rng = rng_for(self.seed, tree, self.n_batches, BOOTSTRAP)
            for _ in range(self.batch_size):
                self.copies[tree, <int>below(&rng, self.batch_size)] += 1
        return 0

    def learn(self, x, y, w):
        """Learn a sample; return whether the batch is now full."""
        cdef double weight = read_weight(w)
        cdef double target = self.read_target(y)
        cdef int position = self.window.size, slot
        if weight == 0.0:
            self.schema.encode(x)
            return False
        slot = self.push(x, y, target, weight)
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
                      rng_for(self.seed, index, self.n_batches, FEATURES))
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
        """Sort the batch; to be called once before `grow_tree`."""
        self.window.sort()

    def worst(self, int n_swaps):
        """The trees to be swapped for new ones before this batch (Algorithm 2), worst first.

        From the second batch on, with probability 1 / b in batch b.
        """
        cdef uint64_t b = self.n_batches + 1
        cdef Rng rng = rng_for(self.seed, 0, self.n_batches, SWAP)
        if n_swaps == 0 or b < 2 or uniform(&rng) >= 1.0 / b:
            return []
        return np.argsort(-np.asarray(self.losses), kind="stable")[:n_swaps].tolist()

    def drifted(self, int n_swaps):
        """As `worst`, but of the trees whose loss on this batch is out of their own control limits.

        The limit is three standard deviations above the mean loss of the batches that a tree has
        predicted so far, of which there must be `CONTROL_BATCHES`.
        """
        cdef double[:, ::1] record = self.records
        cdef double mean, excess
        cdef int i
        found = []
        for i in range(len(self.trees)):
            mean = self.losses[i] / self.batch_weight
            excess = mean - record[i, 1]
            if record[i, 0] >= CONTROL_BATCHES and excess > 3.0 * sqrt(
                record[i, 2] / (record[i, 0] - 1.0)
            ):
                found.append((-mean, i))
            record[i, 0] += 1.0
            record[i, 1] += excess / record[i, 0]
            record[i, 2] += excess * (mean - record[i, 1])
        return [i for _, i in sorted(found)[:n_swaps]]

    def replace(self, int index):
        """Put a new tree in the place of one; its root holds the batch."""
        cdef Trees trees = self.sapling()
        cdef int i, slot, copies = 1
        for i in range(self.window.n_sorted):
            slot = self.window.by_arrival[i]
            if self.bootstrap:
                copies = self.copies[index, slot]
            if copies and not self.reference:
                trees.learn(trees.roots[0], self.window.target[slot],
                            self.window.weight[slot] * copies, self.n_batches + 1)
        self.trees[index] = trees
        self.records[index, :] = 0.0

    def end_batch(self):
        """Forget the batch and draw the bootstraps of the next."""
        self.window.clear()
        self.n_batches += 1
        self.losses[:] = 0.0
        self.batch_weight = 0.0
        self.draw_copies()

    def _state(self):
        return (super()._state(), self.batch_size, self.bootstrap, self.reference, self.seed,
                self.n_batches, np.asarray(self.losses).tobytes(),
                np.asarray(self.records).tobytes(), self.batch_weight)

    def _restore(self, state):
        (forest, self.batch_size, self.bootstrap, self.reference, self.seed, self.n_batches,
         losses, records, self.batch_weight) = state
        super()._restore(forest)
        self.losses = np.frombuffer(losses).copy()
        self.records = np.frombuffer(records).reshape(-1, 3).copy()
        self.draw_copies()

    def __sizeof__(self):
        return super().__sizeof__() + (
            self.losses.nbytes + self.records.nbytes + (self.copies.nbytes if self.bootstrap else 0)
        )
