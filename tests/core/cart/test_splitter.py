"""Growth on presorted columns agrees with CART as one would explain it."""

import pickle
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from river_extra_trees import (
    ForgetfulDecisionTreeClassifier,
    StreamDecisionTreeClassifier,
    persistence,
)
from tests.naive.cart import VALUES, Cart, DrawnCart, Rules, Sample
from tests.naive.rng import NaiveRng
from tests.tools.growing import CODES, assert_same_tree, growth, learn, splits_of, tree_learner

BOOTSTRAP, FEATURES = 1, 2


def labels_of(model: Any) -> list[int] | None:
    return None if model._core.regression else list(model._core.labels.labels)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "variance"])
def test_groups_of_many_values(criterion: str) -> None:
    """The trees are the naive ones, with missing values, weights, copies, few and many classes."""
    rng, n_groups = np.random.default_rng(0), 0
    for seed in range(6):
        scale, most = (5, 10) if seed % 3 == 2 else (1, 1)
        codes = rng.integers(0, 10 if seed == 5 else 24, (160, 2))
        effects = rng.normal(size=24)
        target = effects[codes[:, 0]] + 0.5 * rng.normal(size=160)
        target = np.floor(scale * target).clip(-most, most) + most
        y = [[*dict.fromkeys(target)].index(each) for each in target]
        samples = [
            Sample(tuple(np.where(rng.random(2) < 0.1, np.nan, [CODES[a], CODES[b]])), float(t), w)
            for (a, b), t, w in zip(codes, y, rng.choice([0.5, 1.0, 3.0], 160), strict=True)
        ]
        rules = Rules(criterion, frozenset({0, 1}), min_samples_leaf=1 + seed % 3)
        options = {"batch_size": 160, "max_features": None, "n_swaps": 0}
        model = tree_learner(rules, 2, n_models=2, seed=7, **options)
        learn(model, samples, rules)
        of_copies, of_features = (NaiveRng(7, 0, 0, use) for use in (BOOTSTRAP, FEATURES))
        copies = Counter(of_copies.below(160) for _ in range(160))
        drawn = [sample._replace(copies=copies[i]) for i, sample in enumerate(samples)]
        cart = DrawnCart(rules, 2, of_features, None)
        assert_same_tree(model._core.trees[0], cart.tree(drawn), labels_of(model))
        assert len(set(y)) >= (16 if scale > 1 else 3)  # of 16, a node numbers those that it has
        n_groups += sum(
            s is not None and s.nominal == VALUES for s in splits_of(model._core.trees[0])
        )
        check_copies(model)
    assert n_groups > 6


def check_copies(model: Any) -> None:
    """Sets of values are in copies, pickles and files, and in the memory that is told."""
    model._core.check()
    nodes = model._core.nodes(0)
    for copy in (pickle.loads(pickle.dumps(model)), persistence.load_bytes(
        persistence.save_bytes(model))):  # fmt: skip
        assert [node["threshold"] for node in copy._core.nodes(0)] == [
            node["threshold"] for node in nodes]  # fmt: skip
        assert splits_of(copy._core.trees[0]) == splits_of(model._core.trees[0])
        copy._core.check()


@pytest.mark.parametrize("n_values", [16, 40])
def test_values_with_a_label_each(n_values: int) -> None:
    """A tree of bounded height tells more values apart than it has levels."""
    rng, model, found = np.random.default_rng(0), ForgetfulDecisionTreeClassifier(seed=1), []
    for value, number in zip(rng.integers(0, n_values, 2000), rng.normal(size=2000), strict=True):
        x = {"value": f"v{value}", "z": float(number)}
        found.append(model.predict_one(x) == int(value))
        model.learn_one(x, int(value))
    assert np.mean(found[-500:]) > 0.95


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_columns_of_many_values_make_no_chains(criterion: str) -> None:
    """If 1,000 values say nothing about the target, a node separates one of them only rarely."""
    rng = np.random.default_rng(0)
    model = StreamDecisionTreeClassifier(criterion=criterion, seed=1)
    for row, label in zip(rng.integers(0, 1000, (10_000, 4)), rng.random(10_000), strict=True):
        model.learn_one({i: str(value) for i, value in enumerate(row)}, bool(label < 0.5))
    assert 0 < model.height < 100


@pytest.mark.parametrize("seed", range(120))
def test_growth_on_a_bootstrap(seed: int) -> None:
    """A forest's trees are the naive trees on the copies, features and thresholds that it draws."""
    rng = random.Random(seed)
    samples, rules = growth(rng, 40)
    n, n_features = len(samples), len(samples[0].x)
    most = rng.choice([None, 1, 2])
    options = {"batch_size": n, "max_features": most, "n_swaps": 0, "seed": 7}
    model = tree_learner(rules, n_features, n_models=3, **options)
    learn(model, samples, rules)
    for tree in range(3):
        of_copies, of_features = (NaiveRng(7, tree, 0, use) for use in (BOOTSTRAP, FEATURES))
        copies = Counter(of_copies.below(n) for _ in range(n))
        drawn = [sample._replace(copies=copies[i]) for i, sample in enumerate(samples)]
        cart = DrawnCart(rules, n_features, of_features, most)
        assert_same_tree(model._core.trees[tree], cart.tree(drawn), labels_of(model))


