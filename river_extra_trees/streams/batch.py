"""Some rows of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from river_extra_trees._estimator.frames import opened
from river_extra_trees._estimator.rows import rows_of, values_by_name

__all__ = ["Batch", "Fault", "TableError"]

# What may help: another kind of the column, a kind of numbers for the target, to read bad cells as
# missing, to leave the column out, or another encoding.
Remedy = Literal["kind", "number", "cell", "drop", "encoding"]


class Fault(NamedTuple):
    """What is wrong with a row or a cell, and what may help."""

    text: str
    remedy: Remedy | None = None
    column: str = ""


class TableError(ValueError):
    """A table cannot be read; the message says where and why, in one line.

    Parameters
    ----------
    message
        The message.
    fault
        What is wrong, if a remedy is known.
    """

    def __init__(self, message: str, fault: Fault | None = None) -> None:
        super().__init__(message)
        self.fault = fault


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
    parts
        Names of the features that are parts of dates, and not columns of the table.

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
    parts: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: slice) -> Batch:
        """Return some successive rows."""
        start, stop, _ = rows.indices(len(self))
        native, library = opened(self.frame)
        if library == "pyarrow":
            frame = native.slice(start, stop - start)
        else:
            frame = native.iloc[rows] if library == "pandas" else native[rows]
        return Batch(
            self.numbers[rows],
            frame,
            None if self.targets is None else self.targets[rows],
            None if self.weights is None else self.weights[rows],
            {name: values[rows] for name, values in self.kept.items()},
            self.unknown,
            self.parts,
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield each row as a dict, without its missing values."""
        return rows_of(values_by_name(self.frame), len(self))  # type: ignore[arg-type]
