"""The numbers that stand for features and nominal values, given out as a schema does."""

import math
from typing import Any

NOMINAL = (str, tuple)
UNKNOWN = -1.0  # a nominal value that was never learned: no code, and not missing


class Columns:
    """A column for each feature and kind of value, in the order in which they were first learned.

    The new columns of one sample are numbered in the order of their names.
    """

    def __init__(self) -> None:
        self.numbers: dict[tuple[Any, bool], int] = {}  # of a name, and whether it is nominal
        self.codes: dict[int, dict[Any, float]] = {}  # of the values of nominal columns

    @property
    def nominal(self) -> frozenset[int]:
        return frozenset(self.codes)

    def encoded(self, x: dict[Any, Any]) -> tuple[float, ...]:
        """The row of a sample that is to be answered."""
        row = [math.nan] * len(self.numbers)
        for name, value in x.items():
            nominal = isinstance(value, NOMINAL)
            column = self.numbers.get((name, nominal))
            if value is not None and column is not None:
                row[column] = self.codes[column].get(value, UNKNOWN) if nominal else float(value)
        return tuple(row)

    def learned(self, x: dict[Any, Any]) -> tuple[float, ...]:
        """The row of a sample that is learned."""
        found = {
            (name, isinstance(v, NOMINAL)): v for name, v in x.items() if v is not None and v == v
        }
        for name, nominal in sorted(found, key=lambda key: (type(key[0]).__name__, str(key[0]))):
            column = self.numbers.setdefault((name, nominal), len(self.numbers))
            if nominal:
                codes = self.codes.setdefault(column, {})
                codes.setdefault(found[name, nominal], float(len(codes)))
        return self.encoded(x)
