"""Models that have read texts before know them, and answer and learn as if they did not."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import random
import tracemalloc
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
from river_extra_trees._core.columns import column_of_values

NAMES = ["StreamDecisionTreeClassifier", "ForgetfulDecisionTreeClassifier", "DynamicTreeClassifier"]
MAKERS: dict[str, Any] = {
    "pandas": lambda columns: pd.DataFrame(
        {name: pd.Series(values, dtype="str") for name, values in columns.items()}
    ),
    "pandas, objects": lambda columns: pd.DataFrame(columns, dtype=object),
    "pandas, categories": lambda columns: pd.DataFrame(columns, dtype="category"),
    "pandas, objects as categories": lambda columns: pd.DataFrame(
        {name: pd.Series(values, dtype=object) for name, values in columns.items()}
    ).astype("category"),
    "pandas, texts of Python": lambda columns: pd.DataFrame(
        columns, dtype=pd.StringDtype("python")
    ),
    "polars": pl.DataFrame,
    "polars, enumerations": lambda columns: pl.DataFrame(
        columns,
        schema={
            name: pl.Enum(sorted({"b", "a", *values} - {None})) for name, values in columns.items()
        },
    ),
    "polars, categories": lambda columns: pl.DataFrame(
        columns, schema=dict.fromkeys(columns, pl.Categorical)
    ),
    "pyarrow": pa.table,
    "pyarrow, large": lambda columns: pa.table(
        {name: pa.array(values, pa.large_string()) for name, values in columns.items()}
    ),
    "pyarrow, views": lambda columns: pa.table(
        {name: pa.array(values, pa.string_view()) for name, values in columns.items()}
    ),
    "pyarrow, dictionaries": lambda columns: pa.table(
        {
            name: pa.array(values, pa.string()).dictionary_encode()
            for name, values in columns.items()
        }
    ),
    "pyarrow, in chunks": lambda columns: pa.concat_tables(
        [pa.table(columns)[:3], pa.table(columns)[3:]]
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


def frame(numbers: range) -> pl.DataFrame:
    return pl.DataFrame({"a": [f"a rather long value {i}" for i in numbers]})


def test_known_texts_are_those_of_the_column() -> None:
    """Values of refused frames and those that found no room are forgotten."""
    model = ret.StreamDecisionTreeClassifier(seed=1)
    model.learn_many(frame(range(10)), [0] * 10)
    with pytest.raises(ValueError, match="row 3"):
        model.learn_many(frame(range(20, 30)), [0, 0, 0, math.nan, *[0] * 6])
    assert model._schema.texts_of("a").values == frame(range(10))["a"].to_list()
    model.learn_many(frame(range(3000)), [0, 1] * 1500)
    model.predict_many(frame(range(5000)))
    known = model._schema.texts_of("a").values
    assert known == list(model._schema.codes[0] or {})
    assert len(known) == 1024
    assert all(a is b for a, b in zip(known, model._schema.codes[0] or {}, strict=True))


@pytest.mark.parametrize("kind", [np.int8, np.int64])
def test_categories_that_no_row_has(kind: Any) -> None:
    """They get no code, and a model without them is the same."""
    values = ["a", "b", "c", "d"]
    model, plain = (ret.StreamDecisionTreeClassifier(seed=1) for _ in range(2))
    codes = np.array([3, -1, 1, 3], kind)
    X = pd.DataFrame({"a": pd.Categorical.from_codes(codes, pd.Index(values, dtype="str"))})
    model.learn_many(X, [0, 1, 0, 1])
    plain.learn_many(pa.table({"a": ["d", None, "b", "d"]}), [0, 1, 0, 1])
    assert model._schema.codes == [{"d": 0, "b": 1}]
    assert persistence.save_bytes(model) == persistence.save_bytes(plain)


def test_columns_of_values_begin_with_those_of_the_schema() -> None:
    """Equal values of other types, also those that the schema has not, stay what they are."""
    model = ret.StreamDecisionTreeClassifier(seed=1)
    for value in ("a", (1, 2), "b"):
        model.learn_one({"x": value}, 0)
    read = ["b", (1.0, 2), 0.5, None, (1, 2), "c", (1.0, 2)]
    column = column_of_values("x", read, model._schema)
    assert column.values == ["a", (1, 2), "b", (1.0, 2), "c"]
    assert column.codes is not None
    assert column.codes.tolist() == [2, 3, -1, -1, 1, 4, 3]
    assert not column.are_distinct
    assert column_of_values("x", ["b"], model._schema).values == ["b"]  # few rows: only their own
    assert column_of_values("x", [0.5] * 9, model._schema).values == []
    assert column_of_values(["no hash"], ["b"] * 9, model._schema).values == ["b"]


def test_features_without_texts_of_their_own() -> None:
    model = ret.StreamDecisionTreeClassifier(seed=1)
    model.learn_one({"number": 1.0, "mixed": (1, 2)}, 0)
    model.learn_one({"number": 2.0, "mixed": "text"}, 0)
    assert model._schema.texts_of("mixed").values == ["text"]
    for name in ("number", "unknown", ["no hash"]):
        assert model._schema.texts_of(name).values == []


def test_memory_of_known_texts() -> None:
    """It is counted, and no part of a pickle."""
    X, y = frame(range(1000)), [0, 1] * 500
    ret.StreamDecisionTreeClassifier(seed=1).learn_many(X, y)
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        model = ret.StreamDecisionTreeClassifier(seed=1)
        model.learn_many(X, y)
        size, pickled = model._raw_memory_usage, pickle.dumps(model)
        model.predict_many(X)
        gc.collect()
        held = tracemalloc.get_traced_memory()[0] - before - len(pickled)
    finally:
        tracemalloc.stop()
    assert pickle.dumps(model) == pickled
    assert model._raw_memory_usage > size + 20_000
    assert model._raw_memory_usage == pytest.approx(held, rel=0.2, abs=30_000)
