"""What is wrong with a table is said in one line, by row or by column."""

import gzip
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from river_extra_trees import streams
from tests.tools.tables import PACK, read

BAD = (
    "a,when,c,y\n1,2026-01-01,x,1\n2\n3,2026-01-01,x,1\nx,2026-01-01,x,1\n5,soon,x,1\n"
    'inf,2026-01-01,x,1\n7,2026-01-01,"x"y,1\n8,2026-01-01,x,\n10,,x,0\n'
)
FAULTS = {
    2: "1 fields, but the header has 4",
    4: "column 'a' holds 'x' among numbers",
    5: "column 'when' holds 'soon' among dates",
    6: "column 'a' is infinite",
    7: "not CSV: ',' expected after '\"'",
    8: "the target 'y' is missing",
}


@pytest.mark.parametrize("batch_size", [1, 3, 100])
def test_bad_rows_of_csv(tmp_path: Path, batch_size: int) -> None:
    """They are skipped and counted, or the first one ends the reading after those before it."""
    path = tmp_path / "bad.csv"
    path.write_bytes(BAD.encode())
    options: dict[str, Any] = {"target": "y", "batch_size": batch_size}
    rows, _, reader = read(path, on_bad_row="skip", **options)
    assert [row["a"] for row in rows] == [1.0, 3.0, 10.0]
    assert reader.n_skipped == len(FAULTS)
    assert reader.first_skipped == "row 2: 1 fields, but the header has 4"
    lines = BAD.splitlines()
    for number, fault in FAULTS.items():
        kept = [line for i, line in enumerate(lines) if i == number or i not in FAULTS]
        path.write_bytes("\n".join(kept).encode())
        before = sum(i < number for i in (1, 3))
        seen: list[float] = []
        with pytest.raises(streams.TableError) as error:
            seen.extend(r["a"] for b in streams.open_table(path, **options) for r in b.rows())
        assert str(error.value) == f"{path}, row {before + 1}: {fault}"
        assert seen == [1.0, 3.0][:before]


def test_bad_rows_of_json_lines(tmp_path: Path) -> None:
    """Whatever is not one object of numbers and names."""
    path = tmp_path / "bad.jsonl"
    bad = ["{", "[1]", "7", '{"a": "x", "y": 1}', '{"a": Infinity, "y": 1}', '{"a": [1], "y": 1}']
    bad += ['{"a": 2}', '{"a": 1e999, "y": 0}', '{"n": "\\ud800", "y": 0}', '{"a":' * 9999]
    good = ['{"a": 1, "n": "x", "y": 1}', '\n{"a": true, "n": 5, "y": 0}']
    path.write_text("\n".join([good[0], *bad, good[1]]))
    rows, targets, reader = read(path, target="y", on_bad_row="skip")
    assert rows == [{"a": 1.0, "n": "x"}, {"a": 1.0, "n": "5"}]
    assert targets == [1, 0]
    assert reader.n_skipped == len(bad)
    with pytest.raises(streams.TableError, match="row 2: not JSON"):
        read(path, target="y")


