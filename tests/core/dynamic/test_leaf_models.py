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
N_LANES = 8
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
    if isinstance(leaf_model, GaussianLeaf):
        df, location, scale = leaf_model.predictive(total, X[0])
        mean, scale2, found_df = statistics.predictive(regressors(kind, X[0]))
        assert (mean, scale2, found_df) == pytest.approx((location, scale**2, df), rel=1e-9)


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


# Leaves weighed together


def leaves(
    rng: np.random.Generator, n_regressors: int, n_classes: int, scale: float
) -> tuple[list[Any], Any]:
    """Leaves with samples about places of their own, and a prior worth one sample."""
    every = compiled.Statistics(n_regressors, n_classes)
    found = []
    for _ in range(int(rng.integers(1, N_LANES + 1))):
        leaf = compiled.Statistics(n_regressors, n_classes)
        place = rng.normal(0, scale, n_regressors)
        for _ in range(int(rng.integers(1, 60))):
            z = place + rng.normal(0, scale, n_regressors)
            y = float(rng.integers(n_classes)) if n_classes else float(rng.normal(z.sum(), scale))
            weight = float(rng.uniform(0.1, 1))  # few samples have no degree of freedom
            leaf.add(z, y, weight)
            every.add(z, y, weight)
        found.append(leaf)
    every.scale(1 / every.values[0])
    return found, every


@settings(max_examples=90, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    size=st.sampled_from([(0, 0), (1, 0), (2, 0), (5, 0), (20, 0), (0, 1), (0, 3), (0, 12)]),
    with_prior=st.booleans(),
    exponent=st.integers(-6, 6),
)
def test_leaves_in_lanes_are_leaves(
    seed: int, size: tuple[int, int], with_prior: bool, exponent: int
) -> None:
    """Whatever the number of leaves, their scale, and whether they have a prior."""
    n_regressors, n_classes = size
    found, every = leaves(np.random.default_rng(seed), *size, 10.0**exponent)
    with_prior = with_prior and not n_classes
    prior = every.values if with_prior else [0.0] * len(every.values)
    df_offset = 1.0 if with_prior else -(n_regressors + 1)
    origin = [0.0] if n_classes else every.values[1 : 2 + n_regressors]
    for leaf in found:
        leaf.set_prior(prior, df_offset)
    together = compiled.log_marginals(found, origin)
    close = {"rel": 1e-12} if n_classes else {"rel": 1e-7, "abs": 1e-6, "nan_ok": True}
    assert together == pytest.approx([leaf.log_marginal() for leaf in found], **close)


@pytest.mark.parametrize("with_prior", [False, True])
def test_a_repeated_regressor_makes_its_lane_constant_and_no_other(with_prior: bool) -> None:
    """A leaf whose regressors are not independent falls back; its neighbours stay linear."""
    rng = np.random.default_rng(0)
    found = [compiled.Statistics(2) for _ in range(3)]
    for i, leaf in enumerate(found):
        for _ in range(30):
            a, b = rng.normal(size=2)
            leaf.add([a, a if i == 1 else b], a + b)
    prior = compiled.Statistics(2)
    if with_prior:
        for sign in (-1, 1):
            prior.add([sign, sign], sign, 0.5)
    for leaf in found:
        leaf.set_prior(prior.values, -3.0)
    together = compiled.log_marginals(found, [0.0, 0.0, 0.0])
    assert together == pytest.approx([leaf.log_marginal() for leaf in found], rel=1e-9)
