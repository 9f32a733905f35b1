"""Test-then-train: predict each item, score the answer, then learn the item."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from river import metrics
from streams import Rows

from river_extra_trees.cli.streams import Task

# Time is read once per so many items, so that reading it costs nothing.
ITEMS_PER_READING = 100


@dataclass
class Run:
    """What came of a run: `score` is accuracy or R2, `seconds` user and system CPU time."""

    items: int
    score: float
    seconds: float
    memory: int
    error: str


def run(model: Any, rows: Rows, task: Task, most_seconds: float = float("inf")) -> Run:
    """Run a model over rows, until the end, an error, or the given CPU time has been used.

    Examples
    --------
    >>> from river import dummy
    >>> run(dummy.NoChangeClassifier(), [({}, 1), ({}, 1), ({}, 1)], "classification").score
    1.0

    """
    metric = metrics.Accuracy() if task == "classification" else metrics.R2()
    items, seconds, error = 0, 0.0, ""
    while items < len(rows) and seconds < most_seconds and not error:
        part = rows[items : items + ITEMS_PER_READING]
        answers: list[Any] = []
        start = time.process_time()
        try:
            for x, y in part:
                answers.append(model.predict_one(x))
                model.learn_one(x, y)
        except Exception as raised:  # a learner of any origin may raise anything
            error = type(raised).__name__
        seconds += time.process_time() - start
        for (_, y), answer in zip(part, answers, strict=False):
            if answer is not None:
                metric.update(y, answer)
        items += len(answers)
    return Run(items, metric.get(), seconds, model._raw_memory_usage, error)
