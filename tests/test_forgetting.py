"""What forgetful learners decide between two batches."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from river_extra_trees.forgetting import (
    AdaptParameters,
    DriftTest,
    Sums,
    accuracy_of,
    add,
    p_value,
)
from tests.naive.forgetful import AdaptParameters as NaiveAdaptParameters


def answers(n: int, wrong: int) -> Sums:
    """What is known of n labels, so many of them wrong."""
    return n, wrong, wrong, 0


@given(
    st.booleans(),
    st.integers(2, 5),
    st.lists(st.tuples(st.integers(1, 60), st.floats(0, 1)), min_size=1, max_size=60),
)
def test_parameters_agree_with_the_naive_ones(
    published: bool, n_classes: int, batches: list[tuple[int, float]]
) -> None:
    """Whatever the accuracies of the batches, both set the same parameters."""
    parameters = AdaptParameters(0.3, 64, published=published)
    naive = NaiveAdaptParameters(1 / n_classes, published=published)
    held = 0
    for n, accuracy in batches:
        right = round(accuracy * n)
        parameters.adapt(answers(n, n - right), 1 / n_classes, held)
        naive.step([(float(i >= right), 0.0) for i in range(n)], held)
        assert parameters.retained_size == naive.retained
        assert parameters.rate == naive.rate
        assert parameters.max_height == naive.height
        held = min(held + n, parameters.retained_size)


@pytest.mark.parametrize("scale", [1e-150, 1e-80, 1.0, 1e80, 1e150])
def test_p_value_is_that_of_welch(scale: float) -> None:
    """The p-value from sums is scipy's from samples, whatever the unit of the losses."""
    a, b = [0.0, 1.0, 1.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0]
    sums = [(len(v), scale * sum(v), scale**2 * sum(x * x for x in v), 0.0) for v in (a, b)]
    expected = stats.ttest_ind(a, b, equal_var=False).pvalue
    assert p_value(*sums) == pytest.approx(expected)


@pytest.mark.parametrize("unknown", [(20, 1e200, math.inf, 0.0), (1, 9.0, 81.0, 0.0)])
def test_losses_without_a_variance_are_significant_of_nothing(unknown: Sums) -> None:
    """Squares may be infinite, and one loss has no variance."""
    assert p_value(unknown, (30, 1.0, 2.0, 0.0)) == 1.0


def test_losses_that_are_too_large_to_add_stay_finite() -> None:
    """So that accuracies are numbers."""
    huge = (10, 1.5e308, math.inf, 1.7e308)
    total = add(huge, huge)
    assert math.isfinite(accuracy_of(total))
    assert total[0] == 20


def test_insignificant_falls_are_pooled() -> None:
    """A fall that chance explains discards nothing, and is remembered."""
    test = DriftTest(20, 0.05)
    assert test.n_discarded(answers(100, 10), 0.5) == 0
    assert test.n_discarded(answers(100, 14), 0.5) == 0
    assert test.last == answers(200, 24)
