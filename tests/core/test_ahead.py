"""Rows that are read ahead are predicted and learned as rows that are read one by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import river_extra_trees as ret
from river_extra_trees import persistence
from river_extra_trees._estimator.columns import table_of
from tests.naive import frames as naive

MODELS: dict[str, dict[str, Any]] = {
    "StreamDecisionTreeClassifier": {"batch_size": 50},
    "StreamDecisionTreeRegressor": {"batch_size": 70},
    "StreamDecisionForestClassifier": {"n_models": 2, "batch_size": 64},
    "ForgetfulDecisionTreeRegressor": {"batch_size": 40},
    "ForgetfulRandomForestClassifier": {"n_models": 3, "batch_size": 90},
    "ShrubEnsembleClassifier": {"n_models": 3, "window_size": 20},
    "ShrubEnsembleRegressor": {"n_models": 3, "window_size": 20},
    "DynamicTreeClassifier": {"n_particles": 4, "window": 20},
}


def made(name: str) -> Any:
    return getattr(ret, name)(**MODELS[name], seed=1)


def samples(
    name: str, n: int, rng: np.random.Generator, odd: float
) -> tuple[pd.DataFrame, list[Any], list[float]]:
    """Samples. A share `odd` of the rows has a value or a label that may be new."""
    is_odd = rng.random(n) < odd
    values = rng.choice(["red", "green", ""], n).astype(object)
    values[is_odd] = [f"colour {k}" for k in rng.integers(0, 9, is_odd.sum())]
    numbers = rng.random(n)
    X = pd.DataFrame(
        {
            "a": np.where(rng.random(n) < 0.2, np.nan, numbers),
            "b": [value or None for value in values],
            "late": np.where(np.arange(n) >= rng.integers(0, n + 1), rng.random(n), np.nan),
            "c": rng.random(n),
        }
    )
    w = np.where(rng.random(n) < 0.1, 0.0, rng.choice([1.0, 0.5], n)).tolist()
    if name.endswith("Regressor"):
        return X, (numbers * 3).tolist(), w
    labels = np.where(rng.random(n) < odd / 4, rng.integers(0, 9, n), numbers > 0.5)
    return X, labels.tolist(), w


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**32),
    lengths=st.lists(st.one_of(st.integers(0, 9), st.integers(60, 70), st.just(200)), max_size=4),
    odd=st.sampled_from([0.0, 0.02, 0.5]),
    numeric=st.booleans(),
)
def test_any_rows(name: str, seed: int, lengths: list[int], odd: float, numeric: bool) -> None:
    """New values, labels and columns, missing values and weights 0 may be in any row."""
    rng = np.random.default_rng(seed)
    model = made(name)
    for n in lengths:
        X, y, w = samples(name, n, rng, odd)
        if numeric:
            del X["b"]
        state = persistence.save_bytes(model)
        learned = persistence.load_bytes(state)
        answered = persistence.load_bytes(state)
        expected, _ = naive.learn_many(model, X, y, w)
        learned.learn_many(X, y, w)
        assert answered.predict_learn_many(X, y, w).tolist() == expected
        state = persistence.save_bytes(model)
        assert persistence.save_bytes(learned) == state
        assert persistence.save_bytes(answered) == state
        model._core.check()
        rows = naive.rows_of(X)
        assert model.predict_many(X).tolist() == [model.predict_one(x) for x in rows]
        if hasattr(model, "predict_proba_one") and model._core.labels.labels:
            shares = [list(model.predict_proba_one(x).values()) for x in rows]
            assert model.predict_proba_many(X).to_numpy().tolist() == shares


def test_many_columns() -> None:
    """Fewer rows are read at once if they have many columns."""
    X = np.random.default_rng(1).random((100, 3000))
    y = (X[:, 0] > 0.5).tolist()
    one_by_one, by_rows = made("StreamDecisionTreeClassifier"), made("StreamDecisionTreeClassifier")
    expected, _ = naive.learn_many(one_by_one, X, y)
    assert by_rows.predict_learn_many(X, y).tolist() == expected
    assert persistence.save_bytes(by_rows) == persistence.save_bytes(one_by_one)


@pytest.mark.parametrize("name", [name for name in MODELS if "batch_size" in MODELS[name]])
def test_rows_without_weight_after_loading(name: str) -> None:
    """They change nothing, though the window of a loaded model has no memory for columns yet."""
    model = made(name)
    n = MODELS[name]["batch_size"]
    X = np.random.default_rng(3).random((n, 200))
    y = (X[:, 0] > 0.5).tolist()
    model.learn_many(X, y)
    state = persistence.save_bytes(model)
    loaded = persistence.load_bytes(state)
    loaded.learn_many(X, y, np.zeros(n))
    loaded.predict_learn_many(X, y, 0.0)
    assert persistence.save_bytes(loaded) == state
    loaded.learn_many(X, y, np.arange(n) % 3)
    model.learn_many(X, y, np.arange(n) % 3)
    assert persistence.save_bytes(loaded) == persistence.save_bytes(model)


@pytest.mark.parametrize("name", ["StreamDecisionTreeClassifier", "ShrubEnsembleClassifier"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_numbers_that_become_infinite(name: str, order: Any) -> None:
    """A number that becomes infinite after the batch was checked is read as missing."""
    rng = np.random.default_rng(2)
    X = np.array(rng.random((200, 3)), order=order)
    model = made(name)
    model.learn_many(X, (X[:, 0] > 0.5).tolist())
    reader = model._core.reader(table_of(X))
    model._core.ask(reader)
    X[70:140:3, 0] = math.inf
    X[71:140:3, 1] = -math.inf
    while reader.row < reader.n:
        model._core.go_on(reader)
    X[np.isinf(X)] = np.nan
    labels = model._core.labels.labels
    assert [labels[code] for code in reader.labels] == model.predict_many(X).tolist()
