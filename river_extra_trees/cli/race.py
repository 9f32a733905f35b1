"""The race: every learner predicts each sample, is scored, and then learns the sample."""

from __future__ import annotations

import collections
import math
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from river import base, metrics

from river_extra_trees._estimator.learner import reads_columns
from river_extra_trees.cli import UserError, learners
from river_extra_trees.cli.scoring import Scoring
from river_extra_trees.cli.streams import Task
from river_extra_trees.column_kinds import ColumnKinds
from river_extra_trees.evaluate.batches import SMALLEST_BATCH, predicted_and_learned, samples_of
from river_extra_trees.streams import Batch

# A curve keeps between half of this and this many points, however long the stream is.
MOST_POINTS = 400
# Ctrl-C takes effect between parts of at most this many samples.
LARGEST_PART = 1024
# Measuring the memory of a large model of Python objects takes seconds: spend at most this share
# of the time on it.
SHARE_FOR_MEMORY = 0.02


@dataclass
class Entrant:
    """A learner with its results so far; each point of its curve holds the results by name.

    The label of a sample is learned `delay` samples after its features were predicted, as in
    river's evaluation: with 1, before the next sample is predicted.
    """

    name: str
    model: Any
    metrics: Mapping[str, Any]
    items: int = 0
    seconds: float = 0.0
    memory: int = 0
    error: str | None = None
    curve: list[dict[str, Any]] = field(default_factory=list)
    next_look: float = 0.0
    delay: int = 1
    waiting: collections.deque[tuple[Any, ...]] = field(default_factory=collections.deque)

    def __post_init__(self) -> None:
        # If one metric needs probabilities, `Metrics` passes the most probable label to the others.
        self.metric = metrics.base.Metrics(list(self.metrics.values()))
        self.probabilities = not getattr(self.metric, "requires_labels", True)

    def take(self, batch: Batch) -> None:
        """Predict, score and learn samples; a learner that raises an error leaves the race."""
        is_prompt = self.delay == 1 and reads_columns(self.model)
        reads = is_prompt and len(batch) >= SMALLEST_BATCH
        rows = [] if reads else list(samples_of(batch))
        predictions: list[Any] = []
        scored: list[tuple[Any, Any]] = []
        start = time.perf_counter()
        try:
            if reads:
                predictions = predicted_and_learned(
                    self.model, batch, probabilities=self.probabilities
                )
                scored = list(zip(batch.targets or (), predictions, strict=True))
            predict = self.model.predict_proba_one if self.probabilities else self.model.predict_one
            for x, y, *weight in rows:
                predictions.append(predict(x))
                self.waiting.append((x, y, weight, predictions[-1]))
                if len(self.waiting) >= self.delay:
                    scored.append(self.learn_oldest())
        except Exception as error:  # a learner of river may raise anything
            self.fail(error, self.items + len(predictions))
        self.seconds += time.perf_counter() - start
        self.items += len(predictions)
        self.score(scored)

    def fail(self, error: Exception, n: int) -> None:
        """Leave the race because of an error after so many samples."""
        text = " ".join(str(error).split())
        self.error = f"failed after {n:,} samples: {type(error).__name__}: {text}"

    def settle(self) -> None:
        """Learn and score the samples whose labels have not come yet."""
        try:
            self.score([self.learn_oldest() for _ in range(len(self.waiting))])
        except UserError:
            raise
        except Exception as error:
            self.fail(error, self.items)

    def learn_oldest(self) -> tuple[Any, Any]:
        """Learn the sample that has waited longest; return its target and its prediction."""
        x, y, weight, prediction = self.waiting.popleft()
        self.model.learn_one(x, y, **dict(*weight))
        return y, prediction

    def score(self, scored: Iterable[tuple[Any, Any]]) -> None:
        """Add targets and predictions to the metrics."""
        try:
            for y, prediction in scored:
                if prediction is not None and prediction != {}:
                    self.metric.update(y, prediction)
        except (TypeError, ValueError) as error:
            raise UserError(f"a metric cannot score the targets: {error}") from error

    def look(self, *, force: bool = False) -> None:
        """Add the present results to the curve."""
        now = time.perf_counter()
        if force or now >= self.next_look:
            self.memory = self.model._raw_memory_usage
            cost = time.perf_counter() - now
            self.next_look = now + cost / SHARE_FOR_MEMORY
        point = {"items": self.items, **self.scores()}
        point |= {"seconds": round(self.seconds, 6), "memory_bytes": self.memory}
        self.curve.append(point)

    def scores(self) -> dict[str, float]:
        """Return the present scores."""
        return {name: float(metric.get()) for name, metric in self.metrics.items()}

    @property
    def speed(self) -> float:
        """Samples per second of the learner's own time."""
        return self.items / self.seconds if self.seconds else math.nan


