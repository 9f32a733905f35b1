"""Races on tables of every format: what is read, skipped, scored, interrupted and resumed."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
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
                {
                    "number": frame["number"].to_numpy()[start : start + size],
                    "name": frame["name"].tolist()[start : start + size],
                },
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
    batch = Batch(range(1, 101), {"a": np.arange(100.0)}, [*range(90), *(["x"] * 10)])
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
    path.write_text("a,y\n" + "1,0\n2,1\n" * 50_000)
    stream = streams.open_stream(str(path), target="y", task="classification")
    next(stream.batches)
    assert 0 < stream.share_read < 0.5  # type: ignore[operator]
    assert sum(map(len, stream.batches)) > 90_000
    assert stream.share_read == 1


LOG = ["a,y", *(f"{i},{i % 2}" for i in range(90))]


def log(*parts: slice) -> str:
    """Parts of a log, each with the header."""
    return "".join("\n".join([LOG[0], *LOG[1:][part], ""]) for part in parts)


def test_a_log_that_is_rotated_and_resumed(tmp_path: Path) -> None:
    """A killed race goes on where it was, though only the latest file is there."""
    kept, path = tmp_path / "kept", tmp_path / "o.json"
    usual = ("-", OURS, FAST, "--target", "y", "--task", "classification")
    assert run(*usual, "--json", path, stdin=log(slice(90))).exit_code == 0
    whole = scores_of(path)
    usual = (*usual, "--checkpoint", kept, "--resume", "--json", path)
    broken = log(slice(40)) + "broken\n" + log(slice(40, 60))
    assert run(*usual, "--on-bad-row", "skip", stdin=broken).exit_code == 0
    # Only the second file is left, and has grown.
    assert run(*usual, stdin=log(slice(40, 70))).exit_code == 0
    # It was rotated once more in between: all rows are new.
    refused = run(*usual, stdin=log(slice(70, 90)))
    assert_refused(refused, "the first row of standard input", "add --unseen")
    refused = run(*usual, stdin=log(slice(40, 60)))
    assert_refused(refused, "fewer rows than")
    refused = run(*usual, stdin=log(slice(40, 65), slice(70, 80)).replace("\na,y", ""))
    assert_refused(refused, "the first 30 rows", "add --unseen")
    assert run(*usual, "--unseen", stdin=log(slice(70, 90))).exit_code == 0
    assert scores_of(path) == whole
    # All files one after the other are the same stream.
    everything = log(slice(40), slice(40, 70), slice(70, 90))
    assert run(*usual, stdin=everything).exit_code == 0
    assert scores_of(path) == whole


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


def test_a_checksum_does_not_depend_on_batches() -> None:
    """Nor on columns that are missing in some of them."""
    whole, parts = race.Checksum(), race.Checksum()
    columns: dict[str, Any] = {"a": np.array([np.nan, 1.0, 2.0]), "b": [None, "x", None]}
    batch = Batch([1, 2, 3], columns, ["x", "y", "x"])
    whole.add(batch)
    parts.add(Batch([1], {}, ["x"]))
    parts.add(batch[1:2])
    parts.add(Batch([3], {"a": columns["a"][2:]}, ["x"]))
    assert whole == parts
    parts.add(batch[:1])
    assert whole != parts
    assert whole != race.Checksum()


def test_no_change_model_reads_rows() -> None:
    """Models of others are shown rows without missing values."""
    entrant = race.enter("x", dummy.NoChangeClassifier(), {"Accuracy": metrics.Accuracy()})
    contest = race.Race([entrant], "classification")
    assert list(contest.run([Batch([1, 2], {"a": np.array([1.0, np.nan])}, [1, 1])])) == [1, 2]
