"""Tables by their names."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from river_extra_trees.column_kinds import ColumnKinds

from .batch import Batch, Roles, Rows, TableError

if TYPE_CHECKING:
    from .text import Text

__all__ = ["OnBadRow", "Reader", "is_table", "open_table"]

OnBadRow = Literal["stop", "skip"]

BATCH_SIZE = 8192
CSV, TSV, JSON_LINES = (".csv", ".txt"), ".tsv", (".jsonl", ".ndjson")
PARQUET, IPC = ".parquet", (".arrow", ".feather", ".ipc")
SUFFIXES = (*CSV, TSV, *JSON_LINES, PARQUET, *IPC)
PACKED = (".gz", ".bz2", ".xz", ".zst")
# Column chunks are read in pieces of this size, so that large row groups need little memory.
BUFFER = 1 << 20


class Reader:
    """A table that is read once, batch by batch.

    Attributes
    ----------
    name
        The name of the table.
    n_rows
        Number of rows, if it is known before the end.
    n_bytes
        Size of a text file.
    n_skipped
        Number of bad rows that were skipped.
    first_skipped
        The number of the first of them, and what is wrong with it.

    """

    def __init__(
        self,
        name: str,
        batches: Iterator[Batch],
        *,
        on_bad_row: OnBadRow = "stop",
        n_rows: int | None = None,
        n_bytes: int | None = None,
        text: Text | None = None,
    ) -> None:
        self.name = name
        self.batches = batches
        self.n_rows = n_rows
        self.n_bytes = n_bytes
        self.n_skipped = 0
        self.first_skipped = ""
        self._on_bad_row = on_bad_row
        self._text = text

    def __iter__(self) -> Iterator[Batch]:
        return self.batches

    @property
    def n_bytes_read(self) -> int | None:
        """Number of bytes read from a text file, packed as they are; None if unknown."""
        return None if self._text is None else self._text.position

    def sift(self, batch: Batch, faults: Mapping[int, str]) -> Iterator[Batch]:
        """Yield the good rows of a batch, if there are any.

        Parameters
        ----------
        batch
            Rows.
        faults
            What is wrong with rows, by their numbers. Some of these rows may not be in the batch.

        Raises
        ------
        TableError
            If a bad row ends the reading. It is raised after the rows before it.
        """
        if not faults:
            if len(batch):
                yield batch
            return
        first = min(faults)
        stops = self._on_bad_row == "stop"
        good = [i for i, number in enumerate(batch.numbers) if number not in faults]
        batch = batch.take([i for i in good if not stops or batch.numbers[i] < first])
        if not stops:
            self.first_skipped = self.first_skipped or f"row {first}: {faults[first]}"
            self.n_skipped += len(faults)
        if len(batch):
            yield batch
        if stops:
            raise TableError(f"{self.name}, row {first}: {faults[first]}")


def is_table(name: str) -> bool:
    """Return whether a table with this name can be read."""
    suffix, packed = suffix_of(name)
    return name == "-" or (suffix in SUFFIXES and not (packed and suffix in (PARQUET, *IPC)))


def suffix_of(path: str) -> tuple[str, str]:
    """Return the suffix that determines the format of a file, and that of its compression.

    Examples
    --------
    >>> from river_extra_trees.streams import reader
    >>> reader.suffix_of("table.csv.gz"), reader.suffix_of("table.parquet")
    (('.csv', '.gz'), ('.parquet', ''))

    """
    packed = next((suffix for suffix in PACKED if path.lower().endswith(suffix)), "")
    return Path(path.lower().removesuffix(packed)).suffix, packed


def open_table(
    source: str | Path,
    *,
    target: str | None = None,
    weight: str | None = None,
    kinds: ColumnKinds | None = None,
    drop: Collection[str] = (),
    keep: Sequence[str] = (),
    on_bad_row: OnBadRow = "stop",
    delimiter: str | None = None,
    encoding: str = "utf-8-sig",
    batch_size: int = BATCH_SIZE,
    may_lack_targets: bool = False,
    learns: bool = True,
) -> Reader:
    r"""Open a table to read it batch by batch, in the memory of a few batches.

    Parameters
    ----------
    source
        The path of a file: ``.csv``, ``.txt`` (the same), ``.tsv`` or ``.jsonl`` (JSON lines),
        also packed by gzip, bzip2, xz or zstd (``.gz``, ``.bz2``, ``.xz``, ``.zst``);
        ``.parquet``, ``.arrow`` or ``.feather``. ``-`` is standard input, which contains CSV or
        JSON lines.
    target
        The column of the targets; None if there is none.
    weight
        The column of the weights; None if there is none.
    kinds
        The kinds of the columns. None begins with unknown kinds, which the first values determine.
    drop
        Columns to leave out.
    keep
        Columns to pass on as they are, in `kept` of each batch.
    on_bad_row
        ``"stop"`` raises an error at the first row that cannot be read; ``"skip"`` leaves such
        rows out and counts them.
    delimiter
        The delimiter of CSV. None takes comma, semicolon, tab or ``|``, whichever gives the header
        the most columns.
    encoding
        The encoding of CSV and JSON lines.
    batch_size
        Largest number of rows of a batch.
    may_lack_targets
        Whether the target of a row may be missing. It is then None; otherwise, such a row is bad.
    learns
        Whether `kinds` learns the columns that it does not have. Otherwise, these are left out.

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
    _check_name(path)
    kinds = ColumnKinds() if kinds is None else kinds
    for argument, names in (("keep", keep), ("drop", drop)):
        if isinstance(names, str):
            raise TypeError(f"{argument} must be a list of columns: [{names!r}], not {names!r}")
    if on_bad_row not in ("stop", "skip"):
        raise ValueError(f"on_bad_row is {on_bad_row!r}; it must be 'stop' or 'skip'")
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, not {batch_size!r}")
    for role, column in (("target", target), ("weight", weight)):
        if column is not None and column in drop:
            raise TableError(f"the {role} {column!r} cannot be dropped")
        if column is not None and column in (kinds.kinds or {}):
            raise TableError(f"the {role} {column!r} is not a feature: declare no kind for it")
    if target is not None and target == weight:
        raise TableError(f"the column {target!r} cannot be both target and weight")
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise TableError("reading tables needs pyarrow: pip install pyarrow") from error
    roles = Roles(target, weight, drop, keep, kinds, learns, may_lack_targets)
    name = "standard input" if path == "-" else path
    reader = Reader(name, iter(()), on_bad_row=on_bad_row)
    if suffix_of(path)[0] in (PARQUET, *IPC):
        rows = _open_arrow(reader, path, roles, batch_size)
    else:
        rows = _open_text(reader, path, roles, delimiter, encoding)
    reader.batches = _batches(reader, rows, roles, batch_size)
    return reader


