"""Explanations of the default forest: what combines its groups is divided by the rules."""

import math
from typing import Any

import numpy as np
import pytest

import river_extra_trees as ret
from river_extra_trees._core.forests.fading_ridge import FadingRidge
from tests.naive import explanation as naive
from tests.tools.definitions import by_definition, mean_of, naive_tree
from tests.tools.estimators import learn, stream

METHODS = ("shapley", "path")

# -------------------------------------------------------------------- classes


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("n_frequent", [500.0, 990.0])
def test_pool(n_labels: int, method: str, n_frequent: float) -> None:
    """The pool of extra trees: the naive rule, over all subsets, with members of the core.

    Of 1,000 samples, 990 have the second label, or it is not frequent.
    """
    case = ("ExtraTreesClassifier", 0)
    rows = [(x, y if n_labels == 3 else y == "low") for x, y in stream(case, 146)]
    model = ret.ExtraTreesClassifier(n_models=4, window_sizes=(20, 60), max_depth=4, seed=1)
    learn(model, rows[:140])
    core, labels = model._core, model._labels()
    exponents = np.arange(1.0, len(core.pool.state()["exponents"]) + 1.0) / 3.0
    exponents[3:] = 0.0  # of members that are no trees
    counts = {"frequent": 1, "n_frequent": n_frequent, "n_rest": 1000.0 - n_frequent}
    pool = type(core.pool).restored({**core.pool.state(), **counts, "exponents": exponents})
    odds = [1.0, 2.0 / 11.0 if n_frequent == 990.0 else 1.0, 1.0]
    model._core = core = type(core).restored({**core.state(), "pool": pool})
    weights = pool.state()["weights"]
    groups = [(group.first, group.n) for group in core.groups]
    for x, _ in rows[140:]:
        parts_of, at, base_of = [], [], []
        for first, n in groups:
            shares = [(first <= tree < first + n) / n for tree in range(model._n_trees)]
            each = [
                by_definition(
                    model, x, shares, lambda leaf, k=k: share_or_equal(leaf, k, n_labels), method
                )
                for k in range(n_labels)
            ]
            base_of.append([base for base, _ in each])
            at.append([base + parts.sum() for base, parts in each])
            parts_of.append([parts for _, parts in each])
        floored = [
            [[0.99 * q + 0.01 / n_labels for q in member] for member in [*members, mixed(members)]]
            for members in (at, base_of)
            for mixed in [lambda members: (weights @ np.array(members)).tolist()]
        ]
        for code, label in enumerate(labels):
            slopes = naive.pool_slopes(*floored, exponents[:3].tolist(), code, odds)
            wanted = 0.99 * sum(
                (slopes[g][k] + weights[g] * slopes[2][k]) * parts_of[g][k]
                for g in range(2)
                for k in range(n_labels)
            )
            (base,), (parts,) = core.explain(x, label, method == "shapley").arrays()
            assert parts == pytest.approx(wanted, abs=1e-8)
            p = model.predict_proba_one(x)[label]
            assert base + parts.sum() == pytest.approx(math.log(p / (1 - p)), abs=1e-9)


def test_pool_beside_exact_values() -> None:
    """The rule has the base value and the sum of the Shapley values of the whole pool, and nearly
    their shape: the sum over all subsets of what the pool says if only some features are known.
    """
    rows = list(stream(("ExtraTreesClassifier", 0), 304))
    model = ret.ExtraTreesClassifier(n_models=4, window_sizes=(50, 200), max_depth=4, seed=1)
    learn(model, rows[:300])
    core, labels = model._core, model._labels()
    pool = core.pool.state()
    exponents = pool["exponents"].copy()
    exponents[3:] = 0.0  # of members that are no trees
    model._core = core = type(core).restored(
        {**core.state(), "pool": type(core.pool).restored({**pool, "exponents": exponents})}
    )
    n_labels, likeness = len(labels), []
    for x, _ in rows[300:]:
        row, code = core.row_of(x), labels.index(model.predict_one(x))
        trees = [
            [
                naive_tree(
                    model._nodes(tree), row, lambda leaf, k=k: share_or_equal(leaf, k, n_labels)
                )
                for k in range(n_labels)
            ]
            for tree in range(model._n_trees)
        ]

        def log_odds(known: naive.Known, trees: Any = trees, code: int = code) -> float:
            shares = np.array([[naive.output(tree, known) for tree in each] for each in trees])
            groups = np.array([shares[g.first : g.first + g.n].mean(axis=0) for g in core.groups])
            members = np.vstack([groups, pool["weights"] @ groups])
            sums = exponents[:3] @ np.log(0.99 * members + 0.01 / n_labels)
            return float(sums[code] - np.log(np.exp(np.delete(sums, code)).sum()))

        exact = naive.shapley(log_odds, set(range(len(row))))
        (base,), (parts,) = core.explain(x).arrays()
        assert base == pytest.approx(log_odds(frozenset()), abs=1e-9)
        assert sum(parts) == pytest.approx(sum(exact.values()), abs=1e-9)
        likeness.append(np.corrcoef(parts, [exact[i] for i in range(len(row))])[0, 1])
    assert np.mean(likeness) > 0.9


def share_or_equal(leaf: Any, code: int, n_labels: int) -> float:
    return leaf["values"][code] / leaf["weight"] if leaf["weight"] else 1.0 / n_labels


