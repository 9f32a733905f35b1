"""One model per key over processes: the same as in one process, whatever dies on the way.

Ray's place is taken by a stand-in without processes; `test_ray.py` has the real one.
"""

from __future__ import annotations

import collections
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
from river import base, naive_bayes, tree

import river_extra_trees as ret
from river_extra_trees import persistence
from river_extra_trees.distributed import DistributedKeyedModels, KeyGroups
from river_extra_trees.distributed.ray.group_worker import GroupWorker
from river_extra_trees.keyed import KeyedModels, shard_of
from tests.tools import ray_in_process
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


def bits(models: Any, keys: Any) -> list[bytes | None]:
    """The models of keys, to the last bit."""
    found = (models.model_of(key) for key in sorted(set(keys)))
    return [None if model is None else bits_of(model) for model in found]


def bits_of(model: Any) -> bytes:
    if isinstance(model, naive_bayes.GaussianNB):
        return repr(model.predict_proba_one({"a": 0.3, "b": 0.7})).encode()
    return persistence.save_bytes(model)


# --- The same as in one process


@pytest.mark.parametrize("n_workers", [1, 2, 4])
@pytest.mark.parametrize(
    "model",
    [TREE, ret.ExtraTreesClassifier(n_models=2, seed=1), naive_bayes.GaussianNB()],
    ids=lambda model: type(model).__name__,
)
def test_equal(model: Any, n_workers: int) -> None:
    """All answers, by frames and one by one, and all models are those of one process."""
    keys, X, y = frame_of(400)
    y = y if isinstance(model, base.Regressor) else y > 1.5
    alone = KeyedModels(model)
    with DistributedKeyedModels(model, n_workers, block_size=30) as models:
        for i in range(0, 400, 100):
            w = 1.0 if isinstance(model, naive_bayes.GaussianNB) else 1.0 + i % 200
            part = keys[i : i + 100], X[i : i + 100], y[i : i + 100], w
            said, expected = models.predict_learn_many(*part), alone.predict_learn_many(*part)
            pd.testing.assert_series_equal(said, expected)
            said, expected = (each.predict_many(*part[:2]) for each in (models, alone))
            pd.testing.assert_series_equal(said, expected)
            if not isinstance(model, base.Regressor):
                said, expected = (each.predict_proba_many(*part[:2]) for each in (models, alone))
                pd.testing.assert_frame_equal(said, expected)
            for key, x, target in zip(keys[:20], X.to_dict("records"), y, strict=False):
                said, expected = (each.predict_one(key, x) for each in (models, alone))
                assert said == expected
                models.learn_one(key, x, target)
                alone.learn_one(key, x, target)
        assert models.position == 480
        assert models.counts() == alone.counts()
        assert bits(models, keys) == bits(alone, keys)
        assert models.model_of("new") is None
        assert models.predict_one("new", {}) is None
        x = {"a": 0.5, "b": 0.5}
        if isinstance(model, base.Regressor):
            with pytest.raises(AttributeError):
                models.predict_proba_one("key 1", x)
        else:
            assert models.predict_proba_one("key 1", x) == alone.predict_proba_one("key 1", x)


@pytest.mark.parametrize("seed", range(4))
def test_whatever_happens(seed: int, tmp_path: Path) -> None:
    """Workers die or change in number, or all ends: no sample is lost, and none counts twice.

    So it is with models that are dropped or spilled, or whose time is over.
    """
    rng = random.Random(seed)
    keys, X, y = frame_of(2000, 60, seed)
    rows = X.to_dict("records")
    bounds: dict[str, Any] = rng.choice(
        [{}, {"max_models": 40}, {"max_models": 30, "when_full": "spill"}, {"time_to_live": 100}]
    )
    options = {"n_groups": 8, "block_size": 40, "checkpoint_every": 300, **bounds}
    with DistributedKeyedModels(TREE, 3, folder=tmp_path / "calm", **options) as calm:
        calm.learn_many(keys, X, y)
        expected, n_seen = bits(calm, keys), calm.counts().n_samples_seen
    models = DistributedKeyedModels(TREE, 2, folder=tmp_path / "wild", **options)
    while (at := models.position) < len(keys):
        event, n = rng.random(), rng.randrange(1, 200)
        part = keys[at : at + n], X[at : at + n], y[at : at + n]
        if event < 0.4:
            models.learn_many(*part)
        elif event < 0.5:
            models.predict_learn_many(*part)
        elif event < 0.7:
            for i in range(at, min(at + n, len(keys))):
                models.learn_one(keys[i], rows[i], y[i])
        elif event < 0.85:
            rng.choice(models._actors).crash()
        elif event < 0.9:
            models.rescale(rng.randrange(1, 5))
        elif event < 0.95:
            for actor in models._actors:  # and with them this process
                actor.crash()
                actor.is_dead = True
            models = DistributedKeyedModels(
                TREE, rng.randrange(1, 5), folder=tmp_path / "wild", **options
            )
            assert models.position >= at - 300 - 400 - 4 * 40
        else:
            models.predict_one(rng.choice(keys), rows[0])
        assert sum(len(whole.parcel) for whole in models._delivery._kept) <= 300 + 300 + 4 * 4 * 40
    assert bits(models, keys) == expected
    assert models.counts().n_samples_seen == n_seen == 2000
    models.close()


