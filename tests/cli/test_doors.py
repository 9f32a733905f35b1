"""The same row gets the same answer through every door, or is refused by name."""

from __future__ import annotations

import datetime
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from river import compose

import river_extra_trees as ret
from river_extra_trees import persistence, streams
from river_extra_trees.keyed import KeyedModels
from river_extra_trees.serving import schema
from river_extra_trees.serving.service import Service
from tests.tools.command_line import run

LEARNER = "StreamDecisionTree:batch_size=20"
N = 400
ZIPS = ("10115", "20095", "50667", "80331", "90402", "70173")


def rows_with(column: str) -> list[dict[str, Any]]:
    """Rows whose label one column determines, as CSV holds them; the other columns are noise."""
    source = random.Random(1)
    rows = []
    for _ in range(N):
        day = datetime.date(2026, 1, 1) + datetime.timedelta(days=source.randrange(200))
        place, share = source.randrange(len(ZIPS)), source.randrange(1000)
        values = {
            "day": (day.isoformat(), day < datetime.date(2026, 4, 10)),
            "us": (day.strftime("%m/%d/%Y"), day < datetime.date(2026, 4, 10)),
            "zip": (ZIPS[place], place in (0, 3, 4)),
            "comma": (f"{share / 1000:.3f}".replace(".", ","), share < 480),
            "percent": (f"{share / 10}%", share < 480),
        }
        text, label = values[column]
        rows.append({column: text, "noise": source.random(), "y": "yes" if label else "no"})
    return rows


OPTIONS = {
    "day": [],
    "zip": ["--nominal", "zip"],
    "us": ["--kind", "us=date %m/%d/%Y"],
    "comma": ["--kind", "comma=decimal comma"],
    "percent": ["--kind", "percent=percentage"],
}


@pytest.fixture(params=OPTIONS)
def trained(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path, pd.DataFrame]:
    """A column, a model that the command line trained on CSV, and the rows."""
    column = request.param
    frame = pd.DataFrame(rows_with(column))
    frame.to_csv(tmp_path / "t.csv", index=False)
    path = tmp_path / "t.model"
    result = run(
        *("train", tmp_path / "t.csv", LEARNER, "--target", "y", "--save", path), *OPTIONS[column]
    )
    assert result.exit_code == 0, result.output
    return column, path, frame


def typed(column: str, frame: pd.DataFrame) -> pd.DataFrame:
    """The rows as other programs hold them: dates as dates, codes as numbers."""
    found = frame.copy()
    if column == "day":
        found[column] = pd.to_datetime(found[column])
    elif column == "us":
        found[column] = pd.to_datetime(found[column], format="%m/%d/%Y")
    elif column == "zip":
        found[column] = found[column].astype(int)
    elif column == "comma":
        found[column] = found[column].str.replace(",", ".").astype(float)
    else:
        found[column] = found[column].str.removesuffix("%").astype(float)
    return found


def by_command(name: str) -> Callable[..., list[str]]:
    def answers(path: Path, frame: pd.DataFrame, folder: Path) -> list[str]:
        data, out = folder / name, folder / "out.csv"
        plain = frame.drop(columns="y")
        if name.endswith(".csv"):
            plain.to_csv(data, index=False)
        elif name.endswith(".jsonl"):
            plain.to_json(data, orient="records", lines=True, date_format="iso", date_unit="s")
        else:
            plain.to_parquet(data)
        result = run("predict", path, data, "--output", out, "--strict")
        assert result.exit_code == 0, result.output
        return list(pd.read_csv(out)["prediction"])

    return answers


def by_frame(make: Callable[[pd.DataFrame], Any]) -> Callable[..., list[str]]:
    def answers(path: Path, frame: pd.DataFrame, folder: Path) -> list[str]:
        found = persistence.load(path).predict_many(make(frame.drop(columns="y")))
        return list(found.to_pylist() if hasattr(found, "to_pylist") else found)

    return answers


def by_dict(path: Path, frame: pd.DataFrame, folder: Path) -> list[str]:
    model = persistence.load(path)
    return [model.predict_one(x) for x in frame.drop(columns="y").to_dict("records")]


