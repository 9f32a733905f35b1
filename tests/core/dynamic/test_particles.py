"""The compiled particle filter against dynaTree's outputs, and its own invariants."""

import functools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from river_extra_trees import DynamicTreeRegressor
from river_extra_trees._core.dynamic import ParticleFilter
from river_extra_trees._estimator.mixture import StudentMixture
from tests import compiled
from tests.golden.dynatree import data, table
from tests.naive.dynamic import DynamicTree, Tree
from tests.naive.dynamic_filters import (
    filter_of,
    learn,
    naive_tree,
    open_constant,
    row_of,
)
from tests.naive.dynamic_problems import SMALLEST_LEAF, dynatree_stream
from tests.tools.particle_trees import sizes_of, trees_of
from tests.tools.sums import check_sums

published = functools.partial(dynatree_stream, published_scores=True)


def assert_roots_split(
    particles: ParticleFilter, expected: dict[int | None, str], n_expected: int
) -> None:
    """On features, or on any of them, as often as in dynaTree, within four standard errors."""
    counts, n, m = Counter(), particles.n_particles, n_expected
    for (top, *_), n_particles in trees_of(particles):
        counts[top["feature"]] += n_particles
    for feature, text in expected.items():
        one = (n - counts[-1] if feature is None else counts[feature]) / n
        other = float(text)
        share = (n * one + m * other) / (n + m)
        spread = max(share * (1 - share), 1 / (n + m))
        assert abs(one - other) <= 4 * np.sqrt(spread * (1 / n + 1 / m))


# dynaTree's outputs


@pytest.mark.parametrize(
    ("retirement", "window", "factor"),
    [("noretire", 1000, 1.0), ("w60_lam1", 60, 1.0), ("w60_lam0.9", 60, 0.9)],
)
@pytest.mark.parametrize("leaf", SMALLEST_LEAF)
def test_one_leaf_is_dynatree_s(leaf: str, retirement: str, window: int, factor: float) -> None:
    """Log predictive row by row, then all that is answered, to 1e-8."""
    model = published(leaf)
    particles = filter_of(model, 1, 0, decay=factor, window=window)
    particles.min_samples_leaf = 10**6  # no split
    name = f"{'linear_augmented' if leaf == 'linear' else leaf}_{retirement}"
    rows = table("exact_single_leaf_logpred")
    for row, expected in enumerate(rows):
        known = leaf != "class" or len(particles.labels.labels) == 3  # dynaTree knows
        learn(particles, model, row)
        if row >= model.min_samples_leaf and known:
            assert particles.log_predictive == pytest.approx(float(expected[name]), abs=1e-8)
    assert len(rows) >= 200
    X, y = data("class_test" if leaf == "class" else "fried_test")
    points = [row for row in table("exact_single_leaf_predict") if row["config"] == name]
    for expected in points:
        i = int(expected["i"]) - 1
        if leaf == "class":
            answer = particles.predict_proba(row_of(X[i]))
            found, keys = [answer[label] for label in sorted(answer)], ("p1", "p2", "p3")
        else:
            mixture = StudentMixture(particles.mixture(row_of(X[i])))
            found = [mixture.mean, mixture.variance, *map(mixture.quantile, (0.05, 0.95))]
            found, keys = [*found, mixture(y[i])], ("mean", "var", "q05", "q95", "dens")
        assert found == pytest.approx([float(expected[key]) for key in keys], abs=1e-8)
    assert len(points) >= 5


@pytest.mark.slow
@pytest.mark.parametrize(
    "expected",
    [
        row
        for row in table("one_step_grow_fraction")
        if row["rprop"] == "luvar" and row["model"] != "linear_implicit"
    ],
    ids=lambda row: f"{row['model']}-{row['n']}",
)
def test_first_grow_is_as_frequent_as_in_dynatree(expected: dict[str, str]) -> None:
    """All particles are roots when the last row comes."""
    model = published(expected["model"].removesuffix("_augmented"))
    n = int(expected["n"])
    particles = filter_of(model, 10_000, 3)
    particles.min_samples_leaf = n
    for row in range(n - 1):
        learn(particles, model, row)
    particles.min_samples_leaf = model.min_samples_leaf
    learn(particles, model, n - 1)
    assert_roots_split(particles, {None: expected["grow_frac"], 0: expected["split_x1"]}, 20_000)


