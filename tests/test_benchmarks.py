"""The benchmark scripts run, on streams that need no download."""

import argparse
import csv
import ctypes
import doctest
import importlib
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from river import dummy

pytest.importorskip("resource", reason="benchmarks measure CPU time by what Windows lacks")

import river_extra_trees as ret
from examples.benchmarks.common import prequential, streams, tables
from examples.benchmarks.costs import instructions as counts
from examples.benchmarks.costs import soak
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


def test_peers_go_on_after_a_stream_that_is_not_there(tmp_path: Path) -> None:
    """A stream that cannot be downloaded is named."""
    options = ["--streams", "no-such-stream", "Phishing", "--results", tmp_path / "peers.csv"]
    result = run("peers", "run", "no change", *options, "--limit", 50)
    assert (result.returncode, result.stdout.count("\n")) == (0, 1)
    assert "note: no-such-stream is left out: " in result.stderr


@pytest.mark.parametrize("options", [[], ["--whole"], ["--delay", "100"]])
def test_recorded_peers(tmp_path: Path, options: list[str]) -> None:
    """The results that come with the package make the tables, and the picture."""
    shown = succeed("peers", "show", *options)
    assert len(tables.read(shown)) == 3
    assert "| ExtraTreesClassifier " in shown
    succeed("peers", "draw", *options, tmp_path / "peers.png")
    assert (tmp_path / "peers.png").stat().st_size


