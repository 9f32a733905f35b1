"""What the features are good for in the trees of a particle filter, against the naive trees."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest

from river_extra_trees import DynamicTreeClassifier, DynamicTreeRegressor
from river_extra_trees._core.dynamic import ParticleFilter
from river_extra_trees.dynamic_learner import averaged, gains_of, split_shares_of
from tests.core.dynamic.test_scores import N_LEARNED, learned, model_of
from tests.naive.dynamic import DynamicTree, Leaf, Split, Tree
from tests.naive.dynamic_filters import naive_tree
from tests.naive.dynamic_leaves import GaussianLeaf
from tests.tools.particle_trees import trees_of


def learned_trees(leaf: str, model: DynamicTree) -> tuple[ParticleFilter, list[tuple[Tree, float]]]:
    """A particles that has retired some rows, and its distinct trees with their shares."""
    particles = learned("flat", leaf)
    return particles, [
        (naive_tree(model, particles, nodes), n / particles.n_particles)
        for nodes, n in trees_of(particles)
    ]


def spread(model: DynamicTree, tree: Tree) -> float:
    """Weight of a region times its predictive variance in the middle, or its entropy."""
    leaf = tree if isinstance(tree, Leaf) else model.pruned(tree)
    total = model.total(leaf)
    if not isinstance(model.leaf_model, GaussianLeaf):
        return total.weight * model.leaf_model.entropy(total)
    df = model.leaf_model.degrees_of_freedom(total)
    return total.weight * model.leaf_model.residual(total) / df * (1 + 1 / total.weight)


def add_gains(model: DynamicTree, tree: Tree, gains: np.ndarray) -> None:
    if isinstance(tree, Split):
        gains[tree.column] += (
            spread(model, tree) - spread(model, tree.left) - spread(model, tree.right)
        )
        add_gains(model, tree.left, gains)
        add_gains(model, tree.right, gains)


def count_splits(tree: Tree, counts: np.ndarray) -> np.ndarray:
    if isinstance(tree, Split):
        counts[tree.column] += 1
        count_splits(tree.left, counts)
        count_splits(tree.right, counts)
    return counts


@pytest.mark.parametrize("leaf", ["constant", "linear", "class"])
def test_relevance_is_the_naive_one(leaf: str) -> None:
    """Averaged over the trees, retired samples included."""
    model = model_of(leaf)
    particles, trees = learned_trees(leaf, model)
    expected = np.zeros(model.X.shape[1])
    for tree, share in trees:
        gains = np.zeros(model.X.shape[1])
        add_gains(model, tree, gains)
        expected += share * gains / N_LEARNED
    found = list(averaged(particles, gains_of).values())
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("factor", [0.99, "auto"])
@pytest.mark.parametrize("number", [True, False])
def test_an_onlooker_sees_faded_weights(number: bool, factor: float | str) -> None:
    """Leaves not visited for long count what they would by now, and looking changes no bit."""
    make = DynamicTreeRegressor if number else DynamicTreeClassifier
    model = make(n_particles=8, forgetting_factor=factor, seed=0)
    rng = random.Random(0)
    for i in range(400):
        x = rng.random() if i < 200 else 0.5 + 0.5 * rng.random()
        model.learn_one({"x": x}, x > 0.5 if not number else float(x > 0.5) + rng.gauss(0, 0.1))
    before = pickle.dumps(model)
    model.relevance()
    roots = model.to_dataframe().query("depth == 0")
    leaves = model.to_dataframe().query("is_leaf").groupby("tree")["weight"].sum()
    assert pickle.dumps(model) == before
    assert roots["weight"].to_numpy() == pytest.approx(leaves.to_numpy(), rel=1e-9)
    if factor == 0.99:
        expected = sum(0.99**age for age in range(400))
        assert roots["weight"].to_numpy() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("leaf", ["constant", "linear", "class"])
def test_split_shares_are_the_naive_ones(leaf: str) -> None:
    """Share of each feature in the splits of a tree, averaged over the trees."""
    model = model_of(leaf)
    particles, trees = learned_trees(leaf, model)
    expected = np.zeros(model.X.shape[1])
    for tree, share in trees:
        counts = count_splits(tree, np.zeros(model.X.shape[1]))
        expected += share * counts / max(1, counts.sum())
    assert list(averaged(particles, split_shares_of).values()) == pytest.approx(expected)