@pytest.mark.slow
@pytest.mark.parametrize(
    "expected",
    table("grow_fraction_with_retired"),
    ids=lambda row: f"{row['model']}-{row['k']}-{row['lambda']}",
)
def test_grow_over_a_retired_prior_is_as_frequent_as_in_dynatree(
    expected: dict[str, str],
) -> None:
    """With 30 points a side at least, 60 active ones allow one partition per feature."""
    model = published(expected["model"], 30)
    k, factor = int(expected["k"]), float(expected["lambda"])
    particles = filter_of(model, 10_000, 4, decay=factor)
    for row in range(59):
        learn(particles, model, row)
    for _ in range(k):
        compiled.retire(particles, particles.pool.slots()[0])
    for row in range(59, 60 + k):
        learn(particles, model, row)
    splits = {j: expected[f"split_x{j + 1}"] for j in range(model.X.shape[1])}
    assert_roots_split(particles, {None: expected["grow_fraction"], **splits}, 5_000)


def densities_at(particles: ParticleFilter, model: DynamicTree, row: int) -> np.ndarray:
    """Predictive density of the target of a row, tree by tree."""
    trees = [(naive_tree(model, particles, nodes[0]), n) for nodes, n in trees_of(particles)]
    found = [model.log_predictive(tree, model.X[row], model.y[row]) for tree, _ in trees]
    return np.repeat(np.exp(found), [n for _, n in trees])


@pytest.mark.slow
@pytest.mark.parametrize(
    "expected",
    table("one_step_after_retire"),
    ids=lambda row: f"{row['model']}-{row['retired']}-{row['lambda']}",
)
def test_trees_after_a_retirement_are_as_large_as_in_dynatree(
    expected: dict[str, str],
) -> None:
    """One free step, k retirements, one more step: leaves, retired mass, log predictive."""
    model = published(expected["model"].removesuffix("_augmented"))
    k, factor = int(expected["retired"]), float(expected["lambda"])
    particles = filter_of(model, 5_000, 5, decay=factor)
    particles.min_samples_leaf = 120
    for row in range(119):
        learn(particles, model, row)
    particles.min_samples_leaf = model.min_samples_leaf
    learn(particles, model, 119)
    before = np.array(sizes_of(particles)[0])
    slots = particles.pool.slots()
    for row in reversed(range(k)):
        compiled.retire(particles, slots[row])
    densities = densities_at(particles, model, 120)
    learn(particles, model, 120)
    after = np.array(sizes_of(particles)[0])
    retired = np.array([particles.nodes(i)[0]["retired"] for i in range(particles.n_particles)])
    found = {
        "leaves_before": before,
        "leaves_after": after,
        "retired_per_leaf": retired / after,
        "lpred_last": densities / densities.mean() - 1 + particles.log_predictive,
    }
    for key, values in found.items():
        error = values.std() * np.sqrt(1 / 5_000 + 1 / 10_000)
        assert abs(values.mean() - float(expected[key])) < 4 * error, key


@pytest.mark.parametrize("leaf", ["constant", "linear"])
@pytest.mark.parametrize("factor", [1.0, 0.9])
def test_a_leaf_without_spread_has_no_density(leaf: str, factor: float) -> None:
    """Targets that repeat: such a particle weighs nothing, as in dynaTree, and all count."""
    model = published(leaf)
    model = replace(model, y=np.floor(model.y / 12.0))
    particles = filter_of(model, 30, 0, decay=factor)
    evidence, without = 0.0, 0
    for row in range(200):
        if particles.pool.size == 60:
            compiled.retire(particles, particles.pool.slots()[0])
        with np.errstate(invalid="ignore"):
            densities = densities_at(particles, model, row) if row > 40 else np.ones(1)
        learn(particles, model, row)
        evidence += particles.log_predictive
        if row > 40:
            without += np.any(densities == 0.0)
            expected = np.log(densities.mean()) if densities.any() else 0.0
            assert particles.log_predictive == pytest.approx(expected, abs=1e-6)
    assert without > 3 or leaf == "linear"
    assert particles.log_evidence == pytest.approx(evidence)
    particles.check()


# Naive trees


