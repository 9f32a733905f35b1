"""Commands of the command line, run as users do."""

import csv
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from river_extra_trees import persistence
from river_extra_trees.cli.app import app
from river_extra_trees.column_kinds import parted

FAST = "HoeffdingTreeClassifier"
OURS = "StreamDecisionTreeClassifier:batch_size=20"


def run(*arguments: object, stdin: str | None = None) -> Result:
    """Run a command inside this process."""
    return CliRunner().invoke(app, list(map(str, arguments)), input=stdin)


def done(*arguments: object, stdin: str | None = None) -> Result:
    """Run a command that succeeds."""
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == 0, result.output
    return result


def assert_refused(result: Result, *words: str, stdout: str | None = None) -> None:
    """Check for exit status 2 and one line that has the words; and what else is said, if given."""
    assert result.exit_code == 2, result.output
    if stdout is not None:
        assert stdout in result.stdout if stdout else result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    for word in words:
        assert word in result.stderr


def curves_in(path: Path) -> dict[str, list[dict[str, str]]]:
    """The points of the curves in a CSV file, by learner, without times and memory."""
    found: dict[str, list[dict[str, str]]] = {}
    with path.open() as file:
        for row in csv.DictReader(file):
            del row["seconds"], row["memory_bytes"]
            found.setdefault(row.pop("learner"), []).append(row)
    return found


def learner_in(path: Path) -> Any:
    """The learner in a model file, without the kinds of its columns."""
    return parted(persistence.load(path))[1]
