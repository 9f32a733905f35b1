"""A single tree notes the leaf of each sample of a batch, and does not look for it again."""

from __future__ import annotations

import random
from copy import deepcopy
from typing import Any

import pytest

from river_extra_trees._core.cart.splitter import Splitter
from river_extra_trees._core.forests.stream import StreamForest

Rows = list[tuple[dict[str, float], int]]


def rows_of(n: int) -> Rows:
    rng = random.Random(3)
    found = []
    for _ in range(n):
        x = {name: rng.random() for name in "abc"}
        found.append((x, int(x["a"] + x["b"] * rng.random() > 0.8)))
    return found


def forest_of(n_trees: int) -> StreamForest:
    return StreamForest(n_trees, False, 20, True, 1, n_trees > 1, 1.0)


def learn(forest: StreamForest, rows: Rows) -> None:
    for x, y in rows:
        if forest.learn(x, y):
            forest.grow(forest.n_batches, [Splitter("gini")], [], 3, 1000)


def nodes_of(forest: StreamForest, tree: int) -> list[dict[str, Any]]:
    trees = forest.trees[tree]
    return [trees.node(node) for node in trees.preorder()]


@pytest.mark.parametrize("at", [1, 9, 19])
def test_leaves_that_are_not_noted_are_looked_for(at: int) -> None:
    """A forest that was copied in the middle of a batch grows as the original does."""
    rows = rows_of(200)
    forest = forest_of(1)
    learn(forest, rows[: 100 + at])
    copy = deepcopy(forest)
    for each in (forest, copy):
        learn(each, rows[100 + at :])
    assert len(nodes_of(forest, 0)) > 20
    assert nodes_of(copy, 0) == nodes_of(forest, 0)
