"""The command line: what is typed, what is read, what is refused and what is written."""

from __future__ import annotations

import csv
import decimal
import gzip
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import compose, datasets, dummy, evaluate, metrics, tree
from typer.testing import CliRunner, Result

import river_extra_trees
from river_extra_trees import persistence
from river_extra_trees.cli import UserError, learners, race, streams
from river_extra_trees.cli import checkpoint as checkpoints
from river_extra_trees.cli.app import app
from river_extra_trees.persistence import container
from river_extra_trees.streams import Batch
from tests.tools.systems import needs_links, needs_pipes, needs_signals

FAST = "HoeffdingTreeClassifier"


def run(*arguments: object, stdin: str | None = None) -> Result:
    """Run a race inside this process."""
    return CliRunner().invoke(app, ["race", *map(str, arguments)], input=stdin)


def start(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    """Start a race as a user does."""
    command = [sys.executable, "-m", "river_extra_trees", "race", *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, **options)


def assert_refused(result: Result, *words: str, stdout: str = "") -> None:
    """Check for exit status 2 and one line that holds the words; what is told else, if anything."""
    assert result.exit_code == 2, result.output
    assert stdout in result.stdout if stdout else result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    for word in words:
        assert word in result.stderr


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A CSV file with numbers, names, missing values and a class."""
    path = tmp_path / "table.csv"
    rows = [f"{i % 7},{('red', 'blue')[i % 2]},{'' if i % 5 else i / 8},{i % 2}" for i in range(90)]
    path.write_text("\n".join(["number,name,gaps,class", *rows, ""]))
    return path


# --- Races


def test_scores_are_those_of_river() -> None:
    """A race scores a learner as river's own progressive validation does."""
    dataset = datasets.Phishing()
    expected = evaluate.progressive_val_score(
        dataset, tree.HoeffdingTreeClassifier(), metrics.Accuracy()
    )
    result = run("Phishing", FAST, "--metric", "Accuracy")
    assert result.exit_code == 0, result.output
    assert f"{expected.get():.4g}" in result.stdout


def test_default_learners() -> None:
    """Without learners, all of this package race, with river's trees beside them."""
    result = run("ImageSegments", "--limit", 120)
    assert result.exit_code == 0, result.output
    for name in learners.usual_learners("classification"):
        assert name in result.stdout
    assert "120 of 120 items" in result.stdout


def test_seed_makes_a_race_repeatable(tmp_path: Path) -> None:
    """The same command gives the same scores; another seed gives others."""
    scores = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        path = tmp_path / name
        result = run("Phishing", "ARFClassifier", "--limit", 300, "--seed", seed, "--json", path)
        assert result.exit_code == 0, result.output
        scores.append(json.loads(path.read_text())["learners"][0]["scores"])
    assert scores[0] == scores[1] != scores[2]


def test_outputs(tmp_path: Path, table: Path) -> None:
    """Curves go to CSV and JSON, and a picture is drawn; their paths are printed."""
    paths = {name: tmp_path / f"out.{name}" for name in ("csv", "json", "png")}
    result = run(
        *(table, FAST, "NoChangeClassifier", "--target", "class", "--csv", paths["csv"]),
        *("--json", paths["json"], "--plot", paths["png"]),
    )
    assert result.exit_code == 0, result.output
    for path in paths.values():
        assert f"wrote {path}" in result.stdout
    with paths["csv"].open() as file:
        points = list(csv.DictReader(file))
    assert [p["items"] for p in points if p["learner"] == FAST] == [str(i) for i in range(1, 91)]
    document = json.loads(paths["json"].read_text())
    assert (document["items"], document["task"]) == (90, "classification")
    assert not document["interrupted"]
    winner = document["learners"][0]
    assert winner["curve"][-1]["scores"] == winner["scores"]
    assert winner["memory_bytes"] > 0
    assert paths["png"].read_bytes().startswith(b"\x89PNG")


def test_curves_stay_short() -> None:
    """However long the race, a curve has a bounded number of evenly spaced points."""
    entrant = race.enter("x", dummy.NoChangeClassifier(), {"Accuracy": metrics.Accuracy()})
    contest = race.Race([entrant], "classification")
    batches = (Batch([i + 1], {}, [i % 2]) for i in range(5000))
    for _ in contest.run(batches):
        pass
    items = [point.items for point in entrant.curve]
    assert race.MOST_POINTS / 2 <= len(items) < race.MOST_POINTS
    assert {later - earlier for earlier, later in itertools.pairwise(items)} == {contest.spacing}


def test_learner_that_gives_up() -> None:
    """A learner that raises is out, with its reason; the others go on; the exit status is 1."""
    rows = "a,y\n" + "".join(f"{i},{i % 2}\n" for i in range(50)) + "later,1\n" * 3
    result = run(
        *("-", "GaussianNB", "NoChangeClassifier", "--target", "y", "--nominal", "a"),
        stdin=rows.replace("\n0,", "\n0.0,"),
    )
    assert result.exit_code == 1, result.output
    assert "failed at item" in result.stdout
    assert "NoChangeClassifier" in result.stdout


def test_probabilities_are_scored() -> None:
    """Metrics of probabilities and of labels can be mixed."""
    result = run("Phishing", FAST, "--metric", "ROCAUC", "--metric", "Accuracy", "--limit", 200)
    assert result.exit_code == 0, result.output
    assert "ROCAUC" in result.stdout


def test_label_that_never_came() -> None:
    """A binary metric that looks for a label which is not in the stream says so."""
    result = run("ImageSegments", FAST, "--metric", "F1", "--limit", 50)
    assert result.exit_code == 0, result.output
    assert "note: F1 looks for the label True" in result.stderr
    result = run("ImageSegments", FAST, "--metric", "F1:pos_val=sky", "--limit", 50)
    assert result.stderr == ""


# --- Reading


def test_values_of_a_csv(table: Path) -> None:
    """Numbers are floats, names strings, missing cells absent, labels as river writes them."""
    rows = list(streams.open_stream(str(table), target="class").rows)
    assert rows[0] == ({"number": 0.0, "name": "red", "gaps": 0.0}, 0)
    assert rows[1] == ({"number": 1.0, "name": "blue"}, 1)
    assert len(rows) == 90


def test_packed_csv(table: Path) -> None:
    """A packed CSV file is read as the file itself."""
    packed = table.with_suffix(".csv.gz")
    packed.write_bytes(gzip.compress(table.read_bytes()))
    plain = streams.open_stream(str(table), target="class")
    assert list(streams.open_stream(str(packed), target="class").rows) == list(plain.rows)


def test_parquet(tmp_path: Path) -> None:
    """A Parquet file gives its values, moments as seconds, missing ones absent, and its length."""
    path = tmp_path / "table.parquet"
    moments = pd.to_datetime(["1970-01-02", None, "1970-01-03"])
    pd.DataFrame(
        {"number": [1, 2, 3], "gaps": [0.5, None, 1.5], "when": moments, "y": ["a", "b", "a"]}
    ).to_parquet(path)
    stream = streams.open_stream(str(path), target="y")
    assert (stream.n_items, stream.task) == (3, "classification")
    assert list(stream.rows) == [
        ({"number": 1, "gaps": 0.5, "when": 86400.0}, "a"),
        ({"number": 2}, "b"),
        ({"number": 3, "gaps": 1.5, "when": 172800.0}, "a"),
    ]


def test_nominal_numbers(table: Path) -> None:
    """Numbers in a nominal column stay names."""
    stream = streams.open_stream(str(table), target="class", nominal=["number"])
    assert next(stream.rows)[0]["number"] == "0"


@pytest.mark.parametrize(
    ("targets", "task"),
    [
        (["a", "b"], "classification"),
        (["1", "2", "1"], "classification"),
        (["true", "false"], "classification"),
        ([str(i) for i in range(30)], "regression"),
        (["1", "2.5"], "regression"),
    ],
)
def test_task_is_inferred(tmp_path: Path, targets: list[str], task: str) -> None:
    """Names, booleans and few whole numbers are classes; other numbers are measurements."""
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["a,y", *(f"1,{target}" for target in targets)]))
    stream = streams.open_stream(str(path), target="y")
    assert stream.task == task
    assert len(list(stream.rows)) == len(targets)


