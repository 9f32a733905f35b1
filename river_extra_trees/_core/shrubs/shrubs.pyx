"""The ensemble as Python sees it, with its state (Buschjaeger, Hess, Morik 2022)."""

from copy import deepcopy

import numpy as np

from libc.math cimport fabs
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from ..forests.forest cimport read_number, read_weight
from ..schema cimport Labels, Schema
from .simplex cimport NEGLIGIBLE
from ..trees cimport Trees
from ..window cimport Window
from .answers cimport answer_all
from .ensemble cimport REBUILD, SQUARED_ERROR, Ensemble
from .learning cimport fill, push, update, widen
from .sums cimport fill_sums

from ..state import LARGEST_FLOAT, State, from_state, require

cdef enum:
    MAX_MODELS = 10_000  # of a restored ensemble

# The running sums differ from fresh ones by no more than this share of the weight of the window.
cdef double DRIFT = 1e-9

SETTINGS = ("regression", "n_models", "window_size", "rounds", "loss", "max_depth", "shuffled",
            "project_each_round", "standardised", "l0", "l1", "node_penalty", "lazy")


cdef class Shrubs(Ensemble):
    """The trees, their weights and the window, as they learn and answer. See `Ensemble`."""

    cdef double read_target(self, object y) except? -1.0:
        """Code or number of a target; -1 for a label that is new. Raises where it is neither."""
        return read_number(y) if self.trees.regression else self.labels.code(y)

    def validate(self, x, y, w):
        """Raise what learning this sample would raise."""
        read_weight(w)
        self.read_target(y)
        self.schema.validate(x)

    def learn(self, x, y, w, learner):
        """Learn a sample. Whatever fails, a lack of memory or a signal, nothing was learned.

        Parameters
        ----------
        x, y, w
            The sample.
        learner
            Has `_plan_step`, a function that changes nothing, of the number of classes. It returns
            whether to train a shrub, whether only if the ensemble answers the sample wrongly, the
            step size (0 for the adaptive one, 1 / (number of trees + 1)), the strength of the
            squared weights' regulariser, the seed of the shrub, and the number of features its
            splits look at.
        """
        cdef double weight = read_weight(w), target = self.read_target(y), step_size, l2
        cdef bint is_new = not self.trees.regression and target < 0.0, train, only_errors, wrong
        cdef uint64_t seed
        cdef int max_features
        if weight == 0.0:
            self.schema.validate(x)
            return
        self.schema.admit(x)
        try:
            train, only_errors, step_size, l2, seed, max_features = learner._plan_step(
                max(1, self.width + is_new))
            self.reserve(self.width + is_new)
            if is_new:
                target = self.labels.learn(y)
        except BaseException:
            self.schema.retract()
            raise
        if is_new:
            widen(self, self.width + 1)
        wrong = push(self, target, weight)
        update(self, train and (wrong or not only_errors), step_size, l2, seed, max_features)

    def predict_label(self, x):
        """The label with the largest share; None before the first sample."""
        cdef int c, best = 0
        answer_all(self, x)
        for c in range(1, self.width):
            if self.slopes[c] > self.slopes[best]:
                best = c
        return self.labels.labels[best] if self.width else None

    def predict_proba(self, x):
        """Every label learned so far and its share."""
        cdef double total = 0.0
        cdef int c
        answer_all(self, x)
        for c in range(self.width):
            total += self.slopes[c]
        return {label: self.slopes[<int>c] / total for c, label in enumerate(self.labels.labels)}

    def predict_number(self, x):
        """The weighted mean of the leaf means; 0 before the first sample."""
        answer_all(self, x)
        return self.slopes[0]

    @property
    def n_seen(self):
        """Number of samples learned."""
        return self.window.n_seen

    @property
    def n_columns(self):
        """Number of columns of the schema."""
        return self.schema.n_columns

    def tree_weights(self):
        """(number of the sample it was born at, weight) of every tree."""
        return [(self.births[k], self.weights[k]) for k in range(self.trees.n_roots)]

    def bare(self):
        """A copy that answers as this ensemble does, without the window it needs for learning."""
        cdef int k, n = self.trees.n_roots
        settings = {**self.settings(), "n_models": max(1, n), "window_size": 1}
        cdef Shrubs copy = Shrubs(**settings)
        copy.schema, copy.labels, copy.trees = deepcopy((self.schema, self.labels, self.trees))
        copy.reserve_outputs(self.width)
        copy.width = self.width
        for k in range(n):
            copy.weights[k] = self.weights[k]
        return copy

    def check(self):
        """Raise AssertionError if an invariant is broken."""
        cdef int k, slot
        cdef int n = self.trees.n_roots
        self.schema.check()
        self.window.check()
        self.trees.check()
        assert self.trees.regression or self.width == len(self.labels) == self.trees.n_values
        assert n <= self.n_models and self.window.size <= self.window_size
        assert self.window.capacity == self.window_size
        weights = [self.weights[k] for k in range(n)]
        assert all(NEGLIGIBLE < weight <= 1.0 for weight in weights)
        assert n == 0 or abs(sum(weights) - 1.0) < 1e-9
        for k in range(n):
            assert self.sizes[k] == len(self.trees.preorder(k))
            for slot in self.window.slots():
                assert self.leaves[k * self.window_size + slot] == self.trees.walk(
                    self.trees.roots[k], self.window.data + slot, self.window.capacity,
                    self.window.n_columns)
        state = self.state()
        assert fill_sums(self, state["hits"], state["gram"], self.total_weight,
                         self.since_rebuild) <= DRIFT * self.total_weight

    def settings(self):
        """The arguments that make such an ensemble."""
        return {
            "regression": self.trees.regression, "n_models": self.n_models,
            "window_size": self.window_size, "rounds": self.rounds,
            "loss": "mse" if self.loss == SQUARED_ERROR else "cross_entropy",
            "max_depth": self.splitter.max_depth, "shuffled": self.splitter.shuffled,
            "project_each_round": self.project_each_round, "standardised": self.standardised,
            "l0": self.l0, "l1": self.l1, "node_penalty": self.node_penalty, "lazy": self.lazy,
        }

    def state(self):
        """The trees, their weights, the running sums and the window; leaves follow from these."""
        cdef Py_ssize_t places = self.n_models + 1, k, n = self.trees.n_roots
        cdef double[:, ::1] gram = np.empty((n, n))
        for k in range(n):
            memcpy(&gram[k, 0], self.gram + k * places, n * sizeof(double))
        return {
            **self.settings(), "schema": self.schema, "labels": self.labels,
            "window": self.window, "trees": self.trees,
            "weights": np.array([self.weights[k] for k in range(n)], np.float64),
            "hits": np.array([self.hits[k] for k in range(n)], np.float64),
            "births": np.array([self.births[k] for k in range(n)], np.int64),
            "gram": gram.base, "total_weight": self.total_weight,
            "since_rebuild": self.since_rebuild, "n_trained": self.n_trained,
        }

    @classmethod
    def restored(cls, values):
        """The ensemble of a state."""
        cdef Shrubs shrubs
        state = State("Shrubs", values, (*SETTINGS, "schema", "labels", "window", "trees",
                                         "weights", "hits", "births", "gram", "total_weight",
                                         "since_rebuild", "n_trained"))
        window = state.part("window", Window)
        settings = {
            "n_models": state.whole("n_models", 1, MAX_MODELS),
            "window_size": state.whole("window_size", window.capacity, window.capacity),
            "rounds": state.whole("rounds", 1, 2**31 - 1),
            "loss": state.word("loss", ("mse", "cross_entropy")),
            "max_depth": state.whole("max_depth", 0, 2**31 - 1),
        }
        for name in ("regression", "shuffled", "project_each_round", "standardised", "lazy"):
            settings[name] = state.flag(name)
        for name in ("l0", "l1", "node_penalty"):
            settings[name] = state.number(name, 0.0, LARGEST_FLOAT)
        shrubs = Shrubs(**settings)
        shrubs._restore(state)
        return shrubs

    def _restore(self, state):
        cdef int slot, n
        cdef double target
        self.schema = state.part("schema", Schema)
        self.labels = state.part("labels", Labels)
        self.window = state.part("window", Window)
        trees, regression = state.part("trees", Trees), self.trees.regression
        n, n_values = trees.n_roots, 2 if regression else len(self.labels)
        require(trees.regression == regression and trees.n_values == n_values
                and not (regression and self.labels.labels) and n <= self.n_models
                and trees.n_features <= self.schema.n_columns,
                "Shrubs: the trees do not belong to this ensemble")
        require(all(trees.node(node)["weight"] > 0.0
                    for k in range(n) for node in trees.preorder(k)),
                "Shrubs: a node was grown on no sample")
        require(self.window.n_fresh == 0 and self.window.n_columns <= self.schema.n_columns,
                "Shrubs: the window does not belong to this ensemble")
        for slot in self.window.slots():
            target = self.window.target[slot]
            require(regression or (0 <= target < n_values and target == <int>target),
                    "Shrubs: a sample has no known label")
        self.trees = trees
        self.width = 1 if regression else n_values
        self.reserve_outputs(self.width)
        self.trees.reserve_roots(self.n_models + 1)
        weights = state.numbers("weights", n, most=1.0)
        # fabs, as abs of a scalar of numpy crashes where it finds no memory for its answer
        require(n == 0 or (np.all(weights > NEGLIGIBLE) and fabs(weights.sum() - 1.0) < 1e-9),
                "Shrubs: the weights do not sum to one")
        births = state.array("births", np.int64, n)
        require(np.all((births >= 0) & (births < max(1, self.window.n_seen))),
                "Shrubs: a tree is born after the last sample")
        self.n_trained = state.whole("n_trained")
        fill(self, weights, births)
        worst = fill_sums(self, state.numbers("hits", n), state.numbers("gram", n, n),
                          state.number("total_weight"),
                          state.whole("since_rebuild", 0, REBUILD * self.window_size))
        require(worst <= DRIFT * self.total_weight, "Shrubs: the sums are not those of the window")

    def __reduce__(self):
        return from_state, (type(self), self.state())