@pytest.mark.parametrize("is_stored", [False, True], ids=["calm", "with deaths"])
@pytest.mark.parametrize("n_workers", [1, 2, 3])
def test_pooled(n_workers: int, is_stored: bool, tmp_path: Path) -> None:
    """Each key group has a pooled model of its own, whatever the number of workers."""
    keys, X, y = frame_of(240)
    rows = X.to_dict("records")
    alone = [KeyedModels(TREE, pooled=TREE) for _ in range(4)]
    options: dict[str, Any] = {"n_groups": 4, "checkpoint_every": 70, "pooled": TREE}
    folder = tmp_path if is_stored else None
    with DistributedKeyedModels(TREE, n_workers, folder=folder, **options) as models:
        for start in range(0, 240, 40):
            expected = []
            for i in range(start, start + 40):
                group = alone[shard_of(keys[i], 4)]
                expected.append(group.predict_one(keys[i], rows[i]))
                group.learn_one(keys[i], rows[i], y[i])
            part = slice(start, start + 40)
            if start == 80:  # what is gathered for other keys of the group decides, too
                said = []
                for i in range(start, start + 40):
                    said.append(models.predict_one(keys[i], rows[i]))
                    models.learn_one(keys[i], rows[i], y[i])
            else:
                said = models.predict_learn_many(keys[part], X[part], y[part]).tolist()
            assert [None if each != each else each for each in said] == expected
            if is_stored and start == 40:
                models._actors[0].crash()
            if is_stored and start == 120:
                models.rescale(n_workers % 3 + 1)
        for key in ("new", "newer", keys[0]):
            group = alone[shard_of(key, 4)]
            assert models.predict_one(key, rows[0]) == group.predict_one(key, rows[0])
        assert models.predict_one("new", rows[0]) is not None
    if is_stored:
        with pytest.raises(ValueError, match="belongs to keyed models with pooled StreamDec"):
            DistributedKeyedModels(TREE, 1, folder=folder, n_groups=4)
        with DistributedKeyedModels(TREE, 1, folder=folder, **options) as models:
            group = alone[shard_of("new", 4)]
            assert models.predict_one("new", rows[0]) == group.predict_one("new", rows[0])


def test_feeders(tmp_path: Path) -> None:
    """Each feeder has its partition, with numbers of its own, and goes on where it was."""
    keys, X, y = frame_of(600)
    alone = KeyedModels(TREE)
    alone.learn_many(keys, X, y)
    is_second = np.array([key > "key 2" for key in keys])
    parts = [np.flatnonzero(is_second == number) for number in (False, True)]
    options = {"n_groups": 6, "folder": tmp_path, "block_size": 20, "checkpoint_every": 50}
    with DistributedKeyedModels(TREE, 3, **options) as models:
        feeders = [pickle.loads(pickle.dumps(models.feeder(name))) for name in (0, "one")]
        for feeder, rows in zip(feeders, parts, strict=True):
            for i in range(0, 150, 30):
                feed(feeder, rows[i : i + 30], keys, X, y)
            with pytest.raises(TypeError, match="this feeder is at work"):
                pickle.dumps(feeder)
        again = models.feeder("one")  # the first one for it died
        rows = parts[1][parts[1] >= again.position]
        assert 0 < len(rows) < len(parts[1])
        feed(again, rows[rows < 400], keys, X, y)
        feed(feeders[0], parts[0][150:], keys, X, y)
        with pytest.raises(ValueError, match="must ascend from the position, which is"):
            feed(again, rows, keys, X, y)
        with pytest.raises(ValueError, match="X has 1 rows, and there are 2 numbers"):
            again.learn_many(["a"], X[:1], y[:1], numbers=[1000, 1001])
        models.rescale(2)
        feed(again, rows[rows >= again.position], keys, X, y)
        for feeder in (feeders[0], again):
            feeder.save()
        assert bits(models, keys) == bits(alone, keys)
        assert models.position == 0
        with pytest.raises(ValueError, match="fed by the keyed models themselves"):
            models.feeder("own")
        for partition in (None, 1.5, True, ["a"]):
            with pytest.raises(TypeError, match="a partition must be a string or a whole number"):
                models.feeder(partition)
        with pytest.raises(TypeError, match="must be whole numbers, not float64"):
            again.learn_many(["a"], X[:1], y[:1], numbers=[1000.9])
    with DistributedKeyedModels(TREE, 4, **options) as models:
        ends = [int(rows[-1]) + 1 for rows in parts]
        assert [models.feeder(name).position for name in (0, "one")] == ends
        assert models.counts().n_samples_seen == 600


