"""The service in a process of its own: starts, signals, kills and restarts."""

from __future__ import annotations

import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from river import datasets
from typer.testing import CliRunner

import river_extra_trees as ret
from river_extra_trees import persistence
from river_extra_trees.cli import serving
from river_extra_trees.cli.app import app
from river_extra_trees.serving import server
from river_extra_trees.serving.schema import Sample
from river_extra_trees.serving.service import Service
from tests.tools.http_service import LINES, Served, body_of, served
from tests.tools.systems import needs_links, needs_signals

SAMPLES = [{"x": x, "y": y} for x, y in datasets.Phishing().take(600)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "m.model"
    persistence.save(ret.StreamDecisionTreeClassifier(seed=1), found)
    return found


def learned(n: int) -> bytes:
    """The file of a model that has learned the first samples without a service."""
    model = ret.StreamDecisionTreeClassifier(seed=1)
    for sample in SAMPLES[:n]:
        model.learn_one(sample["x"], sample["y"])
    return persistence.save_bytes(model)


def learn(service: Served, samples: list[Any]) -> None:
    for start in range(0, len(samples), 50):
        body = body_of(*samples[start : start + 50])
        assert service.ask("/learn", body, kind=LINES).status == 200


@needs_signals
@pytest.mark.slow
def test_signals_stop_it_and_save(path: Path) -> None:
    """SIGTERM and Ctrl-C end the service cleanly; the model is saved with all that it learned."""
    with served(path) as service:
        learn(service, SAMPLES[:200])
        service.process.send_signal(signal.SIGTERM)
        out, err = service.process.communicate(timeout=60)
    assert (service.process.returncode, err) == (0, "")
    assert "has learned 200 samples" in out
    assert path.read_bytes() == learned(200)
    with served(path) as service:
        learn(service, SAMPLES[200:300])
        service.process.send_signal(signal.SIGINT)
        service.process.communicate(timeout=60)
    assert service.process.returncode == 0
    assert path.read_bytes() == learned(300)


@pytest.mark.slow
def test_a_killed_service_goes_on_from_its_last_snapshot(path: Path) -> None:
    """What came after the snapshot is lost; sent again from `samples_seen` on, nothing is."""
    with served(path) as service:
        learn(service, SAMPLES[:400])
        assert service.ask("/snapshot", b"").status == 200
        learn(service, SAMPLES[400:450])
        service.process.kill()
        service.process.wait()
    assert path.read_bytes() == learned(400)
    with served(path) as service:
        seen = service.ask("/info").json["samples_seen"]
        assert seen == 400
        learn(service, SAMPLES[seen:])
        assert service.ask("/snapshot", b"").status == 200
        service.process.kill()
    assert path.read_bytes() == learned(600)


@needs_links
@pytest.mark.slow
def test_one_service_per_file(path: Path) -> None:
    """A second one is refused, by any name of the file, until the first has ended or is killed."""
    other = path.with_name("other.model")
    other.symlink_to(path)
    with served(path) as service:
        for name in (path, other):
            result = CliRunner().invoke(app, ["serve", str(name), "--port", "0"])
            assert (result.exit_code, "another service has" in result.stderr) == (2, True)
        service.process.kill()
        service.process.wait()
    with served(other):
        pass


def test_a_snapshot_that_fails_is_logged(path: Path) -> None:
    """The service goes on, and says it at the time."""
    with served(path, "--snapshot-every", 0.2) as service:
        path.unlink()
        path.mkdir()  # which no file can replace
        learn(service, SAMPLES[:100])
        assert service.process.stderr is not None
        assert "cannot save to" in service.process.stderr.readline()
        path.rmdir()
        learn(service, SAMPLES[100:200])
        assert service.ask("/snapshot", b"").status == 200
    assert path.read_bytes() == learned(200)


@pytest.mark.slow
def test_snapshots_by_time(path: Path) -> None:
    """What was learned is saved before long, and the file stays the same while nothing comes."""
    with served(path, "--snapshot-every", 0.2) as service:
        learn(service, SAMPLES[:100])
        deadline = time.monotonic() + 30
        while path.read_bytes() != learned(100):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        written = path.stat().st_mtime_ns
        time.sleep(0.6)
        assert path.stat().st_mtime_ns == written


def test_requests_are_logged(path: Path) -> None:
    """On demand, with the status."""
    with served(path, "--log-requests") as service:
        service.ask("/health")
        service.ask("/learn", b"x")
        assert service.process.stdout is not None
        lines = [service.process.stdout.readline() for _ in range(2)]
    assert '"GET /health HTTP/1.1" 200' in lines[0]
    assert '"POST /learn HTTP/1.1" 400' in lines[1]


def test_labels_may_be_fixed(path: Path) -> None:
    """A request with another label is refused as a whole; a number stays a number."""
    model = ret.StreamDecisionTreeClassifier(seed=1)
    for y in (True, False):
        model.learn_one({"a": 1.0}, y)
    persistence.save(model, path)
    with served(path, "--fixed-labels") as service:
        for way in ("/learn", "/predict-learn"):
            body = body_of({"x": {"a": 1}, "y": True}, {"x": {"a": 1}, "y": 3})
            answer = service.ask(way, body, kind=LINES)
            assert (answer.status, answer.json["error"][:12]) == (422, "line 2: y is")
        assert service.ask("/info").json["samples_seen"] == 2
        assert service.ask("/learn", body_of({"x": {"a": 1}, "y": False})).status == 200


def test_answers_are_sent_at_once() -> None:
    """The event loop recognises the socket as TCP, and does not wait to fill its packets."""
    for host in ("127.0.0.1", "localhost"):
        with server.listen(host, 0) as listener:
            assert listener.proto == socket.IPPROTO_TCP


def test_missing_packages_are_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message is the command that installs them."""
    monkeypatch.setattr(serving, "MODULES", ("starlette", "no_such_package"))
    result = CliRunner().invoke(app, ["serve", str(path)])
    assert (result.exit_code, "pip install no_such_package" in result.stderr) == (2, True)


def test_a_body_without_limit_is_refused(path: Path) -> None:
    """The limit is a number of bytes."""
    for limit in ("inf", "nan", "0"):
        result = CliRunner().invoke(app, ["serve", str(path), "--max-body", limit])
        assert (result.exit_code, "--max-body" in result.stderr) == (2, True)


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), MemoryError()])
def test_a_last_save_that_fails_is_told(
    path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """One line, and status 1."""

    def learn_one(service: Service, *arguments: object) -> None:
        service.learn([Sample(1, *SAMPLES[0].values())])

    def fail(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(server, "serve", learn_one)
    monkeypatch.setattr(persistence, "save", fail)
    result = CliRunner().invoke(app, ["serve", str(path), "--port", "0"])
    assert (result.exit_code, "error: cannot save to" in result.stderr) == (1, True)
    assert ("No space left" in result.stderr) or ("out of memory" in result.stderr)


def test_what_cannot_be_served_is_refused(path: Path) -> None:
    """One line says what is wrong."""
    cases = [
        ([path.with_name("absent.model")], "cannot read"),
        ([path, "--fixed-labels"], "--fixed-labels needs a model that has learned labels"),
        ([path, "--host", "no.such.host.invalid"], "cannot listen on no.such.host.invalid:8000: "),
    ]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        cases.append(([path, "--port", taken.getsockname()[1]], "name another --host or --port"))
        for arguments, says in cases:
            result = CliRunner().invoke(app, ["serve", *map(str, arguments)])
            assert result.exit_code == 2
            assert result.stderr.startswith("error: ")
            assert result.stderr.count("\n") == 1
            assert says in result.stderr
