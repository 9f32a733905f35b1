"""Streams to race on: data sets bundled with river, tables, standard input.

A stream is read once, batch by batch, so files larger than memory and endless pipes work, too. The
package `river_extra_trees.streams` reads the tables; what cannot be read raises a `UserError`.
"""

from __future__ import annotations

import inspect
import itertools
import math
import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from river_extra_trees.cli import ClosedInputError, UserError, columns
from river_extra_trees.column_kinds import ColumnKinds
from river_extra_trees.streams import BadRows, Batch, OnBadRow, Reader, TableError, open_table
from river_extra_trees.streams.reader import BATCH_SIZE, SUFFIXES, is_table
from river_extra_trees.streams.sources import PACKED

Task = Literal["classification", "regression"]

# Rows read to tell class numbers from measurements, and the largest number of class numbers.
ROWS_TO_INFER_TASK = 1000
STANDARD_INPUT = 0
MOST_CLASS_NUMBERS = 20


@dataclass
class Stream:
    """Batches of rows with a task; `n_items` is None if it is unknown before the end."""

    name: str
    task: Task
    batches: Iterator[Batch]
    n_items: int | None
    reader: Reader | None = None
    kinds: ColumnKinds = field(default_factory=ColumnKinds)
    suspicions: list[str] = field(default_factory=list)

    @property
    def rows(self) -> Iterator[tuple[dict[str, Any], Any]]:
        """Features and target of each row."""
        for batch in self.batches:
            targets = [None] * len(batch) if batch.targets is None else batch.targets
            yield from zip(batch.rows(), targets, strict=True)

    @property
    def share_read(self) -> float | None:
        """The share of the file that was read, if there is one of known size."""
        reader = self.reader
        if reader is None or not reader.n_bytes or reader.n_bytes_read is None:
            return None
        return reader.n_bytes_read / reader.n_bytes

    def notes(self) -> Iterator[str]:
        """Say what looks wrong with columns, how many rows were skipped, and why."""
        yield from self.suspicions
        if self.bad_rows is not None:
            yield from notes_of(self.bad_rows)

    def reading(self) -> Iterator[str]:
        """Say what kinds the columns of a table have."""
        if self.reader is not None and self.kinds.columns:
            yield f"columns: {columns.summary(self.kinds)}"

    @property
    def bad_rows(self) -> BadRows | None:
        """The rows that were skipped; None where none can be."""
        return None if self.reader is None else self.reader.bad_rows


def notes_of(bad_rows: BadRows) -> Iterator[str]:
    """Say how many rows were skipped, if any, and why."""
    if bad_rows.count:
        yield f"rows skipped: {bad_rows.count:,}; the first: {bad_rows.first}"


def bundled_names() -> list[str]:
    """Return the names of river's data sets that need no download and have one target.

    Examples
    --------
    >>> from river_extra_trees.cli import streams
    >>> "ImageSegments" in streams.bundled_names()
    True

    """
    from river import datasets  # which takes over a second, so only where it is needed

    def is_local(candidate: object) -> bool:
        return (
            inspect.isclass(candidate)
            and issubclass(candidate, datasets.base.FileDataset)
            and not issubclass(candidate, datasets.base.RemoteDataset)
            and cast(Any, candidate)().n_outputs is None
        )

    return [name for name in datasets.__all__ if is_local(getattr(datasets, name))]


def is_bundled(data: str) -> bool:
    """Return whether a stream is a data set bundled with river, by its name."""
    return not is_table(data) and data in bundled_names()


def files_of(data: str) -> list[Path | int]:
    """Return the file of a stream by its name; for standard input, the number of the open file.

    Examples
    --------
    >>> from river_extra_trees.cli import streams
    >>> streams.files_of("Phishing"), [str(path) for path in streams.files_of("table.csv")]
    ([], ['table.csv'])

    """
    if is_bundled(data):
        return []
    if data != "-":
        return [Path(data)]
    if sys.stdin is None:
        raise ClosedInputError("the standard input is closed; pipe a table into the command")
    return [STANDARD_INPUT]


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
        The kinds of the columns, which learn new columns; None begins anew.
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
        if not target:
            require_table(data)
            raise UserError("name the column to predict with --target")
        reader = open_reader(
            data,
            **{"target": target, "weight": weight, "kinds": kinds, "drop": drop},
            **{"on_bad_row": on_bad_row, "encoding": encoding},
        )
        stream = _table(reader, target, task, limit)
        stream.kinds = kinds
        stream.batches = _examined(stream, stream.batches)
    if limit is not None:
        stream.batches = _limited(stream.batches, limit)
        stream.n_items = limit if stream.n_items is None else min(limit, stream.n_items)
    return stream


