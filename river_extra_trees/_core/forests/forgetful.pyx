"""Forgetful forests (Yuan, Sun and Shasha 2023): each tree retains a subset of a shared window.

Python code determines how many samples each tree retains, between two batches.
"""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memmove, memset

from ..allocation cimport product
from ..cart.splitter cimport Splitter
from ..learner cimport Learner
from ..parts cimport Owner, view
from ..rng cimport FORGET, SUBSET, Rng, next_word, poisson, rng_for, uniform
from ..schema cimport Schema
from ..shares cimport first_largest
from ..tree cimport Tree, learn, majority, mean_of, plant, trim, walk_slot
from ..trees cimport Trees
from ..window cimport Window
from .forest cimport Forest

from ..state import LARGEST_COUNT, fields_of, require

cdef enum:
    BAGGING_MEAN = 6        # leveraging bagging (section 3.3): expected copies of a batch
    BAGGING_MAX = 10        # maximum number of copies of a batch

LARGEST_TOTAL = 2**31 - 1   # maximum number of copies of all samples of a tree in a file


cdef inline Rng skipped(Rng rng, uint64_t n) noexcept nogil:
    """A stream of random numbers without its next n words."""
    rng.state += n * <uint64_t>0x9E3779B97F4A7C15
    return rng


cdef class Retained(Owner):
    """The samples of the window that one tree retains, and the number of copies of each."""

    cdef int* slots             # in the order in which they will be forgotten
    cdef int* counts            # copies of the sample in slots[i], > 0
    cdef readonly int n         # number of samples
    cdef readonly int64_t total     # number of copies of all samples
    cdef int capacity

    cdef int add(self, int slot, int count) except -1 nogil:
        """Retain a sample."""
        cdef int capacity = self.capacity
        if self.n == capacity:
            capacity = max(4, capacity + capacity // 2)
            self.resize(&self.slots, capacity, sizeof(int))
            self.resize(&self.counts, capacity, sizeof(int))
            self.capacity = capacity
        self.slots[self.n] = slot
        self.counts[self.n] = count
        self.n += 1
        self.total += count
        return 0

    cdef void forget_first(self, int64_t k) noexcept nogil:
        """Forget the k copies that were added first."""
        cdef int gone = 0
        self.total -= k
        while k > 0 and self.counts[gone] <= k:
            k -= self.counts[gone]
            gone += 1
        self.n -= gone
        if gone > 0:
            memmove(self.slots, self.slots + gone, self.n * sizeof(int))
            memmove(self.counts, self.counts + gone, self.n * sizeof(int))
        if k > 0:
            self.counts[0] -= <int>k

    cdef void forget_random(self, int64_t k, Rng rng) noexcept nogil:
        """Forget k of the copies, every set of k equally likely.

        Selection sampling (Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S): a copy is
        selected with probability (copies still to select) / (copies still to visit).
        """
        cdef int i, left, kept = 0, _
        cdef int64_t ahead = self.total
        self.total -= k
        for i in range(self.n):
            left = self.counts[i]
            for _ in range(self.counts[i]):
                if uniform(&rng) * ahead < k:
                    k -= 1
                    left -= 1
                ahead -= 1
            self.slots[kept] = self.slots[i]
            self.counts[kept] = left
            kept += left > 0
        self.n = kept

    cdef void forget_labels(self, Window window, const uint8_t* gone) noexcept nogil:
        """Forget the samples that have one of these labels."""
        cdef int i, kept = 0
        for i in range(self.n):
            if gone[<int>window.target[self.slots[i]]]:
                self.total -= self.counts[i]
                continue
            self.slots[kept], self.counts[kept] = self.slots[i], self.counts[i]
            kept += 1
        self.n = kept

    def samples(self):
        """The retained (slot, copies), in order of forgetting."""
        return [(self.slots[i], self.counts[i]) for i in range(self.n)]


cdef class ForgetfulForest(Forest):
    """Trees that are grown again after each batch, on the samples that they retain.

    Between two batches the statistics of the leaves learn every sample at once. Before that, each
    tree predicts the sample: the number of retained samples depends on the errors in a batch.

    Parameters
    ----------
    n_trees
        Number of trees.
    regression
        Whether targets are numbers instead of labels.
    batch_size
        Number of samples of a batch.
    published
        Follow the published implementation: samples are learned when their batch is complete, the
        last samples of a batch are forgotten first, and trees vote by majority.
    seed
        Seed of the streams of random numbers.
    subsets
        Whether each tree uses a random subset of the features and forgets random samples. Else
        trees use all features and forget the oldest samples.
    bagging
        Whether each tree learns a random number of copies of each batch, drawn with replacement.
    max_columns
        Maximum number of columns.
    """

    cdef public bint subsets            # whether each tree uses a random subset of the features
    cdef readonly list retained         # of Retained, per tree
    cdef public object created_at       # per tree: batch in which its features were drawn
    # State of the Python code, as plain values; it belongs to the last batch.
    cdef public list parameters         # per tree: state of AdaptParameters (appendix B)
    cdef public object drift            # state of the drift test of a forest
    # Predictions for the samples of this batch, by their position in it.
    cdef double* answers        # answers[position * (trees + 2) + tree]; the two entries after the
                                #   trees: prediction of the forest, mean of the earlier targets
    cdef int n_answers          # number of positions for which there is room

    def __init__(self, int n_trees, bint regression, int batch_size, bint published, seed,
                 bint subsets, bint bagging, int max_columns):
        self.schema = Schema(max_columns)
        self.begin(n_trees, regression, batch_size, published, 1.0, seed)
        self.subsets = subsets
        self.bagging = bagging
        self.retained = [Retained() for _ in range(n_trees)]
        self.created_at = np.zeros(n_trees, np.int64)
        self.parameters = [None] * n_trees

    cdef int reserve_answers(self, int n) except -1 nogil:
        """Allocate memory for the predictions of n samples of this batch."""
        cdef size_t width = self.trees.n_trees + 2
        if n > self.n_answers:
            n = max(n, min(max(4, n + n // 2), self.batch_size))
            self.resize(&self.answers, product(n, width), sizeof(double))
            self.n_answers = n
        return 0

    cdef object answers_so_far(self):
        """The memory of the predictions for the samples of this batch, as [position, tree]."""
        return view(
            self.answers, "f8", (self.n_answers, self.trees.n_trees + 2))[:self.n_gathered()]

    # --- One sample ---------------------------------------------------------------------------

    cdef inline int copies(self, int tree, int position) noexcept nogil:
        """Number of copies of a sample of this batch in the bag of a tree."""
        if self.bags == NULL:
            return 1
        return self.bags[<Py_ssize_t>tree * self.batch_size + position]

    cdef int reserve(self, int n_labels) except -1 nogil:
        self.reserve_answers(self.n_gathered() + 1)
        return Forest.reserve(self, n_labels)

    cdef int hold_labels(self, uint8_t* held, uint8_t* met) except -1:
        """Only samples that trees have yet to learn hold their labels; retained ones are met."""
        cdef int i, label, first = self.window.n_sorted
        if self.n_waiting and self.n_batches:
            first -= self.batch_size
        for i in range(self.window.size):
            label = <int>self.window.target[self.window.slot_at(i)]
            met[label] = True
            held[label] |= i >= first
        self.trees.mark_classes(met)
        return 0

    cdef void forget_labels(self, const uint8_t* gone) noexcept:
        """Forget the retained samples of these labels, too."""
        cdef Retained retained
        for retained in self.retained:
            retained.forget_labels(self.window, gone)
        self.window.release_labels(gone)
        Forest.forget_labels(self, gone)

    cdef int n_gathered(self) noexcept nogil:
        return self.window.n_fresh

    cdef int room(self, int n_labels) noexcept nogil:
        return min(Forest.room(self, n_labels), self.n_answers - self.n_gathered())

    cdef int learn_rows(self, const int* leaves, Py_ssize_t spacing, const double* targets,
                        const double* weights, const int* slots, int n, int position,
                        int n_labels) except -1 nogil:
        """Store the prediction of each tree for the rows, and let it learn them."""
        cdef int i
        for i in range(n):
            if slots[i] >= 0:
                self.learn_row_at(
                    leaves + i, spacing, targets[i], weights[i], position, n_labels)
                position += 1
        return 0

    cdef int learn_row_at(self, const int* leaves, Py_ssize_t spacing, double target,
                          double weight, int position, int n_labels) except -1 nogil:
        """Store the prediction of each tree for a row, and let it learn the row."""
        cdef int tree, leaf, n_trees = self.trees.n_trees
        cdef double total = 0.0
        cdef double* answers = self.answers + <Py_ssize_t>position * (n_trees + 2)
        cdef uint8_t voted
        cdef Tree* this
        answers[n_trees + 1] = 0.0
        if self.regression:
            answers[n_trees + 1] = mean_of(self.root_statistics.trees, 0)
        learn(self.root_statistics.trees, &self.root_statistics.kind, 0, target, weight, 0.0)
        if not self.regression:
            memset(self.sums, 0, n_labels * sizeof(double))
        for tree in range(n_trees):
            this, leaf = &self.trees.trees[tree], leaves[tree * spacing]
            if self.regression:
                answers[tree] = mean_of(this, leaf)
                total += mean_of(this, leaf)
            else:
                answers[tree] = majority(this, leaf)
                self.add_votes(this, &leaf, 1, n_labels, self.sums, &voted)
            if not self.published:
                learn(this, &self.trees.kind, leaf, target, weight, self.n_batches + 1)
        answers[n_trees] = total / n_trees if self.regression else (
            first_largest(self.sums, n_labels))
        return 0

    cdef void add_votes(self, const Tree* tree, const int* leaves, int n, int n_labels,
                        double* votes, uint8_t* voted) noexcept nogil:
        cdef int i, code
        if not self.published:
            Forest.add_votes(self, tree, leaves, n, n_labels, votes, voted)
            return
        for i in range(n):
            code = majority(tree, leaves[i])
            if code >= 0:
                voted[i] = True
                votes[<Py_ssize_t>i * n_labels + code] += 1.0

    cdef bint votes_by_majority(self) noexcept nogil:
        return self.published and not self.regression

    # --- One batch ----------------------------------------------------------------------------

    def begin_growth(self, uint64_t batch, list sizes, list depths, list discarded,
                     list parameters, drift, int n_per_step):
        """Begin the growth of all trees on the retained samples, according to the plan.

        Parameters
        ----------
        batch
            Number of the batch of the plan. Nothing is done if that batch is not full or the trees
            have begun to grow on it already.
        sizes
            Number of samples that each tree retains.
        depths
            Maximum depth of each tree.
        discarded
            Trees that get new features.
        parameters, drift
            State of the Python code after this batch, as plain values.
        n_per_step
            Number of trees that grow at the end of the batch, and after each sample from then on.
        """
        with self.using():
            if batch != self.n_batches or self.n_gathered() < self.batch_size:
                return
            assert len(sizes) == len(depths) == self.trees.n_trees
            assert n_per_step * <int64_t>self.batch_size >= <int64_t>self.trees.n_trees
            plan = np.array([sizes, depths], np.int64).T    # numpy may let a signal raise
            self.window.sort()
            for tree in discarded:
                self.created_at[tree] = batch
            self.parameters, self.drift = parameters, drift
            self.begin_waiting(plan, 0, n_per_step)
            self.n_batches += 1

    cdef int end_waiting(self) except -1:
        if self.n_batches > 0:
            self.release()
            self.draw_bags()
        return 0

    cdef int grow_tree(self, int tree, Splitter splitter, int max_nodes) except -1:
        """Retain as many samples as planned, with those of the batch, and grow the tree on them.

        Copies count as samples. If the bag of the batch is empty, the tree is unchanged.
        """
        cdef Retained retained = self.retained[tree]
        cdef Tree* this = &self.trees.trees[tree]
        cdef int i
        cdef int64_t n = 0, size = self.plan[tree][0]
        if self.has_early_trees():
            self.new_tree(tree)
        for i in range(self.batch_size):
            n += self.copies(tree, i)
        if n == 0:
            if self.has_early_trees():
                self.learn_root(this, self.window, self.window.size, NULL)
            return 0
        with nogil:
            self.forget(tree, retained, retained.total + n - size)
            self.add_batch(tree, retained)
        splitter.max_depth = self.plan[tree][1]
        self.grow_anew(this, tree, splitter, self.created_at[tree])
        with nogil:
            self.catch_up(tree, 0)
            trim(this, &self.trees.kind, 0)
        return 0

    cdef int catch_up(self, int tree, int first) except -1 nogil:
        cdef Tree* this = &self.trees.trees[tree]
        cdef int i, slot
        for i in range(first, self.window.n_fresh):
            slot = self.window.fresh[i]
            learn(this, &self.trees.kind, walk_slot(this, self.window, slot),
                  self.window.target[slot], self.window.weight[slot], self.n_batches + 1)
        return 0

    cdef int64_t bag_size(self, Rng* rng) noexcept nogil:
        """W times the size of a batch, W ~ Poisson(6) but at most 10 (section 3.3)."""
        return <int64_t>min(poisson(rng, BAGGING_MEAN), BAGGING_MAX) * self.batch_size

    def losses(self, int tree, bint bagged=True):
        """Sum up the losses of a tree (or, after the last one, of the forest) on this batch.

        Returns the number of answers, with `bagged` that of copies, and three sums over them: of
        the losses (1 for a wrong label, the squared error of a number), of their squares, and of
        the losses of the running mean of the targets (0 for labels).
        """
        cdef int n_trees = self.trees.n_trees
        assert 0 <= tree <= n_trees
        with self.using():
            self.make_bags()
            return self.sum_losses(self.answers_so_far()[:, tree].copy(),
                                   tree if bagged and tree < n_trees else -1)

    cdef tuple sum_losses(self, const double[::1] answers, int bag):
        """The losses of answers to this batch, weighed by the bag of a tree; -1: all alike."""
        cdef int position, copies = 1, n_trees = self.trees.n_trees
        cdef int64_t n = 0
        cdef double target, loss, total = 0.0, squares = 0.0, of_mean = 0.0
        for position in range(self.window.n_fresh):
            if bag >= 0:
                copies = self.copies(bag, position)
            target = self.window.target[self.window.fresh[position]]
            if self.regression:
                loss = (target - answers[position]) ** 2
                of_mean += copies * (target - self.answers[position * (n_trees + 2)
                                                           + n_trees + 1]) ** 2
            else:
                loss = answers[position] != target
            n += copies
            total += copies * loss
            squares += copies * loss * loss
        return n, total, squares, of_mean

    def successor_losses(self, int tree, Splitter splitter, int max_depth):
        """The losses on this batch of a new tree, grown on what a tree retains; see `losses`.

        Its features are those of a tree that is discarded in this batch. Nothing is changed.
        """
        cdef Trees successors
        cdef Tree* successor
        cdef double[::1] answers
        cdef int position, leaf
        with self.using():
            successors = self.new_trees()
            successors.add_tree()
            successor = successors.trees
            answers = np.zeros(self.batch_size)
            splitter.max_depth = max_depth
            self.find_offered()
            self.grow_anew(successor, tree, splitter, self.n_batches)
            for position in range(self.window.n_fresh):
                leaf = walk_slot(successor, self.window, self.window.fresh[position])
                answers[position] = mean_of(successor, leaf) if self.regression else (
                    majority(successor, leaf))
            return self.sum_losses(answers, tree)

    cdef void forget(self, int tree, Retained retained, int64_t k) noexcept nogil:
        """Let a tree forget k copies, or all."""
        k = min(k, retained.total)
        if k > 0 and self.subsets:
            retained.forget_random(k, rng_for(self.seed, tree, self.batch_of_growth(), FORGET))
        elif k > 0:
            retained.forget_first(k)

    cdef int add_batch(self, int tree, Retained retained) except -1 nogil:
        """Let a tree retain the batch; with `published`, its last samples are forgotten first.

        These are the samples that were sorted last.
        """
        cdef const int* slots = self.window.by_arrival + self.window.n_sorted - self.batch_size
        cdef int i, position
        for i in range(self.batch_size):
            position = self.batch_size - 1 - i if self.published else i
            if self.copies(tree, position):
                retained.add(slots[position], self.copies(tree, position))
        return 0

    cdef int grow_anew(self, Tree* this, int tree, Splitter splitter,
                       uint64_t created_at) except -1:
        """Grow a new CART from the root on the samples that a tree retains."""
        cdef Retained retained = self.retained[tree]
        cdef uint64_t batch = self.batch_of_growth()
        cdef int i, slot
        cdef bytearray marks = bytearray(self.window.n_columns)
        cdef bytearray memory = bytearray(self.window.capacity * sizeof(int))
        cdef uint8_t* chosen = marks
        cdef int* counts = <int*><char*>memory
        self.choose(created_at, tree, chosen)
        splitter.window, splitter.history = self.window, self.history
        with nogil:
            plant(this)
            for i in range(retained.n):
                slot = retained.slots[i]
                counts[slot] = retained.counts[i]
                learn(this, &self.trees.kind, 0, self.window.target[slot],
                      self.window.weight[slot] * retained.counts[i], batch + 1)
            splitter.grow(this, &self.trees.kind, self.trees.n_values, self.schema, counts, 0,
                          batch + 1,
                          rng_for(self.seed, tree, batch, FORGET), chosen,
                          retained.slots, retained.n)
        return 0

    def n_retained(self, int tree):
        """Number of samples that a tree retains, copies counted."""
        return (<Retained>self.retained[tree]).total

    def tree_losses(self):
        """The losses of each tree on this batch."""
        return np.array([self.losses(tree, False)[1] for tree in range(self.trees.n_trees)])

    cdef int choose(self, uint64_t batch, int tree, uint8_t* chosen) except -1:
        """Mark the columns that a tree looks at: m of f, m uniform in [floor(sqrt(f)) + 2, f].

        Section 3.3 defines this range, as the integers in (floor(sqrt(f)) + 1, f].
        These are the columns that a growth is offered. A column keeps its random number; if others
        come or go, only the range of m changes.
        """
        cdef int column, i, f = self.window.n_distinct, least, m
        cdef Rng rng, of_column
        if not self.subsets:
            memset(chosen, 1, self.window.n_columns)
            return 0
        rng = rng_for(self.seed, tree, batch, SUBSET)
        least = min(f, <int>(<double>f ** 0.5) + 2)
        m = least + <int>(uniform(&rng) * (f - least + 1))
        keys = []
        for i in range(f):
            of_column = skipped(rng, self.window.distinct[i])
            keys.append((next_word(&of_column), self.window.distinct[i]))
        memset(chosen, 0, self.window.n_columns)
        for _, column in sorted(keys)[:m]:
            chosen[column] = 1
        return 0

    cdef int mark_columns(self, int tree, uint8_t* chosen) except -1:
        return self.choose(self.n_batches, tree, chosen)

    cdef int release(self) except -1:
        """Release the samples that no tree retains; remember what their values say."""
        cdef bytearray marks = bytearray(b"\1") * self.window.capacity
        cdef uint8_t* gone = marks
        cdef Retained retained
        cdef int i
        for retained in self.retained:
            for i in range(retained.n):
                gone[retained.slots[i]] = 0
        for i in range(0 if self.published else self.window.n_sorted):
            if gone[self.window.by_arrival[i]]:
                self.history.learn(self.window, self.window.by_arrival[i], self.schema)
        self.window.release(gone)
        return 0

    # --- Copies -------------------------------------------------------------------------------

    cdef Learner serving_copy(self):
        cdef ForgetfulForest copy = Forest.serving_copy(self)
        copy.retained = [Retained() for _ in range(copy.trees.n_trees)]
        copy.created_at = np.zeros(copy.trees.n_trees, np.int64)
        copy.parameters = list(self.parameters)
        return copy

    # --- State --------------------------------------------------------------------------------

    def settings(self):
        return {**super().settings(), "subsets": self.subsets,
                "max_columns": self.schema.max_columns}

    FIELDS = {
        **Forest.FIELDS, "subsets": ("flag",),
        "created_at": ("whole_numbers", np.int64, "trees", {"most": LARGEST_COUNT}),
        "n_retained": ("whole_numbers", np.int32, "trees", {"most": 2**31 - 1}),
        "retained": ("array", np.int32, None, 2),       # (number of the sample, copies)
        "parameters": ("items",), "drift": ("value",), "answers": ("numbers", None, None),
    }
    DEFAULTS = {**Forest.DEFAULTS, "subsets": False, "drift": None}

    cdef dict views(self):
        return {"answers": self.answers_so_far()}

    cdef dict fields(self):
        """The samples are numbered in order of arrival, so that equal forests have equal states."""
        number_of = {slot: number for number, slot in enumerate(self.window.slots())}
        samples = [retained.samples() for retained in self.retained]
        return fields_of(self, self.FIELDS, {
            **self.views(), "n_retained": np.array([len(each) for each in samples], np.int32),
            "retained": np.array([(number_of[slot], copies) for each in samples
                                  for slot, copies in each], np.int32).reshape(-1, 2),
        })

    cdef int load(self, dict fields) except -1:
        """The slots of a loaded window are the numbers of its samples."""
        cdef Retained retained
        cdef int slot, count
        samples, ends = fields.pop("retained"), np.cumsum(fields.pop("n_retained"), dtype=np.int64)
        self.trees, self.window = fields["trees"], fields["window"]
        self.batch_size = fields["batch_size"]
        self.reserve_answers(max(1, self.n_gathered()))
        Forest.load(self, fields)
        n_trees = self.trees.n_trees
        require({n_trees} == {len(self.created_at), len(self.parameters), len(ends)},
                "ForgetfulForest: something of a tree is missing")
        require(n_trees > 0 and ends[n_trees - 1] == len(samples),
                "ForgetfulForest: n_retained must sum to the length of retained")
        self.retained = [Retained() for _ in range(n_trees)]
        for retained, part in zip(self.retained, np.split(samples, ends[: n_trees - 1])):
            for slot, count in part:
                retained.add(slot, count)
        return 0

    cdef int check_structure(self) except -1:
        Forest.check_structure(self)
        require(self.n_batches > 0 or self.window.n_sorted == 0,
                "ForgetfulForest: the samples of the first batch are not the only ones")
        require(max(self.created_at) <= self.n_batches,
                "ForgetfulForest: the features of a tree were drawn in a later batch")
        require(self.n_waiting == 0 or self.n_batches == 0
                or self.window.n_sorted >= self.batch_size,
                "ForgetfulForest: trees wait without a batch")
        samples = [dict(retained.samples()) for retained in self.retained]
        found, known = set().union(*samples), set(self.window.slots()[: self.window.n_sorted])
        require(found <= known if self.n_waiting else found == known,
                "ForgetfulForest: the samples are not those that a tree retains")
        for counts, retained in zip(samples, self.retained):
            require(len(counts) == retained.n and all([n > 0 for n in counts.values()])
                    and sum(counts.values()) == retained.total
                    and retained.total <= LARGEST_TOTAL,
                    "ForgetfulForest: a tree retains a sample twice, or too few or many copies")
        return 0
