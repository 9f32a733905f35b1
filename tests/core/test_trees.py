"""Trees in one arena: cutting back, pickling."""

import math
import pickle
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from river_extra_trees import StreamDecisionTreeClassifier, StreamDecisionTreeRegressor
from river_extra_trees._core.state import StateError
from river_extra_trees._core.trees import Trees


def grown(n: int, **parameters: Any) -> Trees:
    """A tree grown on random samples."""
    generator = random.Random(0)
    model = StreamDecisionTreeClassifier(batch_size=50, leaf_memory=None, seed=0, **parameters)
    for i in range(n):
        x = {"a": generator.random(), "b": generator.random()}
        model.learn_one(x, i if i < 2 else generator.randrange(2))
    trees: Trees = model._core.trees[0]
    return trees


@given(st.integers(1, 400), st.lists(st.integers(1, 200), min_size=1, max_size=5))
@settings(max_examples=40)
def test_shrinking_fits_the_bound(n: int, bounds: list[int]) -> None:
    """Whatever the bound, the tree fits it afterwards and is a tree; restored, it is the same.

    A collapsed node is a leaf that knows what its leaves knew.
    """
    trees = grown(n, max_nodes=10**6)
    whole = trees.node(0)["values"]
    for bound in [*bounds, 1]:
        before = trees.n_nodes
        trees.shrink(bound)
        trees.check()
        assert trees.n_nodes <= max(bound, 1)
        assert trees.n_nodes <= before
        assert before <= bound or trees.n_nodes >= bound // 2
        data = pickle.dumps(trees)
        restored = pickle.loads(data)
        restored.check()
        assert pickle.dumps(restored) == data
        numbers = trees.preorder()
        assert restored.preorder() == numbers
        assert list(map(restored.node, numbers)) == list(map(trees.node, numbers))
    root = trees.node(0)
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
    trees = model._core.trees
    assert trees.n_nodes == 7
    trees.shrink(5)
    answers = [model.predict_one({"a": a}) for a in range(4)]
    assert answers == ([0.0, 1.0, 10.5, 10.5] if half == 0 else [0.5, 0.5, 10.0, 11.0])


@pytest.mark.parametrize(
    ("weight", "problem"),
    [(3e-313, "too small"), (-1.0, "negative"), (math.inf, "finite"), (math.nan, "floats")],
)
def test_weights_must_be_in_range(weight: float, problem: str) -> None:
    """Weights that no samples can have are refused."""
    state = grown(60).state()
    state["threshold"][state["turns"] == 0] = weight
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


@pytest.mark.parametrize("end", [-2, -(2**31)])
@pytest.mark.parametrize("column", [1, 3])
def test_lists_of_free_pairs_and_cells_end_with_minus_one(column: int, end: int) -> None:
    """Another negative number would get into the next node or cell that is freed."""
    state = grown(60).state()
    state["counts"] = state["counts"].copy()
    state["counts"][0, column] = end
    with pytest.raises(StateError, match="missing"):
        Trees.restored(state)


def test_trees_own_their_sets_of_values() -> None:
    """A copy, a restored tree and a tree that grew have each their own; a cut node has none."""
    generator = random.Random(0)
    model = StreamDecisionTreeClassifier(batch_size=200, seed=0)
    for _ in range(1000):
        value = generator.randrange(60)
        model.learn_one({"a": f"v{value}"}, value * value % 7 < 3)
    trees: Trees = model._core.trees[0]
    nodes = trees.nodes()
    assert any(isinstance(node["threshold"], tuple) for node in nodes)
    copies = [trees[0], pickle.loads(pickle.dumps(trees))]
    trees.shrink(1)
    bare = pickle.loads(pickle.dumps(trees))
    for copy in copies:
        copy.check()
        assert copy.nodes() == nodes
        copy.shrink(1)
        assert pickle.dumps(copy) == pickle.dumps(bare)
        assert pickle.loads(pickle.dumps(copy)).__sizeof__() == bare.__sizeof__()
