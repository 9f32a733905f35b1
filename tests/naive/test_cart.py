"""The naive CART against cases worked out by hand; `core/cart` has scikit-learn's."""

import math

import pytest
import scipy.stats

from tests.naive.cart import Cart, Rules, Sample, Split

NAN = math.nan
HIGH = math.nextafter(1.0, 2.0)


def samples_of(values: list[float], y: list[float]) -> list[Sample]:
    return [Sample((value,), target) for value, target in zip(values, y, strict=True)]


@pytest.mark.parametrize(
    ("rules", "values", "y", "expected"),
    [
        # Missing values that behave like the high ones are sent right.
        (Rules("gini"), [0, 1, 2, 3, NAN, NAN], [0, 0, 1, 1, 1, 1], Split(0, 1.5, False, False)),
        # Being present is a test of its own.
        (Rules("variance"), [0, 1, 2, NAN, NAN], [0, 0, 0, 1, 1], Split(0, math.inf, False, False)),
        # Without missing values, later ones go to the heavier child, left when equal.
        (Rules("gini"), [0, 1, 2], [0, 1, 1], Split(0, 0.5, False, False)),
        (Rules("gini"), [0, 1], [0, 1], Split(0, 0.5, False, True)),
        # The nominal code that stands out goes left, however the codes are numbered.
        (Rules("gini", frozenset({0})), [0, 1, 2] * 2, [0, 1, 0] * 2, Split(0, 1, True, False)),
        # Where no double lies between two values, the lower one is the threshold.
        (Rules("gini"), [1.0, HIGH], [0, 1], Split(0, 1.0, False, True)),
    ],
)
def test_best_split(rules: Rules, values: list[float], y: list[float], expected: Split) -> None:
    assert Cart(rules).best_split(samples_of(values, y)) == expected


def test_first_of_equal_splits_wins() -> None:
    """Of splits with the same score the lower feature and the lower threshold are taken."""
    samples = [Sample((v, v), y) for v, y in [(0, 0), (1, 1), (2, 0), (3, 1)]]
    assert Cart(Rules("gini")).best_split(samples) == Split(0, 0.5, False, False)


def test_split_without_gain_is_accepted() -> None:
    """Exclusive or has no split that gains, and is learned all the same."""
    samples = [Sample((a, b), float(a != b)) for a in (0, 1) for b in (0, 1)]
    root = Cart(Rules("entropy")).tree(samples)
    assert root.left is not None
    assert root.left.split is not None


def test_support_is_chi_squared() -> None:
    """The evidence for a split is Pearson's statistic, and for numbers n R squared."""
    codes, labels = [20] * 3 + [*range(17)], [1, 1, 0] + [0, 1, 0, 0, 0] * 3 + [0, 1]
    table = [[sum((c == 20) == a and y == b for c, y in zip(codes, labels, strict=True))
              for b in (0, 1)] for a in (True, False)]  # fmt: skip
    chi2 = scipy.stats.chi2_contingency(table, correction=False).statistic
    r2 = scipy.stats.pearsonr([c == 20 for c in codes], labels).statistic ** 2
    for criterion, evidence in (("gini", chi2), ("variance", 20 * r2)):
        for support in (0.0, evidence / 3 - 1e-9, evidence / 3 + 1e-9):
            cart = Cart(Rules(criterion, frozenset({0}), min_samples_leaf=3, support=support))
            found = cart.best_split(samples_of(codes, labels), depth=3)
            assert (found is not None) == (support < evidence / 3)
    few = samples_of([c % 16 for c in codes[:-1]], labels)
    assert Cart(Rules("gini", frozenset({0}), support=9.0)).best_split(few, depth=3) is not None


def test_rules_count_copies_not_weights() -> None:
    """Three copies of one sample satisfy min_samples_leaf=3; a weight of three does not."""
    cart = Cart(Rules("gini", min_samples_leaf=3))
    heavy = [Sample((0.0,), 0, weight=3.0), Sample((1.0,), 1, weight=3.0)]
    copied = [Sample((0.0,), 0, copies=3), Sample((1.0,), 1, copies=3)]
    assert cart.tree(heavy).split is None
    assert cart.tree(copied).split is not None
