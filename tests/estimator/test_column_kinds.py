"""Kinds of columns: what each kind reads, and that rows and frames are read alike."""

import contextlib
import datetime
import io
import math
import random
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
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
from river_extra_trees._estimator.fit import Fit
from river_extra_trees._estimator.frames import readable_frame
from river_extra_trees._estimator.kinds import MISSING, kind_of, reader_of
from river_extra_trees._estimator.rows import values_by_name

DAY = 86400.0
# What libraries raise for values that none of their types holds.
NO_SUCH_TYPE = (pa.ArrowException, pl.exceptions.PolarsError, TypeError, OverflowError)
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


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("date %Q", "not a kind of column"),
        ("date parts %d %d", "not a kind of column"),
        ("day", "not a kind of column"),
    ],
)
def test_kinds_that_fit_no_cell_are_refused(kind: str, message: str) -> None:
    """Before a table is read with them."""
    with pytest.raises(ValueError, match=message):
        ret.ColumnKinds({"a": kind})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("501", [501, 501.0, np.int8(101).astype(int) + 400, "501.0", " 501 ", Decimal("501.00")]),
        ("1.5", [1.5, "1.50", np.float32(1.5), Decimal("1.5"), Fraction(3, 2)]),
        ("0.1", [0.1, "0.10", ".1", np.float32(0.1), Decimal("0.10")]),
        ("0", [0, -0.0, "-0.0", False + 0]),
        ("10000000000000000000000", [1e22, 10**22, "1e+22", "1e22", Decimal("1e22")]),
        ("true", [True, "True", "TRUE", np.bool_(True)]),
        ("1.5", [datetime.timedelta(seconds=1.5), np.timedelta64(1500, "ms")]),
        (
            "2026-01-02",
            [
                *(datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2), "2026-01-02 00:00"),
                *(pd.Timestamp("2026-01-02"), np.datetime64("2026-01-02T00:00:00")),
                *("2026-01-02T01:00:00+01:00", pd.Timestamp("2026-01-02 01:00", tz="Etc/GMT-1")),
            ],
        ),
    ],
)
def test_equal_values_have_one_name(name: str, values: list[Any]) -> None:
    """In dicts, and in frames of every library that holds them."""
    transformer = ret.ColumnKinds({"a": "nominal"})
    assert [transformer.transform_one({"a": value})["a"] for value in values] == [name] * len(
        values
    )
    for value in values:
        for make in (
            lambda x: pd.DataFrame({"a": pd.Series([x])}),
            lambda x: np.array([[x]]),
            lambda x: pl.DataFrame({"a": pl.Series([x])}),
            lambda x: pa.table({"a": pa.array([x])}),
        ):
            try:
                frame = make(value)
            except NO_SUCH_TYPE:
                continue
            one = ret.ColumnKinds({"a": "nominal", 0: "nominal"})
            found = one.transform_many(frame)
            assert np.asarray(found).tolist() == [[name]], type(frame)


@pytest.mark.parametrize("values", [[b"x", b"y"], [(1, 2), "red"], [(1, 2), 7]])
def test_other_nominal_values_stay_what_they_are(values: list[Any]) -> None:
    """In frames as in dicts."""
    transformer = ret.ColumnKinds({"a": "nominal"})
    names = [transformer.transform_one({"a": value})["a"] for value in values]
    frames = [pd.DataFrame({"a": pd.Series(values, dtype=object)})]
    frames.append(pl.DataFrame({"a": pl.Series(values, dtype=pl.Object)}))
    frames += [pa.table({"a": values})] if type(values[1]) is bytes else []
    for frame in frames:
        assert values_by_name(readable_frame(transformer.transform_many(frame))) == {"a": names}


