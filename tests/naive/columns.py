"""The numbers that stand for features and nominal values, given out as a schema does."""

import math
from collections.abc import Mapping, Set
from types import MappingProxyType
from typing import Any

from tests.naive.codes import code_of

NOMINAL = (str, tuple)
PAUSE = 256  # samples without a search after one that found too few columns


class Columns:
    """A column for each feature and kind of value, in the order in which they were first learned.

    The new columns of one sample are numbered in the order of their names. There are `most`.
    """

    def __init__(self, most: int = 2**14) -> None:
        self.numbers: dict[tuple[Any, bool], int] = {}  # of a name, and whether it is nominal
        self.most = most
        self.next_search = 0
        self.crowded: list[Any] = []

    @property
    def nominal(self) -> frozenset[int]:
        return frozenset(column for (_, nominal), column in self.numbers.items() if nominal)

    def encoded(self, x: dict[Any, Any]) -> tuple[float, ...]:
        """The row of a sample that is to be answered."""
        row = [math.nan] * (1 + max(self.numbers.values(), default=-1))
        for name, value in x.items():
            nominal = isinstance(value, NOMINAL)
            column = self.numbers.get((name, nominal))
            if value is not None and column is not None:
                row[column] = code_of(value) if nominal else float(value)
        return tuple(row)

    def learned(
        self,
        x: dict[Any, Any],
        n_seen: int = 0,
        held: Set[int] = frozenset(),
        latest: Mapping[int, int] = MappingProxyType({}),
    ) -> tuple[float, ...]:
        """The row of a sample that is learned, after n_seen others.

        Columns in `held` stay, and others if the latest sample with a value is a late one.
        """
        found = {
            (name, isinstance(v, NOMINAL)) for name, v in x.items() if v is not None and v == v
        }
        wanted = sorted(found - self.numbers.keys(), key=order_of)
        n_lacking = len(wanted) - (self.most - len(self.numbers))
        if n_lacking > 0 and n_seen >= self.next_search:
            self._free(n_lacking, held | {self.numbers.get(key, -1) for key in found}, latest)
            self.crowded = [wanted[-n_lacking][0]] if self.crowded else []
            self.next_search += n_seen
        free = sorted(set(range(self.most)) - set(self.numbers.values()))
        self.numbers |= zip(wanted, free, strict=False)
        return self.encoded(x)

    def _free(self, n: int, held: Set[int], latest: Mapping[int, int]) -> None:
        """Free the columns without a value, or many if these are few; note how it went."""
        others = [column for column in self.numbers.values() if column not in held]
        gone = [column for column in others if column not in latest]
        self.crowded = [True] if len(gone) < max(n, self.most // 64) else []
        if self.crowded:
            n = max(n, self.most // 4)
            gone = sorted(others, key=lambda column: (latest.get(column, -1), column))[:n]
        self.next_search = PAUSE if len(gone) < n else 0
        self.numbers = {key: k for key, k in self.numbers.items() if k not in gone}


def order_of(key: tuple[Any, bool]) -> tuple[str, str, bool]:
    return type(key[0]).__name__, str(key[0]), key[1]
