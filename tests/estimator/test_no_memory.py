"""No memory: whichever allocation fails, nothing crashes, leaks, or is half done."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools import no_memory

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("which", ["leaks", "not leaks"])
def test_no_memory(which: str) -> None:
    """The tests of `no_memory.py`, in an interpreter without any thread of another's."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider"]
    path = Path(no_memory.__file__)
    run = subprocess.run(
        [*command, str(path), "-k", which],
        cwd=path.parents[2],
        env={**os.environ, "PYTHONHASHSEED": "0"},  # the same allocations in every run
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
