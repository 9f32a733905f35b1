"""Standard output and input that are full or closed: one line, and status 1."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import river_extra_trees as ret
from river_extra_trees import persistence, streams
from river_extra_trees.column_kinds import parted

MODEL = "StreamDecisionTree"
FULL = Path("/dev/full")

needs_shell = pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is full")


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """A model, a table and where to write."""
    found = {name: tmp_path / name for name in ("old.model", "new.model", "table.csv", "out.csv")}
    model = ret.StreamDecisionTreeClassifier(seed=1)
    model.learn_one({"a": 1.0}, 1)
    persistence.save(model, found["old.model"])
    found["table.csv"].write_text("a,class\n" + "1,0\n2,1\n" * 20)
    return found


def failures(commands: list[list[Any]], redirection: str) -> list[str]:
    """What the commands say of a redirection; they run beside each other."""
    shell = f'exec "$@" {redirection}'
    program = [sys.executable, "-m", "river_extra_trees"]
    processes = [
        subprocess.Popen(
            ["sh", "-c", shell, "sh", *program, *map(str, command)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for command in commands
    ]
    said = []
    for command, process in zip(commands, processes, strict=True):
        _, err = process.communicate(timeout=120)
        assert process.returncode == 1, (command, err)
        assert err.startswith("error: ")
        assert err.count("\n") == 1, (command, err)
        said.append(err)
    return said


@needs_shell
@pytest.mark.parametrize(("redirection", "says"), [(">/dev/full", "No space"), (">&-", "closed")])
@pytest.mark.slow
def test_output(files: dict[str, Path], redirection: str, says: str) -> None:
    """All commands say that it is the standard output; what is saved before, stays."""
    old, new, table, _ = files.values()
    content = old.read_bytes()
    training = ["train", table, MODEL, "--target", "class", "--save", new]
    commands: list[list[Any]] = [
        ["predict", old, table, "--output", "-"],
        ["race", table, MODEL, "--target", "class"],
        training,
        ["info", old],
        ["list", "metrics"],
        ["draw", old],
        ["serve", old, "--port", "0"],
        ["--version"],
    ]
    if says == "closed":  # which is found before the command
        commands = [*commands[-1:], training]
    for line in failures(commands, redirection):
        assert "standard output" in line
        assert says in line
    assert old.read_bytes() == content
    if says == "No space":  # the model is saved before this is told
        assert parted(persistence.load(new))[1].n_samples_seen == 40


@needs_shell
@pytest.mark.slow
def test_input(files: dict[str, Path]) -> None:
    """Commands that would read it say that it is closed."""
    old, new, _, out = files.values()
    commands: list[list[Any]] = [
        ["predict", old, "-", "--output", out],
        ["race", "-", "--target", "class"],
        ["train", "-", MODEL, "--target", "class", "--save", new],
    ]
    for line in failures(commands, "<&-"):
        assert "standard input is closed" in line
    assert not new.exists()
    assert not out.exists()


def test_a_closed_input_is_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """For those who read tables without the command line, too."""
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(streams.TableError, match="standard input: it is closed"):
        streams.open_table("-", target="y")
