"""Contributions of features to the output of a model, in the plainest way.

A tree is a leaf `(weight, value)` or a split `(feature, goes_left, left, right)`, where `goes_left`
says on which side the sample is. A leaf without weight may have no value, None; it then has the
mean of the tree.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

Tree = tuple[Any, ...]
Known = frozenset[int]
Parts = dict[int, float]


def is_leaf(tree: Tree) -> bool:
    return len(tree) == 2


def weight(tree: Tree) -> float:
    """The sum of the weights of the leaves."""
    return tree[0] if is_leaf(tree) else weight(tree[2]) + weight(tree[3])


def mean(tree: Tree) -> Any:
    """The weighted mean of the leaves; of empty halves the mean, or None if they have no values."""
    if is_leaf(tree):
        return tree[1]
    (a, x), (b, y) = ((weight(side), mean(side)) for side in tree[2:])
    if a == 0.0 == b:
        return None if x is None or y is None else (x + y) / 2.0
    return x if b == 0.0 else y if a == 0.0 else (a * x + b * y) / (a + b)


def features(tree: Tree) -> set[int]:
    return set() if is_leaf(tree) else {tree[0]} | features(tree[2]) | features(tree[3])


def output(tree: Tree, known: Known, whole: Tree | None = None) -> float:
    """The output if only some features of the sample are known (Lundberg et al. 2020, alg. 1)."""
    whole = whole or tree
    if is_leaf(tree):
        return float((mean(whole) or 0.0) if tree[1] is None else tree[1])
    feature, goes_left, *sides = tree
    if feature in known:
        return output(sides[0 if goes_left else 1], known, whole)
    a, b = map(weight, sides)
    left, right = (output(side, known, whole) for side in sides)
    return (left + right) / 2.0 if a == 0.0 == b else (a * left + b * right) / (a + b)


def shapley(game: Callable[[Known], float], players: set[int]) -> Parts:
    """The mean change of a game when a feature becomes known, over all orders."""
    found = {}
    n = len(players)
    for player in players:
        found[player] = 0.0
        for size in range(n):
            share = math.factorial(size) * math.factorial(n - size - 1) / math.factorial(n)
            for known in map(frozenset, itertools.combinations(sorted(players - {player}), size)):
                found[player] += share * (game(known | {player}) - game(known))
    return found


def shapley_of_tree(tree: Tree) -> Parts:
    return shapley(lambda known: output(tree, known), features(tree))


def path(tree: Tree) -> Parts:
    """The change of the mean at each split on the path of the sample (Saabas 2014)."""
    found: Parts = {}
    whole = tree
    while not is_leaf(tree):
        feature, goes_left, left, right = tree
        below = left if goes_left else right
        change = output(below, frozenset(), whole) - output(tree, frozenset(), whole)
        found[feature] = found.get(feature, 0.0) + change
        tree = below
    return found


def preorder(trees: list[Tree], empty: list[float], place: int = 0) -> Iterator[tuple[Any, ...]]:
    """The nodes as `tests.compiled.shapley` reads them; the trees, one per row, differ only in the
    values of their leaves and in where the row goes. Leaves without a value have that of `empty`.
    """
    weight_here = weight(trees[0])
    if is_leaf(trees[0]):
        values = [e if tree[1] is None else tree[1] for tree, e in zip(trees, empty, strict=True)]
        yield -1, -1, 0, weight_here, values
        return
    left, right = ([tree[side] for tree in trees] for side in (2, 3))
    below = list(preorder(left, empty, place + 1))
    bits = sum(bool(tree[1]) << row for row, tree in enumerate(trees))
    place += 1 + len(below)
    yield trees[0][0], place, bits, weight_here, [0.0] * len(trees)
    yield from below
    yield from preorder(right, empty, place)


# --- Rules


def slope(f: Callable[[float], float], x: float, base: float) -> float:
    """The rescale rule: slope between base and x; the derivative if they are equal."""
    if x == base:
        x, base = x + 1e-6, x - 1e-6
    return (f(x) - f(base)) / (x - base)


def log_odds(p: float) -> float:
    p = min(max(p, 1e-6), 1.0 - 1e-6)
    return math.log(p) - math.log(1.0 - p)


def pool_slopes(
    at: list[list[float]],
    base: list[list[float]],
    exponents: list[float],
    code: int,
    odds: list[float],
) -> list[list[float]]:
    """The slopes of the log odds of a class for the probability of each class by each member."""

    def shares(members: list[list[float]]) -> list[float]:
        """Of the classes but one, by the pool."""
        products = [
            odds[k] ** (sum(exponents) - 1.0)
            * math.prod(q[k] ** e for q, e in zip(members, exponents, strict=True))
            for k in range(len(members[0]))
        ]
        products[code] = 0.0
        return [product / sum(products) for product in products]

    def logarithmic_mean(a: float, b: float) -> float:
        return a if math.isclose(a, b, rel_tol=1e-12) else (a - b) / math.log(a / b)

    pairs = zip(shares(at), shares(base), strict=True)
    means = [0.0 if k == code else logarithmic_mean(*pair) for k, pair in enumerate(pairs)]
    of_classes = [1.0 if k == code else -mean / sum(means) for k, mean in enumerate(means)]
    return [
        [
            of_class * exponent * slope(math.log, x, b)
            for of_class, x, b in zip(of_classes, q, q_base, strict=True)
        ]
        for exponent, q, q_base in zip(exponents, at, base, strict=True)
    ]
