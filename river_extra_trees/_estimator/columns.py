"""Conversion of data frames and arrays to batches, without a Python object per cell if possible.

Numbers are read from the buffers of pandas, polars, pyarrow and numpy, and strings and categories
by their codes, if the library stores codes. All other values, and all frames of other libraries,
are converted to lists of Python values first. In all cases the model learns the same, bit for bit,
as from the dicts of the rows.
"""

from __future__ import annotations

import typing

import numpy as np
import numpy.typing as npt

from river_extra_trees._core.batch import Batch
from river_extra_trees._core.columns import (
    Column,
    codes_of_texts,
    column_of_codes,
    column_of_labels,
    column_of_numbers,
    column_of_targets,
    column_of_texts,
    column_of_values,
    column_of_weights,
)
from river_extra_trees._core.safe_repr import safe_repr
from river_extra_trees._core.state import FAINTEST_WEIGHT, LARGEST_TARGET, LARGEST_WEIGHT

from .frames import is_array, is_one_weight, opened, values_of

__all__ = ["batch_of", "labelled_batch_of"]

Numbers = npt.NDArray[np.float64]
Codes = tuple[npt.NDArray[np.intc], list[typing.Any]]  # codes, -1 where missing; values by code
FLOAT64 = np.dtype(np.float64)


def batch_of(frame: typing.Any) -> Batch:
    """Make a batch of the rows of a data frame or a two-dimensional array.

    The columns of an array are named 0, 1, ..., as by `river.stream.iter_array`.

    Parameters
    ----------
    frame
        A result of `readable_frame` or `into_frame`.
    """
    native, library = opened(frame)
    columns_in = COLUMNS_IN.get(library)
    if columns_in is not None:
        return Batch(len(native), columns_in(native))
    columns = [column_of(name, frame[:, i]) for i, name in enumerate(frame.columns)]
    return Batch(len(frame), columns)


def labelled_batch_of(frame: typing.Any, y: typing.Any, w: typing.Any, regression: bool) -> Batch:
    """Make a batch of the rows of a frame, with the targets and weights of `learn_many`."""
    batch = batch_of(frame)
    targets = read_targets(y, regression)
    weights = read_weights(w, len(batch))
    n_weights = len(batch) if weights is None else weights.length
    if not targets.length == n_weights == len(batch):
        raise ValueError(f"X has {len(batch)} rows, y has {targets.length} and w has {n_weights}")
    return Batch(len(batch), batch.columns, targets, weights)


# --- Frames


def columns_of_array(array: npt.NDArray[typing.Any]) -> list[Column]:
    """Columns of an array."""
    array = np.asarray(array)  # in a numpy.matrix, each column would have two dimensions
    if array.dtype.kind in "biuf":
        numbers = np.require(array, np.float64, "A")
        return [column_of_numbers(i, numbers[:, i]) for i in range(numbers.shape[1])]
    return [column_of_values(i, list_of_array(array[:, i])) for i in range(array.shape[1])]


def list_of_array(array: npt.NDArray[typing.Any]) -> list[typing.Any]:
    """Values of an array as Python objects; dates and durations as numpy scalars."""
    values: list[typing.Any] = list(array) if array.dtype.kind in "mM" else array.tolist()
    return values


def columns_of_pandas(frame: typing.Any) -> list[Column]:
    """Columns of a pandas frame. All columns of numpy numbers are converted at once."""
    names, dtypes = frame.columns.tolist(), frame.dtypes.tolist()
    if dtypes.count(FLOAT64) == len(dtypes):
        return list(map(column_of_numbers, names, frame.to_numpy().T))
    plain = [isinstance(each, np.dtype) and each.kind in "biuf" for each in dtypes]
    numbers = iter(part_of(frame, plain, True).to_numpy(dtype=np.float64).T)
    others = iter(part_of(frame, plain, False).items())
    return [
        column_of_numbers(name, next(numbers)) if is_plain else column_of(name, next(others)[1])
        for name, is_plain in zip(names, plain, strict=True)
    ]


def part_of(frame: typing.Any, flags: list[bool], flag: bool) -> typing.Any:
    """Columns of a pandas frame whose flag is `flag`; the frame itself if all of them match."""
    places = [i for i, each in enumerate(flags) if each is flag]
    return frame if len(places) == len(flags) else frame.iloc[:, places]


def columns_of_polars(frame: typing.Any) -> list[Column]:
    """Columns of a polars frame."""
    import polars

    names, dtypes, columns = frame.columns, frame.dtypes, frame.get_columns()
    if dtypes.count(polars.Float64) == len(dtypes):
        return [
            column_of_numbers(name, series.to_numpy())
            for name, series in zip(names, columns, strict=True)
        ]
    return [column_of(name, series) for name, series in zip(names, columns, strict=True)]


