"""CSV and JSON lines, from files and pipes."""

from __future__ import annotations

import codecs
import collections
import csv
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from river_extra_trees._estimator.kinds import MISSING
from river_extra_trees._estimator.texts import is_certain_number

from .batch import Fault, TableError

__all__ = ["Lines", "Rows", "columns_of", "read_text"]

CHUNK = 1 << 18  # bytes
LONGEST_LINE = 1 << 24
MARKS_OF_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# How files begin that are no texts, and what they are.
NO_TEXTS = {
    b"\x1f\x8b": "is compressed by gzip; its name must end in .gz",
    b"PK\x03\x04": "is an archive, such as a workbook of Excel; save it as CSV",
    b"\xd0\xcf\x11\xe0": "is a document, such as a workbook of Excel; save it as CSV",
    b"PAR1\x15": "is Parquet; its name must end in .parquet or .pq",
    b"ARROW1\0": "is an Arrow file; its name must end in .arrow, .feather or .ipc",
}
DELIMITERS = ",;\t|"
# Lines between two quotation marks, each with as many delimiters as a row, are rows and no text if
# there are so many of them, or so many numbers where the row before them has numbers.
MOST_LIKE_ROWS = 8
MOST_NUMBERS = 2


class Rows(NamedTuple):
    """Some rows of a table before their columns have roles and kinds.

    `columns` are arrays of pyarrow, or sequences of Python values. They hold the rows in `numbers`;
    `faults` says, by number, what is wrong with rows that could not be read.
    """

    numbers: Sequence[int]
    columns: Mapping[str, Any]
    faults: Mapping[int, str]


class Lines:
    """The lines of a text. A line of a pipe is there as soon as it has arrived.

    Parameters
    ----------
    name
        The name of the text in messages.
    file
        A binary file or pipe.
    encoding
        The encoding; None is UTF-8, or UTF-16 if the text begins with its mark.

    Attributes
    ----------
    n_records
        Number of records that were made of the lines so far, bad ones included.
    """

    def __init__(self, name: str, file: Any, encoding: str | None = None) -> None:
        self.name = name
        self.file = file
        self.encoding = encoding
        self.decoder: codecs.IncrementalDecoder | None = None  # None: UTF-8
        self.has_begun = False
        self.ready: collections.deque[bytes] = collections.deque()
        self.rest = b""
        self.is_over = False
        self.n_records = 0
        self.n_read = self.n_given = 0  # bytes

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        while not self.ready:
            if self.is_over:
                raise StopIteration
            self._read()
        line = self.ready.popleft()
        self.n_given += len(line)
        try:
            return line.decode()
        except UnicodeDecodeError as error:
            raise self.undecodable("UTF-8") from error

    def put_back(self, lines: Sequence[str]) -> None:
        """Put lines back that were read; they are read again."""
        encoded = [line.encode() for line in reversed(lines)]
        self.ready.extendleft(encoded)
        self.n_given -= sum(map(len, encoded))

    @property
    def share_given(self) -> float:
        """The share of the text read so far whose lines were given."""
        return self.n_given / max(1, self.n_read)

    def undecodable(self, encoding: str) -> TableError:
        """Return the error of a text in another encoding."""
        text = f"{self.name} is not text in {encoding}; name its encoding"
        return TableError(text, Fault(text, "encoding"))

    def _decoded(self, chunk: bytes) -> bytes:
        """Return a part of the text in UTF-8."""
        if not self.has_begun:
            self.has_begun = True
            for mark, text in NO_TEXTS.items():
                if chunk.startswith(mark):
                    raise TableError(f"{self.name} {text}")
            if self.encoding is None and chunk.startswith(MARKS_OF_UTF_16):
                self.encoding = "utf-16"
            if self.encoding is not None:
                self.decoder = codecs.getincrementaldecoder(self.encoding)()
        if self.decoder is None:
            return chunk
        try:
            return self.decoder.decode(chunk, final=not chunk).encode()
        except UnicodeError as error:
            raise self.undecodable(self.encoding or "UTF-16") from error

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
        text = self._decoded(chunk)
        self.n_read += len(text)
        lines = (self.rest + text).splitlines(keepends=True)
        is_whole = self.is_over or (lines and lines[-1].endswith(b"\n"))
        self.rest = b"" if is_whole else lines.pop()
        self.ready.extend(lines)


