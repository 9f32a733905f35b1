"""Unusual frames, targets and weights: taken or refused; answers are of the types of the frame."""

import math
from collections.abc import Callable
from typing import Any

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import river_extra_trees as ret
from river_extra_trees import persistence
from river_extra_trees._estimator.frames import readable_frame
from river_extra_trees._estimator.predictions import frame_of_shares, series_of_numbers
from river_extra_trees._estimator.tables import labelled_table_of, table_of
from tests.tools.contract import FIRST, Case, taught
from tests.tools.estimators import frozen, is_classifier, learn, make
from tests.tools.inputs import Colour, Level

FRAMES: dict[str, Any] = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def tree_of(labels: tuple[Any, Any] = ("x", "y")) -> ret.StreamDecisionTreeClassifier:
    model = ret.StreamDecisionTreeClassifier(batch_size=5, seed=1)
    learned: ret.StreamDecisionTreeClassifier = learn(
        model, [({"a": float(i % 2)}, labels[i % 2]) for i in range(40)]
    )
    return learned


# --- What is refused


class Unwritten:
    """A number whose conversion raises an error of more than one argument."""

    def __float__(self) -> float:
        raise UnicodeDecodeError("utf-8", b"x", 0, 1, "this is no number")


def frames_of(moments: Any) -> list[Any]:
    """Three moments as a column of each library."""
    series = pd.Series(moments if moments.dtype != "M8[D]" else moments.astype("M8[s]"))
    objects = pd.DataFrame({0: list(moments)}, dtype=object)
    frames = [pd.DataFrame({0: series}), objects, pl.DataFrame({"0": pl.from_pandas(series)})]
    return [moments.reshape(-1, 1), objects.to_numpy(), *frames, pa.table({"0": pa.array(series)})]


def coded(codes: list[int], texts: Any = ("x", "y")) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(texts), safe=False)


def texts(offsets: list[int], content: bytes) -> pa.Array:
    """Three texts with such offsets, as no library would make them."""
    buffers = [None, pa.py_buffer(np.array([0, *offsets], np.int32)), pa.py_buffer(content)]
    return pa.Array.from_buffers(pa.string(), 3, buffers)


NUMBERS = pd.DataFrame({"a": [0.0, 1.0, 2.0]})
LAZY = pl.LazyFrame({"a": [0.0, 1.0, 2.0]})
CATEGORIES = pd.Categorical.from_codes([0, 1, 100], categories=["x", "y"], validate=False)
MOMENTS = [np.array(["NaT", 7, "NaT"], unit) for unit in ("M8[D]", "m8[s]")]
NO_UTF8 = texts([1, 2, 3], b"a\xffb")
NO_SEQUENCES: list[Callable[[list[Any]], Any]] = [
    *(lambda _: None, lambda values: "a" * len(values), lambda values: b"a" * len(values)),
    *(set, dict.fromkeys, lambda values: dict.fromkeys(values).keys(), iter),
    *(lambda values: pd.DataFrame({"y": values}), lambda values: pd.DataFrame([values] * 3)),
    *(lambda values: pl.DataFrame({"y": values}), lambda values: pl.LazyFrame({"y": values})),
    lambda values: pa.table({"y": values}),
]
NO_NUMBERS = [
    np.array([1.0 + 5j] * 3),
    *(np.array([5, 6, 7], unit) for unit in ("M8[ns]", "m8[ns]")),
]
MASKED = np.ma.masked_array([[0.0], [1.0], [2.0]], mask=[[True], [False], [False]])
RECORDS = np.array([(0.0, 1.0)] * 3, dtype=[("a", float), ("b", float)])
UNHASHABLE = [
    pd.DataFrame(np.zeros((3, 2)), columns=pd.Index([name, "b"], dtype=object))
    for name in (["a"], {"a"})
]
LENGTHS = "^X has 3 rows, y has 3 and w has 1$"