def _check_name(path: str) -> None:
    """Raise a TableError unless there is a table with this name."""
    if path.lower().endswith(".json"):
        raise TableError(
            f"{path!r} may contain one object per line, or an array: rename it to .jsonl in the "
            "first case, and in the other make JSON lines of it: jq -c '.[]' table.json > "
            "table.jsonl"
        )
    if not is_table(path):
        raise TableError(
            f"{path!r} is not a table: its name must end in {', '.join(SUFFIXES)}; "
            f"text files may also end in {', '.join(PACKED)}"
        )
    if path != "-" and not Path(path).is_file():
        raise TableError(f"there is no file {path!r}")


def _batches(
    reader: Reader, rows: Iterator[Rows], roles: Roles, batch_size: int
) -> Iterator[Batch]:
    for each in rows:
        for batch in reader.sift(*roles.batch_of(each)):
            for start in range(0, len(batch), batch_size):
                yield batch[start : start + batch_size]


def _open_text(
    reader: Reader, path: str, roles: Roles, delimiter: str | None, encoding: str
) -> Iterator[Rows]:
    from .text import Text, read_csv, read_json_lines

    suffix, packed = suffix_of(path)
    text = Text(reader.name, _opened(path, reader.name), packed, encoding)
    if path != "-":
        reader.n_bytes, reader._text = os.stat(path).st_size, text
    first_mark = text.first_line()[:1] if path == "-" or suffix in JSON_LINES else ""
    if first_mark == "[":
        raise TableError(
            f"{reader.name} is an array of JSON; make JSON lines of it, one object per line, for "
            "example by: jq -c '.[]' table.json > table.jsonl"
        )
    if suffix in JSON_LINES or first_mark == "{":
        return read_json_lines(text)
    return read_csv(text, roles, delimiter or ("\t" if suffix == TSV else None))