def columns_of_pyarrow(table: typing.Any) -> list[Column]:
    """Columns of a pyarrow table."""
    import pyarrow

    double = pyarrow.float64()
    schema = table.schema
    return [
        column_of_numbers(name, each.to_numpy()) if kind == double else column_of(name, each)
        for name, kind, each in zip(schema.names, schema.types, table.columns, strict=True)
    ]


COLUMNS_IN: dict[str, typing.Callable[[typing.Any], list[Column]]] = {
    "numpy": columns_of_array,
    "pandas": columns_of_pandas,
    "polars": columns_of_polars,
    "pyarrow": columns_of_pyarrow,
}


def column_of(name: typing.Hashable, series: typing.Any) -> Column:
    """Convert a series to a column: as numbers, as codes, or value by value."""
    numbers = numbers_in(series)
    if numbers is not None:
        return column_of_numbers(name, numbers)
    coded = texts_in(series)
    if coded is not None:
        return column_of_texts(name, *coded)
    coded = categories_in(series, f"feature {safe_repr(name)}")
    if coded is not None:
        return column_of_codes(name, *coded)
    return column_of_values(name, values_of(series, "a column"))


# --- Series of one library each


def package_of(series: typing.Any) -> str:
    """Top-level package of the class of a series."""
    return type(series).__module__.partition(".")[0]


def numbers_in(series: typing.Any) -> Numbers | None:
    """A series as doubles, NaN where missing; None unless its type is a machine number."""
    read = {
        "numpy": numbers_in_numpy,
        "pandas": numbers_in_pandas,
        "polars": numbers_in_polars,
        "pyarrow": numbers_in_pyarrow,
    }.get(package_of(series))
    return None if read is None else read(series)


def numbers_in_numpy(array: typing.Any) -> Numbers | None:
    if not is_array(array, 1) or array.dtype.kind not in "biuf":
        return None
    return np.require(array, np.float64, "A")


def numbers_in_pandas(series: typing.Any) -> Numbers | None:
    import pandas

    if not isinstance(series, pandas.Series):
        return None
    dtype = series.dtype
    if isinstance(dtype, pandas.SparseDtype) or getattr(dtype, "kind", "O") not in "biuf":
        return None
    if isinstance(dtype, np.dtype):
        return series.to_numpy(dtype=np.float64)
    return series.to_numpy(dtype=np.float64, na_value=np.nan)


def numbers_in_polars(series: typing.Any) -> Numbers | None:
    import polars

    if not isinstance(series, polars.Series):
        return None
    if series.dtype != polars.Float64:
        if str(series.dtype) not in POLARS_NUMBERS:
            return None
        series = series.cast(polars.Float64)
    numbers: Numbers = series.to_numpy()
    return numbers


# Types for which a cast to doubles gives the same as `float` of each value.
POLARS_NUMBERS = frozenset(
    ["Boolean", "Float32", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"]
)


def numbers_in_pyarrow(column: typing.Any) -> Numbers | None:
    import pyarrow

    if not isinstance(column, pyarrow.ChunkedArray):
        return None
    types = pyarrow.types
    if types.is_boolean(column.type):
        column = column.cast(pyarrow.int8())
    elif not (
        types.is_integer(column.type)
        or types.is_float64(column.type)
        or types.is_float32(column.type)
    ):
        return None
    return column.to_numpy().astype(np.float64, copy=False)


def codes_in(series: typing.Any, what: str) -> Codes | None:
    """Codes and values of a series; None if it stores no codes. Errors name `what`."""
    return texts_in(series) or categories_in(series, what)


def texts_in(series: typing.Any) -> Codes | None:
    """Codes and distinct texts of a series; None if it holds anything but texts."""
    read = {
        "pandas": texts_in_pandas,
        "polars": texts_in_polars,
        "pyarrow": texts_in_pyarrow,
    }.get(package_of(series))
    return None if read is None else read(series)


def texts_in_pandas(series: typing.Any) -> Codes | None:
    import pandas

    if not isinstance(series, pandas.Series) or not isinstance(series.dtype, pandas.StringDtype):
        return None
    if series.dtype.storage != "pyarrow":
        return codes_of_texts(series.tolist())
    import pyarrow

    array = pyarrow.array(series.array)
    is_whole = isinstance(array, pyarrow.Array)  # otherwise it is chunked already
    return texts_in_pyarrow(pyarrow.chunked_array([array]) if is_whole else array)


def texts_in_polars(series: typing.Any) -> Codes | None:
    import polars

    if not isinstance(series, polars.Series) or series.dtype not in (
        polars.String,
        polars.Categorical,
    ):
        return None
    return codes_of_texts(series.to_list())


def texts_in_pyarrow(column: typing.Any) -> Codes | None:
    import pyarrow

    if not isinstance(column, pyarrow.ChunkedArray) or not (
        pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type)
    ):
        return None
    if column.num_chunks == 1:
        encoded = column.chunk(0).dictionary_encode()
    else:
        encoded = column.dictionary_encode().combine_chunks()
    codes = encoded.indices
    if codes.null_count:
        codes = codes.fill_null(-1)
    return codes.to_numpy().astype(np.intc, copy=False), encoded.dictionary.to_pylist()


