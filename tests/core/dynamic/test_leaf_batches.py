"""Leaves weighed together against the same leaves weighed one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import compiled

N_LANES = 8


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
            weight = float(rng.uniform(0.1, 2))
            leaf.add(z, y, weight)
            every.add(z, y, weight)
        found.append(leaf)
    every.scale(1 / every.values[0])
    return found, every


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n_regressors=st.sampled_from([0, 1, 2, 5, 20]),
    with_prior=st.booleans(),
    exponent=st.integers(-6, 6),
)
def test_regressions_in_lanes_are_regressions(
    seed: int, n_regressors: int, with_prior: bool, exponent: int
) -> None:
    """Whatever the number of leaves, their scale, and whether they have a prior."""
    rng = np.random.default_rng(seed)
    found, every = leaves(rng, n_regressors, 0, 10.0**exponent)
    prior = every.values if with_prior else [0.0] * len(every.values)
    df_offset = 1.0 if with_prior else -(n_regressors + 1)
    origin = every.values[1 : 2 + n_regressors]
    for leaf in found:
        leaf.set_prior(prior, df_offset, 0.0)
    together = compiled.log_marginals(
        [leaf.values for leaf in found], origin, prior, n_regressors, 0, df_offset
    )
    one_by_one = [leaf.log_marginal() for leaf in found]
    assert together == pytest.approx(one_by_one, rel=1e-7, abs=1e-6, nan_ok=True)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32), n_classes=st.integers(1, 12))
def test_multinomials_in_lanes_are_multinomials(seed: int, n_classes: int) -> None:
    """Weights need not be whole."""
    found, every = leaves(np.random.default_rng(seed), 0, n_classes, 1.0)
    together = compiled.log_marginals(
        [leaf.values for leaf in found], [0.0], [0.0] * len(every.values), 0, n_classes
    )
    assert together == pytest.approx([leaf.log_marginal() for leaf in found], rel=1e-12)


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
        leaf.set_prior(prior.values, -3.0, 0.0)
    together = compiled.log_marginals(
        [leaf.values for leaf in found], [0.0, 0.0, 0.0], prior.values, 2, 0, -3.0
    )
    assert together == pytest.approx([leaf.log_marginal() for leaf in found], rel=1e-9)
