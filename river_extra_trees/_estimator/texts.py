"""Texts as numbers, moments and names: how programs write values, in files and elsewhere.

Every function takes a text without blanks around it, and raises a ValueError if it does not fit.
"""

from __future__ import annotations

import datetime
import re

__all__ = [
    "EPOCH",
    "day_of_digits",
    "is_certain_number",
    "moment_of",
    "name_of_date",
    "name_of_float",
    "name_of_text",
    "number_of",
    "number_with_comma",
    "percentage_of",
]

TRUTH = {"true": 1.0, "false": 0.0}  # in any case
EXPONENT = r"([eE][+-]?\d+)?"
MARK = r"['\u2019 \u00a0\u2009\u202f]"  # between thousands, beside the comma or the point
NUMERAL = re.compile(rf"[+-]?(\d+\.?\d*|\.\d+){EXPONENT}", re.ASCII)
GROUPED = re.compile(
    rf"[+-]?([1-9]\d{{0,2}}(?P<mark>,|{MARK})\d{{3}}((?P=mark)\d{{3}})*"
    rf"|[1-9]\d?(,\d\d)+,\d{{3}})(\.\d*)?",  # 12,34,567 is Indian
    re.ASCII,
)
# One group alone, such as 1,234, may be a decimal comma; blanks stand in telephone numbers, too.
CERTAINLY_GROUPED = re.compile(
    r"[+-]?[1-9]\d{0,2}((,\d{3})+\.\d*|('\d{3})+\.\d*|(,\d{3}){2,}|('\d{3}){2,}"
    r"|(,\d\d)+,\d{3}(\.\d*)?)",
    re.ASCII,
)
CURRENCY = "[$\u20ac\u00a3\u00a5\u20b9]|USD|EUR|GBP|CHF|JPY|INR"  # euro, pound, yen, rupee
MONEY = re.compile(
    rf"(?P<sign>[+-]?)"
    rf"((?:{CURRENCY}) ?(?P<after>[+-]?[\d.,].*)|(?P<before>[\d.,].*?) ?(?:{CURRENCY}))"
)
MINUS = "\u2212"
OWED = re.compile(r"(?P<number>\d.*\d|\d)-", re.ASCII)  # 5- is -5 to SAP
INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE | re.ASCII)
WITH_COMMA = re.compile(
    rf"[+-]?([1-9]\d{{0,2}}(?P<mark>\.|{MARK})\d{{3}}((?P=mark)\d{{3}})*(,\d+)?|\d+(,\d+)?|,\d+)"
    rf"{EXPONENT}",
    re.ASCII,
)
EITHER = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)  # thousands, or a decimal comma

ZONE = r"( ?(Z|UTC|GMT|[+-]\d\d(:?\d\d)?))?"
FRACTION = r"([.,]\d{1,9})?"
ISO = re.compile(
    rf"(\d{{4}}-\d\d-\d\d)([ T]\d\d(:\d\d(:\d\d{FRACTION})?)?{ZONE})?"
    rf"|\d{{8}}T\d\d(\d\d(\d\d{FRACTION})?)?{ZONE}",
    re.ASCII,
)
EIGHT_DIGITS = re.compile(r"(19|20|21)\d{6}", re.ASCII)
TIME = re.compile(r"\d\d:\d\d:\d\d(\.\d+)?", re.ASCII)
DURATION = re.compile(  # as pandas writes it: -1 days +23:59:59.5
    r"(?P<days>-?\d+) days( \+?(?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d(\.\d+)?))?", re.ASCII
)
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)

# Texts of decimal numbers that differ from the text of the number in their zeros alone.
DECIMAL = re.compile(r"(?P<sign>-?)(?P<whole>0|[1-9]\d*)?(\.(?P<rest>\d*))?", re.ASCII)
SCIENTIFIC = re.compile(r"-?\d(\.\d+)?[eE][+-]?\d+", re.ASCII)


# --- Numbers


def number_of(text: str) -> float:
    """Return a number; a truth value is 1 or 0.

    Examples
    --------
    >>> from river_extra_trees._estimator import texts
    >>> [texts.number_of(each) for each in ("-2.5e3", "1,234.5", "1'234", "True", "($5)")]
    [-2500.0, 1234.5, 1234.0, 1.0, -5.0]

    """
    truth = TRUTH.get(text.lower())
    if truth is not None:
        return truth
    if NUMERAL.fullmatch(text) or INFINITE.fullmatch(text):
        return float(text)
    if found := GROUPED.fullmatch(text):
        return float(text.replace(found["mark"] or ",", ""))
    if (amount := amount_of(text)) != text:
        return number_of(amount)
    if found := OWED.fullmatch(text):
        return -number_of(found["number"])
    if found := DURATION.fullmatch(text):
        hours = float(found["h"] or 0) + float(found["m"] or 0) / 60.0
        return float(found["days"]) * 86400.0 + hours * 3600.0 + float(found["s"] or 0)
    raise ValueError("not a number")


def amount_of(text: str) -> str:
    """Return the text of an amount of money without the currency, and any other text as it is.

    The minus of typesetting becomes that of programs.

    Examples
    --------
    >>> from river_extra_trees._estimator import texts
    >>> [texts.amount_of(each) for each in ("$1,234.50", "-5 EUR", "($5)", "\u22125", "5")]
    ['1,234.50', '-5', '-5', '-5', '5']

    """
    if text[:1] == MINUS:
        text = f"-{text[1:]}"
    owed = f"-{text[1:-1]}" if text[:1] == "(" and text[-1:] == ")" else text
    found = MONEY.fullmatch(owed)
    if found is None:
        return text
    return found["sign"] + (found["after"] or found["before"]).rstrip()


