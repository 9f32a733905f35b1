"""Every notebook runs from its first cell to its last, without a download."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import jupytext
import pytest
from nbclient import NotebookClient

from tests.tools.ray_ready import prepare_ray, started

ROOT = Path(__file__).parents[1]
NOTEBOOKS = [
    pytest.param(path, id=path.stem, marks=pytest.mark.xdist_group("ray"))
    if "import ray" in path.read_text(encoding="utf-8")
    else pytest.param(path, id=path.stem)
    for path in sorted((ROOT / "examples" / "notebooks").glob("*.py"))
]

pytestmark = pytest.mark.slow


def executed(path: Path) -> Any:
    notebook = jupytext.read(path)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    return notebook


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_notebook(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook runs in a fresh kernel, shows its pictures, and prints no warning."""
    if "import ray" in path.read_text():
        prepare_ray(monkeypatch)
        monkeypatch.setenv("RAY_ADDRESS", "local")  # one of its own, whatever else is running
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("REPLAY_ROWS", "50000")
    # As in a notebook of a user, whose pictures are shown below the cells.
    monkeypatch.delenv("MPLBACKEND", raising=False)
    notebook = started(lambda: executed(path))
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    if "plotting" in path.read_text():
        assert any("image/png" in output.get("data", {}) for output in outputs)
    warnings = [output.text for output in outputs if output.get("name") == "stderr"]
    assert warnings == []
