"""One model per key, in shards."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest
from river import linear_model, preprocessing

import river_extra_trees as ret
from river_extra_trees.distributed import Block, Shard, shard_of


def test_hash_is_stable() -> None:
    """The shard of a key is the same in all processes, whatever the seed of their hashes."""
    command = (
        "from river_extra_trees.distributed.shard import shard_of;"
        "print([shard_of(key, 7) for key in ('a', 'b', b'a', 1, -5, 10**30, 'ä')])"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", command],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("0", "1")
    }
    keys = ("a", "b", b"a", 1, -5, 10**30, "ä")
    assert said == {str([shard_of(key, 7) for key in keys])}


def test_hash_is_even() -> None:
    """Each shard gets about as many keys, and more shards only cut the ranges finer."""
    counts = Counter(shard_of(f"sensor {i}", 8) for i in range(8000))
    assert all(900 < counts[shard] < 1100 for shard in range(8))
    assert all(shard_of(i, 4) == shard_of(i, 8) // 2 for i in range(1000))


@pytest.mark.parametrize("key", [1.0, None, True, ("a",), [1]])
def test_keys_of_other_types(key: object) -> None:
    """Keys whose equality or writing is not plain are refused."""
    with pytest.raises(TypeError, match=f"not {type(key).__name__!r}"):
        shard_of(key, 2)  # type: ignore[arg-type]


def test_models_are_apart() -> None:
    """Each key has the model that its samples alone would make."""
    shard = Shard(ret.StreamDecisionTreeClassifier(batch_size=5, seed=1))
    rows = [({"x": float(i % 10), "y": float(i)}, i % 10 > 4) for i in range(100)]
    keys = [i % 3 for i in range(100)]
    shard.learn(keys, range(100), Block(*zip(*rows, strict=True)), 100)
    alone = ret.StreamDecisionTreeClassifier(batch_size=5, seed=1)
    for key, (x, y) in zip(keys, rows, strict=True):
        if key == 1:
            alone.learn_one(x, y)
    asked = [{"x": float(i), "y": 3.0} for i in range(10)]
    expected = [alone.predict_proba_one(x) for x in asked]
    assert shard.predict_proba([1] * 10, Block(asked)) == expected
    assert shard.predict([1] * 10, Block(asked)) == [alone.predict_one(x) for x in asked]
    assert shard.predict_proba([7], Block(asked[:1])) == [{}]
    copy = shard.model_of(1)
    assert [copy.predict_proba_one(x) for x in asked] == expected
    assert shard.model_of(7) is None


def test_samples_told_again() -> None:
    """What lies before the position is not learned twice."""
    shard = Shard(ret.StreamDecisionTreeRegressor(leaf_memory=None, seed=1))
    block = Block([{"x": 0.0}] * 4, [1.0, 2.0, 3.0, 4.0])
    shard.learn(["a"] * 4, [0, 2, 5, 6], block, 8)
    shard.learn(["a"] * 4, [5, 6, 8, 9], block, 10)
    assert shard.counts()[:3] == (1, 6, 10)
    assert shard.predict(["a"], Block([{"x": 0.0}])) == [pytest.approx(17 / 6)]


def test_refused_samples() -> None:
    """A sample that a model refuses is counted, and the others are learned."""
    shard = Shard(ret.StreamDecisionTreeRegressor(seed=1))
    block = Block([{"x": 0.0}, {"x": float("inf")}, {"x": 1.0}], [1.0, 2.0, 3.0], [2.0, 1.0, 1.0])
    shard.learn(["a", "b", "a"], [0, 1, 2], block, 3)
    counts = shard.counts()
    assert (counts.n_samples_seen, counts.n_refused) == (2, 1)
    assert "sample 1 of 'b'" in counts.refusal
    assert "x" in counts.refusal


def test_models_of_river() -> None:
    """Any classifier or regressor of river will do, pipelines included."""
    shard = Shard(preprocessing.StandardScaler() | linear_model.LinearRegression())
    block = Block([{"x": float(i)} for i in range(50)], [2.0 * i for i in range(50)])
    shard.learn(["a"] * 50, range(50), block, 50)
    assert shard.predict(["a"], Block([{"x": 10.0}])) == [
        shard.models["a"].predict_one({"x": 10.0})
    ]
