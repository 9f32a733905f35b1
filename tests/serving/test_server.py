"""The service in a process of its own: starts, signals, kills and restarts."""

import asyncio
import os
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import uvicorn
from uvicorn.server import ServerState

from river_extra_trees import persistence
from river_extra_trees.cli import serving
from river_extra_trees.serving import server
from river_extra_trees.serving.endpoints import Limits
from river_extra_trees.serving.schema import Sample
from river_extra_trees.serving.service import Service
from tests.tools.command_line import assert_refused, run
from tests.tools.http_service import LINES, SAMPLES, Served, body_of, learned, served
from tests.tools.systems import needs_links, needs_signals


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "m.model"
    persistence.save(learned(0), found)
    return found


def learn(service: Served, samples: list[Any]) -> None:
    for start in range(0, len(samples), 50):
        body = body_of(*samples[start : start + 50])
        assert service.ask("/learn", body, kind=LINES).status == 200


@needs_links
@needs_signals
@pytest.mark.slow
def test_a_killed_service_goes_on_from_its_last_snapshot(path: Path) -> None:
    """What came after the snapshot is lost; sent again from `samples_seen` on, nothing is.

    A second service of the file, by any name of it, is refused until the first one is killed.
    Requests are logged on demand. SIGTERM ends a service cleanly, and all that it learned is saved.
    """
    other = path.with_name("other.model")
    other.symlink_to(path)
    with served(path, "--log-requests") as service:
        assert service.process.stdout is not None
        for body, said in (
            (None, '"GET /learn HTTP/1.1" 405'),
            (b"x", '"POST /learn HTTP/1.1" 400'),
        ):
            service.ask("/learn", body)
            assert said in service.process.stdout.readline()
        for name in (path, other):
            assert_refused(run("serve", name, "--port", "0"), "another service has")
        learn(service, SAMPLES[:400])
        assert service.ask("/snapshot", b"").status == 200
        learn(service, SAMPLES[400:450])
        service.process.kill()
        service.process.wait()
    assert path.read_bytes() == persistence.save_bytes(learned(400))
    with served(other) as service:
        seen = service.ask("/info").json["samples_seen"]
        assert seen == 400
        learn(service, SAMPLES[seen:])
        service.process.send_signal(signal.SIGTERM)
        out, err = service.process.communicate(timeout=60)
    assert (service.process.returncode, err) == (0, "")
    assert "has learned 600 samples" in out
    assert path.read_bytes() == persistence.save_bytes(learned(600))


@needs_signals
@pytest.mark.slow
def test_half_a_request_holds_no_stop(path: Path) -> None:
    """It is refused when the service stops, which says nothing of it and saves the model."""
    head = b"POST /learn HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with served(path) as service:
        learn(service, SAMPLES[:50])
        address = ("127.0.0.1", service.port)
        with socket.create_connection(address, 60) as body, socket.create_connection(address, 60):
            body.sendall(head + b"Content-Length: 100\r\n\r\n{")
            service.ask("/health")  # its head has been read now
            service.process.send_signal(signal.SIGTERM)
            assert body.recv(100).startswith(b"HTTP/1.1 408")
            _, err = service.process.communicate(timeout=60)
    assert (service.process.returncode, err) == (0, "")
    assert path.read_bytes() == persistence.save_bytes(learned(50))


