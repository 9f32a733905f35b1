"""Predictions for the rows of a data frame, as frames and series of its library.

Numbers become series and frames of pandas, polars and pyarrow directly, because the wrappers of
narwhals would take longer than a tree takes for a thousand rows. narwhals makes everything else.
"""

from __future__ import annotations

import abc
import collections
import enum
import typing

import numpy as np
import numpy.typing as npt

from river_extra_trees._core.safe_repr import safe_repr

from .frames import Sample, into_frame, is_array, opened, readable_frame

__all__ = [
    "PredictsLabels",
    "PredictsNumbers",
    "check_labels",
    "frame_of_shares",
    "names_of",
    "series_of_codes",
    "series_of_numbers",
]


def series_of_numbers(answers: typing.Any, frame: typing.Any) -> typing.Any:
    """Make a series of the library of a frame from numbers; for an array, an array."""
    native, library = opened(frame)
    if library == "numpy":
        return np.asarray(answers)
    if isinstance(answers, np.ndarray) and library:
        return series_of_array(answers, native, library)
    from river.utils import dataframe

    return dataframe.to_native_series(answers, name="prediction", like=into_frame(frame))


def series_of_array(
    answers: npt.NDArray[typing.Any], frame: typing.Any, library: str
) -> typing.Any:
    """Make a series of one of `OWN_FRAMES`; a series of pandas has the index of the frame."""
    if library == "pandas":
        import pandas

        return pandas.Series(answers, frame.index, name="prediction", copy=False)
    if library == "polars":
        import polars

        return polars.Series("prediction", answers)
    import pyarrow

    return pyarrow.chunked_array([pyarrow.array(answers)])


def series_of_codes(
    codes: npt.NDArray[np.intp], labels: list[typing.Any], frame: typing.Any
) -> typing.Any:
    """Make a series of the library of a frame from codes of labels; -1 stands for None."""
    known = labels if is_array(frame) else unpacked(labels)
    array = array_of(known)
    if codes.min(initial=0) >= 0 and (array.dtype.kind in "bif" or are_numpy(known)):
        return series_of_numbers(array[codes], frame)
    answered = np.bincount(codes + 1, minlength=len(labels) + 1) > 0
    answers = [labels[code - 1] if code else None for code in np.flatnonzero(answered)]
    positions = (np.cumsum(answered) - 1)[codes + 1]
    if is_array(frame):
        return array_of(answers)[positions]
    library = library_for(frame)
    series = series_of_labels(answers, labels, library)
    if not library.is_pandas_like():
        return series.take(positions) if hasattr(series, "take") else series[positions]
    series = series.take(positions)
    series.index = opened(frame)[0].index
    return series


def library_for(frame: typing.Any) -> typing.Any:
    """The library of a result of `readable_frame`, except an array, as narwhals names it."""
    import narwhals

    library = opened(frame)[1]
    return narwhals.Implementation(library) if library else frame.implementation


# Labels of these types become Python objects in series; arrays keep them.
NUMPY_KINDS: tuple[set[type], ...] = ({np.bool_}, {np.int64}, {np.float64})


def are_numpy(labels: list[typing.Any]) -> bool:
    """Whether all labels are of one of `NUMPY_KINDS`."""
    return {type(label) for label in labels} in NUMPY_KINDS


def unpacked(labels: list[typing.Any]) -> list[typing.Any]:
    """Labels as series have them."""
    return [label.item() for label in labels] if are_numpy(labels) else labels


def array_of(values: list[typing.Any]) -> npt.NDArray[typing.Any]:
    """Convert values to an array; of objects, if another type would change a value."""
    kinds = {type(value) for value in values}
    if len(kinds) == 1 and kinds <= {bool, int, float, str}:
        array = np.array(values)
        if array.tolist() == values:
            return array
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def series_of_labels(
    answers: list[typing.Any], labels: list[typing.Any], library: typing.Any
) -> typing.Any:
    """Make a series of a library, named as by narwhals, from predicted labels.

    The type of the series depends on all known labels, not on the predictions. If every type would
    change a label, series of pandas and polars hold Python objects; pyarrow raises a TypeError.
    """
    import narwhals

    if library.is_pandas_like():
        return pandas_series(answers, library.to_native_namespace())
    known = {each: None for each in (*labels, *answers) if each is not None and each == each}
    dtype = type_of(list(known), library) if known else None
    if dtype != narwhals.Object:
        return narwhals.new_series("prediction", answers, dtype, backend=library).to_native()
    if not library.is_polars():
        kinds = ", ".join(sorted({type(label).__name__ for label in known}))
        raise TypeError(
            f"no series of {library} holds these labels as they are (types: {kinds}): "
            "predict a frame of pandas or polars instead"
        )
    # Even for objects, polars unpacks Enum members if the first value is one.
    padded = [object(), *answers]
    return narwhals.new_series("prediction", padded, dtype, backend=library)[1:].to_native()


def pandas_series(answers: list[typing.Any], pandas: typing.Any) -> typing.Any:
    """Make a pandas series from labels; of objects where a type would change one."""
    has_some = any(answer is not None for answer in answers)
    keeps = not any(
        isinstance(answer, enum.Enum) or (answer is None and has_some) for answer in answers
    )
    try:
        return pandas.Series(answers, dtype=None if keeps else object, name="prediction")
    except UnicodeEncodeError:  # pandas stores strings in UTF-8
        return pandas.Series(answers, dtype=object, name="prediction")


def check_labels(labels: list[typing.Any], frame: typing.Any, as_names: bool) -> None:
    """Raise if the library of a frame cannot hold labels in a series, or as names of columns."""
    if is_array(frame) or array_of(unpacked(labels)).dtype.kind in "bif":
        return
    library = library_for(frame)
    if library.is_pandas_like():
        return
    if as_names:
        names_of(labels)
    else:
        series_of_labels([], labels, library)


