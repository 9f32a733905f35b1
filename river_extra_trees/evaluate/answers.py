"""Predictions of a model for samples that it learns after each prediction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from river_extra_trees._estimator.rows import labels_of_codes, probabilities_of

__all__ = ["answered", "predict_learn", "predict_learn_parts"]


def predict_learn(model: Any, samples: Any, *, probabilities: bool = False) -> list[Any]:
    """Predict each sample, then learn it; return the predictions.

    Parameters
    ----------
    model
        A model that learns columns.
    samples
        Samples with targets, see `Chunk.samples`.
    probabilities
        Whether to predict probabilities, as `predict_proba_one` does.
    """
    (answers,) = predict_learn_parts(model, samples, [len(samples)], probabilities=probabilities)
    return answers


def predict_learn_parts(
    model: Any, samples: Any, stops: Sequence[int], *, probabilities: bool = False
) -> Iterator[list[Any]]:
    """Predict and learn samples part by part, and yield the predictions for each part.

    If a sample is invalid, nothing is learned from any part.

    Parameters
    ----------
    model
        A model that learns columns.
    samples
        Samples with targets.
    stops
        The number of samples up to the end of each part.
    probabilities
        Whether to predict probabilities.
    """
    core = model._core
    reader = core.reader(samples, learns=True)
    core.ask(reader, probabilities)
    start = 0
    for stop in stops:
        if len(stops) > 1:
            core.take_over(reader, start, stop)
        model._read_rows(reader)
        yield answers_between(reader, start, stop, core.labels.labels)
        start = stop


def answers_between(reader: Any, start: int, stop: int, labels: list[Any]) -> list[Any]:
    """Return the predictions for the samples from `start` to before `stop`."""
    if reader.numbers is not None:
        numbers: list[Any] = reader.numbers[start:stop].tolist()
        return numbers
    if reader.shares is not None:
        return probabilities_of(reader.shares[start:stop], labels)
    return labels_of_codes(reader.labels[start:stop], labels)


def answered(targets: list[Any], answers: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield targets and predictions; as in river, a missing prediction is not scored."""
    for target, answer in zip(targets, answers, strict=True):
        if answer is not None and answer != {}:
            yield target, answer
