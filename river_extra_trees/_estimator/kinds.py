"""The kinds of columns, and the values of each kind as learners read them.

A number is a float, a date is the number of seconds since the beginning of 1970 (in UTC, unless it
has a time zone), and a nominal value is a text. Files, requests, frames and dicts are all read by
these functions.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import numbers
import re
import typing
from collections.abc import Callable
from typing import Any

import numpy as np

from .rows import is_missing

__all__ = [
    "COMMA",
    "DATE",
    "MISSING",
    "NOMINAL",
    "NUMBER",
    "PERCENTAGE",
    "check_kind",
    "is_kind",
    "kind_of",
    "name_of",
    "reader_of",
]

NUMBER, NOMINAL, DATE = "number", "nominal", "date"
COMMA, PERCENTAGE = "decimal comma", "percentage"

MISSING = frozenset(["", "?", "NA", "N/A", "NaN", "nan", "null"])
TRUTH = {"true": 1.0, "false": 0.0}  # in any case
UNCHANGED = frozenset([float, int, bool, np.float64])  # types that need no conversion

NUMERAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE | re.ASCII)
WITH_COMMA = re.compile(r"[+-]?([1-9]\d{0,2}(\.\d{3})+(,\d+)?|\d+(,\d+)?|,\d+)", re.ASCII)
ISO_DATE = re.compile(
    r"\d{4}-\d\d-\d\d([ T]\d\d(:\d\d(:\d\d(\.\d{1,9})?)?)?(Z|[+-]\d\d(:?\d\d)?)?)?", re.ASCII
)
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MICROSECOND = datetime.timedelta(microseconds=1)

ValueReader = Callable[[Any], Any]


def is_kind(kind: object) -> bool:
    """Return whether this is the name of a kind."""
    return isinstance(kind, str) and (kind in READERS or kind.startswith(f"{DATE} %"))


def check_kind(kind: object) -> None:
    """Raise a ValueError if there is no kind of this name."""
    if is_kind(kind):
        return
    raise ValueError(
        f"{kind!r} is not a kind of column; the kinds are {', '.join(READERS)}, and {DATE} with a "
        f"format, such as {DATE + ' %d.%m.%Y'!r}"
    )


def kind_of(value: Any, *, untyped: bool = False) -> str | None:
    """Return the kind of a column that begins with a value; None if the value is missing.

    A text is a number only if the source has no types, as CSV.

    Examples
    --------
    >>> from river_extra_trees._estimator import kinds
    >>> [kinds.kind_of(value) for value in (7, "7", "2026-11-22", "red", "?")]
    ['number', 'nominal', 'date', 'nominal', None]
    >>> kinds.kind_of("7", untyped=True)
    'number'

    """
    if isinstance(value, str):
        if value in MISSING:
            return None
        if untyped and is_number(value):
            return NUMBER
        return DATE if is_date(value) else NOMINAL
    if value is None or is_missing(value):
        return None
    if isinstance(value, datetime.date | np.datetime64):
        return DATE
    is_number_like = isinstance(value, numbers.Number | np.generic | datetime.timedelta)
    return NUMBER if is_number_like or isinstance(value, np.timedelta64) else NOMINAL


def is_number(text: str) -> bool:
    """Return whether a text is a number or a truth value."""
    return bool(NUMERAL.fullmatch(text) or text.lower() in TRUTH or INFINITE.fullmatch(text))


def is_date(text: str) -> bool:
    """Return whether a text is a date of ISO 8601."""
    try:
        return read_date(text) is not None
    except ValueError:
        return False


@functools.lru_cache(1000)
def reader_of(kind: str) -> ValueReader:
    """Return the function that reads the values of a kind; it raises a ValueError for others.

    Examples
    --------
    >>> from river_extra_trees._estimator import kinds
    >>> kinds.reader_of("decimal comma")("1.234,5")
    1234.5
    >>> kinds.reader_of("date %d.%m.%Y")("02.01.1970")
    86400.0
    >>> kinds.reader_of("nominal")(10115)
    '10115'

    """
    reader = READERS.get(kind)
    if reader is not None:
        return reader
    style = kind.removeprefix(f"{DATE} ")

    def read_formatted(value: Any) -> Any:
        if isinstance(value, str) and value not in MISSING:
            with contextlib.suppress(ValueError):
                return seconds_of(datetime.datetime.strptime(value, style))
        return read_date(value)  # other programs write dates in ISO 8601

    return read_formatted


def number_of(text: str) -> float:
    """Convert a text to a number; a truth value is 1 or 0."""
    if not is_number(text):
        raise ValueError("not a number")
    truth = TRUTH.get(text.lower())
    return float(text) if truth is None else truth


def read_number(value: Any) -> Any:
    """Read a number. Numbers are not converted, because the core reads all their types."""
    if type(value) in UNCHANGED or value is None:
        return value
    if isinstance(value, str):
        return None if value in MISSING else number_of(value)
    if is_missing(value):
        return None
    if isinstance(value, datetime.timedelta):
        return value // MICROSECOND / 1e6
    if isinstance(value, np.timedelta64):
        return float(value / np.timedelta64(1, "us")) / 1e6
    if isinstance(value, numbers.Number | np.number | np.bool_):
        return value
    raise ValueError("not a number")


def read_comma(value: Any) -> Any:
    """Read a number with a decimal comma, and perhaps points between thousands."""
    if not isinstance(value, str) or value in MISSING:
        return read_number(value)
    if not WITH_COMMA.fullmatch(value):
        raise ValueError("not a number with a decimal comma")
    return float(value.replace(".", "").replace(",", "."))


def read_percentage(value: Any) -> Any:
    """Read a number that may end in a percent sign; 5 % is 5.0."""
    if not isinstance(value, str) or value in MISSING:
        return read_number(value)
    return number_of(value.removesuffix("%").rstrip(" "))


def read_date(value: Any) -> Any:
    """Read a date; a number is taken as seconds."""
    if type(value) in UNCHANGED or value is None:
        return value
    if isinstance(value, str):
        if value in MISSING:
            return None
        if not ISO_DATE.fullmatch(value):
            raise ValueError("not a date")
        return seconds_of(datetime.datetime.fromisoformat(value))
    if is_missing(value):
        return None
    if isinstance(value, np.datetime64):
        return float(value.astype("datetime64[us]").astype(np.int64)) / 1e6
    if isinstance(value, datetime.date):
        return seconds_of(value)
    if isinstance(value, numbers.Number | np.number):
        return value
    raise ValueError("not a date")


def seconds_of(date: datetime.date) -> float:
    """Return the seconds from 1970 to a date; fractions of a microsecond are dropped."""
    if not isinstance(date, datetime.datetime):
        date = datetime.datetime(date.year, date.month, date.day)
    if date.tzinfo is None:
        date = date.replace(tzinfo=datetime.UTC)
    return float((date - EPOCH) // MICROSECOND) / 1e6


def read_nominal(value: Any) -> Any:
    """Read a nominal value: numbers and truth values become texts."""
    if type(value) is str:
        return None if value in MISSING else value
    return None if value is None or is_missing(value) else name_of(value)


def name_of(value: Any) -> Any:
    """Return the text of a value in a nominal column; equal values of all types have one text.

    Examples
    --------
    >>> from river_extra_trees._estimator import kinds
    >>> [kinds.name_of(value) for value in (7, 7.0, 1.5, True)]
    ['7', '7', '1.5', 'true']

    """
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, numbers.Number | np.number):
        is_whole = isinstance(value, float | np.floating) and value.is_integer()
        return str(int(typing.cast(float, value))) if is_whole else str(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return value


READERS: dict[str, ValueReader] = {
    NUMBER: read_number,
    NOMINAL: read_nominal,
    DATE: read_date,
    COMMA: read_comma,
    PERCENTAGE: read_percentage,
}
