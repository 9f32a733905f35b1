"""The forest with several memories against the naive one, sample by sample."""

from __future__ import annotations

import math
import pickle
import random
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import river_extra_trees as ret
from river_extra_trees._core.forests.memories import MemoryForest
from river_extra_trees._core.state import StateError
from tests.naive.cart import GROUP
from tests.naive.memory_forest import NaiveMemoryForest, Rules
from tests.naive.memory_tree import Node
from tests.tools.forest_samples import many_values, sample

Row = tuple[dict[Any, Any], Any, float]

MEMORIES = [(80, 3), (30, 2)]
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "entropy": {"rules": Rules("entropy"), "seed": 2},
    "all features": {"max_features": None, "seed": 3},
    "share of features": {"max_features": 0.5, "batch_size": 3, "seed": 4},
    "log2, leaves that keep all": {"max_features": "log2", "fading": 1.0, "seed": 5},
    "one feature, leaves of one sample": {"max_features": 1, "fading": 0.0, "seed": 6},
    "shallow": {"rules": Rules("gini", max_depth=3), "seed": 7},
    "stumps": {"rules": Rules("entropy", max_depth=1), "batch_size": 25, "seed": 8},
    "min_samples_split": {"rules": Rules("gini", min_samples_split=8), "seed": 9},
    "min_samples_leaf": {"rules": Rules("gini", min_samples_leaf=4), "seed": 10},
    "min_samples 1": {"rules": Rules("gini", min_samples_split=1), "batch_size": 1, "seed": 11},
    "max_nodes": {"max_nodes": 15, "seed": 12},
    "max_nodes 1": {"max_nodes": 1, "seed": 13},
    "max_nodes, large batches": {"max_nodes": 12, "batch_size": 40, "fading": 1.0, "seed": 14},
    "tiny memories": {"memories": [(1, 1), (7, 4), (2, 3)], "seed": 15},
    "one memory": {"memories": [(50, 1)], "batch_size": 60, "seed": 2**64 - 1},
}


def rows(n: int, seed: int) -> Iterator[Row]:
    """Numbers, nominal and missing values, new features, values and classes, drift, weights."""
    rng = random.Random(seed)
    for i in range(n):
        x, a, b, c = sample(rng, i)
        score = a + 0.2 * b + (c == "r") + 0.2 * rng.random()
        score = score if i < n // 2 else 2.5 - score
        label = "low" if score < 0.9 or i < 3 else "middle" if score < 1.5 or i < 70 else "high"
        yield x, label, rng.choice([1.0, 1.0, 0.5, 2.0, 0.0, 0.25])


def both(**changes: Any) -> tuple[MemoryForest, NaiveMemoryForest]:
    """The core and the naive forest, of the same settings."""
    settings: dict[str, Any] = {
        "memories": MEMORIES,
        "batch_size": 10,
        "fading": 0.9,
        "max_features": "sqrt",
        "max_nodes": 10_000,
        "rules": Rules(),
        "seed": 1,
        **changes,
    }
    rules = settings["rules"]
    depth = 2**31 - 1 if rules.max_depth == math.inf else rules.max_depth
    core = MemoryForest(
        **{**settings, "rules": {**vars(rules), "max_depth": depth}}, regression=False
    )
    return core, NaiveMemoryForest(**settings)


def naive_nodes(nodes: list[Node], n_labels: int) -> list[tuple[Any, ...]]:
    """What is compared of a naive tree in preorder: of statistics only those of leaves."""
    return [
        (
            node.number,
            node.depth,
            None if node.split is None else tuple(node.split),
            node.gain,
            None
            if node.split
            else (node.weight, [node.counts.get(code, 0.0) for code in range(n_labels)]),
        )
        for node in nodes
    ]


def core_nodes(core: MemoryForest, tree: int) -> list[tuple[Any, ...]]:
    """The same of the core's."""
    trees = core.trees[tree]
    found = []
    for node in map(trees.node, trees.preorder()):
        split = tuple(node[name] for name in ("feature", "threshold", "nominal", "missing_left"))
        found.append(
            (
                node["node"],
                node["depth"],
                None if node["feature"] < 0 else split,
                node["gain"],
                None if node["feature"] >= 0 else (node["weight"], node["values"]),
            )
        )
    return found


