"""Learning on a real local Ray of two nodes: the answers are those of one process, nothing is lost.

What does not depend on Ray itself is tested without it, in `test_workers.py`.
"""

from __future__ import annotations

import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from river import datasets, evaluate, metrics

import river_extra_trees as ret
from river_extra_trees.distributed import (
    DistributedClassifier,
    DistributedKeyedModels,
    DistributedRegressor,
)
from river_extra_trees.distributed.ray.workers import load_checkpoint, save_checkpoint
from river_extra_trees.keyed import KeyedModels
from river_extra_trees.persistence import save_bytes
from tests.tools.estimators import (
    CASES,
    FORMER,
    answers,
    begun_anew,
    broken_stream,
    is_classifier,
    learn,
    make,
    stream,
)
from tests.tools.ray_ready import free_port, started
from tests.tools.systems import needs_proc

Case = tuple[str, int]
# Workers exchange losses in the one, votes in the other; `test_workers.py` has all forests.
FORESTS = [("ForgetfulRandomForestRegressor", 1), ("ExtraTreesClassifier", 3)]


@pytest.fixture(scope="module")
def ray(cluster: Any) -> Iterator[Any]:
    """Ray with a second node."""
    connected, nodes = cluster
    node = started(lambda: nodes.add_node(num_cpus=2, include_dashboard=False))
    yield connected
    nodes.remove_node(node)


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


# --- Forests


@pytest.mark.slow
@pytest.mark.parametrize(("case", "n_workers"), list(zip(FORESTS, (2, 4), strict=True)), ids=str)
def test_one_forest(ray: Any, case: Case, n_workers: int, tmp_path: Path) -> None:
    """A forest over workers answers as one in this process, all along a stream.

    A worker is killed with a block on its way. The forest that is gathered goes on alike.
    """
    weights, asked = random.Random(6), list(stream(case, 3, seed=2))
    forest, gathered = make(case, n_models=5), None
    planted = list(forest._core.trees)
    options = {"block_size": 50, "folder": tmp_path, "checkpoint_every": 100}
    with spread(case, forest.clone(), n_workers=n_workers, **options) as model:
        processes = model.processes()
        for i, (x, y) in enumerate(broken_stream(case, 500)):
            label = "new" if is_classifier(case) and i == 300 else y
            weight = weights.choice([0.0, 1.0, 2.5])
            for each in (model, forest, gathered):
                if each is not None:
                    each.learn_one(x, label, weight)
            if i % 97 == 0:
                assert answers(model, asked) == answers(forest, asked)
            if i == 250:
                gathered = model.gather()
            if i == 4 * 97 + 50:  # a block has just been sent
                assert not model._gathered
                kill(processes[-1])
        assert answers(model, asked) == answers(forest, asked) == answers(gathered, asked)
        assert model.n_restarts == 1
        assert model.n_samples_seen == forest.n_samples_seen
        for seen, saved in model.counters():
            assert seen == forest.n_samples_seen
            assert 0 < saved <= seen <= saved + 100 + 50
        place = next(tmp_path.iterdir())
        files = [f"part{i}.pickle" for i in range(n_workers)]
        assert sorted(path.name for path in place.iterdir()) == files
        frame = pd.DataFrame([{"a": x.get("a"), "d": 1.0} for x, _ in asked])
        assert model.predict_many(frame).equals(forest.predict_many(frame))
        assert begun_anew(forest, planted) > 0
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_evaluation(ray: Any) -> None:
    """The evaluation of river needs to know nothing of workers, which are on both nodes.

    Refused questions raise what the forest would; a death without a folder is told.
    """
    rows = list(datasets.Phishing().take(150))
    forest = ret.ExtraTreesClassifier(**{**FORMER, "n_models": 4, "seed": 1})
    expected = evaluate.progressive_val_score(rows, forest.clone(), metrics.Accuracy())
    with DistributedClassifier(forest, n_workers=4) as model:
        found = evaluate.progressive_val_score(rows, model, metrics.Accuracy())
        assert found.get() == expected.get() > 0.5
        actors = [worker._actor._actor_id.hex() for worker in model._workers]
        known = ray._private.state.actors()
        assert len({known[actor]["Address"]["NodeID"] for actor in actors}) == 2
        with pytest.raises(ValueError, match="feature 'a': the value must be finite") as error:
            model.predict_one({"a": float("inf")})
        assert type(error.value) is ValueError
        kill(model.processes()[0])
        with pytest.raises(RuntimeError, match="no folder for checkpoints"):
            model.predict_one({"a": 1.0})


# --- Keyed models


def keyed_rows(n: int) -> tuple[list[int], pd.DataFrame, pd.Series]:
    numbers = range(n)
    X = pd.DataFrame({"x": [i % 11 for i in numbers], "t": numbers}, dtype=float)
    return [i % 37 for i in numbers], X, X["x"] + X["t"] % 37


def feed(feeder: Any, part: int, n: int) -> None:
    """Send what is left of a partition: the keys that are even, or odd."""
    keys, X, y = keyed_rows(n)
    rows = [i for i in range(feeder.position, n) if keys[i] % 2 == part]
    for start in range(0, len(rows), 100):
        chosen = rows[start : start + 100]
        own = [keys[i] for i in chosen]
        feeder.learn_many(own, X.iloc[chosen], y.iloc[chosen], numbers=chosen)
    feeder.save()


