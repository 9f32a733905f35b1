"""Commands of the command line, run as users do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from river_extra_trees.cli.app import app

FAST = "HoeffdingTreeClassifier"


OURS = "StreamDecisionTreeClassifier:batch_size=20"


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


def scores_of(path: Path) -> list[dict[str, Any]]:
    """The results in a JSON file, without the times."""
    found = json.loads(path.read_text())["learners"]
    return [{name: entry[name] for name in ("learner", "items", "scores")} for entry in found]


def run_info(path: Path, *arguments: object) -> str:
    """What `info` says of a file."""
    result = CliRunner().invoke(app, ["info", str(path), *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout
