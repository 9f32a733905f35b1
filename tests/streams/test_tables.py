"""Tables of every format are read alike, batch by batch."""

import csv
import datetime
import io
import math
import os
import re
import sys
import types
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather, parquet

from river_extra_trees import ColumnKinds, streams
from river_extra_trees._estimator.kinds import MISSING
from river_extra_trees.streams import text
from river_extra_trees.streams.conversion import label_of_text
from tests.tools.tables import PACK, read, write

DAY, SECONDS = datetime.date(2026, 11, 22), 1_795_305_600.0
TABLE = pd.DataFrame(
    {
        "number": [1.5, None, -3.0],
        "whole": pd.array([1, 2, None], "Int64"),
        "name": ["red", None, "blue"],
        "day": [DAY, None, DAY],
        "moment": pd.to_datetime(pd.Series([SECONDS + 51_300.25, -1e-6, None]), unit="s"),
        "label": [True, False, True],
    }
)
ROWS: list[dict[str, Any]] = [
    {"number": 1.5, "whole": 1, "name": "red", "day": SECONDS, "moment": SECONDS + 51_300.25},
    {"whole": 2, "moment": -1e-6},
    {"number": -3, "name": "blue", "day": SECONDS},
]


@pytest.mark.parametrize(
    ("suffix", "delimiter", "packed"),
    [
        *((".csv", delimiter, packed) for delimiter in (",", ";", "|") for packed in PACK),
        *((suffix, "\t", packed) for suffix in (".tsv", ".jsonl") for packed in PACK),
        *((".parquet", "", ""), (".arrow", "", "")),
    ],
)
def test_formats(tmp_path: Path, suffix: str, delimiter: str, packed: str) -> None:
    """Packed or not, whatever stands between fields; the number of rows is known if it is told."""
    path = tmp_path / f"table{suffix.replace('.tsv', '.csv')}"
    write(TABLE, path)
    content = path.read_bytes()
    if suffix in (".csv", ".tsv"):
        content = content.replace(b",", delimiter.encode())
    path = path.with_suffix(suffix + packed)
    path.write_bytes(PACK[packed](content))
    rows, targets, reader = read(path, target="label", batch_size=2)
    assert rows == ROWS
    assert targets == [True, False, True]
    assert reader.n_rows == (3 if suffix == ".parquet" else None)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_columns_that_are_dropped_or_nominal(tmp_path: Path, suffix: str) -> None:
    """In every format; a target that is dropped is no feature, either."""
    path = tmp_path / f"table{suffix}"
    write(TABLE, path)
    kinds = ColumnKinds({"whole": "nominal"})
    rows, targets, _ = read(path, drop=["number", "day", "moment", "label"], kinds=kinds)
    assert targets == []
    assert rows == [{"whole": "1", "name": "red"}, {"whole": "2"}, {"name": "blue"}]


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
    feather.write_feather(pa.table({"a": array}), tmp_path / "t.arrow", "uncompressed")
    rows, _, _ = read(tmp_path / "t.arrow")
    assert [row.get("a") for row in rows] == expected


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_truth_values(tmp_path: Path, suffix: str) -> None:
    """Numbers in every format, names where they are nominal; as targets what they are."""
    flags = {"flag": [True, None, False], "name": [True, None, False], "y": [True, False, True]}
    path = tmp_path / f"table{suffix}"
    write(pd.DataFrame(flags), path)
    if suffix == ".csv":
        path.write_text("flag,name,y\ntrue,true,true\n,,FALSE\nFalse,false,True\n")
    rows, targets, _ = read(path, target="y", kinds=ColumnKinds({"name": "nominal"}))
    assert rows == [{"flag": 1.0, "name": "true"}, {}, {"flag": 0.0, "name": "false"}]
    assert targets == flags["y"]


@pytest.mark.parametrize(
    ("scale", "values", "expected"),
    [(2, ["1.50", None, "2.00"], [1.5, None, 2]), (0, [2**60 + 1, None], [2**60 + 1, None])],
)
def test_decimal_targets(tmp_path: Path, scale: int, values: list[Any], expected: Any) -> None:
    """They are numbers; whole ones keep all digits."""
    decimals = [None if value is None else Decimal(value) for value in values]
    table = pa.table({"y": pa.array(decimals, pa.decimal128(20, scale))})
    parquet.write_table(table, tmp_path / "t.parquet")
    _, targets, _ = read(tmp_path / "t.parquet", target="y", predicts=True)
    assert [(type(y), y) for y in targets] == [(type(y), y) for y in expected]


def test_dates_as_targets(tmp_path: Path) -> None:
    """Without a kind they are labels, as they are in CSV; a duration is a number."""
    day, time = datetime.date(2026, 11, 22), datetime.time(14, 15)
    for values in ([day], [datetime.datetime(2026, 11, 22)], [time], [datetime.timedelta(1)]):
        parquet.write_table(pa.table({"y": values}), tmp_path / "t.parquet")
        (tmp_path / "t.csv").write_text(pd.DataFrame({"y": values}).to_csv(index=False))
        found = [read(tmp_path / name, target="y")[1] for name in ("t.parquet", "t.csv")]
        assert found[0] == found[1]


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
    assert (type(label_of_text(text)), label_of_text(text)) == (type(label), label)


PAGE = Path(__file__).parents[2] / "docs" / "tables.md"


def rows_of_page(header: str) -> list[list[list[str]]]:
    """The rows of a table of the page, as lists of the codes in each cell."""
    lines = PAGE.read_text().partition(header)[2].partition("\n\n")[0].splitlines()[2:]
    return [
        [re.findall("`([^`]*)`", cell) for cell in line.strip("|").split("|")] for line in lines
    ]


READ = [
    (kind, text, value)
    for (kind,), texts, (value,) in rows_of_page("| kind | texts | read as |")
    for text in texts
]


def test_texts_of_the_page(tmp_path: Path) -> None:
    """They are read as the page says, in files, rows and frames, with blanks around them."""
    assert len(READ) > 40
    for kind, cell, value in READ:
        expected = value if kind == "nominal" else float(value)
        found = [ColumnKinds({"a": kind}).transform_one({"a": f" {cell} "})["a"]]
        for make in (pd.DataFrame, pl.DataFrame, pa.table):
            frame = ColumnKinds({"a": kind}).transform_many(make({"a": [cell]}))
            found.append(np.asarray(frame)[0, 0])
        for name in ("t.csv", "t.jsonl", "t.parquet"):
            if name == "t.csv":
                (tmp_path / name).write_text(f'a\n" {cell}\t"\n')
            else:
                write(pd.DataFrame({"a": [cell]}), tmp_path / name)
            found += [row["a"] for row in read(tmp_path / name, kinds=ColumnKinds({"a": kind}))[0]]
        assert found == [expected] * 7, (kind, cell)


def test_words_of_the_page() -> None:
    """The page lists all words that are missing values."""
    ((words,),) = rows_of_page("| words for missing values |")
    assert {*words, ""} == MISSING


@pytest.mark.parametrize("word", [*sorted(MISSING - {""}), "-", "--", "unknown", "5 inch"])
@pytest.mark.parametrize("place", [0, 500])
def test_an_odd_cell_does_not_decide(tmp_path: Path, word: str, place: int) -> None:
    """A column of a file that begins with it is one of numbers, as if it came later."""
    cells = [f"{i}.5" for i in range(1200)]
    cells[place] = word
    (tmp_path / "t.csv").write_text("\n".join(["a,b", *(f"{cell},x" for cell in cells)]))
    for size in (1, 8192):
        kinds = ColumnKinds()
        rows, _, reader = read(
            tmp_path / "t.csv", kinds=kinds, on_bad_cell="missing", batch_size=size
        )
        assert kinds.columns == {"a": "number", "b": "nominal"}
        assert [i for i, row in enumerate(rows) if "a" not in row] == [place]
        assert reader.bad_cells == ({"a": 1} if word in ("unknown", "5 inch") else {})
        assert kinds.columns["a"] == "number"
    if reader.bad_cells:
        assert reader.first_bad_cell == f"row {place + 1}: column 'a' holds {word!r} among numbers"
        with pytest.raises(streams.TableError, match=f"row {place + 1}: column 'a' holds"):
            read(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2a", "3b", "4c"], "nominal"),
        (["-", "-", "-", "1.5"], "number"),
        (["-", "+", "-", "+"], "nominal"),
        (["1,234.5", "17"], "number"),
        (["1,234", "5,678"], "nominal"),
        (["2026-11-22", "20261122T1415", "?"], "date"),
        (["555 123 456", "555 123 457"], "nominal"),
        (["?", "NULL"], None),
    ],
)
def test_kinds_by_several_rows(tmp_path: Path, cells: list[str], kind: str | None) -> None:
    """Most cells decide; gaps do not count."""
    (tmp_path / "t.csv").write_text("\n".join(["a;b", *(f"{cell};1" for cell in cells)]))
    kinds = ColumnKinds()
    read(tmp_path / "t.csv", kinds=kinds)
    assert kinds.columns.get("a") == kind


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("nominal", ["007", "7", "1e3", "1000", " 7 "], ["007", "7", "1e3", "1000", "7"]),
        ("decimal comma", ["1,5", "1.234,0", "NA"], [1.5, 1234, None]),
        ("percentage", ["5%", "7.5%"], [5, 7.5]),
        ("date", ["1970-01-02", "1970-01-01 00:00:00.5"], [86400, 0.5]),
        ("number", ["1,234.5", "true"], [1234.5, 1]),
    ],
)
def test_kinds_of_targets(
    tmp_path: Path, suffix: str, kind: str, values: list[str], expected: list[Any]
) -> None:
    """A declared kind reads the target and the weight; a value that does not fit is a bad row."""
    path = tmp_path / f"t{suffix}"
    write(pd.DataFrame({"a": 1.0, "y": values}), path)
    kinds = ColumnKinds({"y": kind})
    assert read(path, target="y", kinds=kinds, predicts=True)[1] == expected
    if kind != "nominal":
        batches = list(streams.open_table(path, weight="y", kinds=kinds, on_bad_row="skip"))
        found = [w for batch in batches for w in batch.weights or ()]
        assert found == [each for each in expected if each is not None]
        write(pd.DataFrame({"a": 1.0, "y": [*values, "red"]}), path)
        with pytest.raises(streams.TableError, match="column 'y' holds 'red'"):
            read(path, target="y", kinds=kinds, predicts=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,y,,\n1,0,,\n2,1,,\n", [{"a": 1.0}, {"a": 2.0}]),
        ("a,y,\n1,0,\n2,1,\n", [{"a": 1.0}, {"a": 2.0}]),
        (",a,y\n0,1,0\n1,2,1\n", [{"": 0.0, "a": 1.0}, {"": 1.0, "a": 2.0}]),
    ],
)
def test_columns_without_a_name(tmp_path: Path, text: str, expected: Any) -> None:
    """At the end of a header, they are no columns; a value in one makes a row bad."""
    (tmp_path / "t.csv").write_text(text)
    assert read(tmp_path / "t.csv", target="y")[0] == expected
    if text.startswith("a"):
        (tmp_path / "t.csv").write_text(f"{text}3,0{text.partition('y')[2].partition(chr(10))[0]}7")
        with pytest.raises(streams.TableError, match="row 3: a value in a column without a name"):
            read(tmp_path / "t.csv", target="y")


@pytest.mark.parametrize("quote", ['"5 inch', '5 "inch, "', '"', '"a" b'])
@pytest.mark.parametrize("later", ["", '"x, y"', '"5 inch', 'inch"'])
def test_a_stray_quotation_mark(tmp_path: Path, quote: str, later: str) -> None:
    """It costs the row in which it stands, wherever the next mark is."""
    lines = [f"{i},x,{i % 2}" for i in range(1, 3001)]
    lines[99] = f"100,{quote},1"
    if later:
        lines[1999] = f"2000,{later},0"
    (tmp_path / "t.csv").write_text("\n".join(["a,t,y", *lines]))
    rows, _, reader = read(tmp_path / "t.csv", target="y", on_bad_row="skip")
    found = {row["a"] for row in rows}
    assert found >= {float(i) for i in range(1, 3001)} - {100.0, 2000.0}
    assert reader.n_skipped == 3000 - len(found) <= 2
    assert reader.first_skipped.startswith("row 100: ")
    with pytest.raises(streams.TableError, match="row 100: "):
        read(tmp_path / "t.csv", target="y")


@pytest.mark.parametrize(
    ("lines", "n_good", "n_bad"),
    [
        # Two marks that a text could lie between: rows, each of which stays one.
        (['1,"x,2', "3,y,4", "5,z,6", "7,w,8", '9,v",3'], 4, 1),
        (['1,",3', '2,",5'], 0, 2),
        (['1,",3', ",x,4", '2,",5'], 1, 2),
        (['1,"x,2', '9,v", 3'], 1, 1),
        # Texts, though their lines have as many commas as a row.
        (['1,"x, y', "a, b, c", "d, e, f", 'z",3'], 1, 0),
        (['1,"we had 2, or 3', '4, of 5",3'], 1, 0),
    ],
)
def test_two_stray_quotation_marks(
    tmp_path: Path, lines: list[str], n_good: int, n_bad: int
) -> None:
    """They cost the rows in which they stand, unless what lies between them can be a text."""
    content = ["a,t,y", *["1,x,3"] * 3, *lines, *["2,y,4"] * 3]
    (tmp_path / "t.csv").write_text("\n".join(content))
    rows, _, reader = read(tmp_path / "t.csv", target="y", on_bad_row="skip")
    assert (len(rows), reader.n_skipped) == (6 + n_good, n_bad)


