"""The forests with several windows against the naive ones, sample by sample."""

import math
import pickle
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import river_extra_trees as ret
from river_extra_trees._core.forests.extra_trees import ExtraTrees
from river_extra_trees._core.state import StateError
from tests.naive.cart import GROUP, walk
from tests.naive.codes import code_of
from tests.naive.extra_trees import NaiveExtraTrees, NaiveNumberForest
from tests.tools.forest_samples import passing_names, sample
from tests.tools.naive_forests import DEFAULTS, Row, assert_same_trees, both, learn

Rows = Iterator[Row]


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


def rows(regression: bool, n: int = 130, seed: int = 3) -> Rows:
    """Numbers, nominal and missing values, new features, values and classes, drift, weights."""
    rng = random.Random(seed)
    for i in range(n):
        x, a, b, c = sample(rng, i)
        if regression:
            y: Any = 3.0 * a - b * (c == "r") + 0.25 * rng.randrange(4) + (i > n // 2)
        else:
            score = a + 0.2 * b + (c == "r") + 0.2 * rng.random()
            score = score if i < n // 2 else 2.5 - score
            y = "low" if score < 0.9 or i < 3 else "middle" if score < 1.5 or i < 70 else "high"
        yield x, y, rng.choice([1.0, 1.0, 0.5, 2.0, 0.0, 0.25])


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

    Most of the second feature are missing at first. Naive Bayes counts 64 values at most.
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


def many_classes(regression: bool) -> Rows:
    """From one class to more than 30; with more than 16, leaves list their classes."""
    rng = random.Random(1)
    for i, (x, _, w) in enumerate(rows(regression, 150, seed=5)):
        yield x, min(rng.randrange(1 + i // 3), rng.randrange(1 + i // 3)), w


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
    (outliers, {"windows": [(100, 2), (30, 1), (8, 1)], "max_nodes": 31}),
    *((passing, {"max_features": n}) for n in (None, "sqrt", 2)),
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
    kinds = {(min(split.nominal, GROUP), split.missing_left) for split in met}
    assert stream is not many_valued or {(GROUP, True), (GROUP, False)} <= kinds
    leaves = [node.samples for tree in naive.trees for node in walk(tree.root)]
    most = max(len({each.y for each in samples}) for samples in leaves)
    assert stream is not many_classes or most > 16


# --- States, and what needs no naive forest


@pytest.mark.parametrize("late", [-1.0, 2.0, 1e15])
def test_a_growth_that_is_due_at_another_time_is_refused(late: float) -> None:
    """A damaged file may have one. Its steps would be those of another one."""
    core, _ = both(False, windows=[(1000, 1)])
    states = []
    for x, y, _ in rows(False, 300):
        core.learn(x, y, 1.0)
        states.append(core.state())
    state = next(state for state in states if state["growths"][0, 3])
    due = state["growths"][0, 3] + min(1000, state["growths"][0, 3])
    ExtraTrees.restored({**state, "due": np.array([float(due)])})
    with pytest.raises(StateError, match="a growth contradicts the number"):
        ExtraTrees.restored({**state, "due": np.array([max(due * (late > 0.0), 1.0) + late])})


@pytest.mark.parametrize("exponent", [-300, 300])
@pytest.mark.parametrize("what", ["targets", "features", "weights"])
def test_units_do_not_matter(what: str, exponent: int) -> None:
    """Multiplied by a power of two, targets scale the answers; features and weights do nothing."""
    factor = 2.0**exponent
    unit = factor if what == "targets" else 1.0
    one, other = both(True)[0], both(True)[0]
    for i, (x, y, w) in enumerate(rows(True, 200, 6)):
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


def test_a_huge_feature_is_no_regressor() -> None:
    """A variance that is no number leaves a feature to the splits alone."""
    core, _ = both(True, windows=[(40, 2)] * 3)
    rng = random.Random(3)
    for _ in range(200):
        a = rng.random()
        huge = rng.choice([-1.7e308, 1.7e308])
        core.learn({"a": a, "huge": huge}, 5.0 * a + (huge > 0.0))
    core.check()
    slopes = [models.coefficients_of(0) for models in core.models[-2:]]
    assert all(set(each) == {0} and each[0] == pytest.approx(5.0, rel=0.3) for each in slopes)
    assert core.predict_number({"a": 0.5, "huge": 1.7e308}) == pytest.approx(3.5, abs=0.5)


@pytest.mark.parametrize("frame", [False, True])
def test_one_wrong_target_spoils_little(frame: bool) -> None:
    """1e6 among targets around one is learned as 20 standard deviations from their mean."""
    rng = random.Random(1)
    pairs = [({"a": rng.random(), "b": rng.random()}, rng.random() / 10) for _ in range(400)]
    pairs = [(x, x["a"] + x["b"] + y) for x, y in pairs]
    pairs[200] = ({"a": 0.01, "b": 0.01}, 1e6)
    model = ret.ExtraTreesRegressor(n_models=15, window_sizes=(30, 300), seed=1)
    if frame:
        model.learn_many(pd.DataFrame(x for x, _ in pairs), pd.Series(y for _, y in pairs))
    else:
        for x, y in pairs:
            model.learn_one(x, y)
    assert model._core.mixture.highest < 12.0
    errors = [abs(model.predict_one(x) - x["a"] - x["b"]) for x, _ in pairs[201:]]
    assert np.median(errors) < 0.1


def test_rescaling_changes_no_answer() -> None:
    """When the unit of naive Bayes gets too large, all sums are divided by it."""
    core, _ = both(False)
    stream = list(rows(False, 120, 5))
    for row in stream[:100]:
        core.learn(*row)
    state = core.state()
    values = state["naive"].values
    factor = 9.9e49 / values["unit"]
    for name in ("unit", "total", "class_weights", "counts"):
        values[name] *= factor
    values["moments"][:, :, [0, 2]] *= factor
    values["overall"][:, [0, 2]] *= factor
    large = ExtraTrees.restored(state)
    for row in stream[100:]:
        core.learn(*row)
        large.learn(*row)
    assert large.state()["naive"].values["unit"] < 2.0
    for x, _, _ in stream:
        assert large.predict_proba(x) == pytest.approx(core.predict_proba(x), rel=1e-10)


def test_a_value_takes_the_place_of_the_lightest() -> None:
    """Naive Bayes counts 64 values of a feature: those met often stay, whatever else comes."""
    model = ret.ExtraTreesClassifier(n_models=1, window_sizes=(30,), seed=1)
    for i in range(400):
        value = f"often {i % 40}" if i % 2 else f"once {i}"
        model.learn_one({"shop": value}, i % 3)
    (values,), (counts,) = (model._core.naive.state()[name] for name in ("values", "counts"))
    assert {code_of(f"often {i}") for i in range(1, 40, 2)} < set(values)
    assert {code_of(f"once {i}") for i in range(320, 400, 2)} < set(values)
    assert counts.all(axis=1).sum() == 20


def test_many_classes_take_a_fixed_memory() -> None:
    """A table of transitions has at most 131,072 cells, then without rows for the last labels."""
    model = ret.ExtraTreesClassifier(n_models=1, window_sizes=(30,), seed=1)
    for i in range(600):
        model.learn_one({"a": i}, i)
    transitions = model._core.pool.transitions
    assert transitions.state()["counts"].shape == (131_072 // 600, 600)
    assert transitions.__sizeof__() < 1.1 * 8 * 131_072
    copy = pickle.loads(pickle.dumps(model))
    assert copy.predict_proba_one({"a": 1}) == model.predict_proba_one({"a": 1})


def test_many_columns_and_classes_take_a_fixed_memory() -> None:
    """Columns times classes are at most 16,384, with up to 64 counts each of 8 bytes."""
    model = ret.ExtraTreesClassifier(n_models=1, window_sizes=(30,), seed=1)
    for i in range(300):
        model.learn_one({j: f"value {(i + j) % 7}" for j in range(100)}, i)
    naive = model._core.naive
    assert len(naive.state()["n_values"]) == 16_384 // 300
    assert naive.__sizeof__() < 16_384 * 64 * 8 * 1.1
    naive.check()
    copy = pickle.loads(pickle.dumps(model))
    x = {j: f"value {j % 7}" for j in range(100)}
    assert copy.predict_proba_one(x) == model.predict_proba_one(x)
