"""What every estimator does with unusual frames: take them, or refuse them and stay as it was."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from river import base

from river_extra_trees import persistence
from tests.tools.contract import (
    CORE_CLASSIFIERS,
    CORES,
    FIRST,
    FIRST_CLASSIFIERS,
    Case,
    full_of_labels,
    taught,
    told,
)
from tests.tools.estimators import (
    frozen,
    learn,
    make,
    stream,
)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pd", "pl", "pa"])
@pytest.mark.parametrize("case", FIRST_CLASSIFIERS, ids=str)
def test_an_empty_frame_of_probabilities_has_all_columns(case: Case, kind: Any) -> None:
    """Of numbers, as any other; the labels of a model that has learned nothing are none."""
    model, x, _ = taught(case)
    labels = list(model.predict_proba_one(x))
    for n in (0, 2):
        found = narwhals.from_native(model.predict_proba_many(kind({"a": [0.5] * n})))
        assert found.columns == labels
        assert found.schema.dtypes() == [narwhals.Float64] * len(labels)
        assert len(found) == n
    assert narwhals.from_native(make(case).predict_proba_many(kind({"a": [0.5]}))).columns == []
    assert list(make(case).predict_many(kind({"a": []}))) == []


def test_a_series_has_one_type_whatever_the_answers() -> None:
    """That of all labels, so that the answers for two frames fit together."""
    model = learn(make(("StreamDecisionTreeClassifier", 0)), [({"a": 1.0}, 1)] * 9)
    assert model.predict_many(pl.DataFrame({"a": [1.0]})).dtype == pl.Int64
    model.learn_one({"a": 0.0}, 2.5)
    assert model.predict_many(pl.DataFrame({"a": [1.0]})).dtype == pl.Float64
    model.learn_one({"a": 0.0}, "text")
    assert model.predict_many(pl.DataFrame({"a": [1.0]})).to_list() == [1]
    assert model.predict_many(pl.DataFrame({"a": [1.0]})).dtype == pl.Object


class Same:
    """A label that looks like any other of its kind."""

    def __repr__(self) -> str:
        return "same"


@pytest.mark.parametrize("kind", [pl.DataFrame, pa.table], ids=["polars", "pyarrow"])
def test_no_column_of_probabilities_hides_another(kind: Any) -> None:
    """Labels that are one as strings are named by their repr, and refused if that is one, too."""
    model = learn(make(("StreamDecisionTreeClassifier", 0)), [({}, y) for y in (1, "1", 2, "x")])
    found = narwhals.from_native(model.predict_proba_many(kind({"a": [0.5]})))
    assert found.columns == ["1", "'1'", "2", "x"]
    expected = list(model.predict_proba_one({}).values())
    assert list(found.row(0)) == pytest.approx(expected)
    learn(model, [({}, Same()), ({}, Same())])
    with pytest.raises(ValueError, match="same"):
        model.predict_proba_many(kind({"a": [0.5]}))
    assert len(model.predict_proba_many(pd.DataFrame({"a": [0.5]})).columns) == 6


NO_SEQUENCES: dict[str, Callable[[list[Any]], Any]] = {
    "none": lambda values: None,
    "a number": lambda values: 7,
    "a text": lambda values: "a" * len(values),
    "bytes": lambda values: b"a" * len(values),
    "a set": lambda values: {*range(len(values))},
    "a dict": lambda values: dict.fromkeys(range(len(values)), values[0]),
    "keys": lambda values: dict.fromkeys(range(len(values))).keys(),
    "a generator": lambda values: (each for each in values),
    "a frame of one column": lambda values: pd.DataFrame({"y": values}),
    "a frame as wide as long": lambda values: pd.DataFrame(
        dict.fromkeys(range(len(values)), values)
    ),
    "a polars frame": lambda values: pl.DataFrame({"y": values}),
    "a lazy frame": lambda values: pl.LazyFrame({"y": values}),
    "a table": lambda values: pa.table({"y": values}),
    "a column vector": lambda values: np.array(values).reshape(-1, 1),
    "an array of no dimension": lambda values: np.array(values[0]),
}


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("case", CORES, ids=str)
def test_targets_of_a_frame_must_be_a_sequence(case: Case, n: int) -> None:
    """What has no order or holds names in place of values is refused by name, unlearned."""
    model, _, y = taught(case)
    before = frozen(model)
    frame = pd.DataFrame({"a": [0.1] * n, "new": [1.0] * n})
    for kind, made in NO_SEQUENCES.items():
        with pytest.raises(TypeError, match=r"^y must be a series"):
            model.learn_many(frame, made([y] * n))
        if kind not in ("a number", "an array of no dimension"):  # one weight for all
            with pytest.raises(TypeError, match=r"\bw must be a (series|number)"):
                model.learn_many(frame, [y] * n, made([1.0] * n))
    assert frozen(model) == before


SEQUENCES: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "deque": collections.deque,
    "numpy": lambda values: np.array(values, dtype=object),
    "pandas, another index": lambda values: pd.Series(values, index=range(len(values), 0, -1)),
    "index of pandas": pd.Index,
    "categories": lambda values: pd.Series(values, dtype="category"),
    "polars": pl.Series,
    "pyarrow": pa.array,
    "dictionary of pyarrow": lambda values: pa.array(values).dictionary_encode(),
    "chunks of pyarrow": lambda values: pa.chunked_array([values]),
}


@pytest.mark.parametrize(("case", "kind"), told(CORES, list(SEQUENCES)))
def test_targets_of_a_frame_in_any_sequence(case: Case, kind: str) -> None:
    """They belong to the rows by their position, and so do weights."""
    model, _, _ = taught(case)
    twin = model.clone(include_attributes=True)
    rows = [(x, y, 1.0 + i % 3) for i, (x, y) in enumerate(stream(case, 40, seed=1))]
    frame = pd.DataFrame({"a": [x.get("a") for x, _, _ in rows]})
    targets, weights = [y for _, y, _ in rows], [w for _, _, w in rows]
    model.learn_many(frame, SEQUENCES[kind](targets), SEQUENCES[kind](weights))
    for x, y, w in rows:
        twin.learn_one({"a": x.get("a")}, y, w=w)
    assert persistence.save_bytes(model) == persistence.save_bytes(twin)


NO_NUMBERS = {
    "complex": np.array([1.0 + 5j, 2.0]),
    "datetime64": np.array([5, 6], "datetime64[ns]"),
    "timedelta64": np.array([5, 6], "timedelta64[ns]"),
}


@pytest.mark.parametrize("kind", [np.array, pd.Series, list], ids=["numpy", "pandas", "list"])
@pytest.mark.parametrize("case", [("StreamDecisionTreeRegressor", 0), CORES[0]], ids=str)
def test_what_numpy_takes_for_numbers_is_refused(case: Case, kind: Any) -> None:
    """Complex numbers and times, as targets and as weights, by the row."""
    model, _, y = taught(case)
    before = frozen(model)
    frame = pd.DataFrame({"a": [0.1, 0.2]})
    for values in map(kind, NO_NUMBERS.values()):
        with pytest.raises(TypeError, match=r"^row 0: w must be a number, not "):
            model.learn_many(frame, [y, y], values)
        if isinstance(model, base.Regressor):
            with pytest.raises(TypeError, match=r"^row 0: the target must be a number, not "):
                model.learn_many(frame, values)
    assert frozen(model) == before


@pytest.mark.slow
@pytest.mark.parametrize("case", CORE_CLASSIFIERS, ids=str)
def test_frame_with_too_many_labels(case: Case) -> None:
    """A frame that would bring the 1,025th label is refused whole; no weight brings none."""
    model = full_of_labels(case)
    before = frozen(model)
    labels = [f"label {i}" for i in (3, 1020, 1021, 1021, 1022, 1023, 1024)]
    frame = pl.DataFrame({"a": [float(i) for i in range(len(labels))]})
    with pytest.raises(ValueError, match="row 6: the label 'label 1024' is one too many"):
        model.learn_many(frame, labels)
    assert frozen(model) == before
    for w in (0.0, 1e-310):
        twin = model.clone(include_attributes=True)
        twin.learn_many(frame, labels, [*[1.0] * 5, w, 1.0])
        assert len(twin.predict_proba_one({"a": 1.0})) == 1024
        assert "label 1023" not in twin.predict_proba_one({"a": 1.0})


@pytest.mark.parametrize("case", FIRST, ids=str)
def test_frame_without_columns(case: Case) -> None:
    """Its rows are samples without features; no samples, if the frame has no rows either."""
    model, _, y = taught(case)
    twin = model.clone(include_attributes=True)
    model.learn_many(pd.DataFrame(index=range(3)), [y] * 3)
    learn(twin, [({}, y)] * 3)
    assert persistence.save_bytes(model) == persistence.save_bytes(twin)
    assert model.predict_many(pd.DataFrame(index=range(2))).to_list() == [model.predict_one({})] * 2
    assert model.predict_many(pl.DataFrame()).to_list() == []
