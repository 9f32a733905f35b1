"""The core of the stream decision forests: bootstraps, and the size of trees."""

import random
from typing import Any

import numpy as np
import pytest

from river_extra_trees import (
    StreamDecisionForestClassifier,
    StreamDecisionForestRegressor,
    StreamDecisionTreeClassifier,
    StreamDecisionTreeRegressor,
)

FORESTS = [StreamDecisionForestClassifier, StreamDecisionForestRegressor]
ALL = [*FORESTS, StreamDecisionTreeClassifier, StreamDecisionTreeRegressor]


def rows(n: int) -> list[tuple[dict[str, Any], int]]:
    """Samples that can be learned, by classifiers and regressors alike."""
    rng = random.Random(0)
    found = []
    for _ in range(n):
        x: dict[str, Any] = {name: rng.random() for name in "abcd"}
        x["colour"] = rng.choice(["red", "green", "blue"])
        found.append((x, int(3 * x["a"] + (x["colour"] == "red"))))
    return found


def test_each_tree_learns_a_bootstrap_of_its_own() -> None:
    """As many draws as the batch has samples, the same ones again from the same seed."""

    def weights(seed: int) -> Any:
        model = StreamDecisionForestClassifier(20, batch_size=40, max_nodes=1, seed=seed)
        for x, y in rows(40):
            model.learn_one(x, y)
        return np.array([tree.node(0)["values"] for tree in model._core.trees])

    found = weights(1)
    assert (found == found.round()).all()
    assert (found.sum(axis=1) == 40.0).all()
    assert len(np.unique(found, axis=0)) > 15
    assert (weights(1) == found).all()
    assert (weights(2) != found).any()


@pytest.mark.parametrize("model_class", ALL)
@pytest.mark.parametrize("max_nodes", [1, 2, 9])
def test_number_of_nodes_is_bounded(model_class: Any, max_nodes: int) -> None:
    """No tree has more than `max_nodes` nodes, neither in the first batch nor later."""
    model = model_class(batch_size=40, max_nodes=max_nodes, seed=5)
    for x, y in rows(400):
        model.learn_one(x, y)
        assert all(tree.n_nodes <= max_nodes for tree in model._core.trees)


@pytest.mark.parametrize("model_class", FORESTS)
def test_the_worst_trees_have_the_largest_losses(model_class: Any) -> None:
    """On the batch that is complete; trees without an error are not among them."""
    model = model_class(6, batch_size=40, n_swaps=0, seed=1)
    forest = model._core
    for x, y in rows(100):
        model.learn_one(x, y)
    losses = forest.tree_losses()
    worst = np.argsort(-losses, kind="stable")[:3].tolist()
    assert sorted(forest.trees_to_replace(3)) == sorted(worst)
    assert len(forest.trees_to_replace(6)) == np.count_nonzero(losses)
