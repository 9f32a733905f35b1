"""The regression forest with several memories against the naive one, sample by sample."""

from __future__ import annotations

import math
import pickle
import random
from collections.abc import Iterator
from typing import Any

import pytest

from river_extra_trees._core.forests.memories import MemoryForest
from tests.naive.cart import GROUP
from tests.naive.memory_forest import Rules
from tests.naive.memory_regression import NaiveNumberForest, NumberNode
from tests.tools.forest_samples import many_values, sample

Row = tuple[dict[Any, Any], float, float]

KINDS = ("none", "leaves", "root")
MEMORIES = [(80, 3), (80, 2), (30, 2)]
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "means alone": {"linear": ["none"] * 3, "seed": 2},
    "models in leaves": {"linear": ["leaves"] * 3, "memories": [(80, 2), (40, 1), (20, 3)]},
    "models in roots": {"linear": ["root"] * 3, "memories": [(80, 2), (40, 1), (20, 3)]},
    "all features": {"max_features": None, "seed": 3},
    "leaves that keep all": {"max_features": "log2", "fading": 1.0, "seed": 5},
    "shallow": {"rules": Rules("variance", max_depth=2), "seed": 7},
    "min_samples_split": {"rules": Rules("variance", min_samples_split=8), "seed": 9},
    "min_samples_leaf": {"rules": Rules("variance", min_samples_leaf=14), "seed": 10},
    "max_nodes": {"max_nodes": 5, "seed": 12},
    "tiny memories": {"memories": [(1, 1), (7, 4), (2, 3)], "seed": 15},
}


