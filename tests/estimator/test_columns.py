"""Frames go into the core as columns, and mean what the dicts of their rows mean, to the bit."""

from __future__ import annotations

import copy
import datetime
import decimal
import math
import pickle
import random
from collections.abc import Callable
from typing import Any

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import river_extra_trees as ret
from river_extra_trees import persistence
from tests.naive import frames as naive
from tests.tools.estimators import CLASSES, is_classifier, learn, make, stream

Values = list[Any]
Case = tuple[str, int]
CASES = [(name, 0) for name in CLASSES]

# Values of a column, none of which is refused unless the name says so.
KINDS: dict[str, Callable[[random.Random], Any]] = {
    "floats": lambda rng: rng.choice([rng.random(), rng.gauss(0, 1), -0.0, 5e-324, math.nan]),
    "few floats": lambda rng: float(rng.randrange(3)),
    "infinite": lambda rng: math.inf if rng.random() < 0.02 else rng.random(),
    "whole": lambda rng: rng.choice([rng.randrange(9), 2**53 + 1, -(2**62) - 1, 2**63 - 1]),
    "flags": lambda rng: rng.random() < 0.5,
    "texts": lambda rng: rng.choice(["red", "green", "", "0", "blue\0", "ä"]),
    "many texts": lambda rng: f"value {rng.randrange(1500)}",
    "dates": lambda rng: datetime.date(2026, 11, 1 + rng.randrange(20)),
    "bytes": lambda rng: rng.choice([b"x", b"y"]),
    "decimals": lambda rng: decimal.Decimal(rng.randrange(99)) / 10,
    "none": lambda rng: None,
    "mixed": lambda rng: rng.choice(
        [1, True, 0.5, "red", None, math.nan, b"x", (1, "pair"), 2**70, np.float32(0.1), pd.NA]
    ),
    "mixed, some refused": lambda rng: (
        rng.choice([math.inf, 1j, [1], pd.Timestamp("2026-11-22"), (math.nan,), 10**400])
        if rng.random() < 0.02
        else rng.choice([0.5, "red"])
    ),
}
MISSING = {"floats": math.nan, "few floats": math.nan}


def column(kind: str, n: int, missing: float, rng: random.Random) -> Values:
    draw = KINDS[kind]
    return [MISSING.get(kind) if rng.random() < missing else draw(rng) for _ in range(n)]


def as_pandas(kind: str, values: Values, rng: random.Random) -> Any:
    """One of the types that pandas has for such values."""
    types: list[Any] = [object]
    if not kind.startswith("mixed") and kind not in ("bytes", "decimals"):
        types += [None]
    if "texts" in kind or kind in ("whole", "flags", "few floats"):
        types += ["category"]
    if kind == "whole":
        types += ["Int64"]
    if kind == "flags":
        types += ["boolean"]
    if "floats" in kind:
        types += ["float32", "Float64", "float[pyarrow]", pd.SparseDtype(float)]
    if "texts" in kind:
        types += ["str", "string[python]", "string[pyarrow]"]
    dtype, cut = rng.choice(types), rng.randrange(len(values) + 1)
    if "texts" not in kind or dtype == "category":
        return pd.Series(values, dtype=dtype)
    parts = [pd.Series(part, dtype=dtype) for part in (values[:cut], values[cut:])]
    return pd.concat(parts, ignore_index=True)  # in two chunks, if pyarrow holds them


def as_polars(kind: str, values: Values, rng: random.Random) -> Any:
    types: list[Any] = [None]
    if kind.startswith("mixed") or kind == "whole":
        types = [pl.Object] if kind.startswith("mixed") else [None, pl.Object]
    if "texts" in kind:
        types += [pl.Categorical, pl.Enum(sorted({v for v in values if v is not None}))]
    if "floats" in kind:
        types += [pl.Float32]
    return pl.Series(values, dtype=rng.choice(types))


def as_pyarrow(kind: str, values: Values, rng: random.Random) -> Any:
    array = pa.array(values, from_pandas=False)
    if "texts" in kind and rng.random() < 0.7:
        array = rng.choice([array.dictionary_encode, lambda: array.cast(pa.large_string())])()
    cut = rng.randrange(len(values) + 1)
    return pa.chunked_array([array[:cut], array[cut:]], type=array.type)


LIBRARIES: dict[str, Any] = {
    "pandas": (as_pandas, pd.DataFrame),
    "polars": (as_polars, pl.DataFrame),
    "pyarrow": (as_pyarrow, pa.table),
}


def frame(library: str, kinds: list[str], n: int, rng: random.Random) -> Any:
    """A frame with such columns, some of them with names that other frames have not."""
    columns = {}
    read, make_frame = LIBRARIES[library]
    for i, kind in enumerate(kinds):
        name = f"{kind[0]}{i if rng.random() < 0.7 else rng.randrange(50)}"
        values = column(kind, n, rng.choice([0.0, 0.1]), rng)
        try:
            columns[name] = read(kind, values, rng)
        except (TypeError, ValueError, OverflowError, pa.ArrowException, pl.exceptions.PolarsError):
            assume(False)
    return make_frame(columns)


def array(kinds: list[str], n: int, rng: random.Random) -> Any:
    """An array of two dimensions, of one type."""
    kind = kinds[0]
    values = np.empty((n, len(kinds)), dtype=object)
    for i in range(len(kinds)):
        values[:, i] = column(kind, n, 0.0, rng)
    if kind in ("floats", "few floats", "infinite", "whole", "flags", "texts"):
        values = np.array(values.tolist()).reshape(n, len(kinds))
    return np.asfortranarray(values) if rng.random() < 0.5 else values


