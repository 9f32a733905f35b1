"""A state whose samples have labels or nominal values that nobody knows is refused."""

from __future__ import annotations

import random
from typing import Any

import pytest

from river_extra_trees import ForgetfulDecisionTreeClassifier, StreamDecisionTreeClassifier
from river_extra_trees._core.state import StateError


@pytest.mark.parametrize("value", [5000.0, -2.0, -1e9, 1e300, 0.5, 41.0])
@pytest.mark.parametrize("kind", [StreamDecisionTreeClassifier, ForgetfulDecisionTreeClassifier])
def test_codes_of_stored_samples_are_those_of_the_schema(kind: Any, value: float) -> None:
    """Growth counts the samples of each code, so other codes would be outside of its counters."""
    rng = random.Random(0)
    model = kind(batch_size=100, seed=1)
    for i in range(90):
        model.learn_one({"number": 1e9, "text": f"v{i % 41}"}, rng.choice("xy"))
    core = model._core
    state = core.state()
    data = state["window"].values["data"]
    text = core.schema.names.index("text")
    data[text, 0] = -1.0  # a value without a code of its own
    type(core).restored(state)
    data[text, 0] = value
    with pytest.raises(StateError, match="no known value"):
        type(core).restored(state)
