"""Data frames as input, and predictions for their rows as frames and series of the same kind.

narwhals is imported where a frame is at hand, so that `import river_extra_trees` does not pay for
it.
"""

from __future__ import annotations

import abc
import collections
import enum
import typing
from collections.abc import Hashable, Iterable, Iterator, Mapping

import numpy as np

from river_extra_trees._core.safe_repr import safe_repr

__all__ = [
    "PredictsLabels",
    "PredictsNumbers",
    "Sample",
    "into_frame",
    "rows_of",
    "series_of_labels",
    "series_of_numbers",
    "values_of",
    "weights_of",
]

Sample = Mapping[Hashable, typing.Any]


def into_frame(X: typing.Any) -> typing.Any:
    """A data frame of any kind as a narwhals frame."""
    from river.utils import dataframe

    return dataframe.into_frame(X)


def rows_of(frame: typing.Any) -> Iterator[dict[Hashable, typing.Any]]:
    """The rows of a narwhals frame as dicts of plain Python values."""
    names = frame.columns
    if not names:
        return ({} for _ in range(len(frame)))
    columns = [frame[:, i].to_list() for i in range(len(names))]
    return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))


def values_of(values: typing.Any, name: str) -> list[typing.Any]:
    """A series of any kind, or any other sequence, as a list of plain Python values.

    Other iterables are refused by name, because they would silently be misread: a frame, for
    example, iterates over the names of its columns.
    """
    import narwhals

    values = narwhals.from_native(values, allow_series=True, pass_through=True)
    if isinstance(values, narwhals.Series):
        return values.to_list()
    if isinstance(values, narwhals.DataFrame | narwhals.LazyFrame):
        raise TypeError(f"{name} must be a series, not a frame: select one column")
    if not is_sequence(values):
        raise TypeError(
            f"{name} must be a series or another sequence of values, not {type(values).__name__!r}"
        )
    return list(values.to_pylist() if hasattr(values, "to_pylist") else values)  # of pyarrow


def is_sequence(values: object) -> bool:
    """Whether this is a sequence of values: not a text, a mapping, a set or a table."""
    return (
        hasattr(values, "__len__")
        and hasattr(values, "__getitem__")
        and not isinstance(values, str | bytes | bytearray | Mapping)
        and getattr(values, "ndim", 1) == 1
    )


def weights_of(weights: typing.Any, n: int) -> list[typing.Any]:
    """A weight for each of n samples, from one weight for all, a series or another sequence."""
    if getattr(weights, "ndim", None) == 0 or not hasattr(weights, "__len__"):
        return [weights] * n
    return values_of(weights, "w")


def series_of_numbers(answers: list[float], frame: typing.Any) -> typing.Any:
    """Numbers as a series of the same kind as a narwhals frame."""
    from river.utils import dataframe

    return dataframe.to_native_series(answers, name="prediction", like=frame)


def series_of_labels(
    answers: list[typing.Any], labels: list[typing.Any], frame: typing.Any
) -> typing.Any:
    """Labels as a series of the same kind as a narwhals frame.

    The type of the series depends on all labels known, not on the answers. Where no type holds all
    labels as they are, pandas and polars get Python objects; pyarrow has none.
    """
    import narwhals

    known = {each: None for each in (*labels, *answers) if each is not None and each == each}
    if frame.implementation.is_pandas_like():
        return pandas_series(answers, known, frame)
    if not known:
        return series_of_numbers(answers, frame)
    dtype = type_of(list(known), frame.implementation)
    if dtype != narwhals.Object:
        series = narwhals.new_series("prediction", answers, dtype, backend=frame.implementation)
        return series.to_native()
    if not frame.implementation.is_polars():
        kinds = ", ".join(sorted({type(label).__name__ for label in known}))
        raise TypeError(
            f"no series of {frame.implementation} holds these labels as they are (types: {kinds}): "
            "predict a frame of pandas or polars instead"
        )
    # polars unpacks Enum members if the first value is one, even into objects.
    padded = [object(), *answers]
    series = narwhals.new_series("prediction", padded, dtype, backend=frame.implementation)
    return series[1:].to_native()


def pandas_series(
    answers: list[typing.Any], labels: Iterable[object], frame: typing.Any
) -> typing.Any:
    """Labels as a series of pandas, with the index of a frame."""
    from narwhals import maybe_get_index
    from river.utils import dataframe

    if not any(isinstance(label, enum.Enum) for label in labels):
        try:
            return dataframe.to_native_series(answers, name="prediction", like=frame)
        except UnicodeEncodeError:  # the texts of pandas are in UTF-8
            pass
    index = maybe_get_index(frame)
    return pandas_of(frame).Series(answers, index, dtype=object, name="prediction")


