"""Explanations of the predictions of a core object; see `river_extra_trees.explanation`."""

from __future__ import annotations

import typing
from collections.abc import Callable, Hashable, Iterable, Mapping

import numpy as np
import numpy.typing as npt

from river_extra_trees._core.safe_repr import safe_repr
from river_extra_trees.explanation import Explanation, by_feature

from .frames import opened
from .inspection import Node, is_leaf
from .parameters import check_choice
from .rows import objects, values_by_name
from .tables import block_in, table_of

if typing.TYPE_CHECKING:
    from river_extra_trees._core.learner import Learner
    from river_extra_trees._core.team import Team

__all__ = ["explain_row", "explain_rows", "trees_for_shap"]

METHODS = ("shapley", "path")


def explain_row(
    core: Learner,
    team: Team | None,
    x: Mapping[Hashable, typing.Any],
    label: typing.Any,
    method: str,
) -> Explanation:
    """Explain the prediction for a sample, with some threads; `label` is None in a regression."""
    if method not in METHODS:
        check_choice("method", method, *METHODS)
    found = core.explain(x, label, method == "shapley", team)
    return Explanation.of_sample(found, dict(x), method)


def explain_rows(
    core: Learner, team: Team, frame: typing.Any, label: typing.Any, method: str
) -> Explanation:
    """Explain the prediction for each row of a frame, a result of `readable_frame`."""
    check_choice("method", method, *METHODS)
    reader = core.reader(table_of(frame))  # an error names the row
    blocks = [core.explain(reader, label, method == "shapley", team)]
    while reader.row < reader.n:
        blocks.append(core.explain(reader, label, method == "shapley", team))
    # Another thread may have learned a new feature in between: it has no part in earlier blocks.
    features = blocks[-1].features
    found = [block.arrays() for block in blocks]
    parts = np.zeros((reader.n, blocks[-1].n_features))
    first = 0
    for _, block in found:
        parts[first : first + len(block), : block.shape[1]] = block
        first += len(block)
    bases, names = np.concatenate([base for base, _ in found]), features[0]
    labels = None if core.regression else [label for block in blocks for label in block.labels]
    data = objects_by_name(frame, names)
    return Explanation(bases, by_feature(parts, features), data, names, labels, method)


def objects_by_name(frame: typing.Any, names: tuple[Hashable, ...]) -> npt.NDArray[np.object_]:
    """Return the values in the named columns, an array (rows, names); None if one is missing."""
    native, library = opened(frame)
    found = np.empty((len(frame), len(names)), dtype=object)
    in_frame, block = block_in(native, library) if library != "numpy" else ([], None)
    if block is None:
        columns = values_by_name(frame)
        for place, name in enumerate(names):
            if name in columns:
                found[:, place] = objects(columns[name])
        return found
    numbers = native.to_numpy(object, copy=True) if library == "pandas" else block.astype(object)
    numbers[block != block] = None
    if tuple(in_frame) == names:
        return numbers
    places = {name: place for place, name in enumerate(in_frame)}
    for place, name in enumerate(names):
        if name in places:
            found[:, place] = numbers[:, places[name]]
    return found


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
