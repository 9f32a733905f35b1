"""What the cells of a table mean."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal

import numpy as np

__all__ = [
    "MISSING",
    "Cells",
    "Kind",
    "label_of",
    "moment_of",
    "name_of",
    "read_values",
    "seconds",
]

# The values of one column: floats with NaN for missing, names with None for missing, or names as
# an array of pyarrow.
Cells = Any
Kind = Literal["number", "moment", "name"]

MISSING = frozenset({"", "?", "NA", "N/A", "NaN", "nan", "null"})
TRUTH = {"true": True, "false": False}  # in any case
EXACT = 2**53  # floats hold every whole number up to this one
UNREADABLE = (ValueError, TypeError, OverflowError, AttributeError)
MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?)?", re.ASCII
)


def seconds(moment: datetime.date) -> float:
    """Return the seconds since 1970; a moment without a time zone is in UTC.

    Examples
    --------
    >>> import datetime
    >>> from river_extra_trees.streams import values
    >>> values.seconds(datetime.date(1970, 1, 2))
    86400.0

    """
    if not isinstance(moment, datetime.datetime):
        moment = datetime.datetime(moment.year, moment.month, moment.day)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return moment.timestamp()


def moment_of(text: str) -> float:
    """Return the seconds since 1970 of a moment in ISO 8601; raise ValueError if it is none.

    Examples
    --------
    >>> from river_extra_trees.streams import values
    >>> values.moment_of("1970-01-02"), values.moment_of("1970-01-01 01:00:00.5+01:00")
    (86400.0, 0.5)

    """
    if not MOMENT.fullmatch(text):
        raise ValueError(f"{text!r} is not a date in ISO 8601")
    return seconds(datetime.datetime.fromisoformat(text))


def is_moment(text: str) -> bool:
    """Return whether a text is a moment in ISO 8601."""
    try:
        moment_of(text)
    except (ValueError, OverflowError):
        return False
    return True


def number_of(value: Any) -> float:
    """Return a number, a truth value or the text of one as a float.

    The underscores that Python allows between digits make a text a name.

    Examples
    --------
    >>> from river_extra_trees.streams import values
    >>> [values.number_of(value) for value in ("2.50", "true", False)]
    [2.5, 1.0, 0.0]

    """
    if isinstance(value, str):
        value = TRUTH.get(value.lower(), value)
        if isinstance(value, str) and "_" in value:
            raise ValueError(f"{value!r} is not a number")
    return float(value)


def is_number(text: str) -> bool:
    """Return whether a text is a number or a truth value."""
    try:
        number_of(text)
    except ValueError:
        return False
    return True


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


def kind_of(value: object) -> Kind:
    """Return what a value is: a text by its look, everything else by its type.

    Examples
    --------
    >>> from river_extra_trees.streams import values
    >>> [values.kind_of(value) for value in ("1.5", "2026-11-22", "red", True)]
    ['number', 'moment', 'name', 'number']

    """
    if isinstance(value, datetime.date):
        return "moment"
    if not isinstance(value, str):
        return "number"
    if is_number(value):
        return "number"
    return "moment" if is_moment(value) else "name"


def read_moment(value: Any) -> float:
    """Return the seconds since 1970 of a moment, given as a text or as itself."""
    return moment_of(value) if isinstance(value, str) else seconds(value)


READERS: dict[Kind, Callable[[Any], float]] = {"number": number_of, "moment": read_moment}


def reads_as_floats(cells: Sequence[Any]) -> bool:
    """Return whether numbers can be read by `float`, which is faster than by `number_of`."""
    try:
        return "_" not in "".join(cells)
    except TypeError:  # one is missing, or comes from JSON
        return not any(isinstance(cell, str) and "_" in cell for cell in cells)


def read_values(cells: Sequence[Any], kind: Kind) -> tuple[Cells, dict[int, str]]:
    """Read the cells of a column.

    Parameters
    ----------
    cells
        Values, of which None is missing.
    kind
        What the values are.

    Returns
    -------
    The values, and by position what is wrong with a cell.
    """
    if kind == "name":
        strange = {
            i: f"holds {cell!r} among names"
            for i, cell in enumerate(cells)
            if cell is not None and not isinstance(cell, str)
        }
        return [None if i in strange else cell for i, cell in enumerate(cells)], strange
    read = READERS[kind]
    faults: dict[int, str] = {}
    fast = float if kind == "number" and reads_as_floats(cells) else read
    try:
        numbers = [math.nan if cell is None else fast(cell) for cell in cells]
    except UNREADABLE:
        numbers = []
        for i, cell in enumerate(cells):
            try:
                numbers.append(math.nan if cell is None else read(cell))
            except UNREADABLE:
                faults[i] = f"holds {cell!r} among {kind}s"
                numbers.append(math.nan)
    column = np.array(numbers, np.float64)
    for i in np.flatnonzero(np.isinf(column)).tolist():
        faults[i] = "is infinite"
    return column, faults
