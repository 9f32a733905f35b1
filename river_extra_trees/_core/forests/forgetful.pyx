"""Forgetful forests: a window that all trees share, of which each retains its own part.

Yuan, Sun and Shasha (2023). How much a tree retains is decided in Python, between two batches.
"""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memset

from .forest cimport Forest, uninterrupted
from ..memory cimport calloc, free
from .retained cimport Retained, moved
from ..rng cimport BOOTSTRAP, FORGET, SUBSET, Rng, below, next_word, poisson, rng_for, uniform
from ..cart.splitter cimport Splitter
from ..threads cimport jobs_of, run
from ..trees cimport HEADER, Trees
from ..window cimport Window, united

from ..state import require

cdef enum:
    BAGGING_MEAN = 6        # leveraging bagging: expected number of copies of a batch ...
    BAGGING_MAX = 10        # ... and the most there may be (section 3.3)


cdef class ForgetfulForest(Forest):
    """Trees that are grown anew, after each batch, on the samples they retain.

    Between two batches the statistics of the leaves learn every sample at once. Before it does,
    each tree answers for the sample: what a tree retains depends on how good the answers of a batch
    were.

    Parameters
    ----------
    n_trees, regression
        See `Forest`.
    batch_size
        Number of samples of a batch.
    subsets
        Let each tree look at its own subset of the features, and forget at random; else a tree
        looks at all of them and forgets the oldest samples.
    bagging
        Let each tree learn a random number of copies of each batch, drawn with replacement.
    reference
        As the published implementation: samples are learned when their batch is complete, the later
        samples of a batch are forgotten before the earlier ones, and trees vote by majority.
    seed
        Names the streams of random numbers.
    """

    cdef readonly bint subsets
    cdef readonly bint bagging
    cdef readonly bint reference
    cdef readonly uint64_t seed
    cdef readonly uint64_t n_batches    # completed
    cdef readonly list retained         # of Retained, per tree
    cdef readonly list births           # per tree: batch in which its features were drawn
    cdef double[:, ::1] answers         # per tree, then the forest, then the prior; per position
    cdef int[:, ::1] copies             # per tree and position: copies of this batch
    cdef double[:, :, ::1] said         # per position, tree and class: the ballots of this batch,
                                        #   of a part of a classifier, whose votes are counted later

    def __init__(self, int n_trees, bint regression, int batch_size, bint subsets, bint bagging,
                 bint reference, seed):
        super().__init__(n_trees, regression)
        self.batch_size = batch_size
        self.subsets = subsets
        self.bagging = bagging
        self.reference = reference
        self.seed = seed
        self.retained = [Retained() for _ in range(n_trees)]
        self.births = [0] * n_trees
        self.window.reserve(2 * batch_size, 0)
        self.make_scratch()

    cdef int make_scratch(self) except -1:
        self.answers = np.zeros((len(self.trees) + 2, self.batch_size))
        self.copies = np.ones((len(self.trees), self.batch_size), dtype=np.intc)
        self.said = np.zeros((self.batch_size if self.is_part else 0, len(self.trees),
                              max(1, len(self.labels.labels))))
        return 0

    cdef int widen_said(self) except -1:
        """Make room for the ballots on new labels."""
        if self.is_part and self.said.shape[2] < len(self.labels.labels):
            new = ((0, 0), (0, 0), (0, len(self.labels.labels) - self.said.shape[2]))
            self.said = np.ascontiguousarray(np.pad(self.said.base, new))
        return 0

    # ---------------------------------------------------------------- one sample

    cdef int reserve_sample(self) except -1:
        self.reserve_votes(max(1, len(self.labels.labels)))
        self.widen_said()
        return Forest.reserve_sample(self)

    cdef int n_gathered(self) noexcept nogil:
        return self.window.n_fresh

    cdef void take(self, double target, double weight) noexcept:
        cdef int position = self.window.n_fresh, n_trees = len(self.trees)
        if self.regression:
            self.answers[n_trees + 1, position] = self.prior.row(self.prior.roots[0])[HEADER]
        self.push(target, weight)
        self.test(target, weight, position)

    cdef void test(self, double target, double weight, int position) noexcept:
        """Let each tree answer for the row encoded last, then learn it in its leaf."""
        cdef int tree, leaf, n_trees = len(self.trees)
        cdef double total = 0.0
        cdef double* votes = self.votes
        cdef Trees trees
        if not self.regression:
            memset(self.votes, 0, len(self.labels.labels) * sizeof(double))
            if self.is_part:
                self.said[position] = 0.0
        for tree in range(n_trees):
            trees = <Trees>self.trees[tree]
            leaf = trees.walk(trees.roots[0], self.schema.row, 1, self.schema.n_columns)
            if self.regression:
                self.answers[tree, position] = trees.row(leaf)[HEADER]
                total += trees.row(leaf)[HEADER]
            else:
                self.answers[tree, position] = trees.majority(leaf)
                if self.is_part:
                    votes = &self.said[position, tree, 0]
                self.add_votes(trees, leaf, votes)
            if not self.reference:
                trees.learn(leaf, target, weight, self.n_batches + 1)
        self.answers[n_trees, position] = total / n_trees if self.regression else self.winner()

    cdef bint add_votes(self, Trees trees, int leaf, double* votes) noexcept nogil:
        cdef int code = trees.majority(leaf)
        if not self.reference:
            return Forest.add_votes(self, trees, leaf, votes)
        if code >= 0:
            votes[code] += 1.0
        return code >= 0

    # ---------------------------------------------------------------- one batch

    def learn_batch(self, learner, plan_batch):
        """Let all trees retain what the plan says, a `BatchPlan`, and grow them on that.

        The learner has `_splitters`, one per thread; its `_parameters` and `_drift_test` become
        the plan's.
        """
        cdef Growth growth
        interruption = [None]
        self.draw_copies()
        plan = uninterrupted(plan_batch, interruption)
        growth = Growth(self, learner._splitters, plan)
        growth.prepare(plan.discarded)
        jobs = jobs_of(growth.grow, len(growth.splitters))
        learner._parameters = plan.parameters
        learner._drift_test = plan.drift_test
        self.births = growth.births
        self.window.sort()
        run(jobs)
        self.end_batch(growth.marks)
        if interruption[0] is not None:
            raise interruption[0]

    cdef void draw_copies(self) noexcept nogil:
        """Draw the bags of this batch."""
        cdef int tree, bag, _
        cdef Rng rng
        if not self.bagging:
            return
        self.copies[:, :] = 0
        for tree in range(self.copies.shape[0]):
            rng = rng_for(self.seed, self.first_tree + tree, self.n_batches, BOOTSTRAP)
            bag = min(poisson(&rng, BAGGING_MEAN), BAGGING_MAX)
            for _ in range(bag * self.batch_size):
                self.copies[tree, <int>below(&rng, self.batch_size)] += 1

    cdef int slot_at(self, int position) noexcept nogil:
        """The slot of a sample of this batch."""
        return self.window.fresh[position]

    def losses(self, int tree, bint bagged=True):
        """What the answers of a tree (or, after the last one, of the forest) to this batch cost.

        Returns the number of answers, with `bagged` that of copies, and three sums over them: of
        the losses (1 for a wrong label, the squared error of a number), of their squares, and of
        the losses of the running mean of the targets (0 for labels).
        """
        cdef int position, copies = 1
        cdef int64_t n = 0
        cdef double target, loss, prior, total = 0.0, squares = 0.0, of_prior = 0.0
        cdef int n_trees = len(self.trees)
        for position in range(self.batch_size):
            if bagged and tree < n_trees:
                copies = self.copies[tree, position]
            target = self.window.target[self.slot_at(position)]
            if self.regression:
                loss = (target - self.answers[tree, position]) ** 2
                prior = (target - self.answers[n_trees + 1, position]) ** 2
                of_prior += copies * prior
            else:
                loss = self.answers[tree, position] != target
            n += copies
            total += copies * loss
            squares += copies * loss * loss
        return n, total, squares, of_prior

    def held(self, int tree):
        """Number of samples that a tree retains, copies counted."""
        return (<Retained>self.retained[tree]).total

    def tree_losses(self):
        """What the answers of each tree to this batch cost."""
        return np.array([self.losses(tree, False)[1] for tree in range(len(self.trees))])

    def ballots_so_far(self):
        """What each tree said of each sample of this batch before it learned it; see `ballots`.

        Of a classifier only the parts of a forest know. A number is 0 where a tree knew nothing.
        """
        n = self.n_in_batch
        if self.regression:
            return self.answers.base[: len(self.trees), :n].T[:, :, np.newaxis].copy()
        return self.said.base[:n].copy()

    def set_answers(self, answers):
        """Say what the whole forest answered to each sample of this batch."""
        self.answers.base[len(self.trees), : len(answers)] = answers

    cdef int choose(self, uint64_t birth, int tree, uint8_t* chosen) except -1:
        """Mark the columns that a tree looks at: m of f, m uniform in [floor(sqrt(f)) + 2, f].

        Columns that arrive later may enter, and then the number of columns is drawn from the wider
        range; nothing else changes.
        """
        cdef int column, f = self.window.n_columns, least, m
        cdef Rng rng
        if not self.subsets:
            memset(chosen, 1, f)
            return 0
        rng = rng_for(self.seed, self.first_tree + tree, birth, SUBSET)
        least = min(f, <int>(<double>f ** 0.5) + 2)
        m = least + <int>(uniform(&rng) * (f - least + 1))
        keys = [(next_word(&rng), column) for column in range(f)]
        memset(chosen, 0, f)
        for _, column in sorted(keys)[:m]:
            chosen[column] = 1
        return 0

    cdef void forget(self, int tree, Retained retained, int64_t k) noexcept nogil:
        k = min(k, retained.total)
        if k <= 0:
            return
        if self.subsets:
            retained.forget_random(
                k, rng_for(self.seed, self.first_tree + tree, self.n_batches, FORGET))
        else:
            retained.forget_first(k)

    cdef void add_batch(self, int tree, Retained retained) noexcept nogil:
        """Retain the batch; with `reference`, so that its last samples will be forgotten first."""
        cdef int i, position
        for i in range(self.batch_size):
            position = self.batch_size - 1 - i if self.reference else i
            if self.copies[tree, position]:
                retained.add(self.slot_at(position), self.copies[tree, position])

    cdef void end_batch(self, uint8_t* gone) noexcept:
        """Release the samples that no tree retains; `gone` is memory for a mark per slot."""
        self.release(gone)
        self.n_batches += 1

    cdef void release(self, uint8_t* gone) noexcept:
        cdef Retained retained
        cdef int i
        memset(gone, 1, self.window.capacity)
        for retained in self.retained:
            for i in range(retained.n):
                gone[retained.slots[i]] = 0
        self.window.release(gone)

    # ---------------------------------------------------------------- snapshots and parts

    def bare(self):
        cdef ForgetfulForest copy = super().bare()
        copy.retained = [Retained() for _ in copy.trees]
        copy.births = [0] * len(copy.trees)
        copy.make_scratch()
        return copy

    def empty(self):
        return ForgetfulForest(0, self.regression, 1, self.subsets, self.bagging, self.reference,
                               self.seed)

    @property
    def n_in_batch(self):
        """Number of samples in this batch."""
        return self.window.n_fresh

    def keep(self, int first, int stop):
        cdef uint8_t[::1] gone = np.empty(self.window.capacity, dtype=np.uint8)
        answers = self.answers.base
        said = self.said_before_split() if first == 0 and not self.regression else None
        super().keep(first, stop)
        self.retained = self.retained[first:stop]
        self.births = self.births[first:stop]
        self.make_scratch()
        self.answers = np.vstack([answers[first:stop], answers[-2:]])
        if said is not None and stop > 0:
            self.said.base[: len(said), 0] = said
        self.release(&gone[0])

    def said_before_split(self):
        """The answers of the whole forest to this batch, as if its first tree had given them."""
        answers = self.answers.base[len(self.trees), : self.n_in_batch].astype(int)
        return np.eye(max(1, len(self.labels)))[answers]

    def join(self, parts):
        cdef ForgetfulForest part
        cdef Retained retained
        answers = [(<ForgetfulForest>part).answers.base[:-2] for part in [self, *parts]]
        ends = self.answers.base[-2:].copy()
        self.window, places = united([part.window for part in [self, *parts]])
        self.retained = [
            moved(retained, place)
            for part, place in zip([self, *parts], places) for retained in part.retained
        ]
        for part in parts:
            self.births += part.births
        super().join(parts)
        self.make_scratch()
        self.answers = np.vstack([*answers, ends])

    def check(self):
        """Raise AssertionError if an invariant is broken."""
        super().check()
        held = set()
        for retained in self.retained:
            retained.check()
            held |= {slot for slot, _ in retained.samples()}
        slots = self.window.slots()
        assert held == set(slots[: self.window.n_sorted])
        assert self.window.n_fresh < self.batch_size

    def settings(self):
        """The arguments that make such a forest."""
        return {
            "n_trees": len(self.trees), "regression": self.regression,
            "batch_size": self.batch_size, "subsets": self.subsets, "bagging": self.bagging,
            "reference": self.reference, "seed": self.seed,
        }

    def state(self):
        """The trees, what they retain, and their answers to the samples of this batch."""
        return {
            **super().state(), "batch_size": self.batch_size, "subsets": self.subsets,
            "bagging": self.bagging, "reference": self.reference, "seed": self.seed,
            "n_batches": self.n_batches, "retained": self.retained,
            "births": np.array(self.births, np.int64),
            "answers": np.array(self.answers)[:, : self.window.n_fresh].copy(),
            "said": self.ballots_so_far() if self.is_part and not self.regression else None,
        }

    STATE = (*Forest.STATE, "batch_size", "subsets", "bagging", "reference", "seed", "n_batches",
             "retained", "births", "answers", "said")

    def _restore(self, state):
        super()._restore(state)
        n_trees, n_fresh = len(self.trees), self.window.n_fresh
        self.batch_size = state.whole("batch_size", max(1, n_fresh), self.window.capacity)
        self.subsets = state.flag("subsets")
        self.bagging = state.flag("bagging")
        self.reference = state.flag("reference")
        self.seed = state.whole("seed", 0, 2**64 - 1)
        self.n_batches = state.whole("n_batches")
        self.retained = state.parts("retained", Retained, n_trees)
        self.births = state.array("births", np.int64, n_trees).tolist()
        require(all(0 <= birth <= self.n_batches for birth in self.births),
                "ForgetfulForest: a tree is born in a later batch")
        learned = set(self.window.slots()[: self.window.n_sorted])
        held = set()
        for retained in self.retained:
            slots = [slot for slot, _ in retained.samples()]
            require(len(set(slots)) == len(slots) and learned.issuperset(slots),
                    "ForgetfulForest: a tree retains a sample twice, or one that is not there")
            held.update(slots)
        require(held == learned, "ForgetfulForest: a sample is retained by no tree")
        answers = state.numbers("answers", n_trees + 2, n_fresh)
        self.make_scratch()
        self.answers.base[:, :n_fresh] = answers
        if self.is_part and not self.regression:
            n_classes = self.said.shape[2]
            self.said.base[:n_fresh] = state.numbers("said", n_fresh, n_trees, n_classes)

    def __sizeof__(self):
        return super().__sizeof__() + self.answers.nbytes + self.copies.nbytes + self.said.nbytes