def assert_same_trees(core: MemoryForest, naive: NaiveMemoryForest) -> None:
    """Node for node and bit for bit."""
    for number, tree in enumerate(naive.trees):
        assert core_nodes(core, number) == naive_nodes(tree.preorder(), len(naive.labels)), number


def assert_same_answers(core: MemoryForest, naive: NaiveMemoryForest, x: dict[Any, Any]) -> None:
    """The memories' weights to the bit, probabilities but for rounding in naive Bayes."""
    assert core.window_weights() == [
        (group.memory, weight) for group, weight in zip(naive.groups, naive.weights, strict=True)
    ]
    found, wanted = core.predict_proba(x), naive.predict_proba(x)
    assert list(found) == list(wanted)
    for label, share in wanted.items():
        assert found[label] == pytest.approx(share, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("name", SETTINGS)
def test_same_as_naive(name: str) -> None:
    """Trees every other sample: what is wrong in them stays so for longer. Answers, weights."""
    core, naive = both(**SETTINGS[name])
    unknown = {"a": 0.4, "c": "never met", "later": "yes", "unknown": 3.0}
    for i, (x, y, w) in enumerate(rows(160, seed=3)):
        if i % 8 == 0:
            assert_same_answers(core, naive, x)
            assert_same_answers(core, naive, unknown)
        core.learn(x, y, w)
        naive.learn(x, y, w)
        if i % 2 == 0:
            assert_same_trees(core, naive)
    core.check()
    sizes = [len(tree.preorder()) for tree in naive.trees]
    if naive.max_nodes > 1:
        assert sum(sizes) > 2 * len(sizes)
    assert max(sizes) <= naive.max_nodes


def rows_with_many_values(n: int, seed: int) -> Iterator[Row]:
    rng = random.Random(seed)
    for i in range(n):
        x, score = many_values(rng, i)
        label = "low" if score < 2.0 else "high" if score > 5.0 and i > 30 else "middle"
        yield x, label, rng.choice([1.0, 1.0, 0.5, 2.0])


GROUPS: dict[str, dict[str, Any]] = {
    "plain": {},
    "entropy, all features": {"rules": Rules("entropy"), "max_features": None, "seed": 2},
    "min_samples_leaf": {"rules": Rules("gini", min_samples_leaf=4), "seed": 3},
    "large batches": {"batch_size": 60, "max_features": None, "max_nodes": 31, "seed": 4},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", GROUPS)
def test_groups_of_values_are_those_of_naive(name: str) -> None:
    """Nodes with many nominal values send groups of them left, missing values among them or not."""
    core, naive = both(memories=[(120, 2), (60, 1)], **GROUPS[name])
    met = set()
    unknown = {"first": "never met", "second": None, "a": 0.4}
    for i, (x, y, w) in enumerate(rows_with_many_values(260, seed=3)):
        if i % 20 == 0:
            core = pickle.loads(pickle.dumps(core))
            assert_same_answers(core, naive, x)
            assert_same_answers(core, naive, unknown)
        core.learn(x, y, w)
        naive.learn(x, y, w)
        if i % 4 == 0:
            assert_same_trees(core, naive)
            nodes = [node for tree in naive.trees for node in tree.preorder()]
            splits = [node.split for node in nodes if node.split is not None]
            met |= {(min(split.nominal, GROUP), split.missing_left) for split in splits}
    core.check()
    assert {(GROUP, True), (GROUP, False), (0, True), (0, False)} <= met
    assert (1, False) in met


CLASSES: dict[str, dict[str, Any]] = {
    "shallow": {"rules": Rules("gini", max_depth=2)},
    "max_nodes, large batches": {"max_nodes": 15, "batch_size": 25},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSES)
def test_many_classes_are_those_of_naive(name: str) -> None:
    """From one class to more than 30; with more than 16, leaves list their classes."""
    core, naive = both(memories=[(120, 1), (30, 1)], max_features=None, **CLASSES[name])
    rng = random.Random(1)
    most = 0
    for i, (x, _, w) in enumerate(rows(220, seed=5)):
        y = min(rng.randrange(1 + i // 4), rng.randrange(1 + i // 4))
        if i % 20 == 0:
            core = pickle.loads(pickle.dumps(core))
        if i == 100:
            assert_same_answers(core, naive, x)
        core.learn(x, y, w)
        naive.learn(x, y, w)
        if i % 3:
            continue
        assert_same_trees(core, naive)
        core.check()
        leaves = [n for tree in naive.trees for n in tree.preorder() if n.split is None]
        most = max(most, *(len(leaf.counts) for leaf in leaves))
    assert len(naive.labels) > 30
    assert most > 16


@pytest.mark.parametrize("due", [105.5, 106.0, 135.5, 1e15])
def test_a_growth_that_does_not_end_in_time_is_refused(due: float) -> None:
    """A damaged file may have one. Its memory and its samples would be those of another one."""
    core, _ = both(memories=[(100, 3)])
    for x, y, _ in rows(105, 1):
        core.learn(x, y, 1.0)
    state = core.state()
    assert state["growths"][0, 3] == 102
    MemoryForest.restored({**state, "due": np.array([102 + 100 / 3])})
    with pytest.raises(StateError, match="a growth is not where one can be"):
        MemoryForest.restored({**state, "due": np.array([due])})


def test_a_growth_that_is_overdue_is_refused() -> None:
    """A damaged file may have one: then more trees would end in a pass than there is room for."""
    core, _ = both(memories=[(100, 3)])
    for x, y, _ in rows(105, 1):
        core.learn(x, y, 1.0)
    state = core.state()
    growths = state["growths"].copy()
    growths[:, 3] = 0  # no tree grows
    with pytest.raises(StateError, match="a growth is overdue"):
        MemoryForest.restored({**state, "growths": growths, "due": np.array([0.0])})


def test_growths_are_spread() -> None:
    """A tree takes its place when it is ready, before the next growth is due."""
    core, naive = both(memories=[(100, 1)])
    waited = []
    for x, y, w in rows(220, 1):
        core.learn(x, y, w)
        naive.learn(x, y, w)
        waited.append(naive.groups[0].tree is not None)
    assert 10 < sum(waited) < len(waited)
    assert_same_trees(core, naive)


# --- The buffer


def learned(n: int, **parameters: Any) -> tuple[Any, deque[Any]]:
    """A model, and the rows that it learned; features come and go."""
    rng = random.Random(0)
    model = ret.ExtraTreesClassifier(
        **{"n_models": 2, "batch_size": 5, "window_sizes": (20, 60), "seed": 1, **parameters}
    )
    samples: deque[Any] = deque()
    for i in range(n):
        x = {f"{k:02}": rng.random() for k in range(min(1 + i // 300, 9)) if k + i % 50 < 55}
        y, w = rng.randrange(2) if i > 2 else i % 2, rng.choice([1.0, 2.5])
        model.learn_one(x, y, w)
        samples.append(([x.get(f"{k:02}", math.nan) for k in range(9)], y, w))
    return model, samples


# --- Naive Bayes


def test_rescaling_changes_no_answer() -> None:
    """When the unit of naive Bayes gets too large, all sums are divided by it."""
    core, _ = both()
    stream = list(rows(120, 5))
    for x, y, w in stream[:100]:
        core.learn(x, y, w)
    state = core.state()
    values = state["naive"].values
    factor = 9.9e49 / values["unit"]
    values["unit"] *= factor
    values["total"] *= factor
    values["class_weights"] *= factor
    values["counts"] *= factor
    values["moments"][:, :, [0, 2]] *= factor
    values["overall"][:, [0, 2]] *= factor
    large = MemoryForest.restored(state)
    for x, y, w in stream[100:]:
        core.learn(x, y, w)
        large.learn(x, y, w)
    assert large.state()["naive"].values["unit"] < 2.0
    for x, _, _ in stream:
        found, wanted = large.predict_proba(x), core.predict_proba(x)
        assert found == pytest.approx(wanted, rel=1e-10)


def test_many_columns_and_classes_take_a_fixed_memory() -> None:
    """Columns times classes are at most 16,384, with up to 64 counts each of 8 bytes."""
    model = ret.ExtraTreesClassifier(n_models=1, window_sizes=(30,), seed=1)
    for i in range(300):
        model.learn_one({j: f"value {(i + j) % 7}" for j in range(100)}, i)
    naive = model._core.naive
    assert len(naive.state()["n_values"]) == 16_384 // 300
    assert naive.__sizeof__() < 16_384 * 64 * 8 * 1.1
    naive.check()
    copy = pickle.loads(pickle.dumps(model))
    x = {j: f"value {j % 7}" for j in range(100)}
    assert copy.predict_proba_one(x) == model.predict_proba_one(x)
