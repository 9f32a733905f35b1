"""Rejuvenation: new trees from the window, half of which keep what the old ones have retired."""

import itertools
import math
import random

import numpy as np
import pytest

from river_extra_trees import DynamicTreeRegressor
from tests.tools.particle_trees import Node, trees_of
from tests.tools.sums import check_sums

WINDOW = 40
Row = dict[str, float]


def bends(n: int, seed: int) -> list[tuple[Row, float]]:
    """A stationary curve with noise that only many samples see through."""
    rng = random.Random(seed)
    rows = [{"x": rng.random()} for _ in range(n)]
    return [(x, math.sin(8 * x["x"]) + rng.gauss(0, 0.5)) for x in rows]


def sums(nodes: list[Node]) -> np.ndarray:
    """Weight and weighed target of a whole tree, all samples and the retired ones."""
    totals = np.zeros(4)
    for node in nodes:
        if node["feature"] < 0:
            total, retired = node["total"], node["retired"]
            totals += [total[0], total[0] * total[2], retired[0], retired[0] * retired[2]]
    return totals


def test_half_of_the_new_trees_inherit() -> None:
    """One in two has the weight of an old tree, and as much of it retired; the others none.

    The next sample decides between old and new ones: there are as many as before then.
    """
    model = DynamicTreeRegressor(
        n_particles=12, window=WINDOW, forgetting_factor=1.0, rejuvenate_every=300, seed=1
    )
    *rows, last = bends(301, 0)
    for x, y in rows:
        model.learn_one(x, y)
    assert model._core.n_trees == 24
    model._core.check()
    check_sums(model._core)
    trees = trees_of(model._core)
    expected = sums(trees[0][0])  # of an old one
    assert expected[2] > 200
    n_with = n_without = 0
    for nodes, n in trees:
        found = sums(nodes)
        if found[2] > 0:
            assert found == pytest.approx(expected)
            n_with += n
        else:
            assert found[0] == pytest.approx(WINDOW)
            n_without += n
    assert (n_with, n_without) == (12 + 6, 6)
    model.learn_one(*last)
    assert model._core.n_trees == 12
    model._core.check()
    check_sums(model._core)


def test_in_the_published_program_no_new_tree_inherits() -> None:
    """All of them know the active samples alone."""
    model = DynamicTreeRegressor(
        n_particles=12, window=WINDOW, rejuvenate_every=300, published=True, seed=1
    )
    for x, y in bends(300, 0):
        model.learn_one(x, y)
    weights = {round(sums(nodes)[0]) for nodes, _ in trees_of(model._core)}
    retired = sum(n for nodes, n in trees_of(model._core) if sums(nodes)[2] > 0)
    assert (weights, retired) == ({300, WINDOW}, 12)


def test_new_trees_learn_the_samples_in_any_order() -> None:
    """Every order occurs."""
    met = set()
    for seed in range(120):
        model = DynamicTreeRegressor(n_particles=1, window=3, rejuvenate_every=3, seed=seed)
        for i in range(3):
            model.learn_one({"x": float(i)}, float(i))
        for (leaf, *others), _ in trees_of(model._core)[1:]:  # the old tree is the first
            if not others:
                met.add(tuple(leaf["active"]))
    assert met == set(itertools.permutations(range(3)))
