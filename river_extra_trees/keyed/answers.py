"""Predictions of the models of several keys as series and frames."""

from __future__ import annotations

import typing
from collections.abc import Hashable

import numpy as np

from .._estimator.answers import frame_of_shares, series_of_codes, series_of_numbers
from .._estimator.frames import opened, readable_frame

__all__ = ["frame_of_probabilities", "series_of_answers"]


def series_of_answers(answers: list[typing.Any], X: typing.Any) -> typing.Any:
    """Make a series of the library of a frame from predictions; `None` becomes missing.

    Parameters
    ----------
    answers
        The result of `predict_one` for each row.
    X
        The frame.
    """
    frame = readable_frame(X)
    kinds = {type(answer) for answer in answers} - {type(None)}
    if kinds <= {float}:
        numbers = np.array(answers, dtype=float)  # None is NaN
        if None in answers:
            return series_of_some_numbers(answers, numbers, frame)
        return series_of_numbers(numbers, frame)
    codes: dict[typing.Any, int] = {None: -1}
    if len(kinds) == 1:
        coded = [codes.setdefault(answer, len(codes) - 1) for answer in answers]
        labels = list(codes)[1:]
    else:  # equal labels of different types, such as 1 and True, are different predictions
        pairs = [None if answer is None else (type(answer), answer) for answer in answers]
        coded = [codes.setdefault(pair, len(codes) - 1) for pair in pairs]
        labels = [label for _, label in list(codes)[1:]]
    return series_of_codes(np.array(coded, dtype=np.intp), labels, frame)


def series_of_some_numbers(
    answers: list[float | None], numbers: typing.Any, frame: typing.Any
) -> typing.Any:
    """Make a series from numbers, in which `None` becomes NaN or null."""
    library = opened(frame)[1]
    if library == "polars":
        import polars

        return polars.Series("prediction", answers, dtype=polars.Float64)
    if library == "pyarrow":
        import pyarrow

        return pyarrow.chunked_array([pyarrow.array(answers, type=pyarrow.float64())])
    return series_of_numbers(numbers, frame)


def frame_of_probabilities(answers: list[dict[Hashable, float]], X: typing.Any) -> typing.Any:
    """Make a frame of the library of X from probabilities; those of unknown labels become NaN.

    Parameters
    ----------
    answers
        The result of `predict_proba_one` for each row.
    X
        The frame.
    """
    labels = list(dict.fromkeys(label for answer in answers for label in answer))
    shares = np.full((len(answers), len(labels)), np.nan)
    codes = {label: code for code, label in enumerate(labels)}
    for row, answer in enumerate(answers):
        for label, share in answer.items():
            shares[row, codes[label]] = share
    return frame_of_shares(shares, labels, readable_frame(X))
