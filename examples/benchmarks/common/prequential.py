"""Test-then-train: predict each sample, score the answer, then learn it when its label comes."""

from __future__ import annotations

import collections
import itertools
import resource
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from examples.benchmarks.common.scores import Scores
from examples.benchmarks.common.streams import Rows
from river_extra_trees.cli.streams import Task

# Time is read once per so many samples, so that reading it costs nothing.
SAMPLES_PER_READING = 100
# Scores are noted after so many samples, so that a learner that is stopped early can be compared.
CHECKPOINTS = (1_000, 2_000, 5_000, 10_000, 20_000)


@dataclass
class Run:
    """The result of a run.

    `scores` has the scores of the task by name, `seconds` is user CPU time, `memory` the bytes of
    the model where known, and `error` the class of the exception that it raised.
    """

    samples: int
    scores: dict[str, float]
    seconds: float
    memory: int | None
    error: str


def user_seconds() -> float:
    """Return the user CPU time of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def predict_of(model: Any, task: Task) -> Callable[[dict[str, Any]], Any]:
    """Return the method that answers with what is scored."""
    return model.predict_proba_one if task == "classification" else model.predict_one


def answers(
    model: Any, rows: Rows, predict: Callable[[dict[str, Any]], Any], delay: int = 0
) -> Iterator[Any]:
    """Yield the answer to each row; the model learns a label `delay` answers after its own."""
    waiting: collections.deque[Any] = collections.deque()
    for row in rows:
        answer = predict(row[0])
        waiting.append(row)
        if len(waiting) > delay:
            model.learn_one(*waiting.popleft())
        yield answer


def checkpoints(
    model: Any, rows: Rows, task: Task, most_seconds: float = float("inf"), delay: int = 0
) -> Iterator[Run]:
    """Run a model over rows and yield what is known at each checkpoint, and at the end.

    The end is that of the rows, an error, or the moment when the CPU time given has been used.
    Answers that were given before the first label came, `delay` samples late, are not scored.
    """
    scores = Scores(task, rows)
    coming = answers(model, rows, predict_of(model, task), delay)
    samples, seconds, error = 0, 0.0, ""
    ended = False
    while not ended:
        found: list[Any] = []
        start = user_seconds()
        try:
            found.extend(itertools.islice(coming, SAMPLES_PER_READING))
        except Exception as raised:  # a learner of any origin may raise anything
            error = type(raised).__name__
        seconds += user_seconds() - start
        first = min(max(delay - samples, 0), len(found))
        scores.update(rows[samples + first : samples + len(found)], found[first:])
        samples += len(found)
        ended = samples >= len(rows) or seconds >= most_seconds or bool(error)
        if ended or samples in CHECKPOINTS:
            yield Run(samples, scores.get(), seconds, model._raw_memory_usage, error)


def run(model: Any, rows: Rows, task: Task, most_seconds: float = float("inf")) -> Run:
    """Run a model over rows to the end.

    Examples
    --------
    >>> from river import dummy
    >>> rows = [({}, 1), ({}, 1), ({}, 1), ({}, 1)]
    >>> run(dummy.NoChangeClassifier(), rows, "classification").scores["accuracy"]
    0.75

    """
    *_, last = checkpoints(model, rows, task, most_seconds)
    return last
