"""Predictions for the rows of a data frame, as frames and series of its library.

Numbers become series and frames of pandas, polars and pyarrow directly, because the wrappers of
narwhals take longer than a tree takes for a thousand rows. narwhals makes everything else.
"""

from __future__ import annotations

import collections
import enum
import typing

import numpy as np
import numpy.typing as npt

from river_extra_trees._core.safe_repr import safe_repr

from .frames import into_frame, is_array, opened

__all__ = [
    "check_labels",
    "frame_of_shares",
    "names_of",
    "series_of_codes",
    "series_of_numbers",
]


def series_of_numbers(numbers: npt.NDArray[typing.Any], frame: typing.Any) -> typing.Any:
    """Make a series of the library of a frame from numbers; for an array, an array."""
    native, library = opened(frame)
    if library == "numpy":
        return numbers
    if library == "pandas":
        import pandas

        return pandas.Series(numbers, native.index, name="prediction", copy=False)
    if library == "polars":
        import polars

        return polars.Series("prediction", numbers)
    if library == "pyarrow":
        import pyarrow

        return pyarrow.chunked_array([pyarrow.array(numbers)])
    from river.utils import dataframe

    return dataframe.to_native_series(numbers, name="prediction", like=into_frame(frame))


def series_of_codes(
    codes: npt.NDArray[np.intp], labels: list[typing.Any], frame: typing.Any
) -> typing.Any:
    """Make a series of the library of a frame from codes of labels; -1 stands for None.

    The type of the series depends on all labels, not on the predicted ones.
    """
    known = labels if is_array(frame) else unpacked(labels)
    has_none = codes.min(initial=0) < 0
    array = array_of([*known, None] if has_none else known)  # -1 is the index of None
    if is_array(frame) or array.dtype.kind in "bif" or (not has_none and are_numpy(known)):
        return series_of_numbers(array[codes], frame)
    library = library_for(frame)
    series = series_of_labels(list(array), library)
    positions = np.where(codes < 0, len(known), codes)
    if not library.is_pandas_like():
        return series.take(positions) if hasattr(series, "take") else series[positions]
    import narwhals

    index = narwhals.to_native(frame, pass_through=True).index
    pandas, values = library.to_native_namespace(), series.array.take(positions)
    return pandas.Series(values, index, series.dtype, name="prediction", copy=False)


def library_for(frame: typing.Any) -> typing.Any:
    """Return the library of a result of `readable_frame` as narwhals names it; not for arrays."""
    import narwhals

    library = opened(frame)[1]
    return narwhals.Implementation(library) if library else frame.implementation


# Labels of these types become Python objects in series; arrays keep them.
NUMPY_KINDS: tuple[set[type], ...] = ({np.bool_}, {np.int64}, {np.float64})


def are_numpy(labels: list[typing.Any]) -> bool:
    """Return whether all labels are of one of `NUMPY_KINDS`."""
    return {type(label) for label in labels} in NUMPY_KINDS


def unpacked(labels: list[typing.Any]) -> list[typing.Any]:
    """Convert numpy labels to Python objects, as series hold them."""
    return [label.item() for label in labels] if are_numpy(labels) else labels


def array_of(values: list[typing.Any]) -> npt.NDArray[typing.Any]:
    """Convert values to an array, of Python objects if another type would change a value."""
    kinds = {type(value) for value in values}
    if len(kinds) == 1 and kinds <= {bool, int, float, str}:
        array = np.array(values)
        if array.tolist() == values:
            return array
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def series_of_labels(labels: list[typing.Any], library: typing.Any) -> typing.Any:
    """Make a series of a library, named as by narwhals, from labels and perhaps None.

    If every type would change a label, series of pandas and polars hold Python objects; pyarrow
    raises a TypeError.
    """
    import narwhals

    if library.is_pandas_like():
        return pandas_series(labels, library.to_native_namespace())
    known = [label for label in labels if label is not None and label == label]
    dtype = type_of(known, library) if known else None
    if dtype != narwhals.Object:
        return narwhals.new_series("prediction", labels, dtype, backend=library).to_native()
    if not library.is_polars():
        kinds = ", ".join(sorted({type(label).__name__ for label in known}))
        raise TypeError(
            f"no series of {library} can hold these labels unchanged (types: {kinds}): "
            "predict a frame of pandas or polars instead"
        )
    # Even for objects, polars unpacks Enum members if the first value is one.
    padded = [object(), *labels]
    return narwhals.new_series("prediction", padded, dtype, backend=library)[1:].to_native()


def pandas_series(labels: list[typing.Any], pandas: typing.Any) -> typing.Any:
    """Make a pandas series from labels, of Python objects if another type would change one."""
    has_some = any(label is not None for label in labels)
    keeps = not any(
        isinstance(label, enum.Enum) or (label is None and has_some) for label in labels
    )
    try:
        return pandas.Series(labels, dtype=None if keeps else object, name="prediction")
    except UnicodeEncodeError:  # pandas stores strings in UTF-8
        return pandas.Series(labels, dtype=object, name="prediction")


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
        series_of_labels(labels, library)


def frame_of_shares(
    shares: npt.NDArray[np.float64], labels: list[typing.Any], frame: typing.Any
) -> typing.Any:
    """Make a frame of the library of `frame` from probabilities; for an array, an array."""
    native, library = opened(frame)
    if library == "numpy":
        return shares
    keeps_labels = library == "pandas" or library_for(frame).is_pandas_like()
    names = labels if keeps_labels else names_of(labels)
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
    """Return the type of a series that holds these labels unchanged, if need be `Object`."""
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
    """Return names for labels: `str`, or `repr` if `str` is ambiguous (1, "1") or not UTF-8."""
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
    """Return whether a string can be encoded in UTF-8, that is, has no surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
