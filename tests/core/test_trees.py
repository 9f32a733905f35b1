"""Trees in one arena: walking, cutting back, widening, pickling."""

from __future__ import annotations

import math
import pickle
import random
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from river_extra_trees import StreamDecisionTreeClassifier, StreamDecisionTreeRegressor
from river_extra_trees._core.state import StateError
from river_extra_trees._core.trees import Trees
from tests.compiled import Compiled

BYTES_PER_NODE = 32 + 4  # the struct, and room on the free list


def grown(n: int, n_classes: int = 2, seed: int = 0, **parameters: Any) -> Trees:
    """A tree grown on random samples."""
    generator = random.Random(seed)
    parameters = {
        "batch_size": 50,
        "max_nodes": 10**6,
        "leaf_memory": None,
        "seed": 0,
        **parameters,
    }
    model = StreamDecisionTreeClassifier(**parameters)
    for i in range(n):
        x = {"a": generator.random(), "b": generator.random()}
        model.learn_one(x, i if i < n_classes else generator.randrange(n_classes))
    trees: Trees = model._core.trees[0]
    return trees


def test_an_arena_begins_empty() -> None:
    """Without a root there is no node."""
    trees = Trees(3)
    trees.check()
    assert (trees.n_roots, trees.n_nodes, trees.height) == (0, 0, 0)


def test_trees_are_added_and_removed() -> None:
    """Trees come and go; the later ones move up and freed nodes are used again."""
    trees = Trees(2)
    assert [trees.add_tree() for _ in range(3)] == [0, 1, 2]
    roots = [trees.root(i) for i in range(3)]
    Compiled("windows").remove_tree(trees, 1)
    trees.check()
    assert [trees.root(i) for i in range(2)] == [roots[0], roots[2]]
    trees.add_tree()
    trees.check()
    assert trees.root(2) == roots[1]
    assert trees.n_nodes == 3


def test_preorder_puts_parents_before_children() -> None:
    """Every node comes once, after its parent, and the left subtree before the right."""
    trees = grown(300)
    order = trees.preorder()
    place = {number: i for i, number in enumerate(order)}
    assert len(place) == len(order) == trees.n_nodes
    for number in order:
        node = trees.node(number)
        if node["feature"] >= 0:
            assert place[node["left"]] == place[number] + 1
            assert place[node["right"]] > place[node["left"]]


def test_children_share_what_their_parent_saw_in_the_batch() -> None:
    """In the batch that splits it, a node's counts are the sum of its children's."""
    trees = grown(50)
    for number in trees.preorder():
        node = trees.node(number)
        if node["feature"] >= 0:
            left, right = trees.node(node["left"]), trees.node(node["right"])
            assert node["weight"] == left["weight"] + right["weight"]
            assert node["values"] == [
                a + b for a, b in zip(left["values"], right["values"], strict=True)
            ]


@given(st.integers(1, 400), st.lists(st.integers(1, 200), min_size=1, max_size=5))
@settings(max_examples=40)
def test_shrinking_fits_the_bound(n: int, bounds: list[int]) -> None:
    """Whatever the bound, the tree fits it afterwards and is still a tree."""
    trees = grown(n)
    for bound in bounds:
        before = trees.n_nodes
        trees.shrink(bound)
        trees.check()
        assert trees.n_nodes <= max(bound, 1)
        assert trees.n_nodes <= before
        assert before <= bound or trees.n_nodes >= bound // 2


@pytest.mark.parametrize("bound", [0, -1])
def test_shrinking_leaves_the_root(bound: int) -> None:
    """A bound that no tree can meet ends with a leaf, not never."""
    trees = grown(200)
    trees.shrink(bound)
    trees.check()
    assert trees.n_nodes == 1


def test_shrinking_keeps_what_was_seen() -> None:
    """A collapsed node is a leaf that knows what its leaves knew."""
    trees = grown(200, max_depth=3)
    whole = trees.node(trees.root())["values"]
    trees.shrink(1)
    root = trees.node(trees.root())
    assert root["feature"] == -1
    assert root["values"] == whole
    assert root["gain"] == root["threshold"] == 0.0


