"""The core of the stream decision forests: bootstraps, and the size of trees."""

import contextlib
import pickle
import random
from typing import Any

import numpy as np
import pandas as pd
import pytest

from river_extra_trees import (
    StreamDecisionForestClassifier,
    StreamDecisionForestRegressor,
    StreamDecisionTreeClassifier,
    StreamDecisionTreeRegressor,
)
from river_extra_trees._core.forests.stream import StreamForest
from river_extra_trees._core.state import StateError
from river_extra_trees._estimator import batch_forest
from tests.tools.estimators import frozen

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
    for x, y in rows(82):  # two of the third batch
        model.learn_one(x, y)
    losses = forest.tree_losses()
    worst = np.argsort(-losses, kind="stable")[: np.count_nonzero(losses)].tolist()
    assert forest.trees_to_replace(6) == worst
    assert forest.trees_to_replace(2) == worst[:2]
    assert len(worst) < 6 or model_class is not StreamDecisionForestClassifier


@pytest.mark.parametrize("model_class", FORESTS)
def test_trees_that_waited_are_those_that_grow_at_once(
    model_class: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In any batch, early trees too; so are their losses, and the bags of the next batch.

    While some wait, the others answer already; copies and rows of frames go on alike.
    """
    at_once, late, by_frames = (
        model_class(7, batch_size=40, n_swaps=2, seed=3, n_jobs=n_jobs) for n_jobs in (1, 1, 2)
    )
    n_equal = n_waiting = 0
    for i, (x, y) in enumerate(rows(130)):
        monkeypatch.setattr(batch_forest, "CELLS_PER_STEP", 10**9)
        at_once.learn_one(x, y, w=1.0 + i % 3)
        monkeypatch.setattr(batch_forest, "CELLS_PER_STEP", 1)
        late.learn_one(x, y, w=1.0 + i % 3)
        late = pickle.loads(pickle.dumps(late)) if i % 5 == 0 else late
        late._core.check()
        if late._core.n_waiting == 0:
            assert frozen(late) == frozen(at_once)
            n_equal += 1
        else:
            n_grown = 7 - late._core.n_waiting
            for tree in range(n_grown):
                assert late._core.nodes(tree) == at_once._core.nodes(tree)
            n_waiting += 1
    assert n_equal > 90
    assert n_waiting > 15
    X, y = zip(*rows(130), strict=True)
    for part in (slice(31), slice(31, 85), slice(85, 130)):
        weights = [1.0 + i % 3 for i in range(130)][part]
        by_frames.learn_many(pd.DataFrame(X[part]), list(y[part]), w=weights)
    assert frozen(by_frames._core) == frozen(late._core)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"n_waiting": 4}, "have to grow"),
        ({"n_waiting": 8}, "have to grow"),
        ({"n_per_step": 1}, ""),
        ({"n_per_step": 0}, "before the batch ends"),
        ({"full": None}, "without a batch"),
        ({"n_waiting": 0}, "without a batch"),
        ({"n_batches": 0}, "without a batch"),
        ({"plan": np.zeros((2, 2), np.int64)}, "without a plan"),
    ],
)
def test_files_of_trees_that_cannot_wait_are_refused(
    changes: dict[str, Any], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_forest, "CELLS_PER_STEP", 1)
    model = StreamDecisionForestClassifier(5, batch_size=20, seed=1)
    for x, y in rows(41):
        model.learn_one(x, y)
    values = model._core.state()
    StreamForest.restored(values)
    with pytest.raises(StateError, match=problem or None) if problem else contextlib.nullcontext():
        StreamForest.restored({**values, **changes})


def test_a_last_batch_that_is_not_full_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_forest, "CELLS_PER_STEP", 1)
    model = StreamDecisionForestClassifier(5, batch_size=20, seed=1)
    for x, y in rows(41):
        model.learn_one(x, y)
    values = model._core.state()
    with pytest.raises(StateError, match="not full"):
        StreamForest.restored({**values, "full": model._core.window})
