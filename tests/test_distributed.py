"""Learning on a real local Ray: the answers are those of one process, and nothing gets lost."""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import river_extra_trees as ret
from river_extra_trees.blocks import Block
from river_extra_trees.distributed import (
    DistributedClassifier,
    DistributedRegressor,
    KeyedModels,
    SnapshotServer,
)
from river_extra_trees.distributed._workers import load_checkpoint, save_checkpoint
from river_extra_trees.parts import SplitsIntoParts, learn_together
from tests.estimators import CASES, answers, is_classifier, learn, make, stream
from tests.ray_ready import skip_unless_ray_can_start

Case = tuple[str, int]
FORESTS = [case for case in CASES if isinstance(make(case), SplitsIntoParts) and case[1] == 1]
SECOND = ("ForgetfulRandomForestClassifier", 1)
# One Ray for all tests: with xdist, one process runs the whole file.
pytestmark = pytest.mark.xdist_group("ray")


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        skip_unless_ray_can_start(monkeypatch)
        monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # else it asks to decide on that
        import ray

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        yield ray
        ray.shutdown()


def spread(case: Case, forest: Any = None, **options: Any) -> Any:
    kind = DistributedClassifier if is_classifier(case) else DistributedRegressor
    return kind(forest or make(case), **options)


def kill(process: int) -> None:
    """End a process as a lack of memory would."""
    os.kill(process, signal.SIGKILL)
    while Path(f"/proc/{process}").exists() and "Z" not in state_of(process):
        time.sleep(0.01)


def state_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


@pytest.mark.parametrize("case", FORESTS, ids=str)
def test_one_forest(ray: Any, case: Case) -> None:
    """A forest over workers answers as one in this process, all along a stream."""
    rows, asked = list(stream(case, 200)), list(stream(case, 20, seed=2))
    forest = make(case)
    with spread(case, n_workers=2, block_size=64) as model:
        for i, (x, y) in enumerate(rows):
            if i % 60 == 0:
                assert answers(model, asked[:3]) == answers(forest, asked[:3])
            model.learn_one(x, y)
            forest.learn_one(x, y)
        assert answers(model, asked) == answers(forest, asked)
        merged = model.gather()
        assert answers(merged, asked) == answers(forest, asked)
        assert model.n_samples_seen == forest.n_samples_seen == 200


def frames(case: Case, n: int) -> tuple[pd.DataFrame, pd.Series]:
    rows, targets = zip(*stream(case, n), strict=True)
    return pd.DataFrame(list(rows))[["a", "b", 7]].rename(columns={7: "g"}), pd.Series(targets)


@pytest.mark.parametrize(
    ("name", "n_workers"),
    [("StreamDecisionForestClassifier", 3), ("ForgetfulRandomForestRegressor", 2)],
)
def test_frames(ray: Any, name: str, n_workers: int) -> None:
    """Any number of workers learns frames, and answers them, as one process does."""
    case = (name, 0)
    forest = make(case, n_models=5)
    X, y = frames(case, 250)
    with spread(case, forest, n_workers=n_workers) as model:
        for start in range(0, 250, 90):
            block = slice(start, start + 90)
            model.learn_many(X[block], y[block], 0.5)
            forest.learn_many(X[block], y[block], 0.5)
        assert model.predict_many(X[:30]).equals(forest.predict_many(X[:30]))
        if is_classifier(case):
            assert model.predict_proba_many(X[:30]).equals(forest.predict_proba_many(X[:30]))


def test_killed_worker(ray: Any, tmp_path: Path) -> None:
    """A worker killed under load comes back, and the answers stay those of one process."""
    rows, asked = list(stream(SECOND, 400)), list(stream(SECOND, 20, seed=2))
    forest = learn(make(SECOND), rows)
    options = {"block_size": 30, "folder": tmp_path, "checkpoint_every": 100}
    with spread(SECOND, n_workers=2, **options) as model:
        for i, (x, y) in enumerate(rows):
            model.learn_one(x, y)
            if i in (170, 171, 290):
                seen, saved = model.counters()[i % 2]
                assert seen == i + 1
                assert seen - saved <= 100 + 30
                kill(model.processes()[i % 2])
        assert answers(model, asked) == answers(forest, asked)
        assert model.n_restarts == 3
        assert [seen for seen, _ in model.counters()] == [400, 400]
        place = next(tmp_path.iterdir())
        assert sorted(path.name for path in place.iterdir()) == ["part0.pickle", "part1.pickle"]
    assert not list(tmp_path.iterdir())


