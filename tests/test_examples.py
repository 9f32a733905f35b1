"""The example scripts and all Python in the documentation run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from river_extra_trees import distributed
from river_extra_trees.distributed import Answer
from tests.tools.pages import ROOT, blocks, name_of, pages_with
from tests.tools.ray_in_process import take_the_place_of_ray
from tests.tools.ray_ready import prepare_ray, started

SCRIPTS = sorted(path for path in (ROOT / "examples").glob("*.py") if path.stem != "gallery")


def run(*command: object) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *map(str, command)], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An example prints something, and no warning."""
    if "import ray" in script.read_text():
        prepare_ray(monkeypatch)
    done = started(lambda: run(script))
    assert done.stdout
    assert done.stderr == ""


@pytest.mark.slow
def test_gallery(tmp_path: Path) -> None:
    """The pictures of the documentation can be drawn again, all of them."""
    run(ROOT / "examples" / "gallery.py", tmp_path)
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {path.name for path in (ROOT / "docs" / "pictures").iterdir()}


class ServedHere:
    """Answers as a `SnapshotServer`, without processes; `test_serving.py` tests the real one."""

    def __init__(self, snapshot: Any, **_: Any) -> None:
        self.publish(snapshot)

    def publish(self, snapshot: Any) -> None:
        self.snapshot = snapshot

    def ask(self, method: str, x: Any) -> Answer:
        return Answer(getattr(self.snapshot, method)(x), self.snapshot.n_samples_seen)

    def predict_one(self, x: Any) -> Any:
        return self.ask("predict_one", x).value

    def __enter__(self) -> ServedHere:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("page", pages_with("python"), ids=name_of)
def test_page(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python blocks of a page run one after the other, as a reader would run them."""
    names: dict[str, Any] = {}
    codes = blocks(page, "python")
    if any("river_extra_trees.distributed" in code for code in codes):
        take_the_place_of_ray(monkeypatch)
        monkeypatch.setattr(distributed, "SnapshotServer", ServedHere)
    for code in codes:
        exec(compile(code, str(page), "exec"), names)
