"""Stream decision forests: batches, bootstraps and swaps (Xu, Dey, Panda, Vogelstein 2022)."""

import numpy as np

from libc.stdint cimport uint64_t

from .forest cimport Forest, uninterrupted
from ..memory cimport calloc, free
from ..rng cimport BOOTSTRAP, FEATURES, RENEW, SWAP, Rng, below, rng_for, uniform
from ..cart.splitter cimport Splitter
from ..threads cimport jobs_of, run
from ..trees cimport HEADER, VISITED, Trees
from ..window cimport Window

from ..state import LARGEST_FLOAT, require


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
        self.make_copies()

    cdef int make_copies(self) except -1:
        if self.bootstrap:
            self.copies = np.empty((len(self.trees), self.batch_size), dtype=np.intc)
            self.draw_copies()
        return 0

    cdef void draw_copies(self) noexcept nogil:
        """Draw the bootstraps of the next batch: batch_size draws with replacement per tree."""
        cdef int tree, _
        cdef Rng rng
        if not self.bootstrap:
            return
        self.copies[:, :] = 0
        for tree in range(self.copies.shape[0]):
            rng = rng_for(self.seed, self.first_tree + tree, self.n_batches, BOOTSTRAP)
            for _ in range(self.batch_size):
                self.copies[tree, <int>below(&rng, self.batch_size)] += 1

    cdef int reserve_sample(self) except -1:
        Forest.reserve_sample(self)     # never moves the window: a batch fits from the beginning
        if self.n_latest:
            self.latest.reserve_one(self.schema.n_columns)
        return 0

    cdef void take(self, double target, double weight) noexcept:
        cdef int position = self.window.size
        self.push(target, weight)
        if self.n_latest:
            self.latest.push(self.schema, target, weight)
        self.count(target, weight, position)

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

    def learn_batch(self, learner, plan_batch):
        """Grow all trees on the batch, some of them anew, and begin the next one.

        The plan is the trees to be replaced and the number of features that a split looks at. The
        learner has `_splitters`, one per thread, and `max_nodes`.
        """
        cdef Growth growth
        interruption = [None]
        swapped, max_features = uninterrupted(plan_batch, interruption)
        growth = Growth(self, learner._splitters, max_features, learner.max_nodes)
        growth.prepare(swapped)
        jobs = jobs_of(growth.grow, len(growth.splitters))
        self.window.sort()
        self.latest.sort()
        run(jobs)
        self.trees = growth.trees
        self.end_batch()
        if interruption[0] is not None:
            raise interruption[0]

    cdef void overwrite(self, Trees trees, const int* copies) noexcept nogil:
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

    cdef void end_batch(self) noexcept:
        """Forget the batch and draw the bootstraps of the next."""
        self.window.clear()
        self.latest.release_first(self.latest.size - self.n_latest)
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
        self.make_copies()

    def join(self, parts):
        super().join(parts)
        self.losses = np.concatenate([part.tree_losses() for part in [self, *parts]])
        self.make_copies()

    def check(self):
        """Raise AssertionError if an invariant is broken."""
        super().check()
        self.latest.check()
        assert self.latest.size - self.window.size <= self.n_latest
        assert self.window.is_in_order()        # as `copies` is indexed

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
        # Heavy samples with large errors lose more than floats hold; losses are only compared.
        self.losses = state.numbers("losses", len(self.trees), least=0.0).copy()
        self.batch_weight = state.number("batch_weight", 0.0, LARGEST_FLOAT)
        require(self.window.size <= self.batch_size
                and self.window.is_in_order(),
                "StreamForest: the batch is not in its slots")
        require(self.latest.size - self.window.size <= self.n_latest,
                "StreamForest: too many latest samples")
        self.check_window(self.latest)
        self.make_copies()

    def __sizeof__(self):
        return super().__sizeof__() + (
            self.losses.nbytes + (self.copies.nbytes if self.bootstrap else 0)
        )


