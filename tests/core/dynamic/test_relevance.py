"""What the features are good for in the trees of a particle filter, against the naive trees."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator

import numpy as np
import pytest

from river_extra_trees import DynamicTreeClassifier, DynamicTreeRegressor
from river_extra_trees.dynamic_learner import averaged, gains_of, split_shares_of
from tests.core.dynamic.test_scores import N_LEARNED, learned, model_of
from tests.naive.dynamic import DynamicTree, Leaf, Split, Tree
from tests.naive.dynamic_filters import naive_tree
from tests.naive.dynamic_leaves import GaussianLeaf
from tests.tools.particle_trees import trees_of


def spread(model: DynamicTree, tree: Tree) -> float:
    """Weight of a region times its predictive variance in the middle, or its entropy."""
    leaf = tree if isinstance(tree, Leaf) else model.pruned(tree)
    total = model.total(leaf)
    if not isinstance(model.leaf_model, GaussianLeaf):
        return total.weight * model.leaf_model.entropy(total)
    df = model.leaf_model.degrees_of_freedom(total)
    return total.weight * model.leaf_model.residual(total) / df * (1 + 1 / total.weight)


def splits_of(tree: Tree) -> Iterator[Split]:
    if isinstance(tree, Split):
        yield tree
        yield from splits_of(tree.left)
        yield from splits_of(tree.right)


@pytest.mark.parametrize("leaf", ["constant", "linear", "class"])
def test_relevance_and_split_shares_are_the_naive_ones(leaf: str) -> None:
    """Averaged over the trees, retired samples included."""
    model, particles = model_of(leaf), learned("flat", leaf)
    gains, shares = np.zeros((2, model.X.shape[1]))
    for nodes, n in trees_of(particles):
        splits = list(splits_of(naive_tree(model, particles, nodes)))
        for split in splits:
            gain = spread(model, split) - spread(model, split.left) - spread(model, split.right)
            gains[split.column] += n / particles.n_particles * gain / N_LEARNED
            shares[split.column] += n / particles.n_particles / len(splits)
    found = list(averaged(particles, gains_of).values())
    assert found == pytest.approx(gains, rel=1e-6, abs=1e-9)
    assert list(averaged(particles, split_shares_of).values()) == pytest.approx(shares)


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
