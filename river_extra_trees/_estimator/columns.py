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

from river_extra_trees._core.arrow import block_of_stream
from river_extra_trees._core.batch import Batch
from river_extra_trees._core.columns import (
    Column,
    are_within,
    column_of_codes,
    column_of_labels,
    column_of_numbers,
    column_of_targets,
    column_of_texts,
    column_of_values,
    column_of_weights,
    columns_of_block,
)
from river_extra_trees._core.safe_repr import safe_repr
from river_extra_trees._core.state import FAINTEST_WEIGHT, LARGEST_TARGET, LARGEST_WEIGHT
from river_extra_trees._core.texts import Texts

from .frames import is_array, is_one_weight, opened, values_of
from .text_streams import (
    Source,
    package_of,
    source_of,
    source_of_array,
    source_of_polars,
    types_in_polars,
)

if typing.TYPE_CHECKING:
    from river_extra_trees._core.schema import Schema

__all__ = ["batch_of", "labelled_batch_of"]

Numbers = npt.NDArray[np.float64]
Codes = tuple[npt.NDArray[np.intc], list[typing.Any]]  # codes, -1 where missing; values by code
FLOAT64 = np.dtype(np.float64)


def batch_of(frame: typing.Any, schema: Schema | None = None, skipped: int | None = None) -> Batch:
    """The rows of a data frame, or of an array of two dimensions, as a batch.

    The columns of an array are named 0, 1, ..., as by `river.stream.iter_array`.

    Parameters
    ----------
    frame
        A result of `readable_frame` or `into_frame`.
    schema
        The schema of the model that will read the batch. Texts that it knows are not created again;
        the meaning of the batch is the same.
    skipped
        Position of a column of a data frame that is left out.
    """
    native, library = opened(frame)
    columns_in = COLUMNS_IN.get(library)
    if columns_in is not None:
        return Batch(len(native), columns_in(native, schema, skipped))
    columns = [
        column_of(name, frame[:, i], schema) for i, name in enumerate(frame.columns) if i != skipped
    ]
    return Batch(len(frame), columns)


def labelled_batch_of(
    frame: typing.Any,
    y: typing.Any,
    w: typing.Any,
    regression: bool,
    schema: Schema | None = None,
    skipped: int | None = None,
) -> Batch:
    """Make a batch of the rows of a frame, with the targets and weights of `learn_many`."""
    batch = batch_of(frame, schema, skipped)
    targets = read_targets(y, regression)
    weights = read_weights(w, len(batch))
    n_weights = len(batch) if weights is None else weights.length
    if not targets.length == n_weights == len(batch):
        raise ValueError(f"X has {len(batch)} rows, y has {targets.length} and w has {n_weights}")
    return Batch(len(batch), batch.columns, targets, weights)


# --- Frames


def columns_of_array(
    array: npt.NDArray[typing.Any], schema: Schema | None, _: int | None
) -> list[Column]:
    """Columns of an array."""
    array = np.asarray(array)  # a column of a matrix has two dimensions
    if array.dtype.kind in "biuf":
        return columns_of_block(list(range(array.shape[1])), doubles_of(array))
    return [column_of_values(i, list_of_array(array[:, i]), schema) for i in range(array.shape[1])]


def doubles_of(array: npt.NDArray[typing.Any]) -> Numbers:
    """An array of numbers as aligned doubles; if it is one already, the array itself."""
    is_one = array.dtype == FLOAT64 and array.flags.aligned
    return array if is_one else np.require(array, np.float64, "A")


def list_of_array(array: npt.NDArray[typing.Any]) -> list[typing.Any]:
    """Values of an array as Python objects; dates and durations as numpy scalars."""
    values: list[typing.Any] = list(array) if array.dtype.kind in "mM" else array.tolist()
    return values


def columns_of_pandas(
    frame: typing.Any, schema: Schema | None, skipped: int | None
) -> list[Column]:
    """Columns of a pandas frame. If all are of numpy numbers, they are converted at once."""
    names, dtypes = frame.columns.to_numpy(object).tolist(), dtypes_of(frame)
    if skipped is None and dtypes.count(FLOAT64) == len(dtypes):
        return columns_of_block(names, frame.to_numpy(dtype=np.float64))
    plain = [isinstance(each, np.dtype) and each.kind in "biuf" for each in dtypes]
    if all(plain):
        columns = columns_of_block(names, frame.to_numpy(dtype=np.float64))
        if skipped is not None:
            del columns[skipped]
        return columns
    return [
        column_of_numbers(names[i], np.require(array_at(frame, i), np.float64, "A"))
        if plain[i]
        else column_in_pandas(names[i], frame, i, schema)
        for i in range(len(names))
        if i != skipped
    ]


