"""Tables of every format are read alike, batch by batch."""

from __future__ import annotations

import csv
import datetime
import io
import json
import math
import os
import sys
import tracemalloc
import types
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import ipc, parquet

from river_extra_trees import ColumnKinds, streams
from river_extra_trees._estimator.kinds import MISSING
from river_extra_trees.streams import text
from river_extra_trees.streams.columns import label_of
from tests.tools.tables import PACK, read

DAY = datetime.date(2026, 11, 22)
EPOCH = datetime.datetime(1970, 1, 1)
MOMENTS = [
    datetime.datetime(2026, 11, 22, 14, 15, 0, 250000),
    datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
    None,
]
COLUMNS: dict[str, list[Any]] = {
    "number": [1.5, None, -3.0],
    "whole": [1, 2, None],
    "name": ["red", None, "blue"],
    "day": [DAY, None, DAY],
    "moment": MOMENTS,
    "label": [True, False, True],
}


def seconds(date: datetime.date) -> float:
    """The seconds since 1970."""
    return (datetime.datetime.fromisoformat(date.isoformat()) - EPOCH).total_seconds()


ROWS: list[dict[str, Any]] = [
    {"number": 1.5, "whole": 1.0, "name": "red", "day": seconds(DAY)},
    {"whole": 2.0},
    {"number": -3.0, "name": "blue", "day": seconds(DAY)},
]
for row, moment in zip(ROWS, MOMENTS, strict=True):
    if moment is not None:
        row["moment"] = seconds(moment)


def as_text(value: Any) -> str:
    if value is None:
        return ""
    return value.isoformat() if isinstance(value, datetime.date) else str(value)


def content_of(suffix: str) -> bytes:
    """The same table as the content of a file."""
    records = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]
    if suffix == ".jsonl":
        lines = (json.dumps(record, default=as_text) for record in records)
        return "\n".join([*lines, ""]).encode()
    if suffix in (".csv", ".tsv", ";"):
        file = io.StringIO()
        delimiter = {".csv": ",", ".tsv": "\t"}.get(suffix, suffix)
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(COLUMNS)
        writer.writerows([as_text(value) for value in record.values()] for record in records)
        return file.getvalue().encode()
    table, sink = pa.table(COLUMNS), io.BytesIO()
    if suffix == ".parquet":
        parquet.write_table(table, sink)
    else:
        write = ipc.new_file if suffix == ".arrow" else ipc.new_stream
        with write(sink, table.schema) as writer:
            writer.write_table(table)
    return sink.getvalue()


@pytest.mark.parametrize("packed", PACK)
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ";", ".jsonl"])
def test_texts(tmp_path: Path, suffix: str, packed: str) -> None:
    """Packed or not, whatever stands between the fields: the bytes read are counted."""
    path = tmp_path / f"table{'.csv' if suffix == ';' else suffix}{packed}"
    path.write_bytes(PACK[packed](content_of(suffix)))
    rows, targets, reader = read(path, target="label")
    assert rows == ROWS
    assert targets == COLUMNS["label"]
    assert reader.n_bytes == reader.n_bytes_read == path.stat().st_size


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather"])
def test_binary_files(tmp_path: Path, suffix: str) -> None:
    """Parquet files, and Arrow files and streams; the number of rows is known where it is told."""
    path = tmp_path / f"table{suffix}"
    path.write_bytes(content_of(suffix))
    rows, targets, reader = read(path, target="label", batch_size=2)
    assert rows == ROWS
    assert targets == COLUMNS["label"]
    assert reader.n_rows == (3 if suffix == ".parquet" else None)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_columns_that_are_dropped_or_nominal(tmp_path: Path, suffix: str) -> None:
    """In every format; a target that is dropped is no feature, either."""
    path = tmp_path / f"table{suffix}"
    path.write_bytes(content_of(suffix))
    kinds = ColumnKinds({"whole": "nominal"})
    rows, targets, _ = read(path, drop=["number", "day", "moment", "label"], kinds=kinds)
    assert targets == []
    assert rows == [{"whole": "1", "name": "red"}, {"whole": "2"}, {"name": "blue"}]


