"""What a connection may send and how long it may wait, over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

import river_extra_trees as ret
from river_extra_trees import persistence
from river_extra_trees.serving import server
from tests.tools.http_service import served
from tests.tools.systems import needs_proc, needs_signals

GET = b"GET /info HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = (
    b"POST /learn HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
LARGE = 5_000_000  # bytes of an answer that no buffer of the system holds

Clients = Callable[[int, set[Any]], Awaitable[None]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "m.model"
    persistence.save(ret.StreamDecisionTreeClassifier(seed=1), found)
    return found


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answer with so many bytes as the path says, after the body."""
    while (await receive())["more_body"]:
        pass
    length = scope["path"].removeprefix("/").encode()
    headers = [(b"content-length", length)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"a" * int(length)})


def refused_of(clients: Clients) -> Counter[int]:
    """Give clients a port and the set of its connections; return the statuses of refusals."""
    refused: Counter[int] = Counter()
    state = ServerState()

    async def run() -> None:
        http = server.protocol(lambda status: refused.update([int(status)]))
        config = uvicorn.Config(
            app, http=http, h11_max_incomplete_event_size=server.MOST_BYTES, log_level="error"
        )
        config.load()

        def connect() -> Any:
            return http(config=config, server_state=state, app_state={})  # type: ignore[call-arg]

        listener = await asyncio.get_running_loop().create_server(connect, "127.0.0.1", 0)
        async with listener:
            await clients(listener.sockets[0].getsockname()[1], state.connections)

    asyncio.run(run())
    return refused


@pytest.mark.parametrize(
    ("begin", "piece"),
    [
        (GET + b"X: ", b"a"),
        (GET, b"X: 1\r\n"),
        (b"", b"a"),
        (CHUNKED + b"0\r\n", b"X: 1\r\n"),
        (CHUNKED + b"1;", b"a"),
    ],
)
def test_what_has_no_end_is_refused(begin: bytes, piece: bytes) -> None:
    """A header, many headers, a trailer, an extension of a chunk: within some 16 kB."""

    async def clients(port: int, connections: set[Any]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        n_pieces = server.MOST_BYTES // len(piece)
        writer.write(begin.replace(b"/info", b"/9") + piece * (n_pieces + 1))
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 431 ")
        assert json.loads(body)["error"] == "the header is longer than 16,384 bytes"
        writer.close()

    assert refused_of(clients) == {431: 1}


def test_a_long_header_is_read() -> None:
    """Browsers send kilobytes of cookies."""

    async def clients(port: int, connections: set[Any]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        cookies = b"Cookie: " + b"a" * 12_000 + b"\r\nConnection: close\r\n\r\n"
        writer.write(GET.replace(b"/info", b"/9") + cookies)
        assert (await reader.read()).endswith(b"\r\n\r\n" + b"a" * 9)
        writer.close()

    assert not refused_of(clients)


@pytest.mark.slow
def test_idle_clients_are_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that send no header, half of one, or a body that nobody awaits; others stay."""
    monkeypatch.setattr(server, "SECONDS_TO_ACT", 0.2)

    async def disconnected(port: int, sent: bytes, again: bytes = b"") -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        with contextlib.suppress(ConnectionError):  # reset
            async with asyncio.timeout(20):
                while await reader.read(2**20):
                    writer.write(again)
        writer.close()

    async def busy(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(12):
            writer.write(b"GET /2 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert (await reader.readuntil(b"aa")).startswith(b"HTTP/1.1 200")
            await asyncio.sleep(0.1)
        writer.close()

    async def slow(port: int) -> None:
        """Upload for longer than a client may be idle: the application sets the limit."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /2 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n")
        for _ in range(10):
            await asyncio.sleep(0.1)
            writer.write(b"a")
        assert (await reader.readuntil(b"aa")).startswith(b"HTTP/1.1 200")
        writer.close()

    async def clients(port: int, connections: set[Any]) -> None:
        await asyncio.gather(
            disconnected(port, b""),
            disconnected(port, GET),
            disconnected(port, b"GET /1 HTTP/1.1\r\nHost: localhost\r\n\r\n" + GET),
            busy(port),
            slow(port),
        )

    assert not refused_of(clients)


@pytest.mark.slow
def test_who_does_not_read_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that nobody reads is dropped; one that is read slowly arrives."""
    monkeypatch.setattr(server, "SECONDS_TO_ACT", 0.3)
    request = b"GET /%d HTTP/1.1\r\nHost: localhost\r\n\r\n" % LARGE

    async def slow(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**16)
        writer.write(request)
        n_read = 0
        while n_read < LARGE:
            n_read += len(await reader.read(2**18))
            await asyncio.sleep(0.05)
        writer.close()

    async def clients(port: int, connections: set[Any]) -> None:
        await slow(port)
        with (
            socket.create_connection(("127.0.0.1", port)) as one,
            socket.create_connection(("127.0.0.1", port)) as many,
        ):
            one.sendall(request)
            many.sendall(request * 3)
            async with asyncio.timeout(20):
                while len(connections) < 2:
                    await asyncio.sleep(0.01)
                while connections:
                    await asyncio.sleep(0.05)

    assert not refused_of(clients)


@needs_proc
def test_pipelined_requests_wait_outside(path: Path) -> None:
    """Requests are read when those before them are answered and their answers are read."""
    with served(path) as service:

        def resident() -> int:
            fields = Path(f"/proc/{service.process.pid}/statm").read_text().split()
            return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")

        before = resident()
        with socket.create_connection(("127.0.0.1", service.port), timeout=1) as connection:
            with contextlib.suppress(TimeoutError):
                while True:
                    connection.sendall((GET + b"\r\n") * 5000)
            assert resident() - before < 20_000_000
        assert service.ask("/health").status == 200


@pytest.mark.slow
@needs_signals
def test_a_stop_while_a_body_is_sent(path: Path) -> None:
    """The client hears of it, and the log has one line."""
    with served(path) as service:
        with socket.create_connection(("127.0.0.1", service.port), timeout=60) as connection:
            connection.sendall(CHUNKED + b"5\r\nhalf ")
            while "requests_waiting 1.0" not in service.ask("/metrics").body.decode():
                time.sleep(0.05)
            service.process.send_signal(signal.SIGTERM)
            answer = connection.makefile("rb").read()
        _, err = service.process.communicate(timeout=60)
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert (service.process.returncode, err.count("\n")) == (0, 1), err
    assert "Traceback" not in err
