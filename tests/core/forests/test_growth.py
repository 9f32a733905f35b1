"""Growth on what its fast passes treat apart, node for node against the naive one."""

import copy
import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import river_extra_trees as ret
from tests.naive.cart import Rules, Sample
from tests.tools.estimators import CLASSES, frozen
from tests.tools.growing import CODES
from tests.tools.growths import stepped
from tests.tools.naive_forests import assert_same_trees, both, learn

Maker = Callable[[random.Random, int], float | str]
MISSING = float("nan")
FIRST_DAY = 1_764_000_000_000_000_000  # in nanoseconds; floats are 2**37 of them apart

COLUMNS: dict[str, list[Maker]] = {
    "bytes": [lambda r, i: float(r.randrange(256))] * 17,
    "bytes and floats": [lambda r, i: float(r.randrange(9))] * 5 + [lambda r, i: r.random()] * 3,
    "few bytes": [lambda r, i: float(r.randrange(4))] * 4,
    "floats": [lambda r, i: r.gauss(0.0, 1.0)] * 6,
    "256 is no byte": [lambda r, i: float(r.choice([0, 255, 256]))] * 5,
    "nanoseconds": [lambda r, i: float(FIRST_DAY + i * 10**7), lambda r, i: r.random()],
    "negative times": [lambda r, i: -1.7e9 - 1e-3 * i, lambda r, i: -1e9 - r.random()],
    "one step of a double": [lambda r, i: 1.0 + r.randrange(3) * 2.0**-52] * 3,
    "huge": [lambda r, i: r.choice([-1.7e308, 1.7e308]) * r.random(), lambda r, i: r.random()],
    "tiny": [lambda r, i: 1e-310 * r.random(), lambda r, i: 5e-324 * r.randrange(3)],
    "all scales": [lambda r, i: r.choice([-1, 1]) * 10.0 ** r.uniform(-300, 300)] * 3,
    "below floats": [lambda r, i: r.choice([1e-40, 3e-40, 1.0])] * 2,
    "70 columns": [lambda r, i: r.choice([0.5, r.random()])] * 70,
    "150 columns": [lambda r, i: r.random()] * 150,
    "150 sparse columns": [lambda r, i: r.choice([1.0, *[MISSING] * 3])] * 150,
    "one wide sample": [
        lambda r, i: r.random(),
        *[lambda r, i: 1.0 if i == 60 else MISSING] * 1050,
    ],
    "sparse counts": [lambda r, i: r.choice([1.0, 2.0, 3.0, *[MISSING] * 17])] * 60,
    "sparse nominal": [
        *[lambda r, i: r.random()] * 2,
        *[lambda r, i: r.choice([*"abc", *[MISSING] * 17])] * 60,
    ],
    "sparse nominal with many values": [
        *[lambda r, i: r.random()] * 2,
        *[lambda r, i: r.choice([f"v{r.randrange(30)}", *[MISSING] * 5])] * 12,
    ],
    "sparse beside dense": [
        lambda r, i: r.random(),
        *[lambda r, i: r.choice([0.5, *[MISSING] * 9])] * 40,
        lambda r, i: 1.0 if i % 2 else MISSING,
    ],
    "missing": [lambda r, i: r.choice([r.random(), MISSING])] * 5,
    "constant": [lambda r, i: 1.0, lambda r, i: 2.0 - 2.0**-30, lambda r, i: r.random()],
}


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("columns", COLUMNS)
def test_columns(columns: str, regression: bool) -> None:
    """Whatever the numbers of the columns are, and however a growth holds them."""
    check(COLUMNS[columns], regression, 150, [(100, 2), (40, 1)])


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize(
    "settings",
    [
        {"max_features": 1},  # of 12 columns: they are drawn one by one
        {"max_features": 2},
        {"rules": {"min_samples_leaf": 15}, "max_features": 1, "seed": 2},
        {"rules": {"min_samples_leaf": 15}, "max_features": 3},  # few allow a split
        {"rules": {"max_depth": 1}},
    ],
    ids=str,
)
def test_rules(settings: dict[str, Any], regression: bool) -> None:
    check([lambda r, i: r.random()] * 12, regression, 120, [(90, 3)], **settings)


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"rules": {"min_samples_leaf": 4}},
        {"rules": {"max_depth": 3}},
        {"max_features": None},
        {"max_nodes": 15},
        {"weights": [0.25, 1.0, 2.0]},
        {"rules": {"criterion": "entropy"}},
    ],
    ids=str,
)
def test_one_of_many(settings: dict[str, Any], regression: bool) -> None:
    """One of 50 columns has a value, as do a nominal and a dense one."""
    if regression and "criterion" in settings.get("rules", {}):
        pytest.skip("of a classification")
    one_hot: list[Maker] = [
        lambda r, i, j=j: 1.0 if i * 7 % 50 == j else MISSING for j in range(50)
    ]
    check(
        [lambda r, i: r.random(), *one_hot, lambda r, i: r.choice("abc")],
        regression,
        150,
        [(100, 2), (40, 1)],
        **settings,
    )


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("weights", [[1.0], [0.5, 2.0]])
def test_nominal_columns_that_tell_nothing(weights: list[float], regression: bool) -> None:
    """They are candidates if they told something in former growths, or if no other splits."""
    told: list[Maker] = [
        lambda r, i: r.random(),
        lambda r, i: r.random(),
        lambda r, i: r.choice("abcdefg"),
        lambda r, i: r.choice(["a", "b", "c", MISSING]),
        lambda r, i: r.choice(["a", *[MISSING] * 5]),
    ]
    rules = {"min_samples_leaf": 4, "max_depth": 4}
    check(told, regression, 760, [(600, 6)], weights, rules=rules, max_features=3)


