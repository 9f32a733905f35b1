"""Conversion of columns by their kinds, and of texts to labels."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from river_extra_trees._estimator.kinds import DATE, MISSING, NOMINAL, NUMBER, TRUTH, kind_of
from river_extra_trees.column_kinds import ColumnKinds

__all__ = ["frame_of", "is_readable", "label_of", "read_column", "values_of"]

EXACT = 2**53  # floats hold every whole number up to this one
ABSENT = pa.array(sorted(MISSING))
# Types to which a whole column of texts is cast. For pyarrow, dates with and without a time zone
# have different types.
CASTS = {
    NUMBER: (pa.float64(),),
    DATE: (pa.timestamp("us"), pa.timestamp("us", "UTC")),
}
PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6}


def frame_of(columns: Mapping[str, Any], n: int) -> Any:
    """Return columns of n rows as a table; it has n rows even without columns."""
    table = pa.Table.from_arrays([*columns.values(), pa.nulls(n)], [*columns, "none"])
    return table.select(range(len(columns)))


# --- Features


def read_column(
    kinds: ColumnKinds, name: str, cells: Any, untyped: bool
) -> tuple[Any, dict[int, str]]:
    """Return a column as floats or texts, and by position what is wrong with some of its values.

    The first value of a new column determines its kind, which `kinds` stores.

    Parameters
    ----------
    kinds
        The kinds of the columns.
    name
        The name of the column.
    cells
        An array of pyarrow, or a list of Python values.
    untyped
        Whether the source has no types, so that a text may be a number.
    """
    if isinstance(cells, list):
        first = (kind for value in cells if (kind := kinds._kind_for(name, value)) is not None)
        kind = next(first, None)
    else:
        cells = _plain(cells)
        kind = kinds._kind_for(name, None) or _kind_of_array(cells, untyped)
    if kind is None:
        return pa.nulls(len(cells), pa.float64()), {}
    kinds._admit(name, kind)
    column = None if isinstance(cells, list) else _converted(cells, kind)
    faults: dict[int, str] = {}
    if column is None:
        values = cells if isinstance(cells, list) else cells.to_pylist()
        column, faults = _read_values(kinds, name, kind, values)
    if types.is_floating(column.type) and pc.any(pc.is_inf(column)).as_py():
        infinite = pc.indices_nonzero(pc.fill_null(pc.is_inf(column), False)).to_pylist()
        faults = dict.fromkeys(infinite, f"column {name!r} is infinite") | faults
    return column, faults


def _plain(cells: Any) -> Any:
    """Return an array without dictionary, without nanoseconds and without texts for missing."""
    if types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    if types.is_timestamp(cells.type) and cells.type.unit == "ns":
        zone = cells.type.tz
        cells = pc.floor_temporal(cells.cast(pa.timestamp("ns")), unit="microsecond")
        cells = cells.cast(pa.timestamp("us")).cast(pa.timestamp("us", zone))
    if types.is_duration(cells.type) and cells.type.unit == "ns":
        cells = cells.cast(pa.duration("us"), safe=False)
    if _is_text(cells.type):
        cells = cells.cast(pa.string())
        cells = pc.if_else(pc.is_in(cells, ABSENT), None, cells)
    return cells


def _kind_of_array(cells: Any, untyped: bool) -> str | None:
    """Return the kind of the first value of an array."""
    if cells.null_count == len(cells):
        return None
    if _is_date(cells.type):
        return DATE
    if not _is_text(cells.type):
        return NOMINAL if types.is_time(cells.type) else NUMBER
    return kind_of(cells.drop_null()[0].as_py(), untyped=untyped)


def _converted(cells: Any, kind: str) -> Any:
    """Convert a whole array to a kind; return None if its values have to be read one by one."""
    if _is_text(cells.type):
        for wanted in CASTS.get(kind, ()):
            try:
                return _numbers_of(cells.cast(wanted))
            except pa.ArrowInvalid:
                continue
        return cells if kind == NOMINAL else None
    if kind == NOMINAL or types.is_time(cells.type):
        return None
    if types.is_temporal(cells.type) and _is_date(cells.type) != kind.startswith(DATE):
        return None
    return _numbers_of(cells)


def _read_values(
    kinds: ColumnKinds, name: str, kind: str, values: Sequence[Any]
) -> tuple[Any, dict[int, str]]:
    """Convert Python values one by one."""
    read, faults = kinds._read_values(name, kind, values)
    if kind == NOMINAL:
        return pa.array(read, pa.string()), faults
    return pa.array(map(_double_of, read), pa.float64(), from_pandas=True), faults


def _double_of(number: Any) -> float | None:
    try:
        return None if number is None else float(number)
    except OverflowError:  # of a whole number
        return math.inf


def _numbers_of(array: Any) -> Any:
    """Return numbers as floats, dates as seconds since 1970, and durations as seconds."""
    if types.is_decimal(array.type):
        numbers = [None if value is None else float(value) for value in array.to_pylist()]
        return pa.array(numbers, pa.float64())
    if not types.is_temporal(array.type):
        return array.cast(pa.float64(), safe=False)
    if types.is_date(array.type):
        array = array.cast(pa.timestamp("s"))
    whole = array.cast(pa.int64()).cast(pa.float64(), safe=False)
    return pc.divide(whole, PER_SECOND[array.type.unit])


def _is_text(kind: Any) -> bool:
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def _is_date(kind: Any) -> bool:
    return types.is_date(kind) or types.is_timestamp(kind)


def is_readable(kind: Any) -> bool:
    """Return whether columns of a type of pyarrow can be read."""
    kind = kind.value_type if types.is_dictionary(kind) else kind
    is_number = types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind)
    is_other = types.is_decimal(kind) or _is_text(kind) or types.is_null(kind)
    is_moment = types.is_temporal(kind) and not types.is_interval(kind)
    return is_number or is_other or is_moment


# --- Targets, weights, and columns that are kept


def values_of(cells: Any, untyped: bool) -> list[Any]:
    """Return a column that is no feature as Python values.

    Dates and decimals become numbers, and times of day texts. In a source without types, a text may
    be a number or a truth value.
    """
    if isinstance(cells, list):
        return cells
    if untyped:
        coded = pc.if_else(pc.is_in(cells, ABSENT), None, cells).dictionary_encode()
        labels = [label_of(text) for text in coded.dictionary.to_pylist()]
        return [None if code is None else labels[code] for code in coded.indices.to_pylist()]
    if types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    if types.is_decimal(cells.type) and cells.type.scale <= 0:
        # Whole numbers may have more digits than a float holds.
        return [None if value is None else int(value) for value in cells.to_pylist()]
    if types.is_time(cells.type):
        return [None if value is None else value.isoformat() for value in cells.to_pylist()]
    if types.is_temporal(cells.type) or types.is_decimal(cells.type):
        cells = _numbers_of(_plain(cells))
    values: list[Any] = cells.to_pylist()
    return values


def label_of(text: str) -> Hashable:
    """Return a target in the form of river's data sets, so that metrics recognise True and 1.

    Examples
    --------
    >>> from river_extra_trees.streams import columns
    >>> [columns.label_of(text) for text in ("1", "2.50", "true", "spam")]
    [1, 2.5, True, 'spam']

    """
    truth = TRUTH.get(text.lower())
    if truth is not None:
        return bool(truth)
    try:
        number = float(text)
    except ValueError:
        return text
    if math.isinf(number) or "_" in text:
        return text
    if not number.is_integer():
        return number
    if abs(number) < EXACT:
        return int(number)
    try:
        return int(text)  # with all its digits
    except ValueError:
        return number  # such as 1e200