@pytest.mark.parametrize("half", [0, 1])
def test_shrinking_takes_what_was_visited_least_recently(half: int) -> None:
    """Of two subtrees, the one that no sample visits any more goes first."""
    model = StreamDecisionTreeRegressor(batch_size=20, max_nodes=10**6, seed=0)
    levels = {0: 0.0, 1: 1.0, 2: 10.0, 3: 11.0}
    for i in range(20):
        model.learn_one({"a": i // 5}, levels[i // 5])
    for i in range(20):
        visited = 2 * half + i % 2
        model.learn_one({"a": visited}, levels[visited])
    trees = model._core.trees[0]
    assert trees.n_nodes == 7
    trees.shrink(5)
    answers = [model.predict_one({"a": a}) for a in range(4)]
    assert answers == ([0.0, 1.0, 10.5, 10.5] if half == 0 else [0.5, 0.5, 10.0, 11.0])


def test_faded_classes_vanish() -> None:
    """A class that a leaf has not met for long ends at exactly zero, and stays a label."""
    model = StreamDecisionTreeClassifier(batch_size=10**6, leaf_memory=2.0)
    model.learn_one({"a": 1.0}, "old")
    for _ in range(700):
        model.learn_one({"a": 1.0}, "new")
    assert model.predict_proba_one({"a": 1.0}) == {"old": 0.0, "new": 1.0}


def test_new_classes_widen_every_node() -> None:
    """Counts stand where they stood, and the new classes' are zero."""
    model = StreamDecisionTreeClassifier(batch_size=10, leaf_memory=None, seed=0)
    for i in range(40):
        model.learn_one({"a": float(i % 10)}, i % 3)
    trees = model._core.trees[0]
    before = [trees.node(number) for number in trees.preorder()]
    for label in range(3, 40):
        model.learn_one({"a": 100.0}, label)
        trees.check()
        if label == 3:
            for node in before:
                values = trees.node(node["node"])["values"]
                assert values[:3] == node["values"]
                assert len(values) == 4
    assert trees.node(trees.root())["values"][3:] == [1.0] * 37


@given(st.integers(0, 150), st.integers(1, 60))
@settings(max_examples=30)
def test_pickling(n: int, bound: int) -> None:
    """A restored arena is the same, free nodes included, and has the same bytes."""
    trees = grown(n)
    trees.shrink(bound)
    data = pickle.dumps(trees)
    restored = pickle.loads(data)
    restored.check()
    assert pickle.dumps(restored) == data
    assert restored.preorder() == trees.preorder()
    assert [restored.node(i) for i in trees.preorder()] == [trees.node(i) for i in trees.preorder()]


@pytest.mark.parametrize("damage", ["threshold", "feature", "left", "nominal", "stats"])
def test_statistics_must_belong_to_the_nodes(damage: str) -> None:
    """A state with the wrong number of statistics is refused."""
    state = grown(60).state()
    with pytest.raises(StateError, match=r"array|node|floats|whole numbers"):
        Trees.restored({**state, damage: state[damage][:-1]})


@pytest.mark.parametrize(
    ("weight", "classes", "problem"),
    [
        (3e-313, [3e-313, 0.0], "too small"),
        (1.0, [-1.0, 2.0], "negative"),
        (math.inf, [1.0, 0.0], "not finite"),
        (1.0, [math.nan, 0.0], "not finite"),
    ],
)
def test_weights_must_be_in_range(weight: float, classes: list[float], problem: str) -> None:
    """Weights that no samples can have are refused; whether they add up is not looked at."""
    state = grown(60).state()
    state["stats"][0] = [0.0, weight, 0.0, *classes]
    with pytest.raises(StateError, match=problem):
        Trees.restored(state)


def test_class_weights_of_any_stream_are_restored() -> None:
    """Weights near the limits, which fade and vanish one by one, are no damage."""
    model = StreamDecisionTreeClassifier(batch_size=10, leaf_memory=2.0, seed=0)
    rng = random.Random(1)
    for i in range(3_000):
        weight = 10.0 ** rng.uniform(*((-307, 100) if i < 1_000 else (-307, -200)))
        model.learn_one({"a": rng.random()}, rng.randrange(3), w=weight)
        if i % 50 == 0:
            again = pickle.loads(pickle.dumps(model))
            assert math.isclose(sum(again.predict_proba_one({"a": rng.random()}).values()), 1.0)


@pytest.mark.parametrize("n_classes", [2, 20])
def test_size_counts_the_memory_outside_python(n_classes: int) -> None:
    """The size covers all nodes with their statistics, and not much more than is in use."""
    trees = grown(3_000, n_classes)
    needed = trees.n_nodes * (BYTES_PER_NODE + 8 * (3 + n_classes))
    assert needed <= sys.getsizeof(trees) <= 2 * needed + 200


def test_one_sample_is_learned_without_rounding() -> None:
    """The mean of one sample is its target, whatever its weight, and it deviates by nothing."""
    for weight in (0.1, 1.0, 9.75, 1e-12):
        model = StreamDecisionTreeRegressor()
        model.learn_one({"a": 1.0}, 1000.9997779018831, w=weight)
        trees = model._core.trees[0]
        assert trees.node(trees.root())["values"] == [1000.9997779018831, 0.0]
