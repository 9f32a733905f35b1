"""The same row gets the same prediction from files, frames, dicts and requests, or an error."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

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

LEARNER = "StreamDecisionTree:batch_size=20"
N = 400
ZIPS = ("10115", "20095", "50667", "80331", "90402", "70173")


OPTIONS = {
    "day": [],
    "zip": ["--kind", "zip=nominal"],
    "us": ["--kind", "us=date %m/%d/%Y"],
    "comma": ["--kind", "comma=decimal comma"],
    "percent": ["--kind", "percent=percentage"],
}


@pytest.fixture(scope="module")
def texts() -> pd.DataFrame:
    """Return rows as CSV holds them, with one label per column that the column determines."""
    source = random.Random(1)
    rows: list[dict[str, Any]] = []
    for _ in range(N):
        day = datetime.date(2026, 1, 1) + datetime.timedelta(days=source.randrange(200))
        place, share = source.randrange(len(ZIPS)), source.randrange(1000)
        is_early, is_low = day < datetime.date(2026, 4, 10), share < 480
        values = {
            "day": (day.isoformat(), is_early),
            "us": (day.strftime("%m/%d/%Y"), is_early),
            "zip": (ZIPS[place], place in (0, 3, 4)),
            "comma": (f"{share / 1000:.3f}".replace(".", ","), is_low),
            "percent": (f"{share / 10}%", is_low),
        }
        row: dict[str, Any] = {"noise": source.random()}
        for column, (text, label) in values.items():
            row |= {column: text, f"label by {column}": "yes" if label else "no"}
        rows.append(row)
    return pd.DataFrame(rows)


def typed(texts: pd.DataFrame) -> pd.DataFrame:
    """Return the rows as other programs hold them: dates as dates, codes as numbers."""
    return texts.assign(
        day=pd.to_datetime(texts["day"]),
        us=pd.to_datetime(texts["us"], format="%m/%d/%Y"),
        zip=texts["zip"].astype(int),
        comma=texts["comma"].str.replace(",", ".").astype(float),
        percent=texts["percent"].str.removesuffix("%").astype(float),
    )


def trained(frame: pd.DataFrame, learner: str, options: list[str], folder: Path) -> Path:
    """Train a model by the command line on CSV, whose last column is the target."""
    data, path = folder / "t.csv", folder / "t.model"
    frame.to_csv(data, index=False)
    done("train", data, learner, "--target", frame.columns[-1], "--save", path, *options)
    return path


@pytest.mark.parametrize("column", OPTIONS)
def test_columns_are_used(column: str, texts: pd.DataFrame, tmp_path: Path) -> None:
    """A model of one column is accurate, whether the column holds texts or other types."""
    frame = texts[["noise", column, f"label by {column}"]]
    path = trained(frame, LEARNER, OPTIONS[column], tmp_path)
    model = persistence.load(path)
    labels = list(frame[f"label by {column}"])
    for rows in (frame, typed(texts)):
        found = [model.predict_one(x) for x in rows[["noise", column]].to_dict("records")]
        assert sum(map(str.__eq__, found, labels)) >= 0.98 * N


def by_command(name: str) -> Callable[..., list[list[float]]]:
    def answers(path: Path, frame: pd.DataFrame, folder: Path) -> list[list[float]]:
        data, out = folder / name, folder / "out.csv"
        write(frame, data)
        done("predict", path, data, "--output", out, "--strict", "--probabilities")
        found = pd.read_csv(out)
        return found[[f"probability of {each}" for each in ("no", "yes")]].values.tolist()

    return answers


def by_frame(make: Callable[[pd.DataFrame], Any]) -> Callable[..., list[list[float]]]:
    def answers(path: Path, frame: pd.DataFrame, folder: Path) -> list[list[float]]:
        found = persistence.load(path).predict_proba_many(make(frame))
        found = found.to_pandas() if hasattr(found, "to_pandas") else found
        return found[["no", "yes"]].values.tolist()

    return answers


def by_dict(path: Path, frame: pd.DataFrame, folder: Path) -> list[list[float]]:
    model = persistence.load(path)
    found = [model.predict_proba_one(x) for x in frame.to_dict("records")]
    return [[each["no"], each["yes"]] for each in found]


def by_request(path: Path, frame: pd.DataFrame, folder: Path) -> list[list[float]]:
    """Return the predictions of the service for requests in JSON."""
    body = "\n".join(f'{{"x": {line}}}' for line in json_lines(frame)).encode()
    samples = schema.read_samples(body, many=True, learned=False)
    found = Service(persistence.load(path), path).predict(
        samples, schema.Wanted(probabilities=True)
    )
    shares = [{p["label"]: p["probability"] for p in each["probabilities"]} for each in found]
    return [[each["no"], each["yes"]] for each in shares]


def arrow(frame: pd.DataFrame) -> Any:
    return pa.Table.from_pandas(frame, preserve_index=False)


SOURCES = {
    "csv": by_command("d.csv"),
    "jsonl": by_command("d.jsonl"),
    "parquet": by_command("d.parquet"),
    "pandas": by_frame(lambda frame: frame),
    "polars": by_frame(lambda frame: pl.from_arrow(arrow(frame))),
    "pyarrow": by_frame(arrow),
    "dict": by_dict,
    "request": by_request,
}


def test_all_sources_get_equal_predictions(texts: pd.DataFrame, tmp_path: Path) -> None:
    """All ways to pass rows give equal probabilities, for columns of all kinds."""
    frame = texts[["noise", *OPTIONS, "label by percent"]]
    options = [option for each in OPTIONS.values() for option in each]
    path = trained(frame, "ExtraTrees:n_models=10", options, tmp_path)
    plain = frame.drop(columns="label by percent")
    expected = by_dict(path, plain, tmp_path)
    for rows in (plain, typed(plain)):
        for name, answers in SOURCES.items():
            # In CSV, a number with a point is no number with a comma: it is refused.
            asked = rows.assign(comma=plain["comma"]) if name == "csv" else rows
            assert answers(path, asked, tmp_path) == expected, name


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
        found = [row["a"] for batch in table for row in batch.rows()][1]
    except streams.TableError as error:
        assert "row 2: column 'a' holds" in str(error)
        with pytest.raises(ValueError, match="column 'a' holds"):
            kinds.transform_one({"a": text})
    else:
        assert kinds.transform_one({"a": text}) == {"a": found}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model of three columns."""
    path = tmp_path / "m.csv"
    path.write_text("size,colour,day,y\n" + "1,red,2026-01-01,u\n2,blue,2026-02-01,v\n" * 30)
    saved = tmp_path / "m.model"
    result = done("train", path, LEARNER, "--target", "y", "--save", saved)
    assert "columns: 1 number: 'size'; 1 nominal: 'colour'; 1 date: 'day'" in result.stderr
    return saved