def test_parts_of_dates_in_files(tmp_path: Path) -> None:
    """They are features beside the date, and not columns of the table."""
    (tmp_path / "t.csv").write_text("day,y\n2026-11-22 14:15,0\n,1\n")
    kinds = ColumnKinds({"day": "date parts"})
    (batch,) = streams.open_table(tmp_path / "t.csv", target="y", kinds=kinds)
    assert list(batch.rows()) == [kinds.transform_one({"day": "2026-11-22 14:15"}), {}]
    assert batch.parts == ("day hour", "day weekday", "day day of the year")
    (tmp_path / "t.csv").write_text("day,day hour,y\n2026-11-22 14:15,1,0\n")
    with pytest.raises(streams.TableError, match="column 'day hour' is there"):
        list(streams.open_table(tmp_path / "t.csv", target="y", kinds=kinds))


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
        label_of_text(y) for _, _, y in records
    ]
    for row, (number, name, _) in zip(found, records, strict=True):
        value = math.nan if number.strip() in MISSING else float(number)
        assert row.get("number", math.nan) == value or (value != value and "number" not in row)
        assert row.get("name", "") == ("" if name.strip() in MISSING else name.strip())


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_encodings(tmp_path: Path, name: str) -> None:
    """Texts are UTF-8, with or without its mark; others are refused with what to do."""
    path = tmp_path / name
    content = "größe,y\n1,é\n" if name == "t.csv" else '{"größe": 1, "y": "é"}\n'
    for encoding in ("utf-8", "utf-8-sig"):
        path.write_bytes(content.encode(encoding))
        assert read(path, target="y")[:2] == ([{"größe": 1.0}], ["é"])
    for encoding in ("utf-16", "utf-16-le", "cp1252"):
        path.write_bytes(content.encode(encoding))
        named = None if encoding == "utf-16" else encoding
        assert read(path, target="y", encoding=named)[:2] == ([{"größe": 1.0}], ["é"])
    with pytest.raises(streams.TableError, match="not text in ascii; name its encoding"):
        read(path, target="y", encoding="ascii")
    with pytest.raises(ValueError, match="'latin-99' is not an encoding"):
        read(path, target="y", encoding="latin-99")
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(streams.TableError, match=r"not text in UTF-8; name its encoding"):
        read(path, target="y")


def test_rows_of_a_pipe_come_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there is read, and no more is waited for."""
    reading, writing = os.pipe()
    with open(reading, "rb") as source, open(writing, "wb", buffering=0) as sink:
        sink.write(b"a,y\n1,0\n2,1\n3")
        batches = iter(batches_of(source, monkeypatch))
        assert next(batches).targets == [0, 1]
        sink.write(b",1\n\n4,0\n")
        assert [row["a"] for row in next(batches).rows()] == [3.0, 4.0]


def test_standard_input_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As by `<&-` of a shell."""
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(streams.TableError, match=r"cannot read .*: standard input is closed"):
        streams.open_table("-", target="y")


def test_a_header_that_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `tail -F` shows it when a log is rotated: it is no row, but counts as one."""
    content = b"a,y\n1,0\n2,1\na,y\n3,0\na,y\nx,1\n4,1\n"
    reader = batches_of(io.BytesIO(content), monkeypatch, "skip")
    batches = list(reader)
    assert reader.n_skipped == 1  # the row of x
    assert [row["a"] for batch in batches for row in batch.rows()] == [1, 2, 3, 4]
    assert [number for batch in batches for number in batch.numbers] == [1, 2, 4, 7]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((f'a ,y{end}"1",0{end}"2",1', [1.0, 2.0]) for end in ("\n", "\r\n", "\r")),
        # Inside a text without quotation marks, they are letters.
        ('a,y\n5" pipe,0\n"x, ""y""\nz",1\n"b",1\n', ['5" pipe', 'x, "y"\nz', "b"]),
    ],
)
def test_ends_of_lines_and_quotation_marks(tmp_path: Path, text: str, expected: Any) -> None:
    """Ends of lines are those of every system; the last one may be missing."""
    (tmp_path / "t.csv").write_bytes(text.encode())
    assert [row["a"] for row in read(tmp_path / "t.csv", target="y")[0]] == expected


def test_kinds_do_not_depend_on_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dates with and without a time zone, truth values and numbers may follow each other."""
    lines = ["when,a", "2026-01-01,true", "2026-01-01T01:00+01:00,2.5", "2026-01-01 00:00:01,1"]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    found = []
    for size in (30, 1000):
        monkeypatch.setattr(text, "CHUNK", size)
        found.append(read(tmp_path / "t.csv")[0])
    day = 1_767_225_600.0
    assert [list(row.values()) for row in found[0]] == [[day, 1.0], [day, 2.5], [day + 1, 1.0]]
    assert found[0] == found[1]
