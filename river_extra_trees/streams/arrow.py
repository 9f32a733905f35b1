"""Parquet and Arrow IPC files, through pyarrow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .batch import BadRows, Batch, Layout, TableError
from .text import check_header, missing_targets
from .values import Cells, name_of

__all__ = ["open_ipc", "open_parquet"]

# Read a column chunk in pieces of this size, so that large row groups need little memory.
BUFFER = 1 << 20


def _pyarrow(name: str) -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise TableError(
            f"{name}: Parquet and Arrow files need pyarrow: pip install pyarrow"
        ) from error
    return pyarrow


def open_parquet(
    name: str, columns: Callable[[list[str]], list[str]], batch_size: int
) -> tuple[Iterator[Any], Any, int]:
    """Return the record batches of a Parquet file, their schema and the number of rows."""
    pyarrow = _pyarrow(name)
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(name, pre_buffer=False, buffer_size=BUFFER)
    except (OSError, pyarrow.ArrowException) as error:
        raise TableError(f"cannot read {name}: {str(error).splitlines()[0]}") from error
    wanted = columns(file.schema_arrow.names)
    batches = file.iter_batches(batch_size=batch_size, columns=wanted)
    return batches, file.schema_arrow, file.metadata.num_rows


def open_ipc(
    name: str, columns: Callable[[list[str]], list[str]], batch_size: int
) -> tuple[Iterator[Any], Any, int | None]:
    """Do the same for an Arrow IPC file or stream; a stream does not tell its number of rows."""
    pyarrow = _pyarrow(name)
    from pyarrow import dataset, ipc

    source = pyarrow.memory_map(name)
    n_rows = None
    try:
        try:
            file = ipc.open_file(source)
            batches = (file.get_batch(i) for i in range(file.num_record_batches))
            n_rows = dataset.dataset(name, format="ipc").count_rows()
        except pyarrow.ArrowInvalid:
            source.seek(0)
            file = ipc.open_stream(source)
            batches = iter(file)
    except (OSError, pyarrow.ArrowException) as error:
        raise TableError(f"cannot read {name}: {str(error).splitlines()[0]}") from error
    wanted = columns(file.schema.names)
    return _sliced(batches, wanted, batch_size), file.schema, n_rows


def _sliced(batches: Iterator[Any], wanted: list[str], batch_size: int) -> Iterator[Any]:
    for batch in batches:
        for start in range(0, batch.num_rows, batch_size):
            yield batch.select(wanted).slice(start, batch_size)


def read_arrow(
    name: str,
    opened: Callable[[str, Any, int], tuple[Iterator[Any], Any, int | None]],
    bad_rows: BadRows,
    layout: Layout,
) -> tuple[Iterator[Batch], int | None]:
    """Return the rows of a Parquet or Arrow file in batches, and their number if it is known."""

    def wanted(header: list[str]) -> list[str]:
        check_header(name, header, layout.named)
        return [column for column in header if column not in layout.drop]

    batches, schema, n_rows = opened(name, wanted, layout.batch_size)
    for column in wanted(schema.names):
        _check_type(name, column, schema.field(column).type)
    return _batches(batches, bad_rows, layout), n_rows


def _check_type(name: str, column: str, kind: Any) -> None:
    from pyarrow import types

    values = kind.value_type if types.is_dictionary(kind) else kind
    readable = (
        is_text(values)
        or types.is_null(values)
        or types.is_boolean(values)
        or types.is_integer(values)
        or types.is_floating(values)
        or types.is_decimal(values)
        or (types.is_temporal(values) and not types.is_interval(values))
    )
    if not readable:
        raise TableError(
            f"{name}: column {column!r} has the type {kind}, which is neither numeric nor nominal; "
            f"leave it out with --drop {column}"
        )


def _batches(records: Iterator[Any], bad_rows: BadRows, layout: Layout) -> Iterator[Batch]:
    pyarrow = _pyarrow(bad_rows.name)
    start = 1
    while True:
        try:
            record = next(records, None)
            if record is not None:
                record.validate(full=True)  # a damaged file may hold offsets beyond its buffers
        except (OSError, pyarrow.ArrowException) as error:
            message = f"cannot read {bad_rows.name}: {str(error).splitlines()[0]}"
            raise TableError(message) from error
        if record is None:
            return
        columns: dict[str, Cells] = {}
        faults: dict[int, str] = {}
        targets = None
        for column in record.schema.names:
            values = record.column(column)
            if column == layout.target:
                targets = _targets(values)
                continue
            columns[column] = _column(values, is_nominal=column in layout.nominal)
            if isinstance(columns[column], np.ndarray) and np.isinf(columns[column]).any():
                for i in np.flatnonzero(np.isinf(columns[column])).tolist():
                    faults.setdefault(i, f"column {column!r} is infinite")
        numbers = range(start, start + record.num_rows)
        start += record.num_rows
        batch = Batch(numbers, columns, targets)
        yield from bad_rows.sift(batch, missing_targets(layout, targets) | faults)


def _targets(values: Any) -> list[Any]:
    from pyarrow import types

    if types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if types.is_decimal(values.type):
        # Whole numbers may have more digits than a float keeps.
        read: Callable[[Any], Any] = float if values.type.scale > 0 else int
        return [None if value is None else read(value) for value in values.to_pylist()]
    if types.is_temporal(values.type) and not types.is_time(values.type):
        numbers: list[Any] = _column(values, is_nominal=False).tolist()
        return numbers
    if types.is_time(values.type):
        names: list[Any] = _column(values, is_nominal=False)
        return names
    targets: list[Any] = values.to_pylist()
    return targets


def _column(values: Any, *, is_nominal: bool) -> Cells:
    """Return an array of pyarrow as floats, or as names."""
    import pyarrow
    from pyarrow import types

    kind = values.type
    if types.is_dictionary(kind):
        if is_text(kind.value_type):
            return values
        values = values.dictionary_decode()
        kind = values.type
    if is_text(kind):
        return values
    if is_nominal:
        return [None if value is None else name_of(value) for value in values.to_pylist()]
    if types.is_time(kind):
        return [None if value is None else value.isoformat() for value in values.to_pylist()]
    if types.is_temporal(kind):
        return _seconds(values)
    if types.is_integer(kind) or types.is_floating(kind):
        return values.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    if types.is_decimal(kind):
        return np.array([math.nan if v is None else float(v) for v in values.to_pylist()])
    return values.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)


def is_text(kind: Any) -> bool:
    """Return whether a type of pyarrow holds texts."""
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def _seconds(values: Any) -> Cells:
    """Return moments as seconds since 1970, and durations as seconds.

    Digits below the microsecond are cut, as Python cuts them in texts.
    """
    import pyarrow
    from pyarrow import types

    if types.is_date(values.type):
        values = values.cast(pyarrow.timestamp("s" if types.is_date32(values.type) else "ms"))
    whole = values.cast(pyarrow.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    if values.type.unit == "ns":
        numbers = whole // 1000 / 1e6
    else:
        numbers = whole / UNITS[values.type.unit]
    numbers[values.is_null().to_numpy(zero_copy_only=False)] = math.nan
    return numbers


UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6}
