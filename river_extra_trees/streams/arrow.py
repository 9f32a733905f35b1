"""Parquet and Arrow IPC files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import ipc, parquet, types

from .batch import BadRows, Batch, Layout, TableError
from .text import frame_of
from .values import Faults, is_readable, numbers_of, read_cells

__all__ = ["read_arrow"]

# Column chunks are read in pieces of this size, so that large row groups need little memory.
BUFFER = 1 << 20
ERRORS = (OSError, pa.ArrowException)


def read_arrow(
    name: str, is_parquet: bool, bad_rows: BadRows, layout: Layout
) -> tuple[Iterator[Batch], int | None]:
    """Return the rows of a Parquet or Arrow file in batches, and their number if it is known."""
    try:
        if is_parquet:
            file = parquet.ParquetFile(name, pre_buffer=False, buffer_size=BUFFER)
            schema, n_rows = file.schema_arrow, file.metadata.num_rows
        else:
            file = _open_ipc(name)
            schema, n_rows = file.schema, None
    except ERRORS as error:
        raise _unreadable(name, error) from error
    layout.check(name, schema.names)
    features, _ = layout.features(schema.names)
    wanted = list(dict.fromkeys([*features, *layout.others]))
    for column in wanted:
        _check_type(name, column, schema.field(column).type)
    if is_parquet:
        records = file.iter_batches(layout.batch_size, columns=wanted)
    else:
        records = _records_of(file, wanted, layout.batch_size)
    return _batches(records, bad_rows, layout, schema.names), n_rows


def _open_ipc(name: str) -> Any:
    """Open an Arrow file, or a file that holds an Arrow stream."""
    source = pa.memory_map(name)
    try:
        return ipc.open_file(source)
    except pa.ArrowInvalid:
        source.seek(0)
        return ipc.open_stream(source)


def _records_of(file: Any, wanted: Sequence[str], batch_size: int) -> Iterator[Any]:
    is_stream = isinstance(file, ipc.RecordBatchStreamReader)
    for record in file if is_stream else map(file.get_batch, range(file.num_record_batches)):
        for start in range(0, record.num_rows, batch_size):
            yield record.select(wanted).slice(start, batch_size)


def _unreadable(name: str, error: Exception) -> TableError:
    return TableError(f"cannot read {name}: {str(error).splitlines()[0]}")


def _check_type(name: str, column: str, kind: Any) -> None:
    if not is_readable(kind):
        raise TableError(
            f"{name}: column {column!r} has the type {kind}, which is neither numeric nor nominal; "
            f"leave it out with --drop {column}"
        )


def _batches(
    records: Iterator[Any], bad_rows: BadRows, layout: Layout, names: Sequence[str]
) -> Iterator[Batch]:
    features, unknown = layout.features(names)
    n_rows = 0
    while True:
        try:
            record = next(records, None)
            if record is not None:
                record.validate(full=True)  # a damaged file may hold offsets beyond its buffers
        except ERRORS as error:
            raise _unreadable(bad_rows.name, error) from error
        if record is None:
            return
        columns: dict[str, Any] = {}
        faults: Faults = {}
        for name in features:
            columns[name], found = read_cells(layout.kinds, name, record.column(name))
            faults = found | faults
        others: dict[str | None, list[Any]] = {
            name: _targets(record.column(name)) for name in layout.others
        }
        targets, weights = others.get(layout.target), others.get(layout.weight)
        numbers = range(n_rows + 1, n_rows + record.num_rows + 1)
        n_rows += record.num_rows
        kept = {name: others[name] for name in layout.keep}
        frame = frame_of(columns, len(numbers))
        batch = Batch(numbers, frame, targets, weights, kept, unknown)
        yield from bad_rows.sift(batch, layout.faults(targets, weights) | faults)


def _targets(values: Any) -> list[Any]:
    """Return targets as Python values; dates and decimals are numbers, times of day are names."""
    if types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if types.is_decimal(values.type) and values.type.scale <= 0:
        # Whole numbers may have more digits than a float keeps.
        return [None if value is None else int(value) for value in values.to_pylist()]
    if types.is_time(values.type):
        return [None if value is None else value.isoformat() for value in values.to_pylist()]
    if types.is_temporal(values.type) or types.is_decimal(values.type):
        values = numbers_of(values)
    targets: list[Any] = values.to_pylist()
    return targets
