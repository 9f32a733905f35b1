"""Streams for the commands: data sets bundled with river, tables, standard input.

A stream is read once, batch by batch. It may therefore be larger than memory, or a pipe without an
end.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from river_extra_trees.cli import UserError, columns
from river_extra_trees.column_kinds import ColumnKinds
from river_extra_trees.streams import Batch, Reader, TableError, open_table
from river_extra_trees.streams.batch import Roles, Rows
from river_extra_trees.streams.reader import BATCH_SIZE, PACKED, SUFFIXES, OnBadRow, is_table

Task = Literal["classification", "regression"]

# The task is inferred from this many rows: up to so many different whole numbers are classes.
ROWS_TO_INFER_TASK = 1000
MOST_CLASS_NUMBERS = 20


@dataclass
class Stream:
    """Batches of rows with a task; `n_items` is None if it is unknown before the end."""

    name: str
    task: Task
    batches: Iterator[Batch]
    n_items: int | None
    kinds: ColumnKinds
    reader: Reader | None = None
    suspicions: list[str] = field(default_factory=list)

    @property
    def share_read(self) -> float | None:
        """The share of the file that was read, if there is one of known size."""
        reader = self.reader
        if reader is None or not reader.n_bytes or reader.n_bytes_read is None:
            return None
        return reader.n_bytes_read / reader.n_bytes

    def notes(self) -> Iterator[str]:
        """Report what looks wrong with columns, and how many rows were skipped."""
        yield from self.suspicions
        if self.reader is not None:
            yield from notes_of(self.reader)

    def reading(self) -> Iterator[str]:
        """Report the kinds of the columns of a table."""
        if self.reader is not None and self.kinds.columns:
            yield f"columns: {columns.summary(self.kinds)}"


def notes_of(reader: Reader) -> Iterator[str]:
    """Report how many rows were skipped, if any, and why the first one was."""
    if reader.n_skipped:
        yield f"rows skipped: {reader.n_skipped:,}; the first: {reader.first_skipped}"


# --- Data sets of river


def bundled_names() -> list[str]:
    """Return the names of river's data sets that need no download and have one target.

    Examples
    --------
    >>> from river_extra_trees.cli import streams
    >>> "ImageSegments" in streams.bundled_names()
    True

    """
    from river import datasets  # which takes over a second, so only where it is needed

    def is_bundled(kind: Any) -> bool:
        file, remote = datasets.base.FileDataset, datasets.base.RemoteDataset
        is_file = inspect.isclass(kind) and issubclass(kind, file) and not issubclass(kind, remote)
        return is_file and kind().n_outputs is None

    return [name for name in datasets.__all__ if is_bundled(getattr(datasets, name))]


def is_bundled(data: str) -> bool:
    """Return whether a stream is a data set bundled with river, by its name."""
    return not is_table(data) and data in bundled_names()


def _bundled(name: str, task: Task | None, kinds: ColumnKinds) -> Stream:
    from river import datasets

    dataset = getattr(datasets, name)()
    own: Task = "regression" if dataset.task == "Regression" else "classification"
    if task not in (None, own):
        raise UserError(f"{name} is a data set for {own}, not for {task}")
    return Stream(name, own, _batches_of(dataset, kinds), dataset.n_samples, kinds)


def _batches_of(samples: Iterable[tuple[Any, Any]], kinds: ColumnKinds) -> Iterator[Batch]:
    """Yield samples in river's form in batches."""
    from river_extra_trees.streams.text import columns_of

    roles = Roles(None, None, (), (), kinds, learns=True, may_lack_targets=False)
    left, number = iter(samples), 1
    while chunk := list(itertools.islice(left, BATCH_SIZE)):
        numbers = range(number, number + len(chunk))
        batch, _ = roles.batch_of(Rows(numbers, columns_of([x for x, _ in chunk])))
        batch.targets = [y for _, y in chunk]
        yield batch
        number += len(chunk)


# --- All streams


def files_of(data: str) -> list[Path | int]:
    """Return the file of a stream by its name; for standard input, the number of the open file.

    Examples
    --------
    >>> from river_extra_trees.cli import streams
    >>> streams.files_of("Phishing"), [str(path) for path in streams.files_of("table.csv")]
    ([], ['table.csv'])

    """
    if data == "-":
        return [0]
    return [] if is_bundled(data) else [Path(data)]


