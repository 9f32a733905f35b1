"""Data frames in, and answers for their rows out: written once for all that predicts."""

from __future__ import annotations

import abc
import collections
import typing
from collections.abc import Hashable, Iterator, Mapping

import narwhals
import numpy as np
from river.utils import dataframe

from .._core.safe_repr import safe_repr
from .inspection import Sample

__all__ = [
    "PredictsMany",
    "PredictsProbaMany",
    "rows_of",
    "series_of_labels",
    "values_of",
    "weights_of",
]


def rows_of(frame: typing.Any) -> Iterator[dict[Hashable, typing.Any]]:
    """The rows of a narwhals frame as dicts of plain Python values."""
    names = frame.columns
    if not names:
        return ({} for _ in range(len(frame)))
    columns = [frame[:, i].to_list() for i in range(len(names))]
    return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))


def values_of(values: typing.Any, name: str) -> list[typing.Any]:
    """A series of any kind, or any other sequence, as a list of plain Python values.

    What can be iterated over but is no sequence of values, such as a frame, which has the names of
    its columns to tell, would be learned wrongly without a word: it is refused by its name.
    """
    values = narwhals.from_native(values, allow_series=True, pass_through=True)
    if isinstance(values, narwhals.Series):
        return values.to_list()
    if isinstance(values, narwhals.DataFrame | narwhals.LazyFrame):
        raise TypeError(f"{name} must be a series, not a frame: take the column that is meant")
    if not is_sequence(values):
        raise TypeError(
            f"{name} must be a series or another sequence of values, not {type(values).__name__!r}"
        )
    return list(values.to_pylist() if hasattr(values, "to_pylist") else values)  # of pyarrow


def is_sequence(values: object) -> bool:
    """Whether this holds values one after the other: no text, no mapping, no set, no table."""
    return (
        hasattr(values, "__len__")
        and hasattr(values, "__getitem__")
        and not isinstance(values, str | bytes | bytearray | Mapping)
        and getattr(values, "ndim", 1) == 1
    )


def weights_of(weights: typing.Any, n: int) -> list[typing.Any]:
    """A weight for each of n samples: one for all, or a series or another sequence of them."""
    if getattr(weights, "ndim", None) == 0 or not hasattr(weights, "__len__"):
        return [weights] * n
    return values_of(weights, "w")


def series_of_labels(
    answers: list[typing.Any], labels: list[typing.Any], frame: typing.Any
) -> typing.Any:
    """Labels as a series of the same kind as a frame, whose type depends on all the labels known.

    A type that makes others of some labels, or has no room for them, is not taken: pandas and
    polars then hold Python objects, which pyarrow has not.
    """
    known = {each: None for each in (*labels, *answers) if each is not None and each == each}
    if not known or frame.implementation.is_pandas_like():
        try:
            return dataframe.to_native_series(answers, name="prediction", like=frame)
        except UnicodeEncodeError:  # the texts of pandas are in UTF-8
            return pandas_of(frame).Series(
                answers, narwhals.maybe_get_index(frame), dtype=object, name="prediction"
            )
    dtype = type_of(list(known), frame.implementation)
    if dtype == narwhals.Object and not frame.implementation.is_polars():
        kinds = ", ".join(sorted({type(label).__name__ for label in known}))
        raise TypeError(
            f"no series of {frame.implementation} holds these labels as they are (types: {kinds}): "
            "ask with a frame of pandas or polars"
        )
    series = narwhals.new_series("prediction", answers, dtype, backend=frame.implementation)
    return series.to_native()


def frame_of_labels(
    columns: dict[typing.Any, np.typing.NDArray[np.float64]], frame: typing.Any
) -> typing.Any:
    """Columns named by labels as a frame of the same kind as another."""
    try:
        return dataframe.to_native_frame(columns, like=frame)
    except UnicodeEncodeError:  # the names of pandas, too
        table: typing.Any = dataframe.to_native_frame(dict(enumerate(columns.values())), like=frame)
        table.columns = pandas_of(frame).Index(list(columns), dtype=object)
        return table


def pandas_of(frame: typing.Any) -> typing.Any:
    """The module that a frame of pandas, or of what is like it, comes from."""
    return narwhals.get_native_namespace(frame)


