"""One model per key in one process: the same as a dict of models, with bounds and without."""

import copy
import pickle
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import river_extra_trees as ret
from river_extra_trees.keyed import Counts, KeyedModels, by_key
from river_extra_trees.keyed import models as keyed_models
from tests.naive import keyed as naive
from tests.tools.keyed_samples import (
    LIBRARIES,
    MODELS,
    REGRESSIONS,
    RIVER,
    TREE,
    Samples,
    as_list,
    check_same,
    frame_of,
    samples_of,
)

CALLS = ("one", "many", "predict and learn", "forget", "commit", "begin anew")


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("name", MODELS)
def test_same_as_a_dict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, seed: int
) -> None:
    """Whatever the bounds and the calls, models and answers are those of a dict of models.

    With tables, every key has one of its rows in each frame; without, there are too few rows. From
    a store, models go on after the last commit; others go on from a pickle.
    """
    rng = random.Random(f"{name} {seed}")
    max_models, time_to_live = (rng.choice([None, rng.randint(1, most)]) for most in (5, 12))
    store = rng.choice([None, tmp_path / "models.db"])
    n_jobs, has_tables = rng.choice([(1, False), (1, True), (3, True)])
    monkeypatch.setattr(by_key, "MOST_KEYS", 1 if has_tables else by_key.MOST_KEYS)
    library = "pandas" if name in RIVER else rng.choice([*LIBRARIES])
    keys = [rng.randrange(8) for _ in range(rng.randint(9, 60))]
    samples = samples_of(name, keys, seed, bad=rng.choice([0.0, 0.2]))
    calls = rng.choices(CALLS, k=rng.randint(1, 6))
    n = len(samples) // len(calls) + 1

    bounds = MODELS[name], max_models, time_to_live, store
    models = KeyedModels(*bounds, n_jobs=n_jobs)
    plain = naive.KeyedModels(MODELS[name], None if store else max_models, time_to_live)
    committed = copy.deepcopy(plain)
    for i, call in enumerate(calls):
        part = samples[i * n : (i + 1) * n]
        if call == "forget":
            assert models.forget(i) == plain.forget(i)
        elif call == "commit" and store:
            models.commit({"at": i})
            plain.note = {"at": i}
            committed = copy.deepcopy(plain)
        elif call == "begin anew" and store:
            models.close()
            models = KeyedModels(*bounds, n_jobs=n_jobs)
            plain = copy.deepcopy(committed)
        elif call == "begin anew":
            models = pickle.loads(pickle.dumps(models))
        elif call == "one":
            learn_one_by_one(models, plain, part)
        elif part:
            learn_frame(models, plain, part, library, is_asked=call == "predict and learn")
        check_same(models, plain, range(8), max_models)
    check_answers(models, plain, name, seed, library)
    models.close()


def check_answers(
    models: KeyedModels, plain: naive.KeyedModels, name: str, seed: int, library: str
) -> None:
    """Both answer the same for frames, also for a key that is unknown."""
    samples = samples_of(name, [*range(9)] * 2, seed)
    keys, X, *_ = frame_of(samples, library)
    expected = [plain.predict_one(key, x) for key, x, _, _ in samples]
    assert as_list(models.predict_many(keys, X)) == expected
    if name not in REGRESSIONS:
        rows = narwhals.from_native(models.predict_proba_many(keys, X)).rows(named=True)
        known = [{label: each for label, each in row.items() if each == each} for row in rows]
        expected = [plain.predict_proba_one(key, x) for key, x, _, _ in samples]
        assert known == expected or not any(expected)


def learn_one_by_one(models: KeyedModels, plain: naive.KeyedModels, samples: Samples) -> None:
    for key, x, y, w in samples:
        for each in (key, (key + 1) % 8):  # answers do not count as use
            assert models.predict_one(each, {"a": 1.0}) == plain.predict_one(each, {"a": 1.0})
        models.learn_one(key, x, y, w)
        plain.learn_one(key, x, y, w)


def learn_frame(
    models: KeyedModels, plain: naive.KeyedModels, samples: Samples, library: str, is_asked: bool
) -> None:
    expected = []
    for key, x, y, w in samples:
        try:
            expected.append(plain.predict_one(key, x))
        except (TypeError, ValueError):
            expected.append(None)
        plain.learn_one(key, x, y, w)
    keys, X, Y, W = frame_of(samples, library)
    if is_asked:
        assert as_list(models.predict_learn_many(keys, X, Y, W)) == expected
    else:
        models.learn_many(keys, X, Y, W)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupted_frame_is_counted(n_jobs: int) -> None:
    """A signal may end a call after some of the keys: these have learned, and are counted."""
    models = KeyedModels(ret.StreamDecisionTreeRegressor(seed=1), n_jobs=n_jobs)
    models.learn_many(["a"] * 50, pd.DataFrame({"x": [0.0] * 50}), [1.0] * 50)
    usual = keyed_models.learn_table

    def learn_table(model: Any, rows: Any, numbers: list[int], predicts: bool) -> Any:
        if rows.keys[numbers[0]] == "b":
            raise KeyboardInterrupt
        return usual(model, rows, numbers, predicts)

    keys = [key for key in "abc" for _ in range(40)]
    with (
        mock.patch.object(keyed_models, "learn_table", learn_table),
        pytest.raises(KeyboardInterrupt),
    ):
        models.learn_many(keys, pd.DataFrame({"x": [0.0] * 120}), [1.0] * 120)
    learned = [models.model_of(key).n_samples_seen for key in "abc"]
    assert learned[:2] == [90, 0]
    assert learned[2] in (0, 40)  # another thread may have begun
    assert models.counts().n_samples_seen == sum(learned)


