"""Growth is offered only the columns that have a value among its samples."""

from __future__ import annotations

import math
import pickle
import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

import river_extra_trees as ret
from tests.core.forests.test_groups import assert_same_trees, both, learn


def rows(n: int, seed: int) -> Iterator[tuple[dict[str, Any], float]]:
    """Names that come once, come and go, return late, or are nearly always there."""
    rng = random.Random(seed)
    for i in range(n):
        a = rng.random()
        x: dict[str, Any] = {f"once{i}": a, f"rare{rng.randrange(30)}": rng.random()}
        if rng.random() < 0.9:
            x["a"] = a
        x[f"phase{i // 50 % 2}"] = rng.randrange(4)
        x["word" if i % 7 else "other word"] = rng.choice("xyz")
        if i % 60 == 5:
            x["missing from the first"] = None
        yield x, 2.0 * a + x[f"phase{i // 50 % 2}"] % 2


@pytest.mark.parametrize("max_features", [None, "sqrt", 2])
@pytest.mark.parametrize("regression", [False, True])
def test_same_as_naive(regression: bool, max_features: Any) -> None:
    """With copies in the middle of growths, when the latest values are newer than the growth."""
    settings = {} if regression else {"windows": [(60, 1), (20, 2)]}
    core, naive = both(regression, max_features=max_features, **settings)
    for i, (x, y) in enumerate(rows(110, 1 + regression)):
        if i % 5 == 0:
            core = pickle.loads(pickle.dumps(core))
        learn(core, naive, (x, y if regression else math.floor(y), 1.0))
        if i % (10 if regression else 2) == 0:
            assert_same_trees(core, naive)
    core.check()


def seconds(model: Any, n: int, seed: int) -> float:
    """CPU time of learning n samples of few features."""
    rng = random.Random(seed)
    begin = time.process_time()
    for _ in range(n):
        a = rng.random()
        y = a if "Regressor" in type(model).__name__ else a < 0.5
        model.learn_one({"a": a, "b": rng.random(), "c": rng.choice("xyz")}, y)
    return time.process_time() - begin


@pytest.mark.parametrize("kind", [ret.ExtraTreesClassifier, ret.ExtraTreesRegressor])
def test_a_wide_sample_that_left_the_windows_costs_little(kind: Any) -> None:
    """Only the row of each sample is as wide as all that was ever seen."""
    plain, wide = (kind(window_sizes=(15, 60), n_models=10, seed=1) for _ in range(2))
    wide.learn_one({f"n{i}": 1.0 for i in range(16_000)}, 1.0)
    for model in (plain, wide):
        seconds(model, 1_200, seed=1)  # the buffer holds no more than two blocks of 512
    ratios = [seconds(wide, 500, i) / seconds(plain, 500, i) for i in range(5)]
    assert min(ratios) < 15.0
    assert wide._core.buffer.__sizeof__() < 16_000 * 64 + plain._core.buffer.__sizeof__()
