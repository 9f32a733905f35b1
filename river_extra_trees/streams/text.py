"""CSV and JSON lines, from files and pipes."""

from __future__ import annotations

import collections
import csv
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .batch import TableError

__all__ = ["Rows", "columns_of", "read_text"]

CHUNK = 1 << 18  # bytes
LONGEST_LINE = 1 << 24
DELIMITERS = ",;\t|"


class Rows(NamedTuple):
    """Some rows of a table before their columns have roles and kinds.

    `columns` are arrays of pyarrow, or sequences of Python values. They hold the rows in `numbers`;
    `faults` says, by number, what is wrong with rows that could not be read.
    """

    numbers: Sequence[int]
    columns: Mapping[str, Any]
    faults: Mapping[int, str]


class Lines:
    """The lines of a text in UTF-8. A line of a pipe is there as soon as it has arrived.

    Parameters
    ----------
    name
        The name of the text in messages.
    file
        A binary file or pipe.
    """

    def __init__(self, name: str, file: Any) -> None:
        self.name = name
        self.file = file
        self.ready: collections.deque[bytes] = collections.deque()
        self.rest = b""
        self.is_over = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        while not self.ready:
            if self.is_over:
                raise StopIteration
            self._read()
        try:
            return self.ready.popleft().decode()
        except UnicodeDecodeError as error:
            raise TableError(
                f"{self.name} is not text in UTF-8; convert it, for example by: iconv -f latin1 "
                "-t utf-8"
            ) from error

    def _read(self) -> None:
        """Read what is there, at least one byte."""
        if len(self.rest) > LONGEST_LINE:
            raise TableError(
                f"cannot read {self.name}: a line has more than {LONGEST_LINE:,} bytes"
            )
        try:
            chunk = self.file.read1(CHUNK)
        except (OSError, EOFError, ValueError) as error:
            raise TableError(f"cannot read {self.name}: {error}") from error
        self.is_over = not chunk
        lines = (self.rest + chunk).splitlines(keepends=True)
        is_whole = self.is_over or (lines and lines[-1].endswith(b"\n"))
        self.rest = b"" if is_whole else lines.pop()
        self.ready.extend(lines)


def columns_of(records: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the columns of records; a value that a record lacks is None."""
    names = dict.fromkeys(itertools.chain.from_iterable(records))
    return {name: [record.get(name) for record in records] for name in names}


def read_text(name: str, file: Any, most: int) -> tuple[list[str] | None, Iterator[Rows]]:
    """Return the header of CSV, or None of JSON lines, and an iterator of at most so many rows.

    Rows of a pipe come as soon as they have arrived.
    """
    lines = Lines(name, file)
    first = next(filter(str.strip, lines), "").removeprefix("\ufeff")
    if first.startswith("["):
        raise TableError(
            f"{name} is an array of JSON; make JSON lines of it, one object per line, for "
            "example by: jq -c '.[]' table.json > table.jsonl"
        )
    everything = itertools.chain([first], lines)
    if first.startswith("{"):
        return None, _grouped(lines, _json_records(everything), columns_of, most)
    delimiter = max(DELIMITERS, key=first.count)
    reader = csv.reader(everything, delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        header = next(reader) if first else []
    except csv.Error as error:
        raise TableError(f"cannot read the header of {name}: {error}") from error
    names = [each.strip() for each in header]

    def columns(rows: list[Any]) -> dict[str, Any]:
        cells = zip(*rows, strict=True) if rows else ((),) * len(names)
        return dict(zip(names, cells, strict=True))

    return names, _grouped(lines, _csv_records(reader, header), columns, most)


# A record is a row, a text that says what is wrong with the row, or None to skip it.


def _csv_records(
    reader: Iterator[list[str]], header: list[str]
) -> Iterator[list[str] | str | None]:
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield f"not CSV: {error}"
            continue
        if cells == header:  # `tail -F` shows it again when a log is rotated
            yield None
        elif len(cells) == len(header):
            yield cells
        elif cells:  # blank lines are no rows
            yield f"{len(cells)} fields, but the header has {len(header)}"


def _json_records(lines: Iterable[str]) -> Iterator[Mapping[str, Any] | str]:
    for line in filter(str.strip, lines):
        try:
            record = json.loads(line)
            if "\\u" in line:
                json.dumps(record, ensure_ascii=False).encode()  # rejects halves of characters
            yield record if isinstance(record, dict) else "not a JSON object"
        except (ValueError, RecursionError) as error:
            yield f"not JSON: {error}"


def _grouped(
    lines: Lines, records: Iterator[Any], columns: Callable[[list[Any]], Any], most: int
) -> Iterator[Rows]:
    """Yield the records that have arrived, at most so many at a time."""
    numbered = enumerate(records, start=1)
    is_over = False
    while not is_over:
        is_over = True
        numbers, good, faults = [], [], {}
        for number, record in numbered:
            if isinstance(record, str):
                faults[number] = record
            elif record is not None:
                numbers.append(number)
                good.append(record)
            if not lines.ready or len(numbers) + len(faults) >= most:
                is_over = False
                break
        yield Rows(numbers, columns(good), faults)
