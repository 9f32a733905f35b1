"""The HTTP server, on uvicorn: it runs a service until a signal arrives."""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import socket
from collections.abc import Callable

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from .endpoints import SECONDS_TO_SEND, Application, Limits
from .service import Service

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
MOST_CONNECTIONS = 1000
SECONDS_TO_STOP = 10  # for requests that have begun


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


class Protocol(H11Protocol):
    """A connection, which ends if the header of a request does not come in time.

    uvicorn limits the time between two requests, but neither that before the first one nor that of
    a header which has begun.
    """

    seconds = SECONDS_TO_SEND
    _ending: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Wait for the first request."""
        super().connection_made(transport)
        self._limit()

    def data_received(self, data: bytes) -> None:
        """Read a part of a request."""
        super().data_received(data)
        self._limit()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._limit()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        super().connection_lost(exc)
        if self._ending is not None:
            self._ending.cancel()

    def _limit(self) -> None:
        """Limit the time of a header, from the first moment at which it could come."""
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if self._ending is None and not is_answering:
            self._ending = self.loop.call_later(self.seconds, self.transport.close)
        elif self._ending is not None and is_answering:
            self._ending.cancel()
            self._ending = None


class Server(uvicorn.Server):
    """A server that does not wait for half a request when it stops."""

    def __init__(self, config: uvicorn.Config, application: Application) -> None:
        super().__init__(config)
        self.application = application

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop; uvicorn calls this once a signal has come."""
        self.application.end_reading()
        await super().shutdown(sockets)


def serve(
    service: Service,
    open_listener: Callable[[], socket.socket],
    limits: Limits,
    every: float | None = None,
    ready: Callable[[socket.socket], None] = lambda _: None,
    logs_requests: bool = False,
) -> None:
    """Serve a model until SIGINT or SIGTERM. The caller saves what it has learned since.

    Parameters
    ----------
    service
        The service.
    open_listener
        Opens the socket to which clients connect. From before that on, signals stop the server.
    limits
        Limits of requests.
    every
        Seconds between two snapshots; None takes none by time.
    ready
        Called with the socket before the first request is answered.
    logs_requests
        Whether each request is written to stderr.
    """
    server: Server | None = None
    is_stopped = False

    def stop(*_: object) -> None:
        nonlocal is_stopped
        is_stopped = True
        if server is not None:
            server.should_exit = True

    # uvicorn handles these signals while it runs, and raises them again afterwards.
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        listener = open_listener()
    except BaseException:
        for number, handler in before.items():
            signal.signal(number, handler)
        raise
    host = listener.getsockname()[0]
    hosts = tuple(dict.fromkeys((*LOOPBACK, host))) if is_loopback(host) else ("*",)
    application = Application(service, limits, every, hosts)
    config = uvicorn.Config(
        application.asgi,
        http=Protocol,  # h11 limits headers to 16 kB
        limit_concurrency=MOST_CONNECTIONS,
        lifespan="on",
        ws="none",
        log_level="info" if logs_requests else "warning",
        access_log=logs_requests,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=SECONDS_TO_STOP,
    )
    server = Server(config, application)
    if is_stopped:
        server.should_exit = True
    ready(listener)
    server.run(sockets=[listener])
    application.stop()  # a second signal ends the server at once
