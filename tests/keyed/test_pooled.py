"""A common prior for keyed models: against the plain version, and what it is good for."""

from __future__ import annotations

import math
import pickle
import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from river import linear_model, naive_bayes

import river_extra_trees as ret
from river_extra_trees.keyed import KeyedModels
from tests.naive.pooled_prior import PooledKeyedModels
from tests.tools.keyed_samples import as_list

N = 400


def tree(regression: bool) -> Any:
    kind = ret.StreamDecisionTreeRegressor if regression else ret.StreamDecisionTreeClassifier
    return kind(batch_size=15, seed=1)


def samples(regression: bool, n: int = N) -> list[tuple[str, dict[str, float], Any]]:
    """Keys of which a third are unlike the others."""
    rng = random.Random(3)
    found = []
    for _ in range(n):
        number = rng.randrange(25)
        x = {"a": rng.random(), "b": rng.random()}
        y: Any = (x["a"] > 0.5) ^ (number % 3 == 0)
        found.append((f"key {number}", x, float(y) + number % 3 if regression else y))
    return found


def frame_of(rows: list[tuple[str, dict[str, float], Any]]) -> tuple[list[str], Any, list[Any]]:
    return [key for key, *_ in rows], pd.DataFrame([x for _, x, _ in rows]), [y for *_, y in rows]


@pytest.mark.parametrize("regression", [False, True])
def test_answers_are_those_of_the_plain_version(regression: bool) -> None:
    """Up to rounding."""
    model = tree(regression)
    models = KeyedModels(model, pooled=model)
    plain = PooledKeyedModels(model, model, regression)
    for key, x, y in samples(regression):
        expected = plain.predict(key, x)
        if regression:
            found = models.predict_one(key, x)
            assert found is expected is None or found == pytest.approx(expected)
        else:
            assert models.predict_proba_one(key, x) == pytest.approx(expected or {})
        models.learn_one(key, x, y)
        plain.learn_one(key, x, y)


@pytest.mark.parametrize("bounds", [{}, {"max_models": 7}, {"time_to_live": 20}], ids=str)
@pytest.mark.parametrize("regression", [False, True])
def test_frames_are_learned_as_samples_are(regression: bool, bounds: dict[str, int]) -> None:
    """Predictions are equal to the bit, also where models leave meanwhile."""
    model, rows = tree(regression), samples(regression)
    one, many = (KeyedModels(model, pooled=model, **bounds) for _ in range(2))
    for start in range(0, N, 80):
        part, singly = rows[start : start + 80], []
        for key, x, y in part:
            singly.append(one.predict_one(key, x))
            one.learn_one(key, x, y)
        assert as_list(many.predict_learn_many(*frame_of(part))) == singly
    assert as_list(many.predict_many(*frame_of(rows[:50])[:2])) == [
        one.predict_one(key, x) for key, x, _ in rows[:50]
    ]


@pytest.mark.parametrize("regression", [False, True])
def test_the_prior_is_kept_in_the_store(tmp_path: Path, regression: bool) -> None:
    """A stream that is continued from the store ends as one that was never interrupted."""
    model, rows = tree(regression), samples(regression)

    def opened(name: str) -> KeyedModels:
        return KeyedModels(model, 9, store=tmp_path / name, pooled=model)

    whole = opened("whole")
    for key, x, y in rows:
        whole.learn_one(key, x, y)
    for start in (0, N // 2):
        with opened("parts") as models:
            for key, x, y in rows[start : start + N // 2]:
                models.learn_one(key, x, y)
            models.commit()
    with opened("parts") as models:
        for key, x, _ in rows[-40:]:
            assert models.predict_one(key, x) == whole.predict_one(key, x)
    whole.close()
    with pytest.raises(ValueError, match="the pooled model of"):
        KeyedModels(model, 9, store=tmp_path / "parts")


def test_a_new_key_is_answered_by_the_pooled_model() -> None:
    """And a key that is unlike the others soon by its own."""
    model = tree(True)
    models = KeyedModels(model, pooled=model)
    assert models.predict_one("anybody", {"a": 1.0}) is None
    alone = tree(True)
    for i in range(300):
        x = {"a": float(i % 2)}
        models.learn_one(f"key {i % 20}", x, x["a"])
        alone.learn_one(x, x["a"])
    assert models.predict_one("new", {"a": 1.0}) == alone.predict_one({"a": 1.0})
    for _ in range(12):
        models.learn_one("new", {"a": 1.0}, 100.0)
    assert models.predict_one("new", {"a": 1.0}) > 85.0
    models.forget("new")
    assert models.predict_one("new", {"a": 1.0}) == models.predict_one("nobody", {"a": 1.0})


def test_samples_without_weight_change_nothing() -> None:
    """Neither the pooled model nor the weights."""
    model = tree(False)
    models = KeyedModels(model, pooled=model)
    for key, x, y in samples(False, 60):
        models.learn_one(key, x, y)
    before = pickle.dumps(models._pooled)
    models.learn_one("key 1", {"a": 0.5}, True, w=0.0)
    assert pickle.dumps(models._pooled) == before


def test_refused_samples_leave_the_prior_whole() -> None:
    """The model of all keys refuses them, too."""
    model = tree(True)
    models = KeyedModels(model, pooled=model)
    for key, x, y in samples(True, 60):
        models.learn_one(key, x, y)
    for y in (math.nan, math.inf, "much"):
        models.learn_one("key 1", {"a": 0.5}, y)
    models.learn_one("key 1", {"a": math.inf}, 1.0)
    assert models.counts().n_refused == 4
    assert math.isfinite(models.predict_one("key 1", {"a": 0.5}))


def test_any_river_model_can_be_pooled() -> None:
    """Without columns, as well."""
    models = KeyedModels(tree(False), pooled=naive_bayes.GaussianNB())
    rows = samples(False, 100)
    models.learn_many(*frame_of(rows))
    assert sum(models.predict_proba_one("new", {"a": 0.4, "b": 0.4}).values()) == pytest.approx(1)
    models.predict_learn_many(["new"], pd.DataFrame({"a": [0.1], "b": [0.2]}), [True])


@pytest.mark.parametrize("many", [False, True])
def test_a_pooled_model_that_raises(many: bool) -> None:
    """Its errors neither stop the keys' own models nor count a sample for the prior."""
    models = KeyedModels(tree(True), pooled=linear_model.LinearRegression())
    x = [1.0, 2.0, "text", 3.0]
    if many:
        frame = pd.DataFrame({"x": pd.Series(x, dtype=object)})
        models.learn_many(["a"] * 4, frame, [1.0, 2.0, 3.0, 4.0])
    else:
        for i, value in enumerate(x):
            models.learn_one("a", {"x": value}, i + 1.0)
    counts = models.counts()
    assert (counts.n_samples_seen, counts.n_refused) == (4, 0)
    assert models._pooled is not None
    assert models._pooled._n_learned == 3
