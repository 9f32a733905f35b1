"""The compiled cloud against exact laws, the reference's outputs, and its own invariants."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from river_extra_trees._core.cloud import Cloud
from river_extra_trees._core.discard import Survey
from river_extra_trees._mixture import StudentMixture
from tests.golden.dynatree import column, data, table
from tests.naive import dynamic_enumeration as enumeration
from tests.naive.dynamic import DynamicTree
from tests.naive.dynamic_clouds import cloud_of, row_of, structures
from tests.naive.dynamic_leaves import GaussianLeaf, MultinomialLeaf
from tests.naive.dynamic_problems import PROBLEMS, mutants

MIN_SAMPLES_LEAF = {"constant": 4, "linear": 14, "class": 1}


def open_constant(model: DynamicTree) -> DynamicTree:
    """The core leaves (2 pi)^(size / 2) per leaf out of its improper evidence."""
    return replace(model, leaf_bonus=-model.leaf_model.size / 2 * np.log(2 * np.pi))


def learn(cloud: Cloud, model: DynamicTree, row: int) -> None:
    cloud.learn(row_of(model.X[row]), float(model.y[row]))


def probabilities(cloud: Cloud, x: dict[str, float]) -> list[float]:
    """Of the classes 0.0, 1.0, ... in this order."""
    answer = cloud.predict_proba(x)
    return [answer[label] for label in sorted(answer)]


def run(model: DynamicTree, n_particles: int, seed: int) -> tuple[float, Cloud]:
    """Estimated evidence of the rows after the first `min_samples_leaf`, and the cloud."""
    cloud = cloud_of(model, n_particles, seed)
    log_evidence = 0.0
    for row in range(len(model.y)):
        learn(cloud, model, row)
        if row >= model.min_samples_leaf:
            log_evidence += cloud.log_predictive
    return float(np.exp(log_evidence)), cloud


def reference(leaf: str, min_samples_leaf: int | None = None) -> DynamicTree:
    X, y = data("class_train" if leaf == "class" else "fried_train")
    smallest = min_samples_leaf or MIN_SAMPLES_LEAF[leaf]
    leaf_model = MultinomialLeaf(3) if leaf == "class" else GaussianLeaf(5, leaf == "linear")
    return DynamicTree(X, y, leaf_model, smallest, reference_scores=True)


def split_shares(cloud: Cloud, n_features: int) -> np.ndarray:
    """Share of the particles whose root splits on each feature."""
    shares = np.zeros(n_features)
    for root, n_particles in cloud.distinct_roots():
        top = cloud.nodes(root)[0]
        if top["feature"] >= 0:
            shares[top["feature"]] += n_particles / cloud.n_particles
    return shares


def within_four_standard_errors(one: float, other: float, n: int, m: int) -> bool:
    share = (n * one + m * other) / (n + m)
    spread = max(share * (1 - share), 1 / (n + m))
    return abs(one - other) <= 4 * np.sqrt(spread * (1 / n + 1 / m))


# One leaf


@pytest.mark.parametrize(
    ("retirement", "window", "factor"),
    [("noretire", 1000, 1.0), ("w60_lam1", 60, 1.0), ("w60_lam0.9", 60, 0.9)],
)
@pytest.mark.parametrize("leaf", MIN_SAMPLES_LEAF)
def test_answers_of_one_leaf_are_the_reference_s(
    leaf: str, retirement: str, window: int, factor: float
) -> None:
    """Mean, variance, quantiles and density, or the class probabilities, to 1e-8."""
    model = reference(leaf)
    cloud = cloud_of(model, 1, 0, decay=factor)
    cloud.min_samples_leaf = 10**6
    for row in range(200):
        if cloud.pool.size == window:
            cloud.retire(cloud.oldest())
        learn(cloud, model, row)
    X, y = data("class_test" if leaf == "class" else "fried_test")
    name = "linear_augmented" if leaf == "linear" else leaf
    compared = 0
    for expected in table("exact_single_leaf_predict"):
        if expected["config"] != f"{name}_{retirement}":
            continue
        i = int(expected["i"]) - 1
        compared += 1
        if leaf == "class":
            found = probabilities(cloud, row_of(X[i]))
            assert found == pytest.approx([float(expected[f"p{k}"]) for k in (1, 2, 3)], abs=1e-8)
            continue
        answer = StudentMixture(cloud.mixture(row_of(X[i])))
        found = [answer.mean, answer.variance, answer.quantile(0.05), answer.quantile(0.95)]
        given = [float(expected[key]) for key in ("mean", "var", "q05", "q95", "dens")]
        assert [*found, answer(y[i])] == pytest.approx(given, abs=1e-8)
    assert compared >= 5


# Exact enumeration


@pytest.fixture(scope="module", params=PROBLEMS)
def frequencies(request: pytest.FixtureRequest) -> tuple[str, dict[enumeration.Key, float]]:
    """Structures of 60,000 particles in twenty runs on one tiny problem."""
    model = PROBLEMS[request.param]()
    found: dict[enumeration.Key, float] = {}
    for seed in range(20):  # the particles of one cloud share the proposals at a leaf
        _, cloud = run(model, 3_000, seed)
        for key, share in structures(model, cloud).items():
            found[key] = found.get(key, 0.0) + share / 20
    return request.param, found


def test_particles_have_the_enumerated_law(
    frequencies: tuple[str, dict[enumeration.Key, float]],
) -> None:
    """Total variation below 0.01 from the exact law under the sequential prior."""
    problem, found = frequencies
    _, law = enumeration.law_of(open_constant(PROBLEMS[problem]()))
    assert enumeration.total_variation(found, enumeration.shapes(law)) < 0.01


@pytest.mark.parametrize("problem", PROBLEMS)
def test_cuts_in_gaps_have_their_enumerated_law(problem: str) -> None:
    """The same where a gap between neighbours is drawn first, as it is by default."""
    model = replace(PROBLEMS[problem](), cuts_by_range=False)
    found: dict[enumeration.Key, float] = {}
    for seed in range(20):
        _, cloud = run(model, 3_000, seed)
        for key, share in structures(model, cloud).items():
            found[key] = found.get(key, 0.0) + share / 20
    _, law = enumeration.law_of(open_constant(model))
    assert enumeration.total_variation(found, enumeration.shapes(law)) < 0.01


def test_particles_tell_wrong_formulas_apart(
    frequencies: tuple[str, dict[enumeration.Key, float]],
) -> None:
    """Degrees of freedom, determinant, prior exponents: each mutation fails the test above."""
    problem, found = frequencies
    for wrong, model in mutants(PROBLEMS[problem]()).items():
        _, law = enumeration.law_of(open_constant(model))
        assert enumeration.total_variation(found, enumeration.shapes(law)) > 0.03, wrong


@pytest.mark.parametrize("problem", PROBLEMS)
def test_reference_scores_have_their_enumerated_law(problem: str) -> None:
    """The switch replaces the scores of the moves and nothing else."""
    model = replace(PROBLEMS[problem](), reference_scores=True)
    _, law = enumeration.law_of(model)
    _, cloud = run(model, 20_000, 1)
    found = structures(model, cloud)
    assert enumeration.total_variation(found, enumeration.shapes(law)) < 0.015


@pytest.mark.parametrize("problem", PROBLEMS)
def test_evidence_is_estimated_without_bias(problem: str) -> None:
    """The mean over 200 small clouds, not of its logarithm."""
    model = PROBLEMS[problem]()
    exact, _ = enumeration.law_of(open_constant(model))
    estimates = [run(model, 50, seed)[0] for seed in range(200)]
    error = np.std(estimates, ddof=1) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates) - exact) < 4 * error
    assert error < 0.05 * exact


@pytest.mark.parametrize("problem", PROBLEMS)
def test_retirement_has_its_enumerated_law(problem: str) -> None:
    """The two oldest points retire before the last ones come, and may end up anywhere."""
    model = open_constant(PROBLEMS[problem]())
    first, last = len(model.y) - 2, len(model.y)
    law = enumeration.start(model, tuple(range(model.min_samples_leaf)))
    for row in range(model.min_samples_leaf, last):
        if row >= first:
            law = enumeration.retire(model, law, row - first)
        _, law = enumeration.learn(model, law, row)
    found: dict[enumeration.Key, float] = {}
    for seed in range(10):
        cloud = cloud_of(model, 3_000, seed)
        for row in range(last):
            if row >= first:
                cloud.retire(cloud.oldest())
            learn(cloud, model, row)
        for key, share in structures(model, cloud).items():
            found[key] = found.get(key, 0.0) + share / 10
    assert enumeration.total_variation(found, enumeration.shapes(law)) < 0.012


# Retirement


@pytest.mark.parametrize("leaf", MIN_SAMPLES_LEAF)
def test_retirement_changes_no_prediction_and_no_score(leaf: str) -> None:
    """A retired point moves from the likelihood to the prior: their product stays."""
    model = replace(reference(leaf), reference_scores=False)
    cloud = cloud_of(model, 50, 0)
    for row in range(100):
        learn(cloud, model, row)
    answer = probabilities if leaf == "class" else Cloud.mixture
    points = [row_of(x) for x in model.X[100:120]]
    before = [np.ravel(answer(cloud, x)) for x in points]
    scores = [
        node.get("log_marginal") for r, _ in cloud.distinct_roots() for node in cloud.nodes(r)
    ]
    for _ in range(60):
        cloud.retire(cloud.oldest())
    for x, expected in zip(points, before, strict=True):
        assert np.ravel(answer(cloud, x)) == pytest.approx(expected, rel=1e-9)
    after = [node.get("log_marginal") for r, _ in cloud.distinct_roots() for node in cloud.nodes(r)]
    assert after == scores
    cloud.check()


@pytest.mark.parametrize("leaf", MIN_SAMPLES_LEAF)
def test_forgetting_weighs_a_sample_by_its_age(leaf: str) -> None:
    """Active or retired, a sample t steps back counts factor^t."""
    factor = 0.97
    model = replace(reference(leaf, min_samples_leaf=60), reference_scores=False)
    cloud = cloud_of(model, 20, 0, decay=factor)
    for row in range(100):
        if row >= 60:
            cloud.retire(cloud.oldest())
        learn(cloud, model, row)
    ((root, _),) = cloud.distinct_roots()
    (leaf_node,) = cloud.nodes(root)
    ages = leaf_node["time"] - 1 - np.arange(100)
    assert leaf_node["total"][0] == pytest.approx(np.sum(factor**ages))
    assert leaf_node["retired"][0] == pytest.approx(np.sum(factor ** ages[:40]))
    if leaf != "class":
        mean = np.average(model.y[:100], weights=factor**ages)
        assert leaf_node["total"][6 if leaf == "linear" else 1] == pytest.approx(mean)


# The reference's outputs


@pytest.mark.parametrize(
    "expected",
    [
        row
        for row in table("one_step_grow_fraction")
        if row["rprop"] == "luvar" and row["model"] != "linear_implicit"
    ],
    ids=lambda row: f"{row['model']}-{row['n']}",
)
def test_first_grow_is_as_frequent_as_in_the_reference(expected: dict[str, str]) -> None:
    """All particles are roots when the last row comes."""
    model = reference(expected["model"].removesuffix("_augmented"))
    n = int(expected["n"])
    cloud = cloud_of(model, 10_000, 3)
    cloud.min_samples_leaf = n
    for row in range(n - 1):
        learn(cloud, model, row)
    cloud.min_samples_leaf = model.min_samples_leaf
    learn(cloud, model, n - 1)
    shares = split_shares(cloud, model.X.shape[1])
    for found, key in ((shares.sum(), "grow_frac"), (shares[0], "split_x1")):
        assert within_four_standard_errors(found, float(expected[key]), 10_000, 20_000)


@pytest.mark.parametrize(
    "expected",
    table("grow_fraction_with_retired"),
    ids=lambda row: f"{row['model']}-{row['k']}-{row['lambda']}",
)
def test_grow_over_a_retired_prior_is_as_frequent_as_in_the_reference(
    expected: dict[str, str],
) -> None:
    """With 30 points a side at least, 60 active ones allow one partition per feature."""
    model = reference(expected["model"], min_samples_leaf=30)
    k, factor = int(expected["k"]), float(expected["lambda"])
    cloud = cloud_of(model, 10_000, 4, decay=factor)
    for row in range(59):
        learn(cloud, model, row)
    for _ in range(k):
        cloud.retire(cloud.oldest())
    for row in range(59, 60 + k):
        learn(cloud, model, row)
    shares = split_shares(cloud, model.X.shape[1])
    grown = float(expected["grow_fraction"])
    assert within_four_standard_errors(shares.sum(), grown, 10_000, 5_000)
    for j, share in enumerate(shares):
        assert within_four_standard_errors(share, float(expected[f"split_x{j + 1}"]), 10_000, 5_000)


@pytest.mark.parametrize(
    "expected",
    table("one_step_after_retire"),
    ids=lambda row: f"{row['model']}-{row['retired']}-{row['lambda']}",
)
def test_trees_after_a_retirement_are_as_large_as_in_the_reference(
    expected: dict[str, str],
) -> None:
    """One free step, k retirements, one more step: leaves, retired mass, log predictive."""
    model = reference(expected["model"].removesuffix("_augmented"))
    k, factor = int(expected["retired"]), float(expected["lambda"])
    cloud = cloud_of(model, 5_000, 5, decay=factor)
    cloud.min_samples_leaf = 120
    for row in range(119):
        learn(cloud, model, row)
    cloud.min_samples_leaf = model.min_samples_leaf
    learn(cloud, model, 119)
    slots = cloud.pool.slots()
    for row in reversed(range(k)):
        cloud.retire(slots[row])
    learn(cloud, model, 120)
    leaves = np.array(cloud.tree_statistics()[0])
    error = leaves.std() * np.sqrt(1 / 5_000 + 1 / 10_000)
    assert abs(leaves.mean() - float(expected["leaves_after"])) < 4 * error
    assert cloud.log_predictive == pytest.approx(float(expected["lpred_last"]), abs=0.02)


CONFIGURATIONS = [row["config"] for row in table("stat_summary") if "implicit" not in row["config"]]
N_RUNS = 12


def retiring(config: str, cloud: Cloud, rng: np.random.Generator) -> int:
    """The slot that a policy of the reference gives up."""
    policy = config.rsplit("_", 1)[1]
    if policy == "rand":
        return int(rng.choice(cloud.pool.slots()))
    if policy in ("alc", "ent"):
        return Survey(cloud).least_useful({"alc": "alc", "ent": "entropy"}[policy])
    return cloud.oldest()


def measure(config: str, seed: int) -> tuple[dict[str, float], np.ndarray]:
    """One run of a configuration of the reference: the summary, and answers at the test points."""
    leaf = config.split("_")[0]
    model = reference(leaf)
    factor = float(config.split("lam")[1]) if "lam" in config else 1.0
    cloud = cloud_of(model, 100, seed, decay=factor)
    rng = np.random.default_rng(seed)
    log_predictive = 0.0
    for row in range(400):
        if "w100" in config and cloud.pool.size == 100:
            cloud.retire(retiring(config, cloud, rng))
        learn(cloud, model, row)
        log_predictive += cloud.log_predictive if row >= 100 else 0.0
    X, y = data("class_test" if leaf == "class" else "fried_test")
    if leaf == "class":
        answers = np.array([probabilities(cloud, row_of(x)) for x in X])
        error = float(np.mean(answers.argmax(axis=1) != y))
        log_densities = np.log(answers[np.arange(len(y)), y.astype(int)])
    else:
        mixtures = [np.array(cloud.mixture(row_of(x))).T for x in X]
        answers = np.array([share @ mean for mean, _, _, share in mixtures])
        error = float(np.sqrt(np.mean((answers - y) ** 2)))
        log_densities = np.array(
            [
                np.log(share @ stats.t.pdf(target, df, mean, np.sqrt(scale2)))
                for (mean, scale2, df, share), target in zip(mixtures, y, strict=True)
            ]
        )
    leaves, heights = cloud.tree_statistics()
    return {
        "leaves": float(np.mean(leaves)),
        "height": 1 + float(np.mean(heights)),  # a root alone has height 1 there
        "sum_logpred_101_400": log_predictive,
        "test_err": error,
        "test_logdens": float(np.mean(log_densities)),
    }, answers.ravel()


def golden_answers(config: str) -> tuple[np.ndarray, np.ndarray]:
    """Mean over the reference's runs of its answers at the test points, and their spread."""
    by_class = config.startswith("class")
    name, keys = ("class", ["p1", "p2", "p3"]) if by_class else ("regression", ["mean"])
    rows = [row for row in table(f"stat_predict_{name}") if row["config"] == config]
    means = np.column_stack([column(rows, key) for key in keys])
    spreads = np.column_stack([column(rows, f"{key}_sd") for key in keys])
    return means.ravel(), spreads.ravel()


