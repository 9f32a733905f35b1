"""Tables by their names."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import IO

from river_extra_trees.column_kinds import ColumnKinds

from .batch import BadRows, Batch, Layout, OnBadRow, TableError
from .sources import PACKED, Source

__all__ = ["Reader", "is_table", "open_table"]

BATCH_SIZE = 8192
CSV, TSV, JSON_LINES = (".csv", ".txt"), ".tsv", (".jsonl", ".ndjson")
PARQUET, IPC = ".parquet", (".arrow", ".feather", ".ipc")
SUFFIXES = (*CSV, TSV, *JSON_LINES, PARQUET, *IPC)


class Reader:
    """A table that is read once, batch by batch.

    Attributes
    ----------
    name
        The name of the table.
    bad_rows
        How many rows were skipped.
    n_rows
        Number of rows, if it is known before the end.
    n_bytes
        Size of a file of text.

    """

    def __init__(
        self,
        name: str,
        batches: Iterator[Batch],
        bad_rows: BadRows,
        *,
        n_rows: int | None = None,
        n_bytes: int | None = None,
        source: Source | None = None,
    ) -> None:
        self.name = name
        self.batches = batches
        self.bad_rows = bad_rows
        self.n_rows = n_rows
        self.n_bytes = n_bytes
        self._source = source

    def __iter__(self) -> Iterator[Batch]:
        return self.batches

    @property
    def n_bytes_read(self) -> int | None:
        """Number of bytes of the file that were read, packed as they are; None if unknown."""
        return None if self._source is None else self._source.position


def is_table(name: str) -> bool:
    """Return whether a name is that of a table which can be read."""
    return name == "-" or _is_readable(*suffix_of(name))


def _is_readable(suffix: str, packed: str) -> bool:
    return suffix in SUFFIXES and not (packed and suffix in (PARQUET, *IPC))


def suffix_of(path: str) -> tuple[str, str]:
    """Return the suffix that tells the format of a file, and that of its compression.

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
    r"""Open a table to be read batch by batch, in the memory of a few batches.

    Parameters
    ----------
    source
        The path of a file: ``.csv``, ``.txt`` (the same), ``.tsv`` or ``.jsonl`` (JSON lines),
        packed by gzip, bzip2, xz or zstd (``.gz``, ``.bz2``, ``.xz``, ``.zst``) or not;
        ``.parquet``, ``.arrow`` or ``.feather``. ``-`` is standard input, which holds CSV or JSON
        lines.
    target
        The column of the targets; None if there is none.
    weight
        The column of the weights; None if there is none.
    kinds
        The kinds of the columns, which learn new columns; None begins anew.
    drop
        Columns to leave out.
    keep
        Columns to hand on as they are, in `kept` of each batch.
    on_bad_row
        ``"stop"`` raises an error at the first row that cannot be read; ``"skip"`` leaves such
        rows out and counts them.
    delimiter
        What separates the fields of CSV; None takes comma, semicolon, tab or ``|``, whichever gives
        the header the most columns.
    encoding
        The encoding of CSV and JSON lines.
    batch_size
        Largest number of rows of a batch.
    may_lack_targets
        Whether a row without a target is read, with None in its place, rather than bad.
    learns
        Whether columns that `kinds` does not have are learned. Otherwise, they are left out.

    Raises
    ------
    TableError
        If the table cannot be read; while reading, too. The message names the row.

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
    if path.lower().endswith(".json"):
        raise TableError(
            f"{path!r} may hold one object per line, or an array: rename it to .jsonl in the first "
            "case, and in the other make JSON lines of it: jq -c '.[]' table.json > table.jsonl"
        )
    if not is_table(path):
        raise TableError(
            f"{path!r} is not a table: its name must end in {', '.join(SUFFIXES)}; "
            f"text files may also end in {', '.join(PACKED)}"
        )
    if path != "-" and not Path(path).is_file():
        raise TableError(f"there is no file {path!r}")
    for argument, names in (("keep", keep), ("drop", drop)):
        if isinstance(names, str):
            raise TypeError(f"{argument} must be a list of columns: [{names!r}], not {names!r}")
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, not {batch_size!r}")
    kinds = ColumnKinds() if kinds is None else kinds
    for role, column in (("target", target), ("weight", weight)):
        if column is not None and column in drop:
            raise TableError(f"the {role} {column!r} cannot be dropped")
        if column is not None and kinds.kinds is not None and column in kinds.kinds:
            raise TableError(f"the {role} {column!r} is not a feature: declare no kind for it")
    if target is not None and target == weight:
        raise TableError(f"the column {target!r} cannot be both target and weight")
    try:
        from . import arrow, text
    except ImportError as error:
        raise TableError("reading tables needs pyarrow: pip install pyarrow") from error
    suffix, packed = suffix_of(path)
    name = "standard input" if path == "-" else path
    bad_rows = BadRows(name, on_bad_row)
    layout = Layout(target, drop, batch_size, kinds, may_lack_targets, learns, weight, keep)
    if suffix in (PARQUET, *IPC):
        batches, n_rows = arrow.read_arrow(path, suffix == PARQUET, bad_rows, layout)
        return Reader(name, batches, bad_rows, n_rows=n_rows)
    file = _opened(path, name)
    content = Source(name, file, packed, encoding)
    first_mark = content.first_line()[:1] if path == "-" or suffix in JSON_LINES else ""
    if first_mark == "[":
        raise TableError(
            f"{name} is an array of JSON; make JSON lines of it, one object per line, for example "
            "by: jq -c '.[]' table.json > table.jsonl"
        )
    if suffix in JSON_LINES or first_mark == "{":
        batches = text.read_json_lines(content, bad_rows, layout)
    else:
        separator = delimiter or ("\t" if suffix == TSV else None)
        batches = text.read_csv(content, bad_rows, layout, separator)
    batches = _sliced(batches, batch_size)
    if path == "-":
        return Reader(name, batches, bad_rows)
    return Reader(name, batches, bad_rows, n_bytes=os.stat(path).st_size, source=content)


def _sliced(batches: Iterator[Batch], batch_size: int) -> Iterator[Batch]:
    for batch in batches:
        for start in range(0, len(batch), batch_size):
            yield batch[start : start + batch_size]


def _opened(path: str, name: str) -> IO[bytes]:
    if path == "-":
        if sys.stdin is None:
            raise TableError(f"cannot read {name}: it is closed")
        return sys.stdin.buffer
    try:
        return open(path, "rb")
    except OSError as error:
        raise TableError(f"cannot read {name}: {error.strerror}") from error
