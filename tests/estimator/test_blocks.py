"""Frames of numbers, targets and probabilities mean the same, however they are read and made."""

from __future__ import annotations

import datetime
import decimal
import enum
import math
from typing import Any

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river.utils import dataframe

from river_extra_trees._core.columns import column_of_values, columns_of_block
from river_extra_trees._estimator.answers import (
    frame_of_shares,
    names_of,
    series_of_codes,
    series_of_numbers,
)
from river_extra_trees._estimator.columns import codes_of, table_of
from river_extra_trees._estimator.frames import into_frame, readable_frame

Numbers = np.ndarray[Any, Any]
NUMBERS = st.sampled_from([0.0, -0.0, 1.5, -2.0, 5e-324, 1e308, math.nan, math.inf, -math.inf])
NAMES = ["a", "b", "c", "ä"]


def arrays(numbers: Numbers) -> dict[str, Any]:
    """Return an array in several layouts."""
    n, k = numbers.shape
    wide = np.zeros((2 * n, 3 * k))
    wide[::2, ::-3] = numbers
    shifted = np.zeros(numbers.nbytes + 1, np.uint8)[1:].view(np.float64).reshape(n, k)
    shifted[:] = numbers
    frozen = numbers.copy()
    frozen.flags.writeable = False
    return {
        "by rows": np.ascontiguousarray(numbers),
        "by columns": np.asfortranarray(numbers),
        "strided": wide[::2, ::-3],
        "reversed": numbers[::-1][::-1],
        "unaligned": shifted,
        "read-only": frozen,
        "big-endian": numbers.astype(">f8"),
        "objects": numbers.astype(object),
        "matrix": numbers.view(np.matrix),
    }


def pandas_frames(numbers: Numbers) -> dict[str, Any]:
    names = NAMES[: numbers.shape[1]]
    columns = dict(zip(names, numbers.T, strict=True))
    parts = pd.DataFrame(index=range(len(numbers)))
    for name, values in columns.items():
        parts[name] = values
    return {
        "one block": pd.DataFrame(numbers, columns=names),
        "of a dict": pd.DataFrame(columns, index=range(len(numbers))),
        "several blocks": parts,
        "transposed": pd.DataFrame(numbers.T.copy(), index=names).T,
        "a part": pd.concat([parts, parts]).iloc[: len(numbers)],
        "nullable": pd.DataFrame(numbers, columns=names).astype("Float64"),
        "of pyarrow": pd.DataFrame(numbers, columns=names).astype("float64[pyarrow]"),
        "mixed": parts.astype(dict.fromkeys(names[:1], object)),
        "sparse": parts.astype({name: pd.SparseDtype(float) for name in names[1:]}),
    }


