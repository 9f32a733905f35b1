"""Trees in model files written before the children of a node were pairs.

A node had the numbers of two children, and free nodes were a stack. In a tree that is alone in its
arena, the new number of a node is the next one, except of the root: nodes were added and removed in
pairs even then.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .state import State, require

__all__ = ["is_former", "renewed"]

LEAF, FREE, UNUSED = -1, -2, 0xFFFF
GAIN = 0  # place among the statistics of a node
MISSING_RIGHT, OTHERS_RIGHT = 1, 2
NODE = ("array", np.int32, "nodes")
FIELDS = {
    "feature": ("whole_numbers", np.int32, "nodes", {"least": FREE, "most": UNUSED - 1}),
    "threshold": ("array", np.float64, "nodes"), "left": NODE, "right": NODE,
    "nominal": ("array", np.uint8, "nodes"), "missing_left": ("array", np.uint8, "nodes"),
    "stats": ("array", np.float64, "nodes", None),
    "free_nodes": ("whole_numbers", np.int32, None, {"most": 2**29}),
    "roots": ("whole_numbers", np.int32, None, {"most": 2**29}),
}  # fmt: skip
DEFAULTS = {
    "threshold": np.zeros(1), "feature": np.full(1, LEAF, np.int32),
    "left": np.full(1, -1, np.int32), "right": np.full(1, -1, np.int32),
    "nominal": np.zeros(1, np.uint8), "missing_left": np.zeros(1, np.uint8),
    "stats": np.zeros((1, 1)), "free_nodes": np.empty(0, np.int32), "roots": np.zeros(1, np.int32),
}  # fmt: skip


def is_former(values: Any) -> bool:
    """Return whether a state is one of former trees."""
    return isinstance(values, dict) and "gains" not in values


def renewed(owner: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return the state of trees that have the pairs of former ones.

    What it does not check here, the new trees check.
    """
    others = {name: value for name, value in values.items() if name not in FIELDS}
    former = {name: value for name, value in values.items() if name in FIELDS}
    old = State(owner, former, FIELDS, DEFAULTS).read(FIELDS)
    n, feature, roots, free = len(old["feature"]), old["feature"], old["roots"], old["free_nodes"]
    children = np.stack([old["left"], old["right"]], 1)
    inner = np.flatnonzero(feature >= 0)
    require(
        np.all((children[inner] >= 0) & (children[inner] < n)) and np.all(roots < n),
        f"{owner}: a node does not exist",
    )
    # Free nodes that are not a pair are forgotten.
    free = free[: len(free) // 2 * 2] if len(roots) == 1 else free[:0]
    require(np.all(free < n), f"{owner}: a free node does not exist")
    pairs = np.concatenate([children[inner], free.reshape(-1, 2)])
    ranks = np.argsort(np.argsort(pairs.min(axis=1, initial=n), kind="stable"))
    first = 2 * (len(roots) + ranks)
    swapped = pairs[:, 0] > pairs[:, 1]
    number = np.full(n, -1)
    number[roots] = 2 * np.arange(len(roots))
    number[pairs[:, 0]], number[pairs[:, 1]] = first + swapped, first + ~swapped
    used = np.flatnonzero(feature != FREE)
    require(np.all(number[used] >= 0), f"{owner}: a node is neither in a tree nor free")
    return {**others, **arrays(old, number, used, inner, free)}


def arrays(old: dict[str, Any], number: Any, used: Any, inner: Any, free: Any) -> dict[str, Any]:
    """Return the new arrays; `number` holds the new numbers of the nodes."""
    n = 2 * (len(old["roots"]) + len(inner) + len(free) // 2)
    stats, leaves = old["stats"], used[old["feature"][used] == LEAF]
    new = {
        "threshold": np.zeros(n),
        "left": np.arange(n, dtype=np.int32),
        "feature": np.full(n, UNUSED, np.uint16),
        "nominal": np.zeros(n, np.uint8),
        "turns": np.zeros(n, np.uint8),
        "stats": np.zeros((n, max(0, stats.shape[1] - 1))),
        "gains": np.zeros(n // 2),
        "free_pair": -1,
        "roots": number[old["roots"]].astype(np.int32),
    }
    for name in ("threshold", "feature", "nominal"):
        new[name][number[inner]] = old[name][inner]
    new["left"][number[inner]] = number[old["left"][inner]]
    new["turns"][number[inner]] = OTHERS_RIGHT | (MISSING_RIGHT * (old["missing_left"][inner] == 0))
    new["feature"][number[leaves]] = 0
    new["stats"][number[used]] = stats[used, 1:]
    new["gains"][number[old["left"][inner]] // 2] = stats[inner, GAIN]
    for node in number[free[1::2]].tolist():  # the last one is used first
        new["left"][node], new["free_pair"] = new["free_pair"], node
    if new["stats"].shape[1] == 0:  # compact trees: weights and classes are in the nodes
        new["threshold"][number[leaves]] = old["threshold"][leaves]
        cells = np.where(old["right"] >= 0, -2 - old["right"], -1)
        new["codes"] = np.full(n, -1, np.int32)
        new["codes"][number[leaves]] = np.where(old["left"] >= 0, old["left"], cells)[leaves]
        del new["stats"]
    return new
