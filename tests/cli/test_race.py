"""Races: scores, curves, errors, outputs and endings."""

import contextlib
import functools
import gzip
import json
import os
import re
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from river import datasets, dummy, evaluate, metrics, tree

import river_extra_trees
from river_extra_trees import evaluate as exact
from river_extra_trees.__main__ import main
from river_extra_trees.cli import learners, race, report, streams
from river_extra_trees.cli.progress import Progress
from river_extra_trees.streams import Batch
from tests.tools.command_line import FAST, OURS, assert_refused, curves_in, done, learner_in, run
from tests.tools.systems import needs_signals


def test_curves_are_those_of_river(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By labels and probabilities, for learners of rows and of columns, with seeds of their own.

    However long the race, a curve has a bounded number of evenly spaced points.
    """
    monkeypatch.setattr(race, "MOST_POINTS", 8)
    small_tree = functools.partial(
        river_extra_trees.StreamDecisionTreeClassifier, batch_size=20, max_features=2
    )
    made = {
        FAST: tree.HoeffdingTreeClassifier,
        f"{OURS},max_features=2": functools.partial(small_tree, seed=1),
        f"{OURS},max_features=2,seed=4": functools.partial(small_tree, seed=4),
    }
    usual = ("--metric", "Accuracy", "--metric", "LogLoss", "--csv", tmp_path / "o.csv")
    done("race", "Phishing", *made, *usual, "--limit", 700)
    curves = curves_in(tmp_path / "o.csv")
    for name, make in made.items():
        metric = metrics.Accuracy() + metrics.LogLoss()
        states = evaluate.iter_progressive_val_score(
            datasets.Phishing().take(700), make(), metric, step=1
        )
        scores = {state["Step"]: metric.get() for state in states}
        expected = [[str(n), *map(str, scores[n])] for n in (128, 256, 384, 512, 640, 700)]
        assert [[p["items"], p["Accuracy"], p["LogLoss"]] for p in curves[name]] == expected


def test_default_learners() -> None:
    """By default, all learners of this package and river's trees race.

    If most labels are equal, the learner that predicts them always does, too, and a note says so;
    the loss of the probabilities determines the rank.
    """
    result = done("race", "ImageSegments", "--limit", 60)
    for name in learners.usual_learners("classification"):
        assert name in result.stdout
    assert "60 of 60 samples" in result.stdout
    assert "PriorClassifier" not in result.stdout
    rows = "a,y\n" + "".join(f"{i},{int(i % 10 == 9)}\n" for i in range(200))
    result = done("race", "-", "--target", "y", stdin=rows)
    assert "PriorClassifier" in result.stdout
    assert "note: 90 % of the labels are 0: to predict it always has an accuracy" in result.stderr
    assert re.search(r"learner +┃ +LogLoss ┃ +Accuracy ┃ +MacroF1", result.stdout)
    # Learners without probabilities have no loss, and the loss of two labels needs no note.
    names = ["PriorClassifier", "VotingClassifier"]
    assert "LogLoss" not in learners.usual_metrics("classification", names, by_loss=True)
    named = rows.replace(",1\n", ",u\n").replace(",0\n", ",v\n")
    texts = done("race", "-", FAST, "--target", "y", stdin=named)
    assert "LogLoss" in texts.stdout
    assert "positive" not in texts.stderr


RARE = [(0.97 if i % 8 == 0 else 0.2, i % 8 == 0) for i in range(80)]


@pytest.mark.parametrize("names", [(False, True), (0, 1), ("ok", "fraud"), ("p", "q")])
def test_the_rarest_label_is_positive(names: tuple[Any, Any], tmp_path: Path) -> None:
    """F1, ROCAUC and the others do not depend on how labels are called; `pos_val` names another."""
    path = tmp_path / "o.csv"
    table = tmp_path / "t.jsonl"
    table.write_text("".join(json.dumps({"a": a, "y": names[y]}) + "\n" for a, y in RARE))
    specs = ["F1", "ROCAUC", "Recall", "ExactROCAUC", "AveragePrecision", "LogLoss"]
    named = f"F1:pos_val={names[0]}"
    options = [option for spec in [*specs, named] for option in ("--metric", spec)]
    result = done("race", table, FAST, "--target", "y", "--csv", path, *options)
    (curve,) = curves_in(path).values()
    metric = metrics.F1() + metrics.ROCAUC() + metrics.Recall() + metrics.LogLoss()
    metric += exact.ExactROCAUC() + exact.AveragePrecision()
    rows = [({"a": a}, y) for a, y in RARE]
    evaluate.progressive_val_score(rows, tree.HoeffdingTreeClassifier(), metric)
    f1, roc, recall, loss, *ours = (float(value) for value in metric.get())
    expected = dict(zip(specs, [f1, roc, recall, *ours, loss], strict=True))
    found = {spec: float(curve[-1][spec]) for spec in specs}
    if isinstance(names[0], str):
        del expected["LogLoss"], found["LogLoss"]
        assert f"F1 takes {names[1]!r}, the rarest label (12 % of the first 80)" in result.stderr
    else:
        assert "positive" not in result.stderr
    assert found == pytest.approx(expected)
    assert float(curve[-1][named]) != f1


def test_a_score_that_stays_0_is_explained() -> None:
    """The note names the learners, and the label that they never predicted rightly."""
    rows = "a,y\n" + "".join(f"1,{'fraud' if i % 50 == 25 else 'ok'}\n" for i in range(200))
    says = done("race", "-", "PriorClassifier", "--target", "y", "--metric", "F1", stdin=rows)
    assert "F1 is 0 for PriorClassifier: never predicted 'fraud' rightly" in says.stderr
    one = run("race", "-", FAST, "--target", "y", "--metric", "F1", stdin="a,y\n1,ok\n")
    assert_refused(one, "all have the label 'ok'", "as F1:pos_val=LABEL")
    named = ("--metric", "F1:pos_val=frod")
    says = done("race", "-", "PriorClassifier", "--target", "y", *named, stdin=rows)
    assert "the positive label 'frod' never comes; F1:pos_val=LABEL names it" in says.stderr
    rolling = ("--metric", "FBeta:beta=2,pos_val=frod", "--rolling", 50)
    says = done("race", "-", "PriorClassifier", "--target", "y", *rolling, stdin=rows)
    assert "comes; FBeta:beta=2,pos_val=LABEL names it" in says.stderr
    rows = rows.replace("fraud", "1").replace("ok", "0")
    says = done("race", "-", "PriorClassifier", "--target", "y", "--metric", "F1", stdin=rows)
    assert "never predicted 1 rightly" in says.stderr


@pytest.mark.parametrize("delay", [1, 2, 50, 1000])
def test_late_labels(delay: int, tmp_path: Path) -> None:
    """The scores are those of river's evaluation with delayed labels."""
    made: dict[str, Any] = {
        FAST: tree.HoeffdingTreeClassifier(),
        OURS: river_extra_trees.StreamDecisionTreeClassifier(batch_size=20, seed=1),
    }
    options = ("--limit", 300, "--delay", delay, "--csv", tmp_path / "o.csv")
    done("race", "Phishing", *made, *options, "--metric", "Accuracy", "--metric", "LogLoss")
    curves = curves_in(tmp_path / "o.csv")
    for name, model in made.items():
        metric = metrics.Accuracy() + metrics.LogLoss()
        evaluate.progressive_val_score(datasets.Phishing().take(300), model, metric, delay=delay)
        last = curves[name][-1]
        accuracy, loss = map(str, metric.get())
        assert last == {"items": "300", "Accuracy": accuracy, "LogLoss": loss}


def test_a_learner_of_another_package() -> None:
    """A dotted name is imported."""
    name = "tests.tools.growing"  # any module that is no part of the package
    result = done("race", "Phishing", "river.naive_bayes.GaussianNB", "--limit", 50)
    assert "river.naive_bayes.GaussianNB" in result.stdout
    assert_refused(run("race", "Phishing", f"{name}:x=1"), "no learner")


@pytest.mark.parametrize(
    ("column", "says"),
    [
        ([f"{i},5" for i in range(60)], "--kind a='decimal comma' reads numbers"),
        ([f"{i % 28 + 1},500" for i in range(60)], "a='number' or 'decimal comma' reads numbers"),
        ([f"${i}" for i in range(60)], "--kind a='number' reads numbers"),
        ([f"{i},50 €" for i in range(60)], "--kind a='decimal comma' reads numbers"),
        ([f"{i % 12 + 1}/{i % 28 + 1}/2026" for i in range(60)], "a='date %m/%d/%Y' reads dates"),
        (
            [f"{i % 12 + 1}/{i % 5 + 1}/2026" for i in range(60)],
            "a='date %m/%d/%Y' or 'date %d/%m/%Y' reads dates",
        ),
        ([f"{i % 28 + 1}-Mar-2026 0{i % 9 + 1}:15 PM" for i in range(60)], "%d-%b-%Y %I:%M %p"),
        ([f"2026/3/{i % 28 + 1}" for i in range(60)], "a='date %Y/%m/%d' reads dates"),
        ([f"{i % 24}:{i % 60:02d}" for i in range(60)], "a='date %H:%M' reads dates"),
        (list(range(1, 61)), "column 'a' counts the rows; --drop a leaves it out"),
        (list(range(2, 122, 2)), None),
        ([f"u{i}" for i in range(60)], "60 different texts in 60 rows"),
        ([f"{i % 30 + 1}%" for i in range(60)], "--kind a='percentage' reads numbers"),
        (["p", "q", "r"] * 20, None),
        ([f"u{i % 30}" for i in range(60)], None),
        ([str(i) for i in range(60)], "--kind a='number' reads numbers"),
        ([f"{i:03d}" for i in range(60)], "60 different texts in 60 rows"),
    ],
)
@pytest.mark.parametrize("task", [(), ("--task", "classification")])
def test_columns_that_look_wrong(
    column: list[Any], says: str | None, task: tuple[str, ...], tmp_path: Path
) -> None:
    """A note before the training says which columns these are, and what to do."""
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps({"a": v, "y": i % 2}) + "\n" for i, v in enumerate(column)))
    said = done("race", path, "NoChangeClassifier", "--target", "y", *task).stderr.splitlines()
    assert len(said) == 1 + (says is not None)
    assert says is None or says in said[0]
    declared = ("--kind", "a=nominal")
    said = done("race", path, "NoChangeClassifier", "--target", "y", *declared).stderr.splitlines()
    assert len(said) == 1


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (
            ["n.a." if i % 3 else str(i) for i in range(90)],
            "67% of its values are 'n.a.'; --missing",
        ),
        (
            ["#DIV/0!" if i % 3 else str(i) for i in range(90)],
            "--missing '#DIV/0!' reads the others",
        ),
        ([f"{i % 90 + 1}.{i * 7 % 1000:03d}" if i % 9 else str(i) for i in range(90)], "thousands"),
        ([f"{i}.{i:03d}" for i in range(90)], None),
        ([f"{i % 9 + 1}.{i % 10}" if i % 9 else str(i) for i in range(90)], None),
    ],
)
def test_numbers_that_look_wrong(cells: list[str], says: str | None, tmp_path: Path) -> None:
    """Words among the numbers of CSV, and points that may stand between thousands, are named."""
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "".join(f"{cell},{i % 2}\n" for i, cell in enumerate(cells)))
    said = done("race", path, "NoChangeClassifier", "--target", "y").stderr
    assert ("column 'a' " in said) == (says is not None)
    assert says is None or says in said


