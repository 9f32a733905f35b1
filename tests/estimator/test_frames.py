"""Predictions for data frames: labels come back as they are, or are refused in plain words."""

from __future__ import annotations

import math
from typing import Any

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import river_extra_trees as ret
from river_extra_trees import (
    StreamDecisionTreeClassifier,
)
from river_extra_trees._estimator.columns import labelled_table_of, table_of
from river_extra_trees._estimator.frames import readable_frame
from river_extra_trees._estimator.predictions import frame_of_shares, series_of_numbers
from tests.tools.estimators import learn
from tests.tools.inputs import Colour, Level

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def taught(labels: tuple[Any, Any]) -> StreamDecisionTreeClassifier:
    model = StreamDecisionTreeClassifier(batch_size=5, seed=1)
    rows = [({"a": float(i % 2)}, labels[i % 2]) for i in range(40)]
    learned: StreamDecisionTreeClassifier = learn(model, rows)
    return learned


@pytest.mark.parametrize(
    "labels", [(Colour.RED, 0.5), (Level.LOW, "low"), ((1, 2), (1, 3))], ids=repr
)
def test_pyarrow_has_no_objects(labels: tuple[Any, Any]) -> None:
    """Labels that it has no type for are refused by their types."""
    model = taught(labels)
    asked = pa.table({"a": [0.0, 1.0]})
    said = rf"no series of pyarrow holds these labels .*\b{type(labels[0]).__name__}\b"
    with pytest.raises(TypeError, match=said):
        model.predict_many(asked)


def test_index_of_pandas_is_kept() -> None:
    """Of objects, too."""
    for labels in (("x", "y"), (Colour.RED, Colour.BLUE)):
        frame = pd.DataFrame({"a": [0.0, 1.0]}, index=[7, 5])
        found = taught(labels).predict_many(frame)
        assert (list(found), list(found.index), found.name) == (list(labels), [7, 5], "prediction")
        assert list(taught(labels).predict_proba_many(frame).index) == [7, 5]


@pytest.mark.parametrize("library", ["polars", "narwhals"])
def test_lazy_frames_are_refused(library: str) -> None:
    """In words that say what to do; nothing is learned."""
    model = taught(("x", "y"))
    lazy: Any = pl.LazyFrame({"a": [0.0, 1.0]})
    lazy = lazy if library == "polars" else narwhals.from_native(lazy)
    n_seen = model.n_samples_seen
    labels = ["x", "y"]
    said = rf"lazy frame of {library}: call \.collect\(\)"
    for call in (model.learn_many, model.predict_learn_many, model.predict_proba_learn_many):
        with pytest.raises(TypeError, match=said):
            call(lazy, labels)
    for ask in (model.predict_many, model.predict_proba_many):
        with pytest.raises(TypeError, match=said):
            ask(lazy)
    assert model.n_samples_seen == n_seen


@pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
def test_two_columns_of_one_name_are_refused(kind: str) -> None:
    """Which of them were meant, nobody could say."""
    numbers = [[0.0, 1.0], [1.0, 0.0]]
    twice = (
        pd.DataFrame(numbers, columns=["a", "a"])
        if kind == "pandas"
        else pa.table(numbers, names=["a", "a"])
    )
    with pytest.raises(ValueError, match=r"^two columns of X have the name 'a'$"):
        taught(("x", "y")).predict_many(twice)


RECORDS = np.array([(0.0, 1.0)] * 3, dtype=[("a", float), ("b", float)])
NO_FRAMES: dict[str, tuple[Any, str]] = {
    "one dimension": (np.zeros(3), r"of 1 dimension; .*: X.reshape\(1, -1\) makes one row"),
    "records": (RECORDS, r"structured array.*pandas.DataFrame\(X.ravel\(\)\)"),
    "a series of pandas": (pd.Series([0.0]), r"X is a series; .*X.to_frame\(\)"),
    "a list": ([[0.0]], "X must be a data frame .* or an array of two dimensions, not 'list'"),
    "nothing": (None, "not 'NoneType'"),
}


@pytest.mark.parametrize("name", NO_FRAMES)
def test_what_is_no_frame_is_refused_in_plain_words(name: str) -> None:
    """They say what is accepted, and are not those of another library."""
    model = taught(("x", "y"))
    n_seen = model.n_samples_seen
    X, said = NO_FRAMES[name]
    for call in (model.predict_many, lambda X: model.learn_many(X, ["x"])):
        with pytest.raises(TypeError, match=said):
            call(X)
    assert model.n_samples_seen == n_seen


