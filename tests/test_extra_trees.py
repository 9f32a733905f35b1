"""Extra trees: parameters, and the weights of the window sizes. `core/forests` tests the trees."""

import math
import random
from typing import Any

import numpy as np
import pytest

from river_extra_trees import ExtraTreesClassifier, ExtraTreesRegressor

BOTH = [ExtraTreesClassifier, ExtraTreesRegressor]


@pytest.mark.parametrize("model_class", BOTH)
def test_windows_have_equally_many_trees(model_class: Any) -> None:
    """With fewer trees than windows and kinds of trees, the first have one each."""
    for n_models in (2, 3, 11):
        model = model_class(n_models=n_models, window_sizes=(50, 10, 200), seed=1)
        sizes = [group.n for group in model._core.groups]
        assert (sum(sizes), min(sizes) >= 1, max(sizes) - min(sizes) <= 1) == (n_models, True, True)
        assert [group.window_size for group in model._core.groups[:3]] == [50, 10, 200][:n_models]


@pytest.mark.parametrize("model_class", BOTH)
def test_window_weights(model_class: Any) -> None:
    """They sum to one, and follow what the trees of each size are worth."""
    model, rng = model_class(n_models=12, window_sizes=(20, 400), seed=1), random.Random(1)
    weights = []
    for i in range(1000):
        x = {name: rng.random() for name in "abc"}
        above = (x["a"] + x["b"] > 1.0) != (i >= 900)
        model.learn_one(x, above)
        weights.append(model.window_weights)
        assert sum(weights[-1].values()) == pytest.approx(1.0)
        memory = sum(size * weight for size, weight in weights[-1].items())
        assert model.effective_memory == pytest.approx(memory)
    assert weights[0].keys() == {20, 400}
    assert weights[899][20] < 0.5 < 0.8 < weights[960][20]


@pytest.mark.parametrize("seed", range(8))
def test_neighbouring_numbers_are_separated(seed: int) -> None:
    """A threshold between two doubles with none in between is the smaller one, never the larger."""
    values = (1.0, math.nextafter(1.0, 2.0))
    model = ExtraTreesClassifier(n_models=1, window_sizes=(50,), seed=seed)
    rng = random.Random(seed)  # labels that do not follow from the last one
    for i in (rng.randrange(2) for _ in range(100)):
        model.learn_one({"a": values[i]}, i)
    assert model.predict_proba_one({"a": values[0]})[0] > 0.99
    assert model.predict_proba_one({"a": values[1]})[1] > 0.99


@pytest.mark.parametrize("delay", [0, 100])
def test_intervals_hold_what_they_say(delay: int) -> None:
    """At all levels, where the noise is small and where it is large, also if labels are late."""
    model, rng = ExtraTreesRegressor(seed=1), random.Random(5)
    levels, held, waiting = (0.5, 0.8, 0.9, 0.95), [], []
    for i in range(2500):
        x = {name: rng.random() for name in "abc"}
        y = 5.0 * x["a"] + math.sin(6.0 * x["b"]) + rng.gauss(0.0, 0.2 + 1.8 * x["c"])
        answer = model.predict_one(x, with_dist=True)
        waiting.append((x, y))
        if i >= 500:
            inside = [low <= y <= high for low, high in map(answer.interval, levels)]
            held.append([x["c"] > 0.5, *inside])
        if i >= delay:
            model.learn_one(*waiting.pop(0))
    for half in (False, True):
        shares = np.mean([row[1:] for row in held if row[0] is half], axis=0)
        assert np.abs(shares - levels).max() < 0.05, shares
