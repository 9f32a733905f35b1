"""A common prior for keyed models: against the plain version, and what it is good for."""

import math
import pickle
import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from river import linear_model

import river_extra_trees as ret
from river_extra_trees.keyed import KeyedModels
from tests.naive.keyed import PooledKeyedModels
from tests.tools.keyed_samples import Samples, as_list, frame_of

N = 400


def tree(regression: bool) -> Any:
    kind = ret.StreamDecisionTreeRegressor if regression else ret.StreamDecisionTreeClassifier
    return kind(batch_size=15, seed=1)


def samples(regression: bool, n: int = N) -> Samples:
    """Keys of which a third are unlike the others."""
    rng = random.Random(3)
    found: Samples = []
    for _ in range(n):
        number = rng.randrange(25)
        x = {"a": rng.random(), "b": rng.random()}
        y: Any = (x["a"] > 0.5) ^ (number % 3 == 0)
        found.append((f"key {number}", x, float(y) + number % 3 if regression else y, 1.0))
    return found


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("regression", [False, True])
def test_answers_are_those_of_the_plain_version(
    tmp_path: Path, regression: bool, stored: bool
) -> None:
    """Up to rounding, also if models leave the memory and the stream goes on from a store."""
    model = tree(regression)
    options: dict[str, Any] = {"pooled": model}
    if stored:
        options |= {"max_models": 9, "store": tmp_path / "models.db"}
    models = KeyedModels(model, **options)
    plain = PooledKeyedModels(model, model, regression)
    for i, (key, x, y, _) in enumerate(samples(regression)):
        if stored and i == N // 2:
            models.commit()
            models.close()
            models = KeyedModels(model, **options)
        expected = plain.predict(key, x)
        if regression:
            found = models.predict_one(key, x)
            assert found is expected is None or found == pytest.approx(expected)
        else:
            assert models.predict_proba_one(key, x) == pytest.approx(expected or {})
        models.learn_one(key, x, y)
        plain.learn_one(key, x, y)
    models.close()


@pytest.mark.parametrize("bounds", [{}, {"max_models": 7}, {"time_to_live": 20}], ids=str)
@pytest.mark.parametrize("regression", [False, True])
def test_frames_are_learned_as_samples_are(regression: bool, bounds: dict[str, int]) -> None:
    """Predictions are equal to the bit, also where models leave meanwhile."""
    model, rows = tree(regression), samples(regression)
    one, many = (KeyedModels(model, pooled=model, **bounds) for _ in range(2))
    for start in range(0, N, 80):
        part, singly = rows[start : start + 80], []
        for key, x, y, _ in part:
            singly.append(one.predict_one(key, x))
            one.learn_one(key, x, y)
        assert as_list(many.predict_learn_many(*frame_of(part))) == singly
    assert as_list(many.predict_many(*frame_of(rows[:50])[:2])) == [
        one.predict_one(key, x) for key, x, *_ in rows[:50]
    ]


def test_samples_that_count_for_nothing() -> None:
    """Those that are refused, and those without weight, leave the prior as it was."""
    models = KeyedModels(tree(True), pooled=tree(True))
    for key, x, y, _ in samples(True, 60):
        models.learn_one(key, x, y)
    before = pickle.dumps(models._pooled)
    for y in (math.nan, math.inf, "much"):
        models.learn_one("key 1", {"a": 0.5}, y)
    models.learn_one("key 1", {"a": math.inf}, 1.0)
    assert models.counts().n_refused == 4
    models.learn_one("key 1", {"a": 0.5}, 1.0, w=0.0)
    assert pickle.dumps(models._pooled) == before


def test_a_pooled_model_that_raises() -> None:
    """Its errors neither stop the keys' own models nor count a sample for the prior."""
    models = KeyedModels(tree(True), pooled=linear_model.LinearRegression())
    X = pd.DataFrame({"x": pd.Series([1.0, 2.0, "text", 3.0], dtype=object)})
    models.learn_many(["a"] * 4, X, [1.0, 2.0, 3.0, 4.0])
    counts = models.counts()
    assert (counts.n_samples_seen, counts.n_refused) == (4, 0)
    assert models._pooled is not None
    assert models._pooled._n_learned == 3