def categories_in(series: typing.Any, what: str) -> Codes | None:
    """Codes and categories of a series; None if it has no categories. Errors name `what`."""
    read = {
        "pandas": categories_in_pandas,
        "polars": categories_in_polars,
        "pyarrow": categories_in_pyarrow,
    }.get(package_of(series))
    return None if read is None else read(series, what)


def categories_in_pandas(series: typing.Any, what: str) -> Codes | None:
    import pandas

    if not isinstance(series, pandas.Series) or not isinstance(
        series.dtype, pandas.CategoricalDtype
    ):
        return None
    return compacted(series.cat.codes.to_numpy(), series.cat.categories, what)


def categories_in_polars(series: typing.Any, what: str) -> Codes | None:
    import polars

    if not isinstance(series, polars.Series) or not isinstance(series.dtype, polars.Enum):
        return None
    codes = series.to_physical().cast(polars.Int64).fill_null(-1)
    return compacted(codes.to_numpy(), series.dtype.categories, what)


def categories_in_pyarrow(column: typing.Any, what: str) -> Codes | None:
    import pyarrow

    if not isinstance(column, pyarrow.ChunkedArray) or not len(column):
        return None
    if not pyarrow.types.is_dictionary(column.type):
        return None
    try:
        array = column.unify_dictionaries().combine_chunks()
    except pyarrow.ArrowException:  # null in the dictionary, or an uncommon type of values
        return None
    codes = array.indices.cast(pyarrow.int64()).fill_null(-1)
    return compacted(codes.to_numpy(), array.dictionary, what)


def compacted(codes: npt.NDArray[typing.Any], values: typing.Any, what: str) -> Codes:
    """Codes and values, without unused values if there are more values than codes."""
    # The libraries can make categoricals and dictionaries without checking the codes.
    wrong = (codes < -1) | (codes >= len(values))
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"row {row}: {what}: no category has the code {codes[row]}")
    if len(values) > len(codes):
        used, codes = np.unique(codes, return_inverse=True)
        missing = int(len(used) > 0 and used[0] < 0)  # -1 comes first, and must stay -1
        codes = codes - missing
        values = values.take(used[missing:]) if hasattr(values, "take") else values[used[missing:]]
    native = values.to_pylist() if hasattr(values, "to_pylist") else values.to_list()
    return codes.astype(np.intc), native


# --- Targets and weights


def read_targets(y: typing.Any, regression: bool) -> Column:
    """Convert targets to a column: of numbers for regression, otherwise of labels."""
    if regression:
        numbers = numbers_in(y)
        if numbers is not None and (np.abs(numbers) <= LARGEST_TARGET).all():
            return Column(None, len(numbers), numbers.copy())
        return column_of_targets(values_of(y, "y"))
    coded = codes_in(y, "y") or whole_codes_in(y)
    if coded is not None:
        codes, values = coded
        labels = column_of_labels(values)
        if labels.refused < 0 and labels.values == values and not (codes < 0).any():
            return Column(None, len(codes), None, codes, values)
    return column_of_labels(values_of(y, "y"))


def whole_codes_in(series: typing.Any) -> Codes | None:
    """Codes and values of a series of integers or booleans; None for others, or if one is missing.

    The values are Python objects; those of an array are numpy scalars.
    """
    if numbers_in(series) is None:
        return None
    array = np.asarray(series.to_numpy() if hasattr(series, "to_numpy") else series)
    if array.dtype.kind not in "biu":
        return None
    if array.dtype.kind == "b":  # no need to sort
        has_both = bool(array.any() and not array.all())
        values = np.array([False, True]) if has_both else array[:1]
        codes: npt.NDArray[typing.Any] = array if has_both else np.zeros(len(array))
    else:
        values, codes = np.unique(array, return_inverse=True)
    return codes.astype(np.intc), list(values) if array is series else values.tolist()


def read_weights(w: typing.Any, n: int) -> Column | None:
    """Convert one weight or a sequence of weights to a column; None if the one weight is 1."""
    if is_one_weight(w):
        one = column_of_weights([w] if n else [])
        if one.refused >= 0:
            return Column(None, n, np.full(n, np.nan), None, None, 0, one.error)
        return None if w == 1.0 else Column(None, n, np.full(n, one.numbers))
    numbers = numbers_in(w)
    if numbers is not None and ((numbers >= 0.0) & (numbers <= LARGEST_WEIGHT)).all():
        return Column(None, len(numbers), np.where(numbers < FAINTEST_WEIGHT, 0.0, numbers))
    return column_of_weights(values_of(w, "w"))
