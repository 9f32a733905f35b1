"""What refuses a request before it reaches an endpoint: in JSON that names the reason."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from . import schema

OTHER = "other"  # the endpoint, in metrics, of a request that reaches none
ENDPOINTS = (
    "the endpoints are POST /predict, /learn, /predict-learn and /snapshot, "
    "and GET /, /info, /status, /health and /metrics"
)
NO_HTTP = (
    "this is not HTTP: send a request such as POST /predict, with the content type application/json"
)

Count = Callable[[int], None]


def json_response(document: Any, status: int = 200) -> Response:
    """Make an answer of a document."""
    return Response(schema.write(document), status, media_type=schema.JSON)


def refusal(status: int, message: str) -> Response:
    """Make the answer to a request that is refused."""
    response = json_response({"error": message}, status)
    if status == 503:
        response.headers["Retry-After"] = "1"
    return response


class Gate:
    """Lets requests through that name this machine, while there are not too many connections.

    Browsers send the name by which a page called, so the pages of others, which reach this machine
    by a name of their own, are refused.

    Parameters
    ----------
    app
        The application behind.
    hosts
        Names of this machine; "*" stands for any.
    is_crowded
        Whether there are too many connections; this one is closed then.
    count
        Counts a status.
    """

    def __init__(
        self, app: ASGIApp, hosts: Collection[str], is_crowded: Callable[[], bool], count: Count
    ) -> None:
        self.app = app
        self.hosts = hosts
        self.is_crowded = is_crowded
        self.count = count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or leave it to the application."""
        response = self.refused(Headers(scope=scope)) if scope["type"] == "http" else None
        if response is None:
            await self.app(scope, receive, send)
            return
        self.count(response.status_code)
        await response(scope, receive, send)

    def refused(self, headers: Headers) -> Response | None:
        """Return the refusal of a request, if it is refused."""
        if self.is_crowded():
            response = refusal(503, "there are too many connections; try again in a second")
            response.headers["Connection"] = "close"
            return response
        if "*" in self.hosts or host_of(headers) in self.hosts:
            return None
        names = ", ".join(self.hosts)
        return refusal(400, f"the header Host must be one of {names}; a reverse proxy must set it")


def host_of(headers: Headers) -> str | None:
    """Return the host that a request names, without its port.

    Examples
    --------
    >>> from starlette.datastructures import Headers
    >>> from river_extra_trees.serving import refusals
    >>> hosts = ["localhost:8000", "[::1]:8000", "[", ""]
    >>> [refusals.host_of(Headers({"host": host})) for host in hosts]
    ['localhost', '::1', None, None]
    """
    try:
        return urlsplit(f"//{headers.get('host', '')}").hostname
    except ValueError:
        return None


def refuse_http(count: Count) -> Callable[[Request, Exception], Any]:
    """Return what answers a path or a method that does not exist."""

    async def refuse(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        count(error.status_code)
        wrong = f"{request.method} {request.url.path}: {error.detail.lower()}"
        response = refusal(error.status_code, f"{wrong}; {ENDPOINTS}")
        response.headers.update(error.headers or {})
        return response

    return refuse


def protocol(count: Count) -> type[asyncio.Protocol]:
    """Return uvicorn's HTTP, which answers what is no HTTP in JSON, too."""

    def send_400_response(self: Any, message: str) -> None:
        body = schema.write({"error": NO_HTTP})
        head = (
            "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n"
            f"content-type: {schema.JSON}\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        count(400)
        self.transport.write(head.encode() + body)
        self.transport.close()

    return type("Protocol", (AutoHTTPProtocol,), {"send_400_response": send_400_response})
