"""Random numbers are a pure function of seed, tree, step and purpose."""

from __future__ import annotations

import math

import pytest

from river_extra_trees import StreamDecisionForestClassifier
from tests.naive.rng import NaiveRng

BOOTSTRAP = 1


def copies_drawn(seed: int, n_models: int, batch: int, batch_size: int) -> list[list[int]]:
    """How often each tree's bootstrap holds each sample of a batch, read off the trees' counts."""
    model = StreamDecisionForestClassifier(
        n_models,
        batch_size,
        splitter="best",
        max_depth=0,
        leaf_memory=None,
        n_swaps=0,
        seed=seed,
    )
    for i in range((batch + 1) * batch_size):
        model.learn_one({"a": 1.0}, i)
    first = batch * batch_size
    counts = [trees.node(trees.root())["values"] for trees in model._core.trees]
    return [[int(count) for count in row[first : first + batch_size]] for row in counts]


@pytest.mark.parametrize("seed", [0, 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("batch", [0, 3])
def test_bootstraps_are_those_of_the_naive_generator(seed: int, batch: int) -> None:
    """Every tree and batch has its own stream of numbers, and the core draws what it says."""
    for tree, drawn in enumerate(copies_drawn(seed, n_models=4, batch=batch, batch_size=37)):
        rng = NaiveRng(seed, tree, batch, BOOTSTRAP)
        expected = [0] * 37
        for _ in range(37):
            expected[rng.below(37)] += 1
        assert drawn == expected


@pytest.mark.parametrize("part", range(4))
def test_neighbouring_names_have_unrelated_streams(part: int) -> None:
    """Streams whose names differ by one in one part are uncorrelated."""
    n = 5_000
    name = [3, 3, 3, 3]
    neighbour = name.copy()
    neighbour[part] += 1
    one, other = NaiveRng(*name), NaiveRng(*neighbour)
    products = [(one.uniform() - 0.5) * (other.uniform() - 0.5) for _ in range(n)]
    assert abs(sum(products) / n) < 5 * (1 / 12) / math.sqrt(n)
