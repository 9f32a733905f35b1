"""Leaf statistics of the compiled core against textbook sums and dynaTree's outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import compiled
from tests.golden.dynatree import data
from tests.naive.dynamic_leaves import GaussianLeaf, LeafModel, MultinomialLeaf, Sums

N_CLASSES = 3
KINDS = ("constant", "linear", "multinomial")


def naive(kind: str, n_features: int = 5) -> LeafModel:
    return (
        MultinomialLeaf(N_CLASSES)
        if kind == "multinomial"
        else GaussianLeaf(n_features, linear=kind == "linear")
    )


def empty(kind: str, n_features: int = 5) -> Any:
    if kind == "multinomial":
        return compiled.Statistics(n_classes=N_CLASSES)
    return compiled.Statistics(n_regressors=n_features if kind == "linear" else 0)


def regressors(kind: str, x: np.ndarray) -> np.ndarray:
    return x if kind == "linear" else x[:0]


def filled(kind: str, X: np.ndarray, y: np.ndarray) -> Any:
    statistics = empty(kind, X.shape[1])
    for x, target in zip(X, y, strict=True):
        statistics.add(regressors(kind, x), target)
    return statistics


def stream(kind: str) -> tuple[np.ndarray, np.ndarray]:
    return data("class_train" if kind == "multinomial" else "fried_train")


def log_evidence(kind: str, total: Sums, n_features: int = 5) -> float:
    """Of the textbook, without the constant of every leaf that the core leaves out."""
    leaf_model = naive(kind, n_features)
    if isinstance(leaf_model, GaussianLeaf):
        return leaf_model.log_evidence(total) - leaf_model.size / 2 * float(np.log(2 * np.pi))
    nothing = leaf_model.log_evidence(leaf_model.nothing())
    with_nothing = empty(kind).log_marginal()
    return leaf_model.log_evidence(total) - nothing + float(with_nothing)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(st.integers(20, 60), st.integers(0, 10**6), st.floats(0.1, 1.0))
def test_statistics_agree_with_the_textbook(kind: str, n: int, seed: int, share: float) -> None:
    """Predictive and evidence of active points plus a share of retired ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 10, 3))
    y = X @ [1.0, -2.0, 0.5] + rng.normal(size=n + 10)
    if kind == "multinomial":
        y = rng.integers(0, N_CLASSES, n + 10).astype(float)
    statistics = filled(kind, X[:n], y[:n])
    statistics.merge(filled(kind, X[n:], y[n:]), share)
    leaf_model = naive(kind, 3)
    total = leaf_model.sums(X[:n], y[:n]) + leaf_model.sums(X[n:], y[n:]) * share
    expected = log_evidence(kind, total, 3)
    assert statistics.log_marginal() == pytest.approx(expected, rel=1e-9, abs=1e-8)
    expected = leaf_model.log_predictive(total, X[0], y[1])
    found = statistics.log_predictive(regressors(kind, X[0]), y[1])
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    if isinstance(leaf_model, GaussianLeaf):
        df, location, scale = leaf_model.predictive(total, X[0])
        mean, scale2, found_df = statistics.predictive(regressors(kind, X[0]))
        assert (mean, scale2, found_df) == pytest.approx((location, scale**2, df), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_retired", [0, 3, 20])
def test_published_score_is_that_of_dynatree(kind: str, n_retired: int) -> None:
    """Up to a constant per leaf, which the naive score does not leave out."""
    X, y = stream(kind)
    leaf_model = naive(kind)
    differences = []
    for n in (60, 100, 200):
        active = leaf_model.sums(X[n_retired:n], y[n_retired:n])
        retired = filled(kind, X[:n_retired], y[:n_retired])
        expected = leaf_model.published_score(active, leaf_model.sums(X[:n_retired], y[:n_retired]))
        differences.append(filled(kind, X[:n], y[:n]).published_score(retired) - expected)
    if kind == "multinomial":
        assert differences == pytest.approx([differences[0]] * 3, abs=1e-9)
    else:
        assert differences == pytest.approx([0.0] * 3, abs=1e-9)


def test_features_far_from_zero_keep_their_digits() -> None:
    """Raw sums of squares would have lost everything at an offset of 1e8."""
    X, y = stream("linear")
    near, far = filled("linear", X[:50], y[:50]), filled("linear", X[:50] + 1e8, y[:50])
    expected, found = near.predictive(X[60]), far.predictive(X[60] + 1e8)
    assert found == pytest.approx(expected, rel=1e-5)


def test_repeated_columns_do_not_break_a_linear_leaf() -> None:
    """The regressors depend on each other, so the leaf answers as a constant one would."""
    X, y = stream("linear")
    X = np.column_stack([X[:, 0], 2 * X[:, 0]])
    found = filled("linear", X[:30], y[:30]).predictive(X[40])
    assert found == pytest.approx(filled("constant", X[:30], y[:30]).predictive(), rel=1e-12)


def test_a_target_without_spread_has_no_density() -> None:
    """No degrees of freedom are reported where the Student-t would be a spike."""
    statistics = filled("constant", np.zeros((5, 1)), np.full(5, 3.0))
    mean, scale2, df = statistics.predictive()
    assert (mean, scale2, df) == (3.0, 0.0, 0.0)


def test_a_prior_counts_like_samples() -> None:
    """A prior row made of samples gives the answers of a leaf that has seen them."""
    X, y = stream("linear")
    with_prior = filled("linear", X[:30], y[:30])
    with_prior.set_prior(filled("linear", X[30:50], y[30:50]).values, -6.0 + 20.0, 0.0)
    both = filled("linear", X[:50], y[:50])
    assert with_prior.predictive(X[60]) == pytest.approx(both.predictive(X[60]), rel=1e-9)


@pytest.mark.parametrize("kind", ["constant", "linear"])
@pytest.mark.parametrize("merged", [False, True])
def test_far_samples_that_have_faded_leave_no_rounding_errors(kind: str, merged: bool) -> None:
    """What is left of them is less than a digit of the sums."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    near, far = filled(kind, X, y), filled(kind, 1e12 + X, 1e12 + y)
    far.scale(1e-60)
    if merged:
        far.merge(near)
    else:
        for x, target in zip(X, y, strict=True):
            far.add(regressors(kind, x), target)
    z = regressors(kind, X[0])
    assert far.predictive(z) == pytest.approx(near.predictive(z), rel=1e-9)
