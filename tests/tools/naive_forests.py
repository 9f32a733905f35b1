"""The forests with several windows, the naive ones beside them, and rows to learn."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from river_extra_trees._core.forests.extra_trees import ExtraTrees
from tests.naive.cart import Rules, class_weights, moments, total, walk
from tests.naive.extra_trees import NaiveClassForest, NaiveExtraTrees, NaiveNumberForest
from tests.tools.forest_samples import sample
from tests.tools.growing import split_of

Row = tuple[dict[Any, Any], Any, float]
Rows = Iterator[Row]

DEFAULTS: dict[bool, dict[str, Any]] = {  # of a regression or not
    False: {"windows": [(80, 3), (30, 2)], "max_features": "sqrt"},
    True: {
        "windows": [(80, 3), (80, 2), (30, 2)],
        "max_features": 0.5,
        "linear": ["none", "leaves", "root"],
    },
}


def both(regression: bool, **changes: Any) -> tuple[ExtraTrees, NaiveExtraTrees]:
    """The core and the naive forest, of the same settings."""
    settings = {"batch_size": 10, "fading": 0.9, "max_nodes": 10_000, "seed": 1}
    settings |= {**DEFAULTS[regression], **changes}
    given = settings.pop("rules", {})
    rules = Rules(**{"criterion": "variance" if regression else "gini", **given})
    for_core = {
        **{"criterion": rules.criterion, "min_samples_split": rules.min_samples_split},
        **{"min_samples_leaf": rules.min_samples_leaf, "max_depth": rules.max_depth},
    }
    if rules.max_depth is None:
        for_core["max_depth"] = 2**31 - 1
    core = ExtraTrees(**settings, rules=for_core, regression=regression)
    kind = NaiveNumberForest if regression else NaiveClassForest
    return core, kind(**settings, rules=rules)


def rows(regression: bool, n: int = 130, seed: int = 3) -> Rows:
    """Numbers, nominal and missing values, new features, values and classes, drift, weights."""
    rng = random.Random(seed)
    for i in range(n):
        x, a, b, c = sample(rng, i)
        if regression:
            y: Any = 3.0 * a - b * (c == "r") + 0.25 * rng.randrange(4) + (i > n // 2)
        else:
            score = a + 0.2 * b + (c == "r") + 0.2 * rng.random()
            score = score if i < n // 2 else 2.5 - score
            y = "low" if score < 0.9 or i < 3 else "middle" if score < 1.5 or i < 70 else "high"
        yield x, y, rng.choice([1.0, 1.0, 0.5, 2.0, 0.0, 0.25])


def learn(core: ExtraTrees, naive: NaiveExtraTrees, row: Row) -> None:
    core.learn(*row)
    naive.learn(*row, births=core.state()["births"].tolist())


def assert_same_trees(core: ExtraTrees, naive: NaiveExtraTrees) -> None:
    """Node for node, numbers but for rounding."""
    for number, tree in enumerate(naive.trees):
        trees, nodes = core.trees[number], list(walk(tree.root))
        assert trees.preorder() == [node.number for node in nodes], number
        for node in nodes:
            found = trees.node(node.number)
            assert found["depth"] == node.depth
            assert split_of(found) == node.split
            if node.split is None:
                assert found["weight"] == pytest.approx(total(node.samples), rel=1e-12)
            if not core.regression:
                assert found["gain"] == node.gain
                weights = class_weights(node.samples, len(found["values"]))
                if node.split is None:
                    assert found["values"] == pytest.approx(weights, rel=1e-12)
                continue
            if node.split is None:
                _, *values = moments(node.samples)
                assert found["values"] == pytest.approx(values, rel=1e-8, abs=1e-9)
            model = tree.models.get(0 if tree.kind == "root" else node.number)
            slopes = {}
            if model is not None:
                each = model.slopes / model.standard.deviations
                slopes = dict(zip(model.standard.columns, each, strict=True))
            said = core.models[number].coefficients_of(node.number)
            assert said == pytest.approx(slopes, rel=1e-7, abs=1e-9)