cdef class Bootstrap:
    """Copies of each sample, per slot."""

    cdef int* copies

    def __cinit__(self, int capacity):
        self.copies = <int*>calloc(capacity, sizeof(int))
        if self.copies == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.copies)


cdef class Growth:
    """The growth of all trees on one batch: `prepare` can fail, `grow` cannot."""

    cdef StreamForest forest
    cdef list trees         # of the forest, with new ones in the places of those to be replaced
    cdef list splitters     # one per job
    cdef int max_features
    cdef int max_nodes
    cdef list bootstraps    # per tree: of the samples for a new one; None: it is grown further

    def __cinit__(self, StreamForest forest, list splitters, int max_features, int max_nodes):
        self.forest, self.splitters = forest, splitters
        self.max_features, self.max_nodes = max_features, max_nodes
        self.trees = list(forest.trees)
        self.bootstraps = [None] * len(self.trees)

    cdef int prepare(self, list swapped) except -1:
        """Make everything that needs memory."""
        cdef int index
        cdef Splitter splitter
        cdef Trees trees
        cdef Window window
        for number in swapped:
            index = number - self.forest.first_tree
            if not 0 <= index < len(self.trees):
                continue            # in another part of the forest
            self.trees[index] = self.forest.sapling()
            self.bootstraps[index] = self.draw(index)
        for index in range(len(self.trees)):
            trees = self.trees[index]
            splitter = self.splitters[index % len(self.splitters)]
            window = self.window_of(index)
            splitter.reserve(trees, window.size, window.capacity, window.n_columns, trees.n_values)
        return 0

    cdef Window window_of(self, int index):
        """The samples that a tree is grown on."""
        if self.bootstraps[index] is not None and self.forest.n_latest > 0:
            return self.forest.latest
        return self.forest.window

    cdef Bootstrap draw(self, int index):
        """A bootstrap of the samples for a new tree."""
        cdef Window window = self.forest.latest if self.forest.n_latest else self.forest.window
        cdef Bootstrap bootstrap = Bootstrap(window.capacity)
        cdef Rng rng = rng_for(self.forest.seed, self.forest.first_tree + index,
                               self.forest.n_batches, RENEW)
        window.sort()
        for _ in range(window.n_sorted):
            bootstrap.copies[window.by_arrival[<int>below(&rng, window.n_sorted)]] += 1
        return bootstrap

    def grow(self, int job):
        """Grow the trees of one job."""
        cdef int index = job, n_trees = len(self.trees)
        cdef const int* copies
        while index < n_trees:          # a range of Python's would need memory
            copies = NULL
            if self.bootstraps[index] is not None:
                copies = (<Bootstrap>self.bootstraps[index]).copies
                self.plant(self.trees[index], self.window_of(index), copies)
            elif self.forest.bootstrap:
                copies = &self.forest.copies[index, 0]
            self.grow_tree(index, self.splitters[job], copies)
            index += len(self.splitters)

    cdef void plant(self, Trees trees, Window window, const int* copies) noexcept nogil:
        """Let the root of a new tree learn its samples."""
        cdef int i, slot
        for i in range(window.n_sorted):
            slot = window.by_arrival[i]
            if copies[slot]:
                trees.learn(trees.roots[0], window.target[slot],
                            window.weight[slot] * copies[slot], self.forest.n_batches + 1)

    cdef int grow_tree(self, int index, Splitter splitter, const int* copies) except -1:
        """Split the leaves of one tree that the samples have reached (Algorithm 1)."""
        cdef StreamForest forest = self.forest
        cdef Trees trees = self.trees[index]
        if forest.reference and self.bootstraps[index] is None:
            forest.overwrite(trees, copies)
        splitter.grow(trees, trees.roots[0], self.window_of(index), forest.schema, copies,
                      self.max_features, forest.n_batches + 1,
                      rng_for(forest.seed, forest.first_tree + index, forest.n_batches, FEATURES))
        trees.shrink_to(self.max_nodes)
        return 0
