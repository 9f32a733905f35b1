"""Naive samples for the learners, and their trees told in the words of the naive ones."""

import math
import random
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

import river_extra_trees as ret
from river_extra_trees._core.schema import Schema
from river_extra_trees._core.trees import Trees
from tests.naive.cart import Node, Rules, Sample, Split, class_weights, moments, total, walk
from tests.naive.codes import code_of

NAMES = {code_of(f"value {i}"): f"value {i}" for i in range(24)}  # of nominal values
CODES = sorted(NAMES)


def prime(schema: Schema, n_features: int, nominal: frozenset[int]) -> None:
    """Make the columns that the naive trees know."""
    schema.learn_row({j: NAMES[CODES[0]] if j in nominal else 0.0 for j in range(n_features)})


def row_of(sample: Sample, nominal: frozenset[int]) -> dict[int, Any]:
    """The features as a learner takes them: nominal ones as strings, missing ones left out."""
    return {
        feature: NAMES[value] if feature in nominal else value
        for feature, value in enumerate(sample.x)
        if not math.isnan(value)
    }


def tree_learner(rules: Rules, n_features: int, **parameters: Any) -> Any:
    """An empty tree, or a forest, with these rules, whose leaves forget nothing unless told to."""
    parameters = {
        "max_depth": rules.max_depth,
        "min_samples_split": rules.min_samples_split,
        "min_samples_leaf": rules.min_samples_leaf,
        "seed": 1,
        "leaf_memory": None,
        **parameters,
    }
    kind = "Forest" if "n_models" in parameters else "Tree"
    if rules.criterion == "variance":
        model = getattr(ret, f"StreamDecision{kind}Regressor")(**parameters)
    else:
        model = getattr(ret, f"StreamDecision{kind}Classifier")(
            criterion=rules.criterion, **parameters
        )
    prime(model._core.schema, n_features, rules.nominal)
    return model


def learn(model: Any, samples: Iterable[Sample], rules: Rules) -> None:
    for sample in samples:
        y = sample.y if rules.criterion == "variance" else int(sample.y)
        model.learn_one(row_of(sample, rules.nominal), y, w=sample.weight)


def split_of(node: dict[str, Any]) -> Split | None:
    """The split of a node that the core tells of; None of a leaf."""
    return None if node["feature"] < 0 else Split(*(node[name] for name in Split._fields))


def splits_of(trees: Trees) -> list[Split | None]:
    """The splits of a tree in preorder."""
    return [split_of(trees.node(number)) for number in trees.preorder()]


def assert_same_tree(trees: Trees, root: Node, labels: Sequence[int] | None) -> None:
    """The same splits, and in every leaf the same statistics; labels are None for numbers."""
    trees.check()
    nodes = list(walk(root))
    assert splits_of(trees) == [node.split for node in nodes]
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


def growth(rng: random.Random, most: int) -> tuple[list[Sample], Rules]:
    """Random samples, with ties, missing values, weights and nominal features, and random rules."""
    criterion = rng.choice(["gini", "entropy", "variance"])
    columns = range(rng.randint(1, 4))
    nominal = frozenset(j for j in columns if rng.random() < 0.4)
    numbers = rng.choice(
        [
            [0.0, 1.0],
            [0.0, 1.0, 2.0, 3.0],
            [-0.0, 0.0, 1.0, math.nextafter(1.0, 2.0), 1e300, -1e300, 5e-324],
            [rng.uniform(-1e6, 1e6) for _ in range(most)],
        ]
    )
    codes = CODES[:4]
    missing, weights = rng.choice([0.0, 0.2]), rng.choice([[1.0], [0.5, 1.0, 2.0, 3.25]])
    targets = list(range(-3, 4) if criterion == "variance" else range(4))
    order, noise = sorted(codes if 0 in nominal else numbers), rng.choice([0.0, 0.2, 1.0])
    n = rng.randint(1, most)
    samples = []
    for i in range(n):
        row = [rng.choice(codes if j in nominal else numbers) for j in columns]
        y = targets[order.index(row[0]) * len(targets) // len(order)]
        if rng.random() < noise:
            y = rng.choice(targets)
        elif i > n // 2:  # a drift
            y = targets[-1 - targets.index(y)]
        x = tuple(math.nan if rng.random() < missing else value for value in row)
        samples.append(Sample(x, float(y), rng.choice(weights)))
    if criterion != "variance":  # learners number labels in this order, which decides ties
        numbered = {y: i for i, y in enumerate(dict.fromkeys(sample.y for sample in samples))}
        samples = [sample._replace(y=float(numbered[sample.y])) for sample in samples]
    max_depth = rng.choice([None, None, None, 0, 1, 2, 4])
    return samples, Rules(criterion, nominal, max_depth, rng.randint(1, 6), rng.randint(1, 3))
