"""Frames go into the core as columns, and mean what the dicts of their rows mean, to the bit."""

import collections
import copy
import datetime
import decimal
import itertools
import math
import random
from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import river_extra_trees as ret
from tests.naive import frames as naive
from tests.tools.contract import FIRST, Case, is_finite
from tests.tools.estimators import CLASSES, frozen, is_classifier, learn, make, stream
from tests.tools.inputs import TAKEN_FEATURES

pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")

Values = list[Any]

# --- Any values

# Values of a column.
KINDS: dict[str, Callable[[random.Random], Any]] = {
    "floats": lambda rng: rng.choice([rng.random(), rng.gauss(0, 1), -0.0, 5e-324, math.nan]),
    "few floats": lambda rng: float(rng.randrange(3)),
    "whole": lambda rng: rng.choice([rng.randrange(9), 2**53 + 1, -(2**62) - 1, 2**63 - 1]),
    "infinite": lambda rng: math.inf if rng.random() < 0.02 else rng.random(),
    "flags": lambda rng: rng.random() < 0.5,
    "texts": lambda rng: rng.choice(["red", "green", "", "0", "blue\0", "ä"]),
    "many texts": lambda rng: f"value {rng.randrange(1500)}",
    "dates": lambda rng: datetime.date(2026, 11, 1 + rng.randrange(20)),
    "bytes": lambda rng: rng.choice([b"x", b"y"]),
    "decimals": lambda rng: decimal.Decimal(rng.randrange(99)) / 10,
    "none": lambda rng: None,
    "mixed": lambda rng: rng.choice([1, 0.5, "red", pd.NA, *TAKEN_FEATURES]),
    "mixed, some refused": lambda rng: (
        rng.choice([math.inf, 1j, [1], pd.Timestamp("2026-11-22"), (math.nan,), 10**400])
        if rng.random() < 0.02
        else rng.choice([0.5, "red"])
    ),
}
REFUSED = {"infinite", "dates", "mixed, some refused"}
NUMERIC = ["floats", "few floats", "whole"]


def column(library: str, kind: str, n: int, rng: random.Random) -> Any:
    """Values, a tenth of them missing in some columns, in one of the types of a library."""
    draw, share = KINDS[kind], rng.choice([0.0, 0.1])
    missing = math.nan if "floats" in kind else None
    values = [missing if rng.random() < share else draw(rng) for _ in range(n)]
    coded = "texts" in kind and rng.random() < 0.5
    if library == "pandas":
        plain = [object] if "mixed" in kind or kind in ("bytes", "decimals") else [object, None]
        return pd.Series(values, dtype="category" if coded else rng.choice(plain))
    if library == "polars":
        plain = [pl.Object] if "mixed" in kind else [None]
        return pl.Series(values, dtype=pl.Categorical if coded else rng.choice(plain))
    array, cut = pa.array(values, from_pandas=False), rng.randrange(n + 1)
    array = array.dictionary_encode() if coded else array
    return pa.chunked_array([array[:cut], array[cut:]], type=array.type)


FRAMES: dict[str, Any] = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
OF_ANY_TYPES: list[Callable[[Values], Any]] = [
    *(list, tuple, collections.deque),
    lambda values: np.array(values, dtype=object),
    lambda values: pd.Series(values, range(len(values), 0, -1), object),
]
OF_ONE_TYPE: list[Callable[[Values], Any]] = [
    *(pd.Index, pd.Series, pl.Series, pa.array),
    lambda values: pd.Series(values, dtype="category"),
    lambda values: pa.array(values).dictionary_encode(),
    lambda values: pa.chunked_array([values]),
]


def frame(library: str, kinds: list[str], n: int, rng: random.Random) -> Any:
    """A frame with such columns, some of them with names that other frames have not."""
    if library == "numpy":  # of one type
        values = np.empty((n, len(kinds)), dtype=object)
        for place in np.ndindex(values.shape):
            values[place] = KINDS[kinds[-1]](rng)
        if kinds[-1] in (*NUMERIC, "infinite", "flags", "texts"):
            values = np.array(values.tolist()).reshape(values.shape)
        return np.asfortranarray(values) if rng.random() < 0.5 else values
    columns = {}
    for i, kind in enumerate(kinds):
        name = f"{kind[0]}{i if rng.random() < 0.7 else rng.randrange(50)}"
        try:
            columns[name] = column(library, kind, n, rng)
        except (TypeError, ValueError, OverflowError, pa.ArrowException, pl.exceptions.PolarsError):
            assume(False)
    return FRAMES[library](columns)


