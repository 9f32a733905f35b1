"""Contributions of features to the trees of a model, by their definitions."""

from collections.abc import Callable
from typing import Any

import numpy as np

from river_extra_trees._estimator.inspection import goes_left, is_leaf
from tests.naive import explanation as naive


def naive_tree(nodes: list[Any], row: list[float], answer: Callable[[Any], Any]) -> naive.Tree:
    """A tree of a learner; its leaves answer."""
    by_id = {node["node"]: node for node in nodes}

    def visit(node: Any) -> naive.Tree:
        if is_leaf(node):
            return node["weight"], answer(node)
        sides = (visit(by_id[node[side]]) for side in ("left", "right"))
        return (node["column"], goes_left(node, row), *sides)

    return visit(nodes[0])


def share_of(code: int) -> Callable[[Any], Any]:
    return lambda leaf: leaf["values"][code] / leaf["weight"] if leaf["weight"] else None


def mean_of(leaf: Any) -> Any:
    return leaf["values"][0] if leaf["weight"] else None


def by_definition(
    model: Any, x: Any, weights: list[float], answer: Callable[[Any], Any], method: str
) -> tuple[float, Any]:
    """The mean of some weighted trees, and the contributions of the columns."""
    row = model._core.row_of(x)
    trees = [naive_tree(model._nodes(tree), row, answer) for tree in range(model._n_trees)]
    base, parts = 0.0, np.zeros(len(row))
    divide = naive.shapley_of_tree if method == "shapley" else naive.path
    for weight, tree in zip(weights, trees, strict=True):
        base += weight * naive.output(tree, frozenset()) if weight else 0.0
        for column, part in (divide(tree) if weight else {}).items():
            parts[column] += weight * part
    return base, parts
