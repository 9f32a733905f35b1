"""Data frames as input, and predictions for their rows as frames and series of the same kind.

narwhals knows frames of all kinds. Those of pandas, polars and pyarrow are read as they are, and
answered with their own series, because the wrappers of narwhals would take longer than a tree
takes for a thousand rows. No library is imported before a frame is at hand, so that
`import river_extra_trees` does not pay for it.
"""

from __future__ import annotations

import abc
import collections
import enum
import typing
from collections.abc import Hashable, Mapping

import numpy as np
import numpy.typing as npt

from river_extra_trees._core.safe_repr import safe_repr

from .refusals import refuse_array, refuse_lazy, refuse_mask, refused_frame

__all__ = [
    "PredictsLabels",
    "PredictsNumbers",
    "Sample",
    "check_labels",
    "coded",
    "frame_of_shares",
    "into_frame",
    "is_array",
    "is_one_weight",
    "opened",
    "readable_frame",
    "series_of_codes",
    "series_of_labels",
    "series_of_numbers",
    "shares_of",
    "values_of",
    "weights_of",
]

Sample = Mapping[Hashable, typing.Any]

# The frames that are read without narwhals, by their libraries.
OWN_FRAMES = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "Table"}


def readable_frame(X: typing.Any) -> typing.Any:
    """A data frame of pandas, polars or pyarrow, or an array, as it is; others by narwhals."""
    library = library_of(X)
    return X if library and has_unique_names(X, library) else into_frame(X)


def library_of(frame: typing.Any) -> str:
    """The library of an array of two dimensions or of one of `OWN_FRAMES`; else empty."""
    if is_array(frame):
        return "numpy"
    kind = type(frame)
    library = kind.__module__.partition(".")[0]
    return library if OWN_FRAMES.get(library) == kind.__name__ else ""


def has_unique_names(frame: typing.Any, library: str) -> bool:
    """Whether no two columns of a frame of a library have the same name."""
    if library == "pandas":
        try:
            return bool(frame.columns.is_unique)
        except TypeError:  # names without a hash
            return False
    return library != "pyarrow" or len(set(frame.schema.names)) == frame.num_columns


def opened(frame: typing.Any) -> tuple[typing.Any, str]:
    """What `readable_frame` or `into_frame` returns as its library has it, and the library.

    It stays a narwhals frame, and the name is empty, if the library is not one of those above.
    """
    library = library_of(frame)
    if library:
        return frame, library
    library = str(frame.implementation.value)
    return (frame.to_native(), library) if library in OWN_FRAMES else (frame, "")


def into_frame(X: typing.Any) -> typing.Any:
    """A data frame of any kind as a narwhals frame; an array of two dimensions as it is."""
    from river.utils import dataframe

    refuse_array(X)
    if is_array(X):
        return X
    refuse_mask(X, "X")
    refuse_lazy(X)
    if type(X).__name__ == "RecordBatch" and hasattr(X, "schema"):  # one chunk of a pyarrow table
        import pyarrow

        X = pyarrow.Table.from_batches([X])
    try:
        return dataframe.into_frame(X)
    except (TypeError, ValueError) as error:
        raise refused_frame(X) or error from None


def is_array(X: object, ndim: int = 2) -> bool:
    """Whether this is an array of numpy with so many dimensions.

    Masks of arrays would be overlooked, so that masked arrays are none; nor are structured ones.
    """
    return (
        isinstance(X, np.ndarray)
        and X.ndim == ndim
        and X.dtype.names is None
        and not isinstance(X, np.ma.MaskedArray)
    )


def values_of(values: typing.Any, name: str) -> list[typing.Any]:
    """A series of any kind, or any other sequence, as a list of plain Python values.

    Other iterables are refused by name, because they would silently be misread: a frame, for
    example, iterates over the names of its columns.
    """
    import narwhals

    refuse_mask(values, name)
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
    return [weights] * n if is_one_weight(weights) else values_of(weights, "w")


def is_one_weight(weights: object) -> bool:
    """Whether this is one weight for all samples, and not a sequence of them."""
    return getattr(weights, "ndim", None) == 0 or not hasattr(weights, "__len__")


def series_of_numbers(answers: typing.Any, frame: typing.Any) -> typing.Any:
    """Numbers as a series of the same kind as a narwhals frame, or as an array."""
    native, library = opened(frame)
    if library == "numpy":
        return np.asarray(answers)
    if isinstance(answers, np.ndarray) and library:
        return SERIES_OF_ARRAY[library](answers, native)
    from river.utils import dataframe

    return dataframe.to_native_series(answers, name="prediction", like=into_frame(frame))