REFUSED: list[tuple[str, Any, type[Exception], str]] = [
    ("X", LAZY, TypeError, r"lazy frame of polars: call \.collect\(\)"),
    ("X", narwhals.from_native(LAZY), TypeError, r"lazy frame of narwhals: call \.collect\(\)"),
    (
        "X",
        pd.DataFrame([[0.0, 1.0]] * 3, columns=["a", "a"]),
        ValueError,
        "two columns .* name 'a'$",
    ),
    ("X", pa.table([[0.0] * 3] * 2, names=["a", "a"]), ValueError, "two columns .* name 'a'$"),
    *(("X", X, TypeError, "a column of X must be hashable, not .'a'.$") for X in UNHASHABLE),
    ("X", np.zeros(3), TypeError, r"of 1 dimension; .*: X.reshape\(1, -1\) makes one row"),
    ("X", RECORDS, TypeError, r"structured array.*pandas.DataFrame\(X.ravel\(\)\)"),
    ("X", pd.Series([0.0] * 3), TypeError, r"X is a series; .*X.to_frame\(\)"),
    ("X", [[0.0]] * 3, TypeError, "data frame .* or an array of two dimensions, not 'list'"),
    ("X", None, TypeError, "not 'NoneType'"),
    ("X", MASKED, TypeError, "X is a masked array: pass X.astype"),
    (
        "X",
        pd.DataFrame({"a": [0.5, Unwritten(), 1]}),
        ValueError,
        "^row 1: feature 'a': 'utf-8' codec",
    ),
    ("X", pd.DataFrame({"a": [1, 10**400, 2]}), ValueError, "^row 1: feature 'a': .*too large"),
    ("X", pd.DataFrame({"a": CATEGORIES}), ValueError, "feature 'a': .*has the code 100"),
    *(
        ("X", pa.table({"a": each}), ValueError, f"^feature 'a': pyarrow cannot read .*{match}")
        for each, match in (
            (pa.chunked_array([coded([0, 1]), coded([-1])]), "out of bounds: -1 "),
            (NO_UTF8, "UTF8 sequence at string index 1"),
            (coded([2, 1, 0], NO_UTF8), "UTF8 sequence at string index 1"),
            (texts([0, 5, 4], b"abcd"), ""),
        )
    ),
    *(
        ("X", X, TypeError, "^row 1: feature '?0'?: a date")
        for each in MOMENTS
        for X in frames_of(each)
    ),
    ("y", pa.chunked_array([NO_UTF8]), ValueError, "^y: .*UTF8 sequence at string index 1"),
    ("y", pd.Series(CATEGORIES), ValueError, "row 2: y: no category has the code 100"),
    ("y", np.ma.masked_array(["x", "y", "x"]), TypeError, "y is a masked array"),
    ("y", pa.array([True, None, True]), ValueError, "^row 1: a label must not be None"),
    ("w", pa.array([1.0, None, 1.0]), TypeError, "^row 1: w must be a number"),
    ("y", ["x"], ValueError, "^X has 3 rows and y has 1$"),
    ("w", np.ma.masked_array([1.0, 2.0, 3.0]), TypeError, "w is a masked array"),
    *(("w", w, ValueError, LENGTHS) for w in ([1.0], (1.0,), np.ones(1), pd.Series([1.0]))),
    *(("y", make(["x", "y", "z"]), TypeError, "^y must be a series") for make in NO_SEQUENCES),
    *(("y", y, TypeError, "^y must be a series") for y in (7, np.array("x"), pa.scalar(1))),
    ("y", np.ones((3, 2)), TypeError, r"^y must have one dimension, not the shape \(3, 2\)"),
    *(("w", make([1.0, 2.0, 3.0]), TypeError, r"\bw must be a") for make in NO_SEQUENCES),
    *(
        ("w", kind(w), TypeError, "^row 0: w must be a number, not ")
        for w in NO_NUMBERS
        for kind in (np.array, pd.Series, list)
    ),
]


@pytest.mark.parametrize(
    ("name", "value", "error", "match"),
    REFUSED,
    ids=[f"{i}-{each[0]}" for i, each in enumerate(REFUSED)],
)
def test_refused(name: str, value: Any, error: type[Exception], match: str) -> None:
    """In words that say what and where it is; nothing is learned."""
    model = tree_of()
    before = frozen(model)
    n = len(value) if name == "X" and hasattr(value, "__len__") else 3
    given = {"X": NUMBERS, "y": ["x", "y", "x"][:n], "w": 1.0, name: value}
    for call in (model.learn_many, model.predict_learn_many, model.predict_proba_learn_many):
        with pytest.raises(error, match=match):
            call(**given)
    for ask in (model.predict_many, model.predict_proba_many) if name == "X" else ():
        with pytest.raises(error, match=match):
            ask(value)
    assert frozen(model) == before


