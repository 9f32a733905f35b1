"""Naive samples for the learners, and their trees told in the words of the naive ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import strategies as st

from river_extra_trees import StreamDecisionTreeClassifier, StreamDecisionTreeRegressor
from river_extra_trees._core.schema import Schema
from river_extra_trees._core.trees import Trees
from tests.naive.cart import Node, Rules, Sample, class_weights, moments, total, walk

N_CODES = 4


def name_of(feature: int, code: float) -> str:
    return f"{feature}: {code:g}"


def prime(schema: Schema, n_features: int, nominal: frozenset[int], n_codes: int = N_CODES) -> None:
    """Make columns and nominal codes the numbers that the naive trees know them by."""
    for code in range(n_codes):
        schema.learn_row({j: name_of(j, code) if j in nominal else 0.0 for j in range(n_features)})


def row_of(sample: Sample, nominal: frozenset[int]) -> dict[int, Any]:
    """The features as a learner takes them: nominal ones as strings, missing ones left out."""
    return {
        feature: name_of(feature, value) if feature in nominal else value
        for feature, value in enumerate(sample.x)
        if not math.isnan(value)
    }


def tree_learner(rules: Rules, n_features: int, **parameters: Any) -> Any:
    """An empty learner with these rules, whose leaves forget nothing unless told to."""
    parameters = {
        "max_depth": rules.max_depth,
        "min_samples_split": rules.min_samples_split,
        "min_samples_leaf": rules.min_samples_leaf,
        "seed": 1,
        "leaf_memory": None,
        **parameters,
    }
    if rules.criterion == "variance":
        model: Any = StreamDecisionTreeRegressor(**parameters)
    else:
        model = StreamDecisionTreeClassifier(criterion=rules.criterion, **parameters)
    prime(model._core.schema, n_features, rules.nominal)
    return model


def learn(model: Any, samples: Iterable[Sample], rules: Rules) -> None:
    for sample in samples:
        y = sample.y if rules.criterion == "variance" else int(sample.y)
        model.learn_one(row_of(sample, rules.nominal), y, w=sample.weight)


def splits_of(trees: Trees) -> list[tuple[int, float, bool, bool] | None]:
    """The splits of a tree in preorder; None for a leaf."""
    nodes = [trees.node(number) for number in trees.preorder()]
    return [
        None
        if node["feature"] < 0
        else (node["feature"], node["threshold"], node["nominal"], node["missing_left"])
        for node in nodes
    ]


def assert_same_tree(trees: Trees, root: Node, labels: Sequence[int] | None) -> None:
    """The same splits, and in every leaf the same statistics; labels are None for numbers."""
    trees.check()
    nodes = list(walk(root))
    assert splits_of(trees) == [None if n.split is None else tuple(n.split) for n in nodes]
    for number, node in zip(trees.preorder(), nodes, strict=True):
        told = trees.node(number)
        if node.split is not None or not node.samples:
            continue
        assert told["weight"] == pytest.approx(total(node.samples))
        if labels is None:
            _, mean, squares = moments(node.samples)
            scale = max(abs(sample.y) for sample in node.samples)
            assert told["values"][0] == pytest.approx(mean, abs=1e-9 * scale)
            assert told["values"][1] == pytest.approx(squares, rel=1e-9, abs=1e-9 * scale**2)
        else:
            by_label = class_weights(node.samples, max(labels) + 1)
            assert told["values"] == pytest.approx([by_label[label] for label in labels])


@st.composite
def growths(
    draw: st.DrawFn, max_size: int = 25, n_codes: int = N_CODES
) -> tuple[list[Sample], Rules]:
    """Random samples, with ties, missing values, weights and nominal features, and random rules."""
    criterion = draw(st.sampled_from(["gini", "entropy", "variance"]))
    n_features = draw(st.integers(1, 4))
    nominal = draw(st.frozensets(st.integers(0, n_features - 1)))
    numbers = draw(
        st.sampled_from(
            [
                st.integers(0, 3).map(float),
                st.sampled_from([-0.0, 0.0, 1.0, math.nextafter(1.0, 2.0), 1e300, -1e300, 5e-324]),
                st.floats(-1e6, 1e6),
            ]
        )
    )
    codes = st.integers(0, n_codes - 1).map(float)
    missing = st.just(math.nan)
    if draw(st.booleans()):
        numbers, codes = numbers | missing, codes | missing
    row = st.tuples(*(codes if j in nominal else numbers for j in range(n_features)))
    targets = (
        st.integers(-3, 3).map(float) if criterion == "variance" else st.integers(0, 3).map(float)
    )
    weights = draw(st.sampled_from([st.just(1.0), st.sampled_from([0.5, 1.0, 2.0, 3.25])]))
    samples = draw(
        st.lists(
            st.builds(Sample, row, targets, weights, st.just(1)), min_size=1, max_size=max_size
        )
    )
    rules = Rules(
        criterion,
        nominal,
        draw(st.none() | st.integers(0, 4)),
        draw(st.integers(1, 6)),
        draw(st.integers(1, 3)),
    )
    return samples, rules
