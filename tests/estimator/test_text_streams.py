"""Series of texts and categories, whatever the library stores, mean the values of their rows."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from river_extra_trees import StreamDecisionTreeClassifier, persistence
from river_extra_trees._estimator import text_streams


def check(X: Any, values: list[Any]) -> None:
    """A frame of one column, and as labels, is learned as its values, twice."""
    y = [0, 1] * (len(values) // 2) + [0] * (len(values) % 2)
    model, by_rows, labelled = (StreamDecisionTreeClassifier(seed=1) for _ in range(3))
    for _ in range(2):
        model.learn_many(X, y)
        for value, label in zip(values, y, strict=True):
            by_rows.learn_one({"a": value}, label)
        assert persistence.save_bytes(model) == persistence.save_bytes(by_rows)
    if None not in values:
        column = X["a"]
        labelled.learn_many(np.zeros((len(values), 1)), column)
        assert labelled.predict_proba_one({0: 0.0}).keys() == {*values}


@pytest.mark.parametrize(
    "categories",
    [
        ["b", "a", "c"],
        ["b", np.str_("a"), "c"],
        ["b", "\ud800", "c"],
        ["b", 2.5, "c"],
        ["b", (1, "pair"), "c"],
        ["b", b"a", "c"],
    ],
)
@pytest.mark.parametrize("codes", [[1, 0, -1, 1], [0, 2, 2, 0], [2, 1, 0, 1], [-1, -1]])
def test_categories_of_objects(categories: list[Any], codes: list[int]) -> None:
    index = pd.Index(categories, dtype=object)
    column = pd.Categorical.from_codes(codes, index)
    assert column.categories.dtype == object
    check(pd.DataFrame({"a": column}), [None if code < 0 else categories[code] for code in codes])


@pytest.mark.parametrize("dtype", ["str", "string[python]", "string[pyarrow]"])
@pytest.mark.parametrize("parts", [[["b"], ["a", "ä"]], [["b", "a", "ä"]], [["b"], [], ["a", "ä"]]])
def test_categories_of_texts(dtype: str, parts: list[list[str]]) -> None:
    """In several chunks too; and every other row of a frame, backwards."""
    index = pd.Index(pd.concat([pd.Series(part, dtype=dtype) for part in parts]))
    codes = [0, 1, 2, -1, 2, 1, 0, 0, -1]
    X = pd.DataFrame({"a": pd.Categorical.from_codes(codes, index)})
    values = [None if code < 0 else [*"baä"][code] for code in codes]
    check(X, values)
    check(X[::-2], values[::-2])


@pytest.mark.parametrize("dtype", ["str", object])
def test_no_categories(dtype: Any) -> None:
    column = pd.Categorical([None, None], categories=pd.Index([], dtype=dtype))
    check(pd.DataFrame({"a": column}), [None, None])


def test_codes_that_pandas_did_not_check() -> None:
    for dtype in ("str", object):
        index = pd.Index(["b", "a"], dtype=dtype)
        column = pd.Categorical.from_codes([0, -2, 2], index, validate=False)
        with pytest.raises(ValueError, match=r"^row 1: feature 'a': no category has the code -2$"):
            StreamDecisionTreeClassifier(seed=1).learn_many(pd.DataFrame({"a": column}), [0] * 3)


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["c", "b", "a"])])
@pytest.mark.parametrize("exports", [False, True])
def test_polars_that_cannot_export_categories(
    kind: Any, exports: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not exports:
        monkeypatch.setattr(text_streams, "polars_exports_categories", lambda: False)
    values = ["b", None, "a", "b"]
    check(pl.DataFrame({"a": pl.Series(values, dtype=kind)}), values)
    check(pl.DataFrame({"a": pl.Series([*"bab"], dtype=kind)}), [*"bab"])


def test_types_of_polars() -> None:
    """The private function of polars, and the slow public one."""
    frame = pl.DataFrame({"a": [0.5], "b": ["x"], "c": [1]}).with_columns(
        d=pl.col("b").cast(pl.Categorical), e=pl.col("b").cast(pl.Enum(["x"]))
    )
    names = ["f64", "str", "cat", "enum"]
    assert [each for each in text_streams.types_in_polars(frame) if each in names] == names
    without = types.SimpleNamespace(dtypes=frame.dtypes)
    assert text_streams.types_in_polars(without) == ["f64", "str", "", "cat", "enum"]


def test_chunks_without_arrays() -> None:
    """A column of pyarrow without chunks."""
    kind = pa.dictionary(pa.int8(), pa.string())
    model = StreamDecisionTreeClassifier(seed=1)
    assert model.predict_many(pa.table({"a": pa.chunked_array([], kind)})).to_pylist() == []