def by_request(path: Path, frame: pd.DataFrame, folder: Path) -> list[str]:
    """Through the service, whose requests are JSON."""
    records = json.loads(
        frame.drop(columns="y").to_json(orient="records", date_format="iso", date_unit="s")
    )
    body = "\n".join(json.dumps({"x": record}) for record in records).encode()
    service = Service(persistence.load(path), path)
    samples = schema.read_samples(body, many=True, learned=False)
    return [each["y"] for each in service.predict(samples, schema.Wanted())]


def arrow(frame: pd.DataFrame) -> Any:
    return pa.Table.from_pandas(frame, preserve_index=False)


DOORS = {
    "csv": by_command("d.csv"),
    "jsonl": by_command("d.jsonl"),
    "parquet": by_command("d.parquet"),
    "pandas": by_frame(lambda frame: frame),
    "polars": by_frame(lambda frame: pl.from_arrow(arrow(frame))),
    "pyarrow": by_frame(arrow),
    "dict": by_dict,
    "request": by_request,
}


@pytest.mark.parametrize("is_typed", [False, True])
def test_all_doors_answer_alike(
    trained: tuple[str, Path, pd.DataFrame], is_typed: bool, tmp_path: Path
) -> None:
    """With the accuracy that the column gives; texts or types make no difference."""
    column, path, frame = trained
    rows = typed(column, frame) if is_typed else frame
    # In CSV, a number with a point is no number with a comma: it is refused.
    doors = {
        name: answers
        for name, answers in DOORS.items()
        if not (is_typed and (name, column) == ("csv", "comma"))
    }
    found = {name: answers(path, rows, tmp_path) for name, answers in doors.items()}
    first = found["jsonl"]
    right = sum(map(str.__eq__, first, frame["y"]))
    assert right >= 0.98 * N
    for name, each in found.items():
        assert each == first, name


def test_dates_as_numbers_are_seconds(tmp_path: Path) -> None:
    """As a client may send them that converts dates itself."""
    kinds = ret.ColumnKinds()
    kinds.learn_one({"day": "2026-01-01"})
    assert kinds.transform_one({"day": 1767225600}) == {"day": 1767225600}
    dates = ["2026-01-01", datetime.date(2026, 1, 1), pd.Timestamp("2026-01-01")]
    dates += [pd.Timestamp("2026-01-01T01:00:00+01:00"), "2026-01-01T01:00:00+01:00"]
    for date in dates:
        assert kinds.transform_one({"day": date}) == {"day": 1767225600.0}


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
    """The same number to the last bit, or refused in both."""
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
    result = run("train", path, LEARNER, "--target", "y", "--save", saved)
    assert result.exit_code == 0, result.output
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
    """By name, once; and refused on request."""
    path = tmp_path / "new.csv"
    path.write_text(text)
    result = run("predict", model, path)
    assert result.exit_code == status, result.output
    for each in says:
        assert result.stderr.count(each) == 1
    assert run("predict", model, path, "--strict").exit_code == 2


def test_info_shows_how_columns_are_read(model: Path) -> None:
    """With the share of missing values."""
    said = run("info", model).stdout
    assert "size: number, colour: nominal, day: date" in said or "colour: nominal" in said
    assert "missing" in said


def test_columns_are_kept(model: Path, tmp_path: Path) -> None:
    """An identifier stands beside its answer, as it was read; a feature may be kept, too."""
    path = tmp_path / "new.csv"
    path.write_text("size,colour,day,id\n1,red,2026-01-01,x7\n2,blue,2026-02-01,x8\n")
    result = run("predict", model, path, "--keep", "id", "--keep", "size", "--strict")
    assert result.exit_code == 0, result.output
    assert result.stdout == "row,id,size,prediction\n1,x7,1,u\n2,x8,2,v\n"
    assert "no column 'ids'" in run("predict", model, path, "--keep", "ids").stderr


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_weights_are_learned(tmp_path: Path, suffix: str) -> None:
    """The model is the one that learned each sample with its weight."""
    frame = pd.DataFrame(
        {
            "a": [i % 7 for i in range(90)],
            "w": [i % 3 for i in range(90)],
            "y": ["u", "v", "v"] * 30,
        }
    )
    data, path = tmp_path / f"t{suffix}", tmp_path / "m.model"
    if suffix == ".csv":
        frame.to_csv(data, index=False)
    elif suffix == ".jsonl":
        frame.to_json(data, orient="records", lines=True)
    else:
        frame.to_parquet(data)
    usual = ("train", data, "StreamDecisionTree", "--target", "y", "--save", path)
    assert run(*usual, "--weight", "w").exit_code == 0
    model = ret.StreamDecisionTreeClassifier(seed=1)
    for a, w, y in frame.itertuples(index=False):
        model.learn_one({"a": float(a)}, y, w=w)
    _, learner = persistence.load(path).steps.items()
    assert persistence.save_bytes(learner[1]) == persistence.save_bytes(model)
    frame["w"] = -1
    frame.to_csv(tmp_path / "bad.csv", index=False)
    bad = ("train", tmp_path / "bad.csv", *usual[2:], "--weight", "w")
    assert "row 1: the weight 'w' is -1; it must be" in run(*bad).stderr


