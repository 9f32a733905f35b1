"""Rows that are read ahead are predicted and learned as rows that are read one by one."""

import math
import random
from typing import Any

import numpy as np
import pandas as pd
import pytest

import river_extra_trees as ret
from river_extra_trees import persistence
from river_extra_trees._estimator.tables import table_of
from tests.naive import frames as naive
from tests.tools.estimators import frozen
from tests.tools.forest_samples import sample

MODELS: dict[str, dict[str, Any]] = {
    "StreamDecisionTreeClassifier": {"batch_size": 50},
    "ForgetfulDecisionTreeRegressor": {"batch_size": 40},
    "ForgetfulRandomForestClassifier": {"n_models": 3, "batch_size": 90},
    "ShrubEnsembleClassifier": {"n_models": 3, "window_size": 20},
    "ExtraTreesClassifier": {"n_models": 21, "window_sizes": (10, 40, 200), "batch_size": 20},
    "ExtraTreesRegressor": {"n_models": 21, "window_sizes": (10, 40, 200), "batch_size": 20},
}


def made(name: str) -> Any:
    return getattr(ret, name)(**MODELS[name], seed=1)


def targets_of(name: str, scores: Any) -> list[Any]:
    return list(scores if name.endswith("Regressor") else np.minimum(scores * 2, 5).astype(int))


@pytest.mark.parametrize("name", MODELS)
def test_long_frames(name: str) -> None:
    """Rows that are only predicted are read ahead by the thousand; some lie far outside."""
    X = np.random.default_rng(1).random((5000, 3))
    X[::7, 0] = np.nan
    X[3::50, 1] *= 1e4
    model = made(name)
    model.learn_many(X[:400], targets_of(name, X[:400, 1]))
    rows = [*range(0, 5000, 20), 2047, 2048, 4095, 4096, 4999]
    expected = [model.predict_one(dict(enumerate(X[i].tolist()))) for i in rows]
    assert np.array(model.predict_many(X))[rows].tolist() == expected


@pytest.mark.parametrize("name", ["StreamDecisionTreeClassifier", "ExtraTreesRegressor"])
def test_many_columns(name: str) -> None:
    """Fewer rows are read at once if they have many columns."""
    X = np.random.default_rng(1).random((40, 9000))
    y = targets_of(name, X[:, 0])
    one_by_one, by_rows = made(name), made(name)
    expected, _ = naive.learn_many(one_by_one, X[:20], y[:20])
    assert by_rows.predict_learn_many(X[:20], y[:20]).tolist() == expected
    assert frozen(by_rows) == frozen(one_by_one)
    assert by_rows.predict_many(X).tolist() == [by_rows.predict_one(x) for x in naive.rows_of(X)]


@pytest.mark.parametrize("name", [name for name in MODELS if "batch_size" in MODELS[name]])
def test_rows_without_weight_after_loading(name: str) -> None:
    """They change nothing, though the window of a loaded model has no memory for columns yet."""
    model, n = made(name), MODELS[name]["batch_size"]
    X = np.random.default_rng(3).random((n, 200))
    y = targets_of(name, X[:, 0])
    model.learn_many(X, y)
    state = persistence.save_bytes(model)
    loaded = persistence.load_bytes(state)
    loaded.learn_many(X, y, np.zeros(n))
    loaded.predict_learn_many(X, y, 0.0)
    assert persistence.save_bytes(loaded) == state
    for each in (loaded, model):
        each.learn_many(X, y, np.arange(n) % 3)
    assert persistence.save_bytes(loaded) == persistence.save_bytes(model)


@pytest.mark.parametrize("name", ["StreamDecisionTreeClassifier", "ShrubEnsembleClassifier"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_numbers_that_become_infinite(name: str, order: Any) -> None:
    """A number that becomes infinite after the batch was checked is read as missing."""
    X = np.array(np.random.default_rng(2).random((200, 3)), order=order)
    model = made(name)
    model.learn_many(X, targets_of(name, X[:, 0]))
    reader = model._core.reader(table_of(X))
    model._core.ask(reader)
    X[70:140:3, 0] = math.inf
    X[71:140:3, 1] = -math.inf
    while reader.row < reader.n:
        model._core.read_stretch(reader)
    X[np.isinf(X)] = np.nan
    labels = model._core.labels.labels
    assert [labels[code] for code in reader.labels] == model.predict_many(X).tolist()


@pytest.mark.parametrize("name", ["ExtraTreesClassifier", "ExtraTreesRegressor"])
def test_other_rows_between_an_answer_and_its_target(name: str) -> None:
    """The weights learn from the predictions for the sample, not from those for other rows."""
    model, other, rng = made(name), made(name), random.Random(2)
    rows = [sample(rng, i)[0] for i in range(100)]
    for i, x in enumerate(rows):
        assert model.predict_one(x) == other.predict_one(x)
        if i > 80:
            model.predict_many(pd.DataFrame(rows[:20]))
        for each in (model, other):
            each.learn_one(x, i % 3)
    assert frozen(model) == frozen(other)
