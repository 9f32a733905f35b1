"""A hook of mkdocs: makes a page of each notebook.

`make notebooks` runs the notebooks of `examples/notebooks`. What it has made is shown with its
results, and any other notebook without.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from mkdocs.structure.files import File
from nbconvert import MarkdownExporter

FOLDER = Path("examples/notebooks")

HEADING = re.compile(r"^#+ (?P<words>.*)$|!\[png\]", re.MULTILINE)
LINK = re.compile(r"\((\w+)\.ipynb\)")
# A warning or an error, in the colours of a terminal.
COLOURS = re.compile(r"\x1b\[[\d;]*m")


def on_files(files: Any, config: Any) -> Any:
    """Add a page, and the pictures on it, for each notebook."""
    for script in sorted(FOLDER.glob("*.py")):
        text, pictures = page_of(script)
        files.append(File.generated(config, f"notebooks/{script.stem}.md", content=text))
        for name, content in pictures.items():
            files.append(File.generated(config, f"notebooks/{name}", content=content))
    return files


def page_of(script: Path) -> tuple[str, dict[str, bytes]]:
    """A notebook in Markdown, and its pictures by their names."""
    executed = script.with_suffix(".ipynb")
    notebook = nbformat.read(executed, 4) if executed.exists() else jupytext.read(script)
    place = {"unique_key": script.stem, "output_files_dir": "pictures"}
    text, resources = MarkdownExporter().from_notebook_node(notebook, resources=place)
    text = LINK.sub(r"(\1.md)", COLOURS.sub("", _described(text)))
    return f"{text}\n*This page is the notebook `{script}`.*\n", resources["outputs"]


def _described(text: str) -> str:
    """Give each picture the heading above it as a description."""
    heading = ""

    def describe(match: re.Match[str]) -> str:
        nonlocal heading
        if match["words"] is None:
            return f"![{heading}]"
        heading = match["words"]
        return match[0]

    return HEADING.sub(describe, text)
