"""The figures on the pages are those that the code produces; pictures are in `test_examples`.

If a test fails because the learners have changed, measure again, by the command on the page. What
takes minutes or needs a download is compared in part: the streams that are generated or bundled.
"""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("resource", reason="benchmarks measure CPU time by what Windows lacks")

from examples.benchmarks.common import results, streams, tables
from examples.benchmarks.peers import contenders
from examples.benchmarks.peers.__main__ import SCORES, load
from examples.benchmarks.peers.standings import Standings
from examples.benchmarks.studies import drift
from tests.tools.pages import ROOT, blocks

PEERS = ROOT / "docs" / "results" / "peers.md"
RECORDED = results.read(results.RECORDED / "peers.csv")
TASKS: tuple[Any, ...] = ("classification", "regression")
STANDINGS = {task: Standings(task, RECORDED, streams.UNSEEN[task]) for task in TASKS}


def tables_of(page: Path) -> list[list[list[str]]]:
    """The tables of a page, without the marks of code."""
    return tables.read(page.read_text(encoding="utf-8").replace("`", ""))


@pytest.mark.parametrize("task", TASKS)
def test_standings(task: Any) -> None:
    """The page shows the ranks, speed and memory of the recorded results."""
    found = STANDINGS[task]
    page = {table[0][1]: table[1:] for table in tables_of(PEERS)}
    assert page[found.summary()[0][1].removeprefix("mean rank, ")] == found.summary()[1]
    text = " ".join(PEERS.read_text().split())
    n, k = len(found.streams), len(found.ranked)
    assert f"among {k} learners on {n} streams" in text
    difference = re.search(r"difference at the 5 % level: ([\d.]+) ranks", found.verdict())
    assert difference is not None
    assert f"is {difference[1]} ranks" in text
    worst = max(float(cell.split()[-1]) for row in found.against()[1] for cell in row[2:])
    assert f"{worst:.3g} for {task}".removeprefix("0") in text


def test_where_a_peer_is_ahead() -> None:
    """The page names each stream and score, and counts them."""
    (page,) = (table[1:] for table in tables_of(PEERS) if table[0][-1] == "its")
    filled: list[list[str]] = []
    for stream, *cells in page:
        filled.append([stream or filled[-1][0], *cells])
    expected = [row for task in TASKS for row in STANDINGS[task].ahead()[1]]
    assert [row[:2] for row in filled] == [row[:2] for row in expected]
    for row, (_, _, ours, best, its) in zip(filled, expected, strict=True):
        assert row[3] in best, row
        for shown, number in ((row[2], ours), (row[4], its)):
            assert float(shown) == pytest.approx(float(number), abs=0.00051), row


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_recorded_results_are_those_of_today(task: Any) -> None:
    """Scores of our learners on a generated stream to three digits, memory within a tenth.

    If not, `python -m examples.benchmarks.peers run ours` measures again.
    """
    stream = {"classification": "sea_drift", "regression": "mv"}[task]
    rows = load(stream, task, 2000)
    known = {r["learner"]: r for r in RECORDED if (r["stream"], r["rows"]) == (stream, "2000")}
    for name in contenders.ours(task):
        *_, last = contenders.checkpoints(name, rows, task, 600.0, None)
        recorded = {score: float(known[name][score]) for score in SCORES if known[name][score]}
        assert last.scores.keys() >= recorded.keys()
        for score, expected in recorded.items():
            assert last.scores[score] == pytest.approx(expected, rel=5e-4, abs=5e-4), (name, score)
        assert last.memory == pytest.approx(int(known[name]["memory"]), rel=0.1), name


@pytest.mark.slow
def test_drift() -> None:
    """The accuracy of our learners after each drift of the two generated streams."""
    (page,) = (table for table in tables_of(PEERS) if table[0][1].startswith("sine: "))
    shown = {row[0]: row[1:5] for row in page[1:]}
    for name in drift.OURS:
        expected: list[str] = []
        for stream in ("sine", "mixed"):
            rows, drifts = drift.STREAMS[stream]()
            expected += drift.shares_of(name, rows, drifts)[1:]
        assert shown[name] == expected


@pytest.mark.slow
def test_importances(capsys: pytest.CaptureFixture[str]) -> None:
    """The page of pictures shows what its example prints."""
    page = ROOT / "docs" / "pictures.md"
    (code,) = (code for code in blocks(page, "python") if "shuffled" in code)
    exec(code, {})
    assert capsys.readouterr().out in blocks(page, "text")


@pytest.mark.slow
def test_tuning() -> None:
    """The accuracies with the default parameters, and the names of what is changed."""
    (shown,) = (text for text in blocks(ROOT / "docs" / "tune.md", "text") if "segments" in text)
    tuning = runpy.run_path(str(ROOT / "examples" / "tuning.py"))
    names = []
    for family, changes in tuning["CHANGES"]:
        scores = tuning["accuracies"](family(seed=1))
        names.append(f"{family.__name__:36}" + "".join(f"{score:9.3f}" for score in scores))
        names += [", ".join(f"{key}={value!r}" for key, value in each.items()) for each in changes]
    lines = shown.splitlines()[1:]
    assert len(lines) == len(names)
    for line, name in zip(lines, names, strict=True):
        assert line.strip().startswith(name), line