@pytest.mark.parametrize("kind", FRAMES)
def test_numpy_labels(kind: str) -> None:
    """Labels from an array come back in a series of the type of Python's own."""
    model = StreamDecisionTreeClassifier(batch_size=5, seed=1)
    X = FRAMES[kind]({"a": [0.0, 1.0] * 20})
    model.learn_many(X, np.array([False, True] * 20))
    found = narwhals.from_native(model.predict_many(X), series_only=True)
    assert (found.dtype, found.to_list()) == (narwhals.Boolean, [False, True] * 20)


def test_codes_without_a_category() -> None:
    """They are refused, as features and as labels; libraries make them if nobody checks."""
    X = {"a": [0.0, 1.0, 2.0]}
    codes = pd.Categorical.from_codes([0, 1, 100], categories=["x", "y"], validate=False)
    dictionary = pa.DictionaryArray.from_arrays(pa.array([0, 1, 100_000]), ["x", "y"], safe=False)
    model = StreamDecisionTreeClassifier(seed=1)
    for call in (model.learn_many, model.predict_learn_many):
        with pytest.raises(ValueError, match="row 2: y: no category has the code 100"):
            call(pd.DataFrame(X), pd.Series(codes))
        with pytest.raises(ValueError, match=r"y: .* out of bounds: 100000 "):
            call(pa.table(X), pa.chunked_array([dictionary]))
    for frame in (pd.DataFrame({"a": codes}), pa.table({"a": dictionary})):
        with pytest.raises(ValueError, match=r"feature 'a': .*(has the code|bounds:) 100"):
            model.learn_many(frame, ["x", "y", "x"])
    assert model.n_samples_seen == 0


@pytest.mark.parametrize("unit", ["datetime64[D]", "timedelta64[s]"])
def test_moments_that_are_not_known_are_missing(unit: str) -> None:
    """In arrays, frames and samples alike; those that are known are refused."""
    known = np.array(["NaT", 7, "NaT"], unit)
    unknown = np.array(["NaT"] * 3, unit)
    for array in (known, unknown):
        series = pd.Series(array if unit != "datetime64[D]" else array.astype("M8[s]"))
        objects = np.empty((3, 1), object)
        objects[:, 0] = list(array)
        frames = [
            array.reshape(-1, 1),
            objects,
            pd.DataFrame({0: series}),
            pd.DataFrame({0: list(array)}, dtype=object),
            pl.DataFrame({"0": pl.from_pandas(series)}),
            pa.table({"0": pa.array(series)}),
        ]
        for frame in frames:
            model = StreamDecisionTreeClassifier(seed=1)
            if array is known:
                with pytest.raises(TypeError, match=r"^row 1: feature '?0'?: a date"):
                    model.learn_many(frame, [True, False, True])
                assert model.n_samples_seen == 0
            else:
                model.learn_many(frame, [True, False, True])
                assert model.n_samples_seen == 3
                assert model._core.schema.names == []
                assert len(model.predict_many(frame)) == 3
        for value in unknown:
            StreamDecisionTreeClassifier().learn_one({"a": value}, True)
        with pytest.raises(TypeError, match=r"^feature 'a': a date"):
            StreamDecisionTreeClassifier().learn_one({"a": known[1]}, True)


@pytest.mark.parametrize("learns", [False, True])
def test_labels_that_come_between_two_stretches(learns: bool) -> None:
    """Another thread may learn them while a frame is answered; they have no room in the answers."""
    model = taught(("x", "y"))
    X = np.array([[0.0], [1.0]] * 300)
    batch = labelled_table_of(X, ["x", "y"] * 300, 1.0, False) if learns else table_of(X)
    reader = model._core.reader(batch, learns=learns)
    model._core.ask(reader, shares=True)
    n_labels = reader.shares.shape[1]
    model._core.go_on(reader)
    for i in range(500):
        model.learn_one({"a": 0.0}, f"new {i}")
    model._read_rows(reader)
    assert reader.shares.shape == (600, n_labels)
    assert (reader.shares[:, :2].sum(axis=1) <= 1.0).all()
    assert (reader.shares[:, :2].sum(axis=1) > 0.0).all()


@pytest.mark.parametrize("method", ["predict_many", "predict_proba_many"])
def test_answers_name_the_row_that_is_refused(method: str) -> None:
    """As learning does; a single sample has no number."""
    model = taught(("x", "y"))
    X = pd.DataFrame({"a": [0.0, 1.0, math.inf]})
    with pytest.raises(ValueError, match=r"^row 2: feature 'a': the value must be finite"):
        getattr(model, method)(X)
    with pytest.raises(ValueError, match=r"^feature 'a': the value must be finite"):
        model.predict_one({"a": math.inf})