def test_numbers_that_are_none_are_refused_as_targets() -> None:
    """Those in which numpy finds a float."""
    model = ret.StreamDecisionTreeRegressor(seed=1)
    for kind in (np.array, pd.Series, list):
        for y in map(kind, NO_NUMBERS):
            with pytest.raises(TypeError, match=r"^row 0: the target must be a number, not "):
                model.learn_many(NUMBERS, y)
    assert model.n_samples_seen == 0


@pytest.mark.parametrize("y", [[0, 1, 0], [0.5, 1.0, 0.5], ["u", "v", "u"]])
def test_targets_in_an_array_of_one_column(y: list[Any]) -> None:
    """They are taken as scikit-learn takes them."""
    X = np.arange(3.0).reshape(3, 1)
    models = [ret.StreamDecisionTreeClassifier(seed=1) for _ in range(2)]
    models[0].learn_many(X, y, w=[1.0, 2.0, 3.0])
    models[1].learn_many(X, np.array(y).reshape(3, 1), w=np.array([[1.0], [2.0], [3.0]]))
    assert models[0].predict_proba_one({0: 1.0}) == models[1].predict_proba_one({0: 1.0})


def test_unknown_moments_are_missing() -> None:
    """In arrays, frames and samples alike."""
    for unit in ("M8[D]", "m8[s]"):
        moments = np.array(["NaT"] * 3, unit)
        for X in frames_of(moments):
            model = ret.StreamDecisionTreeClassifier(seed=1)
            model.learn_many(X, [True, False, True])
            assert (model.n_samples_seen, model._core.schema.names) == (3, [])
            assert len(model.predict_many(X)) == 3
        ret.StreamDecisionTreeClassifier().learn_one({"a": moments[0]}, True)


# --- What is taken


@pytest.mark.parametrize("case", FIRST, ids=str)
def test_frame_without_columns_or_rows(case: Case) -> None:
    """Its rows are samples without features; no samples, if the frame has no rows either."""
    model, x, y = taught(case)
    twin = model.clone(include_attributes=True)
    model.learn_many(pd.DataFrame(index=range(3)), [y] * 3)
    learn(twin, [({}, y)] * 3)
    assert persistence.save_bytes(model) == persistence.save_bytes(twin)
    assert model.predict_many(pd.DataFrame(index=range(2))).to_list() == [model.predict_one({})] * 2
    assert model.predict_many(pl.DataFrame()).to_list() == []
    assert list(make(case).predict_many(pl.DataFrame({"a": []}))) == []
    if is_classifier(case):
        labels = list(model.predict_proba_one(x))
        for kind in FRAMES.values():
            found = narwhals.from_native(model.predict_proba_many(kind({"a": [0.5][:0]})))
            assert (found.columns, len(found)) == (labels, 0)
            assert found.schema.dtypes() == [narwhals.Float64] * len(labels)
            nothing = make(case).predict_proba_many(kind({"a": [0.5]}))
            assert narwhals.from_native(nothing).columns == []


# --- What is answered


def test_a_series_has_one_type_whatever_the_answers() -> None:
    """That of all labels, so that the answers for two frames fit together."""
    model = learn(make(("StreamDecisionTreeClassifier", 0)), [({"a": 1.0}, 1)] * 9)
    X = pl.DataFrame({"a": [1.0]})
    for label, dtype in ((1, pl.Int64), (2.5, pl.Float64), ("text", pl.Object)):
        model.learn_one({"a": 0.0}, label)
        assert model.predict_many(X).dtype == dtype
        assert model.predict_many(X).to_list() == [1]


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
    assert list(found.row(0)) == pytest.approx(list(model.predict_proba_one({}).values()))
    learn(model, [({}, Same()), ({}, Same())])
    with pytest.raises(ValueError, match="same"):
        model.predict_proba_many(kind({"a": [0.5]}))
    assert len(model.predict_proba_many(pd.DataFrame({"a": [0.5]})).columns) == 6


