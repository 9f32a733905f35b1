"""Splits of the default forest that send a group of nominal values left."""

import random
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

import river_extra_trees as ret
from river_extra_trees._core.state import StateError
from river_extra_trees._estimator import inspection
from tests.naive.cart import VALUES
from tests.tools.growing import splits_of


def samples(n: int) -> list[tuple[dict[str, Any], bool]]:
    """The target depends on one of two nominal features; their values may be missing."""
    rng = random.Random(0)
    found = []
    for _ in range(n):
        value = rng.randrange(200)
        x = {"place": f"p{value}", "name": f"n{rng.randrange(200)}", "a": rng.random()}
        if rng.random() < 0.1:
            x[rng.choice(["place", "name"])] = None
        found.append((x, value % 7 < 3))
    return found


def learned(n: int, **parameters: Any) -> Any:
    model = ret.ExtraTreesClassifier(
        **{"n_models": 2, "window_sizes": (300,), "seed": 1, **parameters}
    )
    for x, y in samples(n):
        model.learn_one(x, y)
    return model


def test_values_come_and_go_for_ever() -> None:
    """After thousands of values, new ones are told apart as the first were."""
    model = ret.ExtraTreesClassifier(n_models=2, window_sizes=(200,), seed=1)
    rng, right = random.Random(1), 0
    for i in range(4000):
        value = i // 100 * 10 + rng.randrange(10)  # ten at a time, all new after 100 samples
        y = value * 7919 % 13 < 6
        right += i >= 3000 and model.predict_one({"shop": f"s{value}"}) == y
        model.learn_one({"shop": f"s{value}"}, y)
    model._core.check()
    assert right > 820


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


def test_inspection_tells_the_values_of_groups() -> None:
    """The threshold lists the remembered values that go left; paths follow the cut."""
    model = learned(650, n_models=1, batch_size=1000)
    trees, nodes, codes = model._core.trees[0], model._core.nodes(0), model._core.schema.codes
    splits = dict(zip(trees.preorder(), splits_of(trees), strict=True))
    groups = [
        (node, split)
        for node, split in zip(nodes, splits.values(), strict=True)
        if split is not None and split.nominal == VALUES
    ]
    for node, split in groups:
        assert type(node["nominal"]) is bool
        known = codes[split.feature]
        left = [code for code in known if split.goes_left([code] * 3)]
        assert node["threshold"] == [known[code] for code in left]
        assert [code for code in known if code in node["cut"]] == left
    assert groups
    rows = [x for x, _ in samples(60)]
    shares = [model.predict_proba_one(x) for x in rows]
    assert model.predict_proba_many(pd.DataFrame(rows)).to_dict("records") == shares
    for x in rows:
        row, number = model._core.row_of(x), 0
        while split := splits[number]:
            number = trees.node(number)["left" if split.goes_left(row) else "right"]
        *_, leaf = inspection.path(nodes, row)
        assert leaf["node"] == number
        assert model.debug_one(x)
    assert " more}" in model.to_text()
    assert any(isinstance(threshold, list) for threshold in model.to_dataframe()["threshold"])


@pytest.mark.parametrize(
    ("column", "nominal", "threshold", "problem"),
    [
        (0, 1, 3.0, "does not belong"),
        (3, 0, 3.0, "does not belong"),
        (1, 3, 0.0, "no such split"),
        (1, VALUES, 0.0, "set of values is missing"),
    ],
)
def test_impossible_splits_are_refused(
    column: int, nominal: int, threshold: float, problem: str
) -> None:
    """A nominal split of a numeric column, a split of no column, and one of no kind."""
    model = learned(600)
    assert [codes is None for codes in model._core.schema.codes] == [True, False, False]
    state = model._core.state()
    values = state["trees"].values
    split = np.flatnonzero(values["turns"])[0]
    values["feature"][split], values["nominal"][split] = column, nominal
    values["threshold"][split] = threshold
    with pytest.raises(StateError, match=problem):
        type(model._core).restored(state)
