"""The scores of a prediction: how often it is right, how far off, and how well it is calibrated."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from river import metrics

from examples.benchmarks.common.streams import Rows
from river_extra_trees.cli.streams import Task

# Each score, and whether a larger one is better. The first one decides what is called "ahead".
NAMES: dict[Task, dict[str, bool]] = {
    "classification": {
        "accuracy": True,
        "kappa": True,
        "log loss": False,
        "calibration error": False,
    },
    "regression": {"R2": True, "MAE": False},
}
BINS = 15
# A share of every probability is spread over all classes, or one wrong and certain answer of a
# learner would decide its mean log loss.
SPREAD = 0.005


class ClassificationScores:
    """Accuracy, Cohen's kappa, mean log loss, and the expected calibration error.

    The calibration error is the mean distance between the probability of the predicted class and
    the share of right answers, over fifteen equal bins of that probability (Guo, Pleiss, Sun and
    Weinberger 2017, equation 3). A sample without an answer counts as wrong, with equal
    probabilities.

    Examples
    --------
    >>> scores = ClassificationScores(2)
    >>> scores.update("a", {"a": 0.75, "b": 0.25})
    >>> scores.update("b", {"a": 0.75, "b": 0.25})
    >>> found = scores.get()
    >>> found["accuracy"], found["calibration error"]
    (0.5, 0.25)

    """

    def __init__(self, n_classes: int) -> None:
        self._n_classes = n_classes
        self._confusion = metrics.Accuracy(), metrics.CohenKappa()
        self._loss = 0.0
        self._n = 0
        # By bin: the sums of right answers and of probabilities.
        self._right = [0.0] * BINS
        self._sure = [0.0] * BINS

    def update(self, y: Any, answer: Mapping[Any, float]) -> None:
        """Score the probabilities of a sample."""
        total = math.fsum(answer.values()) if answer else 0.0
        known = 0.0 < total < math.inf
        even = 1.0 / self._n_classes
        guess = max(answer, key=answer.__getitem__) if known else None
        sure = answer[guess] / total if known else even
        own = answer.get(y, 0.0) / total if known else even
        for metric in self._confusion:
            metric.update(y, guess)
        self._loss -= math.log((1.0 - SPREAD) * own + SPREAD * even)
        place = min(int(sure * BINS), BINS - 1)
        self._right[place] += guess == y
        self._sure[place] += sure
        self._n += 1

    def get(self) -> dict[str, float]:
        """Return all scores."""
        gaps = (abs(r - s) for r, s in zip(self._right, self._sure, strict=True))
        n = max(self._n, 1)
        found = [*(m.get() for m in self._confusion), self._loss / n, math.fsum(gaps) / n]
        return dict(zip(NAMES["classification"], found, strict=True))


class RegressionScores:
    """R2 and the mean absolute error; a sample without an answer is not scored."""

    def __init__(self) -> None:
        self._metrics = metrics.R2(), metrics.MAE()

    def update(self, y: float, answer: float | None) -> None:
        """Score the prediction of a sample."""
        if answer is not None:
            for metric in self._metrics:
                metric.update(y, answer)

    def get(self) -> dict[str, float]:
        """Return both scores."""
        found = (metric.get() for metric in self._metrics)
        return dict(zip(NAMES["regression"], found, strict=True))


class Scores:
    """The scores of a task, updated part by part."""

    def __init__(self, task: Task, rows: Rows) -> None:
        self._own: ClassificationScores | RegressionScores = RegressionScores()
        if task == "classification":
            self._own = ClassificationScores(len({y for _, y in rows}))

    def update(self, part: Rows, answers: Iterable[Any]) -> None:
        """Score the answers that there are."""
        for (_, y), answer in zip(part, answers, strict=False):
            self._own.update(y, answer)

    def get(self) -> dict[str, float]:
        """Return all scores by name."""
        return self._own.get()
