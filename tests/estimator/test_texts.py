"""Texts and categories, however a library stores them, mean the values of their rows."""

from __future__ import annotations

import copy
import math
import pickle
import random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import river_extra_trees as ret
from river_extra_trees import persistence
from river_extra_trees._estimator.columns import column_of
from river_extra_trees._estimator.rows import value_at

NAMES = ["StreamDecisionTreeClassifier", "ForgetfulDecisionTreeClassifier", "DynamicTreeClassifier"]
MAKERS: dict[str, Any] = {
    "pandas": lambda columns: pd.DataFrame(columns, dtype="str"),
    "pandas, objects": lambda columns: pd.DataFrame(columns, dtype=object),
    "pandas, categories": lambda columns: pd.DataFrame(columns, dtype="category"),
    "polars": pl.DataFrame,
    "polars, categories": lambda columns: pl.DataFrame(
        columns, schema=dict.fromkeys(columns, pl.Categorical)
    ),
    "pyarrow": pa.table,
    "pyarrow, dictionaries": lambda columns: pa.table(
        {
            name: pa.array(values, pa.string()).dictionary_encode()
            for name, values in columns.items()
        }
    ),
}


def with_number(X: Any, value: float) -> Any:
    """A frame with another column, whose last number is given."""
    numbers = [0.5] * (len(X) - 1) + [value]
    if isinstance(X, pd.DataFrame):
        return X.assign(number=numbers)
    if isinstance(X, pl.DataFrame):
        return X.with_columns(pl.Series("number", numbers))
    return X.append_column("number", pa.array(numbers))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    steps=st.lists(
        st.tuples(
            st.sampled_from([*MAKERS]),
            st.sampled_from(["learn", "answer and learn", "one by one"]),
            st.booleans(),  # whether a frame is refused before
            st.sampled_from(["kept", "kept", "pickled", "copied"]),
        ),
        min_size=2,
        max_size=6,
    ),
)
def test_frames_in_a_row(name: str, seed: int, steps: list[tuple[str, str, bool, str]]) -> None:
    """New texts, refused frames, other libraries and copies in between: nothing changes."""
    rng = random.Random(seed)
    model, by_rows = getattr(ret, name)(seed=1), getattr(ret, name)(seed=1)
    for library, way, is_refused, copied in steps:
        n, n_texts = rng.choice([3, 40]), rng.choice([3, 30, 300])
        texts = [f"{'ä' if i % 3 == 0 else ''}{i}" for i in range(n_texts)]
        order = rng.sample(["a", "b", "c"], 3)
        columns = {each: [rng.choice([None, *texts]) for _ in range(n)] for each in order}
        y = [rng.randrange(3) for _ in range(n)]
        X = MAKERS[library](columns)
        rows = [{each: columns[each][i] for each in order} for i in range(n)]
        if is_refused:
            with pytest.raises(ValueError, match=f"row {n - 1}: feature 'number'"):
                model.learn_many(with_number(X, math.inf), y)
        answers = []
        for x, label in zip(rows, y, strict=True):
            answers.append(by_rows.predict_one(x))
            by_rows.learn_one(x, label)
        if way == "learn":
            model.learn_many(X, y)
        elif way == "answer and learn":
            found = model.predict_learn_many(X, y)
            shown = found.to_pylist() if hasattr(found, "to_pylist") else found.to_list()
            assert repr(shown) == repr(answers)
        else:
            for x, label in zip(rows, y, strict=True):
                model.learn_one(x, label)
        assert persistence.save_bytes(model) == persistence.save_bytes(by_rows)
        if copied == "pickled":
            model = pickle.loads(pickle.dumps(model))
        elif copied == "copied":
            model = copy.deepcopy(model)
        found = model.predict_many(X)
        shown = found.to_pylist() if hasattr(found, "to_pylist") else found.to_list()
        assert shown == [by_rows.predict_one(x) for x in rows]


def test_chunks_without_arrays() -> None:
    """A column of pyarrow without chunks."""
    kind = pa.dictionary(pa.int8(), pa.string())
    model = ret.StreamDecisionTreeClassifier(seed=1)
    assert model.predict_many(pa.table({"a": pa.chunked_array([], kind)})).to_pylist() == []


CODES = [
    *(pa.int8(), pa.uint8(), pa.int16(), pa.uint16()),
    *(pa.int32(), pa.uint32(), pa.int64(), pa.uint64()),
]