@pytest.mark.parametrize("name", streams.bundled_names())
def test_bundled_streams(name: str) -> None:
    """Every bundled data set can be read, and holds only what any learner understands."""
    stream = streams.open_stream(name, limit=20)
    for x, y in stream.rows:
        assert all(isinstance(value, bool | int | float | str) for value in x.values())
        assert isinstance(y, bool | int | float | str)
    assert stream.n_items == 20


# --- Refusals


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["Fishing"], ["'Fishing'", "Phishing"]),
        (["missing.csv", "--target", "y"], ["no file 'missing.csv'"]),
        (["missing.parquet", "--target", "y"], ["no file 'missing.parquet'"]),
        (["Phishing", "--target", "y"], ["bundled"]),
        (["Phishing", "--task", "regression"], ["for classification, not for regression"]),
        (["Phishing", "--task", "clustering"], ["'clustering'"]),
        (["Phishing", "HoeffdingTreeClasifier"], ["did you mean HoeffdingTreeClassifier?"]),
        (["Phishing", "StreamForest"], ["did you mean StreamDecisionForest?"]),
        (["Phishing", "river.tree.NoSuchTree"], ["no learner 'river.tree.NoSuchTree'"]),
        (["Phishing", "no.such.Tree"], ["no learner 'no.such.Tree'"]),
        (["Phishing", "HoeffdingTreeRegressor"], ["is not a learner for classification"]),
        (["Phishing", f"{FAST}:depth=3"], ["no parameter 'depth'", "max_depth"]),
        (["Phishing", f"{FAST}:max_depth="], ["Name:key=value"]),
        (["Phishing", f"{FAST}:3"], ["Name:key=value"]),
        (["Phishing", "StreamDecisionTreeClassifier:batch_size=0"], ["batch_size"]),
        (["Phishing", FAST, FAST], ["named twice"]),
        (["Phishing", FAST, "--metric", "Acuracy"], ["did you mean Accuracy?"]),
        (["Phishing", FAST, "--metric", "ConfusionMatrix"], ["not a single number"]),
        (["Phishing", FAST, "--metric", "MAE"], ["cannot score"]),
        (["Phishing", FAST, "--csv", "no/such/folder.csv"], ["no folder"]),
        (["Phishing", FAST, "--plot", "picture.doc"], [".png"]),
    ],
)
def test_command_is_refused(arguments: list[str], words: list[str]) -> None:
    """What cannot be understood is refused in one line, with status 2."""
    assert_refused(run(*arguments), *words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["is empty"]),
        ("a,y\n", ["no rows"]),
        ("a,b\n1,2\n", ["no column 'y'", "a, b"]),
        ("a,a,y\n1,2,3\n", ["column 'a' twice"]),
        ("a,y\ninf,0\n", ["row 1", "column 'a' is infinite"]),
    ],
)
def test_table_is_refused(text: str, words: list[str]) -> None:
    """A table of which no row can be read is refused in one line."""
    assert_refused(run("-", FAST, "--target", "y", stdin=text), "standard input", *words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,y\n1,0\n2\n", ["row 2", "1 fields, but the header has 2"]),
        ("a,y\n1,0\n2,0,0\n", ["row 2", "3 fields"]),
        ("a,y\n1,0\n2,1\nx,1\n", ["row 3", "column 'a'", "'x'", "--nominal a"]),
        ("a,y\n1,0\n-inf,1\n", ["row 2", "column 'a' is infinite"]),
        ("a,y\n1,0\n2,\n", ["row 2", "the target 'y' is missing"]),
        ('a,y\n1,0\n2,"open\n', ["row 2"]),
    ],
)
def test_row_is_refused(text: str, words: list[str]) -> None:
    """A row that cannot be read ends the race in one line; what was reached is told."""
    result = run("-", FAST, "--target", "y", stdin=text)
    reached = int(words[0].removeprefix("row ")) - 1
    assert_refused(result, "standard input", *words, stdout=f"{reached} items")