def frame_of_shares(
    shares: npt.NDArray[np.float64], labels: list[typing.Any], frame: typing.Any
) -> typing.Any:
    """Make a frame of the library of `frame` from probabilities; for an array, an array."""
    native, library = opened(frame)
    if library == "numpy":
        return shares
    names = labels if library_for(frame).is_pandas_like() else names_of(labels)
    columns = dict(zip(names, np.ascontiguousarray(shares.T), strict=True))
    try:
        return frame_of_columns(columns, native, library)
    except UnicodeEncodeError:  # pandas stores strings in UTF-8
        table: typing.Any = frame_of_columns(dict(enumerate(columns.values())), native, library)
        pandas = library_for(frame).to_native_namespace()
        table.columns = pandas.Index(list(columns), dtype=object)
        return table


def frame_of_columns(
    columns: dict[typing.Any, npt.NDArray[np.float64]], frame: typing.Any, library: str
) -> typing.Any:
    """Make a frame of a library from columns; a frame of pandas has the index of `frame`."""
    if not columns or not library:
        from river.utils import dataframe

        return dataframe.to_native_frame(columns, like=into_frame(frame))
    if library == "pandas":
        import pandas

        return pandas.DataFrame(columns, frame.index)
    if library == "polars":
        import polars

        return polars.DataFrame(columns)
    import pyarrow

    return pyarrow.table(columns)


def type_of(labels: list[typing.Any], backend: typing.Any) -> typing.Any:
    """The type of a series that holds these labels unchanged; `Object` if there is no other."""
    import narwhals

    if {type(label) for label in labels} == {str} and is_utf8("".join(labels)):
        return narwhals.String()
    if any(isinstance(label, enum.Enum) for label in labels):
        return narwhals.Object  # libraries store the values of the members
    labels = sorted(labels, key=lambda label: type(label).__name__)  # the first decides the type
    try:
        series = narwhals.new_series("", labels, backend=backend)
        is_kept = series.dtype != narwhals.Unknown and series.to_list() == labels
    except MemoryError:
        raise
    except Exception:  # the errors of polars and pyarrow have no common base class
        return narwhals.Object
    return series.dtype if is_kept else narwhals.Object


def names_of(labels: list[typing.Any]) -> list[str]:
    """Names for labels: `str`, or `repr` if `str` is ambiguous (1 and "1") or not UTF-8."""
    texts = [safe_repr(label, str) for label in labels]
    counts = collections.Counter(texts)
    names = [
        text if counts[text] == 1 and is_utf8(text) else safe_repr(label)
        for text, label in zip(texts, labels, strict=True)
    ]
    if len(set(names)) < len(labels):
        raise ValueError(f"two labels would get the same column name: {names}")
    return names


def is_utf8(text: str) -> bool:
    """Whether a string can be encoded in UTF-8, that is, has no surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class PredictsNumbers(abc.ABC):
    """Mixin: predictions of numbers for the rows of data frames."""

    @abc.abstractmethod
    def predict_one(self, x: Sample) -> typing.Any:
        """Predict the target of a sample."""

    @abc.abstractmethod
    def _predict_frame(self, frame: typing.Any) -> typing.Any:
        """Predict each row of a result of `readable_frame`."""

    def predict_many(self, X: typing.Any) -> typing.Any:
        """Predict the rows of a data frame.

        Parameters
        ----------
        X
            A data frame of any library that narwhals supports, or a two-dimensional array, whose
            columns are named 0, 1, ...

        Returns
        -------
        A series of the library of X, or an array.

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
    """Mixin: predictions of labels and their probabilities for the rows of data frames."""

    @abc.abstractmethod
    def predict_one(self, x: Sample) -> typing.Any:
        """Predict the label of a sample."""

    @abc.abstractmethod
    def predict_proba_one(self, x: Sample) -> dict[typing.Any, float]:
        """Predict the probability of each label for a sample."""

    @abc.abstractmethod
    def _predict_frame(self, frame: typing.Any) -> tuple[typing.Any, list[typing.Any]]:
        """Predict each row of a result of `readable_frame`; return codes and labels."""

    @abc.abstractmethod
    def _predict_proba_frame(self, frame: typing.Any) -> tuple[typing.Any, list[typing.Any]]:
        """Predict probabilities by row and label; return them and the labels."""

    def _labels(self) -> list[typing.Any]:
        """The labels learned so far."""
        return list(self.predict_proba_one({}))

    def predict_many(self, X: typing.Any) -> typing.Any:
        """Predict the rows of a data frame.

        Parameters
        ----------
        X
            A data frame of any library that narwhals supports, or a two-dimensional array, whose
            columns are named 0, 1, ...

        Returns
        -------
        A series of the library of X, or an array. If no type of the library holds all labels, such
        as 1 and "one" together or the members of an `Enum`, the series holds Python objects.

        Raises
        ------
        TypeError
            If X is not a data frame, or if its library has no series of Python objects (pyarrow)
            and the labels need one.
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
            A data frame of any library that narwhals supports, or a two-dimensional array, whose
            columns are named 0, 1, ...

        Returns
        -------
        A data frame of the library of X with one column per label learned so far. If column names
        must be strings, the name is `str(label)`; for labels with the same `str`, such as 1 and
        "1", and labels that UTF-8 cannot encode, it is `repr(label)`. For an array, an array with
        one column per label in the order of `predict_proba_one`.

        Raises
        ------
        TypeError
            If X is not a data frame.
        ValueError, TypeError
            If a row is invalid, as for `predict_proba_one`, or two labels have the same `repr`.
        """
        frame = readable_frame(X)
        return frame_of_shares(*self._predict_proba_frame(frame), frame)