@given(
    st.lists(
        st.tuples(
            st.lists(st.none() | st.text("ab\0ä", max_size=14), max_size=9),
            st.lists(st.none() | st.integers(0, 8), max_size=30),
        ),
        max_size=3,
    ),
    st.sampled_from([pa.string(), pa.large_string(), pa.string_view()]),
    st.sampled_from(CODES),
    st.integers(0, 9),
)
@settings(deadline=None)
def test_dictionaries_of_pyarrow(
    chunks: list[tuple[list[str | None], list[int | None]]],
    kind: pa.DataType,
    codes: pa.DataType,
    start: int,
) -> None:
    """With equal texts, null, or texts of no row; each chunk has a dictionary of its own."""
    arrays, values = [], []
    for words, places in chunks:
        inside = [None if each is None or each >= len(words) else each for each in places]
        dictionary = pa.array(["before", *words], kind)[1:]
        arrays.append(pa.DictionaryArray.from_arrays(pa.array(inside, codes), dictionary))
        values += [None if each is None else words[each] for each in inside]
    column = pa.chunked_array(arrays, pa.dictionary(codes, kind))[start:]
    found = column_of("a", column)
    assert [value_at(found, row) for row in range(len(column))] == values[start:]


@pytest.mark.parametrize("place", [2, -1, 2**31, -(2**40)])
def test_codes_of_no_category(place: int) -> None:
    good, wrong = (
        pa.DictionaryArray.from_arrays(pa.array([0, each]), pa.array(["a", "b"]), safe=False)
        for each in (1, place)
    )
    X = pa.table({"a": pa.chunked_array([good, wrong])})
    with pytest.raises(ValueError, match=rf"^feature 'a': .*out of bounds: {place} "):
        ret.StreamDecisionTreeClassifier(seed=1).learn_many(X, [0] * 4)


NOT_UTF_8 = pa.Array.from_buffers(
    pa.string(), 3, [None, pa.py_buffer(np.array([0, 1, 2, 3], np.int32)), pa.py_buffer(b"a\xffb")]
)


@pytest.mark.parametrize(
    "column",
    [
        NOT_UTF_8,
        NOT_UTF_8.cast(pa.large_string(), safe=False),
        pa.DictionaryArray.from_arrays(pa.array([2, 1, 0]), NOT_UTF_8),
    ],
    ids=lambda column: str(column.type),
)
def test_bytes_that_are_no_text(column: Any) -> None:
    """The error names the place and the column, or the target; nothing is learned."""
    model = ret.StreamDecisionTreeClassifier(seed=1)
    with pytest.raises(ValueError, match=r"^feature 'city': .*UTF8 sequence at string index 1"):
        model.learn_many(pa.table({"city": column}), [0, 1, 0])
    with pytest.raises(ValueError, match=r"^y: .*UTF8 sequence at string index 1"):
        model.learn_many(pa.table({"x": [0.0] * 3}), pa.chunked_array([column]))
    assert model.n_samples_seen == 0


@pytest.mark.parametrize(
    ("kind", "offsets"),
    [
        *((pa.string(), offsets) for offsets in ([0, 5, 4], [0, -3, 4], [2, 1, 4])),
        (pa.large_string(), [1, -(2**63), 4]),  # no 64 bits hold the length
    ],
)
@pytest.mark.parametrize("is_coded", [False, True])
def test_offsets_outside_of_the_data(kind: Any, offsets: list[int], is_coded: bool) -> None:
    dtype = np.int32 if kind == pa.string() else np.int64
    buffers = [None, pa.py_buffer(np.array([0, *offsets], dtype)), pa.py_buffer(b"abcd")]
    wrong = pa.Array.from_buffers(kind, 3, buffers)
    if is_coded:
        wrong = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), wrong)
    with pytest.raises(ValueError, match=r"^feature 'a': pyarrow cannot read the column: "):
        ret.StreamDecisionTreeClassifier(seed=1).learn_many(pa.table({"a": wrong}), [0, 1, 0])


@pytest.mark.parametrize("view", [(-1, 0, 0, 0), (13, 0, 1, 0), (13, 0, -1, 0), (13, 0, 0, 8)])
def test_views_outside_of_the_data(view: tuple[int, ...]) -> None:
    """A view is a length, four bytes, the number of a buffer and a position in it."""
    buffers = [None, pa.py_buffer(np.array(view, np.int32)), pa.py_buffer(b"x" * 20)]
    wrong = pa.Array.from_buffers(pa.string_view(), 1, buffers)
    with pytest.raises(ValueError, match=r"^feature 'a': pyarrow cannot read the column: "):
        ret.StreamDecisionTreeClassifier(seed=1).learn_many(pa.table({"a": wrong}), [0])


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_errors_of_lengths_name_what_was_passed(library: Any) -> None:
    X, model = library({"a": [1.0, 2.0]}), ret.StreamDecisionTreeClassifier(seed=1)
    for w in ((), (1.0,), (2.0,)):
        with pytest.raises(ValueError, match=r"^X has 2 rows and y has 1$"):
            model.learn_many(X, [0], *w)
    with pytest.raises(ValueError, match=r"^X has 2 rows, y has 2 and w has 1$"):
        model.learn_many(X, [0, 1], [1.0])
