"""However a library lays out the columns of a frame, it means the values of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import river_extra_trees as ret
from river_extra_trees import persistence
from tests.naive import frames as naive

pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")

NAMES = ["a", "b", "c"]
NUMBERS = np.array(
    [
        *([0.0, -0.0, np.nan], [1.5, -2.0, 5e-324], [1e308, np.nan, 3.0], [1.0, 0.0, 1.0]),
        *([np.nan, np.nan, np.nan], [0.0, 1.0, 2.0], [1.5, 1.0, 0.0], [-7.0, 1e-300, 0.0]),
    ]
)
WORDS = ["b", "a", "ä", "", "b\0", "long enough for a buffer of its own"]
TEXTS = ["b", "a", None, "ä", "", "b\0", WORDS[-1], "b"]
CODES = [None if text is None else WORDS.index(text) for text in TEXTS]
KINDS_OF_CODES = [
    *(pa.int8(), pa.uint8(), pa.int16(), pa.uint16()),
    *(pa.int32(), pa.uint32(), pa.int64(), pa.uint64()),
]


def arrays() -> dict[str, Any]:
    """Arrays of numbers in several layouts and types."""
    n, k = NUMBERS.shape
    wide = np.zeros((2 * n, 3 * k))
    wide[::2, ::-3] = NUMBERS
    shifted = np.zeros(NUMBERS.nbytes + 1, np.uint8)[1:].view(np.float64).reshape(n, k)
    shifted[:] = NUMBERS
    frozen = NUMBERS.copy()
    frozen.flags.writeable = False
    small = np.array([[0, 1, 0], [1, 1, 0], [0, 0, 1]])
    return {
        "by rows": NUMBERS,
        "by columns": np.asfortranarray(NUMBERS),
        "strided": wide[::2, ::-3],
        "reversed": NUMBERS[::-1],
        "unaligned": shifted,
        "read-only": frozen,
        "big-endian": NUMBERS.astype(">f8"),
        "objects": NUMBERS.astype(object),
        "matrix": NUMBERS.view(np.matrix),
        **{
            kind: small.astype(kind)
            for kind in ("bool", "int8", "uint64", "float32", "float16", "longdouble")
        },
    }


def pandas_frames() -> dict[str, Any]:
    """Frames of numbers, texts and categories."""
    block = pd.DataFrame(NUMBERS, columns=NAMES)
    parts = pd.DataFrame(index=range(len(NUMBERS)))
    for i, name in enumerate(NAMES):
        parts[name] = NUMBERS[:, i]
    text = pd.Series(TEXTS, dtype="str")
    halves = [pd.Series(part, dtype="str") for part in (WORDS[:2], WORDS[2:])]
    found = {
        "one block": block,
        "several blocks": parts,
        "transposed": pd.DataFrame(NUMBERS.T.copy(), index=NAMES).T,
        "a part": pd.concat([parts, parts]).iloc[: len(NUMBERS)],
        "nullable": block.astype("Float64"),
        "of pyarrow": block.astype("float64[pyarrow]"),
        "mixed": parts.astype({"a": object}),
        "sparse": parts.astype({"b": pd.SparseDtype(float), "c": pd.SparseDtype(float)}),
        "every other row, backwards": block[::-2],
    }
    series = {
        "texts": text,
        "objects": text.astype(object),
        "texts of Python": text.astype("string[python]"),
        "categories": text.astype("category"),
        "categories, backwards": text.astype("category")[::-1],
        "categories in chunks": pd.Series(
            pd.Categorical.from_codes(
                [-1 if code is None else code for code in CODES], pd.Index(pd.concat(halves))
            )
        ),
        "no categories": pd.Series([None] * 8, dtype=pd.CategoricalDtype([])),
    }
    for objects in (["b", 2.5], ["b", (1, "pair")], ["b", b"a"], ["b", "\ud800"]):
        column = pd.Categorical.from_codes([1, 0, -1, 1] * 2, pd.Index(objects, dtype=object))
        series[f"categories {objects!a}"] = pd.Series(column)
    return found | {name: pd.DataFrame({"a": each}) for name, each in series.items()}


def tables() -> dict[str, Any]:
    """Tables of polars and pyarrow."""
    columns = dict(zip(NAMES, NUMBERS.T, strict=True))
    nulls = pa.table({name: pa.array(each, from_pandas=True) for name, each in columns.items()})
    frame: Any = pl.from_arrow(nulls)
    text = pa.array(TEXTS)
    found = {
        "pyarrow": pa.table(columns),
        "pyarrow, nulls": nulls,
        "pyarrow, chunks": pa.concat_tables([nulls[:3], nulls[3:]]),
        "pyarrow, texts": pa.table({"a": pa.chunked_array([text[:3], text[3:]])}),
        "polars": pl.DataFrame(columns),
        "polars, nulls": frame,
        "polars, chunks": pl.concat([frame[:3], frame[3:]]),
    }
    for kind in (pl.String, pl.Categorical, pl.Enum(WORDS)):
        found[f"polars, {kind}"] = pl.DataFrame({"a": pl.Series(TEXTS, dtype=kind)})
    for kind in (pa.large_string(), pa.string_view()):
        found[f"pyarrow, {kind}"] = pa.table({"a": text.cast(kind)})
    for kind in KINDS_OF_CODES:
        for more in (0, 120):  # a dictionary that is longer than the rows
            words = pa.array([*WORDS, *map(str, range(more))])
            array = pa.DictionaryArray.from_arrays(pa.array(CODES, kind), words)
            chunks = pa.chunked_array([array[:3], array[3:]])
            found[f"pyarrow, {len(words)} values of {kind}"] = pa.table({"a": chunks})
    return found


LAYOUTS = {**arrays(), **pandas_frames(), **tables()}


def assert_learned_as_rows(model: Any, by_rows: Any, X: Any) -> None:
    """The model learns and answers a frame; the other one, its rows."""
    labels = [i % 3 for i in range(len(X))]
    expected, _ = naive.learn_many(by_rows, X, labels)
    assert naive.values_of(model.predict_learn_many(X, labels)) == expected
    assert persistence.save_bytes(model) == persistence.save_bytes(by_rows)
    rows = naive.rows_of(X)
    assert naive.values_of(model.predict_many(X)) == [by_rows.predict_one(x) for x in rows]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str) -> None:
    """Each, twice."""
    X = LAYOUTS[layout]
    model, by_rows = (ret.StreamDecisionTreeClassifier(batch_size=8, seed=1) for _ in range(2))
    for _ in range(2):
        assert_learned_as_rows(model, by_rows, X)


def test_one_layout_after_the_other() -> None:
    """Frames with the same names are read by their own types."""
    model, by_rows = (ret.StreamDecisionTreeClassifier(batch_size=40, seed=1) for _ in range(2))
    for X in LAYOUTS.values():
        assert_learned_as_rows(model, by_rows, X)


@pytest.mark.parametrize(
    "names",
    [
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
    model = ret.StreamDecisionTreeClassifier(seed=1)
    model.learn_many(frame, [0])
    (row,) = frame.to_dict("records")
    assert {*map(repr, model._schema.names)} == {*map(repr, row)}
