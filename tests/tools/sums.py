"""The sums in the leaves of a particle filter, against the samples that the filter holds."""

from __future__ import annotations

import math
from typing import Any

from river_extra_trees._core.dynamic import ParticleFilter
from tests.compiled import Compiled

leaf_statistics = Compiled("leaf_statistics")


def check_sums(particles: ParticleFilter) -> None:
    """Leaves hold their active and retired samples; all trees hold the same in a region."""
    state = particles.state()
    regression = particles.regression
    n_regressors = len(state["fill"]) if regression else 0
    width = len(state["global_statistics"])
    fades = not particles.published

    def row(values: list[float]) -> Any:
        return leaf_statistics.Statistics(n_regressors, 0 if regression else width - 1).take(values)

    regions: dict[int, tuple[Any, Any]] = {}
    known: dict[int, tuple[Any, Any]] = {}
    for root, _ in particles.distinct_roots():
        nodes = {node["node"]: node for node in particles.nodes_at(root)}
        for number, node in reversed(nodes.items()):
            if node["feature"] < 0:
                known[number] = check_leaf(particles, node, row, state)
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


def check_leaf(
    particles: ParticleFilter, node: dict[str, Any], row: Any, state: dict[str, Any]
) -> tuple[Any, Any]:
    """Check one leaf; its statistics as of now, of all samples and of the retired ones."""
    decay = 1.0 if particles.published else node["decay"]
    total, retired = row(node["total"]), row(node["retired"])
    summed = retired.copy()
    for slot in node["slots"]:
        _, v, weight, arrival = particles.pool.point(slot)
        z = v[:-1] if particles.regression else []
        summed.add(z, v[-1], weight * decay ** (node["time"] - arrival))
    assert summed.agrees(total)
    if particles.regression:
        total.set_prior(list(state["prior"]), state["df_offset"], state["per_leaf"])
        score = total.log_marginal()
        if math.isfinite(score):
            assert abs(score - node["log_marginal"]) <= 1e-9 * (1.0 + abs(score))
        else:
            assert str(score) == str(node["log_marginal"])
    total, retired = row(node["total"]), row(node["retired"])
    for one in (total, retired):
        one.scale(decay ** (particles.n_seen - node["time"]))
    return total, retired
