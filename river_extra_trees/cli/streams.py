"""Streams to race on: data sets bundled with river, CSV and Parquet files, standard input.

A stream is an iterator of pairs ``(x, y)`` that is read once, one row at a time, so files larger
than memory and endless pipes work, too. A row that cannot be read raises a `UserError` with its
number; the first row below the header is row 1.
"""

from __future__ import annotations

import csv
import datetime
import gzip
import inspect
import itertools
import math
import sys
import zlib
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from river import datasets

from river_extra_trees.cli import UserError

Task = Literal["classification", "regression"]
Row = tuple[dict[str, Any], Any]

MISSING = frozenset({"", "?", "NA", "N/A", "NaN", "nan", "null"})
# Rows read to tell class numbers from measurements, and the largest number of class numbers.
ROWS_TO_INFER_TASK = 1000
MOST_CLASS_NUMBERS = 20


@dataclass
class Stream:
    """Rows with a task; `n_items` is None if it is unknown before the end."""

    name: str
    task: Task
    rows: Iterator[Row]
    n_items: int | None


def bundled_names() -> list[str]:
    """Return the names of river's data sets that need no download and have one target.

    Examples
    --------
    >>> from river_extra_trees.cli import streams
    >>> "ImageSegments" in streams.bundled_names()
    True

    """
    return [name for name in datasets.__all__ if _is_bundled(getattr(datasets, name))]


def files_of(data: str) -> list[Path]:
    """Return the file of a stream by its name; for standard input, its device.

    Examples
    --------
    >>> from river_extra_trees.cli import streams
    >>> streams.files_of("Phishing"), streams.files_of("table.csv")
    ([], [PosixPath('table.csv')])

    """
    if data in bundled_names():
        return []
    return [Path("/dev/stdin" if data == "-" else data)]


def _is_bundled(candidate: object) -> bool:
    return (
        inspect.isclass(candidate)
        and issubclass(candidate, datasets.base.FileDataset)
        and not issubclass(candidate, datasets.base.RemoteDataset)
        and cast(Any, candidate)().n_outputs is None
    )


def open_stream(
    data: str,
    *,
    target: str | None = None,
    task: Task | None = None,
    nominal: Collection[str] = (),
    limit: int | None = None,
) -> Stream:
    """Open a stream by its name.

    Parameters
    ----------
    data
        The name of a bundled data set, the path of a ``.csv``, ``.csv.gz`` or ``.parquet`` file,
        or ``-`` for CSV on standard input.
    target
        The column to predict; needed for files and standard input.
    task
        The task; None infers it from the first thousand targets.
    nominal
        Columns of a CSV whose numbers are names.
    limit
        Largest number of rows to read.

    """
    if data in bundled_names():
        if target or nominal:
            raise UserError(f"{data} is bundled with river: its target and columns are fixed")
        stream = _bundled(data, task)
    else:
        stream = _table(data, target, task, nominal, limit)
    if limit is not None:
        stream.rows = itertools.islice(stream.rows, limit)
        stream.n_items = limit if stream.n_items is None else min(limit, stream.n_items)
    return stream


def _bundled(name: str, task: Task | None) -> Stream:
    dataset = getattr(datasets, name)()
    own: Task = "regression" if dataset.task == "Regression" else "classification"
    if task not in (None, own):
        raise UserError(f"{name} is a data set for {own}, not for {task}")
    rows = ((_plain(x, row), y) for row, (x, y) in enumerate(dataset, start=1))
    return Stream(name, own, rows, dataset.n_samples)


def _table(
    data: str,
    target: str | None,
    task: Task | None,
    nominal: Collection[str],
    limit: int | None,
) -> Stream:
    """Open a CSV or Parquet table and infer its task."""
    is_csv = data == "-" or data.endswith((".csv", ".csv.gz"))
    if not is_csv and not data.endswith(".parquet"):
        raise UserError(
            f"{data!r} is neither a .csv, .csv.gz or .parquet file nor one of river's bundled "
            f"data sets ({', '.join(bundled_names())})"
        )
    if data != "-" and not Path(data).is_file():
        raise UserError(f"there is no file {data!r}")
    if not target:
        raise UserError("name the column to predict with --target")
    n_items = None
    if is_csv:
        name = "standard input" if data == "-" else data
        pairs = _read_csv(name, _lines(data, name), target, nominal)
    else:
        name = data
        pairs, n_items = _read_parquet(name, target)
    if task is None:
        most = ROWS_TO_INFER_TASK if limit is None else min(limit, ROWS_TO_INFER_TASK)
        seen = list(itertools.islice(pairs, most))
        task = _infer_task([y for _, y in seen])
        pairs = itertools.chain(seen, pairs)
    rows = _with_targets(name, pairs, target, task)
    return Stream(name, task, rows, n_items)


def open_rows(
    data: str, *, target: str | None = None, nominal: Collection[str] = ()
) -> tuple[str, Iterator[Row]]:
    """Open rows to predict, whose targets may be missing; return their name, too."""
    if data in bundled_names():
        return data, _bundled(data, None).rows
    name = "standard input" if data == "-" else data
    if data == "-" or data.endswith((".csv", ".csv.gz")):
        return name, _read_csv(name, _lines(data, name), target, nominal)
    if data.endswith(".parquet"):
        return name, _read_parquet(name, target)[0]
    raise UserError(
        f"{data!r} is neither a .csv, .csv.gz or .parquet file nor one of river's bundled "
        f"data sets ({', '.join(bundled_names())})"
    )


def _infer_task(targets: Iterable[Any]) -> Task:
    """Take many or broken numbers for measurements and everything else for labels."""
    numbers = set()
    for value in targets:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return "classification"
        if value != math.floor(value):
            return "regression"
        numbers.add(value)
    return "regression" if len(numbers) > MOST_CLASS_NUMBERS else "classification"