def test_target_of_a_regression_is_refused() -> None:
    """A target that is no number is refused by its row when numbers are to be predicted."""
    result = run(
        *("-", "HoeffdingTreeRegressor", "--target", "y", "--task", "regression"),
        stdin="a,y\n1,0.5\n2,high\n",
    )
    assert_refused(result, "row 2", "'high'", stdout="1 items")


def test_target_is_needed(table: Path) -> None:
    """A table does not say which column to predict."""
    assert_refused(run(table, FAST), "--target")


def test_damaged_files(tmp_path: Path) -> None:
    """Damaged files of every kind are refused in one line."""
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(gzip.compress(b"a,y\n" + b"1,0\n" * 5000)[:60])
    latin = tmp_path / "latin.csv"
    latin.write_bytes("a,y\n1,\xe9\n".encode("latin-1"))
    fake = tmp_path / "fake.parquet"
    fake.write_bytes(b"no parquet at all")
    for path, reached in ((cut, " items"), (latin, ""), (fake, "")):
        assert_refused(run(path, FAST, "--target", "y"), path.name, stdout=reached)


class Broken(dummy.NoChangeClassifier):
    """A learner that lacks something."""

    def __init__(self) -> None:
        raise RuntimeError("install\nthat first")


def test_learner_that_cannot_be_made() -> None:
    """Whatever its constructor raises, as river's do where a package is missing."""
    refused = run("Phishing", f"{__name__}.Broken")
    assert_refused(refused, f"cannot make {__name__}.Broken: install that first")


