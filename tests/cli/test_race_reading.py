"""Races on tables of every format: what is read, skipped, scored and interrupted."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from river import dummy, metrics

import river_extra_trees
from river_extra_trees.cli import race, streams
from river_extra_trees.streams import Batch
from tests.tools.command_line import FAST, OURS, assert_refused, run, scores_of


@pytest.fixture
def frame() -> pd.DataFrame:
    """Numbers with gaps, names, moments and a label."""
    rng = np.random.default_rng(1)
    number = rng.normal(size=400)
    return pd.DataFrame(
        {
            "number": np.where(rng.random(400) < 0.1, np.nan, number),
            "name": rng.choice(["red", "blue"], 400),
            "when": pd.date_range("2026-01-01", periods=400, freq="h"),
            "label": np.where(number > 0, "yes", "no"),
        }
    )


def results_of(folder: Path, *arguments: object, stdin: str | None = None) -> Any:
    """The scores of a race by learner."""
    path = folder / "results.json"
    result = run(*arguments, "--json", path, stdin=stdin)
    assert result.exit_code == 0, result.output
    return scores_of(path)


@pytest.mark.slow
def test_every_format_gives_the_same_race(tmp_path: Path, frame: pd.DataFrame) -> None:
    """Dates included, and so does standard input."""
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_feather(tmp_path / "t.feather")
    frame.to_csv(tmp_path / "t.csv.bz2", index=False)
    frame.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True, date_format="iso")
    usual = ("--target", "label", OURS, FAST, "--metric", "Accuracy", "--metric", "F1:pos_val=yes")
    found = [
        results_of(tmp_path, tmp_path / f"t{suffix}", *usual)
        for suffix in (".parquet", ".feather", ".csv.bz2", ".tsv", ".jsonl")
    ]
    found += [
        results_of(tmp_path, "-", *usual, stdin=text)
        for text in (frame.to_csv(index=False, sep=";"), (tmp_path / "t.jsonl").read_text())
    ]
    assert all(each == found[0] for each in found)


def test_bad_rows_are_skipped_and_counted(tmp_path: Path) -> None:
    """The race goes on; a note says how many there were."""
    path = tmp_path / "o.json"
    text = "a,y\n1,x\n2,y\nbroken\n3,x\n"
    usual = ("-", FAST, "--target", "y", "--json", path)
    result = run(*usual, "--on-bad-row", "skip", stdin=text)
    assert result.exit_code == 0, result.output
    assert result.stderr == (
        "note: columns: 1 number: 'a'\n"
        "note: rows skipped: 1; the first: row 3: 1 fields, but the header has 2\n"
    )
    document = json.loads(path.read_text())
    assert (document["items"], document["skipped_rows"], document["error"]) == (3, 1, None)
    assert_refused(run(*usual, stdin=text), "row 3", stdout="2 samples")
    document = json.loads(path.read_text())
    assert document["items"] == 2
    assert "row 3" in document["error"]
    assert_refused(run(*usual, "--on-bad-row", "ask", stdin=text), "must be stop or skip")


def test_columns_are_dropped(tmp_path: Path, frame: pd.DataFrame) -> None:
    """An identifier, for example."""
    frame.to_csv(tmp_path / "t.csv", index=False)
    stream = streams.open_stream(str(tmp_path / "t.csv"), target="label", drop=["when", "name"])
    assert set(next(stream.rows)[0]) <= {"number"}
    refused = run(tmp_path / "t.csv", FAST, "--target", "label", "--drop", "id")
    assert_refused(refused, "no column 'id'")


def test_rolling_metrics(tmp_path: Path) -> None:
    """They count the last items only, in curves, too."""
    path = tmp_path / "o.json"
    for rolling in (50, 500):
        rows = [f"{i},{int(i < 200)}\n" for i in range(250)]
        result = run(
            *("-", "NoChangeClassifier", "--target", "y", "--task", "classification"),
            *("--rolling", rolling, "--metric", "Accuracy", "--json", path),
            stdin="a,y\n" + "".join(rows),
        )
        assert result.exit_code == 0, result.output
        curve = json.loads(path.read_text())["learners"][0]["curve"]
        scores = {point["items"]: point["scores"][f"Accuracy, last {rolling}"] for point in curve}
        assert scores[200] == 1.0
        assert scores[250] == pytest.approx(0.98 if rolling == 50 else 248 / 249)


def test_learners_that_read_columns_score_as_one_by_one(frame: pd.DataFrame) -> None:
    """Whatever the metric, a learner of this package has the same curve in batches of any size."""
    rows = [
        {name: value for name, value in row.items() if value == value and name != "label"}
        for row in frame.drop(columns="when").to_dict("records")
    ]
    targets = frame["label"].tolist()
    columns = pa.Table.from_pandas(frame[["number", "name"]], preserve_index=False)
    curves = []
    for size in (1, 400):
        scored = {"Accuracy": metrics.Accuracy(), "LogLoss": metrics.CrossEntropy()}
        entrants = [
            race.enter(name, river_extra_trees.StreamDecisionTreeClassifier(seed=1), {name: metric})
            for name, metric in scored.items()
        ]
        contest = race.Race(entrants, "classification")
        contest.spacing = 40
        batches = (
            Batch(
                range(start, start + size),
                columns.slice(start, size),
                targets[start : start + size],
            )
            for start in range(0, len(rows), size)
        )
        for _ in contest.run(batches):
            pass
        curves.append([[(p.items, p.scores) for p in entrant.curve] for entrant in entrants])
    assert curves[0] == curves[1]


def test_a_learner_that_fails_names_the_item() -> None:
    """In a batch, too: all before it are learned."""
    batch = Batch(range(1, 101), pa.table({"a": np.arange(100.0)}), [*range(90), *(["x"] * 10)])
    model = river_extra_trees.ShrubEnsembleRegressor(seed=1)
    entrant = race.enter("x", model, {"MAE": metrics.MAE()})
    contest = race.Race([entrant], "regression")
    contest.spacing = 1000
    for _ in contest.run([batch]):
        pass
    assert entrant.error is not None
    assert "failed at sample 91" in entrant.error
    assert (entrant.items, model.n_samples_seen) == (90, 90)


def test_progress_in_bytes(tmp_path: Path) -> None:
    """Where the number of rows is not known, the share of the file is."""
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "1,0\n2,1\n" * 200_000)
    stream = streams.open_stream(str(path), target="y", task="classification")
    next(stream.batches)
    assert 0 < stream.share_read < 0.5  # type: ignore[operator]
    assert sum(map(len, stream.batches)) > 390_000
    assert stream.share_read == 1


def test_outputs_are_written_each_by_itself(tmp_path: Path, monkeypatch: Any) -> None:
    """A full disk for one does not take the others with it."""

    def fail(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("river_extra_trees.cli.report.write_csv", fail)
    paths = tmp_path / "o.csv", tmp_path / "o.json"
    result = run("Phishing", FAST, "--limit", 40, "--csv", paths[0], "--json", paths[1])
    assert_refused(result, "cannot write", "No space left", stdout="40 of 40 samples")
    assert json.loads(paths[1].read_text())["items"] == 40


def test_interrupted_handlers_are_restored() -> None:
    """Both of them."""
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with race.Interruptible() as interruptible:
        assert signal.getsignal(signal.SIGTERM) == interruptible.handle
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_no_change_model_reads_rows() -> None:
    """Models of others are shown rows without missing values."""
    entrant = race.enter("x", dummy.NoChangeClassifier(), {"Accuracy": metrics.Accuracy()})
    contest = race.Race([entrant], "classification")
    assert list(contest.run([Batch([1, 2], pa.table({"a": [1.0, np.nan]}), [1, 1])])) == [1, 2]
