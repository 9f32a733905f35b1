"""Stream decision trees and forests: batches, bootstraps, swaps, and the published program."""

from __future__ import annotations

import math
import pickle
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from river_extra_trees import (
    StreamDecisionForestClassifier,
    StreamDecisionForestRegressor,
    StreamDecisionTreeClassifier,
    StreamDecisionTreeRegressor,
)
from river_extra_trees._estimator.inspection import path
from river_extra_trees._estimator.parameters import n_features_visited
from tests.naive.cart import Rules, Sample
from tests.naive.rng import NaiveRng
from tests.naive.stream_tree import NaiveStreamTree, PublishedStreamTree
from tests.naive.test_stream_tree import INPUTS, OPTIONS, RUNS, read_integers, read_table
from tests.tools.growing import assert_same_tree, growths, learn, tree_learner

ALL = [
    StreamDecisionTreeClassifier,
    StreamDecisionTreeRegressor,
    StreamDecisionForestClassifier,
    StreamDecisionForestRegressor,
]
FORESTS = ALL[2:]
WITH_A_PROGRAM = ALL[::2]  # the programs classify


SWAP = 3


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


# -------------------------------------------------------------------- growth over many batches


@given(growths(max_size=60), st.integers(1, 40), st.sampled_from([None, 1.0, 10.0]))
@settings(max_examples=150)
def test_growth_agrees_with_the_naive_stream_tree(
    growth: tuple[list[Sample], Rules], batch_size: int, leaf_memory: float | None
) -> None:
    """After every sample the tree is the one that the naive version has."""
    samples, rules = growth
    n_features = len(samples[0].x)
    model = tree_learner(rules, n_features, batch_size=batch_size, leaf_memory=leaf_memory)
    naive = NaiveStreamTree(rules, batch_size, 1.0 if leaf_memory is None else 1 - 1 / leaf_memory)
    for sample in samples:
        learn(model, [sample], rules)
        naive.learn(sample)
        labels = None if rules.criterion == "variance" else model._core.labels.labels
        assert_same_tree(model._core.trees[0], naive.root, labels)


def test_a_leaf_learns_before_its_batch_is_complete() -> None:
    """Answers follow every sample; the structure waits for some samples."""
    model = StreamDecisionTreeClassifier(batch_size=100)
    model.learn_one({"a": 1.0}, "no")
    assert model.predict_proba_one({"a": 1.0}) == {"no": 1.0}
    for _ in range(3):
        model.learn_one({"a": 1.0}, "yes")
    assert model.predict_one({"a": 1.0}) == "yes"
    assert model.n_nodes == 1


def test_a_root_that_stayed_a_leaf_may_split_later() -> None:
    """A first batch of one class is no dead end."""
    model = StreamDecisionTreeClassifier(batch_size=10)
    for i in range(20):
        assert model.n_nodes == 1
        model.learn_one({"a": float(i)}, i >= 15)
    assert model.n_nodes == 3
    assert model.predict_one({"a": 17.0}) is True


def test_a_leaf_forgets_no_class_it_was_never_asked_to() -> None:
    """One new sample of another class does not overturn a leaf that keeps its counts."""
    model = StreamDecisionTreeClassifier(batch_size=10, leaf_memory=None)
    for _ in range(30):
        model.learn_one({"a": 1.0}, "often")
    for _ in range(10):
        model.learn_one({"a": 1.0}, "seldom")
    assert model.predict_proba_one({"a": 1.0}) == {"often": 0.75, "seldom": 0.25}


def test_a_leaf_with_a_memory_of_one_knows_its_last_sample() -> None:
    """With the shortest memory each leaf answers what it learned last."""
    model = StreamDecisionTreeRegressor(batch_size=100, leaf_memory=1)
    for y in (1.0, 5.0, 3.0):
        model.learn_one({"a": 1.0}, y)
        assert model.predict_one({"a": 1.0}) == y


