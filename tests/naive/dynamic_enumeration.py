"""The exact law of a dynamic tree on a tiny stream, by listing every tree it can reach.

A dynamic tree has a sequential prior: at each step only stay, grow and prune at the leaf of the new
point are possible. With infinitely many particles the filter's weights and moves become

    law_t(T) = sum over T' of law_{t-1}(T') p(y_t | x_t, T') K(T | T', x_t, y_t) / evidence_t,

where K is the law of a move, `DynamicTree.reached`.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from tests.naive.dynamic import DynamicTree, Leaf, Split, Tree

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


def law_from(shares: Iterable[tuple[float, Tree]]) -> Law:
    """The law with these shares; equal trees are one."""
    law: Law = {}
    for share, tree in shares:
        key = key_of(tree)
        law[key] = (law.get(key, (0.0, tree))[0] + share, tree)
    return law


def learn(model: DynamicTree, law: Law, row: int) -> tuple[float, Law]:
    """Predictive density of the row's target, and the law of the tree after it."""
    x, y = model.X[row], model.y[row]
    weights = [share * np.exp(model.log_predictive(tree, x, y)) for share, tree in law.values()]
    evidence = float(np.sum(weights))
    after = law_from(
        (weight / evidence * chance, moved)
        for weight, (_, tree) in zip(weights, law.values(), strict=True)
        for chance, moved in model.reached(model.add(tree, row), row)
    )
    return evidence, after


def shapes(law: Law) -> dict[Key, float]:
    """Probability of each structure."""
    found: dict[Key, float] = {}
    for share, tree in law.values():
        found[shape_of(tree)] = found.get(shape_of(tree), 0.0) + share
    return found


def law_of(model: DynamicTree | list[DynamicTree], window: int = 1000) -> tuple[float, Law]:
    """Evidence of all rows after the first `min_samples_leaf`, and the law of the tree then.

    So many rows are active at most. Of a list of models, each row is learned by its own.
    """
    models = model if isinstance(model, list) else [model] * len(model.y)
    evidence, least = 1.0, models[0].min_samples_leaf
    root = Leaf(tuple(range(least)), models[0].leaf_model.nothing())
    law = law_from([(1.0, root)])
    for row, model in list(enumerate(models))[least:]:
        model = replace(model, now=row)
        law = law_from((share, model.forget(tree)) for share, tree in law.values())
        if row >= window:
            retired = [(share, model.retire(tree, row - window)) for share, tree in law.values()]
            law = law_from(retired)
        density, law = learn(model, law, row)
        evidence *= density
    return evidence, law


def total_variation(one: dict[Key, float], other: dict[Key, float]) -> float:
    keys = one.keys() | other.keys()
    return sum(abs(one.get(key, 0.0) - other.get(key, 0.0)) for key in keys) / 2
