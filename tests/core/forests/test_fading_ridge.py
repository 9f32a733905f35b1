"""The ridge regression that forgets: what it counts, and which states it refuses."""

from typing import Any

import numpy as np
import pytest

import river_extra_trees as ret
from river_extra_trees._core.forests.fading_ridge import FadingRidge
from river_extra_trees._core.state import StateError


def stack_after(n: int) -> dict[str, Any]:
    """The state of the stack of a forest after some samples."""
    model = ret.ExtraTreesRegressor(n_models=4, window_sizes=(15, 60), seed=1)
    for i in range(n):
        model.learn_one({"a": i % 7}, float(i % 5))
    state: dict[str, Any] = model._core.mixture.state()["stack"].state()
    return state


@pytest.mark.parametrize("n", [0, 1, 2, 50])
def test_weights_fade(n: int) -> None:
    """All samples but the first, to which there was no answer, with weights that fade."""
    state = stack_after(n)
    assert state["n_learned"] == max(0, n - 1)
    expected = sum(state["decay"] ** age for age in range(state["n_learned"]))
    assert state["n_squares"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"sums": np.zeros(3)}, "no such sums"),
        ({"sums": np.full(15, np.nan)}, "sums must be"),
        ({"n": 0}, "n must be"),
        ({"n": 2**12 + 1}, "n must be"),
        ({"decay": 1.5}, "decay must be"),
        ({"square": np.inf}, "square must be"),
        ({"prior": 0.0}, ""),
        ({"n_squares": 0.0}, ""),
    ],
)
def test_states(changes: dict[str, Any], problem: str) -> None:
    state = stack_after(50)
    assert len(state["sums"]) == 15
    if not problem:
        FadingRidge.restored({**state, **changes})
        return
    with pytest.raises(StateError, match=problem):
        FadingRidge.restored({**state, **changes})