def columns_of(records: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the columns of records; a value that a record lacks is None."""
    names = dict.fromkeys(itertools.chain.from_iterable(records))
    return {name: [record.get(name) for record in records] for name in names}


def read_text(lines: Lines, most: int) -> tuple[list[str] | None, Iterator[Rows]]:
    """Return the header of CSV, or None of JSON lines, and an iterator of at most so many rows.

    Rows of a pipe come as soon as they have arrived.
    """
    name = lines.name
    first = next(filter(str.strip, lines), "").removeprefix("\ufeff")
    if "\0" in first:
        raise lines.undecodable(lines.encoding or "UTF-8")
    if first.startswith("["):
        raise TableError(
            f"{name} is an array of JSON; make JSON lines of it, one object per line, for "
            "example by: jq -c '.[]' table.json > table.jsonl"
        )
    if first.startswith("{"):
        everything = itertools.chain([first], lines)
        return None, _grouped(lines, _json_records(everything), columns_of, most)
    records = Records(lines, first, max(DELIMITERS, key=first.count))
    try:
        header = next(records.reader) if first else []
    except csv.Error as error:
        raise TableError(f"cannot read the header of {name}: {error}") from error
    names = [each.strip() for each in header]
    while names and not names[-1]:  # columns without a name at the end are no columns
        names.pop()

    def columns(rows: list[Any]) -> dict[str, Any]:
        cells = zip(*rows, strict=True) if rows else ((),) * len(header)
        return dict(zip(names, cells, strict=False))

    return names, _grouped(lines, records.after(header, len(names)), columns, most)


class Records:
    """The records of CSV. One that a stray quotation mark begins is a bad row of one line.

    Parameters
    ----------
    lines
        The lines after the first one.
    first
        The first line.
    delimiter
        What stands between fields.
    """

    def __init__(self, lines: Lines, first: str, delimiter: str) -> None:
        self.lines, self.delimiter = lines, delimiter
        self.first = first
        self.taken: list[str] = []  # the lines of a record
        self.row: list[str] = []  # the latest of a single line
        self.reader = csv.reader(self, delimiter=delimiter, skipinitialspace=True, strict=True)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        """Return the next line, for the reader."""
        line, self.first = self.first or next(self.lines), ""
        self.taken.append(line)
        return line

    # A record is a row, a text that says what is wrong with the row, or None to skip it.

    def after(self, header: list[str], n_named: int) -> Iterator[list[str] | str | None]:
        """Yield the records after the header, whose first columns have names."""
        n = len(header)
        while True:
            self.taken = []
            try:
                cells = next(self.reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield self._stray() or f"not CSV: {error}"
                continue
            if cells == header:  # `tail -F` shows it again when a log is rotated
                yield None
            elif len(cells) == n and (len(self.taken) == 1 or not self._holds_rows(n)):
                if len(self.taken) == 1:
                    self.row = cells
                is_beyond = n_named < n and any(map(str.strip, cells[n_named:]))
                yield "a value in a column without a name" if is_beyond else cells
            elif cells:  # blank lines are no rows
                yield self._stray() or f"{len(cells)} fields, but the header has {n}"

    def _stray(self) -> str | None:
        """If a bad record has several lines, read all but the first again; say what is wrong."""
        if len(self.taken) < 2:
            return None
        self.lines.put_back(self.taken[1:])
        return "not CSV: a quotation mark in this row is not closed, or stands within a text"

    def _holds_rows(self, n: int) -> bool:
        """Return whether the lines of a record look like rows of n fields."""
        lines = [line.strip().split(self.delimiter) for line in self.taken]
        inside = lines[1:-1]
        if n > 1 and len(inside) >= MOST_LIKE_ROWS and all(len(cells) == n for cells in inside):
            return True
        columns = [i for i, cell in enumerate(self.row) if is_certain_number(cell.strip())]
        if not columns or any(len(cells) != n for cells in lines):
            return False
        found = [cells[i].strip() for cells in lines for i in columns]
        numbers = [cell for cell in found if cell not in MISSING and '"' not in cell]
        # Outside the text, the record has the numbers of one row.
        most = MOST_NUMBERS + len(columns)
        return len(numbers) >= most and all(map(is_certain_number, numbers))


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
            lines.n_records = number
            if isinstance(record, str):
                faults[number] = record
            elif record is not None:
                numbers.append(number)
                good.append(record)
            if not lines.ready or len(numbers) + len(faults) >= most:
                is_over = False
                break
        yield Rows(numbers, columns(good), faults)