def feed(feeder: Any, rows: Any, keys: list[str], X: pd.DataFrame, y: Any) -> None:
    feeder.learn_many([keys[i] for i in rows], X.iloc[rows], y.iloc[rows], numbers=rows)


def test_repeated_samples(tmp_path: Path) -> None:
    """What a group had received before a crash gets no answer, because it has been learned."""
    keys, X, y = frame_of(200)
    options = {"n_groups": 2, "folder": tmp_path, "checkpoint_every": 1000}
    models = DistributedKeyedModels(TREE, 2, **options)
    models.learn_many(keys, X, y)
    models.wait()
    assert models.feeder("own, but of a second process").position == 0
    models._actors[0].held._groups.commit("own", 200)  # and not the other one
    for actor in models._actors:
        actor.crash()
        actor.is_dead = True
    with DistributedKeyedModels(TREE, 2, **options) as models:
        assert models.position == 0
        said = models.predict_learn_many(keys, X, y)
        firsts = {keys.index(key) for key in set(keys)}
        for i, key in enumerate(keys):
            assert math.isnan(said[i]) == (i in firsts or shard_of(key, 2) == 0)
        assert models.counts().n_samples_seen == 200


def test_forget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key is forgotten at once, whatever dies then."""
    keys, X, y = frame_of(100, 5)
    with DistributedKeyedModels(TREE, folder=tmp_path, n_groups=4) as models:
        models.learn_many(keys, X, y)
        models.learn_one("key 3", {"a": 1.0}, 1.0)
        assert models.forget("key 3")
        assert not models.forget("key 3")
        forget = KeyGroups.forget

        def forget_and_die(*given: Any) -> None:
            forget(*given)
            monkeypatch.undo()
            take_the_place_of_ray(monkeypatch)
            raise ray_in_process.RayActorError

        monkeypatch.setattr(KeyGroups, "forget", forget_and_die)
        assert models.forget("key 1")  # although the answer was lost
        for actor in models._actors:
            actor.crash()
        assert models.predict_one("key 3", {}) is None
        assert models.predict_one("key 2", {}) is not None
        assert models.counts().n_models == 3


def test_little_is_sent() -> None:
    """A question concerns one worker, and what is gathered for others stays gathered."""
    keys = [
        next(f"key {i}" for i in range(99) if shard_of(f"key {i}", 64) // 16 == w) for w in range(4)
    ]
    with DistributedKeyedModels(TREE, 4) as models:
        for _ in range(5):
            for key in keys:
                models.learn_one(key, {"a": 1.0}, 2.0)
        assert models.predict_one("new", {}) is None
        assert [len(link.gathered) for link in models._delivery.links] == [5, 5, 5, 5]
        assert models.predict_one(keys[2], {"a": 1.0}) == 2.0
        assert [len(link.gathered) for link in models._delivery.links] == [5, 5, 0, 5]


# --- Failures


def test_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit that fails is told; the worker goes back to the last one, and all is sent again."""
    keys, X, y = frame_of(300)
    alone = KeyedModels(TREE)
    alone.learn_many(keys, X, y)

    def fail(*_: Any) -> None:
        raise OSError("no space left")

    with DistributedKeyedModels(TREE, n_groups=4, folder=tmp_path, checkpoint_every=100) as models:
        models.learn_many(keys[:100], X[:100], y[:100])
        with monkeypatch.context() as patch:
            patch.setattr("river_extra_trees.keyed.store.Store.commit", fail)
            with pytest.raises(OSError, match="no space left"):
                models.save()
        models.save()  # of what was sent again
        assert models._delivery._kept == collections.deque()
        models.learn_many(keys[100:], X[100:], y[100:])
        assert bits(models, keys) == bits(alone, keys)
        assert models.counts().n_samples_seen == 300