def test_the_target_is_not_nominal(tmp_path: Path) -> None:
    """It is no feature, so that the option would do nothing."""
    path = tmp_path / "table.csv"
    path.write_text("a,y\n1,2\n")
    with pytest.raises(streams.TableError, match="'y' is not a feature: declare no kind"):
        read(path, target="y", kinds=ColumnKinds({"y": "nominal"}))


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        (pa.timestamp("s"), [0, None, -1], [0.0, None, -1.0]),
        (pa.timestamp("ms"), [1, None], [0.001, None]),
        (pa.timestamp("ns"), [1_700_000_000_123_456_789, -100], [1_700_000_000.123456, -1e-6]),
        (pa.timestamp("us", tz="Europe/Vienna"), [500_000], [0.5]),
        (pa.date64(), [86_400_000], [86_400.0]),
        (pa.duration("ms"), [1500, None], [1.5, None]),
        (pa.time32("s"), [3600, None], ["01:00:00", None]),
        (pa.bool_(), [True, None, False], [1.0, None, 0.0]),
        (pa.uint8(), [200], [200.0]),
        (pa.int64(), [2**60 + 1], [float(2**60 + 1)]),
        (pa.float32(), [0.5, math.nan], [0.5, None]),
        (pa.decimal128(5, 2), [1, None], [1.0, None]),
        (pa.dictionary(pa.int8(), pa.string()), ["a", None, "a"], ["a", None, "a"]),
        (pa.dictionary(pa.int8(), pa.int64()), [7, None], [7.0, None]),
        (pa.string_view(), ["a", None], ["a", None]),
        (pa.large_string(), ["a"], ["a"]),
        (pa.null(), [None, None], [None, None]),
    ],
)
def test_types_of_arrow(tmp_path: Path, kind: Any, values: list[Any], expected: list[Any]) -> None:
    """Numbers are floats, moments seconds, all else names."""
    array = pa.array(values, kind)
    with ipc.new_file(tmp_path / "t.arrow", pa.schema([("a", kind)])) as writer:
        writer.write_table(pa.table({"a": array}))
    rows, _, _ = read(tmp_path / "t.arrow")
    assert [row.get("a") for row in rows] == expected


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_truth_values(tmp_path: Path, suffix: str) -> None:
    """Numbers in every format, names where they are nominal; as targets what they are."""
    flags = {"flag": [True, None, False], "y": [True, False, True]}
    path = tmp_path / f"table{suffix}"
    if suffix == ".csv":
        path.write_text("flag,y\ntrue,true\n,FALSE\nFalse,True\n")
    elif suffix == ".jsonl":
        records = [dict(zip(flags, row, strict=True)) for row in zip(*flags.values(), strict=True)]
        path.write_text("\n".join(map(json.dumps, records)))
    else:
        parquet.write_table(pa.table(flags), path)
    rows, targets, _ = read(path, target="y")
    assert rows == [{"flag": 1.0}, {}, {"flag": 0.0}]
    assert targets == flags["y"]
    if suffix == ".csv":
        path.write_text("flag,y\ntrue,true\n,FALSE\nfalse,True\n")
    rows, _, _ = read(path, target="y", kinds=ColumnKinds({"flag": "nominal"}))
    assert rows == [{"flag": "true"}, {}, {"flag": "false"}]