def tables(numbers: Numbers) -> dict[str, Any]:
    columns = dict(zip(NAMES, numbers.T, strict=False))
    table = pa.table({name: pa.array(values, from_pandas=True) for name, values in columns.items()})
    halves = [table.slice(0, len(numbers) // 2), table.slice(len(numbers) // 2)]
    chunks = pa.concat_tables(halves)
    frame: Any = pl.from_arrow(table)
    return {
        "pyarrow": pa.table(columns),
        "nulls": table,
        "in chunks": chunks,
        "polars": pl.DataFrame(columns),
        "polars, nulls": frame,
        "polars, in chunks": pl.concat([frame[: len(frame) // 2], frame[len(frame) // 2 :]]),
    }


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_frames_of_numbers(data: st.DataObject) -> None:
    """Their columns equal those that are made value by value, with the same errors."""
    n, k = data.draw(st.integers(0, 5)), data.draw(st.integers(1, len(NAMES)))
    numbers = np.array(data.draw(st.lists(NUMBERS, min_size=n * k, max_size=n * k)), dtype=float)
    numbers = numbers.reshape(n, k)
    for kinds, names in (
        (arrays(numbers), list(range(k))),
        (pandas_frames(numbers), NAMES[:k]),
        (tables(numbers), NAMES[:k]),
    ):
        for kind, X in kinds.items():
            batch = table_of(readable_frame(X))
            assert len(batch) == n
            for column, name, values in zip(batch.columns, names, numbers.T, strict=True):
                expected = column_of_values(name, values.tolist())
                assert column.name == name
                said = repr(column.error).replace("np.float64(inf)", "inf")  # sparse
                said = said.replace("np.float64(-inf)", "-inf")
                assert (column.refused, said) == (expected.refused, repr(expected.error)), kind
                if column.refused < 0:
                    found = np.full(n, np.nan) if column.numbers is None else column.numbers
                    assert repr(found.tolist()) == repr(values.tolist()), kind


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "float16", "longdouble"])
def test_other_numbers(dtype: str) -> None:
    """Frames and arrays of them are converted; the conversion is that of `float`."""
    numbers = np.array([[0, 1, 0], [1, 1, 0]]).astype(dtype)
    for X in (numbers, pd.DataFrame(numbers), pd.DataFrame(numbers.T.copy()).T):
        for column, values in zip(table_of(X).columns, numbers.T, strict=True):
            assert column.numbers is not None
            assert column.numbers.tolist() == [float(value) for value in values]


@pytest.mark.parametrize(
    "names",
    [
        pd.Index(["a", "b"]),
        pd.Index(["a", None], dtype=object),
        pd.Index([1, 2.5, "a", (1, 2)], dtype=object),
        pd.RangeIndex(3),
        pd.Index([0.5, 1.0], dtype="float32"),
        pd.Index([True, False]),
        pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]),
        pd.date_range("2020", periods=2, tz="UTC"),
        pd.Index(pd.array([1, 2], dtype="Int64")),
        pd.CategoricalIndex(["x", "y"]),
    ],
)
def test_names_of_columns_of_pandas(names: pd.Index) -> None:
    """They are those of the dicts of the rows."""
    frame = pd.DataFrame(np.zeros((1, len(names))), columns=names)
    found = [column.name for column in table_of(frame).columns]
    (row,) = frame.to_dict("records")
    assert found == list(row)
    assert list(map(type, found)) == list(map(type, row))


def test_names_and_columns_of_a_block() -> None:
    """There is a name for each column."""
    with pytest.raises(ValueError, match="3 names for 2 columns"):
        columns_of_block(["a", "b", "c"], np.zeros((5, 2)))


def test_frames_without_columns() -> None:
    """They have rows all the same."""
    for X in (np.zeros((3, 0)), pd.DataFrame(index=range(3)), pd.DataFrame({"a": ["x"] * 3})[[]]):
        batch = table_of(X)
        assert (len(batch), batch.columns) == (3, [])


@pytest.mark.parametrize("values", [[], [True], [False, False], [True, False, True]])
def test_codes_of_flags(values: list[bool]) -> None:
    """Arrays keep their scalars, other series give Python's own."""
    for make in (np.array, pd.Series, pl.Series, lambda each: pa.chunked_array([each])):
        series = make(values) if values else np.array(values, dtype=bool)
        codes, labels = codes_of(series, "y")
        scalar = np.bool_ if isinstance(series, np.ndarray) else bool
        assert [labels[code] for code in codes] == values
        assert {type(label) for label in labels} <= {scalar}
        assert labels == sorted(set(values))


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@pytest.mark.parametrize(
    "labels",
    [
        [True, False],
        [0, 1, 2],
        ["x", "y"],
        [1, "1"],
        [0.5, None],
        [(1, 2), (1, 3)],
        [Colour.RED, Colour.BLUE],
        [decimal.Decimal(1), datetime.date(2026, 11, 23)],
        [np.int64(1), np.int64(2)],
        ["x"],
    ],
    ids=repr,
)
def test_frames_of_probabilities(labels: list[Any]) -> None:
    """They are those that narwhals makes, with index, names and types."""
    shares = np.random.default_rng(1).random((3, len(labels)))
    shares[1, 0] = np.nan
    columns = list(np.ascontiguousarray(shares.T))
    index = pd.MultiIndex.from_tuples([("p", 1), ("p", 2), ("q", 1)], names=["key", "n"])
    like = pd.DataFrame({"a": [0.0, 1.0, 2.0]}, index=index)
    wanted: Any = dataframe.to_native_frame(
        dict(zip(labels, columns, strict=True)), like=into_frame(like)
    )
    pd.testing.assert_frame_equal(frame_of_shares(shares, labels, like), wanted)
    named = dict(zip(names_of(labels), columns, strict=True))
    for X in (pl.DataFrame({"a": [0.0, 1.0, 2.0]}), pa.table({"a": [0.0, 1.0, 2.0]})):
        found = frame_of_shares(shares, labels, X)
        wanted = dataframe.to_native_frame(named, like=into_frame(X))
        assert (type(found), found.schema, str(found)) == (
            type(wanted),
            wanted.schema,
            str(wanted),
        )


@pytest.mark.parametrize("labels", [["low", "high"], ["", "ä", "low"], ["low", "\ud800"]], ids=repr)
@pytest.mark.parametrize("codes", [[0, 1, 1, 0], [1], [0, -1, 1], []], ids=str)
def test_series_of_texts(labels: list[str], codes: list[int]) -> None:
    """They are the labels of each row, with index and name."""
    answers = [labels[code] if code >= 0 else None for code in codes]
    numbers = np.zeros(len(codes))
    index = pd.Index([f"row {i}" for i in range(len(codes))], name="rows")
    found = series_of_codes(np.array(codes, np.intp), labels, pd.DataFrame({"a": numbers}, index))
    assert (found.tolist(), found.name) == (answers, "prediction")
    pd.testing.assert_index_equal(found.index, index)
    found = series_of_codes(np.array(codes, np.intp), labels, pl.DataFrame({"a": numbers}))
    assert (found.to_list(), found.name) == (answers, "prediction")
    assert found.dtype == (pl.Object if "\ud800" in labels else pl.String)
    if "\ud800" not in labels:
        found = series_of_codes(np.array(codes, np.intp), labels, pa.table([numbers], ["a"]))
        assert (found.to_pylist(), found.type) == (answers, pa.string())


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_of_doubles_need_no_narwhals(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its wrappers would take longer than a tree takes for the frame."""
    frame = readable_frame(kind({"a": [0.5, 1.5], "b": [2.5, math.nan]}))
    monkeypatch.setattr(narwhals, "from_native", lambda *_, **__: 1 / 0)
    assert len(table_of(frame).columns) == 2
    assert len(series_of_numbers(np.zeros(2), frame)) == 2
    assert len(frame_of_shares(np.zeros((2, 2)), ["x", "y"], frame)) == 2
