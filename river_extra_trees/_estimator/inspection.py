"""Trees as text, tables and graphs, made from their nodes (see `Learner.nodes` of the core)."""

from __future__ import annotations

import math
import typing
from collections.abc import Callable, Hashable, Iterable, Iterator

from river_extra_trees._core.safe_repr import brief, safe_repr

from .extras import import_extra

if typing.TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Node",
    "condition",
    "describe_classes",
    "describe_number",
    "explained",
    "goes_left",
    "importances",
    "in_bytes",
    "indented",
    "is_leaf",
    "path",
    "shallow",
    "table_of",
]

Node = dict[str, typing.Any]

SHOWN_VALUES = 3  # of a group of nominal values


def describe_classes(node: Node, labels: list[typing.Any]) -> str:
    """Describe the most frequent class of a node and its share."""
    if node["weight"] <= 0.0:
        return "empty"
    best = max(range(len(labels)), key=node["values"].__getitem__)
    return f"{safe_repr(labels[best], str)} ({node['values'][best] / node['weight']:.0%})"


def describe_number(node: Node) -> str:
    """Describe the mean and the standard deviation of the targets in a node."""
    if node["weight"] <= 0.0:
        return "empty"
    mean, squares = node["values"]
    return f"{mean:.6g} (sd {(max(0.0, squares) / node['weight']) ** 0.5:.3g})"


def is_leaf(node: Node) -> bool:
    """Return whether a node has no split."""
    return bool(node["column"] < 0)


def goes_left(node: Node, row: list[float]) -> bool:
    """Return whether an encoded sample goes left at an inner node."""
    value = row[node["column"]]
    if math.isnan(value):
        return bool(node["missing_left"])
    if is_group(node):
        return value in node["cut"]
    return value == node["cut"] if node["nominal"] else value <= node["cut"]


def is_group(node: Node) -> bool:
    """Return whether a split sends the nominal values in its `threshold`, a list, to the left."""
    return isinstance(node["threshold"], list)


def parts_missing(node: Node) -> bool:
    """Return whether a split separates missing values from all others."""
    if node["nominal"]:
        return node["threshold"] is None
    return bool(node["cut"] == math.inf)


def condition(node: Node, left: bool) -> str:
    """Return the condition for one side of a split, without the name of the feature."""
    if parts_missing(node):
        return "is missing" if node["missing_left"] == left else "is present"
    value = node["threshold"]
    if is_group(node):
        signs, text = ("in", "not in"), group_text(value)
    else:
        signs = ("=", "≠") if node["nominal"] else ("≤", ">")
        text = brief(value)
    missing = " or missing" if node["missing_left"] == left else ""
    return f"{signs[0 if left else 1]} {text}{missing}"


def group_text(values: list[Hashable]) -> str:
    """Return the first values of a group as text, and the number of the others."""
    shown = [safe_repr(value, str) for value in values[:SHOWN_VALUES]]
    if len(values) > len(shown):
        shown.append(f"… {len(values) - len(shown)} more")
    return "{" + ", ".join(shown) + "}"


def rule(node: Node, left: bool) -> str:
    """Return the condition for one side of a split, with the name of the feature."""
    return f"{safe_repr(node['feature'], str)} {condition(node, left)}"


def path(nodes: list[Node], row: list[float]) -> Iterator[Node]:
    """Yield the nodes on the path of an encoded sample, from the root to its leaf."""
    by_id = {node["node"]: node for node in nodes}
    node = nodes[0] if nodes else None
    while node is not None:
        yield node
        side = "left" if is_leaf(node) or goes_left(node, row) else "right"
        node = by_id.get(node[side])


def explained(nodes: list[Node], row: list[float], describe: Callable[[Node], str]) -> str:
    """Describe the path of an encoded sample: one line per split, and one for the leaf."""
    return "\n".join(
        f"leaf, weight {node['weight']:.6g}: {describe(node)}"
        if is_leaf(node)
        else rule(node, goes_left(node, row))
        for node in path(nodes, row)
    )


def shallow(nodes: list[Node], max_depth: int | None) -> list[tuple[Node, Node | None]]:
    """Return the nodes down to `max_depth`, each with its parent."""
    if max_depth is not None and not isinstance(max_depth, int):
        raise TypeError(f"max_depth must be None or a whole number, not {safe_repr(max_depth)}")
    by_id = {node["node"]: node for node in nodes}
    return [
        (node, by_id.get(node["parent"]))
        for node in nodes
        if max_depth is None or node["depth"] <= max_depth
    ]


def indented(nodes: list[Node], max_depth: int | None, describe: Callable[[Node], str]) -> str:
    """Write a tree as indented text."""
    lines = []
    for node, parent in shallow(nodes, max_depth):
        condition = "" if parent is None else rule(parent, parent["left"] == node["node"])
        answer = describe(node) if is_leaf(node) else ""
        text = ": ".join(part for part in (condition, answer) if part) or "all samples"
        lines.append("    " * node["depth"] + text)
    return "\n".join(lines)


def table_of(
    trees: Iterable[list[Node]], more_columns: tuple[str, ...], describe: Callable[[Node], str]
) -> pd.DataFrame:
    """Make a table of the nodes of some trees, with one row per node."""
    pd = import_extra("pandas", "dataframe")
    rows = [
        {
            "tree": tree,
            "node": node["node"],
            "parent": node["parent"],
            "is_leaf": is_leaf(node),
            "depth": node["depth"],
            "feature": node["feature"],
            "threshold": node["threshold"],
            "left": node["left"],
            "right": node["right"],
            "missing_left": node["missing_left"],
            "weight": node["weight"],
            "gain": node["gain"],
            "values": node["values"],
            "prediction": describe(node),
            **{name: node[name] for name in more_columns},
        }
        for tree, nodes in enumerate(trees)
        for node in nodes
    ]
    names = rows[0] if rows else ()
    return pd.DataFrame({name: column_of([row[name] for row in rows]) for name in names})


def column_of(values: list[typing.Any]) -> pd.Series:
    """Make a pandas series of the type that pandas infers, or of Python objects.

    pandas stores strings in UTF-8, which cannot encode surrogates.
    """
    pd = import_extra("pandas", "dataframe")
    try:
        return pd.Series(values)
    except UnicodeEncodeError:
        return pd.Series(values, dtype=object)


def importances(trees: Iterable[list[Node]]) -> dict[Hashable, float]:
    """Return the share of each feature in the gain of the splits, largest first."""
    gains: dict[Hashable, float] = {}
    for nodes in trees:
        splits = [node for node in nodes if not is_leaf(node)]
        total = sum(node["gain"] for node in splits)
        for node in splits:
            share = node["gain"] / total if 0.0 < total < math.inf else 1.0 / len(splits)
            gains[node["feature"]] = gains.get(node["feature"], 0.0) + share
    whole = sum(gains.values())
    names = sorted(gains, key=lambda name: (-gains[name], safe_repr(name, str)))
    return {name: gains[name] / whole for name in names}


def in_bytes(size: float) -> str:
    """Format a number of bytes with a unit.

    Examples
    --------
    >>> from river_extra_trees._estimator.inspection import in_bytes
    >>> in_bytes(999), in_bytes(12_345), in_bytes(2_500_000)
    ('999 B', '12.3 kB', '2.5 MB')
    """
    if size < 1000:
        return f"{size:.4g} B"
    for unit in ("kB", "MB"):
        size /= 1000
        if size < 999.5:  # which rounds to less than 1000
            return f"{size:.3g} {unit}"
    return f"{size / 1000:.3g} GB"