def test_half_a_header_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it is the first of a connection or not; an answer takes as long as it needs."""
    answered = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    monkeypatch.setattr(server.Protocol, "seconds", 0.05)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(0.2)  # longer than a header may take
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async def received(sent: bytes) -> bytes:
        config = uvicorn.Config(
            app,
            http=server.Protocol,
            lifespan="off",
            log_level="critical",
            timeout_keep_alive=600,
        )
        state = ServerState()
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        await loop.connect_accepted_socket(lambda: server.Protocol(config, state, {}), theirs)
        reader, writer = await asyncio.open_connection(sock=ours)
        writer.write(sent)
        found = await asyncio.wait_for(reader.read(), 60)  # until the service ends the connection
        writer.close()
        return found

    for begun in (b"", b"GET / HT"):
        assert asyncio.run(received(begun)) == b""
        assert asyncio.run(received(answered + begun)).startswith(b"HTTP/1.1 204")


@needs_signals
@pytest.mark.parametrize("when", ["opened", "ready"])
def test_a_signal_before_the_first_request_stops(path: Path, when: str) -> None:
    """It comes when clients can connect, or when that is said, and uvicorn does not run yet."""
    previous = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    too_late = threading.Timer(60, os.kill, (os.getpid(), signal.SIGINT))
    too_late.start()

    def open_listener() -> socket.socket:
        listener = server.listen("127.0.0.1", 0)
        if when == "opened":
            signal.raise_signal(signal.SIGTERM)
        return listener

    def ready(_: socket.socket) -> None:
        if when == "ready":
            signal.raise_signal(signal.SIGTERM)

    try:
        server.serve(Service(learned(10), path), open_listener, Limits(), None, ready)
        assert too_late.is_alive()
    finally:
        too_late.cancel()
        for number, handler in zip((signal.SIGINT, signal.SIGTERM), previous, strict=True):
            signal.signal(number, handler)


@needs_signals
@pytest.mark.slow
def test_fixed_labels(path: Path) -> None:
    """On demand, a new label is refused with its whole request; Ctrl-C saves as SIGTERM does."""
    path.write_bytes(persistence.save_bytes(learned(200)))
    with served(path, "--fixed-labels") as service:
        for way in ("/learn", "/predict-learn"):  # where a number is no truth value
            answer = service.ask(way, body_of(SAMPLES[0], {"x": {"a": 1}, "y": 3}), kind=LINES)
            assert (answer.status, answer.json["error"][:12]) == (422, "line 2: y is")
        learn(service, SAMPLES[200:300])
        service.process.send_signal(signal.SIGINT)
        service.process.communicate(timeout=60)
    assert service.process.returncode == 0
    assert path.read_bytes() == persistence.save_bytes(learned(300))


@pytest.mark.slow
def test_snapshots_by_time(path: Path) -> None:
    """A failure is logged when it happens; later all is saved, and the file stays as it is."""
    with served(path, "--snapshot-every", 0.2) as service:
        path.unlink()
        path.mkdir()  # which no file can replace
        learn(service, SAMPLES[:100])
        assert service.process.stderr is not None
        assert "cannot save to" in service.process.stderr.readline()
        path.rmdir()
        deadline = time.monotonic() + 30
        while not path.is_file() or path.read_bytes() != persistence.save_bytes(learned(100)):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        written = path.stat().st_mtime_ns
        time.sleep(0.6)
        assert path.stat().st_mtime_ns == written


def test_answers_are_sent_at_once(path: Path) -> None:
    """The event loop recognises the socket as TCP, and does not wait to fill its packets."""
    for host in ("127.0.0.1", "localhost"):
        with server.listen(host, 0) as listener:
            assert listener.proto == socket.IPPROTO_TCP
            taken = run("serve", path, "--host", host, "--port", listener.getsockname()[1])
            assert_refused(taken, "name another --host or --port", stdout="")


def test_missing_packages_are_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message is the command that installs them."""
    monkeypatch.setattr(serving, "MODULES", ("starlette", "no_such_package"))
    result = run("serve", path)
    assert (result.exit_code, "pip install no_such_package" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("error", "says"),
    [(OSError(28, "No space left on device"), "No space left"), (MemoryError(), "out of memory")],
)
def test_a_last_save_that_fails_is_told(
    path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, says: str
) -> None:
    """One line, and status 1."""
    sample = Sample(1, *SAMPLES[0].values())
    monkeypatch.setattr(server, "serve", lambda service, *_: service.learn([sample]))
    monkeypatch.setattr(persistence, "save", mock.Mock(side_effect=error))
    result = run("serve", path, "--port", "0")
    assert (result.exit_code, "error: cannot save to" in result.stderr) == (1, True)
    assert says in result.stderr
