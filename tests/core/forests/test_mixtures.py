"""The mixtures of the groups' predictions."""

import random

import numpy as np
import pandas as pd
import pytest

import river_extra_trees as ret
from river_extra_trees._core.forests.mixtures import ClassPool, NumberMixture
from river_extra_trees._core.state import StateError
from tests.tools.naive_forests import both, rows


@pytest.mark.parametrize("regression", [False, True])
def test_weights_sum_to_one(regression: bool) -> None:
    """Whatever came, and no member has none."""
    core, _ = both(regression)
    for row in rows(regression, 120):
        core.learn(*row)
        weights = (core.mixture if regression else core.pool).member_weights()
        assert sum(weights) == pytest.approx(1.0)
        assert min(weights) > 0.0


@pytest.mark.parametrize("mixture", [ClassPool, NumberMixture])
def test_impossible_weights_are_refused(mixture: type) -> None:
    """Of a damaged file: they do not sum to one."""
    state = mixture(3).state()
    mixture.restored({**state, "weights": np.roll(state["weights"], 1)})
    with pytest.raises(StateError, match="no such weights"):
        mixture.restored({**state, "weights": 0.9 * state["weights"]})


def test_answers_stay_among_the_targets() -> None:
    """Whatever the members say."""
    core, _ = both(True)
    seen = []
    for x, y, w in rows(True, 120):
        if seen:
            assert min(seen) <= core.predict_number(x) <= max(seen)
        core.learn(x, y, w)
        seen += [y] if w else []


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
