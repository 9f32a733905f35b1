"""What active points and candidates are worth, against naive sums over the trees."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from river_extra_trees import DynamicTreeRegressor
from river_extra_trees._core.dynamic import ParticleFilter
from river_extra_trees._estimator.mixture import StudentMixture
from tests import compiled
from tests.naive.dynamic import DynamicTree
from tests.naive.dynamic_filters import (
    filter_of,
    leaf_at,
    leaf_with_prior,
    learn,
    row_of,
    sums_of,
    users_filter,
)
from tests.naive.dynamic_leaves import GaussianLeaf, MultinomialLeaf, Sums
from tests.naive.dynamic_problems import dynatree_stream
from tests.tools.particle_trees import sizes_of, trees_of

Array = np.ndarray

N_LEARNED, N_ACTIVE = 150, 80


def model_of(leaf: str) -> DynamicTree:
    return dynatree_stream(leaf, 14 if leaf == "linear" else 6)


MAKERS = {
    "flat": lambda leaf: filter_of(model_of(leaf), 12, 0),
    "forgetful": lambda leaf: filter_of(model_of(leaf), 12, 0, decay=0.99),
    "default": lambda leaf: users_filter(leaf, n_particles=12, beta=2.0),  # memories compete
}


def learned(maker: str, leaf: str) -> ParticleFilter:
    """A filter that has retired some rows and has split some leaves."""
    particles, model = MAKERS[maker](leaf), model_of(leaf)
    for row in range(N_LEARNED):
        learn(particles, model, row, N_ACTIVE)
    assert max(sizes_of(particles)[0]) > 1
    particles.check()
    return particles


# The naive scores


@dataclass(frozen=True)
class Place:
    """Where a point lies in one of the trees."""

    share: float  # of the tree, in the answers
    sums: Sums  # of the leaf, as the next sample will meet them
    whole: float  # weight of the samples in the tree
    lower: Array  # box of the leaf
    upper: Array


def leaf_model_of(particles: ParticleFilter, leaf: str) -> GaussianLeaf | MultinomialLeaf:
    return MultinomialLeaf(3) if leaf == "class" else leaf_with_prior(particles, 5)


def leaf_box(nodes: list[dict], x: Array, active: Array) -> tuple[Array, Array]:
    lower, upper = active.min(axis=0), active.max(axis=0)
    by_id, node = {node["node"]: node for node in nodes}, nodes[0]
    while node["feature"] >= 0:
        j, cut = node["feature"], node["threshold"]
        (upper if x[j] <= cut else lower)[j] = min(max(cut, lower[j]), upper[j])
        node = by_id[node["left" if x[j] <= cut else "right"]]
    return lower, upper


def places(particles: ParticleFilter, leaf: str, x: Array) -> list[Place]:
    """Of a point in every distinct tree; factors of forgetting share the answers."""
    leaf_model = leaf_model_of(particles, leaf)
    active = np.array([particles.pool.sample(slot)[0] for slot in particles.pool.slots()])
    trees = [(leaf_at(nodes, x), nodes, n) for nodes, n in trees_of(particles)]
    of_factor: Counter[float] = Counter()
    for here, _, n in trees:
        of_factor[here["decay"]] += n
    found = []
    for here, nodes, n in trees:
        decay = here["decay"]
        left_over = {
            node["node"]: decay ** (particles.n_seen + 1 - node["time"])
            for node in nodes
            if node["feature"] < 0
        }
        by_id = {node["node"]: node for node in nodes}
        whole = sum(by_id[number]["total"][0] * rest for number, rest in left_over.items())
        share = n / of_factor[decay] * particles.factor_weights()[decay]
        sums = sums_of(leaf_model, here["total"]) * left_over[here["node"]]
        found.append(Place(share, sums, whole, *leaf_box(nodes, x, active)))
    return found


def naive_alc(particles: ParticleFilter, leaf: str, x: Array) -> float:
    """Average over the leaf's box, times the leaf's share of all samples."""
    leaf_model, total, mass = leaf_model_of(particles, leaf), 0.0, 0.0
    for place in places(particles, leaf, x):
        integral = leaf_model.alc(place.sums, x, place.lower, place.upper)
        total += place.share * place.sums.weight * integral / np.prod(place.upper - place.lower)
        mass += place.share * place.whole
    return total / mass


def naive_alm(particles: ParticleFilter, leaf: str, x: Array) -> float:
    leaf_model = leaf_model_of(particles, leaf)
    at_x = places(particles, leaf, x)
    shares = np.array([place.share for place in at_x])
    moments = [leaf_model.mean_and_variance(place.sums, x) for place in at_x]
    means, variances = np.array(moments).T
    return float(shares @ (variances + means**2) - (shares @ means) ** 2)


def naive_entropy(particles: ParticleFilter, leaf: str, x: Array) -> float:
    leaf_model = leaf_model_of(particles, leaf)
    return sum(place.share * leaf_model.entropy(place.sums) for place in places(particles, leaf, x))


NAIVE = {"alc": naive_alc, "alm": naive_alm, "entropy": naive_entropy}
CASES = [
    *(("constant", "alc"), ("linear", "alc"), ("constant", "alm"), ("linear", "alm")),
    ("class", "entropy"),
]


# Active points


@pytest.mark.slow
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(("leaf", "criterion"), CASES)
def test_scores_of_active_points_are_the_naive_ones(maker: str, leaf: str, criterion: str) -> None:
    """Averaged over the trees; the oldest point with the smallest score retires first."""
    model, particles = model_of(leaf), learned(maker, leaf)
    scores, slots = compiled.scores(particles, criterion), particles.pool.slots()
    for row, slot in zip(range(N_LEARNED - N_ACTIVE, N_LEARNED), slots, strict=True):
        expected = NAIVE[criterion](particles, leaf, model.X[row])
        assert scores[slot] == pytest.approx(expected, rel=1e-8), row
    smallest = [slot for slot in slots if scores[slot] == min(scores.values())]
    assert compiled.to_retire(particles, criterion) == smallest[0]


@pytest.mark.parametrize("criterion", ["alc", "alm"])
def test_discarding_by_a_score_goes_on_as_the_naive_one(criterion: str) -> None:
    """Over many steps, in which leaves fade that no sample visits."""
    model, particles = model_of("linear"), MAKERS["forgetful"]("linear")
    for row in range(120):
        if particles.pool.size == 60:
            slot = compiled.to_retire(particles, criterion)
            if row >= 100:
                x = np.array(particles.pool.sample(slot)[0])
                expected = NAIVE[criterion](particles, "linear", x)
                found = compiled.scores(particles, criterion)[slot]
                assert found == pytest.approx(expected, rel=1e-8)
            compiled.retire(particles, slot)
        learn(particles, model, row)


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


def test_an_empty_cloud_can_be_surveyed() -> None:
    """There is no point to score, and nothing to divide by."""
    assert compiled.scores(filter_of(model_of("constant"), 5, 0), "alc") == {}


# Candidates


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_candidates_are_worth_what_the_naive_ones_are(maker: str, leaf: str) -> None:
    """At points that are new: ALC, and the variance of the predictive mixture."""
    particles, compared = learned(maker, leaf), 0
    for x in model_of(leaf).X[200:220]:
        found = particles.alc_at(row_of(x))
        assert found == pytest.approx(naive_alc(particles, leaf, x), rel=1e-8)
        mixture = StudentMixture(particles.mixture(row_of(x)))
        means = [mean for mean, *_ in mixture.components]
        if not particles.lowest < min(means) <= max(means) < particles.highest:
            continue  # a mean is cut off
        assert mixture.variance == pytest.approx(naive_alm(particles, leaf, x), rel=1e-8)
        compared += 1
    assert compared > 10


@pytest.mark.parametrize("maker", MAKERS)
def test_probabilities_at_a_candidate_are_the_naive_ones(maker: str) -> None:
    """The mean of the trees' probabilities."""
    particles, leaf_model = learned(maker, "class"), MultinomialLeaf(3)
    for x in model_of("class").X[200:210]:
        at_x = places(particles, "class", x)
        p = sum(place.share * leaf_model.probabilities(place.sums) for place in at_x)
        answer = particles.predict_proba(row_of(x))
        assert [answer[k] for k in sorted(answer)] == pytest.approx(p, abs=1e-9)
