"""CSV and JSON lines from files, packed or not, and from pipes.

A text is read in blocks of whole records. pyarrow splits a block of CSV into columns of strings.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import functools
import gzip
import importlib
import itertools
import json
import lzma
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from .batch import Faults, Roles, Rows, TableError

__all__ = ["PACKED", "Text", "read_csv", "read_json_lines"]

CHUNK = 1 << 18  # bytes
LONGEST_RECORD = 1 << 24
DELIMITERS = ",;\t|"
PACKED: Mapping[str, Any] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": lambda file: importlib.import_module("pyarrow").CompressedInputStream(file, "zstd"),
}
BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError)

# Stands for bytes that are not text in the encoding. No text contains this code point.
UNKNOWN = "\ufdd0"
codecs.register_error("river_extra_trees.unknown", lambda error: (UNKNOWN, cast(Any, error).end))


class Text:
    """A text that is read block by block, as UTF-8.

    A block has whole records: those of a chunk of a file, or those that a pipe holds by now.

    Parameters
    ----------
    name
        The name of the text in messages.
    file
        A binary file or pipe.
    packed
        The suffix of its compression, or an empty string.
    encoding
        The encoding of the text.

    Attributes
    ----------
    is_over
        Whether the last block has been read.
    position
        Number of bytes read from the file, packed as they are.

    """

    def __init__(self, name: str, file: IO[bytes], packed: str, encoding: str) -> None:
        self.name = name
        self.encoding = encoding
        self.file = file
        self.content: Any = PACKED[packed](file) if packed else file
        try:
            b"a".decode(encoding, "ignore")  # rejects codecs from bytes to bytes, such as hex
            self.decoder = codecs.getincrementaldecoder(encoding)("river_extra_trees.unknown")
        except LookupError as error:
            raise TableError(f"there is no text encoding {encoding!r}") from error
        self.may_have_mark = encoding == "utf-8-sig"  # a byte-order mark of UTF-16
        self.rest = b""
        self.is_over = False
        self.position = 0

    def first_line(self) -> str:
        """Return the first line without consuming it."""
        while not self.rest.splitlines()[1:] and self._read():
            pass
        return self.rest.splitlines()[0].decode() if self.rest else ""

    def blocks(self, quoted: re.Pattern[bytes] | None = None) -> Iterator[bytes]:
        """Yield the text. Records do not end within the texts that the pattern `quoted` matches."""
        comes_more = True
        while comes_more:
            hidden = self.rest
            if quoted is not None and b'"' in hidden:
                hidden = quoted.sub(lambda found: b"." * len(found[0]), hidden)
            end = max(hidden.rfind(b"\n"), hidden.rfind(b"\r")) + 1
            block, self.rest = self.rest[:end], self.rest[end:]
            if block.strip(b"\r\n"):
                yield block
            comes_more = self._read()
        self.is_over = True
        if self.rest:
            yield self.rest

    def _read(self) -> bool:
        """Read what is there, at least one byte; return False at the end."""
        if len(self.rest) > LONGEST_RECORD:
            raise TableError(
                f"cannot read {self.name}: a row has more than {LONGEST_RECORD:,} bytes; is a "
                "quotation mark never closed?"
            )
        try:
            chunk = self.content.read1(CHUNK)
            if self.may_have_mark and chunk[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
                self.encoding = "utf-16"
                self.decoder = codecs.getincrementaldecoder("utf-16")("river_extra_trees.unknown")
            self.may_have_mark = False
            text = self.decoder.decode(chunk, final=not chunk)
            if not self.file.closed and self.file.seekable():  # pyarrow closes it at the end
                self.position = self.file.tell()
        except BROKEN as error:
            raise TableError(f"cannot read {self.name}: {error}") from error
        self.rest += text.encode(errors="replace")
        return bool(chunk)

    @property
    def not_text(self) -> str:
        """The message about bytes that are not text in the encoding."""
        return f"not text in {self.encoding} (--encoding names another, such as latin-1)"


# --- CSV


def read_csv(text: Text, roles: Roles, delimiter: str | None) -> Iterator[Rows]:
    """Return the rows of a CSV table, those of a pipe as soon as they arrive.

    Without a delimiter, the one that gives the header the most columns separates the fields.
    """
    delimiter = delimiter or sniffed(text.first_line())
    mark = re.escape(delimiter.encode())
    # The group is empty if the closing mark is missing.
    quoted = re.compile(rb"(?:(?<=[\r\n" + mark + rb'])|\A)"(?:[^"]++|"")*+("|\Z)')
    blocks = text.blocks(quoted)
    first = next(blocks, b"").lstrip(b"\r\n")
    _check_marks(text, quoted, first, "the header")
    lines = first.splitlines(keepends=True)
    reader = csv.reader(map(bytes.decode, lines), delimiter=delimiter)
    header = [name.strip() for name in next(reader, [])]
    if any(UNKNOWN in name for name in header):
        raise TableError(f"{text.name} is {text.not_text}")
    roles.check(text.name, header)
    blocks = itertools.chain([b"".join(lines[reader.line_num :])], blocks)
    return _rows_of_csv(text, blocks, quoted, header, roles, delimiter)


def _rows_of_csv(
    text: Text,
    blocks: Iterator[bytes],
    quoted: re.Pattern[bytes],
    header: list[str],
    roles: Roles,
    delimiter: str,
) -> Iterator[Rows]:
    features, unknown = roles.features(header)
    wanted = list(dict.fromkeys([*features, *roles.others]))
    n_rows = 0
    for block in blocks:
        _check_marks(text, quoted, block, f"row {n_rows + 1}")
        if not block.strip(b"\r\n"):
            continue
        table, wrong = _parsed(block, header, delimiter)
        n = table.num_rows + len(wrong)
        faults = {n_rows + i: f"{has} fields, but the header has {len(header)}" for i, has in wrong}
        numbers = [i for i in range(n_rows + 1, n_rows + n + 1) if i not in faults]
        n_rows += n
        table = table.select(wanted)
        if b" " in block:
            stripped = [pc.utf8_ltrim(column, " ") for column in table.columns]
            table = pa.table(stripped, wanted)
        table, numbers = _without_headers(table, numbers)
        columns = {name: table.column(name).combine_chunks() for name in wanted}
        if UNKNOWN.encode() in block:
            for cells in columns.values():
                found = pc.indices_nonzero(pc.match_substring(cells, UNKNOWN)).to_pylist()
                faults |= {numbers[i]: text.not_text for i in found}
        yield Rows(numbers, dict.fromkeys(unknown) | columns, faults, untyped=True)


def _check_marks(text: Text, quoted: re.Pattern[bytes], block: bytes, where: str) -> None:
    """Check that the last record of a text closes its quotation marks."""
    if text.is_over and any(not found[1] for found in quoted.finditer(block)):
        raise TableError(f"{text.name}, {where}: a quotation mark is never closed")


def _parsed(block: bytes, header: list[str], delimiter: str) -> tuple[Any, list[tuple[int, int]]]:
    """Return rows as strings; and of rows with another number of fields, the place and the number.

    The first row of the block has the place 1.
    """
    wrong: list[tuple[int, int]] = []

    def skip(row: Any) -> str:
        wrong.append((row.number, row.actual_columns))
        return "skip"

    table = arrow_csv.read_csv(
        pa.BufferReader(block),
        arrow_csv.ReadOptions(use_threads=False, block_size=len(block) + 1, column_names=header),
        arrow_csv.ParseOptions(
            delimiter=delimiter, newlines_in_values=True, invalid_row_handler=skip
        ),
        arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(header, pa.string()),
            strings_can_be_null=False,
            check_utf8=False,
        ),
    )
    return table, wrong


def _without_headers(table: Any, numbers: list[int]) -> tuple[Any, list[int]]:
    """Leave out rows that repeat the header, which `tail -F` shows when a log is rotated."""
    if not table.num_columns:
        return table, numbers
    same = (pc.equal(pc.utf8_trim_whitespace(table[name]), name) for name in table.column_names)
    others = pc.invert(functools.reduce(pc.and_, same))
    if pc.all(others).as_py():
        return table, numbers
    return table.filter(others), list(itertools.compress(numbers, others.to_pylist()))


def sniffed(line: str) -> str:
    """Return the delimiter that gives a header the most columns.

    Examples
    --------
    >>> from river_extra_trees.streams import text
    >>> text.sniffed('size;"height, width";label')
    ';'

    """
    return max(DELIMITERS, key=lambda mark: len(next(csv.reader([line], delimiter=mark), [])))


# --- JSON lines


def read_json_lines(text: Text) -> Iterator[Rows]:
    """Yield the rows of JSON lines, one object each; those of a pipe as soon as they arrive."""
    number = 0
    for block in text.blocks():
        records: dict[int, Mapping[str, Any]] = {}
        faults: Faults = {}
        for line in filter(bytes.strip, block.splitlines()):
            number += 1
            try:
                records[number] = _object_of(line.decode(), text)
            except (ValueError, RecursionError) as error:
                faults[number] = str(error)
        yield Rows(list(records), columns_of(records.values()), faults)


def columns_of(records: Any) -> dict[str, list[Any]]:
    """Return the columns of records; a value that a record lacks is None."""
    names = dict.fromkeys(itertools.chain.from_iterable(records))
    return {name: [record.get(name) for record in records] for name in names}


def _object_of(line: str, text: Text) -> Mapping[str, Any]:
    """Return the object of a line; raise an error that says what is wrong with it."""
    if UNKNOWN in line:
        raise ValueError(text.not_text)
    try:
        record = json.loads(line)
        if "\\u" in line:
            json.dumps(record, ensure_ascii=False).encode()  # rejects halves of characters
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(record, dict):
        raise ValueError("not a JSON object")
    for name, value in record.items():
        if isinstance(value, dict | list):
            raise ValueError(f"column {name!r} is an object or a list of JSON")
    return record
