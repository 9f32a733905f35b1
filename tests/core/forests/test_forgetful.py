"""The core of the forgetful forests: what their trees retain."""

import contextlib
from typing import Any

import numpy as np
import pytest

from river_extra_trees import (
    ForgetfulDecisionTreeRegressor,
    ForgetfulRandomForestClassifier,
    persistence,
)
from river_extra_trees._core.forests.forgetful import ForgetfulForest
from river_extra_trees._core.state import StateError
from river_extra_trees._core.window import Window
from river_extra_trees._estimator import batch_forest


def test_a_leaf_counts_the_copies_of_its_samples() -> None:
    """Two samples after a batch, a tree of one leaf holds what it retains, and these two."""
    model = ForgetfulRandomForestClassifier(3, batch_size=20, bagging=True, seed=1)
    for i in range(62):
        model.learn_one({"a": 1.0}, i % 2)
    for tree, held in zip(model._core.trees, model._core.retained, strict=True):
        copies = [n for _, n in held.samples()]
        assert max(copies) > 1
        assert tree.node(0)["weight"] == sum(copies) + 2


@pytest.mark.filterwarnings("ignore:the model holds")
def test_max_columns_bounds_the_features() -> None:
    """Features that come later are ignored; the others are not."""
    model = ForgetfulDecisionTreeRegressor(batch_size=10, max_columns=3, seed=1)
    for i in range(40):
        model.learn_one({"a": i, f"new {i}": 1.0}, float(i % 2))
    assert len(model._core.schema.names) == 3
    assert model.n_samples_seen == 40
    again = persistence.load_bytes(persistence.save_bytes(model))
    assert again._core.schema.max_columns == 3


STATES: dict[str, dict[str, Any]] = {
    "two trees wait": {"n": 22, "n_models": 5, "batch_size": 20},
    "first batch": {"n": 12, "n_models": 2, "batch_size": 20, "bagging": True},
    "second batch": {"n": 3, "n_models": 2, "batch_size": 2},
}


@pytest.mark.parametrize(
    ("state", "changes", "problem"),
    [
        ("two trees wait", {"n_per_step": 0}, "before the batch ends"),
        ("two trees wait", {"n_per_step": 2**30}, "have to grow"),
        ("two trees wait", {"batch_size": 2}, "before the batch ends"),
        ("two trees wait", {"n_waiting": 4}, "have to grow"),
        ("two trees wait", {"plan": np.ones((2, 2), np.int64)}, "without a plan"),
        ("two trees wait", {"n_waiting": 0}, "without a plan"),
        ("two trees wait", {"batch_size": 50}, "without a batch"),
        ("first batch", {"n_early": 13}, "samples that are not there"),
        (
            "first batch",
            {"n_sorted": 2, "n_retained": [2, 0], "retained": [[0, 1], [1, 1]]},
            "first batch",
        ),
        *(
            ("second batch", {"n_retained": sizes, "retained": retained}, problem)
            for sizes, retained, problem in (
                ([1, 1], [[0, 1], [0, 1]], "not those that a tree retains"),
                ([2, 1], [[0, 1], [1, 1], [2, 1]], "not those that a tree retains"),
                ([2, 1], [[0, 1], [0, 1], [1, 1]], "twice"),
                ([1, 1], [[0, 0], [1, 1]], "many copies"),
                ([1, 2], [[0, 1], [1, 2**31 - 1], [0, 2**31 - 1]], "many copies"),
                ([1, 2], [[0, 1], [1, 1]], "n_retained"),
            )
        ),
    ],
)
def test_impossible_states_are_refused(
    state: str, changes: dict[str, Any], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trees that cannot wait, and samples that no forest has, or no tree retains."""
    monkeypatch.setattr(batch_forest, "CELLS_PER_STEP", 1)
    options = STATES[state].copy()
    n = options.pop("n")
    model = ForgetfulRandomForestClassifier(**options, seed=1)
    for i in range(n):
        model.learn_one({"a": float(i % 7)}, i % 2)
    values = model._core.state()
    ForgetfulForest.restored(values)
    changed = {**values, **changes}
    for name in {"n_retained", "retained"} & set(changes):
        changed[name] = np.array(changes[name], np.int32)
    if n_sorted := changed.pop("n_sorted", None):
        changed["window"] = Window.restored({**values["window"].values, "n_sorted": n_sorted})
        changed["answers"] = values["answers"][n_sorted:]
    expected = pytest.raises(StateError, match=problem) if problem else contextlib.nullcontext()
    with expected:
        ForgetfulForest.restored(changed)
