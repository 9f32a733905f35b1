"""The same row gets the same prediction from files, frames, dicts and requests, or an error."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import river_extra_trees as ret
from river_extra_trees import persistence, streams
from river_extra_trees.serving import schema
from river_extra_trees.serving.service import Service
from tests.tools.command_line import done, learner_in, run
from tests.tools.tables import json_lines, write

ZIPS = ("10115", "20095", "50667", "80331", "90402", "70173")
KINDS = {
    "zip": "nominal",
    "us": "date %m/%d/%Y",
    "comma": "decimal comma",
    "percent": "percentage",
    "code": "nominal",
    "flag": "nominal",
    "when": "date parts",
}


def texts() -> pd.DataFrame:
    """Rows as CSV holds them."""
    rng = np.random.default_rng(1)
    days = pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(200, size=400), "D")
    shares = rng.integers(1000, size=400)
    return pd.DataFrame(
        {
            "noise": rng.random(400),
            "day": days.strftime("%Y-%m-%d"),
            "us": days.strftime("%m/%d/%Y"),
            "zip": rng.choice(ZIPS, 400),
            "comma": [f"{share / 1000:.3f}".replace(".", ",") for share in shares],
            "percent": [f"{share / 10}%" for share in shares],
            # As pandas writes whole numbers in a column with gaps, truth values, and moments.
            "code": ["501.0", *rng.choice(["501.0", "502.0", "", "NULL"], 398), "501.0"],
            "flag": rng.choice(["True", "False"], 400),
            "when": (days + pd.to_timedelta(shares, "min")).strftime("%Y-%m-%d %H:%M:%S"),
            "label": np.where(shares < 480, "yes", "no"),
        }
    )


def typed(texts: pd.DataFrame) -> pd.DataFrame:
    """The rows as other programs hold them: dates as dates, codes as numbers."""
    return texts.assign(
        day=pd.to_datetime(texts["day"]),
        us=pd.to_datetime(texts["us"], format="%m/%d/%Y"),
        zip=texts["zip"].astype(int),
        comma=texts["comma"].str.replace(",", ".").astype(float),
        percent=texts["percent"].str.removesuffix("%").astype(float),
        code=pd.to_numeric(texts["code"], errors="coerce"),
        flag=texts["flag"] == "True",
        when=pd.to_datetime(texts["when"]),
    )


def by_command(path: Path, frame: pd.DataFrame, name: str) -> list[dict[Any, float]]:
    """The probabilities that the command line writes for a file."""
    data, out = path.with_name(name), path.with_name("out.csv")
    write(frame, data)
    done("predict", path, data, "--output", out, "--strict", "--probabilities")
    found, model = pd.read_csv(out), persistence.load(path)
    assert list(found["prediction"]) == [model.predict_one(x) for x in frame.to_dict("records")]
    shares = found.rename(columns=lambda column: column.removeprefix("probability of "))
    return shares[["no", "yes"]].to_dict("records")


def by_request(path: Path, frame: pd.DataFrame) -> Iterator[dict[str, float]]:
    """The predictions of the service for requests in JSON."""
    body = "\n".join(f'{{"x": {line}}}' for line in json_lines(frame)).encode()
    samples = schema.read_samples(body, schema.ToPredict, many=True)
    wanted = schema.Wanted(probabilities=True)
    for found in Service(persistence.load(path), path).predict(samples, wanted):
        yield {p["label"]: p["probability"] for p in found["probabilities"]}


def test_all_sources_get_equal_predictions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All ways to pass rows give equal probabilities; from files, no row becomes a dict."""
    path, data = tmp_path / "t.model", tmp_path / "t.csv"
    texts().to_csv(data, index=False)
    options = [option for name, kind in KINDS.items() for option in ("--kind", f"{name}={kind}")]
    done("train", data, "ExtraTrees:n_models=10", "--target", "label", "--save", path, *options)
    model = persistence.load(path)
    assert model["ColumnKinds"].columns == {"noise": "number", "day": "date", **KINDS}
    monkeypatch.setattr(streams.Batch, "rows", lambda _: 1 / 0)
    plain = texts().drop(columns="label")
    expected = [model.predict_proba_one(x) for x in plain.to_dict("records")]
    for rows in (plain, typed(plain)):
        table = pa.Table.from_pandas(rows, preserve_index=False)
        assert [model.predict_proba_one(x) for x in rows.to_dict("records")] == expected
        for frame in (rows, pl.from_arrow(table), table):
            found = narwhals.from_native(model.predict_proba_many(frame))
            assert list(found.iter_rows(named=True)) == expected
        assert list(by_request(path, rows)) == expected
        for name in ("d.csv", "d.jsonl", "d.parquet"):
            # In CSV, a number with a point is no number with a comma: it is refused.
            asked = rows.assign(comma=plain["comma"]) if name == "d.csv" else rows
            assert by_command(path, asked, name) == expected, name


