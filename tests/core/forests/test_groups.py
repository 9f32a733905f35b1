"""The forests with several windows against the naive ones, sample by sample."""

import math
import pickle
import random
from typing import Any

import pytest

from river_extra_trees._core.forests.extra_trees import ExtraTrees
from tests.naive.cart import VALUES, walk
from tests.naive.extra_trees import NaiveExtraTrees, NaiveNumberForest
from tests.tools.forest_samples import passing_names
from tests.tools.naive_forests import DEFAULTS, Rows, assert_same_trees, both, learn, rows


def assert_same_answers(core: ExtraTrees, naive: NaiveExtraTrees, x: dict[Any, Any]) -> None:
    """The weights of the windows, and what is predicted."""
    wanted = naive.predict(x)
    if isinstance(naive, NaiveNumberForest):
        assert core.mixture.member_weights() == pytest.approx(naive.members, rel=1e-6, abs=1e-9)
        mean, *spread, _ = core.predict_spread(x)
        assert (mean, *spread) == pytest.approx(wanted, rel=1e-6, abs=1e-9)
        assert core.predict_number(x) == mean
        return
    weights = [weight for _, weight in core.window_weights()]
    assert weights == pytest.approx(naive.weights, rel=1e-10)
    found = core.predict_proba(x)
    assert list(found) == list(wanted)
    for label, share in wanted.items():
        assert found[label] == pytest.approx(share, rel=1e-10, abs=1e-12)


def outliers(regression: bool) -> Rows:
    """Single targets that are far from all others, and should not decide about the weights."""
    for i, (x, y, w) in enumerate(rows(regression, 150, seed=6)):
        yield x, 1000.0 if i % 60 == 55 else y, w


def passing(regression: bool) -> Rows:
    """Columns without values in a window are not offered to its trees."""
    for x, y in passing_names(110, 1 + regression):
        yield x, y if regression else math.floor(y), 1.0


def many_valued(regression: bool) -> Rows:
    """Nodes with many nominal values send groups of them left, missing values among them or not.

    Most of the second feature are missing at first.
    """
    rng = random.Random(3)
    for i in range(220):
        first, second = rng.randrange(60), rng.randrange(25)
        x: dict[Any, Any] = {"first": f"v{first}", "a": rng.random(), "c": rng.choice("rgb")}
        if i > 60 or rng.random() < 0.3:
            x["second"] = f"w{second}"
        if rng.random() < 0.1:
            x["first"] = None
        score = first % 7 + 0.25 * (second % 4)
        label = "low" if score < 2.0 else "high" if score > 5.0 and i > 30 else "middle"
        y = score + rng.random() / 8 if regression else label
        yield x, y, rng.choice([1.0, 1.0, 0.5, 2.0])


def wide(regression: bool) -> Rows:
    """A share of the features stands for 100 at most."""
    rng = random.Random(7)
    for _ in range(36):
        x = {f"x{column}": rng.random() for column in range(150)}
        score = x["x0"] + x["x149"] > 1.0
        yield x, float(score) if regression else score, 1.0


def one_wide(regression: bool) -> Rows:
    """One sample has 40 more columns, which are not offered to trees on 100 samples and more.

    A second sample has two of them, and others have a column that few samples have.
    """
    rng = random.Random(8)
    for i in range(190):
        x = {name: rng.random() for name in "abc"}
        score = x["a"] + x["b"] > 1.0
        if i in (25, 60):
            x |= {f"w{column}": 1.0 for column in range(40 if i == 25 else 2)}
        if i % 40 == 0:
            x |= {"rare": 1.0, f"r{i}": 1.0}
        yield x, float(score) if regression else score, 1.0


def rare_labels(regression: bool) -> Rows:
    """One label has nearly all samples."""
    for i, (x, y, w) in enumerate(rows(regression, 190, seed=8)):
        yield x, y if i > 170 else "rare" if i in (60, 130) else "low", w