def test_truth_values_among_numbers(tmp_path: Path) -> None:
    """As in JSON; a name among them is a bad row."""
    path = tmp_path / "table.csv"
    path.write_text("a,b\ntrue,0\n2.5,TRUE\nfalse,1\n")
    assert read(path)[0] == [{"a": 1.0, "b": 0.0}, {"a": 2.5, "b": 1.0}, {"a": 0.0, "b": 1.0}]
    path.write_text("a\ntrue\nperhaps\n")
    with pytest.raises(streams.TableError, match="row 2: column 'a' holds 'perhaps' among numbers"):
        read(path)


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        (pa.decimal128(5, 2), ["1.50", None, "2.00"], [1.5, None, 2.0]),
        (pa.decimal128(20, 0), [2**60 + 1, None], [2**60 + 1, None]),
        (pa.dictionary(pa.int8(), pa.decimal128(5, 2)), ["1.50"], [1.5]),
        (pa.dictionary(pa.int8(), pa.date32()), [DAY], [seconds(DAY)]),
    ],
)
def test_targets_of_arrow(tmp_path: Path, kind: Any, values: list[Any], expected: Any) -> None:
    """Decimals are numbers, moments seconds."""
    if pa.types.is_dictionary(kind):
        given = [None if v is None else Decimal(v) if v is not DAY else v for v in values]
        array = pa.array(given, kind.value_type).dictionary_encode()
    else:
        array = pa.array([None if v is None else Decimal(v) for v in values], kind)
    with ipc.new_file(tmp_path / "t.arrow", pa.schema([("y", array.type)])) as writer:
        writer.write_table(pa.table({"y": array}))
    _, targets, _ = read(tmp_path / "t.arrow", target="y", may_lack_targets=True)
    assert [(type(y), y) for y in targets] == [(type(y), y) for y in expected]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("90071992547409930", 90071992547409930),
        ("90071992547409931", 90071992547409931),
        ("-9007199254740993", -9007199254740993),
        ("1e200", 1e200),
        ("7.0", 7),
        ("1_000", "1_000"),
        ("inf", "inf"),
        ("-Infinity", "-Infinity"),
        ("1e999", "1e999"),
    ],
)
def test_labels_of_texts(text: str, label: Any) -> None:
    """Whole numbers keep their digits; what no float of a stream can be is a name."""
    assert (type(label_of(text)), label_of(text)) == (type(label), label)


def test_underscores_are_of_names(tmp_path: Path) -> None:
    """Python would take them for parts of a number."""
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1_000,1\n2_000,2\n")
    assert [row["a"] for row in read(path)[0]] == ["1_000", "2_000"]
    path.write_text("a,b\n1000,1\n2_000,2\n")
    with pytest.raises(streams.TableError, match="row 2: column 'a' holds '2_000' among numbers"):
        read(path)


def batches_of(file: Any, monkeypatch: pytest.MonkeyPatch, on_bad_row: Any = "stop") -> Any:
    """The rows of CSV on standard input with the target y."""
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=file))
    return streams.open_table("-", target="y", on_bad_row=on_bad_row)


@given(
    st.lists(
        st.tuples(
            st.floats(allow_infinity=False).map(repr) | st.sampled_from(["", "NA", " 7", "1e-400"]),
            st.text("ab ,;\"'\n", max_size=5),
            st.sampled_from(["1", "0", "2.5", "true", "spam"]),
        ),
        min_size=1,
        max_size=20,
    ),
    st.integers(20, 60),
)
def test_cells_of_csv(records: list[tuple[str, str, str]], size: int) -> None:
    """Numbers are those of Python, quoted texts what was written, wherever blocks begin."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["number", "name", "y"])
    writer.writerows([("1.0", "x", "0"), *records])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "CHUNK", size)
        batches = list(batches_of(io.BytesIO(file.getvalue().encode()), patch))
    found = [row for batch in batches for row in batch.rows()][1:]
    assert [y for batch in batches for y in batch.targets or ()][1:] == [
        label_of(y) for _, _, y in records
    ]
    for row, (number, name, _) in zip(found, records, strict=True):
        value = math.nan if number.strip() in MISSING else float(number)
        assert row.get("number", math.nan) == value or (value != value and "number" not in row)
        assert row.get("name", "").lstrip(" ") == ("" if name in MISSING else name.lstrip(" "))


def test_encodings(tmp_path: Path) -> None:
    """Any that Python knows."""
    path = tmp_path / "table.csv"
    for encoding in ("latin-1", "utf-16", "utf-8"):
        path.write_bytes("größe,y\n1,é\n".encode(encoding))
        assert read(path, target="y", encoding=encoding)[:2] == ([{"größe": 1.0}], ["é"])
    path.write_bytes("größe,y\n1,é\n".encode("latin-1"))
    with pytest.raises(streams.TableError, match="not text in utf-8"):
        read(path, target="y")
    for codec in ("hex", "rot13", "base64"):  # of bytes, or of texts to texts
        with pytest.raises(streams.TableError, match=f"no text encoding {codec!r}"):
            read(path, encoding=codec)
    with pytest.raises(streams.TableError, match="no text encoding 'klingon'"):
        read(path, target="y", encoding="klingon")


def test_rows_of_a_pipe_come_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there is read, and no more is waited for."""
    reading, writing = os.pipe()
    with open(reading, "rb") as source, open(writing, "wb", buffering=0) as sink:
        sink.write(b"a,y\n1,0\n2,1\n3")
        batches = iter(batches_of(source, monkeypatch))
        assert next(batches).targets == [0, 1]
        sink.write(b",1\n\n4,0\n")
        assert [row["a"] for row in next(batches).rows()] == [3.0, 4.0]