def test_a_sample_that_kills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that die of a sample are not started for ever."""
    keys, X, y = frame_of(50)
    with DistributedKeyedModels(TREE, n_groups=4, folder=tmp_path) as models:

        def die(*_: Any) -> None:
            raise ray_in_process.RayActorError

        monkeypatch.setattr(GroupWorker, "ask", die)
        models.learn_many(keys, X, y)
        with pytest.raises(RuntimeError, match="workers died 4 times in a row"):
            models.predict_many(keys, X)


def test_without_a_folder() -> None:
    """The death of a worker is told, and all workers end all the same."""
    keys, X, y = frame_of(50)
    models = DistributedKeyedModels(TREE, n_workers=3)
    models.learn_many(keys, X, y)
    models._actors[0].crash()
    models.learn_many(keys, X, y)
    with pytest.raises(RuntimeError, match="no folder for checkpoints"):
        models.wait()
    with pytest.raises(ValueError, match="without a folder cannot change"):
        models.rescale(2)
    with pytest.raises(RuntimeError, match="no folder for checkpoints"):
        models.close()
    assert all(actor.is_dead for actor in models._actors)


def test_samples_without_targets() -> None:
    """They are refused here, and not by a worker that knows less of them."""
    keys, X, y = frame_of(50)
    with DistributedKeyedModels(TREE) as models:
        for learn in (models.learn_many, models.predict_learn_many):
            with pytest.raises(ValueError, match="no targets to learn: y is None"):
                learn(keys, X, None)
        assert models.position == 0
        models.learn_many(keys, X, y)
        assert models.counts().n_samples_seen == 50


def test_many_deaths_between_questions(tmp_path: Path) -> None:
    """Deaths between which questions were answered are not those of one message."""
    with DistributedKeyedModels(TREE, n_groups=4, folder=tmp_path) as models:
        models.learn_one("a", {"x": 0.0}, 1.0)
        models.save()
        for i in range(8):
            if i % 2:
                models.rescale(1 + i % 3)
            else:
                for actor in models._actors:
                    actor.crash()
            assert models.predict_one("a", {"x": 0.0}) == 1.0


def test_closed_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for workers that have been stopped."""
    monkeypatch.setattr("river_extra_trees.distributed.ray.keyed.PATIENCE", 0.2)
    keys, X, y = frame_of(50)
    with DistributedKeyedModels(TREE, n_groups=4, folder=tmp_path) as models:
        models.learn_many(keys, X, y)
        models.close()
    with DistributedKeyedModels(TREE, n_groups=4, folder=tmp_path) as models:
        assert models.position == 50


def test_error_in_a_context() -> None:
    """The error of the body is not hidden by that of a worker that died before."""

    def stop(error: Exception | None) -> None:
        with DistributedKeyedModels(TREE) as models:
            models.learn_one("a", {"x": 0.0}, 1.0)
            for actor in models._actors:
                actor.crash()
            if error is not None:
                raise error

    with pytest.raises(ZeroDivisionError):
        stop(ZeroDivisionError())
    with pytest.raises(RuntimeError, match="no folder for checkpoints"):
        stop(None)


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
    """Whatever a model raises, the samples of the other keys are learned."""
    with DistributedKeyedModels(Refusing(), n_workers=3, block_size=100) as models:
        for i in range(3000):
            models.learn_one(i % 30, {"x": 0.0}, -1.0 if i == 450 else 1.0)
        counts = models.counts()
        assert (counts.n_samples_seen, counts.n_refused, counts.n_models) == (2999, 1, 30)
        assert counts.refusal.endswith("of 0: KeyError: 'negative'")


def test_error_of_a_model_of_river() -> None:
    """A target that a model of river cannot square is refused for its key alone."""
    with DistributedKeyedModels(tree.HoeffdingTreeRegressor(), n_workers=2) as models:
        for i in range(600):
            models.learn_one(i % 2, {"x": float(i)}, 1e308 if i % 2 else 1.0)
        counts = models.counts()
        assert counts.n_refused > 0
        assert counts.n_samples_seen + counts.n_refused == 600
        assert models.predict_one(0, {"x": 1.0}) == 1.0


def test_errors_of_answers() -> None:
    """What a model raises when it is asked arrives as it was raised."""
    with DistributedKeyedModels(Refusing()) as models:
        for _ in range(5):
            models.learn_one("a", {"x": 0.0}, 1.0)
        with pytest.raises(ZeroDivisionError) as error:
            models.predict_one("a", {"x": 0.0})
        assert type(error.value) is ZeroDivisionError
        for x in (None, [("x", 1.0)]):
            with pytest.raises(TypeError, match="x must be a mapping"):
                models.predict_one("a", x)
            with pytest.raises(TypeError, match="x must be a mapping"):
                models.learn_one("a", x, 1.0)
        assert models.position == 5


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
            models.learn_one(1.5, {"x": 0.0}, 1.0)
        assert len(models.predict_learn_many([], kind({"x": [0.0] * 0}), [])) == 0
