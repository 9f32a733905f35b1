"""Every notebook runs from its first cell to its last, without a download."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import pytest
from jupyter_client import KernelManager
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell

from tests.tools.made import is_made
from tests.tools.ray_ready import prepare_ray, started

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.py"))

pytestmark = pytest.mark.slow


def prepare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("REPLAY_ROWS", "50000")
    # As in a notebook of a user, whose pictures are shown below the cells.
    monkeypatch.delenv("MPLBACKEND", raising=False)


@pytest.fixture(scope="module")
def kernel() -> Iterator[KernelManager]:
    """One for all notebooks without Ray: a new one would import for seconds."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        prepare(monkeypatch)
        manager = KernelManager(kernel_name="python3")
        manager.start_kernel()
    yield manager
    manager.shutdown_kernel(now=True)


def executed(path: Path, kernel: KernelManager | None = None) -> Any:
    """A notebook that has run, in a kernel that knows no names of another notebook."""
    notebook = jupytext.read(path)
    if kernel is not None:
        notebook.cells.insert(0, new_code_cell("%reset -f"))
    NotebookClient(notebook, km=kernel, timeout=300, kernel_name="python3").execute()
    return notebook


@pytest.mark.skipif(os.name != "posix", reason="make is a command of POSIX")
@pytest.mark.parametrize(("code", "status", "says"), [("1 + 1", 0, ""), ("1 / 0", 2, "ZeroDiv")])
def test_make(tmp_path: Path, code: str, status: int, says: str) -> None:
    """`make notebooks` prints no warning, and makes no notebook that fails."""
    path = tmp_path / "examples" / "notebooks" / "a.ipynb"
    path.parent.mkdir(parents=True)
    path.with_suffix(".py").write_text(f"# %%\n{code}\n")
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "river_extra_trees").mkdir()
    old = [option for each in ("build", ".venv/installed/notebooks") for option in ("-o", each)]
    made = subprocess.run(
        ["make", *old, f"RUN={sys.executable}", "examples/notebooks/a.ipynb"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (made.returncode, path.exists()) == (status, not says)
    assert says in made.stderr
    assert says or made.stderr == ""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(
    path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notebook runs, or has run since it changed; it shows pictures, and prints no warning.

    What it explains are samples of the stream that the model has learned, with all features.
    """
    made = path.with_suffix(".ipynb")
    if is_made(made, [path]):
        notebook = nbformat.read(made, as_version=4)
    elif "import ray" in path.read_text():
        prepare_ray(monkeypatch)
        prepare(monkeypatch)
        monkeypatch.setenv("RAY_ADDRESS", "local")  # one of its own, whatever else is running
        notebook = started(lambda: executed(path))
    else:
        notebook = executed(path, request.getfixturevalue("kernel"))
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    if "plotting" in path.read_text():
        assert any("image/png" in output.get("data", {}) for output in outputs)
    warnings = [output.text for output in outputs if output.get("name") == "stderr"]
    assert warnings == []
    assert not any(" = None " in output.get("text", "") for output in outputs)
