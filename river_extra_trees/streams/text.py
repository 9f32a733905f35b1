"""CSV, TSV and JSON lines.

pyarrow splits a block of CSV into columns of strings, and `values` converts these.
"""

from __future__ import annotations

import csv
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from river_extra_trees.column_kinds import ColumnKinds

from .batch import BadRows, Batch, Layout, TableError
from .sources import UNKNOWN, Source, hide
from .values import ABSENT, Faults, label_of, read_cells, read_list

__all__ = ["batches_of_records", "frame_of", "read_csv", "read_json_lines"]

DELIMITERS = ",;\t|"
Record = Mapping[str, Any]


def frame_of(columns: Mapping[str, Any], n: int) -> Any:
    """Return columns of n rows as a table; it has n rows even without columns."""
    table = pa.Table.from_arrays([*columns.values(), pa.nulls(n)], [*columns, "none"])
    return table.select(range(len(columns)))


# --- CSV


def read_csv(
    source: Source, bad_rows: BadRows, layout: Layout, delimiter: str | None
) -> Iterator[Batch]:
    """Return the rows of a CSV table in batches; those of a pipe come as soon as they are there."""
    table = Csv(source, layout, delimiter)
    layout.check(source.name, table.header)
    return itertools.chain.from_iterable(
        bad_rows.sift(*table.batch(block)) for block in table.blocks
    )


class Csv:
    """The rows of a CSV text.

    Parameters
    ----------
    source
        The text.
    layout
        The roles of the columns.
    delimiter
        What separates fields; None takes the one that gives the header the most columns.

    """

    def __init__(self, source: Source, layout: Layout, delimiter: str | None) -> None:
        self.source = source
        self.layout = layout
        self.delimiter = delimiter or sniffed(source.first_line())
        mark = re.escape(self.delimiter.encode())
        # The group is empty if the closing mark is missing.
        self.quoted = re.compile(rb"(?:(?<=[\r\n" + mark + rb'])|\A)"(?:[^"]++|"")*+("|\Z)')
        blocks = source.blocks(self.quoted)
        first = next(blocks, b"").lstrip(b"\r\n")
        self._check_marks(first, "the header")
        length = len(next(iter(hide(first, self.quoted).splitlines(keepends=True)), b""))
        text = first[:length].decode()
        if UNKNOWN in text:
            raise TableError(f"{source.name} is {source.not_text}")
        names = next(csv.reader([text.rstrip("\r\n")], delimiter=self.delimiter), [])
        self.header = [name.strip() for name in names]
        source.n_columns = len(self.header)
        self.features, self.unknown = layout.features(self.header)
        self.wanted = list(dict.fromkeys([*self.features, *layout.others]))
        self.blocks = itertools.chain([first[length:]], blocks)
        self.n_rows = 0

    def batch(self, block: bytes) -> tuple[Batch, Faults, Faults]:
        """Return the rows of a block, and the arguments of `BadRows.sift`."""
        self._check_marks(block, f"row {self.n_rows + 1}")
        table, absent = self._parsed(block)
        n = table.num_rows + len(absent)
        numbers: Sequence[int] = range(self.n_rows + 1, self.n_rows + n + 1)
        self.n_rows += n
        absent = {numbers[i]: fault for i, fault in absent.items()}
        if absent:
            numbers = [number for number in numbers if number not in absent]
        table, numbers = self._without_headers(table, numbers)
        columns: dict[str, Any] = {}
        others: dict[str | None, list[Any]] = {}
        faults: Faults = {}
        has_blanks, has_unknown = b" " in block, UNKNOWN.encode() in block
        for name, column in zip(table.column_names, table.columns, strict=True):
            cells = column.combine_chunks()
            if has_unknown:
                unknown = pc.indices_nonzero(pc.match_substring(cells, UNKNOWN))
                faults |= dict.fromkeys(unknown.to_pylist(), self.source.not_text)
            if has_blanks:
                cells = pc.utf8_ltrim(cells, " ")
            cells = pc.if_else(pc.is_in(cells, ABSENT), None, cells)
            if name in self.layout.others:
                others[name] = labels_of(cells)
            if name in self.features:
                columns[name], found = read_cells(self.layout.kinds, name, cells, untyped=True)
                faults = found | faults
        targets, weights = others.get(self.layout.target), others.get(self.layout.weight)
        frame = frame_of(columns, len(numbers))
        kept = {name: others[name] for name in self.layout.keep}
        batch = Batch(numbers, frame, targets, weights, kept, self.unknown)
        return batch, faults | self.layout.faults(targets, weights), absent

    def _check_marks(self, block: bytes, where: str) -> None:
        """Check that the last record of the text closes its quotation marks."""
        if self.source.is_over and any(not found[1] for found in self.quoted.finditer(block)):
            raise TableError(f"{self.source.name}, {where}: a quotation mark is never closed")

    def _parsed(self, block: bytes) -> tuple[Any, Faults]:
        """Return rows as strings, and by position what is wrong with those that are left out."""
        absent: Faults = {}

        def refuse(row: Any) -> str:
            n = len(self.header)
            absent[row.number - 1] = f"{row.actual_columns} fields, but the header has {n}"
            return "skip"

        if not block.strip(b"\r\n"):
            return pa.table({name: pa.array([], pa.string()) for name in self.wanted}), absent
        table = arrow_csv.read_csv(
            pa.BufferReader(block),
            arrow_csv.ReadOptions(
                use_threads=False, block_size=len(block) + 1, column_names=self.header
            ),
            arrow_csv.ParseOptions(
                delimiter=self.delimiter, newlines_in_values=True, invalid_row_handler=refuse
            ),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(self.header, pa.string()),
                strings_can_be_null=False,
                check_utf8=False,
            ),
        )
        return table.select(self.wanted), absent

    def _without_headers(self, table: Any, numbers: Sequence[int]) -> tuple[Any, Sequence[int]]:
        """Leave out rows that repeat the header: `tail -F` shows it when a log is rotated."""
        repeats = None
        for name in table.column_names:
            same = pc.equal(pc.utf8_trim_whitespace(table.column(name)), name)
            repeats = same if repeats is None else pc.and_(repeats, same)
            if not pc.any(repeats).as_py():
                return table, numbers
        if repeats is None:
            return table, numbers
        kept = pc.invert(repeats)
        left = [number for number, keep in zip(numbers, kept.to_pylist(), strict=True) if keep]
        return table.filter(kept), left


