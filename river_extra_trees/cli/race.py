"""The race: every learner predicts each sample, is scored, and then learns the sample."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Any

from river import base, metrics, utils

from river_extra_trees._estimator.learner import reads_columns
from river_extra_trees.cli import UserError
from river_extra_trees.cli.streams import Task
from river_extra_trees.column_kinds import ColumnKinds
from river_extra_trees.evaluate.answers import predict_learn
from river_extra_trees.evaluate.chunks import SMALLEST_CHUNK, Chunk
from river_extra_trees.streams import Batch

# A curve keeps between half of this and this many points, however long the stream is.
MOST_POINTS = 400
# Ctrl-C is heeded between chunks of at most so many samples.
LARGEST_CHUNK = 1024
# Measuring a large model made of Python objects takes seconds: spend at most this share of time.
SHARE_FOR_MEMORY = 0.02


@dataclass
class Point:
    """Scores, time and memory of a learner after a number of samples."""

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

    def take(self, chunk: Chunk) -> None:
        """Predict, score and learn samples; a learner that raises leaves the race."""
        if len(chunk) >= SMALLEST_CHUNK and self.reads_columns:
            try:
                answers = self._take_all(chunk)
            except (TypeError, ValueError):
                pass  # nothing is learned of a chunk that is refused: find the sample
            except Exception as error:  # a learner of any origin may raise anything
                self._leave(error)
                return
            else:
                self.items += len(chunk)
                for y, answer in zip(chunk.targets, answers, strict=True):
                    self._score(y, answer, answer)
                return
        for x, y, *weight in chunk.rows():
            if self.error is None:
                self._take_one(x, y, dict(*weight))

    def _take_all(self, chunk: Chunk) -> list[Any]:
        samples = chunk.samples(self.model._core.regression)
        start = time.perf_counter()
        answers = predict_learn(self.model, samples, probabilities=self.wants_probabilities)
        self.seconds += time.perf_counter() - start
        return answers

    def _take_one(self, x: dict[str, Any], y: Any, weight: Mapping[str, float]) -> None:
        model = self.model
        label = probabilities = None
        try:
            start = time.perf_counter()
            if self.wants_labels:
                label = model.predict_one(x)
            if self.wants_probabilities:
                probabilities = model.predict_proba_one(x)
            model.learn_one(x, y, **weight)
            self.seconds += time.perf_counter() - start
        except Exception as error:  # a learner of any origin may raise anything
            self._leave(error)
            return
        self.items += 1
        self._score(y, label, probabilities)

    def _score(self, y: Any, label: Any, probabilities: Any) -> None:
        for name, metric in self.metrics.items():
            answer = label if needs_label(metric) else probabilities
            if answer is None or answer == {}:
                continue  # as in river: a missing prediction is not scored
            try:
                metric.update(y_true=y, y_pred=answer)
            except Exception as error:
                raise UserError(f"the metric {name} cannot score the target {y!r}") from error

    def _leave(self, error: Exception) -> None:
        text = " ".join(str(error).split())
        self.error = f"failed at sample {self.items + 1}: {type(error).__name__}: {text}"

    def __post_init__(self) -> None:
        kinds = {needs_label(metric) for metric in self.metrics.values()}
        self.wants_labels = True in kinds
        self.wants_probabilities = False in kinds
        self.reads_columns = len(kinds) == 1 and reads_columns(self.model)

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


class Race:
    """Several learners on one stream, in step.

    Parameters
    ----------
    entrants
        The learners.
    task
        The task.
    kinds
        The kinds of the columns, which count missing values; None if nothing keeps them.

    Attributes
    ----------
    items
        Number of samples shown.
    targets
        The distinct labels shown.

    """

    def __init__(
        self, entrants: list[Entrant], task: Task, kinds: ColumnKinds | None = None
    ) -> None:
        self.entrants = entrants
        self.kinds = kinds
        self.task = task
        self.items = 0
        self.targets: set[Hashable] = set()
        self.spacing = 1

    def run(self, batches: Iterable[Batch], stop_every: int = 0) -> Iterator[int]:
        """Show all samples to every learner, yielding the number of samples shown so far.

        It is yielded after every chunk of samples, and after each `stop_every` samples.
        """
        for batch in batches:
            start = 0
            while start < len(batch):
                stop = min(len(batch), start + self.spacing - self.items % self.spacing)
                stop = min(stop, start + LARGEST_CHUNK)
                if stop_every:
                    stop = min(stop, start + stop_every - self.items % stop_every)
                self._show(batch[start:stop])
                start = stop
                if self.items % self.spacing == 0:
                    self.look()
                yield self.items

    def _show(self, batch: Batch) -> None:
        chunk = Chunk(batch.frame, batch.targets or [], batch.weights, numbers=batch.numbers)
        if self.kinds is not None:
            self.kinds._count(batch.frame)
        for entrant in self.entrants:
            if entrant.error is None:
                entrant.take(chunk)
        self.items += len(batch)
        if self.task == "classification":
            self.targets.update(batch.targets or ())

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
            metric = inner(metric)
            if isinstance(metric, metrics.base.BinaryMetric) and metric.pos_val not in self.targets:
                yield (
                    f"{name} looks for the label {metric.pos_val!r}, which did not occur; "
                    f"name another label, as in {type(metric).__name__}:pos_val=spam"
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
    metric = inner(metric)
    return not isinstance(metric, metrics.base.ClassificationMetric) or metric.requires_labels


def inner(metric: Any) -> metrics.base.Metric:
    """Return the metric that a rolling one rolls, or the metric itself."""
    return metric.obj if isinstance(metric, utils.Rolling) else metric


def enter(name: str, model: base.Estimator, metrics: dict[str, metrics.base.Metric]) -> Entrant:
    """Create an entrant; raise a UserError if a metric needs probabilities that it lacks."""
    entrant = Entrant(name, model, metrics)
    if entrant.wants_probabilities and not hasattr(model, "predict_proba_one"):
        raise UserError(f"{name} predicts no probabilities, which the metric needs")
    return entrant


class Interruptible:
    """Handles Ctrl-C and SIGTERM between two samples, so that all learners end on the same sample.

    While the race waits for the next rows, Ctrl-C ends the wait. A second Ctrl-C interrupts
    immediately.
    """

    def __init__(self) -> None:
        self.interrupted = False
        self.waiting = False

    def __enter__(self) -> Interruptible:
        self.previous = {
            number: signal.signal(number, self.handle) for number in (signal.SIGINT, signal.SIGTERM)
        }
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self.previous.items():
            signal.signal(number, handler)

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Record the interruption, or interrupt immediately."""
        at_once = self.waiting or self.interrupted
        self.interrupted = True
        if at_once:
            raise KeyboardInterrupt

    def batches(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield batches until the stream ends or the user interrupts."""
        while not self.interrupted:
            self.waiting = True
            try:
                batch = next(batches)
            except (StopIteration, KeyboardInterrupt):
                return
            finally:
                self.waiting = False
            yield batch
