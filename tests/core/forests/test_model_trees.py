"""The linear models of trees: their fit, and where they end."""

import random
from typing import Any

import numpy as np
import pytest

import river_extra_trees as ret
from river_extra_trees._core.forests.model_trees import KINDS
from tests.tools.naive_forests import both

ROOTS: dict[str, Any] = {"windows": [(200, 1)], "linear": ["root"], "max_features": None}


def plane(n: int, seed: int = 3) -> Any:
    """Two numbers and a target that is linear in them, with noise and gaps."""
    rng = random.Random(seed)
    X = np.array([[rng.gauss(5.0, 2.0), rng.gauss(0.0, 1e-3)] for _ in range(n)])
    y = X @ [3.0, 4000.0] + [rng.gauss(0.0, 0.5) for _ in range(n)]
    X[rng.sample(range(n), n // 10), 0] = np.nan
    return X, y


def test_the_model_of_a_root_is_a_ridge_regression() -> None:
    """Of the values as deviations from their mean, by numpy; missing ones are the mean."""
    core, _ = both(True, **ROOTS, rules={"max_depth": 0})
    X, y = plane(400)
    slopes = {}
    for i in range(400):
        x = {name: value for name, value in zip("ab", X[i], strict=True) if value == value}
        core.learn(x, y[i], 1.0)
        (born,) = core.state()["births"]
        if found := core.models[0].coefficients_of(0):
            slopes[int(born)] = found
    # A growth takes the samples before it begins, not those until its tree is born.
    for born, found in [(b, s) for b, s in slopes.items() if b > 200]:
        nearest = min(
            np.abs(ridge(X[end - 200 : end], y[end - 200 : end]) - [found[0], found[1]]).max()
            for end in range(born, max(born - 205, 199), -1)
        )
        assert nearest < 1e-6


def ridge(X: Any, y: Any) -> Any:
    """Slopes in units of the features, with a prior of one sample."""
    scales = np.nanstd(X, axis=0)
    Z = np.nan_to_num((X - np.nanmean(X, axis=0)) / scales)
    Z -= Z.mean(axis=0)
    return np.linalg.solve(Z.T @ Z + np.eye(2), Z.T @ (y - y.mean())) / scales


def test_a_slope_ends_with_the_targets() -> None:
    """Far from all samples, it is no larger than the range of the targets."""
    core, _ = both(True, **ROOTS)
    X, y = plane(300)
    for row, target in zip(X, y, strict=True):
        core.learn({"a": row[0], "b": row[1]}, target, 1.0)
    extent = y.max() - y.min()
    for far in (-1e6, 1e6):
        answer = core.number_of_tree(0, {"a": far, "b": far})
        assert y.min() - extent <= answer <= y.max() + extent


def test_a_slope_ends_with_the_targets_between_known_values() -> None:
    """Also where each number is as usual, but not both together."""
    core, _ = both(True, **ROOTS)
    rng, ys = random.Random(1), []
    for _ in range(300):
        a, noise = rng.gauss(0.0, 5.0), rng.gauss(0.0, 0.3)
        ys.append(noise)
        core.learn({"a": a, "b": noise - a}, noise, 1.0)
    extent = max(ys) - min(ys)
    for corner in (-8.0, 8.0):
        answer = core.number_of_tree(0, {"a": corner, "b": corner})
        assert min(ys) - extent <= answer <= max(ys) + extent


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


def test_the_model_of_a_window_does_not_extrapolate() -> None:
    """Beyond the largest value that a feature had, the trees with such a model answer as there."""
    rng = random.Random(1)
    model = ret.ExtraTreesRegressor(seed=1)
    rows = [{"a": rng.random(), "b": rng.random()} for _ in range(200)]
    for x in rows:
        model.learn_one(x, 3.0 * x["a"] + x["b"])
    core = model._core
    for tree, models in enumerate(core.models):
        if models.kind == KINDS.index("root"):
            within = core.number_of_tree(tree, {"a": max(x["a"] for x in rows), "b": 0.5})
            assert core.number_of_tree(tree, {"a": 9.0, "b": 0.5}) == within