def _opened(path: str, name: str) -> IO[bytes]:
    if path == "-":
        if sys.stdin is None:
            raise TableError(f"cannot read {name}: it is closed")
        return sys.stdin.buffer
    try:
        return open(path, "rb")
    except OSError as error:
        raise TableError(f"cannot read {name}: {error.strerror}") from error


# --- Parquet and Arrow


def _open_arrow(reader: Reader, path: str, roles: Roles, batch_size: int) -> Iterator[Rows]:
    """Open a Parquet file, an Arrow file, or a file that contains an Arrow stream."""
    from pyarrow import ArrowException, parquet

    from .columns import is_readable

    try:
        if path.lower().endswith(PARQUET):
            file = parquet.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER)
            schema, reader.n_rows = file.schema_arrow, file.metadata.num_rows
        else:
            file = _open_ipc(path)
            schema = file.schema
    except (OSError, ArrowException) as error:
        raise _unreadable(path, error) from error
    roles.check(path, schema.names)
    features, unknown = roles.features(schema.names)
    wanted = list(dict.fromkeys([*features, *roles.others]))
    for column in wanted:
        kind = schema.field(column).type
        if not is_readable(kind):
            raise TableError(
                f"{path}: column {column!r} has the type {kind}, which is neither numeric nor "
                f"nominal; leave it out with --drop {column}"
            )
    if reader.n_rows is not None:
        records = file.iter_batches(batch_size, columns=wanted)
    else:
        records = _records_of_ipc(file, wanted, batch_size)
    return _rows_of_arrow(path, records, unknown)


def _open_ipc(path: str) -> Any:
    import pyarrow
    from pyarrow import ipc

    source = pyarrow.memory_map(path)
    try:
        return ipc.open_file(source)
    except pyarrow.ArrowInvalid:
        source.seek(0)
        return ipc.open_stream(source)


def _records_of_ipc(file: Any, wanted: Sequence[str], batch_size: int) -> Iterator[Any]:
    is_stream = not hasattr(file, "num_record_batches")
    for record in file if is_stream else map(file.get_batch, range(file.num_record_batches)):
        for start in range(0, record.num_rows, batch_size):
            yield record.select(wanted).slice(start, batch_size)


def _rows_of_arrow(path: str, records: Iterator[Any], unknown: Sequence[str]) -> Iterator[Rows]:
    from pyarrow import ArrowException

    n_rows = 0
    while True:
        try:
            record = next(records, None)
            if record is not None:
                record.validate(full=True)  # a damaged file may hold offsets beyond its buffers
        except (OSError, ArrowException) as error:
            raise _unreadable(path, error) from error
        if record is None:
            return
        columns = dict(zip(record.schema.names, record.columns, strict=True))
        numbers = range(n_rows + 1, n_rows + record.num_rows + 1)
        n_rows += record.num_rows
        yield Rows(numbers, dict.fromkeys(unknown) | columns)


def _unreadable(name: str, error: Exception) -> TableError:
    return TableError(f"cannot read {name}: {str(error).splitlines()[0]}")
