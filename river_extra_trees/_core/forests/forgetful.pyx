"""Forgetful forests: each tree retains a subset of a shared window. See the header."""

import numpy as np

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memset

from ..cart.splitter cimport Splitter
from ..learner cimport Learner
from ..lists cimport item_of, length_of
from ..memory cimport free, product, resized, zeroed
from ..rng cimport SUBSET, Rng, next_word, poisson, rng_for, uniform
from ..schema cimport Schema
from ..shares cimport first_largest
from ..trees cimport HEADER, Trees
from .batch_growth cimport ForgetfulGrowth, Retained, grow_anew, moved
from .forest cimport Forest

from ..state import require

cdef enum:
    BAGGING_MEAN = 6        # leveraging bagging (section 3.3): expected copies of a batch
    BAGGING_MAX = 10        # maximum number of copies of a batch


cdef inline Rng skipped(Rng rng, uint64_t n) noexcept nogil:
    """A stream of random numbers without its next n words."""
    rng.state += n * <uint64_t>0x9E3779B97F4A7C15
    return rng


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

    def __init__(self, int n_trees, bint regression, int batch_size, bint published, seed,
                 bint subsets, bint bagging, int max_columns):
        self.schema = Schema(max_columns)
        self.begin(n_trees, regression, batch_size, published, 1.0, seed)
        self.subsets = subsets
        self.bagging = bagging
        self.retained = [Retained() for _ in range(n_trees)]
        self.created_at = [0] * n_trees
        self.parameters = [None] * n_trees

    def __dealloc__(self):
        free(self.answers)

    cdef int make_room(self) except -1:
        """Allocate memory for the predictions of one more sample."""
        cdef int n = self.n_answers
        if self.n_gathered() >= n:
            n = min(max(4, 2 * <int64_t>n), self.batch_size)
            self.answers = <double*>resized(
                self.answers, product(n, len(self.trees) + 2), sizeof(double))
            self.n_answers = n
        return 0

    cdef object answers_so_far(self):
        """The predictions for the samples of this batch, as an array [tree, position]."""
        cdef Py_ssize_t position, tree, width = len(self.trees) + 2
        cdef double[:, ::1] found = np.empty((width, self.n_gathered()))
        for position in range(found.shape[1]):
            for tree in range(width):
                found[tree, position] = self.answers[position * width + tree]
        return found.base

    cdef int begin_again(self, const double[:, ::1] answers) except -1:
        """Set the predictions for this batch."""
        cdef Py_ssize_t position, tree, width = answers.shape[0]
        free(self.answers)
        self.answers, self.n_answers = NULL, 0
        self.answers = <double*>zeroed(product(width, max(1, answers.shape[1])), sizeof(double))
        self.n_answers = <int>max(1, answers.shape[1])
        for position in range(answers.shape[1]):
            for tree in range(width):
                self.answers[position * width + tree] = answers[tree, position]
        return 0

    # --- One sample ---------------------------------------------------------------------------

    cdef int reserve(self, int n_labels) except -1 nogil:
        if self.n_gathered() >= self.n_answers:
            with gil:
                self.make_room()
        return Forest.reserve(self, n_labels)

    cdef int n_gathered(self) noexcept nogil:
        return self.window.n_fresh

    cdef int room(self, int n_labels) noexcept nogil:
        return min(Forest.room(self, n_labels), self.n_answers - self.n_gathered())

    cdef void learn_rows(self, const int* leaves, const double* targets, const double* weights,
                         const int* slots, int n, int position, int n_labels) noexcept nogil:
        """Store the prediction of each tree for the rows, and let it learn them."""
        cdef int i
        for i in range(n):
            if slots[i] >= 0:
                self.learn_row_at(leaves, i, targets[i], weights[i], position, n_labels)
                position += 1

    cdef void learn_row_at(self, const int* leaves, int i, double target, double weight,
                           int position, int n_labels) noexcept nogil:
        """Store the prediction of each tree for row i, and let it learn the row."""
        cdef int tree, leaf, n_trees = <int>length_of(<PyObject*>self.trees)
        cdef double total = 0.0
        cdef double* answers = self.answers + <Py_ssize_t>position * (n_trees + 2)
        cdef uint8_t voted
        cdef PyObject* trees
        answers[n_trees + 1] = 0.0
        if self.regression:
            answers[n_trees + 1] = self.root_statistics.row(
                self.root_statistics.roots[0])[HEADER]
        self.root_statistics.learn(self.root_statistics.roots[0], target, weight, 0.0)
        if not self.regression:
            memset(self.sums, 0, n_labels * sizeof(double))
        for tree in range(n_trees):
            trees = item_of(<PyObject*>self.trees, tree)
            leaf = self.leaf_at(leaves, tree, i)
            if self.regression:
                answers[tree] = (<Trees>trees).row(leaf)[HEADER]
                total += (<Trees>trees).row(leaf)[HEADER]
            else:
                answers[tree] = (<Trees>trees).majority(leaf)
                self.add_votes(<Trees>trees, &leaf, 1, n_labels, self.sums, &voted)
            if not self.published:
                (<Trees>trees).learn(leaf, target, weight, self.n_batches + 1)
        answers[n_trees] = total / n_trees if self.regression else (
            first_largest(self.sums, n_labels))

    cdef void add_votes(self, Trees trees, const int* leaves, int n, int n_labels, double* votes,
                        uint8_t* voted) noexcept nogil:
        cdef int i, code
        if not self.published:
            Forest.add_votes(self, trees, leaves, n, n_labels, votes, voted)
            return
        for i in range(n):
            code = trees.majority(leaves[i])
            if code >= 0:
                voted[i] = True
                votes[<Py_ssize_t>i * n_labels + code] += 1.0

    # --- One batch ----------------------------------------------------------------------------

    def grow(self, uint64_t batch, list splitters, list sizes, list depths, list discarded,
             list parameters, drift):
        """Grow all trees on the retained samples, according to the plan.

        Parameters
        ----------
        batch
            Number of the batch of the plan. Nothing is done if that batch is not full or the trees
            have grown on it already.
        splitters
            One per thread.
        sizes
            Number of samples that each tree retains.
        depths
            Maximum depth of each tree.
        discarded
            Trees that get new features.
        parameters, drift
            State of the Python code after this batch, as plain values.
        """
        cdef ForgetfulGrowth growth
        with self.using():
            if batch != self.n_batches or self.n_gathered() < self.batch_size:
                return
            self.make_bags()        # of a forest that was loaded with a full batch
            growth = ForgetfulGrowth(self, splitters, sizes, depths, discarded)
            self.window.sort()
            growth.run()
            self.trees = growth.trees
            self.created_at, self.parameters, self.drift = growth.created_at, parameters, drift
            self.release(growth.gone)
            self.n_batches += 1
            self.draw_bags()

    cdef int64_t bag_size(self, Rng* rng) noexcept:
        """W times the size of a batch, W ~ Poisson(6) but at most 10 (section 3.3)."""
        return <int64_t>min(poisson(rng, BAGGING_MEAN), BAGGING_MAX) * self.batch_size

    def losses(self, int tree, bint bagged=True):
        """Sum up the losses of a tree (or, after the last one, of the forest) on this batch.

        Returns the number of answers, with `bagged` that of copies, and three sums over them: of
        the losses (1 for a wrong label, the squared error of a number), of their squares, and of
        the losses of the running mean of the targets (0 for labels).
        """
        cdef int n_trees = len(self.trees)
        assert 0 <= tree <= n_trees
        with self.using():
            self.make_bags()
            return self.sum_losses(self.answers_so_far()[tree],
                                   tree if bagged and tree < n_trees else -1)

    cdef tuple sum_losses(self, const double[::1] answers, int bag):
        """The losses of answers to this batch, weighed by the bag of a tree; -1: all alike."""
        cdef int position, copies = 1, n_trees = len(self.trees)
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
        cdef Retained retained = self.retained[tree]
        cdef Trees successor
        cdef uint8_t[::1] chosen
        cdef int[::1] counts
        cdef double[::1] answers
        cdef int position, leaf
        with self.using():
            successor = self.new_tree()
            chosen = np.zeros(self.window.n_columns + 1, np.uint8)
            counts = np.zeros(self.window.capacity, np.intc)
            answers = np.zeros(self.batch_size)
            self.choose(self.n_batches, tree, &chosen[0])
            retained.mark(&counts[0])
            grow_anew(self, successor, tree, retained, splitter, max_depth, &counts[0], &chosen[0])
            for position in range(self.window.n_fresh):
                leaf = successor.walk_slot(
                    successor.roots[0], self.window, self.window.fresh[position])
                answers[position] = successor.row(leaf)[HEADER] if self.regression else (
                    successor.majority(leaf))
            return self.sum_losses(answers, tree)

    def n_retained(self, int tree):
        """Number of samples that a tree retains, copies counted."""
        return (<Retained>self.retained[tree]).total

    def tree_losses(self):
        """The losses of each tree on this batch."""
        return np.array([self.losses(tree, False)[1] for tree in range(len(self.trees))])

    cdef int choose(self, uint64_t batch, int tree, uint8_t* chosen) except -1:
        """Mark the columns that a tree looks at: m of f, m uniform in [floor(sqrt(f)) + 2, f].

        Section 3.3 defines this range, as the integers in (floor(sqrt(f)) + 1, f].
        These are the columns with a value in the window. A column keeps its random number; if
        others come or go, only the range of m changes.
        """
        cdef int column, i, f = self.window.n_live, least, m
        cdef Rng rng, of_column
        if not self.subsets:
            memset(chosen, 1, self.window.n_columns)
            return 0
        rng = rng_for(self.seed, tree, batch, SUBSET)
        least = min(f, <int>(<double>f ** 0.5) + 2)
        m = least + <int>(uniform(&rng) * (f - least + 1))
        keys = []
        for i in range(f):
            of_column = skipped(rng, self.window.live[i])
            keys.append((next_word(&of_column), self.window.live[i]))
        memset(chosen, 0, self.window.n_columns)
        for _, column in sorted(keys)[:m]:
            chosen[column] = 1
        return 0

    cdef int mark_columns(self, int tree, uint8_t* chosen) except -1:
        return self.choose(self.n_batches, tree, chosen)

    cdef void release(self, uint8_t* gone) noexcept:
        """Release the samples that no tree retains; `gone` is memory for a mark per slot."""
        cdef Retained retained
        cdef int i
        memset(gone, 1, self.window.capacity)
        for retained in self.retained:
            for i in range(retained.n):
                gone[retained.slots[i]] = 0
        self.window.release(gone)

    # --- Copies -------------------------------------------------------------------------------

    cdef Learner serving_copy(self):
        cdef ForgetfulForest copy = Forest.serving_copy(self)
        copy.retained = [Retained() for _ in copy.trees]
        copy.created_at = [0] * len(copy.trees)
        copy.parameters = list(self.parameters)
        return copy

    # --- State --------------------------------------------------------------------------------

    def __sizeof__(self):
        cdef size_t n_trees = len(self.trees)
        return super().__sizeof__() + self.n_answers * (n_trees + 2) * sizeof(double)

    def settings(self):
        return {**super().settings(), "subsets": self.subsets, "bagging": self.bagging,
                "max_columns": self.schema.max_columns}

    cdef dict fields(self):
        """The trees, what they retain, and their answers to the samples of this batch.

        The samples are numbered anew, so that equal forests have equal states.
        """
        window, place = self.window.renumbered()
        return {
            **Forest.fields(self), "subsets": self.subsets, "bagging": self.bagging,
            "window": window, "retained": [moved(each, place) for each in self.retained],
            "created_at": np.array(self.created_at, np.int64),
            "parameters": self.parameters, "drift": self.drift,
            "answers": self.answers_so_far(),
        }

    STATE = (*Forest.STATE, "subsets", "bagging", "retained", "created_at", "parameters", "drift",
             "answers")
    DEFAULTS = {**Forest.DEFAULTS, "fading": 1.0, "subsets": False, "bagging": False,
                "drift": None}

    cdef object read(self, object state):
        Forest.read(self, state)
        n_trees, n = len(self.trees), self.n_in_batch
        self.subsets = state.flag("subsets")
        self.bagging = state.flag("bagging")
        self.retained = state.parts("retained", Retained, n_trees)
        self.created_at = state.array("created_at", np.int64, n_trees).tolist()
        self.parameters = state.items("parameters", n_trees)
        self.drift = state.values["drift"]
        self.begin_again(state.numbers("answers", n_trees + 2, n))

    cdef int check_structure(self) except -1:
        for part in [self.window, *self.retained]:      # `fields` holds copies of them
            part.check()
        return self.check_fits()

    cdef int check_fits(self) except -1:
        Forest.check_fits(self)
        require(self.n_batches > 0 or self.window.n_sorted == 0,
                "ForgetfulForest: the samples of the first batch are not the only ones")
        require(all(0 <= batch <= self.n_batches for batch in self.created_at),
                "ForgetfulForest: a tree was created in a later batch")
        learned = set(self.window.slots()[: self.window.n_sorted])
        retained = {slot for each in self.retained for slot, _ in each.samples()}
        require(retained <= learned, "ForgetfulForest: a tree retains a sample that is not there")
        require(retained == learned, "ForgetfulForest: a sample is retained by no tree")
        return 0