def test_late_labels_are_learned_late() -> None:
    """The last label that is known is three samples old; answers before any are not scored."""
    rows: streams.Rows = [({}, i // 4 % 2) for i in range(400)]
    model = dummy.NoChangeClassifier()
    *_, late = prequential.checkpoints(model, rows, "classification", delay=2)
    assert late.samples == 400
    assert late.scores["accuracy"] == pytest.approx(100 / 398, abs=0.01)


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
        if model._n == 8:  # before the first training
            assert model.predict_proba_one(x) == {0: 0.5, 1: 0.5}
    assert model.predict_proba_one({"name": "b", "number": 3})[1] > 0.9
    regressor = WindowLightGBM(rows, "regression")
    for x, y in rows:
        regressor.learn_one(x, y)
    assert regressor.predict_one({"name": "b", "number": 3}) > 0.8


def test_rare_classes() -> None:
    """The default forest beside others, on a stream of river."""
    options = ["--streams", "hyperplane", "--samples", 1_500, "--ways", "default", "HoeffdingTree"]
    [lines] = tables.read(succeed("studies.rare_classes", *options))
    ways = [line[1] for line in lines[1:]]
    assert ways == ["default", "HoeffdingTree", "default", "HoeffdingTree"]  # and the means


def test_drift() -> None:
    """The accuracy falls at a drift, and recovers."""
    options = ["--streams", "sine", "--learners", "ExtraTreesClassifier"]
    *_, before, after, later = succeed("studies.drift", *options).split("|")[:-1]
    assert float(after) < float(later) <= 1.0
    assert float(after) < float(before) <= 1.0


def test_intervals() -> None:
    """Half of the targets are in a 50 % interval, and nine in ten in one of 90 %, more or less."""
    options = ["--streams", "planes_drift", "--limit", 200]
    [[_, *lines]] = tables.read(succeed("studies.intervals", *options))
    assert [line[:2] for line in lines] == [
        ["planes_drift", "ExtraTreesRegressor"],
        ["planes_drift", "DynamicTreeRegressor"],
    ]
    for _, _, half, _, nine, _, width in lines:
        assert 0.3 < float(half) < float(nine)
        assert 0.75 < float(nine) <= 1.0
        assert float(width) > 0.0


@pytest.mark.parametrize(
    ("task", "stream"), [("classification", "Phishing"), ("regression", "TrumpApproval")]
)
def test_ablation(task: str, stream: str) -> None:
    """A line for each variant."""
    shown = succeed("studies.ablation", "--task", task, "--streams", stream, "--limit", 120)
    assert "| one window of 2,000 " in shown


@pytest.mark.parametrize(
    ("task", "stream", "behind"),
    [("classification", "Phishing", "none"), ("regression", "TrumpApproval", "TrumpApproval 0.")],
)
def test_no_change(task: str, stream: str, behind: str) -> None:
    """A line for each stream, and one that names those where the last target is better."""
    shown = succeed("studies.no_change", "--task", task, "--streams", stream, "--limit", 65)
    assert f"| {stream} " in shown
    assert f"behind no change by more than 0.001: {behind}" in shown


def test_first_samples() -> None:
    """A line for each learner, of all streams."""
    [found] = tables.read(succeed("studies.first_samples", "--streams", "Phishing", "--limit", 60))
    assert len(found) == 1 + 8
    assert all(0.0 < float(mean) < 1.0 for _, mean in found[1:])


def test_many_values() -> None:
    """A line for each case, with the scores of all trees."""
    options = ["--rows", 150, "--cases", "noise", "value and numbers"]
    assert len(tables.read(succeed("studies.many_values", *options))[0]) == 1 + 3


@pytest.mark.parametrize(
    ("table", "n_lines"),
    [
        *[("values", 2), ("history", 8), ("batches", 7), ("passing", 8), ("labels", 8)],
        *[("useless", 13), ("columns", 2)],
    ],
)
def test_categories(table: str, n_lines: int) -> None:
    """A line for each learner or stream; shares are shares."""
    [found] = tables.read(succeed("studies.categories", table, "--samples", 60))
    assert len(found) == 1 + n_lines
    assert all(float(cell) <= 1.0 for line in found for cell in line if cell[:2] in ("0.", "1."))


TREE = "StreamDecisionTreeClassifier"
COSTS: dict[str, tuple[list[object], str]] = {
    "tails": (["--streams", "Phishing", "--samples", 100, TREE], f"| {TREE} | 100 "),
    "longest": (["--samples", 50, TREE], f"| {TREE} | words "),
    "explanations": (
        ["--classification", "Phishing", "--samples", 100, "--learners", TREE],
        f"| Phishing | {TREE} | ",
    ),
    "frames": (["--rows", 1000, "--repeats", 1, TREE], f"| {TREE} "),
    "threads": (["--streams", "Phishing", "--samples", 200, "--repeats", 1], "| Phishing | 100 "),
    "wide": (["--names", 50, TREE], f"| {TREE} "),
    "instructions": (
        ["--streams", "Phishing", "--samples", 240, "--ways", "late", "--", TREE],
        f"| {TREE} | Phishing | late |",
    ),
    "ratios": (
        ["--streams", "Phishing", "--samples", 100, "--repeats", 1, "--against", ROOT],
        "| Phishing | ratio  | ",
    ),
    "parts": (
        ["--streams", "Phishing", "--samples", 40, "--against", ROOT],
        "| Phishing | members | ",
    ),
    "keyed": (["--samples", 500, "--keys", 9, "--repeats", 1], f"| {TREE} "),
    "serve": (["--seconds", 0.2, "--clients", 1, "--learners", TREE], "| /predict-learn | 100 "),
}


@pytest.mark.parametrize("name", COSTS)
def test_costs(name: str) -> None:
    """Every measurement prints a table; `test_soak` tests the one that is left."""
    if name in ("instructions", "parts") and shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    options, expected = COSTS[name]
    assert expected in succeed("costs", name, *options)


@pytest.mark.parametrize(("before", "fails"), [(94e3, True), (96e3, False)])
def test_more_instructions_fail(
    before: float, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From 5 % more than in the other tree on."""
    monkeypatch.setattr(
        counts, "instructions", lambda tree, *_: 100e3 if tree == counts.HERE else before
    )
    options = argparse.Namespace(against=BENCHMARKS, learners=[TREE], ways=["loop"])
    assert counts.check_guarded(options) == fails


def test_list_of_papers() -> None:
    """Every table and figure has a name of its own, which the published figures refer to."""
    names = [line.split("|")[1].strip() for line in succeed("papers", "list").splitlines()[2:-1]]
    assert len(names) == len(set(names)) > 15
    with (BENCHMARKS / "papers" / "published.csv").open() as lines:
        assert {figure["experiment"] for figure in csv.DictReader(lines)} <= set(names)


@pytest.mark.parametrize("name", ["dynamic-figure-4a", "dynamic-table-2"])
def test_paper_quickly(name: str) -> None:
    """An experiment whose data are made runs anywhere; published figures stand beside ours."""
    assert "| 0.9 " in succeed("papers", name, "--quick")


def test_papers_side_by_side() -> None:
    """A table has the figures of the paper and of the published program beside ours."""
    compared = importlib.import_module("examples.benchmarks.papers.__main__").compared
    found = compared("shrubs-speed", [["", "ms per sample", "samples"], ["elec", "0.02", "5000"]])
    assert found == [
        ["", "ms per sample: program", "ms per sample: ours", "samples"],
        ["elec", "0.236", "0.02", "5000"],
    ]


def test_examples_of_the_helpers() -> None:
    """What the docstrings of the helpers show is so."""
    for name in (
        "common.prequential",
        "common.raw_tables",
        "common.scores",
        "common.tables",
        "costs.timing",
        "peers.ranking",
    ):
        module = importlib.import_module(f"examples.benchmarks.{name}")
        failed, attempted = doctest.testmod(module)
        assert attempted
        assert not failed


def test_soak() -> None:
    """Two thousand samples; what is to be said of memory and latency needs millions.

    In a process of its own: the garbage of the whole suite is not to be collected 200 times.
    """
    program = "from examples.benchmarks.costs.soak import soak; print(soak(*{}))"
    command = [sys.executable, "-c", program.format(("ShrubEnsembleRegressor", 2000))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert "'insane': 0" in done.stdout, done.stderr


def test_soak_tells_a_leak() -> None:
    """Memory that nobody frees or counts, and objects of Python."""
    model = ret.ShrubEnsembleRegressor(seed=1)
    before = soak.memory_of(model)
    leaked = ctypes.CDLL(None).malloc(2_000_000)
    objects = [float(i) for i in range(5_000)]
    allocated, uncounted, n_objects, _ = np.subtract(soak.memory_of(model), before)
    assert leaked
    # Other objects may be freed meanwhile.
    assert allocated >= uncounted >= 1_000_000
    assert n_objects >= len(objects) / 2


@pytest.mark.parametrize(
    ("arguments", "is_uniform", "expected"),
    [
        (["linear"], True, 0),
        (["linear", "--wrong"], True, 4),
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
        runpy.run_module("examples.benchmarks.studies.calibration", run_name="__main__")
    assert ended.value.code == expected
