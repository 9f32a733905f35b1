"""Series of texts as `Texts` reads them: from Arrow if possible, without an object per row."""

from __future__ import annotations

import functools
import typing

import numpy.typing as npt

from river_extra_trees._core.texts import Texts

__all__ = [
    "Source",
    "package_of",
    "source_of",
    "source_of_array",
    "source_of_polars",
    "types_in_polars",
]

# Either an Arrow stream of texts or dictionaries, and None; or the categories of a series, as an
# Arrow stream or as an array of objects, and the position of the category of each row.
Source = tuple[typing.Any, npt.NDArray[typing.Any] | None]


def package_of(series: typing.Any) -> str:
    """Top-level package of the class of a series."""
    return type(series).__module__.partition(".")[0]


def source_of(series: typing.Any) -> Source | None:
    """The source of the texts of a series; None if it has none at hand."""
    source_in = {
        "pandas": source_in_pandas,
        "polars": source_in_polars,
        "pyarrow": source_in_pyarrow,
    }.get(package_of(series))
    return None if source_in is None else source_in(series)


def source_in_pandas(series: typing.Any) -> Source | None:
    import pandas

    return source_of_array(series.array) if isinstance(series, pandas.Series) else None


def source_of_array(array: typing.Any) -> Source | None:
    """As `source_of`, for an array of pandas or numpy."""
    import pandas

    if isinstance(array.dtype, pandas.CategoricalDtype):
        return source_of_categories(array)
    texts = texts_in_pandas(array)
    return None if texts is None else (texts.__arrow_c_stream__(), None)


def source_of_categories(array: typing.Any) -> Source | None:
    """As `source_of`, for a categorical of pandas; the categories may be objects."""
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


def source_in_polars(series: typing.Any) -> Source | None:
    import polars

    if not isinstance(series, polars.Series):
        return None
    return source_of_polars(series, types_in_polars(series.to_frame())[0])


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


def source_of_polars(series: typing.Any, name: str) -> Source | None:
    """As `source_of`, for a series of polars and the name of its type."""
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


def source_in_pyarrow(column: typing.Any) -> Source | None:
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
