"""Streams for the commands: data sets bundled with river, tables, standard input.

A stream is read once, batch by batch. It may therefore be larger than memory, or a pipe without an
end.
"""

from __future__ import annotations

import inspect
import itertools
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from river_extra_trees._estimator.fit import listed, near
from river_extra_trees._estimator.kinds import NOMINAL, NUMBER, family_of, reader_of
from river_extra_trees.cli import UserError
from river_extra_trees.cli.suspicions import suspicions
from river_extra_trees.column_kinds import ColumnKinds
from river_extra_trees.streams import Batch, Reader, TableError, open_table
from river_extra_trees.streams.reader import BATCH_SIZE, is_table, peeked
from river_extra_trees.streams.text import Rows, columns_of

Task = Literal["classification", "regression"]

# In the first of them, the task is inferred from the targets, and what looks wrong is found. Whole
# numbers are classes if there are at most `MOST_CLASS_NUMBERS` different ones.
ROWS_TO_LOOK_AT = 1000
MOST_CLASS_NUMBERS = 20


@dataclass
class Stream:
    """Batches of rows with a task; `n_items` is None if it is unknown before the end."""

    name: str
    task: Task
    batches: Iterator[Batch]
    n_items: int | None
    reader: Reader
    first: list[Batch] = field(default_factory=list)

    def look(self, most: int = ROWS_TO_LOOK_AT) -> list[Batch]:
        """Return the first rows, which remain to be read; wait for them if they come by a pipe."""
        if not self.first:
            self.first, self.batches = peeked(self.batches, len, most)
        return self.first

    def first_labels(self) -> Iterator[Any]:
        """Yield the targets of the first rows."""
        return (y for batch in self.look() for y in batch.targets or ())

    def warnings(self) -> Iterator[str]:
        """Say what looks wrong in the first rows, if they have been read."""
        reader = self.reader
        if not is_bundled(self.name):
            yield from zeros_in(reader)
            yield from suspicions(self.first, reader.kinds, reader.target, reader.untyped)

    def notes(self) -> Iterator[str]:
        """Report the kinds of the columns of a table, and the rows that were skipped."""
        if not is_bundled(self.name):
            by_kind: dict[str, list[Any]] = {}
            for name, kind in self.reader.kinds.columns.items():
                by_kind.setdefault(kind, []).append(name)
            kinds = (f"{len(names)} {kind}: {listed(names)}" for kind, names in by_kind.items())
            yield f"columns: {'; '.join(kinds)}"
        yield from notes_of(self.reader)


def zeros_in(reader: Reader) -> Iterator[str]:
    """Say which columns of numbers look like codes, because they have zeros in front."""
    for name, text in reader.zeros.items():
        is_number = name == reader.target or reader.kinds.columns.get(name) == NUMBER
        if is_number and name not in (reader.kinds.kinds or ()):
            yield (
                f"column {name!r} has zeros in front, as in {text!r}, and is read as numbers; "
                f"--kind {shlex.quote(name)}=nominal reads names"
            )


def notes_of(reader: Reader) -> Iterator[str]:
    """Report how many rows were skipped and cells read as missing, if any, and why.

    Also name the columns of options that no row has; other tables than JSON lines lack them only if
    a model has learned columns before.
    """
    named: list[Any] = [*reader.drop, *reader.keep, *(reader.kinds.kinds or ())]
    known: set[Any] = {*reader.names, *reader.kinds.columns, *reader.kinds._roles}
    if reader.names and (absent := [name for name in dict.fromkeys(named) if name not in known]):
        yield f"no row has the column{'s' * (len(absent) > 1)} {listed(absent)}"
    if reader.n_skipped:
        yield f"rows skipped: {reader.n_skipped:,}; the first: {reader.first_skipped}"
    if reader.bad_cells:
        counts = ", ".join(f"{n:,} in {name!r}" for name, n in reader.bad_cells.items())
        yield f"cells read as missing: {counts}; the first: {reader.first_bad_cell}"


def kinds_of(
    kind: list[str] | None,
    saved: ColumnKinds | None = None,
    missing: list[str] | None = None,
) -> ColumnKinds:
    """Return the kinds and missing words that the user declares, with those of a saved model.

    A column of a saved model may be written in another way: a date in another format, a number
    with a decimal comma.
    """
    found: dict[Any, str] = {}
    for text in kind or ():
        name, equals, each = text.rpartition("=")
        if not equals:
            raise UserError(f"--kind is {text!r}; write it as COLUMN=KIND, such as zip=nominal")
        if found.setdefault(name, each) != each:
            raise UserError(f"--kind: the column {name!r} has two kinds, {found[name]} and {each}")
    known = {} if saved is None else {**(saved.kinds or {}), **saved.columns}
    words = (*((saved and saved.missing_words) or ()), *(missing or ()))
    try:
        declared = {**((saved and saved.kinds) or {}), **found}
        kinds = ColumnKinds(declared or None, words or None, bool(saved and saved.strict))
    except ValueError as error:
        raise UserError(f"--kind: {error}") from error
    for name, each in found.items():
        if name in known and family_of(known[name]) != family_of(each):
            raise UserError(f"the model has learned the column {name!r} as {known[name]!r}")
    if saved is not None:
        kinds._take_over(saved)
    kinds._columns |= {name: each for name, each in found.items() if name in kinds._columns}
    return kinds


