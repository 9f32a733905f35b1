"""The benchmark scripts run, on streams that need no download."""

from __future__ import annotations

import csv
import doctest
import importlib
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("resource", reason="benchmarks measure CPU time by what Windows lacks")

import river_extra_trees as ret
from examples.benchmarks.common import prequential, tables
from examples.benchmarks.peers import capymoa_process
from examples.benchmarks.peers.boosting import WindowLightGBM
from tests.naive import dynamic_calibration
from tests.tools.scripts import Done, done

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "examples" / "benchmarks"

pytestmark = pytest.mark.slow


def run(module: str, *arguments: object) -> Done:
    """Run a script as `python -m` does."""
    name = f"examples.benchmarks.{module}"
    sys.modules.pop(name, None)  # an earlier test may have it
    return done(lambda: runpy.run_module(name, run_name="__main__", alter_sys=True), *arguments)


def succeed(module: str, *arguments: object) -> str:
    result = run(module, *arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize(
    ("task", "stream", "learner"),
    [
        ("classification", "Phishing", "no change"),
        ("regression", "mv", "running mean"),
    ],
)
def test_peers(tmp_path: Path, task: str, stream: str, learner: str) -> None:
    """What was measured is kept, is not measured again, and makes a table."""
    file = tmp_path / "peers.csv"
    options = ["--task", task, "--streams", stream, "--results", file]
    limit = ["--limit", 300]
    ours = "StreamDecisionTreeClassifier" if task == "classification" else "ShrubEnsembleRegressor"
    assert succeed("peers", "run", learner, ours, *options, *limit).count("\n") == 2
    assert succeed("peers", "run", learner, *options, *limit) == ""
    with file.open() as lines:
        results = list(csv.DictReader(lines))
    assert sorted(result["learner"] for result in results) == sorted([learner, ours])
    assert {result["rows"] for result in results} == {"300"}
    shown = succeed("peers", "show", *options)
    assert f"| {learner} " in shown
    assert f"| {ours} " in shown


def test_stored_peers(tmp_path: Path) -> None:
    """The results that come with the package make a page with pictures."""
    succeed("peers", "report", "--folder", tmp_path)
    page = (tmp_path / "peers.md").read_text()
    pictures = {path.name for path in tmp_path.glob("*.png")}
    assert len(pictures) == 5
    assert all(f"({name})" in page for name in pictures)


def test_boosting_on_a_window() -> None:
    """LightGBM learns names and numbers, and knows no label that came after its training."""
    pytest.importorskip("lightgbm")
    rows = [
        ({"name": "ab"[i % 2], "number": None if i % 9 == 0 else i % 7}, i % 2 if i < 510 else 2)
        for i in range(520)
    ]
    run = prequential.run(WindowLightGBM(rows, "classification"), rows, "classification")
    assert not run.error
    assert run.scores["accuracy"] < 0.75
    model = WindowLightGBM(rows, "classification")
    for x, y in rows:
        model.learn_one(x, y)
    assert model.predict_proba_one({"name": "b", "number": 3})[1] > 0.9
    regressor = WindowLightGBM(rows, "regression")
    for x, y in rows:
        regressor.learn_one(x, y)
    assert regressor.predict_one({"name": "b", "number": 3}) > 0.8


def test_process_of_capymoa(tmp_path: Path) -> None:
    """Answers come in parts, with the scores so far, until the process says that it is done."""
    python = tmp_path / "python"
    first = {"samples": 1, "answers": [[0.75, 0.25]], "seconds": 1.0, "memory": 8, "error": ""}
    second = {**first, "samples": 2, "answers": [None], "ended": True}
    lines = [json.dumps({**first, "ended": False}), "a line of a library", json.dumps(second)]
    python.write_text("#!/bin/sh\nread job\ncat <<END\n" + "\n".join(lines) + "\nEND\n")
    python.chmod(0o755)
    rows = [({"x": 1.0}, "no"), ({"x": 2.0}, "yes")]
    options = "ARF", rows, "classification", 9.0, str(python)
    runs = list(capymoa_process.checkpoints(*options))
    assert [run.scores["accuracy"] for run in runs] == [1.0, 0.5]
    assert [(run.samples, run.memory) for run in runs] == [(1, 8), (2, 8)]


def test_drift(tmp_path: Path) -> None:
    """The accuracy falls at a drift, and recovers."""
    options = ["--results", tmp_path / "drift.csv", "--streams", "sine"]
    options += ["--learners", "ExtraTreesClassifier"]
    succeed("peers.drift", "run", *options)
    assert succeed("peers.drift", "run", *options) == ""
    *_, before, after, later = succeed("peers.drift", "show", *options).split("|")[:-1]
    assert float(after) < float(later) <= 1.0
    assert float(after) < float(before) <= 1.0


def test_intervals(tmp_path: Path) -> None:
    """Nine targets in ten, more or less, are in an interval."""
    options = ["--results", tmp_path / "intervals.csv", "--streams", "planes_drift"]
    printed = succeed("peers.intervals", "run", *options, "--limit", 200).split()
    assert 0.75 < float(printed[3]) <= 1.0
    assert "| planes_drift " in succeed("peers.intervals", "show", *options)


@pytest.mark.parametrize(
    ("task", "stream"), [("classification", "Phishing"), ("regression", "TrumpApproval")]
)
def test_ablation(tmp_path: Path, task: str, stream: str) -> None:
    """A line for each variant."""
    options = ["--task", task, "--results", tmp_path / "ablation.csv"]
    succeed("stream.ablation", *options, "--streams", stream, "--limit", 120)
    assert "| one window of 2,000 " in succeed("stream.ablation", "show", *options)


def test_many_values() -> None:
    """A line for each case, with the scores of all trees."""
    found = succeed("stream.many_values", "--rows", 150, "--cases", "noise", "value and numbers")
    assert len(tables.read(found)[0]) == 1 + 7


def test_tails() -> None:
    """A line for each learner."""
    options = ["--streams", "Phishing", "--samples", 100, "ExtraTreesClassifier"]
    assert "| ExtraTreesClassifier | 100 " in succeed("costs.tails", *options)


def test_speed() -> None:
    """Two learners are compared side by side; both take longer than the clock needs to tick."""
    printed = succeed(
        *("costs.speed", "ForgetfulRandomForestClassifier", "HoeffdingTreeClassifier"),
        *("--streams", "Phishing", "--samples", 1000, "--repeats", 2),
    )
    assert "ForgetfulRandomForestClassifier" in printed


def test_serve() -> None:
    """The service is asked for a moment; every kind of request has its line."""
    learner = "StreamDecisionTreeClassifier"
    done = succeed("costs.serve", "--seconds", 0.2, "--clients", 1, "--learners", learner)
    assert (
        len(re.findall(r"^\| /(predict|learn|predict-learn) +\| (1|100) +\| 1 ", done, re.M)) == 6
    )


def test_conversion() -> None:
    """A line for each number of features."""
    assert "| 128 " in succeed("costs.conversion", "--calls", 10, "--repeats", 1)
    said = succeed("costs.columns", "--rows", 50, "--repeats", 1, "--random-targets",
                   "StreamDecisionTreeRegressor")  # fmt: skip
    assert said.count("| StreamDecisionTreeRegressor |") == 3
    assert said.count("| predict_learn_many of StreamDecisionTreeRegressor |") == 1


def test_stream_that_is_not_there() -> None:
    """A stream that cannot be had is named, with what to do."""
    done = run("costs.speed", "--streams", "no_such_stream")
    assert done.returncode == 1
    assert "RIVER_EXTRA_TREES_DATA" in done.stderr
    assert done.stderr.count("\n") == 1


def test_list_of_papers() -> None:
    """Every table and figure has a name of its own, which the published figures refer to."""
    names = [line.split("|")[1].strip() for line in succeed("papers", "list").splitlines()[2:-1]]
    assert len(names) == len(set(names)) > 15
    with (BENCHMARKS / "papers" / "published.csv").open() as lines:
        assert {figure["experiment"] for figure in csv.DictReader(lines)} <= set(names)


@pytest.mark.parametrize("name", ["dynamic-figure-4a", "dynamic-table-2"])
def test_paper_quickly(name: str) -> None:
    """An experiment whose data are made runs anywhere."""
    assert "| 0.9 " in succeed("papers", name, "--quick")


def test_paper_without_its_data(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """An experiment whose data are not there says so."""
    monkeypatch.delenv("RIVER_EXTRA_TREES_DATA", raising=False)
    done = run("papers", "forgetful-figures-3-6", "--quick")
    assert done.returncode == 1
    assert "RIVER_EXTRA_TREES_DATA" in capfd.readouterr().err


def test_papers_side_by_side(tmp_path: Path) -> None:
    """The page shows what was found beside what was published."""
    found = tmp_path / "papers.csv"
    found.write_text(
        "experiment,row,measure,value\n"
        "shrubs-speed,elec,ms per sample,0.02\n"
        "shrubs-speed,elec,samples,5000\n"
    )
    page = tmp_path / "papers.md"
    succeed("papers", "report", "--results", found, "--page", page)
    lines = [line.replace(" ", "") for line in page.read_text().splitlines()]
    assert "||mspersample:program|mspersample:ours|samples|" in lines
    assert "|elec|0.236|0.02|5000|" in lines


def test_examples_of_the_helpers() -> None:
    """What the docstrings of the helpers show is so."""
    for name in (
        "common.prequential",
        "common.raw_tables",
        "common.scores",
        "common.tables",
        "peers.ranking",
    ):
        module = importlib.import_module(f"examples.benchmarks.{name}")
        failed, attempted = doctest.testmod(module)
        assert attempted
        assert not failed


@pytest.mark.parametrize("command", ["speed", "growth", "memory"])
def test_cost_of_dynamic_trees(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line for each case, also with few particles and steps."""
    kind = ret.DynamicTreeRegressor  # `growth` has its own numbers of particles: up to 10,000

    def few(n: int, *given: Any, **named: Any) -> Any:
        return kind(min(n, 10), *given, **named)

    monkeypatch.setattr(ret, "DynamicTreeRegressor", few)
    options = ("--particles", 2, "--warm", 0, "--steps", 4)
    assert "linear" in succeed("dynamic.cost", *options, command)


@pytest.mark.parametrize(
    ("command", "stream"),
    [("classification", "fraud"), ("regression", "friedman"), ("leaves", "fraud")],
)
def test_other_predictions_of_dynamic_trees(command: str, stream: str) -> None:
    """A line for each way to predict, from what the core tells of its trees."""
    options = ("--particles", 3, "--n", 120)
    assert stream in succeed("dynamic.extras", command, stream, *options)


def test_soak_of_dynamic_trees() -> None:
    """Twenty lines along the stream."""
    assert len(succeed("dynamic.cost", "soak", "--samples", 40).splitlines()) == 21


def test_soak() -> None:
    """Two thousand samples; what is to be said of memory and latency needs millions.

    In a process of its own: the garbage of the whole suite is not to be collected 200 times.
    """
    program = "from examples.benchmarks.costs.soak import soak; print(soak(*{}))"
    command = [sys.executable, "-c", program.format(("ShrubEnsembleRegressor", 2000))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert "'insane': 0" in done.stdout, done.stderr


def test_sane_answers() -> None:
    """A classifier may know no label before its first sample, and has to know some ever after."""
    is_sane = runpy.run_module("examples.benchmarks.costs.soak")["is_sane"]
    assert is_sane({}, True, 0)
    assert is_sane({"a": 0.25, "b": 0.75}, True, 9)
    assert is_sane(0.5, False, 9)
    for answer in ({}, {"a": 0.5}, {"a": float("nan")}):
        assert not is_sane(answer, True, 9)
    assert not is_sane(float("nan"), False, 9)


@pytest.mark.parametrize(
    ("arguments", "is_uniform", "expected"),
    [
        (["linear"], True, 0),
        (["linear", "constant"], False, 2),
        (["linear", "--wrong"], True, 4),
        (["linear", "--wrong"], False, 0),
    ],
)
def test_verdict_of_calibration(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], is_uniform: bool, expected: int
) -> None:
    """The exit code counts ranks that are not uniform; of wrong models, those that are."""
    rows = [[i % 10 if is_uniform else 0] * 4 for i in range(200)]
    monkeypatch.setattr(dynamic_calibration, "ranks", lambda *_: iter(rows))
    monkeypatch.setattr(sys, "argv", ["calibration.py", *arguments])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("examples.benchmarks.dynamic.calibration", run_name="__main__")
    assert ended.value.code == expected