def rows(n: int, seed: int) -> Iterator[Row]:
    """Numbers, nominal and missing values, new features, drift, weights."""
    rng = random.Random(seed)
    for i in range(n):
        x, a, b, c = sample(rng, i)
        y = 3.0 * a - b * (c == "r") + 0.25 * rng.randrange(4) + (i > n // 2)
        yield x, y, rng.choice([1.0, 1.0, 0.5, 2.0, 0.0, 0.25])


def both(**changes: Any) -> tuple[MemoryForest, NaiveNumberForest]:
    """The core and the naive forest, of the same settings."""
    settings: dict[str, Any] = {
        "memories": MEMORIES,
        "linear": KINDS,
        "batch_size": 10,
        "fading": 0.9,
        "max_features": 0.5,
        "max_nodes": 10_000,
        "rules": Rules("variance"),
        "seed": 1,
        **changes,
    }
    rules = settings["rules"]
    depth = 2**31 - 1 if rules.max_depth == math.inf else rules.max_depth
    core = MemoryForest(
        **{**settings, "rules": {**vars(rules), "max_depth": depth}}, regression=True
    )
    return core, NaiveNumberForest(**settings)


def assert_same_trees(core: MemoryForest, naive: NaiveNumberForest) -> None:
    """Node for node; statistics and slopes but for rounding."""
    for number, tree in enumerate(naive.trees):
        trees, nodes = core.trees[number], tree.preorder()
        assert trees.preorder() == [node.number for node in nodes], number
        for node in nodes:
            assert isinstance(node, NumberNode)
            found = trees.node(node.number)
            if node.split is None:
                assert found["feature"] < 0
            else:
                split = ("feature", "threshold", "nominal", "missing_left")
                assert tuple(found[name] for name in split) == node.split
            assert found["weight"] == node.weight
            assert found["values"] == pytest.approx([node.mean, node.squares], rel=1e-8, abs=1e-9)
            slopes = core.models[number].coefficients_of(node.number)
            model = tree.models.get(0 if tree.kind == "root" else node.number)
            wanted = (
                {}
                if model is None
                else dict(
                    zip(
                        model.standard.columns,
                        model.slopes / model.standard.deviations,
                        strict=True,
                    )
                )
            )
            assert slopes == pytest.approx(wanted, rel=1e-7, abs=1e-9)


def assert_same_answers(core: MemoryForest, naive: NaiveNumberForest, x: dict[Any, Any]) -> None:
    """Weights of the members, mean and variance of the prediction."""
    assert core.mixture.member_weights() == pytest.approx(naive.members, rel=1e-6, abs=1e-9)
    mean, variance, _ = core.predict_spread(x)
    assert (mean, variance) == pytest.approx(naive.predict(x), rel=1e-6, abs=1e-9)
    assert core.predict_number(x) == mean


@pytest.mark.parametrize("name", SETTINGS)
def test_same_as_naive(name: str) -> None:
    """Trees, models, weights and answers after each sample."""
    core, naive = both(**SETTINGS[name])
    unknown = {"a": 0.4, "c": "never met", "later": "yes", "unknown": 3.0}
    for i, (x, y, w) in enumerate(rows(130, seed=3)):
        if i % 13 == 0:
            assert_same_answers(core, naive, x)
            assert_same_answers(core, naive, unknown)
        core.learn(x, y, w)
        naive.births = core.state()["births"].tolist()
        naive.learn(x, y, w)
        if i % 10 == 0:
            assert_same_trees(core, naive)
    core.check()
    assert max(len(tree.preorder()) for tree in naive.trees) <= naive.max_nodes
    kinds = {tree.kind for tree in naive.trees}
    assert all(tree.models for tree in naive.trees if tree.kind != "none")
    assert kinds == set(SETTINGS[name].get("linear", KINDS))


def test_outliers_are_clipped_as_naive() -> None:
    """A single target far from all others does not decide about the weights of the members."""
    core, naive = both(memories=[(100, 2), (30, 1), (8, 1)], max_nodes=31)
    largest = []
    for i, (x, y, w) in enumerate(rows(150, seed=6)):
        y = 1000.0 if i % 60 == 55 else y
        if i % 3 == 0:
            assert_same_answers(core, naive, x)
        core.learn(x, y, w)
        naive.births = core.state()["births"].tolist()
        naive.learn(x, y, w)
        largest.append(max(core.mixture.member_weights()))
    assert largest[56] < 0.8


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_groups_of_values_are_those_of_naive(seed: int) -> None:
    """Nodes with many nominal values send groups of them left, missing values among them or not."""
    core, naive = both(memories=[(90, 2), (70, 1), (80, 1)], max_features=None, seed=seed)
    rng = random.Random(seed)
    met = set()
    for i in range(200):
        x, y = many_values(rng, i)
        y, w = y + rng.random() / 8, rng.choice([1.0, 0.5, 2.0])
        if i % 13 == 0:
            assert_same_answers(core, naive, x)
        core.learn(x, y, w)
        naive.births = core.state()["births"].tolist()
        naive.learn(x, y, w)
        if i % 10 == 0:
            assert_same_trees(core, naive)
            nodes = [node for tree in naive.trees for node in tree.preorder()]
            splits = [node.split for node in nodes if node.split is not None]
            met |= {(min(split.nominal, GROUP), split.missing_left) for split in splits}
    assert {(GROUP, True), (GROUP, False)} <= met


def test_a_copy_goes_on_alike() -> None:
    """A state may be taken at any sample, in each phase of a growth."""
    core, _ = both(memories=[(100, 1), (60, 2), (70, 1)])
    other = core
    for i, (x, y, w) in enumerate(rows(260, 4)):
        if i % 3 == 0:
            other = pickle.loads(pickle.dumps(other))
        core.learn(x, y, w)
        other.learn(x, y, w)
        assert core.predict_spread(x) == other.predict_spread(x)
    other.check()


@pytest.mark.parametrize("exponent", [-300, 300])
@pytest.mark.parametrize("what", ["targets", "features", "weights"])
def test_units_do_not_matter(what: str, exponent: int) -> None:
    """Multiplied by a power of two, targets scale the answers; features and weights do nothing."""
    factor = 2.0**exponent
    one, other = both()[0], both()[0]
    for i, (x, y, w) in enumerate(rows(250, 6)):
        scaled = dict(x)
        if what == "features":
            for name in {"a", "b", "late"} & set(x):
                if isinstance(x[name], float):
                    scaled[name] = x[name] * factor
        unit = factor if what == "targets" else 1.0
        if i % 5 == 0:
            mean, variance, _ = one.predict_spread(x)
            found = other.predict_spread(scaled)
            assert found[0] == pytest.approx(mean * unit, rel=1e-9)
            assert found[1] == pytest.approx(variance * unit**2, rel=1e-9)
        one.learn(x, y, w)
        other.learn(scaled, y * unit, w * (factor if what == "weights" else 1.0))


def test_a_huge_feature_is_no_regressor() -> None:
    """A variance that is no number leaves a feature to the splits alone."""
    core, _ = both(memories=[(40, 2)] * 3)
    rng = random.Random(3)
    for _ in range(200):
        a = rng.random()
        huge = rng.choice([-1.7e308, 1.7e308])
        core.learn({"a": a, "huge": huge}, 5.0 * a + (huge > 0.0))
    core.check()
    slopes = [models.coefficients_of(0) for models in core.models[-2:]]
    assert all(set(each) == {0} and each[0] == pytest.approx(5.0, rel=0.3) for each in slopes)
    assert core.predict_number({"a": 0.5, "huge": 1.7e308}) == pytest.approx(3.5, abs=0.5)
