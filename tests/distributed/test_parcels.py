"""The samples of several key groups on their way to workers, and their answers on the way back."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import river_extra_trees as ret
from river_extra_trees.distributed.parcels import GroupOf, range_of, sorted_by_group, worker_of
from river_extra_trees.distributed.ray.links import Whole
from river_extra_trees.keyed import KeyedBlock, shard_of

NAMES = ["a", "b"]
KEYS = [f"key {i}" for i in np.random.default_rng(0).integers(37, size=200)]
X = pd.DataFrame(np.random.default_rng(1).random((200, 2)), columns=NAMES)
Y = X["a"] + 2 * X["b"]


def block_of(n: int) -> KeyedBlock:
    """The first samples."""
    return KeyedBlock.from_frame(ret.StreamDecisionTreeRegressor(), KEYS[:n], X[:n], Y[:n])


@pytest.mark.parametrize("n_groups", [1, 5, 64])
def test_ranges(n_groups: int) -> None:
    """Each group has one worker, and ranges differ by one group at most."""
    for n_workers in range(1, n_groups + 1):
        ranges = [range_of(i, n_workers, n_groups) for i in range(n_workers)]
        assert [group for each in ranges for group in each] == list(range(n_groups))
        assert {len(each) for each in ranges} <= {n_groups // n_workers, n_groups // n_workers + 1}
        for i, each in enumerate(ranges):
            assert {worker_of(group, n_workers, n_groups) for group in each} == {i}


def test_parcels() -> None:
    """Every sample is in the part of its group, in the order of the stream."""
    parcel, order = sorted_by_group(block_of(200), np.arange(7, 207), GroupOf(9), 9)
    assert sorted(order) == list(range(200))
    for groups in (range(9), range(4), range(4, 5), range(5, 9), range(3, 3)):
        part = pickle.loads(pickle.dumps(parcel.part(groups), 5))
        assert len(part) == sum(shard_of(key, 9) in groups for key in KEYS)
        for group, start, stop in part.rows():
            rows = part.numbers[start:stop] - 7
            assert rows.tolist() == [i for i, key in enumerate(KEYS) if shard_of(key, 9) == group]
            for row, i in zip(range(start, stop), rows.tolist(), strict=True):
                x = {name: X[name][i] for name in NAMES}
                assert part.block.sample(row) == (KEYS[i], x, Y[i], 1.0)


def test_memory_of_a_feeder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The groups of millions of keys are not all remembered."""
    monkeypatch.setattr("river_extra_trees.distributed.parcels.REMEMBERED", 10)
    group_of = GroupOf(64)
    assert [group_of[i] for i in range(100)] == [shard_of(i, 64) for i in range(100)]
    assert len(group_of) <= 10


def test_answers_of_repeated_samples() -> None:
    """The first answer stays where a sample is repeated, for which there is none."""
    parcel, order = sorted_by_group(block_of(20), np.arange(20), GroupOf(4), 4)
    whole = Whole(parcel, order, is_asked=True)
    first = [None if row % 3 else float(row) for row in range(20)]
    whole.note(range(4), first)
    whole.note(range(4), [None] * 20)
    assert whole.answers[order].tolist() == first