def test_new_features_and_classes_in_mid_stream() -> None:
    """What turns up late is used by the next batch."""
    model = StreamDecisionTreeClassifier(batch_size=20, leaf_memory=None)
    for i in range(20):
        model.learn_one({"a": float(i)}, i >= 10)
    for i in range(40):
        model.learn_one({"a": 5.0, "new": float(i % 2)}, "late" if i % 2 else "later")
    assert model.predict_one({"a": 5.0, "new": 1.0}) == "late"
    assert model.predict_one({"a": 5.0, "new": 0.0}) == "later"
    assert list(model.predict_proba_one({"a": 5.0})) == [False, True, "later", "late"]


# -------------------------------------------------------------------- weights


@pytest.mark.parametrize("model_class", ALL)
def test_weight_two_counts_twice(model_class: Any) -> None:
    """Doubled weights leave structure and answers alone, and double the counts."""
    once = model_class(batch_size=25, leaf_memory=None, seed=3)
    twice = model_class(batch_size=25, leaf_memory=None, seed=3)
    for x, y in rows(200):
        once.learn_one(x, y)
        twice.learn_one(x, y, w=2.0)
    for one, two in zip(once._core.trees, twice._core.trees, strict=True):
        for number in one.preorder():
            a, b = one.node(number), two.node(number)
            assert (a["feature"], a["threshold"]) == (b["feature"], b["threshold"])
            assert b["weight"] == 2 * a["weight"]
    assert all(once.predict_one(x) == pytest.approx(twice.predict_one(x)) for x, _ in rows(50, 1))


# -------------------------------------------------------------------- forests


@pytest.mark.parametrize(
    ("model_class", "published"),
    [(FORESTS[0], False), (FORESTS[0], True), (FORESTS[1], False)],
)
def test_worst_trees_are_replaced(model_class: Any, published: bool) -> None:
    """From the second batch on, always or with probability 1 / b, the worst trees are new."""
    seed = 20  # of its draws some lie between 1 / (b + 1) and 1 / b, some up to 1 / (b - 1)
    options = {"published": True} if published else {"leaf_memory": None}
    model = model_class(n_models=5, batch_size=10, n_swaps=2, seed=seed, **options)
    stream = rows(400)
    n_swapped = 0
    for b in range(1, 41):
        trees = list(model._core.trees)
        losses = np.zeros(5)
        for x, y in stream[10 * (b - 1) : 10 * b]:
            w = 0.25 + 5 * (x["b"] > 0.8)
            for i, tree in enumerate(trees):
                losses[i] += w * loss(tree.node(leaf_number(model, x, i)), y, model)
            model.learn_one(x, y, w=w)
        swapped = [i for i in range(5) if model._core.trees[i] is not trees[i]]
        worst = sorted(np.argsort(-losses, kind="stable")[:2].tolist())
        if published:
            drawn = NaiveRng(seed, 0, b - 1, SWAP).uniform() < 1 / b
            assert swapped == (worst if b > 1 and drawn else [])
        else:
            assert swapped == [i for i in worst if b > 1 and losses[i] > 0]
        n_swapped += len(swapped)
    assert n_swapped >= 4


@pytest.mark.parametrize(
    ("model_class", "options"),
    [
        *((model_class, {"leaf_memory": None}) for model_class in FORESTS),
        (FORESTS[0], {"published": True}),
    ],
)
def test_new_trees_grow_on_the_batch(model_class: Any, options: dict[str, Any]) -> None:
    """A new tree's root holds a bootstrap of the batch that has just come.

    The samples of a leaf of the published program do not decay, not even in a new tree.
    """
    model, n_new = model_class(n_models=2, batch_size=10, n_swaps=2, seed=4, **options), 0
    for x, y in rows(200):
        trees = list(model._core.trees)
        model.learn_one(x, y)
        for old, new in zip(trees, model._core.trees, strict=True):
            if new is not old and model._core.n_batches > 1:
                assert new.node(new.root())["weight"] == 10
                n_new += 1
    assert n_new > 0


