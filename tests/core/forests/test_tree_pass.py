"""Rows that pass through all trees of the default forest, and single samples between them."""

import copy
from typing import Any

import numpy as np
import pytest

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
