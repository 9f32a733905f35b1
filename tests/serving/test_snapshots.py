"""Snapshots that answer requests: without a network, and as a replica of Serve without Serve."""

import asyncio
import copy
import threading
from types import SimpleNamespace
from typing import Any

import pytest

import river_extra_trees as ret
from river_extra_trees.distributed import serving
from river_extra_trees.distributed.serving import Answer, Latest, Replica, SnapshotServer
from river_extra_trees.serving.endpoints import Application, Limits
from river_extra_trees.serving.service import SnapshotService
from tests.tools.http_service import LINES, SAMPLES, asked, body_of, learned, metrics_of

LEARNERS = [ret.ExtraTreesClassifier, ret.DynamicTreeClassifier]


@pytest.mark.parametrize("kind", LEARNERS)
def test_a_snapshot_answers_as_the_model_did(kind: Any) -> None:
    """Each answer says how much the model had learned; another snapshot goes on counting."""
    model = learned(100, kind)
    app = Application(SnapshotService(model.snapshot()), Limits())
    body = body_of(*({"x": sample["x"]} for sample in SAMPLES[:200]))
    for n in (100, 200):
        answer = asked(app, "/predict", body, kind=LINES)
        assert answer.headers["samples-seen"] == str(n)
        assert [line["y"] for line in answer.lines] == [
            model.predict_one(sample["x"]) for sample in SAMPLES[:200]
        ]
        info = asked(app, "/info").json
        assert (info["samples_seen"], info["file"], info["unsaved_samples"]) == (n, None, 0)
        assert asked(app, "/status").json["now"]["samples_seen"] == n
        for sample in SAMPLES[100:200]:
            model.learn_one(sample["x"], sample["y"])
        app.service = SnapshotService(model.snapshot(), app.service.monitor)
    app.look()
    metrics = metrics_of(app)
    assert metrics["samples_predicted_total"] == 400
    assert metrics["samples_seen"] == 300


@pytest.mark.parametrize("path", ["/learn", "/predict-learn", "/labels", "/snapshot"])
def test_a_snapshot_does_not_learn(path: str) -> None:
    """The answer says where to learn or save instead."""
    app = Application(SnapshotService(learned(0, LEARNERS[0]).snapshot()), Limits())
    body = {"id": "1", "y": True} if path == "/labels" else SAMPLES[0]
    answer = asked(app, path, body_of(body))
    assert answer.status == 403
    assert "snapshot" in answer.json["error"]
    assert "train" in answer.json["error"]


class Remote:
    """Calls a method of an object later, as an actor of Ray does; notes which thread sends it."""

    def __init__(self, held: Any) -> None:
        self.held = held
        self.senders: dict[str, str] = {}

    def __getattr__(self, name: str) -> Any:
        async def answer(*arguments: Any) -> Any:
            return getattr(self.held, name)(*arguments)

        def remote(*arguments: Any) -> Any:
            self.senders[name] = threading.current_thread().name
            return answer(*arguments)

        return SimpleNamespace(remote=remote)


@pytest.fixture(autouse=True)
def _ports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "bind_to_loopback", lambda: None)


def test_replicas_hold_the_later_snapshot() -> None:
    """A replica that starts takes it from the actor, an actor that starts from a replica.

    A replica sends its snapshot from the thread that predicts, because a snapshot cannot predict
    while it is pickled.
    """
    snapshots = [learned(n, LEARNERS[0]).snapshot() for n in (0, 10, 20)]
    latest = Latest()
    remote = Remote(latest)
    first, second = (Replica(snapshots[0], lambda: remote, ("*",)) for _ in range(2))
    seen = [lambda each=each: each.application.service.samples_seen for each in (first, second)]

    async def check() -> None:
        await first.check_health()
        assert (latest.number, latest.snapshot) == (0, snapshots[0])
        await first.take(2, snapshots[2])
        await first.take(1, snapshots[1])  # too late
        assert [each() for each in seen] == [20, 0]
        await second.check_health()
        assert [each() for each in seen] == [20, 20]
        latest.__init__()  # type: ignore[misc]  # as Serve restarts it
        await second.check_health()
        assert (latest.number, latest.snapshot) == (2, snapshots[2])
        assert remote.senders["put"] == "model_0"
        third = Replica(snapshots[0], lambda: remote, ("*",))
        await third.check_health()
        assert await third.answer("predict_one", SAMPLES[0]["x"]) == Answer(
            snapshots[2].predict_one(SAMPLES[0]["x"]), 20
        )
        error = await third.answer("predict_one", {"a": float("inf")})
        assert isinstance(error, ValueError)

    asyncio.run(check())


def test_numbers_of_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a copy publishes, in an actor that begins anew for example, is later than all before.

    What is no snapshot is refused before Ray is begun.
    """
    with pytest.raises(ValueError, match="a snapshot, as snapshot"):
        SnapshotServer("rubbish")
    numbers: list[int] = []
    monkeypatch.setattr(serving, "connected", lambda: SimpleNamespace(put=lambda each: each))
    monkeypatch.setattr(SnapshotServer, "_repeated", lambda _, ask: ask())
    results = SimpleNamespace(results=lambda: None)
    broadcast = lambda _, number, __: numbers.append(number) or results  # noqa: E731
    server = SnapshotServer.__new__(SnapshotServer)
    server._handle, server._number = SimpleNamespace(broadcast=broadcast), 0
    twin = copy.copy(server)
    for each in (server, server, twin, server):
        each.publish(ret.ExtraTreesClassifier(seed=1).snapshot())
    assert numbers == sorted(set(numbers))