# --- Data sets of river


def bundled_names() -> list[str]:
    """Return the names of river's data sets that need no download and have one target.

    Examples
    --------
    >>> from river_extra_trees.cli import streams
    >>> "ImageSegments" in streams.bundled_names()
    True

    """
    from river import datasets  # importing it takes over a second

    def is_one(kind: Any) -> bool:
        file, remote = datasets.base.FileDataset, datasets.base.RemoteDataset
        is_file = inspect.isclass(kind) and issubclass(kind, file) and not issubclass(kind, remote)
        return is_file and kind().n_outputs is None

    return [name for name in datasets.__all__ if is_one(getattr(datasets, name))]


def is_bundled(data: str) -> bool:
    """Return whether a stream is a data set bundled with river, by its name."""
    return not is_table(data) and data in bundled_names()


def _open_bundled(name: str, kinds: ColumnKinds | None, predicts: bool) -> tuple[Reader, Task]:
    from river import datasets

    dataset = getattr(datasets, name)()
    reader = Reader(name, kinds=kinds, target="target", predicts=predicts)
    samples = ({**x, "target": y} for x, y in dataset)

    def rows() -> Iterator[Rows]:
        first = 1
        while part := list(itertools.islice(samples, BATCH_SIZE)):
            yield Rows(range(first, first + len(part)), columns_of(part), {})
            first += len(part)

    reader.rows, reader.n_rows, reader.has_header = rows(), dataset.n_samples, False
    return reader, "regression" if dataset.task == "Regression" else "classification"


# --- All streams


def open_reader(data: str, *, predicts: bool = False, **roles: Any) -> tuple[Reader, Task | None]:
    """Open a data set or a table by its name; return its task if it is known.

    `roles` goes to `open_table`.
    """
    if is_bundled(data):
        kinds = roles.get("kinds")
        if any(roles.get(name) for name in ("target", "weight", "drop", "keep")) or (
            kinds is not None and kinds.kinds and not kinds.columns
        ):
            raise UserError(f"{data} is bundled with river: its target and columns are fixed")
        return _open_bundled(data, kinds, predicts)
    try:
        return open_table(data, predicts=predicts, **roles), None
    except TableError as error:
        if is_table(data):
            raise
        names = bundled_names()
        found = near(data, names).replace("there are", "river's data sets are")
        raise UserError(f"{error}{found}") from error


def open_stream(
    data: str, *, task: Task | None = None, limit: int | None = None, **roles: Any
) -> Stream:
    """Open a stream to learn by its name.

    Parameters
    ----------
    data
        The name of a bundled data set, the path of a table, or ``-`` for standard input.
    task
        The task; None infers it from the first targets.
    limit
        Largest number of rows to read.
    roles
        Arguments of `open_table`; a table needs a `target`.

    """
    if is_table(data) and not roles.get("target"):
        raise UserError("name the column to predict with --target")
    reader, known = open_reader(data, **roles)
    if known and task not in (None, known):
        raise UserError(f"{data} is a data set for {known}, not for {task}")
    n_items = reader.n_rows
    if limit is not None:
        n_items = limit if n_items is None else min(limit, n_items)
    task = known or task
    reader.has_numeric_targets = task == "regression"
    stream = Stream(reader.name, task or "classification", iter(reader), n_items, reader)
    if task is None or data != "-":
        stream.look(min(ROWS_TO_LOOK_AT, limit or ROWS_TO_LOOK_AT))
    if task is None:
        stream.task = infer_task(stream.first_labels())
        reader.has_numeric_targets = stream.task == "regression"
    if limit is not None:
        stream.batches = _limited(stream.batches, limit)
    return stream


def infer_task(targets: Iterable[Any]) -> Task:
    """Return the task: regression for many different numbers or for fractions."""
    numbers = set(targets)
    if any(isinstance(y, bool) or not isinstance(y, int | float) for y in numbers):
        return "classification"
    has_fraction = any(isinstance(y, float) and not y.is_integer() for y in numbers)
    return "regression" if has_fraction or len(numbers) > MOST_CLASS_NUMBERS else "classification"


def relabelled(batches: Iterable[Batch], labels: Iterable[Any]) -> Iterator[Batch]:
    """Yield batches with the labels that a model knows in place of targets with the same text.

    A label 7 of CSV may be the text 7 in another file, and the other way round.

    Examples
    --------
    >>> from river_extra_trees.cli.streams import relabelled
    >>> [batch] = relabelled([Batch([1, 2, 3], None, ["7", "x", True])], [7, "true"])
    >>> batch.targets
    [7, 'x', 'true']

    """
    name = reader_of(NOMINAL)
    plain = [each for each in labels if isinstance(each, str | bool | int | float)]
    known = {name(each): each for each in reversed(plain)}
    kept = set(plain)
    for batch in batches:
        targets = batch.targets
        if targets is not None and not kept.issuperset(targets):
            targets = [y if y in kept else known.get(name(y), y) for y in targets]
        yield replace(batch, targets=targets)


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
