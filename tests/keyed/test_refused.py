"""What keyed models refuse, at once or sample by sample."""

import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import linear_model, preprocessing

from river_extra_trees.keyed import KeyedModels
from tests.tools.keyed_samples import MODELS, TREE


@pytest.mark.parametrize(
    ("keys", "y", "w"),
    [
        ([True, 1], ["a", "b"], 1.0),
        (["a"], ["a", "b"], 1.0),
        (["a", "b"], ["a"], 1.0),
        (["a", "b"], ["a", "b"], [1.0]),
        ("ab", ["a", "b"], 1.0),
        (["a", "b"], "ab", 1.0),
    ],
)
def test_bad_frames(keys: Any, y: Any, w: Any) -> None:
    """Keys of other types and different lengths are refused before anything is learned."""
    for model in (TREE, MODELS["naive Bayes of river"]):
        models = KeyedModels(model)
        with pytest.raises((TypeError, ValueError)):
            models.learn_many(keys, np.zeros((2, 1)), y, w)
        assert models.counts() == (0, 0, 0, 0, "")


def test_bad_calls(tmp_path: Path) -> None:
    """What is wrong is raised, and nothing is learned."""
    models, regressions = KeyedModels(TREE), KeyedModels(MODELS["regression tree"])
    models.learn_one("known", {"x": 0.0}, "no")
    regressions.learn_one("known", {"x": 0.0}, 1.0)
    stored = KeyedModels(TREE, store=tmp_path / "models.db")
    key = "a key must be a string, bytes or a whole number"
    no_probabilities = "Regressor predicts no probabilities"
    calls: list[tuple[type[Exception], str, Callable[[], object]]] = [
        (TypeError, key, lambda: models.learn_one(1.5, {"x": 0.0}, "a")),  # type: ignore[arg-type]
        (TypeError, key, lambda: models.predict_one(None, {"x": 0.0})),  # type: ignore[arg-type]
        (TypeError, key, lambda: models.forget(("a",))),  # type: ignore[arg-type]
        (TypeError, key, lambda: models.model_of(2.5)),  # type: ignore[arg-type]
        (
            ValueError,
            "'x': the value must be",
            lambda: models.predict_one("known", {"x": math.inf}),
        ),
        (AttributeError, no_probabilities, lambda: regressions.predict_proba_one("known", {})),
        (AttributeError, no_probabilities, lambda: regressions.predict_proba_one("unknown", {})),
        (
            AttributeError,
            no_probabilities,
            lambda: regressions.predict_proba_many(["a"], np.zeros((1, 1))),
        ),
        (RuntimeError, "give KeyedModels a store", lambda: models.commit({})),
        (TypeError, "cannot be copied or pickled", lambda: pickle.dumps(stored)),
    ]
    for error, message, call in calls:
        with pytest.raises(error, match=message):
            call()
    assert models.counts() == (1, 1, 1, 0, "")
    stored.close()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": 5}, "model must be a classifier or a regressor"),
        ({"model": preprocessing.StandardScaler()}, "model must be a classifier or a regressor"),
        ({"max_models": 0}, "max_models must be None or a whole number from 1"),
        ({"time_to_live": 1.5}, "time_to_live must be None or a whole number from 1"),
        ({"pooled": linear_model.LinearRegression()}, "pooled must be"),
        ({"pooled": "tree"}, "pooled must be"),
        ({"on_alarm": print}, "nothing is watched without false_alarms_per"),
        ({"pooled": MODELS["regression tree"]}, "pooled must be"),
    ],
)
def test_bad_parameters(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KeyedModels(**{"model": TREE, **changes})
