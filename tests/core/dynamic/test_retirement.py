"""Retirement without forgetting moves samples into the prior, and nothing else follows from it."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest

from river_extra_trees import DynamicTreeClassifier, DynamicTreeRegressor
from river_extra_trees._core.dynamic import ParticleFilter
from tests import compiled
from tests.golden.dynatree import data
from tests.naive.dynamic import DynamicTree
from tests.naive.dynamic_filters import filter_of, naive_tree, row_of
from tests.naive.dynamic_leaves import GaussianLeaf, MultinomialLeaf
from tests.tools.particle_trees import trees_of
from tests.tools.sums import check_sums
from tests.tools.sums import row_of as statistics_of

N_LEARNED, N_RETIRED = 150, 90


def model_of(leaf: str) -> DynamicTree:
    X, y = data("class_train" if leaf == "class" else "fried_train")
    leaf_model = MultinomialLeaf(3) if leaf == "class" else GaussianLeaf(5, leaf == "linear")
    least, alpha = {"constant": (4, 0.5), "linear": (14, 1e-4), "class": (1, 0.95)}[leaf]
    return DynamicTree(X, y, leaf_model, least, alpha=alpha)  # so rare that some are pruned


Maker = Callable[[str], ParticleFilter]


def flat(leaf: str) -> ParticleFilter:
    """Flat priors, and nothing for a leaf beside alpha and beta."""
    return filter_of(model_of(leaf), 50, 0)


def default(leaf: str) -> ParticleFilter:
    """The prior of the leaves and the prior of large trees that users get."""
    if leaf == "class":
        return DynamicTreeClassifier(n_particles=50, forgetting_factor=1.0, seed=0)._core
    return DynamicTreeRegressor(n_particles=50, leaf=leaf, forgetting_factor=1.0, seed=0)._core


def forgetful(leaf: str) -> ParticleFilter:
    """With the factors that compete: active or retired, a sample fades alike."""
    if leaf == "class":
        return DynamicTreeClassifier(n_particles=50, seed=0)._core
    return DynamicTreeRegressor(n_particles=50, leaf=leaf, seed=0)._core


MAKERS = (flat, default, forgetful)
LEAVES = ("constant", "linear", "class")


def learn(particles: ParticleFilter, leaf: str, rows: range, shift: int = 0) -> None:
    """Rows with the targets of later ones, which are surprising."""
    model = model_of(leaf)
    for row in rows:
        particles.learn(row_of(model.X[row]), float(model.y[row + shift]))


def before_and_after(maker: Maker, leaf: str) -> tuple[ParticleFilter, ParticleFilter]:
    """A particle filter, and the same one once its oldest samples have retired."""
    before = maker(leaf)
    learn(before, leaf, range(N_LEARNED))
    after = copy.deepcopy(before)
    for _ in range(N_RETIRED):
        compiled.retire_oldest(after)
    for one in (before, after):
        one.check()
        check_sums(one)
    return before, after


def trees(particles: ParticleFilter) -> list[tuple[tuple[tuple[int, float], ...], int]]:
    """The splits of each distinct tree, and how many particles hold it."""
    return [
        (tuple((node["feature"], node.get("threshold", 0.0)) for node in nodes), n)
        for nodes, n in trees_of(particles)
    ]


def log_odds(particles: ParticleFilter) -> list[float]:
    """Of staying against pruning, for every split of every particle."""
    return [node["gain"] for i in range(particles.n_particles) for node in particles.nodes(i)]


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("maker", MAKERS)
def test_retirement_changes_no_prediction(maker: Maker, leaf: str) -> None:
    """A retired sample moves from the likelihood to the prior: their product stays."""
    before, after = before_and_after(maker, leaf)
    for x in model_of(leaf).X[N_LEARNED : N_LEARNED + 20]:
        if leaf == "class":
            labels = before.predict_proba(row_of(x))
            assert after.predict_proba(row_of(x)) == pytest.approx(labels, rel=1e-9)
        else:
            expected = np.ravel(before.mixture(row_of(x)))
            assert np.ravel(after.mixture(row_of(x))) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("maker", MAKERS)
def test_retirement_changes_no_odds(maker: Maker, leaf: str) -> None:
    """The score of every subtree against that of a leaf in its place."""
    before, after = before_and_after(maker, leaf)
    expected = log_odds(before)
    assert log_odds(after) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert np.count_nonzero(expected) > 20


@pytest.mark.slow
@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("maker", MAKERS)
def test_retirement_changes_no_move(maker: Maker, leaf: str) -> None:
    """Where nothing may grow, each particle goes on to stay and to prune as it would have."""
    before, after = before_and_after(maker, leaf)
    n_new = 0
    for row in range(N_LEARNED, N_LEARNED + 40):
        known = dict(trees(before))
        for particles in (before, after):
            particles.min_samples_leaf = 10**6
            learn(particles, leaf, range(row, row + 1), shift=50)
        assert trees(before) == trees(after)
        assert after.log_predictive == pytest.approx(before.log_predictive, abs=1e-9)
        n_new += sum(n for tree, n in trees(before) if tree not in known)
    assert n_new >= 5, "these were pruned"


@pytest.mark.parametrize("leaf", LEAVES)
def test_scores_of_leaves_are_the_evidence_of_all_their_samples(leaf: str) -> None:
    """Active and retired, summed anew from the data as the textbook has it."""
    model = model_of(leaf)
    _, particles = before_and_after(flat, leaf)
    constant = model.leaf_model.size / 2 * np.log(2 * np.pi)  # the core leaves it out
    compared = 0
    for nodes, _ in trees_of(particles):
        leaves = [node for node in nodes if node["feature"] < 0]
        tree = naive_tree(model, particles, nodes)
        for node, known in zip(leaves, model.leaves(tree), strict=True):
            assert known.retired.weight > 0.0 or len(leaves) > 1
            expected = model.leaf_model.log_evidence(model.total(known)) - constant
            statistics = statistics_of(particles, particles.state(), node["total"])
            assert statistics.log_marginal() == pytest.approx(expected, abs=1e-6)
            compared += 1
    assert compared > 50
