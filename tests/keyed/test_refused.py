"""What keyed models refuse, at once or sample by sample."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import preprocessing

import river_extra_trees as ret
from river_extra_trees.keyed import KeyedModels
from tests.tools.keyed_samples import (
    MODELS,
    TREE,
    as_list,
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
    with pytest.raises(AttributeError, match="predicts no probabilities"):
        KeyedModels(MODELS["regression tree"]).predict_proba_many(["a"], np.zeros((1, 1)))
    assert models.counts() == (0, 0, 0, 0, "")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": 5}, "model must be a classifier or a regressor"),
        ({"model": preprocessing.StandardScaler()}, "model must be a classifier or a regressor"),
        ({"max_models": 0}, "max_models must be None or a whole number from 1"),
        ({"time_to_live": 1.5}, "time_to_live must be None or a whole number from 1"),
    ],
)
def test_bad_parameters(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KeyedModels(**{"model": TREE, **changes})


def test_refused_samples() -> None:
    """A sample that its model refuses is counted, and its key's others are learned."""
    for many in (False, True):
        models = KeyedModels(TREE)
        values = [0.0, math.inf, 1.0, 2.0]
        if many:
            X = pd.DataFrame({"x": values})
            said = models.predict_learn_many(list("aaba"), X, ["no"] * 4)
            assert as_list(said) == [None, None, None, "no"]
        else:
            for key, value in zip("aaba", values, strict=True):
                models.learn_one(key, {"x": value}, "no")
        counts = models.counts()
        assert counts[:4] == (2, 2, 3, 1)
        assert counts.refusal == (
            "sample 2 of 'a': ValueError: feature 'x': the value must be finite, not inf"
        )
        with pytest.raises(ValueError, match="finite"):
            models.predict_one("a", {"x": math.inf})


def test_probabilities_of_regressors() -> None:
    """They are refused for known keys and for unknown ones."""
    models = KeyedModels(ret.StreamDecisionTreeRegressor(seed=1))
    models.learn_one("known", {"x": 0.0}, 1.0)
    for key in ("known", "unknown"):
        with pytest.raises(AttributeError, match="Regressor predicts no probabilities"):
            models.predict_proba_one(key, {"x": 0.0})
