"""Samples are tried before they are learned, so that a bad one leaves the model as it was."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from river import base, compose

from .description import learner_of
from .schema import Sample, at_line

REFUSED = 422  # a request that was understood, with a value that the model refuses

Check = Callable[[dict[str, Any], Any, Any], None]


def refused(model: Any) -> tuple[type[Exception], ...]:
    """Return what a model raises for a bad sample; the steps of a pipeline may raise anything."""
    return (Exception,) if isinstance(model, compose.Pipeline) else (TypeError, ValueError)


def check(model: Any, samples: Sequence[Sample]) -> None:
    """Raise what learning the samples one after the other would raise; learn nothing.

    Raises
    ------
    RequestError
        If the model would refuse a sample; the message names its line.
    """
    trial = trial_of(model)
    for sample in samples:
        try:
            trial(sample.x, sample.y, sample.w)
        except refused(model) as error:
            raise at_line(sample.line, error, REFUSED) from None


def trial_of(model: Any) -> Check:
    """Return a function that raises what learning a sample after those tried before would raise."""
    coming: set[Hashable] = set()
    learner = learner_of(model)

    def trial(x: dict[str, Any], y: Any, w: Any) -> None:
        learner._check_next(x, y, w, coming)

    if learner is model:
        return trial
    # Copies of the steps learn the samples as the steps themselves will.
    *steps, _ = model.steps.items()
    pipeline = compose.Pipeline(*copy.deepcopy(steps), Trial(trial))

    def trial_of_pipeline(x: dict[str, Any], y: Any, w: Any) -> None:
        pipeline.learn_one(x, y, w=w)

    return trial_of_pipeline


class Trial(base.Estimator):
    """The last step of a pipeline that tries samples.

    Parameters
    ----------
    check
        What tries a sample after the other steps.
    """

    def __init__(self, check: Check) -> None:
        self.check = check

    @property
    def _supervised(self) -> bool:
        return True

    def learn_one(self, x: dict[str, Any], y: Any, w: Any = 1.0) -> None:
        """Try a sample."""
        self.check(x, y, w)
