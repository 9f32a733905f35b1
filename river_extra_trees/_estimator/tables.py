"""Conversion of data frames and arrays to tables of the core.

`read` converts a series: numbers to an array, and everything else to a list of Python values.
Arrays, and frames that hold only numbers, are converted as a whole. In all cases the model learns
the same, bit for bit, as from the dicts of the rows.
"""

from __future__ import annotations

import typing
from collections.abc import Hashable

import numpy as np
import numpy.typing as npt

from river_extra_trees._core.columns import (
    Column,
    column_of_labels,
    column_of_numbers,
    column_of_targets,
    column_of_values,
    columns_of_block,
)
from river_extra_trees._core.safe_repr import safe_repr
from river_extra_trees._core.state import FAINTEST_WEIGHT, LARGEST_TARGET, LARGEST_WEIGHT
from river_extra_trees._core.table import Table

from .frames import (
    OWN_FRAMES,
    columns_in,
    flat,
    is_array,
    is_one_weight,
    opened,
    package_of,
    values_of,
    without_enums,
)

__all__ = [
    "block_in",
    "check_lengths",
    "column_of",
    "labelled_table_of",
    "read_targets",
    "read_weights",
    "table_of",
]

Array = npt.NDArray[typing.Any]
Values = list[typing.Any]
FLOAT64 = np.dtype(np.float64)
NUMBERS = "biuf"  # kinds of numpy types: booleans, integers and floats

# Types of series that are read without narwhals, by library, beside those of numpy.
PLAIN_TYPES = {
    "polars": ("Float64", "Int64", "Boolean"),
    "pyarrow": ("double", "int64", "bool"),
}

# Types of narwhals for which a cast to doubles gives the same as `float` of each value.
CAST_TYPES = frozenset(
    ["Boolean", "Float32", "Float64"]
    + [f"{kind}{size}" for kind in ("Int", "UInt") for size in (8, 16, 32, 64)]
)


def table_of(frame: typing.Any) -> Table:
    """Convert a data frame, or an array of two dimensions, to a table.

    The columns of an array are named 0, 1, ..., as by `river.stream.iter_array`.

    Parameters
    ----------
    frame
        A result of `readable_frame` or `into_frame`.
    """
    names, block = block_in(*opened(frame))
    if block is None:
        columns = [column_of(name, each) for name, each in columns_in(frame)]
    else:
        columns = columns_of_block(names, block)
    return Table(len(frame), columns)


def labelled_table_of(frame: typing.Any, y: typing.Any, w: typing.Any, regression: bool) -> Table:
    """Convert a frame, and the targets and weights of `learn_many`, to a table."""
    table = table_of(frame)
    targets = read_targets(y, regression)
    weights = read_weights(w, len(table))
    n_weights = None if weights is None or is_one_weight(w) else weights.length
    check_lengths(len(table), targets.length, n_weights)
    return Table(len(table), table.columns, targets, weights)


def check_lengths(n_rows: int, n_targets: int, n_weights: int | None) -> None:
    """Raise a ValueError unless all lengths are equal; None means that there are no weights."""
    if n_weights is None and n_targets != n_rows:
        raise ValueError(f"X has {n_rows} rows and y has {n_targets}")
    if n_weights is not None and not n_rows == n_targets == n_weights:
        raise ValueError(f"X has {n_rows} rows, y has {n_targets} and w has {n_weights}")


# --- Frames


def block_in(frame: typing.Any, library: str) -> tuple[list[typing.Any], Array | None]:
    """Return the names of the columns, and all numbers as one array; None if they are mixed."""
    if library == "numpy":
        array = np.asarray(frame)
        is_block = array.dtype.kind in NUMBERS
        return list(range(array.shape[1])), doubles_of(array) if is_block else None
    # The types come first: `to_numpy` of pandas does not check the codes of categories.
    if library == "pandas" and all(
        isinstance(each, np.dtype) and each.kind in NUMBERS for each in frame.dtypes
    ):
        return frame.columns.to_numpy(object).tolist(), frame.to_numpy(dtype=np.float64)
    if library == "polars" and frame.width:
        from polars import Float64, selectors

        # Not by the types of all columns, for the reason in `without_enums`.
        are_doubles = frame.select(selectors.by_dtype(Float64)).width == frame.width
        return (frame.columns, frame.to_numpy()) if are_doubles else ([], None)
    if library == "pyarrow" and len(frame):
        import pyarrow

        if {*frame.schema.types} != {pyarrow.float64()}:
            return [], None
        (batch,) = frame.combine_chunks().to_batches()
        block = batch.to_tensor(null_to_nan=True, row_major=False).to_numpy()
        return frame.schema.names, block
    return [], None