def column_in_pandas(
    name: typing.Hashable, frame: typing.Any, position: int, schema: Schema | None
) -> Column:
    """Convert a column of a frame of pandas, if possible without making a series of it."""
    import pandas

    array = array_at(frame, position)
    column = column_of_source(name, source_of_array(array), schema)
    if column is not None:
        return column
    if array.dtype == object or isinstance(array.dtype, pandas.StringDtype):
        return column_of_values(name, array.tolist(), schema)
    return column_of(name, frame.iloc[:, position], schema)


def dtypes_of(frame: typing.Any) -> list[typing.Any]:
    """The types of the columns of a frame of pandas.

    The public way, `frame.dtypes`, makes a series of them first. That takes as long as the
    predictions of a tree for 200 rows, so this function asks the frame's manager of blocks.
    """
    try:
        dtypes = frame._mgr.get_dtypes()
    except AttributeError:
        dtypes = frame.dtypes
    found: list[typing.Any] = dtypes.tolist()
    return found


def array_at(frame: typing.Any, position: int) -> typing.Any:
    """The array of a column of a frame of pandas; the public way takes twenty times as long."""
    try:
        return frame._get_column_array(position)
    except AttributeError:
        return frame.iloc[:, position].array


def columns_of_polars(
    frame: typing.Any, schema: Schema | None, skipped: int | None
) -> list[Column]:
    """Columns of a frame of polars. If all are of doubles, they are read at once."""
    if skipped is not None:
        frame = frame.clone()  # shares the columns
        frame.drop_in_place(frame.columns[skipped])
    names, types = frame.columns, types_in_polars(frame)
    if types.count("f64") == len(types):
        block = block_of_table(frame, len(names))
        if block is not None:
            return columns_of_block(names, block)
    columns = []
    for name, kind, series in zip(names, types, frame.get_columns(), strict=True):
        if kind == "f64":
            columns.append(column_of_numbers(name, series.to_numpy()))
        else:
            column = column_of_source(name, source_of_polars(series, kind), schema)
            columns.append(column_of(name, series, schema) if column is None else column)
    return columns


def columns_of_pyarrow(
    table: typing.Any, schema: Schema | None, skipped: int | None
) -> list[Column]:
    """Columns of a pyarrow table. If all are of doubles, they are read at once."""
    import pyarrow

    if skipped is not None:
        table = table.remove_column(skipped)
    fields = table.schema
    block = block_of_table(table, len(fields))
    if block is not None:
        return columns_of_block(fields.names, block)
    double = pyarrow.float64()
    return [
        column_of_numbers(name, each.to_numpy())
        if kind == double
        else column_of(name, each, schema)
        for name, kind, each in zip(fields.names, fields.types, table.columns, strict=True)
    ]


def block_of_table(table: typing.Any, n_columns: int) -> Numbers | None:
    """The columns of a table as one array, read from Arrow buffers; None if they are no doubles."""
    if not hasattr(table, "__arrow_c_stream__"):
        return None
    return block_of_stream(table.__arrow_c_stream__(), len(table), n_columns)


COLUMNS_IN: dict[str, typing.Callable[[typing.Any, Schema | None, int | None], list[Column]]] = {
    "numpy": columns_of_array,
    "pandas": columns_of_pandas,
    "polars": columns_of_polars,
    "pyarrow": columns_of_pyarrow,
}


def column_of(name: typing.Hashable, series: typing.Any, schema: Schema | None = None) -> Column:
    """Convert a series to a column: as numbers, as codes, or value by value."""
    numbers = numbers_in(series)
    if numbers is not None:
        return column_of_numbers(name, numbers)
    column = column_of_source(name, source_of(series), schema)
    if column is not None:
        return column
    coded = categories_in(series, f"feature {safe_repr(name)}")
    if coded is not None:
        return column_of_codes(name, *coded)
    return column_of_values(name, values_of(series, "a column"), schema)


def column_of_source(
    name: typing.Hashable, source: Source | None, schema: Schema | None
) -> Column | None:
    """Convert the source of texts to a column; None if it has others, or there is no source."""
    if source is None:
        return None
    texts = Texts() if schema is None else schema.texts_of(name)
    coded = codes_from(texts, source, f"feature {safe_repr(name)}")
    return None if coded is None else column_of_texts(name, *coded)


def codes_from(texts: Texts, source: Source, what: str) -> Codes | None:
    """Codes and texts of a source; None if an object is no text. Errors name `what`."""
    given, places = source
    try:
        return texts.codes_of(given, what, places)
    except (TypeError, UnicodeEncodeError):
        return None