@pytest.mark.parametrize(
    ("text", "status", "says"),
    [
        (
            "size,color\n1,red\n2,blue\n",
            0,
            ["2 of 3 columns of the model are missing: 'colour', 'day' (in 2 of 2", "'color'"],
        ),
        ("a,b\n1,2\n", 2, ["no column in common", "3 of 3 columns of the model are missing"]),
        ("size,colour,day\nlarge,red,2026-01-01\n", 2, ["row 1: column 'size' holds 'large'"]),
        ("size,colour,day\n1,red,soon\n", 2, ["row 1: column 'day' holds 'soon' among dates"]),
    ],
)
def test_what_does_not_fit_is_said(
    model: Path, tmp_path: Path, text: str, status: int, says: list[str]
) -> None:
    """Notes and errors name each wrong column once; `--strict` refuses the table."""
    path = tmp_path / "new.csv"
    path.write_text(text)
    result = run("predict", model, path)
    assert result.exit_code == status, result.output
    for each in says:
        assert result.stderr.count(each) == 1
    assert run("predict", model, path, "--strict").exit_code == 2


def test_columns_are_kept(model: Path, tmp_path: Path) -> None:
    """`--keep` copies an identifier or a feature to the output; `info` tells how they are read."""
    said = done("info", model).stdout
    assert "colour: nominal" in said
    assert "missing" in said
    path = tmp_path / "new.csv"
    path.write_text("size,colour,day,id\n1,red,2026-01-01,x7\n2,blue,2026-02-01,x8\n")
    result = done("predict", model, path, "--keep", "id", "--keep", "size", "--strict")
    assert result.stdout == "row,id,size,prediction\n1,x7,1,u\n2,x8,2,v\n"
    assert "no column 'ids'" in run("predict", model, path, "--keep", "ids").stderr


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_weights_are_learned(tmp_path: Path, suffix: str) -> None:
    """The model equals one that has learned each sample with its weight."""
    rows = [(i % 7, i % 3, "uv"[i % 3 > 0]) for i in range(90)]
    frame = pd.DataFrame(rows, columns=["a", "w", "y"])
    data, path = tmp_path / f"t{suffix}", tmp_path / "m.model"
    write(frame, data)
    usual = ("StreamDecisionTree", "--target", "y", "--weight", "w", "--save", path)
    done("train", data, *usual)
    model = ret.StreamDecisionTreeClassifier(seed=1)
    for a, w, y in frame.itertuples(index=False):
        model.learn_one({"a": float(a)}, y, w=w)
    assert persistence.save_bytes(learner_in(path)) == persistence.save_bytes(model)
    write(frame.assign(w=-1), data)
    refused = run("train", data, *usual)
    assert "row 1: the weight 'w' is -1; it must be" in refused.stderr


def test_new_columns_are_normal_where_a_stream_learns(tmp_path: Path) -> None:
    """The service counts and learns new columns; refused samples leave the model unchanged."""
    model = ret.ColumnKinds() | ret.StreamDecisionTreeClassifier(seed=1)
    for i in range(40):
        model.learn_one({"size": i % 5, "colour": "red"}, i % 2)
    service = Service(model, tmp_path / "m.model")

    def samples(*xs: dict[str, Any]) -> list[schema.Sample]:
        return [schema.Sample(i + 1, x, 1) for i, x in enumerate(xs)]

    before = persistence.save_bytes(model)
    with pytest.raises(schema.RequestError, match="line 2: column 'day' holds 'x' among dates"):
        service.learn(samples({"day": "2026-01-01"}, {"day": "x"}))
    with pytest.raises(schema.RequestError, match="line 1: column 'size' holds 'big'"):
        service.learn(samples({"new": 1, "size": "big"}))
    assert persistence.save_bytes(model) == before
    monitor = service.monitor
    monitor.n_missing = monitor.n_unknown = monitor.n_new_values = 0
    service.learn(samples({"size": 1, "colour": "green", "day": "2026-01-01"}))
    assert (monitor.n_missing, monitor.n_unknown, monitor.n_new_values) == (0, 1, 1)
    assert service.kinds is not None
    assert service.kinds.columns["day"] == "date"
    service.predict(samples({"colour": "green"}), schema.Wanted())
    assert (monitor.n_missing, monitor.n_unknown, monitor.n_new_values) == (2, 1, 1)