class Unwritten:
    """A number whose conversion raises an error of more than one argument."""

    def __float__(self) -> float:
        raise UnicodeDecodeError("utf-8", b"x", 0, 1, "this is no number")


def test_errors_of_several_arguments_name_feature_and_row() -> None:
    """They become errors of a class that takes a text."""
    model = taught(("x", "y"))
    with pytest.raises(ValueError, match=r"^feature 'a': 'utf-8' codec") as caught:
        model.learn_one({"a": Unwritten()}, "x")
    assert type(caught.value) is UnicodeError
    X = pd.DataFrame({"a": pd.Series([0.5, Unwritten()], dtype=object)})
    with pytest.raises(ValueError, match=r"^row 1: feature 'a': 'utf-8' codec"):
        model.learn_many(X, ["x", "y"])


def test_masked_arrays_are_refused() -> None:
    """The message says what to do."""
    model = taught(("x", "y"))
    X = np.ma.masked_array([[0.0], [1.0]], mask=[[True], [False]])
    with pytest.raises(TypeError, match=r"X is a masked array: pass X.astype"):
        model.predict_many(X)
    X, labels, weights = np.zeros((2, 1)), ["x", "y"], np.ma.masked_array([1.0, 2.0])
    with pytest.raises(TypeError, match="y is a masked array"):
        model.learn_many(X, np.ma.masked_array([1, 2]))
    with pytest.raises(TypeError, match="w is a masked array"):
        model.learn_many(X, labels, weights)


def test_labels_of_another_thread_that_take_the_last_place() -> None:
    """The reader stops at the row that finds none, and nothing of it is learned."""
    model = taught(("x", "y"))
    n = 600
    labels = ["x"] * 500 + ["new"] * 100
    batch = labelled_table_of(pd.DataFrame({"a": [0.0] * 500 + [1.0] * 100}), labels, 1.0, False)
    reader = model._core.reader(batch, learns=True)
    model._core.go_on(reader)
    seen = model.n_samples_seen + n - reader.row
    for i in range(1022):
        model.learn_one({"a": 0.0}, f"other {i}")
    with pytest.raises(ValueError, match="the label 'new' is one too many"):
        model._read_rows(reader)
    assert reader.row == 500
    assert model.n_samples_seen == seen - 100 + 1022
    assert len(model.predict_proba_one({})) == 1024


@pytest.mark.parametrize("name", ["DynamicTreeRegressor", "ExtraTreesRegressor"])
@pytest.mark.parametrize("kind", ["polars", "numpy"])
def test_distributions_of_frames(name: str, kind: str) -> None:
    """They are those of the rows, also of a snapshot; a bad row is named by its number."""
    model = getattr(ret, name)(seed=1)
    rng = np.random.default_rng(1)
    X, numbers = rng.normal(size=(60, 2)), [0.25, None, -1.0]
    model.learn_many(X if kind == "numpy" else pd.DataFrame(X, columns=["a", "b"]), X[:, 0])
    frame: Any = np.array([[0.25, 1.0], [np.nan, 1.0], [-1.0, 1.0]])
    rows: list[dict[Any, Any]] = [{0: n, 1: 1.0} for n in numbers]
    if kind != "numpy":
        frame = FRAMES[kind]({"a": numbers, "b": [1.0] * 3})
        rows = [{"a": n, "b": 1.0} for n in numbers]
    for found in (model, model.snapshot()):
        answers = found.predict_many(frame, with_dist=True)
        one_by_one = [model.predict_one(x, with_dist=True) for x in rows]
        assert [each.components for each in answers] == [each.components for each in one_by_one]
        assert [each.sample() for each in answers] == [each.sample() for each in one_by_one]
    assert np.asarray(model.predict_many(frame)).tolist() == [model.predict_one(x) for x in rows]
    with pytest.raises(ValueError, match="row 1: feature 1: the value must be finite"):
        model.predict_many(np.array([[0.0, 0.0], [0.0, np.inf]]), with_dist=True)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_of_doubles_need_no_narwhals(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its wrappers would take longer than a tree takes for the frame."""
    frame = readable_frame(kind({"a": [0.5, 1.5], "b": [2.5, math.nan]}))
    monkeypatch.setattr(narwhals, "from_native", lambda *_, **__: 1 / 0)
    assert len(table_of(frame).columns) == 2
    assert len(series_of_numbers(np.zeros(2), frame)) == 2
    assert len(frame_of_shares(np.zeros((2, 2)), ["x", "y"], frame)) == 2
