"""The web application: its paths, what it rejects, and the thread of the model.

Every request that needs the model takes a slot of the queue when its body has been read; if there
is none, it is rejected. One thread processes the queue in the order in which the bodies were
complete, so that two requests never use the model at the same time. A body has to arrive in time,
and all that are being read have a bounded size: slow clients keep nobody waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.resources
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Histogram,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from river_extra_trees._core.safe_repr import safe_repr

from . import schema
from .schema import RequestError
from .service import FAILURES, Service

logger = logging.getLogger("uvicorn.error")  # which the server shows

SECONDS_BETWEEN_LOOKS = 1.0
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

PREFIX = "river_extra_trees"  # of all metrics
# Metrics besides those of requests: their names, texts, and where the application has the values.
GAUGES = {
    "process_id": ("The process that reports these metrics.", "process_id"),
    "requests_waiting": ("Requests waiting or being processed.", "waiting"),
    # Not a counter: after a kill, the model continues from its last snapshot.
    "samples_seen": ("Samples that the model has learned.", "point.samples_seen"),
    "model_memory_bytes": ("Memory of the model.", "point.memory_bytes"),
    "recent_score": ("Accuracy or mean absolute error, latest samples.", "point.recent_score"),
    "answers_waiting": ("Answers that wait for their labels.", "service.answers.n_waiting"),
    "samples_unsaved": ("Samples learned since the last snapshot.", "service.unsaved"),
    "last_snapshot_timestamp_seconds": ("Time of the last snapshot, or 0.", "service.saved_at"),
}
COUNTERS = {  # since the start
    "samples_learned": ("Samples learned.", "point.learned"),
    "samples_predicted": ("Samples predicted.", "point.predicted"),
    "answers_forgotten": ("Answers without a label in time.", "service.answers.n_forgotten"),
    "snapshot_failures": ("Snapshots that failed.", "service.monitor.n_failed_saves"),
    "features_missing": ("Features that samples lacked.", "service.fit.n_missing"),
    "features_unknown": ("Features that the model did not know.", "service.fit.n_unknown"),
    "nominal_values_new": ("New nominal values.", "service.n_new_values"),
}
OTHER = "other"  # the endpoint, in metrics, of a request that reaches none
ENDPOINTS = (
    "the endpoints are POST /predict, /labels, /learn, /predict-learn and /snapshot, "
    "and GET /, /info, /status, /explanation, /health and /metrics"
)

FORMS: dict[str, schema.Form] = {  # of the methods of a service
    "predict": schema.ToPredict,
    "labels": schema.ToLabel,
    "learn": schema.ToLearn,
    "predict_learn": schema.ToLearn,
}
SECONDS_TO_SEND = 10.0  # a request

Endpoint = Callable[[Request], Awaitable[Response]]


class Limits(NamedTuple):
    """Limits of a service.

    Parameters
    ----------
    body
        Bytes of a request. Requests that are being read may take `queue` times as many.
    queue
        Requests that are waiting or being processed.
    seconds
        Time to send a request.
    """

    body: int = 4_000_000
    queue: int = 64
    seconds: float = SECONDS_TO_SEND


class Application:
    """The web application of a service.

    Parameters
    ----------
    service
        The service. Only the application may use it from now on.
    limits
        Limits of requests.
    every
        Seconds between two snapshots, if the model has changed; None takes none by time.
    hosts
        Names by which clients may call the service; "*" allows all.
    """

    def __init__(
        self,
        service: Service,
        limits: Limits,
        every: float | None = None,
        hosts: tuple[str, ...] = ("*",),
    ) -> None:
        self.service = service
        self.limits = limits
        self.every = every
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="model")
        self.waiting = 0
        self.reading: set[asyncio.Timeout] = set()  # of the requests that are being read
        self.n_bytes = 0  # of them
        self.process_id = os.getpid()
        self.point = service.monitor.present(service.model, service.samples_seen)
        self.registry = CollectorRegistry()
        self.registry.register(self)
        self.requests = Counter(
            f"{PREFIX}_requests",
            "Requests answered.",
            ("endpoint", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            f"{PREFIX}_request_seconds",
            "Time from the header of a request to its response.",
            ("endpoint",),
            buckets=BUCKETS,
            registry=self.registry,
        )
        endpoints: dict[str, tuple[str, Endpoint]] = {
            "/predict": ("POST", partial(self.process, "predict")),
            "/labels": ("POST", partial(self.process, "labels")),
            "/learn": ("POST", partial(self.process, "learn")),
            "/predict-learn": ("POST", partial(self.process, "predict_learn")),
            "/snapshot": ("POST", self.snapshot),
            "/": ("GET", self.show_page),
            "/explanation": ("GET", self.explain),
            "/health": ("GET", self.health),
            "/info": ("GET", partial(self.report, "info")),
            "/status": ("GET", partial(self.report, "status")),
            "/metrics": ("GET", self.metrics),
        }
        self.asgi = Starlette(
            routes=[
                Route(path, self.timed(path, endpoint), methods=[method])
                for path, (method, endpoint) in endpoints.items()
            ],
            middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=hosts)],
            exception_handlers={HTTPException: self.reject_unknown},
            lifespan=self.lifespan,
        )
        self.asgi.router.redirect_slashes = False  # other paths do not exist, as the message says

    # ------------------------------------------------------------------ the thread of the model

    @contextlib.contextmanager
    def slot(self) -> Iterator[None]:
        """Hold a slot of the queue, or reject the request."""
        if self.waiting >= self.limits.queue:
            raise busy(self.waiting)
        self.waiting += 1
        try:
            yield
        finally:
            self.waiting -= 1

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function in the thread of the model, after earlier calls."""
        return await asyncio.get_running_loop().run_in_executor(self.thread, function, *arguments)

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """Record the state of the model and save it at intervals, while the server runs."""
        tasks = [asyncio.create_task(self.repeat(SECONDS_BETWEEN_LOOKS, self.look))]
        if self.every is not None:
            tasks.append(asyncio.create_task(self.repeat(self.every, self.service.try_save)))
        yield
        for task in tasks:
            task.cancel()
        await asyncio.to_thread(self.stop)

    def stop(self) -> None:
        """Cancel queued requests, and wait for the one that is being processed."""
        self.thread.shutdown(cancel_futures=True)

    async def repeat(self, seconds: float, function: Callable[[], Any]) -> None:
        """Call a function in the thread of the model at intervals."""
        while True:
            try:
                await self.run(function)
            except Exception:  # without memory, for example: the next call may succeed
                logger.exception("the service continues")
            await asyncio.sleep(seconds)

    def look(self) -> None:
        """Add a point to the curves and the metrics."""
        self.point = self.service.look()

    # ------------------------------------------------------------------ what is rejected

    def timed(self, path: str, endpoint: Endpoint) -> Endpoint:
        """Wrap an endpoint: check and count its requests, and report errors in JSON."""

        async def respond(request: Request) -> Response:
            started = time.perf_counter()
            try:
                response = await endpoint(request)
            except RequestError as error:
                response = rejection(error.status, str(error))
            except ClientDisconnect:
                response = rejection(400, "the connection ended before the body")
            except Exception:
                logger.exception("%s failed", path)
                response = rejection(500, "an error of the service, which its log describes")
            self.requests.labels(path, str(response.status_code)).inc()
            self.seconds.labels(path).observe(time.perf_counter() - started)
            return response

        return respond

    async def reject_unknown(self, request: Request, error: Exception) -> Response:
        """Respond to a request for a path or a method that does not exist."""
        assert isinstance(error, HTTPException)
        self.requests.labels(OTHER, str(error.status_code)).inc()
        wrong = f"{request.method} {request.url.path}: {error.detail.lower()}"
        response = rejection(error.status_code, f"{wrong}; {ENDPOINTS}")
        response.headers.update(error.headers or {})
        return response

    # ------------------------------------------------------------------ endpoints

    async def process(self, method: str, request: Request) -> Response:
        """Read samples, call a method of the service and write what it returns."""
        service = self.service  # replicas replace it
        answered = method.startswith("predict")
        many = schema.is_many(request.headers.get("content-type", ""))
        query = dict(request.query_params)
        wanted = [schema.read_wanted(query)] if answered else []
        if query and not answered:
            raise RequestError(f"{request.url.path} takes no parameters")

        def call(body: bytes) -> tuple[bytes, int]:
            samples = schema.read_samples(body, FORMS[method], many=many)
            found, seen = getattr(service, method)(samples, *wanted), service.samples_seen
            if not answered:
                return schema.write(found), seen
            return schema.write_lines(found) if many else schema.write(found[0]), seen

        body = await self.body_of(request)
        with self.slot():
            content, seen = await self.run(call, body)
        kind = schema.JSON_LINES if many and answered else schema.JSON
        return Response(content, media_type=kind, headers={schema.SAMPLES_SEEN: str(seen)})

    async def body_of(self, request: Request) -> bytes:
        """Read a body that is neither too long nor too slow, while there is memory for it."""
        body, limits = bytearray(), self.limits
        try:
            async with asyncio.timeout(limits.seconds) as timeout:
                self.reading.add(timeout)
                async for chunk in request.stream():
                    body += chunk
                    self.n_bytes += len(chunk)
                    if len(body) > limits.body:
                        wrong = f"the body is longer than {limits.body:,} bytes"
                        raise RequestError(f"{wrong}; send fewer samples at a time", 413)
                    if self.n_bytes > limits.body * limits.queue:
                        raise busy(len(self.reading))
        except TimeoutError:
            raise RequestError("the request was not sent in time", 408) from None
        finally:
            self.reading.discard(timeout)
            self.n_bytes -= len(body)
        return bytes(body)

    def end_reading(self) -> None:
        """Reject the requests that have not been sent completely, because the server stops."""
        self.limits = self.limits._replace(seconds=0.0)  # of those that begin now
        for timeout in self.reading:
            if not timeout.expired():
                timeout.reschedule(0.0)

    async def snapshot(self, request: Request) -> Response:
        """Save the model; a type of the content is required so that no page of a browser can."""
        schema.is_many(request.headers.get("content-type", ""))
        try:
            return await self.report("save", request)
        except FAILURES as error:
            raise RequestError(f"cannot save to {self.service.path}: {error}", 500) from error

    async def report(self, method: str, request: Request) -> Response:
        """Return the result of a method of the service."""
        with self.slot():
            return json_response(await self.run(getattr(self.service, method)))

    async def explain(self, request: Request) -> Response:
        """Explain one of the latest predictions; the page asks by its time."""
        try:
            time = float(request.query_params.get("time", ""))
        except ValueError:
            raise RequestError("the parameter time must be that of a prediction") from None
        with self.slot():
            return json_response(await self.run(self.service.explain_latest, time))

    async def health(self, request: Request) -> Response:
        """Report that the server is up, without using the model."""
        return json_response({"status": "ok", "waiting": self.waiting, "queue": self.limits.queue})

    async def show_page(self, request: Request) -> Response:
        """Return the page."""
        page = importlib.resources.files(__package__).joinpath("page.html").read_bytes()
        return Response(page, media_type="text/html")

    # ------------------------------------------------------------------ metrics

    async def metrics(self, request: Request) -> Response:
        """Return the metrics for Prometheus, at most a second old."""
        content = generate_latest(self.registry)
        return Response(content, headers={"Content-Type": CONTENT_TYPE_LATEST})

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of the service; the registry calls this."""
        for name, (text, value) in GAUGES.items():
            yield GaugeMetricFamily(f"{PREFIX}_{name}", text, attrgetter(value)(self) or 0.0)
        for name, (text, value) in COUNTERS.items():
            yield CounterMetricFamily(f"{PREFIX}_{name}", text, attrgetter(value)(self) or 0.0)
        if self.point.effective_memory is not None:
            text = "Samples that extra trees rely on; it falls when the stream changes."
            memory = self.point.effective_memory
            yield GaugeMetricFamily(f"{PREFIX}_effective_memory", text, memory)
        core = self.service.learner._core
        for thing, names, reason in (
            ("feature", core.schema.crowded, "forgot another, or found no place"),
            ("label", core.labels.crowded, "forgot another"),
        ):
            crowded = GaugeMetricFamily(
                f"{PREFIX}_{thing}s_crowded",
                f"1 for the last {thing} for which the model {reason}.",
                labels=[thing],
            )
            for name in names:
                text = safe_repr(name, str).encode(errors="backslashreplace").decode()
                crowded.add_metric([text], 1.0)
            yield crowded
        alarms = CounterMetricFamily(f"{PREFIX}_alarms", "Alarms.", labels=["kind"])
        for kind, n in self.service.monitor.n_alarms.items():
            alarms.add_metric([kind], n)
        yield alarms


# ---------------------------------------------------------------------- responses


def busy(n: int) -> RequestError:
    """Return the error for a request beyond the queue."""
    return RequestError(f"{n} requests are waiting already; try again in a second", 503)


def json_response(document: Any, status: int = 200) -> Response:
    """Return a response in JSON."""
    return Response(schema.write(document), status, media_type=schema.JSON)


def rejection(status: int, message: str) -> Response:
    """Return the response to a request that is rejected."""
    response = json_response({"error": message}, status)
    if status == 503:
        response.headers["Retry-After"] = "1"
    return response