@pytest.mark.parametrize("leaf", SMALLEST_LEAF)
@pytest.mark.parametrize("as_published", [False, True])
def test_log_odds_of_staying_against_pruning_are_the_naive_ones(
    leaf: str, as_published: bool
) -> None:
    """Of every split, from all samples below it, some of which have retired."""
    alpha = {"constant": 0.5, "linear": 1e-4, "class": 0.95}[leaf]  # some splits are rare
    model = dynatree_stream(leaf, published_scores=as_published, alpha=alpha)
    particles = filter_of(model, 50, 0, window=150 if as_published else 60)
    for row in range(150):
        learn(particles, model, row)
    for _ in range(20 * as_published):
        compiled.retire(particles, particles.pool.slots()[0])
    assert (
        len(splits_with_naive_odds(particles, model if as_published else open_constant(model))) > 10
    )


def splits_with_naive_odds(particles: ParticleFilter, model: DynamicTree) -> list[Tree]:
    """The splits that gain something, after all of them were compared with naive ones."""
    found = {
        root: [node["gain"] for node in particles.nodes(i)]
        for i, root in enumerate(particles.state()["roots"].tolist())
    }
    splits = []
    for nodes, _ in trees_of(particles):
        for node, gain in zip(nodes, found[nodes[0]["node"]], strict=True):
            tree, depth = naive_tree(model, particles, node), node["depth"]
            odds = model.score(tree, depth) - model.score(model.pruned(tree), depth)
            assert gain == pytest.approx(max(0.0, odds), rel=1e-6, abs=1e-6)
            splits += [tree] * (gain > 0.0)
    return splits


def test_a_leaf_whose_samples_have_all_retired_can_be_pruned() -> None:
    """Its score, of the retired samples alone, is a number, as in dynaTree."""
    model = published("constant")
    rows = np.arange(len(model.y))
    steps = np.where(rows < 60, 0.0, 0.6) + 0.2 * np.sin(7.0 * rows)
    model = replace(model, X=rows[:, None] / 100, y=steps)
    particles = filter_of(model, 50, 0, window=20)
    for row in range(100):
        learn(particles, model, row)
    splits = splits_with_naive_odds(particles, model)
    assert any(not leaf.active for split in splits for leaf in model.leaves(split))


# Invariants


@pytest.mark.parametrize("leaf", SMALLEST_LEAF)
@pytest.mark.parametrize("decay", [1.0, 0.95])
@pytest.mark.parametrize("as_published", [False, True])
def test_structures_stay_sound(leaf: str, decay: float, as_published: bool) -> None:
    """Every invariant after each of many random steps: learning, retiring, missing values."""
    model = replace(published(leaf), published_scores=as_published)
    particles = filter_of(model, 30, 0, decay=decay)
    rng = np.random.default_rng(0)
    for row in range(200):
        while particles.pool.size >= 40 or (particles.pool.size and rng.random() < 0.3):
            compiled.retire(particles, int(rng.choice(particles.pool.slots())))
        x = row_of(model.X[row])
        if rng.random() < 0.3:
            del x[rng.choice(sorted(x))]
        if row > 50:
            x["colour"] = str(rng.choice(["red", "green", "blue"]))
        particles.learn(x, float(model.y[row]), float(rng.choice([0.5, 1.0, 3.0])))
        if row % 5 == 0:
            particles.check()
            check_sums(particles)
    particles.check()


@pytest.mark.parametrize("n_particles", [1, 3, 100])
def test_half_of_the_particles_follow_the_belief_in_their_forgetting_factor(
    n_particles: int,
) -> None:
    """Every factor has its part of the other half, however little it is believed.

    With fewer trees than factors the longest memories compete.
    """
    rng = np.random.default_rng(0)
    model = DynamicTreeRegressor(n_particles=n_particles, window=60, rejuvenate_every=70, seed=1)
    for i in range(300):
        model.learn_one({"a": rng.random()}, (1 if i < 150 else 10) * rng.random())
        belief = list(model.forgetting_factors.values())
        least = n_particles // (2 * len(belief))
        found = np.diff(model._core.state()["stratum"])
        if found.sum() == n_particles:  # no rejuvenated ones
            expected = least + (n_particles - least * len(belief)) * np.array(belief)
            assert np.abs(found - expected).max() <= (1.0 if n_particles > 6 else 2.0)
            assert found.min() >= 1
    assert len(belief) == min(n_particles, 6)
    assert max(belief) > 0.25
    model._core.check()
    check_sums(model._core)


