"""The metrics of a service, as Prometheus reads them."""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from .monitor import Point
from .service import Service

PREFIX = "river_extra_trees"
SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Telemetry:
    """The metrics of one service, in a registry of their own.

    Attributes
    ----------
    registry
        What Prometheus reads.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        process = self.gauge("process_id", "The process that reports these metrics.")
        process.set(os.getpid())
        labels = ("endpoint", "status")
        self.requests = Counter(
            f"{PREFIX}_requests", "Requests answered.", labels, registry=self.registry
        )
        self.seconds = Histogram(
            f"{PREFIX}_request_seconds",
            "Time from the head of a request to its response.",
            ("endpoint",),
            buckets=SECONDS,
            registry=self.registry,
        )
        self.waiting = self.gauge(
            "requests_waiting", "Requests being read, waiting or being processed."
        )
        # No counter: after a kill, the model goes on from its last snapshot.
        self.samples_seen = self.gauge("samples_seen", "Samples that the model has learned.")
        self.learned = self.counter("samples_learned", "Samples learned since the start.")
        self.predicted = self.counter("samples_predicted", "Samples predicted since the start.")
        self.memory = self.gauge("model_memory_bytes", "Memory of the model.")
        self.score = self.gauge(
            "recent_score", "Accuracy or mean absolute error of the latest scored samples."
        )
        self.unsaved = self.gauge("samples_unsaved", "Samples learned since the last snapshot.")
        self.saved_at = self.gauge(
            "last_snapshot_timestamp_seconds", "Time of the last snapshot; 0 if there is none."
        )
        self.failed_saves = self.counter("snapshot_failures", "Snapshots that failed.")
        self.missing = self.counter(
            "features_missing", "Features of the model that samples lacked since the start."
        )
        self.unknown = self.counter(
            "features_unknown", "Features of samples that the model did not know since the start."
        )
        self.new_values = self.counter(
            "nominal_values_new", "Nominal values that the model did not know since the start."
        )
        self.totals: dict[Counter, int] = {}

    def gauge(self, name: str, text: str) -> Gauge:
        """Make a gauge."""
        return Gauge(f"{PREFIX}_{name}", text, registry=self.registry)

    def counter(self, name: str, text: str) -> Counter:
        """Make a counter."""
        return Counter(f"{PREFIX}_{name}", text, registry=self.registry)

    def advance(self, counter: Counter, total: int) -> None:
        """Let a counter go on to a total."""
        counter.inc(total - self.totals.get(counter, 0))
        self.totals[counter] = total

    def count(self, endpoint: str, status: int, seconds: float | None = None) -> None:
        """Count a request, and its time if that is known."""
        self.requests.labels(endpoint, str(status)).inc()
        if seconds is not None:
            self.seconds.labels(endpoint).observe(seconds)

    def update(self, point: Point, service: Service) -> None:
        """Take over the state of a service."""
        self.samples_seen.set(point.samples_seen)
        self.advance(self.learned, point.learned)
        self.advance(self.predicted, point.predicted)
        self.memory.set(point.memory_bytes)
        if point.recent_score is not None:
            self.score.set(point.recent_score)
        self.unsaved.set(service.unsaved)
        self.saved_at.set(service.saved_at or 0.0)
        self.advance(self.failed_saves, service.monitor.n_failed_saves)
        self.advance(self.missing, service.monitor.n_missing)
        self.advance(self.unknown, service.monitor.n_unknown)
        self.advance(self.new_values, service.monitor.n_new_values)
