"""Data frames in, and answers for their rows out: written once for all that predicts."""

from __future__ import annotations

import abc
import typing
from collections.abc import Hashable, Iterator

import narwhals
from river.utils import dataframe

from ._inspection import Sample

__all__ = ["PredictsMany", "PredictsProbaMany", "rows_of", "values_of"]


def rows_of(frame: typing.Any) -> Iterator[dict[Hashable, typing.Any]]:
    """The rows of a narwhals frame as dicts of plain Python values."""
    names = frame.columns
    if not names:
        return ({} for _ in range(len(frame)))
    columns = [frame[:, i].to_list() for i in range(len(names))]
    return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))


def values_of(values: typing.Any) -> list[typing.Any]:
    """A series of any kind, or any other sequence, as a list of plain Python values."""
    values = narwhals.from_native(values, series_only=True, pass_through=True)
    return list(values.to_list() if isinstance(values, narwhals.Series) else values)


def columns_of(answers: list[dict[typing.Any, float]]) -> dict[typing.Any, list[float]]:
    """The probabilities of each label, from those of each sample."""
    labels = list(answers[0]) if answers else []
    return {label: [answer[label] for answer in answers] for label in labels}


class PredictsMany(abc.ABC):
    """Predictions for the rows of a data frame, whatever the frame is made of."""

    @abc.abstractmethod
    def predict_one(self, x: Sample) -> typing.Any:
        """Predict the target of a sample."""

    def _predict_frame(self, frame: typing.Any) -> list[typing.Any]:
        """The prediction for each row of a narwhals frame."""
        return [self.predict_one(x) for x in rows_of(frame)]

    def predict_many(self, X: typing.Any) -> typing.Any:
        """Predict the rows of a data frame.

        Parameters
        ----------
        X
            A data frame of any kind that narwhals knows.

        Returns
        -------
        A series of the same kind.
        """
        frame = dataframe.into_frame(X)
        return dataframe.to_native_series(self._predict_frame(frame), name="prediction", like=frame)


class PredictsProbaMany(PredictsMany):
    """Class probabilities for the rows of a data frame, too."""

    @abc.abstractmethod
    def predict_proba_one(self, x: Sample) -> dict[typing.Any, float]:
        """Predict the probabilities of the labels of a sample."""

    def _predict_proba_frame(self, frame: typing.Any) -> list[dict[typing.Any, float]]:
        """The class probabilities for each row of a narwhals frame."""
        return [self.predict_proba_one(x) for x in rows_of(frame)]

    def predict_proba_many(self, X: typing.Any) -> typing.Any:
        """Predict the class probabilities of the rows of a data frame.

        Parameters
        ----------
        X
            A data frame of any kind that narwhals knows.

        Returns
        -------
        A data frame of the same kind with a column per class. Kinds that allow only strings as
        column names get the labels as strings.
        """
        frame = dataframe.into_frame(X)
        answers = columns_of(self._predict_proba_frame(frame))
        return dataframe.to_native_frame(answers, like=frame)
