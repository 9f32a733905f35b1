"""Tables of doubles are read from Arrow streams; other streams are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from river_extra_trees._core.arrow import block_of_stream

TABLE = pa.table({"a": [0.0, None, 2.0], "b": [3.0, 4.0, np.nan]})
NUMBERS = np.array([[0.0, 3.0], [np.nan, 4.0], [2.0, np.nan]])


def streams(table: Any) -> list[Any]:
    """Return the table in one chunk, in several, in parts of longer chunks, and in polars."""
    longer = pa.concat_tables([table, table, table]).combine_chunks()
    parts = [longer.slice(i, 1) for i in (3, 1, 8)]
    columns = [pa.chunked_array([each.chunk(0)[:1], each.chunk(0)[1:]]) for each in table.columns]
    uneven = [columns[0], *table.columns[1:]]
    frames = [pl.from_arrow(part) for part in parts]
    return [
        table,
        longer.slice(3, 3),
        pa.concat_tables(parts),
        pa.table(uneven, names=table.column_names),
        pl.from_arrow(table),
        pl.from_arrow(longer).slice(6, 3),
        pl.concat(frames, rechunk=False),
    ]


@pytest.mark.parametrize("table", streams(TABLE), ids=lambda table: type(table).__module__)
def test_doubles(table: Any) -> None:
    """Missing values become NaN."""
    found = block_of_stream(table.__arrow_c_stream__(), 3, 2)
    np.testing.assert_array_equal(found, NUMBERS)


@pytest.mark.parametrize("n_columns", [0, 2])
def test_no_rows(n_columns: int) -> None:
    """A table without rows may come as an empty chunk, or without any chunk."""
    for table in (TABLE.slice(0, 0), pa.Table.from_batches([], TABLE.schema)):
        table = table.select(list(range(n_columns)))
        found = block_of_stream(table.__arrow_c_stream__(), 0, n_columns)
        assert found is not None
        assert found.shape == (0, n_columns)


class Celsius(pa.ExtensionType):
    """Doubles with a meaning of their own."""

    def __init__(self) -> None:
        super().__init__(pa.float64(), "tests.celsius")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: Any, serialized: bytes) -> Celsius:
        return cls()


OTHERS = {
    "whole numbers": pa.table({"a": [1, 2]}),
    "single precision": pa.table({"a": pa.array([1.0, 2.0], pa.float32())}),
    "texts": pa.table({"a": ["x", "y"]}),
    "doubles and texts": pa.table({"a": [1.0, 2.0], "b": ["x", "y"]}),
    "an extension": pa.table(
        {"a": pa.ExtensionArray.from_storage(Celsius(), pa.array([1.0, 2.0]))}
    ),
    "no table": pa.chunked_array([[1.0, 2.0]]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_types(name: str) -> None:
    """They are not read: the result is None."""
    table = OTHERS[name]
    n_columns = getattr(table, "num_columns", 1)
    assert block_of_stream(table.__arrow_c_stream__(), 2, n_columns) is None


def test_other_sizes() -> None:
    """A table that does not have the promised size is refused."""
    assert block_of_stream(TABLE.__arrow_c_stream__(), 3, 1) is None
    with pytest.raises(ValueError, match="a table of 2 rows has more rows"):
        block_of_stream(TABLE.__arrow_c_stream__(), 2, 2)
    with pytest.raises(ValueError, match="a table of 4 rows has only 3"):
        block_of_stream(TABLE.__arrow_c_stream__(), 4, 2)


def test_a_stream_is_read_once() -> None:
    """A second reading raises an error."""
    stream = TABLE.__arrow_c_stream__()
    pa.RecordBatchReader._import_from_c_capsule(stream)
    with pytest.raises(ValueError, match="its stream was taken already"):
        block_of_stream(stream, 3, 2)
    with pytest.raises(ValueError, match="PyCapsule"):
        block_of_stream(object(), 3, 2)