def test_model_that_goes_on(ray: Any) -> None:
    """The workers begin with what the model knew when it was given, whatever it learns later."""
    rows, asked = list(stream(SECOND, 200)), list(stream(SECOND, 20, seed=2))
    forest = learn(make(SECOND), rows[:70])
    with DistributedClassifier(forest, n_workers=2) as model:
        learn(forest, rows[70:])
        learn(model, rows[70:])
        assert model.n_samples_seen == 200
        assert answers(model, asked) == answers(forest, asked)


def test_killed_worker_without_checkpoints(ray: Any) -> None:
    """Without a folder, the death of a worker is an error that says so."""
    with spread(SECOND, n_workers=2) as model:
        learn(model, stream(SECOND, 20))
        kill(model.processes()[0])
        with pytest.raises(RuntimeError, match="without a folder for checkpoints"):
            model.predict_one({"a": 1.0})


def test_clouds(ray: Any) -> None:
    """Dynamic trees: a cloud per worker, whose answers are averaged as in one process."""
    case = ("DynamicTreeRegressor", 0)
    rows, targets = zip(*stream(case, 80), strict=True)
    clouds = make(case).split(2)
    learn_together(clouds, Block(rows, targets))
    asked = Block([x for x, _ in stream(case, 20, seed=2)])
    expected = clouds[0].predict_numbers([cloud.ballots(asked) for cloud in clouds])
    with spread(case, n_workers=2) as model:
        learn(model, zip(rows, targets, strict=True))
        assert [model.predict_one(x) for x in asked.rows()] == expected
        with pytest.raises(TypeError, match="clouds stay apart"):
            model.gather()


def test_refused_samples(ray: Any) -> None:
    """What the model refuses is refused here, before anything is learned."""
    case = ("StreamDecisionForestClassifier", 0)
    X, y = frames(case, 30)
    with spread(case, n_workers=2) as model:
        with pytest.raises(ValueError, match="a label must not be None"):
            model.learn_one({"a": 1.0}, None)
        X.loc[7, "a"] = float("inf")
        with pytest.raises(ValueError, match=r"row 7: .*'a'"):
            model.learn_many(X, y)
        with pytest.raises(ValueError, match="30 rows and 29 targets"):
            model.learn_many(X, y[:29])
        assert model.n_samples_seen == 0
        assert model.predict_one({"a": 1.0}) is None
        with pytest.raises(TypeError, match="pickle what gather"):
            pickle.dumps(model)


def test_parameters() -> None:
    """Models that cannot be split, and wrong numbers, are refused by name. Ray is not needed."""
    forest = ret.StreamDecisionForestClassifier(n_models=3, seed=1)
    with pytest.raises(ValueError, match="a stream or forgetful forest"):
        DistributedClassifier(ret.ShrubEnsembleClassifier())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at most n_models, 3"):
        DistributedClassifier(forest, n_workers=4)
    for name in ("n_workers", "block_size", "checkpoint_every"):
        with pytest.raises(ValueError, match=name):
            DistributedClassifier(forest, **{name: 0})
    assert DistributedClassifier(forest, n_workers=3).clone().n_workers == 3


# --- Keyed models


def keyed_rows(n: int) -> list[tuple[int, dict[str, float], float]]:
    return [(i % 37, {"x": float(i % 11), "t": float(i)}, float(i % 11 + i % 37)) for i in range(n)]