def pandas_series_of_array(answers: npt.NDArray[typing.Any], frame: typing.Any) -> typing.Any:
    import pandas

    return pandas.Series(answers, frame.index, name="prediction", copy=False)


def polars_series_of_array(answers: npt.NDArray[typing.Any], frame: typing.Any) -> typing.Any:
    import polars

    return polars.Series("prediction", answers)


def pyarrow_series_of_array(answers: npt.NDArray[typing.Any], frame: typing.Any) -> typing.Any:
    import pyarrow

    return pyarrow.chunked_array([pyarrow.array(answers)])


SERIES_OF_ARRAY = {
    "pandas": pandas_series_of_array,
    "polars": polars_series_of_array,
    "pyarrow": pyarrow_series_of_array,
}


def series_of_codes(
    codes: npt.NDArray[np.intp], labels: list[typing.Any], frame: typing.Any
) -> typing.Any:
    """Labels by their codes, -1 for none, as `series_of_labels` has them."""
    known = labels if is_array(frame) else unpacked(labels)
    array = array_of(known)
    is_plain = array.dtype.kind in "bif" or are_numpy(known)
    if is_plain and codes.min(initial=0) >= 0:
        return series_of_numbers(array[codes], frame)
    answered = np.bincount(codes + 1, minlength=len(labels) + 1) > 0
    present = np.flatnonzero(answered)
    answers = [labels[code - 1] if code else None for code in present]
    positions = (np.cumsum(answered) - 1)[codes + 1]
    if is_array(frame):
        return array_of(answers)[positions]
    frame = into_frame(frame)
    if frame.implementation.is_pandas_like():
        series = pandas_series(answers, frame, None).iloc[positions]
        series.index = frame.to_native().index
        return series
    series = series_of_labels(answers, labels, frame)
    return series.take(positions) if hasattr(series, "take") else series[positions]


# Of these, series have the types that they have of Python's own; arrays keep the values themselves.
NUMPY_KINDS: tuple[set[type], ...] = ({np.bool_}, {np.int64}, {np.float64})


def are_numpy(labels: list[typing.Any]) -> bool:
    """Whether all labels are of one of `NUMPY_KINDS`."""
    return {type(label) for label in labels} in NUMPY_KINDS


def unpacked(labels: list[typing.Any]) -> list[typing.Any]:
    """Labels as series have them."""
    return [label.item() for label in labels] if are_numpy(labels) else labels


def array_of(values: list[typing.Any]) -> npt.NDArray[typing.Any]:
    """Values as an array; of objects, if numpy has no type for them as they are."""
    kinds = {type(value) for value in values}
    if len(kinds) == 1 and kinds <= {bool, int, float, str}:
        array = np.array(values)
        if array.tolist() == values:
            return array
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def series_of_labels(
    answers: list[typing.Any], labels: list[typing.Any], frame: typing.Any
) -> typing.Any:
    """Labels as a series of the same kind as a narwhals frame.

    The type of the series depends on all labels known, not on the answers. Where no type holds all
    labels as they are, pandas and polars get Python objects; pyarrow has none.
    """
    import narwhals
    from narwhals import maybe_get_index

    frame = into_frame(frame)
    known = {each: None for each in (*labels, *answers) if each is not None and each == each}
    if frame.implementation.is_pandas_like():
        return pandas_series(answers, frame, maybe_get_index(frame))
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


def pandas_series(answers: list[typing.Any], frame: typing.Any, index: typing.Any) -> typing.Any:
    """Labels as a series of pandas with an index; as objects where a type would change them."""
    pandas = pandas_of(frame)
    has_some = any(answer is not None for answer in answers)
    keeps = not any(
        isinstance(answer, enum.Enum) or (answer is None and has_some) for answer in answers
    )
    try:
        return pandas.Series(answers, index, dtype=None if keeps else object, name="prediction")
    except UnicodeEncodeError:  # the texts of pandas are in UTF-8
        return pandas.Series(answers, index, dtype=object, name="prediction")


def check_labels(labels: list[typing.Any], frame: typing.Any, as_names: bool) -> None:
    """Refuse labels that no series, or no names of columns, of the kind of a frame can hold."""
    if opened(frame)[1] in ("numpy", "pandas"):
        return
    if array_of(unpacked(labels)).dtype.kind in "bif":
        return
    frame = into_frame(frame)
    if frame.implementation.is_pandas_like():
        return
    if as_names:
        names_of(labels)
    else:
        series_of_labels([], labels, frame)


