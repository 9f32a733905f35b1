"""Tables by their names, and the roles of their columns."""

from __future__ import annotations

import bisect
import itertools
import math
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from river_extra_trees._estimator.fit import near
from river_extra_trees.column_kinds import ColumnKinds

from .batch import Batch, Fault, TableError
from .text import Lines, Rows, read_text

__all__ = ["OnBadCell", "OnBadRow", "Reader", "is_table", "open_table", "peeked"]

OnBadRow = Literal["stop", "skip"]
OnBadCell = Literal["row", "missing"]

BATCH_SIZE = 8192
ROWS_TO_LOOK_AT = 1000  # to determine the kinds of the columns of a file
PARQUET, IPC = (".parquet", ".pq"), (".arrow", ".feather", ".ipc")
SUFFIXES = (".csv", ".txt", ".tsv", ".jsonl", ".ndjson", *PARQUET, *IPC)
Item = TypeVar("Item")
FEWEST_DIGITS = 3  # of a code with zeros in front; the month 01 is a number
PACKED = (".gz", ".bz2", ".zst")
# Column chunks are read in pieces of this size, so that large row groups need little memory.
BUFFER = 1 << 20


class Reader:
    """A table that is read once, batch by batch; `open_table` makes one.

    Attributes
    ----------
    name
        The name of the table.
    n_rows
        Number of rows, if it is known before the end.
    n_skipped
        Number of bad rows that were skipped.
    first_skipped
        The number of the first of them, and what is wrong with it.
    bad_cells
        Number of cells by column that were read as missing because they fit no kind.
    first_bad_cell
        The number of the row of the first of them, and what is wrong with it.

    """

    def __init__(
        self,
        name: str,
        *,
        kinds: ColumnKinds | None = None,
        target: str | None = None,
        weight: str | None = None,
        drop: Collection[str] = (),
        keep: Sequence[str] = (),
        on_bad_row: OnBadRow = "stop",
        on_bad_cell: OnBadCell = "row",
        predicts: bool = False,
    ) -> None:
        self.name = name
        self.kinds = ColumnKinds() if kinds is None else kinds
        self.target, self.weight, self.drop, self.keep = target, weight, drop, keep
        self.on_bad_row, self.on_bad_cell = on_bad_row, on_bad_cell
        self.predicts = predicts
        self.continues = bool(self.kinds.columns)  # the kinds are those of a model
        self.learns = not (predicts and self.continues)
        self.looks = False  # whether several rows determine the kinds, not the first value
        self.has_numeric_targets = False  # whether a row with another target is bad
        self.has_header = True  # whether all rows have the same columns
        self.names: dict[str, None] = {}  # of the columns so far
        self.untyped = False  # whether a text may be a number
        self.n_batches = 0
        self.zeros: dict[str, str] = {}  # texts of columns whose first rows have zeros in front
        self.rows: Iterator[Rows] = iter(())
        self.n_rows: int | None = None
        self.file: Any = None  # of a text, as it lies on the disk
        self.lines: Lines | None = None  # of a text
        self.n_skipped = 0
        self.first_skipped = ""
        self.bad_cells: dict[str, int] = {}
        self.first_bad_cell = ""

    @property
    def roles(self) -> dict[str, str]:
        """The columns that are no features, and what they are."""
        named = {self.target: "target", self.weight: "weight"}
        return {name: role for name, role in named.items() if name is not None}

    def share_of(self, n: int) -> float | None:
        """Return the share of the table before so many rows; None if it is unknown.

        More rows of a text than these have been read, and more of its bytes than those of the rows.
        """
        if self.n_rows is not None:
            return n / max(1, self.n_rows)
        if self.file is None or self.lines is None:
            return None
        share: float = self.file.tell() / max(1, self.file.size()) * self.lines.share_given
        return share * min(1.0, (n + self.n_skipped) / max(1, self.lines.n_records))

    def __iter__(self) -> Iterator[Batch]:
        rows = self.rows
        if self.looks:
            first, rows = peeked(rows, lambda each: len(each.numbers), ROWS_TO_LOOK_AT)
            self._look_at(first)
        for each in rows:
            yield from self._good(*self._batch_of(each))

    def _look_at(self, first: Sequence[Rows]) -> None:
        """Determine the kinds of new columns by the first rows."""
        from .conversion import determine_kind, values_of

        cells: dict[str, list[Any]] = {}
        for rows in first:
            for name in self._features(rows.columns)[0]:
                found = cells.setdefault(name, [])
                found.extend(values_of(rows.columns[name][: ROWS_TO_LOOK_AT - len(found)]))
        for name, found in cells.items():
            determine_kind(self.kinds, name, found, self.untyped)

    def wanted(self, header: Sequence[str]) -> list[str]:
        """Return the columns to read; raise a TableError if one is missing or there twice."""
        if not header:
            raise TableError(f"{self.name} is empty")
        self.names = dict.fromkeys(header)
        others = list(filter(None, (self.target, self.weight, *self.keep)))
        declared = self.kinds.kinds if self.learns and not self.kinds.columns else None
        for column in (*others, *map(str, declared or ()), *self.drop):
            if column not in header:
                raise TableError(f"{self.name} has no column {column!r}{near(column, header)}")
        if len(set(header)) < len(header):
            twice = next(column for column in header if header.count(column) > 1)
            raise TableError(f"{self.name} has the column {twice!r} twice")
        return list(dict.fromkeys([*self._features(header)[0], *others]))

    def _features(self, header: Collection[str]) -> tuple[list[str], list[str]]:
        """Return the names of the features, and of the columns that the model does not know."""
        left_out = {self.target, self.weight, *self.drop}
        names = [name for name in header if name not in left_out]
        known = names if self.learns else self.kinds.columns
        unknown = [name for name in names if name not in known and name not in self.keep]
        return [name for name in names if name in known], unknown

    def _batch_of(self, rows: Rows) -> tuple[Batch, dict[int, Fault]]:
        """Return rows as a batch, and what is wrong with some of them, by their numbers."""
        from .conversion import frame_of, labels_of, parts_in, read_column, values_of

        numbers, absent = rows.numbers, [None] * len(rows.numbers)
        if self.untyped and not self.n_batches:
            self._note_zeros(rows)
        self.n_batches += 1
        self.names.update(dict.fromkeys(rows.columns))
        faults = {number: Fault(text) for number, text in rows.faults.items()}
        names, unknown = self._features(rows.columns)
        features = {}
        for name in names:
            features[name], found = read_column(self.kinds, name, rows.columns[name], self.untyped)
            if found and self.on_bad_cell == "missing":
                self.bad_cells[name] = self.bad_cells.get(name, 0) + len(found)
                first = min(found)
                self.first_bad_cell = self.first_bad_cell or f"row {numbers[first]}: {found[first]}"
                continue
            for i, text in found.items():
                faults[numbers[i]] = self._fault(name, text)
        try:
            parts = parts_in(self.kinds, features)
        except ValueError as error:
            raise TableError(f"{self.name}: {error}") from None
        labels: dict[str, list[Any]] = {}
        for name in filter(None, (self.target, self.weight)):
            cells = rows.columns.get(name, absent)
            labels[name], found = labels_of(self.kinds, name, cells, self.untyped)
            faults |= {numbers[i]: Fault(text) for i, text in found.items()}
        targets, weights = labels.get(self.target or ""), labels.get(self.weight or "")
        for number, y in zip(numbers, targets or (), strict=False):
            if y is None and not self.predicts:
                faults.setdefault(number, Fault(f"the target {self.target!r} is missing"))
            elif self.has_numeric_targets and y is not None and not _is_finite(y):
                text = f"the target {self.target!r} is {y!r}, not a number"
                faults[number] = Fault(text, "number", self.target or "")
        for number, w in zip(numbers, weights or (), strict=False):
            if not _is_finite(w) or w < 0.0:
                text = f"the weight {self.weight!r} is {w!r}; it must be a number from 0 on"
                is_text = isinstance(w, str)
                fault = Fault(text, "number", self.weight or "") if is_text else Fault(text)
                faults.setdefault(number, fault)
        kept = {name: list(values_of(rows.columns.get(name, absent))) for name in self.keep}
        frame = frame_of(features | parts, len(numbers))
        return Batch(numbers, frame, targets, weights, kept, unknown, tuple(parts)), faults

    def _note_zeros(self, rows: Rows) -> None:
        """Note the columns of texts of which one has zeros in front, as codes have."""
        for name, cells in rows.columns.items():
            for text in map(str.strip, cells):
                if text.startswith("0") and len(text) >= FEWEST_DIGITS and text.isdecimal():
                    self.zeros[name] = text
                    break

    def _fault(self, name: str, text: str) -> Fault:
        """Return what is wrong with a cell of a feature."""
        if text.endswith("neither a number nor a text"):
            return Fault(text, "drop", name)
        return Fault(text, "cell" if self.continues or "infinite" in text else "kind", name)

    def _good(self, batch: Batch, faults: Mapping[int, Fault]) -> Iterator[Batch]:
        """Yield the good rows of a batch; raise the error of the first bad one, or skip them."""
        first = min(faults, default=0)
        if faults and self.on_bad_row == "stop":
            if good := bisect.bisect_left(batch.numbers, first):
                yield batch[:good]
            raise TableError(f"{self.name}, row {first}: {faults[first].text}", faults[first])
        if faults:
            self.first_skipped = self.first_skipped or f"row {first}: {faults[first].text}"
            self.n_skipped += len(faults)
        bad = [i for i, number in enumerate(batch.numbers) if number in faults]
        for last, end in itertools.pairwise([-1, *bad, len(batch)]):
            if last + 1 < end:
                yield batch[last + 1 : end]