@pytest.mark.parametrize("config", CONFIGURATIONS)
def test_runs_are_distributed_as_the_reference_s(config: str) -> None:
    """z-tests of the summary and of the answers at 100 test points."""
    (expected,) = [row for row in table("stat_summary") if row["config"] == config]
    runs = [measure(config, seed) for seed in range(N_RUNS)]
    share = np.sqrt(1 / int(expected["runs"]) + 1 / N_RUNS)
    for key in runs[0][0]:
        found = [summary[key] for summary, _ in runs]
        name = "sum_logpred_sd" if key.startswith("sum") else f"{key}_sd"
        spread = max(float(expected[name]), float(np.std(found, ddof=1)))
        assert abs(np.mean(found) - float(expected[key])) < 3.5 * spread * share, key
    means, spreads = golden_answers(config)
    answers = np.array([answer for _, answer in runs])
    spreads = np.maximum(spreads, answers.std(axis=0, ddof=1))
    z = (answers.mean(axis=0) - means) / (spreads * share)
    assert np.mean(np.abs(z) > 2) < 0.1  # 0.05 expected; the points of a run depend on each other
    assert abs(np.mean(z)) < 1.0


# Invariants


@pytest.mark.parametrize("leaf", MIN_SAMPLES_LEAF)
@pytest.mark.parametrize("decay", [1.0, 0.95])
@pytest.mark.parametrize("by_reference", [False, True])
def test_structures_stay_sound(leaf: str, decay: float, by_reference: bool) -> None:
    """Every invariant after each of many random steps: learning, retiring, missing values."""
    model = replace(reference(leaf), reference_scores=by_reference)
    cloud = cloud_of(model, 30, 0, decay=decay)
    rng = np.random.default_rng(0)
    for row in range(200):
        while cloud.pool.size >= 40 or (cloud.pool.size and rng.random() < 0.3):
            cloud.retire(int(rng.choice(cloud.pool.slots())))
        x = row_of(model.X[row])
        if rng.random() < 0.3:
            del x[rng.choice(sorted(x))]
        if row > 50:
            x["colour"] = str(rng.choice(["red", "green", "blue"]))
        cloud.learn(x, float(model.y[row]))
        if row % 5 == 0:
            cloud.check()
    cloud.check()


def test_retiring_a_free_slot_is_refused() -> None:
    """A slot that holds no point, or no slot at all."""
    model = reference("constant")
    cloud = cloud_of(model, 5, 0)
    learn(cloud, model, 0)
    for slot in (-1, 3, 10_000):
        with pytest.raises(ValueError, match="no active point"):
            cloud.retire(slot)


def test_same_seed_gives_the_same_bits() -> None:
    """Randomness depends on the seed and the number of the step alone."""
    model = reference("linear")
    clouds = [run(replace(model, y=model.y[:80]), 50, 7)[1] for _ in range(2)]
    first, second = (
        [(n, cloud.nodes(root)) for root, n in cloud.distinct_roots()] for cloud in clouds
    )
    assert first == second