OUTPUTS = {
    "--csv": "curves.csv",
    "--plot": "curves.png",
    "--json": "race.json",
    "--checkpoint": "c",
}


@needs_links
@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(OUTPUTS, 2)))
def test_outputs_that_are_one_file_are_refused(tmp_path: Path, one: str, other: str) -> None:
    """By another name, too: one would overwrite the other."""
    (tmp_path / "link").symlink_to("new.png")
    for path in (tmp_path / "new.png", tmp_path / "link", tmp_path / "." / "new.png"):
        for given in ((one, tmp_path / "new.png", other, path), (other, path, one, path)):
            if path.suffix or "--plot" not in (one, other):
                assert_refused(run("Fishing", *given), "are the same file")
    assert sorted(tmp_path.iterdir()) == [tmp_path / "link"]


@pytest.mark.parametrize("option", OUTPUTS)
def test_outputs_that_are_an_input_are_refused(table: Path, option: str) -> None:
    """By whatever name; the table is as it was."""
    link = table.with_name("link.png")
    link.hardlink_to(table)
    before = table.read_bytes()
    assert_refused(run(table, FAST, "--target", "class", option, link), "is an input")
    assert table.read_bytes() == before


def test_an_output_that_is_standard_input_is_refused(table: Path) -> None:
    """A file that comes in without its name is known all the same."""
    before = table.read_bytes()
    with table.open() as rows:
        running = start("-", FAST, "--target", "class", "--csv", table, stdin=rows)
        out, err = running.communicate(timeout=120)
    assert (running.returncode, out) == (2, "")
    assert f"{table} is an input" in err
    assert table.read_bytes() == before


def test_a_picture_does_not_replace_its_model(tmp_path: Path) -> None:
    """However it is called."""
    path = tmp_path / "model.png"
    persistence.save(river_extra_trees.StreamDecisionTreeClassifier(), path)
    before = path.read_bytes()
    result = CliRunner().invoke(app, ["draw", str(path), "--output", str(path)])
    assert_refused(result, "is an input")
    assert path.read_bytes() == before


@pytest.mark.parametrize("option", OUTPUTS)
def test_outputs_that_cannot_be_written_are_refused(tmp_path: Path, option: str) -> None:
    """Before anything else is looked at, however short the race would be."""
    folder = tmp_path / "folder.png"
    folder.mkdir()
    forbidden = ["/proc/new.png"] if sys.platform == "linux" else []
    for path in (*forbidden, folder, tmp_path / f"{'x' * 300}.png"):
        assert_refused(run("Fishing", option, path), f"cannot write {path}: ")
    assert list(tmp_path.iterdir()) == [folder]
    assert list(folder.iterdir()) == []


