"""The trees of a particle filter as plain values, read from its state."""

from collections import Counter
from typing import Any

import numpy as np

from river_extra_trees._core.dynamic import ParticleFilter

Node = dict[str, Any]


def trees_of(particles: ParticleFilter) -> list[tuple[list[Node], int]]:
    """Nodes of each distinct tree in preorder, left before right, and number of its particles.

    Trees that share a node have it under the same number. The statistics of a leaf are those at its
    time, the number of samples when it last decayed.
    """
    state = particles.state()
    roots = state["roots"].tolist()
    decays = np.repeat(state["decays"], np.diff(state["stratum"]))
    decay_of = dict(zip(roots, decays.tolist(), strict=True))
    leaves = leaves_of(state)
    return [
        (nodes_below(state, leaves, root, decay_of[root]), n) for root, n in Counter(roots).items()
    ]


def leaves_of(state: dict[str, Any]) -> dict[int, Node]:
    """What each leaf holds, by the number of its node; active samples in order of arrival."""
    numbers = np.flatnonzero(state["links"][:, 0] < 0).tolist()
    slots = np.split(state["leaf_slots"], np.cumsum(state["n_active"])[:-1])
    width = state["rows"].shape[1] // 2
    return {
        node: {
            "active": slots[i].tolist(),
            "total": state["rows"][i, :width].tolist(),
            "retired": state["rows"][i, width:].tolist(),
            "time": int(state["times"][i]),
        }
        for i, node in enumerate(numbers)
    }


def nodes_below(
    state: dict[str, Any], leaves: dict[int, Node], number: int, decay: float, depth: int = 0
) -> list[Node]:
    """A node and those below it; a split has the two next ones."""
    feature, *children = state["links"][number].tolist()
    node = {"node": number, "depth": depth, "feature": feature}
    node["region"] = int(state["regions"][number])
    if feature < 0:
        return [{**node, **leaves[number], "decay": decay}]
    left, right = (nodes_below(state, leaves, child, decay, depth + 1) for child in children)
    node.update(left=left[0], right=right[0], threshold=float(state["cuts"][number]))
    node["missing_left"] = bool(state["missing_left"][number])
    return [node, *left, *right]


def sizes_of(particles: ParticleFilter) -> tuple[list[int], list[int]]:
    """Number of leaves and height (splits on the longest path), per particle."""
    trees = [particles.nodes(i) for i in range(particles.n_particles)]
    heights = [max(node["depth"] for node in nodes) for nodes in trees]
    return [(len(nodes) + 1) // 2 for nodes in trees], heights