@pytest.mark.slow
def test_keyed_models(ray: Any, tmp_path: Path) -> None:
    """A worker is killed, then the number of workers changes, then all ends: nothing is lost."""
    base = ret.StreamDecisionTreeRegressor(batch_size=5, seed=1)
    keys, X, y = keyed_rows(3000)
    alone = KeyedModels(base)
    alone.learn_many(keys, X, y)
    options = {"n_groups": 6, "block_size": 100, "folder": tmp_path, "checkpoint_every": 400}
    task = ray.remote(feed)
    models = DistributedKeyedModels(base, 2, **options)
    running = [task.remote(models.feeder(part), part, 2000) for part in (0, 1)]
    kill(models.processes()[1])
    models.rescale(3)
    ray.get(running)
    assert models.counts().n_samples_seen == 2000
    processes = models.processes()
    assert len(set(processes)) == 3
    again = models.feeder(0)
    assert 1990 < again.position <= 2000
    chosen = [i for i in range(2000, 2300) if keys[i] % 2 == 0]
    own = [keys[i] for i in chosen]
    again.learn_many(own, X.iloc[chosen], y.iloc[chosen], numbers=chosen)
    again.wait()
    for actor in models._actors:  # all ends, without a word
        ray.kill(actor)
    with DistributedKeyedModels(base, 2, **options) as models:
        assert 1990 < models.feeder(0).position <= 2000
        ray.get([task.remote(models.feeder(part), part, 3000) for part in (0, 1)])
        assert models.counts().n_samples_seen == 3000
        assert models.predict_many(keys[:50], X[:50]).equals(alone.predict_many(keys[:50], X[:50]))
        assert models.predict_one("new", {"x": 1.0}) is None
        for key in set(keys):
            model = models.model_of(key)
            assert save_bytes(model) == save_bytes(alone.model_of(key))


# --- Ports

SERVE = """
import json, pathlib, sys
import river_extra_trees as ret
from river_extra_trees.distributed import SnapshotServer

if __name__ == "__main__":
    snapshot = ret.StreamDecisionTreeRegressor(seed=1).snapshot()
    with SnapshotServer(snapshot, n_replicas=1, port=int(sys.argv[2])) as server:
        server.predict_one({})
        pathlib.Path(sys.argv[1]).touch()
        sys.stdin.read()
"""


def listening(process: int) -> dict[int, str]:
    """The local addresses, as the system writes them, of the sockets a process listens on."""
    found = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
            _, address, _, state, *_, inode = line.split()[:10]
            if state == "0A":
                found[int(inode)] = address.partition(":")[0]
    return found


def sockets(process: int) -> set[int]:
    """The numbers of the sockets of a process."""
    links = [os.readlink(path) for path in Path(f"/proc/{process}/fd").iterdir()]
    return {int(link[8:-1]) for link in links if link.startswith("socket:[")}


def descendants(process: int) -> list[int]:
    """A process, those that it began, and those that they began."""
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    own = [int(child) for path in tasks for child in path.read_text().split()]
    return [process, *(each for child in own for each in descendants(child))]


@pytest.mark.slow
@needs_proc
def test_ray_of_ours_listens_on_loopback(tmp_path: Path) -> None:
    """Without a call of `ray.init` by the user, no process accepts connections from elsewhere."""
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    (tmp_path / "serve.py").write_text(SERVE)
    names = ("RAY_ADDRESS", "RAY_AUTH_MODE", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    environment["PYTHONPATH"] = ":".join(filter(None, sys.path))
    environment["RAY_worker_niceness"] = "0"  # else whatever runs beside it comes first
    server = subprocess.Popen(
        [sys.executable, tmp_path / "serve.py", tmp_path / "ready", str(free_port())],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not (tmp_path / "ready").exists():
            assert server.poll() is None
            time.sleep(0.1)
        known = listening(server.pid)
        ours = set().union(*map(sockets, descendants(server.pid)))
        addresses = [known[number] for number in ours if number in known]
        assert len(addresses) >= 4
        # 127.0.0.1, by itself and as an address of IPv6
        assert set(addresses) <= {"0100007F", "0000000000000000FFFF00000100007F"}
    finally:
        server.communicate(timeout=60)


# --- Without Ray


def test_checkpoints_are_whole(tmp_path: Path) -> None:
    """A checkpoint that cannot be written leaves the old one, and no rubbish."""
    path = tmp_path / "folder" / "checkpoint"
    save_checkpoint(path, [1, 2])
    with pytest.raises(AttributeError):
        save_checkpoint(path, lambda: None)
    assert load_checkpoint(path) == [1, 2]
    assert [file.name for file in path.parent.iterdir()] == ["checkpoint"]


def test_pickles_of_ray() -> None:
    """Ray's own pickler, which takes methods apart, copies every learner."""
    cloudpickle = pytest.importorskip("ray.cloudpickle", reason="the extra `ray` is not installed")
    for case in CASES:
        model, asked = learn(make(case), stream(case, 70)), list(stream(case, 10, seed=2))
        copied = pickle.loads(cloudpickle.dumps(model))
        assert answers(copied, asked) == answers(model, asked), case


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Ray, the first worker says what to install."""
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    model = spread(("ExtraTreesClassifier", 0))
    with pytest.raises(ImportError, match=r"extra 'ray'.*pip install ray"):
        model.predict_one({"a": 1.0})