def test_outputs_are_as_they_were_where_there_is_no_race(tmp_path: Path) -> None:
    """Whether they were there or not."""
    paths = {option: tmp_path / name for option, name in OUTPUTS.items()}
    given = list(itertools.chain.from_iterable(paths.items()))
    assert_refused(run("Fishing", *given), "'Fishing'")
    assert list(tmp_path.iterdir()) == []
    for path in paths.values():
        path.write_text("earlier")
        os.utime(path, (1, 1))
    assert_refused(run("Fishing", *given), "'Fishing'")
    assert sorted(tmp_path.iterdir()) == sorted(paths.values())
    assert {(path.read_text(), path.stat().st_mtime) for path in paths.values()} == {("earlier", 1)}


@needs_pipes
@pytest.mark.timeout(60)
def test_outputs_that_are_no_regular_files_are_not_touched(tmp_path: Path) -> None:
    """Opening a pipe would wait for its reader."""
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/null", tmp_path / "pipe"):
        assert_refused(run("Fishing", "--csv", path, "--json", path), "'Fishing'")


@needs_pipes
@pytest.mark.timeout(60)
def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path) -> None:
    """A pipe that nobody writes to, and a device without an end."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero"), tmp_path):
        for options in ((), ("--resume",)):
            refused = run("Phishing", FAST, "--checkpoint", path, *options)
            assert_refused(refused, f"cannot write {path}: only a regular file can be replaced")
        for command in ("info", "draw"):
            refused = CliRunner().invoke(app, [command, str(path)])
            assert_refused(refused, f"cannot read {path}: only a regular file can be read")
        with pytest.raises(OSError, match="only a regular file can be read"):
            persistence.load(path)


def test_metric_of_probabilities_needs_them() -> None:
    """A learner without probabilities is not scored by them."""
    model = dummy.NoChangeClassifier()
    entrant = race.Entrant("x", model, {"LogLoss": metrics.LogLoss()})
    assert entrant.wants_probabilities
    with pytest.raises(UserError, match="no probabilities"):
        race.enter("x", object(), {"LogLoss": metrics.LogLoss()})  # type: ignore[arg-type]


# --- As a process


def test_module_runs() -> None:
    """`python -m river_extra_trees race` works, and its exit status arrives."""
    good = start("Phishing", FAST, "--limit", 50)
    bad = start("Fishing")
    out, err = good.communicate(timeout=120)
    assert (good.returncode, err) == (0, "")
    assert "HoeffdingTreeClassifier" in out
    out, err = bad.communicate(timeout=120)
    assert (bad.returncode, out) == (2, "")
    assert err.count("\n") == 1


@needs_signals
def test_ctrl_c_while_waiting_for_input(tmp_path: Path) -> None:
    """Ctrl-C in a pipe that has fallen silent reports the results so far, with status 130."""
    path = tmp_path / "out.json"
    kept = tmp_path / "race"
    process = start(
        *("-", FAST, "--target", "y", "--task", "classification", "--json", path),
        *("--checkpoint", kept, "--every", 3),
        stdin=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write("a,y\n1,0\n2,1\n3,0\n")
    process.stdin.flush()
    while not kept.exists():
        assert process.poll() is None
    time.sleep(0.2)  # until it waits again
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (130, "")
    assert "3 items" in out
    document = json.loads(path.read_text())
    assert document["interrupted"]
    assert document["items"] == 3


def test_ctrl_c_between_items() -> None:
    """Ctrl-C while learning ends the race between two items."""
    contest = race.Race(
        [race.enter("x", dummy.NoChangeClassifier(), {"Accuracy": metrics.Accuracy()})],
        "classification",
    )
    with race.Interruptible() as interruptible:
        batches = (Batch([i + 1], {}, [1]) for i in range(100))
        for items in contest.run(interruptible.batches(batches)):
            if items == 7:
                signal.raise_signal(signal.SIGINT)
    assert contest.items == 7
    assert interruptible.interrupted


def test_missing_extra(tmp_path: Path) -> None:
    """Without typer the command says in one line what to install."""
    (tmp_path / "typer.py").write_text("raise ModuleNotFoundError('gone', name='typer')")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    process = start("Phishing", env={**os.environ, "PYTHONPATH": path})
    _, err = process.communicate(timeout=120)
    assert process.returncode != 0
    assert err.count("\n") == 1
    assert "pip install typer rich" in err


# --- Checkpoints and saved models

OURS = "StreamDecisionTreeClassifier:batch_size=20"


def scores_of(path: Path) -> list[dict[str, Any]]:
    """The results in a JSON file, without the times."""
    found = json.loads(path.read_text())["learners"]
    return [{name: entry[name] for name in ("learner", "items", "scores")} for entry in found]


def test_a_resumed_race_ends_as_an_uninterrupted_one(tmp_path: Path) -> None:
    """River's learners and metrics, too, go on where they were."""
    learners_of_both = (FAST, OURS, "ForgetfulRandomForestClassifier:n_models=2", "ARFClassifier")
    usual = ("ImageSegments", *learners_of_both, "--seed", 3)
    assert run(*usual, "--limit", 150, "--json", tmp_path / "whole.json").exit_code == 0
    kept = ("--checkpoint", tmp_path / "race", "--every", 40)
    assert run(*usual, "--limit", 90, *kept, "--resume").exit_code == 0
    result = run(*usual, "--limit", 150, *kept, "--resume", "--json", tmp_path / "resumed.json")
    assert result.exit_code == 0, result.output
    assert scores_of(tmp_path / "resumed.json") == scores_of(tmp_path / "whole.json")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["race", "resumed.json", "whole.json"]