def is_certain_number(text: str) -> bool:
    """Return whether a text of unknown kind is a number or a truth value."""
    if NUMERAL.fullmatch(text) or text.lower() in TRUTH or INFINITE.fullmatch(text):
        return True
    if DURATION.fullmatch(text):
        return True
    amount = amount_of(text)
    return bool(
        CERTAINLY_GROUPED.fullmatch(amount) or (amount != text and NUMERAL.fullmatch(amount))
    )


def number_with_comma(text: str) -> float:
    """Return a number with a decimal comma, perhaps with marks between thousands, or with ``%``.

    Examples
    --------
    >>> from river_extra_trees._estimator import texts
    >>> [texts.number_with_comma(each) for each in ("1.234,5", "1 234,5", "1,5E+03")]
    [1234.5, 1234.5, 1500.0]

    """
    text = amount_of(text.removesuffix("%").rstrip())
    if found := OWED.fullmatch(text):
        text = f"-{found['number']}"
    found = WITH_COMMA.fullmatch(text)
    if not found:
        raise ValueError("not a number with a decimal comma")
    return float(text.replace(found["mark"] or "", "").replace(",", "."))


def percentage_of(text: str) -> float:
    """Return a number that may end in ``%``; its decimal sign may be a comma if that is certain.

    Examples
    --------
    >>> from river_extra_trees._estimator import texts
    >>> [texts.percentage_of(each) for each in ("5%", "12.5 %", "23,78%", "1,234.5%")]
    [5.0, 12.5, 23.78, 1234.5]

    """
    text = text.removesuffix("%").rstrip()
    if EITHER.fullmatch(text):
        raise ValueError("either thousands or a decimal comma")
    try:
        return number_of(text)
    except ValueError:
        return number_with_comma(text)


# --- Moments


def moment_of(text: str) -> datetime.datetime:
    """Return a moment written as in ISO 8601.

    Examples
    --------
    >>> from river_extra_trees._estimator import texts
    >>> str(texts.moment_of("2026-11-22 12:15 UTC"))
    '2026-11-22 12:15:00+00:00'

    """
    found = ISO.fullmatch(text)
    if not found:
        raise ValueError("not a date")
    if text.endswith(("UTC", "GMT")):
        text = text[:-3] + "Z"
    date, blank, time = text.partition(" ")  # the first blank may stand for T
    return datetime.datetime.fromisoformat(date + "T" * bool(blank) + time.replace(" ", ""))


def day_of_digits(text: str) -> datetime.datetime | None:
    """Return the day that eight digits write, from 1900 to 2199; None if they write none.

    Examples
    --------
    >>> from river_extra_trees._estimator import texts
    >>> texts.day_of_digits("20261122"), texts.day_of_digits("1773100800")
    (datetime.datetime(2026, 11, 22, 0, 0), None)

    """
    if not EIGHT_DIGITS.fullmatch(text):
        return None
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        return None


# --- Names: one text for each value


def name_of_text(text: str) -> str:
    """Return the one text of a nominal value, which numbers, truth values and dates have, too.

    Zeros in front and other notations stay, because they tell codes apart.

    Examples
    --------
    >>> from river_extra_trees._estimator import texts
    >>> [texts.name_of_text(each) for each in ("501.0", "1.50", "TRUE", "1e+22", "red")]
    ['501', '1.5', 'true', '10000000000000000000000', 'red']
    >>> [texts.name_of_text(each) for each in ("007", "7", "1e3", "1000", "+7")]
    ['007', '7', '1e3', '1000', '+7']
    >>> [texts.name_of_text(each) for each in ("2026-01-02T00:00:00", "2026-01-02 00:00+01:00")]
    ['2026-01-02', '2026-01-01T23:00:00']
    >>> [texts.name_of_text(each) for each in ("14:15", "14:15:00.000000", "27:15:00")]
    ['14:15', '14:15:00', '27:15:00']

    """
    if text.isdigit() or text[:1].isalpha():
        return text.lower() if text.lower() in TRUTH else text
    if found := DECIMAL.fullmatch(text):
        rest = (found["rest"] or "").rstrip("0")
        name = (found["whole"] or "0") + ("." + rest if rest else "")
        if found["whole"] is None and not found["rest"]:
            return text  # a sign or a point
        return name if name == "0" else found["sign"] + name
    if SCIENTIFIC.fullmatch(text):
        number = float(text)
        is_usual = "e" in repr(number) and abs(number) != float("inf")
        return name_of_float(number) if is_usual else text
    try:
        if TIME.fullmatch(text):
            return datetime.time.fromisoformat(text).isoformat()
        return name_of_date(moment_of(text))
    except (ValueError, OverflowError):
        return text


def name_of_float(number: float) -> str:
    """Return the shortest text of a finite number; of a whole number, its digits."""
    return str(int(number)) if number.is_integer() else repr(number)


def name_of_date(date: datetime.date) -> str:
    """Return the text of a date, or of a moment in UTC, without a time if that is midnight."""
    if not isinstance(date, datetime.datetime):
        return date.isoformat()
    if date.tzinfo is not None:
        date = date.astimezone(datetime.UTC)
    plain = datetime.datetime(*date.timetuple()[:6], date.microsecond)  # of subclasses, too
    return plain.isoformat().removesuffix("T00:00:00")