@pytest.mark.parametrize("discard", ["oldest", "random"])
def test_each_memory_has_the_active_samples_that_it_can_use(discard: str) -> None:
    """The latest three per sample of memory, in old trees and in those of a rejuvenation."""
    rng = np.random.default_rng(0)
    model = DynamicTreeRegressor(
        n_particles=12, window=300, discard=discard, rejuvenate_every=450, seed=1
    )
    for i in range(450):
        model.learn_one({"a": rng.random()}, (1 if i < 300 else 10) * rng.random())
    pool = model._core.pool
    arrivals = [pool.sample(slot)[3] for slot in pool.slots()]
    sizes = set()
    for tree, _ in trees_of(model._core):
        active = sorted(number for node in tree for number in node.get("active", ()))
        decay = next(node["decay"] for node in tree if "decay" in node)
        reach = 450 if decay == 1.0 else round(3 / (1 - decay))
        assert active == [i for i, arrival in enumerate(arrivals) if 450 - arrival <= reach]
        sizes.add(len(active))
    assert len(sizes) > 2


def test_two_rules_learn_the_belief_in_the_forgetting_factors() -> None:
    """Bayes' rule by hand: one rule forgets evidence, one does not; one tree per factor."""
    rng = np.random.default_rng(1)
    model = DynamicTreeRegressor(n_particles=6, window=40, seed=1)
    kept, switch = np.array([[0.95], [1.0]]), np.array([[0.01], [0.0001]])
    compared = 0
    for i in range(150):
        x = {"a": rng.random()}
        y = (3 if i < 75 else -3) * x["a"] + rng.normal(0.0, 0.1)
        core = model._core
        belief = core.state()["belief"]
        leaves = core.mixture(x)
        model.learn_one(x, y)
        if i < 10:
            continue  # without a proper density
        densities = [StudentMixture([(*leaf[:3], 1.0)])(y) for leaf in leaves]
        joint = belief * np.array(densities)
        given = joint**kept / (joint**kept).sum(axis=1, keepdims=True)
        rule = 0.999 * joint.sum(axis=1, keepdims=True) / joint.sum() + 0.0005
        expected = rule * ((1.0 - switch) * given + switch / 6)
        found = core.state()["belief"]
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-10)
        np.testing.assert_allclose(list(model.forgetting_factors.values()), found.sum(axis=0))
        compared += 1
    assert compared > 80


@pytest.mark.parametrize(("n_features", "weight"), [(1, 0.1), (19, 0.2), (40, 0.3)])
def test_prior_of_competing_memories_weighs_more_with_many_coefficients(
    n_features: int, weight: float
) -> None:
    """A hundredth of a sample per coefficient, from a tenth to three tenths; else 0.3."""
    rng = np.random.default_rng(0)
    for factor, expected in (("auto", weight), (1.0, 0.3)):
        model = DynamicTreeRegressor(n_particles=6, forgetting_factor=factor, seed=1)
        for _ in range(40):
            model.learn_one({f"x{i}": rng.random() for i in range(n_features)}, rng.random())
        assert model._core.state()["prior"][0] == pytest.approx(expected)


def test_missing_values_go_left_as_often_as_right() -> None:
    """What is left of a cut mirrors what is right of it, so that neither side is more likely."""
    model = DynamicTreeRegressor(n_particles=10_000, forgetting_factor=1.0, published=True, seed=1)
    targets = (-2.0, -1.2, -0.5, -0.1, 0.1, 0.5, 1.2, 2.0)
    samples = [({"a": a}, 5.0 * (a or 0.0) + y) for y in targets for a in (-1.0, 1.0, None)]
    for i, (x, y) in enumerate(samples, start=1):
        model._core.min_samples_leaf = 4 if i == len(samples) else len(samples)
        model.learn_one(x, y)
    sides: Counter[bool | None] = Counter()
    for (top, *_), n in trees_of(model._core):
        sides[top.get("missing_left")] += n  # None: a leaf
    left, right = sides[True], sides[False]
    assert left + right > 1000
    assert abs(left - right) <= 4 * np.sqrt(left + right)