def test_zeros_in_front(tmp_path: Path) -> None:
    """Columns of CSV that have them are codes, perhaps, and a note says so."""
    path = tmp_path / "t.csv"
    path.write_text("zip,month,y\n" + "01234,01,007\n10115,12,7\n" * 30)
    said = done("race", path, "NoChangeClassifier", "--target", "y").stderr
    for name, text in (("zip", "01234"), ("y", "007")):
        assert f"column '{name}' has zeros in front, as in '{text}'" in said
    assert "'month' has" not in said
    kinds = ("--kind", "zip=nominal", "--kind", "y=nominal")
    said = done("race", path, "NoChangeClassifier", "--target", "y", *kinds).stderr
    assert "zeros" not in said


def test_a_target_that_looks_wrong() -> None:
    """So does a target."""
    rows = "a,y\n" + "".join(f"{i * i},{i / 2 if i else 'n.a.'}\n" for i in range(60))
    said = done("race", "-", "NoChangeClassifier", "--target", "y", stdin=rows).stderr
    assert "target 'y' is read as labels, because 2% of its values are 'n.a.'; --mis" in said
    rows = "a,y\n" + "".join(f'{i * i},"{i},5"\n' for i in range(60))
    said = done("race", "-", "NoChangeClassifier", "--target", "y", stdin=rows).stderr
    assert "note: target 'y' is read as labels, such as '0,5'; --kind y='decimal comma'" in said
    rows = "a,y\n" + "".join(f"{i * i},2026-{i % 12 + 1:02d}-01\n" for i in range(60))
    said = done("race", "-", "NoChangeClassifier", "--target", "y", stdin=rows).stderr
    assert "such as '2026-01-01'; --kind y='date' reads dates\n" in said
    rows = "a,y\n" + '1,"1,5"\n'
    command = ("race", "-", "StreamDecisionTree", "--target", "y", "--task", "regression")
    refused = run(*command, stdin=rows)
    assert_refused(refused, "is '1,5', not a number (--kind y='decimal comma', ")
    rows = "a,y\n" + "".join(f"{i * i},u{i}\n" for i in range(60))
    said = done("race", "-", "NoChangeClassifier", "--target", "y", stdin=rows).stderr
    assert "target 'y' has 60 different texts in 60 rows: is it the column to predict?" in said