# --- Series of one library each


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
    return doubles_of(array)


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
    kind = series.dtype.base_type().__name__
    if kind != "Float64":
        if kind not in POLARS_NUMBERS:
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
    """A series by its codes; None if it has none at hand. Errors say what it is."""
    source = source_of(series)
    coded = None if source is None else codes_from(Texts(), source, what)
    return categories_in(series, what) if coded is None else coded


def categories_in(series: typing.Any, what: str) -> Codes | None:
    """Codes and categories of a series; None if it has no categories. Errors name `what`."""
    read = {
        "pandas": categories_in_pandas,
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
        used, codes = compact(codes)
        values = values.take(used) if hasattr(values, "take") else values[used]
    native = values.to_pylist() if hasattr(values, "to_pylist") else values.to_list()
    return codes.astype(np.intc), native


def compact(codes: npt.NDArray[typing.Any]) -> tuple[npt.NDArray[typing.Any], npt.NDArray[np.intc]]:
    """The codes that are used, -1 left out, and the positions of the codes among them."""
    used, places = np.unique(codes, return_inverse=True)
    n_missing = int(len(used) > 0 and used[0] < 0)  # -1 comes first, and has to stay what it is
    return used[n_missing:], (places - n_missing).astype(np.intc)


# --- Targets and weights


def read_targets(y: typing.Any, regression: bool) -> Column:
    """Convert targets to a column: of numbers for regression, otherwise of labels."""
    if regression:
        numbers = numbers_in(y)
        if numbers is not None and are_within(numbers, -LARGEST_TARGET, LARGEST_TARGET):
            return Column(None, len(numbers), numbers.copy())
        return column_of_targets(values_of(y, "y"))
    coded = whole_codes_in(y)
    if coded is not None:  # all different, and valid labels
        return Column(None, len(coded[0]), None, *coded)
    coded = codes_in(y, "y")
    if coded is not None:
        codes, values = coded
        labels = column_of_labels(values)
        if labels.refused < 0 and labels.values == values and codes.min(initial=0) >= 0:
            return Column(None, len(codes), None, codes, values)
    return column_of_labels(values_of(y, "y"))


def whole_codes_in(series: typing.Any) -> Codes | None:
    """Codes and values of a series of integers or booleans; None for others, or if one is missing.

    The values are Python objects; those of an array are numpy scalars.
    """
    if package_of(series) == "numpy" and is_array(series, 1):
        array = series
    elif numbers_in(series) is not None:
        array = np.asarray(series.to_numpy())
    else:
        return None
    if array.dtype.kind == "b":
        values, codes = codes_of_flags(array)
    elif array.dtype.kind in "iu":
        values, codes = codes_of_integers(array)
    else:
        return None
    return codes.astype(np.intc), list(values) if array is series else values.tolist()


Coded = tuple[npt.NDArray[typing.Any], npt.NDArray[typing.Any]]  # values, codes


def codes_of_flags(array: npt.NDArray[np.bool_]) -> Coded:
    """Values and codes of booleans, as from `np.unique`."""
    has_both = 0 < np.count_nonzero(array) < len(array)
    return (np.array([False, True]), array) if has_both else (array[:1], np.zeros(len(array)))


def codes_of_integers(array: npt.NDArray[typing.Any]) -> Coded:
    """Values and codes of integers, as from `np.unique`; without sorting if they are close."""
    low, high = (int(array.min()), int(array.max())) if len(array) else (0, 0)
    if not (-(2**62) < low <= high < min(2**62, low + len(array))):
        return np.unique(array, return_inverse=True)
    places = array.astype(np.int64) - low
    occurs = np.bincount(places) > 0
    codes = (np.cumsum(occurs) - 1)[places]
    return (np.flatnonzero(occurs) + low).astype(array.dtype), codes


def read_weights(w: typing.Any, n: int) -> Column | None:
    """Convert one weight or a sequence of weights to a column; None if the one weight is 1."""
    if type(w) is float and w == 1.0:  # the default
        return None
    if is_one_weight(w):
        one = column_of_weights([w] if n else [])
        if one.refused >= 0:
            return Column(None, n, np.full(n, np.nan), None, None, 0, one.error)
        return None if w == 1.0 else Column(None, n, np.full(n, one.numbers))
    numbers = numbers_in(w)
    if numbers is not None and are_within(numbers, 0.0, LARGEST_WEIGHT):
        return Column(None, len(numbers), np.where(numbers < FAINTEST_WEIGHT, 0.0, numbers))
    return column_of_weights(values_of(w, "w"))
