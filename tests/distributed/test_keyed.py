"""One model per key over processes: the same as in one process, and nothing lost at a restart.

Ray's place is taken by a stand-in without processes; `test_ray.py` has the real one.
"""

from __future__ import annotations

import math
import pickle
import random
from pathlib import Path
from typing import Any

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from river import base, naive_bayes

import river_extra_trees as ret
from river_extra_trees.distributed import DistributedKeyedModels
from river_extra_trees.keyed import KeyedModels
from river_extra_trees.keyed.keys import shard_of
from tests.tools.keyed_samples import same
from tests.tools.ray_in_process import take_the_place_of_ray

TREE = ret.StreamDecisionTreeRegressor(batch_size=5, min_samples_leaf=1, seed=1)
NAMES = ["a", "b"]


@pytest.fixture(autouse=True)
def _engine(monkeypatch: pytest.MonkeyPatch) -> None:
    take_the_place_of_ray(monkeypatch)


def frame_of(n: int, n_keys: int = 37, seed: int = 0) -> tuple[list[str], pd.DataFrame, Any]:
    """Keys, features and targets."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.random((n, 2)), columns=NAMES)
    return [f"key {i}" for i in rng.integers(n_keys, size=n)], X, X["a"] + 2 * X["b"]


# --- The same as in one process


@pytest.mark.parametrize("n_workers", [1, 3])
@pytest.mark.parametrize(
    "model",
    [TREE, ret.ExtraTreesClassifier(n_models=2, seed=1), naive_bayes.GaussianNB()],
    ids=lambda model: type(model).__name__,
)
def test_equal(model: Any, n_workers: int) -> None:
    """All answers and all models are those of one process."""
    keys, X, y = frame_of(400)
    y = y if isinstance(model, base.Regressor) else y > 1.5
    alone = KeyedModels(model)
    with DistributedKeyedModels(model, n_workers) as models:
        for i in range(0, 400, 100):
            w = 1.0 if isinstance(model, naive_bayes.GaussianNB) else 1.0 + i % 200
            part = keys[i : i + 100], X[i : i + 100], y[i : i + 100], w
            for each in (models, alone):
                each.learn_many(*part)
            said, expected = models.predict_learn_many(*part), alone.predict_learn_many(*part)
            pd.testing.assert_series_equal(said, expected)
            said, expected = (each.predict_many(*part[:2]) for each in (models, alone))
            pd.testing.assert_series_equal(said, expected)
            if not isinstance(model, base.Regressor):
                said, expected = (each.predict_proba_many(*part[:2]) for each in (models, alone))
                pd.testing.assert_frame_equal(said, expected)
        assert models.position == 800
        assert models.counts() == alone.counts()
        assert all(same(models.model_of(key), alone.model_of(key)) for key in set(keys))
        assert models.model_of("new") is None
        assert models.predict_one("new", {}) is None
        x = {"a": 0.5, "b": 0.5}
        assert models.predict_one("key 1", x) == alone.predict_one("key 1", x)
        if isinstance(model, base.Regressor):
            with pytest.raises(AttributeError):
                models.predict_proba_many(*part[:2])


def test_pooled() -> None:
    """Each worker has a pooled model of its keys."""
    keys, X, y = frame_of(240)
    alone = [KeyedModels(TREE, pooled=TREE) for _ in range(2)]
    with DistributedKeyedModels(TREE, pooled=TREE) as models:
        said = models.predict_learn_many(keys, X, y).tolist()
        for i, (key, x) in enumerate(zip(keys, X.to_dict("records"), strict=True)):
            own = alone[shard_of(key, 2)]
            expected = own.predict_one(key, x)
            assert said[i] == expected or (expected is None and math.isnan(said[i]))
            own.learn_one(key, x, y[i])
        assert models.predict_one("new", x) == alone[shard_of("new", 2)].predict_one("new", x)
        assert models.predict_one("new", x) is not None


# --- Restarts


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.slow
def test_whatever_happens(seed: int, tmp_path: Path) -> None:
    """Workers die, or all processes: no sample is lost, and none counts twice.

    So it is with models that are dropped or spilled, or whose time is over.
    """
    rng = random.Random(seed)
    keys, X, y = frame_of(1200, 60, seed)
    bounds: dict[str, Any] = rng.choice(
        [{}, {"max_models": 30}, {"time_to_live": 100}, {"max_models": 30, "time_to_live": 900}]
    )
    with DistributedKeyedModels(TREE, 3, tmp_path / "calm", **bounds) as calm:
        calm.learn_many(keys, X, y)
        expected = {key: calm.model_of(key) for key in set(keys)}
        assert calm.counts().n_samples_seen == 1200
    models = DistributedKeyedModels(TREE, 3, tmp_path / "wild", **bounds)
    while (at := models.position) < len(keys):
        event, n = rng.random(), rng.randrange(1, 200)
        part = keys[at : at + n], X[at : at + n], y[at : at + n]
        if event < 0.4:
            models.learn_many(*part)
        elif event < 0.6:
            models.predict_learn_many(*part)
        elif event < 0.7:  # each worker may have stored another position
            rng.choice(models._workers).held.commit()
        elif event < 0.9:
            models.commit()
        else:
            for worker in models._workers:
                worker.crash()
            with pytest.raises(RuntimeError, match="a worker has died: close the models"):
                models.predict_learn_many(*part)
            models = DistributedKeyedModels(TREE, 3, tmp_path / "wild", **bounds)
    assert all(same(models.model_of(key), model) for key, model in expected.items())
    assert models.counts().n_samples_seen == 1200
    models.close()


def test_repeated_samples(tmp_path: Path) -> None:
    """A sample that its worker has learned already gets no answer."""
    keys, X, y = frame_of(200)
    models = DistributedKeyedModels(TREE, 2, tmp_path)
    models.learn_many(keys, X, y)
    models._workers[0].held.commit()  # and not the other one
    models._stop()
    with DistributedKeyedModels(TREE, 2, tmp_path) as models:
        assert models.position == 0
        said = models.predict_learn_many(keys, X, y)
        firsts = {keys.index(key) for key in set(keys)}
        for i, key in enumerate(keys):
            assert math.isnan(said[i]) == (i in firsts or shard_of(key, 2) == 0)
        assert models.counts().n_samples_seen == 200


def learn_and_commit(models: DistributedKeyedModels, *frame: Any) -> None:
    models.learn_many(*frame)
    models.commit()


@pytest.mark.parametrize("method", ["commit", "learn"])
def test_a_disk_that_is_full(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that could not learn or commit is told; the models go on from the last commit."""
    keys, X, y = frame_of(300)
    with DistributedKeyedModels(TREE, 2, tmp_path) as models:
        models.learn_many(keys[:100], X[:100], y[:100])

    def fail(*_: Any) -> None:
        raise OSError("no space left")

    models = DistributedKeyedModels(TREE, 2, tmp_path)
    with monkeypatch.context() as patch:
        name = {"commit": "store.Store.commit", "learn": "models.KeyedModels._learn_rows"}[method]
        patch.setattr(f"river_extra_trees.keyed.{name}", fail)
        with pytest.raises(OSError, match="no space left"):
            learn_and_commit(models, keys[100:200], X[100:200], y[100:200])
    with pytest.raises(RuntimeError, match="are closed"):  # no frame is learned without this one
        models.learn_many(keys[200:], X[200:], y[200:])
    with DistributedKeyedModels(TREE, 2, tmp_path) as models:
        assert models.position == 100
        models.learn_many(keys[100:], X[100:], y[100:])
        assert models.counts().n_samples_seen == 300