@pytest.mark.parametrize("model_class", FORESTS)
def test_a_share_of_the_trees_is_replaced(model_class: Any) -> None:
    """A share stands for the number of trees below it, and for one tree at least."""
    for share, number in ((0.1, 1), (0.5, 2), (0.01, 1), (1.0, 5)):
        some, same = (
            model_class(n_models=5, batch_size=10, n_swaps=n, seed=4) for n in (share, number)
        )
        for x, y in rows(100):
            some.learn_one(x, y)
            same.learn_one(x, y)
        assert pickle.dumps(some._core.trees) == pickle.dumps(same._core.trees)


@pytest.mark.parametrize("model_class", FORESTS)
def test_no_swaps(model_class: Any) -> None:
    """Without swaps, all trees stay after the first batch."""
    model = model_class(n_models=3, batch_size=10, n_swaps=0, seed=4)
    trees = list(model._core.trees)
    for x, y in rows(100):
        model.learn_one(x, y)
    assert all(a is b for a, b in zip(trees, model._core.trees, strict=True))


def loss(leaf: dict[str, Any], y: int, model: Any) -> float:
    """Prequential loss of one tree: squared, or 0 and 1 where the first heaviest class counts."""
    if model._core.regression:
        return float((y - leaf["values"][0]) ** 2)
    labels = model._core.labels.labels
    if leaf["weight"] == 0:
        return 1.0
    return float(labels[leaf["values"].index(max(leaf["values"]))] != y)


def test_forests_average_what_their_trees_say() -> None:
    """Probabilities are means over the trees of the shares in the leaf, answers their maximum."""
    model = StreamDecisionForestClassifier(n_models=7, batch_size=30, seed=0)
    for x, y in rows(200):
        model.learn_one(x, y)
    for x, _ in rows(50, seed=1):
        shares = np.zeros(len(model._core.labels))
        for i, tree in enumerate(model._core.trees):
            leaf = tree.node(leaf_number(model, x, i))
            shares += np.array(leaf["values"]) / leaf["weight"]
        proba = model.predict_proba_one(x)
        assert list(proba.values()) == pytest.approx(list(shares / 7))
        assert proba[model.predict_one(x)] == max(proba.values())


def test_regression_forests_average_means() -> None:
    """The answer is the mean of the leaf means."""
    model = StreamDecisionForestRegressor(n_models=7, batch_size=30, seed=0)
    for x, y in rows(200):
        model.learn_one(x, y)
    for x, _ in rows(50, seed=1):
        trees = model._core.trees
        means = [t.node(leaf_number(model, x, i))["values"][0] for i, t in enumerate(trees)]
        assert model.predict_one(x) == pytest.approx(np.mean(means))


@pytest.mark.parametrize("model_class", FORESTS)
@pytest.mark.parametrize("n_jobs", [2, 3, 16])
def test_number_of_threads_does_not_matter(model_class: Any, n_jobs: int) -> None:
    """The same bits come of any number of threads."""
    states = []
    for jobs in (1, n_jobs):
        model = model_class(n_models=5, batch_size=20, n_jobs=jobs, seed=5)
        for x, y in rows(300):
            model.learn_one(x, y)
        states.append(pickle.dumps(model._core.trees))
    assert states[0] == states[1]


@pytest.mark.parametrize("model_class", ALL)
def test_pickled_in_mid_batch(model_class: Any) -> None:
    """A copy made anywhere in a batch goes on as the original does, bit for bit."""
    model = model_class(batch_size=30, seed=5)
    for i, (x, y) in enumerate(rows(200)):
        model.learn_one(x, y)
        if i % 37 == 0:
            model = pickle.loads(pickle.dumps(model))
    unbroken = model_class(batch_size=30, seed=5)
    for x, y in rows(200):
        unbroken.learn_one(x, y)
    assert pickle.dumps(model._core.trees) == pickle.dumps(unbroken._core.trees)


