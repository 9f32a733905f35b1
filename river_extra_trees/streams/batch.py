"""Batches of rows, and the roles of the columns of a table."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from river_extra_trees._estimator.rows import rows_of, values_by_name
from river_extra_trees.column_kinds import ColumnKinds

__all__ = ["Batch", "Faults", "Roles", "Rows", "TableError"]

Faults = dict[int, str]  # what is wrong with rows, by their numbers


class TableError(ValueError):
    """A table cannot be read; the message says where and why, in one line."""


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
        Further columns by name, with their values as they are.
    unknown
        Names of columns that were not read because the model does not know them.

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
        return self.take(range(*part.indices(len(self))))

    def take(self, positions: Sequence[int]) -> Batch:
        """Return the rows at some positions."""

        def taken(values: Sequence[Any]) -> list[Any]:
            return [values[i] for i in positions]

        if isinstance(positions, range) and positions.step == 1:
            frame = self.frame.slice(positions.start, len(positions))
        else:
            frame = self.frame.take(np.array(positions, np.int64))
        return Batch(
            taken(self.numbers),
            frame,
            None if self.targets is None else taken(self.targets),
            None if self.weights is None else taken(self.weights),
            {name: taken(values) for name, values in self.kept.items()},
            self.unknown,
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield each row as a dict, without its missing values."""
        return rows_of(values_by_name(self.frame), len(self))  # type: ignore[arg-type]


@dataclass
class Rows:
    """Some rows of a table before their columns have roles and kinds.

    `columns` are arrays of pyarrow, or lists of Python values. They hold the rows in `numbers`;
    `faults` says what is wrong with these and with rows that could not be read at all. If the
    columns are `untyped`, all values are texts, which may be numbers.
    """

    numbers: Sequence[int]
    columns: Mapping[str, Any]
    faults: Faults = field(default_factory=dict)
    untyped: bool = False


@dataclass(frozen=True)
class Roles:
    """The roles of the columns of a table.

    `target` and `weight` name the columns of targets and weights, if there are any. Columns in
    `drop` are left out, and those in `keep` are passed on as they are. All others are features,
    which `kinds` reads. If `learns`, it learns new columns; otherwise, these are left out. A row
    without a target is bad unless `may_lack_targets`.
    """

    target: str | None
    weight: str | None
    drop: Collection[str]
    keep: Sequence[str]
    kinds: ColumnKinds
    learns: bool
    may_lack_targets: bool

    @property
    def others(self) -> list[str]:
        """The columns that are read besides the features."""
        roles = (self.target, self.weight, *self.keep)
        return list(dict.fromkeys(name for name in roles if name is not None))

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
        """Return the names of the features, and of the columns that the model does not know."""
        left_out = {self.target, self.weight, *self.drop}
        names = [name for name in header if name not in left_out]
        if self.learns:
            return names, []
        known = self.kinds.columns
        unknown = [name for name in names if name not in known and name not in self.keep]
        return [name for name in names if name in known], unknown

    def batch_of(self, rows: Rows) -> tuple[Batch, Faults]:
        """Return rows as a batch, and what is wrong with some of them."""
        from .columns import frame_of, read_column, values_of

        n = len(rows.numbers)
        names, unknown = self.features(list(rows.columns))
        features: dict[str, Any] = {}
        faults: Faults = {}
        for name in names:
            column = rows.columns[name]
            features[name], found = read_column(self.kinds, name, column, rows.untyped)
            faults |= {rows.numbers[i]: text for i, text in found.items()}
        others: dict[str | None, list[Any]] = {
            name: values_of(rows.columns.get(name, [None] * n), rows.untyped)
            for name in self.others
        }
        targets, weights = others.get(self.target), others.get(self.weight)
        for number, y in zip(rows.numbers, targets or (), strict=False):
            if (y is None or y != y) and not self.may_lack_targets:
                faults[number] = f"the target {self.target!r} is missing"
        for number, w in zip(rows.numbers, weights or (), strict=False):
            if isinstance(w, str) or w is None or not 0.0 <= w < math.inf:
                wanted = "it must be a number from 0 on"
                faults[number] = f"the weight {self.weight!r} is {w!r}; {wanted}"
        kept = {name: others[name] for name in self.keep}
        batch = Batch(rows.numbers, frame_of(features, n), targets, weights, kept, unknown)
        return batch, faults | rows.faults
