"""Explanations of the predictions of a core object; see `river_extra_trees.explanation`."""

from __future__ import annotations

import typing
from collections.abc import Callable, Hashable, Iterable, Mapping

import numpy as np

from river_extra_trees._core.safe_repr import safe_repr
from river_extra_trees.explanation import Explanation

from .inspection import Node, is_leaf
from .parameters import check_choice
from .rows import without_missing

if typing.TYPE_CHECKING:
    from river_extra_trees._core.learner import Learner
    from river_extra_trees._core.team import Team

__all__ = ["explain_row", "explain_rows", "trees_for_shap"]

METHODS = ("shapley", "path")


def explain_row(
    core: Learner, team: Team, x: Mapping[Hashable, typing.Any], label: typing.Any, method: str
) -> Explanation:
    """Explain the prediction for a sample, with some threads; `label` is None in a regression."""
    return explain_rows(core, team, [x], label, method)[0]


def explain_rows(
    core: Learner,
    team: Team,
    rows: list[Mapping[Hashable, typing.Any]],
    label: typing.Any,
    method: str,
) -> Explanation:
    """Explain the prediction for each of some samples."""
    check_choice("method", method, *METHODS)
    size, labels, bases, blocks = core.n_rows_explained, [], [], []
    for first in range(0, max(1, len(rows)), size):
        found = core.explain(rows[first : first + size], label, method == "shapley", team)
        labels += found[0]
        bases.append(found[1])
        blocks.append(found[2])
    # Another thread may have learned a new feature in between: it has no part in earlier blocks.
    width = blocks[-1].shape[1]
    parts = blocks[0]
    if len(blocks) > 1:
        parts = np.zeros((len(rows), width))
        for place, block in enumerate(blocks):
            parts[place * size : (place + 1) * size, : block.shape[1]] = block
    columns = [(column, name) for column, name in core.schema.features() if column < width]
    names = [name for _, name in columns]
    places = dict.fromkeys(names)
    values = parts
    if len(places) < width:
        # A feature with numbers and other values has two columns, and some columns are free.
        places = {name: place for place, name in enumerate(places)}
        values = np.zeros((len(rows), len(places)))
        for column, name in columns:
            values[:, places[name]] += parts[:, column]
    data = np.empty(values.shape, dtype=object)
    for into, x in zip(data, rows, strict=True):
        for place, value in enumerate(without_missing([x.get(name) for name in places])):
            into[place] = value  # one by one: a value may be a tuple
    return Explanation(
        np.concatenate(bases),
        values,
        data,
        tuple(places),
        None if core.regression else labels,
        method,
    )


def trees_for_shap(
    trees: Iterable[list[Node]],
    weights: list[float],
    names: list[Hashable],
    answer: Callable[[Node], list[float]],
) -> dict[str, typing.Any]:
    """Convert weighted trees to the dict that `shap.TreeExplainer` takes; `answer` is of leaves."""
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}
    return {
        "trees": [
            tree_for_shap(nodes, weight, [places[name] for name in names], answer)
            for nodes, weight in zip(trees, weights, strict=True)
        ],
        "tree_output": "raw_value",
        "internal_dtype": np.float64,
        "input_dtype": np.float64,
    }


def tree_for_shap(
    nodes: list[Node], weight: float, features: list[int], answer: Callable[[Node], list[float]]
) -> dict[str, typing.Any]:
    """Convert a tree, whose answers are multiplied by its weight."""
    places = {node["node"]: place for place, node in enumerate(nodes)}
    children = np.full((3, len(nodes)), -1)  # left, right, and of missing values
    splits, thresholds = np.zeros(len(nodes), int), np.zeros(len(nodes))
    totals, values = np.zeros(len(nodes)), np.zeros((len(nodes), len(answer(nodes[0]))))
    for place, node in reversed(list(enumerate(nodes))):  # children before their parents
        if is_leaf(node):
            totals[place] = node["weight"]
            values[place] = weight * np.asarray(answer(node))
            continue
        if node["nominal"]:
            raise ValueError(
                f"a tree splits {safe_repr(node['feature'])} by its nominal values, which shap "
                "cannot read; use explain_many"
            )
        left, right = places[node["left"]], places[node["right"]]
        children[:, place] = left, right, left if node["missing_left"] else right
        splits[place], thresholds[place] = features[node["column"]], node["cut"]
        totals[place] = totals[left] + totals[right]
        if totals[place] > 0.0:
            shares = totals[[left, right]] / totals[place]
            values[place] = shares @ values[[left, right]]
    return {
        "children_left": children[0],
        "children_right": children[1],
        "children_default": children[2],
        "features": splits,
        "thresholds": thresholds,
        "values": values,
        "node_sample_weight": totals,
    }
