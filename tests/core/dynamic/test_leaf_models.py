"""Leaf statistics of the compiled core against textbook sums."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import compiled
from tests.naive.dynamic_leaves import GaussianLeaf, LeafModel, MultinomialLeaf

N_CLASSES = 3
N_LANES = 8
CONSTANT, LINEAR = GaussianLeaf(3, linear=False), GaussianLeaf(3, linear=True)


def filled(leaf_model: LeafModel, X: np.ndarray, y: np.ndarray) -> Any:
    """The statistics of a leaf with these samples."""
    n_regressors = max(leaf_model.size - 1, 0)
    n_classes = N_CLASSES if isinstance(leaf_model, MultinomialLeaf) else 0
    statistics = compiled.Statistics(n_regressors, n_classes)
    for x, target in zip(X, y, strict=True):
        statistics.add(x[:n_regressors], target)
    return statistics


def samples(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X @ [1.0, -2.0, 0.5] + rng.normal(size=n)


@pytest.mark.parametrize(
    "leaf_model",
    [CONSTANT, LINEAR, MultinomialLeaf(N_CLASSES)],
    ids=["constant", "linear", "multinomial"],
)
@settings(max_examples=40, deadline=None)
@given(st.integers(20, 60), st.integers(0, 10**6), st.floats(0.1, 1.0))
def test_statistics_agree_with_the_textbook(
    leaf_model: LeafModel, n: int, seed: int, share: float
) -> None:
    """Predictive and evidence of active points plus a share of retired ones."""
    X, y = samples(n + 10, seed)
    left_out = leaf_model.size / 2 * np.log(2 * np.pi)  # the same for every leaf
    if isinstance(leaf_model, MultinomialLeaf):
        y = np.floor(np.abs(y)) % N_CLASSES
        left_out = -N_CLASSES * math.lgamma(1 / N_CLASSES)
    statistics = filled(leaf_model, X[:n], y[:n])
    statistics.merge(filled(leaf_model, X[n:], y[n:]), share)
    total = leaf_model.sums(X[:n], y[:n]) + leaf_model.sums(X[n:], y[n:]) * share
    expected = leaf_model.log_evidence(total) - left_out
    assert statistics.log_marginal() == pytest.approx(expected, rel=1e-9, abs=1e-8)
    if isinstance(leaf_model, GaussianLeaf):
        df, location, scale = leaf_model.predictive(total, X[0])
        found = statistics.predictive(X[0, : leaf_model.size - 1])
        assert found == pytest.approx((location, scale**2, df), rel=1e-9)


def test_features_far_from_zero_keep_their_digits() -> None:
    """Raw sums of squares would have lost everything at an offset of 1e8."""
    X, y = samples(50)
    near, far = filled(LINEAR, X, y), filled(LINEAR, X + 1e8, y)
    assert far.predictive(X[6] + 1e8) == pytest.approx(near.predictive(X[6]), rel=1e-5)


def test_repeated_columns_do_not_break_a_linear_leaf() -> None:
    """The regressors depend on each other, so the leaf answers as a constant one would."""
    X, y = samples(30)
    X[:, 2] = 2 * X[:, 0]
    found = filled(LINEAR, X, y).predictive(X[4])
    assert found == pytest.approx(filled(CONSTANT, X, y).predictive(), rel=1e-12)


def test_a_target_without_spread_has_no_density() -> None:
    """No degrees of freedom are reported where the Student-t would be a spike."""
    statistics = filled(CONSTANT, np.zeros((5, 3)), np.full(5, 3.0))
    assert statistics.predictive() == (3.0, 0.0, 0.0)


@pytest.mark.parametrize("leaf_model", [CONSTANT, LINEAR], ids=["constant", "linear"])
@pytest.mark.parametrize("merged", [False, True])
def test_far_samples_that_have_faded_leave_no_rounding_errors(
    leaf_model: GaussianLeaf, merged: bool
) -> None:
    """What is left of them is less than a digit of the sums."""
    X, y = samples(20)
    near, far = filled(leaf_model, X, y), filled(leaf_model, 1e12 + X, 1e12 + y)
    far.scale(1e-60)
    if merged:
        far.merge(near)
    else:
        for x, target in zip(X, y, strict=True):
            far.add(x[: leaf_model.size - 1], target)
    z = X[0, : leaf_model.size - 1]
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
    found = []
    for i in range(3):
        X, y = samples(30, i)
        X[:, 2] = X[:, 0] if i == 1 else X[:, 2]
        found.append(filled(LINEAR, X, y))
    prior = compiled.Statistics(3)
    for sign in (-1, 1) if with_prior else ():
        prior.add([sign] * 3, sign, 0.5)
    for leaf in found:
        leaf.set_prior(prior.values, -4.0)
    together = compiled.log_marginals(found, [0.0] * 4)
    assert together == pytest.approx([leaf.log_marginal() for leaf in found], rel=1e-9)