def type_of(labels: list[typing.Any], backend: typing.Any) -> typing.Any:
    """The type of a series that holds these labels as they are; `Object` if there is no other."""
    labels = sorted(labels, key=lambda label: type(label).__name__)  # the type of the first decides
    try:
        series = narwhals.new_series("", labels, backend=backend)
    except (TypeError, ValueError, OverflowError):
        return narwhals.Object
    return series.dtype if series.to_list() == labels else narwhals.Object


def names_of(labels: list[typing.Any]) -> list[str]:
    """The labels as strings; by `repr` where these would be the same, as 1 and "1", or no UTF-8."""
    texts = [safe_repr(label, str) for label in labels]
    counts = collections.Counter(texts)
    names = [
        text if counts[text] == 1 and is_utf8(text) else safe_repr(label)
        for text, label in zip(texts, labels, strict=True)
    ]
    if len(set(names)) < len(labels):
        raise ValueError(f"the labels cannot be told apart as names of columns: {names}")
    return names


def is_utf8(text: str) -> bool:
    """Whether a text can be written in UTF-8: without halves of surrogate pairs."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class PredictsMany(abc.ABC):
    """Predictions for the rows of a data frame, whatever the frame is made of."""

    @abc.abstractmethod
    def predict_one(self, x: Sample) -> typing.Any:
        """Predict the target of a sample."""

    def _predict_frame(self, frame: typing.Any) -> list[typing.Any]:
        """The prediction for each row of a narwhals frame."""
        return [self.predict_one(x) for x in rows_of(frame)]

    def _series_of(self, answers: list[typing.Any], frame: typing.Any) -> typing.Any:
        """The predictions as a series of the same kind as the frame."""
        return dataframe.to_native_series(answers, name="prediction", like=frame)

    def predict_many(self, X: typing.Any) -> typing.Any:
        """Predict the rows of a data frame.

        Parameters
        ----------
        X
            A data frame of any kind that narwhals knows.

        Returns
        -------
        A series of the same kind. Labels for which that kind has no type, such as 1 and "one"
        together, stay Python objects in it.

        Raises
        ------
        TypeError
            If X is no frame, or the labels are such and the kind, as pyarrow, has no objects.
        ValueError, TypeError
            If a row is refused, as by `predict_one`.
        """
        frame = dataframe.into_frame(X)
        return self._series_of(self._predict_frame(frame), frame)


class PredictsProbaMany(PredictsMany):
    """Class probabilities for the rows of a data frame, too."""

    @abc.abstractmethod
    def predict_proba_one(self, x: Sample) -> dict[typing.Any, float]:
        """Predict the probabilities of the labels of a sample."""

    def _predict_proba_frame(self, frame: typing.Any) -> list[dict[typing.Any, float]]:
        """The class probabilities for each row of a narwhals frame."""
        return [self.predict_proba_one(x) for x in rows_of(frame)]

    def _labels(self) -> list[typing.Any]:
        """The labels that may be predicted."""
        return list(self.predict_proba_one({}))

    def _series_of(self, answers: list[typing.Any], frame: typing.Any) -> typing.Any:
        return series_of_labels(answers, self._labels(), frame)

    def predict_proba_many(self, X: typing.Any) -> typing.Any:
        """Predict the class probabilities of the rows of a data frame.

        Parameters
        ----------
        X
            A data frame of any kind that narwhals knows.

        Returns
        -------
        A data frame of the same kind with a column per label learned so far. Kinds that allow only
        strings as column names get the labels as strings; labels that are the same as strings, as
        1 and "1", or that UTF-8 does not hold, by their `repr`: `1` and `'1'`.

        Raises
        ------
        TypeError
            If X is no frame.
        ValueError, TypeError
            If a row is refused, as by `predict_proba_one`, or labels cannot be told apart.
        """
        frame = dataframe.into_frame(X)
        answers = self._predict_proba_frame(frame)
        labels = list(answers[0]) if answers else self._labels()
        names = labels if frame.implementation.is_pandas_like() else names_of(labels)
        columns = {
            name: np.array([answer[label] for answer in answers], dtype=float)
            for name, label in zip(names, labels, strict=True)
        }
        return frame_of_labels(columns, frame)
