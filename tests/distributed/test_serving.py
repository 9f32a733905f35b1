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


def test_answers(ray: Any, server: SnapshotServer, port: int) -> None:
    """They are those of the snapshot, in Python, in a task, over HTTP, and after a death."""
    model = learn(ret.ExtraTreesClassifier(seed=1), ROWS[:100])
    frame = pd.DataFrame(ASKED)

    @ray.remote
    def ask(server: Any, x: Any) -> Any:
        return server.ask("predict_proba_one", x).value

    snapshot = model.snapshot()
    server.publish(snapshot)
    learn(model, ROWS[100:200])
    for x in ASKED:
        assert server.ask("predict_one", x) == (snapshot.predict_one(x), 100)
    server.publish(model.snapshot())
    kill_a_replica(port)
    for x in ASKED:
        assert server.ask("predict_proba_one", x) == (model.predict_proba_one(x), 200)
        expected = {"y": model.predict_one(x)}
        assert post(port, "/bank/predict", {"x": x}) == (200, "200", expected)
    for method in ("predict_many", "predict_proba_many"):
        assert server.ask(method, frame).value.equals(getattr(model, method)(frame))
    assert ray.get(ask.remote(server, x)) == model.predict_proba_one(x)
    assert post(port, "/bank/learn", {"x": x, "y": True})[0] == 403
    with pytest.raises(ValueError, match="feature 'a': the value must be finite") as error:
        server.ask("predict_one", {"a": float("inf")})
    assert type(error.value) is ValueError
    with pytest.raises(ValueError, match="a snapshot, as snapshot"):
        server.publish("rubbish")
    with pytest.raises(ValueError, match="a snapshot, as snapshot"):
        SnapshotServer("rubbish")


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


def test_load(server: SnapshotServer, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """While snapshots change and a replica dies, every answer is that of one whole snapshot."""
    model, answers = ret.ExtraTreesClassifier(seed=1), Answers()
    failed: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", failed.append)
    server.publish(answers.published(model.snapshot()))
    clients = [threading.Thread(target=answers.ask_in_python, args=[server])]
    clients += [threading.Thread(target=answers.ask_over_http, args=[port]) for _ in range(2)]
    for client in clients:
        client.start()
    try:
        for step in range(6):
            learn(model, ROWS[50 * step : 50 * step + 50])
            server.publish(answers.published(model.snapshot()))
            if step == 2:
                kill_a_replica(port)
            time.sleep(0.25)
    finally:
        answers.over.set()
        for client in clients:
            client.join()
    assert not failed
    assert not answers.wrong
    assert answers.n > 100


def test_back_pressure(server: SnapshotServer, port: int) -> None:
    """Requests above the queue are refused, and say when to come again."""
    model = learn(ret.ExtraTreesClassifier(seed=1), ROWS[:100])
    lines = "\n".join(json.dumps({"x": x}) for x in ASKED * 100).encode()
    statuses: list[int] = []

    def client() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("POST", "/bank/predict", lines, {"Content-Type": "application/x-ndjson"})
        answer = connection.getresponse()
        if answer.status == 503:
            assert answer.getheader("retry-after") == "1"
        statuses.append(answer.status)
        connection.close()

    server.publish(model.snapshot())
    clients = [threading.Thread(target=client) for _ in range(30)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    assert sorted(set(statuses)) == [200, 503]
    assert len(statuses) == 30


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
