"""Snapshots behind a real Ray Serve: no answer is wrong, mixed or lost, whatever dies."""

import doctest
import http.client
import importlib
import json
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pandas as pd
import pytest
from river import datasets

import river_extra_trees as ret
from river_extra_trees import distributed
from river_extra_trees.distributed import SnapshotServer
from tests.tools.estimators import learn
from tests.tools.http_service import LINES, ask_port, body_of
from tests.tools.ray_in_process import ServedHere
from tests.tools.systems import needs_proc

ROWS = list(datasets.Phishing())
ASKED = [x for x, _ in ROWS[-10:]]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def port(ray: Any) -> Iterator[int]:
    """All servers of one Ray have the same port."""
    serve = pytest.importorskip("ray.serve", reason="ray[serve] is not installed")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        number = int(listener.getsockname()[1])
    yield number
    serve.shutdown()


def post(port: int, path: str, document: Any) -> tuple[int, str | None, Any]:
    """The status, the samples seen and the answer; 500 if the connection was closed."""
    try:
        answer = ask_port(port, path, json.dumps(document).encode())
    except http.client.RemoteDisconnected:
        return 500, None, None
    seen = answer.headers.get("samples-seen")
    return answer.status, seen, answer.json if seen else None  # others may be a text of Serve


def kill_a_replica(port: int) -> None:
    found = re.search(rb"process_id ([\d.e+]+)", ask_port(port, "/bank/metrics").body)
    assert found is not None
    os.kill(int(float(found[1])), signal.SIGKILL)


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


def test_answers(ray: Any, port: int) -> None:
    """While snapshots change and a replica dies, every answer is that of one whole snapshot.

    So it is in Python, in a task and over HTTP, and for frames.
    """
    model, answers = learn(ret.ExtraTreesClassifier(seed=1), ROWS[:100]), Answers()

    @ray.remote
    def ask(server: Any, x: Any) -> Any:
        return server.ask("predict_proba_one", x).value

    first = answers.published(model.snapshot())
    with SnapshotServer(first, port=port, name="bank", route="/bank") as server:
        with ThreadPoolExecutor(3) as threads:
            clients = [threads.submit(answers.ask_in_python, server)]
            clients += [threads.submit(answers.ask_over_http, port) for _ in range(2)]
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
            client.result()
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
    lines = body_of(*({"x": x} for x in ASKED * 100))
    with ThreadPoolExecutor(30) as clients:
        found = [clients.submit(ask_port, port, "/predict", lines, kind=LINES) for _ in range(30)]
    answers = [each.result() for each in found]
    assert {answer.status for answer in answers} == {200, 503}
    assert all(each.headers["retry-after"] == "1" for each in answers if each.status == 503)


@needs_proc
def test_ray_of_ours_listens_on_loopback(
    begun_ray: tuple[Any, int], narrow: SnapshotServer
) -> None:
    """Without a call of `ray.init` by the user, no process accepts connections from elsewhere."""
    _, process = begun_ray
    narrow.ask("predict_one", {})
    psutil: Any = importlib.import_module("psutil")  # which comes with Ray
    begun = psutil.Process(process)
    addresses = [
        connection.laddr.ip
        for each in (begun, *begun.children(recursive=True))
        for connection in each.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert len(addresses) >= 4
    assert set(addresses) <= {"127.0.0.1", "::ffff:127.0.0.1"}