def sniffed(line: str) -> str:
    """Return the delimiter that gives a header the most columns.

    Examples
    --------
    >>> from river_extra_trees.streams import text
    >>> text.sniffed('size;"height, width";label')
    ';'

    """
    return max(DELIMITERS, key=lambda mark: len(next(csv.reader([line], delimiter=mark), [])))


def labels_of(cells: Any) -> list[Any]:
    """Return strings, of which some are null, as labels."""
    coded = cells.dictionary_encode()
    labels = [label_of(text) for text in coded.dictionary.to_pylist()]
    return [None if code is None else labels[code] for code in coded.indices.to_pylist()]


# --- JSON lines


def read_json_lines(source: Source, bad_rows: BadRows, layout: Layout) -> Iterator[Batch]:
    """Yield the rows of JSON lines, one object each; those of a pipe as soon as they come."""
    number = 0
    for block in source.blocks():
        numbers: list[int] = []
        records: list[Record] = []
        absent: Faults = {}
        for line in filter(bytes.strip, block.splitlines()):
            number += 1
            record, fault = _object(line.decode(), source)
            if fault is None:
                numbers.append(number)
                records.append(record)
            else:
                absent[number] = fault
        columns, unknown, faults = _columns(records, layout)
        others: dict[str | None, list[Any]] = {
            name: [record.get(name) for record in records] for name in layout.others
        }
        targets, weights = others.get(layout.target), others.get(layout.weight)
        kept = {name: others[name] for name in layout.keep}
        batch = Batch(numbers, frame_of(columns, len(numbers)), targets, weights, kept, unknown)
        yield from bad_rows.sift(batch, faults | layout.faults(targets, weights), absent)


def _object(line: str, source: Source) -> tuple[Record, str | None]:
    """Return the object of a line, or what is wrong with it."""
    if UNKNOWN in line:
        return {}, source.not_text
    try:
        record = json.loads(line)
        if "\\u" in line:
            json.dumps(record, ensure_ascii=False).encode()  # refuses halves of characters
    except (ValueError, RecursionError) as error:
        return {}, f"not JSON: {error}"
    if not isinstance(record, dict):
        return {}, "not a JSON object"
    nested = next((name for name, value in record.items() if isinstance(value, dict | list)), None)
    if nested is not None:
        return {}, f"column {nested!r} is an object or a list of JSON"
    return record, None


def _columns(records: Sequence[Record], layout: Layout) -> tuple[dict[str, Any], list[str], Faults]:
    """Return the features of records, unknown ones, and by position what is wrong with some."""
    columns: dict[str, Any] = {}
    faults: Faults = {}
    header = dict.fromkeys(itertools.chain.from_iterable(records))
    features, unknown = layout.features(list(header))
    for name in features:
        cells = [record.get(name) for record in records]
        columns[name], found = read_list(layout.kinds, name, cells)
        faults = found | faults
    return columns, unknown, faults


def batches_of_records(
    rows: Iterable[tuple[Record, Any]], batch_size: int, kinds: ColumnKinds
) -> Iterator[Batch]:
    """Yield samples as river's data sets hold them in batches."""
    layout = Layout(None, (), batch_size, kinds)
    pairs, number = iter(rows), 1
    while chunk := list(itertools.islice(pairs, batch_size)):
        columns, _, faults = _columns([x for x, _ in chunk], layout)
        if faults:
            raise TableError(f"row {number + min(faults)}: {faults[min(faults)]}")
        numbers = range(number, number + len(chunk))
        yield Batch(numbers, frame_of(columns, len(chunk)), [y for _, y in chunk])
        number += len(chunk)