def test_answers_keep_their_types() -> None:
    """Equal labels of different types, and those of numpy, come back as they were learned."""
    models = KeyedModels(TREE)
    models.learn_one("a", {"x": 0.0}, 1)
    models.learn_one("b", {"x": 0.0}, True)
    models.learn_one("c", {"x": 0.0}, "one")
    said = models.predict_many(["a", "b", "c", "d"], pd.DataFrame({"x": [0.0] * 4})).tolist()
    assert [type(each) for each in said] == [int, bool, str, type(None)]
    models = KeyedModels(TREE)
    models.learn_many([1, 2], np.zeros((2, 1)), np.array([3, 4]))
    assert models.predict_many(np.array([2, 1]), np.zeros((2, 1))).tolist() == [4, 3]


def test_missing_numbers() -> None:
    """Numbers that are missing, because a key is unknown, are null where a library has it."""
    models, keys = KeyedModels(MODELS["regression tree"]), ["a", "b"]
    models.learn_one("a", {"x": 0.0}, 1.5)
    assert models.predict_many(keys, pl.DataFrame({"x": [0.0, 0.0]})).to_list() == [1.5, None]
    assert models.predict_many(keys, pa.table({"x": [0.0, 0.0]})).to_pylist() == [1.5, None]
    answers = models.predict_many(keys, pd.DataFrame({"x": [0.0, 0.0]}, index=[7, 8]))
    pd.testing.assert_series_equal(answers, pd.Series([1.5, None], index=[7, 8]), check_names=False)


def test_a_second_call_waits() -> None:
    """Threads take turns, and none of their samples is lost."""
    models, X = KeyedModels(TREE), pd.DataFrame({"x": [0.0]})
    calls: list[Callable[[], object]] = [
        lambda: models.learn_one("a", {}, 1.0),
        lambda: models.learn_many(["b"], X, [1.0]),
        lambda: models.predict_one("a", {}),
        lambda: models.predict_many(["a"], X),
        lambda: models.model_of("new"),
        models.counts,
    ]
    threads = [threading.Thread(target=call) for call in calls]
    with models._lock:
        for thread in threads:
            thread.start()
            thread.join(0.02)
        assert all(thread.is_alive() for thread in threads)
    for thread in threads:
        thread.join()
    assert models.counts() == Counts(2, 2, 2, 0, "")


def test_rows_are_learned_once_if_memory_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that may come after some rows of a table is raised; the rows are not repeated."""
    models = KeyedModels(TREE)
    learn_table = keyed_models.learn_table

    def fail(*args: Any) -> Any:
        learn_table(*args)
        raise MemoryError

    monkeypatch.setattr(keyed_models, "learn_table", fail)
    with pytest.raises(MemoryError):
        models.learn_many(["a"] * 60, np.zeros((60, 1)), ["u", "v"] * 30)
    model = models.model_of("a")
    assert model is not None
    assert model.n_samples_seen == 60


def test_all_keys_are_watched_together(tmp_path: Path) -> None:
    """A column that breaks for 200 keys is one alarm, by rows, by frames and with a store."""
    rng = random.Random(0)
    rows = [{"a": rng.random(), "b": rng.random()} for _ in range(5_000)]
    keys, y = [f"key {i % 200}" for i in range(5_000)], [x["a"] > 0.5 for x in rows]
    for x in rows[4_000:]:
        x["b"] += 1_000.0
    rows[7]["a"] = float("inf")  # is refused
    model, got = ret.StreamDecisionTreeClassifier(batch_size=10, seed=1), []
    loop = KeyedModels(model, false_alarms_per=100_000, on_alarm=got.append)
    for key, x, label in zip(keys, rows, y, strict=True):
        loop.learn_one(key, x, label)
    (alarm,) = loop.alarms
    assert (alarm.kind, alarm.column, alarm.n_samples > 4_000) == ("inputs", "b", True)
    assert got == [alarm]
    frame, path = pd.DataFrame(rows), tmp_path / "models.db"
    for first, end in ((0, 3_000), (3_000, 5_000)):
        part = slice(first, end)
        with KeyedModels(model, store=path, false_alarms_per=100_000, n_jobs=2) as models:
            models.learn_many(keys[part], frame[part], y[part])
            models.commit()
            alarms, n_refused = models.alarms, models.counts().n_refused
    assert (alarms, n_refused) == ([alarm], 1)
    assert KeyedModels(model).alarms == []