def log_odds_by_regression(model: Any, x: dict[Any, Any], label: Any) -> tuple[float, float]:
    """The log odds of a model that asks only the regression: with its floor, and without."""
    p = model.predict_proba_one(x)[label]
    q = (p - 0.005) / 0.99
    return math.log(p / (1.0 - p)), math.log(q / (1.0 - q))


def test_logistic_regression() -> None:
    """Its log odds are a sum over the features, each of which a row that has only it tells."""
    rows = [(x, y == "low") for x, y in stream(("ExtraTreesClassifier", 0), 346)]
    model = ret.ExtraTreesClassifier(n_models=4, window_sizes=(20, 60), seed=1)
    learn(model, rows[:340])
    pool = model._core.pool.state()
    exponents = np.zeros(len(pool["exponents"]))
    exponents[4] = 1.0  # behind two groups, their mixture and the last labels
    pool = type(model._core.pool).restored({**pool, "exponents": exponents})
    model._core = type(model._core).restored({**model._core.state(), "pool": pool})
    n_divided = 0
    for x, _ in rows[340:]:
        known = {name: value for name, value in x.items() if value is not None and value == value}
        base, of_prior = log_odds_by_regression(model, {}, True)
        output, whole = log_odds_by_regression(model, known, True)
        parts = {
            name: log_odds_by_regression(model, {name: value}, True)[1] - of_prior
            for name, value in known.items()
        }
        assert sum(parts.values()) == pytest.approx(whole - of_prior, abs=1e-9)
        slope = (output - base) / (whole - of_prior)
        found = model.explain_one(known, label=True)
        assert found.base_value == pytest.approx(base, abs=1e-9)
        told = dict(zip(found.feature_names, found.values, strict=True))
        for name, part in parts.items():
            assert told[name] == pytest.approx(slope * part, abs=1e-9)
            n_divided += abs(part) > 0.01
    assert n_divided > 12


# -------------------------------------------------------------------- numbers


def regressor(n_models: int, weights: list[float], **settings: Any) -> tuple[Any, list[Any]]:
    """A model that mixes by these weights, without a chain, and rows to ask it.

    The last weight is that of the stacked prediction, which is here the mean of the groups. No
    prediction reaches a limit.
    """
    rows = list(stream(("ExtraTreesRegressor", 0), 146))
    model: Any = ret.ExtraTreesRegressor(n_models=n_models, max_depth=4, seed=1, **settings)
    learn(model, rows[:140])
    core = model._core
    changed = {
        **core.mixture.state(),
        "weights": np.array(weights),
        "chain_weights": np.array([1.0, 0.0]),
        "stack": FadingRidge(len(weights) - 1, 0.999, 30.0),
        "lowest": -1e6,
        "highest": 1e6,
    }
    mixture = type(core.mixture).restored(changed)
    model._core = type(core).restored({**core.state(), "mixture": mixture})
    return model, [x for x, _ in rows[140:]]


@pytest.mark.parametrize("method", METHODS)
def test_mixture_without_limits(method: str) -> None:
    """It is linear, and so exact: each group counts with its weight and its part of the stack."""
    model, rows = regressor(2, [0.2, 0.5, 0.3], window_sizes=(20, 60))
    groups, n = model._core.groups, 0
    shares = [0.0] * model._n_trees
    for weight, group in zip((0.35, 0.65), groups, strict=True):
        for tree in range(group.first, group.first + group.n):
            shares[tree] = weight / group.n
    for x in rows:
        base, parts = by_definition(model, x, shares, mean_of, method)
        found = model._core.explain(x, None, method == "shapley")
        (base_got,), (parts_got,) = found.arrays()
        assert base_got == pytest.approx(base, abs=1e-9)
        assert parts_got == pytest.approx(parts, abs=1e-9)
        n += sum(abs(parts) > 0.01)
    assert n > 12


def test_one_linear_model() -> None:
    """Of a tree that is a leaf: slope times (value - mean of the samples that it was grown on)."""
    model, rows = regressor(2, [0.0, 1.0, 0.0], window_sizes=(60,), min_samples_split=10_000)
    core = model._core
    (leaf,), slopes = model._nodes(1), core.models[1].coefficients_of(0)
    assert len(slopes) > 3
    found = [core.explain(x).arrays() for x in rows]
    explained = [(base, parts) for (base,), (parts,) in found]
    assert [base for base, _ in explained] == pytest.approx([leaf["values"][0]] * len(rows))
    samples = np.array([core.row_of(x) for x, _ in stream(("ExtraTreesRegressor", 0), 146)])
    born, asked = core.state()["births"][1], np.array([core.row_of(x) for x in rows])
    grown_on = [
        last
        for last in range(60, born + 1)
        if all(
            parts[j] == pytest.approx(slope * (row[j] - np.nanmean(samples[last - 60 : last, j])))
            for row, (_, parts) in zip(asked, explained, strict=True)
            for j, slope in slopes.items()
            if row[j] == row[j]
        )
    ]
    assert len(grown_on) == 1
    assert born - grown_on[0] < 60
    for row, (_, parts) in zip(asked, explained, strict=True):
        assert not any(parts[j] for j in range(len(row)) if j not in slopes or row[j] != row[j])
