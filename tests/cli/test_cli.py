"""The command line: what is typed, what is read, what is refused and what is written."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from river import datasets, dummy, evaluate, metrics, tree
from typer.testing import CliRunner

import river_extra_trees
from river_extra_trees import ColumnKinds, persistence
from river_extra_trees.cli import UserError, learners, race, streams
from river_extra_trees.cli.app import app
from river_extra_trees.streams import Batch
from river_extra_trees.streams.text import frame_of
from tests.tools.command_line import FAST, assert_refused, run, start
from tests.tools.systems import needs_links, needs_pipes, needs_signals

EMPTY = frame_of({}, 1)

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
    assert "120 of 120 samples" in result.stdout


@pytest.mark.slow
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
    batches = (Batch([i + 1], EMPTY, [i % 2]) for i in range(5000))
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
    assert "failed at sample" in result.stdout
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
    stream = streams.open_stream(
        str(table), target="class", kinds=ColumnKinds({"number": "nominal"})
    )
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
        (["Phishing", FAST, FAST], ["given twice"]),
        (["Phishing", FAST, "--metric", "Acuracy"], ["did you mean Accuracy?"]),
        (["Phishing", FAST, "--metric", "ConfusionMatrix"], ["not give a single number"]),
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
    assert_refused(result, "standard input", *words, stdout=f"{reached} samples")


def test_target_of_a_regression_is_refused() -> None:
    """A target that is no number is refused by its row when numbers are to be predicted."""
    result = run(
        *("-", "HoeffdingTreeRegressor", "--target", "y", "--task", "regression"),
        stdin="a,y\n1,0.5\n2,high\n",
    )
    assert_refused(result, "row 2", "'high'", stdout="1 samples")


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
    for path, reached in ((cut, " samples"), (latin, ""), (fake, "")):
        assert_refused(run(path, FAST, "--target", "y"), path.name, stdout=reached)


class Broken(dummy.NoChangeClassifier):
    """A learner that lacks something."""

    def __init__(self) -> None:
        raise RuntimeError("install\nthat first")


def test_learner_that_cannot_be_made() -> None:
    """Whatever its constructor raises, as river's do where a package is missing."""
    refused = run("Phishing", f"{__name__}.Broken")
    assert_refused(refused, f"cannot create {__name__}.Broken: install that first")


OUTPUTS = {
    "--csv": "curves.csv",
    "--plot": "curves.png",
    "--json": "race.json",
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


@pytest.mark.slow
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
            command = ["train", "Phishing", "StreamDecisionTree", "--save", str(path), *options]
            refused = CliRunner().invoke(app, command)
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
    with pytest.raises(UserError, match="predicts no probabilities"):
        race.enter("x", object(), {"LogLoss": metrics.LogLoss()})  # type: ignore[arg-type]


# --- As a process


@pytest.mark.slow
def test_module_runs() -> None:
    """`python -m river_extra_trees race` works, and its exit status arrives."""
    good, bad = start("Phishing", FAST, "--limit", 50), start("Fishing")
    out, err = good.communicate(timeout=120)
    assert (good.returncode, err) == (0, "")
    assert "HoeffdingTreeClassifier" in out
    out, err = bad.communicate(timeout=120)
    assert (bad.returncode, out) == (2, "")
    assert err.count("\n") == 1


@pytest.mark.slow
@needs_signals
def test_ctrl_c_while_waiting_for_input(tmp_path: Path) -> None:
    """Ctrl-C in a pipe that has fallen silent reports the results so far, with status 130."""
    import fcntl
    import termios

    path = tmp_path / "out.json"
    process = start(
        *("-", FAST, "--target", "y", "--task", "classification", "--json", path),
        stdin=subprocess.PIPE,
    )
    assert process.stdin is not None
    # The first rows are read before the race begins, the last one within it.
    for rows in ("a,y\n1,0\n2,1\n", "3,0\n"):
        process.stdin.write(rows)
        process.stdin.flush()
        while fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4)) != bytes(4):
            assert process.poll() is None
            time.sleep(0.05)
    time.sleep(0.5)  # until it waits again
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (130, "note: columns: 1 number: 'a'\n")
    assert "3 samples" in out
    document = json.loads(path.read_text())
    assert document["interrupted"]
    assert document["items"] == 3


@needs_signals
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_ended_between_items(ending: signal.Signals) -> None:
    """Ctrl-C, or the signal by which services are stopped, ends the race between two items."""
    contest = race.Race(
        [race.enter("x", dummy.NoChangeClassifier(), {"Accuracy": metrics.Accuracy()})],
        "classification",
    )
    with race.Interruptible() as interruptible:
        batches = (Batch([i + 1], EMPTY, [1]) for i in range(100))
        for items in contest.run(interruptible.batches(batches)):
            if items == 7:
                signal.raise_signal(ending)
    assert contest.items == 7
    assert interruptible.interrupted


@pytest.mark.parametrize("package", ["typer", "pyarrow"])
def test_missing_extra(package: str) -> None:
    """Without a package, the command says in one line what to install."""
    program = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from river_extra_trees.__main__ import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (f"error: the command line needs more packages: pip install {package}\n")