def make_entrants(
    names: list[str],
    scoring: Scoring,
    task: Task,
    seed: int,
    saved: Any = None,
    delay: int = 1,
) -> list[Entrant]:
    """Create the learners and their metrics.

    A saved model, if there is one, takes the place of a new one.
    """
    if len(set(names)) < len(names):
        raise UserError("the same learner is given twice")
    entrants = []
    for name in names:
        model = saved if saved is not None else learners.make_learner(name, task, seed)
        entrants.append(Entrant(name, model, scoring.metrics_for(model), delay=delay))
    return entrants


class Race:
    """Several learners side by side on one stream.

    Parameters
    ----------
    entrants
        The learners.
    kinds
        The kinds of the columns, which count missing values; None if they are not saved.

    Attributes
    ----------
    items
        Number of samples so far.
    labels
        Number of samples by label, if the learners predict labels.

    """

    def __init__(self, entrants: list[Entrant], kinds: ColumnKinds | None = None) -> None:
        self.entrants = entrants
        self.kinds = kinds
        self.items = 0
        self.labels: collections.Counter[Any] = collections.Counter()
        self.has_labels = isinstance(entrants[0].model, base.Classifier)
        self.spacing = 1  # samples between two points of a curve

    def run(self, batches: Iterable[Batch], stop_every: int = 0) -> Iterator[int]:
        """Pass all samples to every learner; yield the number of samples after each part.

        A part ends after each `stop_every` samples.
        """
        for batch in batches:
            start = 0
            while start < len(batch):
                due = [len(batch) - start, LARGEST_PART, self.spacing - self.items % self.spacing]
                if stop_every:
                    due.append(stop_every - self.items % stop_every)
                part = batch[start : start + min(due)]
                if self.kinds is not None:
                    self.kinds._count(part.frame)
                if self.has_labels:
                    self.labels.update(part.targets or ())
                for entrant in self.running:
                    entrant.take(part)
                start += len(part)
                self.items += len(part)
                if self.items % self.spacing == 0:
                    self.look()
                yield self.items

    @property
    def running(self) -> list[Entrant]:
        """The learners that have not failed."""
        return [entrant for entrant in self.entrants if entrant.error is None]

    def look(self) -> None:
        """Record the results of all learners; thin out the curves when they become long."""
        for entrant in self.running:
            entrant.look()
        if max(len(entrant.curve) for entrant in self.entrants) >= MOST_POINTS:
            self.spacing *= 2
            for entrant in self.entrants:
                entrant.curve = entrant.curve[1::2]

    def finish(self) -> None:
        """Learn the samples whose labels have not come; record the results and the memory."""
        for entrant in self.running:
            entrant.settle()
        for entrant in self.running:
            if entrant.curve and entrant.curve[-1]["items"] == entrant.items:
                entrant.curve.pop()
            entrant.look(force=True)

    def ranking(self) -> list[Entrant]:
        """Return the learners, the best by the first metric first, and failed ones last."""

        def rank(entrant: Entrant) -> tuple[bool, float]:
            metric = entrant.metric[0]
            value = float(metric.get()) * (-1.0 if metric.bigger_is_better else 1.0)
            return entrant.error is not None, math.inf if math.isnan(value) else value

        return sorted(self.entrants, key=rank)


class Interruptible:
    """Handles Ctrl-C and SIGTERM between two parts, so that all learners end on the same sample.

    While the race waits for rows, the signal ends the wait. A second signal interrupts at once.
    """

    def __init__(self) -> None:
        self.interrupted = False
        self.waiting = False

    def __enter__(self) -> Interruptible:
        self.previous = {
            number: signal.signal(number, self.handle) for number in (signal.SIGINT, signal.SIGTERM)
        }
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self.previous.items():
            signal.signal(number, handler)

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Record the interruption, or interrupt at once."""
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
