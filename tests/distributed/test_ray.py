"""Models per key on a real local Ray of two nodes: nothing is lost at a restart.

What does not depend on Ray itself is tested without it, in `test_keyed.py`.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import river_extra_trees as ret
from river_extra_trees.distributed import DistributedKeyedModels
from river_extra_trees.keyed import KeyedModels
from river_extra_trees.persistence import save_bytes
from tests.tools.estimators import CASES, answers, learn, make, stream
from tests.tools.ray_ready import free_port, started
from tests.tools.systems import needs_proc

TREE = ret.StreamDecisionTreeRegressor(batch_size=5, seed=1)


@pytest.fixture(scope="module")
def ray(cluster: Any) -> Iterator[Any]:
    """Ray with a second node."""
    connected, nodes = cluster
    node = started(lambda: nodes.add_node(num_cpus=2, include_dashboard=False))
    yield connected
    nodes.remove_node(node)


# --- Keyed models


def keyed_rows(n: int) -> tuple[list[int], pd.DataFrame, pd.Series]:
    numbers = range(n)
    X = pd.DataFrame({"x": [i % 11 for i in numbers], "t": numbers}, dtype=float)
    return [i % 37 for i in numbers], X, X["x"] + X["t"] % 37


@pytest.mark.slow
def test_keyed_models(ray: Any, tmp_path: Path) -> None:
    """A worker is killed, and the run begins again from the last commit."""
    keys, X, y = keyed_rows(3000)
    alone = KeyedModels(TREE)
    alone.learn_many(keys, X, y)
    assert len({each["NodeID"] for each in ray.nodes() if each["Alive"]}) == 2
    models = DistributedKeyedModels(TREE, 2, tmp_path)
    models.learn_many(keys[:2000], X[:2000], y[:2000])
    models.commit()
    models.learn_many(keys[2000:2500], X[2000:2500], y[2000:2500])
    process = ray.get(models._workers[1].__ray_call__.remote(lambda _: os.getpid()))
    os.kill(process, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="a worker has died"):
        models.predict_many(keys[:50], X[:50])
    models._stop()
    with DistributedKeyedModels(TREE, 2, tmp_path) as models:
        assert models.position == 2000
        models.learn_many(keys[2000:], X[2000:], y[2000:])
        assert models.counts().n_samples_seen == 3000
        assert models.predict_many(keys[:50], X[:50]).equals(alone.predict_many(keys[:50], X[:50]))
        assert models.predict_one("new", {"x": 1.0}) is None
        for key in set(keys):
            assert save_bytes(models.model_of(key)) == save_bytes(alone.model_of(key))
    with pytest.raises(ValueError, match="is StreamDecisionTreeRegressor"):
        DistributedKeyedModels(ret.ForgetfulDecisionTreeRegressor(seed=1), 2, tmp_path)


# --- Ports

SERVE = """
import json, pathlib, sys
import river_extra_trees as ret
from river_extra_trees.distributed import SnapshotServer

if __name__ == "__main__":
    snapshot = ret.StreamDecisionTreeRegressor(seed=1).snapshot()
    with SnapshotServer(snapshot, n_replicas=1, port=int(sys.argv[2])) as server:
        server.ask("predict_one", {})
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


def serving(folder: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Return a process that serves a snapshot; raise what it wrote if it ends before."""
    command = [sys.executable, folder / "serve.py", folder / "ready", str(free_port())]
    with (folder / "errors").open("w") as errors:
        server = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
    while not (folder / "ready").exists():
        if server.poll() is not None:
            raise RuntimeError((folder / "errors").read_text())
        time.sleep(0.1)
    return server


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
    server = started(lambda: serving(tmp_path, environment))
    try:
        known = listening(server.pid)
        ours = set().union(*map(sockets, descendants(server.pid)))
        addresses = [known[number] for number in ours if number in known]
        assert len(addresses) >= 4
        # 127.0.0.1, by itself and as an address of IPv6
        assert set(addresses) <= {"0100007F", "0000000000000000FFFF00000100007F"}
    finally:
        server.communicate(timeout=60)


# --- Without Ray


def test_pickles_of_ray() -> None:
    """Ray's own pickler, which takes methods apart, copies every learner."""
    cloudpickle = pytest.importorskip("ray.cloudpickle", reason="the extra `ray` is not installed")
    for case in CASES:
        model, asked = learn(make(case), stream(case, 70)), list(stream(case, 10, seed=2))
        copied = pickle.loads(cloudpickle.dumps(model))
        assert answers(copied, asked) == answers(model, asked), case


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Ray, the first worker says what to install."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"extra 'ray'.*pip install ray"):
        DistributedKeyedModels(TREE)
