"""What is shown of trees with linear models: texts and trees say what the tree answers."""

import random
from typing import Any

import numpy as np
import pytest

import river_extra_trees as ret
from river_extra_trees import plotting
from river_extra_trees._estimator.inspection import path
from tests.tools.estimators import learn

MEANS, LEAVES, ROOT = range(3)  # a forest of three trees has one of each kind, in this order
ADDED = {MEANS: "", LEAVES: " + linear model", ROOT: " + model of the root"}
Row = tuple[dict[str, Any], float]


def rows(n: int, seed: int) -> list[Row]:
    """A bent plane, with missing values and a nominal feature."""
    rng = random.Random(seed)
    found: list[Row] = []
    for _ in range(n):
        x: dict[str, Any] = {name: rng.uniform(-1.0, 1.0) for name in "abc"}
        y = abs(x["a"]) * 10.0 + 3.0 * x["b"] - x["c"] + rng.gauss(0.0, 0.1)
        found.append(({**x, "colour": rng.choice(["red", "blue"])}, y))
        if rng.random() < 0.1:
            found[-1][0]["c"] = None
    return found


@pytest.fixture(scope="module")
def model() -> Any:
    model = ret.ExtraTreesRegressor(
        n_models=3, window_sizes=(400,), max_depth=3, max_features=None, seed=1
    )
    return learn(model, rows(600, 0))


def answer(model: Any, tree: int, x: dict[str, Any]) -> float:
    """Of one tree: the mean of its leaf, and its linear model worked out by hand."""
    *_, leaf = path(model._nodes(tree), model._core.row_of(x))
    state = model._core.models[tree].state()
    if not leaf["coefficients"]:
        return leaf["values"][0]
    number = 0 if state["kind"] == "root" else state["of_nodes"][leaf["node"]]
    *slopes, at_mean, limit = state["coefficients"][number]
    row = model._core.row_of(x)
    z = [
        0.0 if np.isnan(row[column]) else (row[column] - center) * scale
        for column, center, scale in zip(
            state["columns"], state["centers"], state["scales"], strict=True
        )
    ]
    return leaf["values"][0] + float(np.clip(np.dot(slopes, z) - at_mean, -limit, limit))


@pytest.mark.parametrize(("tree", "added"), ADDED.items())
def test_a_tree_tells_what_is_added_to_the_means(model: Any, tree: int, added: str) -> None:
    """An explanation ends with what the tree answers; so do the leaves of texts and pictures."""
    for x, _ in rows(30, 1):
        last = model.debug_one(x, tree).splitlines()[-1]
        wanted = f"{answer(model, tree, x):.6g}"
        assert last.endswith(f"){added} = {wanted}") if added else f": {wanted} (sd " in last
    leaves = [line for line in model.to_text(tree).splitlines() if "(sd " in line]
    assert len(leaves) > 3
    assert all(line.endswith(")" + added) for line in leaves)
    boxes = plotting.TreeDisplay.from_estimator(model, tree=tree, max_depth=None).plot().boxes
    splits = {box.parent for box in boxes}
    for box in [box for i, box in enumerate(boxes) if i not in splits]:
        mean, weight = box.text.rsplit("\n", 1)
        assert mean.replace("\n+", " +").endswith(")" + added)
        assert weight.startswith("weight ")


def test_explanations_change_nothing() -> None:
    """A forest that is asked between prediction and learning learns the same."""
    asked, other = (ret.ExtraTreesRegressor(n_models=6, seed=1) for _ in range(2))
    stranger = rows(1, 5)[0][0]
    for x, y in rows(150, 2):
        for one in (asked, other):
            one.predict_one(x)
        asked.debug_one(stranger, tree=4)
        asked.learn_one(x, y)
        other.learn_one(x, y)
    assert asked.to_dataframe().equals(other.to_dataframe())
    assert asked.predict_one(stranger) == other.predict_one(stranger)


def test_boxes_of_dynamic_trees_tell_of_linear_models() -> None:
    """Their leaves are linear, too."""
    model = learn(ret.DynamicTreeRegressor(n_particles=3, seed=1), rows(300, 0))
    boxes = plotting.TreeDisplay.from_estimator(model, tree=1).plot().boxes
    assert any("about the fit)\n+ linear model" in box.text for box in boxes)
