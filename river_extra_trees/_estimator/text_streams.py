"""Series of texts as Arrow streams, which `Texts` reads without a Python object per row."""

from __future__ import annotations

import typing

__all__ = ["package_of", "stream_of", "stream_of_array", "stream_of_polars"]


def package_of(series: typing.Any) -> str:
    """Top-level package of the class of a series."""
    return type(series).__module__.partition(".")[0]


def stream_of(series: typing.Any) -> typing.Any:
    """A series of texts as an Arrow stream; None if Arrow has no texts of it."""
    stream_in = {
        "pandas": stream_in_pandas,
        "polars": stream_in_polars,
        "pyarrow": stream_in_pyarrow,
    }.get(package_of(series))
    return None if stream_in is None else stream_in(series)


def stream_in_pandas(series: typing.Any) -> typing.Any:
    import pandas

    return stream_of_array(series.array) if isinstance(series, pandas.Series) else None


def stream_of_array(array: typing.Any) -> typing.Any:
    """As `stream_of`, for an array of pandas or numpy."""
    import pandas

    if isinstance(array.dtype, pandas.CategoricalDtype):
        return stream_of_categories(array)
    texts = texts_in_pandas(array)
    if texts is None:
        return None
    if hasattr(texts, "__arrow_c_stream__"):  # in chunks
        return texts.__arrow_c_stream__()
    import pyarrow

    return pyarrow.chunked_array([texts]).__arrow_c_stream__()


def texts_in_pandas(array: typing.Any) -> typing.Any:
    """The Arrow array of an array of pandas; None unless it has texts in Arrow buffers."""
    import pandas

    if not isinstance(array.dtype, pandas.StringDtype) or array.dtype.storage != "pyarrow":
        return None
    array = array.__arrow_array__()
    array.validate()
    return array


def stream_of_categories(array: typing.Any) -> typing.Any:
    """A stream of an array of categories of pandas; None if they are no texts."""
    texts = texts_in_pandas(array.categories.array)
    if texts is None:
        return None
    import pyarrow

    if hasattr(texts, "combine_chunks"):
        texts = texts.combine_chunks()
    codes = pyarrow.array(array.codes, mask=array.codes == -1)
    coded = pyarrow.DictionaryArray.from_arrays(codes, texts, safe=False)
    return pyarrow.chunked_array([coded]).__arrow_c_stream__()


def stream_in_polars(series: typing.Any) -> typing.Any:
    import polars

    return stream_of_polars(series, series.dtype) if isinstance(series, polars.Series) else None


def stream_of_polars(series: typing.Any, dtype: typing.Any) -> typing.Any:
    """As `stream_of`, for a series of polars. The type is given: it is slow to make for `Enum`."""
    import polars

    if not hasattr(series, "__arrow_c_stream__"):
        return None
    kind = dtype.base_type()
    if kind in (polars.Categorical, polars.Enum):  # faster than the export of its dictionary
        series = series.cast(polars.String)
    elif kind != polars.String:
        return None
    return series.__arrow_c_stream__()


def stream_in_pyarrow(column: typing.Any) -> typing.Any:
    import pyarrow

    if not isinstance(column, pyarrow.ChunkedArray):
        return None
    types, kind = pyarrow.types, column.type
    if types.is_dictionary(kind):
        kind = kind.value_type
    if not (types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)):
        return None
    column.validate()
    return column.__arrow_c_stream__()
