"""The race: every learner predicts each item, is scored, and then learns the item."""

from __future__ import annotations

import math
import signal
import time
import zlib
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Any

from river import base, metrics

from river_extra_trees.cli import UserError
from river_extra_trees.cli.streams import Row, Task

# A curve keeps between half of this and this many points, however long the stream is.
MOST_POINTS = 400
# Measuring a large model made of Python objects takes seconds: spend at most this share of time.
SHARE_FOR_MEMORY = 0.02


@dataclass
class Point:
    """Scores, time and memory of a learner after a number of items."""

    items: int
    scores: dict[str, float]
    seconds: float
    memory: int


@dataclass
class Entrant:
    """A learner with its results so far."""

    name: str
    model: Any
    metrics: dict[str, metrics.base.Metric]
    items: int = 0
    seconds: float = 0.0
    memory: int = 0
    error: str | None = None
    curve: list[Point] = field(default_factory=list)
    next_look: float = 0.0

    def take(self, x: dict[str, Any], y: Any) -> None:
        """Predict, score, learn; a learner that raises leaves the race."""
        model = self.model
        label = probabilities = None
        try:
            start = time.perf_counter()
            if self.wants_labels:
                label = model.predict_one(x)
            if self.wants_probabilities:
                probabilities = model.predict_proba_one(x)
            model.learn_one(x, y)
            self.seconds += time.perf_counter() - start
        except Exception as error:  # a learner of any origin may raise anything
            text = " ".join(str(error).split())
            self.error = f"failed at item {self.items + 1}: {type(error).__name__}: {text}"
            return
        self.items += 1
        for name, metric in self.metrics.items():
            answer = label if needs_label(metric) else probabilities
            if answer is None or answer == {}:
                continue  # as in river: a missing prediction is not scored
            try:
                metric.update(y, answer)
            except Exception as error:
                raise UserError(f"the metric {name} cannot score the target {y!r}") from error

    def __post_init__(self) -> None:
        kinds = {needs_label(metric) for metric in self.metrics.values()}
        self.wants_labels = True in kinds
        self.wants_probabilities = False in kinds

    def look(self, *, force: bool = False) -> None:
        """Add the present results to the curve."""
        now = time.perf_counter()
        if force or now >= self.next_look:
            self.memory = self.model._raw_memory_usage
            cost = time.perf_counter() - now
            self.next_look = now + cost / SHARE_FOR_MEMORY
        self.curve.append(Point(self.items, self.scores(), self.seconds, self.memory))

    def scores(self) -> dict[str, float]:
        """Return the metrics as they stand."""
        return {name: float(metric.get()) for name, metric in self.metrics.items()}

    @property
    def speed(self) -> float:
        """Items predicted and learned per second of the learner's own time."""
        return self.items / self.seconds if self.seconds else math.nan


def checksum(row: Row, start: int = 0) -> int:
    """Return the checksum of a row, continued from that of the earlier rows."""
    return zlib.crc32(repr(row).encode(errors="backslashreplace"), start)


class Race:
    """Several learners on one stream, in step.

    Parameters
    ----------
    entrants
        The learners.

    Attributes
    ----------
    items
        Number of items shown.
    targets
        The distinct labels shown.
    checksum
        Checksum of the rows shown.

    """

    def __init__(self, entrants: list[Entrant], task: Task) -> None:
        self.entrants = entrants
        self.task = task
        self.items = 0
        self.targets: set[Hashable] = set()
        self.checksum = 0
        self.spacing = 1

    def run(self, rows: Iterable[Row]) -> Iterator[int]:
        """Show every row to every learner, yielding the number of items shown so far."""
        for x, y in rows:
            self.checksum = checksum((x, y), self.checksum)
            for entrant in self.entrants:
                if entrant.error is None:
                    # A copy, in case a learner changes its input.
                    entrant.take(dict(x), y)
            self.items += 1
            if self.task == "classification":
                self.targets.add(y)
            if self.items % self.spacing == 0:
                self.look()
            yield self.items

    def look(self) -> None:
        """Record the results of all learners; thin out the curves when they become long."""
        for entrant in self.entrants:
            if entrant.error is None:
                entrant.look()
        if max(len(entrant.curve) for entrant in self.entrants) >= MOST_POINTS:
            self.spacing *= 2
            for entrant in self.entrants:
                entrant.curve = entrant.curve[1::2]

    def finish(self) -> None:
        """Record the final results, with the present memory."""
        for entrant in self.entrants:
            if entrant.error is not None:
                continue
            if entrant.curve and entrant.curve[-1].items == entrant.items:
                entrant.curve.pop()
            entrant.look(force=True)

    def notes(self) -> Iterator[str]:
        """Name the metrics whose positive label never appeared."""
        for name, metric in self.entrants[0].metrics.items():
            if isinstance(metric, metrics.base.BinaryMetric) and metric.pos_val not in self.targets:
                yield (
                    f"{name} looks for the label {metric.pos_val!r}, which never came; "
                    f"name another as in {name}:pos_val=spam"
                )

    def ranking(self) -> list[Entrant]:
        """Return the learners, best first by the first metric, and failed ones last."""
        return sorted(self.entrants, key=_rank)


def _rank(entrant: Entrant) -> tuple[bool, float]:
    metric = next(iter(entrant.metrics.values()))
    score = float(metric.get())
    if math.isnan(score):
        score = -math.inf if metric.bigger_is_better else math.inf
    return entrant.error is not None, -score if metric.bigger_is_better else score


def needs_label(metric: metrics.base.Metric) -> bool:
    """Return whether a metric takes labels or numbers, rather than class probabilities."""
    return not isinstance(metric, metrics.base.ClassificationMetric) or metric.requires_labels


def enter(name: str, model: base.Estimator, metrics: dict[str, metrics.base.Metric]) -> Entrant:
    """Create an entrant; raise a UserError if a metric needs probabilities that it lacks."""
    entrant = Entrant(name, model, metrics)
    if entrant.wants_probabilities and not hasattr(model, "predict_proba_one"):
        raise UserError(f"{name} has no probabilities to score")
    return entrant


class Interruptible:
    """Handles Ctrl-C between two items, so that all learners end on the same item.

    While the race waits for the next row, Ctrl-C ends the wait. A second Ctrl-C interrupts
    immediately.
    """

    def __init__(self) -> None:
        self.interrupted = False
        self.waiting = False

    def __enter__(self) -> Interruptible:
        self.previous = signal.signal(signal.SIGINT, self.handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        signal.signal(signal.SIGINT, self.previous)

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Record the interruption, or interrupt immediately."""
        at_once = self.waiting or self.interrupted
        self.interrupted = True
        if at_once:
            raise KeyboardInterrupt

    def rows(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Yield rows until the stream ends or the user interrupts."""
        while not self.interrupted:
            self.waiting = True
            try:
                row = next(rows)
            except (StopIteration, KeyboardInterrupt):
                return
            finally:
                self.waiting = False
            yield row
