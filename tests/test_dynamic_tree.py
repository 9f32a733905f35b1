"""Dynamic trees as river estimators."""

import math
import pickle
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from river.datasets import synth

from river_extra_trees import DynamicTreeClassifier, DynamicTreeRegressor
from river_extra_trees._core.state import StateError
from river_extra_trees._estimator.inspection import path
from tests.tools import estimators
from tests.tools.estimators import frozen
from tests.tools.sums import check_sums

Row = dict[str, float]


def friedman(n: int, seed: int) -> Iterator[tuple[Row, float]]:
    """Friedman's function with unit noise; the features without use are left out."""
    for x, y in synth.Friedman(seed=seed).take(n):
        yield {f"x{j}": x[j] for j in range(5)}, y


# Predictive distributions


@pytest.mark.parametrize("leaf", ["linear", "constant"])
@pytest.mark.parametrize(
    ("forgetting_factor", "window", "most"),
    [("auto", 500, 0.95), (1.0, 100, 0.92), ("auto", 100, 0.95)],
)
@pytest.mark.slow
def test_intervals_cover_what_they_promise(
    leaf: str, forgetting_factor: float | str, window: int, most: float
) -> None:
    """Ninety per cent intervals, one step ahead on a stream without drift: 88 to 92 %.

    The first case is the default. Short memories that compete on a stream that needs none make the
    intervals too wide: up to 95 %.
    """
    inside = []
    for seed in range(4):
        model = DynamicTreeRegressor(
            leaf=leaf, window=window, forgetting_factor=forgetting_factor, seed=seed
        )
        for i, (x, y) in enumerate(friedman(2000, seed)):
            if i >= 1000:
                share = model.predict_one(x, with_dist=True).cdf(y)
                inside.append(0.05 <= share <= 0.95)
            model.learn_one(x, y)
    assert 0.88 <= np.mean(inside) <= most


@pytest.mark.parametrize("leaf", ["constant", "linear"])
@pytest.mark.parametrize("published", [False, True])
def test_log_evidence_adds_up_predictive_densities(leaf: str, published: bool) -> None:
    """The distribution that was announced is the one that the sample is scored by.

    Linear leaves extrapolate in it; the prediction stays within the range of the targets, but not
    with `published`.
    """
    model = DynamicTreeRegressor(
        n_particles=30, leaf=leaf, forgetting_factor=1.0, published=published, seed=1
    )
    outside = 0
    for i, (x, y) in enumerate(friedman(300, 0)):
        before = model.log_evidence
        answer, announced = model.predict_one(x), model.predict_one(x, with_dist=True)
        core = model._core
        if i >= 20:
            outside += not core.lowest <= announced.mean <= core.highest
            limits = (-np.inf, np.inf) if published else (core.lowest, core.highest)
            means = np.clip([mean for mean, *_ in announced.components], *limits)
            assert answer == pytest.approx(means @ [part[3] for part in announced.components])
        model.learn_one(x, y)
        if i >= 20:
            density = announced.log_density(y)
            assert model.log_evidence - before == pytest.approx(density, abs=1e-7)
    assert (outside > 0) == (leaf == "linear")


# Learning


def test_splits_on_nominal_and_on_missing_values() -> None:
    """One value against the others, without an order among them; and what has none goes apart."""
    rng = random.Random(0)
    model = DynamicTreeRegressor(n_particles=50, leaf="constant", seed=3)
    for _ in range(800):
        colour, a = rng.choice(["red", "green", "blue"]), rng.choice([None, rng.random()])
        model.learn_one({"colour": colour, "a": a}, (colour == "green") + 2.0 * (a is None))
    for colour, a, y in (("green", 0.5, 1), ("red", 0.5, 0), ("green", None, 3), ("red", None, 2)):
        assert model.predict_one({"colour": colour, "a": a}) == pytest.approx(y, abs=0.1)


def test_a_linear_leaf_reads_a_missing_value_as_the_mean() -> None:
    """The running mean of the values that were present stands in for it."""
    model = DynamicTreeRegressor(
        n_particles=1, leaf="linear", min_samples_leaf=100, forgetting_factor=1.0, seed=0
    )
    rng = random.Random(0)
    seen = [rng.uniform(9, 11) for _ in range(100)]
    for value in seen:
        model.learn_one({"a": value}, 2 * value + rng.gauss(0, 0.01))
    mean = sum(seen) / len(seen)
    assert model.predict_one({}) == pytest.approx(model.predict_one({"a": mean}), rel=1e-12)


