"""Explanations beside those of shap, where it is installed: it is too large for every machine."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from river import datasets

import river_extra_trees as ret
from river_extra_trees._estimator.inspection import is_leaf
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


def as_dict(nodes: list[dict[str, Any]], answer: Callable[[Any], float]) -> dict[str, Any]:
    """A tree with numeric splits as `shap.TreeExplainer` takes it."""
    places = {node["node"]: place for place, node in enumerate(nodes)}
    weights = [node["weight"] if is_leaf(node) else 0.0 for node in nodes]
    for node in reversed(nodes):  # shap takes the weights of inner nodes as they are given
        if node["parent"] in places:
            weights[places[node["parent"]]] += weights[places[node["node"]]]
    left, right, missing = (
        [-1 if is_leaf(node) else places[node[side(node)]] for node in nodes]
        for side in (
            lambda _: "left",
            lambda _: "right",
            lambda node: "left" if node["missing_left"] else "right",
        )
    )
    return {
        "children_left": np.array(left),
        "children_right": np.array(right),
        "children_default": np.array(missing),
        "features": np.array([node["column"] for node in nodes]),
        "thresholds": np.array([0.0 if is_leaf(node) else node["cut"] for node in nodes]),
        "values": np.array([[answer(node) if is_leaf(node) else 0.0] for node in nodes]),
        "node_sample_weight": np.array(weights),
    }


def test_tree_explainer() -> None:
    """It finds the same contributions in trees with numbers, some of which are missing."""
    model = ret.StreamDecisionForestRegressor(n_models=5, batch_size=50, seed=1)
    rng = np.random.default_rng(1)
    for row in rng.random((600, 6)):
        x = {i: float(value) for i, value in enumerate(row) if value < 0.9}
        model.learn_one(x, math.sin(5.0 * row[0]) + row[1] * row[2])
    trees = [model._nodes(tree) for tree in range(model._n_trees)]
    assert all(node["weight"] > 0.0 for nodes in trees for node in nodes if is_leaf(node))
    explainer = shap.TreeExplainer(
        {
            "trees": [as_dict(nodes, lambda leaf: leaf["values"][0] / 5.0) for nodes in trees],
            "tree_output": "raw_value",
            "internal_dtype": np.float64,
            "input_dtype": np.float64,
        }
    )
    for row in rng.random((20, 6)):
        x = {i: float(value) for i, value in enumerate(row) if value < 0.9}
        _, base, parts = model._core.explain(x)
        wanted = explainer(np.array([model._core.row_of(x)]))
        assert base == pytest.approx(float(np.ravel(wanted.base_values)[0]), abs=1e-10)
        assert parts == pytest.approx(np.ravel(wanted.values), abs=1e-10)
