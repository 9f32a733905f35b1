"""Frames that hold their targets are split without narwhals, and without a copy of the rest."""

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
from river import metrics

import river_extra_trees as ret
from river_extra_trees import evaluate
from river_extra_trees._core.table import Table
from river_extra_trees._estimator import frames
from river_extra_trees.evaluate.chunks import Chunk, chunks_of, samples_of_chunks

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


def shown(table: Table, labels: bool) -> list[Any]:
    """The values of a table column by column, then the targets."""
    parts = []
    for column in [*table.columns, table.targets]:
        assert column is not None
        numbers = None if column.numbers is None else [f"{x!r}" for x in column.numbers.tolist()]
        texts = None
        if column.codes is not None:
            texts = [repr([*column.values, None][code]) for code in column.codes]
        parts.append((column.name, numbers, texts))
    assert (parts[-1][2] is not None) is labels
    return parts


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", TARGETS)
@pytest.mark.parametrize("place", [0, 2, 3])
@pytest.mark.parametrize("features", [["a", "b", "c"], ["a", "b"], ["b"], []])
def test_a_column_of_targets_is_split_off(
    kind: str, what: str, place: int, features: list[str]
) -> None:
    """Wherever it stands, and whatever it holds: as if it were given beside the frame."""
    names = list(features)
    names.insert(place, "y")
    columns = FEATURES | {"y": TARGETS[what]}
    frame = KINDS[kind]({name: columns[name] for name in names})
    (chunk,) = chunks_of(frame, "y")
    assert [type(y) for y in chunk.targets] == [type(y) for y in chunk_of(frame, what).targets]
    assert chunk.targets == TARGETS[what]
    expected = Chunk(frames.readable_frame(rest_of(frame)), chunk.targets)
    for regression in (False, True) if what in ("floats", "integers") else (False,):
        found = chunk.samples(regression)
        assert len(found) == 4
        if features:
            assert shown(found, not regression) == shown(
                expected.samples(regression), not regression
            )
        assert [column.name for column in found.columns] == features
    if features:
        assert list(samples_of_chunks([chunk])) == list(samples_of_chunks([expected]))
    else:
        assert list(samples_of_chunks([chunk])) == [({}, y) for y in TARGETS[what]]


def rest_of(frame: Any) -> Any:
    """A frame without its targets."""
    if isinstance(frame, pd.DataFrame):
        return frame.drop(columns="y")
    return frame.drop_columns("y") if isinstance(frame, pa.Table) else frame.drop("y")


def chunk_of(frame: Any, what: str) -> Chunk:
    """A frame and targets as a pair."""
    values = frame["y"]
    (chunk,) = chunks_of((rest_of(frame), values), None)
    assert isinstance(chunk, Chunk)
    return chunk


def test_arrays_are_views() -> None:
    """No copy of the numbers of a frame is made, whether a column of texts is among them or not."""
    numbers = np.arange(20.0).reshape(4, 5)
    block = pd.DataFrame(numbers, columns=list("abcdy"))
    mixed = pd.concat([block, pd.DataFrame({"t": ["x"] * 4})], axis=1)
    for frame in (block, mixed):
        (chunk,) = chunks_of(frame, "y")
        for column in chunk.samples(True).columns[:4]:
            assert np.shares_memory(column.numbers, frame[column.name].to_numpy())


@pytest.mark.parametrize("kind", KINDS)
def test_the_target_has_to_be_there(kind: str) -> None:
    """Without its name, or without a column of this name, the frame is refused."""
    frame = KINDS[kind]({"a": [0.5], "b": [1.5]})
    with pytest.raises(ValueError, match=r"name the column of the targets: target=\.\.\."):
        next(chunks_of(frame, None))
    with pytest.raises(ValueError, match="no column 'y'; the frame has a, b"):
        next(chunks_of(frame, "y"))


@pytest.mark.parametrize("scalars", [np.array([1, 0], object), [np.int64(1), np.int64(0)]])
def test_numpy_scalars_become_numbers_of_python(scalars: Any) -> None:
    """In a series of objects, too: as predictions of a model that has learned them."""
    for targets in (scalars, pd.Series([np.int64(1), np.int64(0)], dtype=object)):
        (chunk,) = chunks_of((pd.DataFrame({"a": [0.5, 1.5]}), targets), None)
        assert [type(y) for y in chunk.targets] == [int, int]
        assert [type(y) for y in chunk.samples(False).targets.values] == [int, int]


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