def frame_of_shares(
    shares: npt.NDArray[np.float64], labels: list[typing.Any], frame: typing.Any
) -> typing.Any:
    """Probabilities by row and label as a frame of the same kind as another, or as an array."""
    from river.utils import dataframe

    if is_array(frame):
        return shares
    frame = into_frame(frame)
    names = labels if frame.implementation.is_pandas_like() else names_of(labels)
    columns = dict(zip(names, np.ascontiguousarray(shares.T), strict=True))
    try:
        return dataframe.to_native_frame(columns, like=frame)
    except UnicodeEncodeError:  # the texts of pandas are in UTF-8
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


def coded(
    answers: list[typing.Any], labels: list[typing.Any]
) -> tuple[npt.NDArray[np.intp], list[typing.Any]]:
    """Answers as codes of labels, -1 for none, and the labels."""
    codes = {label: code for code, label in enumerate(labels)}
    return np.array([codes.get(answer, -1) for answer in answers], dtype=np.intp), labels


def shares_of(
    answers: list[dict[typing.Any, float]], labels: list[typing.Any]
) -> tuple[npt.NDArray[np.float64], list[typing.Any]]:
    """Probabilities as an array by row and label, and the labels."""
    rows = [[answer[label] for label in labels] for answer in answers]
    return np.array(rows, dtype=float).reshape(len(answers), len(labels)), labels


class PredictsNumbers(abc.ABC):
    """Predictions of numbers for the rows of data frames of any kind."""

    @abc.abstractmethod
    def predict_one(self, x: Sample) -> typing.Any:
        """Predict the target of a sample."""

    @abc.abstractmethod
    def _predict_frame(self, frame: typing.Any) -> typing.Any:
        """The prediction for each row of what `readable_frame` returns."""

    def predict_many(self, X: typing.Any) -> typing.Any:
        """Predict the rows of a data frame.

        Parameters
        ----------
        X
            A data frame of any kind that narwhals knows, or an array of two dimensions, whose
            columns are numbered from 0.

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
        frame = readable_frame(X)
        return series_of_numbers(self._predict_frame(frame), frame)


class PredictsLabels(abc.ABC):
    """Predictions of labels and their probabilities for the rows of data frames of any kind."""

    @abc.abstractmethod
    def predict_one(self, x: Sample) -> typing.Any:
        """Predict the label of a sample."""

    @abc.abstractmethod
    def predict_proba_one(self, x: Sample) -> dict[typing.Any, float]:
        """Predict the probabilities of the labels of a sample."""

    @abc.abstractmethod
    def _predict_frame(self, frame: typing.Any) -> tuple[typing.Any, list[typing.Any]]:
        """The code of the label for each row of what `readable_frame` returns, and the labels."""

    @abc.abstractmethod
    def _predict_proba_frame(self, frame: typing.Any) -> tuple[typing.Any, list[typing.Any]]:
        """The probabilities by row and label of what `readable_frame` returns, and the labels."""

    def _labels(self) -> list[typing.Any]:
        """The labels learned so far."""
        return list(self.predict_proba_one({}))

    def predict_many(self, X: typing.Any) -> typing.Any:
        """Predict the rows of a data frame.

        Parameters
        ----------
        X
            A data frame of any kind that narwhals knows, or an array of two dimensions, whose
            columns are numbered from 0.

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
        frame = readable_frame(X)
        return series_of_codes(*self._predict_frame(frame), frame)

    def predict_proba_many(self, X: typing.Any) -> typing.Any:
        """Predict the class probabilities of the rows of a data frame.

        Parameters
        ----------
        X
            A data frame of any kind that narwhals knows, or an array of two dimensions, whose
            columns are numbered from 0.

        Returns
        -------
        A data frame of the same kind with a column per label learned so far. Where column names
        have to be strings, labels become strings by `str`; labels that are the same as strings, as
        1 and "1", or that UTF-8 cannot represent, by `repr`: `1` and `'1'`. An array has a column
        per label in the order of `predict_proba_one`.

        Raises
        ------
        TypeError
            If X is not a data frame.
        ValueError, TypeError
            If a row is invalid, as for `predict_proba_one`, or two labels have the same `repr`.
        """
        frame = readable_frame(X)
        return frame_of_shares(*self._predict_proba_frame(frame), frame)
