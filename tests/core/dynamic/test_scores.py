"""What active points, candidates and features are worth, against naive sums over the trees."""

import functools
import math
import pickle
import random
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from river_extra_trees import DynamicTreeClassifier, DynamicTreeRegressor
from river_extra_trees._core.dynamic import ParticleFilter
from river_extra_trees._estimator.mixture import StudentMixture
from river_extra_trees.dynamic_learner import averaged, gains_of, split_shares_of
from tests import compiled
from tests.naive.dynamic import DynamicTree, Split, Tree
from tests.naive.dynamic_filters import (
    filter_of,
    leaf_with_prior,
    learn,
    naive_tree,
    row_of,
)
from tests.naive.dynamic_leaves import GaussianLeaf, MultinomialLeaf, Sums
from tests.naive.dynamic_problems import dynatree_stream
from tests.tools.particle_trees import sizes_of, trees_of

Array = np.ndarray

N_LEARNED, N_ACTIVE = 150, 80


@functools.cache
def model_of(leaf: str) -> DynamicTree:
    return dynatree_stream(leaf, 14 if leaf == "linear" else 6)


def users_filter(leaf: str) -> ParticleFilter:
    """What a user gets: priors of leaves and of large trees, and memories that compete."""
    parameters: dict[str, Any] = {"n_particles": 12, "window": N_ACTIVE, "beta": 2.0, "seed": 0}
    if leaf == "class":
        return DynamicTreeClassifier(**parameters)._core
    return DynamicTreeRegressor(leaf=leaf, **parameters)._core


MAKERS = {
    "flat": lambda leaf: filter_of(model_of(leaf), 12, 0, window=N_ACTIVE),
    "forgetful": lambda leaf: filter_of(model_of(leaf), 12, 0, decay=0.99, window=N_ACTIVE),
    "default": users_filter,
}


def learned(maker: str, leaf: str, discard: str = "oldest") -> ParticleFilter:
    """A filter that has retired some rows and has split some leaves."""
    particles, model = MAKERS[maker](leaf), model_of(leaf)
    particles.set_policy(discard=discard, rejuvenate_every=0)
    for row in range(N_LEARNED):
        learn(particles, model, row)
    assert max(sizes_of(particles)[0]) > 1
    particles.check()
    return particles


# The naive scores


@dataclass(frozen=True)
class Place:
    """Where a point lies in one of the trees."""

    share: float  # of the tree, in the answers
    holds: bool  # whether the point is active in the tree, or none of the samples
    sums: Sums  # of the leaf, as the next sample will meet them
    whole: float  # weight of the samples in the tree
    lower: Array  # box of the leaf
    upper: Array


def leaf_model_of(particles: ParticleFilter, leaf: str) -> GaussianLeaf | MultinomialLeaf:
    return MultinomialLeaf(3) if leaf == "class" else leaf_with_prior(particles, 5)


def leaf_box(tree: Tree, x: Array, active: Array) -> tuple[Array, Array]:
    """The box of the leaf of x."""
    lower, upper = active.min(axis=0), active.max(axis=0)
    while isinstance(tree, Split):
        j, cut = tree.column, tree.cut
        (upper if x[j] <= cut else lower)[j] = min(max(cut, lower[j]), upper[j])
        tree = tree.left if x[j] <= cut else tree.right
    return lower, upper


def reach(decay: float) -> float:
    """The age of the oldest active sample in a tree of a competing memory: three memories."""
    return math.inf if decay == 1.0 else int(3 / (1 - decay) + 0.5)


def places(
    particles: ParticleFilter, leaf: str, x: Array, arrival: int | None = None
) -> list[Place]:
    """Of a point, in each distinct tree; of an active point with its number in the stream."""
    competes = len(particles.factor_weights()) > 1
    age = 0 if arrival is None or not competes else particles.n_seen - arrival
    active = np.array([particles.pool.sample(slot)[0] for slot in particles.pool.slots()])
    trees = [(nodes, n, nodes[-1]["decay"]) for nodes, n in trees_of(particles)]
    of_factor: Counter[float] = Counter()
    for _, n, decay in trees:
        of_factor[decay] += n
    found = []
    for nodes, n, decay in trees:
        model = replace(model_of(leaf), decay=decay, now=particles.n_seen)
        tree = naive_tree(model, particles, nodes[0])
        share = n / of_factor[decay] * particles.factor_weights()[decay]
        whole = sum(model.total(one).weight for one in model.leaves(tree))
        sums = model.total(model.leaf_at(tree, x))
        found.append(Place(share, age <= reach(decay), sums, whole, *leaf_box(tree, x, active)))
    return found


