"""Trees whose nodes take few bytes."""

import random
from typing import Any

import numpy as np
import pytest

import river_extra_trees as ret
from river_extra_trees._core.forests.compact_trees import CompactTrees
from river_extra_trees._core.state import StateError


def test_numbers_are_refused() -> None:
    """Trees of a regression have no classes."""
    with pytest.raises(StateError, match="no such trees of numbers"):
        CompactTrees(0, True)


LEAF = {
    "n_values": 3,
    "gains": np.zeros(1),
    "threshold": np.array([3.0, 0.0]),
    "codes": np.array([-4, -1], np.int32),
    "cell_weights": np.array([0.5, 2.0, 1.0]),
    "cell_codes": np.array([2, 0, 1], np.int32),
    "next_cells": np.array([-1, -1, 1], np.int32),
    "free_cell": 0,
}
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
    "no first cell": {"codes": np.array([-5, -1], np.int32)},
    "a cell in no list": {"free_cell": -1},
    "no free cell": {"free_cell": 3},
    "a class in the node, but its cells": {"codes": np.array([0, -1], np.int32)},
    "a class of a node without samples": {"codes": np.array([-4, 0], np.int32)},
    "too few classes": {"n_values": 2},
    "too many classes": {"n_values": 2**31},
    "weights of classes": {"stats": np.zeros((2, 5))},
}


def test_a_list_of_cells() -> None:
    """Of two classes; one cell is free."""
    trees = CompactTrees.restored(LEAF)
    trees.check()
    assert trees.node(0)["values"] == [2.0, 1.0, 0.0]


@pytest.mark.parametrize("name", DAMAGE)
def test_impossible_cells_are_refused(name: str) -> None:
    """States may come from a damaged or hostile file."""
    with pytest.raises(StateError):
        CompactTrees.restored({**LEAF, **DAMAGE[name]})


@pytest.mark.parametrize(("code", "weight"), [(-1, 1.0), (3, 0.0), (3, 1.0)])
def test_a_weight_needs_a_class(code: int, weight: float) -> None:
    """The class of a leaf is an index."""
    values = {
        "n_values": 3,
        "gains": np.zeros(1),
        "threshold": np.array([weight, 0.0]),
        "codes": np.array([code, -1], np.int32),
    }
    with pytest.raises(StateError, match="no such class"):
        CompactTrees.restored(values)


def test_a_leaf_takes_memory_for_the_classes_that_it_met() -> None:
    """A row of 1,024 classes would take 8 kB."""
    rng = random.Random(1)
    model = ret.ExtraTreesClassifier(n_models=8, window_sizes=(30, 1_200), seed=1)
    for i in range(1_500):
        model.learn_one({name: rng.random() for name in "abcd"}, i % 1_024)
    for trees in model._core.trees:
        assert trees.__sizeof__() < 200 * trees.n_nodes + 130_000
    assert model._raw_memory_usage < 3_000_000


def test_a_node_takes_few_bytes() -> None:
    """With seven classes at most 64, spare room included; dense rows would take 116."""
    rng = random.Random(1)
    model = ret.ExtraTreesClassifier(n_models=4, window_sizes=(2_000,), seed=1)
    for _ in range(5_000):
        x = {name: rng.random() for name in "abcd"}
        model.learn_one(x, int(7 * x["a"]) if rng.random() < 0.9 else rng.randrange(7))
    for trees in model._core.trees:
        assert trees.__sizeof__() < 64 * trees.n_nodes
