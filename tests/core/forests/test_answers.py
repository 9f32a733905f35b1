"""A forest with several memories predicts several rows of a batch at once, tree by tree."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pandas as pd
import pytest

import river_extra_trees as ret
from river_extra_trees import persistence
from tests.tools.forest_samples import sample

N = 700  # rows: more than are read ahead


def trained(task: str, n: int = 400, **parameters: Any) -> Any:
    """A forest of trees of several sizes, that has read mixed and missing values."""
    settings = {"n_models": 21, "window_sizes": (10, 40, 200), "batch_size": 20, "seed": 1}
    model = getattr(ret, "ExtraTrees" + task)(**{**settings, **parameters})
    rng = random.Random(2)
    for i in range(n):
        x, a, b, c = sample(rng, i)
        y = a + b + (c == "r")
        model.learn_one(x, y if task == "Regressor" else min(int(3 * y), 5))
    return model


def frame(n: int) -> tuple[list[Any], Any]:
    """Rows of the same kind; some have a value that no model knows."""
    rng = random.Random(3)
    rows = [sample(rng, i)[0] for i in range(n)]
    for i in range(0, n, 90):
        rows[i] = {**rows[i], "new": f"value {i}"}
    names = {name: None for row in rows for name in row}
    return rows, pd.DataFrame({name: [row.get(name) for row in rows] for name in names})


@pytest.mark.parametrize("task", ["Classifier", "Regressor"])
@pytest.mark.parametrize("n_samples", [0, 1, 9, 400])
def test_many_rows_get_the_answers_of_single_rows(task: str, n_samples: int) -> None:
    model = trained(task, n_samples)
    _, X = frame(N)
    dicts = X.to_dict("records")
    assert model.predict_many(X).tolist() == [model.predict_one(x) for x in dicts]
    if task == "Classifier" and n_samples:
        found = model.predict_proba_many(X)
        assert found.to_dict("records") == [model.predict_proba_one(x) for x in dicts]


@pytest.mark.parametrize("task", ["Classifier", "Regressor"])
def test_few_rows_of_many_columns(task: str) -> None:
    """With so many columns, the memory for rows that are read ahead holds only a few rows."""
    model = trained(task, 0)
    X = np.random.default_rng(1).random((40, 9000))
    model.learn_many(X[:12], X[:12, 0] if task == "Regressor" else X[:12, 0] > 0.5)
    assert model.predict_many(X).tolist() == [
        model.predict_one(dict(enumerate(row))) for row in X.tolist()
    ]


@pytest.mark.parametrize("task", ["Classifier", "Regressor"])
def test_other_rows_between_an_answer_and_its_target(task: str) -> None:
    """The weights learn from the predictions for the sample, not from those for other rows."""
    model, other = trained(task), trained(task)
    rows, X = frame(20)
    for row in rows:
        target = 1.5 if task == "Regressor" else 1
        assert model.predict_one(row) == other.predict_one(row)
        model.predict_many(X)
        model.learn_one(row, target)
        other.learn_one(row, target)
    assert persistence.save_bytes(model) == persistence.save_bytes(other)