def many_classes(regression: bool) -> Rows:
    """From one class to more than 30; with more than 16, leaves list their classes."""
    rng = random.Random(1)
    for i, (x, _, w) in enumerate(rows(regression, 150, seed=5)):
        yield x, min(rng.randrange(1 + i // 3), rng.randrange(1 + i // 3)), w


def tiny_targets(regression: bool) -> Rows:
    """Their range times a power of two that is below its reciprocal would be infinite."""
    for x, y, w in rows(regression):
        yield x, 1e-300 * y, w


MIXED: dict[str, Any] = {"windows": [(80, 2), (40, 1), (20, 3)]}
TINY: dict[str, Any] = {"windows": [(1, 1), (7, 4), (2, 3)], "seed": 15}
Case = tuple[Any, dict[str, Any]]
CLASSES: list[Case] = [
    (rows, {}),
    (rows, {"rules": {"criterion": "entropy"}, "max_features": None, "seed": 2}),
    (rows, {"max_features": 0.5, "batch_size": 3, "seed": 4}),
    (rows, {"max_features": "log2", "fading": 1.0, "seed": 5}),
    (rows, {"max_features": 1, "fading": 0.0, "seed": 6}),
    (rows, {"rules": {"max_depth": 3}, "batch_size": 25, "seed": 7}),
    (rows, {"rules": {"min_samples_split": 8}, "seed": 9}),
    (rows, {"rules": {"min_samples_leaf": 4}, "seed": 10}),
    (rows, {"max_nodes": 15, "seed": 12}),
    (rows, {"max_nodes": 1, "batch_size": 1, "seed": 13}),
    (rows, {"max_nodes": 12, "batch_size": 40, "fading": 1.0, "seed": 14}),
    (rows, TINY),
    (rows, {"windows": [(50, 1)], "batch_size": 60, "seed": 2**64 - 1}),
    *((passing, {"windows": [(60, 1), (20, 2)], "max_features": n}) for n in (None, "sqrt", 2)),
    (many_valued, {}),
    (many_valued, {"rules": {"criterion": "entropy"}, "max_features": None, "seed": 2}),
    (many_valued, {"rules": {"min_samples_leaf": 4}, "seed": 3}),
    (many_valued, {"batch_size": 60, "max_features": None, "max_nodes": 31, "seed": 4}),
    (wide, {"max_features": 0.9}),
    (one_wide, {"windows": [(120, 2), (99, 1)]}),
    (rare_labels, {"windows": [(120, 2), (40, 2)]}),
    (many_classes, {"rules": {"max_depth": 2}}),
    (many_classes, {"max_nodes": 15, "batch_size": 25}),
]
NUMBERS: list[Case] = [
    (rows, {}),
    (rows, {"linear": ["none"] * 3, "max_features": None, "seed": 2}),
    (rows, {"linear": ["leaves"] * 3, **MIXED}),
    (rows, {"linear": ["root"] * 3, **MIXED}),
    (rows, {"max_features": "log2", "fading": 1.0, "seed": 5}),
    (rows, {"rules": {"max_depth": 2, "min_samples_split": 8}, "seed": 7}),
    (rows, {"rules": {"min_samples_leaf": 14}, "seed": 10}),
    (rows, {"max_nodes": 5, "seed": 12}),
    (rows, TINY),
    (tiny_targets, {"linear": ["none"] * 3}),
    (outliers, {"windows": [(100, 2), (30, 1), (8, 1)], "max_nodes": 31}),
    *((passing, {"max_features": n}) for n in (None, "sqrt", 2)),
    (one_wide, {"linear": ["root", "none"], "windows": [(120, 2), (99, 1)]}),
    *((many_valued, {"max_features": None, "seed": seed}) for seed in (0, 1)),
]
WINDOWS: dict[Any, list[tuple[int, int]]] = {
    (many_valued, False): [(120, 2), (60, 1)],
    (many_valued, True): [(90, 2), (70, 1), (80, 1)],
    (many_classes, False): [(120, 1), (30, 1)],
    (wide, False): [(30, 1), (20, 1)],
}
SLOW = (many_valued, many_classes)


@pytest.mark.parametrize(
    ("regression", "stream", "settings"),
    [
        pytest.param(regression, *case, marks=[pytest.mark.slow] if case[0] in SLOW else [])
        for regression, cases in ((False, CLASSES), (True, NUMBERS))
        for case in cases
    ],
    ids=lambda value: value.__name__ if callable(value) else str(value),
)
def test_same_as_naive(regression: bool, stream: Any, settings: dict[str, Any]) -> None:
    """Trees every few samples: what is wrong in them stays so for longer. Answers, weights.

    With copies in the middle of growths, when the latest values are newer.
    """
    windows = WINDOWS.get((stream, regression), DEFAULTS[regression]["windows"])
    core, naive = both(regression, **{"windows": windows, **settings})
    unknown = {"a": 0.4, "c": "never met", "later": "yes", "unknown": 3.0, "first": "never met"}
    met = set()
    for i, row in enumerate(stream(regression)):
        if i % 10 == 0:
            core = pickle.loads(pickle.dumps(core))
            assert_same_answers(core, naive, row[0])
            assert_same_answers(core, naive, unknown)
        learn(core, naive, row)
        if i % (10 if regression else 3) == 0:
            assert_same_trees(core, naive)
            core.check()
            met |= {node.split for tree in naive.trees for node in walk(tree.root) if node.split}
    sizes = [tree.n_nodes for tree in naive.trees]
    assert max(sizes) <= naive.max_nodes
    assert naive.max_nodes == 1 or sum(sizes) > 1.5 * len(sizes)
    assert all(tree.models for tree in naive.trees if tree.kind != "none")
    kinds = {(split.nominal, split.missing_left) for split in met}
    assert stream is not many_valued or {(VALUES, True), (VALUES, False)} <= kinds
    leaves = [node.samples for tree in naive.trees for node in walk(tree.root)]
    most = max(len({each.y for each in samples}) for samples in leaves)
    assert stream is not many_classes or most > 16


# --- States, and what needs no naive forest


@pytest.mark.parametrize("seed", [4, 6, 7, 9])
@pytest.mark.parametrize("exponent", [-300, 300])
@pytest.mark.parametrize("what", ["targets", "features", "weights"])
def test_units_do_not_matter(what: str, exponent: int, seed: int) -> None:
    """Multiplied by a power of two, targets scale the answers; features and weights do nothing."""
    factor = 2.0**exponent
    unit = factor if what == "targets" else 1.0
    one, other = both(True)[0], both(True)[0]
    for i, (x, y, w) in enumerate(rows(True, 200, seed)):
        scaled = dict(x)
        for name in {"a", "b", "late"} & set(x) if what == "features" else ():
            if isinstance(x[name], float):
                scaled[name] = x[name] * factor
        if i % 5 == 0:
            mean, variance, *tails = one.predict_spread(x)
            found = other.predict_spread(scaled)
            wanted = mean * unit, variance * unit**2, *tails
            assert found == pytest.approx(wanted, rel=1e-9)
        one.learn(x, y, w)
        other.learn(scaled, y * unit, w * (factor if what == "weights" else 1.0))