def test_a_killed_race_goes_on_from_its_checkpoint(tmp_path: Path, table: Path) -> None:
    """Nothing but the items since the checkpoint is lost."""
    rows = table.read_text()
    with start(
        *("-", "--target", "class", OURS, "--task", "classification"),
        *("--checkpoint", tmp_path / "race", "--every", 25),
        stdin=subprocess.PIPE,
    ) as running:
        assert running.stdin is not None
        running.stdin.write(rows)
        running.stdin.flush()
        while not (tmp_path / "race").exists() or "75" not in run_info(tmp_path / "race"):
            assert running.poll() is None
        running.kill()
    command = ("-", "--target", "class", OURS, "--task", "classification")
    result = run(*command, "--checkpoint", tmp_path / "race", "--resume", stdin=rows)
    assert result.exit_code == 0, result.output
    whole = run(*command, stdin=rows)
    assert result.stdout.split("items/s")[0] == whole.stdout.split("items/s")[0]


def run_info(path: Path, *arguments: object) -> str:
    """What `info` says of a file."""
    result = CliRunner().invoke(app, ["info", str(path), *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A checkpoint of a short race."""
    path = tmp_path / "race"
    usual = ("ImageSegments", FAST, OURS, "--limit", 60)
    assert run(*usual, "--checkpoint", path).exit_code == 0
    return path


def test_checkpoints_of_other_races_are_refused(checkpoint: Path) -> None:
    """Nor is a checkpoint overwritten that nobody asked to resume."""
    usual = ("ImageSegments", "--checkpoint", checkpoint)
    assert_refused(run(*usual, FAST, OURS), "exists", "--resume")
    assert_refused(run(*usual, FAST, "--resume"), "another learners", OURS)
    assert_refused(run(*usual, FAST, OURS, "--seed", 9, "--resume"), "another seed", "1, not 9")
    assert_refused(run(*usual, FAST, OURS, "--limit", 50, "--resume"), "fewer than the 60 rows")
    assert_refused(run("ImageSegments", FAST, "--resume"), "--checkpoint")
    assert_refused(run("ImageSegments", "--checkpoint", "no/folder/c"), "no folder")


def test_a_race_does_not_go_on_over_other_rows(tmp_path: Path) -> None:
    """A file that was replaced, or whose first rows have changed, is another stream."""
    rows = ["a,label"] + [f"{i},{'ny'[i % 2]}" for i in range(60)]
    table, kept = tmp_path / "table.csv", ("--checkpoint", tmp_path / "race")
    table.write_text("\n".join(rows[:31]))
    usual = (table, "--target", "label", OURS, *kept)
    assert run(*usual).exit_code == 0
    table.write_text("\n".join([*rows[:30], "30,n", *rows[31:]]))
    assert_refused(run(*usual, "--resume"), "first 30 rows of", "cannot be found in the checkpoint")
    table.write_text("\n".join(rows))
    result = run(*usual, "--resume")
    assert result.exit_code == 0, result.output


def test_damaged_checkpoints_are_refused(checkpoint: Path) -> None:
    """A changed byte is noticed before anything of the file is run."""
    content = bytearray(checkpoint.read_bytes())
    content[-100] ^= 1
    checkpoint.write_bytes(content)
    resumed = run("ImageSegments", FAST, OURS, "--checkpoint", checkpoint, "--resume")
    assert_refused(resumed, "not a valid checkpoint", "does not match its hash")


def hostile(document: Any, *names: str) -> bytes:
    """A checkpoint of the right hash that no race has written."""
    arrays = {name: np.zeros(8, np.uint8) for name in names}
    return container.pack(checkpoints.MAGIC, checkpoints.VERSION, document, arrays)


SOUND = {"plan": {}, "items": 1, "packages": {}, "models": ["x"]}


@pytest.mark.parametrize(
    "content",
    [
        *(hostile(document, "race") for document in ([], {}, None, 1, {**SOUND, "more": 1})),
        *(hostile({**SOUND, "plan": plan}, "race", "model 0") for plan in (1, None, [])),
        *(hostile({**SOUND, "items": items}, "race", "model 0") for items in ("1", 1.5, True)),
        *(hostile({**SOUND, "packages": each}, "race", "model 0") for each in (1, {"river": 1})),
        *(hostile({**SOUND, "models": each}, "race", "model 0") for each in ("x", [1], {"x": 1})),
        *(hostile(SOUND, *names) for names in ((), ("race",), ("race", "model 0", "model 1"))),
    ],
)
def test_forged_checkpoints_are_refused(content: bytes, tmp_path: Path) -> None:
    """Whatever is done with them, in one line."""
    path = tmp_path / "forged"
    path.write_bytes(content)
    for command in (["info"], ["info", "--learner", "x"], ["draw", "--learner", "x"]):
        result = CliRunner().invoke(app, [command[0], str(path), *command[1:]])
        assert_refused(result, "not a valid checkpoint", "not those of a race")
    resumed = run("ImageSegments", OURS, "--checkpoint", path, "--resume")
    assert_refused(resumed, "not a valid checkpoint")


def test_checkpoints_of_strange_plans_and_models_are_refused(tmp_path: Path) -> None:
    """They have the form of one: what is in them is not trusted, either."""
    path = tmp_path / "forged"
    path.write_bytes(hostile(SOUND, "race", "model 0"))
    assert "saved models" in run_info(path)
    refused = CliRunner().invoke(app, ["info", str(path), "--learner", "x"])
    assert_refused(refused, "not a valid model file")
    resumed = run("ImageSegments", OURS, "--checkpoint", path, "--resume")
    assert_refused(resumed, "belongs to a race with another", "None, not")


def test_terminals_do_not_obey_files(tmp_path: Path) -> None:
    """Names of features and labels are shown, whatever characters they have."""
    model = river_extra_trees.StreamDecisionTreeClassifier(batch_size=4, seed=1)
    for i in range(8):
        model.learn_one({"\x1b[2J\\[/x]": i % 2, "\ud800": 1.0}, f"\x07{i % 2}\x1b[31m")
    path = tmp_path / "model"
    persistence.save(model, path)
    said = run_info(path)
    drawn = CliRunner().invoke(app, ["draw", str(path)])
    assert drawn.exit_code == 0
    for text in (said, drawn.stdout):
        assert "\x1b" not in text
        assert "\\x1b[2J\\[/x]" in text
    assert "\\xd800" in said
    assert "\\x070\\x1b[31m" in drawn.stdout


def test_checkpoints_of_other_versions_are_refused(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pickles are for the versions that wrote them."""
    monkeypatch.setattr(checkpoints, "versions", lambda: {"river": "0.0"})
    resumed = run("ImageSegments", FAST, OURS, "--checkpoint", checkpoint, "--resume")
    assert_refused(resumed, "was written by other versions", "0.0")


def test_checkpoints_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk is one line, and exit status 2."""

    def fail(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints, "replace_file", fail)
    path = tmp_path / "results.json"
    kept = ("--checkpoint", tmp_path / "race", "--every", 5, "--json", path)
    result = run("ImageSegments", FAST, "--limit", 9, *kept)
    assert_refused(result, "cannot write", "No space left", stdout="5 of 9 items")
    assert json.loads(path.read_text())["items"] == 5


def test_models_with_labels_that_no_model_file_holds_are_pickled(tmp_path: Path) -> None:
    """Such as those of a Parquet file with decimals."""
    path = tmp_path / "table.parquet"
    labels = [decimal.Decimal(i % 2) for i in range(60)]
    pd.DataFrame({"a": range(60), "label": labels}).to_parquet(path)
    usual = (path, "--target", "label", OURS, "--checkpoint", tmp_path / "race")
    assert run(*usual, "--limit", 30).exit_code == 0
    result = run(*usual, "--resume")
    assert result.exit_code == 0, result.output
    assert "60 of 60 items" in result.stdout


def test_a_model_that_nothing_can_hold_replaces_no_checkpoint() -> None:
    """The error says which learner it is, and why."""
    model = river_extra_trees.StreamDecisionTreeClassifier()
    model.learn_one({"a": 1.0}, lambda: None)
    with pytest.raises(UserError, match="cannot hold this StreamDecisionTreeClassifier"):
        checkpoints.require_pickle(model)


def test_info_and_draw_of_a_model_file(tmp_path: Path) -> None:
    """What a model is, as text; what a tree looks like, as text and as a picture."""
    model = river_extra_trees.StreamDecisionForestClassifier(
        n_models=3, batch_size=20, window_size=(50, 100), seed=1
    )
    for x, y in datasets.Phishing().take(100):
        model.learn_one(x, y)
    path = tmp_path / "phishing.model"
    persistence.save(model, path)
    said = run_info(path)
    for word in ("StreamDecisionForestClassifier", "n_models=3", "100", "is_popular", "trees"):
        assert word in said
    weights = [f"{memory} samples {weight:.0%}" for memory, weight in model.memory_weights.items()]
    assert re.search(rf"memory weights +{'; '.join(weights)}", said)
    result = CliRunner().invoke(app, ["draw", str(path), "--tree", "2", "--max-depth", "9"])
    assert result.stdout == model.to_text(2, 9) + "\n"
    picture = tmp_path / "tree.png"
    result = CliRunner().invoke(app, ["draw", str(path), "--output", str(picture)])
    assert result.exit_code == 0, result.output
    assert picture.stat().st_size > 1000
    persistence.save(compose.Prefixer("my ") | model, path)
    said = run_info(path)
    for word in ("Prefixer | StreamDecisionForestClassifier", "n_models=3"):
        assert word in said
    result = CliRunner().invoke(app, ["draw", str(path), "--tree", "2", "--max-depth", "9"])
    assert result.stdout == model.to_text(2, 9) + "\n"


def test_info_and_draw_of_a_checkpoint(checkpoint: Path) -> None:
    """The race as a whole, and the models of this package in it."""
    said = run_info(checkpoint)
    for word in ("ImageSegments", "60", FAST, OURS, "river"):
        assert word in said
    assert "StreamDecisionTreeClassifier" in run_info(checkpoint, "--learner", OURS)
    result = CliRunner().invoke(app, ["draw", str(checkpoint), "--learner", OURS])
    assert result.exit_code == 0, result.output


def test_files_that_are_no_models_are_refused(checkpoint: Path, tmp_path: Path) -> None:
    """In one line each."""
    (tmp_path / "other").write_text("something else")
    model = tmp_path / "model"
    persistence.save(river_extra_trees.StreamDecisionTreeClassifier(), model)

    def refused(*arguments: object, says: str) -> None:
        assert_refused(CliRunner().invoke(app, list(map(str, arguments))), says)

    refused("info", tmp_path / "other", says="not a valid model file")
    refused("info", tmp_path / "absent", says="cannot read")
    refused("info", tmp_path, says="cannot read")
    refused("draw", checkpoint, says="--learner")
    refused("draw", checkpoint, "--learner", FAST, says="--learner")
    refused("draw", model, "--learner", FAST, says="not a checkpoint")
    refused("draw", model, "--tree", 4, says="there is no tree 4")
    refused("draw", model, "--output", tmp_path / "tree.txt", says=".png, .svg, .pdf or .html")
