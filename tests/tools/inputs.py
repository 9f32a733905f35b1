"""Unusual values: what is taken and what is refused as a feature, target, label or weight."""

import datetime
import decimal
import enum
import fractions
import sys
import time

import numpy as np
import pandas as pd


class Percent(float):
    """A number that says of itself what it is as a float."""

    def __float__(self) -> float:
        return super().__float__() / 100


class Unhashable(float):
    """A number that is no key."""

    __hash__ = None  # type: ignore[assignment]


class Interruption(BaseException):
    """What stands for Ctrl-C."""


class Loud:
    """A value or a name whose own code is interrupted at one of its calls, and ever after."""

    def __init__(self) -> None:
        self.n_calls = 0
        self.n_quiet = sys.maxsize

    def call(self) -> None:
        self.n_calls += 1
        if self.n_calls > self.n_quiet:
            raise Interruption

    def __hash__(self) -> int:
        self.call()
        return 7

    def __eq__(self, other: object) -> bool:
        self.call()
        return self is other

    def __repr__(self) -> str:
        self.call()
        return "Loud()"

    def be_interrupted(self, call: int) -> None:
        """Let the calls from that one on be interrupted, counted from now."""
        self.n_calls, self.n_quiet = 0, call - 1


class LoudNumber(Loud):
    def __float__(self) -> float:
        self.call()
        return 1.0


class Colour(enum.Enum):
    """A label."""

    RED = "red"
    BLUE = "blue"


class Shade(enum.StrEnum):
    """A label that is a text."""

    DARK = "dark"
    LIGHT = "light"


class Level(enum.IntEnum):
    """A label that is a number."""

    LOW = 1
    HIGH = 2


HUGE = 10**5000  # more digits than Python writes
# What numpy finds a float in, though it is no number.
NO_NUMBERS = [
    *(np.complex128(2 + 3j), np.complex64(2), np.array(2 + 3j)),
    *(np.datetime64("NaT"), np.datetime64(5, "ns"), np.timedelta64(5, "ns"), np.timedelta64(5)),
    *(np.timedelta64(5, "s"), np.array(5, "M8[ns]"), np.array(5, "m8[ns]"), np.array(5, "m8")),
    *(np.array("3"), np.array(b"3"), np.array("3", object), np.str_("3"), np.void(b"3")),
]
TAKEN_FEATURES = [
    pd.NaT,
    np.datetime64("NaT"),
    np.timedelta64("NaT", "s"),
    float("nan"),
    None,
    5e-324,
    -1.7e308,
    True,
    2**70,
    decimal.Decimal("0.1"),
    fractions.Fraction(1, 3),
    np.float32(0.1),
    np.int64(3),
    np.bool_(True),
    np.float64("nan"),
    "a name where numbers were",
    b"bytes",
    (1, "pair"),
]
REFUSED_FEATURES = [
    (float("inf"), ValueError),
    (float("-inf"), ValueError),
    (np.float32("inf"), ValueError),
    (10**400, ValueError),
    (1 + 2j, TypeError),
    ([1.0], TypeError),
    ({"key": 1.0}, TypeError),
    ({1.0}, TypeError),
    (bytearray(b"bytes"), TypeError),
    (np.array([1.0, 2.0]), TypeError),
    (np.array(2.0), TypeError),
    (Unhashable(1.0), TypeError),
    (np.datetime64("2026-11-21"), TypeError),
    (np.timedelta64(1, "s"), TypeError),
    (pd.Timestamp("2026-11-21"), TypeError),
    (datetime.datetime(2026, 11, 21), TypeError),
    (datetime.date(2026, 11, 21), TypeError),
    (datetime.timedelta(1), TypeError),
    (datetime.time(12, 30), TypeError),
    (time.gmtime(0), TypeError),
    (pd.Timedelta(1, "s"), TypeError),
    (-HUGE, ValueError),
    ({HUGE}, TypeError),
    (decimal.Decimal("sNaN"), TypeError),
]
REFUSED_TARGETS = [
    *(None, float("nan"), float("inf"), float("-inf"), 10**400, HUGE, "text", 1j, [1.0]),
    *(decimal.Decimal("sNaN"), np.void(b"bytes"), *NO_NUMBERS),
]
TAKEN_TARGETS = [
    *(1, np.float32(0.5), np.int64(2), decimal.Decimal("0.5"), fractions.Fraction(1, 2)),
    *(np.float64(0.5), Percent(50), True, np.array(0.5), np.array(2, np.uint8)),
]
REFUSED_LABELS = [
    *(None, float("nan"), np.float64("nan"), [1], {"key": 1}, {1}, np.array([1, 2])),
    np.datetime64("NaT"),
]
LABELS = [
    (True, False),
    (np.True_, np.False_),
    ("spam", "ham"),
    (1, 2),
    (np.int64(1), np.int64(2)),
    (0.5, 1.5),
    (b"x", b"y"),
    ((1, "a"), (2, "b")),
    ((1, 2), (3, 4)),
    (frozenset({1}), frozenset({2})),
    (1, "1"),
    (1, 2.5),
    (True, 2),
    (2, True),
    ("x", b"x"),
    (2**200, 1),
    (2**200, "large"),
    (Colour.RED, Colour.BLUE),
    (Colour.RED, 0.5),
    (Shade.DARK, Shade.LIGHT),
    (Level.LOW, "low"),
    (decimal.Decimal("1e400"), decimal.Decimal(2)),
    (decimal.Decimal("0.1"), decimal.Decimal("1e-39")),
    (datetime.date(2026, 11, 22), "never"),
    ("\ud800", "x"),
]

REFUSED_WEIGHTS = [
    *(-1.0, float("nan"), float("inf"), float("-inf"), None, "heavy", 1j),
    *(decimal.Decimal("sNaN"), HUGE, -HUGE, *NO_NUMBERS),
]
