"""A batch of rows, column by column, and what happens to bad rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from river_extra_trees._estimator.rows import rows_of

from .values import Cells

__all__ = ["BadRows", "Batch", "Layout", "OnBadRow", "TableError"]

OnBadRow = Literal["stop", "skip"]


class TableError(ValueError):
    """A table cannot be read; the message says where and why, in one line."""


@dataclass(frozen=True)
class Layout:
    """What is read of a table: the column of the targets, if any, and the others but the dropped.

    The numbers of nominal columns are names. No batch has more rows than `batch_size`. A row
    without a target is bad, unless rows may lack theirs.
    """

    target: str | None
    nominal: Collection[str]
    drop: Collection[str]
    batch_size: int
    may_lack_targets: bool = False

    @property
    def named(self) -> list[str]:
        """The columns that a table must have."""
        return [*([self.target] if self.target else []), *self.nominal, *self.drop]

    def features(self, header: Sequence[str]) -> list[str]:
        """Return the columns of a table that are features."""
        return [name for name in header if name != self.target and name not in self.drop]


@dataclass
class Batch:
    """Some rows of a table.

    Parameters
    ----------
    numbers
        The number of each row; the first row of a table is row 1.
    columns
        The features: floats with NaN for missing, names with None for missing, or names as an
        array of pyarrow.
    targets
        The target of each row; None if the table is read without a target.
    begins_file
        Whether these are the first rows of another file, which has taken the place of the last
        one: its header came again.

    Examples
    --------
    >>> import numpy as np
    >>> from river_extra_trees import streams
    >>> columns = {"size": np.array([1.0, np.nan]), "colour": ["red", "blue"]}
    >>> batch = streams.Batch([1, 2], columns, [True, False])
    >>> list(batch.rows())
    [{'size': 1.0, 'colour': 'red'}, {'colour': 'blue'}]
    >>> batch[1:].targets
    [False]

    """

    numbers: Sequence[int]
    columns: dict[str, Cells]
    targets: list[Any] | None
    begins_file: bool = False

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, part: slice) -> Batch:
        """Return some successive rows."""
        return Batch(
            self.numbers[part],
            {name: column[part] for name, column in self.columns.items()},
            None if self.targets is None else self.targets[part],
        )

    def take(self, positions: Sequence[int]) -> Batch:
        """Return the rows at some positions."""
        return Batch(
            [self.numbers[i] for i in positions],
            {name: _taken(column, positions) for name, column in self.columns.items()},
            None if self.targets is None else [self.targets[i] for i in positions],
            self.begins_file,
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield each row as a dict, without its missing values."""
        columns = {name: values_of(column) for name, column in self.columns.items()}
        return rows_of(columns, len(self))


def values_of(column: Cells) -> list[Any]:
    """Return the values of a column as plain Python values."""
    if isinstance(column, list):
        return column
    values: list[Any] = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
    return values


def _taken(column: Cells, positions: Sequence[int]) -> Cells:
    if isinstance(column, list):
        return [column[i] for i in positions]
    return column.take(positions)


class BadRows:
    """What happens to bad rows: the first one stops the reading, or all are skipped and counted.

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

    def sift(self, batch: Batch, faults: Mapping[int, str]) -> Iterator[Batch]:
        """Yield what is left of a batch, if anything.

        Parameters
        ----------
        batch
            Rows.
        faults
            What is wrong with the row at a position of the batch.

        Raises
        ------
        TableError
            If a row is bad and stops the reading, after the rows before it.
        """
        if faults and self.on_bad_row == "stop":
            position = min(faults)
            if position:
                yield batch[:position]
            raise TableError(f"{self.name}, row {batch.numbers[position]}: {faults[position]}")
        if faults:
            for position in sorted(faults):
                self.skip(batch.numbers[position], faults[position])
            batch = batch.take([i for i in range(len(batch)) if i not in faults])
        if len(batch):
            yield batch

    def skip(self, number: int, fault: str) -> None:
        """Count a row that is skipped."""
        if not self.count:
            self.first = f"row {number}: {fault}"
        self.count += 1
