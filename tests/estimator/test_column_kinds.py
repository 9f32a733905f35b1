"""Kinds of columns: what each kind reads, and that rows and frames are read alike."""

import datetime
import math
import random
import subprocess
import sys
from collections.abc import Callable
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
from river import checks, compose

import river_extra_trees as ret
from river_extra_trees import persistence
from river_extra_trees._estimator.kinds import kind_of, reader_of

DAY = 86400.0
FRAMES: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": lambda rows: pl.DataFrame(rows, infer_schema_length=None),
    "pyarrow": pa.Table.from_pylist,
}


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("number", "5", 5.0),
        ("number", "-.5e3", -500.0),
        ("number", "TRUE", 1.0),
        ("number", True, True),
        ("number", Decimal("1.5"), Decimal("1.5")),
        ("number", datetime.timedelta(milliseconds=1500), 1.5),
        ("number", np.timedelta64(1500, "ms"), 1.5),
        ("number", "?", None),
        ("number", pd.NA, None),
        ("date", "1970-01-02", DAY),
        ("date", "1970-01-02T01:00:00+01:00", DAY),
        ("date", "1970-01-02 00:00:00.1234567", DAY + 0.123456),
        ("date", "1970-01-02T01", DAY + 3600.0),
        ("date", datetime.date(1970, 1, 2), DAY),
        ("date", datetime.datetime(1970, 1, 2), DAY),
        ("date", np.datetime64("1970-01-02"), DAY),
        ("date", pd.Timestamp("1970-01-02", tz="UTC"), DAY),
        ("date", pd.NaT, None),
        ("date", 7, 7),
        ("date %d.%m.%Y", "02.01.1970", DAY),
        ("date %d.%m.%Y", "1970-01-02", DAY),
        ("decimal comma", "1.234.567,5", 1234567.5),
        ("decimal comma", "-0,5", -0.5),
        ("decimal comma", 0.5, 0.5),
        ("percentage", "5 %", 5.0),
        ("percentage", 5, 5),
        ("nominal", 10115, "10115"),
        ("nominal", 10115.0, "10115"),
        ("nominal", np.float32(1.5), "1.5"),
        ("nominal", np.bool_(True), "true"),
        ("nominal", datetime.time(1), "01:00:00"),
        ("nominal", "007", "007"),
        ("nominal", "NA", None),
        ("nominal", math.nan, None),
    ],
)
def test_values(kind: str, value: Any, expected: Any) -> None:
    """Each kind reads what other programs write for it."""
    found = reader_of(kind)(value)
    assert (type(found), found) == (type(expected), expected)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("number", "1_000"),
        ("number", "large"),
        ("number", datetime.date(2026, 1, 1)),
        ("number", (1,)),
        ("date", "2026-02-30"),
        ("date", "11/23/2026"),
        ("date %m/%d/%Y", "23/11/2026"),
        ("decimal comma", "0.12"),
        ("decimal comma", "1,2,3"),
        ("percentage", "1,234%"),
    ],
)
def test_misfits_are_named(kind: str, value: Any) -> None:
    """By column and value; and nothing is learned of their samples."""
    transformer = ret.ColumnKinds({"a": kind})
    with pytest.raises(ValueError, match="column 'a' holds "):
        transformer.learn_one({"new": 1, "a": value})
    with pytest.raises(ValueError, match="column 'a' holds "):
        transformer.transform_one({"a": value})
    with pytest.raises(ValueError, match="row 1: column 'a' holds "):
        transformer.learn_many(
            pd.DataFrame({"new": [1, 1], "a": pd.Series([None, value], dtype=object)})
        )
    assert transformer.columns == transformer.missing == {}


def test_first_values_determine_kinds() -> None:
    """A text is a number only where the source has no types."""
    values = [1, True, Decimal(1), "1", "2026-01-01", "2026-02-30", None, math.nan, "?", pd.NaT]
    kinds = ["number", "number", "number", "nominal", "date", "nominal", None, None, None, None]
    assert [kind_of(value) for value in values] == kinds
    assert [kind_of(text, untyped=True) for text in ("1", "true", "inf", "x")] == [
        *("number", "number", "number", "nominal")
    ]


def rows_of(seed: int) -> list[dict[str, Any]]:
    """Rows with all kinds of values and gaps, whose columns have one type each."""
    source = random.Random(seed)

    def gap(value: Any) -> Any:
        return None if source.random() < 0.2 else value

    return [
        {
            "number": gap(source.random()),
            "count": source.randrange(9),
            "flag": gap(source.random() < 0.5),
            "name": gap(source.choice(["red", "blue", "NA"])),
            "zip": source.randrange(5),
            "day": gap(datetime.datetime(2026, 1, 1 + source.randrange(28))),
            "text_day": gap(f"2026-01-{1 + source.randrange(28):02d}"),
            "comma": gap(f"{source.randrange(9)},5"),
        }
        for _ in range(60)
    ]