def test_bad_rows_of_parquet(tmp_path: Path) -> None:
    """Infinite numbers, and targets that are missing."""
    path = tmp_path / "bad.parquet"
    table = pa.table({"a": [1.0, math.inf, 3.0, 4.0], "y": [1.0, 2.0, None, math.nan]})
    parquet.write_table(table, path)
    rows, targets, reader = read(path, target="y", on_bad_row="skip")
    assert (rows, targets, reader.n_skipped) == ([{"a": 1.0}], [1.0], 3)
    with pytest.raises(streams.TableError, match="row 2: column 'a' is infinite"):
        read(path, target="y")
    rows, targets, _ = read(path, target="y", on_bad_row="skip", predicts=True)
    assert (len(rows), targets[:2]) == (3, [1.0, None])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xls", b"", "is not a table"),
        ("a.json", b"", "is not a table"),
        ("gone.csv", None, "no file"),
        ("a.csv", b"", "is empty"),
        (
            "a.csv",
            gzip.compress(b"a,y\n1,2\n", mtime=0),
            "compressed by gzip; its name must end in .gz",
        ),
        ("a.csv", b"PK\3\4", "is an archive, such as a workbook of Excel; save it as CSV"),
        ("a.csv", b"PAR1\x15", "is Parquet; its name must end in .parquet"),
        ("a.csv", b"ARROW1\0\0", "is an Arrow file; its name must end in .arrow"),
        ("a.csv", "a,y\n1,2\n".encode("utf-16-be"), "not text in UTF-8; name its encoding"),
        ("a.csv", b"b,c\n1,2\n", "no column 'y'; there are b, c"),
        ("a.csv", b"y,y\n1,2\n", "column 'y' twice"),
        ("a.csv", b'y,"b\n1,2\n', "cannot read the header"),
        ("a.csv", b'y,b\n1,"2\n', "row 1: not CSV: unexpected end of data"),
        ("a.jsonl", b'[{"a": 1}]', "make JSON lines of it"),
        ("a.parquet", b"PAR1", "cannot read"),
        ("a.arrow", b"ARROW1", "cannot read"),
        *(
            (f"a.csv{packed}", content, "cannot read")
            for packed, pack in list(PACK.items())[1:]
            for content in (b"no such thing", pack(b"a,y\n" + os.urandom(900).hex().encode())[:-60])
        ),
    ],
)
def test_what_is_no_table(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    """It is said in one line."""
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(streams.TableError, match=message) as error:
        read(tmp_path / name, target="y")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("suffix", [".csv.gz", ".jsonl.gz"])
@pytest.mark.slow
def test_rows_before_a_damage_are_read(tmp_path: Path, suffix: str) -> None:
    """The error comes after them."""
    row = "1,0\n" if suffix == ".csv.gz" else '{"a": 1, "y": 0}\n'
    text = "a,y\n" * (suffix == ".csv.gz") + row * 100_000
    path = tmp_path / f"cut{suffix}"
    path.write_bytes(gzip.compress(text.encode())[:-50])
    seen: list[int] = []
    with pytest.raises(streams.TableError, match="cannot read"):
        seen.extend(len(batch) for batch in streams.open_table(path, target="y"))
    assert sum(seen) > 50_000
    assert max(seen) == 8192


def test_a_line_without_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not fill the memory."""
    monkeypatch.setattr("river_extra_trees.streams.text.LONGEST_LINE", 100_000)
    (tmp_path / "t.csv").write_bytes(b"a,y\n1,0\n" + b"x" * 5_000_000)
    with pytest.raises(streams.TableError, match="a line has more than 100,000 bytes"):
        read(tmp_path / "t.csv", target="y")


@pytest.mark.parametrize("target", ["a", "y"])
@pytest.mark.parametrize(
    "values",
    [
        pa.array([[1]]),
        pa.array([b"xx"]),
        pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
        pa.DictionaryArray.from_arrays(pa.array([0]), pa.array([[1]])),
    ],
    ids=lambda values: str(values.type),
)
def test_types_that_no_model_reads(tmp_path: Path, values: Any, target: str) -> None:
    """They are refused by the names of their columns, which can be dropped."""
    table = pa.table({"a": values, "y": [1]})
    feather.write_feather(table, tmp_path / "t.arrow", "uncompressed")
    with pytest.raises(streams.TableError, match=r"row 1: column 'a' holds .*, which is neither"):
        read(tmp_path / "t.arrow", target=target)
    assert read(tmp_path / "t.arrow", target="y", drop=["a"])[:2] == ([{}], [1])


@pytest.mark.parametrize("target", ["y", None])
def test_damaged_arrow_files(tmp_path: Path, target: str | None) -> None:
    """Offsets beyond the texts end the reading, not the interpreter."""
    feather.write_feather(pa.table({"y": ["a", "bc"]}), tmp_path / "t.arrow", "uncompressed")
    content = (tmp_path / "t.arrow").read_bytes()
    good = np.array([0, 1, 3], np.int32).tobytes()
    assert content.count(good) == 1
    damaged = content.replace(good, np.array([0, 1, 2**30], np.int32).tobytes())
    (tmp_path / "t.arrow").write_bytes(damaged)
    with pytest.raises(streams.TableError, match="cannot read"):
        read(tmp_path / "t.arrow", target=target)


def test_choices_that_make_no_sense(tmp_path: Path) -> None:
    """They are refused before the reading begins."""
    (tmp_path / "t.csv").write_bytes(b"a,y\n1,0\n")
    with pytest.raises(ValueError, match="batch_size must be at least 1"):
        streams.open_table(tmp_path / "t.csv", batch_size=0)
    with pytest.raises(ValueError, match="'stop' or 'skip'"):
        streams.open_table(tmp_path / "t.csv", on_bad_row="ignore")  # type: ignore[arg-type]


@pytest.mark.slow
def test_without_pyarrow(tmp_path: Path) -> None:
    """The error says what is needed; the package itself needs none of it."""
    (tmp_path / "t.csv").write_bytes(b"a,y\n1,0\n")
    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from river_extra_trees import evaluate, streams\n"
        f"streams.open_table({str(tmp_path / 't.csv')!r})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr.endswith("TableError: reading tables needs pyarrow: pip install pyarrow\n")
