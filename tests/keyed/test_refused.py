"""What keyed models refuse, at once or sample by sample."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import linear_model, preprocessing

from river_extra_trees.keyed import KeyedModels
from tests.tools.keyed_samples import (
    MODELS,
    TREE,
)


@pytest.mark.parametrize("many", [False, True])
def test_too_many_labels_of_one_key(many: bool) -> None:
    """The label that one key's model has no room for is refused alone."""
    models = KeyedModels(TREE)
    n = 1030
    keys = ["many labels" if i % 2 else i % 7 for i in range(2 * n)]
    names = [str(key) for key in keys]
    targets = [f"label {i}" if i % 2 else "no" for i in range(2 * n)]
    if many:
        models.learn_many(names, pd.DataFrame({"x": [0.0] * 2 * n}), targets)
    else:
        for name, y in zip(names, targets, strict=True):
            models.learn_one(name, {"x": 0.0}, y)
    counts = models.counts()
    assert (counts.n_refused, counts.n_samples_seen) == (n - 1024, n + 1024)
    assert counts.refusal == (
        f"sample {2 * n} of 'many labels': ValueError: the label 'label {2 * n - 1}' is one too "
        "many: a model tells 1024 labels apart"
    )


@pytest.mark.parametrize(
    ("keys", "X", "y", "w"),
    [
        ([True, 1], [[0.0], [1.0]], ["a", "b"], 1.0),
        (["a"], [[0.0], [1.0]], ["a", "b"], 1.0),
        (["a", "b"], [[0.0], [1.0]], ["a"], 1.0),
        (["a", "b"], [[0.0], [1.0]], ["a", "b"], [1.0]),
        ("ab", [[0.0], [1.0]], ["a", "b"], 1.0),
        (["a", "b"], [[0.0], [1.0]], "ab", 1.0),
    ],
)
def test_bad_frames(keys: Any, X: Any, y: Any, w: Any) -> None:
    """Keys of other types and different lengths are refused before anything is learned."""
    for model in (TREE, MODELS["naive Bayes of river"]):
        models = KeyedModels(model)
        with pytest.raises((TypeError, ValueError)):
            models.learn_many(keys, np.array(X), y, w)
        assert models.counts() == (0, 0, 0, 0, "")


def test_bad_calls() -> None:
    models = KeyedModels(TREE)
    for call in (
        lambda: models.learn_one(1.5, {"x": 0.0}, "a"),  # type: ignore[arg-type]
        lambda: models.predict_one(None, {"x": 0.0}),  # type: ignore[arg-type]
        lambda: models.forget(True and ("a",)),  # type: ignore[arg-type]
        lambda: models.model_of(2.5),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match="a key must be a string, bytes or a whole number"):
            call()
    assert models.counts() == (0, 0, 0, 0, "")
    models.learn_one("known", {"x": 0.0}, "no")
    with pytest.raises(ValueError, match="feature 'x': the value must be finite"):
        models.predict_one("known", {"x": math.inf})
    models = KeyedModels(MODELS["regression tree"])
    models.learn_one("known", {"x": 0.0}, 1.0)
    for key in ("known", "unknown"):
        with pytest.raises(AttributeError, match="Regressor predicts no probabilities"):
            models.predict_proba_one(key, {"x": 0.0})
    with pytest.raises(AttributeError, match="predicts no probabilities"):
        models.predict_proba_many(["a"], np.zeros((1, 1)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": 5}, "model must be a classifier or a regressor"),
        ({"model": preprocessing.StandardScaler()}, "model must be a classifier or a regressor"),
        ({"max_models": 0}, "max_models must be None or a whole number from 1"),
        ({"time_to_live": 1.5}, "time_to_live must be None or a whole number from 1"),
        ({"pooled": linear_model.LinearRegression()}, "pooled must be"),
        ({"pooled": "tree"}, "pooled must be"),
        ({"pooled": MODELS["regression tree"]}, "pooled must be"),
    ],
)
def test_bad_parameters(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KeyedModels(**{"model": TREE, **changes})