def peeked(
    items: Iterator[Item], size: Callable[[Item], int], most: int
) -> tuple[list[Item], Iterator[Item]]:
    """Take items of at least `most` rows; return them, and an iterator of all items.

    If the table cannot be read further, the error comes after the items before it.
    """
    first: list[Item] = []
    error: TableError | None = None
    try:
        while sum(map(size, first)) < most and (item := next(items, None)) is not None:
            first.append(item)
    except TableError as raised:
        error = raised

    def everything() -> Iterator[Item]:
        yield from first
        if error is not None:
            raise error
        yield from items

    return first, everything()


def _is_finite(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def is_table(name: str) -> bool:
    """Return whether a table with this name can be read."""
    path = Path(name.lower())
    return (
        name == "-" or (path.with_suffix("") if path.suffix in PACKED else path).suffix in SUFFIXES
    )


def open_table(
    source: str | Path,
    *,
    target: str | None = None,
    weight: str | None = None,
    kinds: ColumnKinds | None = None,
    drop: Collection[str] = (),
    keep: Sequence[str] = (),
    on_bad_row: OnBadRow = "stop",
    on_bad_cell: OnBadCell = "row",
    encoding: str | None = None,
    batch_size: int = BATCH_SIZE,
    predicts: bool = False,
) -> Reader:
    r"""Open a table to read it batch by batch, in the memory of a few batches.

    Parameters
    ----------
    source
        The path of a file. ``.csv``, ``.txt`` and ``.tsv`` contain CSV, whose delimiter is a comma,
        a semicolon, a tab or ``|``; ``.jsonl`` contains JSON lines. Both may be compressed
        (``.gz``, ``.bz2``, ``.zst``). Further formats are Parquet (``.parquet``, ``.pq``) and
        Arrow (``.arrow``, ``.feather``, ``.ipc``). ``-`` is standard input, which contains CSV or
        JSON lines.
    target
        The column of the targets; None if there is none.
    weight
        The column of the weights; None if there is none.
    kinds
        The kinds of the columns. Kinds that it does not have are determined by the first 1,000
        rows of a file, and by the first values of standard input. The target and the weight are
        read by the kinds that are declared for them.
    drop
        Columns to leave out.
    keep
        Columns to pass on as they are, in `kept` of each batch.
    on_bad_row
        ``"stop"`` raises an error at the first row that cannot be read; ``"skip"`` leaves such
        rows out and counts them.
    on_bad_cell
        ``"row"`` makes a row bad if a feature does not fit the kind of its column; ``"missing"``
        reads such a value as missing, and counts it in `bad_cells` of the reader.
    encoding
        The encoding of a text, by Python's name. None is UTF-8, or UTF-16 if the text begins with
        its mark.
    batch_size
        Largest number of rows of a batch.
    predicts
        Whether the rows are to be predicted. Then a target may be missing, and columns that `kinds`
        does not have are left out, unless it has none.

    Raises
    ------
    TableError
        If the table cannot be read, now or while it is read. The message names the row.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from river_extra_trees import streams
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "table.csv")
    ...     _ = path.write_text("day;size;label\n1970-01-02;1.5;yes\n1970-01-03;;no\n")
    ...     for batch in streams.open_table(path, target="label"):
    ...         print(list(batch.rows()), batch.targets)
    [{'day': 86400.0, 'size': 1.5}, {'day': 172800.0}] ['yes', 'no']

    """
    path = str(source)
    _require_readable(path)
    if on_bad_row not in ("stop", "skip"):
        raise ValueError(f"on_bad_row is {on_bad_row!r}; it must be 'stop' or 'skip'")
    if on_bad_cell not in ("row", "missing"):
        raise ValueError(f"on_bad_cell is {on_bad_cell!r}; it must be 'row' or 'missing'")
    if encoding is not None:
        check_encoding(encoding)
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, not {batch_size!r}")
    try:
        import pyarrow
    except ImportError as error:
        raise TableError("reading tables needs pyarrow: pip install pyarrow") from error
    reader = Reader(
        "standard input" if path == "-" else path,
        kinds=kinds,
        target=target,
        weight=weight,
        drop=drop,
        keep=keep,
        on_bad_row=on_bad_row,
        on_bad_cell=on_bad_cell,
        predicts=predicts,
    )
    reader.looks = path != "-" and reader.learns
    try:
        if path.lower().endswith((*PARQUET, *IPC)):
            _open_arrow(reader, path, batch_size)
        else:
            _open_text(reader, path, batch_size, encoding)
    except (OSError, pyarrow.ArrowException) as error:
        raise _unreadable(path, error) from error
    return reader


def _require_readable(path: str) -> None:
    """Raise a TableError unless a table of a known format lies there."""
    if not is_table(path):
        raise TableError(
            f"{path!r} is not a table: its name must end in {', '.join(SUFFIXES)}; "
            f"text files may also end in {', '.join(PACKED)}"
        )
    if path != "-" and not Path(path).is_file():
        raise TableError(f"there is no file {path!r}")


def check_encoding(encoding: str) -> None:
    """Raise a ValueError unless this is the name of an encoding of texts."""
    try:
        "".encode(encoding)
    except (LookupError, UnicodeError):
        raise ValueError(f"{encoding!r} is not an encoding of texts that Python knows") from None


def _open_text(reader: Reader, path: str, batch_size: int, encoding: str | None) -> None:
    from pyarrow import Codec, CompressedInputStream, OSFile

    if path == "-" and sys.stdin is None:
        raise OSError("standard input is closed")
    file: Any = sys.stdin.buffer if path == "-" else None
    if path != "-":
        file = reader.file = OSFile(path)
        if Path(path.lower()).suffix in PACKED:
            file = CompressedInputStream(reader.file, Codec.detect(path.lower()).name)
    reader.lines = Lines(reader.name, file, encoding)
    header, reader.rows = read_text(reader.lines, batch_size)
    reader.has_header = reader.untyped = header is not None
    if header is not None:
        reader.wanted(header)


def _open_arrow(reader: Reader, path: str, batch_size: int) -> None:
    from pyarrow import ipc, memory_map, parquet

    if path.lower().endswith(PARQUET):
        file = parquet.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER)
        reader.n_rows = file.metadata.num_rows
        header = file.schema_arrow.names
        records = file.iter_batches(batch_size, columns=reader.wanted(header))
    else:
        file = ipc.open_file(memory_map(path))
        header = file.schema.names
        wanted = reader.wanted(header)
        records = (
            whole.select(wanted).slice(start, batch_size)
            for whole in map(file.get_batch, range(file.num_record_batches))
            for start in range(0, whole.num_rows, batch_size)
        )
    reader.rows = _rows_of_arrow(path, records, header)


def _rows_of_arrow(path: str, records: Iterator[Any], header: Sequence[str]) -> Iterator[Rows]:
    from pyarrow import ArrowException

    n_rows = 0
    while True:
        try:
            record = next(records, None)
            if record is None:
                return
            record.validate(full=True)  # a damaged file may hold offsets beyond its buffers
        except (OSError, ArrowException) as error:
            raise _unreadable(path, error) from error
        columns = dict(zip(record.schema.names, record.columns, strict=True))
        numbers = range(n_rows + 1, n_rows + record.num_rows + 1)
        n_rows += record.num_rows
        yield Rows(numbers, dict.fromkeys(header) | columns, {})


def _unreadable(name: str, error: Exception) -> TableError:
    return TableError(f"cannot read {name}: {str(error).splitlines()[0]}")
