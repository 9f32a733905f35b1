"""The workflows of the hosting site are valid, and name what there is."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

pytestmark = pytest.mark.skipif(not WORKFLOWS, reason="a source distribution has no workflows")


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned(path: Path) -> None:
    """Each action is named by its commit, with the version beside it; rights are few."""
    used = re.findall(r"uses: *(.*)", path.read_text(encoding="utf-8"))
    assert used
    for action in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action
    assert read(path)["permissions"] == {"contents": "read"}


def test_actionlint() -> None:
    """The checker of workflows finds nothing, where it is installed."""
    checker = shutil.which("actionlint")
    if checker is None:
        pytest.skip("there is no actionlint")
    done = subprocess.run([checker], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
