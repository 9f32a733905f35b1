"""The commands `train` and `predict`."""

import io
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet as pq
from river import datasets, preprocessing

import river_extra_trees as ret
from river_extra_trees import persistence
from tests.tools.command_line import assert_refused, done, learner_in, run
from tests.tools.estimators import learn

OURS = "StreamDecisionTree"


def test_train_saves_what_the_learner_has_learned(tmp_path: Path) -> None:
    """The file equals that of the same learner trained in Python."""
    path = tmp_path / "m.model"
    options = ("--seed", 3, "--limit", 400)
    said = done("train", "Phishing", f"{OURS}:batch_size=50", "--save", path, *options).stdout
    assert "Accuracy" in said
    assert f"wrote {path}" in said
    model = ret.StreamDecisionTreeClassifier(batch_size=50, seed=3)
    learn(model, datasets.Phishing().take(400))
    assert persistence.save_bytes(learner_in(path)) == persistence.save_bytes(model)
    # A saved model goes on learning; its task needs not be named.
    done("train", "Phishing", path, "--save", path, "--limit", 50)
    learn(model, datasets.Phishing().take(50))
    assert persistence.save_bytes(learner_in(path)) == persistence.save_bytes(model)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A CSV file with numbers, names, dates, missing values and a class."""
    path = tmp_path / "table.csv"
    days = ("2026-01-01", "", "2026-02-01")
    rows = [f"{i % 7},{('red', 'blue')[i % 2]},{days[i % 3]},{'uv'[i % 2]}" for i in range(90)]
    path.write_text("\n".join(["size,colour,day,class", *rows, ""]))
    return path


@pytest.fixture
def model(tmp_path: Path, table: Path) -> Path:
    path = tmp_path / "m.model"
    result = done("train", table, f"{OURS}:batch_size=20", "--target", "class", "--save", path)
    assert "columns: 1 number: 'size'; 1 nominal: 'colour'; 1 date: 'day'" in result.stderr
    return path


def test_predict(model: Path, table: Path, tmp_path: Path) -> None:
    """The file and standard output hold the same; targets are kept and give the accuracy.

    A target with the name of an output column gets another name.
    """
    path = tmp_path / "a.csv"
    table.write_text(table.read_text().replace("class", "prediction", 1))
    arguments = ("predict", model, table, "--target", "prediction", "--probabilities")
    result = done(*arguments, "--output", path)
    assert done(*arguments).stdout == path.read_text()
    frame = pd.read_csv(path)
    assert list(frame) == [
        *("row", "prediction", "probability of u", "probability of v", "true prediction")
    ]
    assert list(frame["row"]) == list(range(1, 91))
    assert list(frame["true prediction"]) == [*"uv" * 45]
    right = (frame["prediction"] == frame["true prediction"]).sum()
    assert f"accuracy {right / 90:.4g} on 90 rows" in result.stderr


@pytest.mark.slow
def test_rows_of_a_pipe_are_answered_at_once(model: Path) -> None:
    """A prediction is printed before the next row arrives."""
    process: Any = subprocess.Popen(
        [sys.executable, "-m", "river_extra_trees", "predict", str(model), "-"],
        env={**os.environ, "PYTHONUNBUFFERED": ""},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        for row, number in (("colour,size\nred,1\n", 1), ("blue,2\n", 2)):
            process.stdin.write(row)
            process.stdin.flush()
            if number == 1:
                assert process.stdout.readline() == "row,prediction\n"
            assert process.stdout.readline().startswith(f"{number},")
        process.stdin.close()
    assert process.returncode == 0


def test_rows_before_a_refused_one_are_answered(model: Path, tmp_path: Path) -> None:
    """The rows before a refused one are predicted, and the error names the row."""
    path, data = tmp_path / "p.model", tmp_path / "t.csv"
    pipeline = preprocessing.StandardScaler() | ret.StreamDecisionTreeRegressor(seed=1)
    for b in (1.0, 2.0):
        pipeline.learn_one({"a": 1.0, "b": b}, 3.0)
    persistence.save(pipeline, path)
    persistence.save(pipeline["StreamDecisionTreeRegressor"], model)
    data.write_text("a,b,y\n1,,2\n2,,2\n3,red,2\n")
    result = run("predict", path, data, "--target", "y")
    assert result.stdout == "row,prediction,y\n1,3.0,2\n2,3.0,2\n"
    assert_refused(result, "t.csv, row 3: ")
    for each in (path, model):
        data.write_text("a,y\n1,2\n2,two\n3,2\n")
        result = run("predict", each, data, "--target", "y")
        assert result.stdout == "row,prediction,y\n1,3.0,2\n"
        assert_refused(result, "t.csv, row 2: the target 'y' is 'two', not a number")
        data.write_text("a,y\n1,2\n2,5\n")
        said = done("predict", each, data, "--target", "y").stderr
        assert "mean absolute error 1.5 on 2 rows with a target" in said
        assert_refused(run("predict", each, data, "--probabilities"), "predicts no probabilities")


def test_parquet_holds_what_csv_does(model: Path, table: Path, tmp_path: Path) -> None:
    """With types, as Arrow does; other endings are refused, and a name without one is CSV."""
    usual = ("predict", model, table, "--target", "class", "--probabilities", "--keep", "day")
    frames = {}
    for name, read in (("p.parquet", pd.read_parquet), ("p.csv", pd.read_csv), ("p", pd.read_csv)):
        done(*usual, "--output", tmp_path / name)
        frames[name] = read(tmp_path / name)
    text = frames["p.csv"].fillna({"day": ""})
    pd.testing.assert_frame_equal(frames["p.parquet"], text, check_dtype=False)
    pd.testing.assert_frame_equal(frames["p"], frames["p.csv"])
    for name in ("p.pq", "p.PARQUET"):
        done(*usual, "--output", tmp_path / name)
        assert (tmp_path / name).read_bytes() == (tmp_path / "p.parquet").read_bytes()
    for name in ("p.arrow", "p.feather", "p.ipc"):
        done(*usual, "--output", tmp_path / name)
        pd.testing.assert_frame_equal(pd.read_feather(tmp_path / name), frames["p.parquet"])
    for name in ("p.tsv", "p.jsonl", "p.csv.gz", "p.parquet.gzip", "p.parq", "p.xlsx", "p.json"):
        result = run(*usual, "--output", tmp_path / name)
        assert_refused(result, f"cannot write {name}: the name must end in .csv, .txt, .parquet")
        assert not (tmp_path / name).exists()
    for name in ("p.parquet", "p.pq", "p.arrow", "p.feather", "p.ipc"):  # and reads what it writes
        done("predict", model, tmp_path / name, "--keep", "prediction", "--drop", "row")


def test_labels_of_several_types_in_parquet(tmp_path: Path) -> None:
    """They become texts."""
    path, data = tmp_path / "m.model", tmp_path / "t.jsonl"
    data.write_text('{"a": 1, "y": 1}\n{"a": 2, "y": "one"}\n{"a": 3, "y": null}\n')
    learner = ret.StreamDecisionTreeClassifier(seed=1)
    learn(learner, [({"a": 1}, 1), ({"a": 2}, "one")] * 20)
    persistence.save(learner, path)
    done("predict", path, data, "--target", "y", "--output", tmp_path / "p.parquet")
    found = pq.read_table(tmp_path / "p.parquet").to_pydict()
    assert found["y"] == ["1", "one", None]
    assert found["row"] == [1, 2, 3]


@pytest.mark.parametrize("scaled", [False, True])
def test_intervals(scaled: bool, tmp_path: Path) -> None:
    """`--interval` adds the bounds that `predict_one` gives; other learners have none."""
    path, data = tmp_path / "m.model", tmp_path / "t.csv"
    learner: Any = ret.DynamicTreeRegressor(n_particles=10, seed=1)
    learner = preprocessing.StandardScaler() | learner if scaled else learner
    rows = [({"a": i % 13 / 3.0, "b": i % 7 / 2.0}, i % 13 + 0.5) for i in range(60)]
    persistence.save(learn(learner, rows), path)
    pd.DataFrame([x for x, _ in rows]).to_csv(data, index=False)
    done("predict", path, data, "--interval", 0.8, "--output", tmp_path / "p.csv")
    found = pd.read_csv(tmp_path / "p.csv")
    assert list(found) == ["row", "prediction", "lower", "upper"]
    expected = [learner.predict_one(x, with_dist=True).interval(0.8) for x, _ in rows]
    assert list(zip(found["lower"], found["upper"], strict=True)) == expected
    assert list(found["prediction"]) == [learner.predict_one(x) for x, _ in rows]
    assert_refused(run("predict", path, data, "--interval", 1), "between 0 and 1")
    persistence.save(learn(ret.StreamDecisionTreeRegressor(), rows), path)
    assert_refused(run("predict", path, data, "--interval", 0.8), "DynamicTreeRegressor")


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_a_learner_without_kinds_reads_what_it_learned(suffix: str, tmp_path: Path) -> None:
    """Columns that it knows as names are read as such from every table, and a note says so."""
    path, data = tmp_path / "m.model", tmp_path / f"t.{suffix}"
    codes = ["10115", "1.50", "007", "2026-01-01 00:00", "true"]
    days = ["2026-03-10", "2026-04-10"]
    frame = pd.DataFrame(
        [{"zip": codes[i % 5], "day": days[i % 2], "size": i % 3} for i in range(60)]
    )
    y = [f"{i % 5}{i % 2}" for i in range(60)]
    learner = ret.ExtraTreesClassifier(seed=1)
    learner.learn_many(frame, y)
    persistence.save(learner, path)
    if suffix == "parquet":
        frame.to_parquet(data)
    else:
        text = frame.to_csv(index=False)
        data.write_text(text if suffix == "csv" else frame.to_json(orient="records", lines=True))
    result = done("predict", path, data, "--output", tmp_path / "p.csv")
    assert (
        list(pd.read_csv(tmp_path / "p.csv", dtype=str)["prediction"])
        == learner.predict_many(frame).astype(str).tolist()
    )
    assert "note: read as names, as the learner knows them: 'day', 'zip'" in result.stderr
    frame.rename(columns=str.upper).to_csv(tmp_path / "other.csv", index=False)
    assert_refused(run("predict", path, tmp_path / "other.csv"), "no column in common")


def test_rows_that_cannot_be_read(model: Path, tmp_path: Path) -> None:
    """Skipped and counted on request, while others keep their numbers; else the old file stays."""
    data, answers = tmp_path / "new.csv", tmp_path / "a.csv"
    data.write_text("size;id;colour\n1;a;red\n2\n3;b;blue\n")
    result = done("predict", model, data, "--on-bad-row", "skip", "--drop", "id")
    assert [line.split(",")[0] for line in result.stdout.splitlines()] == ["row", "1", "3"]
    assert "rows skipped: 1; the first: row 2" in result.stderr
    answers.write_text("old")
    assert_refused(run("predict", model, data, "--output", answers), "row 2")
    assert answers.read_text() == "old"

    assert sorted(os.listdir(tmp_path)) == ["a.csv", "m.model", "new.csv", "table.csv"]


@pytest.mark.parametrize(
    ("text", "status", "says"),
    [
        (
            "size,color\n1,red\n2,blue\n",
            0,
            ["2 of 3 columns of the model are missing: 'colour', 'day'", "'color'"],
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


def test_columns_that_are_no_features_are_known(table: Path, tmp_path: Path) -> None:
    """The target and the weight of the training are not unknown, but a label of another name is."""
    path, data = tmp_path / "w.model", tmp_path / "w.csv"
    pd.read_csv(table).assign(w=2).to_csv(data, index=False)
    done("train", data, OURS, "--target", "class", "--weight", "w", "--save", path)
    done("train", data, path, "--target", "class", "--weight", "w", "--save", path, "--resume")
    for more in ((), ("--target", "class"), ("--drop", "w"), ("--target", "w")):
        assert "does not know" not in done("predict", path, data, "--strict", *more).stderr
    pd.read_csv(data).rename(columns={"w": "v"}).to_csv(data, index=False)
    assert "ignores it: 'v'" in done("predict", path, data).stderr


@pytest.mark.parametrize("later", [True, False])
def test_rows_of_json_may_lack_columns(later: bool, model: Path, tmp_path: Path) -> None:
    """In `--strict`, too, however long the gap; a column that no row has is missing."""
    data, rows = tmp_path / "t.jsonl", ['{"size": 1, "colour": "red"}\n'] * 9000
    if later:
        rows += ['{"day": "2026-01-01"}\n']
    data.write_text("".join(rows))
    for more in (["--strict"], []):
        result = run("predict", model, data, *more, "--output", tmp_path / "p.csv")
        assert (result.exit_code == 0) == (later or not more)
        assert ("is missing: 'day'" in result.stderr) != later


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


def test_version_and_script() -> None:
    """`--version` prints the version alone, and the console script is this command."""
    assert done("--version").stdout == f"{ret.__version__}\n"
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert 'river-extra-trees = "river_extra_trees.__main__:main"' in text


def test_explanations(model: Path, table: Path, tmp_path: Path) -> None:
    """Each row has the base value and so many contributions; all of them add up."""
    result = done("predict", model, table, "--explain", 3, "--probabilities")
    frame = pd.read_csv(io.StringIO(result.stdout))
    pairs = [f"{what} {i}" for i in (1, 2, 3) for what in ("feature", "contribution")]
    assert list(frame)[4:] == ["base value", *pairs]
    p = frame[["probability of u", "probability of v"]].max(axis=1).clip(1e-6, 1 - 1e-6)
    total = frame[["base value", *pairs[1::2]]].sum(axis=1)
    assert total.to_numpy() == pytest.approx(np.log(p / (1 - p)).to_numpy(), abs=1e-6)
    assert (frame["contribution 1"].abs() >= frame["contribution 2"].abs()).all()
    persistence.save(ret.StreamDecisionTreeClassifier(), model)  # which has learned nothing
    assert done("predict", model, table, "--explain", 1).stdout.splitlines()[1] == "1,,,,"
    pipeline = preprocessing.StandardScaler() | ret.StreamDecisionTreeRegressor(seed=1)
    for size in (1.0, 2.0):
        pipeline.learn_one({"size": size}, size)
    persistence.save(pipeline, model)
    table.write_text("size\n1.0\n")
    assert (
        done("predict", model, table, "--explain", 2)
        .stdout.splitlines()[0]
        .endswith("base value,feature 1,contribution 1")  # there is no second feature
    )


def broken_sensor(path: Path, at: int, n: int) -> Path:
    """A CSV file whose column `sensor` is empty from a row on."""
    rng = random.Random(0)
    values = [rng.random() for _ in range(n)]
    rows = (f"{v if i < at else ''},{rng.random()},{v > 0.5}" for i, v in enumerate(values))
    path.write_text("\n".join(["sensor,noise,y", *rows, ""]))
    return path


def test_alarms_of_a_training(tmp_path: Path) -> None:
    """A line each on standard error; `exit` ends with status 3; the file remembers them."""
    table, path = broken_sensor(tmp_path / "t.csv", 4_000, 12_500), tmp_path / "m.model"
    command = ("train", table, OURS, "--target", "y", "--save", path)
    said = done(*command, "--alarm", "print")
    alarms = [line for line in said.stderr.split("\n") if line.startswith("alarm: ")]
    assert any("the column 'sensor' is missing in" in line for line in alarms)
    watch = learner_in(path)
    assert [f"alarm: {alarm}" for alarm in watch.alarms] == alarms
    assert watch.model.n_samples_seen == 12_500
    info = " ".join(done("info", path).stdout.split())
    assert "Watch(StreamDecisionTreeClassifier)" in info
    assert str(watch.alarms[-1]) in info
    assert "accuracy" in done("predict", path, table, "--target", "y").stderr
    # A watched model is watched on.
    mended = broken_sensor(tmp_path / "u.csv", 2_000, 2_000)
    assert "'sensor' is not missing in" in done("train", mended, path, *command[3:]).stderr
    stopped = run(*command, "--alarm", "exit")
    assert (stopped.exit_code, stopped.stderr.count("alarm: ")) == (3, 1)
    assert 4_000 < learner_in(path).model.n_samples_seen < 6_000
    done(*command, "--resume")
    assert learner_in(path).model.n_samples_seen == 12_500
    assert_refused(
        run("train", table, path, "--target", "y", "--save", path, "--false-alarms-per", 5_000),
        "the model is watched already, with 100,000",
    )
    assert_refused(run(*command, "--false-alarms-per", 5_000), "nothing is watched without --alarm")