def open_reader(data: str, **choice: Any) -> Reader:
    """Open a table whose errors are a `UserError`; `choice` goes to `open_table`."""
    require_table(data)
    try:
        reader = open_table(data, **choice)
    except TableError as error:
        raise UserError(str(error)) from error
    reader.batches = _with_user_errors(reader.batches)
    return reader


def open_rows(data: str, *, kinds: ColumnKinds, **choice: Any) -> Reader:
    """Open rows to predict, whose targets may be missing; `choice` goes to `open_table`.

    Without known columns, the first values determine the kinds.
    """
    if is_bundled(data):
        return Reader(data, _bundled(data, None, kinds).batches, BadRows(data, "stop"))
    learns = not kinds.columns
    return open_reader(data, may_lack_targets=True, kinds=kinds, learns=learns, **choice)


def require_table(data: str) -> None:
    """Raise a UserError if a name is not that of a table; `open_table` says more about .json."""
    if not is_table(data) and not data.lower().endswith(".json"):
        raise UserError(
            f"{data!r} is neither a table ({', '.join(SUFFIXES)}; text files also with "
            f"{', '.join(PACKED)}) nor one of river's bundled data sets "
            f"({', '.join(bundled_names())})"
        )


def _with_user_errors(batches: Iterator[Batch]) -> Iterator[Batch]:
    try:
        yield from batches
    except TableError as error:
        raise UserError(str(error)) from error


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


def _bundled(name: str, task: Task | None, kinds: ColumnKinds) -> Stream:
    from river import datasets

    from river_extra_trees.streams.text import batches_of_records

    dataset = getattr(datasets, name)()
    own: Task = "regression" if dataset.task == "Regression" else "classification"
    if task not in (None, own):
        raise UserError(f"{name} is a data set for {own}, not for {task}")
    batches = batches_of_records(dataset, BATCH_SIZE, kinds)
    return Stream(name, own, batches, dataset.n_samples, kinds=kinds)


def _table(reader: Reader, target: str, task: Task | None, limit: int | None) -> Stream:
    """Return a table as a stream, and infer its task."""
    batches = iter(reader)
    if task is None:
        most = ROWS_TO_INFER_TASK if limit is None else min(limit, ROWS_TO_INFER_TASK)
        seen, batches = _ahead(batches, most)
        targets = itertools.chain.from_iterable(batch.targets or () for batch in seen)
        task = infer_task(itertools.islice(targets, most))
    if task == "regression":
        batches = _with_user_errors(_with_numbers(batches, reader.bad_rows, target))
    return Stream(reader.name, task, batches, reader.n_rows, reader)


def _ahead(batches: Iterator[Batch], n_rows: int) -> tuple[list[Batch], Iterator[Batch]]:
    """Return the batches that hold the first rows, and all batches; errors come in their turn."""
    seen: list[Batch] = []
    error: UserError | None = None
    try:
        while sum(map(len, seen)) < n_rows and (batch := next(batches, None)) is not None:
            seen.append(batch)
    except UserError as raised:
        error = raised

    def everything() -> Iterator[Batch]:
        yield from seen
        if error is not None:
            raise error
        yield from batches

    return seen, everything()


def infer_task(targets: Iterable[Any]) -> Task:
    """Take many or broken numbers for measurements and everything else for labels."""
    numbers = set()
    for value in targets:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return "classification"
        if isinstance(value, float) and not value.is_integer():
            return "regression"
        numbers.add(value)
    return "regression" if len(numbers) > MOST_CLASS_NUMBERS else "classification"


def _with_numbers(batches: Iterator[Batch], bad_rows: BadRows, target: str) -> Iterator[Batch]:
    """Check that every target is a number."""
    for batch in batches:
        faults = {
            i: f"the target {target!r} is {y!r}, not a number"
            for i, y in enumerate(batch.targets or ())
            if isinstance(y, str) or (isinstance(y, float) and not math.isfinite(y))
        }
        yield from bad_rows.sift(batch, faults)
