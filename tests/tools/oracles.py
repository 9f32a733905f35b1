"""What the random machines compare a learner with: a plain twin, and the naive algorithms.

An oracle learns the valid samples one by one, and nothing else ever happens to it. It says of which
samples, targets and weights its learner can be judged, and what has to be the same.
"""

import abc
import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import river_extra_trees as ret
from river_extra_trees import persistence
from tests.naive.cart import Rules, Sample, Split, class_weights, leaf_of, moments
from tests.naive.columns import Columns
from tests.naive.extra_trees import NaiveClassForest, NaiveNumberForest
from tests.naive.forgetful import NaiveTree
from tests.naive.shrubs import NaiveShrubs
from tests.naive.stream_tree import NaiveStreamTree
from tests.tools.crowded import crowded
from tests.tools.estimators import answers, is_classifier, make, stream
from tests.tools.growing import assert_same_tree

Row = dict[Any, Any]

VALUES = (
    st.floats(-10, 10)
    | st.integers(-3, 3)
    | st.booleans()
    | st.none()
    | st.sampled_from(["red", "green", "blue"])
)
# Features come and go, change their kind, and have names of all kinds.
MIXED = st.dictionaries(st.sampled_from(["a", "b", "c", "d", 7, ("e", 1)]), VALUES, max_size=6)
EIGHTHS = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d", 7, ("e", 1)]),
    st.integers(-80, 80).map(lambda i: i / 8) | st.sampled_from([None, True, "red", "green"]),
    max_size=6,
)
COMPLETE = st.fixed_dictionaries({name: st.integers(0, 16).map(lambda i: i / 8) for name in "ab"})
LABELS = st.sampled_from(["low", "high", "middle", 1, 2.5])
NUMBERS = st.floats(-100, 100)
FEW_NUMBERS = st.integers(-3, 3).map(float)
ONE = st.just(1.0)
WEIGHTS = st.sampled_from([1.0, 1.0, 1.0, 0.0, 0.5, 3])


class Oracle(abc.ABC):
    """A learner that is surely right."""

    samples = MIXED
    targets = LABELS
    weights = WEIGHTS
    in_frames = ("a", "b", "c", "d")  # columns of a frame
    regression: bool

    @abc.abstractmethod
    def learner(self) -> Any:
        """A new learner of the kind that is to be judged."""

    def cloned(self, model: Any) -> Any:
        """A new learner with the parameters of another."""
        return model.clone()

    def stretch(self, n: int, seed: int) -> list[tuple[Row, Any]]:
        """A stretch of a stream from which there is something to learn."""
        kind = "Regressor" if self.regression else "Classifier"
        return list(stream((f"StreamDecisionTree{kind}", 0), n, seed))

    @abc.abstractmethod
    def learn(self, x: Row, y: Any, w: float) -> None:
        """Learn a sample."""

    @abc.abstractmethod
    def assert_agrees(self, model: Any, asked: list[Row]) -> None:
        """Fail unless the model knows and answers what it should."""


class Twin(Oracle):
    """The same learner, to which nothing but samples ever happens: equal to the last bit.

    Equal is the whole state, which a model file holds, and what is said of the rows.
    """

    def __init__(self, case: tuple[str, int]) -> None:
        self.case = case
        self.twin = self.learner()
        self.regression = not is_classifier(case)
        self.targets = NUMBERS if self.regression else LABELS

    def learner(self) -> Any:
        return make(self.case)

    def learn(self, x: Row, y: Any, w: float) -> None:
        self.twin.learn_one(x, y, w=w)

    def assert_agrees(self, model: Any, asked: list[Row]) -> None:
        rows = [(x, None) for x in asked]
        assert answers(model, rows) == answers(self.twin, rows)
        assert persistence.save_bytes(model) == persistence.save_bytes(self.twin)


class CrowdedTwin(Twin):
    """A twin with three columns: new features take the places of others."""

    def learner(self) -> Any:
        return crowded(make(self.case), 3)

    def cloned(self, model: Any) -> Any:
        return crowded(model, 3)


class RenamedTwin(Twin):
    """A twin that knows some more labels than it can have stored samples: others make room."""

    def __init__(self, name: str, n_stored: int, **parameters: Any) -> None:
        self.name, self.n_labels, self.parameters = name, n_stored + 2, parameters
        super().__init__((name, 0))
        self.targets = st.integers(0, 2 * n_stored)

    def learner(self) -> Any:
        return crowded(getattr(ret, self.name)(seed=1, **self.parameters), n_labels=self.n_labels)

    def cloned(self, model: Any) -> Any:
        return crowded(model, n_labels=self.n_labels)


