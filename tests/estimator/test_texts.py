"""Texts and categories, however a library stores them, mean the values of their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import river_extra_trees as ret
from river_extra_trees._estimator.columns import column_of
from river_extra_trees._estimator.rows import value_at

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
