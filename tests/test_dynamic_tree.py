"""Dynamic trees as river estimators."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from river_extra_trees import DynamicTreeClassifier, DynamicTreeRegressor
from river_extra_trees._core.state import StateError
from river_extra_trees._estimator.inspection import path
from tests.tools import estimators
from tests.tools.particle_trees import sizes_of
from tests.tools.sums import check_sums

Row = dict[str, float]


def friedman(n: int, seed: int, amplitude: float = 1.0) -> Iterator[tuple[Row, float]]:
    """Friedman's function of five features with unit noise."""
    rng = np.random.default_rng(seed)
    for x in rng.random((n, 5)):
        truth = 10 * amplitude * math.sin(math.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2
        y = truth + 10 * x[3] + 5 * x[4] + rng.normal()
        yield {f"x{j + 1}": float(value) for j, value in enumerate(x)}, float(y)


def turning_line(n: int, period: int, seed: int) -> Iterator[tuple[Row, float]]:
    """A slope that swings between -5 and 5."""
    rng = np.random.default_rng(seed)
    for t in range(n):
        x = rng.uniform(-1, 1)
        y = 5 * math.sin(2 * math.pi * t / period) * x + 0.2 * rng.normal()
        yield {"x": float(x)}, float(y)


def mean_squared_error(model: DynamicTreeRegressor, rows: Iterator[tuple[Row, float]]) -> float:
    errors = []
    for x, y in rows:
        errors.append((model.predict_one(x) - y) ** 2)
        model.learn_one(x, y)
    return float(np.mean(errors[len(errors) // 10 :]))


def tree_height(model: DynamicTreeRegressor) -> float:
    return float(np.mean(sizes_of(model._core)[1]))


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


def test_log_evidence_adds_up_predictive_densities() -> None:
    """The distribution that was announced is the one that the sample is scored by."""
    model = DynamicTreeRegressor(n_particles=30, leaf="constant", forgetting_factor=1.0, seed=1)
    for i, (x, y) in enumerate(friedman(300, 0)):
        before = model.log_evidence
        announced = model.predict_one(x, with_dist=True).log_density(y)
        model.learn_one(x, y)
        if i >= 10:
            assert model.log_evidence - before == pytest.approx(announced, abs=1e-9)


def test_log_evidence_adds_up_log_probabilities() -> None:
    """The same for classes, once all of them are known."""
    rng = random.Random(0)
    model = DynamicTreeClassifier(n_particles=30, forgetting_factor=1.0, seed=1)
    for i in range(300):
        x = {"a": rng.random(), "b": rng.random()}
        y = rng.choice("uvw") if rng.random() < 0.2 else "uvw"[int(3 * x["a"])]
        before = model.log_evidence
        announced = model.predict_proba_one(x).get(y, 1.0)
        model.learn_one(x, y)
        if i >= 50:
            found = model.log_evidence - before
            assert found == pytest.approx(math.log(announced), abs=1e-9)


# Learning


def test_a_nominal_feature_is_split_on() -> None:
    """One value against the others, without an order among them."""
    rng = random.Random(0)
    model = DynamicTreeRegressor(n_particles=50, leaf="constant", seed=0)
    for _ in range(400):
        colour = rng.choice(["red", "green", "blue"])
        model.learn_one({"colour": colour}, float(colour == "green") + 0.1 * rng.random())
    assert model.predict_one({"colour": "green"}) == pytest.approx(1.05, abs=0.1)
    assert model.predict_one({"colour": "red"}) == pytest.approx(0.05, abs=0.1)


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


def test_missing_values_can_tell() -> None:
    """A feature that is missing whenever the target is high."""
    rng = random.Random(0)
    model = DynamicTreeClassifier(n_particles=100, seed=0)
    for _ in range(600):
        high = rng.random() < 0.5
        model.learn_one({"a": None if high else rng.random(), "b": rng.random()}, high)
    assert model.predict_proba_one({"b": 0.5})[True] > 0.9
    assert model.predict_proba_one({"a": 0.5, "b": 0.5})[True] < 0.1


# Drift


def test_forgetting_follows_a_turning_line() -> None:
    """A window alone holds half a turn; forgetting sees the end of it."""
    errors = {}
    for factor in (1.0, 0.97):
        model = DynamicTreeRegressor(n_particles=50, window=300, forgetting_factor=factor, seed=0)
        errors[factor] = mean_squared_error(model, turning_line(2000, 600, 0))
    assert errors[0.97] < 0.25 * errors[1.0]


def test_automatic_forgetting_follows_the_stream() -> None:
    """Where nothing drifts the longest memory leads; one that predicts better soon takes over."""
    model = DynamicTreeRegressor(n_particles=40, window=300, seed=0)
    still = [({"x": t / 600}, 3 * t / 600) for t in range(600)]
    random.Random(0).shuffle(still)
    for x, y in still:
        model.learn_one(x, y + 0.2 * math.sin(1000 * x["x"]))
    before = model.forgetting_factors
    assert sum(before.values()) == pytest.approx(1.0)
    assert before[1.0] > 0.5
    assert min(before.values()) > 0.001
    for x, y in turning_line(400, 300, 1):
        model.learn_one(x, y)
    assert model.forgetting_factors[1.0] < 0.05
    assert model.forgetting_factors[min(before)] > 0.9
    model._core.check()
    check_sums(model._core)


@pytest.mark.parametrize("n_particles", [1, 3, 50])
def test_automatic_forgetting_with_few_particles(n_particles: int) -> None:
    """Every memory keeps a tree; with less trees than memories the longest ones compete."""
    model = DynamicTreeRegressor(n_particles=n_particles, window=30, rejuvenate_every=20, seed=0)
    for x, y in friedman(90, 0):
        model.learn_one(x, y)
        model._core.check()
        check_sums(model._core)
    assert len(model.forgetting_factors) == min(n_particles, 6)


@pytest.mark.parametrize(("factor", "falls"), [(0.99, True), (1.0, False)])
def test_height_falls_after_a_complex_spell(factor: float, falls: bool) -> None:
    """With forgetting and not without, figure 5 of the paper: simple, complex, simple again."""
    model = DynamicTreeRegressor(
        n_particles=50, leaf="constant", window=100, forgetting_factor=factor, seed=0
    )
    heights = []
    for spell, amplitude in enumerate((0.0, 10.0, 0.0)):
        for i, (x, y) in enumerate(friedman(1500, spell, amplitude)):
            model.learn_one(x, y)
            if i >= 1000 and i % 10 == 0:
                heights.append((spell, tree_height(model)))
    before, during, after = (
        np.mean([height for at, height in heights if at == spell]) for spell in range(3)
    )
    assert during > before + 0.3
    assert (after < during - 0.3) == falls


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
def test_regressions_of_leaves_are_what_predicts(leaf: str) -> None:
    """Intercept and coefficients of the leaf that x falls into give its part of the answer."""
    model = DynamicTreeRegressor(n_particles=5, leaf=leaf, forgetting_factor=1.0, seed=0)
    for x, y in friedman(300, 0):
        model.learn_one(x, y)
    table = model.to_dataframe()
    table["slopes"] = [sum(map(abs, slopes.values())) for slopes in table["coefficients"]]
    assert (table["slopes"] > 0.0).all() == (leaf == "linear")
    assert (table["degrees_of_freedom"] > 0.0).all()
    for x, _ in friedman(10, 1):
        means, scales = [], []
        for tree in range(5):
            *_, node = path(model._nodes(tree), model._schema.row_of(x))
            slopes = node["coefficients"]
            means.append(node["intercept"] + sum(slopes[name] * x[name] for name in slopes))
            scales.append(node["residual_variance"])
        limits = model._core.lowest, model._core.highest
        expected = {mean: scale for mean, scale, _, _ in model._core.mixture(x)}
        for mean, scale in zip(means, scales, strict=True):
            (at,) = {key for key in expected if key == pytest.approx(np.clip(mean, *limits))}
            assert scale < expected[at] < 9.0 * scale, "one and the leverage of x"


def test_a_tree_explains_its_own_answer() -> None:
    """The explanation ends with what the leaf predicts for the sample, not with its mean."""
    model = DynamicTreeRegressor(n_particles=5, seed=0)
    for x, y in friedman(300, 0):
        model.learn_one(x, y)
    other = copy.deepcopy(model)
    for x, y in friedman(10, 1):
        answers = [model._core.number_of_tree(tree, x) for tree in range(5)]
        parts = {mean: share for mean, _, _, share in model._core.mixture(x)}
        assert set(answers) == set(parts)
        assert sum(mean * share for mean, share in parts.items()) == pytest.approx(
            model.predict_one(x)
        )
        for tree, answer in enumerate(answers):
            assert model.debug_one(x, tree).endswith(f" + linear model = {answer:.6g}")
        model.learn_one(x, y)
        other.learn_one(x, y)
    assert model.log_evidence == other.log_evidence  # explanations change nothing
    with pytest.raises(IndexError, match="there is no tree 5"):
        model._core.number_of_tree(5, x)


@pytest.mark.parametrize("model_class", [DynamicTreeClassifier, DynamicTreeRegressor])
def test_one_argument_gives_the_published_program(model_class: Any) -> None:
    """The package forgets nothing by default and has no memories that compete."""
    model = model_class(n_particles=10, window=40, published=True, seed=1)
    plain = model_class(n_particles=10, window=40, forgetting_factor=1.0, published=True, seed=1)
    assert model.forgetting_factors == {1.0: 1.0}
    for x, y in friedman(80, 0):
        target = y if model_class is DynamicTreeRegressor else y > 15
        assert model.predict_one(x) == plain.predict_one(x)
        model.learn_one(x, target)
        plain.learn_one(x, target)


def test_a_state_of_a_classifier_with_linear_models_is_refused() -> None:
    """Only leaves of regressors have them."""
    core = DynamicTreeClassifier(n_particles=5, seed=1)._core
    with pytest.raises(StateError, match="linear models"):
        type(core).restored({**core.state(), "linear": True})
