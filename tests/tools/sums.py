"""The sums in the leaves of a particle filter, against the samples that the filter holds."""

from typing import Any

import numpy as np

from river_extra_trees._core.dynamic import ParticleFilter
from tests import compiled
from tests.tools.particle_trees import Node, trees_of

DRIFT = 1e-6  # rounding errors of statistics stay below this share of them
FADED = 1e-280  # a weight below is nothing: those of single samples underflow


def check_sums(particles: ParticleFilter) -> None:
    """Leaves hold their active and retired samples; all trees hold the same in a region."""
    state = particles.state()
    n_means = 1 + len(state["fill"]) if particles.regression else 0
    fades = not particles.published
    regions: dict[int, tuple[Any, Any]] = {}
    known: dict[int, tuple[Any, Any]] = {}
    for tree, _ in trees_of(particles):
        for node in reversed(tree):
            number = node["node"]
            if node["feature"] < 0:
                known[number] = check_leaf(particles, node, state, n_means)
            else:
                left, right = (known[node[side]["node"]] for side in ("left", "right"))
                known[number] = (left[0].merged(right[0]), left[1].merged(right[1]))
            if fades or state["decays"][0] == 1.0:
                first = regions.setdefault(node["region"], known[number])
                for one, other in zip(known[number], first, strict=True):
                    assert agree(one.values, other.values, n_means)


def check_leaf(
    particles: ParticleFilter, node: Node, state: dict[str, Any], n_means: int
) -> tuple[Any, Any]:
    """Check one leaf; its statistics as of now, of all samples and of the retired ones."""
    decay = 1.0 if particles.published else node["decay"]
    kind = (n_means - 1, 0) if n_means else (0, len(node["total"]) - 1)
    total, retired, summed = (
        compiled.Statistics(*kind, node[name]) for name in ("total", "retired", "retired")
    )
    slots = particles.pool.slots()
    for number in node["active"]:
        _, target, weight, arrival = particles.pool.sample(slots[number])
        z = state["v"][number].tolist()
        summed.add(z, target, weight * decay ** (node["time"] - arrival - 1))
    assert agree(summed.values, total.values, n_means)
    for one in (total, retired):
        one.scale(decay ** (particles.n_seen - node["time"]))
    return total, retired


def agree(one: list[float], other: list[float], n_means: int) -> bool:
    """Whether two rows are the statistics of the same samples, as far as rounding lets one tell.

    Samples may lie further from each other than their mean lies from zero; the rounding errors of
    the mean are a share of that distance.
    """
    weight, row, known = other[0], np.array(one), np.array(other)
    if row[0] < FADED and weight < FADED:
        return True
    magnitude = 1.0 + np.abs(known).sum()
    if weight > 0.0:
        squares = known[[1 + n_means + i * (i + 3) // 2 for i in range(n_means)]]
        magnitude += np.sqrt(np.abs(squares) / weight).sum()
    return bool(np.all(np.abs(row - known) <= DRIFT * magnitude))