def _with_targets(name: str, pairs: Iterable[Row], target: str, task: Task) -> Iterator[Row]:
    """Check that every row has a target, and for regression that it is a number."""
    for row, (x, y) in enumerate(pairs, start=1):
        if y is None:
            raise UserError(f"{name}, row {row}: the target {target!r} is missing")
        if task == "regression" and (isinstance(y, str) or not math.isfinite(y)):
            raise UserError(f"{name}, row {row}: the target {target!r} is {y!r}, not a number")
        yield x, y


# --- CSV


def _lines(data: str, name: str) -> Iterator[str]:
    """Yield the lines of a text file, packed or not, or of standard input."""
    opened = gzip.open if data.endswith(".gz") else open
    try:
        if data == "-":
            yield from sys.stdin
        else:
            # newline="" leaves line ends to the CSV reader, which knows quoted ones.
            with cast(Any, opened)(data, "rt", encoding="utf-8-sig", newline="") as file:
                yield from file
    except UnicodeDecodeError as error:
        raise UserError(f"{name} is not text in UTF-8: {error.reason}") from error
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"cannot read {name}: {error}") from error


def _read_csv(
    name: str, lines: Iterator[str], target: str | None, nominal: Collection[str]
) -> Iterator[Row]:
    """Yield rows whose cells are numbers, strings, or absent when missing."""
    reader = csv.reader(lines, skipinitialspace=True, strict=True)
    try:
        header = next(reader, [])
    except csv.Error as error:
        raise UserError(f"{name}, header: {error}") from error
    _check_header(name, header, [*([target] if target else []), *nominal])
    position = header.index(target) if target else None
    cells: list[Callable[[str], Any]] = [
        str if column in nominal else _Cell(column) for column in header
    ]
    for row in itertools.count(1):
        try:
            fields = next(reader, None)
            if fields is None:
                return
            if not fields:  # an empty line, most often the last one
                continue
            if len(fields) != len(header):
                raise ValueError(f"{len(fields)} fields, but the header has {len(header)}")
            text = "" if position is None else fields[position]
            y = None if text in MISSING else _label(text)
            x = {
                column: cell(field)
                for column, cell, field in zip(header, cells, fields, strict=True)
                if field not in MISSING
            }
        except (ValueError, csv.Error) as error:
            raise UserError(f"{name}, row {row}: {error}") from error
        if target is not None:
            x.pop(target, None)
        yield x, y


def _check_header(name: str, header: list[str], wanted: Iterable[str]) -> None:
    if not header:
        raise UserError(f"{name} is empty")
    for column in wanted:
        if column not in header:
            raise UserError(f"{name} has no column {column!r}; it has {', '.join(header)}")
    twice = [column for column in header if header.count(column) > 1]
    if twice:
        raise UserError(f"{name} has the column {twice[0]!r} twice")


class _Cell:
    """Read the cells of one column as numbers or as names, whichever its first cell is."""

    def __init__(self, column: str) -> None:
        self.column = column
        self.is_number: bool | None = None

    def __call__(self, text: str) -> float | str:
        if self.is_number is None:
            self.is_number = _is_number(text)
        if not self.is_number:
            return text
        if not _is_number(text):
            raise ValueError(
                f"column {self.column!r} holds {text!r} among numbers "
                f"(--nominal {self.column} reads its numbers as names)"
            )
        number = float(text)
        if math.isinf(number):
            raise ValueError(f"column {self.column!r} is infinite")
        return number


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _label(text: str) -> Hashable:
    """Return a target in the form of river's data sets, so that metrics recognise True and 1.

    Examples
    --------
    >>> from river_extra_trees.cli.streams import _label
    >>> [_label(text) for text in ("1", "2.50", "true", "spam")]
    [1, 2.5, True, 'spam']

    """
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if not _is_number(text):
        return text
    number = float(text)
    return int(number) if number.is_integer() else number


# --- Parquet


def _read_parquet(name: str, target: str | None) -> tuple[Iterator[Row], int]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise UserError("Parquet files need pyarrow: pip install pyarrow") from error
    try:
        file = parquet.ParquetFile(name)
    except (OSError, pyarrow.ArrowException) as error:
        raise UserError(f"cannot read {name}: {str(error).splitlines()[0]}") from error
    _check_header(name, file.schema_arrow.names, [target] if target else [])
    return _parquet_rows(name, file, target), file.metadata.num_rows


def _parquet_rows(name: str, file: Any, target: str | None) -> Iterator[Row]:
    batches = file.iter_batches(batch_size=1024)
    records = itertools.chain.from_iterable(batch.to_pylist() for batch in batches)
    for row, record in enumerate(records, start=1):
        y = record.pop(target) if target else None
        try:
            x = _plain(record, row)
        except UserError as error:
            raise UserError(f"{name}, {error}") from error
        yield x, y


def _plain(x: dict[str, Any], row: int) -> dict[str, Any]:
    """Drop missing values and convert dates and times to seconds."""
    plain = {}
    for column, value in x.items():
        if isinstance(value, datetime.date):
            value = _seconds(value)
        if value is None or value != value:
            continue
        if isinstance(value, float) and math.isinf(value):
            raise UserError(f"row {row}: column {column!r} is infinite")
        plain[column] = value
    return plain


def _seconds(moment: datetime.date) -> float:
    """Return the seconds since 1970; a moment without a time zone is in UTC."""
    if not isinstance(moment, datetime.datetime):
        moment = datetime.datetime(moment.year, moment.month, moment.day)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return moment.timestamp()
