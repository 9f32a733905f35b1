"""The sums in the leaves of a particle filter, against the samples that the filter holds."""

from __future__ import annotations

import math
from typing import Any

from river_extra_trees._core.dynamic import ParticleFilter
from tests import compiled
from tests.tools.particle_trees import Node, trees_of


def check_sums(particles: ParticleFilter) -> None:
    """Leaves hold their active and retired samples; all trees hold the same in a region."""
    state = particles.state()
    fades = not particles.published
    regions: dict[int, tuple[Any, Any]] = {}
    known: dict[int, tuple[Any, Any]] = {}
    for tree, _ in trees_of(particles):
        nodes = {node["node"]: node for node in tree}
        for number, node in reversed(nodes.items()):
            if node["feature"] < 0:
                known[number] = check_leaf(particles, node, state)
            else:
                total, retired = (one.copy() for one in known[node["left"]])
                total.merge(known[node["right"]][0])
                retired.merge(known[node["right"]][1])
                known[number] = total, retired
            if fades or state["decays"][0] == 1.0:
                first = regions.setdefault(node["region"], known[number])
                assert all(
                    one.agrees(other) for one, other in zip(known[number], first, strict=True)
                )


def row_of(particles: ParticleFilter, state: dict[str, Any], values: list[float]) -> Any:
    """Statistics of a leaf, with the prior of the particles."""
    n_classes = 0 if particles.regression else len(state["global_statistics"]) - 1
    n_regressors = len(state["fill"]) if particles.regression else 0
    row = compiled.Statistics(n_regressors, n_classes).take(values)
    prior = list(state["prior"]) if particles.regression else [0.0] * len(values)
    per_leaf = -n_classes * math.lgamma(1.0 / n_classes) if n_classes else 0.0
    row.set_prior(prior, 1.0 if prior[0] > 0.0 else -n_regressors - 1.0, per_leaf)
    return row


def check_leaf(particles: ParticleFilter, node: Node, state: dict[str, Any]) -> tuple[Any, Any]:
    """Check one leaf; its statistics as of now, of all samples and of the retired ones."""
    decay = 1.0 if particles.published else node["decay"]
    total, retired = (row_of(particles, state, node[name]) for name in ("total", "retired"))
    summed = retired.copy()
    slots = particles.pool.slots()
    for number in node["active"]:
        _, target, weight, arrival = particles.pool.sample(slots[number])
        z = state["v"][number].tolist()
        summed.add(z, target, weight * decay ** (node["time"] - arrival - 1))
    assert summed.agrees(total)
    for one in (total, retired):
        one.scale(decay ** (particles.n_seen - node["time"]))
    return total, retired
