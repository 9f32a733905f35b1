"""Conversion of data frames and arrays to tables of the core.

`read` converts a series by the public functions of its library: numbers to an array, texts and
categories to codes and a list of values where the library has these at hand, and everything else to
a list of Python values. A frame of doubles is converted at once. In all cases the model learns the
same, bit for bit, as from the dicts of the rows.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Hashable

import numpy as np
import numpy.typing as npt

from river_extra_trees._core.columns import (
    Column,
    are_within,
    column_of_codes,
    column_of_labels,
    column_of_numbers,
    column_of_targets,
    column_of_values,
    column_of_weights,
    columns_of_arrays,
    columns_of_block,
)
from river_extra_trees._core.safe_repr import safe_repr
from river_extra_trees._core.state import FAINTEST_WEIGHT, LARGEST_TARGET, LARGEST_WEIGHT
from river_extra_trees._core.table import Table

from .frames import is_array, is_one_weight, opened, package_of, values_of

__all__ = [
    "check_lengths",
    "codes_of",
    "column_of",
    "labelled_table_of",
    "list_of_array",
    "table_of",
]

Array = npt.NDArray[typing.Any]
Numbers = npt.NDArray[np.float64]
Values = list[typing.Any]
Coded = tuple[Array, Values]  # codes, -1 where missing; values by code
FLOAT64 = np.dtype(np.float64)


def table_of(frame: typing.Any, skipped: int | None = None) -> Table:
    """The rows of a data frame, or of an array of two dimensions, as a table.

    The columns of an array are named 0, 1, ..., as by `river.stream.iter_array`.

    Parameters
    ----------
    frame
        A result of `readable_frame` or `into_frame`.
    skipped
        Position of a column of a data frame that is left out.
    """
    native, library = opened(frame)
    return Table(len(native), COLUMNS_IN.get(library, columns_of_others)(native, skipped))


def labelled_table_of(
    frame: typing.Any,
    y: typing.Any,
    w: typing.Any,
    regression: bool,
    skipped: int | None = None,
) -> Table:
    """Make a table of the rows of a frame, with the targets and weights of `learn_many`."""
    table = table_of(frame, skipped)
    targets = read_targets(y, regression)
    weights = read_weights(w, len(table))
    n_weights = None if weights is None or is_one_weight(w) else weights.length
    check_lengths(len(table), targets.length, n_weights)
    return Table(len(table), table.columns, targets, weights)


def check_lengths(n_rows: int, n_targets: int, n_weights: int | None) -> None:
    """Raise an error unless all lengths are equal; None stands for weights that nobody passed."""
    if n_weights is None and n_targets != n_rows:
        raise ValueError(f"X has {n_rows} rows and y has {n_targets}")
    if n_weights is not None and not n_rows == n_targets == n_weights:
        raise ValueError(f"X has {n_rows} rows, y has {n_targets} and w has {n_weights}")


# --- Frames


def columns_of_array(array: Array, _: int | None) -> list[Column]:
    """Columns of an array."""
    array = np.asarray(array)  # a column of a matrix has two dimensions
    if array.dtype.kind in "biuf":
        return columns_of_block(list(range(array.shape[1])), doubles_of(array))
    return [column_of_values(i, list_of_array(array[:, i])) for i in range(array.shape[1])]


def doubles_of(array: Array) -> Numbers:
    """An array of numbers as aligned doubles; if it is one already, the array itself."""
    is_one = array.dtype == FLOAT64 and array.flags.aligned
    return array if is_one else np.require(array, np.float64, "A")


def list_of_array(array: Array) -> Values:
    """Values of an array as Python objects; dates and durations as numpy scalars."""
    values: Values = list(array) if array.dtype.kind in "mM" else array.tolist()
    return values


def columns_of_pandas(frame: typing.Any, skipped: int | None) -> list[Column]:
    """Columns of a pandas frame. If all are of numpy numbers, they are converted at once."""
    names = frame.columns.to_numpy(object).tolist()
    # The types come first: `to_numpy` does not check the codes of categories.
    if not all(
        isinstance(each, np.dtype) and each.kind in "biuf" for each in frame.dtypes.tolist()
    ):
        return columns_of_series(names, [each for _, each in frame.items()], skipped)
    columns = columns_of_block(names, frame.to_numpy(dtype=np.float64))
    if skipped is not None:
        del columns[skipped]
    return columns


def columns_of_polars(frame: typing.Any, skipped: int | None) -> list[Column]:
    """Columns of a polars frame. If all are of doubles, they are converted at once."""
    import polars

    names, series = frame.columns, frame.get_columns()
    if skipped is not None:
        del names[skipped], series[skipped]
    arrays: list[typing.Any] = [array_of_polars(each) for each in series]
    is_plain = skipped is None and {getattr(each, "dtype", None) for each in arrays} == {FLOAT64}
    if is_plain and frame.dtypes.count(polars.Float64) == len(names):
        return columns_of_arrays(names, arrays)
    return [
        column_of_found(name, found_in_polars(each, array))
        for name, each, array in zip(names, series, arrays, strict=True)
    ]


def columns_of_pyarrow(table: typing.Any, skipped: int | None) -> list[Column]:
    """Columns of a pyarrow table. If all are of doubles, they are converted at once."""
    import pyarrow

    if skipped is not None:
        table = table.remove_column(skipped)
    fields = table.schema
    if not len(table) or {*fields.types} != {pyarrow.float64()}:
        return columns_of_series(fields.names, table.columns, None)
    (batch,) = table.combine_chunks().to_batches()
    block = batch.to_tensor(null_to_nan=True, row_major=False).to_numpy()
    return columns_of_block(fields.names, block)


def columns_of_others(frame: typing.Any, skipped: int | None) -> list[Column]:
    """Columns of a frame that narwhals has wrapped."""
    series = [frame[:, i] for i in range(len(frame.columns))]
    return columns_of_series(frame.columns, series, skipped)


def columns_of_series(
    names: list[typing.Any], series: list[typing.Any], skipped: int | None
) -> list[Column]:
    """Columns of the series of a frame."""
    return [
        column_of(name, each)
        for i, (name, each) in enumerate(zip(names, series, strict=True))
        if i != skipped
    ]


COLUMNS_IN: dict[str, Callable[[typing.Any, int | None], list[Column]]] = {
    "numpy": columns_of_array,
    "pandas": columns_of_pandas,
    "polars": columns_of_polars,
    "pyarrow": columns_of_pyarrow,
}


def column_of(name: Hashable, series: typing.Any) -> Column:
    """Convert a series to a column."""
    return column_of_found(name, read(series, f"feature {safe_repr(name)}"))


def column_of_found(name: Hashable, found: Array | Coded | Values) -> Column:
    """Convert a result of `read` to a column."""
    if isinstance(found, np.ndarray):
        return column_of_numbers(name, doubles_of(found))
    if isinstance(found, list):
        return column_of_values(name, found)
    return column_of_codes(name, *found)


# --- Series


def read(series: typing.Any, what: str) -> Array | Coded | Values:
    """Convert a series: to an array of numbers, NaN where missing; to codes; or to a list.

    Dictionaries that are longer than the series cost no more than its rows.

    Parameters
    ----------
    series
        A series of any library, or another sequence.
    what
        What an error calls the series.
    """
    read_by_library = READERS.get(package_of(series))
    try:
        found = None if read_by_library is None else read_by_library(series, what)
        return values_of(series, what) if found is None else found
    except UnicodeDecodeError:
        refuse_bytes(series, what)
        raise


def refuse_bytes(series: typing.Any, what: str) -> None:
    """Raise an error that names the first text that is not UTF-8."""
    rows = getattr(series, "iloc", series)
    for row in range(len(series)):
        try:
            value = rows[row]
            getattr(value, "as_py", str)()
        except UnicodeDecodeError as error:
            raise ValueError(f"row {row}: {what}: the bytes are not UTF-8: {error}") from None


def read_numpy(array: typing.Any, _: str) -> Array | None:
    return array if is_array(array, 1) and array.dtype.kind in "biuf" else None


def read_pandas(series: typing.Any, what: str) -> Array | Coded | None:
    import pandas

    if not isinstance(series, pandas.Series):
        return None
    dtype = series.dtype
    if isinstance(dtype, pandas.CategoricalDtype):
        return coded(series.array.codes, dtype.categories, what)
    if isinstance(series.array, pandas.arrays.ArrowStringArray):
        return read_arrow_texts(series.array, what)
    if isinstance(dtype, pandas.StringDtype):
        codes, values = series.array.factorize()
        return codes, values.to_numpy(dtype=object).tolist()
    if isinstance(dtype, pandas.SparseDtype) or getattr(dtype, "kind", "O") not in "biuf":
        return None
    if isinstance(dtype, np.dtype):
        return series.to_numpy()
    return series.to_numpy(dtype=np.float64, na_value=np.nan)


def read_polars(series: typing.Any, _: str) -> Array | Values | None:
    import polars

    if not isinstance(series, polars.Series):
        return None
    return found_in_polars(series, array_of_polars(series))


def array_of_polars(series: typing.Any) -> Array | None:
    """Convert a series of polars to an array; None if polars cannot."""
    try:
        array: Array = series.to_numpy()
    except Exception as error:
        if package_of(error) != "polars":  # integers of 128 bits
            raise
        return None
    return array


def found_in_polars(series: typing.Any, array: Array | None) -> Array | Values:
    """Return numbers as their array, and other values as a list.

    polars has no public codes that are the same in all its versions, and makes lists of texts
    quickly. The type of a series is asked for only if it is one of numbers: polars compares all
    categories of an `Enum` each time.
    """
    if array is not None and array.ndim == 1 and len(array):
        if array.dtype.kind in "biuf":
            if series.dtype.base_type().__name__ in POLARS_NUMBERS:
                return array
        elif type(array[0]) is str:
            return list_of_array(array)
    values: Values = series.to_list()
    return values


# Types for which a cast to doubles gives the same as `float` of each value.
POLARS_NUMBERS = frozenset(
    ["Boolean", "Float32", "Float64"]
    + [f"{kind}{size}" for kind in ("Int", "UInt") for size in (8, 16, 32, 64)]
)


def read_pyarrow(column: typing.Any, what: str) -> Array | Coded | None:
    import pyarrow

    if not isinstance(column, pyarrow.ChunkedArray):
        return None
    types, kind = pyarrow.types, column.type
    if types.is_integer(kind) or types.is_float64(kind) or types.is_float32(kind):
        return column.to_numpy()
    if types.is_boolean(kind):
        array = column.to_numpy()
        return array if array.dtype.kind == "b" else None  # objects if one is missing
    is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    if not len(column) or not (is_text or types.is_dictionary(kind)):
        return None
    try:
        column.validate(full=True)
    except pyarrow.ArrowException:
        refuse_invalid(column, what)
        return None
    if is_text:  # some versions of pyarrow have no codes of views
        return None if types.is_string_view(kind) else read_arrow_texts(column, what)
    try:
        return read_dictionary(column, what)
    except pyarrow.ArrowException:  # null in the dictionary, or an uncommon type of values
        return None


def read_arrow_texts(texts: typing.Any, what: str) -> Coded:
    """Codes and values of the texts in an array of pandas or pyarrow."""
    import pyarrow

    array = texts if isinstance(texts, pyarrow.ChunkedArray) else pyarrow.array(texts)
    return read_dictionary(array.dictionary_encode(), what)


def read_dictionary(column: typing.Any, what: str) -> Coded:
    """Codes and values of a column of pyarrow with a dictionary."""
    import pyarrow

    if isinstance(column, pyarrow.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
    codes = column.indices
    if codes.null_count:
        codes = codes.cast(pyarrow.int64()).fill_null(-1)
    return coded(codes.to_numpy(), column.dictionary, what)


def refuse_invalid(column: typing.Any, what: str) -> None:
    """Raise an error that names the first row that pyarrow cannot read."""
    import pyarrow

    row = 0
    for chunk in column.chunks:
        is_coded = pyarrow.types.is_dictionary(chunk.type)
        values = chunk.dictionary if is_coded else chunk
        for place in chunk.indices.to_pylist() if is_coded else range(len(chunk)):
            if place is not None and not 0 <= place < len(values):
                raise ValueError(f"row {row}: {what}: no category has the code {place}")
            try:
                if place is not None:
                    values.slice(place, 1).validate(full=True)
            except pyarrow.ArrowException as error:
                raise ValueError(f"row {row}: {what}: the value cannot be read: {error}") from None
            row += 1


READERS: dict[str, Callable[[typing.Any, str], Array | Coded | Values | None]] = {
    "numpy": read_numpy,
    "pandas": read_pandas,
    "polars": read_polars,
    "pyarrow": read_pyarrow,
}


def coded(codes: Array, categories: typing.Any, what: str) -> Coded:
    """Codes and categories, without unused categories if these are more than the codes."""
    # The libraries can make categoricals without checking the codes.
    wrong = (codes < -1) | (codes >= len(categories))
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"row {row}: {what}: no category has the code {codes[row]}")
    if len(categories) > len(codes):
        used, codes = np.unique(codes, return_inverse=True)
        n_missing = int(len(used) > 0 and used[0] < 0)  # -1 comes first, and stays what it is
        used, codes = used[n_missing:], codes - n_missing
        if package_of(categories) == "pyarrow":  # `take` is not there for all types
            return codes, [categories[place].as_py() for place in used.tolist()]
        categories = categories.take(used)
    return codes, categories.tolist()


def codes_of(series: typing.Any, what: str) -> Coded | Values:
    """Convert a series of labels or keys: to codes of distinct values, or to a list.

    The values of an array are numpy scalars, those of other series Python objects.
    """
    found = read(series, what)
    if isinstance(found, np.ndarray):
        if found.dtype.kind not in "biu":
            return values_of(series, what)
        count = codes_of_flags if found.dtype.kind == "b" else codes_of_integers
        values, codes = count(found)
        return codes.astype(np.intc), list(values) if found is series else values.tolist()
    return found


def codes_of_flags(array: npt.NDArray[np.bool_]) -> tuple[Array, Array]:
    """Values and codes of booleans, as from `np.unique`."""
    has_both = 0 < np.count_nonzero(array) < len(array)
    return (np.array([False, True]), array) if has_both else (array[:1], np.zeros(len(array)))


def codes_of_integers(array: Array) -> tuple[Array, Array]:
    """Values and codes of integers, as from `np.unique`; without sorting if they are close."""
    low, high = (int(array.min()), int(array.max())) if len(array) else (0, 0)
    if not (-(2**62) < low <= high < min(2**62, low + len(array))):
        return np.unique(array, return_inverse=True)
    places = array.astype(np.int64) - low
    occurs = np.bincount(places) > 0
    codes = (np.cumsum(occurs) - 1)[places]
    return (np.flatnonzero(occurs) + low).astype(array.dtype), codes


# --- Targets and weights


def read_targets(y: typing.Any, regression: bool) -> Column:
    """Convert targets to a column: of numbers for regression, otherwise of labels."""
    if regression:
        numbers = read(y, "y")
        if isinstance(numbers, np.ndarray):
            numbers = doubles_of(numbers)
            if are_within(numbers, -LARGEST_TARGET, LARGEST_TARGET):
                return Column(None, len(numbers), numbers.copy())
        return column_of_targets(values_of(y, "y"))
    found = codes_of(y, "y")
    if isinstance(found, tuple):
        codes, values = found
        labels = column_of_labels(values)
        if labels.refused < 0 and labels.values == values and codes.min(initial=0) >= 0:
            return Column(None, len(codes), None, codes.astype(np.intc, copy=False), values)
    return column_of_labels(found if isinstance(found, list) else values_of(y, "y"))


def read_weights(w: typing.Any, n: int) -> Column | None:
    """Convert one weight or a sequence of weights to a column; None if the one weight is 1."""
    if type(w) is float and w == 1.0:  # the default
        return None
    if is_one_weight(w):
        one = column_of_weights([w] if n else [])
        if one.refused >= 0:
            return Column(None, n, np.full(n, np.nan), None, None, 0, one.error)
        return None if w == 1.0 else Column(None, n, np.full(n, one.numbers))
    numbers = read(w, "w")
    if isinstance(numbers, np.ndarray):
        numbers = doubles_of(numbers)
        if are_within(numbers, 0.0, LARGEST_WEIGHT):
            return Column(None, len(numbers), np.where(numbers < FAINTEST_WEIGHT, 0.0, numbers))
    return column_of_weights(numbers if isinstance(numbers, list) else values_of(w, "w"))
