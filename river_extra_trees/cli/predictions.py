"""The files of `predict`: CSV, Parquet or Arrow, by their names."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from river_extra_trees.cli.outputs import CSV
from river_extra_trees.streams.reader import IPC, PARQUET

__all__ = ["WRITTEN", "Columns", "content_of", "write_csv"]

Columns = list[Sequence[Any]]  # of the output: one value for every row

WRITTEN = (*CSV, *PARQUET, *IPC)


def content_of(path: Path, header: list[str], records: Iterator[Columns]) -> bytes:
    """Return the content of a file with all records, in the format that its name tells."""
    suffix = path.suffix.lower()
    if suffix not in (*PARQUET, *IPC):
        text = io.StringIO(newline="")
        write_csv(text, header, records)
        return text.getvalue().encode(errors="backslashreplace")
    import pyarrow
    from pyarrow import feather, parquet

    parts = list(records)
    columns = {
        name: array_of(itertools.chain.from_iterable(part[i] for part in parts))
        for i, name in enumerate(header)
    }
    sink = pyarrow.BufferOutputStream()
    write = parquet.write_table if suffix in PARQUET else feather.write_feather
    write(pyarrow.table(columns), sink)
    return bytes(sink.getvalue())


def array_of(values: Iterable[Any]) -> Any:
    """Return values as an array of pyarrow; those of several types as texts."""
    import pyarrow

    listed = list(values)
    try:
        return pyarrow.array(listed)
    except (pyarrow.ArrowException, OverflowError):
        return pyarrow.array([None if each is None else str(each) for each in listed])


def write_csv(file: TextIO, header: list[str], records: Iterator[Columns]) -> None:
    """Write records as they come: a row of a pipe is answered before the next row arrives."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    for part in records:
        writer.writerows(zip(*part, strict=True))
        file.flush()