def test_nodes_of_next_to_one_label_judge_no_column() -> None:
    """Such nodes are most of those that trees without a bound have."""
    told: list[Maker] = [lambda r, i, k=k: f"v{r.randrange(k)}" for k in (2, 5, 9)]
    check([lambda r, i: r.random()] * 2 + told, False, 760, [(600, 6)], max_features=3)


@pytest.mark.parametrize("weights", [[1.0], [0.5, 2.0]])
def test_numeric_columns_that_tell_nothing(weights: list[float]) -> None:
    """In a regression, too, they are candidates where no other column allows a split."""
    told: list[Maker] = [
        *[lambda r, i: r.random()] * 4,
        lambda r, i: r.choice([r.random(), MISSING]),
        lambda r, i: float(r.randrange(3)),
    ]
    check(told, True, 900, [(600, 6)], weights, rules={"min_samples_leaf": 4}, max_features=3)


def test_a_numeric_column_is_silent_until_it_tells() -> None:
    """Its evidence is below 1 in all groups, and rises when the target follows the column."""
    model = ret.ExtraTreesRegressor(n_models=4, window_sizes=(600,), seed=1)
    rng, found = random.Random(1), []
    for i in range(6000):
        x = {"tells": rng.random(), "tells later": rng.random()}
        y = x["tells"] + (i > 3000) * abs(6.0 * x["tells later"] - 3.0) + rng.gauss(0.0, 0.3)
        model.learn_one(x, y)
        if i in (3000, 5999):
            found.append(model._core.state()["evidence"][:, 1])
    assert found[0].max() < 1.0 < 5.0 < found[1].min(), found


@pytest.mark.parametrize("name", ["ExtraTreesClassifier", "ExtraTreesRegressor"])
def test_values_next_to_no_weight_tell_nothing(name: str) -> None:
    """Beside the largest weight of a growth, the smallest one is 0."""
    model = CLASSES[name](n_models=2, window_sizes=(600,), seed=1)
    for i in range(1000):
        x = {"a": i % 9, "b": f"value {i % 8}", "c": i % 7}
        model.learn_one(x, i % 3, w=1e-300 if i % 8 else 1e100)
    assert frozen(copy.deepcopy(model)) == frozen(model)
    assert np.isfinite(model._core.state()["evidence"]).all()


@pytest.mark.parametrize("regression", [False, True])
def test_a_wide_sample_in_a_small_batch(regression: bool) -> None:
    """It offers the columns that the others have, too."""
    columns = [*[lambda r, i: r.random()] * 3, *COLUMNS["one wide sample"][1:]]
    check(columns, regression, 80, [(2_000, 9)], batch_size=35)


def test_more_samples_of_a_class_than_a_byte_counts() -> None:
    check([lambda r, i: float(r.randrange(256))] * 5, False, 1100, [(1050, 1)], batch_size=900)


@pytest.mark.parametrize("n_classes", [1, 2, 3])
@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_parts_of_the_memory_are_aligned(n_columns: int, n_classes: int) -> None:
    """As their types need it, whatever the sizes of the parts before them are."""
    samples = [Sample((float(i),) * n_columns, float(i % n_classes)) for i in range(5)]
    offsets = stepped(samples, Rules("gini"), 5, 1).offsets()
    assert not any(offsets.values()), offsets


@pytest.mark.parametrize("criterion", ["gini", "variance"])
def test_memory_for_the_values_that_there_are(criterion: str) -> None:
    """A nominal column of three values takes hardly more than numbers of which one is missing."""
    n, found = 2000, []
    for nominal in (frozenset({0}), frozenset[int]()):
        values = [CODES[i % 3] for i in range(n - 1)] + [math.nan]
        samples = [Sample((value, i / 7), float(i % 2)) for i, value in enumerate(values)]
        growth = stepped(samples, Rules(criterion, nominal), n, 2)
        assert growth.node()
        found.append(growth.n_bytes())
    assert found[0] - found[1] < 10 * n  # bytes


def check(
    columns: list[Maker],
    regression: bool,
    n: int,
    windows: list[tuple[int, int]],
    weights: Sequence[float] = (1.0,),
    **settings: Any,
) -> None:
    settings = {"max_features": 0.7, "linear": ["none"] * len(windows)} | settings
    if not regression:
        del settings["linear"]
    core, naive = both(regression, windows=windows, **settings)
    naive.weigh = lambda sample: None  # type: ignore[method-assign]  # only trees are compared
    rng = random.Random(1)
    for i in range(n):
        x = {j: value for j, make in enumerate(columns) if (value := make(rng, i)) == value}
        score = sum(value != "a" for value in x.values()) + rng.random()
        score += x.get(0, 0.0) > x.get(1, 0.5)
        y = score if regression else f"class {int(2 * score) % 4}"
        learn(core, naive, (x, y, rng.choice(weights)))
    assert_same_trees(core, naive)
    if "evidence" in core.state():
        for own, group in zip(core.state()["evidence"], naive.groups, strict=True):
            found = {column: own[column] for column in group.evidence}
            assert found == pytest.approx(group.evidence, rel=1e-9, abs=1e-9)
    assert max(tree.n_nodes for tree in naive.trees) > 2