# --- Refusals and errors


def test_without_a_folder() -> None:
    """The death of a worker is told, and all workers end all the same."""
    keys, X, y = frame_of(50)
    models = DistributedKeyedModels(TREE, n_workers=3)
    workers = list(models._workers)
    models.learn_many(keys[:30], X[:30], y[:30])
    workers[0].crash()
    with pytest.raises(RuntimeError, match="a worker has died"):
        models.counts()
    with pytest.raises(RuntimeError, match="a worker has died"):
        models.learn_many(keys[30:], X[30:], y[30:])
    assert all(worker.held is None for worker in workers)
    models.close()
    for call in (lambda: models.learn_many(keys, X, y), lambda: models.predict_one("a", {})):
        with pytest.raises(RuntimeError, match="the keyed models are closed"):
            call()


def test_samples_that_cannot_be_sent() -> None:
    """They are refused here, and nothing is learned; nor can the models themselves be sent."""
    keys, X, y = frame_of(50)
    with DistributedKeyedModels(TREE) as models:
        with pytest.raises(TypeError, match="make them again"):
            pickle.dumps(models)
        for learn in (models.learn_many, models.predict_learn_many):
            with pytest.raises(TypeError, match="y must be a series"):
                learn(keys, X, None)
        with pytest.raises(Exception, match=r"pickle|local object"):
            models.learn_many(["a"], pd.DataFrame({"x": [lambda: 1]}), [1.0])
        assert models.position == 0
        models.learn_many(keys, X, y)
        assert models.counts().n_samples_seen == 50


