"""Ranges of rows that are predicted side by side."""

import numpy as np
import pytest

import river_extra_trees as ret
from river_extra_trees._core.team import Team
from river_extra_trees._estimator.tables import table_of


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


@pytest.mark.parametrize("labels", [None, ["a", "b", "c"]])
def test_threads_of_a_shrub_ensemble(labels: list[str] | None) -> None:
    """Each thread mixes the trees in memory of its own."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6_000, 3))
    y = X[:, 0] if labels is None else np.array(labels)[1 * (X[:, 0] > 0) + (X[:, 1] > 0)]
    kind = ret.ShrubEnsembleRegressor if labels is None else ret.ShrubEnsembleClassifier
    model = kind(n_models=16, seed=1)
    model.learn_many(X[:80], y[:80])
    core = model._core
    readers = [core.reader(table_of(X)) for _ in range(2)]
    with Team(4) as team:
        for reader, help in zip(readers, (Team(1), team), strict=True):
            core.ask(reader, shares=labels is not None)
            while reader.row < len(X):
                core.read_stretch(reader, help)
    one, many = (r.numbers if labels is None else r.shares for r in readers)
    assert np.array_equal(one, many)