def sequence(values: Values, library: str, rng: random.Random) -> Any:
    """Values in a sequence of a kind that can hold them."""
    kinds = OF_ANY_TYPES.copy()
    if len({*map(type, values)}) < 2:
        kinds += [*OF_ONE_TYPE, np.array] if library == "numpy" else OF_ONE_TYPE
    return rng.choice(kinds)(values)


def targets(case: Case, n: int, library: str, rng: random.Random) -> Values:
    """Targets; of labels those that a series holds together with the others."""
    if not is_classifier(case):
        return [rng.choice([rng.gauss(0, 1), rng.gauss(0, 1), -2.5]) for _ in range(n)]
    kinds = (["low", "high"], ["low", "new", "newer"], [1, 2, 3], [True, False], [1, True, 1.0])
    return rng.choices(["low", "new"] if library == "pyarrow" else rng.choice(kinds), k=n)


def weights(n: int, rng: random.Random) -> Any:
    each = [rng.choice([1.0, 0.5, 0.0, 1e-310, 3.0]) for _ in range(n)]
    return rng.choice([1.0, 2.0, sequence(each, "numpy", rng)])


def rows_of_shares(found: Any, labels: Values) -> list[Values]:
    if isinstance(found, np.ndarray):
        return found.tolist()
    table = narwhals.from_native(found)
    columns = [table[:, i].to_list() for i in range(len(labels))]
    assert len(columns) == len(table.columns)
    return [list(row) for row in zip(*columns, strict=True)]


def shown(answers: Any) -> str:
    return repr(answers.tolist() if isinstance(answers, np.ndarray) else naive.values_of(answers))


def said(call: Callable[..., Any], *arguments: Any) -> tuple[Any, str]:
    """What a call returns, and what it says if it refuses."""
    try:
        return call(*arguments), ""
    except (TypeError, ValueError) as error:
        return None, f"{type(error).__name__}: {error}"


WITH_DISTRIBUTIONS = ("DynamicTreeRegressor", "ExtraTreesRegressor")
LENGTHS = st.integers(0, 9) | st.integers(60, 70) | st.just(260)  # rows are read ahead


@pytest.mark.parametrize("case", FIRST, ids=str)
@settings(max_examples=6)
@given(
    seed=st.integers(0, 2**32),
    library=st.sampled_from([*FRAMES, "numpy"]),
    kinds=st.sampled_from([NUMERIC, [*KINDS]]),
    plans=st.lists(
        st.tuples(LENGTHS, st.lists(st.integers(0, 12), max_size=5)), min_size=1, max_size=3
    ),
)
def test_frames_are_learned_as_their_rows(
    case: Case, seed: int, library: str, kinds: list[str], plans: list[tuple[int, list[int]]]
) -> None:
    """Whatever their types, values, labels and weights; and refused in the same words."""
    rng = random.Random(seed)
    alike = learn(make(case), stream(case, rng.choice([0, 5, 70])))
    for n, chosen in plans:
        model = alike  # extra trees that were asked below remember it
        columns = ["few floats", *(kinds[i % len(kinds)] for i in chosen)]
        X = frame(library, columns, n, rng)
        y, w = sequence(targets(case, n, library, rng), library, rng), weights(n, rng)
        alike, by_answers, by_shares = (copy.deepcopy(model) for _ in range(3))
        expected, words = said(naive.learn_many, model, X, y, w)
        assert not words or REFUSED & {*columns}
        assert said(alike.learn_many, X, y, w)[1] == words
        found, refusal = said(by_answers.predict_learn_many, X, y, w)
        assert refusal == words
        state = frozen(model)
        assert frozen(alike) == frozen(by_answers) == state
        if words:
            assert said(model.predict_many, X)[1] == words
            if case[0] in WITH_DISTRIBUTIONS:
                assert said(model.predict_many, X, True)[1] == words
            continue
        model._core.check()
        assert shown(found) == repr(expected[0])
        rows = naive.rows_of(X)
        assert all(is_finite(model, x) for x in rows[-9:] if model.n_samples_seen)
        assert shown(model.predict_many(X)) == repr([model.predict_one(x) for x in rows])
        for each in (model, model.snapshot()) if case[0] in WITH_DISTRIBUTIONS else ():
            wanted = [model.predict_one(x, with_dist=True)._get_params() for x in rows]
            answers = each.predict_many(X, with_dist=True)
            assert repr([answer._get_params() for answer in answers]) == repr(wanted)
        labels = list(model.predict_proba_one({})) if is_classifier(case) else []
        if labels:
            found = by_shares.predict_proba_learn_many(X, y, w)
            assert frozen(by_shares) == state
            shares = [[share.get(label, math.nan) for label in labels] for share in expected[1]]
            assert repr(rows_of_shares(found, labels)) == repr(shares)
            now = [list(model.predict_proba_one(x).values()) for x in rows]
            assert repr(rows_of_shares(model.predict_proba_many(X), labels)) == repr(now)