def series(library: str, values: Values) -> Any:
    if library == "pandas":
        return pd.Series(values)
    if library == "polars":
        return pl.Series(values)
    return pa.chunked_array([values]) if library == "pyarrow" else np.array(values)


def targets(case: Case, n: int, library: str, rng: random.Random) -> Values:
    """Targets; of labels those that a series holds together with the others."""
    if not is_classifier(case):
        return [rng.choice([rng.gauss(0, 1), rng.gauss(0, 1), -2.5]) for _ in range(n)]
    labels = rng.choice([["low", "high"], ["low", "new", "newer"], [1, 2, 3], [True, False]])
    if library == "pyarrow":
        labels = ["low", "new"]
    return [rng.choice(labels) for _ in range(n)]


def weights(n: int, rng: random.Random) -> Any:
    each = [rng.choice([1.0, 0.5, 0.0, 1e-310, 3.0]) for _ in range(n)]
    return rng.choice([1.0, 1.0, 2.0, each, np.array(each)])


def shown(answers: Any) -> Values:
    """A series of any kind as a list; whole numbers and texts as Python has them."""
    return answers.tolist() if isinstance(answers, np.ndarray) else naive.values_of(answers)


def rows_of_shares(found: Any, labels: Values) -> list[Values]:
    if isinstance(found, np.ndarray):
        return found.tolist()
    table = narwhals.from_native(found)
    columns = [table[:, i].to_list() for i in range(len(labels))]
    assert len(columns) == len(table.columns)
    return [list(row) for row in zip(*columns, strict=True)]


def said(call: Callable[..., Any], *arguments: Any) -> tuple[Any, str]:
    """What a call returns, and what it says if it refuses."""
    try:
        return call(*arguments), ""
    except (TypeError, ValueError) as error:
        return None, f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("case", CASES, ids=str)
@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    seed=st.integers(0, 2**32),
    library=st.sampled_from([*LIBRARIES, "numpy"]),
    plans=st.lists(
        st.tuples(st.lists(st.sampled_from([*KINDS]), max_size=5), st.integers(0, 45)),
        min_size=1,
        max_size=3,
    ),
)
def test_frames_are_learned_as_their_rows(
    case: Case, seed: int, library: str, plans: list[tuple[list[str], int]]
) -> None:
    """Whatever their types, values, labels and weights; and refused in the same words."""
    rng = random.Random(seed)
    model = learn(make(case), stream(case, rng.choice([0, 5, 70])))
    for kinds, n in plans:
        kinds = ["few floats", *kinds]
        X = array(kinds, n, rng) if library == "numpy" else frame(library, kinds, n, rng)
        y, w = series(library, targets(case, n, library, rng)), weights(n, rng)
        alike = copy.deepcopy(model)
        by_answers, by_shares = copy.deepcopy(model), copy.deepcopy(model)
        expected, words = said(naive.learn_many, model, X, y, w)
        assert said(alike.learn_many, X, y, w)[1] == words
        found, refusal = said(by_answers.predict_learn_many, X, y, w)
        assert refusal == words
        state = persistence.save_bytes(model)
        assert persistence.save_bytes(alike) == state
        assert persistence.save_bytes(by_answers) == state
        if words:
            continue
        assert repr(shown(found)) == repr(expected[0])
        rows = naive.rows_of(X)
        assert repr(shown(model.predict_many(X))) == repr([model.predict_one(x) for x in rows])
        labels = list(model.predict_proba_one({})) if is_classifier(case) else []
        if labels:
            found = by_shares.predict_proba_learn_many(X, y, w)
            assert persistence.save_bytes(by_shares) == state
            assert repr(rows_of_shares(found, labels)) == repr(
                [[share.get(label, math.nan) for label in labels] for share in expected[1]]
            )
            now = [list(model.predict_proba_one(x).values()) for x in rows]
            assert repr(rows_of_shares(model.predict_proba_many(X), labels)) == repr(now)


EQUALS: list[Values] = [
    [1, True, 1.0, np.int64(1), True],
    ["a", np.str_("a"), "b", "a", np.str_("b")],
    [(1, 2), (1.0, 2.0), (1, True), (1, 2), (1.0, 2.0)],
    [frozenset([1]), frozenset([True]), frozenset([1]), "x", frozenset([True])],
]


@pytest.mark.parametrize("values", EQUALS, ids=str)
@pytest.mark.parametrize("name", ["StreamDecisionTreeClassifier", "ShrubEnsembleClassifier"])
def test_equal_values_of_different_types(name: str, values: Values) -> None:
    """A learner keeps the first that it learned, which need not be the first of the frame."""
    X = pd.DataFrame({"a": range(5), "c": pd.Series(values, dtype=object)})
    for first in range(5):
        w = [float(i >= first) for i in range(5)]
        one_by_one, by_rows = getattr(ret, name)(seed=1), getattr(ret, name)(seed=1)
        answers = []
        for i, (y, x) in enumerate(zip(values, X.to_dict("records"), strict=True)):
            answers.append(one_by_one.predict_proba_one(x))
            one_by_one.learn_one(x, y, w=w[i])
        found = by_rows.predict_proba_learn_many(X, values, w)
        assert pickle.dumps(by_rows) == pickle.dumps(one_by_one)
        assert repr(by_rows._core.labels.labels) == repr(one_by_one._core.labels.labels)
        labels = one_by_one._core.labels.labels
        assert repr(rows_of_shares(found, labels)) == repr(
            [[share.get(label, math.nan) for label in labels] for share in answers]
        )
