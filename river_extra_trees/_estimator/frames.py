"""Data frames and series as input.

Numbers in frames of pandas, polars and pyarrow are read directly, because the wrappers of narwhals
take longer than a tree takes for a thousand rows. narwhals reads everything else. Libraries are
imported with the first frame, so that `import river_extra_trees` is fast.
"""

from __future__ import annotations

import typing
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from .refusals import refuse_array, refuse_lazy, refuse_mask, refused_frame

__all__ = [
    "Frame",
    "Sample",
    "Series",
    "Weights",
    "columns_in",
    "flat",
    "into_frame",
    "is_array",
    "is_one_weight",
    "library_of",
    "opened",
    "package_of",
    "readable_frame",
    "scalars_of",
    "values_of",
    "weights_of",
    "without_enums",
]

if typing.TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame, IntoSeries

    Frame = IntoDataFrame | npt.NDArray[typing.Any]
    Series = IntoSeries | npt.NDArray[typing.Any] | Sequence[typing.Any]
    Weights = float | Series

Sample = Mapping[Hashable, typing.Any]

# The names of this type in pandas, polars and pyarrow; narwhals does not know it.
FLOATS_OF_16_BITS = ("float16", "Float16", "halffloat")
# Classes of frames that are read without narwhals, by library.
OWN_FRAMES = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "Table"}


def readable_frame(X: typing.Any) -> typing.Any:
    """Return a frame of pandas, polars or pyarrow, or an array, unchanged; wrap others."""
    library = library_of(X)
    return X if library and has_unique_names(X, library) else into_frame(X)


def library_of(frame: typing.Any) -> str:
    """Return the library of a two-dimensional array or one of `OWN_FRAMES`; otherwise ""."""
    if is_array(frame):
        return "numpy"
    library = package_of(frame)
    return library if OWN_FRAMES.get(library) == type(frame).__name__ else ""


def package_of(value: object) -> str:
    """Return the top-level package of the class of a value."""
    return type(value).__module__.partition(".")[0]


def has_unique_names(frame: typing.Any, library: str) -> bool:
    """Return whether the names of the columns of a frame are unique."""
    if library == "pandas":
        try:
            return bool(frame.columns.is_unique)
        except TypeError:  # a name is not hashable
            return False
    return library != "pyarrow" or len(set(frame.schema.names)) == frame.num_columns


def opened(frame: typing.Any) -> tuple[typing.Any, str]:
    """Unwrap a result of `readable_frame` or `into_frame`; return it with its library.

    A frame of a library that is not in `OWN_FRAMES` stays wrapped, and the library is empty.
    """
    library = library_of(frame)
    if library:
        return frame, library
    library = str(frame.implementation.value)
    return (frame.to_native(), library) if library in OWN_FRAMES else (frame, "")


def columns_in(frame: typing.Any) -> list[tuple[Hashable, typing.Any]]:
    """Return the name and the series of each column of a result of `readable_frame`.

    The columns of an array are lists, named 0, 1, ..., as by `river.stream.iter_array`.
    """
    native, library = opened(frame)
    if library == "numpy":
        array = np.asarray(native)  # a column of a matrix has two dimensions
        return [(i, list_of_array(array[:, i])) for i in range(array.shape[1])]
    if library == "pandas":
        names, columns = native.columns.to_numpy(object).tolist(), dict(native.items()).values()
    elif library == "pyarrow":
        names, columns = native.schema.names, native.columns
    else:
        names, columns = native.columns, without_enums(native).iter_columns()
    return list(zip(names, columns, strict=True))


def without_enums(frame: typing.Any) -> typing.Any:
    """Return a frame of polars whose Enums are texts.

    Polars makes the type of an Enum anew whenever it is asked for, and reads all categories.
    """
    from polars import String, selectors

    if not hasattr(selectors, "enum"):  # of an early version
        return frame
    enums = frame.select(selectors.enum().cast(String))
    return frame.with_columns(enums.get_columns()) if enums.width else frame


def scalars_of(values: typing.Any, name: str) -> list[typing.Any]:
    """Convert as `values_of`, but narrow floats to scalars, which have fewer digits."""
    import narwhals

    native = getattr(values, "dtype", getattr(values, "type", None))
    if str(native) in FLOATS_OF_16_BITS:
        return list(np.asarray(values, np.float16))
    series = narwhals.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, narwhals.Series) and series.dtype == narwhals.Float32:
        return list(np.asarray(series.to_numpy(), np.float32))
    return values_of(values, name)


def list_of_array(array: npt.NDArray[typing.Any]) -> list[typing.Any]:
    """Return the values of an array as Python objects; as scalars if these know more."""
    is_narrow = array.dtype.kind == "f" and array.dtype.itemsize < 8
    return list(array) if is_narrow or array.dtype.kind in "mM" else array.tolist()


def into_frame(X: typing.Any) -> typing.Any:
    """Wrap a data frame of any library with narwhals."""
    from river.utils import dataframe

    refuse_array(X)
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
    """Return whether X is an array with `ndim` dimensions, neither masked nor structured."""
    return (
        isinstance(X, np.ndarray)
        and X.ndim == ndim
        and X.dtype.names is None
        and not isinstance(X, np.ma.MaskedArray)
    )


def values_of(values: typing.Any, name: str) -> list[typing.Any]:
    """Convert a series, or another sequence, to a list of Python values.

    Other iterables raise a TypeError, because they would be misread: a frame, for example, iterates
    over the names of its columns. `name` is the name of the values in the message.
    """
    if type(values) is list:
        return values.copy()
    if package_of(values) == "pandas" and isinstance(getattr(values, "dtype", None), np.dtype):
        return list(values.to_list())  # as narwhals does, which takes longer than a short column
    import narwhals

    values = flat(values)
    refuse_mask(values, name)
    values = narwhals.from_native(values, allow_series=True, pass_through=True)
    if isinstance(values, narwhals.Series):
        return values.to_list()
    if isinstance(values, narwhals.DataFrame | narwhals.LazyFrame):
        raise TypeError(f"{name} must be a series, not a frame: select one column")
    if is_array(values):
        raise TypeError(f"{name} must have one dimension, not the shape {values.shape}")
    if not is_sequence(values):
        raise TypeError(
            f"{name} must be a series or another sequence of values, not {type(values).__name__!r}"
        )
    return list(values.to_pylist() if hasattr(values, "to_pylist") else values)  # pyarrow


def flat(values: typing.Any) -> typing.Any:
    """Return the column of an array of one column, as scikit-learn does; others unchanged."""
    return values[:, 0] if is_array(values) and values.shape[1] == 1 else values


def is_sequence(values: object) -> bool:
    """Return whether this is a sequence of values: no string, mapping, set or table."""
    return (
        hasattr(values, "__len__")
        and hasattr(values, "__getitem__")
        and not isinstance(values, str | bytes | bytearray | Mapping)
        and getattr(values, "ndim", 1) == 1
    )


def weights_of(weights: typing.Any, n: int) -> list[typing.Any]:
    """Convert one weight, a series or another sequence to a list of n weights."""
    return [weights] * n if is_one_weight(weights) else values_of(weights, "w")


def is_one_weight(weights: object) -> bool:
    """Return whether this is one weight for all samples, not a sequence."""
    return getattr(weights, "ndim", None) == 0 or not hasattr(weights, "__len__")
