"""Numbers of any size: what was learned can be checked and copied, and answers are numbers."""

import contextlib
import copy
import math
import pickle
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
from river import base

from river_extra_trees import DynamicTreeRegressor, ExtraTreesRegressor, persistence
from tests.tools.contract import is_finite
from tests.tools.estimators import CLASSES, PARAMETERS

Row = tuple[dict[str, float], float, float]


def far_features(rng: random.Random, unit: float = 1e12, missing: float = 0.0) -> Iterator[Row]:
    """One feature begins far from where it stays; later on, its values may be missing."""
    for i in range(300):
        a = rng.random()
        x = {"a": unit * (1.0 + a) if i < 20 else a, "b": rng.gauss(0.0, 1.0)}
        if i > 40 and rng.random() < missing:
            del x["a"]
        yield x, a + 0.1 * rng.gauss(0.0, 1.0), 1.0


def far_features_that_are_missing(rng: random.Random) -> Iterator[Row]:
    """Their mean, which takes their place, lies far from most of the others."""
    yield from far_features(rng, rng.choice([1e12, 1e30, 1e50]), 0.3)


def falling_targets(rng: random.Random) -> Iterator[Row]:
    """The unit of the targets, and of one feature, changes."""
    for i in range(400):
        a, unit = rng.random(), 1e12 / 1e4 ** (i // 100)
        yield {"a": a * unit, "b": rng.random()}, unit * (1.0 + a + 0.1 * rng.random()), 1.0


def new_unit(rng: random.Random) -> Iterator[Row]:
    """The unit of the targets changes soon."""
    unit = rng.choice([1e6, 1e9, 1e12])
    for i, (x, y, w) in enumerate(far_features(rng, 1.0)):
        yield x, unit * y if i < 20 else y, w


def faint_and_far(rng: random.Random) -> Iterator[Row]:
    """Targets that cancel each other, with weights that nearly vanish."""
    for _ in range(120):
        x = {name: rng.choice([0.0, 1.0, 2.0]) for name in "abcd"}
        yield x, rng.choice([1e50, -1e50, 1.0]), 1e-100


@pytest.mark.parametrize("leaf", ["linear", "constant"])
@pytest.mark.parametrize(
    ("stream", "parameters"),
    [
        *((far_features, {"forgetting_factor": factor}) for factor in (0.7, 1e-17, 1e-300)),
        *((falling_targets, {"forgetting_factor": factor}) for factor in (0.5, 0.7)),
        *((new_unit, {"forgetting_factor": factor, "published": True}) for factor in (0.7, 1e-3)),
        *((far_features_that_are_missing, {}), (faint_and_far, {})),
    ],
    ids=lambda value: value.__name__ if callable(value) else str(value),
)
def test_what_was_learned_can_be_copied(stream: Any, parameters: dict[str, Any], leaf: str) -> None:
    """Rounding errors are not taken for damage, nor do they grow until they are."""
    for seed in (1, 15):
        model = DynamicTreeRegressor(leaf=leaf, n_particles=12, window=40, seed=1, **parameters)
        for i, (x, y, w) in enumerate(stream(random.Random(seed))):
            model.learn_one(x, y, w=w)
            if i % 20 == 19:
                model._core.check()
                copy.deepcopy(model)


@pytest.mark.parametrize(("target", "weight"), [(1e150, 1.0), (1e146, 1.0), (-1e100, 1e91)])
def test_squares_that_may_overflow_are_refused(target: float, weight: float) -> None:
    """Both numbers are named, and nothing is learned."""
    model = DynamicTreeRegressor(n_particles=4, seed=1)
    model.learn_one({"a": 1.0}, 2.0)
    before = persistence.save_bytes(model)
    with pytest.raises(ValueError, match=re.escape(f"target is {target:g} and w is {weight:g}")):
        model.learn_one({"a": 1.0}, target, w=weight)
    assert persistence.save_bytes(model) == before


EXTREMES = {
    "huge": ((1e150, -1e150, 0.0), (0.0, 1e-100, 1.0, 1e50)),
    "large": ((1e145, -1e145, 1e95, -1e95, 1.0), (0.9, 9e99)),  # the largest squares are learned
    "faint": ((1e150, -1e150, 1.0), (2.3e-308, 1e-100, 1e100)),
    "tiny": ((5e-324, -5e-324, 1e-160, 0.0), (1e-300, 1e-100, 1.0)),
}


def said(model: Any, x: dict[str, Any]) -> str:
    """All that a learner answers, which must be numbers, to the last bit."""
    if isinstance(model, base.Classifier):
        shares = model.predict_proba_one(x)
        assert not shares or is_finite(model, x)
        return repr(shares)
    found = [model.predict_one(x)]
    if isinstance(model, ExtraTreesRegressor):  # sums of squares may overflow, or be negative
        found += model._core.predict_spread(x)
        assert 0.0 <= found[2] < math.inf  # if it is infinite, the search for quantiles never ends
    with contextlib.suppress(TypeError, ValueError):  # most regressors predict no distributions
        answer = model.predict_one(x, with_dist=True)
        assert not math.isnan(answer.sigma)  # of NaN there are no quantiles
        found += [answer.mean, *answer.interval(0.9)]
    assert all(map(math.isfinite, found)), found
    return repr(found)


@pytest.mark.parametrize("numbers", EXTREMES)
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        *((name, PARAMETERS[name][0]) for name in CLASSES),
        *(("DynamicTreeRegressor", {"seed": 2}), ("ExtraTreesRegressor", {"seed": 2})),
    ],
)
def test_extreme_targets_and_weights(name: str, parameters: dict[str, Any], numbers: str) -> None:
    """A sample is learned or refused; the model and its copies answer alike, with numbers."""
    targets, weights = EXTREMES[numbers]
    rng = random.Random(4)
    model = CLASSES[name](**parameters)
    for i in range(120):
        x = {"a": rng.gauss(0.0, 1.0), "b": rng.choice("rgb"), "c": str(rng.randrange(60))}
        y, w = rng.choice(targets), rng.choice(weights)
        before = said(model, x)
        try:
            model.learn_one(x, y, w=w)
        except ValueError:  # the squares of dynamic trees might overflow
            assert said(model, x) == before
        if i % 20 == 6:
            model._core.check()
            copies = [
                pickle.loads(pickle.dumps(model)),
                persistence.load_bytes(persistence.save_bytes(model)),
                copy.deepcopy(model),
            ]
            assert {said(each, x) for each in copies} == {said(model, x)}
            model = rng.choice(copies)
