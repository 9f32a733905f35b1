"""One model per key over processes: the same as in one process, and nothing lost at a restart.

Ray's place is taken by a stand-in without processes; `test_ray.py` has the real one.
"""

import math
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
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


@pytest.mark.parametrize(
    ("model", "n_workers", "pooled"),
    [
        (TREE, 3, None),
        (ret.ExtraTreesClassifier(n_models=2, seed=1), 3, None),
        (naive_bayes.GaussianNB(), 3, None),
        (TREE, 1, TREE),  # each worker has a pooled model of its own
    ],
    ids=lambda each: type(each).__name__,
)
def test_equal(model: Any, n_workers: int, pooled: Any) -> None:
    """All answers and all models are those of one process, and so are refusals and errors."""
    keys, X, y = frame_of(400)
    is_regression = isinstance(model, base.Regressor)
    y = y if is_regression else y > 1.5
    alone = KeyedModels(model, pooled=pooled)
    x = {"a": 0.5, "b": 0.5}
    with DistributedKeyedModels(model, n_workers, pooled=pooled) as models:
        for i in range(0, 400, 100):
            w = 1.0 if isinstance(model, naive_bayes.GaussianNB) else 1.0 + i % 200
            part = keys[i : i + 100], X[i : i + 100], y[i : i + 100], w
            for each in (models, alone):
                each.learn_many(*part)
            said, expected = models.predict_learn_many(*part), alone.predict_learn_many(*part)
            pd.testing.assert_series_equal(said, expected)
            said, expected = (each.predict_many(*part[:2]) for each in (models, alone))
            pd.testing.assert_series_equal(said, expected)
            if not is_regression:
                said, expected = (each.predict_proba_many(*part[:2]) for each in (models, alone))
                pd.testing.assert_frame_equal(said, expected)
        for each in (models, alone):
            each.learn_many(["key 1", "key 2"], pd.DataFrame({"a": [[], 1.0]}), [1.0, 1.0])
        assert models.position == 802
        *counts, refusal = models.counts()
        assert counts == list(alone.counts()[:-1])
        assert refusal.partition(" of ")[2] == alone.counts().refusal.partition(" of ")[2] != ""
        assert all(same(models.model_of(key), alone.model_of(key)) for key in set(keys))
        assert models.model_of("new") is None
        for key in ("key 1", "new"):
            assert models.predict_one(key, x) == alone.predict_one(key, x)
        with pytest.raises(TypeError) as error:
            models.predict_one("key 1", {"a": []})
        assert type(error.value) is TypeError
        if is_regression:
            with pytest.raises(AttributeError):
                models.predict_proba_many(*part[:2])


def test_each_worker_has_its_share_of_the_time_to_live() -> None:
    """Rounded up: with three workers for ten samples, a model stays for four of its worker."""
    a, b = [key for key in map(str, range(20)) if shard_of(key, 3) == 0][:2]
    with DistributedKeyedModels(TREE, 3, time_to_live=10) as models:
        for keys, is_kept in (([a, b, b, b], True), ([b], False)):
            models.learn_many(keys, pd.DataFrame({"x": [0.0] * len(keys)}), [1.0] * len(keys))
            assert (models.model_of(a) is not None) == is_kept


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
        answers = calm.predict_learn_many(keys, X, y)
        expected = {key: calm.model_of(key) for key in set(keys)}
        assert calm.counts().n_samples_seen == 1200
        assert calm.counts().n_in_memory <= bounds.get("max_models", 60)
    models = DistributedKeyedModels(TREE, 3, tmp_path / "wild", **bounds)
    while (at := models.position) < len(keys):
        event, n = rng.random(), rng.randrange(1, 200)
        part = keys[at : at + n], X[at : at + n], y[at : at + n]
        if event < 0.2:
            models.learn_many(*part)
        elif event < 0.6:  # a sample that its worker has learned already gets no answer
            learned = [worker.held._position for worker in models._workers]
            said = models.predict_learn_many(*part)
            wanted = answers[at : at + n].copy()
            wanted[[i < learned[shard_of(keys[i], 3)] for i in wanted.index]] = math.nan
            pd.testing.assert_series_equal(said, wanted)
        elif event < 0.75:  # each worker may have stored another position
            rng.choice(models._workers).held.commit()
        elif event < 0.85:
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


@pytest.mark.parametrize("method", ["store.Store.commit", "models.KeyedModels._learn_rows"])
def test_a_disk_that_is_full(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that could not learn or commit is told; the models go on from the last commit."""
    keys, X, y = frame_of(300)

    def fail(*_: Any) -> None:
        raise OSError("no space left")

    def learn_and_close() -> None:
        models.learn_many(keys[100:200], X[100:200], y[100:200])
        models.close()

    with DistributedKeyedModels(TREE, 2, tmp_path) as models:
        models.learn_many(keys[:100], X[:100], y[:100])
    models = DistributedKeyedModels(TREE, 2, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(f"river_extra_trees.keyed.{method}", fail)
        with pytest.raises(OSError, match="no space left"):
            learn_and_close()
    with pytest.raises(RuntimeError, match="are closed"):  # no frame is learned without this one
        models.learn_many(keys[200:], X[200:], y[200:])
    models.close()
    with DistributedKeyedModels(TREE, 2, tmp_path) as models:
        assert models.position == 100
        models.learn_many(keys[100:], X[100:], y[100:])
        assert models.counts().n_samples_seen == 300


def test_a_worker_that_dies(tmp_path: Path) -> None:
    """The error says so, all workers end, and an error within a `with` block is not hidden."""
    keys, X, y = frame_of(50)
    models = DistributedKeyedModels(TREE, n_workers=3)
    workers = list(models._workers)
    models.learn_many(keys[:30], X[:30], y[:30])
    workers[0].crash()
    for call in (models.counts, lambda: models.learn_many(keys[30:], X[30:], y[30:])):
        with pytest.raises(RuntimeError, match="a worker has died"):
            call()
    assert all(worker.held is None for worker in workers)
    models.close()
    for call in (lambda: models.learn_many(keys, X, y), lambda: models.predict_one("a", {})):
        with pytest.raises(RuntimeError, match="the keyed models are closed"):
            call()

    def stop(error: Exception | None) -> None:
        with DistributedKeyedModels(TREE, folder=tmp_path) as models:
            for worker in models._workers:
                worker.crash()
            if error is not None:
                raise error

    with pytest.raises(ZeroDivisionError):
        stop(ZeroDivisionError())
    with pytest.raises(RuntimeError, match="a worker has died"):
        stop(None)


def test_samples_that_cannot_be_sent() -> None:
    """They are refused here, and nothing is learned; nor can the models themselves be sent."""
    with DistributedKeyedModels(TREE) as models:
        with pytest.raises(TypeError, match="make them again"):
            pickle.dumps(models)
        with pytest.raises(Exception, match=r"pickle|local object"):
            models.learn_many(["a", "b"], pd.DataFrame({"x": [1.0, lambda: 1]}), [1.0, 1.0])
        assert models.position == 0
        assert models.counts().n_samples_seen == 0
        assert len(models.predict_learn_many([], pd.DataFrame({"x": []}), [])) == 0


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