# -------------------------------------------------------------------- memory


@pytest.mark.parametrize("model_class", ALL)
@pytest.mark.parametrize("max_nodes", [1, 2, 9, 40])
def test_number_of_nodes_is_bounded(model_class: Any, max_nodes: int) -> None:
    """No tree has more than `max_nodes` nodes, neither in the first batch nor later."""
    model = model_class(batch_size=40, max_nodes=max_nodes, seed=5)
    for x, y in rows(400):
        model.learn_one(x, y)
        assert all(tree.n_nodes <= max_nodes for tree in model._core.trees)


@given(
    st.sampled_from(ALL),
    st.integers(1, 9),
    st.integers(1, 30),
    st.lists(
        st.tuples(
            st.dictionaries(
                st.sampled_from("abc"),
                st.none() | st.booleans() | st.floats(-3, 3) | st.sampled_from("xyz"),
            ),
            st.integers(0, 5),
            st.sampled_from([0.0, 0.5, 1.0, 3.0]),
        ),
        max_size=50,
    ),
    st.booleans(),
)
@settings(max_examples=60)
@pytest.mark.slow
def test_structures_stay_sound(
    model_class: Any,
    batch_size: int,
    max_nodes: int,
    samples: list[tuple[dict[str, Any], int, float]],
    published: bool,
) -> None:
    """Whatever is learned, every structure passes its own check and survives pickling."""
    options = {"published": True} if published and model_class in WITH_A_PROGRAM else {}
    model = model_class(batch_size=batch_size, max_nodes=max_nodes, seed=1, **options)
    for x, y, w in samples:
        model.predict_one(x)
        model.learn_one(x, y, w=w)
        model._core.check()
        restored = pickle.loads(pickle.dumps(model))
        restored._core.check()
        assert restored.predict_one(x) == model.predict_one(x)


# -------------------------------------------------------------------- the published program


@pytest.mark.parametrize(("stream", "batch_size", "criterion", "option"), RUNS)
def test_recorded_run(stream: str, batch_size: int, criterion: str, option: str) -> None:
    """Predictions, node counts and the final tree of the published program come out exactly."""
    x, y = zip(*((float(np.float32(a)), int(b)) for a, b in read_table(stream)), strict=True)
    model = StreamDecisionTreeClassifier(
        batch_size, criterion, max_nodes=10**6, published=True, **OPTIONS[option]
    )
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
    waiting, compared = [(trees.root(), 0)], 0
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


@pytest.mark.parametrize("model_class", WITH_A_PROGRAM)
def test_published_is_complete(model_class: Any) -> None:
    """One argument gives the program; what it fixes cannot be asked for beside it."""
    with pytest.raises(ValueError, match=r"leaf_memory must be (5|10), .* when published=True"):
        model_class(published=True, leaf_memory=None)
    assert model_class(published=True)._core.published


# -------------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("batch_size", 0),
        ("max_depth", -1),
        ("min_samples_split", 0),
        ("min_samples_leaf", 0),
        ("max_features", 0),
        ("max_features", 1.5),
        ("max_features", "half"),
        ("max_features", True),
        ("max_nodes", 0),
        ("leaf_memory", 0.5),
        ("splitter", "worst"),
    ],
)
@pytest.mark.parametrize("model_class", ALL)
def test_bad_parameters_are_named(model_class: Any, name: str, value: object) -> None:
    """A parameter out of its range is an error that names it."""
    with pytest.raises(ValueError, match=name):
        model_class(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_models", 0), ("n_swaps", -1), ("n_swaps", 1.5), ("n_jobs", 0)],
)
@pytest.mark.parametrize("model_class", FORESTS)
def test_bad_parameters_of_forests_are_named(model_class: Any, name: str, value: object) -> None:
    """The same for the parameters that only forests have."""
    with pytest.raises(ValueError, match=name):
        model_class(**{name: value})