cdef class Growth:
    """The growth of all trees on one batch: `prepare` can fail, `grow` cannot."""

    cdef ForgetfulForest forest
    cdef list splitters     # one per job
    cdef list births        # of the forest, with new ones for the trees to be discarded
    cdef list sizes         # per tree: what it is to retain
    cdef list depths        # per tree: the most that it may have
    cdef uint8_t* marks     # a block of memory: per slot whether it is released ...
    cdef uint8_t* chosen    # ... per tree and column whether the tree looks at it ...
    cdef int* copies        # ... and per job and slot the copies that a tree retains

    def __cinit__(self, ForgetfulForest forest, list splitters, plan):
        self.forest, self.splitters = forest, splitters
        self.sizes, self.depths = plan.sizes, plan.depths
        self.births = list(forest.births)

    def __dealloc__(self):
        free(self.copies)

    cdef int prepare(self, list discarded) except -1:
        """Make everything that needs memory."""
        cdef ForgetfulForest forest = self.forest
        cdef size_t capacity = forest.window.capacity, columns = forest.window.n_columns
        cdef int tree, jobs = len(self.splitters)
        for tree in discarded:
            self.births[tree] = forest.n_batches
        self.copies = <int*>calloc(
            jobs * capacity * sizeof(int) + capacity + len(self.births) * columns, 1)
        if self.copies == NULL:
            raise MemoryError
        self.marks = <uint8_t*>(self.copies + jobs * capacity)
        self.chosen = self.marks + capacity
        for tree in range(len(self.births)):
            (<Retained>forest.retained[tree]).reserve(forest.batch_size)
            forest.choose(self.births[tree], tree, self.chosen + tree * columns)
            self.reserve_tree(forest.trees[tree], self.splitters[tree % jobs])
        return 0

    cdef int reserve_tree(self, Trees trees, Splitter splitter) except -1:
        """Make room for a tree that is grown anew from its root."""
        cdef Window window = self.forest.window
        trees.reserve(max(0, 2 * window.size + 1 - (trees.n_used - trees.n_free)), trees.n_values)
        return splitter.reserve_scratch(trees, window.size, window.capacity, window.n_columns,
                                        trees.n_values)

    def grow(self, int job):
        """Grow the trees of one job."""
        cdef int tree = job, n_trees = len(self.births)
        cdef Py_ssize_t columns = self.forest.window.n_columns
        while tree < n_trees:           # a range of Python's would need memory
            self.revise(tree, self.sizes[tree], self.splitters[job], self.depths[tree],
                        self.copies + <Py_ssize_t>job * self.forest.window.capacity,
                        self.chosen + tree * columns)
            tree += len(self.splitters)

    cdef int revise(self, int tree, int64_t size, Splitter splitter, int max_depth, int* copies,
                    const uint8_t* chosen) except -1:
        """Let a tree retain `size` samples, those of the batch among them, and grow it on them.

        Copies count as samples. A tree whose bag of the batch is empty stays as it is.
        """
        cdef ForgetfulForest forest = self.forest
        cdef Retained retained = forest.retained[tree]
        cdef Trees trees = forest.trees[tree]
        cdef int i, slot, n = 0, root = trees.roots[0]
        for i in range(forest.batch_size):
            n += forest.copies[tree, i]
        if n == 0:
            return 0
        forest.forget(tree, retained, retained.total + n - size)
        forest.add_batch(tree, retained)
        memset(copies, 0, forest.window.capacity * sizeof(int))
        retained.mark(copies)
        trees.collapse(root)
        trees.reset(root)
        for i in range(retained.n):
            slot = retained.slots[i]
            trees.learn(root, forest.window.target[slot],
                        forest.window.weight[slot] * retained.copies[i], forest.n_batches + 1)
        splitter.max_depth = max_depth
        splitter.grow(trees, root, forest.window, forest.schema, copies, 0,
                      forest.n_batches + 1,
                      rng_for(forest.seed, forest.first_tree + tree, forest.n_batches, FORGET),
                      chosen, retained.slots, retained.n)
        return 0
