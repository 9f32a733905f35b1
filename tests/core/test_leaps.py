"""Leaps find the leaf that the steps of a walk find, in trees grown on rows with few values."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from tests import compiled
from tests.tools.naive_forests import both

Row = Callable[[random.Random], dict[str, Any]]

KINDS: dict[str, Row] = {
    "one column per value": lambda r: {f"k{r.randrange(90)}": 1.0},
    "and a number": lambda r: {f"k{r.randrange(90)}": 1.0, "z": r.random()},
    "and a few values": lambda r: {f"k{r.randrange(90)}": 1.0, "a": r.choice("xyz")},
    "counts of words": lambda r: {
        f"w{int(90 * r.random() ** 2)}": float(r.randrange(1, 4)) for _ in range(3)
    },
    "nominal": lambda r: {f"k{r.randrange(90)}": r.choice("xyz")},
    "nothing": lambda r: {f"k{r.randrange(90)}": 1.0} if r.random() < 0.7 else {},
}


@pytest.mark.parametrize("max_nodes", [41, 10_000])
@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_leaves(kind: str, regression: bool, max_nodes: int) -> None:
    """Also after splits of leaves, after nodes were removed, and for columns unknown to a tree."""
    rng, effect, n_compared = random.Random(1), random.Random(2), 0
    effects = [effect.gauss(0.0, 1.0) for _ in range(100)]
    settings = {"linear": ["none"]} if regression else {}
    core, _ = both(regression, windows=[(250, 4)], max_features=5, max_nodes=max_nodes, **settings)
    for i in range(500):
        x = KINDS[kind](rng)
        y = sum(effects[int(name[1:])] for name in x if name[1:]) + rng.gauss(0.0, 0.3)
        core.learn(x, y if regression else y > 0.0, 1.0)
        if i > 300 and i % 5 == 0:
            n = core.schema.n_columns
            for n_values in (0, 1, 3, 8):
                values = {rng.randrange(n + 3): rng.choice([1.0, 2.0]) for _ in range(n_values)}
                walks = compiled.leaps(core, values)
                assert [leap for leap, _ in walks] == [leaf for _, leaf in walks]
                n_compared += len(walks)
    assert n_compared > 50
    core.trees.shrink(11)
    assert all(leap == leaf for leap, leaf in compiled.leaps(core, {}))
