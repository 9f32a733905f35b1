"""Runs a service until a signal comes."""

from __future__ import annotations

import copy
import ipaddress
import logging
import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn
import uvicorn.config

from .endpoints import Application, Limits
from .protocol import MOST_BYTES, protocol
from .service import Service

LOOPBACK = ("localhost", "127.0.0.1", "::1")
SECONDS_TO_STOP = 10  # for requests that have begun
MOST_CONNECTIONS = 1000

LOGS = copy.deepcopy(uvicorn.config.LOGGING_CONFIG)
LOGS["handlers"]["access"]["stream"] = "ext://sys.stderr"


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
    # asyncio sends small answers at once only on sockets that say they are TCP; otherwise an answer
    # in two parts waits some 40 ms for the client to acknowledge the first.
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, found.detach())


def serve(
    service: Service,
    listener: socket.socket,
    limits: Limits,
    every: float | None = None,
    ready: Callable[[], None] = lambda: None,
    logs_requests: bool = False,
) -> None:
    """Serve a model until SIGINT or SIGTERM. What it has learned since may be unsaved then.

    Parameters
    ----------
    service
        The service.
    listener
        The socket on which clients come.
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

    def is_crowded() -> bool:
        return len(running.server_state.connections) > MOST_CONNECTIONS

    application = Application(service, limits, every, hosts, is_crowded)
    config = uvicorn.Config(
        application.asgi,
        http=protocol(application.count_other),
        h11_max_incomplete_event_size=MOST_BYTES,
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
    # uvicorn stops at these signals, and raises them again afterwards for whoever handled them.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, pass_over)
    running = uvicorn.Server(config)
    ready()
    running.run(sockets=[listener])
    application.stop()  # a second signal ends the server at once


def pass_over(number: int, frame: FrameType | None) -> None:
    """Do nothing."""
