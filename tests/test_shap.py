"""Explanations beside those of shap, where it is installed: it is too large for every machine."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from river import datasets

import river_extra_trees as ret
from tests.tools.estimators import learn

shap = pytest.importorskip("shap")


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    pyplot.close("all")


def test_plots_take_explanations() -> None:
    """One of one prediction is a waterfall; those of several rows are bars and swarms."""
    rows = list(datasets.Phishing().take(300))
    model = learn(ret.ExtraTreesClassifier(n_models=10, seed=1), rows)
    shap.plots.waterfall(model.explain_one(rows[0][0]).to_shap(), show=False)
    together = model.explain_many(pd.DataFrame([x for x, _ in rows[:20]])).to_shap()
    shap.plots.bar(together, show=False)
    shap.plots.beeswarm(together, show=False)
    words = ret.StreamDecisionTreeRegressor(seed=1)
    for i in range(100):
        words.learn_one({"a": "uv"[i % 2], "b": i % 3}, float(i % 2))
    frame = pd.DataFrame({"a": ["u", "v"], "b": [1, 2]})
    shap.plots.beeswarm(words.explain_many(frame).to_shap(), show=False)


@pytest.mark.parametrize(
    "model",
    [
        ret.StreamDecisionForestRegressor(n_models=5, batch_size=50, seed=1),
        ret.ForgetfulRandomForestRegressor(n_models=5, seed=1),
        ret.ShrubEnsembleRegressor(n_models=5, window_size=60, seed=1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_tree_explainer(model: Any) -> None:
    """It finds the same contributions in trees with numbers, some of which are missing."""
    model = model.clone()
    rng = np.random.default_rng(1)
    for row in rng.random((600, 6)):
        x = {i: float(value) for i, value in enumerate(row) if value < 0.9}
        model.learn_one(x, math.sin(5.0 * row[0]) + row[1] * row[2])
    explainer = shap.TreeExplainer(model.to_shap())
    for row in rng.random((20, 6)):
        x = {i: float(value) for i, value in enumerate(row) if value < 0.9}
        (base,), (parts,) = model._core.explain(x).arrays()
        wanted = explainer(np.array([model._core.row_of(x)]))
        assert base == pytest.approx(float(np.ravel(wanted.base_values)[0]), abs=1e-10)
        assert parts == pytest.approx(np.ravel(wanted.values), abs=1e-10)


@pytest.mark.parametrize(
    "model",
    [
        ret.StreamDecisionForestClassifier(n_models=5, batch_size=50, seed=1),
        ret.ShrubEnsembleClassifier(n_models=5, window_size=60, seed=1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_tree_explainer_of_labels(model: Any) -> None:
    """Its outputs are the probabilities."""
    rows = list(datasets.Phishing().take(400))
    model = learn(model.clone(), rows)
    explainer = shap.TreeExplainer(model.to_shap())
    for x, _ in rows[:20]:
        found = explainer(np.array([model._core.row_of(x)]))
        shares = (found.base_values + found.values.sum(axis=1))[0]
        assert shares == pytest.approx(list(model.predict_proba_one(x).values()), abs=1e-9)