def open_stream(
    data: str,
    *,
    target: str | None = None,
    task: Task | None = None,
    weight: str | None = None,
    kinds: ColumnKinds | None = None,
    drop: Collection[str] = (),
    limit: int | None = None,
    on_bad_row: OnBadRow = "stop",
    encoding: str = "utf-8-sig",
) -> Stream:
    """Open a stream by its name.

    Parameters
    ----------
    data
        The name of a bundled data set, the path of a table, or ``-`` for standard input.
    target
        The column to predict; needed for tables.
    task
        The task; None infers it from the first thousand targets.
    weight
        The column of the weights of a table.
    kinds
        The kinds of the columns, which learn new columns; None begins with unknown kinds.
    drop
        Columns of a table to leave out.
    limit
        Largest number of rows to read.
    on_bad_row
        What happens to rows that cannot be read, ``"stop"`` or ``"skip"``.
    encoding
        The encoding of a text.

    """
    kinds = ColumnKinds() if kinds is None else kinds
    if is_bundled(data):
        if target or weight or drop or (kinds.kinds and not kinds.columns):
            raise UserError(f"{data} is bundled with river: its target and columns are fixed")
        stream = _bundled(data, task, kinds)
    else:
        require_table(data)
        if not target:
            raise UserError("name the column to predict with --target")
        reader = open_table(
            data,
            target=target,
            weight=weight,
            kinds=kinds,
            drop=drop,
            on_bad_row=on_bad_row,
            encoding=encoding,
        )
        stream = _table(reader, kinds, target, task, limit)
    if limit is not None:
        stream.batches = _limited(stream.batches, limit)
        stream.n_items = limit if stream.n_items is None else min(limit, stream.n_items)
    return stream


def open_rows(data: str, *, kinds: ColumnKinds, **choice: Any) -> Reader:
    """Open rows to predict, whose targets may be missing; `choice` goes to `open_table`.

    If the model has no kinds of columns, the first values determine them.
    """
    if is_bundled(data):
        return Reader(data, _bundled(data, None, kinds).batches)
    require_table(data)
    return open_table(data, may_lack_targets=True, kinds=kinds, learns=not kinds.columns, **choice)


def require_table(data: str) -> None:
    """Raise a UserError if a name is not that of a table; `open_table` says more about .json."""
    if not is_table(data) and not data.lower().endswith(".json"):
        raise UserError(
            f"{data!r} is neither a table ({', '.join(SUFFIXES)}; text files also with "
            f"{', '.join(PACKED)}) nor one of river's bundled data sets "
            f"({', '.join(bundled_names())})"
        )


def _table(
    reader: Reader, kinds: ColumnKinds, target: str, task: Task | None, limit: int | None
) -> Stream:
    """Return a table as a stream; infer its task, and examine its first batch."""
    seen: list[Batch] = []
    batches = iter(reader)
    most = min(limit or math.inf, ROWS_TO_INFER_TASK) if task is None else 0
    error: TableError | None = None
    try:
        while sum(map(len, seen)) < most and (batch := next(batches, None)) is not None:
            seen.append(batch)
    except TableError as raised:
        error = raised
    if task is None:
        targets = itertools.chain.from_iterable(batch.targets or () for batch in seen)
        task = infer_task(itertools.islice(targets, int(min(most, ROWS_TO_INFER_TASK))))

    def everything() -> Iterator[Batch]:
        yield from seen
        if error is not None:
            raise error
        yield from batches

    stream = Stream(reader.name, task, everything(), reader.n_rows, kinds, reader)
    if task == "regression":
        stream.batches = _with_numbers(stream.batches, reader, target)
    stream.batches = _examined(stream, stream.batches)
    return stream


def infer_task(targets: Iterable[Any]) -> Task:
    """Return the task: many different or broken numbers are measurements, all others labels."""
    numbers = set()
    for value in targets:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return "classification"
        if isinstance(value, float) and not value.is_integer():
            return "regression"
        numbers.add(value)
    return "regression" if len(numbers) > MOST_CLASS_NUMBERS else "classification"


def _with_numbers(batches: Iterator[Batch], reader: Reader, target: str) -> Iterator[Batch]:
    """Check that every target is a number."""
    for batch in batches:
        faults = {
            number: f"the target {target!r} is {y!r}, not a number"
            for number, y in zip(batch.numbers, batch.targets or (), strict=True)
            if isinstance(y, str) or (isinstance(y, float) and not math.isfinite(y))
        }
        yield from reader.sift(batch, faults)


def _examined(stream: Stream, batches: Iterator[Batch]) -> Iterator[Batch]:
    """Yield the batches of a stream; keep what looks wrong in the first one."""
    for batch in itertools.islice(batches, 1):
        stream.suspicions += columns.suspicions(batch, stream.kinds)
        yield batch
    yield from batches


def _limited(batches: Iterator[Batch], limit: int) -> Iterator[Batch]:
    left = limit
    while left and (batch := next(batches, None)) is not None:
        yield batch[:left]
        left -= min(left, len(batch))


def skip(stream: Stream, n: int) -> None:
    """Skip the first n rows of a stream."""
    for batch in stream.batches:
        if len(batch) > n:
            stream.batches = itertools.chain([batch[n:]], stream.batches)
            return
        n -= len(batch)
    raise UserError(f"{stream.name} has no rows beyond those that the model has learned")
