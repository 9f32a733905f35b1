"""What a target would be worth: acquisition scores, and learners that ask for targets."""

import math
import random
from typing import Any

import numpy as np
import pytest

from river_extra_trees import DynamicTreeClassifier, DynamicTreeRegressor
from river_extra_trees.active import AcquisitionSampler
from tests import compiled
from tests.tools.estimators import frozen, stream

Row = dict[str, float]


def corner(n: int, seed: int) -> list[tuple[Row, bool]]:
    """Labels of a small corner; most samples lie far from its boundary."""
    rng = random.Random(seed)
    rows = [{"a": rng.random(), "b": rng.random()} for _ in range(n)]
    return [(x, x["a"] > 0.7 and x["b"] > 0.6) for x in rows]


# Scores


@pytest.mark.parametrize("leaf", ["linear", "constant"])
def test_expected_improvement_is_that_of_the_mixture(leaf: str) -> None:
    """Below the lowest target."""
    rng = random.Random(0)
    model = DynamicTreeRegressor(n_particles=15, leaf=leaf, forgetting_factor=1.0, seed=1)
    for _ in range(150):
        x = rng.uniform(-1, 1)
        model.learn_one({"x": x}, math.sin(3 * x) + rng.gauss(0, 0.1))
    for x in (-0.9, 0.0, 0.4, 3.0):
        mixture = model.predict_one({"x": x}, with_dist=True)
        expected = mixture.expected_improvement(model._core.lowest)
        assert model.acquisition_one({"x": x}, "ei") == pytest.approx(expected, rel=1e-9)


def test_entropy_is_that_of_the_mean_probabilities() -> None:
    """Not the mean of the entropies of the trees, which misses their disagreement."""
    model = DynamicTreeClassifier(n_particles=20, seed=0)
    for x, y in corner(300, 0):
        model.learn_one(x, y)
    for x, _ in corner(20, 1):
        p = np.array(list(model.predict_proba_one(x).values()))
        assert model.acquisition_one(x) == pytest.approx(float(-p @ np.log(p)))
        assert model.acquisition_one(x, "entropy") == model.acquisition_one(x)


def test_an_unknown_criterion_is_refused() -> None:
    """Each task has its own."""
    with pytest.raises(ValueError, match="criterion"):
        DynamicTreeRegressor(seed=0).acquisition_one({"x": 0.0}, "entropy")
    with pytest.raises(ValueError, match="criterion"):
        DynamicTreeClassifier(seed=0).acquisition_one({"x": 0.0}, "alc")


# Learners that ask


def test_alm_is_that_of_discarding() -> None:
    """Also in a leaf with so few degrees of freedom that it has no variance."""
    model = DynamicTreeRegressor(n_particles=10, leaf="constant", forgetting_factor=0.3, seed=0)
    for i in range(40):
        model.learn_one({"x": i / 40}, math.sin(i))
    scores = compiled.scores(model._core, "alm")
    slot = model._core.pool.slots()[-1]  # the newest: a short memory holds no old one
    row = model._core.pool.sample(slot)[0]
    assert math.isinf(model.predict_one({"x": row[0]}, with_dist=True).variance)
    assert model.acquisition_one({"x": row[0]}, "alm") == pytest.approx(scores[slot], rel=1e-9)


@pytest.mark.parametrize("n_first", [1, 2])
@pytest.mark.parametrize("criterion", ["alc", "alm", "ei"])
def test_acquisition_sampler_starts_with_few(criterion: str, n_first: int) -> None:
    """The first scores may be infinite or zero, and set no threshold then."""
    model = DynamicTreeRegressor(n_particles=10, seed=1)
    sampler = AcquisitionSampler(model, criterion, budget=0.3, n_first=n_first)
    n_asked, rng = 0, random.Random(0)
    for i in range(1_200):
        x = {"x": rng.random()}
        _, ask = sampler.predict_one(x)
        n_asked += ask and i >= 300
        if ask:
            sampler.learn_one(x, x["x"] + rng.gauss(0, 0.1))
    assert 180 < n_asked < 360


# Unusual input


@pytest.fixture
def sampler() -> AcquisitionSampler:
    regressor = DynamicTreeRegressor(n_particles=10, window=30, leaf="constant", seed=1)
    sampler = AcquisitionSampler(regressor, budget=0.3)
    for x, y in stream(("DynamicTreeRegressor", 0), 60):
        sampler.predict_one(x)
        sampler.learn_one(x, y)
    return sampler


def test_acquisition_sampler_that_is_interrupted_has_not_seen_the_sample(
    sampler: AcquisitionSampler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The score is made before anything is counted."""
    before = frozen(sampler)

    def interrupted(self: Any, x: Any, criterion: str) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr(DynamicTreeRegressor, "acquisition_one", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sampler.predict_one({"a": 0.5})
    assert frozen(sampler) == before


@pytest.mark.parametrize(
    ("x", "y", "w"),
    [
        ({"a": math.inf}, 1.0, 1.0),
        ({"new": 1j}, 1.0, 1.0),
        (None, 1.0, 1.0),
        ({"a": 0.5, "new": 1.0}, None, 1.0),
        ({"a": 0.5, "new": 1.0}, 1.0, -1.0),
    ],
    ids=str,
)
def test_acquisition_sampler_refuses_a_sample(
    sampler: AcquisitionSampler, x: Any, y: Any, w: Any
) -> None:
    """Neither the regressor nor what is known of the budget has changed."""
    before = frozen(sampler)
    with pytest.raises((TypeError, ValueError), match=r"feature|mapping|target|\bw\b"):
        sampler.learn_one(x, y, w=w)
    if x is None or "a" not in x or x["a"] == math.inf:
        with pytest.raises((TypeError, ValueError), match=r"feature|mapping"):
            sampler.predict_one(x)
    assert frozen(sampler) == before