def frame_of_labels(
    columns: dict[typing.Any, np.typing.NDArray[np.float64]], frame: typing.Any
) -> typing.Any:
    """Columns named by labels as a frame of the same kind as another."""
    from river.utils import dataframe

    try:
        return dataframe.to_native_frame(columns, like=frame)
    except UnicodeEncodeError:  # the names of pandas, too
        table: typing.Any = dataframe.to_native_frame(dict(enumerate(columns.values())), like=frame)
        table.columns = pandas_of(frame).Index(list(columns), dtype=object)
        return table


def pandas_of(frame: typing.Any) -> typing.Any:
    """The module of a pandas-like frame."""
    import narwhals

    return narwhals.get_native_namespace(frame)


def type_of(labels: list[typing.Any], backend: typing.Any) -> typing.Any:
    """The type of a series that holds these labels as they are; `Object` if there is no other."""
    import narwhals

    if any(isinstance(label, enum.Enum) for label in labels):
        return narwhals.Object  # libraries store the values of the members
    labels = sorted(labels, key=lambda label: type(label).__name__)  # the type of the first decides
    try:
        series = narwhals.new_series("", labels, backend=backend)
        is_kept = series.dtype != narwhals.Unknown and series.to_list() == labels
    except MemoryError:
        raise
    except Exception:  # polars and pyarrow have no common class for what they raise
        return narwhals.Object
    return series.dtype if is_kept else narwhals.Object


def names_of(labels: list[typing.Any]) -> list[str]:
    """The labels as strings: by `repr` if `str` is ambiguous, as for 1 and "1", or not UTF-8."""
    texts = [safe_repr(label, str) for label in labels]
    counts = collections.Counter(texts)
    names = [
        text if counts[text] == 1 and is_utf8(text) else safe_repr(label)
        for text, label in zip(texts, labels, strict=True)
    ]
    if len(set(names)) < len(labels):
        raise ValueError(f"two labels make the same name of a column: {names}")
    return names


def is_utf8(text: str) -> bool:
    """Whether a text can be written in UTF-8, that is, has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class PredictsNumbers(abc.ABC):
    """Predictions of numbers for the rows of data frames of any kind."""

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

        Raises
        ------
        TypeError
            If X is not a data frame.
        ValueError, TypeError
            If a row is invalid, as for `predict_one`.
        """
        frame = into_frame(X)
        return series_of_numbers(self._predict_frame(frame), frame)


class PredictsLabels(abc.ABC):
    """Predictions of labels and their probabilities for the rows of data frames of any kind."""

    @abc.abstractmethod
    def predict_one(self, x: Sample) -> typing.Any:
        """Predict the label of a sample."""

    @abc.abstractmethod
    def predict_proba_one(self, x: Sample) -> dict[typing.Any, float]:
        """Predict the probabilities of the labels of a sample."""

    def _predict_frame(self, frame: typing.Any) -> list[typing.Any]:
        """The prediction for each row of a narwhals frame."""
        return [self.predict_one(x) for x in rows_of(frame)]

    def _predict_proba_frame(self, frame: typing.Any) -> list[dict[typing.Any, float]]:
        """The class probabilities for each row of a narwhals frame."""
        return [self.predict_proba_one(x) for x in rows_of(frame)]

    def _labels(self) -> list[typing.Any]:
        """The labels learned so far."""
        return list(self.predict_proba_one({}))

    def predict_many(self, X: typing.Any) -> typing.Any:
        """Predict the rows of a data frame.

        Parameters
        ----------
        X
            A data frame of any kind that narwhals knows.

        Returns
        -------
        A series of the same kind. If that kind has no type for all labels, such as 1 and "one"
        together or the members of an `Enum`, the series holds Python objects.

        Raises
        ------
        TypeError
            If X is not a data frame, or the series would hold Python objects and cannot, as in
            pyarrow.
        ValueError, TypeError
            If a row is invalid, as for `predict_one`.
        """
        frame = into_frame(X)
        return series_of_labels(self._predict_frame(frame), self._labels(), frame)

    def predict_proba_many(self, X: typing.Any) -> typing.Any:
        """Predict the class probabilities of the rows of a data frame.

        Parameters
        ----------
        X
            A data frame of any kind that narwhals knows.

        Returns
        -------
        A data frame of the same kind with a column per label learned so far. Where column names
        have to be strings, labels become strings by `str`; labels that are the same as strings, as
        1 and "1", or that UTF-8 cannot represent, by `repr`: `1` and `'1'`.

        Raises
        ------
        TypeError
            If X is not a data frame.
        ValueError, TypeError
            If a row is invalid, as for `predict_proba_one`, or two labels have the same `repr`.
        """
        frame = into_frame(X)
        answers = self._predict_proba_frame(frame)
        labels = list(answers[0]) if answers else self._labels()
        names = labels if frame.implementation.is_pandas_like() else names_of(labels)
        columns = {
            name: np.array([answer[label] for answer in answers], dtype=float)
            for name, label in zip(names, labels, strict=True)
        }
        return frame_of_labels(columns, frame)