def test_a_header_that_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `tail -F` shows it when a log is rotated: it is no row, but counts as one."""
    content = b"a,y\n1,0\n2,1\na,y\n3,0\na,y\nx,1\n4,1\n"
    batches = list(batches_of(io.BytesIO(content), monkeypatch, "skip"))
    assert [row["a"] for batch in batches for row in batch.rows()] == [1, 2, 3, 4]
    assert [list(batch.numbers) for batch in batches] == [[1, 2, 4, 7]]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_ends_of_lines(tmp_path: Path, end: str) -> None:
    """Those of every system; the last one may be missing."""
    (tmp_path / "t.csv").write_bytes(end.join(["a ,y", '"1",0', '"2",1']).encode())
    assert read(tmp_path / "t.csv", target="y")[:2] == ([{"a": 1.0}, {"a": 2.0}], [0, 1])


def test_quotation_marks(tmp_path: Path) -> None:
    """Inside a text without them, they are letters."""
    (tmp_path / "t.csv").write_text('a,y\n5" pipe,0\n"x, ""y""\nz",1\n"b",1\n')
    assert [row["a"] for row in read(tmp_path / "t.csv", target="y")[0]] == [
        *('5" pipe', 'x, "y"\nz', "b")
    ]


def test_kinds_do_not_depend_on_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dates with and without a time zone, truth values and numbers may follow each other."""
    lines = ["when,a", "2026-01-01,true", "2026-01-01T01:00+01:00,2.5", "2026-01-01 00:00:01,1"]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    found = []
    for size in (30, 1000):
        monkeypatch.setattr(text, "CHUNK", size)
        found.append(read(tmp_path / "t.csv")[0])
    day = seconds(datetime.date(2026, 1, 1))
    assert [list(row.values()) for row in found[0]] == [[day, 1.0], [day, 2.5], [day + 1, 1.0]]
    assert found[0] == found[1]


@pytest.mark.parametrize("suffix", [".csv.gz", ".jsonl", ".parquet"])
@pytest.mark.slow
def test_memory_is_that_of_a_few_batches(tmp_path: Path, suffix: str) -> None:
    """However long the table."""
    path = tmp_path / f"long{suffix}"
    n = 400_000
    values = np.random.default_rng(1).normal(size=n)
    if suffix == ".parquet":
        parquet.write_table(pa.table({"a": values, "y": values}), path, row_group_size=n)
    else:
        form = "{},{}\n" if suffix == ".csv.gz" else '{{"a":{},"y":{}}}\n'
        whole = "a,y\n" * (suffix == ".csv.gz") + "".join(form.format(v, v) for v in values)
        path.write_bytes(PACK[".gz" if suffix == ".csv.gz" else ""](whole.encode()))
    reader = streams.open_table(path, target="y", batch_size=500)
    next(iter(reader))
    tracemalloc.start()
    assert sum(map(len, reader)) == n - 500
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16_000_000


def test_targets_that_are_times_of_day(tmp_path: Path) -> None:
    """They are names."""
    parquet.write_table(
        pa.table({"y": pa.array([3600, 0], pa.time32("s"))}), tmp_path / "t.parquet"
    )
    assert read(tmp_path / "t.parquet", target="y")[1] == ["01:00:00", "00:00:00"]
