"""Every notebook runs from its first cell to its last, without a download."""

from __future__ import annotations

import os
from pathlib import Path

import jupytext
import pytest
from nbclient import NotebookClient

from tests.ray_ready import skip_unless_ray_can_start

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.py"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook runs in a fresh kernel, shows its pictures, and prints no warning."""
    notebook = jupytext.read(path)
    if "import ray" in path.read_text():
        skip_unless_ray_can_start(monkeypatch)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    # As in a notebook of a user, whose pictures are shown below the cells.
    monkeypatch.delenv("MPLBACKEND", raising=False)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    if "plotting" in path.read_text():
        assert any("image/png" in output.get("data", {}) for output in outputs)
    warnings = [output.text for output in outputs if output.get("name") == "stderr"]
    assert warnings == []
