"""The benchmark scripts run, on streams that need no download."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "examples" / "benchmarks" / script, *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, env=env, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("task", "stream", "learner"),
    [
        ("classification", "Phishing", "HoeffdingTreeClassifier"),
        ("regression", "TrumpApproval", "running mean"),
    ],
)
def test_quality(tmp_path: Path, task: str, stream: str, learner: str) -> None:
    """Results are kept in a file, from which the table can be shown again."""
    options = ["--task", task, "--streams", stream, "--results", tmp_path / "quality.csv"]
    first = run("quality.py", learner, *options, "--limit", 300)
    assert first.returncode == 0, first.stderr
    again = run("quality.py", *options)
    assert again.returncode == 0, again.stderr
    assert again.stdout in first.stdout
    assert f"(1) {learner}" in again.stdout


def test_stored_results() -> None:
    """The results that come with the package make a table."""
    done = run("quality.py", "--task", "regression")
    assert done.returncode == 0, done.stderr
    assert "running mean" in done.stdout


def test_speed() -> None:
    """Two learners are compared side by side."""
    done = run(
        *("speed.py", "NoChangeClassifier", "HoeffdingTreeClassifier"),
        *("--streams", "Phishing", "--items", 200, "--repeats", 2),
    )
    assert done.returncode == 0, done.stderr
    assert "NoChangeClassifier" in done.stdout


def test_stream_that_is_not_there() -> None:
    """A stream that cannot be had is named, with what to do."""
    done = run("speed.py", "--streams", "no_such_stream")
    assert done.returncode == 1
    assert "RIVER_EXTRA_TREES_DATA" in done.stderr
    assert done.stderr.count("\n") == 1
