"""Conversion of the columns of a table by their kinds, and of texts to labels."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from river_extra_trees._estimator.kinds import DATE, MISSING, NOMINAL, NUMBER, TRUTH, kind_of
from river_extra_trees.column_kinds import ColumnKinds

__all__ = ["Faults", "infinite", "is_readable", "label_of", "numbers_of", "read_cells", "read_list"]

EXACT = 2**53  # floats hold every whole number up to this one
ABSENT = pa.array(sorted(MISSING))
Faults = dict[int, str]  # by position
# What texts are cast to at once. Dates with and without a time zone differ for pyarrow.
CASTS = {
    NUMBER: (pa.float64(),),
    DATE: (pa.timestamp("us"), pa.timestamp("us", "UTC")),
}


def label_of(text: str) -> Hashable:
    """Return a target in the form of river's data sets, so that metrics recognise True and 1.

    Examples
    --------
    >>> from river_extra_trees.streams import values
    >>> [values.label_of(text) for text in ("1", "2.50", "true", "spam")]
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
        return int(text)  # each of its digits counts
    except ValueError:
        return number  # such as 1e200


def read_cells(
    kinds: ColumnKinds, name: str, cells: Any, *, untyped: bool = False
) -> tuple[Any, Faults]:
    """Return a column as floats or texts, and what is wrong with some of them.

    The first value of a new column determines its kind, which `kinds` keeps.

    Parameters
    ----------
    kinds
        The kinds of the columns.
    name
        The name of the column.
    cells
        An array of pyarrow.
    untyped
        Whether the source has no types, so that a text may be a number.
    """
    given = cells.type
    if types.is_dictionary(given) and not is_text(given.value_type):
        cells = cells.dictionary_decode()
        given = cells.type
    kind = kinds._kind_for(name, None) or _first_kind(cells, untyped)
    if kind is None:
        return pa.nulls(len(cells), pa.float64()), {}
    kinds._admit(name, kind)
    column = _converted(cells, kind)
    if column is not None:
        return column, infinite(name, column)
    if types.is_timestamp(given) and given.unit == "ns":
        cells = cells.cast(pa.timestamp("us", given.tz), safe=False)
    return read_list(kinds, name, cells.to_pylist())


def _first_kind(cells: Any, untyped: bool) -> str | None:
    if not is_text(cells.type) and not types.is_dictionary(cells.type):
        cells = cells.drop_null()[:1]
        if is_number(cells.type):
            return NUMBER if len(cells) else None
    found = (kind_of(cell.as_py(), untyped=untyped) for cell in cells)
    return next((kind for kind in found if kind is not None), None)


def _converted(cells: Any, kind: str) -> Any:
    """Return cells as values of a kind, all at once; None if they have to be read one by one."""
    given = cells.type
    if types.is_dictionary(given) or is_text(given):
        for wanted in CASTS.get(kind, ()) if is_text(given) else ():
            try:
                return numbers_of(cells.cast(wanted))
            except pa.ArrowInvalid:
                continue
        texts = cells.dictionary if types.is_dictionary(given) else cells
        if kind != NOMINAL or pc.any(pc.is_in(texts.cast(pa.string()), ABSENT)).as_py():
            return None
        return cells.cast(pa.string()) if types.is_string_view(given) else cells
    is_date = types.is_date(given) or types.is_timestamp(given)
    is_right = kind.startswith(DATE) if is_date else is_number(given) or types.is_duration(given)
    return numbers_of(cells) if is_right and kind != NOMINAL else None


def read_list(kinds: ColumnKinds, name: str, values: Sequence[Any]) -> tuple[Any, Faults]:
    """Return Python values as a column of floats or texts, and what is wrong with some of them."""
    found = (kind for value in values if (kind := kinds._kind_for(name, value)) is not None)
    kind = next(found, None)
    if kind is None:
        return pa.nulls(len(values), pa.float64()), {}
    kinds._admit(name, kind)
    read, faults = kinds._read_values(name, kind, values)
    if kind == NOMINAL:
        return pa.array(read, pa.string()), faults
    column = pa.array(map(_double_of, read), pa.float64(), from_pandas=True)
    return column, infinite(name, column) | faults


def _double_of(number: Any) -> float | None:
    try:
        return None if number is None else float(number)
    except OverflowError:  # of a whole number
        return math.inf


def numbers_of(array: Any) -> Any:
    """Return an array of numbers, dates or durations as floats."""
    if types.is_temporal(array.type):
        return _seconds_of(array)
    if types.is_decimal(array.type):
        numbers = [None if value is None else float(value) for value in array.to_pylist()]
        return pa.array(numbers, pa.float64())
    return array.cast(pa.float64(), safe=False)


def _seconds_of(array: Any) -> Any:
    """Return dates as seconds since 1970, and durations as seconds.

    Digits below the microsecond are dropped.
    """
    if types.is_date(array.type):
        array = array.cast(pa.timestamp("s" if types.is_date32(array.type) else "ms"))
    whole, unit = array.cast(pa.int64()), array.type.unit
    if unit == "ns":
        missing = array.is_null().to_numpy(zero_copy_only=False)
        floors = whole.fill_null(0).to_numpy(zero_copy_only=False) // 1000
        whole, unit = pa.array(floors, mask=missing), "us"
    return pc.divide(whole.cast(pa.float64(), safe=False), UNITS[unit])


UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6}


def is_text(kind: Any) -> bool:
    """Return whether a type of pyarrow holds texts."""
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def is_number(kind: Any) -> bool:
    """Return whether a type of pyarrow holds numbers or truth values."""
    is_float = types.is_floating(kind) or types.is_decimal(kind)
    return is_float or types.is_integer(kind) or types.is_boolean(kind)


def is_readable(kind: Any) -> bool:
    """Return whether `read_cells` reads a type of pyarrow."""
    kind = kind.value_type if types.is_dictionary(kind) else kind
    is_plain = is_number(kind) or is_text(kind) or types.is_null(kind)
    return is_plain or (types.is_temporal(kind) and not types.is_interval(kind))


def infinite(name: str, column: Any) -> dict[int, str]:
    """Return, by position, which numbers of a column are infinite."""
    if not types.is_floating(column.type) or not pc.any(pc.is_inf(column)).as_py():
        return {}
    found = pc.indices_nonzero(pc.fill_null(pc.is_inf(column), False))
    return dict.fromkeys(found.to_pylist(), f"column {name!r} is infinite")
