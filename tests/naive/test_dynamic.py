"""The naive dynamic tree against the outputs of dynaTree 1.2-17 and against itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tests.golden.dynatree import column, data, table
from tests.naive import dynamic_enumeration as enumeration
from tests.naive.dynamic import DynamicTree, Leaf, NaiveFilter, Split
from tests.naive.dynamic_leaves import GaussianLeaf, LeafModel, MultinomialLeaf
from tests.naive.dynamic_problems import PROBLEMS, mutants

FRIEDMAN, CLASSES = data("fried_train"), data("class_train")
LEAF_MODELS: dict[str, LeafModel] = {
    "constant": GaussianLeaf(5, linear=False),
    "linear_augmented": GaussianLeaf(5, linear=True),
    "class": MultinomialLeaf(3),
}
MIN_SAMPLES_LEAF = {"constant": 4, "linear_augmented": 14, "class": 1}
RETIREMENT = {"noretire": (None, 1.0), "w60_lam1": (60, 1.0), "w60_lam0.9": (60, 0.9)}


def stream(leaf: str) -> tuple[np.ndarray, np.ndarray]:
    return CLASSES if leaf == "class" else FRIEDMAN


def published(leaf: str, min_samples_leaf: int | None = None) -> DynamicTree:
    X, y = stream(leaf)
    smallest = min_samples_leaf or MIN_SAMPLES_LEAF[leaf]
    return DynamicTree(X, y, LEAF_MODELS[leaf], smallest, published_scores=True)


def grow_chances(model: DynamicTree, root: Leaf, row: int) -> np.ndarray:
    """Probability that a root with `row` in it splits on each column."""
    chances = np.zeros(model.X.shape[1])
    for chance, tree in model.reached(root, row):
        if isinstance(tree, Split):
            chances[tree.column] += chance
    return chances


def within_four_standard_errors(share: float, exact: float, n: int) -> bool:
    spread = max(share * (1 - share), exact * (1 - exact))
    return abs(share - exact) <= 4 * np.sqrt(spread / n)


@pytest.mark.parametrize("retirement", RETIREMENT)
@pytest.mark.parametrize("leaf", LEAF_MODELS)
def test_log_predictive_of_one_leaf_is_dynatree_s(leaf: str, retirement: str) -> None:
    """Row by row, without retirement and with the oldest of 60 rows retired before each."""
    window, factor = RETIREMENT[retirement]
    X, y = stream(leaf)
    model = published(leaf)
    rows = table("exact_single_leaf_logpred")
    tree = Leaf((), model.leaf_model.nothing())
    for row in range(len(rows)):
        if window and len(tree.active) == window:
            tree = model.retire(tree, tree.active[0], factor)
        if row >= model.min_samples_leaf:
            found = model.log_predictive(tree, X[row], y[row])
            assert found == pytest.approx(float(rows[row][f"{leaf}_{retirement}"]), abs=1e-8)
        tree = model.add(tree, row)


@pytest.mark.parametrize("retirement", RETIREMENT)
@pytest.mark.parametrize("leaf", LEAF_MODELS)
def test_prediction_of_one_leaf_is_dynatree_s(leaf: str, retirement: str) -> None:
    """Mean, variance, quantiles and density, or the class probabilities, at test points."""
    window, factor = RETIREMENT[retirement]
    model = published(leaf)
    tree = Leaf((), model.leaf_model.nothing())
    for row in range(200):
        if window and len(tree.active) == window:
            tree = model.retire(tree, tree.active[0], factor)
        tree = model.add(tree, row)
    X, y = data("class_test" if leaf == "class" else "fried_test")
    total = model.total(tree)
    for expected in table("exact_single_leaf_predict"):
        if expected["config"] != f"{leaf}_{retirement}":
            continue
        i = int(expected["i"]) - 1
        if isinstance(model.leaf_model, MultinomialLeaf):
            given = [float(expected[f"p{k}"]) for k in (1, 2, 3)]
            assert model.leaf_model.probabilities(total) == pytest.approx(given, abs=1e-8)
            continue
        df, location, scale = model.leaf_model.predictive(total, X[i])
        mean, variance = model.leaf_model.mean_and_variance(total, X[i])
        quantiles = stats.t.ppf([0.05, 0.95], df, location, scale)
        found = [mean, variance, df, *quantiles, stats.t.pdf(y[i], df, location, scale)]
        given = [float(expected[key]) for key in ("mean", "var", "df", "q05", "q95", "dens")]
        assert found == pytest.approx(given, abs=1e-8)


@pytest.mark.parametrize("leaf", ["constant", "linear_augmented"])
def test_alc_of_one_leaf_is_dynatree_s(leaf: str) -> None:
    """Closed form over the unit cube for the first 60 rows."""
    model = published(leaf)
    root = Leaf(tuple(range(60)), model.leaf_model.nothing())
    expected = column(table("exact_single_leaf_alc"), f"{leaf}_approxFALSE")
    found = [model.alc(root, model.X[row], np.zeros(5), np.ones(5)) for row in range(60)]
    assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("leaf", ["constant", "linear_augmented"])
def test_alc_in_closed_form_is_the_integral(leaf: str) -> None:
    """Also over boxes that are not the unit cube."""
    model = published(leaf)
    assert isinstance(model.leaf_model, GaussianLeaf)
    total = model.sums(range(40))
    lower, upper = np.array([-1.0, 0.2, 0.0, 0.5, 0.1]), np.array([0.5, 1.0, 0.3, 2.0, 0.9])
    for row in range(10):
        closed = model.leaf_model.alc(total, model.X[row], lower, upper)
        integral = model.leaf_model.alc_by_quadrature(total, model.X[row], lower, upper)
        assert closed == pytest.approx(integral, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "expected",
    [
        row
        for row in table("one_step_grow_fraction")
        if row["rprop"] == "luvar" and row["model"] in LEAF_MODELS
    ],
    ids=lambda row: f"{row['model']}-{row['n']}",
)
def test_first_grow_is_as_frequent_as_in_dynatree(expected: dict[str, str]) -> None:
    """The exact probability against 20,000 particles of dynaTree."""
    model = published(expected["model"])
    n = int(expected["n"])
    root = Leaf(tuple(range(n)), model.leaf_model.nothing())
    chances = grow_chances(model, root, n - 1)
    assert within_four_standard_errors(float(expected["grow_frac"]), chances.sum(), 20_000)
    assert within_four_standard_errors(float(expected["split_x1"]), chances[0], 20_000)
    assert within_four_standard_errors(float(expected["split_x2"]), chances[1], 20_000)


@pytest.mark.parametrize(
    "expected",
    table("grow_fraction_with_retired"),
    ids=lambda row: f"{row['model']}-{row['k']}-{row['lambda']}",
)
def test_grow_over_a_retired_prior_is_as_frequent_as_in_dynatree(
    expected: dict[str, str],
) -> None:
    """With 30 points a side at least and 60 active ones each column has one partition."""
    leaf = "linear_augmented" if expected["model"] == "linear" else expected["model"]
    model = published(leaf, min_samples_leaf=30)
    k, factor = int(expected["k"]), float(expected["lambda"])
    tree = Leaf(tuple(range(59)), model.leaf_model.nothing())
    for row in range(k):
        tree = model.retire(tree, row, factor)
    for row in range(59, 60 + k):
        tree = model.add(tree, row)
    chances = grow_chances(model, tree, 59 + k)
    assert tree.retired.weight == pytest.approx(float(expected["retired_mass"]), abs=1e-6)
    assert within_four_standard_errors(float(expected["grow_fraction"]), chances.sum(), 5_000)
    for j, chance in enumerate(chances):
        assert within_four_standard_errors(float(expected[f"split_x{j + 1}"]), chance, 5_000)


@pytest.mark.parametrize("leaf", LEAF_MODELS)
def test_evidence_is_the_product_of_predictives(leaf: str) -> None:
    """p(y_1..y_n) p(y_n+1 | y_1..y_n) = p(y_1..y_n+1): every constant has to be right."""
    model = replace(published(leaf), published_scores=False)
    retired = model.sums(range(10)) * 0.7
    for row in range(40, 60):
        before, after = model.sums(range(40)) + retired, model.sums([*range(40), row]) + retired
        step = model.leaf_model.log_evidence(after) - model.leaf_model.log_evidence(before)
        density = model.leaf_model.log_predictive(before, model.X[row], model.y[row])
        assert step == pytest.approx(density, abs=1e-9)


@pytest.mark.parametrize("leaf", LEAF_MODELS)
def test_retirement_without_forgetting_changes_neither_prediction_nor_odds(leaf: str) -> None:
    """Stay against prune, and every predictive density, stay as they were."""
    model = replace(published(leaf), published_scores=False, min_samples_leaf=14)
    cut = float(np.median(model.X[:60, 0]))
    before = model.grown(Leaf(tuple(range(60)), model.leaf_model.nothing()), 0, cut)
    after = before
    for row in range(20):
        after = model.retire(after, row)
    for tree in (before, after):
        assert isinstance(tree, Split)
    for row in range(60, 70):
        densities = [model.log_predictive(t, model.X[row], model.y[row]) for t in (before, after)]
        assert densities[0] == pytest.approx(densities[1], abs=1e-10)
        odds = []
        for tree in (before, after):
            (stay, _), (prune, _) = model.moves(model.add(tree, row), row, [])
            odds.append(stay - prune)
        assert odds[0] == pytest.approx(odds[1], abs=1e-8)


@pytest.mark.parametrize("leaf", LEAF_MODELS)
def test_prune_undoes_grow(leaf: str) -> None:
    """Retired sums are split in the proportion of active points, and add up again."""
    model = published(leaf)
    root = Leaf(tuple(range(40, 100)), model.sums(range(40)) * 0.8)
    grown = model.grown(root, 1, 0.25)
    assert isinstance(grown.left, Leaf)
    share = len(grown.left.active) / 60
    assert grown.left.retired.weight == pytest.approx(share * root.retired.weight)
    back = model.pruned(grown)
    assert set(back.active) == set(root.active)
    assert model.leaf_model.log_evidence(model.total(back)) == pytest.approx(
        model.leaf_model.log_evidence(model.total(root)), abs=1e-9
    )


@pytest.mark.parametrize("problem", PROBLEMS)
def test_problems_lead_to_splits_below_splits(problem: str) -> None:
    """Otherwise enumeration would say nothing about depth."""
    _, law = enumeration.law_of(PROBLEMS[problem]())
    deep = [share for share, tree in law.values() if PROBLEMS[problem]().height(tree) > 2]
    assert sum(deep) > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_filter_approaches_the_enumerated_law(problem: str) -> None:
    """Frequencies of the particles' structures, and the mean of the evidence estimates."""
    model = PROBLEMS[problem]()
    evidence, law = enumeration.law_of(model)
    found: dict[enumeration.Key, float] = {}
    estimates = []
    n_runs, n_particles = 5, 200
    for run in range(n_runs):
        start = tuple(range(model.min_samples_leaf))
        particles = NaiveFilter(model, n_particles, np.random.default_rng(run), start)
        rows = range(model.min_samples_leaf, len(model.y))
        estimates.append(np.exp(sum(particles.learn(row) for row in rows)))
        for tree in particles.trees:
            low = enumeration.on_grid(model, tree)
            found[low] = found.get(low, 0.0) + 1 / (n_runs * n_particles)
    assert enumeration.total_variation(found, enumeration.shapes(law)) < 0.08
    error = np.std(estimates, ddof=1) / np.sqrt(n_runs)
    assert abs(np.mean(estimates) - evidence) < 4 * error


@pytest.mark.parametrize(
    ("problem", "wrong"),
    [(problem, wrong) for problem in PROBLEMS for wrong in mutants(PROBLEMS[problem]())],
)
def test_a_wrong_formula_has_another_law(problem: str, wrong: str) -> None:
    """Otherwise the agreement of particles with the law would say nothing about the formula."""
    right = enumeration.shapes(enumeration.law_of(PROBLEMS[problem]())[1])
    mutated = enumeration.shapes(enumeration.law_of(mutants(PROBLEMS[problem]())[wrong])[1])
    assert enumeration.total_variation(right, mutated) > 0.05
