"""Trees in model files written before the children of a node were pairs.

All trees of an arena shared its nodes. A node had the numbers of two children, and free nodes were
a stack. In a tree that is alone in its arena, the new number of a node is the next one, except of
the root: nodes were added and removed in pairs even then. The leaves of some trees had a row of
class weights or moments each (dense), those of others classes in the node and in cells (compact).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .state import State, require

__all__ = ["is_former", "renewed"]

Array = NDArray[Any]

LEAF, FREE, UNUSED = -1, -2, 0xFFFF
GAIN, WEIGHT, VISITED, HEADER = 0, 1, 2, 3  # places among the statistics of a node
MISSING_RIGHT, OTHERS_RIGHT = 1, 2
MOST = 2**29
NODE = ("array", np.int32, "nodes")
FIELDS: dict[str, tuple[Any, ...]] = {
    "n_values": ("whole", 0, 2**24),
    "regression": ("flag",),
    "fading": ("number", 0.0, 1.0),
    "feature": ("whole_numbers", np.int32, "nodes", {"least": FREE, "most": UNUSED - 1}),
    "threshold": ("array", np.float64, "nodes"),
    "left": NODE,
    "right": NODE,
    "nominal": ("array", np.uint8, "nodes"),
    "missing_left": ("array", np.uint8, "nodes"),
    "stats": ("array", np.float64, "nodes", None),
    "free_nodes": ("whole_numbers", np.int32, None, {"most": MOST}),
    "roots": ("whole_numbers", np.int32, None, {"most": MOST}),
    "cell_weights": ("array", np.float64, "cells"),
    "cell_codes": ("array", np.int32, "cells"),
    "next_cells": ("array", np.int32, "cells"),
    "free_cell": ("whole", -1, MOST),
}
DEFAULTS: dict[str, Any] = {
    "n_values": 2,
    "regression": False,
    "fading": 1.0,
    "feature": np.full(1, LEAF, np.int32),
    "threshold": np.zeros(1),
    "left": np.full(1, -1, np.int32),
    "right": np.full(1, -1, np.int32),
    "nominal": np.zeros(1, np.uint8),
    "missing_left": np.zeros(1, np.uint8),
    "stats": np.zeros((1, 1)),
    "free_nodes": np.empty(0, np.int32),
    "roots": np.zeros(1, np.int32),
    "cell_weights": np.empty(0),
    "cell_codes": np.empty(0, np.int32),
    "next_cells": np.empty(0, np.int32),
    "free_cell": -1,
}


def is_former(values: Any) -> bool:
    """Return whether a state is one of former trees."""
    return isinstance(values, dict) and "counts" not in values


def renewed(values: dict[str, Any]) -> dict[str, Any]:
    """Return the state of trees that have the nodes of former ones.

    What it does not check here, the new trees check.
    """
    old = State("Trees", values, FIELDS, DEFAULTS).read(FIELDS)
    tree, free = trees_of(old)
    inner, first = np.flatnonzero((old["feature"] >= 0) & (tree >= 0)), old["left"]
    children = np.stack([first, old["right"]], 1)
    pairs = np.concatenate([children[inner], free])
    owner = np.concatenate([tree[inner], np.zeros(len(free), tree.dtype)])
    sizes = 2 + 2 * np.bincount(owner, minlength=len(old["roots"]))
    # In each tree, pairs keep their order, after the root; so their places do if trees are sorted.
    order = np.lexsort((pairs.min(axis=1, initial=MOST), owner))
    place = np.empty(len(pairs), np.int64)
    place[order] = 2 * (np.arange(len(pairs)) + 1 + owner[order])
    offset = np.cumsum(sizes) - sizes
    at = np.full(len(old["feature"]), -1)
    at[old["roots"]] = offset
    swapped = pairs[:, 0] > pairs[:, 1]
    at[pairs[:, 0]], at[pairs[:, 1]] = place + swapped, place + ~swapped
    n, used, leaves = int(sizes.sum()), np.flatnonzero(tree >= 0), old["feature"] == LEAF
    new: dict[str, Any] = {
        **{name: old[name] for name in ("n_values", "regression", "fading")},
        "threshold": np.zeros(n),
        "left": np.full(n, -1, np.int32),
        "feature": np.full(n, UNUSED, np.uint16),
        "nominal": np.zeros(n, np.uint8),
        "turns": np.zeros(n, np.uint8),
        "gains": np.zeros(n // 2),
    }
    for name in ("threshold", "feature", "nominal"):
        new[name][at[inner]] = old[name][inner]
    new["left"][at[inner]] = at[first[inner]] - offset[tree[inner]]
    new["turns"][at[inner]] = OTHERS_RIGHT | (MISSING_RIGHT * (old["missing_left"][inner] == 0))
    new["gains"][at[first[inner]] // 2] = old["stats"][inner, GAIN]
    leaves = used[leaves[used]]
    new["feature"][at[leaves]] = 0
    counts = np.zeros((len(sizes), 4), np.int32)
    counts[:, 0], counts[:, 1], counts[:, 3] = sizes, -1, -1
    for node in at[free[:, 1]].tolist():  # the last one is used first
        new["left"][node], counts[0, 1] = counts[0, 1], node
    new["counts"] = counts
    if old["stats"].shape[1] == 1:
        keep_cells(old, new, at, leaves)
    else:
        keep_rows(old, new, at, used, leaves, tree, children[inner, 0], inner)
    return new


def trees_of(old: dict[str, Any]) -> tuple[Array, Array]:
    """Return the tree of each node, -1 of a free one, and the pairs of free nodes."""
    n, roots, free = len(old["feature"]), old["roots"], old["free_nodes"]
    require(np.all(roots < n) and np.all(free < n), "Trees: a node does not exist")
    tree = np.full(n, -1)
    nodes, met = roots, 0
    tree[roots] = np.arange(len(roots))
    while len(nodes):
        met += len(nodes)
        require(met <= n, "Trees: a node is in two places")
        inner = nodes[old["feature"][nodes] >= 0]
        children = np.concatenate([old["left"][inner], old["right"][inner]])
        require(np.all((children >= 0) & (children < n)), "Trees: a node does not exist")
        tree[children] = np.concatenate([tree[inner], tree[inner]])
        nodes = children
    require(
        np.all((tree >= 0) == (old["feature"] != FREE)),
        "Trees: a node is neither in a tree nor free",
    )
    # Those that are no pairs are forgotten.
    return tree, (free if len(roots) == 1 and len(free) % 2 == 0 else free[:0]).reshape(-1, 2)


def keep_cells(old: dict[str, Any], new: dict[str, Any], at: Array, leaves: Array) -> None:
    """Set weights and classes of the leaves of a compact tree, which is alone in its arena."""
    require(len(old["roots"]) == 1, "Trees: cells of several trees")
    new["threshold"][at[leaves]] = old["threshold"][leaves]
    cells = np.where(old["right"] >= 0, -2 - old["right"], -1)
    new["left"][at[leaves]] = np.where(old["left"] >= 0, old["left"], cells)[leaves]
    new["counts"][0, 2:] = len(old["cell_codes"]), old["free_cell"]
    new.update({name: old[name] for name in ("cell_weights", "cell_codes", "next_cells")})


def keep_rows(
    old: dict[str, Any],
    new: dict[str, Any],
    at: Array,
    used: Array,
    leaves: Array,
    tree: Array,
    lefts: Array,
    inner: Array,
) -> None:
    """Set the statistics of the leaves of dense trees, whose nodes `used` go to the places `at`."""
    stats, values = old["stats"], old["stats"][:, HEADER:]
    require(values.shape[1] == (2 if old["regression"] else old["n_values"]), "Trees: no such rows")
    new["with_visits"] = new["with_impurities"] = True  # the owner drops what it does not need
    new["visited"] = np.zeros(len(new["left"]))
    new["visited"][at[used]] = stats[used, VISITED]
    new["threshold"][at[leaves]] = stats[leaves, WEIGHT]
    new["impurities"] = np.zeros(len(new["gains"]))
    with np.errstate(all="ignore"):
        weights = stats[inner, WEIGHT]
        impurity = (
            values[inner, 1] / weights
            if old["regression"]
            else 1.0 - (values[inner] ** 2).sum(1) / weights**2
        )
    new["impurities"][at[lefts] // 2] = np.nan_to_num(impurity)
    if old["regression"]:
        new["moments"] = np.zeros((len(new["left"]), 2))
        new["moments"][at[leaves]] = values[leaves]
        return
    has = values[leaves] != 0.0
    n_classes, most = has.sum(axis=1), values[leaves].max(axis=1, initial=0.0)
    one = (n_classes == 1) & (most == stats[leaves, WEIGHT])
    new["left"][at[leaves[one]]] = has[one].argmax(axis=1) if has.shape[1] else 0
    # A weight that is no weight of a class has a cell of the first class, without a weight.
    several = ~one & ((n_classes > 0) | (stats[leaves, WEIGHT] > 0.0))
    if has.shape[1]:
        has[several & (n_classes == 0), 0] = True
    several &= has.any(axis=1) if has.shape[1] else False
    order = np.argsort(tree[leaves[several]], kind="stable")
    rows, codes = np.nonzero(has[several][order])
    nodes = leaves[several][order][rows]
    n_cells = np.bincount(tree[nodes], minlength=len(new["counts"]))
    number = np.arange(len(nodes)) - (np.cumsum(n_cells) - n_cells)[tree[nodes]]
    is_last = np.append(nodes[1:] != nodes[:-1], True)[: len(nodes)]
    is_first = np.append(True, nodes[1:] != nodes[:-1])[: len(nodes)]
    new["left"][at[nodes[is_first]]] = -2 - number[is_first]
    new["cell_weights"] = values[nodes, codes]
    new["cell_codes"] = codes.astype(np.int32)
    new["next_cells"] = np.where(is_last, -1, number + 1).astype(np.int32)
    new["counts"][:, 2] = n_cells
