"""Trees that learn one stream together: what is done per sample, between two growths.

A forest of one is a tree. The families add to this how batches are weighed and when trees grow.

A forest may be split into parts, which hold some of its trees each and see all of its samples.
"""

from copy import deepcopy

import numpy as np

from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check, PyFloat_CheckExact
from cpython.long cimport PyLong_Check
from libc.math cimport INFINITY, NAN, fabs
from libc.string cimport memset

from ..memory cimport free, realloc
from ..schema cimport Labels, Schema, is_number
from ..trees cimport HEADER, WEIGHT, Trees
from ..window cimport Window

from .. import state as limits
from ..learner import WaitingBatch
from ..state import State, from_state, require
from ..safe_repr import safe_repr

cdef double LARGEST_TARGET = limits.LARGEST_TARGET
cdef double LARGEST_WEIGHT = limits.LARGEST_WEIGHT
cdef double FAINTEST_WEIGHT = limits.FAINTEST_WEIGHT

cdef enum:
    MAX_INTERRUPTIONS = 10


cdef double as_double(object value, str name) except? -1.0:
    """A number, infinity where it is too large for a double, or an error that names it."""
    if PyFloat_CheckExact(value):
        return PyFloat_AS_DOUBLE(value)
    try:
        if PyFloat_Check(value):
            return float(value)     # a subclass may have its own
        if PyLong_Check(value) or is_number(value):
            return value
    except OverflowError:
        return INFINITY
    except (TypeError, ValueError):
        pass
    raise TypeError(f"{name} must be a number, not {type(value).__name__!r}")


cdef double read_weight(object w) except -1.0:
    """A sample weight, 0 if it is too faint, or an error that says what is wrong with it."""
    cdef double weight = as_double(w, "w")
    if not 0.0 <= weight <= LARGEST_WEIGHT:
        raise ValueError(f"w must be between 0 and {LARGEST_WEIGHT:g}, not {safe_repr(w)}")
    return weight if weight >= FAINTEST_WEIGHT else 0.0


cdef double read_number(object y) except? -1.0:
    """A numeric target, or an error that says what is wrong with it."""
    cdef double target = as_double(y, "the target")
    if not fabs(target) <= LARGEST_TARGET:
        raise ValueError(
            f"the target must be a finite number of at most {LARGEST_TARGET:g}, not {safe_repr(y)}"
        )
    return target


cdef object uninterrupted(object plan, list interruption):
    """Call a function that changes nothing, once more if a signal breaks in.

    What the signal raised goes to the list, for the caller to raise when the work is done: a batch
    is so learned wholly or not at all. An error of the function's own comes back each time.
    """
    for _ in range(MAX_INTERRUPTIONS):
        try:
            return plan()
        except MemoryError:
            raise
        except BaseException as error:
            interruption[0] = error
    raise interruption[0]


