"""Splits by groups of nominal values, and by whether a value is missing."""

import random

import numpy as np
import pytest

from river_extra_trees import DynamicTreeClassifier, DynamicTreeRegressor, persistence
from river_extra_trees._core.state import StateError
from tests import compiled
from tests.naive.cart import bucket_of
from tests.naive.dynamic_groups import SMOOTHING, best_group
from tests.tools.sums import check_sums

LEARNERS = [DynamicTreeClassifier, DynamicTreeRegressor]


@pytest.mark.parametrize("seed", range(30))
def test_a_group_is_the_naive_one(seed: int) -> None:
    """Which values go left, and what its evidence loses for the number of ways."""
    rng = random.Random(seed)
    n, n_values, least = rng.randint(2, 60), rng.randint(2, 30), rng.randint(1, 5)
    codes = [float(rng.randrange(n_values)) for _ in range(n)]
    signals = [rng.gauss(code % 3, rng.choice([0.1, 3.0])) for code in codes]
    weights = [rng.choice([0.25, 1.0, 2.0]) for _ in range(n)]
    mean = np.average(signals, weights=weights)
    sums: dict[int, np.ndarray] = {}
    for code, signal, weight in zip(codes, signals, weights, strict=True):
        bucket = bucket_of(seed, code)
        sums[bucket] = sums.get(bucket, 0.0) + np.array([1, weight, weight * (signal - mean)])
    squares = float(np.dot(weights, (np.array(signals) - mean) ** 2))
    left, correction = compiled.lighter_side(sums, SMOOTHING, least, squares)
    expected = best_group(codes, signals, weights, seed, least)
    assert set(left) == (expected.left if expected else set())
    assert correction == pytest.approx(expected.correction if expected else 0.0, abs=1e-9)


@pytest.mark.parametrize("learner", LEARNERS)
def test_many_values_are_learned(learner: type) -> None:
    """Each of 100 values has its label, and a second column of 200 values says nothing."""
    rng = random.Random(0)
    truth = {f"m{i}": rng.random() < 0.5 for i in range(100)}
    model, right = learner(seed=1), []
    for _ in range(3000):
        x = {"m": rng.choice(list(truth)), "id": f"u{rng.randrange(200)}", "z": rng.random()}
        right.append(((model.predict_one(x) or 0.0) > 0.5) == truth[x["m"]])
        model.learn_one(x, truth[x["m"]] if learner is LEARNERS[0] else float(truth[x["m"]]))
    assert np.mean(right[-1000:]) > 0.9  # .76 and .78 by one value against the others
    model._core.check()
    check_sums(model._core)
    asked = [{"m": name, "z": 0.5} for name in (*truth, "new")]
    copy = persistence.load_bytes(persistence.save_bytes(model))
    assert [copy.predict_one(x) for x in asked] == [model.predict_one(x) for x in asked]
    state = model._core.state()
    state["cuts"][state["nominal"] >= 2] += 0.5
    with pytest.raises(StateError, match="no set of buckets"):
        type(model._core).restored(state)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("values", [(1, None), ("a", None), (1, "none")])
def test_present_against_absent_is_a_split(learner: type, values: tuple[object, object]) -> None:
    """Of a number, of a name, and of a column with both."""
    rng = random.Random(1)
    model, right = learner(seed=1), []
    for _ in range(600):
        y = rng.random() < 0.5
        x = {"z": rng.random(), "k": values[0] if y else values[1]}
        right.append(((model.predict_one(x) or 0.0) > 0.5) == y)
        model.learn_one(x, y if learner is LEARNERS[0] else float(y))
    assert all(right[300:])
    assert "is missing" in model.to_text()