@pytest.mark.parametrize("library", FRAMES)
def test_rows_and_frames_are_read_alike(library: str) -> None:
    """The same kinds, the same shares of missing values, the same model, the same answers."""
    declared = {"zip": "nominal", "comma": "decimal comma"}
    rows, later = rows_of(1), rows_of(2)
    labels = [i % 2 for i in range(len(rows))]
    by_rows = ret.ColumnKinds(declared) | ret.StreamDecisionTreeClassifier(seed=1, batch_size=20)
    by_frames = by_rows.clone()
    for x, y in zip(rows, labels, strict=True):
        by_rows.learn_one(x, y)
    make = FRAMES[library]
    for start in (0, 20, 40):
        by_frames.learn_many(make(rows[start : start + 20]), labels[start : start + 20])
    one, many = by_rows["ColumnKinds"], by_frames["ColumnKinds"]
    assert one.columns == many.columns
    assert one.missing == many.missing
    assert one.columns["text_day"] == "date"
    learner = "StreamDecisionTreeClassifier"
    assert persistence.save_bytes(by_rows[learner]) == persistence.save_bytes(by_frames[learner])
    frame = make(later)
    found = by_frames.predict_many(frame)
    found = found.to_pylist() if library == "pyarrow" else list(found)
    assert found == [by_rows.predict_one(x) for x in later]


def test_missing_values_are_counted() -> None:
    """In a column that comes later, and whatever the order of the names."""
    transformer = ret.ColumnKinds()
    for x in ({"a": 1}, {"a": 2}, {"b": "x", "a": math.nan}, {"b": "?"}):
        transformer.learn_one(x)
    transformer.transform_one({"new": 1, "a": None})  # learns nothing
    assert transformer.missing == {"a": 0.5, "b": 0.75}
    assert transformer.summary == {"a": "number, 50.0% missing", "b": "nominal, 75.0% missing"}


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Further columns are read by their own values."""
    monkeypatch.setattr("river_extra_trees.column_kinds.MOST_COLUMNS", 10)
    transformer = ret.ColumnKinds()
    for i in range(100):
        transformer.learn_one({i: "1970-01-02"})
    assert len(transformer.columns) == 10
    assert transformer.transform_one({99: "1970-01-02"}) == {99: DAY}


def test_files_load_without_rivers_transformers(tmp_path: Path) -> None:
    """Whose import takes a second, which each command would wait for."""
    model = ret.ColumnKinds() | ret.StreamDecisionTreeClassifier()
    persistence.save(model, tmp_path / "m.model")
    program = (
        "import sys; from river_extra_trees import persistence; "
        f"persistence.load({str(tmp_path / 'm.model')!r}); "
        "assert 'river.preprocessing' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_damaged_kinds_are_refused() -> None:
    """A kind that does not exist cannot be loaded."""
    model = compose.Pipeline(ret.ColumnKinds(), ret.StreamDecisionTreeClassifier())
    model.learn_one({"a": 1}, 1)
    model["ColumnKinds"]._columns["a"] = "colour"
    with pytest.raises(persistence.ModelFileError, match="a column has an unknown kind"):
        persistence.save_bytes(model)


def test_river_checks() -> None:
    """It is a transformer as any other."""
    for check in checks.yield_checks(ret.ColumnKinds()):
        check(ret.ColumnKinds())


class OtherDict(dict[str, Any]):
    """A dict that the shortest way does not read."""


ODD = st.sampled_from(
    [None, 1, 2.5, True, -7, "a", "", "?", "3", "1970-01-02", math.nan, np.float64(2), 10**30]
)


@given(st.lists(st.dictionaries(st.sampled_from(["n", "k", "d"]), ODD), max_size=8))
def test_the_shortest_way_reads_as_the_others(rows: list[dict[str, Any]]) -> None:
    """Samples whose names are the columns in their order are read without a look at each kind."""
    models = [ret.ColumnKinds({"k": "nominal"}) for _ in range(2)]
    whole = {"n": 1.0, "k": "a", "d": 2}
    for x in [whole, {**whole, "n": math.nan}, *rows, *rows]:
        found = []
        for model, each in zip(models, (dict(x), OtherDict(x)), strict=True):
            try:
                model.learn_one(each)
                found.append(repr(dict(model.transform_one(each))))
            except ValueError as error:
                found.append(str(error))
        assert found[0] == found[1]
    assert models[0].columns == models[1].columns
    assert models[0].missing == models[1].missing