@pytest.mark.parametrize("name", ["ExtraTreesClassifier", "ShrubEnsembleClassifier"])
def test_gaps_in_rows_of_numbers(name: str) -> None:
    """Rows with gaps, some with a new label, reach the leaves that their dicts reach."""
    rng = random.Random(3)
    X = pd.DataFrame(
        {key: [rng.choice([rng.random(), math.nan]) for _ in range(300)] for key in "abc"}
    )
    y = [f"label {i // 25}" if rng.random() < 0.5 else "other" for i in range(300)]
    model, by_rows = (getattr(ret, name)(seed=1) for _ in range(2))
    expected, _ = naive.learn_many(by_rows, X, y)
    assert shown(model.predict_learn_many(X, y)) == repr(expected)
    assert frozen(model) == frozen(by_rows)


# --- However a library lays them out


NAMES = ["a", "b", "c"]
ODD_NAMES = ["a\0", "\0", "", "b\0c", "ä\u200b", "\U0001f333"]
NUMBERS = np.array(
    [
        *([0.0, -0.0, np.nan], [1.5, -2.0, 5e-324], [1e308, np.nan, 3.0], [1.0, 0.0, 1.0]),
        *([np.nan, np.nan, np.nan], [0.0, 1.0, 2.0], [1.5, 1.0, 0.0], [-7.0, 1e-300, 0.0]),
    ]
)
WORDS = ["b", "a", "ä", "", "b\0", "long enough for a buffer of its own"]
TEXTS = ["b", "a", None, "ä", "", "b\0", WORDS[-1], "b"]
CODES = [None if text is None else WORDS.index(text) for text in TEXTS]


