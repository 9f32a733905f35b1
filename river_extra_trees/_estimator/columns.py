"""Data frames and arrays as batches, without a Python object per cell where their types allow it.

Numbers are read from the buffers of pandas, polars, pyarrow and numpy, and texts and categories by
their codes, if the library has codes at hand. All other values, and all frames of other libraries,
take the slow road over lists of Python values. Either way a batch means what the dicts of its rows
mean, to the bit.
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
Codes = tuple[npt.NDArray[np.intc], list[typing.Any]]  # positions, -1 where missing; and the values
FLOAT64 = np.dtype(np.float64)


def batch_of(frame: typing.Any) -> Batch:
    """The rows of a data frame, or of an array of two dimensions, as a batch.

    The columns of an array are numbered from 0, as `river.stream.iter_array` numbers them.

    Parameters
    ----------
    frame
        What `readable_frame` or `into_frame` returns.
    """
    native, library = opened(frame)
    columns_in = COLUMNS_IN.get(library)
    if columns_in is not None:
        return Batch(len(native), columns_in(native))
    columns = [column_of(name, frame[:, i]) for i, name in enumerate(frame.columns)]
    return Batch(len(frame), columns)


def labelled_batch_of(frame: typing.Any, y: typing.Any, w: typing.Any, regression: bool) -> Batch:
    """The rows of a frame, with targets and weights as `learn_many` takes them, as a batch."""
    batch = batch_of(frame)
    targets = read_targets(y, regression)
    weights = read_weights(w, len(batch))
    n_weights = len(batch) if weights is None else weights.length
    if not targets.length == n_weights == len(batch):
        raise ValueError(f"X has {len(batch)} rows, y has {targets.length} and w has {n_weights}")
    return Batch(len(batch), batch.columns, targets, weights)


# --- Frames


def columns_of_array(array: npt.NDArray[typing.Any]) -> list[Column]:
    """The columns of an array."""
    array = np.asarray(array)  # a column of a matrix has two dimensions
    if array.dtype.kind in "biuf":
        numbers = np.require(array, np.float64, "A")
        return [column_of_numbers(i, numbers[:, i]) for i in range(numbers.shape[1])]
    return [column_of_values(i, list_of_array(array[:, i])) for i in range(array.shape[1])]


def list_of_array(array: npt.NDArray[typing.Any]) -> list[typing.Any]:
    """The values of an array as Python has them; moments as numpy has them."""
    values: list[typing.Any] = list(array) if array.dtype.kind in "mM" else array.tolist()
    return values


def columns_of_pandas(frame: typing.Any) -> list[Column]:
    """The columns of a frame of pandas. What numpy holds as numbers is read in one go."""
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
    """The columns of a frame of pandas that have a flag; the frame itself if all have it."""
    places = [i for i, each in enumerate(flags) if each is flag]
    return frame if len(places) == len(flags) else frame.iloc[:, places]


def columns_of_polars(frame: typing.Any) -> list[Column]:
    """The columns of a frame of polars."""
    import polars

    names, dtypes, columns = frame.columns, frame.dtypes, frame.get_columns()
    if dtypes.count(polars.Float64) == len(dtypes):
        return [
            column_of_numbers(name, series.to_numpy())
            for name, series in zip(names, columns, strict=True)
        ]
    return [column_of(name, series) for name, series in zip(names, columns, strict=True)]


def columns_of_pyarrow(table: typing.Any) -> list[Column]:
    """The columns of a table of pyarrow."""
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
    """A series as a column: by its numbers, by its codes, or value by value."""
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
    """The first part of the name of the module of a series' class."""
    return type(series).__module__.partition(".")[0]


def numbers_in(series: typing.Any) -> Numbers | None:
    """A series as doubles, NaN where missing; None if it holds no numbers of the machine."""
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


# Those that are cast to doubles as Python makes floats of their values.
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
    return texts_in(series) or categories_in(series, what)


def texts_in(series: typing.Any) -> Codes | None:
    """A series of texts by their codes, each text once; None if it holds anything else."""
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
    is_whole = isinstance(array, pyarrow.Array)  # or in chunks already
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
    """A series of categories by their codes; None if it has none. Errors say what it is."""
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
    except pyarrow.ArrowException:  # a dictionary holds null, or values of an uncommon type
        return None
    codes = array.indices.cast(pyarrow.int64()).fill_null(-1)
    return compacted(codes.to_numpy(), array.dictionary, what)


def compacted(codes: npt.NDArray[typing.Any], values: typing.Any, what: str) -> Codes:
    """Codes and those of the values that they need, if the values are more than the codes."""
    # Libraries make categoricals and dictionaries without a check of their codes, if told so.
    wrong = (codes < -1) | (codes >= len(values))
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"row {row}: {what}: no category has the code {codes[row]}")
    if len(values) > len(codes):
        used, codes = np.unique(codes, return_inverse=True)
        missing = int(len(used) > 0 and used[0] < 0)  # -1 comes first, and has to stay what it is
        codes = codes - missing
        values = values.take(used[missing:]) if hasattr(values, "take") else values[used[missing:]]
    native = values.to_pylist() if hasattr(values, "to_pylist") else values.to_list()
    return codes.astype(np.intc), native


# --- Targets and weights


def read_targets(y: typing.Any, regression: bool) -> Column:
    """Targets as a column: of numbers for a regression, of labels else."""
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
    """Whole numbers and truth values by their codes, if none is missing; else None.

    The values are those of a list of the series: Python's own, or numpy's of an array.
    """
    if numbers_in(series) is None:
        return None
    array = np.asarray(series.to_numpy() if hasattr(series, "to_numpy") else series)
    if array.dtype.kind not in "biu":
        return None
    if array.dtype.kind == "b":  # without sorting
        has_both = bool(array.any() and not array.all())
        values = np.array([False, True]) if has_both else array[:1]
        codes: npt.NDArray[typing.Any] = array if has_both else np.zeros(len(array))
    else:
        values, codes = np.unique(array, return_inverse=True)
    return codes.astype(np.intc), list(values) if array is series else values.tolist()


def read_weights(w: typing.Any, n: int) -> Column | None:
    """Weights as a column, from one for all or from a sequence; None if each is 1."""
    if is_one_weight(w):
        one = column_of_weights([w] if n else [])
        if one.refused >= 0:
            return Column(None, n, np.full(n, np.nan), None, None, 0, one.error)
        return None if w == 1.0 else Column(None, n, np.full(n, one.numbers))
    numbers = numbers_in(w)
    if numbers is not None and ((numbers >= 0.0) & (numbers <= LARGEST_WEIGHT)).all():
        return Column(None, len(numbers), np.where(numbers < FAINTEST_WEIGHT, 0.0, numbers))
    return column_of_weights(values_of(w, "w"))
