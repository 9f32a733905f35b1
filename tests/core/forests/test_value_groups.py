"""Splits of the default forest that send a group of nominal values left."""

from __future__ import annotations

import pickle
import random
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

import river_extra_trees as ret
from river_extra_trees._core.state import StateError
from river_extra_trees._core.trees import Trees
from river_extra_trees._estimator import inspection
from tests.naive.cart import GROUP, N_BUCKETS, bucket_of

N_VALUES = 200


def samples(n: int, n_values: int = N_VALUES, seed: int = 0) -> list[tuple[dict[str, Any], bool]]:
    """The target depends on one of two nominal features; their values may be missing."""
    rng = random.Random(seed)
    found = []
    for _ in range(n):
        value = rng.randrange(n_values)
        x = {"place": f"p{value}", "name": f"n{rng.randrange(n_values)}", "a": rng.random()}
        if rng.random() < 0.1:
            x[rng.choice(["place", "name"])] = None
        found.append((x, value % 7 < 3))
    return found


def learned(n: int = 600, regression: bool = False, **parameters: Any) -> Any:
    kind = ret.ExtraTreesRegressor if regression else ret.ExtraTreesClassifier
    model = kind(**{"n_models": 2, "window_sizes": (300,), "seed": 1, **parameters})
    for x, y in samples(n):
        model.learn_one(x, y)
    return model


def group_nodes(model: Any) -> list[dict[str, Any]]:
    return [
        node
        for tree in range(model._core.n_trees)
        for node in model._core.nodes(tree)
        if node["column"] >= 0 and inspection.is_group(node)
    ]


def test_values_without_a_code_share_a_bucket() -> None:
    """After 1,024 values of a feature, further ones have no code of their own."""
    model = ret.ExtraTreesClassifier(n_models=1, window_sizes=(400,), seed=1)
    rng = random.Random(1)
    for i in range(1024 + 400):
        late = i >= 1024 and rng.random() < 0.5
        value = f"late {i}" if late else f"v{rng.randrange(1024) if i >= 1024 else i}"
        model.learn_one({"place": value}, late)
    model._core.check()
    assert model.predict_one({"place": "never met"})
    assert any("any other value" in node["threshold"] for node in group_nodes(model))


def test_memory_of_many_values_and_labels() -> None:
    """It is bounded by nodes, samples and labels; values need no memory per label."""
    n_models, window, max_nodes, n_labels = 4, 200, 51, 1024
    sizes = []
    for n_values in (16, 2000):
        model = learned(0, n_models=n_models, window_sizes=(window,), max_nodes=max_nodes)
        rng = random.Random(1)
        for i in range(1500):
            x = {"place": f"p{i % n_values}", "name": f"n{rng.randrange(n_values)}"}
            model.learn_one(x, i % n_labels)
        # A growth makes up to two nodes per sample, and memory that is full is doubled.
        bound = 8 * n_labels * (n_models + 1) * (max_nodes + 4 * window)
        assert model._raw_memory_usage < bound
        sizes.append(sys.getsizeof(model._core))
    assert sizes[1] - sizes[0] < 30_000


# --- Inspection


def test_nodes_name_the_values() -> None:
    """The threshold lists the known values that go left, the cut their codes."""
    model = learned()
    trees = model._core.trees[0]
    codes = model._core.schema.codes
    seen = 0
    for raw, node in zip(map(trees.node, trees.preorder()), model._core.nodes(0), strict=True):
        assert type(node["nominal"]) is bool
        if raw["feature"] < 0 or raw["nominal"] < GROUP:
            continue
        seen += 1
        buckets, salt = int(raw["threshold"]), raw["nominal"] - GROUP
        known = codes[raw["feature"]]
        left = [value for value, code in known.items() if buckets >> bucket_of(salt, code) & 1]
        others = ["any other value"] if buckets >> bucket_of(salt, -1) & 1 else []
        assert node["threshold"] == left + others
        assert node["cut"] == {known.get(value, -1) for value in node["threshold"]}
    assert seen


def test_explanations_follow_the_walk() -> None:
    """The path that is told ends in the leaf that the core finds, and rows of a batch take it."""
    model = learned(650, n_models=1, batch_size=1000)
    assert " more}" in model.to_text()
    table = model.to_dataframe()
    assert any(isinstance(threshold, list) for threshold in table["threshold"])
    rows = [x for x, _ in samples(60)]
    shares = [model.predict_proba_one(x) for x in rows]
    assert model.predict_proba_many(pd.DataFrame(rows)).to_dict("records") == shares
    for x in rows:
        row = model._core.row_of(x)
        leaf = list(inspection.path(model._core.nodes(0), row))[-1]
        assert inspection.is_leaf(leaf)
        weights = {node["node"]: node["weight"] for node in model._core.nodes(0)}
        other = pickle.loads(pickle.dumps(model))
        other.learn_one(x, True)
        changed = [
            node["node"]
            for node in other._core.nodes(0)
            if node["left"] < 0 and node["weight"] != weights.get(node["node"])
        ]
        assert changed[:1] == [leaf["node"]]
        assert model.debug_one(x)


# --- States


def group_state() -> dict[str, Any]:
    return {
        "threshold": np.array([5.0, 0.0, 0.0]),
        "feature": np.array([0, -1, -1], np.int32),
        "left": np.array([1, -1, -1], np.int32),
        "right": np.array([2, -1, -1], np.int32),
        "nominal": np.array([GROUP + 253, 0, 0], np.uint8),
        "missing_left": np.array([1, 0, 0], np.uint8),
        "stats": np.array([[0.5, 2.0, 1.0, 1.0, 1.0], [0.0, 1.0, 1.0, 1.0, 0.0],
                           [0.0, 1.0, 1.0, 0.0, 1.0]]),
    }  # fmt: skip


@pytest.mark.parametrize("nominal", [1, GROUP])
def test_nominal_splits_fit_nominal_columns_only(nominal: int) -> None:
    trees = Trees.restored({**group_state(), "nominal": np.array([nominal, 0, 0], np.uint8)})
    assert trees.fits([{"a": 0}], False, 2)
    assert not trees.fits([None], False, 2)
    assert not trees.fits([], False, 2)


@pytest.mark.parametrize("mask", [-1.0, 0.5, 2.0**N_BUCKETS, 1e300])
def test_a_group_is_a_set_of_buckets(mask: float) -> None:
    state = group_state()
    Trees.restored({**state, "threshold": np.array([2.0**N_BUCKETS - 1.0, 0.0, 0.0])})
    with pytest.raises(StateError, match="group of values"):
        Trees.restored({**state, "threshold": np.array([mask, 0.0, 0.0])})


def test_numbers_are_in_no_group() -> None:
    """A forged state whose group is of a numeric column is refused."""
    model = learned()
    state = model._core.state()
    (column,) = [i for i, codes in enumerate(model._core.schema.codes) if codes is None]
    values = state["trees"][0].values
    split = np.flatnonzero(values["feature"] >= 0)[0]
    values["feature"][split], values["nominal"][split] = column, GROUP
    values["threshold"][split] = 3.0
    with pytest.raises(StateError, match="does not belong"):
        type(model._core).restored(state)
