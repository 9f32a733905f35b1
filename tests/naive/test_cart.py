"""The naive CART against scikit-learn and against cases worked out by hand."""

from __future__ import annotations

import math

import pytest
import scipy.stats

from tests.naive.cart import (
    NaiveTree,
    Rules,
    Sample,
    Split,
    best_split,
    is_supported,
    share_removed,
)

NAN = math.nan


def samples_of(values: list[float], y: list[float]) -> list[Sample]:
    return [Sample((value,), target) for value, target in zip(values, y, strict=True)]


def test_first_of_equal_splits_wins() -> None:
    """Of splits with the same score the lower feature and the lower threshold are taken."""
    samples = [Sample((v, v), y) for v, y in [(0, 0), (1, 1), (2, 0), (3, 1)]]
    assert best_split(samples, Rules("gini")) == Split(0, 0.5, False, False)


def test_split_without_gain_is_accepted() -> None:
    """Exclusive or has no split that gains, and is learned all the same."""
    samples = [Sample((a, b), float(a != b)) for a in (0, 1) for b in (0, 1)]
    tree = NaiveTree(samples, Rules("entropy"))
    assert all(tree.leaf(s.x).samples == [s] for s in samples)


def test_missing_values_go_to_the_better_side() -> None:
    """Missing values that behave like the high ones are sent right."""
    samples = samples_of([0, 1, 2, 3, NAN, NAN], [0, 0, 1, 1, 1, 1])
    assert best_split(samples, Rules("gini")) == Split(0, 1.5, False, False)


def test_present_against_missing_can_be_the_split() -> None:
    """Being present is a test of its own."""
    samples = samples_of([0, 1, 2, NAN, NAN], [0, 0, 0, 1, 1])
    assert best_split(samples, Rules("variance")) == Split(0, math.inf, False, False)


def test_unseen_missing_follows_the_heavier_child() -> None:
    """A node grown without missing values sends them to the heavier child, left when equal."""
    split = best_split(samples_of([0, 1, 2], [0, 1, 1]), Rules("gini"))
    assert split == Split(0, 0.5, False, False)
    split = best_split(samples_of([0, 1], [0, 1]), Rules("gini"))
    assert split == Split(0, 0.5, False, True)


def test_nominal_is_one_against_the_rest() -> None:
    """The code that stands out goes left, however the codes are numbered."""
    samples = samples_of([0, 1, 2, 0, 1, 2], [0, 1, 0, 0, 1, 0])
    rules = Rules("gini", nominal=frozenset({0}))
    assert best_split(samples, rules) == Split(0, 1, True, False)


def test_support_is_chi_squared() -> None:
    """The evidence for a split is Pearson's statistic, and for numbers n R squared."""
    codes, labels = [20, 20, 20, 1, 2, 3, 4, 5], [1, 1, 0, 0, 1, 0, 0, 0]
    samples, split = samples_of(codes, labels), Split(0, 20.0, True, False)
    table = [[sum((c == 20) == a and y == b for c, y in zip(codes, labels, strict=True))
              for b in (0, 1)] for a in (True, False)]  # fmt: skip
    expected = scipy.stats.chi2_contingency(table, correction=False).statistic
    assert 8 * share_removed(samples, split, "gini") == pytest.approx(expected)
    correlation = scipy.stats.pearsonr([c == 20 for c in codes], labels).statistic
    assert share_removed(samples, split, "variance") == pytest.approx(correlation**2)
    for support in (0.0, expected / 3 - 1e-9, expected / 3 + 1e-9):
        rules = Rules("gini", frozenset({0}), support=support)
        assert is_supported(samples, split, rules, depth=3) == (support < expected / 3)
    few = samples_of([c % 16 for c in codes], labels)
    assert is_supported(few, Split(0, 4.0, True, False), Rules("gini", support=9.0), depth=3)


def test_rules_count_copies_not_weights() -> None:
    """Three copies of one sample satisfy min_samples_leaf=3; a weight of three does not."""
    rules = Rules("gini", min_samples_leaf=3)
    heavy = [Sample((0.0,), 0, weight=3.0), Sample((1.0,), 1, weight=3.0)]
    copied = [Sample((0.0,), 0, copies=3), Sample((1.0,), 1, copies=3)]
    assert NaiveTree(heavy, rules).root.split is None
    assert NaiveTree(copied, rules).root.split is not None


def test_threshold_between_neighbouring_doubles_is_the_lower() -> None:
    """Where no double lies between two values, the lower one is the threshold."""
    high = math.nextafter(1.0, 2.0)
    split = best_split(samples_of([1.0, high], [0, 1]), Rules("gini"))
    assert split is not None
    assert split.threshold == 1.0