@pytest.mark.parametrize("criterion", ["gini", "entropy", "variance"])
@pytest.mark.parametrize("seed", range(4))
def test_growth_agrees_with_scikit_learn(criterion: str, seed: int) -> None:
    """Where random weights leave no ties, scikit-learn grows the same tree."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(300, 5)).astype(np.float32).astype(float)
    signal = np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2]
    rules = Rules(criterion, max_depth=6, min_samples_leaf=8)
    limits = {"max_depth": 6, "min_samples_leaf": 8, "random_state": 0}
    if criterion == "variance":
        y = signal + 0.3 * rng.normal(size=300)
        peer: Any = DecisionTreeRegressor(**limits)
    else:
        y = np.digitize(signal, [-1, 0, 1]).astype(float)
        peer = DecisionTreeClassifier(criterion=criterion, **limits)
    weights = rng.uniform(0.5, 2.0, size=300)
    peer.fit(x, y, sample_weight=weights)
    model = tree_learner(rules, 5, batch_size=300)
    learn(model, [Sample(tuple(r), t, w) for r, t, w in zip(x, y, weights, strict=True)], rules)
    assert model.n_nodes == peer.tree_.node_count
    impurity = peer.tree_.impurity * (np.log(2) if criterion == "entropy" else 1.0)  # bits there
    nodes = [model._core.trees[0].node(i) for i in model._core.trees[0].preorder()]
    for i, node in enumerate(nodes):  # both in preorder
        assert node["weight"] == pytest.approx(peer.tree_.weighted_n_node_samples[i])
        assert (node["feature"] < 0) == (peer.tree_.feature[i] < 0)
        if node["feature"] >= 0:
            assert node["feature"] == peer.tree_.feature[i]
            assert node["threshold"] == pytest.approx(peer.tree_.threshold[i])
            sides = [peer.tree_.children_left[i], peer.tree_.children_right[i]]
            weighted = peer.tree_.weighted_n_node_samples * impurity
            removed = weighted[i] - weighted[sides].sum()
            assert node["gain"] == pytest.approx(removed, abs=1e-9)


@pytest.mark.parametrize("scale", [1e-160, 1e140])
def test_splits_do_not_depend_on_the_scale_of_the_target(scale: float) -> None:
    """Tiny and huge targets are told apart alike."""
    rules = Rules("variance", max_depth=4)
    trees = []
    for factor in (1.0, scale):
        rng = np.random.default_rng(0)
        samples = [
            Sample((float(a), float(b)), factor * ((a + 2 * b) % 3))
            for a, b in rng.integers(0, 6, size=(40, 2))
        ]
        model = tree_learner(rules, 2, batch_size=40)
        learn(model, samples, rules)
        trees.append(splits_of(model._core.trees[0]))
    assert trees[0] == trees[1]


def test_deep_trees_need_no_recursion() -> None:
    """A tree as deep as its samples are many is grown, asked, pickled and felled."""
    n = 5_000
    model = StreamDecisionTreeClassifier(batch_size=n, max_nodes=10**6, seed=0)
    for i in range(n):
        model.learn_one({"a": float(i)}, i % 2)
    assert model.n_leaves == n
    assert model.height > 2_000
    assert pickle.loads(pickle.dumps(model)).predict_one({"a": 3.0}) == 1


@pytest.mark.parametrize("criterion", ["gini", "entropy", "variance"])
@pytest.mark.parametrize("seed", range(8))
def test_sparse_columns(criterion: str, seed: int) -> None:
    """Few samples have a column of either kind, some columns are equal: the trees are naive."""
    rng = np.random.default_rng(seed)
    n, n_columns = 120, 10
    x = rng.integers(0, 3, (n, n_columns)).astype(float)
    x[:, 1:6][rng.random((n, 5)) < rng.choice([0.8, 0.97])] = np.nan
    x[:, 6:9] = x[:, [1, 1, 2]]
    x[rng.integers(n), 9] = np.nan
    nominal = frozenset({2, 3, 8}) if seed % 2 else frozenset()
    for column in nominal:
        known = ~np.isnan(x[:, column])
        x[known, column] = np.array(CODES)[x[known, column].astype(int)]
    y = np.nan_to_num(x[:, 1]) + (np.isnan(x[:, 4]) * rng.integers(0, 2, n))
    y = np.array([[*dict.fromkeys(y)].index(each) for each in y], float)
    weights = rng.choice([0.5, 1.0, 3.0], n) if seed % 3 == 0 else np.ones(n)
    samples = [Sample(tuple(a), b, c) for a, b, c in zip(x, y, weights, strict=True)]
    rules = Rules(criterion, nominal, min_samples_leaf=1 + seed % 2)
    model = tree_learner(rules, n_columns, batch_size=n)
    learn(model, samples, rules)
    cart = Cart(rules)
    assert_same_tree(model._core.trees[0], cart.tree(samples), labels_of(model))
