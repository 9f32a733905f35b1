"""`ColumnKinds(strict=True)` refuses data with other columns."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import river_extra_trees as ret
from river_extra_trees import persistence

FRAME = pd.DataFrame({"a": [1.0, 2.0] * 20, "b": ["p", "q"] * 20})
Y = [0, 1] * 20


def learned(strict: bool) -> Any:
    model = ret.ColumnKinds(strict=strict) | ret.ExtraTreesClassifier(n_models=3, seed=1)
    model.learn_many(FRAME, pd.Series(Y))
    return model


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (FRAME.drop(columns="b"), "1 of 2 columns of the model is missing: 'b'"),
        (FRAME.assign(c=1), "does not know 1 column: 'c'"),
        (FRAME.add_prefix("x"), "2 of 2 columns of the model are missing: 'a', 'b'"),
        (pl.DataFrame({"a": [1.0]}), "'b'"),
        (np.ones((3, 2)), "2 of 2 columns of the model are missing"),
        ({"c": 1}, "does not know 1 column"),
        ({"a": 1, "c": 1}, "'c'"),
        ({}, "2 of 2 columns of the model are missing"),
    ],
)
def test_other_columns_are_refused(data: Any, says: str) -> None:
    """The message names them, and nothing is learned; models that are not strict take all."""
    strict, plain = learned(True), learned(False)
    predict = "predict_one" if isinstance(data, dict) else "predict_many"
    with pytest.raises(ValueError, match=says):
        getattr(strict, predict)(data)
    getattr(plain, predict)(data)
    assert len(strict.predict_many(FRAME)) == 40
    assert strict.predict_one({"a": 1.0}) is not None  # an absent feature is a missing value
    before = persistence.save_bytes(strict)
    if "missing" in says and predict == "predict_many":
        with pytest.raises(ValueError, match=says):
            strict.learn_many(data, pd.Series(Y[: len(data)]))
        assert persistence.save_bytes(strict) == before
    loaded = persistence.load_bytes(before)
    with pytest.raises(ValueError, match=says):
        getattr(loaded, predict)(data)
