"""Test-then-train: predict each item, score the answer, then learn the item."""

from __future__ import annotations

import resource
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from river import metrics

from examples.benchmarks.common.streams import Rows
from river_extra_trees.cli.streams import Task

# Time is read once per so many items, so that reading it costs nothing.
ITEMS_PER_READING = 100


@dataclass
class Run:
    """The result of a run.

    `score` is accuracy or R2, `second_score` Cohen's kappa or the mean absolute error, `seconds`
    user CPU time, `memory` bytes of the model at the end where known, `error` the class of the
    exception that it raised.
    """

    items: int
    score: float
    second_score: float
    seconds: float
    memory: int | None
    error: str


def user_seconds() -> float:
    """Return the user CPU time of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


class Scores:
    """The two scores of a task, updated prediction by prediction."""

    def __init__(self, task: Task) -> None:
        classification = task == "classification"
        first = metrics.Accuracy if classification else metrics.R2
        second = metrics.CohenKappa if classification else metrics.MAE
        self._metrics = first(), second()

    def update(self, targets: Iterable[Any], answers: Iterable[Any]) -> None:
        """Score the predictions that there are; a missing prediction is not scored."""
        for y, answer in zip(targets, answers, strict=False):
            if answer is not None:
                for metric in self._metrics:
                    metric.update(y, answer)

    def get(self) -> tuple[float, float]:
        """Return both scores."""
        return self._metrics[0].get(), self._metrics[1].get()


def run(model: Any, rows: Rows, task: Task, most_seconds: float = float("inf")) -> Run:
    """Run a model over rows, until the end, an error, or the given CPU time has been used.

    Examples
    --------
    >>> from river import dummy
    >>> run(dummy.NoChangeClassifier(), [({}, 1), ({}, 1), ({}, 1)], "classification").score
    1.0

    """
    scores = Scores(task)
    items, seconds, error = 0, 0.0, ""
    while items < len(rows) and seconds < most_seconds and not error:
        part = rows[items : items + ITEMS_PER_READING]
        answers: list[Any] = []
        start = user_seconds()
        try:
            for x, y in part:
                answers.append(model.predict_one(x))
                model.learn_one(x, y)
        except Exception as raised:  # a learner of any origin may raise anything
            error = type(raised).__name__
        seconds += user_seconds() - start
        scores.update((y for _, y in part), answers)
        items += len(answers)
    return Run(items, *scores.get(), seconds, model._raw_memory_usage, error)