DATES = (
    *("2026-11-22", "2026-11-22 14", "2026-11-22T14:15", "2026-11-22 14:15:16.25"),
    *("2026-11-22T14:15:16Z", "2026-11-22T14:15:16+01:00", "1969-12-31T23:59:59.123456-0330"),
    *("2026-11-22T14:15:16.123456789", "2026-02-30", "2026-11-22T24:00", "2026-11-22T14:15:60"),
    *("20261122", "2026-W47-7", "2026-11-22t14:15", "2026-11-22T14:15:16,5", "2026-11-22T", "-1"),
)
NUMERALS = ("1", "-1.5", "+5", "5.", ".5", "1e5", "1E-5", "1_0", "0x10", "1d5", "1 0", ".", "e5")


@pytest.mark.parametrize("text", [*DATES, *NUMERALS])
@pytest.mark.parametrize("first", ["1970-01-01", "7"])
def test_texts_mean_the_same_in_tables_and_dicts(tmp_path: Path, first: str, text: str) -> None:
    """A table and a dict read a text as the same number, or both raise an error."""
    (tmp_path / "t.csv").write_text(f'a\n{first}\n"{text}"\n')
    kinds = ret.ColumnKinds()
    table = streams.open_table(tmp_path / "t.csv", kinds=kinds)
    found: Any = None
    try:
        found = [row.get("a") for batch in table for row in batch.rows()][1]
    except streams.TableError as error:
        assert "row 2: column 'a' holds" in str(error)
        with pytest.raises(ValueError, match="column 'a' holds"):
            kinds.transform_one({"a": text})
    else:
        assert kinds.transform_one({"a": text}) == {"a": found}


def test_a_table_may_be_written_in_another_way(tmp_path: Path) -> None:
    """Kinds that read the same values may be declared for the table that is predicted."""
    path, data = tmp_path / "t.model", tmp_path / "t.csv"
    rows = texts()
    rows["number"] = rows["noise"]
    rows.to_csv(data, index=False)
    done("train", data, "StreamDecisionTree", "--target", "label", "--save", path)
    usual = done("predict", path, data, "--target", "label").stdout
    other = rows.assign(
        day=rows["us"], number=[f"{number!r}".replace(".", ",") for number in rows["noise"]]
    )
    other.to_csv(data, index=False, sep=";", encoding="utf-16")
    written = ("--kind", "day=date %m/%d/%Y", "--kind", "number=decimal comma")
    assert done("predict", path, data, "--target", "label", *written).stdout == usual
    refused = run("predict", path, data, "--target", "label", "--kind", "day=nominal")
    assert "the model has learned the column 'day' as 'date'" in refused.stderr


def test_odd_cells(tmp_path: Path) -> None:
    """They are missing if they are declared, or if all are; otherwise a hint names the options."""
    path, data = tmp_path / "t.model", tmp_path / "t.csv"
    data.write_text("a,y\n" + "unknown,0\n" + "1.5,1\n" * 30 + "odd,0\n" + "2.5,0\n-999,1\n")
    usual = ("train", data, "StreamDecisionTree", "--target", "y", "--save", path)
    refused = run(*usual)
    assert "row 1: column 'a' holds 'unknown' among numbers (--kind a=nominal " in refused.stderr
    done(*usual, "--missing", "unknown", "--missing", "odd", "--missing", "-999")
    kinds = persistence.load(path)["ColumnKinds"]
    assert kinds.missing["a"] == pytest.approx(3 / 34)
    assert kinds.transform_one({"a": -999}) == {"a": None}
    noted = done(*usual, "--on-bad-cell", "missing").stderr
    assert "cells read as missing: 2 in 'a'; the first: row 1: column 'a' holds 'unk" in noted
    refused = run("predict", path, data, "--target", "y")
    assert "among numbers (--on-bad-cell missing skips such cells)" in refused.stderr
    noted = done("predict", path, data, "--target", "y", "--on-bad-cell", "missing").stderr
    assert "cells read as missing: 2 in 'a'" in noted
    data.write_bytes("a,y\nä,1\n".encode("latin-1"))
    assert "name its encoding (such as --encoding latin-1 or utf-16-le)" in run(*usual).stderr
    done(*usual, "--encoding", "latin-1")


