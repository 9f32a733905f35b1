"""Ranges of rows that are predicted side by side."""

import numpy as np
import pytest

import river_extra_trees as ret


@pytest.mark.parametrize("n_jobs", [3, 150, 300])
def test_many_threads_predict_what_one_does(n_jobs: int) -> None:
    """Also with more threads than one stretch of rows has ranges for."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(9_000, 2))
    forest = {"n_models": 300, "batch_size": 30, "seed": 1}
    one = ret.StreamDecisionForestRegressor(**forest)
    many = ret.StreamDecisionForestRegressor(**forest, n_jobs=n_jobs)
    for model in (one, many):
        model.learn_many(X[:60], X[:60, 0])
    assert many.predict_many(X).tolist() == one.predict_many(X).tolist()
