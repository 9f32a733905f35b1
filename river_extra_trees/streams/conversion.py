"""Conversion of columns by their kinds, and of targets to labels."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Hashable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from river_extra_trees._core.safe_repr import safe_repr
from river_extra_trees._estimator.kinds import MISSING, NOMINAL, NUMBER, TRUTH, kind_of
from river_extra_trees.column_kinds import ColumnKinds

__all__ = ["frame_of", "label_of_text", "labels_of", "read_column", "values_of"]

EXACT = 2**53  # floats hold every whole number up to this one
ABSENT = pa.array(sorted(MISSING))


def frame_of(columns: Mapping[str, Any], n: int) -> Any:
    """Return columns of n rows as a table; it has n rows even without columns."""
    table = pa.Table.from_arrays([*columns.values(), pa.nulls(n)], [*columns, "none"])
    return table.select(range(len(columns)))


def values_of(cells: Any) -> Sequence[Any]:
    """Return a column as Python values; digits of a time below the microsecond are dropped."""
    if isinstance(cells, pa.Array):
        if types.is_timestamp(cells.type):
            cells = cells.cast(pa.timestamp(cells.type.unit))  # in UTC
            cells = pc.floor_temporal(cells, unit="microsecond").cast(pa.timestamp("us"))
        elif types.is_duration(cells.type):
            cells = cells.cast(pa.duration("us"), safe=False)
        cells = cells.to_pylist()
    values: Sequence[Any] = cells
    return values


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
        An array of pyarrow, or a sequence of Python values.
    untyped
        Whether the source has no types, so that a text may be a number.
    """
    kind = kinds._kind_for(name, None)
    column = _numbers_of(cells, kind)
    faults: dict[int, str] = {}
    if column is None:
        values = values_of(cells)
        if kind is None:
            found = (kind_of(value, untyped=untyped) for value in values)
            kind = next((each for each in found if each is not None), None)
        if kind is None:
            return pa.nulls(len(cells), pa.float64()), {}
        column = _numbers_in(values) if kind == NUMBER and untyped else None
        if column is None:
            column, faults = _read_values(kinds, name, kind, values)
    kinds._admit(name, kind or NUMBER)
    if types.is_floating(column.type) and pc.any(pc.is_inf(column)).as_py():
        infinite = pc.indices_nonzero(pc.fill_null(pc.is_inf(column), False)).to_pylist()
        faults = dict.fromkeys(infinite, f"column {name!r} is infinite") | faults
    return column, faults


def _numbers_of(cells: Any, kind: str | None) -> Any:
    """Convert a whole array of numbers; return None for other columns, and for nominal ones."""
    if kind == NOMINAL or not isinstance(cells, pa.Array) or cells.null_count == len(cells):
        return None
    is_number = types.is_floating(cells.type) or types.is_integer(cells.type)
    return cells.cast(pa.float64(), safe=False) if is_number else None


def _numbers_in(texts: Sequence[str]) -> Any:
    """Convert texts of numbers together; return None if some have another form."""
    array = pa.array(texts, pa.string())
    try:
        return pc.if_else(pc.is_in(array, ABSENT), None, array).cast(pa.float64())
    except pa.ArrowInvalid:  # truth values, for example
        return None


def _read_values(
    kinds: ColumnKinds, name: str, kind: str, values: Sequence[Any]
) -> tuple[Any, dict[int, str]]:
    """Convert Python values one by one."""
    read, faults = kinds._read_values(name, kind, values)
    if kind != NOMINAL:
        return pa.array(map(_double_of, read), pa.float64(), from_pandas=True), faults
    for row, value in enumerate(read):
        if value is not None and not isinstance(value, str):
            faults[row] = _unreadable(name, value)
            read[row] = None
    return pa.array(read, pa.string()), faults


def _double_of(number: Any) -> float | None:
    try:
        return None if number is None else float(number)
    except OverflowError:  # of a whole number
        return math.inf


def _unreadable(name: str, value: object) -> str:
    return (
        f"column {name!r} holds {safe_repr(value)}, which is neither a number nor a text; leave "
        f"the column out with --drop {name}"
    )


# --- Targets and weights


def labels_of(name: str, cells: Any, untyped: bool) -> tuple[list[Any], dict[int, str]]:
    """Return a column of targets or weights, and by position what is wrong with some of them.

    In a source without types, a text may be a number or a truth value.
    """
    values = values_of(cells)
    if untyped:
        return list(map(label_of_text, values)), {}
    labels: list[Any] = []
    faults: dict[int, str] = {}
    for row, value in enumerate(values):
        if value is not None and not isinstance(value, str | bool | int | float | Decimal):
            faults[row] = _unreadable(name, value)
        if isinstance(value, Decimal):
            value = label_of_text(str(value))
        labels.append(value if value == value else None)  # NaN is missing
    return labels, faults


@functools.lru_cache(10_000)
def label_of_text(text: str) -> Hashable:
    """Return a target in the form of river's data sets, so that metrics recognise True and 1.

    Examples
    --------
    >>> from river_extra_trees.streams import conversion
    >>> [conversion.label_of_text(text) for text in ("1", "2.50", "true", "spam", "NA")]
    [1, 2.5, True, 'spam', None]

    """
    if text in MISSING:
        return None
    if text.lower() in TRUTH:
        return text.lower() == "true"
    try:
        number = float(text)
    except ValueError:
        return text
    if math.isinf(number) or "_" in text:
        return text
    if number.is_integer() and abs(number) >= EXACT:
        with contextlib.suppress(ValueError):  # of a text such as 1e200
            return int(text)  # with all its digits
        return number
    return int(number) if number.is_integer() else number
