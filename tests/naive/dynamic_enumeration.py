"""The exact law of a dynamic tree on a tiny stream, by listing every tree it can reach.

A dynamic tree has a sequential prior: at each step only stay, grow and prune at the leaf of the new
point are possible. With infinitely many particles the filter's weights and moves become

    law_t(T) = sum over T' of law_{t-1}(T') p(y_t | x_t, T') K(T | T', x_t, y_t) / evidence_t,

where K is the law of a move, `DynamicTree.reached`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.naive.dynamic import DynamicTree, FadingTree, Leaf, Split, Tree

Key = tuple[object, ...]
Law = dict[Key, tuple[float, Tree]]


def key_of(tree: Tree) -> Key:
    """Structure and partition; the retired sums follow from the path, so they take part too."""
    if isinstance(tree, Split):
        return (tree.column, tree.cut, key_of(tree.left), key_of(tree.right))
    retired = tree.retired
    parts = (retired.weight, retired.square, *retired.cross, *retired.counts)
    return (tuple(sorted(tree.active)), *(round(float(part), 9) for part in parts))


def shape_of(tree: Tree) -> Key:
    """Structure alone: columns and cuts."""
    if isinstance(tree, Leaf):
        return ()
    return (tree.column, tree.cut, shape_of(tree.left), shape_of(tree.right))


def middle(values: np.ndarray, cut: float) -> float:
    """Of the interval between neighbouring values in which a cut lies."""
    place = int(np.searchsorted(values, cut, side="right"))
    return float((values[place - 1] + values[place]) / 2)


def start(model: DynamicTree, rows: tuple[int, ...]) -> Law:
    root = Leaf(rows, model.leaf_model.nothing())
    return {key_of(root): (1.0, root)}


def _gather(law: Law, share: float, tree: Tree) -> None:
    key = key_of(tree)
    before = law[key][0] if key in law else 0.0
    law[key] = (before + share, tree)


def learn(model: DynamicTree, law: Law, row: int) -> tuple[float, Law]:
    """Predictive density of the row's target, and the law of the tree after it."""
    x, y = model.X[row], model.y[row]
    weights = [share * np.exp(model.log_predictive(tree, x, y)) for share, tree in law.values()]
    evidence = float(np.sum(weights))
    after: Law = {}
    for weight, (_, tree) in zip(weights, law.values(), strict=True):
        for chance, moved in model.reached(model.add(tree, row), row):
            _gather(after, weight / evidence * chance, moved)
    return evidence, after


def fade(model: DynamicTree, law: Law, factor: float) -> Law:
    """What is retired weighs less as the next row comes."""
    after: Law = {}
    for share, tree in law.values():
        _gather(after, share, model.forget(tree, factor))
    return after


def retire(model: DynamicTree, law: Law, row: int) -> Law:
    after: Law = {}
    for share, tree in law.values():
        _gather(after, share, model.retire(tree, row))
    return after


def shapes(law: Law) -> dict[Key, float]:
    """Probability of each structure."""
    found: dict[Key, float] = {}
    for share, tree in law.values():
        found[shape_of(tree)] = found.get(shape_of(tree), 0.0) + share
    return found


def law_of(model: DynamicTree) -> tuple[float, Law]:
    """Evidence of all rows after the first `min_samples_leaf`, and the law of the tree then."""
    law = start(model, tuple(range(model.min_samples_leaf)))
    evidence = 1.0
    for row in range(model.min_samples_leaf, len(model.y)):
        density, law = learn(model, law, row)
        evidence *= density
    return evidence, law


def law_in_window(model_at: Callable[[int], DynamicTree], window: int) -> Law:
    """Law of the tree at the end of a stream of which so many rows are active at most.

    `model_at` says by which model a row is learned.
    """
    model = model_at(0)
    law = start(model, tuple(range(model.min_samples_leaf)))
    for row in range(model.min_samples_leaf, len(model.y)):
        model = model_at(row)
        if isinstance(model, FadingTree):
            law = fade(model, law, model.decay)
        if row >= window:
            law = retire(model, law, row - window)
        _, law = learn(model, law, row)
    return law


def total_variation(one: dict[Key, float], other: dict[Key, float]) -> float:
    keys = one.keys() | other.keys()
    return sum(abs(one.get(key, 0.0) - other.get(key, 0.0)) for key in keys) / 2
