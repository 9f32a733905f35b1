"""CSV, TSV and JSON lines."""

from __future__ import annotations

import csv
import itertools
import json
import math
import operator
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .batch import BadRows, Batch, Layout, TableError
from .sources import Lines, is_text
from .values import MISSING, Cells, Kind, kind_of, label_of, name_of, read_values

__all__ = [
    "Columns",
    "batch_of",
    "batches_of_records",
    "check_header",
    "read_csv",
    "read_json_lines",
]

DELIMITERS = ",;\t"
Record = Mapping[str, Any]


class Columns:
    """What the columns of a text hold: what the first value of each is.

    Parameters
    ----------
    nominal
        Columns whose numbers are names.

    """

    def __init__(self, nominal: Collection[str]) -> None:
        self.kinds: dict[str, Kind] = dict.fromkeys(nominal, "name")

    def read(self, name: str, cells: Sequence[Any]) -> tuple[Cells, dict[int, str]]:
        """Return the values of cells, of which None is missing, and what is wrong with some."""
        if name not in self.kinds:
            first = next((cell for cell in cells if cell is not None), None)
            if first is None:
                return np.full(len(cells), math.nan), {}
            self.kinds[name] = kind_of(first)
        values, faults = read_values(cells, self.kinds[name])
        return values, {i: self._described(name, fault) for i, fault in faults.items()}

    def _described(self, name: str, fault: str) -> str:
        hint = f" (--nominal {name} reads its values as names)" if "among" in fault else ""
        return f"column {name!r} {fault}{hint}"

    def batch(
        self,
        numbers: Sequence[int],
        cells: Mapping[str, Sequence[Any]],
        targets: list[Any] | None,
    ) -> tuple[Batch, dict[int, str]]:
        """Return a batch of rows, and by position what is wrong with some of them."""
        columns: dict[str, Cells] = {}
        found: dict[int, str] = {}
        for name, values in cells.items():
            columns[name], faults = self.read(name, values)
            found = faults | found  # the fault of the first column is told
        return Batch(numbers, columns, targets), found


def missing_targets(layout: Layout, targets: Sequence[Any] | None) -> dict[int, str]:
    """Return by position which targets are missing but must not be."""
    if targets is None or layout.may_lack_targets:
        return {}
    if None not in targets and all(map(operator.eq, targets, targets)):  # NaN is not itself
        return {}
    message = f"the target {layout.target!r} is missing"
    return {i: message for i, y in enumerate(targets) if y is None or y != y}


# --- CSV


def read_csv(
    lines: Lines, bad_rows: BadRows, layout: Layout, delimiter: str | None
) -> Iterator[Batch]:
    """Return the rows of a CSV table in batches; those of a pipe as soon as they come."""
    records = Records(lines, delimiter)
    check_header(lines.name, records.header, layout.named)
    return _csv_batches(records, bad_rows, layout)


def _csv_batches(records: Records, bad_rows: BadRows, layout: Layout) -> Iterator[Batch]:
    header, target = records.header, layout.target
    features = layout.features(header)
    columns = Columns(layout.nominal)
    n_files = records.n_files
    while not records.is_over:
        numbers, fields, faults = records.read(layout.batch_size)
        cells = dict(zip(header, zip(*fields, strict=True), strict=True)) if fields else {}
        if not cells:
            continue
        targets = None
        if target is not None:
            targets = [None if text in MISSING else label_of(text) for text in cells[target]]
        batch, bad_cells = columns.batch(
            numbers, {name: _present(cells[name]) for name in features}, targets
        )
        faults = missing_targets(layout, targets) | bad_cells | faults
        for part in bad_rows.sift(batch, faults):
            part.begins_file = records.n_files > n_files
            n_files = records.n_files
            yield part


def _present(cells: Sequence[str]) -> list[str | None]:
    return [None if text in MISSING else text for text in cells]


class Records:
    """The records of a CSV text, each a list of as many fields as the header has.

    Parameters
    ----------
    lines
        The text.
    delimiter
        What stands between fields; None takes what the first line looks like.

    Attributes
    ----------
    n_files
        How often the header came: a log file that is rotated begins with it again.

    """

    def __init__(self, lines: Lines, delimiter: str | None) -> None:
        self.lines = lines
        first = next(lines, "")
        self.reader = csv.reader(
            itertools.chain([first], lines),
            delimiter=delimiter or sniffed(first),
            skipinitialspace=True,
            strict=True,
        )
        try:
            self.header = next(self.reader, [])
        except csv.Error as error:
            raise TableError(f"{lines.name}, header: {error}") from error
        if not is_text("".join(self.header)):
            raise TableError(f"{lines.name} is {not_text_in(lines.encoding)}")
        self.number = 0
        self.is_over = False
        self.n_files = 1
        self.next_begins_file = False
        self.failure: TableError | None = None

    def read(self, most: int) -> tuple[list[int], list[list[str]], dict[int, str]]:
        """Return numbers and fields of some records, and by position what is wrong with some.

        Waits for the first record only.
        """
        numbers: list[int] = []
        fields: list[list[str]] = []
        faults: dict[int, str] = {}
        if self.failure is not None:
            raise self.failure
        self.n_files += self.next_begins_file
        self.next_begins_file = False
        while len(numbers) < most and not (numbers and self.lines.would_wait):
            fault = None
            try:
                found = next(self.reader, None)
            except csv.Error as error:
                found, fault = self.header[:1], str(error)
            except TableError as error:
                self.failure = error  # told after the records before it
                break
            if found is None:
                self.is_over = True
                break
            self.number += 1
            if not found:  # an empty line, most often the last one
                continue
            if found == self.header:  # where a log file begins anew
                if numbers:
                    self.next_begins_file = True
                    break
                self.n_files += 1
                continue
            fault = fault or self._fault(found)
            if fault is not None:
                faults[len(numbers)] = fault
                found = [""] * len(self.header)
            numbers.append(self.number)
            fields.append(found)
        return numbers, fields, faults

    def _fault(self, fields: list[str]) -> str | None:
        if len(fields) != len(self.header):
            return f"{len(fields)} fields, but the header has {len(self.header)}"
        if not self.lines.is_clean and not is_text("".join(fields)):
            return not_text_in(self.lines.encoding)
        return None


