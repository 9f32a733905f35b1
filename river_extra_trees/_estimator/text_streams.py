"""Series of texts as Arrow streams, which `Texts` reads without a Python object per row."""

from __future__ import annotations

import functools
import typing

import numpy.typing as npt

from river_extra_trees._core.texts import Texts

__all__ = ["package_of", "stream_of", "stream_of_array", "stream_of_polars", "types_in_polars"]

# What `Texts.codes_of` reads: an Arrow stream of texts or dictionaries, and None; or the categories
# of a series as a stream or an array of objects, and the position of each row's category.
Source = tuple[typing.Any, npt.NDArray[typing.Any] | None]


def package_of(series: typing.Any) -> str:
    """Top-level package of the class of a series."""
    return type(series).__module__.partition(".")[0]


def stream_of(series: typing.Any) -> Source | None:
    """A series of texts as an Arrow stream; None if Arrow has no texts of it."""
    stream_in = {
        "pandas": stream_in_pandas,
        "polars": stream_in_polars,
        "pyarrow": stream_in_pyarrow,
    }.get(package_of(series))
    return None if stream_in is None else stream_in(series)


def stream_in_pandas(series: typing.Any) -> Source | None:
    import pandas

    return stream_of_array(series.array) if isinstance(series, pandas.Series) else None


def stream_of_array(array: typing.Any) -> Source | None:
    """As `stream_of`, for an array of pandas or numpy."""
    import pandas

    if isinstance(array.dtype, pandas.CategoricalDtype):
        return stream_of_categories(array)
    texts = texts_in_pandas(array)
    return None if texts is None else (texts.__arrow_c_stream__(), None)


def stream_of_categories(array: typing.Any) -> Source | None:
    """As `stream_of`, for a categorical of pandas; the categories may be objects."""
    categories = array.categories
    if categories.dtype == object:
        return categories.to_numpy(), array.codes
    texts = texts_in_pandas(categories.array)
    if texts is None:
        return None
    if texts.num_chunks != 1:
        import pyarrow

        texts = pyarrow.chunked_array([texts.combine_chunks()])
    return texts.__arrow_c_stream__(), array.codes


def texts_in_pandas(array: typing.Any) -> typing.Any:
    """The chunks of an array of pandas; None unless it has texts in Arrow buffers."""
    import pandas

    if not isinstance(array.dtype, pandas.StringDtype) or array.dtype.storage != "pyarrow":
        return None
    texts = array.__arrow_array__()
    if not hasattr(texts, "chunks"):
        import pyarrow

        texts = pyarrow.chunked_array([texts])
    texts.validate()
    return texts


def stream_in_polars(series: typing.Any) -> Source | None:
    import polars

    if not isinstance(series, polars.Series):
        return None
    return stream_of_polars(series, types_in_polars(series.to_frame())[0])


def types_in_polars(frame: typing.Any) -> list[str]:
    """The types of the columns of a frame of polars, as its own short names.

    The public way, `frame.dtypes`, checks the categories of each `Enum`, which takes 20 ns each.
    """
    try:
        names: list[str] = frame._df.dtype_strings()
    except AttributeError:
        short = {"Float64": "f64", "String": "str", "Categorical": "cat", "Enum": "enum"}
        names = [short.get(each.base_type().__name__, "") for each in frame.dtypes]
    return names


def stream_of_polars(series: typing.Any, name: str) -> Source | None:
    """As `stream_of`, for a series of polars and the name of its type."""
    import polars

    if name not in ("str", "cat", "enum") or not hasattr(series, "__arrow_c_stream__"):
        return None
    if name != "str" and not polars_exports_categories():
        series = series.cast(polars.String)
    return series.__arrow_c_stream__(), None


@functools.cache
def polars_exports_categories() -> bool:
    """Whether polars exports categories to Arrow; versions such as 1.32 fail."""
    import polars

    one = polars.Series(["a"], dtype=polars.Categorical)
    try:
        Texts().codes_of(one.__arrow_c_stream__())
    except ValueError:
        return False
    return True


def stream_in_pyarrow(column: typing.Any) -> Source | None:
    import pyarrow

    if not isinstance(column, pyarrow.ChunkedArray):
        return None
    types, kind = pyarrow.types, column.type
    if types.is_dictionary(kind):
        kind = kind.value_type
    if not (types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)):
        return None
    column.validate()
    return column.__arrow_c_stream__(), None
