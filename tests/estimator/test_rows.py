"""Columns become dicts for models of other packages only."""

import decimal
import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from river import base, metrics

import river_extra_trees as ret
from river_extra_trees import evaluate, keyed, persistence, streams
from river_extra_trees._estimator import rows
from river_extra_trees._estimator.rows import rows_of
from river_extra_trees.keyed.rows import rows_in
from tests.tools.contract import FIRST, Case
from tests.tools.estimators import make

MISSING = [None, math.nan, np.float64("nan"), pd.NA, pd.NaT, np.datetime64("NaT")]


def test_missing_values_are_absent() -> None:
    """And no others are, whatever a comparison of them yields."""
    for value in (*MISSING, decimal.Decimal("nan")):
        for other in (0, False, "", np.zeros(2), [math.nan], decimal.Decimal("snan")):
            columns = {"a": [value, other], 7: [1.5, pd.NA], "b": [other, False]}
            first, second = rows_of(columns, 2)
            assert list(first) == [7, "b"]
            assert list(second) == ["a", "b"]
            assert first["b"] is second["a"] is other
            assert second["b"] is False


class Recorder(base.Classifier):
    """A model of another package, which keeps what it is given."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        self.seen.append(x)

    def predict_one(self, x: dict[Any, Any]) -> Any:
        return len(self.seen) % 2 == 0


def test_other_models_get_the_same_rows_everywhere() -> None:
    """From evaluations, and from models by key."""
    frame = pd.DataFrame({"a": [0.5, math.nan, 2.5], "b": ["x", pd.NA, None]})
    expected = [{"a": 0.5, "b": "x"}, {}, {"a": 2.5}]
    model = Recorder()
    evaluate.progressive_val_score((frame, [True] * 3), model, metrics.Accuracy())
    assert model.seen == expected
    assert list(rows_in(["k"] * 3, frame).samples()) == [("k", x) for x in expected]


@pytest.mark.parametrize("case", FIRST, ids=str)
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table, np.array])
def test_our_models_read_columns(case: Case, kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """However a frame or a table comes to them."""
    monkeypatch.setattr(rows, "without_missing", lambda _: 1 / 0)
    columns = {"a": [i % 7 / 2 for i in range(40)], "b": ["red", "blue", None, "green"] * 10}
    model = make(case)
    is_classifier = isinstance(model, base.Classifier)
    y = [i % 3 == 0 if is_classifier else i % 5 / 2 for i in range(40)]
    X = kind([*zip(*columns.values(), strict=True)], object) if kind is np.array else kind(columns)
    model.learn_many(X, y, [1.0, 2.0] * 20)
    model.predict_many(X)
    model.predict_learn_many(X, y)
    if is_classifier:
        model.predict_proba_many(X)
        model.predict_proba_learn_many(X, y)
    metric = metrics.Accuracy() if is_classifier else metrics.MAE()
    evaluate.progressive_val_score((X, y), model, metric)
    table = [streams.Batch(range(1, 41), pa.table(columns), y)]
    evaluate.progressive_val_score(table, model, metric)


def test_names_with_nul_everywhere() -> None:
    """Of columns, targets, labels and keys, in evaluations and in models by key."""
    X = pl.DataFrame({"a\0": [0.0, 1.0] * 20, "": ["red", "gr\0en"] * 20, "y\0": ["u\0", "v"] * 20})
    model = ret.StreamDecisionTreeClassifier(batch_size=10, seed=1)
    evaluated = model.clone()
    evaluate.progressive_val_score(X, evaluated, metrics.Accuracy(), target="y\0")
    labels, keys = X["y\0"].to_list(), ["k\0", "l"] * 20
    X = X.drop("y\0")
    by_key, one_by_one = (keyed.KeyedModels(model.clone()) for _ in range(2))
    by_key.learn_many(keys, X, labels)
    for key, x, label in zip(keys, X.to_dicts(), labels, strict=True):
        model.learn_one(x, label)
        one_by_one.learn_one(key, x, label)
    assert persistence.save_bytes(evaluated) == persistence.save_bytes(model)
    assert list(by_key.predict_many(keys, X)) == [
        one_by_one.predict_one(key, x) for key, x in zip(keys, X.to_dicts(), strict=True)
    ]
