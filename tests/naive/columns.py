"""The numbers that stand for features and nominal values, given out as a schema does."""

import math
from typing import Any

from tests.naive.codes import code_of

NOMINAL = (str, tuple)


class Columns:
    """A column for each feature and kind of value, in the order in which they were first learned.

    The new columns of one sample are numbered in the order of their names.
    """

    def __init__(self) -> None:
        self.numbers: dict[tuple[Any, bool], int] = {}  # of a name, and whether it is nominal

    @property
    def nominal(self) -> frozenset[int]:
        return frozenset(column for (_, nominal), column in self.numbers.items() if nominal)

    def encoded(self, x: dict[Any, Any]) -> tuple[float, ...]:
        """The row of a sample that is to be answered."""
        row = [math.nan] * len(self.numbers)
        for name, value in x.items():
            nominal = isinstance(value, NOMINAL)
            column = self.numbers.get((name, nominal))
            if value is not None and column is not None:
                row[column] = code_of(value) if nominal else float(value)
        return tuple(row)

    def learned(self, x: dict[Any, Any]) -> tuple[float, ...]:
        """The row of a sample that is learned."""
        found = {
            (name, isinstance(v, NOMINAL)) for name, v in x.items() if v is not None and v == v
        }
        for key in sorted(found, key=lambda key: (type(key[0]).__name__, str(key[0]))):
            self.numbers.setdefault(key, len(self.numbers))
        return self.encoded(x)
