"""What refuses a request before it reaches an endpoint: in JSON that names the reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from . import schema

OTHER = "other"  # the endpoint, in metrics, of a request that reaches none
ENDPOINTS = (
    "the endpoints are POST /predict, /learn, /predict-learn and /snapshot, "
    "and GET /, /info, /status, /health and /metrics"
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
    by a name of their own, are refused. So are the requests of such pages that change anything.

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
        response = self.refused(scope) if scope["type"] == "http" else None
        if response is None:
            await self.app(scope, receive, send)
            return
        self.count(response.status_code)
        await response(scope, receive, send)

    def refused(self, scope: Scope) -> Response | None:
        """Return the refusal of a request, if it is refused."""
        headers = Headers(scope=scope)
        if self.is_crowded():
            response = refusal(503, "there are too many connections; try again in a second")
            response.headers["Connection"] = "close"
            return response
        if "*" not in self.hosts and host_of(headers.get("host", "")) not in self.hosts:
            names = ", ".join(self.hosts)
            return refusal(
                400, f"the header Host must be one of {names}; a reverse proxy must set it"
            )
        if scope["method"] == "POST" and is_foreign(headers):
            return refusal(403, "requests from pages of other sites are not allowed")
        return None


def host_of(text: str) -> str | None:
    """Return the host of a header, without its port and the brackets of IPv6.

    Examples
    --------
    >>> from river_extra_trees.serving import refusals
    >>> hosts = ["localhost:8000", "[::1]:8000", "a@localhost", "localhost/x", "[", ""]
    >>> [refusals.host_of(host) for host in hosts]
    ['localhost', '::1', None, None, None, None]
    """
    found = HOST.fullmatch(text)
    return (found[1] or found[2]).lower() if found else None


HOST = re.compile(r"(?:([\w.-]+)|\[([0-9A-Fa-f:.]+)\])(?::[0-9]*)?", re.ASCII)


def is_foreign(headers: Headers) -> bool:
    """Return whether a browser sends a request for a page of another site.

    Browsers say so themselves in `Sec-Fetch-Site`. Those that do not, because they are old or the
    service is on another machine, name the site of the page in `Origin`. Other clients send
    neither.

    Examples
    --------
    >>> from starlette.datastructures import Headers
    >>> from river_extra_trees.serving import refusals
    >>> origins = ["http://localhost:8000", "http://localhost:9000", "null"]
    >>> [
    ...     refusals.is_foreign(Headers({"host": "localhost:8000", "origin": origin}))
    ...     for origin in origins
    ... ]
    [False, True, True]
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:
        return site not in ("same-origin", "none")
    return origin is not None and origin.partition("://")[2] != headers.get("host")


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
