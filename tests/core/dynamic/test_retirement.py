"""Retirement without forgetting moves samples into the prior, and nothing else follows from it."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from river_extra_trees._core.dynamic import ParticleFilter
from tests import compiled
from tests.naive.dynamic import DynamicTree
from tests.naive.dynamic_filters import filter_of, learn, naive_tree, row_of, users_filter
from tests.naive.dynamic_problems import dynatree_stream
from tests.tools.particle_trees import trees_of
from tests.tools.sums import check_sums
from tests.tools.sums import row_of as statistics_of

N_LEARNED, N_RETIRED = 150, 90


def model_of(leaf: str) -> DynamicTree:
    alpha = {"constant": 0.5, "linear": 1e-4, "class": 0.95}[leaf]  # so rare that some are pruned
    return dynatree_stream(leaf, alpha=alpha)


MAKERS = {
    "flat": lambda leaf: filter_of(model_of(leaf), 50, 0),
    "default": lambda leaf: users_filter(leaf, n_particles=50, forgetting_factor=1.0),
    "forgetful": lambda leaf: users_filter(leaf, n_particles=50),  # with factors that compete
}
LEAVES = ("constant", "linear", "class")


def before_and_after(maker: str, leaf: str) -> tuple[ParticleFilter, ParticleFilter]:
    """A particle filter, and the same one once its oldest samples have retired."""
    before = MAKERS[maker](leaf)
    for row in range(N_LEARNED):
        learn(before, model_of(leaf), row)
    after = copy.deepcopy(before)
    for _ in range(N_RETIRED):
        compiled.retire_oldest(after)
    for one in (before, after):
        one.check()
        check_sums(one)
    return before, after


def log_odds(particles: ParticleFilter) -> list[float]:
    """Of staying against pruning, for every split of every particle."""
    return [node["gain"] for i in range(particles.n_particles) for node in particles.nodes(i)]


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("maker", MAKERS)
def test_retirement_changes_no_prediction_and_no_odds(maker: str, leaf: str) -> None:
    """A retired sample moves from the likelihood to the prior: their product stays."""
    before, after = before_and_after(maker, leaf)
    for x in map(row_of, model_of(leaf).X[N_LEARNED : N_LEARNED + 20]):
        if leaf == "class":
            assert after.predict_proba(x) == pytest.approx(before.predict_proba(x), rel=1e-9)
        else:
            expected = np.ravel(before.mixture(x))
            assert np.ravel(after.mixture(x)) == pytest.approx(expected, rel=1e-9)
    expected = log_odds(before)
    assert log_odds(after) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert np.count_nonzero(expected) > 20


@pytest.mark.parametrize("leaf", LEAVES)
def test_scores_of_leaves_are_the_evidence_of_all_their_samples(leaf: str) -> None:
    """Active and retired, summed anew from the data as the textbook has it."""
    model = model_of(leaf)
    _, particles = before_and_after("flat", leaf)
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