@pytest.mark.parametrize("packed", ["", ".gz"])
def test_progress(packed: str, tmp_path: Path) -> None:
    """A log has a line at each save or after some samples, with the share of the file."""
    path = tmp_path / f"t.csv{packed}"
    text = "a,y\n" + "".join(f"{i * 7919 % 100003},{i % 2}\n" for i in range(100_000))
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    options = ("--target", "y", "--save", tmp_path / "m.model", "--every", 25_000)
    said = done("train", path, "StreamDecisionTree", *options).stderr
    lines = [line for line in said.splitlines() if line.startswith("progress: ")]
    found = [re.match(r"progress: ([\d,]+) samples \((\d+)%\), Accuracy", line) for line in lines]
    assert [each and each[1] for each in found] == ["25,000", "50,000", "75,000", "100,000"]
    shares = [int(each[2]) for each in found if each]
    assert shares == pytest.approx([25, 50, 75, 100], abs=12 if packed else 1)
    assert shares[-1] == 100
    small = gzip.compress(text[:9000].encode()) if packed else text[:9000].encode()
    path.with_name(f"s.csv{packed}").write_bytes(small)
    n = text[:9000].count("\n")  # with the header, and a half of a row
    options = ("--target", "y", "--on-bad-row", "skip", "--save", tmp_path / "m.model", "--every")
    said = done(
        "train", path.with_name(f"s.csv{packed}"), "StreamDecisionTree", *options, 300
    ).stderr
    found = [int(each) for each in re.findall(r"progress: \S+ samples \((\d+)%\)", said)]
    assert found == pytest.approx([100 * 300 * (i + 1) / n for i in range(n // 300)], abs=1)
    said = done("race", path, "NoChangeClassifier", "PriorClassifier", "--target", "y").stderr
    leads = re.findall(r"progress: ([\d,]+) samples \(\d+%\), (\w+) leads: Accuracy", said)
    assert [n for n, _ in leads] == [f"{n},000" for n in range(10, 101, 10)]
    stream = streams.open_stream(str(path), target="y")
    bar = Progress(stream.reader, stream.n_items)
    for batch in stream.batches:
        bar.advance_to(batch.numbers[-1])
    assert bar.bar.finished


def test_rolling_metrics(tmp_path: Path) -> None:
    """Rolling metrics score the last samples only, also in curves."""
    path = tmp_path / "o.csv"
    rows = "a,y\n" + "".join(f"{i},{int(i < 200)}\n" for i in range(250))
    usual = ("--target", "y", "--task", "classification", "--metric", "Accuracy", "--csv", path)
    for rolling, last in ((50, 0.98), (500, 248 / 249)):
        done("race", "-", "NoChangeClassifier", *usual, "--rolling", rolling, stdin=rows)
        (curve,) = curves_in(path).values()
        scores = {int(p["items"]): float(p[f"Accuracy, last {rolling}"]) for p in curve}
        assert scores[200] == 1.0
        assert scores[250] == pytest.approx(last)


def test_a_learner_that_fails(tmp_path: Path) -> None:
    """A learner that raises an error leaves the race; the exit status is then 1."""
    rows = "a,y\n" + "".join(f"n{i},{i % 2}\n" for i in range(50))
    names = ("GaussianNB", "NoChangeClassifier")
    result = run("race", "-", *names, "--target", "y", "--csv", tmp_path / "o.csv", stdin=rows)
    assert result.exit_code == 1, result.output
    assert "failed after" in result.stdout
    assert curves_in(tmp_path / "o.csv")["NoChangeClassifier"][-1]["items"] == "50"


def test_a_score_that_is_no_number_comes_last() -> None:
    """A linear model overflows where a tree does not."""
    command = ("race", "-", "LinearRegression", "StreamDecisionTree", "--target", "y")
    said = done(*command, "--metric", "MAE", stdin="a,y\n" + "1e200,1.5\n" * 5).stdout
    assert "nan" in said
    assert said.index("StreamDecisionTree") < said.index("LinearRegression")


@pytest.mark.parametrize(
    ("targets", "task"),
    [
        (["a", "b"], "classification"),
        ([1, 2, 1], "classification"),
        ([10**400, 10**400 + 1], "classification"),
        ([True, False], "classification"),
        (list(range(30)), "regression"),
        ([1, 2.5], "regression"),
    ],
)
def test_task_is_inferred(tmp_path: Path, targets: list[Any], task: str) -> None:
    """Names, booleans and few whole numbers give classification, other numbers regression."""
    path = tmp_path / "table.jsonl"
    path.write_text("\n".join(json.dumps({"a": 1, "y": y}) for y in targets))
    stream = streams.open_stream(str(path), target="y")
    assert stream.task == task
    assert [y for batch in stream.batches for y in batch.targets or ()] == targets


@pytest.mark.parametrize("name", streams.bundled_names())
def test_bundled_streams(name: str) -> None:
    """Every bundled data set can be read, and holds only values that all learners accept."""
    stream = streams.open_stream(name, limit=20)
    for batch in stream.batches:
        for x, y in zip(batch.rows(), batch.targets or (), strict=True):
            assert all(isinstance(value, bool | int | float | str) for value in x.values())
            assert isinstance(y, bool | int | float | str)
    assert stream.n_items == 20


def test_bad_rows_are_skipped_and_counted(tmp_path: Path) -> None:
    """Bad rows are counted in a note, or end the race with the results so far.

    An identifier can be dropped. A training saves the model as it was before the row.
    """
    text = "a,id,y\n1,p,x\n2,q,y\nbroken\n3,r,x\n"
    usual = ("--target", "y", "--drop", "id")
    result = done("race", "-", FAST, *usual, "--on-bad-row", "skip", stdin=text)
    assert result.stderr == (
        "note: columns: 1 number: 'a'\n"
        "note: rows skipped: 1; the first: row 3: 1 fields, but the header has 3\n"
    )
    path = tmp_path / "m.model"
    for command in (("race", "-", FAST), ("train", "-", OURS, "--save", path)):
        result = run(*command, *usual, stdin=text)
        assert_refused(result, "standard input, row 3", stdout="2 samples")
    assert learner_in(path).n_samples_seen == 2
    usual = ("--target", "y", "--task", "regression")
    result = run("race", "-", "HoeffdingTreeRegressor", *usual, stdin="a,y\n1,0.5\n2,high\n")
    assert_refused(result, "row 2", "'high', not a number", stdout="1 samples")


def test_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Curves go to CSV, and a picture is drawn; if one cannot be written, the other one is."""
    path, picture = tmp_path / "out.csv", tmp_path / "out.png"
    options = ("--limit", 90, "--csv", path, "--plot", picture)
    said = done("race", "Phishing", FAST, "NoChangeClassifier", *options).stdout
    assert f"wrote {path}" in said
    assert f"wrote {picture}" in said
    items = [point["items"] for point in curves_in(path)[FAST]]
    assert items == [str(i) for i in range(1, 91)]
    assert picture.read_bytes().startswith(b"\x89PNG")
    picture.unlink()
    error = OSError(28, "No space left on device")
    monkeypatch.setattr(report, "write_csv", mock.Mock(side_effect=error))
    result = run("race", "Phishing", FAST, *options)
    assert_refused(result, "cannot write", "No space left", stdout="90 of 90 samples")
    assert picture.exists()


def status_of(*arguments: object) -> str | int | None:
    """Run a command as the script does; return its exit status, or the error that it prints."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["river-extra-trees", *map(str, arguments)])
        with pytest.raises(SystemExit) as ending:
            main()
    return ending.value.code


def feed(pipe: int, parts: list[str]) -> None:
    """Write to a pipe part by part, and send Ctrl-C when all are read and the reader waits."""
    import fcntl
    import termios

    for part in parts:
        os.write(pipe, part.encode())
        while fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)) != bytes(4):
            time.sleep(0.01)
    time.sleep(0.2)  # until it waits again
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


@needs_signals
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "command", [("race", "-", FAST, "--csv"), ("train", "-", OURS, "--every", 1, "--save")]
)
def test_ctrl_c_while_waiting_for_input(
    command: tuple[object, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Ctrl-C during a wait for rows ends the command with the results so far and status 130."""
    path = tmp_path / "out"
    source, sink = os.pipe()
    # The first rows are read before the race begins, the last one within it.
    parts = ["a,y\n1,0\n2,1\n", "3,0\n"]
    feeder = threading.Thread(target=feed, args=(sink, parts), daemon=True)
    with open(source) as stdin, open(sink, "wb"):
        monkeypatch.setattr(sys, "stdin", stdin)
        feeder.start()
        options = (path, "--target", "y", "--task", "classification")
        assert status_of(*command, *options) == 130
        feeder.join()
    out, err = capsys.readouterr()
    *progress, last = err.splitlines()
    assert last == "note: columns: 1 number: 'a'"
    assert "3 samples" in out
    assert len(progress) == 3 * (command[0] == "train")  # a line per save
    if command[0] == "race":
        assert curves_in(path)[FAST][-1]["items"] == "3"
    else:
        assert learner_in(path).n_samples_seen == 3


@needs_signals
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_ended_between_items(ending: signal.Signals) -> None:
    """SIGINT or SIGTERM ends the race between two parts, which end where they are wanted."""
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    model = dummy.NoChangeClassifier()
    contest = race.Race([race.Entrant("x", model, {"Accuracy": metrics.Accuracy()})])
    contest.spacing = 100
    batches = (Batch(list(range(10)), pa.table({"a": [1.0] * 10}), [1] * 10) for _ in range(10))
    with race.Interruptible() as interruptible:
        parts = []
        for items in contest.run(interruptible.batches(batches), stop_every=7):
            parts.append(items)
            if items == 40:
                signal.raise_signal(ending)
    assert parts == [7, 10, 14, 20, 21, 28, 30, 35, 40]
    assert interruptible.interrupted
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


@pytest.mark.parametrize("package", ["typer", "pyarrow"])
def test_missing_extra(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a package is missing, an error of one line says what to install."""
    monkeypatch.setitem(sys.modules, package, None)
    wanted = f"error: the command line needs more packages: pip install {package}"
    assert status_of("--version") == wanted


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is full")
def test_a_full_standard_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command fails, but has saved the model."""
    path = tmp_path / "m.model"
    command = ("train", "Phishing", OURS, "--limit", 50, "--save", path)
    with contextlib.suppress(OSError), open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert status_of(*command) == "error: No space left on device"
    assert path.exists()