class _Naive(Oracle):
    """What the naive algorithms share: rows of numbers, and codes for labels."""

    def __init__(self, name: str, **parameters: Any) -> None:
        self.name, self.parameters = name, parameters
        self.regression = name.endswith("Regressor")
        self.targets = FEW_NUMBERS if self.regression else LABELS
        self.columns = Columns()
        self.labels: dict[Any, int] = {}

    def stretch(self, n: int, seed: int) -> list[tuple[Row, Any]]:
        """Targets are rounded where a tie between sums of others would be left to rounding."""
        rows = super().stretch(n, seed)
        if self.samples is COMPLETE:
            rows = [({name: round(8 * x.get(name, 0)) / 8 for name in "ab"}, y) for x, y in rows]
        return [(x, float(round(4 * y)) if self.regression else y) for x, y in rows]

    def learner(self) -> Any:
        return getattr(ret, self.name)(**self.parameters)

    def sample(self, x: Row, y: Any, w: float) -> Sample:
        """The naive sample of one that is learned."""
        target = y if self.regression else self.labels.setdefault(y, len(self.labels))
        return Sample(self.columns.learned(x), float(target), float(w))

    def shares(self, model: Any, x: Row) -> list[float]:
        """The learner's probabilities, in the order of the codes."""
        said = model.predict_proba_one(x)
        return [said[label] for label in self.labels]


class _GrownTree(_Naive):
    """A tree that is grown as the naive CART grows it, and whose leaves learn at once."""

    naive: NaiveStreamTree | NaiveTree

    def learn(self, x: Row, y: Any, w: float) -> None:
        if w > 0.0:
            sample = self.sample(x, y, w)
            self.naive.rules = self.rules()
            self.naive.learn(sample)

    def rules(self) -> Rules:
        criterion = "variance" if self.regression else self.parameters["criterion"]
        least = self.parameters.get("min_samples_leaf", 1)
        return Rules(criterion, self.columns.nominal, min_samples_leaf=least)

    def assert_agrees(self, model: Any, asked: list[Row]) -> None:
        """Splits, statistics and answers are those of the naive tree."""
        root = self.naive.root
        labels = None if self.regression else list(self.labels.values())
        assert_same_tree(model._core.trees[0], root, labels)
        for x in asked:
            known = leaf_of(root, self.columns.encoded(x)).samples
            if not known:
                continue
            if self.regression:
                _, mean, _ = moments(known)
                assert model.predict_one(x) == pytest.approx(mean, abs=1e-9)
            else:
                weights = np.array(class_weights(known, len(self.labels)))
                assert self.shares(model, x) == pytest.approx(list(weights / weights.sum()))


class StreamTree(_GrownTree):
    """A stream decision tree: after every sample it is the naive one."""

    def __init__(self, name: str, **parameters: Any) -> None:
        super().__init__(name, **parameters)
        memory = parameters["leaf_memory"]
        fading = 1.0 if memory is None else 1.0 - 1.0 / memory
        self.naive = NaiveStreamTree(self.rules(), parameters["batch_size"], fading)


class ForgetfulTree(_GrownTree):
    """A forgetful tree: CART on the newest samples, as many as the naive rule retains."""

    def __init__(self, name: str, **parameters: Any) -> None:
        super().__init__(name, **parameters)
        self.naive = NaiveTree(
            self.rules(),
            parameters["batch_size"],
            warm_size=parameters["warm_size"],
            most=parameters["max_retained"],
        )

    def assert_agrees(self, model: Any, asked: list[Row]) -> None:
        assert model.retained_sizes == [self.naive.n_held]
        super().assert_agrees(model, asked)


