"""Explanations, missing values of other libraries, and parameters of any type."""

from __future__ import annotations

import random
from typing import Any

import pandas as pd
import pytest

import river_extra_trees
from river_extra_trees import StreamDecisionTreeClassifier


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
        assert [node["node"] for node, _ in model._path(x, 0)] == model._core.path(x)


@pytest.mark.parametrize("missing", [pd.NA, pd.NaT], ids=["NA", "NaT"])
def test_missing_values_of_pandas_are_missing(missing: Any) -> None:
    """NA and NaT mean that the feature is missing; no label may be one."""
    model = StreamDecisionTreeClassifier(seed=1)
    model.learn_one({"a": 1.0, "b": missing}, "yes")
    assert model._core.schema.names == ["a"]
    with pytest.raises(ValueError, match="label"):
        model.learn_one({"a": 1.0}, missing)


@pytest.mark.parametrize("value", [10.5, "a", -1, 2**31, True], ids=str)
@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("StreamDecisionForestClassifier", "batch_size"),
        ("StreamDecisionForestClassifier", "n_models"),
        ("StreamDecisionForestRegressor", "n_swaps"),
        ("StreamDecisionTreeRegressor", "max_depth"),
        ("ForgetfulRandomForestClassifier", "warm_size"),
        ("ShrubEnsembleRegressor", "window_size"),
        ("DynamicTreeRegressor", "n_particles"),
    ],
)
def test_a_parameter_of_no_use_is_named(name: str, parameter: str, value: Any) -> None:
    """Numbers that are not whole, too small or too large, and other types, are refused by name."""
    with pytest.raises(ValueError, match=parameter):
        getattr(river_extra_trees, name)(**{parameter: value})


def test_a_seed_is_a_whole_number_of_any_size() -> None:
    """Negative and huge seeds are seeds; fractions and words are refused by name."""
    StreamDecisionTreeClassifier(seed=-(2**80))
    for seed in (1.5, "x"):
        with pytest.raises(ValueError, match="seed"):
            StreamDecisionTreeClassifier(seed=seed)  # type: ignore[arg-type]
