"""Stream decision trees and forests: batches, bootstraps, swaps, and the published program."""

import csv
import gzip
import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from river_extra_trees import (
    StreamDecisionForestClassifier,
    StreamDecisionForestRegressor,
    StreamDecisionTreeClassifier,
    StreamDecisionTreeRegressor,
)
from river_extra_trees._estimator.inspection import path
from tests.naive.rng import NaiveRng
from tests.naive.stream_tree import NaiveStreamTree
from tests.tools.growing import assert_same_tree, growth, learn, tree_learner

ALL = [
    StreamDecisionTreeClassifier,
    StreamDecisionTreeRegressor,
    StreamDecisionForestClassifier,
    StreamDecisionForestRegressor,
]
FORESTS = ALL[2:]
WITH_A_PROGRAM = ALL[::2]  # the programs classify

SWAP, RENEW = 3, 10  # purposes of random numbers
PUBLISHED = {"published": True}


def rows(n: int, seed: int = 0) -> list[tuple[dict[str, Any], int]]:
    """Samples that can be learned, by classifiers and regressors alike."""
    generator = random.Random(seed)
    found = []
    for _ in range(n):
        x = {name: generator.random() for name in "abcd"}
        x["colour"] = generator.choice(["red", "green", "blue"])
        found.append((x, int(3 * x["a"] + (x["colour"] == "red"))))
    return found


def leaf_number(model: Any, x: dict[str, Any], tree: int) -> int:
    """The node of the leaf that a sample falls to."""
    *_, leaf = path(model._core.nodes(tree), model._core.row_of(x))
    return int(leaf["node"])


@pytest.mark.parametrize("learner", ALL)
def test_the_next_batch_has_no_column_before_its_first_sample(learner: Any) -> None:
    """Reading one would be reading memory that the empty window has not allocated."""
    model, samples = learner(seed=1, batch_size=40), rows(41)
    for x, y in samples[:40]:
        model.learn_one(x, y)
    model._core.check()
    assert (model._core.window.size, model._core.window.n_columns) == (0, 0)
    model.learn_many(pd.DataFrame([x for x, _ in samples[40:]]), [y for _, y in samples[40:]])
    model._core.check()
    assert model._core.window.n_columns == 5


@pytest.mark.parametrize("seed", range(70))
def test_growth_agrees_with_the_naive_stream_tree(seed: int) -> None:
    """After every sample the tree is the one that the naive version has."""
    rng = random.Random(seed)
    samples, rules = growth(rng, 80)
    batch_size, leaf_memory = rng.randint(1, 40), rng.choice([None, 1.0, 10.0])
    n_features = len(samples[0].x)
    model = tree_learner(rules, n_features, batch_size=batch_size, leaf_memory=leaf_memory)
    naive = NaiveStreamTree(rules, batch_size, 1.0 if leaf_memory is None else 1 - 1 / leaf_memory)
    for sample in samples:
        learn(model, [sample], rules)
        naive.learn(sample)
        labels = None if rules.criterion == "variance" else model._core.labels.labels
        assert_same_tree(model._core.trees[0], naive.root, labels)


@pytest.mark.parametrize(
    ("model_class", "options", "n_swaps", "number"),
    [
        (FORESTS[0], {"leaf_memory": None}, 2, 2),
        (FORESTS[0], {"leaf_memory": None, "max_depth": 1}, 0.01, 1),
        (FORESTS[0], PUBLISHED, 0.5, 2),
        (FORESTS[1], {"leaf_memory": None}, 0.1, 1),
        (FORESTS[1], {"leaf_memory": None}, 1.0, 5),
    ],
)
def test_worst_trees_are_replaced(
    model_class: Any, options: dict[str, Any], n_swaps: float, number: int
) -> None:
    """From the second batch on, always or with probability 1 / b, the worst trees are new.

    A share stands for the number of trees below it, and for one tree at least. The root of a new
    tree holds a bootstrap of the batch.
    """
    seed = 20  # of its draws some lie between 1 / (b + 1) and 1 / b, some up to 1 / (b - 1)
    model = model_class(n_models=5, batch_size=10, n_swaps=n_swaps, seed=seed, **options)
    stream = rows(400)
    n_swapped = 0
    for b in range(1, 41):
        trees = model._core.trees
        losses, weights = np.zeros(5), []
        for x, y in stream[10 * (b - 1) : 10 * b]:
            weights.append(0.25 + 5 * (x["b"] > 0.8))
            for i in range(5):
                leaf = trees.node(leaf_number(model, x, i), i)
                losses[i] += weights[-1] * loss(leaf, y, model)
            model.learn_one(x, y, w=weights[-1])
        # A root was last visited in the batch that split it.
        swapped = [i for i in range(5) if b > 1 and trees[i].state()["visited"][0] == b]
        worst = sorted(np.argsort(-losses, kind="stable")[:number].tolist())
        if options is PUBLISHED:
            drawn = NaiveRng(seed, 0, b - 1, SWAP).uniform() < 1 / b
            assert swapped == (worst if b > 1 and drawn else [])
        else:
            assert swapped == [i for i in worst if b > 1 and losses[i] > 0]
        for i in swapped:
            rng = NaiveRng(seed, i, b - 1, RENEW)
            drawn_weight = sum(weights[rng.below(10)] for _ in range(10))
            assert trees.node(0, i)["weight"] == pytest.approx(drawn_weight)
        n_swapped += len(swapped)
    assert n_swapped >= 4