def test_error_in_a_context(tmp_path: Path) -> None:
    """The error of the body is not hidden by that of a worker that died before."""

    def stop(error: Exception | None) -> None:
        with DistributedKeyedModels(TREE, folder=tmp_path) as models:
            models.learn_many(["a"], pd.DataFrame({"x": [0.0]}), [1.0])
            for worker in models._workers:
                worker.crash()
            if error is not None:
                raise error

    with pytest.raises(ZeroDivisionError):
        stop(ZeroDivisionError())
    with pytest.raises(RuntimeError, match="a worker has died"):
        stop(None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": ret.ForgetfulDecisionTreeRegressor(seed=1)}, "not ForgetfulDecisionTree"),
        ({"model": TREE.clone({"batch_size": 6})}, "batch_size=5.*batch_size=6"),
        ({"pooled": TREE}, "the pooled model of .* is None, not StreamDecisionTreeRegressor"),
        ({"n_workers": 3}, "another number of workers than 3: it holds worker0of2.db"),
        ({"n_workers": 0}, "n_workers"),
        ({"max_models": 1}, "max_models"),
        ({"time_to_live": 0}, "time_to_live"),
        ({"model": "tree"}, "model must be"),
        ({"pooled": ret.StreamDecisionTreeClassifier()}, "pooled must be"),
    ],
)
def test_parameters_and_folders_of_others(
    given: dict[str, Any], message: str, tmp_path: Path
) -> None:
    """Whatever is out of range or not that of the files is refused by name; the files stay."""
    frame = pd.DataFrame({"x": [0.0]})
    with DistributedKeyedModels(TREE, folder=tmp_path) as models:
        models.learn_many(["a"], frame, [1.0])
    with pytest.raises(ValueError, match=message):
        DistributedKeyedModels(**{"model": TREE, "folder": tmp_path, **given})
    with DistributedKeyedModels(TREE, folder=tmp_path) as models:
        assert models.position == 1


class Refusing(base.Regressor):
    """A model that raises what no learner of this package would."""

    def __init__(self) -> None:
        self.n = 0

    def learn_one(self, x: dict[str, float], y: float) -> None:
        if y < 0:
            raise KeyError("negative")
        self.n += 1

    def predict_one(self, x: dict[str, float]) -> int:
        return 1 // (self.n - 5)


def test_errors_of_models() -> None:
    """The samples of other keys are learned; an error of an answer arrives as it was raised."""
    keys = [i % 30 for i in range(3000)]
    y = [-1.0 if i == 450 else 1.0 for i in range(3000)]
    with DistributedKeyedModels(Refusing(), n_workers=3) as models:
        models.learn_many(keys, pd.DataFrame({"x": [0.0] * 3000}), y)
        counts = models.counts()
        assert (counts.n_samples_seen, counts.n_refused, counts.n_models) == (2999, 1, 30)
        assert counts.refusal.endswith("of 0: KeyError: 'negative'")
        models.learn_many(["a"] * 5, pd.DataFrame({"x": [0.0] * 5}), [1.0] * 5)
        with pytest.raises(ZeroDivisionError) as error:
            models.predict_one("a", {"x": 0.0})
        assert type(error.value) is ZeroDivisionError


class Doubtful(base.Regressor):
    """A model that answers with the last target, whatever that is."""

    def learn_one(self, x: dict[str, float], y: float) -> None:
        self.last = y

    def predict_one(self, x: dict[str, float]) -> float:
        return self.last


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pd", "pl", "pa"])
def test_frames(kind: Any) -> None:
    """Of any kind. A key that is new has no answer, and a model may not know one."""
    with DistributedKeyedModels(Doubtful()) as models:
        models.learn_many(["a", "b", "c"], kind({"x": [0.0] * 3}), [1.0, math.nan, 2.0])
        found = narwhals.from_native(
            models.predict_many(["c", "b", "a", "new"], kind({"x": [0.0] * 4})), series_only=True
        ).to_list()
        assert found[0] == 2.0
        assert math.isnan(found[1])
        assert found[2] == 1.0
        assert found[3] is None or math.isnan(found[3])
        with pytest.raises(TypeError, match="keys must be a series"):
            models.predict_many({"c": 1}, kind({"x": [0.0]}))
        with pytest.raises(TypeError, match="keys must be a series"):
            models.learn_many("c", kind({"x": [0.0]}), [1.0])
        with pytest.raises(TypeError, match="a key must be a string, bytes or a whole number"):
            models.predict_one(1.5, {"x": 0.0})
        assert len(models.predict_learn_many([], kind({"x": [0.0] * 0}), [])) == 0