def not_text_in(encoding: str) -> str:
    """Say that bytes are not text in an encoding, and what to do."""
    return f"not text in {encoding} (--encoding names another, such as latin-1)"


def sniffed(line: str) -> str:
    """Return the delimiter that makes the most of a header.

    Examples
    --------
    >>> from river_extra_trees.streams import text
    >>> text.sniffed('size;"height, width";label')
    ';'

    """

    def n_fields(delimiter: str) -> int:
        try:
            return len(next(csv.reader([line], delimiter=delimiter)))
        except csv.Error:
            return 0

    return max(DELIMITERS, key=n_fields) if line else ","


def check_header(name: str, header: Sequence[str], wanted: Iterable[str]) -> None:
    """Raise a TableError if a column is missing, or twice in the table."""
    if not header:
        raise TableError(f"{name} is empty")
    for column in wanted:
        if column not in header:
            raise TableError(f"{name} has no column {column!r}; it has {', '.join(header)}")
    if len(set(header)) < len(header):
        twice = next(column for column in header if header.count(column) > 1)
        raise TableError(f"{name} has the column {twice!r} twice")


# --- JSON lines


def read_json_lines(lines: Lines, bad_rows: BadRows, layout: Layout) -> Iterator[Batch]:
    """Yield the rows of JSON lines, one object each; those of a pipe as soon as they come."""
    columns = Columns(layout.nominal)
    number = 0
    failure: TableError | None = None
    while failure is None:
        numbers: list[int] = []
        records: list[Record] = []
        faults: dict[int, str] = {}
        while len(numbers) < layout.batch_size and not (numbers and lines.would_wait):
            try:
                line = next(lines, None)
            except TableError as error:
                failure = error  # told after the rows before it
                break
            if line is None:
                break
            number += 1
            if line.isspace():
                continue
            record, fault = _object(line, lines.encoding)
            if fault is not None:
                faults[len(numbers)] = fault
            numbers.append(number)
            records.append(record)
        if not numbers:
            break
        batch, bad_cells = batch_of(numbers, records, columns, layout)
        bad_targets = missing_targets(layout, batch.targets)
        yield from bad_rows.sift(batch, bad_targets | bad_cells | faults)
    if failure is not None:
        raise failure


def _object(line: str, encoding: str) -> tuple[Record, str | None]:
    """Return the object of a line, or what is wrong with it."""
    if not is_text(line):
        return {}, not_text_in(encoding)
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        return {}, f"not JSON: {error}"
    if not isinstance(record, dict):
        return {}, "not a JSON object"
    nested = next((name for name, value in record.items() if isinstance(value, dict | list)), None)
    if nested is not None:
        return {}, f"column {nested!r} is an object or a list of JSON"
    return record, None


def batch_of(
    numbers: Sequence[int],
    records: Sequence[Record],
    columns: Columns,
    layout: Layout,
) -> tuple[Batch, dict[int, str]]:
    """Return records as a batch, and by position what is wrong with some of them."""
    names = list(dict.fromkeys(name for record in records for name in record))
    cells = {
        name: [
            name_of(value) if columns.kinds.get(name) == "name" and _is_number(value) else value
            for value in (record.get(name) for record in records)
        ]
        for name in layout.features(names)
    }
    targets = None
    if layout.target is not None:
        targets = [record.get(layout.target) for record in records]
    return columns.batch(numbers, cells, targets)


def batches_of_records(rows: Iterable[tuple[Record, Any]], batch_size: int) -> Iterator[Batch]:
    """Yield samples as river's data sets hold them in batches."""
    columns = Columns(())
    layout = Layout(None, (), (), batch_size)
    pairs = iter(rows)
    number = 1
    while chunk := list(itertools.islice(pairs, batch_size)):
        numbers = range(number, number + len(chunk))
        batch, faults = batch_of(numbers, [x for x, _ in chunk], columns, layout)
        if faults:
            position = min(faults)
            raise TableError(f"row {numbers[position]}: {faults[position]}")
        yield Batch(batch.numbers, batch.columns, [y for _, y in chunk])
        number += len(chunk)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)
