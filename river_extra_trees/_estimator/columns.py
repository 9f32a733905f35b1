"""Conversion of data frames and arrays to tables of the core.

`read` converts a series by the public functions of its library: numbers to an array, and everything
else to a list of Python values. A frame of doubles is converted at once. In all cases the model
learns the same, bit for bit, as from the dicts of the rows.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Hashable

import numpy as np
import numpy.typing as npt

from river_extra_trees._core.columns import (
    Column,
    are_within,
    column_of_labels,
    column_of_numbers,
    column_of_targets,
    column_of_values,
    column_of_weights,
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
Values = list[typing.Any]
FLOAT64 = np.dtype(np.float64)
NUMBERS = "biuf"  # kinds of numpy types: booleans, integers and floats


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
    if array.dtype.kind in NUMBERS:
        return columns_of_block(list(range(array.shape[1])), doubles_of(array))
    return [column_of_values(i, list_of_array(array[:, i])) for i in range(array.shape[1])]


def doubles_of(array: Array) -> npt.NDArray[np.float64]:
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
    if not all(isinstance(each, np.dtype) and each.kind in NUMBERS for each in frame.dtypes):
        return columns_of_series(names, [each for _, each in frame.items()], skipped)
    columns = columns_of_block(names, frame.to_numpy(dtype=np.float64))
    if skipped is not None:
        del columns[skipped]
    return columns


def columns_of_polars(frame: typing.Any, skipped: int | None) -> list[Column]:
    """Columns of a polars frame."""
    return columns_of_series(frame.columns, frame.get_columns(), skipped)


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
    return columns_of_series(frame.columns, list(frame.iter_columns()), skipped)


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
    found = read(series, f"feature {safe_repr(name)}")
    if isinstance(found, np.ndarray):
        return column_of_numbers(name, doubles_of(found))
    return column_of_values(name, found)


# --- Series


def read(series: typing.Any, what: str) -> Array | Values:
    """Convert a series to an array of numbers, NaN where missing, or to a list of values.

    Parameters
    ----------
    series
        A series of any library, or another sequence.
    what
        What an error calls the series.
    """
    read_numbers = NUMBERS_IN.get(package_of(series))
    numbers = None if read_numbers is None else read_numbers(series, what)
    try:
        return values_of(series, what) if numbers is None else numbers
    except UnicodeDecodeError as error:  # pandas may hold bytes that are not UTF-8
        raise ValueError(f"{what}: a text is not UTF-8: {error}") from None


def numbers_in_numpy(array: typing.Any, _: str) -> Array | None:
    return array if is_array(array, 1) and array.dtype.kind in NUMBERS else None


def numbers_in_pandas(series: typing.Any, what: str) -> Array | None:
    import pandas

    if not isinstance(series, pandas.Series):
        return None
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return series.to_numpy() if dtype.kind in NUMBERS else None
    if isinstance(dtype, pandas.CategoricalDtype):
        refuse_codes(series.array.codes, len(dtype.categories), what)
        return None
    if isinstance(dtype, pandas.SparseDtype) or getattr(dtype, "kind", "O") not in NUMBERS:
        return None
    return series.to_numpy(dtype=np.float64, na_value=np.nan)


def refuse_codes(codes: Array, n_categories: int, what: str) -> None:
    """Raise an error if a code is that of no category: pandas does not always check it."""
    wrong = (codes < -1) | (codes >= n_categories)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"row {row}: {what}: no category has the code {codes[row]}")


def numbers_in_polars(series: typing.Any, _: str) -> Array | None:
    import polars

    if not isinstance(series, polars.Series):
        return None
    try:
        array: Array = series.to_numpy()
    except Exception as error:
        if package_of(error) != "polars":  # integers of 128 bits
            raise
        return None
    # polars compares all categories of an `Enum` each time that it is asked for the type.
    is_numeric = array.ndim == 1 and array.dtype.kind in NUMBERS
    return array if is_numeric and series.dtype.base_type().__name__ in POLARS_NUMBERS else None


# Types for which a cast to doubles gives the same as `float` of each value.
POLARS_NUMBERS = frozenset(
    ["Boolean", "Float32", "Float64"]
    + [f"{kind}{size}" for kind in ("Int", "UInt") for size in (8, 16, 32, 64)]
)


def numbers_in_pyarrow(column: typing.Any, what: str) -> Array | None:
    import pyarrow

    if not isinstance(column, pyarrow.ChunkedArray):
        return None
    types, kind = pyarrow.types, column.type
    if types.is_integer(kind) or types.is_float64(kind) or types.is_float32(kind):
        return column.to_numpy()
    if types.is_boolean(kind) and not column.null_count:
        return column.to_numpy()
    try:
        column.validate(full=True)  # pyarrow does not check texts and codes before
    except pyarrow.ArrowException as error:
        raise ValueError(f"{what}: pyarrow cannot read the column: {error}") from None
    return None


NUMBERS_IN: dict[str, Callable[[typing.Any, str], Array | None]] = {
    "numpy": numbers_in_numpy,
    "pandas": numbers_in_pandas,
    "polars": numbers_in_polars,
    "pyarrow": numbers_in_pyarrow,
}


def codes_of(series: typing.Any, what: str) -> tuple[Array, Values] | Values:
    """Convert a series of labels or keys: whole numbers to codes and values, others to a list.

    The values of an array are numpy scalars, those of other series Python objects.
    """
    found = read(series, what)
    if isinstance(found, np.ndarray):
        if found.dtype.kind not in "biu":
            return values_of(series, what)
        values, codes = np.unique(found, return_inverse=True)
        return codes.astype(np.intc), list(values) if found is series else values.tolist()
    return found


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
        if labels.refused < 0 and labels.values == values:
            return Column(None, len(codes), None, codes, values)
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
