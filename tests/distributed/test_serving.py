"""Snapshots behind a real Ray Serve: no answer is wrong, mixed or lost, whatever dies."""

from __future__ import annotations

import asyncio
import copy
import doctest
import http.client
import json
import os
import pickle
import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from river import datasets

import river_extra_trees as ret
from river_extra_trees import distributed
from river_extra_trees.distributed import SnapshotServer
from river_extra_trees.distributed.serving import Replica
from tests.tools.estimators import learn
from tests.tools.ray_in_process import ServedHere
from tests.tools.systems import needs_proc

ROWS = list(datasets.Phishing())
ASKED = [x for x, _ in ROWS[-10:]]
pytestmark = pytest.mark.slow


def post(port: int, path: str, document: Any) -> tuple[int, str | None, Any]:
    """The status, the samples seen and the answer; 500 if the connection was closed."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        body = json.dumps(document).encode()
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.getheader("samples-seen"), json.loads(answer.read())
    except http.client.RemoteDisconnected:
        return 500, None, None
    except ValueError:  # a text of Serve itself
        return answer.status, None, None
    finally:
        connection.close()


def kill_a_replica(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/bank/metrics")
    found = re.search(rb"process_id ([\d.e+]+)", connection.getresponse().read())
    assert found is not None
    os.kill(int(float(found[1])), signal.SIGKILL)
    connection.close()


def test_example(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of the docstring, which is not run where there is no Ray, holds."""
    monkeypatch.setattr(distributed, "SnapshotServer", ServedHere)
    (test,) = doctest.DocTestFinder(recurse=False).find(SnapshotServer, globs={})
    for example in test.examples:
        example.options.pop(doctest.SKIP, None)
    assert doctest.DocTestRunner().run(test).failed == 0


class Answers:
    """What clients of a server are told, held against the snapshots that were published."""

    def __init__(self) -> None:
        self.expected: dict[int, list[Any]] = {}
        self.n = 0
        self.wrong: list[Any] = []
        self.over = threading.Event()

    def published(self, snapshot: Any) -> Any:
        """Note what a snapshot answers, and return it."""
        self.expected[snapshot.n_samples_seen] = [snapshot.predict_one(x) for x in ASKED]
        return snapshot

    def check(self, i: int, label: Any, n_samples_seen: int) -> None:
        self.n += 1
        if self.expected[n_samples_seen][i] != label:
            self.wrong.append((i, label, n_samples_seen))

    def ask_in_python(self, server: SnapshotServer) -> None:
        """A client, which asks again by itself."""
        while not self.over.is_set():
            for i, x in enumerate(ASKED):
                self.check(i, *server.ask("predict_one", x))

    def ask_over_http(self, port: int) -> None:
        """A client, which asks again: Serve answers 500 where a replica died that had begun."""
        while not self.over.is_set():
            for i, x in enumerate(ASKED):
                status, seen, answer = post(port, "/bank/predict", {"x": x})
                while status in (500, 503):
                    time.sleep(0.1)
                    status, seen, answer = post(port, "/bank/predict", {"x": x})
                assert (status, list(answer)) == (200, ["y"])
                self.check(i, answer["y"], int(str(seen)))