def test_resumed_kinds_are_those_of_the_model(tmp_path: Path) -> None:
    """Before the rows with their columns are read again."""
    path, data = tmp_path / "t.model", tmp_path / "t.jsonl"
    data.write_text('{"a": 1, "y": 0}\n' * 20 + '{"a": 1, "b": "x", "y": 1}\n' * 20)
    usual = ("train", data, "StreamDecisionTree", "--target", "y", "--save", path)
    task = ("--task", "classification", "--resume")
    done(*usual, *task)
    data.write_text(data.read_text() + '{"a": 1, "b": "y", "y": 1}\n')
    done(*usual, *task)
    assert persistence.load(path)["ColumnKinds"].missing == {"a": 0.0, "b": 1.0 - 21 / 41}


def test_columns_of_the_output_have_different_names(tmp_path: Path) -> None:
    """Also those that are kept."""
    path, data = tmp_path / "t.model", tmp_path / "t.csv"
    data.write_text("prediction,row,y\n1,2,0\n3,4,1\n")
    done("train", data, "StreamDecisionTree", "--target", "y", "--save", path)
    text = done("predict", path, data, "--keep", "prediction", "--keep", "row").stdout
    assert text.splitlines()[0] == "row,kept prediction,kept row,prediction"


@pytest.mark.parametrize(
    ("before", "after"), [("t.csv", "t.parquet"), ("t.parquet", "t.csv"), ("t.parquet", "t.jsonl")]
)
@pytest.mark.parametrize("labels", [("1", "0"), ("True", "False")])
def test_labels_of_other_types(
    before: str, after: str, labels: tuple[str, str], tmp_path: Path
) -> None:
    """A label of a file that is the text of one that the model knows is that label."""
    path = tmp_path / "t.model"
    frame = pd.DataFrame({"a": [1.0, 2.0] * 30, "y": [*labels] * 30})
    for name in (before, after):
        write(frame, tmp_path / name)
    if after == "t.jsonl":
        other = '{"a": 1.0, "y": LABEL}\n'.replace("LABEL", labels[0].lower())
        (tmp_path / after).write_text(other * 60)
    done("train", tmp_path / before, "StreamDecisionTree", "--target", "y", "--save", path)
    known = learner_in(path)._labels()
    said = done("predict", path, tmp_path / after, "--target", "y").stderr
    assert "accuracy 1 on 60 rows" in said
    done("train", tmp_path / after, path, "--target", "y", "--save", path)
    assert learner_in(path)._labels() == known


def test_columns_of_options_that_are_not_there(tmp_path: Path) -> None:
    """A note names those that no row of JSON lines has, and kinds of a table to predict."""
    path, data = tmp_path / "t.model", tmp_path / "t.jsonl"
    data.write_text('{"a": 1, "y": 0}\n{"a": 2, "b": 3, "y": 1}\n')
    options = ("--drop", "b", "--drop", "c", "--kind", "zpi=nominal", "--kind", "y=nominal")
    said = done(
        "train", data, "StreamDecisionTree", "--target", "y", *options, "--save", path
    ).stderr
    assert "note: no row has the columns 'c', 'zpi'\n" in said
    csv = tmp_path / "t.csv"
    csv.write_text("a\n1\n")
    said = done("predict", path, csv, "--kind", "zip=nominal", "--keep", "a", "--keep", "a")
    assert "note: no row has the columns 'zpi', 'zip'\n" in said.stderr
    assert said.stdout.startswith("row,a,prediction\n1,1,")


def test_weights_are_learned(tmp_path: Path) -> None:
    """The model equals one that has learned each sample with its weight."""
    rows = [(i % 7, i % 3, "uv"[i % 3 > 0]) for i in range(90)]
    path, text = tmp_path / "m.model", "a,w,y\n" + "".join(f"{a},{w},{y}\n" for a, w, y in rows)
    usual = ("train", "-", "StreamDecisionTree", "--target", "y", "--weight", "w", "--save", path)
    done(*usual, stdin=text)
    model = ret.StreamDecisionTreeClassifier(seed=1)
    for a, w, y in rows:
        model.learn_one({"a": float(a)}, y, w=w)
    assert persistence.save_bytes(learner_in(path)) == persistence.save_bytes(model)
    refused = run(*usual, stdin=text.replace(",1,", ",-1,"))
    assert "row 2: the weight 'w' is -1; it must be" in refused.stderr
    refused = run(*usual, stdin='a,w,y\n1,"0,5",u\n')
    assert "'0,5'; it must be a number from 0 on (--kind w='decimal comma', perc" in refused.stderr