@pytest.mark.parametrize(
    "labels", [(Colour.RED, 0.5), (Level.LOW, "low"), ((1, 2), (1, 3))], ids=repr
)
def test_pyarrow_has_no_objects(labels: tuple[Any, Any]) -> None:
    """Labels that it has no type for are refused by their types."""
    match = rf"no series of pyarrow can hold these labels .*\b{type(labels[0]).__name__}\b"
    with pytest.raises(TypeError, match=match):
        tree_of(labels).predict_many(pa.table({"a": [0.0, 1.0]}))


def test_index_of_pandas_is_kept() -> None:
    """Of objects, too."""
    for labels in (("x", "y"), (Colour.RED, Colour.BLUE)):
        frame = pd.DataFrame({"a": [0.0, 1.0]}, index=[7, 5])
        found = tree_of(labels).predict_many(frame)
        assert (list(found), list(found.index), found.name) == (list(labels), [7, 5], "prediction")
        assert list(tree_of(labels).predict_proba_many(frame).index) == [7, 5]


@pytest.mark.parametrize("kind", FRAMES)
def test_numpy_labels(kind: str) -> None:
    """Labels from an array come back in a series of the type of Python's own."""
    X = FRAMES[kind]({"a": [0.0, 1.0] * 20})
    model = ret.StreamDecisionTreeClassifier(batch_size=5, seed=1)
    model.learn_many(X, np.array([False, True] * 20))
    found = narwhals.from_native(model.predict_many(X), series_only=True)
    assert (found.dtype, found.to_list()) == (narwhals.Boolean, [False, True] * 20)


@pytest.mark.parametrize("kind", FRAMES.values())
def test_frames_of_doubles_need_no_narwhals(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its wrappers would take longer than a tree takes for the frame."""
    frame = readable_frame(kind({"a": [0.5, 1.5], "b": [2.5, math.nan]}))
    monkeypatch.setattr(narwhals, "from_native", lambda *_, **__: 1 / 0)
    assert len(table_of(frame).columns) == 2
    assert len(series_of_numbers(np.zeros(2), frame)) == 2
    assert len(frame_of_shares(np.zeros((2, 2)), ["x", "y"], frame)) == 2


# --- Labels that another thread learns between two stretches of a frame


@pytest.mark.parametrize("learns", [False, True])
def test_labels_that_come_between_two_stretches(learns: bool) -> None:
    """They have no room in the answers of a frame that is only predicted."""
    model = tree_of()
    X = np.array([[0.0], [1.0]] * 300)
    batch = labelled_table_of(X, ["x", "y"] * 300, 1.0, False) if learns else table_of(X)
    reader = model._core.reader(batch, learns=learns)
    model._core.ask(reader, shares=True)
    model._core.read_stretch(reader)
    for i in range(500):
        model.learn_one({"a": 0.0}, f"new {i}")
    model._read_rows(reader)
    assert len(reader.names) == 2 + 500 * learns
    sums = reader.shares[:, :2].sum(axis=1)
    assert ((sums > 0.0) & (sums <= 1.0)).all()
    assert np.nansum(reader.shares, axis=1) == pytest.approx(1.0)


@pytest.mark.filterwarnings("ignore:the model tells 1,024 labels")
def test_labels_that_take_the_last_place_between_two_stretches() -> None:
    """The label of the later rows takes the place of another, and the frame names all of them."""
    model = tree_of()
    X = pd.DataFrame({"a": [0.0] * 500 + [1.0] * 100})
    batch = labelled_table_of(X, ["x"] * 500 + ["new"] * 100, 1.0, False)
    reader = model._core.reader(batch, learns=True)
    model._core.ask(reader)
    model._core.read_stretch(reader)
    for i in range(1022):
        model.learn_one({"a": 0.0}, f"other {i}")
    model._read_rows(reader)
    assert len(set(reader.names)) == len(reader.names) == 1025
    assert {reader.names[number] for number in reader.labels[1:5]} == {"x"}
    known = model.predict_proba_one({})
    assert "new" in known
    assert len(known) <= 1024
