"""Trees whose nodes take few bytes hold what others do, to the bit."""

from __future__ import annotations

import copy
import pickle
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import river_extra_trees as ret
from river_extra_trees._core.forests.compact_trees import CompactTrees
from river_extra_trees._core.state import StateError
from river_extra_trees._core.trees import Trees

WEIGHTS = st.one_of(
    st.sampled_from([0.0, 0.0, 1.0, 253.0, 254.0, 255.0, 65535.0, 65536.0, 1e300, 3e-308]),
    st.floats(0.0, 1e6),
)


def state(rows: list[list[float]], splits: int) -> dict[str, Any]:
    """Trees of one root that has so many splits, each the right child of the one before."""
    stats = np.array(
        [[max(row[1:]), float(max(row[1:]) > 0.0), row[0] if i < splits else 0.0, *row[1:]]
         for i, row in enumerate(rows)]
    )  # fmt: skip
    stats[(stats[:, 0] < 2.3e-308) & (stats[:, 0] > 0.0)] = 1.0
    stats[splits:, 2] = 0.0  # leaves have no gain
    return {
        "threshold": np.linspace(0.0, 1.0, splits),
        "links": np.array(
            [[i, 0, splits + i, i + 1 if i + 1 < splits else 2 * splits] for i in range(splits)],
            np.int32,
        ).reshape(splits, 4),
        "flags": np.zeros((splits, 2), np.uint8),
        "stats": stats,
    }


@settings(max_examples=30, deadline=None)
@given(st.data(), st.integers(0, 6), st.sampled_from([1, 2, 5, 16, 17, 50]))
def test_any_statistics_are_kept(data: st.DataObject, splits: int, n_classes: int) -> None:
    """Of leaves with no, one and several classes, and of inner nodes."""
    row = st.lists(WEIGHTS, min_size=n_classes + 1, max_size=n_classes + 1)
    rows = data.draw(st.lists(row, min_size=2 * splits + 1, max_size=2 * splits + 1))
    wanted = Trees.restored(state(rows, splits))
    found = CompactTrees.restored(wanted.state())
    copied = CompactTrees.restored(found.state())
    for trees in (found, copied, copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        trees.check()
        assert trees.preorder() == wanted.preorder()
        for node in wanted.preorder():
            assert trees.node(node) == wanted.node(node)
        columns = 3 if n_classes > 16 else 3 + n_classes
        np.testing.assert_array_equal(trees.state()["stats"], wanted.state()["stats"][:, :columns])


def test_numbers_are_refused() -> None:
    """Trees of a regression have no classes."""
    with pytest.raises(StateError, match="no such trees of numbers"):
        CompactTrees(0, True)


def test_codes_of_many_classes() -> None:
    """Codes that take one byte, two and eight."""
    rows = [[0.25] + [0.0] * 70_000 for _ in range(3)]
    for node, codes in enumerate([(253, 254, 255, 65_535, 65_536, 69_999), (255,), (69_999,)]):
        for code in codes:
            rows[node][1 + code] = 2.0
    wanted = Trees.restored(state(rows, 1))
    found = CompactTrees.restored(wanted.state())
    for trees in (found, CompactTrees.restored(found.state())):
        assert [trees.node(i) for i in range(3)] == [wanted.node(i) for i in range(3)]


DAMAGE: dict[str, dict[str, Any]] = {
    "no array": {"codes": [16]},
    "a class twice": {
        "lengths": np.array([0, 2, 0], np.int32),
        "codes": np.array([3, 3], np.int32),
        "weights": np.ones(2),
    },
    "codes of another type": {"codes": np.zeros(1)},
    "an unknown class": {"codes": np.array([17], np.int32)},
    "a negative class": {"codes": np.array([-1], np.int32)},
    "more codes than weights": {"codes": np.array([1, 2], np.int32)},
    "an endless weight": {"weights": np.array([np.inf])},
    "a negative weight": {"weights": np.array([-1.0])},
    "too few lengths": {"lengths": np.array([0, 1], np.int32)},
    "too long": {"lengths": np.array([0, 1, 1], np.int32)},
    "negative lengths": {"lengths": np.array([2, 0, -1], np.int32)},
    "no weight": {"weights": np.zeros(1)},
    "too few classes": {"n_classes": 16},
    "too many classes": {"n_classes": 2**31},
    "classes in two places": {"stats": np.zeros((3, 20))},
    "an endless total": {"stats": np.full((3, 3), np.inf)},
    "no total": {"stats": None},
}


@pytest.mark.parametrize("name", DAMAGE)
def test_impossible_lists_of_classes_are_refused(name: str) -> None:
    """States may come from a damaged or hostile file."""
    rows = [[0.25] + [0.0] * 17 for _ in range(3)]
    rows[1][17] = 2.0
    values = CompactTrees.restored(Trees.restored(state(rows, 1)).state()).state()
    CompactTrees.restored(values).check()
    with pytest.raises(StateError):
        CompactTrees.restored({**values, **DAMAGE[name]})
    for field in ("lengths", "codes", "weights", "stats"):
        with pytest.raises(StateError):
            CompactTrees.restored({key: value for key, value in values.items() if key != field})


@pytest.mark.parametrize("max_nodes", [7, 40, 10_000])
def test_structures_are_sound_at_any_time(max_nodes: int) -> None:
    """Ever new classes, weights that are not whole, leaves that are split and made again."""
    rng = random.Random(max_nodes)
    model = ret.ExtraTreesClassifier(
        n_models=6, batch_size=7, window_sizes=(15, 90), max_nodes=max_nodes, seed=1
    )
    for i in range(700):
        x = {name: rng.random() for name in "abc"}
        model.learn_one(x, rng.randrange(2 + i // 20), w=rng.choice([1.0, 1.0, 0.3, 1e-305]))
        if i % 5 == 0:
            model._core.check()


def with_many_classes(**parameters: Any) -> Any:
    """A forest that has learned 1,500 samples of 1,024 classes, which no feature foretells."""
    rng = random.Random(1)
    model = ret.ExtraTreesClassifier(n_models=8, seed=1, **parameters)
    for i in range(1_500):
        model.learn_one({name: rng.random() for name in "abcd"}, i % 1_024)
    return model


def test_a_leaf_takes_memory_for_the_classes_that_it_met() -> None:
    """A row of 1,024 classes would take 8 kB, the longest record 12 kB."""
    model = with_many_classes(window_sizes=(30, 1_200))
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
