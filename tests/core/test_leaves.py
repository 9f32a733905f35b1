"""Leaves: their classes, and the few bytes that they take."""

import random
from typing import Any

import numpy as np
import pytest

import river_extra_trees as ret
from river_extra_trees._core.state import StateError
from river_extra_trees._core.trees import Trees

LEAF = {
    "n_values": 3,
    "counts": np.array([[2, -1, 3, 0]], np.int32),
    "threshold": np.array([3.0, 0.0]),
    "left": np.array([-4, -1], np.int32),
    "feature": np.array([0, 2**16 - 1], np.uint16),
    "nominal": np.zeros(2, np.uint8),
    "turns": np.zeros(2, np.uint8),
    "gains": np.zeros(1),
    "cell_weights": np.array([0.5, 2.0, 1.0]),
    "cell_codes": np.array([2, 0, 1], np.int32),
    "next_cells": np.array([-1, -1, 1], np.int32),
}


def counts(n_used: int = 2, free_pair: int = -1, n_cells: int = 3, free_cell: int = 0) -> Any:
    return {"counts": np.array([[n_used, free_pair, n_cells, free_cell]], np.int32)}


DAMAGE: dict[str, dict[str, Any]] = {
    "no array": {"cell_codes": [2, 0, 1]},
    "codes of another type": {"cell_codes": np.array([2.0, 0.0, 1.0])},
    "an unknown class": {"cell_codes": np.array([2, 3, 1], np.int32)},
    "a negative class": {"cell_codes": np.array([2, -1, 1], np.int32)},
    "fewer codes than weights": {"cell_codes": np.array([2, 0], np.int32)},
    "an endless weight": {"cell_weights": np.array([0.5, np.inf, 1.0])},
    "a negative weight": {"cell_weights": np.array([0.5, -1.0, 1.0])},
    "a class heavier than its leaf": {"cell_weights": np.array([0.5, 3.1, 1.0])},
    "an endless total": {"threshold": np.array([np.inf, 0.0])},
    "a negative total": {"threshold": np.array([-3.0, 0.0])},
    "a total without full precision": {"threshold": np.array([3e-313, 0.0])},
    "an endless list": {"next_cells": np.array([-1, 2, 1], np.int32)},
    "a cell in two lists": {"next_cells": np.array([1, -1, 1], np.int32)},
    "a cell that does not exist": {"next_cells": np.array([-1, 3, 1], np.int32)},
    "no first cell": {"left": np.array([-5, -1], np.int32)},
    "a cell in no list": counts(free_cell=-1),
    "no free cell": counts(free_cell=3),
    "a cell less than told": counts(n_cells=4),
    "a node more than told": counts(n_used=0),
    "nodes of no pair": counts(n_used=1),
    "a free pair that does not exist": counts(free_pair=2),
    "a root that is free": counts(free_pair=0),
    "a class in the node, but its cells": {"left": np.array([0, -1], np.int32)},
    "a sibling of the root": {"feature": np.zeros(2, np.uint16)},
    "a child that is its own parent": {"turns": np.array([2, 0], np.uint8)},
    "a split to which nothing goes": {"turns": np.array([1, 0], np.uint8)},
    "a leaf with a feature": {"feature": np.array([1, 2**16 - 1], np.uint16)},
    "moments of classes": {"moments": np.zeros((2, 2))},
    "visits that are not kept": {"visited": np.zeros(2)},
    "too few classes": {"n_values": 2},
    "too many classes": {"n_values": 2**31},
}


def test_a_list_of_cells() -> None:
    """Of two classes; one cell is free."""
    trees = Trees.restored(LEAF)
    trees.check()
    assert trees.node(0)["values"] == [2.0, 1.0, 0.0]


@pytest.mark.parametrize("name", DAMAGE)
def test_impossible_cells_are_refused(name: str) -> None:
    """States may come from a damaged or hostile file."""
    with pytest.raises(StateError):
        Trees.restored({**LEAF, **DAMAGE[name]})


@pytest.mark.parametrize(("code", "weight"), [(-1, 1.0), (3, 0.0), (3, 1.0)])
def test_a_weight_needs_a_class(code: int, weight: float) -> None:
    """The class of a leaf is an index."""
    leaf = {"threshold": np.array([weight, 0.0]), "left": np.array([code, -1], np.int32)}
    values = {**LEAF, **counts(n_cells=0, free_cell=-1), **leaf}
    for name in ("cell_weights", "cell_codes", "next_cells"):
        del values[name]
    with pytest.raises(StateError, match="no such class"):
        Trees.restored(values)


def test_the_moments_of_another_leaf_are_refused() -> None:
    """Their number follows from the place of the leaf in its tree."""
    trees = Trees(regression=True)
    trees.add_tree()
    state = dict(trees.state())
    with pytest.raises(StateError, match="the moments of another one"):
        Trees.restored(state | {"left": np.array([-3, -2], np.int32)})
    assert Trees.restored(state).state().keys() == state.keys()


def test_a_leaf_takes_memory_for_the_classes_that_it_met() -> None:
    """A row of 1,024 classes would take 8 kB."""
    rng = random.Random(1)
    model = ret.ExtraTreesClassifier(n_models=8, window_sizes=(30, 1_200), seed=1)
    for i in range(1_500):
        model.learn_one({name: rng.random() for name in "abcd"}, i % 1_024)
    trees = model._core.trees
    assert trees.__sizeof__() < 80 * trees.n_nodes
    assert model._raw_memory_usage < 2_000_000


def test_a_node_takes_few_bytes() -> None:
    """With seven classes at most 40, spare room included; a row of classes would take 56 more."""
    rng = random.Random(1)
    model = ret.ExtraTreesClassifier(n_models=4, window_sizes=(2_000,), seed=1)
    for _ in range(5_000):
        x = {name: rng.random() for name in "abcd"}
        model.learn_one(x, int(7 * x["a"]) if rng.random() < 0.9 else rng.randrange(7))
    assert model._core.trees.__sizeof__() < 40 * model._core.trees.n_nodes
