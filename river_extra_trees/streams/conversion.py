"""Conversion of columns by their kinds, and of targets to labels."""

from __future__ import annotations

import contextlib
import datetime
import functools
import math
from collections.abc import Hashable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from river_extra_trees._core.safe_repr import safe_repr
from river_extra_trees._estimator.kinds import (
    MISSING,
    NOMINAL,
    NUMBER,
    PARTS,
    family_of,
    kind_of,
    kind_of_most,
    name_of,
    parts_of,
    settled,
)
from river_extra_trees._estimator.texts import TRUTH, is_certain_number, number_of
from river_extra_trees.column_kinds import ColumnKinds, double_of

__all__ = [
    "determine_kind",
    "frame_of",
    "label_of_text",
    "labels_of",
    "parts_in",
    "read_column",
    "values_of",
]

EXACT = 2**53  # floats hold every whole number up to this one


def frame_of(columns: Mapping[str, Any], n: int) -> Any:
    """Return columns of n rows as a table; it has n rows even without columns."""
    table = pa.Table.from_arrays([*columns.values(), pa.nulls(n)], [*columns, "none"])
    return table.select(range(len(columns)))


def values_of(cells: Any, exact: bool = False) -> Sequence[Any]:
    """Return a column as Python values; digits of a time below the microsecond are dropped.

    If they are to be exact, floats of 32 bits are scalars of numpy, which have fewer digits.
    """
    if isinstance(cells, pa.Array):
        if exact and (types.is_float32(cells.type) or types.is_float16(cells.type)):
            return list(cells.to_numpy(zero_copy_only=False))
        if types.is_timestamp(cells.type):
            cells = cells.cast(pa.timestamp(cells.type.unit))  # in UTC
            cells = pc.floor_temporal(cells, unit="microsecond").cast(pa.timestamp("us"))
        elif types.is_duration(cells.type):
            cells = cells.cast(pa.duration("us"), safe=False)
        cells = cells.to_pylist()
    values: Sequence[Any] = cells
    return values


# --- Features


def determine_kind(kinds: ColumnKinds, name: str, cells: Sequence[Any], untyped: bool) -> None:
    """Let the first cells of a new column determine its kind."""
    if kinds._kind_for(name, None) is None:
        kind = kind_of_most(cells, untyped=untyped, missing=kinds._words)
        if kind is not None:
            kinds._admit(name, kind)


def read_column(
    kinds: ColumnKinds, name: str, cells: Any, untyped: bool
) -> tuple[Any, dict[int, str]]:
    """Return a column as floats or texts, and by position what is wrong with some of its values.

    These are missing in the column. The first value of a new column determines its kind, which
    `kinds` stores.

    Parameters
    ----------
    kinds
        The kinds of the columns.
    name
        The name of the column.
    cells
        An array of pyarrow, or a sequence of Python values.
    untyped
        Whether the source has no types, so that a text may be a number.
    """
    kind = kinds._kind_for(name, None)
    column = _numbers_of(cells, kind)
    faults: dict[int, str] = {}
    if column is None:
        values = values_of(cells, exact=kind == NOMINAL)
        if kind is None:
            found = (kind_of(value, untyped=untyped, missing=kinds._words) for value in values)
            kind = next((each for each in found if each is not None), None)
        if kind is None:
            return pa.nulls(len(cells), pa.float64()), {}
        column = _numbers_in(values, kinds._words) if kind == NUMBER and untyped else None
        if column is None:
            column, faults = _read_values(kinds, name, kind, values)
    kind = kind or NUMBER
    kinds._admit(name, kind)
    if kind == NOMINAL:
        return column, faults
    numbers = settled(column.to_numpy(zero_copy_only=False), kind, kinds._words)
    infinite = np.isinf(numbers)
    if infinite.any():
        rows = np.flatnonzero(infinite).tolist()
        faults = dict.fromkeys(rows, f"column {name!r} is infinite") | faults
        numbers = np.where(infinite, math.nan, numbers)
    return pa.array(numbers, from_pandas=True), faults


