"""The active samples of a particle filter: sizes that no memory holds are refused, not wrapped."""

from __future__ import annotations

import pickle
import random

import pytest

from river_extra_trees import DynamicTreeClassifier
from river_extra_trees._core.dynamic.pool import Pool


@pytest.mark.parametrize(
    ("capacity", "n_columns", "size_v"),
    [
        (2**31 - 1, 2**31 - 1, 1),  # 2**62 cells: their bytes are more than 64 bits hold
        (2**31 - 1, 0, 2**31 - 1),
        (2**31, 1, 1),  # more slots than an int numbers
        (2**63, 2, 1),  # the product itself is more than 64 bits hold
    ],
)
def test_sizes_beyond_memory_are_refused(capacity: int, n_columns: int, size_v: int) -> None:
    """A product that wraps around would give a small block, and writes behind it."""
    with pytest.raises(MemoryError):
        Pool(capacity, n_columns, size_v)


def test_a_slot_that_holds_nothing_is_refused() -> None:
    """Free slots, and those that are not there, are no foreign memory to read."""
    for slot in (-1, 0, 16, 2**31 - 1):
        with pytest.raises(IndexError, match="no active sample"):
            Pool().point(slot)


def test_columns_without_values_are_not_live() -> None:
    """Columns whose last value retires are no longer live: moves do not propose cuts in them."""
    model = DynamicTreeClassifier(n_particles=20, window=30, seed=1)
    usual = DynamicTreeClassifier(n_particles=20, window=30, seed=1)
    rng = random.Random(1)
    wide = {f"W{i}": float(i) for i in range(2_000)}  # the first columns
    for i in range(400):
        x = {"a": rng.random(), "b": rng.random()}
        model.learn_one(x | wide if i == 0 else x, x["a"] > 0.5)
        usual.learn_one(x, x["a"] > 0.5)
        if i in (0, 29, 30):
            assert model._core.pool.n_live == (2_002 if i < 30 else 2)
            model._core.check()
            assert pickle.loads(pickle.dumps(model))._core.pool.n_live == model._core.pool.n_live
    # With proposals in all columns, one in a thousand would be for the column that matters.
    assert model.n_nodes > 0.6 * usual.n_nodes
    for _ in range(30):
        model.learn_one({"c": 1.0}, True)
    assert model._core.pool.n_live == 1
    model._core.check()
