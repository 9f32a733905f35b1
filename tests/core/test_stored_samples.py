"""A state whose samples have nominal values that its schema does not have is refused."""

from __future__ import annotations

import random
from typing import Any

import pytest

from river_extra_trees import (
    ForgetfulDecisionTreeClassifier,
    ShrubEnsembleClassifier,
    StreamDecisionForestClassifier,
    StreamDecisionTreeClassifier,
)
from river_extra_trees._core.state import StateError

MODELS = [
    ForgetfulDecisionTreeClassifier(batch_size=100, seed=1),
    ShrubEnsembleClassifier(seed=1),
    StreamDecisionForestClassifier(n_models=2, batch_size=100, seed=1),
    StreamDecisionTreeClassifier(batch_size=100, seed=1),
]


@pytest.mark.parametrize("value", [5000.0, 41.0, 0.5, -2.0, -1e9, 1e300])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_codes_of_stored_samples_are_those_of_the_schema(model: Any, value: float) -> None:
    """Growth counts the samples of each code, so other codes would be outside of its counters."""
    rng = random.Random(0)
    model = model.clone()
    for i in range(90):
        model.learn_one({"number": 1e9, "text": f"v{i % 41}"}, rng.choice("xy"))
    core = model._core
    state = core.state()
    data = state["window"].values["data"]
    text = core.schema.names.index("text")
    data[text, -1] = float("nan")
    data[text, -2] = -1.0  # a value without a code of its own
    core.restored(state)
    data[text, -1] = value
    with pytest.raises(StateError, match="no known value"):
        core.restored(state)
