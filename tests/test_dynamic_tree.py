"""Dynamic trees as river estimators."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from river_extra_trees import DynamicTreeClassifier, DynamicTreeRegressor
from river_extra_trees._core.state import StateError
from river_extra_trees._estimator.inspection import path
from tests.tools import estimators
from tests.tools.estimators import frozen
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


def test_mean_of_the_distribution_is_the_prediction() -> None:
    """Whichever way it is asked for."""
    model = DynamicTreeRegressor(n_particles=30, seed=1)
    for x, y in friedman(300, 0):
        model.learn_one(x, y)
    for x, _ in friedman(20, 1):
        assert model.predict_one(x, with_dist=True).mean == pytest.approx(model.predict_one(x))


def test_draws_differ_between_answers() -> None:
    """And within one, but those of a seeded model are the same every time."""
    models = [DynamicTreeRegressor(n_particles=10, seed=1) for _ in range(2)]
    for x, y in friedman(100, 0):
        for model in models:
            model.learn_one(x, y)
    points = [x for x, _ in friedman(20, 1)]
    draws = [[model.predict_one(x, with_dist=True) for x in points] for model in models]
    found = [[(answer.sample(), answer.sample()) for answer in answers] for answers in draws]
    assert found[0] == found[1]
    levels = [
        model.predict_one(x, with_dist=True).cdf(first)
        for x, (first, second) in zip(points, found[0], strict=True)
        if first != second
    ]
    assert len(levels) == 20
    assert np.ptp(levels) > 0.5, "not the same quantile of each"


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


def test_evidence_prefers_the_model_of_the_data() -> None:
    """A Bayes factor for linear leaves where the data have slopes."""
    models = [
        DynamicTreeRegressor(n_particles=50, leaf=leaf, forgetting_factor=1.0, seed=0)
        for leaf in ("linear", "constant")
    ]
    for x, y in friedman(500, 0):
        for model in models:
            model.learn_one(x, y)
    assert models[0].log_evidence > models[1].log_evidence + 100


# Learning


@pytest.mark.parametrize("leaf", ["linear", "constant"])
def test_regression_learns_friedman(leaf: str) -> None:
    """Well below the spread of the target, about 25 squared."""
    model = DynamicTreeRegressor(n_particles=100, leaf=leaf, window=500, seed=0)
    error = mean_squared_error(model, friedman(1000, 0))
    assert error < {"linear": 4.0, "constant": 12.0}[leaf]


def test_classification_learns_a_corner() -> None:
    """Labels that need both features."""
    rng = random.Random(0)
    model = DynamicTreeClassifier(n_particles=100, seed=0)
    hits = []
    for _ in range(1000):
        x = {"a": rng.random(), "b": rng.random()}
        y = x["a"] > 0.5 and x["b"] > 0.5
        hits.append(model.predict_one(x) == y)
        model.learn_one(x, y)
    assert np.mean(hits[200:]) > 0.95


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


def test_answers_stay_in_the_range_of_the_targets() -> None:
    """However steep a leaf and however far the sample."""
    model = DynamicTreeRegressor(n_particles=30, seed=0)
    targets = []
    for x, y in friedman(300, 0):
        model.learn_one(x, y)
        targets.append(y)
    for value in (-1e12, -10.0, 10.0, 1e12):
        answer = model.predict_one(dict.fromkeys(["x1", "x2", "x3", "x4", "x5"], value))
        assert min(targets) <= answer <= max(targets)


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


@pytest.mark.parametrize("n_particles", [1, 2, 3, 5, 50])
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


@pytest.mark.parametrize("discard", ["oldest", "random", "alc", "alm"])
def test_each_policy_keeps_the_window_full(discard: str) -> None:
    """One active sample retires for each that comes."""
    model = DynamicTreeRegressor(n_particles=10, window=60, discard=discard, seed=0)
    for x, y in friedman(150, 0):
        model.learn_one(x, y)
    assert model._core.pool.size == 60
    model._core.check()
    check_sums(model._core)


def test_entropy_keeps_the_samples_at_the_boundary() -> None:
    """Samples deep inside a class are the first to go."""
    rng = random.Random(0)
    models = [
        DynamicTreeClassifier(
            n_particles=50, window=60, discard=discard, forgetting_factor=1.0, seed=0
        )
        for discard in ("entropy", "random")
    ]
    for _ in range(600):
        x = {"a": rng.random()}
        for model in models:
            model.learn_one(x, x["a"] > 0.8)
    distances = []
    for model in models:
        pool = model._core.pool
        distances.append(np.mean([abs(pool.point(slot)[0][0] - 0.8) for slot in pool.slots()]))
    assert distances[0] < distances[1]


def test_an_unknown_policy_is_refused() -> None:
    """Entropy is for classes, ALC for numbers."""
    with pytest.raises(ValueError, match="discard"):
        DynamicTreeRegressor(discard="entropy")
    with pytest.raises(ValueError, match="discard"):
        DynamicTreeClassifier(discard="alc")


@pytest.mark.parametrize("criterion", ["alc", "alm", "ei"])
def test_there_is_something_to_gain_everywhere(criterion: str) -> None:
    """Scores are finite and not negative, also in leaves whose samples have all but faded."""
    model = DynamicTreeRegressor(n_particles=20, seed=0)
    for x, y in friedman(200, 0):
        model.learn_one(x, y)
    scores = [model.acquisition_one(x, criterion) for x, _ in friedman(20, 1)]
    assert all(math.isfinite(score) and score >= 0 for score in scores)


# Memory and soundness


def test_the_window_bounds_the_trees() -> None:
    """Retired samples leave nothing behind but sums."""
    model = DynamicTreeRegressor(n_particles=20, window=50, seed=0)
    sizes = []
    for i, (x, y) in enumerate(friedman(3000, 0)):
        model.learn_one(x, y)
        if i % 500 == 499:
            sizes.append(model._raw_memory_usage)
    assert max(sizes[3:]) <= 1.5 * max(sizes[:3])


class RandomUse(RuleBasedStateMachine):
    """Any order of learning, asking and copying keeps the cloud sound."""

    def __init__(self) -> None:
        super().__init__()
        self.rng = random.Random(0)
        self.model = self.fresh()

    def fresh(self) -> DynamicTreeRegressor | DynamicTreeClassifier:
        raise NotImplementedError

    def sample(self) -> dict[str, object]:
        x: dict[str, object] = {"a": self.rng.random(), "b": self.rng.randrange(4)}
        if self.rng.random() < 0.5:
            x["c"] = self.rng.choice(["u", "v", None])
        if self.rng.random() < 0.1:
            x[f"rare{self.rng.randrange(3)}"] = self.rng.gauss(0, 1e6)
        return x

    @rule(n=st.integers(1, 30), weight=st.sampled_from([1.0, 1.0, 0.0, 2.5]))
    def learn(self, n: int, weight: float) -> None:
        for _ in range(n):
            self.model.learn_one(self.sample(), self.rng.randrange(4), weight)
        self.model._core.check()
        check_sums(self.model._core)

    @rule()
    def ask(self) -> None:
        before = frozen(self.model)
        self.model.predict_one(self.sample())
        assert frozen(self.model) == before

    @rule(bad=st.sampled_from([math.inf, [], 10**400]))
    def refuse(self, bad: object) -> None:
        before = frozen(self.model)
        with pytest.raises((ValueError, TypeError)):
            self.model.learn_one({"a": bad}, 1)
        assert frozen(self.model) == before

    @rule()
    def copy(self) -> None:
        other = self.model.clone(include_attributes=True)
        assert frozen(other) == frozen(self.model)
        self.model = other


class RandomUseOfRegressor(RandomUse):
    def fresh(self) -> DynamicTreeRegressor:
        return DynamicTreeRegressor(
            n_particles=8, window=12, forgetting_factor=0.9, min_samples_leaf=2, seed=1
        )


class RandomUseOfClassifier(RandomUse):
    def fresh(self) -> DynamicTreeClassifier:
        return DynamicTreeClassifier(n_particles=8, window=12, discard="random", seed=1)


TestRegressorStaysSound = RandomUseOfRegressor.TestCase
TestClassifierStaysSound = RandomUseOfClassifier.TestCase
for case in (TestRegressorStaysSound, TestClassifierStaysSound):
    case.settings = settings(max_examples=15, stateful_step_count=20, deadline=None)


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


def test_noise_of_leaves_is_the_noise_of_the_line() -> None:
    """Not what the targets vary by along the line; slopes are in the units of the feature."""
    rng = np.random.default_rng(0)
    model = DynamicTreeRegressor(n_particles=20, forgetting_factor=1.0, seed=0)
    for x in rng.uniform(1000.0, 1010.0, 400):
        model.learn_one({"metres": float(x)}, 3.0 * float(x) + 0.1 * float(rng.normal()))
    roots = model.to_dataframe().query("depth == 0")
    assert np.sqrt(roots["residual_variance"]).tolist() == pytest.approx([0.1] * 20, rel=0.15)
    slopes = [coefficients["metres"] for coefficients in roots["coefficients"]]
    assert slopes == pytest.approx([3.0] * 20, rel=0.01)
    assert "about the fit) + linear model" in model.to_text()


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
