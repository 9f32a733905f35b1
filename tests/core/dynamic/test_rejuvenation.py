"""Rejuvenation: new trees from the window, half of which keep what the old ones have retired."""

from __future__ import annotations

import itertools
import math
import random
from collections import deque

import numpy as np
import pytest

from river_extra_trees import DynamicTreeClassifier, DynamicTreeRegressor
from tests.tools.particle_trees import Node, trees_of
from tests.tools.sums import check_sums

WINDOW = 40
Row = dict[str, float]


def bends(n: int, seed: int) -> list[tuple[Row, float]]:
    """A stationary curve with noise that only many samples see through."""
    rng = random.Random(seed)
    rows = [{"x": rng.random()} for _ in range(n)]
    return [(x, math.sin(8 * x["x"]) + rng.gauss(0, 0.5)) for x in rows]


def bands(n: int, seed: int) -> list[tuple[Row, int]]:
    """Two stationary classes; three labels in twenty are wrong."""
    rng = random.Random(seed)
    rows = [{"x": rng.random()} for _ in range(n)]
    return [(x, int(x["x"] > 0.4) ^ int(rng.random() < 0.15)) for x in rows]


def sums(nodes: list[Node]) -> np.ndarray:
    """Weight and weighed target of a whole tree, all samples and the retired ones."""
    totals = np.zeros(4)
    for node in nodes:
        if node["feature"] < 0:
            total, retired = node["total"], node["retired"]
            totals += [total[0], total[0] * total[2], retired[0], retired[0] * retired[2]]
    return totals


def test_half_of_the_new_trees_inherit() -> None:
    """One in two has the weight of an old tree, and as much of it retired; the others none."""
    model = DynamicTreeRegressor(n_particles=12, window=WINDOW, forgetting_factor=1.0, seed=1)
    for x, y in bends(300, 0):
        model.learn_one(x, y)
    expected = sums(trees_of(model._core)[0][0])
    assert expected[2] > 200
    model._core.rejuvenate()
    model._core.check()
    check_sums(model._core)
    n_with = n_without = 0
    for nodes, n in trees_of(model._core):
        found = sums(nodes)
        if found[2] > 0:
            assert found == pytest.approx(expected)
            n_with += n
        else:
            assert found[0] == pytest.approx(WINDOW)
            n_without += n
    assert (n_with, n_without) == (12 + 6, 6)


def test_the_next_sample_decides_between_old_and_new_trees() -> None:
    """There are as many trees as before then."""
    model = DynamicTreeRegressor(n_particles=12, window=WINDOW, rejuvenate_every=100, seed=1)
    rows = bends(101, 0)
    for x, y in rows[:100]:
        model.learn_one(x, y)
    assert model._core.n_trees == 24
    model.learn_one(*rows[100])
    assert model._core.n_trees == 12
    model._core.check()
    check_sums(model._core)


def losses(kind: str, rows: list[tuple[Row, float]]) -> dict[str, float]:
    """Of rejuvenation, and of starting anew from the window as often."""
    parameters = {"n_particles": 20, "window": WINDOW, "forgetting_factor": 1.0, "seed": 1}
    make = DynamicTreeRegressor if kind == "number" else DynamicTreeClassifier
    models = {
        "rejuvenated": make(**parameters, rejuvenate_every=WINDOW),
        "fresh": make(**parameters),
    }
    found: dict[str, list[float]] = {name: [] for name in models}
    recent: deque[tuple[Row, float]] = deque(maxlen=WINDOW)
    for i, (x, y) in enumerate(rows):
        if i % WINDOW == 0:
            models["fresh"] = make(**parameters)
            for old_x, old_y in recent:
                models["fresh"].learn_one(old_x, old_y)
        for name, model in models.items():
            if kind == "number":
                found[name].append((model.predict_one(x) - math.sin(8 * x["x"])) ** 2)
            else:
                found[name].append(-math.log(max(model.predict_proba_one(x).get(y, 0.0), 1e-3)))
            model.learn_one(x, y)
        recent.append((x, y))
    return {name: float(np.mean(values[10 * WINDOW :])) for name, values in found.items()}


def test_old_samples_still_count_in_a_regression() -> None:
    """On a stationary stream the error is far below that of a filter of the window alone."""
    runs = [losses("number", bends(1200, seed)) for seed in range(3, 8)]
    rejuvenated, fresh = (
        np.median([run[name] for run in runs]) for name in ("rejuvenated", "fresh")
    )
    assert rejuvenated < 0.5 * fresh


def test_old_samples_still_count_in_a_classification() -> None:
    """The same for the log loss, of which the wrong labels alone cost 0.42."""
    runs = [losses("class", bands(1200, seed)) for seed in (3, 4)]
    gain = np.mean([found["fresh"] - found["rejuvenated"] for found in runs])
    assert gain > 0.02


def test_new_trees_learn_the_samples_in_any_order() -> None:
    """Every order occurs."""
    met = set()
    for seed in range(120):
        model = DynamicTreeRegressor(n_particles=1, window=3, seed=seed)
        for i in range(3):
            model.learn_one({"x": float(i)}, float(i))
        model._core.rejuvenate()
        for (leaf, *others), _ in trees_of(model._core)[1:]:  # the old tree is the first
            if not others:
                met.add(tuple(leaf["slots"]))
    assert met == set(itertools.permutations(range(3)))
