"""The sums in the leaves of a particle filter, against the samples that the filter holds."""

from __future__ import annotations

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
        for node in reversed(tree):
            number = node["node"]
            if node["feature"] < 0:
                known[number] = check_leaf(particles, node, state)
            else:
                left, right = (known[node[side]["node"]] for side in ("left", "right"))
                known[number] = (left[0].merged(right[0]), left[1].merged(right[1]))
            if fades or state["decays"][0] == 1.0:
                first = regions.setdefault(node["region"], known[number])
                assert all(
                    one.agrees(other) for one, other in zip(known[number], first, strict=True)
                )


def check_leaf(particles: ParticleFilter, node: Node, state: dict[str, Any]) -> tuple[Any, Any]:
    """Check one leaf; its statistics as of now, of all samples and of the retired ones."""
    decay = 1.0 if particles.published else node["decay"]
    n_regressors = len(state["fill"]) if particles.regression else 0
    n_classes = 0 if particles.regression else len(node["total"]) - 1
    total, retired, summed = (
        compiled.Statistics(n_regressors, n_classes, node[name])
        for name in ("total", "retired", "retired")
    )
    slots = particles.pool.slots()
    for number in node["active"]:
        _, target, weight, arrival = particles.pool.sample(slots[number])
        z = state["v"][number].tolist()
        summed.add(z, target, weight * decay ** (node["time"] - arrival - 1))
    assert summed.agrees(total)
    for one in (total, retired):
        one.scale(decay ** (particles.n_seen - node["time"]))
    return total, retired