def loss(leaf: dict[str, Any], y: int, model: Any) -> float:
    """Prequential loss of one tree: squared, or 0 and 1 where the first heaviest class counts."""
    if model._core.regression:
        return float((y - leaf["values"][0]) ** 2)
    labels = model._core.labels.labels
    if leaf["weight"] == 0:
        return 1.0
    return float(labels[leaf["values"].index(max(leaf["values"]))] != y)


@pytest.mark.parametrize("model_class", FORESTS)
def test_forests_average_what_their_trees_say(model_class: Any) -> None:
    """The shares of the classes in the leaves, or the means there."""
    model = model_class(n_models=7, batch_size=30, seed=0)
    for x, y in rows(200):
        model.learn_one(x, y)
    for x, _ in rows(50, seed=1):
        leaves = [model._core.trees.node(leaf_number(model, x, i), i) for i in range(7)]
        if model._core.regression:
            means = [leaf["values"][0] for leaf in leaves]
            assert model.predict_one(x) == pytest.approx(np.mean(means))
        else:
            shares = [np.array(leaf["values"]) / leaf["weight"] for leaf in leaves]
            found = model.predict_proba_one(x)
            assert list(found.values()) == pytest.approx(np.mean(shares, axis=0))
            assert found[model.predict_one(x)] == max(found.values())


GOLDEN = Path(__file__).parent / "golden" / "sdf"
INPUTS = {"elec_nswprice": 2, "power_main": 24, "gradual_x3": 2}
OPTIONS = {"": {}, "_depth8": {"max_depth": 8}, "_leaf5": {"min_samples_leaf": 5}}
RUNS = list(itertools.product(INPUTS, (50, 100), ("gini", "entropy"), OPTIONS))


def read_table(name: str) -> list[list[str]]:
    with gzip.open(GOLDEN / f"{name}.csv.gz", "rt") as file:
        return list(csv.reader(file))[1:]


def read_integers(name: str) -> list[int]:
    with gzip.open(GOLDEN / f"{name}.txt.gz", "rt") as file:
        return [int(line) for line in file]


@pytest.mark.parametrize(("stream", "batch_size", "criterion", "option"), RUNS)
def test_recorded_run(stream: str, batch_size: int, criterion: str, option: str) -> None:
    """Predictions, node counts and the final tree of the published program come out exactly."""
    x, y = zip(*((float(np.float32(a)), int(b)) for a, b in read_table(stream)), strict=True)
    model = StreamDecisionTreeClassifier(batch_size, criterion, published=True, **OPTIONS[option])
    predictions, sizes = [], []
    for i, (value, label) in enumerate(zip(x, y, strict=True), start=1):
        if i > batch_size:
            proba = model.predict_proba_one({"x": value})
            predictions.append(max(sorted(proba), key=proba.__getitem__))
        model.learn_one({"x": value}, label)
        if i % batch_size == 0:
            sizes.append(model.n_nodes)

    run = f"{stream}_b{batch_size}_{criterion}{option}"
    assert predictions == read_integers(f"{run}_pred")
    assert sizes == read_integers(f"{run}_nodes")
    final = read_table(f"{run}_finaltree")
    trees, labels = model._core.trees[0], model._core.labels.labels
    waiting, compared = [(0, 0)], 0
    while waiting:
        ours, theirs = waiting.pop()
        node, (left, right, _, threshold, *shares) = trees.node(ours), final[theirs]
        assert (node["feature"] < 0) == (left == "-1")
        if node["feature"] >= 0:
            assert f"{node['threshold']:.9g}" == f"{float(threshold):.9g}"
            waiting += [(node["left"], int(left)), (node["right"], int(right))]
        else:
            told = dict(zip(labels, node["values"], strict=True))
            for label in range(INPUTS[stream]):
                share = told.get(label, 0.0) / node["weight"]
                assert f"{share:.9g}" == f"{float(shares[label]):.9g}"
        compared += 1
    assert compared == len(final)


def test_published_visits_features_in_random_order() -> None:
    """Pure leaves are split on the first feature visited: in a fixed order, most were on one."""
    shares = []
    for seed in range(16):
        generator = random.Random(seed)
        model = StreamDecisionTreeClassifier(50, published=True, seed=seed)
        for _ in range(1000):
            x = {str(feature): generator.random() for feature in range(5)}
            model.learn_one(x, int(x["0"] + x["1"] > 1.0) ^ (generator.random() < 0.1))
        splits = [int(node["feature"]) for node in model._nodes(0) if node["feature"]]
        shares.append([splits.count(feature) / len(splits) for feature in range(5)])
    assert np.all(np.mean(shares, axis=0) > 0.1)
