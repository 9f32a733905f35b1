"""Sums of losses of any size; `test_forgetful_forest.py` tests what is decided by them."""

import math

import pytest
from scipy import stats

from river_extra_trees._core.state import LARGEST_COUNT
from river_extra_trees.forgetting import Sums, accuracy_of, add, p_value, sums_from


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


def test_sums_of_a_file_can_be_added_for_ever() -> None:
    """A file may claim the largest count; what comes of it is still a valid sum."""
    large: Sums = (LARGEST_COUNT, 1.7e308, 1.0, 0.0)
    found = add(sums_from(list(large)), (100, 1.7e308, 1.0, 0.0))
    assert sums_from(list(found)) == found
