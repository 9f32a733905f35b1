"""Explanations, missing values of other libraries, and learning on after an interruption."""

from __future__ import annotations

import random
from typing import Any

import pandas as pd
import pytest

from river_extra_trees import (
    ForgetfulRandomForestClassifier,
    StreamDecisionForestClassifier,
    StreamDecisionTreeClassifier,
)


@pytest.mark.parametrize("splitter", ["best", "random"])
def test_explained_path_is_the_path_taken(splitter: str) -> None:
    """Values beyond the remembered ones, and missing ones, are explained as they are answered."""
    generator = random.Random(1)
    model = StreamDecisionTreeClassifier(batch_size=50, splitter=splitter, seed=1)
    samples = []
    for _ in range(1500):
        name = generator.randrange(3000)
        x: dict[str, Any] = {"name": f"v{name}", "b": generator.choice([1.0, "one", None])}
        samples.append(x)
        model.learn_one(x, name % 3 == 0)
    for x in samples[-300:]:
        assert [node["node"] for node, _ in model._path(x, 0)] == model._forest.path(x)


@pytest.mark.parametrize("missing", [pd.NA, pd.NaT], ids=["NA", "NaT"])
def test_missing_values_of_pandas_are_missing(missing: Any) -> None:
    """NA and NaT mean that the feature is missing; no label may be one."""
    model = StreamDecisionTreeClassifier(seed=1)
    model.learn_one({"a": 1.0, "b": missing}, "yes")
    assert model._forest.schema.names == ["a"]
    with pytest.raises(ValueError, match="label"):
        model.learn_one({"a": 1.0}, missing)


@pytest.mark.parametrize("made", [StreamDecisionForestClassifier, ForgetfulRandomForestClassifier])
def test_learning_goes_on_after_an_interruption(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C between a full batch and its growth costs that growth, and nothing else."""
    model = made(n_models=2, batch_size=5, seed=1)

    def interrupt() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(model, "_learn_batch", interrupt)
        for i in range(4):
            model.learn_one({"a": float(i)}, i % 2)
        with pytest.raises(KeyboardInterrupt):
            model.learn_one({"a": 4.0}, 0)
    for i in range(23):
        model.learn_one({"a": float(i)}, i % 2)
    model._forest.check()
    assert model._forest.n_batches == 5