def parts_in(kinds: ColumnKinds, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of the dates among some columns that `read_column` has read."""
    parts = {}
    for name, column in columns.items():
        kind = kinds._kind_for(name, None)
        if kind is not None and family_of(kind) == PARTS:
            seconds = column.to_numpy(zero_copy_only=False)
            for part, values in parts_of(seconds).items():
                parts[kinds._part(name, part, columns)] = pa.array(values, from_pandas=True)
    return parts


def _numbers_of(cells: Any, kind: str | None) -> Any:
    """Convert a whole array of numbers; return None for other columns, and for nominal ones."""
    if kind == NOMINAL or not isinstance(cells, pa.Array) or cells.null_count == len(cells):
        return None
    is_number = types.is_floating(cells.type) or types.is_integer(cells.type)
    return cells.cast(pa.float64(), safe=False) if is_number else None


def _numbers_in(texts: Sequence[str], missing: frozenset[str]) -> Any:
    """Convert texts of finite numbers together; return None if some have another form."""
    array = pc.utf8_trim_whitespace(pa.array(texts, pa.string()))
    try:
        numbers = pc.if_else(pc.is_in(array, pa.array(sorted(missing))), None, array)
        numbers = numbers.cast(pa.float64())
    except pa.ArrowInvalid:  # truth values, for example
        return None
    return numbers if pc.all(pc.is_finite(numbers)).as_py() is not False else None


def _read_values(
    kinds: ColumnKinds, name: str, kind: str, values: Sequence[Any]
) -> tuple[Any, dict[int, str]]:
    """Convert Python values one by one."""
    read, faults = kinds._read_values(name, kind, values)
    if kind != NOMINAL:
        doubles = (None if value is None else double_of(value) for value in read)
        return pa.array(doubles, pa.float64(), from_pandas=True), faults
    for row, value in enumerate(read):
        if value is not None and not isinstance(value, str):
            faults[row] = _unreadable(name, value)
            read[row] = None
    return pa.array(read, pa.string()), faults


def _unreadable(name: str, value: object) -> str:
    return f"column {name!r} holds {safe_repr(value)}, which is neither a number nor a text"


# --- Targets and weights


def labels_of(
    kinds: ColumnKinds, name: str, cells: Any, untyped: bool
) -> tuple[list[Any], dict[int, str]]:
    """Return a column of targets or weights, and by position what is wrong with some of them.

    They are read by the kind that is declared. Otherwise, in a source without types, a text may be
    a number or a truth value.
    """
    kind = (kinds.kinds or {}).get(name)
    values = values_of(cells, exact=kind == NOMINAL)
    missing = kinds._words
    if kind is not None:
        read, faults = kinds._read_values(name, kind, values)
        if family_of(kind) != NOMINAL:
            read = [None if value is None else _plain_number(float(value)) for value in read]
        return read, faults
    if untyped:
        return [label_of_text(text, missing) for text in values], {}
    labels: list[Any] = []
    faults = {}
    for row, value in enumerate(values):
        if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
            value = label_of_text(name_of(value))
        elif value is not None and not isinstance(value, str | bool | int | float | Decimal):
            faults[row] = _unreadable(name, value)
        if isinstance(value, Decimal):
            value = label_of_text(str(value))
        if isinstance(value, str):
            value = value.strip()
            value = None if value in missing else value
        labels.append(value if value == value else None)  # NaN is missing
    return labels, faults


def _plain_number(number: float) -> float | None:
    """Return a number as an integer if it is whole and exact; None for NaN."""
    if number != number:
        return None
    return int(number) if number.is_integer() and abs(number) < EXACT else number


@functools.lru_cache(10_000)
def label_of_text(text: str, missing: frozenset[str] = MISSING) -> Hashable:
    """Return a target in the form of river's data sets, so that metrics recognise True and 1.

    Examples
    --------
    >>> from river_extra_trees.streams import conversion
    >>> [conversion.label_of_text(text) for text in ("1", "2.50", "true", "spam ", "NA")]
    [1, 2.5, True, 'spam', None]

    """
    text = text.strip()
    if text in missing:
        return None
    if text.lower() in TRUTH:
        return text.lower() == "true"
    if not is_certain_number(text) or not math.isfinite(number := number_of(text)):
        return text
    if number.is_integer() and abs(number) >= EXACT:
        with contextlib.suppress(ValueError):  # of a text such as 1e200
            return int(text)  # with all its digits
        return number
    return int(number) if number.is_integer() else number
