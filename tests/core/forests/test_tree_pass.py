"""Rows that pass through all trees of the default forest, and single samples between them."""

import copy
from typing import Any

import numpy as np
import pytest

from river_extra_trees import ExtraTreesRegressor
from river_extra_trees._core.forests.model_trees import LinearModels
from tests.tools.damage import small


@pytest.mark.parametrize("name", ["ExtraTreesClassifier", "ExtraTreesRegressor"])
def test_a_prediction_is_forgotten_when_rows_are_learned(name: str) -> None:
    """The leaves of the sample that was predicted last are looked up anew after other rows."""
    X = np.random.default_rng(1).normal(size=(240, 3))
    y: Any = X[:, 0] if "Regressor" in name else X[:, 0] > X[:, 1]
    x = dict(enumerate(X[0]))
    asked, silent = small(name), small(name)
    for start in range(0, 240, 12):
        asked.predict_one(x)
        for model in (asked, silent):
            model.learn_many(X[start : start + 12], y[start : start + 12])
        assert asked.predict_one(x) == copy.deepcopy(silent).predict_one(x)


def test_rows_whose_leaves_have_no_model() -> None:
    """A file may hold such leaves; the row before may reach one with a model."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 2))
    model = ExtraTreesRegressor(n_models=3, window_sizes=(200,), seed=1)
    model.learn_many(X, X @ [3.0, -2.0] + np.sin(5.0 * X[:, 0]))
    fields = model._core.models[1].state()
    fields["of_nodes"][::2] = -1
    model._core.models[1] = LinearModels.restored(fields)
    one = [copy.deepcopy(model).predict_one(dict(enumerate(x))) for x in X]
    assert model.predict_many(X).tolist() == one