cdef class Forest:
    """A number of trees over one schema.

    Parameters
    ----------
    n_trees
        Number of trees.
    regression
        Whether targets are numbers in place of labels.
    fading
        What is left of a leaf's earlier weights after each sample it learns.
    """

    def __init__(self, int n_trees, bint regression, double fading=1.0):
        self.regression = regression
        self.fading = fading
        self.schema = Schema()
        self.labels = Labels()
        self.window = Window()
        self.prior = Trees(0, regression)
        self.prior.plant()
        self.trees = [self.sapling() for _ in range(n_trees)]

    def __dealloc__(self):
        free(self.votes)

    def sapling(self):
        """A new tree of one empty leaf."""
        trees = Trees(len(self.labels), self.regression, self.fading)
        trees.plant()
        return trees

    # ---------------------------------------------------------------- learning

    cdef double read_target(self, object y) except? -1.0:
        """Code or number of a target; -1 for a label that is new. Raises where it is neither."""
        return read_number(y) if self.regression else self.labels.code(y)

    def validate(self, x, y, w):
        """Raise what learning this sample would raise."""
        read_weight(w)
        self.read_target(y)
        self.schema.validate(x)

    cdef double admit(self, object x, object y) except? -1.0:
        """Encode a sample and give its new features and label their places; return its target.

        If anything fails, a lack of memory included, all is as before; afterwards the sample can
        be learned without fail.
        """
        cdef double target = self.read_target(y)
        cdef bint is_new = not self.regression and target < 0.0, learned = False
        self.schema.admit(x)
        try:
            if is_new:
                self.reserve_label()
                target = self.labels.learn(y)
                learned = True
            self.reserve_sample()
        except BaseException:
            if learned:
                self.labels.unlearn()
            self.schema.retract()
            raise
        if is_new:
            self.widen()
        return target

    cdef int reserve_label(self) except -1:
        """Make room for one more label everywhere."""
        cdef Trees trees
        cdef int n_labels = len(self.labels.labels) + 1
        for trees in self.trees:
            trees.reserve(0, n_labels)
        self.prior.reserve(0, n_labels)
        return self.reserve_votes(n_labels)

    cdef int reserve_sample(self) except -1:
        """Make room for the row that the schema encoded last; only the last step may show."""
        return self.window.reserve_one(self.schema.n_columns)

    cdef int widen(self) except -1:
        """Give a new label its place everywhere."""
        cdef Trees trees
        cdef int n_labels = len(self.labels.labels)
        for trees in self.trees:
            trees.widen(n_labels)
        self.prior.widen(n_labels)
        return 0

    cdef int push(self, double target, double weight) noexcept nogil:
        """Let an admitted sample into the window; return its slot."""
        self.prior.learn(self.prior.roots[0], target, weight, 0.0)
        return self.window.push(self.schema, target, weight)

    def learn(self, x, y, w):
        """Learn a sample; return whether its batch is full now."""
        cdef double weight = read_weight(w)
        if self.n_gathered() >= self.batch_size:    # there was no memory to grow on this batch
            self.validate(x, y, w)
            raise WaitingBatch("the last batch has not been grown on")
        if weight == 0.0:
            self.validate(x, y, w)
            return False
        self.take(self.admit(x, y), weight)
        return self.n_gathered() >= self.batch_size

    cdef int n_gathered(self) noexcept nogil:
        """Number of samples in this batch."""
        return self.window.size

    cdef void take(self, double target, double weight) noexcept:
        """Let an admitted sample into the batch, and the trees learn what they do at once."""

    def learn_batch(self, learner, plan_batch):
        """Grow the trees on a full batch, as a function says that changes nothing.

        A signal takes effect before or after. Without memory nothing is grown; the next call of
        `learn` then tries again, to the same result.
        """
        raise NotImplementedError

    # ---------------------------------------------------------------- answers

    cdef int reserve_votes(self, int n_labels) except -1:
        """Make room for a vote per label."""
        cdef void* votes
        if n_labels > self.votes_capacity:
            votes = realloc(self.votes, n_labels * sizeof(double))
            if votes == NULL:
                raise MemoryError
            self.votes = <double*>votes
            self.votes_capacity = n_labels
        return 0

    cdef bint add_votes(self, Trees trees, int leaf, double* votes) noexcept nogil:
        """Add the class frequencies of a leaf to the votes; say whether it has any."""
        cdef const double* row = trees.row(leaf)
        cdef int code
        if row[WEIGHT] <= 0.0:
            return False
        for code in range(trees.n_values):
            votes[code] += row[HEADER + code] / row[WEIGHT]
        return True

    cdef int winner(self) noexcept:
        """The label with most votes, the first of equals."""
        cdef int code, best = 0
        for code in range(1, len(self.labels.labels)):
            if self.votes[code] > self.votes[best]:
                best = code
        return best

    cdef int vote(self, object x) except -1:
        """Add up the class frequencies of the leaves that x falls into; return the largest."""
        cdef int leaf
        cdef Trees trees
        cdef bint voted = False
        self.reserve_votes(max(1, len(self.labels.labels)))
        self.schema.encode(x)
        memset(self.votes, 0, len(self.labels.labels) * sizeof(double))
        for trees in self.trees:
            leaf = trees.walk(trees.roots[0], self.schema.row, 1, self.schema.n_columns)
            voted |= self.add_votes(trees, leaf, self.votes)
        if not voted:
            self.add_votes(self.prior, self.prior.roots[0], self.votes)
        return self.winner()

    def predict_label(self, x):
        """The label with the largest share of the votes; None before the first sample."""
        best = self.vote(x)
        return self.labels.labels[best] if self.labels.labels else None

    def predict_proba(self, x):
        """Every label learned so far and its share of the votes."""
        cdef double total = 0.0
        cdef int code
        self.vote(x)
        for code in range(len(self.labels.labels)):
            total += self.votes[code]
        return {label: self.votes[<int>code] / total
                for code, label in enumerate(self.labels.labels)}

    cdef double mean(self, object x) except? -1.0:
        cdef Trees trees
        cdef double* row
        cdef double total = 0.0
        cdef int n = 0
        self.schema.encode(x)
        for trees in self.trees:
            row = trees.row(trees.walk(trees.roots[0], self.schema.row, 1, self.schema.n_columns))
            if row[WEIGHT] > 0.0:
                total += row[HEADER]
                n += 1
        return total / n if n else self.prior.row(self.prior.roots[0])[HEADER]

    def predict_number(self, x):
        """The mean of the leaf means; 0 before the first sample."""
        return self.mean(x)

    def ballots(self, rows):
        """What each tree says of each row, as an array [row, tree, class].

        Class frequencies, all zero where a tree knows nothing. Of numbers the one class is the
        mean, NaN where a tree knows nothing.
        """
        cdef Py_ssize_t row, tree, width = 1 if self.regression else len(self.labels.labels)
        cdef double[:, :, ::1] said = np.zeros((len(rows), len(self.trees), max(1, width)))
        cdef Trees trees
        cdef int leaf
        for row in range(said.shape[0]):
            self.schema.encode(rows[row])
            for tree in range(said.shape[1]):
                trees = <Trees>self.trees[tree]
                leaf = trees.walk(trees.roots[0], self.schema.row, 1, self.schema.n_columns)
                if not self.regression:
                    self.add_votes(trees, leaf, &said[row, tree, 0])
                elif trees.row(leaf)[WEIGHT] > 0.0:
                    said[row, tree, 0] = trees.row(leaf)[HEADER]
                else:
                    said[row, tree, 0] = NAN
        return said.base

    @property
    def n_seen(self):
        """Number of samples learned."""
        return self.window.n_seen

    def path(self, x, int tree=0):
        """Ids of the nodes that x passes in one tree, from the root to the leaf."""
        cdef Trees trees = self.trees[tree]
        cdef int node = trees.roots[0]
        self.schema.encode(x)
        passed = [node]
        while trees.nodes[node].feature >= 0:
            node = trees.step(node, self.schema.row, 1, self.schema.n_columns)
            passed.append(node)
        return passed

    # ---------------------------------------------------------------- snapshots and parts

    def bare(self):
        """A copy that answers as this forest does, without the samples it needs for learning."""
        cdef Forest copy = self.empty()
        copy.schema, copy.labels, copy.trees, copy.prior = deepcopy(
            (self.schema, self.labels, self.trees, self.prior))
        return copy

    def empty(self):
        """A forest of this kind without trees, which counts votes as this one."""
        raise NotImplementedError

    def keep(self, int first, int stop):
        """Become the part of the forest that holds the trees from `first` to before `stop`."""
        self.trees = self.trees[first:stop]
        self.first_tree += first
        self.is_part = True

    def join(self, parts):
        """Become the whole forest again: this part, the first one, and all the others in order."""
        cdef Forest part
        for part in parts:
            self.trees += part.trees
        self.is_part = False

    def check(self):
        """Raise AssertionError if an invariant is broken."""
        cdef Trees trees
        self.schema.check()
        self.window.check()
        assert self.window.n_columns <= self.schema.n_columns
        for trees in [self.prior, *self.trees]:
            trees.check()
            assert trees.n_roots == 1
            assert trees.regression == self.regression
            assert self.regression or trees.n_values == len(self.labels)

    def __sizeof__(self):
        return object.__sizeof__(self) + self.votes_capacity * sizeof(double)

    def settings(self):
        """The arguments that make such a forest."""
        return {"n_trees": len(self.trees), "regression": self.regression, "fading": self.fading}

    def state(self):
        """What the trees have learned, and the samples that they have not grown on yet."""
        return {
            "regression": self.regression, "fading": self.fading, "schema": self.schema,
            "labels": self.labels, "window": self.window, "trees": self.trees, "prior": self.prior,
            "first_tree": self.first_tree, "is_part": self.is_part,
        }

    STATE = ("regression", "fading", "schema", "labels", "window", "trees", "prior", "first_tree",
             "is_part")

    @classmethod
    def restored(cls, values):
        """The forest of a state."""
        forest = cls.__new__(cls)
        forest._restore(State(cls.__name__, values, cls.STATE))
        return forest

    def _restore(self, state):
        cdef Trees trees
        self.regression = state.flag("regression")
        self.fading = state.number("fading", 0.0, 1.0)
        self.schema = state.part("schema", Schema)
        self.labels = state.part("labels", Labels)
        self.window = state.part("window", Window)
        self.trees = state.parts("trees", Trees)
        self.prior = state.part("prior", Trees)
        self.is_part = state.flag("is_part")
        self.first_tree = state.whole("first_tree", 0, 2**31 - 1 if self.is_part else 0)
        n_values = 2 if self.regression else len(self.labels)
        require((self.trees or self.is_part) and not (self.regression and self.labels.labels),
                "Forest: there is no tree, or a regression has labels")
        require(self.prior.n_used == 1 and self.prior.fading == 1.0,
                "Forest: the prior is more than a leaf")
        for trees in [self.prior, *self.trees]:
            require(trees.n_roots == 1 and trees.regression == self.regression
                    and trees.n_values == n_values and trees.n_features <= self.schema.n_columns,
                    "Forest: a tree does not belong to it")
        require(all(trees.fading == self.fading for trees in self.trees),
                "Forest: a tree fades differently")
        self.check_window(self.window)

    cdef int check_window(self, Window window) except -1:
        """Refuse a restored window with columns or labels that this forest does not know."""
        cdef int slot
        cdef double target, n_labels = len(self.labels.labels)
        require(window.n_columns <= self.schema.n_columns, "Forest: a column has no name")
        for slot in window.slots():
            target = window.target[slot]
            require(self.regression or (0 <= target < n_labels and target == <int>target),
                    "Forest: a sample has no known label")
        return 0

    def __reduce__(self):
        return from_state, (type(self), self.state())
