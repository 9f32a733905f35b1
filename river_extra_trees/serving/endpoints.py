"""The web application: what the paths mean, what is refused, and the one thread of the model.

Every request that needs the model takes a place in a queue before its body is read; when all are
taken, it is told to come back. One thread works through the queue in the order in which the bodies
were complete, so that the model is never used by two requests at a time.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import importlib.resources
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from . import schema
from .refusals import OTHER, Gate, json_response, refusal, refuse_http
from .schema import RequestError
from .service import FAILURES, Service
from .telemetry import Telemetry

logger = logging.getLogger("uvicorn.error")  # which the server shows

SECONDS_TO_READ = 30.0  # a body
SECONDS_BETWEEN_LOOKS = 1.0

Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass
class Limits:
    """What a service takes at most.

    Parameters
    ----------
    body
        Bytes of a request.
    queue
        Requests that are read, wait or are worked on.
    """

    body: int = 4_000_000
    queue: int = 64


class Application:
    """The web application of a service.

    Parameters
    ----------
    service
        The service. The application alone may use it from now on.
    limits
        Limits of requests.
    every
        Seconds between two snapshots, if there is something new; None takes none by time.
    hosts
        Names of this machine by which browsers may call it; "*" allows all. It keeps the pages of
        others from reaching a service that only this machine can see.
    is_crowded
        Whether the server has too many connections.
    """

    def __init__(
        self,
        service: Service,
        limits: Limits,
        every: float | None = None,
        hosts: tuple[str, ...] = ("*",),
        is_crowded: Callable[[], bool] = lambda: False,
    ) -> None:
        self.service = service
        self.limits = limits
        self.every = every
        self.telemetry = Telemetry()
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="model")
        self.waiting = 0
        self.page, policy = page_with_policy()
        self.page_headers = {"Content-Security-Policy": policy, "Cache-Control": "no-store"}
        posts: dict[str, Endpoint] = {
            "/predict": self.predict,
            "/learn": self.learn,
            "/predict-learn": self.predict_learn,
            "/snapshot": self.snapshot,
        }
        gets: dict[str, Endpoint] = {
            "/": self.show_page,
            "/health": self.health,
            "/info": self.info,
            "/status": self.status,
            "/metrics": self.metrics,
        }
        self.asgi = Starlette(
            routes=[
                *(
                    Route(path, self.timed(path, to), methods=["POST"])
                    for path, to in posts.items()
                ),
                *(Route(path, self.timed(path, to), methods=["GET"]) for path, to in gets.items()),
            ],
            middleware=[Middleware(Gate, hosts, is_crowded, self.count_other)],
            exception_handlers={HTTPException: refuse_http(self.count_other)},
            lifespan=self.lifespan,
        )
        self.asgi.router.redirect_slashes = False  # another path is not found, as the message says

    # ------------------------------------------------------------------ the thread of the model

    @contextlib.contextmanager
    def place(self) -> Iterator[None]:
        """Hold a place in the queue, or refuse the request."""
        if self.waiting >= self.limits.queue:
            raise RequestError(
                f"{self.waiting} requests are waiting already; try again in a second", 503
            )
        self.waiting += 1
        self.telemetry.waiting.set(self.waiting)
        try:
            yield
        finally:
            self.waiting -= 1
            self.telemetry.waiting.set(self.waiting)

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function in the thread of the model, after those that came before."""
        return await asyncio.get_running_loop().run_in_executor(self.thread, function, *arguments)

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """Look at the model and save it at intervals, as long as the server runs."""
        tasks = [asyncio.create_task(self.repeat(SECONDS_BETWEEN_LOOKS, self.look))]
        if self.every is not None:
            tasks.append(asyncio.create_task(self.repeat(self.every, self.service.try_save)))
        yield
        for task in tasks:
            task.cancel()
        await asyncio.to_thread(self.stop)

    def stop(self) -> None:
        """Wait for the thread of the model; what it has not begun, it never will."""
        self.thread.shutdown(cancel_futures=True)

    async def repeat(self, seconds: float, function: Callable[[], Any]) -> None:
        """Call a function in the thread of the model at intervals."""
        while True:
            try:
                await self.run(function)
            except Exception:  # without memory, for example: it may be better next time
                logger.exception("the service goes on without it")
            await asyncio.sleep(seconds)

    def look(self) -> None:
        """Bring curves and metrics up to date."""
        self.telemetry.update(self.service.look(), self.service)

    # ------------------------------------------------------------------ endpoints

    def count_other(self, status: int) -> None:
        """Count a request that reached no endpoint."""
        self.telemetry.count(OTHER, status)

    def timed(self, path: str, endpoint: Endpoint) -> Endpoint:
        """Wrap an endpoint: count its requests, and answer errors in JSON."""

        async def answer(request: Request) -> Response:
            started = time.perf_counter()
            try:
                response = await endpoint(request)
            except RequestError as error:
                response = refusal(error.status, str(error))
            except ClientDisconnect:
                response = refusal(400, "the connection ended before the body")
            except asyncio.CancelledError:  # the server waits no longer
                response = refusal(503, "the service stopped before the request was complete")
            except Exception:
                logger.exception("%s failed", path)
                response = refusal(500, "an error of the service, which its log describes")
            self.telemetry.count(path, response.status_code, time.perf_counter() - started)
            return response

        return answer

    async def predict(self, request: Request) -> Response:
        """Answer samples."""
        return await self.work(request, "predict", learned=False, answered=True)

    async def learn(self, request: Request) -> Response:
        """Learn samples."""
        return await self.work(request, "learn", learned=True, answered=False)

    async def predict_learn(self, request: Request) -> Response:
        """Answer each sample, then learn it."""
        return await self.work(request, "predict_learn", learned=True, answered=True)

    async def work(
        self, request: Request, method: str, *, learned: bool, answered: bool
    ) -> Response:
        """Read samples, call a method of the service and write what it returns."""
        service = self.service  # which replicas exchange
        many = schema.is_many(request.headers.get("content-type", ""))
        query = request.query_params.multi_items()
        wanted = [schema.read_wanted(query)] if answered else []
        if query and not answered:
            raise RequestError(f"{request.url.path} takes no parameters")

        def call(body: bytes) -> tuple[bytes, int]:
            samples = schema.read_samples(body, many=many, learned=learned)
            found, seen = getattr(service, method)(samples, *wanted), service.samples_seen
            if not answered:
                return schema.write(found), seen
            return schema.write_lines(found) if many else schema.write(found[0]), seen

        with self.place():
            content, seen = await self.run(call, await self.body_of(request))
        kind = schema.JSON_LINES if many and answered else schema.JSON
        return Response(content, media_type=kind, headers={schema.SAMPLES_SEEN: str(seen)})

    async def body_of(self, request: Request) -> bytes:
        """Read a body that is neither too long nor too slow."""
        too_long = RequestError(
            f"the body is longer than {self.limits.body:,} bytes; send fewer samples at a time", 413
        )
        stated = request.headers.get("content-length", "0")
        if stated.isdecimal() and int(stated) > self.limits.body:
            raise too_long
        body = bytearray()
        try:
            async with asyncio.timeout(SECONDS_TO_READ):
                async for chunk in request.stream():
                    body += chunk
                    if len(body) > self.limits.body:
                        raise too_long
        except TimeoutError:
            raise RequestError(
                f"the body did not arrive within {SECONDS_TO_READ:.0f} seconds", 408
            ) from None
        return bytes(body)

    async def snapshot(self, request: Request) -> Response:
        """Save the model."""
        with self.place():
            try:
                return json_response(await self.run(self.service.save))
            except FAILURES as error:
                raise RequestError(f"cannot save to {self.service.path}: {error}", 500) from error

    async def info(self, request: Request) -> Response:
        """Describe the model."""
        with self.place():
            return json_response(await self.run(self.service.info))

    async def status(self, request: Request) -> Response:
        """Return what the page shows."""
        with self.place():
            return json_response(await self.run(self.service.status))

    async def health(self, request: Request) -> Response:
        """Say that the server is there, without asking the model."""
        return json_response({"status": "ok", "waiting": self.waiting, "queue": self.limits.queue})

    async def metrics(self, request: Request) -> Response:
        """Return the metrics for Prometheus, at most a second old."""
        content = generate_latest(self.telemetry.registry)
        return Response(content, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def show_page(self, request: Request) -> Response:
        """Return the page."""
        return Response(self.page, media_type="text/html", headers=self.page_headers)


def page_with_policy() -> tuple[bytes, str]:
    """Return the page, and the policy by which browsers run its own script and nothing else."""
    page = importlib.resources.files(__package__).joinpath("page.html").read_bytes()
    hashes = {
        tag: base64.b64encode(hashlib.sha256(found[1]).digest()).decode()
        for tag in ("script", "style")
        if (found := re.search(rb"<%b>(.*?)</%b>" % (tag.encode(), tag.encode()), page, re.DOTALL))
    }
    policy = "; ".join(
        (
            "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'",
            "form-action 'none'; frame-ancestors 'none'",
            *(f"{tag}-src 'sha256-{each}'" for tag, each in hashes.items()),
        )
    )
    return page, policy