def test_keyed_models(ray: Any, tmp_path: Path) -> None:
    """Each key has its model; a killed worker comes back; after an end it goes on from there."""
    base = ret.StreamDecisionTreeRegressor(batch_size=5, seed=1)
    rows = keyed_rows(3000)
    alone = {key: base.clone() for key in range(37)}
    options = {"n_workers": 2, "block_size": 100, "folder": tmp_path, "checkpoint_every": 400}
    model = KeyedModels(base, **options)
    for i, (key, x, y) in enumerate(rows[:2000]):
        model.learn_one(key, x, y)
        alone[key].learn_one(x, y)
        if i == 1234:
            kill(model.processes()[1])
    model.wait()
    assert model.n_samples_seen == 2000
    assert model.n_restarts == 1
    unsaved = [seen - saved for seen, saved in model.counters()]
    assert all(0 <= n <= 400 + 100 for n in unsaved)
    for worker in model._workers:  # this process ends, without a word
        worker.close()
    model = KeyedModels(base, **options)
    assert model.position == min(counts.position for counts in model.counts())
    assert 2000 - 2 * (400 + 100) <= model.position < 2000
    for key, x, y in rows[model.position :]:
        model.learn_one(key, x, y)
    for key, x, y in rows[2000:]:
        alone[key].learn_one(x, y)
    assert model.n_samples_seen == 3000
    assert sum(counts.n_models for counts in model.counts()) == 37
    asked = rows[:50]
    keys, frame = [key for key, _, _ in asked], pd.DataFrame([x for _, x, _ in asked])
    expected = [alone[key].predict_one(x) for key, x, _ in asked]
    assert model.predict_many(keys, frame).tolist() == expected
    assert model.predict_one(3, asked[3][1]) == expected[3]
    assert model.predict_one("new", asked[3][1]) is None
    assert model.model_of(3).predict_one(asked[3][1]) == expected[3]
    model.close()
    with pytest.raises(ValueError, match="another number of workers than 3"):
        KeyedModels(base, n_workers=3, folder=tmp_path)


def test_keyed_frames(ray: Any) -> None:
    """Frames of many keys are learned as their rows are, and refused samples counted."""
    base = ret.StreamDecisionTreeClassifier(batch_size=5, seed=1)
    X = pd.DataFrame({"x": [float(i % 7) for i in range(200)]})
    y, keys = pd.Series([i % 7 > 3 for i in range(200)]), pd.Series([i % 5 for i in range(200)])
    with KeyedModels(base, n_workers=2) as model:
        model.learn_many(keys, X, y)
        assert model.position == 200
        assert model.predict_proba_one(2, {"x": 6.0}) == {False: 0.0, True: 1.0}
        model.learn_one(2, {"x": float("inf")}, True)
        assert sum(counts.n_refused for counts in model.counts()) == 1
        with pytest.raises(TypeError, match="a key must be"):
            model.learn_one(2.5, {"x": 1.0}, True)
        with pytest.raises(ValueError, match="200 rows and 3 keys"):
            model.learn_many([1, 2, 3], X, y)
        assert model.position == 201


# --- Serving


def test_serving(ray: Any) -> None:
    """Readers answer with the snapshot published last, and can be asked from anywhere."""
    case = ("StreamDecisionForestClassifier", 0)
    model = learn(make(case), stream(case, 100))
    asked = list(stream(case, 10, seed=2))
    frame = pd.DataFrame([x for x, _ in asked])
    before = answers(model, asked)

    @ray.remote
    def ask(server: Any, x: Any) -> Any:
        return server.predict_proba_one(x)

    with SnapshotServer(model.snapshot(), n_readers=2) as server:
        learn(model, stream(case, 100, seed=3))
        said = [(server.predict_one(x), server.predict_proba_one(x)) for x, _ in asked]
        assert [repr((label, sorted(shares.items(), key=repr))) for label, shares in said] == before
        assert answers(model, asked) != before
        server.publish(model.snapshot())
        assert server.n_samples_seen() == [200, 200]
        assert server.predict_many(frame).equals(model.predict_many(frame))
        assert server.predict_proba_many(frame).equals(model.predict_proba_many(frame))
        x = asked[0][0]
        assert ray.get(ask.remote(server, x)) == model.predict_proba_one(x)


# --- Without Ray


def test_checkpoints_are_whole(tmp_path: Path) -> None:
    """A checkpoint that cannot be written leaves the old one, and no rubbish."""
    path = tmp_path / "folder" / "checkpoint"
    save_checkpoint(path, [1, 2])
    with pytest.raises(AttributeError):
        save_checkpoint(path, lambda: None)
    assert load_checkpoint(path) == [1, 2]
    assert [file.name for file in path.parent.iterdir()] == ["checkpoint"]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_pickles_of_ray(case: Case) -> None:
    """Ray's own pickler, which takes methods apart, copies every learner."""
    cloudpickle = pytest.importorskip("ray.cloudpickle", reason="the extra `ray` is not installed")
    model, asked = learn(make(case), stream(case, 70)), list(stream(case, 10, seed=2))
    assert answers(pickle.loads(cloudpickle.dumps(model)), asked) == answers(model, asked)


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Ray, the first worker says what to install."""
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    model = spread(("StreamDecisionForestClassifier", 0))
    with pytest.raises(ImportError, match=r"river-extra-trees\[ray\]"):
        model.predict_one({"a": 1.0})