def test_answers(ray: Any, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """While snapshots change and a replica dies, every answer is that of one whole snapshot.

    So it is in Python, in a task and over HTTP, and for frames.
    """
    model, answers = learn(ret.ExtraTreesClassifier(seed=1), ROWS[:100]), Answers()
    failed: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", failed.append)

    @ray.remote
    def ask(server: Any, x: Any) -> Any:
        return server.ask("predict_proba_one", x).value

    first = answers.published(model.snapshot())
    with SnapshotServer(first, port=port, name="bank", route="/bank") as server:
        clients = [threading.Thread(target=answers.ask_in_python, args=[server])]
        clients += [threading.Thread(target=answers.ask_over_http, args=[port]) for _ in range(2)]
        for client in clients:
            client.start()
        try:
            for start in range(100, 400, 50):
                learn(model, ROWS[start : start + 50])
                server.publish(answers.published(model.snapshot()))
                if start == 200:
                    kill_a_replica(port)
                time.sleep(0.25)
        finally:
            answers.over.set()
            for client in clients:
                client.join()
        assert not failed
        assert not answers.wrong
        assert answers.n > 100
        for x in ASKED:
            assert server.ask("predict_proba_one", x) == (model.predict_proba_one(x), 400)
        frame = pd.DataFrame(ASKED)
        for method in ("predict_many", "predict_proba_many"):
            assert server.ask(method, frame).value.equals(getattr(model, method)(frame))
        assert ray.get(ask.remote(server, x)) == model.predict_proba_one(x)
        assert post(port, "/bank/learn", {"x": x, "y": True})[0] == 403
        with pytest.raises(ValueError, match="feature 'a': the value must be finite") as error:
            server.ask("predict_one", {"a": float("inf")})
        assert type(error.value) is ValueError
        with pytest.raises(ValueError, match="a snapshot, as snapshot"):
            server.publish("rubbish")


@pytest.fixture(scope="module")
def narrow(begun_ray: tuple[Any, int], port: int) -> Iterator[SnapshotServer]:
    """A server with little room for requests that wait."""
    model = learn(ret.ExtraTreesClassifier(seed=1), ROWS[:100])
    with SnapshotServer(model.snapshot(), n_replicas=1, port=port, queue=2) as server:
        yield server


def test_back_pressure(narrow: SnapshotServer, port: int) -> None:
    """Requests above the queue are refused, and say when to come again."""
    lines = "\n".join(json.dumps({"x": x}) for x in ASKED * 100).encode()
    statuses: list[int] = []

    def client() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("POST", "/predict", lines, {"Content-Type": "application/x-ndjson"})
        answer = connection.getresponse()
        if answer.status == 503:
            assert answer.getheader("retry-after") == "1"
        statuses.append(answer.status)
        connection.close()

    clients = [threading.Thread(target=client) for _ in range(30)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    assert sorted(set(statuses)) == [200, 503]
    assert len(statuses) == 30


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


@needs_proc
def test_ray_of_ours_listens_on_loopback(
    begun_ray: tuple[Any, int], narrow: SnapshotServer
) -> None:
    """Without a call of `ray.init` by the user, no process accepts connections from elsewhere."""
    _, process = begun_ray
    narrow.ask("predict_one", {})
    known = listening(process)
    ours = set().union(*map(sockets, descendants(process)))
    addresses = [known[number] for number in ours if number in known]
    assert len(addresses) >= 4
    # 127.0.0.1, by itself and as an address of IPv6
    assert set(addresses) <= {"0100007F", "0000000000000000FFFF00000100007F"}


def test_what_is_no_snapshot() -> None:
    """It is refused before Ray is begun."""
    with pytest.raises(ValueError, match="a snapshot, as snapshot"):
        SnapshotServer("rubbish")


def test_copies_of_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a copy publishes, in an actor that begins anew for example, is later than all before."""
    kind, numbers = "river_extra_trees.distributed.serving", []
    monkeypatch.setattr(f"{kind}.connected", lambda: SimpleNamespace(put=lambda each: each))
    monkeypatch.setattr(SnapshotServer, "_repeated", lambda _, ask: ask())
    results = SimpleNamespace(results=lambda: None)
    broadcast = lambda _, number, __: numbers.append(number) or results  # noqa: E731
    server = SnapshotServer.__new__(SnapshotServer)
    server._handle = SimpleNamespace(broadcast=broadcast)
    server._number = 0
    twin = copy.copy(server)
    for each in (server, server, twin, server):
        each.publish(ret.ExtraTreesClassifier(seed=1).snapshot())
    assert numbers == sorted(set(numbers))


class Noting:
    """A snapshot that notes by which threads it is pickled."""

    n_samples_seen = 0

    def __init__(self, threads: list[str]) -> None:
        self.threads = threads

    def __reduce__(self) -> Any:
        self.threads.append(threading.current_thread().name)
        return str, ()


def test_snapshots_are_pickled_between_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replica pickles its snapshot in the thread that predicts, so that no request is refused."""
    monkeypatch.setattr("river_extra_trees.distributed.serving.bind_to_loopback", lambda: None)
    threads: list[str] = []

    def put(number: int, snapshot: Any) -> Any:
        pickle.dumps((number, snapshot))
        return asyncio.sleep(0)

    async def after(number: int) -> Any:
        return 0, None

    latest = SimpleNamespace(put=SimpleNamespace(remote=put), after=SimpleNamespace(remote=after))
    snapshot = ret.ExtraTreesClassifier(seed=1).snapshot()
    replica = Replica(snapshot, lambda: latest, ("*",))
    replica.number, replica.snapshot = 1, Noting(threads)
    asyncio.run(replica.check_health())
    assert set(threads) == {"model_0"}