def layouts() -> Iterator[tuple[str, Any]]:
    """Arrays, frames and tables, of which each holds some values in its own way."""
    n, k = NUMBERS.shape
    wide = np.zeros((2 * n, 3 * k))
    wide[::2, ::-3] = NUMBERS
    shifted = np.zeros(NUMBERS.nbytes + 1, np.uint8)[1:].view(np.float64).reshape(n, k)
    shifted[:] = NUMBERS
    frozen = NUMBERS.copy()
    frozen.flags.writeable = False
    arrays = [NUMBERS, np.asfortranarray(NUMBERS), wide[::2, ::-3], NUMBERS[::-1], shifted, frozen]
    arrays += [NUMBERS.astype(">f8"), NUMBERS.astype(object), NUMBERS.view(np.matrix)]
    small = np.array([[0, 1, 0], [1, 1, 0], [0, 0, 1]])
    kinds = ("bool", "int8", "uint64", "float32", "float16", "longdouble")
    for i, array in enumerate([*arrays, *map(small.astype, kinds)]):
        yield f"array {i}", array

    block, columns = pd.DataFrame(NUMBERS, columns=NAMES), dict(zip(NAMES, NUMBERS.T, strict=True))
    parts = pd.concat([block[[name]].copy() for name in NAMES], axis=1)
    frames = [block, parts, pd.DataFrame(NUMBERS.T.copy(), index=NAMES).T, block[::-2]]
    frames += [pd.concat([parts, parts]).iloc[:n], parts.astype({"a": object})]
    frames += [block.astype("Float64"), block.astype("float64[pyarrow]")]
    frames += [block.astype({name: pd.SparseDtype(float) for name in "bc"})]
    text = pd.Series(TEXTS, dtype="str")
    kinds_of_text = (object, "string[python]", "string[pyarrow]", "category")
    texts = [text, *map(text.astype, kinds_of_text), text.astype("category")[::-1]]
    texts += [pd.Series([None] * 8, dtype=pd.CategoricalDtype([]))]
    for values in (WORDS, ["b", 2.5], ["b", (1, "pair")], ["b", b"a"], ["b", "\ud800"]):
        codes = [-1 if code is None else code % len(values) for code in CODES]
        texts.append(pd.Series(pd.Categorical.from_codes(codes, pd.Index(values, dtype=object))))
    names = [pd.Index(each, dtype=object) for each in (["a", None], [1, 2.5, "a", (1, 2)])]
    names += [pd.RangeIndex(3), pd.Index([0.5, 1.0], dtype="float32"), pd.Index([True, False])]
    names += [pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]), pd.CategoricalIndex(["x", "y"])]
    names += [pd.date_range("2020", periods=2, tz="UTC"), pd.Index(pd.array([1, 2], "Int64"))]
    frames += [pd.DataFrame(np.resize(NUMBERS, (8, len(each))), columns=each) for each in names]
    for i, each in enumerate([*frames, *(pd.DataFrame({"a": each}) for each in texts)]):
        yield f"pandas {i}", each

    nulls = pa.table({name: pa.array(each, from_pandas=True) for name, each in columns.items()})
    found: Any = pl.from_arrow(nulls)
    strings = pa.array(TEXTS)
    tables = [pa.table(columns), nulls, pa.concat_tables([nulls[:3], nulls[3:]])]
    tables += [pl.DataFrame(columns), found, pl.concat([found[:3], found[3:]])]
    tables += [pa.table({"a": pa.chunked_array([strings[:3], strings[3:]])})]
    tables += [
        pa.table({"a": strings.cast(kind)}) for kind in (pa.large_string(), pa.string_view())
    ]
    for dtype in (pl.String, pl.Categorical, pl.Enum(WORDS)):
        tables.append(pl.DataFrame({"a": pl.Series(TEXTS, dtype=dtype)}))
    coded = [part.dictionary_encode() for part in (strings[:3], strings[3:])]
    tables.append(pa.table({"a": pa.chunked_array(coded)}))
    for library in FRAMES.values():  # names with NUL, none, and beyond ASCII
        tables.append(library(dict(zip(ODD_NAMES, [*NUMBERS.T, TEXTS] * 2, strict=False))))
    for i, table in enumerate(tables):
        yield f"table {i}", table


LAYOUTS = dict(layouts())


@pytest.mark.parametrize("one_model", [False, True])
def test_layouts(one_model: bool) -> None:
    """Each, twice; also by a model that has read others before under the same names."""

    def new() -> Any:
        return ret.StreamDecisionTreeClassifier(batch_size=40 if one_model else 8, seed=1)

    model, by_rows = new(), new()
    for name, X in LAYOUTS.items():
        if not one_model:
            model, by_rows = new(), new()
        labels = ["u\0" if i % 3 else "v" for i in range(len(X))]
        for _ in range(2 - one_model):
            expected, _ = naive.learn_many(by_rows, X, labels)
            assert naive.values_of(model.predict_learn_many(X, labels)) == expected, name
            assert frozen(model) == frozen(by_rows), name
            rows = naive.rows_of(X)
            assert naive.values_of(model.predict_many(X)) == [by_rows.predict_one(x) for x in rows]


@pytest.mark.parametrize(
    "values",
    [
        [1, True, 1.0, np.int64(1), True],
        ["a", np.str_("a"), "b", "a", np.str_("b")],
        [(1, 2), (1.0, 2.0), (1, True), (1, 2), (1.0, 2.0)],
        [frozenset([1]), frozenset([True]), frozenset([1]), "x", frozenset([True])],
    ],
    ids=str,
)
def test_equal_values_of_different_types(values: Values) -> None:
    """A learner keeps the first that it learned, which need not be the first of the frame."""
    X = pd.DataFrame({"a": range(5), "c": pd.Series(values, dtype=object)})
    for first in range(5):
        w = [float(i >= first) for i in range(5)]
        model, by_rows = (ret.StreamDecisionTreeClassifier(seed=1) for _ in range(2))
        model.learn_many(X, values, w)
        naive.learn_many(by_rows, X, values, w)
        assert frozen(model) == frozen(by_rows)