def is_plain(dtype: typing.Any, library: str) -> bool:
    """Return whether numbers of a type are read without narwhals."""
    if isinstance(dtype, np.dtype):
        return dtype.kind in NUMBERS
    return type_name(dtype, library) in PLAIN_TYPES.get(library, ())


def type_name(dtype: typing.Any, library: str) -> str:
    """Return the name of a type without its parameters: an Enum may have a million categories."""
    if library == "pyarrow":  # all types are of one class
        return str(dtype)
    return (dtype if isinstance(dtype, type) else type(dtype)).__name__


def doubles_of(array: Array) -> npt.NDArray[np.float64]:
    """Convert an array of numbers to aligned doubles; return an array of them unchanged."""
    is_one = array.dtype == FLOAT64 and array.flags.aligned
    return array if is_one else np.require(array, np.float64, "A")


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
        The name of the series in error messages.
    """
    series = flat(series)
    if is_array(series, 1) and series.dtype.kind in NUMBERS:
        array: Array = series
        return array
    library = package_of(series)
    if library == "pyarrow":
        import pyarrow

        if isinstance(series, pyarrow.Array):  # which narwhals does not read
            series = pyarrow.chunked_array([series])
    dtype = getattr(series, "type" if library == "pyarrow" else "dtype", None)
    is_ours = library in OWN_FRAMES and dtype is not None and hasattr(series, "to_numpy")
    numbers: Array | None = None
    if is_ours and is_plain(dtype, library):
        numbers = series.to_numpy()
    else:
        if is_ours:
            check_codes(series, library, what)
        import narwhals

        series = narwhals.from_native(series, series_only=True, pass_through=True)
        # Polars names these types as narwhals does. It makes a type anew whenever it is asked for.
        of_cast = dtype if library == "polars" else getattr(series, "dtype", None)
        if isinstance(series, narwhals.Series) and type_name(of_cast, library) in CAST_TYPES:
            numbers = series.to_numpy()
    if numbers is not None and numbers.dtype.kind in NUMBERS:  # not booleans with null
        return numbers
    try:
        return values_of(series, what)
    except UnicodeDecodeError as error:  # pandas may hold bytes that are not UTF-8
        raise ValueError(f"{what}: a text is not UTF-8: {error}") from None


def check_codes(series: typing.Any, library: str, what: str) -> None:
    """Raise a ValueError for invalid codes and texts that the library itself does not check."""
    if library == "pandas" and hasattr(series, "cat"):
        refuse_codes(series.cat.codes.to_numpy(), len(series.cat.categories), what)
    elif library == "pyarrow":
        import pyarrow

        try:
            series.validate(full=True)
        except pyarrow.ArrowException as error:
            raise ValueError(f"{what}: pyarrow cannot read the column: {error}") from None


def refuse_codes(codes: Array, n_categories: int, what: str) -> None:
    """Raise a ValueError if a code has no category: pandas does not always check it."""
    wrong = (codes < -1) | (codes >= n_categories)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"row {row}: {what}: no category has the code {codes[row]}")


def codes_of(series: typing.Any, what: str) -> tuple[Array, Values] | Values:
    """Convert a series of labels: whole numbers to codes and values, others to a list.

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


def are_within(numbers: Array, low: float, high: float) -> bool:
    """Return whether all numbers lie between two others; NaN does not."""
    return bool(((numbers >= low) & (numbers <= high)).all())


def read_targets(y: typing.Any, regression: bool) -> Column:
    """Convert targets to a column: of numbers for regression, otherwise of labels."""
    if package_of(y) == "polars" and type(y).__name__ == "Series":
        y = without_enums(y.to_frame()).to_series()
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
        one = column_of_targets([w] if n else [], are_weights=True)
        if one.refused >= 0:
            return Column(None, n, np.full(n, np.nan), None, None, 0, one.error)
        return None if w == 1.0 else Column(None, n, np.full(n, one.numbers))
    numbers = read(w, "w")
    if isinstance(numbers, np.ndarray):
        numbers = doubles_of(numbers)
        if are_within(numbers, 0.0, LARGEST_WEIGHT):
            return Column(None, len(numbers), np.where(numbers < FAINTEST_WEIGHT, 0.0, numbers))
    numbers = numbers if isinstance(numbers, list) else values_of(w, "w")
    return column_of_targets(numbers, are_weights=True)
