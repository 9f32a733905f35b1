"""What the weights of shrubs learn from: sums over the window, kept from sample to sample."""

from __future__ import annotations

import numpy as np
import pytest

from river_extra_trees import ShrubEnsembleClassifier
from river_extra_trees._core.shrubs import Shrubs
from river_extra_trees._estimator.inspection import goes_left
from tests.tools.shrub_runs import Stress


def true_sums(shrubs: Shrubs) -> tuple[list[float], list[list[float]]]:
    """The sums `hits` and `gram`, from the trees and the window."""
    state = shrubs.state()
    window = state["window"].values
    trees = [{node["node"]: node for node in shrubs.nodes(k)} for k in range(shrubs.n_trees)]
    roots = [next(iter(tree)) for tree in trees]
    hits = np.zeros(len(trees))
    gram = np.zeros((len(trees), len(trees)))
    for row, target, weight in zip(
        window["data"].T, window["target"], window["weight"], strict=True
    ):
        outputs = []
        for tree, root in zip(trees, roots, strict=True):
            node = tree[root]
            while node["feature"] is not None:
                node = tree[node["left" if goes_left(node, row) else "right"]]
            outputs.append([value / node["weight"] for value in node["values"]])
        h = np.array(outputs)
        hits += weight * h[:, int(target)]
        gram += weight * h @ h.T
    return hits, gram


def test_running_sums_are_true() -> None:
    """What is added and subtracted sample by sample stays what a fresh sum gives."""
    model = ShrubEnsembleClassifier(n_models=5, window_size=20, step_size=0.3, seed=1)
    for i, (x, y, w) in enumerate(Stress(3, False).rows(250)):
        model.learn_one(x, y, w=w)
        if i % 7 == 0:
            state = model._core.state()
            hits, gram = true_sums(model._core)
            tolerance = 1e-9 * state["total_weight"]
            assert state["hits"] == pytest.approx(hits, abs=tolerance)
            assert state["gram"] == pytest.approx(gram, abs=tolerance)