def naive_alc(particles: ParticleFilter, leaf: str, x: Array, arrival: int | None = None) -> float:
    """Average over the leaf's box, times the leaf's share of all samples."""
    leaf_model, total, mass, held = leaf_model_of(particles, leaf), 0.0, 0.0, 0.0
    for place in places(particles, leaf, x, arrival):
        mass += place.share * place.whole
        if place.holds:
            integral = leaf_model.alc(place.sums, x, place.lower, place.upper)
            area = np.prod(place.upper - place.lower)
            total += place.share * place.sums.weight * integral / area
            held += place.share
    return total / mass / held


def naive_alm(particles: ParticleFilter, leaf: str, x: Array, arrival: int | None = None) -> float:
    leaf_model = leaf_model_of(particles, leaf)
    at_x = [place for place in places(particles, leaf, x, arrival) if place.holds]
    shares = np.array([place.share for place in at_x])
    shares /= shares.sum()
    moments = [leaf_model.mean_and_variance(place.sums, x) for place in at_x]
    means, variances = np.array(moments).T
    return float(shares @ (variances + means**2) - (shares @ means) ** 2)


def naive_entropy(
    particles: ParticleFilter, leaf: str, x: Array, arrival: int | None = None
) -> float:
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
    """Averaged over the trees that hold them; the oldest with the smallest score retires first.

    Such points have retired before, so leaves have faded that no sample visits.
    """
    particles = learned(maker, leaf, criterion)
    pool, scores = particles.pool, compiled.scores(particles, criterion)
    by_arrival = {pool.sample(slot)[3]: scores[slot] for slot in pool.slots()}
    for row, score in by_arrival.items():
        expected = NAIVE[criterion](particles, leaf, model_of(leaf).X[row], row)
        assert score == pytest.approx(expected, rel=1e-8)
    learn(particles, model_of(leaf), N_LEARNED)
    left = {pool.sample(slot)[3] for slot in pool.slots()}
    assert by_arrival.keys() - left == {min(by_arrival, key=lambda row: by_arrival[row])}


def test_random_discards_are_uniform() -> None:
    """Over the ages of the active samples, and without regard to the discard before."""
    n_active, n_steps = 8, 6_000
    model = DynamicTreeRegressor(
        n_particles=1, leaf="constant", window=n_active, discard="random", seed=0
    )
    ages: list[int] = []
    before: list[float] = []
    for step in range(n_steps + n_active):
        model.learn_one({}, float(step))
        after = [y for _, y in model.active_samples()]
        ages += [before.index(y) for y in set(before) - set(after)]
        before = after
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


# Features


def spread(model: DynamicTree, tree: Tree) -> float:
    """Weight of a region times its predictive variance in the middle, or its entropy."""
    total = model.total(model.pruned(tree))
    if not isinstance(model.leaf_model, GaussianLeaf):
        return total.weight * model.leaf_model.entropy(total)
    df = model.leaf_model.degrees_of_freedom(total)
    return total.weight * model.leaf_model.residual(total) / df * (1 + 1 / total.weight)


@pytest.mark.parametrize("leaf", ["constant", "linear", "class"])
def test_relevance_and_split_shares_are_the_naive_ones(leaf: str) -> None:
    """Averaged over the trees, retired samples included."""
    model, particles = model_of(leaf), learned("flat", leaf)
    gains, shares = np.zeros((2, model.X.shape[1]))
    for nodes, n in trees_of(particles):
        splits = [node for node in nodes if node["feature"] >= 0]
        for node in splits:
            tree = naive_tree(model, particles, node)
            gain = spread(model, tree) - spread(model, tree.left) - spread(model, tree.right)
            gains[node["feature"]] += n / particles.n_particles * gain / N_LEARNED
            shares[node["feature"]] += n / particles.n_particles / len(splits)
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
        model.learn_one({"x": x}, (x > 0.5) + rng.gauss(0, 0.1) if number else x > 0.5)
    before = pickle.dumps(model)
    model.relevance()
    table = model.to_dataframe()
    assert pickle.dumps(model) == before
    roots = table.query("depth == 0")["weight"].to_numpy()
    assert roots == pytest.approx(table.query("is_leaf").groupby("tree")["weight"].sum().to_numpy())
    if factor == 0.99:
        assert roots == pytest.approx(sum(0.99**age for age in range(400)), rel=1e-9)
