"""Conversion of the columns of a table to floats and names, and of texts to labels."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

__all__ = ["MISSING", "Kinds", "cells_of", "infinite", "is_readable", "label_of", "name_of"]

Kind = Literal["number", "date", "name"]

MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "null")
TRUTH = {"true": True, "false": False}  # in any case
EXACT = 2**53  # floats hold every whole number up to this one
# What the texts of a column may be, so that they are read as a kind. Dates with and without a time
# zone differ for pyarrow, as do those with more digits than microseconds.
CASTS: Mapping[Kind, Sequence[Any]] = {
    "number": (pa.float64(), pa.bool_()),
    "date": tuple(pa.timestamp(unit, zone) for unit in ("us", "ns") for zone in (None, "UTC")),
    "name": (pa.string(),),
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
        return truth
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


def name_of(value: Any) -> str:
    """Return the name that a number or a truth value is in a nominal column.

    Examples
    --------
    >>> from river_extra_trees.streams import values
    >>> [values.name_of(value) for value in (7, 1.5, True)]
    ['7', '1.5', 'true']

    """
    return str(value).lower() if isinstance(value, bool) else str(value)


class Kinds:
    """The types of the columns of a text: the first value determines the type of a column.

    Parameters
    ----------
    nominal
        Columns whose numbers are names.

    """

    def __init__(self, nominal: Collection[str]) -> None:
        self.kinds: dict[str, Kind] = dict.fromkeys(nominal, "name")

    def read(self, name: str, texts: Any) -> tuple[Any, dict[int, str]]:
        """Return a column of strings as floats or names, and by position what is wrong with some.

        Parameters
        ----------
        name
            The name of the column.
        texts
            An array of pyarrow; missing values are null.
        """
        if name not in self.kinds:
            known = texts.drop_null()[:1]
            if not len(known):
                return pa.nulls(len(texts), pa.float64()), {}
            self.kinds[name] = next(kind for kind in CASTS if converted(known, kind) is not None)
        kind = self.kinds[name]
        column = converted(texts, kind)
        if column is not None:
            return column, infinite(name, column)
        cells = [converted(texts[i : i + 1], kind) for i in range(len(texts))]
        faults = {
            i: f"column {name!r} holds {texts[i].as_py()!r} among {kind}s "
            f"(--nominal {name} reads its values as names)"
            for i, cell in enumerate(cells)
            if cell is None
        }
        column = pa.concat_arrays([pa.nulls(1, pa.float64()) if c is None else c for c in cells])
        return column, infinite(name, column) | faults


def converted(texts: Any, kind: Kind) -> Any:
    """Return strings as values of a kind, or None if one of them is none."""
    for wanted in CASTS[kind]:
        try:
            return cells_of(texts.cast(wanted))
        except pa.ArrowInvalid:
            continue
    return None


def cells_of(array: Any, *, is_nominal: bool = False) -> Any:
    """Return an array of pyarrow as floats, or as names."""
    kind = array.type
    if types.is_dictionary(kind):
        if types.is_string(kind.value_type) or types.is_large_string(kind.value_type):
            return array
        array = array.dictionary_decode()
        kind = array.type
    if is_text(kind):
        return array.cast(pa.string()) if types.is_string_view(kind) else array
    if is_nominal:
        names = [None if value is None else name_of(value) for value in array.to_pylist()]
        return pa.array(names, pa.string())
    if types.is_time(kind):
        times = [None if value is None else value.isoformat() for value in array.to_pylist()]
        return pa.array(times, pa.string())
    if types.is_temporal(kind):
        return _seconds_of(array)
    if types.is_decimal(kind):
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


def is_readable(kind: Any) -> bool:
    """Return whether `cells_of` converts a type of pyarrow."""
    kind = kind.value_type if types.is_dictionary(kind) else kind
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    is_plain = is_number or is_text(kind) or types.is_null(kind) or types.is_boolean(kind)
    return is_plain or (types.is_temporal(kind) and not types.is_interval(kind))


def infinite(name: str, column: Any) -> dict[int, str]:
    """Return, by position, which numbers of a column are infinite."""
    if not types.is_floating(column.type) or not pc.any(pc.is_inf(column)).as_py():
        return {}
    found = pc.indices_nonzero(pc.fill_null(pc.is_inf(column), False))
    return dict.fromkeys(found.to_pylist(), f"column {name!r} is infinite")