class ExtraTrees(_Naive):
    """The default forest: its answers are those of the naive one.

    A plain twin tells when each tree was ready, see `NaiveExtraTrees`. Numbers are eighths: sums of
    squares of much smaller ones vanish, and the linear models of the naive forest divide by them.
    """

    samples = EIGHTHS

    def __init__(self, name: str, **parameters: Any) -> None:
        super().__init__(name, **parameters)
        self.twin = self.learner()
        given = {
            **self.twin._core.settings(),
            "rules": Rules(**self.twin._core.settings()["rules"]),
        }
        naive = NaiveNumberForest if given.pop("regression") else NaiveClassForest
        del given["n_trees"]
        self.naive = naive(**given)

    def learn(self, x: Row, y: Any, w: float) -> None:
        self.twin.learn_one(x, y, w=w)
        self.naive.learn(x, y, w, births=self.twin._core.state()["births"].tolist())

    def assert_agrees(self, model: Any, asked: list[Row]) -> None:
        if not self.naive.samples:
            return
        model = copy.deepcopy(model)  # which remembers these questions, unlike the naive forest
        for x in asked:
            wanted = self.naive.predict(x)
            if isinstance(wanted, dict):
                said = model.predict_proba_one(x)
                assert said == pytest.approx(wanted, rel=1e-9, abs=1e-12)
            else:
                assert model.predict_one(x) == pytest.approx(wanted[0], rel=1e-6, abs=1e-9)


class ShrubEnsemble(_Naive):
    """Algorithm 1: the same trees with the same weights after every sample.

    Where equal weights left it to rounding which tree leaves, there is nothing more to compare.
    """

    samples = COMPLETE
    in_frames = ("a", "b")
    weights = ONE

    def __init__(self, name: str, **parameters: Any) -> None:
        super().__init__(name, max_features=None, seed=1, **parameters)
        self.naive = NaiveShrubs(
            None if self.regression else 0,
            **parameters,
            standardise=self.regression,
        )

    def learn(self, x: Row, y: Any, w: float) -> None:
        sample = self.sample(x, y, w)
        if self.naive.n_classes is not None and len(self.labels) > self.naive.n_classes:
            self.naive.n_classes = len(self.labels)
        self.naive.learn(list(sample.x), y if self.regression else int(sample.y))

    def assert_agrees(self, model: Any, asked: list[Row]) -> None:
        if self.naive.closest < 1e-9:
            return
        weights = model._core.tree_weights()
        assert [birth for birth, _ in weights] == self.naive.births
        assert model.weights == pytest.approx(self.naive.weights, abs=1e-9)
        for x in asked if self.naive.trees else []:
            said = [model.predict_one(x)] if self.regression else self.shares(model, x)
            row = list(self.columns.encoded(x))
            assert said == pytest.approx(self.naive.predict(row), abs=1e-9)


class DynamicTree(_Naive):
    """The trees are as they are: they were drawn. What they say is told from all the samples.

    It is the mean over the trees of the Dirichlet(1/K, ..., 1/K) posterior of each leaf.

    For as long as no sample has retired, the samples in a leaf are those that its splits lead to;
    and a tree of one leaf is made of all samples, retired or not.
    """

    def __init__(self, name: str, **parameters: Any) -> None:
        super().__init__(name, n_particles=5, seed=1, **parameters)
        self.known: list[Sample] = []

    def learn(self, x: Row, y: Any, w: float) -> None:
        if w > 0.0:
            self.known.append(self.sample(x, y, w))

    def aged(self) -> list[Sample]:
        """The samples with the weights that they will have for the next one."""
        factor = self.parameters["forgetting_factor"]
        ages = range(len(self.known), 0, -1)
        return [
            sample._replace(weight=sample.weight * factor**age)
            for sample, age in zip(self.known, ages, strict=True)
        ]

    def assert_agrees(self, model: Any, asked: list[Row]) -> None:
        if not self.known:
            return
        particles, samples = model._core, self.aged()
        trees = [(share, particles.nodes(i)) for i, share in enumerate(particles.particle_shares())]
        for x in asked:
            row, said = self.columns.encoded(x), np.zeros(len(self.labels))
            for share, nodes in trees:
                known = in_leaf(nodes, row, samples)
                weights = np.array(class_weights(known, len(self.labels)))
                said += share * (weights + 1 / len(said)) / (weights.sum() + 1)
            assert self.shares(model, x) == pytest.approx(list(said))


def in_leaf(nodes: list[dict[str, Any]], row: Any, samples: list[Sample]) -> list[Sample]:
    """The samples in the leaf of a row."""
    at = nodes[0]
    while at["column"] >= 0:
        split = Split(at["column"], at["cut"], at["nominal"], bool(at["missing_left"]))
        left = split.goes_left(row)
        samples = [sample for sample in samples if split.goes_left(sample.x) == left]
        at = nodes[at["left" if left else "right"]]
    return samples
