"""The HTTP server, on uvicorn and h11: it runs a service until a signal arrives.

The application limits bodies. Everything before and after a body is read by h11, which holds at
most `MOST_BYTES` of a header, a trailer or the header of a chunk, and reads a request only when the
previous one is answered. A client that should send or read, and does neither, is disconnected.
"""

from __future__ import annotations

import asyncio
import copy
import ipaddress
import logging
import signal
import socket
import sys
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import h11
import uvicorn
import uvicorn.config
from uvicorn.protocols.http.h11_impl import H11Protocol

from . import schema
from .endpoints import Application, Limits
from .service import Service

LOOPBACK = ("localhost", "127.0.0.1", "::1")
MOST_BYTES = 16_384  # of a header
MOST_CONNECTIONS = 1000
SECONDS_TO_ACT = 10.0  # for a client: to send a header, or to read some of a response
SECONDS_TO_STOP = 10  # for requests that have begun

NO_HTTP = (
    "this is not HTTP: send a request such as POST /predict, with the content type application/json"
)
TOO_LONG = f"the header is longer than {MOST_BYTES:,} bytes"

LOGS = copy.deepcopy(uvicorn.config.LOGGING_CONFIG)
LOGS["handlers"]["access"]["stream"] = "ext://sys.stderr"


class Protocol(H11Protocol):
    """The HTTP of uvicorn; it also disconnects idle clients, and replies in JSON to other data."""

    count: Callable[[int], None]

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin a connection."""
        super().connection_made(transport)
        self.look()

    def look(self, before: tuple[Any, ...] | None = None) -> None:
        """Disconnect a client that should act, and has done nothing since the last look."""
        if self not in self.connections:
            return
        is_answered = self.cycle is None or self.cycle.response_complete
        unread = self.transport.get_write_buffer_size()
        now = self.cycle, is_answered, unread
        if now == before and (is_answered or unread):
            self.transport.abort()
        else:
            self.loop.call_later(SECONDS_TO_ACT, self.look, now)

    def send_400_response(self, msg: str) -> None:
        """Reject what h11 has rejected."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            hint = getattr(sys.exception(), "error_status_hint", 400)
            status = HTTPStatus(hint if hint == 431 else 400)
            self.count(status)
            body = schema.write({"error": TOO_LONG if status == 431 else NO_HTTP})
            head = (
                f"HTTP/1.1 {status} {status.phrase}\r\nconnection: close\r\n"
                f"content-type: {schema.JSON}\r\ncontent-length: {len(body)}\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()


def protocol(count: Callable[[int], None]) -> type[asyncio.Protocol]:
    """Return a protocol that counts the statuses of what it rejects."""
    return type("CountingProtocol", (Protocol,), {"count": staticmethod(count)})


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a host.

    Examples
    --------
    >>> from river_extra_trees.serving.server import is_loopback
    >>> is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int) -> socket.socket:
    """Open the socket of a server; port 0 takes any that is free.

    Raises
    ------
    OSError
        If there is no such host, or another program has the port.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.create_server((host, port), family=family, backlog=1024)
    # asyncio sends small responses at once only on sockets whose protocol is TCP; otherwise a
    # response in two parts waits some 40 ms for the client to acknowledge the first.
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, found.detach())


def serve(
    service: Service,
    listener: socket.socket,
    limits: Limits,
    every: float | None = None,
    ready: Callable[[], None] = lambda: None,
    logs_requests: bool = False,
) -> None:
    """Serve a model until SIGINT or SIGTERM. The caller saves what it has learned since.

    Parameters
    ----------
    service
        The service.
    listener
        The socket to which clients connect.
    limits
        Limits of requests.
    every
        Seconds between two snapshots; None takes none by time.
    ready
        Called before the first request is answered.
    logs_requests
        Whether each request is written to stderr.
    """
    host = listener.getsockname()[0]
    hosts = tuple(dict.fromkeys((*LOOPBACK, host))) if is_loopback(host) else ("*",)
    application = Application(service, limits, every, hosts)
    config = uvicorn.Config(
        application.asgi,
        http=protocol(application.count_other),
        h11_max_incomplete_event_size=MOST_BYTES,
        limit_concurrency=MOST_CONNECTIONS,
        lifespan="on",
        ws="none",
        log_config=LOGS,
        log_level="warning",
        access_log=logs_requests,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=SECONDS_TO_STOP,
    )
    logging.getLogger("uvicorn.access").setLevel(logging.INFO)
    # uvicorn stops at these signals, and raises them again afterwards for earlier handlers.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    ready()
    uvicorn.Server(config).run(sockets=[listener])
    application.stop()  # a second signal ends the server at once
