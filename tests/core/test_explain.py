"""The contributions in one tree are those of the definitions, for random trees."""

import math
import threading
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests import compiled
from tests.naive import explanation as naive

WEIGHTS = st.sampled_from([0.0, 1e-9, 0.3, 1.0, 2.0, 1000.0])
VALUES = st.floats(-1.0, 1.0)


@st.composite
def trees(draw: Any, depth: int = 5) -> naive.Tree:
    """A tree of at most six features; leaves without weight may have no value."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        weight = draw(WEIGHTS)
        return weight, draw(VALUES if weight else st.none())
    return (
        draw(st.integers(0, 5)),
        draw(st.booleans()),
        draw(trees(depth - 1)),
        draw(trees(depth - 1)),
    )


def explained(*rows: naive.Tree, n_features: int = 6, most: int | None = None) -> Any:
    """Shapley values in a tree with at most so many features on a path, for each row."""
    nodes = list(naive.preorder([*rows], [naive.output(tree, frozenset()) for tree in rows]))
    return compiled.shapley(n_features, most or n_features, nodes, len(rows))


@given(tree=trees())
@example(tree=(0.0, None))
def test_one_tree(tree: naive.Tree) -> None:
    """Shapley values are those of the definition; a feature without a split contributes 0."""
    (parts,), wanted = explained(tree), naive.shapley_of_tree(tree)
    assert parts == pytest.approx([wanted.get(i, 0.0) for i in range(6)], abs=1e-12)
    features = frozenset(naive.features(tree))
    assert sum(parts) == pytest.approx(
        naive.output(tree, features) - naive.output(tree, frozenset()), abs=1e-12
    )


@given(tree=trees(), n=st.sampled_from([2, 3, 16]), data=st.data())
def test_rows_side_by_side(tree: naive.Tree, n: int, data: Any) -> None:
    """Rows that differ in their turns and in the values of the leaves do not change each other."""

    def other(tree: naive.Tree) -> naive.Tree:
        if naive.is_leaf(tree):
            return tree[0], data.draw(VALUES) if tree[0] else tree[1]
        return tree[0], data.draw(st.booleans()), other(tree[2]), other(tree[3])

    rows = [tree, *(other(tree) for _ in range(n - 1))]
    for row, parts in zip(rows, explained(*rows), strict=True):
        assert parts.tolist() == explained(row)[0].tolist()


@given(tree=trees(), other=st.integers(0, 5))
def test_features_change_names(tree: naive.Tree, other: int) -> None:
    """Contributions belong to features: exchanging two names exchanges them, also equal ones."""

    def renamed(tree: naive.Tree) -> naive.Tree:
        if naive.is_leaf(tree):
            return tree
        name = {0: other, other: 0}.get(tree[0], tree[0])
        return name, tree[1], renamed(tree[2]), renamed(tree[3])

    order = list(range(6))
    order[0], order[other] = order[other], order[0]
    assert explained(renamed(tree))[0] == pytest.approx(explained(tree)[0][order], abs=1e-12)


def chain(n: int, n_features: int = 100) -> naive.Tree:
    """A path of n splits, on so many features; the sample agrees with every other one."""
    tree: naive.Tree = (1.0, 1.0)
    for i in range(n):
        tree = (i % n_features, i % 2 == 0, tree, (0.1 + i % 3, math.cos(i)))
    return tree


def exact(tree: naive.Tree, n: int) -> list[float]:
    """Shapley values of a chain: the integral of the header, with polynomials of fractions."""
    found = [Fraction(0)] * n

    def visit(tree: naive.Tree, agrees: list[tuple[int, int, Fraction]]) -> None:
        if not naive.is_leaf(tree):
            whole = Fraction(naive.weight(tree))
            for goes_left, side in zip((True, False), tree[2:], strict=True):
                share = Fraction(naive.weight(side)) / whole
                visit(side, [*agrees, (tree[0], int(tree[1] == goes_left), share)])
            return
        for i, o, w in agrees:
            product = [Fraction(1)]
            for j, other, share in agrees:
                if j != i:
                    below = [c * share for c in product] + [Fraction(0)]
                    above = [Fraction(0)] + [c * (other - share) for c in product]
                    product = [a + b for a, b in zip(below, above, strict=True)]
            found[i] += (
                Fraction(tree[1]) * (o - w) * sum(c / (k + 1) for k, c in enumerate(product))
            )

    visit(tree, [])
    return [float(value) for value in found]


@pytest.mark.parametrize(("n", "bound"), [(1, 1e-15), (8, 1e-14), (32, 1e-13), (60, 1e-12)])
def test_long_paths(n: int, bound: float) -> None:
    """The quadrature is exact for 32 features on a path, and very nearly so for 60."""
    tree = chain(n)
    assert np.abs(explained(tree, n_features=n)[0] - exact(tree, n)).max() < bound


@pytest.mark.parametrize("n_features", [9, 16, 17, 25])
def test_features_come_again(n_features: int) -> None:
    """As many points as a path has different features are enough."""
    tree = chain(60, n_features)
    wanted = explained(tree, n_features=n_features, most=60)
    assert explained(tree, n_features=n_features) == pytest.approx(wanted, abs=1e-14)


def test_deep_trees() -> None:
    """The depth of a tree takes no memory of the stack, of which threads have little."""
    n = 20_000
    nodes: list[tuple[Any, ...]] = [(0, 2 * n - i, 1, n + 1.0 - i, [0.0]) for i in range(n)]
    nodes += [(-1, -1, 0, 1.0, [value]) for value in (2.0, 1.0, *[0.0] * (n - 1))]
    found: list[Any] = []
    size = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=lambda: found.append(compiled.shapley(1, 1, nodes, 1)))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
    [((part,),)] = found
    assert 3.0 / (n + 1) + part == pytest.approx(2.0)