# --- Read by several threads

# Enough trees and rows that the threads are used, with windows shorter than a stretch of rows.
FORESTS = [
    ("ExtraTreesClassifier", {"n_models": 20, "window_sizes": (5, 30, 100), "batch_size": 7}),
    ("ExtraTreesClassifier", {"n_models": 21, "window_sizes": (1, 40), "max_nodes": 25}),
    ("ExtraTreesRegressor", {"n_models": 24, "window_sizes": (5, 60), "batch_size": 9}),
    ("StreamDecisionForestClassifier", {"n_models": 20, "batch_size": 40}),
    ("StreamDecisionForestRegressor", {"n_models": 21, "batch_size": 30, "n_swaps": 2}),
    ("ForgetfulRandomForestClassifier", {"n_models": 22, "batch_size": 50, "bagging": True}),
    ("ForgetfulRandomForestRegressor", {"n_models": 20, "batch_size": 40}),
]


@pytest.mark.parametrize(("name", "parameters"), FORESTS)
@settings(max_examples=3)
@given(
    seed=st.integers(0, 1000),
    n_labels=st.sampled_from([1, 2, 10]),
    cuts=st.lists(st.integers(0, 260), max_size=3).map(sorted),
)
def test_number_of_threads(
    name: str, parameters: dict[str, Any], seed: int, n_labels: int, cuts: list[int]
) -> None:
    """The state is equal to the bit for any number of threads, and without a frame."""
    rows = list(stream((name, 0), 260, seed))
    X, y = pd.DataFrame([x for x, _ in rows]), [y for _, y in rows]
    if name.endswith("Classifier"):
        y = [f"{label} {i * n_labels // len(y)}" for i, label in enumerate(y)]  # some come late
    w = np.random.default_rng(seed).choice([0.0, 1.0, 1.0, 2.5], len(X)).tolist()
    one_by_one = CLASSES[name](**parameters, seed=4)
    expected, _ = naive.learn_many(one_by_one, X, y, w)
    many = pd.concat([X] * 8, ignore_index=True)  # enough rows for all threads
    asked = copy.deepcopy(one_by_one)  # extra trees remember the questions of single rows
    later = [asked.predict_one(x) for x in naive.rows_of(X)] * 8
    for n_jobs in (1, 2, 3, 8):
        model = CLASSES[name](**parameters, n_jobs=n_jobs, seed=4)
        said = []
        for start, stop in itertools.pairwise([0, *cuts, len(X)]):
            part = slice(start, stop)
            said += naive.values_of(model.predict_learn_many(X[part], y[part], w[part]))
        model._core.check()
        assert said == expected
        assert naive.values_of(model.predict_many(many)) == later
        assert frozen(model._core) == frozen(one_by_one._core)


@pytest.mark.parametrize(
    "name", [each for each in CLASSES if "n_jobs" in signature(CLASSES[each]).parameters]
)
def test_all_cores(name: str) -> None:
    """-1 stands for all cores."""
    model = CLASSES[name](n_jobs=-1, seed=1)
    assert model.n_jobs == -1
    assert 1 <= model._team().n_threads <= model._n_trees


def test_the_categories_of_an_enum_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame of few rows may have a type with a million of them, which is made when asked for."""
    words = pl.Series("a", ["u", None, "v"], dtype=pl.Enum(["u", "v", "w"]))
    frame, y = pl.DataFrame({"a": words, "b": [1, 2, 3]}), words.fill_null("w")
    expected, its_answers = made(frame.cast({"a": pl.String}), y.cast(pl.String))

    def make(*_: Any) -> None:
        raise AssertionError("the type was made")

    monkeypatch.setattr(pl.Enum, "__init__", make)
    model, answers = made(frame, y)
    assert frozen(model) == frozen(expected)
    assert answers == its_answers


def made(X: Any, y: Any) -> Any:
    """A pipeline that has learned a frame, and its answers."""
    kinds, tree = ret.ColumnKinds(), ret.StreamDecisionTreeClassifier(seed=1)
    kinds.learn_many(X)
    for each in (X, kinds.transform_many(X)):
        tree.learn_many(each, y)
    return tree, tree.predict_many(X).to_list()
