"""The generated page of all commands and options."""

import inspect
import runpy
from pathlib import Path
from typing import Any

from river_extra_trees.cli.app import app

PATH = Path(__file__).parents[2] / "tools" / "pages.py"


def test_page() -> None:
    """The page that mkdocs makes describes each argument and option of each command."""
    page = str(runpy.run_path(str(PATH))["commands"]())
    for command in app.registered_commands:
        function: Any = command.callback
        name = command.name or function.__name__
        _, _, rest = page.partition(f"## `river-extra-trees {name}`\n")
        section = rest.partition("\n## ")[0]
        assert str(inspect.getdoc(function)).split("\n")[0] in section
        lines = [line for line in section.splitlines() if line.startswith("* ")]
        parameters = inspect.signature(function).parameters
        assert len(lines) == len(parameters) + 1  # --help
        assert all(": " in line for line in lines)
        for parameter in parameters:
            option = parameter.replace("_", "-")
            assert any(option in line.partition(":")[0] for line in lines), (name, parameter)
