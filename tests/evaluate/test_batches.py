"""Frames that hold their targets are split into features and targets."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from river import evaluate as river_evaluate
from river import metrics

import river_extra_trees as ret
from river_extra_trees import evaluate
from river_extra_trees.evaluate.batches import batches_of, samples_of

KINDS: dict[str, Any] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "narwhals": lambda columns: narwhals.from_native(pl.DataFrame(columns)),
    "pandas, nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas of arrow": lambda columns: pd.DataFrame(columns).convert_dtypes(
        dtype_backend="pyarrow"
    ),
    "pandas, one block": lambda columns: pd.DataFrame(columns).copy(),
}
FEATURES = {"a": [0.5, None, 2.5, -1.0], "b": [1, 2, 3, 4], "c": ["x", None, "y", "x"]}
TARGETS: dict[str, list[Any]] = {
    "floats": [1.0, 2.5, 1.0, 0.5],
    "integers": [3, -1, 3, 2**60],
    "booleans": [True, False, True, True],
    "texts": ["no", "yes", "no", "no"],
    "moments": [datetime.datetime(2026, 11, 22, hour) for hour in (1, 2, 1, 3)],
}


def test_targets_of_a_frame_with_names_of_several_levels() -> None:
    """Names are tuples then, as in the dicts of the rows."""
    names = pd.MultiIndex.from_tuples([("a", 1), ("y", 0)])
    (batch,) = batches_of(pd.DataFrame([[0.5, 1.0], [1.5, 2.0]], columns=names), ("y", 0))
    assert batch.targets == [1.0, 2.0]
    assert [x for x, _ in samples_of(batch)] == [{("a", 1): 0.5}, {("a", 1): 1.5}]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", TARGETS)
def test_a_column_of_targets_is_split_off(kind: str, what: str) -> None:
    """Wherever it stands, and whatever it holds; the rows are those of the rest of the frame."""
    rows = [
        {name: column[i] for name, column in FEATURES.items() if column[i] is not None}
        for i in range(4)
    ]
    for place in (0, 2, 3):
        names = list(FEATURES)
        names.insert(place, "y")
        columns = FEATURES | {"y": TARGETS[what]}
        (batch,) = batches_of(KINDS[kind]({name: columns[name] for name in names}), "y")
        assert batch.targets == TARGETS[what]
        assert list(samples_of(batch)) == list(zip(rows, TARGETS[what], strict=True))
        assert list(samples_of(batch[1:3])) == list(zip(rows, TARGETS[what], strict=True))[1:3]


@pytest.mark.parametrize("scalars", [np.array([1, 0], object), [np.int64(1), np.int64(0)]])
def test_numpy_scalars_become_numbers_of_python(scalars: Any) -> None:
    """In a series of objects, too: as predictions of a model that has learned them."""
    for targets in (scalars, pd.Series([np.int64(1), np.int64(0)], dtype=object)):
        (batch,) = batches_of((pd.DataFrame({"a": [0.5, 1.5]}), targets), None)
        assert [type(y) for y in batch.targets] == [int, int]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_decimal_targets_are_scored_as_numbers(kind: str) -> None:
    """A regressor learns them as floats; labels they stay for a classifier."""
    columns = {"a": [i % 5 / 2 for i in range(60)], "y": [i % 4 / 2 for i in range(60)]}
    decimals = columns | {"y": [decimal.Decimal(str(y)) for y in columns["y"]]}
    found = [
        evaluate.progressive_val_score(
            KINDS[kind](each), ret.StreamDecisionTreeRegressor(seed=1), metrics.MAE(), target="y"
        ).get()
        for each in (columns, decimals)
    ]
    assert found[0] == found[1] > 0.0
    model = ret.StreamDecisionTreeClassifier(seed=1)
    frame = KINDS[kind](decimals)
    evaluate.progressive_val_score(frame, model, metrics.Accuracy(), target="y")
    assert {type(label) for label in model.predict_proba_one({})} == {decimal.Decimal}


@pytest.mark.parametrize("targets", [[], [1.0, decimal.Decimal(2), 3]])
def test_a_frame_without_rows_and_targets_of_several_types(targets: list[Any]) -> None:
    """A regressor learns them as river does."""
    frame = pd.DataFrame({"a": [0.5] * len(targets)})
    model, by_rows = (
        ret.StreamDecisionTreeRegressor(seed=1),
        ret.StreamDecisionTreeRegressor(seed=1),
    )
    found = evaluate.progressive_val_score((frame, targets), model, metrics.MAE())
    rows = [({"a": 0.5}, float(y)) for y in targets]
    assert found.get() == river_evaluate.progressive_val_score(rows, by_rows, metrics.MAE()).get()
    assert model.predict_one({"a": 0.5}) == by_rows.predict_one({"a": 0.5})
