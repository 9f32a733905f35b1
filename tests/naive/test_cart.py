"""The naive CART against cases worked out by hand; `core/cart` has scikit-learn's."""

import math

import pytest

from tests.naive.cart import VALUES, Cart, Rules, Sample, Split

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


def test_many_values_are_told_apart_by_what_other_samples_say() -> None:
    """Of two samples each, those with a high target are sent right, and all that are unknown left.

    Values of one sample say nothing about it: there is no split.
    """
    nominal = Rules("variance", frozenset({0}))
    values = [*range(20)] * 2
    split = Cart(nominal).best_split(samples_of(values, [float(v % 5 == 0) for v in values]))
    assert split == Split(0, (True, frozenset({0, 5, 10, 15})), VALUES, True)
    once = samples_of([*range(20)], [float(v % 2) for v in range(20)])
    assert Cart(nominal).best_split(once) is None
    assert Cart(Rules("gini", frozenset({0}))).best_split(once) is None


def test_rules_count_copies_not_weights() -> None:
    """Three copies of one sample satisfy min_samples_leaf=3; a weight of three does not."""
    cart = Cart(Rules("gini", min_samples_leaf=3))
    heavy = [Sample((0.0,), 0, weight=3.0), Sample((1.0,), 1, weight=3.0)]
    copied = [Sample((0.0,), 0, copies=3), Sample((1.0,), 1, copies=3)]
    assert cart.tree(heavy).split is None
    assert cart.tree(copied).split is not None
