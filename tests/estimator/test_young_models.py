"""A young tree is small, in memory and serialised, and grows with what it has learned."""

from __future__ import annotations

import pickle
import random
from typing import Any

import pytest

import river_extra_trees as ret
from river_extra_trees import persistence

TREES = [
    ret.StreamDecisionTreeClassifier,
    ret.StreamDecisionTreeRegressor,
    ret.ForgetfulDecisionTreeClassifier,
    ret.ForgetfulDecisionTreeRegressor,
]
N_FEATURES = 9
NAMES = [f"the feature {i}" for i in range(N_FEATURES)]


def young(kind: type, n: int) -> Any:
    """A tree that has learned n samples of numbers that fill all digits of a float."""
    model, rng = kind(seed=1), random.Random(1)
    for _ in range(n):
        model.learn_one({name: rng.random() for name in NAMES}, rng.randrange(2))
    return model


@pytest.mark.parametrize("kind", TREES)
@pytest.mark.parametrize("n", [0, 1, 4])
def test_a_young_tree_takes_2_kb_pickled_4_kb_in_a_file_and_6_kb_in_memory(
    kind: type, n: int
) -> None:
    """Of nine numeric features, and up to four samples."""
    model = young(kind, n)
    assert len(pickle.dumps(model, 5)) <= 2000
    assert len(persistence.save_bytes(model)) <= 3500
    assert model._raw_memory_usage <= 6000


@pytest.mark.parametrize("kind", TREES)
def test_what_only_a_growth_needs_is_given_back(kind: type) -> None:
    """After a batch of 100 samples, a model holds its samples and its tree."""
    model = young(kind, 100)
    sample = 8 * (N_FEATURES + 3) + 4 * (N_FEATURES + 5)
    nodes = 200 * (32 + 4 + 5 * 8)
    assert model.n_nodes > 1
    assert model._raw_memory_usage <= 6000 + 128 * (sample + 32) + nodes