@pytest.mark.parametrize("words", [None, ["-999"]])
@pytest.mark.parametrize("kind", ["number", "nominal", "date", "date %Y", "date parts"])
@pytest.mark.parametrize(
    "value",
    [10**5000, -(10**400), Fraction(10**400, 3), Decimal("sNaN"), Decimal("1e400000"), 1j, [1], {}],
    ids=range(8),
)
def test_extreme_values(kind: str, words: Any, value: Any) -> None:
    """They are read, or refused with a ValueError, in dicts and frames."""
    model = ret.ColumnKinds({"a": kind}, words) | ret.StreamDecisionTreeRegressor(seed=1)
    for learn in (
        lambda: model.learn_one({"a": value}, 1.0),
        lambda: model.learn_many(pd.DataFrame({"a": pd.Series([value], dtype=object)}), [1.0]),
    ):
        with contextlib.suppress(ValueError, TypeError):
            learn()
    transformer = ret.ColumnKinds(None, words)
    with contextlib.suppress(ValueError):
        transformer.learn_one({"a": value})


def test_texts_that_differ_stay_apart() -> None:
    """What only looks like a number is a code."""
    codes = ["007", "7", "1e3", "1000", "+7", "0101", "101", "1_000", "0x7", "-", "1.2.3", "7e9999"]
    read = [ret.ColumnKinds({"a": "nominal"}).transform_one({"a": code})["a"] for code in codes]
    assert read == codes


def test_words_for_missing_values() -> None:
    """Those of pandas' reader of CSV and some more, and those that are added, through all doors."""
    words = [*MISSING - {"?", "\\N"}]
    read = pd.read_csv(io.StringIO("x,a\n" + "".join(f"1,{word}\n" for word in words)))
    assert read["a"].isna().all()
    transformer = ret.ColumnKinds({"c": "nominal"}, missing_words=["unknown", "-999"])
    absent = [*MISSING, "unknown", " unknown ", -999, -999.0, "-999.0", np.int64(-999)]
    for value in absent:
        x = {"a": value, "c": value, "n": 1.0}
        assert transformer.transform_one(x) == {"a": None, "c": None, "n": 1.0}
    for frame in (
        pd.DataFrame({"a": [-999.0, 1.0], "c": ["unknown", "x"]}),
        pl.DataFrame({"a": [-999, 1], "c": ["unknown", "x"]}),
        pa.table({"a": [-999, 1], "c": ["unknown", "x"]}),
    ):
        found = ret.ColumnKinds(None, ["unknown", "-999"]).transform_many(frame)
        rows = values_by_name(readable_frame(found))
        assert rows["c"][1] == "x"
        assert rows["c"][0] is None or rows["c"][0] != rows["c"][0]
    clone = persistence.load_bytes(persistence.save_bytes(transformer | ret.DynamicTreeRegressor()))
    assert clone["ColumnKinds"].transform_one({"a": -999}) == {"a": None}
    with pytest.raises(TypeError, match="a collection of texts"):
        ret.ColumnKinds(None, "unknown")


@pytest.mark.parametrize("library", FRAMES)
def test_a_column_of_missing_texts_has_no_kind(library: str) -> None:
    """As in dicts; and the learner gets no column of it."""
    rows = [{"size": "NA", "x": 1.0}, {"size": "NULL", "x": 2.0}]
    by_rows, by_frame = (
        ret.ColumnKinds() | ret.StreamDecisionTreeRegressor(seed=1) for _ in range(2)
    )
    by_frame.learn_many(FRAMES[library](rows), [1.0, 2.0])
    for x, y in zip(rows, (1.0, 2.0), strict=True):
        by_rows.learn_one(x, y)
    assert by_frame["ColumnKinds"].summary == by_rows["ColumnKinds"].summary
    assert by_frame["StreamDecisionTreeRegressor"]._schema.names == ["x"]


def test_a_text_that_does_not_fit_does_not_fit_again() -> None:
    """A text that comes again is read as it was."""
    with pytest.raises(ValueError, match="row 1: column 'a' holds 'x'"):
        ret.ColumnKinds({"a": "number"}).learn_many(pd.DataFrame({"a": ["1", "x", "x"]}))
    values, faults = ret.ColumnKinds()._read_values("a", "number", ["1", "x", "x", "1"])
    assert (values, [*faults]) == ([1.0, None, None, 1.0], [1, 2])


