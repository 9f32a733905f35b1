"""What active points are worth: the compiled survey against naive sums over the trees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from river_extra_trees import DynamicTreeClassifier, DynamicTreeRegressor
from river_extra_trees._core.dynamic import ParticleFilter
from river_extra_trees._estimator.mixture import StudentMixture
from tests import compiled
from tests.golden.dynatree import data
from tests.naive.dynamic import DynamicTree
from tests.naive.dynamic_filters import (
    filter_of,
    leaf_at,
    leaf_with_prior,
    row_of,
    sums_of,
)
from tests.naive.dynamic_leaves import GaussianLeaf, MultinomialLeaf, Sums
from tests.tools.particle_trees import sizes_of, trees_of

Array = np.ndarray

N_LEARNED, N_ACTIVE = 150, 80


def model_of(leaf: str) -> DynamicTree:
    X, y = data("class_train" if leaf == "class" else "fried_train")
    leaf_model = MultinomialLeaf(3) if leaf == "class" else GaussianLeaf(5, leaf == "linear")
    return DynamicTree(X, y, leaf_model, 14 if leaf == "linear" else 6)


def default(leaf: str) -> ParticleFilter:
    """The prior of the leaves that users get, and memories that compete."""
    if leaf == "class":
        return DynamicTreeClassifier(n_particles=12, beta=2.0, seed=0)._core
    return DynamicTreeRegressor(n_particles=12, leaf=leaf, seed=0)._core


MAKERS = {
    "flat": lambda leaf: filter_of(model_of(leaf), 12, 0),
    "forgetful": lambda leaf: filter_of(model_of(leaf), 12, 0, decay=0.99),
    "default": default,
}


def learned(maker: str, leaf: str) -> ParticleFilter:
    """A particles that has retired some rows and has split some leaves."""
    particles, model = MAKERS[maker](leaf), model_of(leaf)
    for row in range(N_LEARNED):
        if particles.pool.size == N_ACTIVE:
            compiled.retire_oldest(particles)
        particles.learn(row_of(model.X[row]), float(model.y[row]))
    assert max(sizes_of(particles)[0]) > 1
    particles.check()
    return particles


# The naive scores


@dataclass(frozen=True)
class Place:
    """Where a point lies in one of the trees."""

    share: float  # of the tree, in the answers
    sums: Sums  # of the leaf, as the next sample will meet them
    mass: float  # weight of the samples in the leaf, as a share of those in a tree
    lower: Array  # box of the leaf
    upper: Array


def leaf_model_of(particles: ParticleFilter, leaf: str) -> GaussianLeaf | MultinomialLeaf:
    if leaf == "class":
        return MultinomialLeaf(3)
    return leaf_with_prior(particles, 5)


def tree_shares(
    particles: ParticleFilter, counts: dict[int, int], decays: dict[int, float]
) -> dict[int, float]:
    """Share of the answers that each distinct tree has, by its root and its forgetting factor."""
    in_stratum = {
        decay: sum(n for root, n in counts.items() if decays[root] == decay)
        for decay in particles.factor_weights()
    }
    return {
        root: n / in_stratum[decays[root]] * particles.factor_weights()[decays[root]]
        for root, n in counts.items()
    }


def leaf_box(nodes: list[dict], x: Array, active: Array) -> tuple[Array, Array]:
    lower, upper = active.min(axis=0), active.max(axis=0)
    by_id, node = {node["node"]: node for node in nodes}, nodes[0]
    while node["feature"] >= 0:
        j, cut = node["feature"], node["threshold"]
        (upper if x[j] <= cut else lower)[j] = min(max(cut, lower[j]), upper[j])
        node = by_id[node["left" if x[j] <= cut else "right"]]
    return lower, upper


def places(particles: ParticleFilter, leaf: str, x: Array) -> list[Place]:
    """Of a point in every distinct tree."""
    leaf_model = leaf_model_of(particles, leaf)
    found_trees = trees_of(particles)
    trees = {nodes[0]["node"]: nodes for nodes, _ in found_trees}
    for nodes in trees.values():
        for node in nodes:
            if node["feature"] < 0:
                node["left over"] = node["decay"] ** (particles.n_seen + 1 - node["time"])
    shares = tree_shares(
        particles,
        {nodes[0]["node"]: n for nodes, n in found_trees},
        {root: leaf_at(nodes, x)["decay"] for root, nodes in trees.items()},
    )
    mass = sum(
        shares[root] * node["left over"] * node["total"][0]
        for root, nodes in trees.items()
        for node in nodes
        if node["feature"] < 0
    )
    active = np.array([particles.pool.sample(slot)[0] for slot in particles.pool.slots()])
    found = []
    for root, nodes in trees.items():
        here = leaf_at(nodes, x)
        sums = sums_of(leaf_model, here["total"]) * here["left over"]
        box = leaf_box(nodes, x, active)
        found.append(Place(shares[root], sums, sums.weight / mass, *box))
    return found


def naive_alc(particles: ParticleFilter, leaf: str, x: Array) -> float:
    """Average over the leaf's box, times the leaf's share of all samples."""
    leaf_model, total = leaf_model_of(particles, leaf), 0.0
    assert isinstance(leaf_model, GaussianLeaf)
    for place in places(particles, leaf, x):
        integral = leaf_model.alc(place.sums, x, place.lower, place.upper)
        total += place.share * place.mass * integral / np.prod(place.upper - place.lower)
    return total


def naive_alm(particles: ParticleFilter, leaf: str, x: Array) -> float:
    leaf_model = leaf_model_of(particles, leaf)
    assert isinstance(leaf_model, GaussianLeaf)
    at_x = places(particles, leaf, x)
    shares = np.array([place.share for place in at_x])
    moments = [leaf_model.mean_and_variance(place.sums, x) for place in at_x]
    means, variances = np.array(moments).T
    return float(shares @ (variances + means**2) - (shares @ means) ** 2)


def naive_entropy(particles: ParticleFilter, leaf: str, x: Array) -> float:
    leaf_model = leaf_model_of(particles, leaf)
    assert isinstance(leaf_model, MultinomialLeaf)
    return sum(place.share * leaf_model.entropy(place.sums) for place in places(particles, leaf, x))


NAIVE = {"alc": naive_alc, "alm": naive_alm, "entropy": naive_entropy}
CASES = [
    ("constant", "alc"),
    ("linear", "alc"),
    ("constant", "alm"),
    ("linear", "alm"),
    ("class", "entropy"),
]


# Active points


@pytest.mark.slow
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(("leaf", "criterion"), CASES)
def test_scores_of_active_points_are_the_naive_ones(maker: str, leaf: str, criterion: str) -> None:
    """Averaged over the trees, retired samples included, each weighed by its age."""
    model, particles = model_of(leaf), learned(maker, leaf)
    scores = compiled.scores(particles, criterion)
    assert len(scores) == N_ACTIVE
    for row, slot in zip(
        range(N_LEARNED - N_ACTIVE, N_LEARNED), particles.pool.slots(), strict=True
    ):
        expected = NAIVE[criterion](particles, leaf, model.X[row])
        assert scores[slot] == pytest.approx(expected, rel=1e-8), row


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(("leaf", "criterion"), CASES)
def test_the_least_useful_point_has_the_smallest_score(
    maker: str, leaf: str, criterion: str
) -> None:
    """And is the oldest of those with that score."""
    particles = learned(maker, leaf)
    scores = compiled.scores(particles, criterion)
    smallest = [slot for slot in particles.pool.slots() if scores[slot] == min(scores.values())]
    assert compiled.to_retire(particles, criterion) == smallest[0]


@pytest.mark.parametrize("criterion", ["alc", "alm"])
def test_scoresing_by_a_score_goes_on_as_the_naive_one(criterion: str) -> None:
    """Over many steps, in which leaves fade that no sample visits."""
    model, particles = model_of("linear"), MAKERS["forgetful"]("linear")
    for row in range(120):
        if particles.pool.size == 60:
            slot = compiled.to_retire(particles, criterion)
            if row >= 100:
                expected = NAIVE[criterion](
                    particles, "linear", np.array(particles.pool.sample(slot)[0])
                )
                assert compiled.scores(particles, criterion)[slot] == pytest.approx(
                    expected, rel=1e-8
                )
            compiled.retire(particles, slot)
        particles.learn(row_of(model.X[row]), float(model.y[row]))


def test_random_discards_are_uniform() -> None:
    """Over the ages of the active samples, and without regard to the discard before."""
    n_active, n_steps = 8, 6_000
    model = DynamicTreeRegressor(
        n_particles=1, leaf="constant", window=n_active, discard="random", seed=0
    )
    ages = []
    for step in range(n_steps + n_active):
        pool = model._core.pool
        before = pool.slots()
        arrivals = [pool.sample(slot)[3] for slot in before]
        model.learn_one({}, float(step % 3))
        left = {pool.sample(slot)[3] for slot in pool.slots()}
        if len(before) == n_active:
            (gone,) = [age for age, arrival in enumerate(arrivals) if arrival not in left]
            ages.append(gone)
    counts = np.bincount(ages, minlength=n_active)
    pairs = np.bincount(n_active * np.array(ages[1:]) + np.array(ages[:-1]), minlength=n_active**2)
    assert len(ages) == n_steps
    assert stats.chisquare(counts).pvalue > 1e-3
    assert stats.chisquare(pairs).pvalue > 1e-3


# Candidates


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_alc_of_a_candidate_is_the_naive_one(maker: str, leaf: str) -> None:
    """At points the particles has not seen."""
    particles = learned(maker, leaf)
    for x in model_of(leaf).X[200:210]:
        found = particles.alc_at(row_of(x))
        assert found == pytest.approx(naive_alc(particles, leaf, x), rel=1e-8)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_alm_of_a_candidate_is_the_naive_one(maker: str, leaf: str) -> None:
    """The variance of the predictive mixture."""
    particles, compared = learned(maker, leaf), 0
    for x in model_of(leaf).X[200:220]:
        mixture = StudentMixture(particles.mixture(row_of(x)))
        means = [mean for mean, *_ in mixture.components]
        if not particles.lowest < min(means) <= max(means) < particles.highest:
            continue  # a mean is cut off
        assert mixture.variance == pytest.approx(naive_alm(particles, leaf, x), rel=1e-8)
        compared += 1
    assert compared > 10


@pytest.mark.parametrize("maker", MAKERS)
def test_entropy_of_a_candidate_is_the_naive_one(maker: str) -> None:
    """Of the mean of the trees' probabilities."""
    particles, leaf_model = learned(maker, "class"), MultinomialLeaf(3)
    for x in model_of("class").X[200:210]:
        at_x = places(particles, "class", x)
        p = sum(place.share * leaf_model.probabilities(place.sums) for place in at_x)
        answer = particles.predict_proba(row_of(x))
        assert [answer[k] for k in sorted(answer)] == pytest.approx(p, abs=1e-9)


def test_an_empty_cloud_can_be_surveyed() -> None:
    """There is no point to score, and nothing to divide by."""
    particles = filter_of(model_of("constant"), 5, 0)
    assert compiled.scores(particles, "alc") == {}
