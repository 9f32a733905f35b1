"""The kinds of columns, and the values of each kind as learners read them.

A number is a float, a date is the number of seconds since the beginning of 1970 (in UTC, unless it
has a time zone), and a nominal value is a text. Files, requests, frames and dicts are all read by
these functions; `texts` reads the texts.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import math
import numbers
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from . import texts
from .rows import is_missing

__all__ = [
    "COMMA",
    "DATE",
    "MISSING",
    "NOMINAL",
    "NUMBER",
    "PARTS",
    "PERCENTAGE",
    "check_kind",
    "family_of",
    "is_kind",
    "kind_of",
    "kind_of_most",
    "name_of",
    "numbers_in",
    "parts_of",
    "reader_of",
    "settled",
    "words_of",
]

NUMBER, NOMINAL, DATE, PARTS = "number", "nominal", "date", "date parts"
COMMA, PERCENTAGE = "decimal comma", "percentage"

# Those of pandas' reader of CSV, and those of Weka and of dumps of databases.
MISSING = frozenset(
    (
        *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"),
        *("1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
        *("?", "\\N"),
    )
)
UNCHANGED = frozenset([float, int, bool, np.float64])  # types that need no conversion
MICROSECOND = datetime.timedelta(microseconds=1)
DAY = 86400.0
# All their parts differ; formats are tried on them.
MOMENTS = texts.EPOCH, datetime.datetime(2001, 2, 3, 16, 5, 6, 7, tzinfo=datetime.UTC)
# Numbers that may be days of eight digits; as seconds, these are hours in August 1970.
FIRST_DIGITS, LAST_DIGITS = 19_000_101, 21_991_231
# Seconds of the years that have a calendar.
FIRST_SECOND, LAST_SECOND = -62_135_596_800.0, 253_402_300_800.0
LARGEST_EXPONENT = 400  # of a decimal number that is written with all its digits

ValueReader = Callable[[Any], Any]


# --- Kinds by name


@functools.lru_cache(1000)
def is_kind(kind: object) -> bool:
    """Return whether this is the name of a kind."""
    if not isinstance(kind, str):
        return False
    style = style_of(kind)
    return kind in READERS or (style is not None and is_style(style))


def style_of(kind: str) -> str | None:
    """Return the format in the name of a kind of dates; None if there is none."""
    for each in (PARTS, DATE):
        if kind.startswith(f"{each} %"):
            return kind.removeprefix(f"{each} ")
    return None


def is_style(style: str) -> bool:
    """Return whether `strptime` reads what a format writes, and tells two moments apart."""
    try:
        read = {datetime.datetime.strptime(each.strftime(style), style) for each in MOMENTS}
    except (ValueError, re.error):
        return False
    return len(read) == len(MOMENTS)


def check_kind(kind: object) -> None:
    """Raise a ValueError if there is no kind of this name."""
    if is_kind(kind):
        return
    raise ValueError(
        f"{kind!r} is not a kind of column; the kinds are {', '.join(READERS)}, and {DATE} or "
        f"{PARTS} with a format of strptime, such as {DATE + ' %d.%m.%Y'!r}"
    )


def family_of(kind: str) -> str:
    """Return the kind whose values are the same: `number`, `nominal`, `date` or `date parts`.

    Examples
    --------
    >>> from river_extra_trees._estimator import kinds
    >>> [kinds.family_of(each) for each in ("decimal comma", "date %d.%m.%Y", "nominal")]
    ['number', 'date', 'nominal']

    """
    if kind in (COMMA, PERCENTAGE):
        return NUMBER
    style = style_of(kind)
    return kind if style is None else kind.removesuffix(f" {style}")


def words_of(missing: Collection[str]) -> frozenset[str]:
    """Return the texts that are missing values, with some more; raise an error for other types."""
    if isinstance(missing, str) or not all(isinstance(each, str) for each in missing):
        raise TypeError(f"missing_words must be a collection of texts, not {missing!r}")
    words = {each.strip() for each in missing}
    if words <= MISSING:
        return MISSING
    return MISSING | words | {texts.name_of_text(each) for each in words if each}


@functools.lru_cache(1000)
def numbers_in(missing: frozenset[str]) -> frozenset[float]:
    """Return the numbers that are missing values, such as -999."""
    found = set()
    for word in missing - MISSING:
        with contextlib.suppress(ValueError):
            found.add(texts.number_of(word))
    return frozenset(found)


# --- Kinds by values


def kind_of(value: Any, *, untyped: bool = False, missing: frozenset[str] = MISSING) -> str | None:
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
        value = value.strip()
        if value in missing or (numbers_in(missing) and texts.name_of_text(value) in missing):
            return None
        if untyped and texts.is_certain_number(value):
            return NUMBER
        return DATE if is_date(value) else NOMINAL
    if value is None or is_missing(value) or is_sentinel(value, missing):
        return None
    if isinstance(value, datetime.date | np.datetime64):
        return DATE
    is_number_like = isinstance(value, numbers.Number | np.generic | datetime.timedelta)
    return NUMBER if is_number_like or isinstance(value, np.timedelta64) else NOMINAL


def kind_of_most(
    values: Iterable[Any], *, untyped: bool, missing: frozenset[str] = MISSING
) -> str | None:
    """Return the kind of a column by several of its values; None if all are missing.

    Numbers and dates may have odd values among them: fewer than others, and if the source has no
    types, one, or one in ten. Texts without letters and digits may be gaps.

    Examples
    --------
    >>> from river_extra_trees._estimator import kinds
    >>> kinds.kind_of_most(["unknown", "2.5", "3", "?"], untyped=True)
    'number'
    >>> kinds.kind_of_most(["12", "7a", "12b"], untyped=True)
    'nominal'

    """
    found: Counter[str | None] = Counter()
    for value in values:
        kind = kind_of(value, untyped=untyped, missing=missing)
        found["symbol" if kind == NOMINAL and is_symbol(value) else kind] += 1
    del found[None]
    n_symbols = found.pop("symbol", 0)
    if not found:
        return NOMINAL if n_symbols else None
    kind, n = found.most_common(1)[0]
    n_odd = found.total() - n
    is_rare = not untyped or n_odd <= max(1, found.total() // 10)
    return kind if n_odd < n and is_rare else NOMINAL


def is_symbol(value: Any) -> bool:
    """Return whether a value is a text without letters and digits, such as ``-``."""
    return isinstance(value, str) and not any(map(str.isalnum, value))


def is_date(text: str) -> bool:
    """Return whether a text is a date of ISO 8601."""
    try:
        return texts.moment_of(text) is not None
    except ValueError:
        return False


def is_sentinel(value: Any, missing: frozenset[str]) -> bool:
    """Return whether a number is one of the missing values."""
    found = numbers_in(missing)
    if not found or type(value) is bool or not is_number(value):
        return False
    try:
        return float(value) in found
    except (OverflowError, ValueError):  # too large, or a signalling NaN
        return False


def is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real | Decimal | np.bool_) and not isinstance(
        value, np.timedelta64
    )


# --- Values


@functools.lru_cache(1000)
def reader_of(kind: str, missing: frozenset[str] = MISSING) -> ValueReader:
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
    has_sentinels = bool(numbers_in(missing))
    has_gaps = kind != NOMINAL  # a symbol can only stand for a missing value
    style = style_of(kind)
    of_text, of_value = READERS[family_of(kind) if style else kind]
    if style is not None:
        of_text, of_value = formatted(style)
    passes = UNCHANGED if family_of(kind) == NUMBER and not has_sentinels else ()

    def read(value: Any) -> Any:
        if type(value) in passes or value is None:
            return value
        if isinstance(value, str):
            text = value.strip()
            if text in missing or (has_sentinels and texts.name_of_text(text) in missing):
                return None
            if has_gaps and is_symbol(text):
                return None
            return of_text(text)
        if is_missing(value) or (has_sentinels and is_sentinel(value, missing)):
            return None
        return of_value(value)

    return read


def number_of_value(value: Any) -> Any:
    """Read a number. Numbers are not converted, because the core reads all their types."""
    if isinstance(value, datetime.timedelta):
        return value // MICROSECOND / 1e6
    if isinstance(value, np.timedelta64):
        return float(value / np.timedelta64(1, "us")) / 1e6
    if is_number(value):
        return value
    raise ValueError("not a number")


def date_of_text(text: str) -> float:
    """Read a date, or the digits of a day or of seconds."""
    if texts.NUMERAL.fullmatch(text):
        day = texts.day_of_digits(text)
        return since_1970(float(text)) if day is None else seconds_of(day)
    return seconds_of(texts.moment_of(text))


def date_of_value(value: Any) -> Any:
    """Read a date; a number is taken as the digits of a day, or as seconds."""
    if isinstance(value, np.datetime64):
        return float(value.astype("datetime64[us]").astype(np.int64)) / 1e6
    if isinstance(value, datetime.date):
        return seconds_of(value)
    if is_number(value):
        day = texts.day_of_digits(name_of(value))
        return since_1970(value) if day is None else seconds_of(day)
    raise ValueError("not a date")


def since_1970(number: Any) -> Any:
    """Return the seconds that a number is: it may be milli-, micro- or nanoseconds.

    These are numbers of more seconds than the years up to 9999 have.

    Examples
    --------
    >>> from river_extra_trees._estimator import kinds
    >>> [kinds.since_1970(number) for number in (1773100800, 1773100800500, 1773100800500000000)]
    [1773100800, 1773100800.5, 1773100800.5]

    """
    size = abs(float(number))
    for unit in () if size < LAST_SECOND else (1e-3, 1e-6, 1e-9):
        if size * unit < LAST_SECOND:
            return math.floor(float(number) * (unit * 1e6)) / 1e6
    return number


def formatted(style: str) -> tuple[ValueReader, ValueReader]:
    """Return the readers of texts and values for dates of a format.

    The digits of a number may have the format, too; other programs write dates in ISO 8601.
    """

    def parsed(text: str) -> float | None:
        with contextlib.suppress(ValueError):
            return seconds_of(datetime.datetime.strptime(text, style))
        return None

    def of_text(text: str) -> float:
        found = parsed(text)
        return date_of_text(text) if found is None else found

    def of_value(value: Any) -> Any:
        found = parsed(name_of(value)) if is_number(value) else None
        return date_of_value(value) if found is None else found

    return of_text, of_value


def seconds_of(date: datetime.date) -> float:
    """Return the seconds from 1970 to a date; fractions of a microsecond are dropped."""
    if not isinstance(date, datetime.datetime):
        date = datetime.datetime(date.year, date.month, date.day)
    if date.tzinfo is None:
        date = date.replace(tzinfo=datetime.UTC)
    return float((date - texts.EPOCH) // MICROSECOND) / 1e6


def name_of(value: Any) -> Any:
    """Return the text of a value in a nominal column; equal values of all types have one text.

    Examples
    --------
    >>> import numpy as np
    >>> from river_extra_trees._estimator import kinds
    >>> [kinds.name_of(value) for value in (7, 7.0, 1.5, True, np.float32(0.1))]
    ['7', '7', '1.5', 'true', '0.1']

    """
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, datetime.timedelta | np.timedelta64):
        return texts.name_of_float(number_of_value(value))
    if isinstance(value, float | int):
        return texts.name_of_float(value) if isinstance(value, float) else str(int(value))
    if isinstance(value, Decimal):
        is_short = value.is_finite() and abs(value.adjusted()) < LARGEST_EXPONENT
        return texts.name_of_text(f"{value:f}" if is_short else str(value))
    if isinstance(value, np.floating):  # its own digits, not those of a double
        return str(int(value)) if value.is_integer() else str(value)
    if isinstance(value, numbers.Real | np.integer):
        return texts.name_of_float(float(value)) if float(value) == value else str(value)
    if isinstance(value, numbers.Number | np.number):
        return str(value)
    if isinstance(value, np.datetime64):
        moment = value.astype("datetime64[us]").item()
        value = moment if isinstance(moment, datetime.date) else str(value)  # beyond year 9999
    if isinstance(value, datetime.date):
        return texts.name_of_date(value)
    if isinstance(value, datetime.time):
        return value.isoformat()
    try:
        hash(value)
    except TypeError:
        raise ValueError("neither a number nor a text") from None
    return value


NUMBER_READERS: tuple[ValueReader, ValueReader] = texts.number_of, number_of_value
READERS: dict[str, tuple[ValueReader, ValueReader]] = {  # of texts, and of other values
    NUMBER: NUMBER_READERS,
    NOMINAL: (texts.name_of_text, name_of),
    DATE: (date_of_text, date_of_value),
    PARTS: (date_of_text, date_of_value),
    COMMA: (texts.number_with_comma, number_of_value),
    PERCENTAGE: (texts.percentage_of, number_of_value),
}


# --- Many values


def settled(
    found: npt.NDArray[np.float64], kind: str, missing: frozenset[str] = MISSING
) -> npt.NDArray[np.float64]:
    """Return numbers as `reader_of` reads each of them; the same array if nothing changes."""
    sentinels = numbers_in(missing)
    reads = np.isin(found, list(sentinels)) if sentinels else np.zeros(len(found), bool)
    style = style_of(kind)
    if style is not None:
        reads |= ~np.isnan(found)
    elif family_of(kind) in (DATE, PARTS):
        reads |= ((found >= FIRST_DIGITS) & (found <= LAST_DIGITS)) | (abs(found) >= LAST_SECOND)
    if not reads.any():
        return found
    read = reader_of(kind, missing)
    known: dict[float, float] = {}
    found = found.copy()
    for row in np.flatnonzero(reads).tolist():
        number = float(found[row])
        if number not in known:
            value = read(number)
            known[number] = math.nan if value is None else value
        found[row] = known[number]
    return found


def parts_of(seconds: npt.NDArray[np.float64]) -> dict[str, npt.NDArray[np.float64]]:
    """Return the hour of the day, the weekday (0: Monday) and the day of the year, all in UTC.

    They are NaN where the seconds are no moment of the years 1 to 9999.

    Examples
    --------
    >>> import numpy as np
    >>> from river_extra_trees._estimator import kinds
    >>> {name: each.tolist() for name, each in kinds.parts_of(np.array([51_300.0])).items()}
    {'hour': [14.25], 'weekday': [3.0], 'day of the year': [1.0]}

    """
    is_moment = (seconds >= FIRST_SECOND) & (seconds < LAST_SECOND)
    moments = np.where(is_moment, seconds, 0.0)
    days = np.floor(moments / DAY)
    dates = days.astype("datetime64[D]")
    found = {
        "hour": (moments - days * DAY) / 3600.0,
        "weekday": (days + 3.0) % 7.0,
        "day of the year": (dates - dates.astype("datetime64[Y]")).astype(np.float64) + 1.0,
    }
    return {name: np.where(is_moment, each, math.nan) for name, each in found.items()}