def test_keyed_models_read_by_kinds() -> None:
    """Each key has kinds of its own, and rows and frames are answered alike."""
    model = ret.ColumnKinds({"zip": "nominal"}) | ret.StreamDecisionTreeClassifier(seed=1)
    keyed = KeyedModels(model)
    rows = [{"zip": int(ZIPS[i % 6]), "day": f"2026-01-{i % 28 + 1:02d}"} for i in range(120)]
    for i, x in enumerate(rows):
        keyed.learn_one("ab"[i % 2], x, i % 6 < 3)
    asked = [{"zip": text, "day": pd.Timestamp("2026-01-05")} for text in ZIPS]
    one = [keyed.predict_one("a", x) for x in asked]
    assert None not in one
    assert list(keyed.predict_many(["a"] * 6, pd.DataFrame(asked))) == one


def test_new_columns_are_normal_where_a_stream_learns(tmp_path: Path) -> None:
    """The service counts them, learns them, and refuses what does not fit without a trace."""
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


def test_a_pipeline_in_a_file_is_a_river_pipeline(model: Path) -> None:
    """Which every program of river runs."""
    loaded = persistence.load(model)
    assert type(loaded) is compose.Pipeline
    assert loaded.predict_one({"size": "2", "colour": "blue", "day": "2026-02-01"}) == "v"


def test_all_doors_give_the_same_bits(tmp_path: Path) -> None:
    """Probabilities of a forest that uses columns of all kinds, to the last bit."""
    parts = [rows_with(column) for column in OPTIONS]
    rows = [{k: v for part in each for k, v in part.items()} for each in zip(*parts, strict=True)]
    frame = pd.DataFrame(rows)
    frame.to_csv(tmp_path / "t.csv", index=False)
    path = tmp_path / "t.model"
    options = [option for each in OPTIONS.values() for option in each]
    learner = "ExtraTrees:n_models=10,seed=1"
    result = run("train", tmp_path / "t.csv", learner, "--target", "y", "--save", path, *options)
    assert result.exit_code == 0, result.output
    plain = frame.drop(columns="y")
    model = persistence.load(path)
    expected = [model.predict_proba_one(x) for x in plain.to_dict("records")]
    for make in (lambda frame: frame, lambda frame: pl.from_arrow(arrow(frame)), arrow):
        found = model.predict_proba_many(make(plain))
        found = found.to_pandas() if hasattr(found, "to_pandas") else found
        assert found.to_dict("records") == expected
    plain.to_csv(tmp_path / "d.csv", index=False)
    lines = [json.dumps(x) + "\n" for x in plain.to_dict("records")]  # pandas rounds numbers
    (tmp_path / "d.jsonl").write_text("".join(lines))
    plain.to_parquet(tmp_path / "d.parquet")
    for name in ("d.csv", "d.jsonl", "d.parquet"):
        out = tmp_path / "out.csv"
        result = run("predict", path, tmp_path / name, "--output", out, "--probabilities")
        assert result.exit_code == 0, result.output
        answers = pd.read_csv(out)
        for label in ("no", "yes"):
            column = next(each for each in answers.columns if label in each)
            assert list(answers[column]) == [each[label] for each in expected]
    body = "".join(f'{{"x": {line.strip()}}}\n' for line in lines).encode()
    samples = schema.read_samples(body, many=True, learned=False)
    wanted = schema.Wanted(probabilities=True)
    answered = Service(model, path).predict(samples, wanted)
    shares = [{p["label"]: p["probability"] for p in each["probabilities"]} for each in answered]
    assert shares == expected
