"""A batch of rows, and what happens to bad rows."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from river_extra_trees._estimator.rows import rows_of, values_by_name
from river_extra_trees.column_kinds import ColumnKinds

__all__ = ["BadRows", "Batch", "Layout", "OnBadRow", "TableError"]

OnBadRow = Literal["stop", "skip"]


class TableError(ValueError):
    """A table cannot be read; the message says where and why, in one line."""


@dataclass(frozen=True)
class Layout:
    """The roles of the columns, and the largest number of rows of a batch.

    `target` is the column of the targets, if any, and `weight` that of the weights. Columns in
    `drop` are left out, and those in `keep` handed on as they are. `kinds` tells how the features
    are read. It learns new columns; without `learns`, these are left out. A row without a target
    is bad unless `may_lack_targets`.
    """

    target: str | None
    drop: Collection[str]
    batch_size: int
    kinds: ColumnKinds
    may_lack_targets: bool = False
    learns: bool = True
    weight: str | None = None
    keep: Sequence[str] = ()

    @property
    def others(self) -> list[str]:
        """The columns beside the features that are read."""
        roles = [name for name in (self.target, self.weight) if name is not None]
        return [*roles, *(name for name in self.keep if name not in roles)]

    def check(self, name: str, header: Sequence[str]) -> None:
        """Raise a TableError if a table lacks a column that is needed, or has one twice."""
        if not header:
            raise TableError(f"{name} is empty")
        declared = self.kinds.kinds if self.learns and not self.kinds.columns else None
        for column in (*self.others, *map(str, declared or ()), *self.drop):
            if column not in header:
                raise TableError(f"{name} has no column {column!r}; it has {', '.join(header)}")
        if len(set(header)) < len(header):
            twice = next(column for column in header if header.count(column) > 1)
            raise TableError(f"{name} has the column {twice!r} twice")

    def features(self, header: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return the columns of a table that are read as features, and those that are unknown."""
        left = {self.target, self.weight, *self.drop}
        names = [name for name in header if name not in left]
        if self.learns:
            return names, []
        known = self.kinds.columns
        unknown = [name for name in names if name not in known and name not in self.keep]
        return [name for name in names if name in known], unknown

    def faults(
        self, targets: Sequence[Any] | None, weights: Sequence[Any] | None
    ) -> dict[int, str]:
        """Return, by position, the targets that are missing and the weights that are none."""
        return self._bad_weights(weights) | self.missing_targets(targets)

    def _bad_weights(self, weights: Sequence[Any] | None) -> dict[int, str]:
        return {
            i: f"the weight {self.weight!r} is {w!r}; it must be a number from 0 on"
            for i, w in enumerate(weights or ())
            if isinstance(w, str) or w is None or not 0.0 <= w < math.inf
        }

    def missing_targets(self, targets: Sequence[Any] | None) -> dict[int, str]:
        """Return, by position, the targets that are missing but must not be."""
        if targets is None or self.may_lack_targets:
            return {}
        if None not in targets and all(map(operator.eq, targets, targets)):  # NaN is not itself
            return {}
        message = f"the target {self.target!r} is missing"
        return {i: message for i, y in enumerate(targets) if y is None or y != y}


@dataclass
class Batch:
    """Some rows of a table.

    Parameters
    ----------
    numbers
        The number of each row; the first row of a table is row 1.
    frame
        The features, as a table of pyarrow: floats, and strings for nominal values.
    targets
        The target of each row; None if the table is read without a target.
    weights
        The weight of each row; None if the table is read without weights.
    kept
        Further columns by name, as they are.
    unknown
        Columns that were not read, because the model does not know them.

    Examples
    --------
    >>> import pyarrow
    >>> from river_extra_trees import streams
    >>> frame = pyarrow.table({"size": [1.0, None], "colour": ["red", "blue"]})
    >>> batch = streams.Batch([1, 2], frame, [True, False])
    >>> list(batch.rows())
    [{'size': 1.0, 'colour': 'red'}, {'colour': 'blue'}]
    >>> batch[1:].targets
    [False]

    """

    numbers: Sequence[int]
    frame: Any
    targets: list[Any] | None
    weights: list[Any] | None = None
    kept: dict[str, list[Any]] = field(default_factory=dict)
    unknown: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, part: slice) -> Batch:
        """Return some successive rows."""
        start, stop, _ = part.indices(len(self))
        return Batch(
            self.numbers[start:stop],
            self.frame.slice(start, stop - start),
            None if self.targets is None else self.targets[start:stop],
            None if self.weights is None else self.weights[start:stop],
            {name: values[start:stop] for name, values in self.kept.items()},
            self.unknown,
        )

    def take(self, positions: Sequence[int]) -> Batch:
        """Return the rows at some positions."""

        def taken(values: Sequence[Any]) -> list[Any]:
            return [values[i] for i in positions]

        return Batch(
            taken(self.numbers),
            self.frame.take(np.array(positions, np.int64)),
            None if self.targets is None else taken(self.targets),
            None if self.weights is None else taken(self.weights),
            {name: taken(values) for name, values in self.kept.items()},
            self.unknown,
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield each row as a dict, without its missing values."""
        return rows_of(values_by_name(self.frame), len(self))  # type: ignore[arg-type]


class BadRows:
    """What happens to bad rows: the first one ends the reading, or all are skipped and counted.

    Parameters
    ----------
    name
        The name of the table.
    on_bad_row
        ``"stop"`` or ``"skip"``.

    Attributes
    ----------
    count
        Number of rows skipped.
    first
        What is wrong with the first of them.

    """

    def __init__(self, name: str, on_bad_row: OnBadRow) -> None:
        if on_bad_row not in ("stop", "skip"):
            raise ValueError(f"on_bad_row is {on_bad_row!r}; it must be 'stop' or 'skip'")
        self.name = name
        self.on_bad_row = on_bad_row
        self.count = 0
        self.first = ""

    def sift(
        self, batch: Batch, faults: Mapping[int, str], absent: Mapping[int, str] | None = None
    ) -> Iterator[Batch]:
        """Yield the good rows of a batch, if there are any.

        Parameters
        ----------
        batch
            Rows.
        faults
            What is wrong with the row at a position of the batch.
        absent
            What is wrong with rows that are not in the batch, by their numbers.

        Raises
        ------
        TableError
            If a row is bad and ends the reading, after the rows before it.
        """
        wrong = {batch.numbers[i]: fault for i, fault in faults.items()} | dict(absent or {})
        if not wrong:
            if len(batch):
                yield batch
            return
        first = min(wrong)
        stops = self.on_bad_row == "stop"
        good = [i for i, number in enumerate(batch.numbers) if number not in wrong]
        batch = batch.take([i for i in good if not stops or batch.numbers[i] < first])
        if not stops:
            self.first = self.first or f"row {first}: {wrong[first]}"
            self.count += len(wrong)
        if len(batch):
            yield batch
        if stops:
            raise TableError(f"{self.name}, row {first}: {wrong[first]}")