@pytest.mark.parametrize("model_class", [ALL[0], ALL[2]])
def test_bad_criterion_is_named(model_class: Any) -> None:
    """Classification knows gini and entropy."""
    with pytest.raises(ValueError, match="criterion"):
        model_class(criterion="variance")


@pytest.mark.parametrize(
    ("max_features", "expected"),
    [(None, 30), ("sqrt", 5), ("log2", 4), (0.5, 15), (0.001, 1), (7, 7)],
)
def test_number_of_features_looked_at(max_features: Any, expected: int) -> None:
    """Names, shares and numbers of features say how many of 30 are looked at."""
    assert n_features_visited(max_features, 30) == expected


def test_columns_that_came_first_are_not_preferred_by_forests() -> None:
    """With few features looked at per split, all of them are used."""
    model = StreamDecisionForestClassifier(n_models=20, batch_size=50, seed=0)
    for x, y in rows(300):
        model.learn_one(x, y)
    used = model.feature_importances_
    assert set(used) == {"a", "b", "c", "d", "colour"}
    assert math.isclose(sum(used.values()), 1.0)
    assert max(used, key=used.__getitem__) == "a"


def test_published_visits_features_in_random_order() -> None:
    """Over 16 seeds each, features are split as often as in the published program, and as well.

    Pure leaves are split on the first feature visited: in a fixed order, most splits were on one.
    """
    shares: dict[str, list[list[float]]] = {"ours": [], "theirs": []}
    accuracies: dict[str, list[float]] = {"ours": [], "theirs": []}
    for seed in range(16):
        generator = random.Random(seed)
        x = [tuple(np.float32(generator.random()) for _ in range(5)) for _ in range(1000)]
        y = [int(row[0] + row[1] > 1.0) ^ (generator.random() < 0.1) for row in x]
        for who, (splits, right) in {
            "ours": split_and_answer(x, y, seed),
            "theirs": split_and_answer_as_published(x, y, seed),
        }.items():
            shares[who].append([splits.count(feature) / len(splits) for feature in range(5)])
            accuracies[who].append(right)
    ours, theirs = np.array(shares["ours"]), np.array(shares["theirs"])
    error = np.sqrt((ours.var(0) + theirs.var(0)) / 15)
    assert np.all(np.abs(ours.mean(0) - theirs.mean(0)) < 4 * error)
    assert np.all(ours.mean(0) > 0.1)
    assert abs(np.mean(accuracies["ours"]) - np.mean(accuracies["theirs"])) < 0.01


def split_and_answer(x: list[Any], y: list[int], seed: int) -> tuple[list[int], float]:
    """The features that the learner has split on, and its accuracy."""
    model = StreamDecisionTreeClassifier(50, max_nodes=10**6, published=True, seed=seed)
    right = 0
    for i, (row, label) in enumerate(zip(x, y, strict=True)):
        sample = {str(feature): float(value) for feature, value in enumerate(row)}
        right += i >= 50 and model.predict_one(sample) == label
        model.learn_one(sample, label)
    return [int(node["feature"]) for node in model._nodes(0) if node["feature"]], right / len(y)


def split_and_answer_as_published(x: list[Any], y: list[int], seed: int) -> tuple[list[int], float]:
    """The same of the published program."""
    tree = PublishedStreamTree(2, seed=seed)
    right = 0
    for start in range(0, len(y), 50):
        batch = slice(start, start + 50)
        if start > 0:
            right += sum(tree.predict(a) == b for a, b in zip(x[batch], y[batch], strict=True))
        tree.learn_batch(x[batch], y[batch])
    return [node.feature for node in tree.nodes if node.left >= 0], right / len(y)


@pytest.mark.parametrize("leaf_memory", [None, 2.0])
def test_published_refuses_another_leaf_memory(leaf_memory: Any) -> None:
    """Leaves of the published program do not decay."""
    with pytest.raises(ValueError, match="leaf_memory must be 10, its default"):
        StreamDecisionTreeClassifier(leaf_memory=leaf_memory, published=True)
