"""The generated page of all commands and options."""

from __future__ import annotations

import inspect
import runpy
from pathlib import Path
from typing import Any

import pytest

from river_extra_trees.cli.app import app

PATH = Path(__file__).parents[2] / "tools" / "pages.py"


@pytest.fixture(scope="module")
def page() -> str:
    """Return the page, as the hook of mkdocs makes it."""
    return str(runpy.run_path(str(PATH))["commands"]())


@pytest.mark.parametrize("command", app.registered_commands, ids=lambda each: str(each.name))
def test_page(page: str, command: Any) -> None:
    """The page describes each argument and option of each command."""
    function = command.callback
    name = command.name or function.__name__
    _, _, rest = page.partition(f"## `river-extra-trees {name}`\n")
    section = rest.partition("\n## ")[0]
    assert inspect.getdoc(function).split("\n")[0] in section
    lines = [line for line in section.splitlines() if line.startswith("* ")]
    parameters = inspect.signature(function).parameters
    assert len(lines) == len(parameters) + 1  # --help
    assert all(": " in line for line in lines)
    for parameter in parameters:
        option = parameter.replace("_", "-")
        assert any(option in line.partition(":")[0] for line in lines), parameter