@pytest.mark.parametrize("kind", ["date parts", "date parts %d.%m.%Y"])
def test_parts_of_dates(kind: str) -> None:
    """They stand beside the date, in rows and in frames; where it is missing, so are they."""
    model = ret.ColumnKinds({"day": kind}) | ret.StreamDecisionTreeRegressor(seed=1)
    texts = ["2026-11-22 14:15", "1969-12-31T23:00:00", "?", 86400, 1e300]
    rows = [model["ColumnKinds"].transform_one({"day": each}) for each in texts]
    assert rows[0] == {
        **{"day": 1795356900.0, "day hour": 14.25, "day weekday": 6.0},
        "day day of the year": 326.0,
    }
    assert [rows[1][f"day {part}"] for part in ("hour", "weekday")] == [23.0, 2.0]
    assert [*rows[2]] == [*rows[4]] == ["day"]
    many = model["ColumnKinds"].transform_many(
        pd.DataFrame({"day": pd.Series(texts, dtype=object)})
    )
    assert [{k: v for k, v in x.items() if v == v} for x in many.to_dict("records")] == [
        {k: float(v) for k, v in x.items() if v is not None} for x in rows
    ]
    model.learn_one({"day": "2026-11-22 14:15"}, 1.0)
    loaded = persistence.load_bytes(persistence.save_bytes(model))
    assert loaded["ColumnKinds"].columns == {"day": kind}
    with pytest.raises(ValueError, match="column 'day hour' is there"):
        model.learn_one({"day": 0, "day hour": 1}, 1.0)
    with pytest.raises(ValueError, match="pass a data frame"):
        ret.ColumnKinds({0: "date parts"}).transform_many(np.array([[1.0]]))


def test_learners_keep_numbers_beside_an_odd_text() -> None:
    """A text that comes first does not make names of the numbers after it."""
    model = ret.StreamDecisionTreeRegressor(seed=1)
    model.learn_one({"temp": "unknown"}, 1.0)
    model.learn_one({"temp": 21.5}, 2.0)
    schema = model._schema
    assert [
        (name, codes and list(codes.values()))
        for name, codes in zip(schema.names, schema.codes, strict=True)
    ] == [("temp", ["unknown"]), ("temp", None)]


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


def test_counts_of_an_earlier_time_are_taken_over() -> None:
    """With the samples that had all columns."""
    earlier, later = ret.ColumnKinds(), ret.ColumnKinds()
    for x in ({"a": 1}, {"a": 1}, {"a": None, "b": "x"}, {"a": 2, "b": "y"}):
        earlier.learn_one(x)
    assert earlier._n_complete
    later.learn_one({"a": 1})
    later._take_over(earlier)
    assert (later.columns, later.missing) == (earlier.columns, earlier.missing)
    assert later.missing == {"a": 0.25, "b": 0.5}


def steps_of(call: Callable[[], object]) -> int:
    """Number of lines of Python that a call runs."""
    n = 0

    def count(frame: Any, event: str, argument: object) -> Any:
        nonlocal n
        n += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        call()
    finally:
        sys.settrace(before)
    return n


def test_the_work_of_a_sample_is_that_of_its_columns() -> None:
    """However many columns there are: of kinds, and of the comparison with a model."""
    steps = []
    for n in (200, 400):
        transformer = ret.ColumnKinds()
        transformer.learn_one({"a": 1.0})
        new = steps_of(lambda: transformer.learn_one({str(i): 1.0 for i in range(n)}))  # noqa: B023
        later = steps_of(lambda: transformer.learn_one({"b": 1.0}))  # noqa: B023
        fit = Fit(transformer._columns)
        steps.append((new, later, steps_of(lambda: fit.note({"a": 1.0}))))  # noqa: B023
    assert steps[1][0] <= 2 * steps[0][0]
    assert steps[1][1:] == steps[0][1:]


def test_memory_is_counted() -> None:
    """What a transformer holds for its columns, with the table that makes reading fast."""
    columns = {f"a long name of the column {i}": 1.0 for i in range(1000)}
    tracemalloc.start()
    transformer = ret.ColumnKinds()
    transformer.learn_one({str(name): value for name, value in columns.items()})
    held = tracemalloc.get_traced_memory()[0]
    transformer.transform_one({})
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    names = sum(map(sys.getsizeof, columns))  # that the dict of the test shares
    assert 0.8 < transformer._raw_memory_usage / (held + names) < 1.25


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