# Drift


def test_automatic_forgetting_follows_the_stream() -> None:
    """Where nothing drifts the longest memory leads; one that predicts better soon takes over."""
    model = DynamicTreeRegressor(n_particles=40, window=300, seed=0)
    rng, order = random.Random(0), list(range(600))
    rng.shuffle(order)
    for t in order:
        model.learn_one({"x": t / 600}, 3 * t / 600 + 0.2 * math.sin(1000 * t / 600))
    before = model.forgetting_factors
    assert sum(before.values()) == pytest.approx(1.0)
    assert before[1.0] > 0.5
    assert min(before.values()) > 0.001
    for t in range(400):
        x = rng.uniform(-1, 1)
        model.learn_one({"x": x}, 5 * math.sin(2 * math.pi * t / 300) * x + rng.gauss(0, 0.2))
    assert model.forgetting_factors[1.0] < 0.05
    assert model.forgetting_factors[min(before)] > 0.9
    model._core.check()
    check_sums(model._core)


# Discarding and acquisition


@pytest.mark.parametrize("case", [("DynamicTreeRegressor", 0), ("DynamicTreeClassifier", 0)])
def test_active_samples(case: tuple[str, int]) -> None:
    """The active samples are the newest ones as they came, less what was missing in them."""
    model = estimators.make(case, window=20)
    rows = list(estimators.stream(case, 60))
    estimators.learn(model, rows)
    expected = [
        ({key: value for key, value in x.items() if value is not None and value == value}, y)
        for x, y in rows[-20:]
    ]
    assert model.active_samples() == expected


@pytest.mark.parametrize("leaf", ["linear", "constant"])
def test_trees_explain_what_they_answer(leaf: str) -> None:
    """With the model of the leaf; its answers are those that are mixed."""
    model = DynamicTreeRegressor(n_particles=5, leaf=leaf, forgetting_factor=1.0, seed=0)
    for x, y in friedman(300, 0):
        model.learn_one(x, y)
    table = model.to_dataframe()
    slopes = np.array([sum(map(abs, each.values())) for each in table["coefficients"]])
    assert (slopes > 0.0).all() == (leaf == "linear")
    assert (table["degrees_of_freedom"] > 0.0).all()
    before = frozen(model)
    for x, _ in friedman(10, 1):
        core = model._core
        parts = {
            np.clip(mean, core.lowest, core.highest): (scale, share)
            for mean, scale, _, share in core.mixture(x)
        }
        answers = [model._core.number_of_tree(tree, x) for tree in range(5)]
        assert set(answers) == set(parts)
        mean = sum(mean * share for mean, (_, share) in parts.items())
        assert model.predict_one(x) == pytest.approx(mean)
        for tree, answer in enumerate(answers):
            explained = model.debug_one(x, tree).endswith(f" + linear model = {answer:.6g}")
            assert explained == (leaf == "linear")
            *_, node = path(model._nodes(tree), model._schema.row_of(x))
            said = node["intercept"] + sum(b * x[name] for name, b in node["coefficients"].items())
            assert answer == pytest.approx(np.clip(said, model._core.lowest, model._core.highest))
            variance = node["residual_variance"]
            assert variance < parts[answer][0] < 9.0 * variance, "one and the leverage of x"
    assert frozen(model) == before
    with pytest.raises(IndexError, match="there is no tree 5"):
        model._core.number_of_tree(5, x)


@pytest.mark.parametrize("model_class", [DynamicTreeClassifier, DynamicTreeRegressor])
def test_one_argument_gives_the_published_program(model_class: Any) -> None:
    """The package forgets nothing by default and has no memories that compete."""
    model = model_class(published=True, seed=1)
    plain = model_class(published=True, forgetting_factor=1.0, seed=1)
    assert model.forgetting_factors == {1.0: 1.0}
    assert pickle.dumps(model._core) == pickle.dumps(plain._core)


def test_a_state_of_a_classifier_with_linear_models_is_refused() -> None:
    """Only leaves of regressors have them."""
    core = DynamicTreeClassifier(n_particles=5, seed=1)._core
    with pytest.raises(StateError, match="linear models"):
        type(core).restored({**core.state(), "linear": True})
